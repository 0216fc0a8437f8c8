//! Samples of CPU call stacks (`--sample=process-tree`): when each was taken of which thread, and its stack, from two tables.
//! Reports without them cost one look at the list of tables.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;
use rusqlite::Connection;

use super::database::Schema;
use super::frames::is_name;
use super::info::has_rows;
use crate::limits::{MAX_CPU_SAMPLE_COUNT, MAX_STACK_FRAME_COUNT};
use crate::text::cut;
use crate::text::paths::file_name;
use crate::timeline::builder::{ABSURD_NS, Limits};
use crate::timeline::samples::{CpuSamples, Frame, StackedCalls};
use crate::timeline::{NONE, NameId, Timeline, modules};

pub(super) const EVENTS: &str = "COMPOSITE_EVENTS";
pub(super) const CHAINS: &str = "SAMPLING_CALLCHAINS";
/// The rows of the stacks of calls of the OS.
const OS_CHAINS: &str = "OSRT_CALLCHAINS";

/// One sample, by the id that its stack has.
struct Sample {
    thread: u32,
    time_ns: i64,
    /// When a call returned; of a sample the same moment.
    end: i64,
    id: i64,
}

/// A function of a sample's stack.
struct Row {
    /// The index of the sample.
    sample: u32,
    /// How far from the innermost.
    depth: u32,
    frame: u32,
}

/// Of the path of a file that is longer only the name is kept: what it is is asked for each frame of each stack.
const MAX_MODULE_BYTES: usize = 256;

/// A function as the table of strings has it: the ids of its name, where it has one, and of its module.
type FrameKey = (Option<i64>, Option<i64>);

/// Every function that the stacks name, in the order in which they are first seen.
#[derive(Default)]
struct Frames {
    indices: HashMap<FrameKey, u32>,
    list: Vec<FrameKey>,
}

impl Frames {
    fn index(&mut self, key: FrameKey) -> u32 {
        *self.indices.entry(key).or_insert_with(|| {
            self.list.push(key);
            (self.list.len() - 1) as u32
        })
    }
}

/// Reads the samples of the threads that call CUDA, and the stacks of their calls of the OS, into a timeline. Rows beyond the
/// limits are counted there.
pub(super) fn read(
    db: &Connection,
    schema: &Schema,
    timeline: &mut Timeline,
    (os_call_stacks, limits): (&[(u32, i64)], &Limits),
) -> rusqlite::Result<()> {
    let has_samples = has_rows(db, schema, CHAINS)? && has_rows(db, schema, EVENTS)?;
    let has_calls = !os_call_stacks.is_empty() && has_rows(db, schema, OS_CHAINS)?;
    let is_caller = if has_samples || has_calls { callers(timeline) } else { Vec::new() };
    if has_samples {
        let samples = samples(db, schema, (timeline, &is_caller), limits)?;
        timeline.cpu_samples = stacks(db, schema, CHAINS, (timeline, samples), limits)?.samples;
    }
    if has_calls {
        let calls = stacked_calls(timeline, &is_caller, os_call_stacks);
        timeline.os_stacks = stacks(db, schema, OS_CHAINS, (timeline, calls), limits)?;
    }
    Ok(())
}

/// The stacks of samples, or of calls, from a table of the rows of stacks.
fn stacks(
    db: &Connection,
    schema: &Schema,
    table: &str,
    (timeline, samples): (&mut Timeline, Vec<Sample>),
    limits: &Limits,
) -> rusqlite::Result<StackedCalls> {
    if samples.is_empty() {
        return Ok(StackedCalls::default());
    }
    let (mut rows, keys, beyond) = chains(db, schema, table, &samples, limits)?;
    timeline.reached.row_count += beyond;
    rows.sort_unstable_by_key(|row| (row.sample, row.depth, row.frame));
    let frames = resolve(db, schema, timeline, &keys, limits)?;
    let is_root: Vec<bool> = frames.iter().map(|frame| modules::is_root(timeline.name(frame.function))).collect();
    let same = first_of_each(&frames);
    let mut columns = CpuSamples::new(frames);
    let mut end_ns = Vec::with_capacity(samples.len());
    let mut rest = rows.as_slice();
    for (sample, Sample { thread, time_ns, end, .. }) in (0_u32..).zip(&samples) {
        let (stack, others) = rest.split_at(rest.partition_point(|row| row.sample == sample));
        rest = others;
        // What an unwinder finds behind the first function of a thread is no caller of it.
        let is_end = |row: &Row| is_root.get(row.frame as usize) == Some(&true);
        let length = stack.iter().position(is_end).map_or(stack.len(), |root| root + 1);
        columns.push(
            *thread,
            *time_ns,
            stack.iter().take(length.min(MAX_STACK_FRAME_COUNT)).map(|row| same(row.frame)),
        );
        end_ns.push(*end);
    }
    Ok(StackedCalls { samples: columns, end_ns })
}

