//! Reads a trace block by block on several threads.
//!
//! Where a block starts is a guess: at something that looks like the start of an event. The guess holds when the block
//! before it ends between two events; else the block is read again from where that one really ended. So the result is that
//! of reading the document in one go.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};

use super::document::{Found, State, Unread, last_event, read_piece};
use super::event::{Event, Sink};
use super::metadata::Metadata;
use super::problems::{Ending, Problem, Problems, Unreadable};
use super::record::is_near;
use crate::limits::MAX_TRACE_ITEM_BYTES;

/// Bytes of a block: enough that it costs far more than handing it around, few enough to stay in a cache.
const BLOCK: usize = 1 << 20;
/// Blocks for each thread that are being filled, read or taken.
const BLOCKS_A_THREAD: usize = 3;

/// What is known of a trace when all of it has been read.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    /// What the trace says about itself.
    pub(super) metadata: Metadata,
    /// What was left out.
    pub(super) problems: Problems,
    /// How the file ended.
    pub(super) ending: Ending,
    /// What of it could not be read, where that matters.
    pub(super) unread: Option<Unread>,
    /// Events that were left out and are work of GPUs, or may be.
    pub(super) unusable_count: u64,
    /// Objects in the list of events.
    #[cfg(test)]
    pub(super) seen_count: u64,
}

impl Summary {
    /// Whether a part of the trace is missing, or anything in it may be wrong.
    pub(super) fn is_damaged(&self) -> bool {
        self.unread.is_some() || !matches!(self.ending, Ending::Whole | Ending::Open)
    }
}

/// What the first events tell of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// A time amid the recording.
    amid_ns: i64,
    /// The earliest of the first events: the start of the recording, about.
    pub(super) zero_ns: i64,
}

/// A part of the file.
struct Block {
    index: usize,
    bytes: Vec<u8>,
    is_last: bool,
}

/// A block that was read from the state that it is supposed to start with.
struct Guess<S> {
    block: Block,
    start: State,
    end: State,
    used: usize,
    found: Found,
    sink: S,
}

/// Reads a trace: `make` makes a sink for a block, of what the first events tell; `take` is handed each sink, in the order
/// of the file, and what reading took until then, in bytes of an ordinary trace, until it wants no more.
///
/// # Errors
/// When nothing in it is an event of the PyTorch Profiler.
pub(super) fn read<S: Sink>(
    source: impl Read + Send,
    threads: usize,
    make: impl Fn(Frame) -> S + Sync,
    take: impl FnMut(S, u64) -> ControlFlow<()>,
) -> Result<Summary, Unreadable> {
    read_in_blocks(source, (threads, BLOCK), make, take)
}

