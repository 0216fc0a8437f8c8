//! The part of a recording that is played again: consecutive steps with the calls that asked for them.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::{NoReplay, Subject, size, typical};
use crate::ledger::between_calls::BetweenCalls;
use crate::ledger::{Activity, DeviceOps, OpKind};
use crate::steps::Step;
use crate::timeline::api::{self, ApiClass, MemoryCall, memory_call};
use crate::timeline::columns::{Direction, HostMemory, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{ACCUMULATE_GRAD, NONE};

/// Threads that are played again at most: each is held against all others where it was silent.
const MAX_THREAD_COUNT: usize = 64;
/// Steps that are played again at most.
pub(super) const MAX_STEP_COUNT: usize = 100;
/// How PyTorch begins the names of an optimizer's ranges: `Optimizer.step#SGD.step`.
const OPTIMIZER: &str = "Optimizer.";
/// How it begins those of its profiler's steps: `ProfilerStep#3`. Between two of them the profiler is called.
const PROFILER_STEP: &str = "ProfilerStep";
/// More time between two of its steps is not the profiler's alone: docs/gains.md has what it takes.
const MAX_PROFILER_STEP_NS: i64 = 200_000;
/// An operator that runs this long does not wait for its recording: the profiler records its begin and its end.
const LONG_OPERATOR_NS: i64 = 200_000;
/// Queries of a loop that polls, at least.
const MIN_POLL_COUNT: u32 = 3;

/// A call of the host, with those that it made itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The index of the thread in the timeline.
    pub(super) thread: u32,
    pub(super) class: ApiClass,
    /// Whether the thread waits in the operating system before the call, by what is recorded; nanoseconds.
    pub(super) blocked_before_ns: i64,
    /// What of the time before the call goes into fetching the next batch of data; nanoseconds.
    pub(super) loading_before_ns: i64,
    /// What of it operators of the framework take that ask for nothing: they run on the CPU; nanoseconds.
    pub(super) cpu_operators_ns: i64,
    /// What of that operators take each of which runs for long; nanoseconds.
    pub(super) long_operators_ns: i64,
    /// Calls that are recorded in it, itself among them, and operators of the framework between it and the call before.
    pub(super) traced_count: u32,
    pub(super) operator_count: u32,
    /// Functions of Python that were recorded between it and the call before.
    pub(super) frame_count: u32,
    /// What of the time before the call the profiler itself takes between two steps; nanoseconds.
    pub(super) profiler_before_ns: i64,
    /// What it does with memory, where it manages some.
    pub(super) memory: Option<MemoryCall>,
    /// Whether it brings code.
    pub(super) brings_code: bool,
    /// Whether it only asks about the device or a kernel.
    pub(super) asks: bool,
    /// Whether it is made in a step of an optimizer, or while it clears gradients.
    pub(super) is_of_optimizer: bool,
    /// Whether it is made while the gradient of one parameter is added up.
    pub(super) is_of_gradient: bool,
    /// The first operation that it asked for, and how many.
    pub(super) first_op: u32,
    pub(super) op_count: u32,
}

/// One operation of a device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) kind: OpKind,
    /// The index in the columns of its kind.
    pub(super) index: u32,
    pub(super) stream: u32,
    pub(super) device: u32,
    /// The index of its call in [`Part::calls`]; [`NONE`] of what was asked for earlier, which stays where it is, and of what no
    /// recorded call asked for.
    pub(super) call: u32,
    /// Whether no recorded call asked for it.
    pub(super) is_unlinked: bool,
    /// The number of its step in the part.
    pub(super) step: u32,
    /// The direction of a copy; absent of what is no copy between host and device.
    pub(super) lane: Option<u8>,
    /// The copy engine that it takes: one a direction, or one for both where the device has no other.
    pub(super) engine: Option<u8>,
    /// Whether it copies within its device, so that a kernel there could do the same.
    pub(super) is_within_device: bool,
    /// Bytes of a copy, else 0.
    pub(super) bytes: i64,
    /// Whether it touches pageable host memory.
    pub(super) is_pageable: bool,
}

/// What is played again.
#[derive(Debug)]
pub(super) struct Part {
    /// By thread, and in the order of each thread.
    pub(super) calls: Vec<Call>,
    /// Those of each thread: positions in `calls`.
    pub(super) threads: Vec<std::ops::Range<usize>>,
    /// By start.
    pub(super) ops: Vec<Op>,
    pub(super) step_count: u32,
    pub(super) of: typical::Alike,
}