/// Which threads call CUDA; all of them where no call was recorded.
fn callers(timeline: &Timeline) -> Vec<bool> {
    let is_of_all = timeline.api.is_empty();
    let mut calls = vec![is_of_all; timeline.threads.len()];
    for thread in &timeline.api.thread {
        if let Some(calls) = calls.get_mut(*thread as usize) {
            *calls = true;
        }
    }
    calls
}

/// The samples of threads that call CUDA, by thread and time; of all threads where no call was recorded.
fn samples(
    db: &Connection,
    schema: &Schema,
    (timeline, is_caller): (&mut Timeline, &[bool]),
    limits: &Limits,
) -> rusqlite::Result<Vec<Sample>> {
    let is_of_all = timeline.api.is_empty();
    let threads = timeline.threads.iter().zip(0_u32..).zip(is_caller).filter(|(_, calls)| **calls);
    let threads: BTreeMap<i64, u32> = threads.map(|((thread, index), _)| (thread.id, index)).collect();
    let most = most_samples(timeline);
    let columns = ["id", "start", "globalTid"];
    let read =
        schema.collect(db, (EVENTS, &columns), limits.rows, |(samples, beyond): &mut (Vec<Sample>, u64), cells| {
            let thread = cells.int(2).and_then(|thread| threads.get(&thread).copied().or(is_of_all.then_some(NONE)));
            let (Some(id), Some(time_ns), Some(thread)) = (cells.int(0), cells.int(1), thread) else { return };
            if !(-ABSURD_NS..=ABSURD_NS).contains(&time_ns) {
                return;
            }
            if samples.len() < most {
                samples.push(Sample { thread, time_ns, end: time_ns, id });
            } else {
                *beyond += 1;
            }
        });
    let ((mut samples, beyond), beyond_rows) = read?;
    timeline.reached.row_count += beyond + beyond_rows;
    samples.sort_unstable_by_key(|sample| (sample.thread, sample.time_ns, sample.id));
    Ok(samples)
}

/// The same of calls of the OS that have stacks, which are given by their indices with the ids of the stacks.
fn stacked_calls(timeline: &mut Timeline, is_caller: &[bool], stacked: &[(u32, i64)]) -> Vec<Sample> {
    let calls = &timeline.os_calls;
    let mut of_callers = stacked.iter().filter_map(|(call, id)| {
        let (call, thread) = (*call as usize, *calls.thread.get(*call as usize)?);
        let interval = calls.times.get(call).filter(|_| is_caller.get(thread as usize) == Some(&true))?;
        Some(Sample { thread, time_ns: interval.start, end: interval.end, id: *id })
    });
    let mut samples: Vec<Sample> = of_callers.by_ref().take(most_samples(timeline)).collect();
    let beyond = of_callers.count() as u64;
    timeline.reached.row_count += beyond;
    samples.sort_unstable_by_key(|sample| (sample.thread, sample.time_ns, sample.id));
    samples
}

/// How many samples are kept, where every GPU may ask about each.
fn most_samples(timeline: &Timeline) -> usize {
    MAX_CPU_SAMPLE_COUNT / timeline.devices.len().max(1)
}

