//! Facts of groups of copies: direction, host memory and API on one device.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use super::by_index::Seen;
use super::device::pinned_gb_per_s;
use super::stats::{clamped, median};
use super::tally::{CopyKey, copy_key};
use super::{Context, DeviceContext, DevicePart, Parents};
use crate::facts::{Entity, EntityKind};
use crate::ledger::Op;
use crate::timeline::api::ApiClass;
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::interval::Interval;
use crate::timeline::union::{Follower, Union};
use crate::timeline::{NONE, Timeline};

/// A copy no larger than this is small: the driver handles it apart, and starting it costs more than moving it.
const SMALL_BYTES: i64 = 65_536;

const fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "host_to_device",
        Direction::DeviceToHost => "device_to_host",
        Direction::DeviceToDevice => "device_to_device",
        Direction::Peer => "peer",
        Direction::HostToHost => "host_to_host",
        Direction::Unknown => "unknown",
    }
}

const fn memory_name(memory: HostMemory) -> &'static str {
    match memory {
        HostMemory::Pageable => "pageable",
        HostMemory::Pinned => "pinned",
        HostMemory::Managed => "managed",
        HostMemory::None => "none",
        HostMemory::Unknown => "unknown",
    }
}

/// The copies of one group.
struct Group {
    name: String,
    key: CopyKey,
    ops: Vec<Op>,
}

impl Group {
    /// Of the same name, by key. Not by key alone: the order of ids depends on the exporter.
    fn by_name(&self, other: &Self) -> Ordering {
        (&self.name, self.key).cmp(&(&other.name, other.key))
    }
}

/// Adds the groups of copies; returns the index of each among the entities.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    parents: &Parents<'_>,
    part: &mut DevicePart,
) -> HashMap<CopyKey, usize> {
    let timeline = context.timeline;
    let mut groups: HashMap<CopyKey, Vec<Op>> = HashMap::default();
    for op in device.ops.copies_in_window() {
        groups.entry(copy_key(timeline, op)).or_default().push(op);
    }
    let groups = groups.into_iter();
    let mut groups: Vec<Group> = groups.map(|(key, ops)| Group { name: group_name(timeline, key), key, ops }).collect();
    groups.sort_by(|a, b| b.ops.len().cmp(&a.ops.len()).then_with(|| a.by_name(b)));
    part.keep(&mut groups, context.max_entities());
    groups.sort_by(Group::by_name);
    let mut rates: BTreeMap<Direction, Option<f64>> = BTreeMap::new();
    let mut entities = HashMap::default();
    let other_ways = OtherWay::of_all(timeline, device, &groups);
    for Group { name, key, ops } in groups {
        let mut entity = Entity::new(EntityKind::CopyGroup, parents.key_of(&name), parents.of_device());
        entity.set("name", name);
        set(context, device, key, &ops, &mut entity);
        let rate = rates.entry(key.0).or_insert_with(|| pinned_gb_per_s(timeline, device, key.0));
        entity.set_some("pinned_gb_per_s", *rate);
        if let Some(other) = other_ways.get(&(key.0, key.1)) {
            entity.set("other_way_exposed_ns", other.exposed_ns);
            entity.set("other_way_gb_per_s", other.gb_per_s);
        }
        entities.insert(key, part.entities.len());
        part.entities.push(entity);
    }
    entities
}

/// The copies between the same kinds of memory that go the other way than some.
struct OtherWay {
    exposed_ns: i64,
    gb_per_s: f64,
}

impl OtherWay {
    /// By direction and host memory of those that it is the other way of.
    fn of_all(timeline: &Timeline, device: &DeviceContext, groups: &[Group]) -> HashMap<(Direction, HostMemory), Self> {
        let mut of_way: HashMap<(Direction, HostMemory), Vec<&Group>> = HashMap::default();
        for group in groups {
            let other = match group.key.0 {
                Direction::HostToDevice => Direction::DeviceToHost,
                Direction::DeviceToHost => Direction::HostToDevice,
                _ => continue,
            };
            of_way.entry((other, group.key.1)).or_default().push(group);
        }
        let told = |(way, groups): (_, Vec<&Group>)| {
            let ops = || groups.iter().flat_map(|group| &group.ops);
            let whole_ns = Union::of(ops().map(|op| op.interval())).len_ns();
            let exposed = groups.iter().filter_map(|group| device.tally.exposed_copies.get(&group.key));
            let exposed_ns = exposed.copied().fold(0, i64::saturating_add);
            let gb_per_s = bytes_of(timeline, ops()) as f64 / whole_ns as f64;
            (whole_ns > 0).then_some((way, Self { exposed_ns, gb_per_s }))
        };
        of_way.into_iter().filter_map(told).collect()
    }
}

fn group_name(timeline: &Timeline, (direction, memory, api): CopyKey) -> String {
    let way = direction_name(direction).replace('_', " ");
    let memory = match memory {
        HostMemory::None => String::new(),
        known => format!(", {}", memory_name(known)),
    };
    let api = if api == NONE { String::new() } else { format!(", {}", timeline.name(api)) };
    format!("{way}{memory}{api}")
}

