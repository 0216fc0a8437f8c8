//! Facts of a device: what it is, counts, copies, storms and how compute time used it.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::stats::{clamped, median};
use super::tally::Tally;
use super::{Context, DeviceContext};
use super::{first_pages, prefetches};
use crate::facts::Entity;
use crate::ledger::host::LAUNCH_GAP_NS;
use crate::ledger::{Account, Op, OpKind};
use crate::timeline::api;
use crate::timeline::columns::{Direction, HostMemory, MigrationCause};
use crate::timeline::interval::Interval;
use crate::timeline::link::LinkRates;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline};

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    identity(timeline, device, facts);
    let of_process = |process: &u32| context.devices.iter().filter(|other| other.is_of(*process)).count();
    facts.set("process_device_count", device.processes.iter().map(of_process).max().unwrap_or(0) as i64);
    window(device, facts);
    counts(context, device, facts);
    copies(context, device, facts);
    storms(context, device, facts);
    compute_use(context, device, facts);
    reloads(context, device, facts);
}

/// How often the thread that launches loads code behind some that it unloads, and how long the device is idle for that.
fn reloads(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let rows = &context.timeline.api;
    let Some(thread) = device.main_thread.filter(|_| !rows.is_empty()) else { return };
    if !context.is_any_called(api::lets_code_go) {
        facts.set("code_reload_count", 0_i64);
        facts.set("code_reload_idle_ns", 0_i64);
        return;
    }
    let (mut count, mut idle_ns) = (0_i64, 0_i64);
    // For how long the device is idle for each that is unloaded and not yet loaded again.
    let mut unloaded: Vec<i64> = Vec::new();
    let mut is_unloaded = false;
    let mut unloads = Told::new(&context.timeline.names, api::lets_code_go);
    let mut loads = Told::new(&context.timeline.names, api::brings_code);
    let calls = context.calls.of_thread(thread);
    for (index, call) in calls.iter().enumerate() {
        let name = rows.name[*call as usize];
        let own = rows.times.at(*call as usize);
        if own.overlap_ns(device.window()) == 0 {
            continue;
        }
        // What follows right behind it belongs to it, as the ledger has it.
        let next = calls.get(index + 1).map(|next| (rows.times.start(*next as usize), rows.name[*next as usize]));
        let next = next.filter(|(start, _)| (own.end..own.end.saturating_add(LAUNCH_GAP_NS)).contains(start));
        let own_idle_ns = |until: Option<i64>| {
            let part = Interval::new(own.start, until.unwrap_or(own.end)).clip(device.window());
            part.len_ns() - device.busy_within(part)
        };
        if unloads.of(name) {
            let until = next.filter(|(_, name)| loads.of(*name)).map(|(start, _)| start);
            unloaded.push(own_idle_ns(until));
            is_unloaded = true;
        } else if loads.of(name) {
            count += i64::from(is_unloaded);
            is_unloaded = false;
            if let Some(unload_ns) = unloaded.pop() {
                let own_ns = own_idle_ns(next.map(|(start, _)| start));
                idle_ns = idle_ns.saturating_add(unload_ns).saturating_add(own_ns);
            }
        }
    }
    facts.set("code_reload_count", count);
    facts.set("code_reload_idle_ns", idle_ns);
}

/// The processes of a recording with calls, where some work of a device names none of them.
fn possible_processes(timeline: &Timeline, device: u32) -> Option<i64> {
    let unknown = &timeline.unknown_launchers;
    unknown.of_devices.contains_key(&device).then_some(unknown.calling_process_count as i64)
}

