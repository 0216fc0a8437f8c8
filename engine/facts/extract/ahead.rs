//! Facts of how far the host runs ahead of a device, and what keeps it from that.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Account, Activity, OpKind};
use crate::timeline::NameId;
use crate::timeline::api::ApiClass;
use crate::timeline::union::Follower;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !device.knows_host {
        return;
    }
    let idle = device.idle();
    facts.set_some("sync_run_ahead_ns", run_ahead_ns(device, Account::AfterSync));
    facts.set_some("blocking_copy_run_ahead_ns", run_ahead_ns(device, Account::AfterCopy));
    let after_copy_ns = device.account_ns(Account::AfterCopy);
    if let Some(ahead_ns) = facts.int("blocking_copy_run_ahead_ns") {
        let of_host_ns = share_of(ahead_ns, idle.host_after_copy_call_ns, after_copy_ns);
        facts.set("blocking_copy_host_run_ahead_ns", of_host_ns);
    }
    facts.set("idle_host_after_sync_ns", idle.host_after_sync_ns);
    facts.set("idle_blocked_after_sync_ns", idle.blocked_after_sync_ns);
    facts.set("idle_load_after_sync_ns", idle.load_after_sync_ns);
    facts.set("idle_host_after_copy_call_ns", idle.host_after_copy_call_ns);
    facts.set("idle_host_before_load_ns", idle.host_before_load_ns);
    before_loads(context, device, facts);
    let launching = idle.sums[Account::IdleLaunch];
    facts.set("launch_bound_ns", launching.sum_ns - idle.waited_launch_ns);
    facts.set("idle_launch_stretch_count", idle.in_stretches[Account::IdleLaunch].count);
    if let Some(inside) = host_calls(context, device) {
        let sum_ns = inside.iter().fold(0_i64, |sum, (_, ns)| sum.saturating_add(*ns));
        facts.set("host_call_ns", sum_ns);
        let longest = inside.iter().map(|(name, ns)| (*ns, Reverse(context.timeline.name(*name)))).max();
        facts.set_some("host_call_longest", longest.filter(|(ns, _)| *ns > 0).map(|(_, name)| name.0));
    }
    facts.set_some("launch_to_start_median_ns", device.passed(context).launch_to_start_median_ns);
}

/// The kernel before whose launches the host runs code and loads code the most.
fn before_loads(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let ops = device.ops.list();
    // By process as well: each loads its own code.
    let mut of_kernels: HashMap<(u32, NameId), (i64, i64, NameId)> = HashMap::default();
    let mut stretches = device.idle().host_before_loads.clone();
    stretches.sort_unstable();
    for of_stretch in stretches.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((end, _)) = of_stretch.first() else { continue };
        let next = ops.get(ops.partition_point(|op| op.start < *end));
        let Some(op) = next.filter(|op| op.start == *end && op.kind == OpKind::Kernel) else { continue };
        let shape = timeline.kernels.shape_of(op.index);
        let process = timeline.process_of_stream(op.stream(timeline));
        let (ns, count, _) = of_kernels.entry((process, shape.full_name)).or_insert((0, 0, shape.name));
        *ns = of_stretch.iter().fold(*ns, |sum, (_, ns)| sum.saturating_add(*ns));
        *count += 1;
    }
    let most = of_kernels.into_iter().max_by_key(|(full, (ns, ..))| (*ns, Reverse(*full)));
    if let Some((_, (ns, count, name))) = most {
        facts.set("before_load_kernel", timeline.name(name));
        facts.set("before_load_kernel_count", count);
        facts.set("before_load_kernel_host_ns", ns);
    }
}

/// Of a time the part that another time is of a whole.
fn share_of(ns: i64, part_ns: i64, whole_ns: i64) -> i64 {
    if whole_ns <= 0 { 0 } else { (ns as f64 * (part_ns as f64 / whole_ns as f64).clamp(0.0, 1.0)) as i64 }
}

fn run_ahead_ns(device: &DeviceContext, trigger: Account) -> Option<i64> {
    let of_trigger = device.idle().drained.iter().filter(|((_, of, _), _)| *of == trigger);
    let sum = of_trigger.map(|(_, drained)| drained.run_ahead_ns).fold(0, i64::saturating_add);
    device.overlap_ceiling().map(|ceiling| ceiling.min(sum))
}

/// The time that the launching thread spends inside CUDA calls, waits apart, by name.
fn host_calls(context: &Context<'_>, device: &DeviceContext) -> Option<ByIndex<i64>> {
    let (timeline, window) = (context.timeline, device.window());
    let mut is_freeing: ByIndex<bool> = ByIndex::default();
    let mut inside: ByIndex<i64> = ByIndex::default();
    // The calls come by start, and what is counted of each begins where the one before it ends.
    let mut busy = Follower::new(&device.tally.busy);
    let mut last_end = i64::MIN;
    for call in context.calls.of_thread(device.main_thread?) {
        let times = timeline.api.times.at(*call as usize).clip(window);
        // A call within another is part of that one.
        if times.len_ns() == 0 || times.start < last_end {
            continue;
        }
        last_end = times.end;
        let class = context.calls.class_of(timeline, *call);
        if matches!(class, ApiClass::Wait(_) | ApiClass::Query) {
            continue;
        }
        let name = timeline.api.name[*call as usize];
        let copies = context.calls.activity.get(*call as usize) == Some(&Activity::CopyCall);
        // What frees memory waits for the work that may use it.
        let mut frees = || class == ApiClass::Allocate && *is_freeing.of(name, || frees_at_once(timeline.name(name)));
        let waiting = if copies || frees() { busy.overlap_ns(times) } else { 0 };
        *inside.of(name, i64::default) += times.len_ns() - waiting;
    }
    Some(inside)
}

/// Whether a call frees memory, and not in the order of a stream.
fn frees_at_once(name: &str) -> bool {
    (name.contains("Free") || name.contains("Unregister")) && !name.contains("Async")
}
