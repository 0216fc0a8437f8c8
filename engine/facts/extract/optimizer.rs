//! Facts of the optimizer's steps, by the ranges that PyTorch marks: what they launch, and whether parameters go together.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::by_index::ByIndex;
use super::steps::are_rounds;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::replay::{MANY_TENSORS, MANY_TENSORS_BLOCKS};
use crate::timeline::columns::KernelShape;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::Follower;
use crate::timeline::{NONE, NameId, OPTIMIZER_STEP, Timeline, Times};

/// The operator that fills a gradient as large as the whole table of an embedding, of which a batch uses some rows.
const DENSE_GRADIENT: &str = "aten::embedding_dense_backward";
/// In the names of kernels that update many parameters at once.
const TOGETHER: [&str; 2] = [MANY_TENSORS, "FusedOptimizer"];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let is_step = timeline.optimizer_labels();
    if !is_step.contains(&true) {
        return;
    }
    let mut steps = context.optimizer_steps().follow();
    let are_rounds = are_rounds(device);
    let mut rounds = Follower::new(&device.told.rounds);
    let (mut kernel_count, mut beside_rounds_count, mut kernel_ns) = (0, 0, 0_i64);
    let mut of_shapes: ByIndex<(i64, i64)> = ByIndex::default();
    // The host may be steps ahead: the window of the GPU holds kernels of other steps than that of the host.
    let mut launching: HashSet<Step> = HashSet::default();
    let mut last_step = None;
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let Some(step) = steps.step_of(timeline, op) else { continue };
        if last_step.replace(step) != Some(step) {
            launching.insert(step);
        }
        let own_ns = op.interval().clip(device.window()).len_ns();
        if let Some(shape) = timeline.kernels.shape.get(op.index as usize) {
            let (sum_ns, count) = of_shapes.of(*shape, Default::default);
            *sum_ns = sum_ns.saturating_add(own_ns);
            *count += 1;
        }
        kernel_count += 1;
        beside_rounds_count += i64::from(are_rounds && rounds.overlap_ns(op.interval()) == 0);
        kernel_ns = kernel_ns.saturating_add(own_ns);
    }
    let labels = timeline.ranges.labels.iter().zip(is_step);
    let name = labels.filter(|(_, is_step)| **is_step).map(|(label, _)| timeline.name(label.name)).next();
    let name = name.and_then(|name| name.strip_prefix(OPTIMIZER_STEP)).map(|name| name.trim_end_matches(".step"));
    if kernel_count == 0 {
        on_host(context, device, name, facts);
        return;
    }
    facts.set("optimizer_step_count", launching.len() as i64);
    facts.set("optimizer_kernel_count", kernel_count);
    let (joint_count, short_count) = joint_counts(timeline, &of_shapes);
    facts.set("optimizer_joint_kernel_count", joint_count);
    facts.set("optimizer_short_list_kernel_count", short_count);
    if are_rounds {
        facts.set("optimizer_beside_rounds_kernel_count", beside_rounds_count);
    }
    facts.set("optimizer_kernel_sum_ns", kernel_ns);
    let mut of_names: HashMap<NameId, i64> = HashMap::default();
    for (shape, (sum_ns, _)) in of_shapes.iter() {
        let of_name = of_names.entry(name_of(timeline, *shape).name).or_default();
        *of_name = of_name.saturating_add(*sum_ns);
    }
    let main = of_names.into_iter().max_by_key(|(name, ns)| (*ns, Reverse(timeline.name(*name))));
    if let Some((name, ns)) = main {
        facts.set("optimizer_main_kernel", timeline.name(name));
        facts.set("optimizer_main_kernel_sum_ns", ns);
    }
    facts.set_some("dense_gradient_kernel_sum_ns", dense_gradients_ns(timeline, device));
    facts.set("idle_optimizer_ns", device.idle().optimizer_ns);
    facts.set_some("optimizer_name", name);
}

/// Whether steps of optimizers launch work of any device: with several, one of them may hold the parameters of all.
pub(super) fn launch_work(context: &Context<'_>) -> bool {
    // Graphs hold kernels, and memory that is set is the device's.
    let is_of_device = |op: &Op| !matches!(op.kind, OpKind::Copy | OpKind::Migration);
    context.devices.iter().any(|device| {
        let mut steps = context.optimizer_steps().follow();
        device.ops.all_ops().filter(is_of_device).any(|op| steps.launched(context.timeline, op))
    })
}

/// Steps of optimizers none of which launches a kernel: they work on what lies in the memory of the host.
fn on_host(context: &Context<'_>, device: &DeviceContext, name: Option<&str>, facts: &mut Entity) {
    let (timeline, idle_ns) = (context.timeline, device.idle().optimizer_ns);
    if idle_ns == 0 || context.optimizers_launch() {
        return;
    }
    let own = context.optimizer_steps().of_threads().filter(|(thread, _)| device.is_of(timeline.process_of(*thread)));
    let within = own.flat_map(|(_, times)| times.iter()).filter(|step| step.overlap_ns(device.window()) > 0);
    facts.set("host_optimizer_step_count", within.count() as i64);
    facts.set("host_optimizer_idle_ns", idle_ns);
    facts.set_some("host_optimizer_name", name);
}

/// What a kernel shape is of.
fn name_of(timeline: &Timeline, shape: u32) -> KernelShape {
    timeline.kernels.shapes.get(shape as usize).copied().unwrap_or_default()
}