fn identity(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let known = &timeline.devices[device.ops.device as usize];
    facts.set("number", known.number);
    facts.set("process_count", device.processes.len() as i64);
    facts.set_some("possible_process_count", possible_processes(timeline, device.ops.device));
    let Some(properties) = &known.properties else { return };
    facts.set_some("name", properties.name.clone());
    facts.set_some("is_integrated", properties.is_integrated);
    facts.set_some("copy_engine_count", properties.copy_engine_count);
    facts.set("is_partition", properties.is_partition);
    facts.set_some("sm_count", properties.sm_count);
    facts.set_some("sm_scheduler_count", properties.sm_scheduler_count());
    facts.set_some("compute_major", properties.compute_capability.map(|capability| capability.0));
    facts.set_some("compute_minor", properties.compute_capability.map(|capability| capability.1));
    let ratios = properties.tensor_ratios();
    facts.set_some("half_peak_ratio", ratios.map(|ratios| ratios.half));
    facts.set_some("tf32_peak_ratio", ratios.and_then(|ratios| ratios.tf32));
    facts.set_some("fp64_peak_ratio", properties.fp64_ratio());
    facts.set_some("memory_bandwidth_gb_per_s", properties.memory_bandwidth.map(|rate| rate as f64 / 1e9));
    facts.set_some("total_memory_bytes", properties.total_memory_bytes);
}

fn window(device: &DeviceContext, facts: &mut Entity) {
    facts.set("window_start_ns", device.window().start);
    facts.set("window_end_ns", device.window().end);
    facts.set("busy_ns", device.busy_ns());
}

/// The operations of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    count: i64,
    sum_ns: i128,
    bytes: i128,
}

/// One copy or memset that takes this part of the time in which the device is busy is no measure of its work, unless copies take that part of
/// the window: then they are what there is to tell.
const LONE_SHARE: f64 = 0.5;
const OWN_COPY_SHARE: f64 = 0.2;

/// How long the device works on what the program repeats or may repeat: without waits for other ranks, and without one copy or memset
/// that is longer than all else.
fn work(device: &DeviceContext, waits_ns: i64, facts: &mut Entity) {
    let busy_ns = device.busy_ns();
    let waits_ns = waits_ns.min(device.account_ns(Account::ExposedCommunication));
    facts.set("communication_wait_ns", waits_ns);
    let lone = |account: Account| {
        let longest_ns = device.tally.pieces[account].longest_ns;
        (longest_ns > 0 && longest_ns as f64 >= LONE_SHARE * busy_ns as f64).then_some(longest_ns)
    };
    let is_own = device.account_ns(Account::ExposedCopy) as f64 >= OWN_COPY_SHARE * device.window().len_ns() as f64;
    let (memset_ns, copy_ns) = (lone(Account::ExposedMemset), lone(Account::ExposedCopy).filter(|_| !is_own));
    facts.set_some("lone_memset_ns", memset_ns);
    facts.set_some("lone_copy_ns", copy_ns);
    facts.set("work_ns", busy_ns - waits_ns - memset_ns.unwrap_or(0) - copy_ns.unwrap_or(0));
}

/// A launch that as many others of its kernel are about as long as is as long as what it moves.
const LIKE_COUNT: usize = 5;

/// How much longer launches of one collective are than its shortest, of those that few others are like, within a factor of about two; all
/// of one that comes once. What is moved comes again in the same size, how long a rank is late does not.
fn odd_ns(lengths_ns: &[i64]) -> i64 {
    let bits = |ns: i64| (i64::BITS - ns.max(0).leading_zeros()) as usize;
    let mut counts = [0_usize; i64::BITS as usize + 2];
    lengths_ns.iter().for_each(|ns| counts[bits(*ns)] += 1);
    let like = |ns: i64| counts[bits(ns).saturating_sub(1)..=bits(ns) + 1].iter().sum::<usize>();
    let shortest_ns = lengths_ns.iter().copied().min().filter(|_| lengths_ns.len() > 1).unwrap_or(0);
    let odd = lengths_ns.iter().filter(|ns| like(**ns) < LIKE_COUNT);
    odd.map(|ns| ns - shortest_ns).fold(0, i64::saturating_add)
}

