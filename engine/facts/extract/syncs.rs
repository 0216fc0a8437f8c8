//! Facts of blocking waits: one process, one API, seen from one device.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Context, DeviceContext, Parents, device};
use crate::facts::{Entity, EntityKind, Facts};
use crate::ledger::Activity;
use crate::ledger::idle::{Drained, Trigger};
use crate::timeline::api::{ApiClass, WaitsFor};
use crate::timeline::{NameId, Timeline};

/// A wait that begins this soon after a copy call waits for that copy.
const SOON_NS: i64 = 50_000;

/// Whether the host waits for what a copy call asked for: the call blocks, or the thread's next call is a wait.
pub(super) fn is_waited_for(context: &Context<'_>, call: u32) -> bool {
    let timeline = context.timeline;
    if context.calls.activity.get(call as usize) == Some(&Activity::CopyCall) {
        return true;
    }
    let calls = context.calls.of_thread(timeline.api.thread[call as usize]);
    let start = |call: u32| timeline.api.times.start(call as usize);
    let end = timeline.api.times.end(call as usize);
    let after = calls.partition_point(|other| (start(*other), *other) <= (start(call), call));
    let next = calls[after..].iter().take(3).copied().find(|next| start(*next) >= end);
    next.is_some_and(|next| {
        matches!(context.calls.class_of(timeline, next), ApiClass::Wait(_)) && start(next) - end < SOON_NS
    })
}

#[derive(Debug, Default)]
struct Waits {
    count: i64,
    call_ns: i64,
    busy_ns: i64,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, facts: &mut Facts) {
    let timeline = context.timeline;
    let ceiling = super::idle::overlap_ceiling(context, device);
    let prefix = facts.get(parents.device).key.clone();
    let ranges = main_ranges(timeline, device);
    for process in &device.processes {
        let pid = timeline.processes.get(*process as usize).map_or(0, |process| process.pid);
        let groups: BTreeMap<&str, (NameId, Waits)> = waits(context, device, *process)
            .into_iter()
            .map(|(name, waits)| (timeline.name(name), (name, waits)))
            .collect();
        for (api, (name, waits)) in groups {
            let key = format!("{prefix}/{pid}/{api}");
            let id = facts.add(EntityKind::SyncGroup, key, &parents.with_process(*process));
            let entity = facts.get_mut(id);
            entity.set("api", api);
            if let Some(ApiClass::Wait(waits_for)) = context.calls.class.get(name as usize) {
                entity.set("waits_for", waits_for_name(*waits_for));
            }
            entity.set("call_count", waits.count);
            entity.set("call_ns", waits.call_ns);
            entity.set("call_busy_ns", waits.busy_ns);
            let drained = device.idle.drained.get(&(*process, Trigger::Sync, name)).copied().unwrap_or_default();
            // Without the waits the host would be ahead by what it spent in them, and by no more.
            drain(entity, drained, ceiling.map(|ceiling| ceiling.min(waits.call_ns)));
            entity.set_some("range", ranges.get(&(*process, name)).map(|range| timeline.name(*range)));
        }
    }
}

const fn waits_for_name(waits_for: WaitsFor) -> &'static str {
    match waits_for {
        WaitsFor::Stream => "stream",
        WaitsFor::Event => "event",
        WaitsFor::Device => "device",
    }
}

fn waits(context: &Context<'_>, device: &DeviceContext, process: u32) -> FxHashMap<NameId, Waits> {
    let (timeline, window) = (context.timeline, device.window());
    let mut groups: FxHashMap<NameId, Waits> = FxHashMap::default();
    for call in context.calls_of(process, Some(window)) {
        if !matches!(context.calls.class_of(timeline, call), ApiClass::Wait(_)) {
            continue;
        }
        let part = timeline.api.times.at(call as usize).clip(window);
        let waits = groups.entry(timeline.api.name[call as usize]).or_default();
        waits.count += 1;
        waits.call_ns = waits.call_ns.saturating_add(part.len_ns());
        waits.busy_ns = waits.busy_ns.saturating_add(device::busy_within(device, part));
    }
    groups
}

fn drain(entity: &mut Entity, drained: Drained, ceiling: Option<i64>) {
    let stretches = drained.stretches;
    entity.set("tail_ns", drained.tail_ns);
    entity.set("dry_ns", stretches.sum_ns);
    entity.set("dry_stretch_count", stretches.count);
    entity.set("dry_host_ns", drained.host_ns);
    entity.set_some("run_ahead_ns", ceiling.map(|ceiling| ceiling.min(stretches.sum_ns)));
    if stretches.count > 0 {
        entity.set("longest_dry_ns", stretches.longest_ns);
        entity.set("longest_dry_start_ns", stretches.longest_start_ns);
    }
}

/// A process and the API that it waits in.
type Wait = (u32, NameId);

/// For each wait the innermost annotation that at least half of the idle time inside it lies in.
fn main_ranges(timeline: &Timeline, device: &DeviceContext) -> FxHashMap<Wait, NameId> {
    let mut times: BTreeMap<(Wait, NameId), i64> = BTreeMap::new();
    let mut whole: FxHashMap<Wait, i64> = FxHashMap::default();
    for ((process, call, label), time) in &device.idle.wait_tails {
        let wait = (*process, *call);
        *whole.entry(wait).or_default() += time;
        if let Some(label) = timeline.ranges.labels.get(*label as usize) {
            *times.entry((wait, label.name)).or_default() += time;
        }
    }
    let mut best: FxHashMap<Wait, (i64, NameId)> = FxHashMap::default();
    for ((wait, range), time) in times {
        let entry = best.entry(wait).or_insert((0, range));
        if time > entry.0 {
            *entry = (time, range);
        }
    }
    let is_most = |(wait, (time, _)): &(Wait, (i64, NameId))| 2 * time >= whole.get(wait).copied().unwrap_or(0);
    best.into_iter().filter(is_most).map(|(wait, (_, range))| (wait, range)).collect()
}
