//! Copies of pageable memory that no recorded call asked for, and what the device is idle before them, by the operator that made them:
//! such a copy keeps its thread until it begins.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::operators::Within;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::InOperators;
use crate::timeline::columns::{HostMemory, RangeKind};
use crate::timeline::{NONE, NameId, Timeline};

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if !timeline.lacks_calls || !device.knows_host {
        return;
    }
    let mut copies = uncalled(timeline, device);
    if copies.is_empty() {
        return;
    }
    copies.sort_unstable();
    let labels = &timeline.ranges.labels;
    let is_operator: Vec<bool> = labels.iter().map(|label| label.kind == RangeKind::Operator).collect();
    let in_operators = InOperators::new(&context.calls);
    let mut within: HashMap<u32, Within<'_>> = HashMap::default();
    let mut by_name: BTreeMap<NameId, (i64, i64)> = BTreeMap::new();
    for (moment, idle_ns) in copies {
        // Of several threads, whatever their process, any may have asked for it.
        let thread = in_operators.thread_at(timeline, NONE, moment);
        let Some(ranges) = thread.and_then(|thread| timeline.ranges.of_thread(thread)) else { continue };
        let within = within.entry(ranges.thread).or_insert_with(|| Within::new(ranges, &is_operator));
        let Some(label) = labels.get(within.at(moment, &[]) as usize) else { continue };
        let (ns, count) = by_name.entry(label.name).or_default();
        (*ns, *count) = (ns.saturating_add(idle_ns), *count + 1);
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