fn counts(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let mut totals = [Total::default(); OpKind::ALL.len()];
    let mut graphs = Vec::new();
    let mut collectives = Vec::new();
    let mut by_collective: HashMap<NameId, Vec<i64>> = HashMap::default();
    for op in device.ops.in_window() {
        let part = op.interval().clip(device.window());
        let total = &mut totals[op.kind as usize];
        total.count += 1;
        total.sum_ns += i128::from(part.len_ns());
        let index = op.index as usize;
        match op.kind {
            OpKind::Copy => total.bytes += i128::from(timeline.copies.bytes[index]),
            OpKind::Memset => total.bytes += i128::from(timeline.memsets.bytes[index]),
            OpKind::Migration => total.bytes += i128::from(timeline.migrations.bytes[index]),
            OpKind::Graph => graphs.push(part),
            OpKind::Kernel | OpKind::Communication => {}
        }
        if op.kind == OpKind::Communication {
            collectives.push(part.len_ns());
            by_collective.entry(timeline.kernels.shape_of(op.index).name).or_default().push(part.len_ns());
        }
    }
    facts.set_some("communication_median_ns", median(&mut collectives));
    let sum_ns = |lengths_ns: &[i64]| lengths_ns.iter().copied().fold(0, i64::saturating_add);
    let main = by_collective.iter().map(|(name, lengths_ns)| (sum_ns(lengths_ns), timeline.name(*name)));
    facts.set_some("communication_kernel", main.max().map(|(_, name)| name));
    let waits_ns = by_collective.values().map(|lengths_ns| odd_ns(lengths_ns)).fold(0, i64::saturating_add);
    work(device, waits_ns, facts);
    let [kernel, graph, communication, copy, migration, memset] = totals;
    facts.set("kernel_count", kernel.count + communication.count);
    facts.set("kernel_sum_ns", clamped(kernel.sum_ns + communication.sum_ns));
    facts.set("kernel_busy_ns", device.tally.kernel_union_ns);
    facts.set_some("kernel_median_ns", device.passed(context).kernel_median_ns);
    facts.set_some("shortest_kernel_ns", device.tally.shortest_kernel_ns);
    facts.set("communication_count", communication.count);
    facts.set("communication_sum_ns", clamped(communication.sum_ns));
    facts.set("graph_launch_count", graph.count);
    facts.set("graph_busy_ns", Union::of(graphs).len_ns());
    facts.set("copy_count", copy.count);
    facts.set("copy_bytes", clamped(copy.bytes));
    facts.set("copy_sum_ns", clamped(copy.sum_ns));
    facts.set("memset_count", memset.count);
    facts.set("memset_bytes", clamped(memset.bytes));
    facts.set("memset_sum_ns", clamped(memset.sum_ns));
    facts.set_some("page_waiting_memset_ns", page_waiting_memset_ns(device));
    facts.set("migration_count", migration.count);
    facts.set("migration_bytes", clamped(migration.bytes));
    facts.set("migration_sum_ns", clamped(migration.sum_ns));
    migrations(timeline, device, facts);
    let faults = timeline.page_faults.iter().find(|faults| faults.device == device.ops.device);
    facts.set_some("page_fault_count", faults.map(|faults| faults.count));
}

