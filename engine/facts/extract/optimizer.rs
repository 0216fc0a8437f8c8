//! Facts of the optimizer's steps, by the ranges that PyTorch marks: what they launch, and whether parameters go together.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::steps::are_rounds;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{OPTIMIZER_STEP, Op, OpKind};
use crate::timeline::{NONE, NameId, Timeline, Times};

/// The operator that fills a gradient as large as the whole table of an embedding, of which a batch uses some rows.
const DENSE_GRADIENT: &str = "aten::embedding_dense_backward";
/// In the names of kernels that update many parameters at once.
const TOGETHER: [&str; 2] = ["multi_tensor_apply", "FusedOptimizer"];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let is_step = timeline.labels_beginning(OPTIMIZER_STEP);
    if !is_step.contains(&true) {
        return;
    }
    let steps = OptimizerSteps::new(timeline, &is_step);
    let (mut kernel_count, mut together_count, mut beside_rounds_count, mut kernel_ns) = (0, 0, 0, 0_i64);
    let mut joint: HashMap<NameId, bool> = HashMap::default();
    let mut of_names: HashMap<NameId, i64> = HashMap::default();
    // The host may be steps ahead: the window of the GPU holds kernels of other steps than that of the host.
    let mut launching: HashSet<Step> = HashSet::default();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let Some(step) = steps.step_of(timeline, op) else { continue };
        launching.insert(step);
        let shape = timeline.kernels.shape_of(op.index);
        let name = shape.full_name;
        let own_ns = op.interval().clip(device.window()).len_ns();
        let of_name = of_names.entry(shape.name).or_default();
        *of_name = of_name.saturating_add(own_ns);
        let is_joint = || TOGETHER.iter().any(|part| timeline.name(name).contains(part));
        kernel_count += 1;
        beside_rounds_count += i64::from(device.told.rounds.overlap_ns(op.interval()) == 0);
        kernel_ns = kernel_ns.saturating_add(own_ns);
        together_count += i64::from(*joint.entry(name).or_insert_with(is_joint));
    }
    if kernel_count == 0 {
        return;
    }
    facts.set("optimizer_step_count", launching.len() as i64);
    facts.set("optimizer_kernel_count", kernel_count);
    facts.set("optimizer_joint_kernel_count", together_count);
    if are_rounds(device) {
        facts.set("optimizer_beside_rounds_kernel_count", beside_rounds_count);
    }
    facts.set("optimizer_kernel_sum_ns", kernel_ns);
    let main = of_names.into_iter().max_by_key(|(name, ns)| (*ns, Reverse(timeline.name(*name))));
    if let Some((name, ns)) = main {
        facts.set("optimizer_main_kernel", timeline.name(name));
        facts.set("optimizer_main_kernel_sum_ns", ns);
    }
    facts.set_some("dense_gradient_kernel_sum_ns", dense_gradients_ns(timeline, device));
    facts.set("idle_optimizer_ns", device.idle.optimizer_ns);
    let labels = timeline.ranges.labels.iter().zip(&is_step);
    let name = labels.filter(|(_, is_step)| **is_step).map(|(label, _)| timeline.name(label.name)).next();
    facts.set_some(
        "optimizer_name",
        name.and_then(|name| name.strip_prefix(OPTIMIZER_STEP)).map(|name| name.trim_end_matches(".step")),
    );
}

/// How long kernels run that make dense gradients of embeddings; `None` where no such operator is recorded.
fn dense_gradients_ns(timeline: &Timeline, device: &DeviceContext) -> Option<i64> {
    let is_dense = timeline.labels_beginning(DENSE_GRADIENT);
    let ranges = is_dense.contains(&true).then(|| OptimizerSteps::new(timeline, &is_dense))?;
    let kernels = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel && ranges.launched(timeline, *op));
    Some(kernels.map(|op| op.interval().clip(device.window()).len_ns()).fold(0, i64::saturating_add))
}

/// A step of an optimizer: its thread, and its number among the steps there.
type Step = (u32, usize);

/// The steps of optimizers on each thread, those within others left out.
#[derive(Debug, Default)]
pub(super) struct OptimizerSteps {
    by_thread: HashMap<u32, Times>,
}

impl OptimizerSteps {
    /// Those that are marked.
    pub(super) fn of(timeline: &Timeline) -> Self {
        Self::new(timeline, &timeline.labels_beginning(OPTIMIZER_STEP))
    }

    fn new(timeline: &Timeline, is_step: &[bool]) -> Self {
        let mut by_thread: HashMap<u32, Times> = HashMap::default();
        for ranges in &timeline.ranges.threads {
            let mut until = i64::MIN;
            let own = ranges.times.iter().zip(&ranges.label).filter(|(range, label)| {
                let is_own = is_step.get(**label as usize).copied().unwrap_or(false) && range.start >= until;
                if is_own {
                    until = range.end;
                }
                is_own
            });
            let own: Times = own.map(|(range, _)| range).collect();
            if !own.is_empty() {
                by_thread.insert(ranges.thread, own);
            }
        }
        Self { by_thread }
    }

    /// Whether an operation was launched in one of them.
    pub(super) fn launched(&self, timeline: &Timeline, op: Op) -> bool {
        self.step_of(timeline, op).is_some()
    }

    /// In which of them an operation was launched.
    fn step_of(&self, timeline: &Timeline, op: Op) -> Option<Step> {
        let call = op.call(timeline).filter(|_| !self.by_thread.is_empty())?;
        let thread = timeline.api.thread.get(call as usize).copied().unwrap_or(NONE);
        let at = timeline.api.times.start(call as usize);
        let times = self.by_thread.get(&thread)?;
        let last = times.partition_point(0, |range| range.start <= at).checked_sub(1)?;
        times.get(last).filter(|range| range.end > at).map(|_| (thread, last))
    }
}
