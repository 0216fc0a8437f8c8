//! Gradients that a program reduces itself, one after another, once the backward pass is over.

use super::{Context, DeviceContext, is_all_reduce};
use crate::facts::Entity;
use crate::facts::extract::collective_rows::idle_and_exposed_ns;
use crate::facts::extract::unused_gradients::each_node;
use crate::ledger::{Op, OpKind};
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;

/// From the last node of a backward pass to the step of the optimizer that follows.
#[derive(Debug)]
struct After {
    host: Interval,
    reductions: Vec<Interval>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let Some((thread, mut after)) = after_backward(context, device) else { return };
    let mut is_reduction = Told::new(&timeline.names, is_all_reduce);
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Communication) {
        if !is_reduction.of(timeline.kernels.shape_of(op.index).full_name) {
            continue;
        }
        let Some(at) = asked_at(timeline, thread, op) else { continue };
        let next = after.partition_point(|own| own.host.start <= at);
        let own = next.checked_sub(1).and_then(|last| after.get_mut(last)).filter(|own| at < own.host.end);
        if let Some(own) = own {
            own.reductions.push(op.interval());
        }
    }
    after.retain(|own| !own.reductions.is_empty());
    if after.is_empty() {
        return;
    }
    let (mut idle_ns, mut exposed_ns) = (0_i64, 0_i64);
    for own in &after {
        let (idle, exposed) = idle_and_exposed_ns(device, own.reductions.iter().copied());
        idle_ns = idle_ns.saturating_add(idle);
        exposed_ns = exposed_ns.saturating_add(exposed);
    }
    let count: usize = after.iter().map(|own| own.reductions.len()).sum();
    facts.set("late_reduction_count", count as i64);
    facts.set("late_reduction_step_count", after.len() as i64);
    facts.set("late_reduction_exposed_ns", exposed_ns);
    facts.set("late_reduction_idle_ns", idle_ns);
}

/// When a thread asks for an operation; `None` where another one does.
fn asked_at(timeline: &Timeline, thread: u32, op: Op) -> Option<i64> {
    let call = op.call(timeline)? as usize;
    (*timeline.api.thread.get(call)? == thread).then_some(timeline.api.times.get(call)?.start)
}

/// The thread that steps the optimizer, and what lies before each of its steps and behind the backward pass; `None` without either.
fn after_backward(context: &Context<'_>, device: &DeviceContext) -> Option<(u32, Vec<After>)> {
    let timeline = context.timeline;
    let (thread, steps) = context.optimizer_steps().of_main_thread(timeline, device)?;
    let mut nodes: Vec<Interval> = Vec::new();
    each_node(timeline, device, |_, times, _| nodes.push(times));
    nodes.sort_unstable_by_key(|node| (node.end, node.start));
    let mut before = i64::MIN;
    let after = steps.iter().filter_map(|step| {
        let since = std::mem::replace(&mut before, step.end);
        let next = nodes.partition_point(|node| node.end <= step.start);
        let last = next.checked_sub(1).and_then(|last| nodes.get(last)).filter(|node| node.start >= since)?;
        Some(After { host: Interval::new(last.end, step.start), reductions: Vec::new() })
    });
    Some((thread, after.collect()))
}
