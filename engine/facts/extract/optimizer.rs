//! Facts of the optimizer's steps, by the ranges that PyTorch marks: what they launch, and whether parameters go together.

use foldhash::HashMap;

use super::steps::are_rounds;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Account;
use crate::ledger::OpKind;
use crate::timeline::{NONE, NameId, Times};

/// How PyTorch begins the name of the range of an optimizer's step.
const STEP: &str = "Optimizer.step#";
/// In the names of kernels that update many parameters at once.
const TOGETHER: [&str; 2] = ["multi_tensor_apply", "FusedOptimizer"];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let names = || timeline.ranges.labels.iter().map(|label| timeline.name(label.name));
    let is_step: Vec<bool> = names().map(|name| name.starts_with(STEP)).collect();
    if !is_step.contains(&true) {
        return;
    }
    let steps = steps(context, &is_step);
    let within = |thread: u32, at: i64| {
        let times = steps.get(&thread)?;
        let before = times.partition_point(0, |range| range.start <= at);
        times.get(before.checked_sub(1)?).filter(|range| range.end > at)
    };
    let (mut kernel_count, mut together_count, mut beside_rounds_count, mut kernel_ns) = (0, 0, 0, 0_i64);
    let mut joint: HashMap<NameId, bool> = HashMap::default();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let Some(call) = op.call(timeline) else { continue };
        let thread = timeline.api.thread.get(call as usize).copied().unwrap_or(NONE);
        if within(thread, timeline.api.times.start(call as usize)).is_none() {
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
    let count = steps.values().flat_map(Times::iter).filter(|step| step.overlap_ns(window) > 0).count();
    if count == 0 || kernel_count == 0 {
        return;
    }
    let of_range = |(key, idle): (&(u32, u32), &crate::ledger::reading::RangeIdle)| {
        let is_step = is_step.get(key.1 as usize).copied().unwrap_or(false);
        // What loads code, or takes memory for the first time, is no cost of single parameters; waits for a number of each are.
        if is_step { idle.host_ns.saturating_add(idle.launch_ns).saturating_add(idle.waits_ns) } else { 0 }
    };
    facts.set("optimizer_step_count", count as i64);
    facts.set("optimizer_kernel_count", kernel_count);
    facts.set("optimizer_joint_kernel_count", together_count);
    if are_rounds(device) {
        facts.set("optimizer_beside_rounds_kernel_count", beside_rounds_count);
    }
    facts.set("optimizer_kernel_sum_ns", kernel_ns);
    // Steps within steps hold the same time: together no more than there is.
    let idle_ns = device.idle.ranges.iter().map(of_range).fold(0_i64, i64::saturating_add);
    facts.set("idle_optimizer_ns", idle_ns.min(device.account_ns(Account::Idle)));
    let name = names().zip(&is_step).find(|(_, is_step)| **is_step).map(|(name, _)| name);
    facts.set_some(
        "optimizer_name",
        name.and_then(|name| name.strip_prefix(STEP)).map(|name| name.trim_end_matches(".step")),
    );
}

/// The steps of each thread, those within others left out.
fn steps(context: &Context<'_>, is_step: &[bool]) -> HashMap<u32, Times> {
    let mut steps: HashMap<u32, Times> = HashMap::default();
    for ranges in &context.timeline.ranges.threads {
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
            steps.insert(ranges.thread, own);
        }
    }
    steps
}