/// From when to when the host asks for the work of some steps: one moment more than steps.
struct HostSteps {
    marks: Vec<i64>,
    device_end: i64,
}

impl Part {
    /// Steps of the steady state, as many as may be, and no more than so many.
    pub(super) fn new(subject: &Subject<'_>, most_steps: usize) -> Result<Self, NoReplay> {
        if subject.steps.len() < 2 {
            return Err(NoReplay::NoSteps);
        }
        let threads = threads(subject);
        if threads.is_empty() {
            return Err(NoReplay::NoCalls);
        }
        let mut count = subject.steps.len().min(most_steps);
        let most = size::most_events(subject.devices.len());
        let own_most = most.min(size::most_own_events(subject.devices.len()));
        loop {
            if count < 2 {
                return Err(NoReplay::TooLong);
            }
            let typical::Typical { steps, of } = typical::steps(subject, count);
            let host = HostSteps::new(steps).ok_or(NoReplay::NoSteps)?;
            let calls_of = |thread: &u32| calls_within(subject, *thread, host.whole()).len();
            let calls = threads.iter().map(calls_of).sum::<usize>();
            let callers = threads.iter().filter(|thread| calls_of(thread) > 0).count();
            let begun = |device: &&DeviceOps| device.begun_in(host.on_devices()).len();
            let ops = subject.devices.iter().map(begun).sum::<usize>();
            if calls.max(ops) <= most && callers <= MAX_THREAD_COUNT {
                let part = Self::collect(subject, &threads, (&host, of));
                if part.calls.len().max(part.ops.len()) <= own_most {
                    return if part.is_known() { Ok(part) } else { Err(NoReplay::NoCalls) };
                }
            }
            count /= 2;
        }
    }

    /// Whether the calls of nearly all operations are there.
    fn is_known(&self) -> bool {
        let asked = self.ops.iter().filter(|op| op.call != NONE).count();
        asked > 0 && self.step_count >= 2
    }

    fn collect(subject: &Subject<'_>, threads: &[u32], (host, of): (&HostSteps, typical::Alike)) -> Self {
        let mut part = Self { calls: Vec::new(), threads: Vec::new(), ops: Vec::new(), step_count: 0, of };
        let mut call_of: HashMap<u32, u32> = HashMap::default();
        let is_at_work = |thread: &&u32| !only_asks(subject, calls_within(subject, **thread, host.whole()));
        let threads: Vec<u32> = threads.iter().filter(is_at_work).copied().collect();
        let is_optimizer = subject.timeline.labels_beginning(OPTIMIZER);
        let is_of_gradient = subject.timeline.labels_beginning(ACCUMULATE_GRAD);
        let is_step = subject.timeline.labels_beginning(PROFILER_STEP);
        for thread in &threads {
            let first = part.calls.len();
            part.add_thread(subject, *thread, host.whole(), &mut call_of);
            if part.calls.len() == first {
                continue;
            }
            part.note_blocked(subject, *thread, first);
            part.note_operators(subject, *thread, first);
            part.note_ranges(subject, &is_optimizer, (*thread, first), |call| call.is_of_optimizer = true);
            part.note_ranges(subject, &is_of_gradient, (*thread, first), |call| call.is_of_gradient = true);
            part.note_profiler(subject, &is_step, *thread, first);
            part.threads.push(first..part.calls.len());
        }
        part.add_ops(subject, host, &call_of);
        part.note_loading(subject, &threads);
        part.step_count = host.marks.len() as u32 - 1;
        part
    }