/// The same, with blocks of a size.
pub(super) fn read_in_blocks<S: Sink>(
    source: impl Read + Send,
    (threads, block_size): (usize, usize),
    make: impl Fn(Frame) -> S + Sync,
    take: impl FnMut(S, u64) -> ControlFlow<()>,
) -> Result<Summary, Unreadable> {
    let threads = threads.max(1);
    let mut source = source;
    let (head, frame, fault_of_head) = read_head(&mut source);
    if is_archive(&head) {
        return Err(Unreadable::Archive);
    }
    let origin = frame.map(|frame| frame.amid_ns);
    let frame = frame.unwrap_or_default();
    let source = io::Cursor::new(head).chain(source);
    let make = || make(frame);
    let (empty_sender, empties) = mpsc::channel();
    let (block_sender, blocks) = mpsc::channel();
    let (guess_sender, guesses) = mpsc::channel();
    for _ in 0..threads * BLOCKS_A_THREAD {
        _ = empty_sender.send(Vec::new());
    }
    let blocks = Mutex::new(blocks);
    let mut order = Order { state: State::START, rest: Vec::new(), origin, found: Found::default(), make: &make, take };
    let fault = std::thread::scope(|scope| {
        let reader = scope.spawn(move || read_blocks(source, block_size, &empties, &block_sender));
        for _ in 0..threads {
            let (sender, blocks, make) = (guess_sender.clone(), &blocks, &make);
            scope.spawn(move || guess_blocks(blocks, &sender, origin, make));
        }
        drop(guess_sender);
        order.take_all(guesses, &empty_sender);
        drop(empty_sender);
        // A panic goes on as one.
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    order.summary(fault.or(fault_of_head))
}

/// Whether bytes are the beginning of an archive as `tar` writes them: files one behind the other, each behind a header. Traces in
/// it would read as one. No JSON is one, whatever its strings say.
fn is_archive(head: &[u8]) -> bool {
    let is_json = head.trim_ascii_start().starts_with(b"{") || head.trim_ascii_start().starts_with(b"[");
    !is_json && head.get(257..262) == Some(b"ustar")
}

/// Starts of the first events.
#[derive(Default)]
struct First(Vec<i64>);

impl Sink for First {
    fn event(&mut self, event: &Event<'_>) {
        if event.duration_ns > 0 {
            self.0.push(event.start_ns);
        }
    }
}

impl First {
    /// The median is amid the recording even where some times are absurd.
    fn frame(mut self) -> Option<Frame> {
        let middle = self.0.len() / 2;
        if self.0.is_empty() {
            return None;
        }
        let amid_ns = *self.0.select_nth_unstable(middle).1;
        let near = self.0.iter().copied().filter(|start| is_near(*start, amid_ns));
        let zero_ns = near.min().unwrap_or(amid_ns);
        Some(Frame { amid_ns, zero_ns })
    }
}

/// Reads as far as there is an event with a time; returns what was read, what it tells, and why it could not be read any further.
fn read_head(source: &mut impl Read) -> (Vec<u8>, Option<Frame>, Option<io::Error>) {
    let mut head = Vec::new();
    loop {
        let wanted = head.len().max(BLOCK) as u64;
        let read = source.by_ref().take(wanted).read_to_end(&mut head);
        let is_last = !matches!(read, Ok(count) if count as u64 == wanted);
        let mut first = First::default();
        read_piece(&head, (State::START, is_last), None, &mut first);
        let frame = first.frame();
        if frame.is_some() || is_last || head.len() > MAX_TRACE_ITEM_BYTES {
            return (head, frame, read.err());
        }
    }
}

/// Fills blocks until the source ends or fails; returns why it failed.
fn read_blocks(
    mut source: impl Read,
    size: usize,
    empties: &Receiver<Vec<u8>>,
    blocks: &Sender<Block>,
) -> Option<io::Error> {
    let mut rest = Vec::new();
    for index in 0.. {
        let Ok(mut bytes) = empties.recv() else { break };
        let wanted = size.saturating_sub(rest.len()).max(size / 2 + 1);
        // What was in it before is written over: only what it grows by is set to zero first.
        bytes.resize(rest.len() + wanted, 0);
        let (kept, new) = bytes.split_at_mut(rest.len());
        kept.copy_from_slice(&rest);
        let (count, fault) = fill(&mut source, new);
        let is_last = count < wanted;
        bytes.truncate(rest.len() + count);
        rest.clear();
        if !is_last && let Some(cut) = last_event(&bytes) {
            rest.extend_from_slice(&bytes[cut..]);
            bytes.truncate(cut);
        }
        let is_wanted = blocks.send(Block { index, bytes, is_last }).is_ok();
        if is_last || !is_wanted {
            return fault;
        }
    }
    None
}

/// Fills bytes as far as the source reaches; returns how many they are, and why it could not be read any further.
fn fill(source: &mut impl Read, bytes: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut count = 0;
    while let Some(left) = bytes.get_mut(count..).filter(|left| !left.is_empty()) {
        match source.read(left) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (count, Some(error)),
        }
    }
    (count, None)
}

/// Reads blocks as they come.
fn guess_blocks<S: Sink>(
    blocks: &Mutex<Receiver<Block>>,
    guesses: &Sender<Guess<S>>,
    origin: Option<i64>,
    make: &impl Fn() -> S,
) {
    let next = || blocks.lock().ok()?.recv().ok();
    while let Some(block) = next() {
        let start = if block.index == 0 { State::START } else { State::EVENTS };
        let mut sink = make();
        let (end, used, found) = read_piece(&block.bytes, (start, block.is_last), origin, &mut sink);
        if guesses.send(Guess { block, start, end, used, found, sink }).is_err() {
            break;
        }
    }
}

/// Whether what follows a whole trace may be more than its own end: another trace, for all that is known.
fn is_of_more(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::UnexpectedEof
}

/// A checksum that does not fit says that the trace is not the one that was written.
fn is_about_checksum(error: &io::Error) -> bool {
    error.to_string().contains("checksum")
}

/// Takes blocks in their order, and reads those again that were guessed wrong.
struct Order<'a, S, M: Fn() -> S, T: FnMut(S, u64) -> ControlFlow<()>> {
    state: State,
    /// Bytes of the blocks so far that belong to something that is not whole yet.
    rest: Vec<u8>,
    origin: Option<i64>,
    found: Found,
    make: &'a M,
    take: T,
}

