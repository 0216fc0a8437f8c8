//! Facts of the forward pass that runs again in the backward pass, activation checkpointing, and of the backward pass that does.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::DeviceContext;
use super::optimizer::launched_ns;
use super::tally::kernel_name;
use super::unused_gradients::OF_PARAMETER;
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::details::RunsAgain;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// The facts of both, by what their names begin with.
pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let details = &timeline.details;
    set(timeline, device, ("recomputed", "operator"), details.recomputed.as_ref(), facts);
    if set(timeline, device, ("repeated", "node"), details.repeated_nodes.as_ref(), facts) {
        let labels = timeline.ranges.labels.iter();
        let is_adding: Vec<bool> = labels.map(|label| timeline.name(label.name).ends_with(OF_PARAMETER)).collect();
        facts.set("accumulate_grad_kernel_sum_ns", launched_ns(timeline, device, &is_adding));
    }
}

/// Whether any of them launches kernels.
fn set(
    timeline: &Timeline,
    device: &DeviceContext,
    (prefix, what): (&str, &str),
    again: Option<&RunsAgain>,
    facts: &mut Entity,
) -> bool {
    let Some(again) = again else { return false };
    let count = runs(timeline, device, again);
    facts.set(&format!("{prefix}_{what}_count"), count);
    let Some(work) = (count > 0).then(|| Work::of(timeline, device, again)).flatten() else { return false };
    facts.set(&format!("{prefix}_kernel_count"), work.kernel_count);
    facts.set(&format!("{prefix}_busy_ns"), work.busy_ns);
    facts.set_some(&format!("{prefix}_kernel"), work.main.map(|name| timeline.name(name)));
    true
}

/// How many of them the threads of a device run in its window.
fn runs(timeline: &Timeline, device: &DeviceContext, again: &RunsAgain) -> i64 {
    let is_own = |thread: u32| device.is_of(timeline.process_of(thread));
    let own = again.threads().filter(|(thread, _)| is_own(*thread)).flat_map(|(_, times)| times.iter());
    own.filter(|operator| operator.overlap_ns(device.window()) > 0).count() as i64
}

/// What they launch.
struct Work {
    kernel_count: i64,
    busy_ns: i64,
    /// The kernel with most time.
    main: Option<NameId>,
}

impl Work {
    /// `None` without kernels.
    fn of(timeline: &Timeline, device: &DeviceContext, again: &RunsAgain) -> Option<Self> {
        let window = device.window();
        let is_again = |op: &Op| {
            let call = op.call(timeline).map(|call| call as usize);
            let thread = call.and_then(|call| timeline.api.thread.get(call));
            thread.zip(call).is_some_and(|(thread, call)| again.holds(*thread, timeline.api.times.start(call)))
        };
        let ops: Vec<Op> = device.ops.in_window().filter(|op| op.kind != OpKind::Migration).filter(is_again).collect();
        let kernels = || ops.iter().filter(|op| op.kind == OpKind::Kernel);
        kernels().next()?;
        let mut run_ns: HashMap<NameId, i64> = HashMap::default();
        for (name, op) in kernels().filter_map(|op| Some((kernel_name(timeline, *op)?, op))) {
            *run_ns.entry(name).or_default() += op.interval().clip(window).len_ns();
        }
        let main = run_ns.iter().max_by_key(|(name, ns)| (**ns, Reverse(timeline.name(**name))));
        Some(Self {
            kernel_count: kernels().count() as i64,
            busy_ns: Union::of(ops.iter().map(|op| op.interval().clip(window))).len_ns(),
            main: main.map(|(name, _)| *name),
        })
    }
}
