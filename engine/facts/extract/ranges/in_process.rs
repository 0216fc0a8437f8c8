//! Whether a loop prepares its batches of data itself, where no name of a range or of a thread tells: by calls of the operating system.

use super::super::{Context, DeviceContext, os_waits};
use super::loader_starts::Fetched;
use crate::ledger::sleeps;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// Calls that may start worker processes.
const STARTS: [&str; 7] = ["fork", "vfork", "forkpty", "clone", "clone3", "posix_spawn", "posix_spawnp"];
/// How the profiler calls its set-up as it begins to record such calls, in a process that it has just entered.
const RECORDED_FROM: &str = "OS runtime libraries profiling initialization";
/// A thread that waits for less than this part of what it fetches makes it.
const LITTLE_WAIT_SHARE: f64 = 0.01;

/// By whether workers prepare them, where that is known; else by calls of the operating system.
pub(super) fn tell(context: &Context<'_>, device: &DeviceContext, has_workers: Option<bool>) -> Option<bool> {
    has_workers.map(|has_workers| !has_workers).or_else(|| is_sure(context, device))
}

/// `Some(true)` where the process starts no other before its last batch, since it began itself, and the thread that fetches does not
/// wait for another thread either; `None` where nothing tells.
fn is_sure(context: &Context<'_>, device: &DeviceContext) -> Option<bool> {
    let fetched = device.fetched(context)?;
    let timeline = context.timeline;
    let process = timeline.process_of(fetched.thread);
    let (first, last) = (fetched.times.first()?, fetched.times.last()?);
    let is_recorded = recorded_from(timeline, process).is_some_and(|from| from <= first.start);
    let is_alone = || !starts_another(timeline, process, last.end);
    (is_recorded && is_alone() && waits_little(context, fetched)).then_some(true)
}

/// When the profiler begins to record calls of the operating system as it enters a process.
fn recorded_from(timeline: &Timeline, process: u32) -> Option<i64> {
    let (overheads, name) = (&timeline.overheads, timeline.names.find(RECORDED_FROM)?);
    let all = overheads.times.iter().zip(&overheads.name).zip(&overheads.thread);
    let own = all.filter(|((_, own), thread)| **own == name && timeline.process_of(**thread) == process);
    own.map(|((times, _), _)| times.start).min()
}

fn starts_another(timeline: &Timeline, process: u32, until: i64) -> bool {
    let names: Vec<NameId> = STARTS.iter().filter_map(|name| timeline.names.find(name)).collect();
    let calls = &timeline.os_calls;
    let mut all = calls.times.iter().zip(&calls.name).zip(&calls.thread);
    !names.is_empty()
        && all.any(|((times, name), thread)| {
            times.start < until && names.contains(name) && timeline.process_of(*thread) == process
        })
}

/// Whether calls of the thread were recorded, and those that wait or sleep take little of what it fetches.
fn waits_little(context: &Context<'_>, fetched: &Fetched) -> bool {
    let calls = &context.timeline.os_calls;
    let (waits, sleeps) = (os_waits::waits(context.timeline), sleeps(context.timeline));
    let rows = context.calls.os_of_thread(fetched.thread);
    let may_wait =
        |row: &&u32| calls.name.get(**row as usize).is_some_and(|name| waits.contains(name) || sleeps.contains(name));
    let waiting = Union::of(rows.iter().filter(may_wait).filter_map(|row| calls.times.get(*row as usize)));
    let fetching = Union::of(fetched.times.iter().copied());
    !rows.is_empty() && (waiting.common_ns(&fetching) as f64) < LITTLE_WAIT_SHARE * fetching.len_ns() as f64
}
