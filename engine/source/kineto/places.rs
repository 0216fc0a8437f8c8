//! Where in the program's own code threads were: from Python frames (`with_stack`), or from the stacks that older traces
//! give their operators. Work of the backward pass is put where the forward operator of the same number was called.

use std::collections::BTreeSet;
use std::path::Path;

use foldhash::HashMap;

use super::event::{Event, Operator};
use super::recomputed::{self, Kind};
use super::repeated_nodes::{self, Numbered};
use super::text::Text;
use crate::limits::{MAX_OPEN_RANGE_COUNT, MAX_PYTHON_STACKS_BYTES};
use crate::source::own_code::{self, Project};
use crate::text::paths;
use crate::timeline::builder::ThreadKey;
use crate::timeline::details::RunsAgain;
use crate::timeline::interval::Interval;
use crate::timeline::{CallLocations, LocationCursor, SourceLocation, ThreadRanges, Timeline};

/// Bytes of a stack that are looked at: the innermost frames.
const MAX_STACK_BYTES: usize = 16 << 10;
/// Different stacks that are told apart.
const MAX_STACK_COUNT: usize = 1 << 20;
/// Frames of a stack that are looked at, the innermost.
const MAX_FRAME_COUNT: usize = 64;
/// Folders of scripts that tell what lies beside them: every frame is held against each.
const MAX_FOLDER_COUNT: usize = 16;
/// Bytes that one of each takes until the timeline is told, about.
const ROW_BYTES: u64 = 60;
const LINKED_BYTES: u64 = 150;
const STACK_BYTES: u64 = 150;
/// What Python calls the code of a file outside of its functions.
const MODULE: &str = "<module>";

/// A stretch of a thread.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    times: Interval,
    thread: u32,
}

/// What a forward operator and its backward one have alike: the process, and the number there.
type Number = (Option<i64>, i64);

/// An operator of which there is a forward or backward one too.
#[derive(Debug, Clone, Copy)]
struct Linked {
    at: Stretch,
    sequence: i64,
    /// The number of the thread of the forward pass, of a backward one.
    forward_thread: i64,
    kind: Kind,
}

impl Linked {
    const fn is_backward(&self) -> bool {
        !matches!(self.kind, Kind::Forward(_))
    }
}

/// Frames and stacks of a part of a trace.
#[derive(Debug, Default)]
pub(super) struct Places {
    threads: Vec<ThreadKey>,
    thread_of: HashMap<ThreadKey, u32>,
    /// The one that was asked for last: events of one thread come in rows.
    last_thread: Option<(ThreadKey, u32)>,
    /// Frames, innermost first, with `;` between them; those alone that may hold a line of the program's own.
    stacks: Vec<Box<str>>,
    /// By what is written; `None` for those that hold none.
    stack_of: HashMap<Box<[u8]>, Option<u32>>,
    /// Bytes of all of them.
    stack_bytes: usize,
    rows: Vec<(Stretch, u32)>,
    linked: Vec<Linked>,
}

impl Places {
    /// Takes a Python frame.
    pub(super) fn frame(&mut self, event: &Event<'_>, times: Interval, thread: Option<ThreadKey>) {
        self.add(event.name, times, thread);
    }

    /// Takes what an operator says of where it was called.
    pub(super) fn operator(
        &mut self,
        name: Text<'_>,
        operator: &Operator<'_>,
        (times, thread): (Interval, Option<ThreadKey>),
    ) {
        if let Some(stack) = operator.call_stack {
            self.add(stack, times, thread);
        }
        if let (Some(sequence), Some(forward), Some(thread)) = (operator.sequence, operator.forward_thread, thread) {
            let at = Stretch { times, thread: self.thread(thread) };
            self.linked.push(Linked { at, sequence, forward_thread: forward, kind: Kind::of(name.raw(), forward) });
        }
    }

    fn add(&mut self, stack: Text<'_>, times: Interval, thread: Option<ThreadKey>) {
        let Some(thread) = thread else { return };
        let stack = stack.start(MAX_STACK_BYTES);
        let index = match self.stack_of.get(stack.raw()) {
            Some(known) => *known,
            None if self.is_full() => None,
            None => {
                let index = self.new_stack(stack);
                self.stack_bytes += stack.raw().len();
                self.stack_of.insert(stack.raw().into(), index);
                index
            }
        };
        if let Some(index) = index {
            let at = Stretch { times, thread: self.thread(thread) };
            self.rows.push((at, index));
        }
    }

