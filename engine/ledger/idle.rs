//! Idle time, read twice: by what the launching thread was doing at each moment, and by where it was when the device ran dry.

use std::collections::BTreeMap;

use super::annotation::{Nest, RangeIdle};
use super::host::Activity;
use super::ops::OpRef;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId, Timeline};

/// Up to this much of the time between a launch and its start is the ordinary distance of two operations.
pub const SPACING_NS: i64 = 5_000;

/// A stretch of idle time of one device.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// When.
    pub interval: Interval,
    /// The operation that ends it; `None` at the end of the window when none follows.
    pub next: Option<OpRef>,
    /// An operation that ended when it began; `None` at the beginning of the window.
    pub previous: Option<OpRef>,
}

/// Where the launching thread was when the device ran dry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// The next operation had been launched already.
    Queued,
    /// In a blocking wait.
    Sync,
    /// In a copy call that stages or blocks.
    Copy,
    /// Managing memory.
    Allocate,
    /// Launching.
    Launch,
    /// Anywhere else.
    Elsewhere,
    /// The capture does not tell.
    Unknown,
}

impl Trigger {
    /// How many there are.
    pub const COUNT: usize = 7;

    const fn of(activity: Activity) -> Self {
        match activity {
            Activity::Spacing | Activity::Queue => Self::Queued,
            Activity::Sync => Self::Sync,
            Activity::CopyCall => Self::Copy,
            Activity::Allocate => Self::Allocate,
            Activity::Launch | Activity::QueueFull => Self::Launch,
            Activity::Unknown => Self::Unknown,
            Activity::Profiler
            | Activity::Load
            | Activity::Query
            | Activity::Init
            | Activity::Blocked
            | Activity::OffCpu
            | Activity::Host => Self::Elsewhere,
        }
    }
}

/// A piece of idle time in which the launching thread did one thing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// When.
    pub(super) interval: Interval,
    /// What the thread did.
    pub(super) activity: Activity,
    /// Where the thread was when the device ran dry.
    pub(super) trigger: Trigger,
    /// The call that it was in then, or [`NONE`].
    pub(super) trigger_name: NameId,
}

/// Time spent in calls of one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Named {
    /// Together.
    pub sum_ns: i64,
    /// In how many pieces or stretches.
    pub count: i64,
    /// The longest.
    pub longest_ns: i64,
    /// When the longest begins.
    pub longest_start_ns: i64,
    /// The piece that was added last, which the next may go on.
    last: Interval,
}

impl Named {
    /// Adds a piece, which may go on where the last one ended.
    fn add(&mut self, interval: Interval) {
        self.sum_ns += interval.len_ns();
        if self.count > 0 && self.last.end == interval.start {
            self.last.end = interval.end;
        } else {
            self.count += 1;
            self.last = interval;
        }
        if self.last.len_ns() > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (self.last.len_ns(), self.last.start);
        }
    }

    fn merge(&mut self, other: Self) {
        self.sum_ns += other.sum_ns;
        self.count += other.count;
        if other.longest_ns > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (other.longest_ns, other.longest_start_ns);
        }
    }
}

/// Idle time that a wait drained the device into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// The stretches.
    pub stretches: Named,
    /// The part of them in host code, the OS, loading, memory management or set-up: what had to be done anyway.
    pub host_ns: i64,
    /// The part of them still inside the wait.
    pub tail_ns: i64,
}

/// The idle time of one device, read both ways.
#[derive(Debug, Default)]
pub struct IdleReading {
    /// By activity; sums to the idle time.
    pub activity: [Named; Activity::COUNT],
    /// By activity and call.
    pub calls: BTreeMap<(Activity, NameId), Named>,
    /// By trigger; sums to the idle time.
    pub trigger: [i64; Trigger::COUNT],
    /// By trigger and the call that the thread was in: process, trigger, call.
    pub drained: BTreeMap<(u32, Trigger, NameId), Drained>,
    /// Idle time read on a thread that was only guessed.
    pub guessed_ns: i64,
    /// The host code in it.
    pub guessed_host_ns: i64,
    /// Launching within the storms of short kernels.
    pub storm_launch_ns: i64,
    /// The annotations that it lies in: by process and label.
    pub ranges: BTreeMap<(u32, u32), RangeIdle>,
    /// The ends of waits that the device ran dry in: by process, call, and label of the innermost annotation or [`NONE`].
    pub wait_tails: BTreeMap<(u32, NameId, u32), i64>,
    /// Annotations that explain nothing because too many were open.
    pub too_deep_count: i64,
    /// The copies that stretches began with the end of, by place, and how long the stretches are.
    pub after_copies: Vec<(u32, i64)>,
    /// The time of the window in which the thread that launches most does not merely wait for the device; `None` when
    /// no thread does.
    pub host_work_ns: Option<i64>,
}