    fn add_thread(&mut self, subject: &Subject<'_>, thread: u32, within: Interval, call_of: &mut HashMap<u32, u32>) {
        let first = self.calls.len();
        let mut polls = 0;
        for index in calls_within(subject, thread, within) {
            let Interval { start, end } = subject.timeline.api.times.at(*index as usize);
            let class = subject.calls.class_of(subject.timeline, *index);
            if let Some(outer) = self.calls[first..].last_mut() {
                let is_inner = start < outer.end;
                polls = if class == ApiClass::Query && outer.class == class { polls + 1 } else { 0 };
                if is_inner || polls >= MIN_POLL_COUNT {
                    outer.end = outer.end.max(end);
                    outer.traced_count += 1;
                    call_of.insert(*index, self.calls.len() as u32 - 1);
                    continue;
                }
            }
            call_of.insert(*index, self.calls.len() as u32);
            let memory = (class == ApiClass::Allocate).then(|| memory_call_of(subject, *index)).flatten();
            let call = Call {
                start,
                end,
                thread,
                class,
                blocked_before_ns: 0,
                loading_before_ns: 0,
                cpu_operators_ns: 0,
                long_operators_ns: 0,
                traced_count: 1,
                operator_count: 0,
                frame_count: 0,
                profiler_before_ns: 0,
                memory,
                brings_code: class == ApiClass::Load && api::brings_code(name_of(subject, *index)),
                asks: class == ApiClass::Init && api::asks(name_of(subject, *index)),
                is_of_optimizer: false,
                is_of_gradient: false,
                first_op: NONE,
                op_count: 0,
            };
            self.calls.push(call);
        }
    }

    /// How long the thread waited in the operating system before each call, with what lies between two calls of one function.
    fn note_blocked(&mut self, subject: &Subject<'_>, thread: u32, first: usize) {
        if !subject.calls.tells_blocking(thread) {
            return;
        }
        let own = &mut self.calls[first..];
        let (Some(begin), Some(end)) = (own.first().map(|call| call.start), own.last().map(|call| call.start)) else {
            return;
        };
        let mut next = 0;
        let mut between = BetweenCalls::default();
        subject.calls.lay_out(subject.timeline, thread, Interval::new(begin, end), |interval, activity, name| {
            while own.get(next).is_some_and(|call| call.start < interval.end) {
                next += 1;
            }
            let piece_ns = between.next(interval, activity, name).map_or(0, Interval::len_ns);
            if let (Activity::Blocked | Activity::OffCpu, Some(call)) = (activity, own.get_mut(next)) {
                call.blocked_before_ns += interval.len_ns() + piece_ns;
            }
        });
    }

    /// How long each thread fetched data before each call. What a thread that asks for no work does meanwhile hands that data
    /// on, as the thread that pins batches does: it waits for the same.
    fn note_loading(&mut self, subject: &Subject<'_>, threads: &[u32]) {
        let is_loading = subject.timeline.loading_labels();
        if !is_loading.contains(&true) {
            return;
        }
        let ranges = &subject.timeline.ranges;
        let of_thread = |thread: u32| Some(Union::of(ranges.of_thread(thread)?.labelled(is_loading)));
        let own: Vec<Union> = threads.iter().map(|thread| of_thread(*thread).unwrap_or_default()).collect();
        let process = |thread: &u32| subject.timeline.process_of(*thread);
        let mut of_process: HashMap<u32, Vec<Interval>> = HashMap::default();
        for (thread, loading) in threads.iter().zip(&own) {
            of_process.entry(process(thread)).or_default().extend(loading.parts());
        }
        let of_process: HashMap<u32, Union> =
            of_process.into_iter().map(|(process, all)| (process, Union::of(all))).collect();
        for ((positions, thread), loading) in self.threads.clone().into_iter().zip(threads).zip(&own) {
            let calls = &mut self.calls[positions];
            let is_working = loading.len_ns() > 0 || calls.iter().any(|call| call.op_count > 0);
            let loading = if is_working { Some(loading) } else { of_process.get(&process(thread)) };
            if let Some(loading) = loading.filter(|loading| loading.len_ns() > 0) {
                note_overlap(calls, loading);
            }
        }
    }

    /// How many operators of the framework, and functions of Python, were recorded before each call.
    fn note_operators(&mut self, subject: &Subject<'_>, thread: u32, first: usize) {
        let Some(ranges) = subject.timeline.ranges.of_thread(thread) else { return };
        let Some(begin) = self.calls.get(first).map(|call| call.start) else { return };
        let labels = &subject.timeline.ranges.labels;
        let kind_of = |label: &u32| labels.get(*label as usize).map(|label| label.kind);
        let mut next = first + 1;
        let mut told_until = i64::MIN;
        let from = ranges.times.partition_point(0, |range| range.start < begin);
        for index in from..ranges.times.len() {
            let Interval { start, end } = ranges.times.at(index);
            while self.calls.get(next).is_some_and(|call| call.start <= start) {
                next += 1;
            }
            let Some(call) = self.calls.get_mut(next) else { break };
            match ranges.label.get(index).and_then(kind_of) {
                Some(RangeKind::Operator) => call.operator_count += 1,
                Some(RangeKind::PythonFrame) => {
                    call.frame_count += 1;
                    continue;
                }
                _ => continue,
            }
            // Of one within another the outer tells.
            if start >= told_until && end <= call.start {
                call.cpu_operators_ns += end - start;
                call.long_operators_ns += if end - start >= LONG_OPERATOR_NS { end - start } else { 0 };
                told_until = end;
            }
        }
    }

