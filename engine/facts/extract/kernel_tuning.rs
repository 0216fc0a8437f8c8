//! Facts of kernels that are tried in several launch shapes before they are used (autotuning).

use foldhash::{HashMap, HashSet};

use super::phases::are_marked;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Account, OpKind};
use crate::steps::{KernelTuning, Step, kernel_tunings};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId};

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let tunings = kernel_tunings(timeline, &device.ops);
    let Some(longest) = tunings.iter().max_by_key(|tuning| (tuning.device.len_ns(), -tuning.device.start)) else {
        return;
    };
    let mut kernels: HashMap<NameId, i64> = HashMap::default();
    for tuning in &tunings {
        *kernels.entry(tuning.kernel).or_default() += tuning.device.len_ns();
    }
    let main = kernels.iter().max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(**name))).map(|(name, _)| *name);
    facts.set("kernel_tuning_count", tunings.len() as i64);
    facts.set("kernel_tuning_trial_count", tunings.iter().map(|tuning| tuning.trial_count as i64).sum::<i64>());
    facts.set("kernel_tuning_kernel_count", kernels.len() as i64);
    if let Some(main) = main {
        let own = || tunings.iter().filter(move |tuning| tuning.kernel == main);
        let shape = own().next().and_then(|tuning| timeline.kernels.shapes.get(tuning.shape as usize));
        facts.set_some("kernel_tuning_kernel", shape.map(|shape| timeline.name(shape.name).to_owned()));
        let geometries: HashSet<u32> = own().flat_map(|tuning| tuning.geometries.iter().copied()).collect();
        facts.set("kernel_tuning_grid_count", geometries.len() as i64);
    }
    if let Some(steps) = device.told.steps.as_ref().filter(|steps| are_marked(steps)) {
        let mut ends: Vec<i64> = tunings.iter().map(|tuning| tuning.device.end).collect();
        ends.sort_unstable();
        let is_tried = |step: &&Step| {
            let first = ends.partition_point(|end| *end <= step.device.start);
            ends.get(first).is_some_and(|end| *end <= step.device.end)
        };
        facts.set("kernel_tuning_step_count", steps.steps.iter().filter(is_tried).count() as i64);
    }
    facts.set("kernel_tuning_longest_ns", longest.device.len_ns());
    facts.set("kernel_tuning_longest_start_ns", longest.device.start);
    times(context, device, &tunings, facts);
}

/// What the device does, and the host, from the begin of trials to their end.
fn times(context: &Context<'_>, device: &DeviceContext, tunings: &[KernelTuning], facts: &mut Entity) {
    let timeline = context.timeline;
    let trials = Union::of(tunings.iter().map(|tuning| tuning.device.clip(device.window())));
    let busy_ns = trials.common_ns(&device.tally.busy);
    facts.set("kernel_tuning_busy_ns", busy_ns);
    facts.set("idle_kernel_tuning_ns", trials.len_ns() - busy_ns);
    let copies = device.ops.in_window().filter(|op| op.kind == OpKind::Copy).map(|op| op.interval());
    let copies = Union::of(copies.filter(|copy| trials.overlap_ns(*copy) > 0));
    facts.set("exposed_kernel_tuning_copy_ns", copies.len_ns() - copies.common_ns(&device.tally.kernels_run));
    if device.knows_host {
        let is_own = |thread: u32| thread != NONE && device.is_of(timeline.process_of(thread));
        let calls = timeline.api.times.iter().zip(&timeline.api.thread).filter(|(_, thread)| is_own(**thread));
        let calls = calls.map(|(times, _)| times).filter(|times| trials.overlap_ns(*times) > 0);
        let taken = Union::of(calls.chain(device.tally.busy.parts()).collect::<Vec<Interval>>());
        let host_ns = trials.len_ns() - trials.common_ns(&taken);
        let launch_ns = trials.len_ns() - busy_ns - host_ns;
        facts.set("idle_kernel_tuning_host_ns", host_ns.min(device.account_ns(Account::IdleHost)));
        facts.set("idle_kernel_tuning_launch_ns", launch_ns.min(device.account_ns(Account::IdleLaunch)));
    }
}
