//! Busy time that faster kernels would shorten in vain: the host launches what comes next after the device has run dry, and waited
//! for nothing meanwhile.

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::followed::Followed;
use super::kinds::DeviceWaits;
use super::os_waits::WaitsForOthers;
use super::tally::kernel_name;
use super::{Context, DeviceContext, DevicePart};
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::{NameId, Timeline, Times};

/// How calls go on, behind the name of the API, after which the device tells the host of its work. They stand for all that follows:
/// a graph runs such functions as often as it is launched.
const TELLS_HOST: [&str; 9] = [
    "LaunchHostFunc",
    "GraphAddNode",
    "StreamAddCallback",
    "GraphAddHostNode",
    "StreamWriteValue32",
    "StreamWriteValue64",
    "StreamBatchMemOp",
    "GraphAddBatchMemOpNode",
    "SignalExternalSemaphoresAsync",
];
/// Where so many calls have asked for work that has not begun, each launch may wait for room, however short it is.
const FULL_QUEUE_CALLS: usize = 500;

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
    if !device.knows_host || device.ops.migrations_in_window().next().is_some() || tells_host(context, device) {
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
    let mut waits = waits(context, device);
    let mut held = Held::default();
    let (mut busy_from, mut until, mut held_from) = (None, i64::MIN, None);
    let mut last_call = None;
    for op in device.ops.in_window() {
        let start = op.start.max(device.window().start);
        let call = op.call(timeline);
        if start > until {
            held.busy_ns += busy_from.map_or(0, |from| until - from);
            let has_waited = held_from.is_some_and(|from| waits.overlap(Interval::new(from, start)));
            // What one call launches, as the nodes of a graph, is there as soon as the first of it.
            let launch = call.filter(|call| Some(*call) != last_call);
            let launch = launch.map(|call| timeline.api.times.at(call as usize));
            let is_late = launch.is_some_and(|launch| launch.end > until);
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
        last_call = call;
    }
    held
}

/// When threads of the processes that use the device are in calls that wait for it, or may do so: the calls of the API, launches into
/// a full queue, and what waits for others.
fn waits<'all>(context: &'all Context<'_>, device: &DeviceContext) -> Waits<'all> {
    let timeline = context.timeline;
    let calls = device.waits(context);
    let mut busy = Followed::new(&device.tally.busy);
    // A call that asks for work may wait until the queue of the device has room.
    let mut waits_for_room = |call: &u32| busy.overlap_ns(timeline.api.times.at(*call as usize)) > 0;
    let for_room = calls.lists().flat_map(|waits| &waits.for_room).copied().filter(&mut waits_for_room).collect();
    let launches = launches_into_full_queue(timeline, device);
    Waits::new(&timeline.api.times, calls, [for_room, launches], context.waits_for_others(device))
}

/// Waits, of which is asked in the order of time.
struct Waits<'all> {
    times: &'all Times,
    /// The calls that wait whatever the device does, which most GPUs share, and how far each list was read.
    of_processes: DeviceWaits<'all>,
    near: Vec<Near>,
    /// Those that may wait for room, by their indices.
    calls: [Rows<CallWaits<'all>>; 2],
    /// The others, which most GPUs share.
    others: Rows<WaitsForOthers>,
}

/// A list of waits by start.
trait Listed {
    fn at(&self, index: usize) -> Option<Interval>;
}

impl Listed for WaitsForOthers {
    fn at(&self, index: usize) -> Option<Interval> {
        self.get(index).copied()
    }
}

/// Calls that wait.
struct CallWaits<'all> {
    times: &'all Times,
    calls: Vec<u32>,
}

impl Listed for CallWaits<'_> {
    fn at(&self, index: usize) -> Option<Interval> {
        self.calls.get(index).map(|call| self.times.at(*call as usize))
    }
}

/// How far such a list was read.
struct Rows<L> {
    list: L,
    next: usize,
    /// When the last of those ends that have begun.
    until: i64,
}

