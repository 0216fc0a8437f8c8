//! In which operators of a framework the calls of a step are made.

use super::super::record::Part;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// An operator that a change is about, and what the change tells of its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operator<T> {
    pub(super) times: Interval,
    pub(super) told: T,
}

/// Of each call the outermost operator in which it is made, of those of whose names something is told.
pub(super) fn operators_of_calls<T: Copy>(
    timeline: &Timeline,
    part: &Part,
    tell: impl Fn(&str) -> Option<T>,
) -> Vec<Option<Operator<T>>> {
    let mut of_calls = vec![None; part.calls.len()];
    let told: Vec<Option<T>> = timeline.ranges.labels.iter().map(|label| tell(timeline.name(label.name))).collect();
    if told.iter().all(Option::is_none) {
        return of_calls;
    }
    for thread in &part.threads {
        let own = part.calls.get(thread.start).and_then(|first| timeline.ranges.of_thread(first.thread));
        let Some(ranges) = own else { continue };
        let mut until = i64::MIN;
        let mut operators: Vec<Operator<T>> = Vec::new();
        for (times, label) in ranges.times.iter().zip(&ranges.label) {
            let Some(told) = told.get(*label as usize).copied().flatten() else { continue };
            if times.start >= until {
                until = times.end;
                operators.push(Operator { times, told });
            }
        }
        for call in thread.clone() {
            let at = part.calls[call].start;
            let begun = operators.partition_point(|operator| operator.times.start <= at);
            let last = begun.checked_sub(1).and_then(|last| operators.get(last));
            of_calls[call] = last.copied().filter(|operator| at < operator.times.end);
        }
    }
    of_calls
}
