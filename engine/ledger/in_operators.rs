//! Which thread is in an operator of its framework. A copy from or to pageable memory keeps its thread until it begins: one that no
//! recorded call asked for is of the thread that is in an operator then.

use std::sync::OnceLock;

use super::host::Calls;
use crate::timeline::columns::RangeKind;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, ThreadRanges, Timeline};

/// With more threads in operators they are not held against each other.
const MOST_THREADS: usize = 16;

/// When the threads of a recording are in operators of its framework: found once, for who asks.
pub struct InOperators<'all> {
    calls: &'all Calls,
    threads: OnceLock<Vec<(u32, Union)>>,
}

impl<'all> InOperators<'all> {
    /// With the calls of the recording.
    pub fn new(calls: &'all Calls) -> Self {
        Self { calls, threads: OnceLock::new() }
    }

    /// The thread that alone is in an operator at a moment, among those of a process where that is known, and in no recorded call.
    pub fn thread_at(&self, timeline: &Timeline, process: u32, moment: i64) -> Option<u32> {
        let threads = self.threads.get_or_init(|| in_operators(timeline));
        let instant = Interval::new(moment, moment.saturating_add(1));
        let is_of = |thread: u32| process == NONE || timeline.process_of(thread) == process;
        let mut within = threads.iter().filter(|(thread, times)| is_of(*thread) && times.overlap_ns(instant) > 0);
        let (thread, _) = within.next()?;
        let is_only = within.next().is_none();
        // Of a thread without calls nothing tells what it does.
        let is_known = !self.calls.of_thread(*thread).is_empty();
        (is_only && is_known && !self.calls.is_in_call(timeline, *thread, moment)).then_some(*thread)
    }
}

/// Nothing where there are too many threads.
fn in_operators(timeline: &Timeline) -> Vec<(u32, Union)> {
    let labels = &timeline.ranges.labels;
    let is_operator: Vec<bool> = labels.iter().map(|label| label.kind == RangeKind::Operator).collect();
    let is_operator = |label: u32| is_operator.get(label as usize) == Some(&true);
    let has_any = timeline.ranges.threads.iter().filter(|ranges| ranges.label.iter().any(|label| is_operator(*label)));
    let threads: Vec<_> = has_any.take(MOST_THREADS + 1).collect();
    if threads.len() > MOST_THREADS {
        return Vec::new();
    }
    let times = |ranges: &ThreadRanges| {
        let labelled = ranges.times.iter().zip(&ranges.label);
        Union::of(labelled.filter(|(_, label)| is_operator(**label)).map(|(times, _)| times))
    };
    threads.into_iter().map(|ranges| (ranges.thread, times(ranges))).collect()
}