    /// Whether no further stacks are told apart.
    fn is_full(&self) -> bool {
        self.stack_of.len() >= MAX_STACK_COUNT || self.stack_bytes >= MAX_PYTHON_STACKS_BYTES
    }

    /// Bytes of memory that it takes, about.
    pub(super) fn held_bytes(&self) -> u64 {
        self.rows.len() as u64 * ROW_BYTES
            + self.linked.len() as u64 * LINKED_BYTES
            + self.stack_of.len() as u64 * STACK_BYTES
            + self.stack_bytes as u64 * 2
    }

    fn new_stack(&mut self, stack: Text<'_>) -> Option<u32> {
        let text = stack.to_str();
        frames(&text).next()?;
        self.stacks.push(text.into());
        Some((self.stacks.len() - 1) as u32)
    }

    fn thread(&mut self, key: ThreadKey) -> u32 {
        if let Some((last, index)) = self.last_thread
            && last == key
        {
            return index;
        }
        let index = *self.thread_of.entry(key).or_insert_with(|| {
            self.threads.push(key);
            (self.threads.len() - 1) as u32
        });
        self.last_thread = Some((key, index));
        index
    }

    /// Takes in what comes behind it.
    pub(super) fn merge(&mut self, other: Self) {
        let threads: Vec<u32> = other.threads.iter().map(|key| self.thread(*key)).collect();
        let stack = |text: &str| {
            if let Some(known) = self.stack_of.get(text.as_bytes()) {
                return *known;
            }
            if self.is_full() {
                return None;
            }
            self.stacks.push(text.into());
            self.stack_bytes += text.len();
            let index = Some((self.stacks.len() - 1) as u32);
            self.stack_of.insert(text.as_bytes().into(), index);
            index
        };
        let stacks: Vec<Option<u32>> = other.stacks.iter().map(|text| &**text).map(stack).collect();
        let place = |at: Stretch| Some(Stretch { thread: *threads.get(at.thread as usize)?, ..at });
        let rows = other.rows.into_iter();
        self.rows.extend(rows.filter_map(|(at, index)| Some((place(at)?, (*stacks.get(index as usize)?)?))));
        let linked = other.linked.into_iter();
        self.linked.extend(linked.filter_map(|row| Some(Linked { at: place(row.at)?, ..row })));
    }

    /// What of the forward pass runs again in the backward pass, and which nodes of the backward pass do; `None` where nothing tells.
    pub(super) fn runs_again(&self, timeline: &Timeline) -> (Option<RunsAgain>, Option<RunsAgain>) {
        let index_of = threads_of(timeline);
        let threads: Vec<Option<u32>> = self.threads.iter().map(|key| index_of.get(key).copied()).collect();
        let thread_of = |row: &Linked| threads.get(row.at.thread as usize).copied().flatten();
        let operator = |row: &Linked| Some((thread_of(row)?, row.at.times, row.kind));
        let numbered = |row: &Linked| {
            let process = self.threads.get(row.at.thread as usize)?.process;
            let of = (process, row.forward_thread, row.sequence);
            Some(Numbered { thread: thread_of(row)?, times: row.at.times, kind: row.kind, of })
        };
        let operators = recomputed::recomputed(self.linked.iter().filter_map(operator));
        (operators, repeated_nodes::repeated(self.linked.iter().filter_map(numbered)))
    }

    /// Where the calls of a timeline were made; `None` where nothing says it. `root` is the project's folder.
    pub(super) fn locate(self, timeline: &Timeline, root: Option<&Path>) -> Option<CallLocations> {
        if self.rows.is_empty() {
            return None;
        }
        let (list, location_of) = self.locations(root);
        let index_of = threads_of(timeline);
        let threads: Vec<Option<u32>> = self.threads.iter().map(|key| index_of.get(key).copied()).collect();
        let thread = |at: Stretch| threads.get(at.thread as usize).copied().flatten();
        let process = |at: Stretch| self.threads.get(at.thread as usize).map(|key| key.process);
        let mut by_thread: HashMap<u32, Vec<(Interval, u32)>> = HashMap::default();
        for (at, stack) in &self.rows {
            let location = location_of.get(*stack as usize).copied().flatten();
            if let (Some(thread), Some(location)) = (thread(*at), location) {
                by_thread.entry(thread).or_default().push((at.times, location));
            }
        }
        if self.linked.iter().any(Linked::is_backward) {
            let forward = in_order(by_thread.clone());
            for (linked, location) in of_backward(&self.linked, &forward, &thread, &process) {
                if let Some(thread) = thread(linked.at) {
                    by_thread.entry(thread).or_default().push((linked.at.times, location));
                }
            }
        }
        let threads = in_order(by_thread);
        Some(CallLocations::new(list, calls(timeline, &threads)).with_threads(threads))
    }