impl<'all> Waits<'all> {
    fn new(times: &'all Times, of_processes: DeviceWaits<'all>, calls: [Vec<u32>; 2], others: WaitsForOthers) -> Self {
        let calls = calls.map(|mut calls| {
            calls.retain(|call| times.at(*call as usize).len_ns() > 0);
            // They are in order, or those of each process are: this sort makes use of that.
            calls.sort_by_key(|call| times.start(*call as usize));
            Rows { list: CallWaits { times, calls }, next: 0, until: i64::MIN }
        });
        let near = of_processes.lists().map(|_| Near::default()).collect();
        Self { times, of_processes, near, calls, others: Rows { list: others, next: 0, until: i64::MIN } }
    }

    /// Whether any of them lies in a time, of which neither the begin nor the end is earlier than in the one before.
    fn overlap(&mut self, time: Interval) -> bool {
        let [one, other] = &mut self.calls;
        let mut lists = self.of_processes.lists().zip(&mut self.near);
        lists.any(|(waits, near)| waits.overlap(self.times, time, near))
            || one.overlap(time)
            || other.overlap(time)
            || self.others.overlap(time)
    }
}

impl<L: Listed> Rows<L> {
    fn overlap(&mut self, time: Interval) -> bool {
        while let Some(wait) = self.list.at(self.next).filter(|wait| wait.start < time.end) {
            self.until = self.until.max(wait.end);
            self.next += 1;
        }
        time.len_ns() > 0 && self.until > time.start
    }
}

/// The calls before which so much stood before the device that each may have waited for room, if only for a short kernel.
fn launches_into_full_queue(timeline: &Timeline, device: &DeviceContext) -> Vec<u32> {
    let (mut starts, mut last_call, mut full) = ([i64::MIN; FULL_QUEUE_CALLS], None, Vec::new());
    // The place of the oldest of them, which the next one takes.
    let mut oldest = 0;
    for op in device.ops.in_window() {
        let Some(call) = op.call(timeline).filter(|call| Some(*call) != last_call) else { continue };
        last_call = Some(call);
        let times = timeline.api.times.at(call as usize);
        if starts[oldest] > times.start {
            full.push(call);
        }
        starts[oldest] = op.start;
        oldest = (oldest + 1) % FULL_QUEUE_CALLS;
    }
    full
}

/// Whether the device may tell the host of its work in no call that waits: it runs functions of the host, or writes what the host
/// reads.
fn tells_host(context: &Context<'_>, device: &DeviceContext) -> bool {
    let timeline = context.timeline;
    let all = ["cuda", "cu", "hip"].into_iter().flat_map(|api| TELLS_HOST.map(|call| format!("{api}{call}")));
    let mut names: Vec<NameId> = all.filter_map(|name| timeline.names.find(&name)).collect();
    names.retain(|name| context.api_names().iter().any(|(called, _)| called == name));
    let mut calls = device.processes.iter().flat_map(|process| context.calls_of(*process, None));
    !names.is_empty() && calls.any(|call| timeline.api.name.get(call as usize).is_some_and(|name| names.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_began_earlier_are_found_as_long_as_they_last() {
        let [late, first, within, empty] =
            [(50, 60), (0, 40), (5, 10), (42, 42)].map(|(start, end)| Interval::new(start, end));
        let times: Times = [late, empty, within].into_iter().collect();
        let mut waits =
            Waits::new(&times, DeviceWaits::OfEach(Vec::new()), [vec![1, 0, 2], Vec::new()], vec![first].into());
        let times = [(0, 0), (0, 3), (20, 30), (40, 45), (40, 50), (41, 51), (55, 80), (60, 90)];
        let found = times.map(|(start, end)| waits.overlap(Interval::new(start, end)));
        assert_eq!(found, [false, true, true, false, false, true, true, false]);
    }
}