fn migrations(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let migrations = &timeline.migrations;
    let (mut to_device, mut to_host, mut caused, mut faulted) = (0_i128, 0_i128, 0_i128, 0_i128);
    let (mut eviction_count, mut evicted) = (0, 0_i128);
    let mut knows_causes = false;
    let mut first = None;
    for op in device.ops.migrations_in_window() {
        first = first.or(Some(op.start));
        let index = op.index as usize;
        let bytes = i128::from(migrations.bytes[index]);
        match migrations.direction[index] {
            Direction::HostToDevice => to_device += bytes,
            Direction::DeviceToHost => to_host += bytes,
            _ => {}
        }
        knows_causes |= migrations.cause[index] != MigrationCause::Unknown;
        match migrations.cause[index] {
            MigrationCause::Unknown => {}
            MigrationCause::Eviction => {
                eviction_count += 1;
                evicted += bytes;
                caused += bytes;
            }
            cause if cause.is_touch() => (caused, faulted) = (caused + bytes, faulted + bytes),
            _ => caused += bytes,
        }
    }
    if first.is_some() {
        prefetches::extract(timeline, device, facts);
        first_pages::extract(timeline, device, facts);
    }
    facts.set("migration_h2d_bytes", clamped(to_device));
    facts.set("migration_d2h_bytes", clamped(to_host));
    facts.set_some("eviction_count", knows_causes.then_some(eviction_count));
    facts.set_some("eviction_bytes", knows_causes.then(|| clamped(evicted)));
    facts.set_some("migration_fault_share", (caused > 0).then(|| faulted as f64 / caused as f64));
    facts.set_some("migration_first_start_ns", first);
}

/// Copies at least this large run at the rate of the link, not at that of starting them.
const LINK_COPY_BYTES: i64 = 1_000_000;
/// Fewer bytes than this say nothing of the link.
const LINK_BYTES: i128 = 10_000_000;
/// In the names of calls that copy rows, which may lie apart: such a copy may be far slower than the link.
const OF_ROWS: [&str; 2] = ["Memcpy2D", "Memcpy3D"];

/// The rate that pinned copies of a direction reach on a device, in 1e9 bytes a second.
pub(super) fn pinned_gb_per_s(timeline: &Timeline, device: &DeviceContext, direction: Direction) -> Option<f64> {
    let copies = &timeline.copies;
    let mut is_of_rows = Told::new(&timeline.names, |name| OF_ROWS.iter().any(|part| name.contains(part)));
    let of_link = device.ops.copies_in_window().filter(|op| {
        let index = op.index as usize;
        copies.direction[index] == direction
            && copies.host_memory[index] == HostMemory::Pinned
            && copies.bytes[index] >= LINK_COPY_BYTES
            && !op.call(timeline).is_some_and(|call| is_of_rows.of(timeline.api.name[call as usize]))
    });
    let of_link: Vec<_> = of_link.collect();
    let bytes: i128 = of_link.iter().map(|op| i128::from(copies.bytes[op.index as usize])).sum();
    let time = Union::of(of_link.iter().map(|op| op.interval())).len_ns();
    (bytes >= LINK_BYTES && time > 0).then(|| bytes as f64 / time as f64)
}

