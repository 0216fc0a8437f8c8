//! Launches of a recording that holds what other calls started, but not what these did: the profiler lost it, or ended first.

use std::collections::VecDeque;

use foldhash::{HashMap, HashSet};

use crate::text::number;
use crate::timeline::api::{self, ApiClass};
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::{LostLaunches, NONE, NameId, Timeline};

/// Where fewer of the launches lack their work, what is missing hardly shows in idle time.
const LEAST_SHARE: f64 = 0.01;
/// A single one is a slip.
const LEAST_COUNT: usize = 2;

/// What a call may be that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Launch,
    BeginRecording,
    EndRecording,
    Other,
}

impl Role {
    fn of(name: &str) -> Self {
        match name {
            _ if name.ends_with("StreamBeginCapture") => Self::BeginRecording,
            _ if name.ends_with("StreamEndCapture") => Self::EndRecording,
            _ if api::classify(name) == ApiClass::Launch => Self::Launch,
            _ => Self::Other,
        }
    }

    /// The same, where a launch of a graph may have hidden its kernels.
    fn without_graphs(name: &str) -> Self {
        if api::is_graph_launch(name) { Self::Other } else { Self::of(name) }
    }
}

/// A call, in the order in which they were made.
#[derive(Debug, Clone, Copy)]
struct Call {
    times: Interval,
    thread: u32,
    role: Role,
    /// Whether the trace holds what it started.
    has_work: bool,
}

/// The last launch of a thread.
#[derive(Debug, Clone, Copy)]
struct Last {
    times: Interval,
    /// Its place among those whose work was not found, while it was not.
    lost: Option<usize>,
}

/// The launches of one process, as far as they were looked at.
#[derive(Debug, Default)]
struct Launches {
    /// Graphs that are being recorded: a launch into one starts nothing.
    recording: usize,
    /// By thread: a call of the driver within its last launch is the same launch, and either may have the work.
    last: HashMap<u32, Last>,
    count: usize,
    /// When those were made whose work was not found, in order; `None` where a call within had it.
    lost: Vec<Option<i64>>,
    /// When the last call was made whose work is there.
    last_working: Option<i64>,
}

impl Launches {
    fn take(&mut self, call: Call) {
        let outer = self.last.get_mut(&call.thread).filter(|last| call.times.start < last.times.end);
        let is_launch = call.role == Role::Launch && self.recording == 0 && outer.is_none();
        if let Some(outer) = outer
            && call.has_work
            && let Some(lost) = outer.lost.take().and_then(|place| self.lost.get_mut(place))
        {
            *lost = None;
        }
        if is_launch {
            let lost = (!call.has_work).then_some(self.lost.len());
            self.last.insert(call.thread, Last { times: call.times, lost });
            self.count += 1;
        }
        match call.role {
            _ if call.has_work => self.last_working = Some(call.times.start),
            Role::BeginRecording => self.recording += 1,
            Role::EndRecording => self.recording = self.recording.saturating_sub(1),
            _ if is_launch => self.lost.push(Some(call.times.start)),
            _ => {}
        }
    }

    /// When those were made whose work was not found, and whether other calls whose work is there come behind each.
    fn lost(&self) -> impl Iterator<Item = (i64, bool)> {
        self.lost.iter().flatten().map(|start| (*start, self.last_working.is_some_and(|last| *start < last)))
    }
}

/// The launches of a timeline that lack their work; absent where none does, and where no work of a GPU was recorded at all. Those of
/// processes that may have launched work of a GPU that names none are left out: that work may be theirs.
/// `uncorrelated` are the starts of kernels without a correlation: those that no other id joined to a call may each be the work
/// of one.
pub(super) fn launches(timeline: &Timeline, uncorrelated: Vec<i64>) -> Option<LostLaunches> {
    if timeline.gpu_op_count() == 0 || is_left_out(timeline) {
        None
    } else {
        launches_of(timeline, uncorrelated, Role::of)
    }
}

