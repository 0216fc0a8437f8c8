//! Launches of a trace that holds what other launches started, but not what they did: the profiler lost it, or ended first.

use foldhash::{HashMap, HashSet};

use crate::text::number;
use crate::timeline::api::{self, ApiClass};
use crate::timeline::{NONE, NameId, Timeline};

/// Where fewer of the launches lack their work, what is missing hardly shows in idle time.
const LEAST_SHARE: f64 = 0.01;

/// Launches, and those of them whose work the trace lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost {
    launch_count: usize,
    count: usize,
    /// Those of them that come before another launch of their process whose work is there.
    amid_count: usize,
}

/// What of an API matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Launch,
    BeginRecording,
    EndRecording,
}

impl Role {
    /// A launch into a graph that is being recorded starts nothing.
    fn of(name: &str) -> Option<Self> {
        match name {
            _ if name.ends_with("StreamBeginCapture") => Some(Self::BeginRecording),
            _ if name.ends_with("StreamEndCapture") => Some(Self::EndRecording),
            _ => (api::classify(name) == ApiClass::Launch).then_some(Self::Launch),
        }
    }
}

/// The launches of one process, in the order in which they were made.
#[derive(Default)]
struct Launches {
    /// Graphs that are being recorded.
    recording: usize,
    /// By thread, when its last launch ended: a call of the driver within it is the same launch.
    ended: HashMap<u32, i64>,
    count: usize,
    lost: usize,
    amid: usize,
}

impl Launches {
    fn add(&mut self, has_work: bool) {
        self.count += 1;
        if has_work {
            self.amid = self.lost;
        } else {
            self.lost += 1;
        }
    }
}

impl Lost {
    /// Of a timeline; absent where no launch lacks its work, and where all do: then no GPU work was recorded.
    pub(super) fn of(timeline: &Timeline) -> Option<Self> {
        let api = &timeline.api;
        let mut roles: HashMap<NameId, Option<Role>> = HashMap::default();
        let mut calls: Vec<(i64, usize, Role)> = Vec::new();
        for (call, (times, name)) in api.times.iter().zip(&api.name).enumerate() {
            let role = *roles.entry(*name).or_insert_with(|| Role::of(timeline.name(*name)));
            calls.extend(role.map(|role| (times.start, call, role)));
        }
        let ops = [&timeline.kernels.ops, &timeline.graphs.ops, &timeline.copies.ops, &timeline.memsets.ops];
        let working: HashSet<u32> = ops.into_iter().flat_map(|ops| ops.call.iter().copied()).collect();
        calls.sort_unstable_by_key(|(start, call, _)| (*start, *call));
        let mut processes: HashMap<u32, Launches> = HashMap::default();
        for (start, call, role) in calls {
            let thread = api.thread.get(call).copied().unwrap_or(NONE);
            let launches = processes.entry(timeline.process_of(thread)).or_default();
            match role {
                Role::BeginRecording => launches.recording += 1,
                Role::EndRecording => launches.recording = launches.recording.saturating_sub(1),
                Role::Launch if launches.recording > 0 => {}
                Role::Launch => {
                    let is_within = launches.ended.get(&thread).is_some_and(|end| start < *end);
                    let has_work = u32::try_from(call).is_ok_and(|call| working.contains(&call));
                    if !is_within || has_work {
                        launches.ended.insert(thread, api.times.at(call).end);
                        launches.add(has_work);
                    }
                }
            }
        }
        let sum = |of: fn(&Launches) -> usize| processes.values().map(of).sum::<usize>();
        let all = Self {
            launch_count: sum(|launches| launches.count),
            count: sum(|launches| launches.lost),
            amid_count: sum(|launches| launches.amid),
        };
        (all.count > 0 && all.count < all.launch_count).then_some(all)
    }

    /// Whether so many are missing among others that idle time may be theirs.
    pub(super) fn is_amid(self) -> bool {
        self.amid_count as f64 >= LEAST_SHARE * self.launch_count as f64
    }

    /// Of the launches, the share whose work is missing.
    pub(super) fn share(self) -> f64 {
        self.count as f64 / self.launch_count.max(1) as f64
    }

    /// What the trace lacks, and the way out; of a damaged file it may be in the part that is missing.
    pub(super) fn sentence(self, is_damaged: bool) -> String {
        let of = |count: usize| number::count(i64::try_from(count).unwrap_or(i64::MAX));
        let (lost, all) = (of(self.count), of(self.launch_count));
        if is_damaged {
            return format!(
                "What is left of it holds no work of {lost} of the {all} calls that launch some; of other work the calls are \
                 missing too."
            );
        }
        let how = "Call torch.cuda.synchronize() before the profiler stops, and record fewer steps.";
        if self.is_amid() {
            return format!(
                "The trace holds no work of {lost} of the {all} calls that launch some: the profiler lost it, and idle time may be \
                 work that was not recorded. {how}"
            );
        }
        if 2 * self.amid_count >= self.count {
            return format!("The trace holds no work of {lost} of the {all} calls that launch some: it was lost.");
        }
        let nearly = if self.amid_count > 0 { "nearly all of them " } else { "" };
        format!(
            "The trace holds no work of {lost} of the {all} calls that launch some, {nearly}the last ones: the profiler stopped before \
             the GPU had done it, and what is said here is of the part before. {how}"
        )
    }
}