    /// Which calls a thread makes in ranges that have the labels that are told.
    fn note_ranges(
        &mut self,
        subject: &Subject<'_>,
        is_noted: &[bool],
        (thread, first): (u32, usize),
        note: impl Fn(&mut Call) + Copy,
    ) {
        let Some(ranges) = subject.timeline.ranges.of_thread(thread) else { return };
        let calls = &mut self.calls[first..];
        let mut next = 0;
        for times in ranges.labelled(is_noted) {
            next += calls[next..].partition_point(|call| call.start < times.start);
            let inside = calls[next..].partition_point(|call| call.start < times.end);
            calls[next..next + inside].iter_mut().for_each(note);
            next += inside;
        }
    }

    /// What of the time before each call lies between two steps of the profiler, which the program calls there.
    fn note_profiler(&mut self, subject: &Subject<'_>, is_step: &[bool], thread: u32, first: usize) {
        let Some(ranges) = subject.timeline.ranges.of_thread(thread) else { return };
        let mut before: Option<i64> = None;
        let mut between = Union::default();
        for times in ranges.labelled(is_step) {
            let since = before.replace(times.end).unwrap_or(times.start);
            if (1..=MAX_PROFILER_STEP_NS).contains(&(times.start - since)) {
                between.push(Interval::new(since, times.start));
            }
        }
        let mut end = i64::MAX;
        for call in &mut self.calls[first..] {
            if end < call.start {
                call.profiler_before_ns = between.overlap_ns(Interval::new(end, call.start));
            }
            end = call.end;
        }
    }

    fn add_ops(&mut self, subject: &Subject<'_>, host: &HostSteps, call_of: &HashMap<u32, u32>) {
        let within = host.on_devices();
        let threads = self.calls.iter().map(|call| call.thread);
        let processes: BTreeSet<u32> = threads.map(|thread| subject.timeline.process_of(thread)).collect();
        for device in subject.devices {
            let properties = subject.timeline.devices.get(device.device as usize).and_then(|of| of.properties.as_ref());
            let has_one_engine = properties.is_some_and(|properties| properties.copy_engine_count == Some(1));
            for op in device.begun_in(within) {
                let call = op.call(subject.timeline).and_then(|call| call_of.get(&call)).copied().unwrap_or(NONE);
                let stream = op.stream(subject.timeline);
                let process = subject.timeline.streams.get(stream as usize).map_or(NONE, |stream| stream.process);
                if call == NONE && !(process == NONE || processes.contains(&process)) {
                    continue;
                }
                let is_unlinked = op.call(subject.timeline).is_none();
                let earlier = if is_unlinked { op.start } else { i64::MIN };
                let asked = self.calls.get(call as usize).map_or(earlier, |call| call.start);
                let step = host.marks.partition_point(|mark| *mark <= asked).saturating_sub(1) as u32;
                let copy = CopyOf::new(subject, op.kind, op.index);
                self.ops.push(Op {
                    start: op.start,
                    end: op.end,
                    kind: op.kind,
                    index: op.index,
                    stream,
                    device: device.device,
                    call,
                    is_unlinked,
                    step,
                    lane: copy.lane,
                    engine: copy.lane.map(|lane| if has_one_engine { BOTH_WAYS } else { lane }),
                    is_within_device: copy.is_within_device,
                    bytes: copy.bytes,
                    is_pageable: copy.is_pageable,
                });
            }
        }
        self.ops.sort_by_key(|op| (op.start, op.end, op.stream, op.index));
        for (index, op) in (0_u32..).zip(&self.ops) {
            if let Some(call) = self.calls.get_mut(op.call as usize) {
                call.first_op = call.first_op.min(index);
                call.op_count += 1;
            }
        }
    }
}

/// What a call does with memory.
fn memory_call_of(subject: &Subject<'_>, call: u32) -> Option<MemoryCall> {
    let name = subject.timeline.api.name.get(call as usize)?;
    Some(memory_call(subject.timeline.name(*name)))
}