fn launches_of(timeline: &Timeline, mut uncorrelated: Vec<i64>, role_of: fn(&str) -> Role) -> Option<LostLaunches> {
    let mut processes: HashMap<u32, Launches> = HashMap::default();
    let is_unknown = |process: &u32| timeline.unknown_launchers.may_be(*process);
    for call in calls(timeline, role_of) {
        processes.entry(timeline.process_of(call.thread)).or_default().take(call);
    }
    processes.retain(|process, _| !is_unknown(process));
    let mut lost: VecDeque<(i64, bool)> = {
        let mut lost: Vec<_> = processes.values().flat_map(Launches::lost).collect();
        lost.sort_unstable();
        lost.into()
    };
    let unjoined = unjoined(timeline);
    uncorrelated.retain(|start| unjoined.contains(start));
    uncorrelated.sort_unstable();
    for start in uncorrelated {
        // No kernel starts before the call that launches it.
        if lost.front().is_some_and(|(call, _)| *call <= start) {
            lost.pop_front();
        }
    }
    let launch_count: usize = processes.values().map(|launches| launches.count).sum();
    let amid = lost.iter().filter(|(_, is_amid)| *is_amid).count();
    told(timeline, role_of, launch_count, (lost.len(), amid))
}

/// The same of a recording of millions of calls that hold no others within them: where no graph is recorded, little is to be asked.
/// Graphs are left out, as their kernels may be hidden.
pub(super) fn kernel_launches(timeline: &Timeline) -> Option<LostLaunches> {
    if is_left_out(timeline) {
        return None;
    }
    let api = &timeline.api;
    let mut roles = Told::new(&timeline.names, Role::without_graphs);
    let roles: Vec<Role> = api.name.iter().map(|name| roles.of(*name)).collect();
    if roles.contains(&Role::BeginRecording) {
        return launches_of(timeline, Vec::new(), Role::without_graphs);
    }
    let has_work = with_work(timeline);
    // By process; that which no thread has comes last.
    let mut last_working = vec![i64::MIN; timeline.processes.len() + 1];
    let may_be_of_others: Vec<bool> = (0..timeline.processes.len() as u32)
        .chain([NONE])
        .map(|process| timeline.unknown_launchers.may_be(process))
        .collect();
    let place_of = |call: usize| {
        let process = timeline.process_of(api.thread.get(call).copied().unwrap_or(NONE));
        (process as usize).min(timeline.processes.len())
    };
    for (call, _) in has_work.iter().enumerate().filter(|(_, has_work)| **has_work) {
        let last = &mut last_working[place_of(call)];
        *last = api.times.at(call).start.max(*last);
    }
    let (mut launch_count, mut lost, mut amid) = (0_usize, 0_usize, 0_usize);
    for (call, _) in roles.iter().enumerate().filter(|(_, role)| **role == Role::Launch) {
        let place = place_of(call);
        if may_be_of_others[place] {
            continue;
        }
        launch_count += 1;
        if !has_work[call] {
            lost += 1;
            amid += usize::from(api.times.at(call).start < last_working[place]);
        }
    }
    told(timeline, Role::without_graphs, launch_count, (lost, amid))
}

/// Whether the work of launches may be that of GPUs that were left out: nobody lost it.
const fn is_left_out(timeline: &Timeline) -> bool {
    timeline.reached.device_count > 0
}

/// What is told of lost launches, without those that failed, which start nothing.
fn told(
    timeline: &Timeline,
    role_of: fn(&str) -> Role,
    launch_count: usize,
    (lost, amid): (usize, usize),
) -> Option<LostLaunches> {
    let is_launch = |name: NameId| role_of(timeline.name(name)) == Role::Launch;
    let failed = timeline.api.errors.iter().filter(|error| is_launch(error.call)).map(|error| error.count as usize);
    let failed: usize = failed.sum();
    let (count, amid) = (lost.saturating_sub(failed), amid.saturating_sub(failed));
    let is_amid = is_much(amid, launch_count);
    let [count, launch_count, amid_count] = [count, launch_count, amid].map(|count| count as i64);
    let is_of_some = !timeline.unknown_launchers.of_devices.is_empty();
    (count > 0).then_some(LostLaunches { count, launch_count, is_of_some, amid_count, is_amid })
}

