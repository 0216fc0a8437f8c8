//! Copies of pageable memory that no recorded call asked for, and what the device is idle before them, by the operator that made them:
//! such a copy keeps its thread until it begins.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::columns::{HostMemory, RangeKind};
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// With more threads in operators they are not held against each other.
const MOST_THREADS: usize = 16;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if !timeline.lacks_calls || !device.knows_host {
        return;
    }
    let mut copies = uncalled(timeline, device);
    if copies.is_empty() {
        return;
    }
    let labels = &timeline.ranges.labels;
    let is_operator: Vec<bool> = labels.iter().map(|label| label.kind == RangeKind::Operator).collect();
    let has_any =
        |ranges: &&ThreadRanges| ranges.label.iter().any(|label| is_operator.get(*label as usize) == Some(&true));
    let threads: Vec<_> = timeline.ranges.threads.iter().filter(has_any).take(MOST_THREADS + 1).collect();
    if threads.len() > MOST_THREADS {
        return;
    }
    copies.sort_unstable();
    let mut within: Vec<Option<u32>> = vec![None; copies.len()];
    // Of several threads either may have asked for it; nor did one that is in another call.
    let mut is_unclear = vec![false; copies.len()];
    for ranges in threads {
        for (index, label) in innermost(ranges, &is_operator, &copies) {
            let is_known = !context.calls.of_thread(ranges.thread).is_empty();
            let is_asking = is_known && !context.calls.is_in_call(timeline, ranges.thread, copies[index].0);
            is_unclear[index] |= !is_asking || within[index].replace(label).is_some();
        }
    }
    let mut by_name: BTreeMap<NameId, (i64, i64)> = BTreeMap::new();
    for ((label, (_, idle_ns)), _) in within.iter().zip(&copies).zip(is_unclear).filter(|(_, is_unclear)| !is_unclear) {
        let Some(name) = label.and_then(|label| labels.get(label as usize)).map(|label| label.name) else { continue };
        let (ns, count) = by_name.entry(name).or_default();
        (*ns, *count) = (ns.saturating_add(*idle_ns), *count + 1);
    }
    let most = by_name.iter().max_by_key(|(name, (ns, _))| (*ns, Reverse(timeline.name(**name))));
    let Some((name, _)) = most else { return };
    facts.set("uncalled_copy_operator", timeline.name(*name));
    facts.set("uncalled_copy_count", by_name.values().map(|(_, count)| count).sum::<i64>());
    facts.set("uncalled_copy_idle_ns", by_name.values().fold(0_i64, |sum, (ns, _)| sum.saturating_add(*ns)));
}

/// When each begins, and for how long the device is idle before it.
fn uncalled(timeline: &Timeline, device: &DeviceContext) -> Vec<(i64, i64)> {
    let all = &timeline.copies;
    let begin = |copy: u32| {
        let index = copy as usize;
        let is_pageable = all.host_memory.get(index) == Some(&HostMemory::Pageable);
        let is_uncalled = is_pageable && all.ops.call.get(index) == Some(&NONE);
        all.ops.times.get(index).filter(|_| is_uncalled).map(|times| times.start)
    };
    let beside = device.idle().beside_copies.iter();
    beside.filter_map(|beside| Some((begin(beside.copies.after)?, beside.idle_ns))).collect()
}

/// The innermost operator of a thread as each of some copies, by time, begins: the copy's index, and the label.
fn innermost<'all>(
    ranges: &'all ThreadRanges,
    is_operator: &'all [bool],
    copies: &'all [(i64, i64)],
) -> impl Iterator<Item = (usize, u32)> + 'all {
    let (mut next, mut open) = (0, Vec::<(i64, u32)>::new());
    copies.iter().enumerate().filter_map(move |(index, (moment, _))| {
        while let Some((times, label)) = ranges.times.get(next).zip(ranges.label.get(next)) {
            if times.start > *moment {
                break;
            }
            next += 1;
            while open.pop_if(|(end, _)| *end <= times.start).is_some() {}
            if is_operator.get(*label as usize) == Some(&true) {
                open.push((times.end, *label));
            }
        }
        while open.pop_if(|(end, _)| *end <= *moment).is_some() {}
        open.last().map(|(_, label)| (index, *label))
    })
}
