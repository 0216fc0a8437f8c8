//! Launches of a trace that holds what other calls started, but not what they did: the profiler lost it, or ended first.

use foldhash::{HashMap, HashSet};

use crate::text::number;
use crate::timeline::api::{self, ApiClass};
use crate::timeline::interval::Interval;
use crate::timeline::{LostLaunches, NONE, NameId, Timeline};

/// Where fewer of the launches lack their work, what is missing hardly shows in idle time.
const LEAST_SHARE: f64 = 0.01;

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
    end: i64,
    /// Whether its work was not found, so far.
    is_lost: bool,
}

/// The launches of one process, as far as they were looked at.
#[derive(Debug, Default)]
struct Launches {
    /// Graphs that are being recorded: a launch into one starts nothing.
    recording: usize,
    /// By thread: a call of the driver within its last launch is the same launch, and either may have the work.
    last: HashMap<u32, Last>,
    count: usize,
    lost: usize,
    /// Those of them that come before other calls whose work is there.
    amid: usize,
}

impl Launches {
    fn take(&mut self, call: Call) {
        let outer = self.last.get_mut(&call.thread).filter(|last| call.times.start < last.end);
        let is_launch = call.role == Role::Launch && self.recording == 0 && outer.is_none();
        if let Some(outer) = outer
            && call.has_work
            && std::mem::take(&mut outer.is_lost)
        {
            self.lost -= 1;
        }
        if is_launch {
            self.last.insert(call.thread, Last { end: call.times.end, is_lost: !call.has_work });
            self.count += 1;
        }
        match call.role {
            _ if call.has_work => self.amid = self.lost,
            Role::BeginRecording => self.recording += 1,
            Role::EndRecording => self.recording = self.recording.saturating_sub(1),
            _ => self.lost += usize::from(is_launch),
        }
    }
}

/// The launches of a timeline that lack their work; absent where none does, and where no work of a GPU was recorded at all.
pub(super) fn launches(timeline: &Timeline) -> Option<LostLaunches> {
    if timeline.gpu_op_count() == 0 {
        return None;
    }
    let mut processes: HashMap<u32, Launches> = HashMap::default();
    for call in calls(timeline) {
        processes.entry(timeline.process_of(call.thread)).or_default().take(call);
    }
    let sum = |of: fn(&Launches) -> usize| processes.values().map(of).sum::<usize>();
    let (count, amid, launch_count) =
        (sum(|launches| launches.lost), sum(|launches| launches.amid), sum(|launches| launches.count));
    let is_amid = amid as f64 >= LEAST_SHARE * launch_count as f64 && amid > 0;
    (count > 0).then_some(LostLaunches { count: count as i64, launch_count: launch_count as i64, is_amid })
}

/// All calls that matter.
fn calls(timeline: &Timeline) -> Vec<Call> {
    let ops = [&timeline.kernels.ops, &timeline.graphs.ops, &timeline.copies.ops, &timeline.memsets.ops];
    let working: HashSet<u32> = ops.into_iter().flat_map(|ops| ops.call.iter().copied()).collect();
    let mut roles: HashMap<NameId, Role> = HashMap::default();
    let mut calls: Vec<Call> = Vec::new();
    for (index, (times, name)) in (0_u32..).zip(timeline.api.times.iter().zip(&timeline.api.name)) {
        let role = *roles.entry(*name).or_insert_with(|| Role::of(timeline.name(*name)));
        let has_work = working.contains(&index);
        let thread = timeline.api.thread.get(index as usize).copied().unwrap_or(NONE);
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
    if is_damaged {
        return format!(
            "What is left of it holds no work of {count} of the {all} calls that launch some; of other work the calls may be \
             missing too."
        );
    }
    let why = if lost.is_amid {
        "the profiler lost it, and idle time may be work that was not recorded"
    } else {
        "they are the last, or few, and what is said here is of what was recorded"
    };
    let how = "Call torch.cuda.synchronize() before the profiler stops, and record fewer steps.";
    format!("The trace holds no work of {count} of the {all} calls that launch some: {why}. {how}")
}