fn set(context: &Context<'_>, device: &DeviceContext, key: CopyKey, ops: &[Op], facts: &mut Entity) {
    let timeline = context.timeline;
    let (direction, memory, api) = key;
    facts.set("direction", direction_name(direction));
    facts.set("host_memory", memory_name(memory));
    let is_of_host = !matches!(direction, Direction::DeviceToDevice | Direction::Peer);
    let is_known = memory != HostMemory::Unknown || !is_of_host;
    facts.set_some("is_pageable", is_known.then_some(memory == HostMemory::Pageable));
    if api != NONE {
        facts.set("api", timeline.name(api));
        let class = context.calls.class.get(api as usize).copied().unwrap_or(ApiClass::Other);
        facts.set("is_blocking_call", class == ApiClass::CopyBlocking);
    }
    let window = device.window();
    let bytes = bytes_of(timeline, ops.iter());
    let busy = Union::of(ops.iter().map(|op| op.interval().clip(window)));
    facts.set("count", ops.len() as i64);
    facts.set("bytes", clamped(bytes));
    let first_kernel = device.ops.in_window().find(|op| op.kind.is_kernel());
    if let Some(first) = first_kernel.map(|op| op.start) {
        let before = ops.iter().filter(|op| op.start < first);
        facts.set("before_first_kernel_count", before.clone().count() as i64);
        facts.set("before_first_kernel_bytes", clamped(bytes_of(timeline, before)));
    }
    facts.set("sum_ns", time_of(device, ops.iter()));
    facts.set("busy_ns", busy.len_ns());
    facts.set("exposed_ns", device.tally.exposed_copies.get(&key).copied().unwrap_or(0));
    facts.set("overlapped_ns", busy.common_ns(&device.tally.kernels_run));
    // Whole copies over their whole time: one that the window cuts would seem faster than it is.
    let whole = Union::of(ops.iter().map(|op| op.interval())).len_ns();
    if whole > 0 {
        facts.set("achieved_gb_per_s", bytes as f64 / whole as f64);
    }
    let small = || ops.iter().filter(|op| timeline.copies.bytes[op.index as usize] <= SMALL_BYTES);
    facts.set("small_count", small().count() as i64);
    facts.set("small_sum_ns", time_of(device, small()));
    sizes(ops.iter().map(|op| timeline.copies.bytes[op.index as usize]).collect(), facts);
    times(timeline, ops, facts);
    host_calls(context, device, ops, facts);
}

/// The bytes of copies together.
fn bytes_of<'ops>(timeline: &Timeline, ops: impl Iterator<Item = &'ops Op>) -> i128 {
    ops.map(|op| i128::from(timeline.copies.bytes[op.index as usize])).sum()
}

/// The durations of copies in the window, summed.
fn time_of<'ops>(device: &DeviceContext, ops: impl Iterator<Item = &'ops Op>) -> i64 {
    clamped(ops.map(|op| i128::from(op.interval().clip(device.window()).len_ns())).sum())
}

fn sizes(mut sizes: Vec<i64>, facts: &mut Entity) {
    let mut counts: HashMap<i64, i64> = HashMap::default();
    for size in &sizes {
        *counts.entry(*size).or_default() += 1;
    }
    if let Some((size, count)) = counts.into_iter().max_by_key(|(size, count)| (*count, *size)) {
        facts.set("same_size_count", count);
        facts.set("same_size_bytes", size);
    }
    facts.set_some("largest_bytes", sizes.iter().max().copied());
    facts.set_some("median_bytes", median(&mut sizes));
}

fn times(timeline: &Timeline, ops: &[Op], facts: &mut Entity) {
    facts.set_some("first_start_ns", ops.iter().map(|op| op.start).min());
    facts.set_some("last_start_ns", ops.iter().map(|op| op.start).max());
    if let Some(longest) = ops.iter().max_by_key(|op| (op.interval().len_ns(), -op.start)) {
        facts.set("longest_ns", longest.interval().len_ns());
        facts.set("longest_start_ns", longest.start);
    }
    let streams: HashSet<u32> = ops.iter().map(|op| op.stream(timeline)).collect();
    facts.set("stream_count", streams.len() as i64);
}

/// What the host spent in the calls that asked for the copies.
fn host_calls(context: &Context<'_>, device: &DeviceContext, ops: &[Op], facts: &mut Entity) {
    let api = &context.timeline.api;
    let mut seen = Seen::default();
    let calls = ops.iter().filter_map(|op| op.call(context.timeline)).filter(|call| seen.is_new(*call));
    let mut calls: Vec<Interval> = calls.map(|call| api.times.at(call as usize)).collect();
    if calls.is_empty() {
        return;
    }
    calls.sort_unstable();
    let mut busy = Follower::new(&device.tally.busy);
    let (mut sum, mut idle, mut longest) = (0_i64, 0_i64, 0_i64);
    for interval in calls {
        let inside = interval.clip(device.window());
        sum = sum.saturating_add(inside.len_ns());
        idle = idle.saturating_add(inside.len_ns() - busy.overlap_ns(inside));
        longest = longest.max(interval.len_ns());
    }
    facts.set("call_ns", sum);
    facts.set("call_idle_ns", idle);
    facts.set("call_longest_ns", longest);
}
