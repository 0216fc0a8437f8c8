//! Facts of blocking waits: one process, one API, seen from one device.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::{Context, DeviceContext, DevicePart, Parents};
use crate::facts::{Entity, EntityKind};
use crate::ledger::Account;
use crate::ledger::reading::Drained;
use crate::timeline::api::{ApiClass, WaitsFor};
use crate::timeline::columns::{Direction, MigrationCause};
use crate::timeline::interval::Interval;
use crate::timeline::{NameId, Timeline};

#[derive(Debug, Default)]
struct Waits {
    count: i64,
    call_ns: i64,
    busy_ns: i64,
    /// Those right before memory that moves to the host.
    read_after_count: i64,
    /// Those in which the thread sleeps in the operating system.
    slept_count: i64,
}

/// Memory that begins to move to the host so soon after a wait is read by the code after it.
const READ_NS: i64 = 200_000;

/// A process and the API that it waits in.
pub(super) type Wait = (u32, NameId);

/// Adds the waits; returns the index of each among the entities.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    parents: &Parents<'_>,
    part: &mut DevicePart,
) -> HashMap<Wait, usize> {
    let timeline = context.timeline;
    let ranges = main_ranges(timeline, device);
    let reads = reads(timeline, device);
    let mut entities = HashMap::default();
    for process in device.processes.iter().copied() {
        let mut groups: Vec<(NameId, Waits)> = waits(context, device, process, &reads).into_iter().collect();
        groups.sort_by_key(|(name, _)| timeline.name(*name));
        part.keep(&mut groups, context.max_entities().saturating_sub(entities.len()));
        for (name, waits) in groups {
            let key = parents.key_of(&format!("{}/{}", context.pid_of(process), timeline.name(name)));
            let mut entity = Entity::new(EntityKind::SyncGroup, key, parents.of_process(process));
            set(context, device, (process, name), &waits, &mut entity);
            entity.set_some("range", ranges.get(&(process, name)).map(|range| timeline.name(*range)));
            entities.insert((process, name), part.entities.len());
            part.entities.push(entity);
        }
    }
    entities
}

fn set(context: &Context<'_>, device: &DeviceContext, wait: Wait, waits: &Waits, entity: &mut Entity) {
    let (process, name) = wait;
    entity.set("api", context.timeline.name(name));
    if let Some(ApiClass::Wait(waits_for)) = context.calls.class.get(name as usize) {
        entity.set("waits_for", waits_for_name(*waits_for));
    }
    entity.set("call_count", waits.count);
    entity.set("call_ns", waits.call_ns);
    entity.set("call_busy_ns", waits.busy_ns);
    entity.set("read_after_count", waits.read_after_count);
    if !context.timeline.os_calls.times.is_empty() {
        entity.set("slept_count", waits.slept_count);
    }
    let drained = device.idle().drained.get(&(process, Account::AfterSync, name)).copied().unwrap_or_default();
    drain(entity, drained, device.overlap_ceiling());
}

const fn waits_for_name(waits_for: WaitsFor) -> &'static str {
    match waits_for {
        WaitsFor::Stream => "stream",
        WaitsFor::Event => "event",
        WaitsFor::Device => "device",
    }
}

fn waits(context: &Context<'_>, device: &DeviceContext, process: u32, reads: &[i64]) -> HashMap<NameId, Waits> {
    let (times, window) = (&context.timeline.api.times, device.window());
    let mut groups: HashMap<NameId, Waits> = HashMap::default();
    let kinds = context.call_kinds().get(process as usize).map_or(&[][..], |calls| &calls.kinds);
    for kind in kinds.iter().filter(|kind| kind.waits()) {
        let count = kind.calls.count(times, window);
        if count == 0 {
            continue;
        }
        let waits = groups.entry(kind.name).or_default();
        waits.count += count;
        waits.call_ns = waits.call_ns.saturating_add(kind.calls.inside_ns(times, window));
        waits.busy_ns = waits.busy_ns.saturating_add(kind.calls.beside_ns(times, window, &device.tally.busy));
        waits.read_after_count += kind.calls.ended_count(times, before_reads(reads, window));
        waits.slept_count += kind.slept.count(times, window);
    }
    groups
}

/// The times in which a wait ends that is right before a read, from the first to the last moment of each.
fn before_reads(reads: &[i64], window: Interval) -> impl Iterator<Item = [i64; 2]> {
    let mut next = window.start.saturating_add(1);
    reads.iter().map(move |read| {
        let first = read.saturating_sub(READ_NS).max(next);
        next = next.max(read.saturating_add(1));
        [first, *read]
    })
}

/// When unified memory begins to move to the host because the host reads it, in time order.
fn reads(timeline: &Timeline, device: &DeviceContext) -> Vec<i64> {
    let moves = device.ops.migrations_in_window();
    let direction = |index: u32| timeline.migrations.direction.get(index as usize).copied();
    let is_read = |index: u32| {
        let cause = timeline.migrations.cause.get(index as usize);
        matches!(cause, None | Some(MigrationCause::Fault | MigrationCause::Unknown))
    };
    let reads = moves.filter(|op| direction(op.index) == Some(Direction::DeviceToHost) && is_read(op.index));
    reads.map(|op| op.start).collect()
}

fn drain(entity: &mut Entity, drained: Drained, ceiling: Option<i64>) {
    let stretches = drained.stretches;
    entity.set("return_latency_ns", drained.sync_ns);
    entity.set("idle_after_ns", stretches.sum_ns);
    entity.set("idle_after_stretch_count", stretches.count);
    entity.set("idle_after_host_ns", drained.host_ns);
    entity.set("idle_after_other_call_ns", drained.calls_ns);
    entity.set("idle_after_late_ns", drained.late_start_ns);
    entity.set_some("run_ahead_ns", ceiling.map(|ceiling| ceiling.min(drained.run_ahead_ns)));
    if stretches.count > 0 {
        entity.set("idle_after_longest_ns", stretches.longest_ns);
        entity.set("idle_after_longest_start_ns", stretches.longest_start_ns);
    }
}

/// For each wait the innermost range that at least half of the idle time inside it lies in.
fn main_ranges(timeline: &Timeline, device: &DeviceContext) -> HashMap<Wait, NameId> {
    let mut times: BTreeMap<(Wait, NameId), i64> = BTreeMap::new();
    let mut whole: HashMap<Wait, i64> = HashMap::default();
    for ((process, call, label), time) in device.idle().after_waits.iter() {
        let wait = (*process, *call);
        *whole.entry(wait).or_default() += time;
        if let Some(label) = timeline.ranges.labels.get(*label as usize) {
            *times.entry((wait, label.name)).or_default() += time;
        }
    }
    let mut best: HashMap<Wait, (i64, NameId)> = HashMap::default();
    for ((wait, range), time) in times {
        let entry = best.entry(wait).or_insert((0, range));
        if time > entry.0 {
            *entry = (time, range);
        }
    }
    let is_most = |(wait, (time, _)): &(Wait, (i64, NameId))| 2 * time >= whole.get(wait).copied().unwrap_or(0);
    best.into_iter().filter(is_most).map(|(wait, (_, range))| (wait, range)).collect()
}
