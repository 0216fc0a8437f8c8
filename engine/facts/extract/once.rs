//! What several groups of facts ask of a recording and of a device: gone through once, by whoever asks first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use foldhash::HashSet;

use super::by_index::{ByIndex, Seen};
use super::compiled::CompiledNames;
use super::optimizer::OptimizerSteps;
use super::os_waits::{self, OsWaits, WaitsForOthers};
use super::ranges::{NameOrder, PlainNames};
use super::stats::Durations;
use super::uneven_gpus::{self, Uneven};
use super::{
    Context, DeviceContext, between_os_calls, kinds, late_gpus, lives, locked_turns, optimizer, ranges, staged_copies,
};
use crate::ledger::{Op, OpKind};
use crate::timeline::columns::KernelShape;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline};

/// With more threads that launch, nobody asks which they are.
pub(super) const MAX_LAUNCHING_THREADS: usize = 8;

/// What is made of a recording.
#[derive(Default)]
pub(super) struct OfRecording {
    api_names: OnceLock<Vec<(NameId, i64)>>,
    optimizer_steps: OnceLock<OptimizerSteps>,
    parameter_work: OnceLock<OptimizerSteps>,
    do_optimizers_launch: OnceLock<bool>,
    /// By process.
    call_kinds: OnceLock<Vec<kinds::OfProcess>>,
    range_names: OnceLock<NameOrder>,
    plain_names: OnceLock<PlainNames>,
    compiled: OnceLock<CompiledNames>,
    /// By device.
    communication: OnceLock<Vec<late_gpus::ByName>>,
    uneven: OnceLock<Vec<Option<Uneven>>>,
    /// Of all threads.
    all_device_waits: OnceLock<DeviceWaits>,
    /// Of the threads that were asked for last: mostly the same ones launch the work of all devices.
    device_waits: Mutex<Option<(Vec<u32>, DeviceWaits)>>,
    locks: OnceLock<Vec<u32>>,
    staged_copies: OnceLock<staged_copies::ByDevice>,
    /// By process.
    lives: OnceLock<Vec<Option<Interval>>>,
    os_waits: OnceLock<OsWaits>,
    /// Of the processes, and of the threads that launch, that were asked for last: mostly the same ones launch the work of all devices.
    waits_for_others: Mutex<Option<([Vec<u32>; 2], WaitsForOthers)>>,
    /// How often such waits were found anew.
    #[cfg(test)]
    pub(super) found_waits_count: std::sync::atomic::AtomicUsize,
    /// By thread.
    pub(super) outside_ranges: Mutex<BTreeMap<u32, Option<(i64, u32)>>>,
}

/// When calls that wait for a device return, with their threads, in time order.
pub(super) type DeviceWaits = Arc<Vec<(i64, u32)>>;

/// What is made of a device.
#[derive(Default)]
pub(super) struct OfDevice {
    passed: OnceLock<Passed>,
    between_os_calls: OnceLock<(i64, i64)>,
    computing: OnceLock<Union>,
    fetched: OnceLock<Option<ranges::Fetched>>,
}

/// What one pass over the operations of a device in the window tells.
#[derive(Default)]
pub(super) struct Passed {
    /// What the launches of each kernel shape that was launched add up to, by its index in [`crate::timeline::Kernels::shapes`], in the
    /// order of these.
    pub(super) shapes: Vec<(u32, OfShape)>,
    /// The threads that launch anything, in the order in which they do so first: one more than the limit stands for more.
    pub(super) threads: Vec<u32>,
    /// Whether kernels that communicate are among the work.
    pub(super) has_communication: bool,
    launch_number: i64,
    /// By stream, of which a recording may hold far more than a device uses; [`NONE`] stands for work of no known stream.
    pub(super) streams: ByIndex<OfStream>,
    /// How long kernels run in the window; `None` where there are none.
    pub(super) kernel_median_ns: Option<i64>,
    /// How long the calls took that launched kernels, and from each call to the first that it asked for; `None` where there are
    /// none, or where the host is not known.
    pub(super) launch_call_median_ns: Option<i64>,
    pub(super) launch_to_start_median_ns: Option<i64>,
}

/// The launches of one kernel shape.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfShape {
    pub(super) launch_count: i64,
    pub(super) sum_ns: i128,
    /// Of the numbers of its launches among all of kernels with a name, counted from 1: the first, and their sum.
    pub(super) first_number: Option<i64>,
    pub(super) number_sum: i64,
}