fn copies(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, tally) = (context.timeline, &device.tally);
    let columns = &timeline.copies;
    let of_memory = |memory: HostMemory| {
        let copies = device.ops.copies_in_window();
        copies.filter(move |op| columns.host_memory[op.index as usize] == memory)
    };
    // A copy of memory that is not known may be one.
    let is_of_host =
        |op: &Op| matches!(columns.direction[op.index as usize], Direction::HostToDevice | Direction::DeviceToHost);
    if !of_memory(HostMemory::Unknown).any(|op| is_of_host(&op)) {
        let bytes = of_memory(HostMemory::Pageable).map(|op| i128::from(columns.bytes[op.index as usize]));
        facts.set("pageable_copy_count", of_memory(HostMemory::Pageable).count() as i64);
        facts.set("pageable_copy_bytes", clamped(bytes.sum()));
    }
    facts.set("copy_busy_ns", tally.copy_union_ns);
    facts.set("copy_overlapped_ns", tally.copy_overlapped_ns);
    if tally.copy_union_ns > 0 {
        facts.set("copy_overlapped_share", tally.copy_overlapped_ns as f64 / tally.copy_union_ns as f64);
    }
    facts.set("host_copy_busy_ns", tally.host_copy_union_ns);
    facts.set("host_copy_overlapped_ns", tally.host_copy_overlapped_ns);
    facts.set("host_copy_amid_kernels_ns", tally.host_copy_amid_kernels_ns());
    // One engine copies one way at a time. What was recorded both ways at once was not copied by one.
    let has_one_engine = device.properties(timeline).is_some_and(|known| known.copy_engine_count == Some(1));
    let loading_ns = tally.exposed_host_copies.common_ns(&device.idle().loads);
    if device.knows_host {
        facts.set("exposed_copy_loading_ns", loading_ns);
    }
    let hidden = Hidden::new(tally, !has_one_engine || tally.both_ways_copy_ns > 0, loading_ns);
    facts.set("overlappable_copy_ns", hidden.beneath_kernels_ns);
    facts.set("both_ways_copy_ns", tally.both_ways_copy_ns);
    facts.set("device_copy_beside_communication_ns", tally.device_copy_beside_communication_ns);
    facts.set("exposed_both_ways_copy_ns", tally.exposed_both_ways_ns);
    facts.set("pipelined_copy_ns", hidden.at_once_ns);
    facts.set_some("are_copy_streams_own", are_copy_streams_own(context, device));
    facts.set_some("pinned_h2d_gb_per_s", pinned_gb_per_s(timeline, device, Direction::HostToDevice));
    facts.set_some("pinned_d2h_gb_per_s", pinned_gb_per_s(timeline, device, Direction::DeviceToHost));
    let rates = LinkRates::of(device.properties(timeline));
    facts.set("pinned_least_gb_per_s", rates.least);
    facts.set("pinned_most_gb_per_s", rates.most);
}

/// How much of exposed copies between host and device could be hidden.
#[derive(Debug, PartialEq, Eq)]
struct Hidden {
    /// Beneath kernels: no longer than these run with an engine free.
    beneath_kernels_ns: i64,
    /// What is won when copies of each direction and kernels run at once for as long as the longest takes, of the time in which any does.
    at_once_ns: i64,
}

impl Hidden {
    /// Of exposed copies, with an engine for each direction or one for both. Beside so much of them the host loads code: kernels begin no
    /// earlier than that ends, whatever runs at once.
    fn new(tally: &Tally, is_both_ways: bool, loading_ns: i64) -> Self {
        let (to_device, to_host) = (tally.exposed_to_device_ns, tally.exposed_to_host_ns);
        let compute = tally.compute_without_host_copy_ns;
        let any = tally.kernel_union_ns + tally.host_copy_union_ns - tally.host_copy_overlapped_ns;
        let kernels = tally.kernel_union_ns + loading_ns;
        let (room, longest_copy) = if is_both_ways {
            // A kernel beside a copy to the host can still hide one to the device.
            let hidden_to_device = to_device.min(tally.compute_without_to_device_ns);
            let hidden_to_host = to_host.min(tally.compute_without_to_host_ns);
            let room = tally.compute_without_to_device_ns + tally.compute_without_to_host_ns - compute;
            ((hidden_to_device + hidden_to_host).min(room), tally.to_device_union_ns.max(tally.to_host_union_ns))
        } else {
            (compute, tally.host_copy_union_ns)
        };
        Self {
            beneath_kernels_ns: room.min(to_device + to_host - loading_ns),
            at_once_ns: any - kernels.max(longest_copy),
        }
    }
}

/// Whether copies to the device, copies to the host and kernels have streams of their own, where there are kernels and copies: then it is
/// not the stream that orders them.
fn are_copy_streams_own(context: &Context<'_>, device: &DeviceContext) -> Option<bool> {
    let (timeline, passed) = (context.timeline, device.passed(context));
    let mut kinds: HashMap<u32, u8> = HashMap::default();
    for op in device.ops.copies_in_window() {
        let kind = match timeline.copies.direction[op.index as usize] {
            Direction::HostToDevice => 2,
            Direction::DeviceToHost => 4,
            _ => continue,
        };
        *kinds.entry(op.stream(timeline)).or_default() |= kind;
    }
    let is_known = !kinds.contains_key(&NONE) && !passed.stream(NONE).has_compute;
    let has_both = is_known && !kinds.is_empty() && passed.has_compute();
    let is_own = |(stream, kind): (&u32, &u8)| kind.is_power_of_two() && !passed.stream(*stream).has_compute;
    has_both.then(|| kinds.iter().all(is_own))
}

