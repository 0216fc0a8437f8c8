//! Facts of a device: what it is, its accounts, counts, copies, storms and how compute time used it.

use super::tally::Tally;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Account, OpKind};
use crate::timeline::columns::{Direction, HostMemory, MigrationCause};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{Device, Timeline};

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    identity(&timeline.devices[device.ops.device as usize], device, facts);
    accounts(device, facts);
    exposed_copies(&device.tally, facts);
    counts(context, device, facts);
    copies(timeline, device, facts);
    storms(context, device, facts);
    compute_use(context, device, facts);
}

fn identity(known: &Device, device: &DeviceContext, facts: &mut Entity) {
    facts.set("number", known.number);
    facts.set("process_count", device.processes.len() as i64);
    let Some(properties) = &known.properties else { return };
    facts.set_some("name", properties.name.clone());
    facts.set_some("sm_count", properties.sm_count);
    facts.set_some("compute_major", properties.compute_capability.map(|capability| capability.0));
    facts.set_some("compute_minor", properties.compute_capability.map(|capability| capability.1));
    facts.set_some("memory_bandwidth_gbps", properties.memory_bandwidth.map(|rate| rate as f64 / 1e9));
    facts.set_some("total_memory_bytes", properties.total_memory_bytes);
}

fn accounts(device: &DeviceContext, facts: &mut Entity) {
    const NAMES: [(&str, Account); 6] = [
        ("compute_ns", Account::Compute),
        ("exposed_communication_ns", Account::Communication),
        ("exposed_copy_ns", Account::Copy),
        ("exposed_migration_ns", Account::Migration),
        ("exposed_memset_ns", Account::Memset),
        ("idle_ns", Account::Idle),
    ];
    let window = device.window();
    facts.set("window_ns", window.len_ns());
    facts.set("window_start_ns", window.start);
    facts.set("window_end_ns", window.end);
    facts.set("busy_ns", window.len_ns() - device.tally.accounts[Account::Idle as usize]);
    for (name, account) in NAMES {
        facts.set(name, device.tally.accounts[account as usize]);
    }
}

fn exposed_copies(tally: &Tally, facts: &mut Entity) {
    const NAMES: [&str; 6] = [
        "exposed_copy_h2d_pageable_ns",
        "exposed_copy_h2d_pinned_ns",
        "exposed_copy_d2h_pageable_ns",
        "exposed_copy_d2h_pinned_ns",
        "exposed_copy_device_ns",
        "exposed_copy_other_ns",
    ];
    let mut sums = [0_i64; NAMES.len()];
    for ((direction, memory, _), exposed_ns) in &tally.exposed_copies {
        let part = match (direction, memory) {
            (Direction::HostToDevice, HostMemory::Pageable) => 0,
            (Direction::HostToDevice, HostMemory::Pinned) => 1,
            (Direction::DeviceToHost, HostMemory::Pageable) => 2,
            (Direction::DeviceToHost, HostMemory::Pinned) => 3,
            (Direction::DeviceToDevice | Direction::Peer, _) => 4,
            _ => 5,
        };
        sums[part] += exposed_ns;
    }
    for (name, sum) in NAMES.into_iter().zip(sums) {
        facts.set(name, sum);
    }
}

/// Sums that no window bounds: a hostile report's could overflow.
fn clamped(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(i64::MAX)
}

fn counts(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let mut sums = [(0_i64, 0_i128); OpKind::ALL.len()];
    let mut bytes = [0_i128; OpKind::ALL.len()];
    let mut graphs = Vec::new();
    let mut durations = Vec::new();
    for op in device.ops.in_window(timeline) {
        let part = op.interval().clip(device.window());
        let sum = &mut sums[op.kind as usize];
        *sum = (sum.0 + 1, sum.1 + i128::from(part.len_ns()));
        let place = op.index as usize;
        match op.kind {
            OpKind::Copy => bytes[op.kind as usize] += i128::from(timeline.copies.bytes[place]),
            OpKind::Memset => bytes[op.kind as usize] += i128::from(timeline.memsets.bytes[place]),
            OpKind::Migration => bytes[op.kind as usize] += i128::from(timeline.migrations.bytes[place]),
            OpKind::Graph => graphs.push(part),
            OpKind::Kernel | OpKind::Communication => durations.push(part.len_ns()),
        }
    }
    let [kernel, graph, communication, copy, migration, memset] = sums;
    facts.set("kernel_count", kernel.0 + communication.0);
    facts.set("kernel_sum_ns", clamped(kernel.1 + communication.1));
    facts.set("kernel_union_ns", device.tally.kernel_union_ns);
    facts.set_some("kernel_median_ns", median(&mut durations));
    facts.set("communication_count", communication.0);
    facts.set("communication_sum_ns", clamped(communication.1));
    facts.set("graph_launch_count", graph.0);
    facts.set("graph_union_ns", Union::of(graphs).len_ns());
    facts.set("copy_count", copy.0);
    facts.set("copy_bytes", clamped(bytes[OpKind::Copy as usize]));
    facts.set("copy_sum_ns", clamped(copy.1));
    facts.set("memset_count", memset.0);
    facts.set("memset_bytes", clamped(bytes[OpKind::Memset as usize]));
    facts.set("memset_sum_ns", clamped(memset.1));
    facts.set("migration_count", migration.0);
    facts.set("migration_bytes", clamped(bytes[OpKind::Migration as usize]));
    facts.set("migration_sum_ns", clamped(migration.1));
    migrations(timeline, device, facts);
    let faults = timeline.page_faults.iter().find(|faults| faults.device == device.ops.device);
    facts.set_some("page_fault_count", faults.map(|faults| faults.count));
}

