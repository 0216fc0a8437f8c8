//! Facts of sorts: each is made of several kernels of a library, of which none need stand out.

use foldhash::HashSet;

use super::{Context, DeviceContext, steps};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !context.traits.iter().any(|told| told.is_sort) {
        return;
    }
    let (mut launch_count, mut shapes) = (0, HashSet::default());
    for (index, of) in &device.passed(context).shapes {
        let shape = context.timeline.kernels.shapes.get(*index as usize);
        let told = shape.and_then(|shape| context.traits.get(shape.full_name as usize));
        if told.is_some_and(|told| told.is_sort) {
            launch_count += of.launch_count;
            shapes.extend(context.launch_shapes.index_of_shape(*index));
        }
    }
    if launch_count > 0 {
        let tallies = shapes.iter().filter_map(|shape| device.tally.kernels.get(*shape));
        facts.set("sort_kernel_launch_count", launch_count);
        facts.set("sort_kernel_ns", tallies.map(|tally| tally.attributed_ns).sum::<i64>());
        facts.set_some("sort_kernel_round_share", round_share(context, device));
    }
}

/// The part of the median of the rounds that repeat in which sorts run: the first of them, and slow ones, do other things as well.
fn round_share(context: &Context<'_>, device: &DeviceContext) -> Option<f64> {
    let is_sort = |op: &Op| {
        let name = (op.kind == OpKind::Kernel).then(|| context.timeline.kernels.shape_of(op.index).full_name);
        name.and_then(|name| context.traits.get(name as usize)).is_some_and(|told| told.is_sort)
    };
    let sorts = Union::of(device.ops.in_window().filter(is_sort).map(|op| Interval::new(op.start, op.end)));
    let rounds = steps::steady(device).iter().map(|step| step.device.clip(device.window()));
    let share = |round: Interval| sorts.overlap_ns(round) as f64 / round.len_ns() as f64;
    let mut shares: Vec<f64> = rounds.filter(|round| round.len_ns() > 0).map(share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.get(shares.len().checked_sub(1)? / 2).copied()
}
