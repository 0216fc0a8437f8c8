//! Facts of sorts: each is made of several kernels of a library, of which none need stand out.

use foldhash::HashSet;

use super::optimizer::OptimizerSteps;
use super::{Context, DeviceContext, operators, steps};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::replay::{SORTING, UNFOLLOWED};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// Operators that write by an index, which they sort where several values fall on one place.
const WRITING: [&str; 3] = ["aten::index_put", "aten::index_put_", "aten::_index_put_impl_"];

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
        let sort_ns = tallies.map(|tally| tally.attributed_ns).sum::<i64>();
        facts.set("sort_kernel_launch_count", launch_count);
        facts.set("sort_kernel_ns", sort_ns);
        let of_operator = of_operator(context, device, facts);
        facts.set("sort_ns", of_operator.unwrap_or(sort_ns));
        facts.set_some("sort_kernel_round_share", round_share(context, device));
    }
}

/// The operator that most of these kernels lie in, where it is known to sort, and how long all runs that it launches, each by itself: a sort is more than the kernels
/// that compare, and what fills the gradient of a table is none of it. Returns that time.
fn of_operator(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) -> Option<i64> {
    let timeline = context.timeline;
    let labels = &timeline.ranges.labels;
    let is_whole: Vec<bool> = labels
        .iter()
        .map(|label| timeline.name(label.name))
        .map(|name| SORTING.contains(&name) || WRITING.contains(&name))
        .collect();
    let sorts = device.ops.in_window().filter(|op| is_sort(context, op));
    let name = operators::main_within(timeline, device, sorts, &is_whole).first().copied()?;
    let is_own: Vec<bool> = labels.iter().map(|label| label.name == name).collect();
    // Any other may do far more than sort.
    if !is_own.iter().zip(&is_whole).any(|(is_own, is_whole)| *is_own && *is_whole) {
        return None;
    }
    // The gradient of a whole table is filled however it is summed up.
    let is_filled = UNFOLLOWED.contains(&timeline.name(name));
    let is_fill = |op: Op| context.traits_of(op).is_some_and(|traits| traits.marks.is_fill);
    let ranges = OptimizerSteps::new(timeline, &is_own);
    let mut ranges = ranges.follow();
    let (mut count, mut sum_ns) = (0, 0_i64);
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        if ranges.launched(timeline, op) && !(is_filled && is_fill(op)) {
            count += 1;
            sum_ns = sum_ns.saturating_add(op.interval().clip(device.window()).len_ns());
        }
    }
    facts.set("sort_operator", timeline.name(name));
    facts.set("sort_operator_launch_count", count);
    Some(sum_ns)
}

/// Whether an operation is a kernel of a sort.
fn is_sort(context: &Context<'_>, op: &Op) -> bool {
    let name = (op.kind == OpKind::Kernel).then(|| context.timeline.kernels.shape_of(op.index).full_name);
    name.and_then(|name| context.traits.get(name as usize)).is_some_and(|told| told.is_sort)
}

/// The part of the median of the rounds that repeat in which sorts run: the first of them, and slow ones, do other things as well.
fn round_share(context: &Context<'_>, device: &DeviceContext) -> Option<f64> {
    let sorts = device.ops.in_window().filter(|op| is_sort(context, op));
    let sorts = Union::of(sorts.map(|op| Interval::new(op.start, op.end)));
    let rounds = steps::steady(device).iter().map(|step| step.device.clip(device.window()));
    let share = |round: Interval| sorts.overlap_ns(round) as f64 / round.len_ns() as f64;
    let mut shares: Vec<f64> = rounds.filter(|round| round.len_ns() > 0).map(share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    shares.get(shares.len().checked_sub(1)? / 2).copied()
}