/// The middle value, the lower of the two middle ones; `None` of nothing.
pub(super) fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

fn migrations(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let migrations = &timeline.migrations;
    let (mut to_device, mut to_host, mut caused, mut faulted) = (0_i128, 0_i128, 0_i128, 0_i128);
    let mut first = None;
    for op in device.ops.in_window(timeline).filter(|op| op.kind == OpKind::Migration) {
        first = first.or(Some(op.start));
        let place = op.index as usize;
        let bytes = i128::from(migrations.bytes[place]);
        match migrations.direction[place] {
            Direction::HostToDevice => to_device += bytes,
            Direction::DeviceToHost => to_host += bytes,
            _ => {}
        }
        match migrations.cause[place] {
            MigrationCause::Unknown => {}
            MigrationCause::Fault => (caused, faulted) = (caused + bytes, faulted + bytes),
            _ => caused += bytes,
        }
    }
    facts.set("migration_h2d_bytes", clamped(to_device));
    facts.set("migration_d2h_bytes", clamped(to_host));
    facts.set_some("migration_fault_share", (caused > 0).then(|| faulted as f64 / caused as f64));
    facts.set_some("migration_first_start_ns", first);
}

/// Copies at least this large run at the rate of the link, not at that of starting them.
const LINK_COPY_BYTES: i64 = 1_000_000;
/// Fewer bytes than this say nothing of the link.
const LINK_BYTES: i128 = 10_000_000;

/// The rate that pinned copies of a direction reach on a device, in 1e9 bytes a second.
pub(super) fn pinned_gbps(timeline: &Timeline, device: &DeviceContext, direction: Direction) -> Option<f64> {
    let copies = &timeline.copies;
    let of_link = device.ops.in_window(timeline).filter(|op| {
        let place = op.index as usize;
        op.kind == OpKind::Copy
            && copies.direction[place] == direction
            && copies.host_memory[place] == HostMemory::Pinned
            && copies.bytes[place] >= LINK_COPY_BYTES
    });
    let of_link: Vec<_> = of_link.collect();
    let bytes: i128 = of_link.iter().map(|op| i128::from(copies.bytes[op.index as usize])).sum();
    let time = Union::of(of_link.iter().map(|op| op.interval())).len_ns();
    (bytes >= LINK_BYTES && time > 0).then(|| bytes as f64 / time as f64)
}

/// A value read back is at most this long.
const READBACK_BYTES: i64 = 64;

fn copies(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let tally = &device.tally;
    let columns = &timeline.copies;
    let pageable = device
        .ops
        .in_window(timeline)
        .filter(|op| op.kind == OpKind::Copy && columns.host_memory[op.index as usize] == HostMemory::Pageable);
    let pageable: Vec<i128> = pageable.map(|op| i128::from(columns.bytes[op.index as usize])).collect();
    facts.set("pageable_copy_count", pageable.len() as i64);
    facts.set("pageable_copy_bytes", clamped(pageable.iter().sum()));
    facts.set("copy_union_ns", tally.copy_union_ns);
    facts.set("copy_overlapped_ns", tally.copy_overlapped_ns);
    if tally.copy_union_ns > 0 {
        facts.set("copy_overlapped_share", tally.copy_overlapped_ns as f64 / tally.copy_union_ns as f64);
    }
    facts.set("host_copy_union_ns", tally.host_copy_union_ns);
    facts.set("host_copy_overlapped_ns", tally.host_copy_overlapped_ns);
    facts.set("overlap_possible_ns", tally.exposed_host_copy_ns.min(tally.compute_without_host_copy_ns));
    facts.set_some("pinned_h2d_gbps", pinned_gbps(timeline, device, Direction::HostToDevice));
    facts.set_some("pinned_d2h_gbps", pinned_gbps(timeline, device, Direction::DeviceToHost));
}