    /// The locations, and which of them each stack stands for.
    fn locations(&self, root: Option<&Path>) -> (Vec<SourceLocation>, Vec<Option<u32>>) {
        let folders: BTreeSet<&str> = self.stacks.iter().filter_map(|stack| main_folder(stack)).collect();
        let folders: Vec<&str> = folders.into_iter().take(MAX_FOLDER_COUNT).collect();
        let foreign: BTreeSet<&str> = self.stacks.iter().flat_map(|stack| torch_folders(stack)).collect();
        let foreign: Vec<&str> = foreign.into_iter().take(MAX_FOLDER_COUNT).collect();
        let mut list: Vec<SourceLocation> = Vec::new();
        let mut index_of: HashMap<SourceLocation, u32> = HashMap::default();
        let project = root.map(Project::new);
        let mut of_stack = |stack: &str| {
            let location = own_frame(stack, project.as_ref(), (&folders, &foreign))?.location(project.as_ref())?;
            Some(*index_of.entry(location.clone()).or_insert_with(|| {
                list.push(location);
                (list.len() - 1) as u32
            }))
        };
        let of_stacks = self.stacks.iter().map(|stack| of_stack(stack)).collect();
        (list, of_stacks)
    }
}

/// A frame of Python: `train.py(118): forward`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame<'a> {
    path: &'a str,
    line: u32,
    function: &'a str,
}

/// The frames that may be the program's own, innermost first.
fn frames(stack: &str) -> impl DoubleEndedIterator<Item = Frame<'_>> {
    stack
        .split(';')
        .filter_map(frame)
        .filter(|frame| !own_code::is_foreign(frame.path) && !own_code::is_profiler(frame.path, frame.function))
}

fn frame(text: &str) -> Option<Frame<'_>> {
    let (place, function) = text.trim().rsplit_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    let line = own_code::line(line)?;
    (path.ends_with(".py") || path.ends_with(".pyx")).then_some(Frame { path, line, function })
}

impl<'a> Frame<'a> {
    fn folder(self) -> &'a str {
        self.path.rfind(['/', '\\']).map_or("", |end| &self.path[..end])
    }

    fn location(&self, project: Option<&Project<'_>>) -> Option<SourceLocation> {
        let (file, is_in_project) = match project.and_then(|project| project.path(self.path)) {
            Some(file) => (file, true),
            None => (paths::file_name(self.path).to_owned(), false),
        };
        let file = paths::inside(&file).ok()?;
        let function = Some(self.function.to_owned()).filter(|name| *name != MODULE && !name.is_empty());
        Some(SourceLocation { file, line: Some(self.line), function, is_in_project })
    }
}

/// The folder of the script that was run.
fn main_folder(stack: &str) -> Option<&str> {
    let outermost = frames(stack).next_back()?;
    let is_main = outermost.function == MODULE && !own_code::is_package(outermost.path);
    is_main.then(|| outermost.folder())
}

/// Folders that hold PyTorch's own code, though their names do not tell.
fn torch_folders(stack: &str) -> impl Iterator<Item = &str> {
    let torch = frames(stack).filter(|frame| own_code::is_torch(frame.path, frame.function));
    torch.map(|frame| frame.folder()).filter(|folder| !folder.is_empty())
}