impl OfShape {
    pub(super) fn add(&mut self, other: Self) {
        self.launch_count += other.launch_count;
        self.sum_ns += other.sum_ns;
        self.first_number = self.first_number.into_iter().chain(other.first_number).min();
        self.number_sum = self.number_sum.saturating_add(other.number_sum);
    }
}

/// The work of one stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfStream {
    /// How many operations that is.
    pub(super) count: usize,
    /// The thread that asks for it first.
    pub(super) first_thread: Option<u32>,
    /// Whether several threads ask for it.
    pub(super) has_several_threads: bool,
    /// Whether kernels that compute, or graphs, are among it.
    pub(super) has_compute: bool,
}

impl Context<'_> {
    /// The calls of a process, within a window where one is given.
    pub(super) fn calls_of(&self, process: u32, window: Option<Interval>) -> impl Iterator<Item = u32> + '_ {
        let timeline = self.timeline;
        let threads = self.threads_of(process).iter();
        threads.flat_map(|thread| self.calls.of_thread(*thread)).copied().filter(move |call| {
            window.is_none_or(|window| {
                let interval = timeline.api.times.at(*call as usize);
                interval.start < window.end && interval.end > window.start
            })
        })
    }

    /// The names of the calls of the recording, each once, with how often it was called.
    pub(super) fn api_names(&self) -> &[(NameId, i64)] {
        self.once.api_names.get_or_init(|| {
            let mut counts: ByIndex<i64> = ByIndex::default();
            self.timeline.api.name.iter().for_each(|name| *counts.of(*name, i64::default) += 1);
            counts.into_list()
        })
    }

    /// The names of the calls that fit: there may be a million calls, of few names.
    pub(super) fn called(&self, fits: impl Fn(&str) -> bool) -> HashSet<NameId> {
        self.api_names().iter().map(|(name, _)| *name).filter(|name| fits(self.timeline.name(*name))).collect()
    }

    /// Whether anything was called whose name fits: nearly all that is looked for among calls is in no recording.
    pub(super) fn is_any_called(&self, fits: impl Fn(&str) -> bool) -> bool {
        self.api_names().iter().any(|(name, _)| fits(self.timeline.name(*name)))
    }

    /// The calls of each process by kind: see [`kinds`].
    pub(super) fn call_kinds(&self) -> &[kinds::OfProcess] {
        self.once.call_kinds.get_or_init(|| kinds::by_process(self))
    }

    /// When calls of these threads, in order, that wait for the device return.
    pub(super) fn device_waits(&self, threads: &[u32]) -> DeviceWaits {
        let mut known = self.once.device_waits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, waits)) = known.as_ref().filter(|(of, _)| of == threads) {
            return Arc::clone(waits);
        }
        // Those of all threads are put in order once, for any of them.
        let all = self.once.all_device_waits.get_or_init(|| Arc::new(locked_turns::waits(self)));
        let is_asked = |(_, thread): &(i64, u32)| threads.binary_search(thread).is_ok();
        let are_all = all.iter().all(is_asked);
        let waits = if are_all { Arc::clone(all) } else { Arc::new(all.iter().copied().filter(is_asked).collect()) };
        *known = Some((threads.to_vec(), Arc::clone(&waits)));
        waits
    }

    /// The calls of the OS that ask for a lock: see [`locked_turns::locks`].
    pub(super) fn locks(&self) -> &[u32] {
        self.once.locks.get_or_init(|| locked_turns::locks(self))
    }

    /// Copies to the host that are followed by others to another device: see [`staged_copies::by_device`].
    pub(super) fn staged_copies(&self) -> &staged_copies::ByDevice {
        self.once.staged_copies.get_or_init(|| staged_copies::by_device(self))
    }

    /// Whether steps of optimizers launch work of any device: see [`optimizer::launch_work`].
    pub(super) fn optimizers_launch(&self) -> bool {
        *self.once.do_optimizers_launch.get_or_init(|| optimizer::launch_work(self))
    }

    /// From when to when each process ran: see [`lives::lives`].
    pub(super) fn lives(&self) -> &[Option<Interval>] {
        self.once.lives.get_or_init(|| lives::lives(self))
    }

    /// The long waits in the operating system.
    pub(super) fn os_waits(&self) -> &OsWaits {
        self.once.os_waits.get_or_init(|| OsWaits::new(self))
    }

    /// When the threads that call a device wait for what may wait for the device: see [`os_waits::of`].
    pub(super) fn waits_for_others(&self, device: &DeviceContext) -> WaitsForOthers {
        let threads = &device.passed(self).threads;
        // Where they are too many, none of them is held against each wait.
        let mut launching = if threads.len() > MAX_LAUNCHING_THREADS { Vec::new() } else { threads.clone() };
        launching.sort_unstable();
        let asked = [device.processes.clone(), launching];
        let mut known = self.once.waits_for_others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, waits)) = known.as_ref().filter(|(of, _)| *of == asked) {
            return waits.clone();
        }
        #[cfg(test)]
        self.once.found_waits_count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let waits = os_waits::of(self, &asked[0], &asked[1]);
        *known = Some((asked, waits.clone()));
        waits
    }

    /// The order of the names of ranges.
    pub(super) fn range_names(&self) -> &NameOrder {
        self.once.range_names.get_or_init(|| NameOrder::of(self.timeline))
    }

    /// Which ranges are called the same but for their numbers.
    pub(super) fn plain_names(&self) -> &PlainNames {
        self.once.plain_names.get_or_init(|| PlainNames::of(self.timeline))
    }

    /// What the names of ranges tell of compiled code.
    pub(super) fn compiled(&self) -> &CompiledNames {
        self.once.compiled.get_or_init(|| CompiledNames::of(self.timeline))
    }

    /// The communication kernels of each device, in the order of the devices.
    pub(super) fn communication(&self) -> &[late_gpus::ByName] {
        self.once.communication.get_or_init(|| late_gpus::by_name(self))
    }

    /// How much longer kernels run on each device that all launch as often, in the order of the devices.
    pub(super) fn uneven(&self) -> &[Option<Uneven>] {
        self.once.uneven.get_or_init(|| uneven_gpus::of_all(self))
    }

    /// The steps of optimizers that are marked.
    pub(super) fn optimizer_steps(&self) -> &OptimizerSteps {
        self.once.optimizer_steps.get_or_init(|| OptimizerSteps::of(self.timeline, self.timeline.optimizer_labels()))
    }

    /// The same with what adds up the gradient of each parameter.
    pub(super) fn parameter_work(&self) -> &OptimizerSteps {
        self.once.parameter_work.get_or_init(|| OptimizerSteps::of(self.timeline, &self.timeline.parameter_labels()))
    }
}