impl IdleReading {
    /// Books a stretch of which nothing is known.
    pub(super) fn book_unknown(&mut self, whole: Interval, host: Interval) {
        self.book(Activity::Unknown, NONE, host);
        self.trigger[Trigger::Unknown as usize] += whole.len_ns();
    }

    pub(super) fn book(&mut self, activity: Activity, name: NameId, interval: Interval) {
        if interval.len_ns() == 0 {
            return;
        }
        self.activity[activity as usize].add(interval);
        if name != NONE {
            self.calls.entry((activity, name)).or_default().add(interval);
        }
    }

    /// The call that most time of an activity was spent in.
    pub fn main_call(&self, timeline: &Timeline, activity: Activity) -> Option<(NameId, Named)> {
        self.calls
            .iter()
            .filter(|((of, _), _)| *of == activity)
            .max_by_key(|((_, name), named)| (named.sum_ns, std::cmp::Reverse(timeline.name(*name))))
            .map(|((_, name), named)| (*name, *named))
    }

    /// Nanoseconds of one activity.
    pub fn activity_ns(&self, activity: Activity) -> i64 {
        self.activity[activity as usize].sum_ns
    }
}

impl IdleReading {
    /// Takes in what was read on another thread.
    pub(super) fn merge(&mut self, other: Self) {
        self.activity.iter_mut().zip(other.activity).for_each(|(own, other)| own.merge(other));
        self.trigger.iter_mut().zip(other.trigger).for_each(|(own, other)| *own += other);
        for (key, named) in other.calls {
            self.calls.entry(key).or_default().merge(named);
        }
        for (key, drained) in other.drained {
            let own = self.drained.entry(key).or_default();
            own.stretches.merge(drained.stretches);
            own.host_ns += drained.host_ns;
            own.tail_ns += drained.tail_ns;
        }
        self.guessed_ns += other.guessed_ns;
        self.guessed_host_ns += other.guessed_host_ns;
        self.storm_launch_ns += other.storm_launch_ns;
        for (key, idle) in other.ranges {
            self.ranges.entry(key).or_default().merge(idle);
        }
        for (key, time) in other.wait_tails {
            *self.wait_tails.entry(key).or_default() += time;
        }
        self.too_deep_count += other.too_deep_count;
        self.after_copies.extend(other.after_copies);
        self.host_work_ns = self.host_work_ns.or(other.host_work_ns);
    }

    /// Books a stretch under what the thread was doing when it began.
    pub(super) fn begin(
        &mut self,
        process: u32,
        stretch: Interval,
        activity: Activity,
        name: NameId,
    ) -> (Trigger, NameId) {
        let trigger = Trigger::of(activity);
        self.trigger[trigger as usize] += stretch.len_ns();
        self.drained.entry((process, trigger, name)).or_default().stretches.add(stretch);
        (trigger, name)
    }

    /// Books a piece under what the thread was doing in it.
    pub(super) fn take(&mut self, process: u32, piece: Piece, name: NameId) {
        self.book(piece.activity, name, piece.interval);
        let drained = self.drained.entry((process, piece.trigger, piece.trigger_name)).or_default();
        match piece.activity {
            Activity::Sync => drained.tail_ns += piece.interval.len_ns(),
            Activity::Host | Activity::Blocked | Activity::Load | Activity::Allocate | Activity::Init => {
                drained.host_ns += piece.interval.len_ns();
            }
            _ => {}
        }
    }

    /// Takes in what the annotations of a thread of a process explain.
    pub(super) fn annotate(&mut self, process: u32, nest: Nest<'_>) {
        for (label, idle) in nest.sums {
            self.ranges.entry((process, label)).or_default().merge(idle);
        }
        for ((call, label), time) in nest.wait_tails {
            *self.wait_tails.entry((process, call, label)).or_default() += time;
        }
        self.too_deep_count += nest.too_deep_count;
    }
}