/// Whether so many of some launches lack their work that idle time may be theirs.
fn is_much(amid: usize, count: usize) -> bool {
    amid as f64 >= LEAST_SHARE * count as f64 && amid >= LEAST_COUNT
}

/// For each call whether the recording holds what it started.
fn with_work(timeline: &Timeline) -> Vec<bool> {
    let mut has_work = vec![false; timeline.api.times.len()];
    for ops in [&timeline.kernels.ops, &timeline.graphs.ops, &timeline.copies.ops, &timeline.memsets.ops] {
        for call in &ops.call {
            if let Some(has_work) = has_work.get_mut(*call as usize) {
                *has_work = true;
            }
        }
    }
    has_work
}

/// When kernels start that were joined to no call.
fn unjoined(timeline: &Timeline) -> HashSet<i64> {
    let ops = &timeline.kernels.ops;
    ops.times.iter().zip(&ops.call).filter(|(_, call)| **call == NONE).map(|(times, _)| times.start).collect()
}

/// All calls that matter.
fn calls(timeline: &Timeline, role_of: fn(&str) -> Role) -> Vec<Call> {
    let has_work = with_work(timeline);
    let mut roles = Told::new(&timeline.names, role_of);
    let mut calls: Vec<Call> = Vec::new();
    for (index, (times, name)) in timeline.api.times.iter().zip(&timeline.api.name).enumerate() {
        let role = roles.of(*name);
        let has_work = has_work[index];
        let thread = timeline.api.thread.get(index).copied().unwrap_or(NONE);
        if has_work || role != Role::Other {
            calls.push(Call { times, thread, role, has_work });
        }
    }
    // A call of the driver may begin with the call of the runtime that it is a part of.
    calls.sort_by_key(|call| (call.times.start, std::cmp::Reverse(call.times.end)));
    calls
}

/// What a trace lacks, and the way out; of a damaged file it may be in the part that is missing.
pub(super) fn sentence(lost: LostLaunches, is_damaged: bool) -> String {
    let (count, all) = (number::count(lost.count), number::count(lost.launch_count));
    let whose = if lost.is_of_some { " on GPUs whose process is known" } else { "" };
    if is_damaged {
        return format!(
            "What is left of it holds no work of {count} of the {all} calls that launch kernels{whose}; of other work the calls may be \
             missing too."
        );
    }
    let why = if lost.is_amid {
        "the profiler lost it, and idle time may be work that was not recorded"
    } else if lost.count >= lost.launch_count {
        "the profiler lost it, or stopped first, and what is said here is of what was recorded"
    } else {
        "they are the last, or few, and what is said here is of what was recorded"
    };
    let how = "Call torch.cuda.synchronize() before the profiler stops, and record fewer steps.";
    format!("The trace holds no work of {count} of the {all} calls that launch kernels{whose}: {why}. {how}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launch of the runtime that takes 100 ns; each thread's begins at its number. Another call lies within it.
    fn outer(thread: u32) -> Call {
        let start = i64::from(thread);
        Call { times: Interval::new(start, start + 100), thread, role: Role::Launch, has_work: false }
    }

    fn inner(thread: u32, has_work: bool) -> Call {
        Call { times: Interval::new(50, 60), has_work, ..outer(thread) }
    }

    #[test]
    fn a_launch_whose_inner_call_has_the_work_is_not_lost_whichever_comes_first() {
        for order in [[1, 2, 4], [4, 2, 1], [2, 4, 1]] {
            let mut launches = Launches::default();
            (1..=5).for_each(|thread| launches.take(outer(thread)));
            order.iter().for_each(|thread| launches.take(inner(*thread, true)));
            // What has been found stays so, and an inner call without work finds nothing.
            launches.take(inner(order[0], true));
            launches.take(inner(3, false));
            assert_eq!(launches.count, 5);
            assert_eq!(launches.lost().collect::<Vec<_>>(), [(3, true), (5, true)], "{order:?}");
        }
    }
}
