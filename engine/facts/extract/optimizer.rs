//! Facts of the optimizer's steps, by the ranges that PyTorch marks: what they launch, and whether parameters go together.

use foldhash::HashMap;

use super::steps::are_rounds;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{OPTIMIZER_STEP, Op, OpKind};
use crate::timeline::{NONE, NameId, Timeline, Times};

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
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        if !steps.launched(timeline, op) {
            continue;
        }
        let name = timeline.kernels.shape_of(op.index).full_name;
        let is_joint = || TOGETHER.iter().any(|part| timeline.name(name).contains(part));
        kernel_count += 1;
        beside_rounds_count += i64::from(device.told.rounds.overlap_ns(op.interval()) == 0);
        kernel_ns = kernel_ns.saturating_add(op.interval().clip(device.window()).len_ns());
        together_count += i64::from(*joint.entry(name).or_insert_with(is_joint));
    }
    let window = device.window();
    let count = steps.by_thread.values().flat_map(Times::iter).filter(|step| step.overlap_ns(window) > 0).count();
    if count == 0 || kernel_count == 0 {
        return;
    }
    facts.set("optimizer_step_count", count as i64);
    facts.set("optimizer_kernel_count", kernel_count);
    facts.set("optimizer_joint_kernel_count", together_count);
    if are_rounds(device) {
        facts.set("optimizer_beside_rounds_kernel_count", beside_rounds_count);
    }
    facts.set("optimizer_kernel_sum_ns", kernel_ns);
    facts.set("idle_optimizer_ns", device.idle.optimizer_ns);
    let labels = timeline.ranges.labels.iter().zip(&is_step);
    let name = labels.filter(|(_, is_step)| **is_step).map(|(label, _)| timeline.name(label.name)).next();
    facts.set_some(
        "optimizer_name",
        name.and_then(|name| name.strip_prefix(OPTIMIZER_STEP)).map(|name| name.trim_end_matches(".step")),
    );
}

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
        let Some(call) = op.call(timeline).filter(|_| !self.by_thread.is_empty()) else { return false };
        let thread = timeline.api.thread.get(call as usize).copied().unwrap_or(NONE);
        let at = timeline.api.times.start(call as usize);
        let step = |times: &Times| {
            let before = times.partition_point(0, |range| range.start <= at);
            times.get(before.checked_sub(1)?).filter(|range| range.end > at)
        };
        self.by_thread.get(&thread).and_then(step).is_some()
    }
}