/// Values that the host reads back one at a time: tiny copies to the host that it waits for.
pub(super) fn readbacks(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if timeline.api.is_empty() {
        return;
    }
    let (mut count, mut first) = (0, None);
    let mut is_readback = rustc_hash::FxHashSet::default();
    for op in device.ops.in_window(timeline).filter(|op| op.kind == OpKind::Copy) {
        let place = op.index as usize;
        let is_tiny = timeline.copies.bytes[place] <= READBACK_BYTES
            && timeline.copies.direction[place] == Direction::DeviceToHost;
        if is_tiny && op.call(timeline).is_some_and(|call| super::syncs::is_waited_for(context, call)) {
            count += 1;
            first = first.or(Some(op.start));
            is_readback.insert(op.index);
        }
    }
    let idle = device.idle.after_copies.iter().filter(|(copy, _)| is_readback.contains(copy));
    facts.set("readback_count", count);
    facts.set("readback_idle_ns", idle.map(|(_, length)| length).sum::<i64>());
    facts.set_some("readback_first_start_ns", first);
}

fn storms(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, storms) = (context.timeline, &device.storms);
    let length = storms.parts.len_ns();
    facts.set("storm_count", storms.count);
    facts.set("storm_ns", length);
    facts.set("storm_kernel_count", storms.kernel_count);
    facts.set("storm_busy_ns", storms.busy_ns);
    let busy = device.tally.busy.common_ns(&storms.parts);
    facts.set("storm_idle_ns", length - busy);
    facts.set("storm_kernel_name_count", storms.names.len() as i64);
    if context.knows_host_of(device) {
        facts.set("storm_launch_idle_ns", device.idle.storm_launch_ns);
    }
    let Some(longest) = storms.longest else { return };
    facts.set("storm_launches_per_s", storms.kernel_count as f64 / (length as f64 / 1e9));
    facts.set_some("storm_median_ns", median(&mut storms.durations.clone()).map(i64::from));
    facts.set("storm_longest_ns", longest.len_ns());
    facts.set("storm_longest_start_ns", longest.start);
    let commonest = storms.names.iter().max_by_key(|(name, count)| (**count, std::cmp::Reverse(timeline.name(**name))));
    facts.set_some("storm_kernel", commonest.map(|(name, _)| timeline.name(*name)));
}

fn compute_use(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, tally) = (context.timeline, &device.tally);
    facts.set("faulting_ns", tally.faulting_ns);
    facts.set("one_thread_kernel_ns", tally.one_thread_ns);
    let known = &timeline.devices[device.ops.device as usize];
    let Some(sm_count) = known.properties.as_ref().and_then(|properties| properties.sm_count) else { return };
    facts.set("underfilled_ns", tally.underfilled_ns);
    facts.set("unused_sm_ns", clamped(tally.unused_sm_ns / i128::from(sm_count)));
    let worst = tally.kernels.iter().filter(|(_, kernel)| kernel.underfilled_ns > 0);
    let worst = worst.max_by_key(|(name, kernel)| (kernel.underfilled_ns, std::cmp::Reverse(timeline.name(*name))));
    if let Some((name, kernel)) = worst {
        facts.set("underfilled_kernel", timeline.name(*name));
        facts.set("underfilled_kernel_ns", kernel.underfilled_ns);
    }
    // Kernels hidden in graphs have no grid: where they are most of the time, the rest stands for nothing.
    if tally.known_grid_ns > 0 && 2 * tally.known_grid_ns >= tally.accounts[Account::Compute as usize] {
        let filled = (tally.filled_ns - tally.tail_ns) / tally.known_grid_ns as f64;
        facts.set("sm_filled_share", filled.clamp(0.0, 1.0));
        facts.set("tail_sm_ns", tally.tail_ns as i64);
    }
    if tally.occupancy_known_ns > 0 {
        facts.set("theoretical_occupancy_share", tally.occupancy_ns / tally.occupancy_known_ns as f64);
    }
}

/// The part of an interval in which the device runs something.
pub(super) fn busy_within(device: &DeviceContext, interval: Interval) -> i64 {
    device.tally.busy.overlap_ns(interval)
}
