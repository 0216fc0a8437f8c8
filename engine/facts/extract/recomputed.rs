//! Facts of the forward pass that runs again in the backward pass: activation checkpointing.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::DeviceContext;
use super::tally::kernel_name;
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let Some(recomputed) = &timeline.details.recomputed else { return };
    let window = device.window();
    let is_own = |thread: u32| device.is_of(timeline.process_of(thread));
    let own = recomputed.threads().filter(|(thread, _)| is_own(*thread)).flat_map(|(_, times)| times.iter());
    let count = own.filter(|operator| operator.overlap_ns(window) > 0).count();
    facts.set("recomputed_operator_count", count as i64);
    let is_again = |op: &Op| {
        let call = op.call(timeline).map(|call| call as usize);
        let thread = call.and_then(|call| timeline.api.thread.get(call));
        thread.zip(call).is_some_and(|(thread, call)| recomputed.holds(*thread, timeline.api.times.start(call)))
    };
    let ops: Vec<Op> = device.ops.in_window().filter(|op| op.kind != OpKind::Migration).filter(is_again).collect();
    let kernels = || ops.iter().filter(|op| op.kind == OpKind::Kernel);
    if kernels().next().is_none() {
        return;
    }
    let mut run_ns: HashMap<NameId, i64> = HashMap::default();
    for (name, op) in kernels().filter_map(|op| Some((kernel_name(timeline, *op)?, op))) {
        *run_ns.entry(name).or_default() += op.interval().clip(window).len_ns();
    }
    facts.set("recomputed_kernel_count", kernels().count() as i64);
    facts.set("recomputed_busy_ns", Union::of(ops.iter().map(|op| op.interval().clip(window))).len_ns());
    let main = run_ns.iter().max_by_key(|(name, ns)| (**ns, Reverse(timeline.name(**name))));
    facts.set_some("recomputed_kernel", main.map(|(name, _)| timeline.name(*name)));
}