fn storms(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, storms) = (context.timeline, &device.storms);
    let length = storms.parts.len_ns();
    facts.set("tiny_kernel_storm_count", storms.count);
    facts.set("tiny_kernel_storm_ns", length);
    facts.set("tiny_kernel_storm_kernel_count", storms.kernel_count);
    facts.set("tiny_kernel_storm_busy_ns", storms.busy_ns);
    let busy = device.tally.busy.common_ns(&storms.parts);
    facts.set("tiny_kernel_storm_idle_ns", length - busy);
    facts.set("tiny_kernel_storm_kernel_name_count", storms.names.len() as i64);
    if device.knows_host {
        facts.set("tiny_kernel_storm_launch_idle_ns", device.idle().storm_launch_ns);
        facts.set("tiny_kernel_storm_after_sync_ns", device.idle().storm_after_sync_ns);
    }
    let Some(longest) = storms.longest else { return };
    facts.set("tiny_kernel_storm_launches_per_s", storms.kernel_count as f64 / (length as f64 / 1e9));
    facts.set_some("tiny_kernel_storm_median_ns", median(&mut storms.durations.clone()).map(i64::from));
    facts.set("tiny_kernel_storm_longest_ns", longest.len_ns());
    facts.set("tiny_kernel_storm_longest_start_ns", longest.start);
    let commonest = storms.names.iter().max_by_key(|(name, count)| (**count, Reverse(timeline.name(**name))));
    facts.set_some("tiny_kernel_storm_kernel", commonest.map(|(name, _)| timeline.name(*name)));
}

fn compute_use(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, tally) = (context.timeline, &device.tally);
    facts.set("single_warp_kernel_ns", tally.one_thread_ns);
    if device.properties(timeline).is_none_or(|known| known.sm_count.is_none()) {
        return;
    }
    let kernels = tally.kernels.by_kernel(&context.launch_shapes);
    let worst = kernels.iter().filter(|(_, kernel)| kernel.underfilled_ns > 0);
    let worst = worst.max_by_key(|(name, kernel)| (kernel.underfilled_ns, Reverse(timeline.name(**name))));
    if let Some((name, kernel)) = worst {
        facts.set("underfilled_kernel", timeline.name(*name));
        facts.set("underfilled_kernel_ns", kernel.underfilled_ns);
    }
    if let Some(filled) = tally.sm_filled_share() {
        facts.set("derived_sm_active_share", filled);
        facts.set("tail_effect_sm_ns", tally.tail_ns as i64);
    }
    if tally.occupancy_known_ns > 0 {
        facts.set("theoretical_occupancy_share", tally.occupancy_ns / tally.occupancy_known_ns as f64);
    }
}