fn name_of<'all>(subject: &Subject<'all>, call: u32) -> &'all str {
    subject.timeline.api.name.get(call as usize).map_or("", |name| subject.timeline.name(*name))
}

/// What a copy moves.
#[derive(Debug, Clone, Copy, Default)]
struct CopyOf {
    lane: Option<u8>,
    is_within_device: bool,
    bytes: i64,
    is_pageable: bool,
}

/// Copies to the device and to the host, and the engines that make them.
pub(super) const TO_DEVICE: u8 = 0;
pub(super) const TO_HOST: u8 = 1;
/// The only engine of a device, for both.
pub(super) const BOTH_WAYS: u8 = 2;

impl CopyOf {
    fn new(subject: &Subject<'_>, kind: OpKind, index: u32) -> Self {
        if kind != OpKind::Copy {
            return Self::default();
        }
        let (copies, index) = (&subject.timeline.copies, index as usize);
        let direction = copies.direction.get(index);
        let lane = match direction {
            Some(Direction::HostToDevice) => Some(TO_DEVICE),
            Some(Direction::DeviceToHost) => Some(TO_HOST),
            _ => None,
        };
        let is_within_device = direction == Some(&Direction::DeviceToDevice);
        let is_pageable = copies.host_memory.get(index) == Some(&HostMemory::Pageable);
        Self { lane, is_within_device, bytes: copies.bytes.get(index).copied().unwrap_or(0), is_pageable }
    }
}

/// Notes what of the time before each call of a thread lies in a union, of which there may be far more parts than calls.
fn note_overlap(calls: &mut [Call], union: &Union) {
    let mut before = calls.first().map_or(0, |call| call.end);
    for call in calls.iter_mut().skip(1) {
        call.loading_before_ns = union.overlap_ns(Interval::new(before, call.start));
        before = call.end;
    }
}

/// The threads that call CUDA, of the processes that run work on the device.
fn threads(subject: &Subject<'_>) -> Vec<u32> {
    let timeline = subject.timeline;
    let device = subject.devices[subject.device];
    let within = Interval::new(
        subject.steps.first().map_or(0, |step| step.device.start),
        subject.steps.first().map_or(0, |step| step.device.end),
    );
    let processes: BTreeSet<u32> = device
        .begun_in(within)
        .filter_map(|op| timeline.streams.get(op.stream(timeline) as usize))
        .map(|stream| stream.process)
        .collect();
    let is_own = |thread: &u32| {
        let process = timeline.process_of(*thread);
        processes.contains(&process) || processes.contains(&NONE)
    };
    let has_calls = |thread: &u32| !only_asks(subject, subject.calls.of_thread(*thread));
    (0..timeline.threads.len() as u32).filter(is_own).filter(has_calls).collect()
}

/// Whether a thread does nothing but ask, such as the watchdog of a library: it sleeps between its queries, nothing waits for it.
fn only_asks(subject: &Subject<'_>, calls: &[u32]) -> bool {
    calls.iter().all(|call| subject.calls.class_of(subject.timeline, *call) == ApiClass::Query)
}

/// The calls of a thread that begin within an interval.
fn calls_within<'all>(subject: &Subject<'all>, thread: u32, within: Interval) -> &'all [u32] {
    let calls = subject.calls.of_thread(thread);
    let start = |call: &u32| subject.timeline.api.times.start(*call as usize);
    let first = calls.partition_point(|call| start(call) < within.start);
    let last = calls.partition_point(|call| start(call) < within.end);
    &calls[first..last.max(first)]
}

impl HostSteps {
    fn whole(&self) -> Interval {
        Interval::new(self.marks.first().copied().unwrap_or(0), self.marks.last().copied().unwrap_or(0))
    }

    /// When devices may run what is asked for.
    fn on_devices(&self) -> Interval {
        Interval::new(self.whole().start, self.device_end)
    }

    /// The moments at which the host began to ask for each step, and the end of the last.
    fn new(steps: &[Step]) -> Option<Self> {
        let last = steps.last()?;
        let mut marks: Vec<i64> = steps.iter().map(|step| step.host.start).collect();
        marks.push(last.host.end);
        let device_end = steps.iter().map(|step| step.device.end).max()?;
        marks.is_sorted().then_some(Self { marks, device_end })
    }
}
