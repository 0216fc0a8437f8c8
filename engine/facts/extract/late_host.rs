//! Busy time that faster kernels would shorten in vain: the host launches what comes next after the device has run dry, and waited
//! for nothing meanwhile.

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::tally::kernel_name;
use super::{Context, DeviceContext, DevicePart};
use crate::timeline::NameId;
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// What ran between two moments at which the host was late, or had waited; and what ran before it was late.
#[derive(Default)]
struct Held {
    busy_ns: i64,
    late_ns: i64,
    /// Whether the host was late at the end of each of those times that have ended.
    was_late: Vec<bool>,
    kernels: ByIndex<HeldKernel>,
}

/// The same of one kernel, whose runs are settled once it runs again, or at the end.
struct HeldKernel {
    /// Which of those times it ran in, and for how long.
    number: usize,
    run_ns: i64,
    late_ns: i64,
}

impl Held {
    /// Where the host was late the next operation starts when it is launched, whenever those before it end; whoever waited goes on
    /// sooner where what it waited for ends sooner.
    fn settle(&mut self, is_late: bool) {
        self.late_ns = self.late_ns.saturating_add(if is_late { self.busy_ns } else { 0 });
        self.busy_ns = 0;
        self.was_late.push(is_late);
    }

    fn run(&mut self, name: NameId, ns: i64) {
        let number = self.was_late.len();
        let kernel = self.kernels.of(name, || HeldKernel { number, run_ns: 0, late_ns: 0 });
        if kernel.number != number {
            kernel.late_ns = kernel.late(&self.was_late);
            (kernel.number, kernel.run_ns) = (number, 0);
        }
        kernel.run_ns = kernel.run_ns.saturating_add(ns);
    }
}

impl HeldKernel {
    /// With its last runs.
    fn late(&self, was_late: &[bool]) -> i64 {
        let is_late = was_late.get(self.number).is_some_and(|is_late| *is_late);
        self.late_ns.saturating_add(if is_late { self.run_ns } else { 0 })
    }
}

/// Adds to the device, and to its kernels, whose index among the entities is given by name.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    kernels: &HashMap<NameId, usize>,
    part: &mut DevicePart,
) {
    // What touches unified memory may wait for the device in no call.
    if !device.knows_host || device.ops.migrations_in_window().next().is_some() {
        return;
    }
    let held = walk(context, device);
    part.device.set("late_host_busy_ns", held.late_ns);
    for (name, index) in kernels {
        if let Some((kernel, entity)) = held.kernels.get(*name).zip(part.entities.get_mut(*index)) {
            entity.set("late_host_sum_ns", kernel.late(&held.was_late));
        }
    }
}

fn walk(context: &Context<'_>, device: &DeviceContext) -> Held {
    let timeline = context.timeline;
    let waits = waits(context, device);
    let mut held = Held::default();
    let (mut busy_from, mut until, mut held_from) = (None, i64::MIN, None);
    let mut last_call = None;
    for op in device.ops.in_window() {
        let start = op.start.max(device.window().start);
        if start > until {
            held.busy_ns += busy_from.map_or(0, |from| until - from);
            let has_waited = held_from.is_some_and(|from| waits.overlap_ns(Interval::new(from, start)) > 0);
            // What one call launches, as the nodes of a graph, is there as soon as the first of it.
            let call = op.call(timeline).filter(|call| Some(*call) != last_call);
            let call = call.map(|call| timeline.api.times.at(call as usize));
            let is_late = call.is_some_and(|call| call.end > until);
            if has_waited || is_late {
                held.settle(!has_waited);
                held_from = None;
            }
            busy_from = Some(start);
            held_from.get_or_insert(start);
        }
        if let Some(name) = kernel_name(timeline, op) {
            held.run(name, op.interval().clip(device.window()).len_ns());
        }
        until = until.max(op.end);
        last_call = op.call(timeline);
    }
    held
}

/// When threads of the processes that use the device are in calls that wait for it, or may do so.
fn waits(context: &Context<'_>, device: &DeviceContext) -> Union {
    let timeline = context.timeline;
    let may_wait = |call: &u32| {
        let class = context.calls.class_of(timeline, *call);
        !matches!(class, ApiClass::Launch | ApiClass::Memset | ApiClass::Init | ApiClass::Other)
    };
    let calls = device.processes.iter().flat_map(|process| context.calls_of(*process, Some(device.window())));
    Union::of(calls.filter(may_wait).map(|call| timeline.api.times.at(call as usize)))
}