impl DeviceContext {
    pub(super) fn passed(&self, context: &Context<'_>) -> &Passed {
        self.once.passed.get_or_init(|| Passed::new(context.timeline, self))
    }

    /// When kernels compute in the window.
    pub(super) fn computing(&self) -> &Union {
        self.once
            .computing
            .get_or_init(|| Union::of(self.ops.in_window().filter(|op| op.kind.is_compute()).map(|op| op.interval())))
    }

    /// What its thread fetches that fetches most: see [`ranges::most_fetched`].
    pub(super) fn fetched(&self, context: &Context<'_>) -> Option<&ranges::Fetched> {
        self.once.fetched.get_or_init(|| ranges::most_fetched(context, self)).as_ref()
    }

    /// What lies between calls of the OS: see [`between_os_calls::pieces`].
    pub(super) fn between_os_calls(&self, context: &Context<'_>) -> (i64, i64) {
        *self.once.between_os_calls.get_or_init(|| between_os_calls::pieces(context, self))
    }
}

impl Passed {
    fn new(timeline: &Timeline, device: &DeviceContext) -> Self {
        let mut passed = Self::default();
        let most = device.ops.all_ops().size_hint().0;
        let mut kernels = Durations::with_capacity(most);
        let mut shapes: ByIndex<OfShape> = ByIndex::default();
        let mut delays = Delays::with_capacity(if device.knows_host { most } else { 0 });
        for op in device.ops.in_window() {
            let is_launch = matches!(op.kind, OpKind::Kernel | OpKind::Communication);
            if is_launch {
                let ns = op.interval().clip(device.window()).len_ns();
                passed.add_launch(timeline, &mut shapes, (op.index, ns));
                kernels.push(ns);
            }
            passed.has_communication |= op.kind == OpKind::Communication;
            let call = op.call(timeline);
            let thread = call.and_then(|call| timeline.api.thread.get(call as usize)).copied();
            let stream = Some(op.stream(timeline)).filter(|stream| (*stream as usize) < timeline.streams.len());
            passed.add_work(stream.unwrap_or(NONE), thread, op.kind.is_compute());
            if let Some(call) = call.filter(|_| device.knows_host) {
                delays.add(timeline, call, op, is_launch);
            }
        }
        passed.shapes = shapes.into_list();
        passed.shapes.sort_unstable_by_key(|(shape, _)| *shape);
        passed.kernel_median_ns = kernels.median_ns();
        passed.launch_call_median_ns = delays.lengths.median_ns();
        passed.launch_to_start_median_ns = delays.to_start.median_ns();
        passed
    }

