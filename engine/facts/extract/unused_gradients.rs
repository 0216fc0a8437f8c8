//! Facts of gradients that no optimizer uses, as those of a network that is frozen and runs with gradients all the same.

use foldhash::HashMap;

use super::framework::BACKWARD_NODE;
use super::nan_checks::busy_ns;
use super::optimizer::Step;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::columns::RangeKind;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// The node of each parameter whose gradient is asked for: it comes once in a pass.
pub(super) const OF_PARAMETER: &str = "torch::autograd::AccumulateGrad";
/// In the names of PyTorch's own kernels: each works on one tensor.
const OWN: &str = "at::native::";
/// In the name of the kernel of PyTorch for the backward pass of batch normalisation in evaluation mode.
const OF_EVALUATION: &str = "batch_norm_elementwise_backward_eval";
/// Fewer steps of an optimizer are no loop.
const MIN_STEP_COUNT: usize = 3;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    // Ranks may share the parameters among them, and each update a part.
    let is_one = timeline.details.world_size.is_none_or(|count| count <= 1);
    if !is_one || device.passed(context).has_communication {
        return;
    }
    // Nor does one device tell what is updated where another holds a part of the model, or one optimizer where there are several.
    let is_other = |other: &&DeviceContext| other.ops.device != device.ops.device;
    let shares = |other: &DeviceContext| device.processes.iter().any(|process| other.is_of(*process));
    if context.devices.iter().filter(is_other).any(shares) || has_several_optimizers(timeline) {
        return;
    }
    let Some(updated) = updated_at_most(context, device) else { return };
    let Some(gradients) = gradients_at_least(context, device) else { return };
    facts.set("gradient_parameter_count", gradients);
    facts.set("updated_parameter_count", updated);
    facts.set("backward_busy_ns", busy_ns(timeline, device, &backward(timeline, device)));
    let mut is_of_evaluation = Told::new(&timeline.names, |name| name.contains(OF_EVALUATION));
    let kernels = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel);
    let of_evaluation = kernels.filter(|op| is_of_evaluation.of(timeline.kernels.shape_of(op.index).full_name));
    facts.set("evaluated_norm_backward_count", of_evaluation.count() as i64);
}

/// Whether steps of optimizers are called differently.
fn has_several_optimizers(timeline: &Timeline) -> bool {
    let is_step = timeline.optimizer_labels();
    let labels = timeline.ranges.labels.iter().zip(is_step).filter(|(_, is_step)| **is_step);
    let mut names = labels.map(|(label, _)| label.name);
    let first = names.next();
    names.any(|name| Some(name) != first)
}

/// The most parameters that a step of an optimizer can update, by its kernels; `None` where one of them is not PyTorch's own, and may
/// work on any number.
fn updated_at_most(context: &Context<'_>, device: &DeviceContext) -> Option<i64> {
    let timeline = context.timeline;
    let mut steps = context.optimizer_steps().follow();
    let mut of_steps: HashMap<Step, i64> = HashMap::default();
    // Each block of a kernel of many tensors works on a piece of one of them.
    let mut is_own = Told::new(&timeline.names, |name| name.contains(OWN));
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let Some(step) = steps.step_of(timeline, op) else { continue };
        let is_of_many = context.traits_of(op)?.marks.is_of_many_tensors;
        if !is_of_many && !is_own.of(timeline.kernels.shape_of(op.index).full_name) {
            return None;
        }
        let tensors = if is_of_many { timeline.geometry_of(op.index)?.grid_blocks.max(1) } else { 1 };
        let sum = of_steps.entry(step).or_default();
        *sum = sum.saturating_add(tensors);
    }
    (of_steps.len() >= MIN_STEP_COUNT).then(|| of_steps.into_values().max()).flatten()
}

/// For how many parameters at least a backward pass computes gradients. Each node of a pass comes once in it at least, so that there are
/// no more passes than there are nodes of the kind that comes least often. `None` where that one comes in fewer passes than there are
/// steps: it is no part of each, and tells nothing.
fn gradients_at_least(context: &Context<'_>, device: &DeviceContext) -> Option<i64> {
    let timeline = context.timeline;
    let (_, steps) = context.optimizer_steps().of_main_thread(timeline, device)?;
    let (first, last) = (steps.get(0)?, steps.get(steps.len().checked_sub(1)?)?);
    let during = Interval::new(first.start, last.start);
    let mut of_names: HashMap<NameId, i64> = HashMap::default();
    each_node(timeline, device, |_, times, name| {
        if during.start <= times.start && times.start < during.end {
            *of_names.entry(name).or_default() += 1;
        }
    });
    let is_of_parameter = |name: &NameId| node(timeline.name(*name)) == Some(OF_PARAMETER);
    let (own, others): (Vec<_>, Vec<_>) = of_names.into_iter().partition(|(name, _)| is_of_parameter(name));
    let sum = own.into_iter().map(|(_, count)| count).sum::<i64>();
    let passes = others.into_iter().map(|(_, count)| count).min()?;
    if passes < steps.len() as i64 - 1 {
        return None;
    }
    (sum > 0).then(|| (sum + passes - 1) / passes)
}

/// The node of a backward pass that a range is named after.
fn node(name: &str) -> Option<&str> {
    name.strip_prefix(BACKWARD_NODE)?.strip_prefix(": ")
}

/// When each thread is in nodes of a backward pass.
fn backward(timeline: &Timeline, device: &DeviceContext) -> HashMap<u32, Union> {
    let mut by_thread: HashMap<u32, Vec<Interval>> = HashMap::default();
    each_node(timeline, device, |thread, times, _| by_thread.entry(thread).or_default().push(times));
    by_thread.into_iter().map(|(thread, nodes)| (thread, Union::of(nodes))).collect()
}

/// Goes through the nodes of backward passes: their threads, their times and their names.
pub(super) fn each_node(timeline: &Timeline, device: &DeviceContext, mut then: impl FnMut(u32, Interval, NameId)) {
    let name_of = |label: &crate::timeline::columns::Label| {
        let is_node = label.kind != RangeKind::PythonFrame && node(timeline.name(label.name)).is_some();
        is_node.then_some(label.name)
    };
    let names: Vec<Option<NameId>> = timeline.ranges.labels.iter().map(name_of).collect();
    if names.iter().all(Option::is_none) {
        return;
    }
    for ranges in timeline.ranges.threads.iter().filter(|ranges| device.is_of(timeline.process_of(ranges.thread))) {
        for (times, label) in ranges.times.iter().zip(&ranges.label) {
            if let Some(name) = names.get(*label as usize).copied().flatten() {
                then(ranges.thread, times, name);
            }
        }
    }
}