/// How long those memsets run under which unified memory migrates, without the migrations: they wait for their pages. `None` where
/// nothing migrates.
fn page_waiting_memset_ns(device: &DeviceContext) -> Option<i64> {
    let migrations = Union::of(device.ops.migrations_in_window().map(|op| op.interval()));
    if migrations.len_ns() == 0 {
        return None;
    }
    let memsets = device.ops.in_window().filter(|op| op.kind == OpKind::Memset);
    let waiting_ns = |op: Op| {
        let part = op.interval().clip(device.window());
        let migrating_ns = migrations.overlap_ns(part);
        if migrating_ns > 0 { part.len_ns() - migrating_ns } else { 0 }
    };
    Some(memsets.map(waiting_ns).fold(0, i64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_hide_no_more_than_they_take() {
        let mut tally = Tally::default();
        (tally.exposed_to_device_ns, tally.exposed_to_host_ns) = (100, 100);
        (tally.to_device_union_ns, tally.to_host_union_ns, tally.host_copy_union_ns) = (100, 100, 200);
        (tally.compute_without_to_device_ns, tally.compute_without_to_host_ns) = (60, 60);
        (tally.compute_without_host_copy_ns, tally.kernel_union_ns) = (60, 60);
        assert_eq!(Hidden::new(&tally, true, 0), Hidden { beneath_kernels_ns: 60, at_once_ns: 160 });
        assert_eq!(Hidden::new(&tally, false, 0), Hidden { beneath_kernels_ns: 60, at_once_ns: 60 });
        // Beside kernels that hide a copy to the host already there is room as well, with an engine for each direction.
        (tally.compute_without_to_device_ns, tally.kernel_union_ns) = (90, 90);
        (tally.to_host_union_ns, tally.host_copy_union_ns, tally.host_copy_overlapped_ns) = (130, 230, 30);
        assert_eq!(Hidden::new(&tally, true, 0), Hidden { beneath_kernels_ns: 90, at_once_ns: 160 });
        assert_eq!(Hidden::new(&tally, false, 0), Hidden { beneath_kernels_ns: 60, at_once_ns: 60 });
    }

    #[test]
    fn copies_that_run_at_once_already_win_nothing_of_each_other() {
        let mut tally = Tally::default();
        // Both ways at once for all of the time: the one that began first owns it, now the one, now the other.
        (tally.exposed_to_device_ns, tally.exposed_to_host_ns) = (50, 50);
        (tally.to_device_union_ns, tally.to_host_union_ns, tally.host_copy_union_ns) = (100, 100, 100);
        (tally.compute_without_to_device_ns, tally.compute_without_to_host_ns) = (30, 30);
        (tally.compute_without_host_copy_ns, tally.kernel_union_ns) = (30, 30);
        assert_eq!(Hidden::new(&tally, true, 0).at_once_ns, 30, "the kernels alone still run beside them");
        // Half of the time at once.
        (tally.exposed_to_device_ns, tally.exposed_to_host_ns, tally.host_copy_union_ns) = (75, 75, 150);
        assert_eq!(Hidden::new(&tally, true, 0).at_once_ns, 80);
    }

    #[test]
    fn copies_beside_which_code_is_loaded_are_hidden_by_that() {
        let mut tally = Tally::default();
        (tally.exposed_to_device_ns, tally.to_device_union_ns, tally.host_copy_union_ns) = (100, 100, 100);
        (tally.compute_without_to_device_ns, tally.compute_without_to_host_ns) = (80, 80);
        (tally.compute_without_host_copy_ns, tally.kernel_union_ns) = (80, 80);
        assert_eq!(Hidden::new(&tally, true, 0), Hidden { beneath_kernels_ns: 80, at_once_ns: 80 });
        assert_eq!(Hidden::new(&tally, true, 100), Hidden { beneath_kernels_ns: 0, at_once_ns: 0 });
        assert_eq!(Hidden::new(&tally, false, 70), Hidden { beneath_kernels_ns: 30, at_once_ns: 30 });
    }

    #[test]
    fn collectives_that_few_others_are_like_wait() {
        // Sizes that come again are no waits.
        let sizes: Vec<i64> = [1_000, 100_000, 10_000_000].into_iter().flat_map(|ns| vec![ns; 20]).collect();
        assert_eq!(odd_ns(&sizes), 0);
        let mut lengths_ns = vec![1_000; 20];
        lengths_ns.extend([5_000_000_000, 90_000_000]);
        assert_eq!(odd_ns(&lengths_ns), 5_000_000_000 + 90_000_000 - 2 * 1_000);
        assert_eq!(odd_ns(&[7_000]), 7_000, "nothing tells how much of one is work");
        assert_eq!(odd_ns(&[]), 0);
    }
}