    fn add_launch(&mut self, timeline: &Timeline, shapes: &mut ByIndex<OfShape>, (kernel, ns): (u32, i64)) {
        let index = timeline.kernels.shape.get(kernel as usize).copied().unwrap_or(NONE);
        let Some(shape) = timeline.kernels.shapes.get(index as usize) else { return };
        let of_shape = shapes.of(index, OfShape::default);
        of_shape.launch_count += 1;
        of_shape.sum_ns += i128::from(ns);
        if shape.name != NONE {
            self.launch_number += 1;
            of_shape.first_number.get_or_insert(self.launch_number);
            of_shape.number_sum = of_shape.number_sum.saturating_add(self.launch_number);
        }
    }

    fn add_work(&mut self, stream: u32, thread: Option<u32>, is_compute: bool) {
        let of_stream = self.streams.of(stream, OfStream::default);
        of_stream.count += 1;
        of_stream.has_compute |= is_compute;
        let Some(thread) = thread.filter(|thread| of_stream.first_thread != Some(*thread)) else { return };
        of_stream.has_several_threads |= of_stream.first_thread.is_some();
        of_stream.first_thread.get_or_insert(thread);
        if self.threads.len() <= MAX_LAUNCHING_THREADS && !self.threads.contains(&thread) {
            self.threads.push(thread);
        }
    }

    /// The work of a stream, by its index.
    pub(super) fn stream(&self, stream: u32) -> OfStream {
        self.streams.get(stream).copied().unwrap_or_default()
    }

    /// Whether kernels that compute, or graphs, are among the work.
    pub(super) fn has_compute(&self) -> bool {
        self.streams.iter().any(|(_, stream)| stream.has_compute)
    }

    /// The shapes of kernels that were launched, in their order.
    pub(super) fn launched<'all>(
        &'all self,
        timeline: &'all Timeline,
    ) -> impl Iterator<Item = (&'all OfShape, &'all KernelShape)> {
        self.shapes.iter().filter_map(|(shape, of)| Some((of, timeline.kernels.shapes.get(*shape as usize)?)))
    }

    /// How often kernels are launched whose whole name fits.
    pub(super) fn launch_count(&self, timeline: &Timeline, fits: impl Fn(NameId) -> bool) -> i64 {
        let fits = |shape: &KernelShape| fits(shape.full_name);
        self.launched(timeline).filter(|(_, shape)| fits(shape)).map(|(of, _)| of.launch_count).sum()
    }
}

/// How long the calls take that launch, and from each to the first that it asked for.
#[derive(Default)]
struct Delays {
    seen: Seen,
    launched: Seen,
    lengths: Durations,
    to_start: Durations,
}

impl Delays {
    fn with_capacity(count: usize) -> Self {
        let [lengths, to_start] = [count; 2].map(Durations::with_capacity);
        Self { lengths, to_start, ..Self::default() }
    }

    /// Adds an operation; they come by start: what comes first of a call began first. The kernels of a graph share the call that
    /// launched it.
    fn add(&mut self, timeline: &Timeline, call: u32, op: Op, is_launch: bool) {
        let is_new = self.seen.is_new(call);
        let is_new_launch = is_launch && self.launched.is_new(call);
        if !is_new && !is_new_launch {
            return;
        }
        let times = timeline.api.times.at(call as usize);
        if is_new {
            self.to_start.push(op.start.saturating_sub(times.start).max(0));
        }
        if is_new_launch {
            self.lengths.push(times.len_ns());
        }
    }
}