/// How many of some launches, by kernel shape, are of kernels that update many parameters at once, and how many of these kernels update
/// few, by their blocks: each parameter has one at least.
fn joint_counts(timeline: &Timeline, of_shapes: &ByIndex<(i64, i64)>) -> (i64, i64) {
    let mut is_of_list = Told::new(&timeline.names, |name| TOGETHER.iter().any(|part| name.contains(part)));
    let (mut joint, mut short) = (0, 0);
    for (shape, (_, count)) in of_shapes.iter() {
        let KernelShape { full_name: name, geometry, .. } = name_of(timeline, *shape);
        if !is_of_list.of(name) {
            continue;
        }
        let blocks = timeline.geometries.get(geometry as usize).map_or(0, |geometry| geometry.grid_blocks);
        let of_its = if (1..MANY_TENSORS_BLOCKS).contains(&blocks) { &mut short } else { &mut joint };
        *of_its += *count;
    }
    (joint, short)
}

/// How long kernels run that make dense gradients of embeddings; `None` where no such operator is recorded.
fn dense_gradients_ns(timeline: &Timeline, device: &DeviceContext) -> Option<i64> {
    let is_dense = timeline.labels_beginning(DENSE_GRADIENT);
    is_dense.contains(&true).then(|| launched_ns(timeline, device, &is_dense))
}

/// How long kernels run that ranges of some labels launch.
pub(super) fn launched_ns(timeline: &Timeline, device: &DeviceContext, is_launching: &[bool]) -> i64 {
    let ranges = OptimizerSteps::new(timeline, is_launching);
    let mut ranges = ranges.follow();
    let kernels = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel && ranges.launched(timeline, *op));
    kernels.map(|op| op.interval().clip(device.window()).len_ns()).fold(0, i64::saturating_add)
}

/// A step of an optimizer: its thread, and its number among the steps there.
pub(super) type Step = (u32, usize);

/// The steps of optimizers on each thread, those within others left out.
#[derive(Debug, Default)]
pub(super) struct OptimizerSteps {
    by_thread: HashMap<u32, Times>,
}

impl OptimizerSteps {
    /// Those that are marked with some labels, where any are.
    pub(super) fn of(timeline: &Timeline, is_step: &[bool]) -> Self {
        if is_step.contains(&true) { Self::new(timeline, is_step) } else { Self::default() }
    }

    pub(super) fn new(timeline: &Timeline, is_step: &[bool]) -> Self {
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

    /// When each thread is in one.
    pub(super) fn of_threads(&self) -> impl Iterator<Item = (u32, &Times)> {
        self.by_thread.iter().map(|(thread, times)| (*thread, times))
    }

    /// The thread that makes most of them, among those of the processes that use a device.
    pub(super) fn of_main_thread(&self, timeline: &Timeline, device: &DeviceContext) -> Option<(u32, &Times)> {
        let own = self.of_threads().filter(|(thread, _)| device.is_of(timeline.process_of(*thread)));
        own.max_by_key(|(thread, times)| (times.len(), Reverse(*thread)))
    }

    /// Tells of one operation after the other in which of them it was launched.
    pub(super) fn follow(&self) -> Following<'_> {
        Following { steps: self, known: None }
    }

    /// What is known of all that a thread launches around a moment.
    fn around(&self, thread: u32, at: i64) -> Known {
        let all = Known { thread, during: Interval::EVER, step: None };
        let Some(times) = self.by_thread.get(&thread) else { return all };
        let next = times.partition_point(0, |range| range.start <= at);
        let until = times.get(next).map_or(i64::MAX, |range| range.start);
        let Some((last, range)) = next.checked_sub(1).and_then(|last| Some((last, times.get(last)?))) else {
            return Known { during: Interval::new(i64::MIN, until), ..all };
        };
        if range.end > at {
            let during = Interval::new(range.start, range.end.min(until));
            return Known { during, step: Some((thread, last)), ..all };
        }
        Known { during: Interval::new(range.end.max(range.start), until), ..all }
    }
}

/// In which step one operation after the other was launched: mostly in that of the one before.
pub(super) struct Following<'steps> {
    steps: &'steps OptimizerSteps,
    known: Option<Known>,
}

/// The step in which a thread launches whatever it launches during some time.
#[derive(Debug, Clone, Copy)]
struct Known {
    thread: u32,
    during: Interval,
    step: Option<Step>,
}

impl Following<'_> {
    /// Whether an operation was launched in one of them.
    pub(super) fn launched(&mut self, timeline: &Timeline, op: Op) -> bool {
        self.step_of(timeline, op).is_some()
    }

    /// In which of them an operation was launched.
    pub(super) fn step_of(&mut self, timeline: &Timeline, op: Op) -> Option<Step> {
        // Most recordings mark none.
        if self.steps.by_thread.is_empty() {
            return None;
        }
        let call = op.call(timeline)?;
        let thread = timeline.api.thread.get(call as usize).copied().unwrap_or(NONE);
        let at = timeline.api.times.start(call as usize);
        let tells = |known: &Known| known.thread == thread && known.during.start <= at && at < known.during.end;
        let known = self.known.filter(tells).unwrap_or_else(|| self.steps.around(thread, at));
        self.known = Some(known);
        known.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_followed_as_they_are_searched() {
        let steps: Times =
            [(10, 20), (20, 25), (30, 40)].map(|(start, end)| Interval::new(start, end)).into_iter().collect();
        let steps = OptimizerSteps { by_thread: [(7, steps)].into_iter().collect() };
        let expected = |at: i64| match at {
            10..20 => Some((7, 0)),
            20..25 => Some((7, 1)),
            30..40 => Some((7, 2)),
            _ => None,
        };
        for at in 0..50 {
            let known = steps.around(7, at);
            assert!(known.during.start <= at && at < known.during.end);
            for other in (0..50).filter(|other| known.during.start <= *other && *other < known.during.end) {
                assert_eq!(known.step, expected(other), "{at} {other}");
            }
            assert_eq!(steps.around(8, at).step, None);
        }
    }
}
