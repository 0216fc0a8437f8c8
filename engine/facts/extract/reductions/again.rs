//! Gradients that ranks reduce in each of several backward passes before one step of the optimizer, where the last of these
//! reductions alone is needed.

use super::{Context, DeviceContext, is_all_reduce, labels};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{Timeline, ZERO_GRAD};

/// What operators that ask for all-reduces begin with.
const ASKING: &str = "c10d::allreduce";

/// From a forward pass to the next one, or to what ends the passes that add up.
#[derive(Debug)]
struct Pass {
    host: Interval,
    /// Which step of the optimizer uses its gradients.
    step: usize,
    /// What is reduced in it, with the bytes of each.
    reductions: Vec<(i64, Interval)>,
    /// When the host asks for the first of these.
    first_asked: Option<i64>,
    /// The last moment before that step at which gradients are given up.
    given_up: Option<i64>,
}

impl Pass {
    /// The sizes of what it reduces, in an order that does not depend on when.
    fn sizes(&self) -> Vec<i64> {
        let mut sizes: Vec<i64> = self.reductions.iter().map(|(bytes, _)| *bytes).collect();
        sizes.sort_unstable();
        sizes
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity, is_forward: &[bool]) {
    let timeline = context.timeline;
    if timeline.details.collectives.is_empty() {
        return;
    }
    let Some(mut passes) = passes(context, device, is_forward) else { return };
    reduce(timeline, device, &mut passes);
    // Gradients that are given up after they were made add up to nothing (SAM computes some to find where to take those that it uses).
    passes.retain(|pass| pass.first_asked.zip(pass.given_up).is_none_or(|(asked, given_up)| given_up < asked));
    let (mut pass_count, mut step_count, mut spare) = (0, 0, Vec::new());
    for of_step in passes.chunk_by(|a, b| a.step == b.step) {
        let Some(last) = of_step.iter().rev().find(|pass| !pass.reductions.is_empty()) else { continue };
        let sizes = last.sizes();
        let same: Vec<&Pass> = of_step.iter().filter(|pass| pass.sizes() == sizes).collect();
        if let [before @ .., _] = same.as_slice()
            && !before.is_empty()
        {
            pass_count += same.len() as i64;
            step_count += 1;
            spare.extend_from_slice(before);
        }
    }
    if step_count == 0 {
        return;
    }
    let ops = Union::of(spare.iter().flat_map(|pass| &pass.reductions).map(|(_, op)| op.clip(device.window())));
    let count: usize = spare.iter().map(|pass| pass.reductions.len()).sum();
    let hosts: Vec<Interval> = spare.iter().map(|pass| pass.host).collect();
    facts.set("reduced_pass_count", pass_count);
    facts.set("reduced_step_count", step_count);
    facts.set("spare_reduction_count", count as i64);
    facts.set("spare_reduction_exposed_ns", ops.len_ns() - ops.common_ns(device.computing()));
    facts.set("spare_reduction_host_ns", host_ns(timeline, device, &Union::of(hosts)));
}

/// The passes of the thread that steps the optimizer; `None` where there is none, or no such pass.
fn passes(context: &Context<'_>, device: &DeviceContext, is_forward: &[bool]) -> Option<Vec<Pass>> {
    let timeline = context.timeline;
    if !is_forward.contains(&true) {
        return None;
    }
    let (thread, steps) = context.optimizer_steps().of_main_thread(timeline, device)?;
    let ranges = timeline.ranges.of_thread(thread)?;
    let starts = |is_one: &[bool]| -> Vec<i64> { ranges.labelled(is_one).map(|times| times.start).collect() };
    let mut begins = starts(is_forward);
    begins.sort_unstable();
    begins.dedup();
    let zeroing = starts(&labels(timeline, |name| name.starts_with(ZERO_GRAD)));
    let passes = begins.iter().enumerate().filter_map(|(index, begin)| {
        let step = steps.partition_point(0, |range| range.start <= *begin);
        // A step that computes gradients itself does so for points of its own (L-BFGS).
        if step.checked_sub(1).and_then(|last| steps.get(last)).is_some_and(|range| *begin < range.end) {
            return None;
        }
        // What follows the last step is of one that is not there.
        let until = steps.get(step)?.start;
        let before = zeroing.partition_point(|at| *at < until);
        let given_up = before.checked_sub(1).and_then(|last| zeroing.get(last)).copied();
        let end = begins.get(index + 1).copied().unwrap_or(until).min(until);
        let host = Interval::new(*begin, end);
        Some(Pass { host, step, reductions: Vec::new(), first_asked: None, given_up })
    });
    Some(passes.collect())
}

/// Gives each pass what is reduced in it, by when the host asks for that.
fn reduce(timeline: &Timeline, device: &DeviceContext, passes: &mut [Pass]) {
    let mut is_reduction = Told::new(&timeline.names, is_all_reduce);
    let mut reduction = |op: Op| -> Option<(i64, i64)> {
        let sent = timeline.details.collectives.of(op.interval())?;
        let at = timeline.api.times.get(op.call(timeline)? as usize)?.start;
        is_reduction.of(sent.name).then_some((sent.bytes, at))
    };
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Communication) {
        let Some((bytes, at)) = reduction(op) else { continue };
        let next = passes.partition_point(|pass| pass.host.start <= at);
        let pass = next.checked_sub(1).and_then(|last| passes.get_mut(last)).filter(|pass| at < pass.host.end);
        if let Some(pass) = pass {
            pass.reductions.push((bytes, op.interval()));
            pass.first_asked = Some(pass.first_asked.map_or(at, |first| first.min(at)));
        }
    }
}

/// How long the host is in operators that ask for all-reduces, within some of its time.
fn host_ns(timeline: &Timeline, device: &DeviceContext, during: &Union) -> i64 {
    let is_asking = labels(timeline, |name| name.starts_with(ASKING));
    let own = timeline.ranges.threads.iter().filter(|ranges| device.is_of(timeline.process_of(ranges.thread)));
    let of_thread = own.map(|ranges| {
        Union::of(ranges.labelled(&is_asking).map(|times| times.clip(device.window()))).common_ns(during)
    });
    of_thread.fold(0, i64::saturating_add)
}
