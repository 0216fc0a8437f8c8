//! Facts of work that starts late each time: where the driver hands launches over in batches, as in virtual machines and under
//! Windows, or a GPU takes long to dispatch, every kernel that finds the GPU idle waits as long. That is no wait for something.

use std::collections::BTreeMap;

use super::projection::{Folded, InGroup, telling};
use super::stats::median;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::ledger::idle::SPACING_NS;
use crate::limits::MAX_OPEN_RANGE_COUNT;
use crate::timeline::{ThreadRanges, Timeline};

/// Fewer starts show no rule.
const MIN_COUNT: usize = 8;
/// This part of all kernels that find the GPU idle starts late, where that is the rule.
const MIN_SHARE: f64 = 0.8;
/// What takes no more than so many times the usual is as late as the others.
const EVEN_FACTOR: i64 = 3;

/// A kernel that begins, on an idle GPU, after its launch had returned.
struct Late {
    thread: u32,
    /// When it was launched.
    at: i64,
    /// Idle time since the launch returned.
    idle_ns: i64,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !device.knows_host {
        return;
    }
    let (late, count) = late_starts(context, device);
    if late.len() < MIN_COUNT || (late.len() as f64) < MIN_SHARE * count as f64 {
        return;
    }
    let Some(usual_ns) = median(&mut late.iter().map(|late| late.idle_ns).collect::<Vec<_>>()) else { return };
    let even = late.iter().filter(|late| late.idle_ns <= usual_ns.saturating_mul(EVEN_FACTOR));
    facts.set("late_start_count", late.len() as i64);
    facts.set("late_start_usual_ns", usual_ns);
    facts.set("late_start_even_ns", even.map(|late| (late.idle_ns - SPACING_NS).max(0)).fold(0, i64::saturating_add));
    facts.set_some("late_start_range", main_range(context.timeline, late));
}

/// The kernels that start late, and how many begin on an idle GPU, the ordinary distance of two operations apart.
fn late_starts(context: &Context<'_>, device: &DeviceContext) -> (Vec<Late>, usize) {
    let api = &context.timeline.api;
    let (mut late, mut count, mut busy_until) = (Vec::new(), 0, i64::MAX);
    for op in device.ops.in_window() {
        let call = op.call(context.timeline).filter(|_| op.kind == OpKind::Kernel);
        if let Some(call) = call.filter(|_| op.start.saturating_sub(busy_until) > SPACING_NS) {
            count += 1;
            let idle_ns = op.start - api.times.end(call as usize).max(busy_until);
            if idle_ns > SPACING_NS {
                late.push(Late { thread: api.thread[call as usize], at: api.times.start(call as usize), idle_ns });
            }
        }
        busy_until = if busy_until == i64::MAX { op.end } else { busy_until.max(op.end) };
    }
    (late, count)
}

/// The innermost range that half of the time lies in, by where the kernels were launched.
fn main_range(timeline: &Timeline, mut late: Vec<Late>) -> Option<String> {
    let folded = Folded::new(timeline);
    late.sort_unstable_by_key(|late| (late.thread, late.at));
    let mut groups: BTreeMap<u32, InGroup> = BTreeMap::new();
    for of_thread in late.chunk_by(|a, b| a.thread == b.thread) {
        let ranges = of_thread.first().and_then(|first| timeline.ranges.of_thread(first.thread));
        if let Some(ranges) = ranges {
            book(ranges, of_thread, &folded, &mut groups);
        }
    }
    let whole_ns = late.iter().map(|late| late.idle_ns).fold(0, i64::saturating_add);
    telling(&groups, whole_ns).map(|(group, _)| folded.name(group).to_owned())
}

/// Adds the late starts of one thread to each group of ranges that they were launched in.
fn book(ranges: &ThreadRanges, late: &[Late], folded: &Folded, groups: &mut BTreeMap<u32, InGroup>) {
    let (mut open, mut next): (Vec<(i64, u32)>, usize) = (Vec::new(), 0);
    for start in late {
        open.retain(|(end, _)| *end > start.at);
        while next < ranges.times.len() && ranges.times.start(next) <= start.at {
            let end = ranges.times.at(next).end;
            if let Some(group) = folded.group_of(ranges.label[next])
                && end > start.at
                && open.len() < MAX_OPEN_RANGE_COUNT
            {
                open.push((end, group));
            }
            next += 1;
        }
        for (depth, (_, group)) in open.iter().enumerate() {
            let is_again = open[depth + 1..].iter().any(|(_, other)| other == group);
            let sum = groups.entry(*group).or_default();
            sum.all_ns += if is_again { 0 } else { start.idle_ns };
            sum.innermost_ns += if depth + 1 == open.len() { start.idle_ns } else { 0 };
        }
    }
}
