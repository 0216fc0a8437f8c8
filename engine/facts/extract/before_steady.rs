//! Facts of what the host does between a device's first operation and its steady state: host code and compiling by the device's
//! accounts, as the phases tell them, and what names them by the thread that tells most of it.

use std::cmp::Reverse;

use super::outside::teller;
use super::spent::Spent;
use super::tally::kernel_name;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::compiling::compiler_of;
use crate::ledger::{Account, Op};
use crate::steps::Phases;
use crate::text::paths::without_folders;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// What takes the time of `before`, on the thread that tells most of it. The GPU works while the host waits for it.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    before: Interval,
    account_ns: impl Fn(Account) -> i64,
    facts: &mut Entity,
) {
    longest_pause(device, before, facts);
    let Some(main) = device.main_thread.filter(|_| device.knows_host && before.len_ns() > 0) else { return };
    let timeline = context.timeline;
    let thread = teller(context, device, main, [before, Interval::new(before.end, before.end)]);
    let spent = Spent::of(context, thread, &[before]);
    facts.set("before_steady_host_ns", account_ns(Account::IdleHost));
    let compile_ns = account_ns(Account::IdleCompile);
    if compile_ns > 0 {
        facts.set("before_steady_compile_ns", compile_ns);
        facts.set_some("before_steady_compile_by", spent.compiled(timeline).map(|(name, _)| compiler_of(name)));
    }
    if let Some((name, ns)) = spent.called(timeline, false) {
        facts.set("before_steady_call", without_folders(name));
        facts.set("before_steady_call_ns", ns);
    }
    let sampled = spent.sampled(timeline, thread);
    if let Some((function, share)) = sampled.function {
        facts.set("before_steady_function", function);
        facts.set("before_steady_function_share", share);
    }
    facts.set_some("before_steady_function_caller", sampled.caller);
}

/// The longest time there in which the device runs nothing.
fn longest_pause(device: &DeviceContext, before: Interval, facts: &mut Entity) {
    let (mut longest, mut until) = (Interval::default(), before.start);
    for op in device.ops.all_ops().map(|op| op.interval().clip(before)).filter(|op| op.len_ns() > 0) {
        if op.start.saturating_sub(until) > longest.len_ns() {
            longest = Interval::new(until, op.start);
        }
        until = until.max(op.end);
    }
    if before.end.saturating_sub(until) > longest.len_ns() {
        longest = Interval::new(until, before.end);
    }
    if longest.len_ns() > 0 {
        facts.set("before_steady_pause_ns", longest.len_ns());
        facts.set("before_steady_pause_start_ns", longest.start);
    }
}

/// The kernel that runs longest after the steady state, at one launch.
pub(super) fn tear_down(timeline: &Timeline, device: &DeviceContext, phases: &Phases, facts: &mut Entity) {
    let part_ns = |op: &Op| op.interval().overlap_ns(phases.tear_down);
    let kernels = device.ops.all_ops().filter(|op| op.kind.is_compute() && part_ns(op) > 0);
    let longest = kernels.filter_map(|op| Some((part_ns(&op), kernel_name(timeline, op)?)));
    if let Some((ns, name)) = longest.max_by_key(|(ns, name)| (*ns, Reverse(*name))) {
        facts.set("tear_down_kernel", &timeline.shared_name(name));
        facts.set("tear_down_kernel_ns", ns);
    }
}

/// Which part of what the device computes lies in the steady state.
pub(super) fn compute(device: &DeviceContext, phases: &Phases, facts: &mut Entity) {
    let whole = Interval::new(phases.set_up.start, phases.tear_down.end.max(phases.steady.end));
    let (mut whole_ns, mut steady_ns) = (0_i64, 0_i64);
    for op in device.ops.all_ops().filter(|op| op.kind.is_compute()).map(|op| op.interval()) {
        whole_ns = whole_ns.saturating_add(op.overlap_ns(whole));
        steady_ns = steady_ns.saturating_add(op.overlap_ns(phases.steady));
    }
    facts.set_some("steady_compute_share", (whole_ns > 0).then(|| steady_ns as f64 / whole_ns as f64));
}