/// The rows of their stacks, and the functions that these name; with how many rows lie beyond the limit.
fn chains(
    db: &Connection,
    schema: &Schema,
    table: &str,
    samples: &[Sample],
    limits: &Limits,
) -> rusqlite::Result<(Vec<Row>, Vec<FrameKey>, u64)> {
    let mut by_id: Vec<(i64, u32)> = samples.iter().zip(0_u32..).map(|(sample, index)| (sample.id, index)).collect();
    by_id.sort_unstable();
    by_id.dedup_by_key(|(id, _)| *id);
    let columns = ["id", "stackDepth", "symbol", "module", "unresolved"];
    // The rows of a stack follow each other: what they are of is looked for once.
    let mut last: Option<(i64, u32)> = None;
    let mut sample_of = |id: i64| {
        if last.is_none_or(|(known, _)| known != id) {
            last = by_id.binary_search_by_key(&id, |(id, _)| *id).ok().map(|index| by_id[index]);
        }
        last.map(|(_, sample)| sample)
    };
    let read = schema.collect(db, (table, &columns), limits.rows, |(rows, frames): &mut (Vec<Row>, Frames), cells| {
        let depth = cells.int(1).and_then(|depth| u32::try_from(depth).ok());
        let depth = depth.filter(|depth| (*depth as usize) < MAX_STACK_FRAME_COUNT);
        if let (Some(sample), Some(depth)) = (cells.int(0).and_then(&mut sample_of), depth) {
            let is_named = cells.int(4).unwrap_or(0) == 0;
            let frame = frames.index((cells.int(2).filter(|_| is_named), cells.int(3)));
            rows.push(Row { sample, depth, frame });
        }
    });
    read.map(|((rows, frames), beyond)| (rows, frames.list, beyond))
}

/// By the index of a function the first that has its name and file: what one was compiled to several times is one function.
fn first_of_each(frames: &[Frame]) -> impl Fn(u32) -> u32 + use<> {
    let mut known: BTreeMap<(NameId, NameId), u32> = BTreeMap::new();
    let firsts = frames.iter().zip(0_u32..).map(|(frame, index)| match frame.function {
        NONE => index,
        function => *known.entry((function, frame.module)).or_insert(index),
    });
    let firsts: Vec<u32> = firsts.collect();
    move |frame| firsts.get(frame as usize).copied().unwrap_or(frame)
}

/// Functions with their names in the timeline.
fn resolve(
    db: &Connection,
    schema: &Schema,
    timeline: &mut Timeline,
    keys: &[FrameKey],
    limits: &Limits,
) -> rusqlite::Result<Vec<Frame>> {
    let wanted: BTreeSet<i64> = keys.iter().flat_map(|(function, module)| [*function, *module]).flatten().collect();
    let modules: BTreeSet<i64> = keys.iter().filter_map(|(_, module)| *module).collect();
    let Timeline { names, reached, .. } = timeline;
    let mut found: BTreeMap<i64, NameId> = BTreeMap::new();
    schema.each(db, &schema.select("StringIds", &["id", "value"]), limits.rows, |cells| {
        // Texts that nobody wants are not looked at.
        let Some(id) = cells.int(0).filter(|id| wanted.contains(id)) else { return };
        let Some(text) = cells.text(1) else { return };
        let (text, is_cut) = limits.cut(text);
        if !is_name(&text) {
            return;
        }
        reached.cut_name_count += u64::from(is_cut);
        let is_long = text.len() > MAX_MODULE_BYTES && modules.contains(&id);
        let text = if is_long { cut::distinct(file_name(&text), MAX_MODULE_BYTES).into_owned().into() } else { text };
        let short = modules::without_hash(&text);
        let text = if short.len() < text.len() { short.to_owned().into() } else { text };
        let has_room = names.len() < limits.names || names.find(&text).is_some();
        if has_room {
            found.insert(id, names.intern(text.into_owned()));
        }
        // A function beyond the limit is told from no other, so it is not told at all.
        reached.merged_name_count += u64::from(!has_room);
    })?;
    let name = |id: &Option<i64>| id.and_then(|id| found.get(&id).copied()).unwrap_or(NONE);
    Ok(keys.iter().map(|(function, module)| Frame { function: name(function), module: name(module) }).collect())
}