/// The innermost frame of the program's own: in the project; else beside or below the script, where it is known, and in no folder of
/// PyTorch's.
fn own_frame<'a>(
    stack: &'a str,
    project: Option<&Project<'_>>,
    (folders, foreign): (&[&str], &[&str]),
) -> Option<Frame<'a>> {
    let in_project = |frame: &Frame<'_>| project.is_some_and(|project| project.path(frame.path).is_some());
    let is_below = |frame: &Frame<'_>| {
        let is_system = ["/usr/", "/opt/", "\\"].iter().any(|folder| frame.path.starts_with(folder));
        folders.is_empty()
            || folders.iter().any(|folder| match *folder {
                // A script that was called in its own folder: what it runs may lie anywhere, but where packages do.
                "" => !is_system && !frame.path.contains(':'),
                folder => frame.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', '\\'])),
            })
    };
    let is_own =
        |frame: &Frame<'_>| !own_code::is_package(frame.path) && !foreign.contains(&frame.folder()) && is_below(frame);
    let innermost = || frames(stack).take(MAX_FRAME_COUNT);
    innermost().find(in_project).or_else(|| innermost().find(is_own))
}

/// The timeline's index of each thread.
pub(super) fn threads_of(timeline: &Timeline) -> HashMap<ThreadKey, u32> {
    let key = |thread: &crate::timeline::Thread| {
        let process = timeline.processes.get(thread.process as usize)?;
        Some(ThreadKey { process: process.pid, id: thread.id })
    };
    timeline.threads.iter().zip(0..).filter_map(|(thread, index)| Some((key(thread)?, index))).collect()
}

/// The stretches of each thread, in order.
pub(super) fn in_order(by_thread: HashMap<u32, Vec<(Interval, u32)>>) -> Vec<ThreadRanges> {
    let mut threads: Vec<ThreadRanges> = Vec::with_capacity(by_thread.len());
    for (thread, rows) in by_thread {
        let (times, label) = rows.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        let mut ranges = ThreadRanges { thread, times: times.into_iter().collect(), label };
        ranges.sort();
        threads.push(ranges);
    }
    threads
}

/// Backward operators with the location of the forward operator of their number in the same process. A number that two threads of
/// it use tells none.
fn of_backward<'a>(
    linked: &'a [Linked],
    forward: &[ThreadRanges],
    thread: &impl Fn(Stretch) -> Option<u32>,
    process: &impl Fn(Stretch) -> Option<i64>,
) -> Vec<(&'a Linked, u32)> {
    let number = |row: &Linked| (process(row.at), row.sequence);
    let mut called: HashMap<Number, Option<(u32, i64)>> = HashMap::default();
    for row in linked.iter().filter(|row| !row.is_backward()) {
        let Some(thread) = thread(row.at) else { continue };
        let at = (thread, row.at.times.start);
        let known = called.entry(number(row)).or_insert(Some(at));
        *known = known.filter(|known| known.0 == thread).map(|known| known.max(at));
    }
    let wanted: Vec<(Number, u32, i64)> =
        called.iter().filter_map(|(number, at)| at.map(|(thread, start)| (*number, thread, start))).collect();
    let mut by_thread: HashMap<u32, Vec<(i64, Number)>> = HashMap::default();
    for (number, thread, start) in wanted {
        by_thread.entry(thread).or_default().push((start, number));
    }
    let mut location_of: HashMap<Number, u32> = HashMap::default();
    for ranges in forward {
        let Some(mut moments) = by_thread.remove(&ranges.thread) else { continue };
        moments.sort_unstable();
        let mut cursor = LocationCursor::new(ranges, MAX_OPEN_RANGE_COUNT);
        location_of.extend(moments.into_iter().filter_map(|(start, number)| Some((number, cursor.at(start)?))));
    }
    let backward = linked.iter().filter(|row| row.is_backward());
    backward.filter_map(|row| Some((row, *location_of.get(&number(row))?))).collect()
}

/// The location of each call.
pub(super) fn calls(timeline: &Timeline, threads: &[ThreadRanges]) -> HashMap<u32, u32> {
    let mut by_thread: HashMap<u32, Vec<(i64, u32)>> = HashMap::default();
    for ((times, thread), call) in timeline.api.times.iter().zip(&timeline.api.thread).zip(0_u32..) {
        by_thread.entry(*thread).or_default().push((times.start, call));
    }
    let mut of_call = HashMap::default();
    for ranges in threads {
        let Some(mut moments) = by_thread.remove(&ranges.thread) else { continue };
        moments.sort_unstable();
        let mut cursor = LocationCursor::new(ranges, MAX_OPEN_RANGE_COUNT);
        of_call.extend(moments.into_iter().filter_map(|(start, call)| Some((call, cursor.at(start)?))));
    }
    of_call
}