impl<S: Sink, M: Fn() -> S, T: FnMut(S, u64) -> ControlFlow<()>> Order<'_, S, M, T> {
    /// Blocks that come early wait. Each is given back to be filled again. Once no more is wanted none is, so that the
    /// other threads come to their end.
    fn take_all(&mut self, guesses: Receiver<Guess<S>>, empties: &Sender<Vec<u8>>) {
        let mut early = BTreeMap::new();
        let mut next = 0;
        for guess in guesses {
            early.insert(guess.block.index, guess);
            while let Some(guess) = early.remove(&next) {
                next += 1;
                let (bytes, wants_more) = self.take_one(guess);
                if wants_more.is_break() {
                    return;
                }
                _ = empties.send(bytes);
            }
        }
    }

    fn take_one(&mut self, guess: Guess<S>) -> (Vec<u8>, ControlFlow<()>) {
        let Guess { block, start, end, used, found, sink } = guess;
        if start == self.state && self.rest.is_empty() {
            self.found.merge(found);
            self.state = end;
            let wants_more = (self.take)(sink, self.found.work_bytes());
            self.rest.extend_from_slice(block.bytes.get(used..).unwrap_or_default());
            return (block.bytes, wants_more);
        }
        let mut sink = (self.make)();
        self.rest.extend_from_slice(&block.bytes);
        let (end, used, found) = read_piece(&self.rest, (self.state, block.is_last), self.origin, &mut sink);
        self.found.merge(found);
        self.state = end;
        let wants_more = (self.take)(sink, self.found.work_bytes());
        self.rest.drain(..used.min(self.rest.len()));
        (block.bytes, wants_more)
    }

    fn summary(self, fault: Option<io::Error>) -> Result<Summary, Unreadable> {
        let Self { state, found, .. } = self;
        let fault = match fault {
            // Nothing could be inflated at all.
            Some(error) if state == State::START && found.event_count == 0 => return Err(Unreadable::Damaged(error)),
            other => other,
        };
        // What stands behind the events says nothing of when anything ran.
        let is_whole = state.is_done() || (found.has_list && state.is_at_top());
        let is_open = found.is_bare && state.is_between_events() && found.problems.count(Problem::CutOff) == 0;
        let ending = match fault {
            Some(error) if is_whole && is_about_checksum(&error) => Ending::Changed,
            Some(error) if is_whole && is_of_more(&error) => Ending::Behind,
            // Within the last member of the document that is nothing that counts; behind it, it is something else.
            Some(_) if is_whole && (found.has_ended || found.is_bare) => Ending::CutBehind,
            None if is_whole && found.has_more_behind => Ending::Behind,
            _ if is_whole => Ending::Whole,
            Some(error) => Ending::Damaged(error.to_string()),
            None if is_open => Ending::Open,
            None => Ending::CutOff,
        };
        let (unread, unusable_count) = (found.unread(), found.unusable());
        if found.event_count == 0 {
            return Err(match found.problems.count(Problem::Stray) {
                _ if found.has_list => Unreadable::NoEvents { seen: found.seen_count, is_bare: found.is_bare },
                0 if state == State::START => Unreadable::Empty,
                0 => Unreadable::NoEventList,
                _ => Unreadable::NotJson,
            });
        }
        let Found { metadata, problems, .. } = found;
        Ok(Summary {
            metadata,
            problems,
            ending,
            unread,
            unusable_count,
            #[cfg(test)]
            seen_count: found.seen_count,
        })
    }
}
