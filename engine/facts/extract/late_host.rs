//! Busy time that faster kernels would shorten in vain: the host launches what comes next after the device has run dry, and waited
//! for nothing meanwhile.

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::followed::Followed;
use super::once::{LONG_CALL_NS, MAX_LAUNCHING_THREADS};
use super::tally::kernel_name;
use super::{Context, DeviceContext, DevicePart};
use crate::timeline::api::ApiClass;
use crate::timeline::columns::{Label, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::peers::is_mpi_call;
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
/// Calls of the operating system that may wait for another process.
const OS_WAITS: [&str; 37] = [
    "waitpid",
    "wait4",
    "waitid",
    "wait",
    "system",
    "pclose",
    "pthread_join",
    "pthread_tryjoin_np",
    "pthread_mutex_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pread",
    "recvmmsg",
    "mq_receive",
    "flock",
    "poll",
    "ppoll",
    "select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "read",
    "readv",
    "fread",
    "fgets",
    "recv",
    "recvfrom",
    "recvmsg",
    "accept",
    "futex",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_barrier_wait",
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
    let mut busy = Followed::new(&device.tally.busy);
    // A call that asks for work may wait until the queue of the device has room.
    let mut waits_for_room = |call: Interval| call.len_ns() >= LONG_CALL_NS && busy.overlap_ns(call) > 0;
    let may_wait = |call: &u32| {
        let class = context.calls.class_of(timeline, *call);
        !matches!(class, ApiClass::Launch | ApiClass::Memset | ApiClass::Init | ApiClass::Other)
            || waits_for_room(timeline.api.times.at(*call as usize))
    };
    let calls = device.telling_calls(context).filter(may_wait);
    let launches = launches_into_full_queue(timeline, device);
    Waits::new(&timeline.api.times, [calls.collect(), launches], waits_for_others(context, device).collect())
}

/// Waits, of which is asked in the order of time.
struct Waits<'all> {
    /// Those that are calls, by their indices: each GPU has a list of most calls of a recording.
    calls: [Rows<CallWaits<'all>>; 2],
    others: Rows<Vec<Interval>>,
}

/// A list of waits by start.
trait Listed {
    fn at(&self, index: usize) -> Option<Interval>;
}

impl Listed for Vec<Interval> {
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
    fn new(times: &'all Times, calls: [Vec<u32>; 2], mut others: Vec<Interval>) -> Self {
        let calls = calls.map(|mut calls| {
            calls.retain(|call| times.at(*call as usize).len_ns() > 0);
            // Those of each thread are in order: this sort makes use of that.
            calls.sort_by_key(|call| times.start(*call as usize));
            Rows { list: CallWaits { times, calls }, next: 0, until: i64::MIN }
        });
        others.retain(|wait| wait.len_ns() > 0);
        others.sort_by_key(|wait| wait.start);
        Self { calls, others: Rows { list: others, next: 0, until: i64::MIN } }
    }

    /// Whether any of them lies in a time, of which neither the begin nor the end is earlier than in the one before.
    fn overlap(&mut self, time: Interval) -> bool {
        let [one, other] = &mut self.calls;
        one.overlap(time) || other.overlap(time) || self.others.overlap(time)
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

/// When threads that call the device wait in the operating system, or in MPI, for what may in turn wait for the device.
fn waits_for_others<'all>(context: &'all Context<'_>, device: &'all DeviceContext) -> impl Iterator<Item = Interval> {
    let timeline = context.timeline;
    let calls_device =
        |thread: u32| device.is_of(timeline.process_of(thread)) && !context.calls.of_thread(thread).is_empty();
    let names: Vec<NameId> = OS_WAITS.iter().filter_map(|name| timeline.names.find(name)).collect();
    let os_calls = timeline.os_calls.times.iter().zip(&timeline.os_calls.name).zip(&timeline.os_calls.thread);
    let os_calls = os_calls.filter(move |((times, name), thread)| {
        times.len_ns() >= LONG_CALL_NS && names.contains(name) && calls_device(**thread)
    });
    let is_mpi = |label: &Label| label.kind == RangeKind::Library && is_mpi_call(timeline.name(label.name));
    let is_mpi: Vec<bool> = timeline.ranges.labels.iter().map(is_mpi).collect();
    let of_threads = timeline.ranges.threads.iter().filter(move |ranges| calls_device(ranges.thread));
    let in_mpi = of_threads.flat_map(|ranges| ranges.times.iter().zip(&ranges.label));
    let in_mpi = in_mpi.filter(move |(_, label)| is_mpi.get(**label as usize).copied().unwrap_or(false));
    let launching = launching_threads(context, device);
    let mut near = vec![[Near::default(); 2]; launching.len()];
    os_calls
        .flat_map(move |((times, _), thread)| but_for_others(context, launching, *thread, times, &mut near))
        .chain(in_mpi.map(|(times, _)| times))
}

/// The threads that launch work of the device; none where they are too many to be held against each wait.
fn launching_threads<'all>(context: &Context<'_>, device: &'all DeviceContext) -> &'all [u32] {
    let threads = &device.passed(context).threads;
    if threads.len() > MAX_LAUNCHING_THREADS { &[] } else { threads }
}

/// What of a wait in the operating system is not while another thread of the process launches work, as the one that runs the backward
/// pass of PyTorch does: then the wait is for that thread, whose own waits count.
fn but_for_others(
    context: &Context<'_>,
    launching: &[u32],
    thread: u32,
    wait: Interval,
    near: &mut [[Near; 2]],
) -> [Interval; 2] {
    let timeline = context.timeline;
    let times = |call: &u32| timeline.api.times.at(*call as usize);
    let process = timeline.process_of(thread);
    let others = launching.iter().zip(near);
    let others = others.filter(|(other, _)| **other != thread && timeline.process_of(**other) == process);
    let hulls = others.filter_map(|(other, [first, last])| {
        let calls = context.calls.of_thread(*other);
        let start = |index: usize| timeline.api.times.start(calls[index] as usize);
        let first = first.partition_point(calls.len(), |index| start(index) < wait.start);
        let last = last.partition_point(calls.len(), |index| start(index) < wait.end);
        let inside = calls.get(first..last)?;
        Some(Interval::new(times(inside.first()?).start, times(inside.last()?).end.min(wait.end)))
    });
    let hull = hulls.reduce(|all, next| Interval::new(all.start.min(next.start), all.end.max(next.end)));
    let hull = hull.unwrap_or_else(|| Interval::new(wait.end, wait.end));
    [Interval::new(wait.start, hull.start), Interval::new(hull.end, wait.end)]
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
        let mut waits = Waits::new(&times, [vec![1, 0, 2], Vec::new()], vec![empty, first]);
        let times = [(0, 0), (0, 3), (20, 30), (40, 45), (40, 50), (41, 51), (55, 80), (60, 90)];
        let found = times.map(|(start, end)| waits.overlap(Interval::new(start, end)));
        assert_eq!(found, [false, true, true, false, false, true, true, false]);
    }
}
