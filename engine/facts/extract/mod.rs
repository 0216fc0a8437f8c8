//! Takes a timeline apart into facts, one file a group.

mod accounts;
mod ahead;
mod allocations;
mod attention;
mod before_steady;
mod beside_rounds;
mod between_os_calls;
mod by_index;
mod call_rounds;
mod called_in_range;
mod cells;
mod chains;
mod collective_rows;
mod collectives;
mod communication;
mod compiled;
mod contended_launches;
mod copied_tensors;
mod copies;
mod copying_range;
mod cpu_operators;
mod culprits;
mod device;
mod factorizations;
mod failed_launches;
mod filled_memory;
mod fine_work;
mod first_pages;
mod followed;
pub(in crate::facts) mod framework;
mod gathers;
mod gpu_turns;
mod graph_gaps;
mod groups;
mod growing;
mod idle;
mod jobs;
mod kernel_counters;
mod kernel_names;
mod kernel_profiles;
mod kernel_tuning;
mod kernels;
mod kinds;
mod last_pages;
mod late_gpus;
mod late_host;
mod late_starts;
mod launch_shapes;
mod launched_copies;
mod launches;
mod lead;
mod library_call;
mod lives;
mod local_memory;
mod locked_turns;
mod made_again;
mod metrics;
mod nan_checks;
mod once;
mod one_window;
mod operators;
mod optimizer;
mod os_waits;
mod outside;
mod pace;
mod page_locked;
mod part;
mod pass;
mod pause;
mod peers;
mod phases;
mod poll_sleeps;
mod prefetches;
mod prints;
mod process_turns;
mod processes;
mod product_casts;
mod product_rows;
mod products;
mod profile;
mod projection;
mod queued_behind;
mod random_numbers;
mod ranges;
mod reach;
mod readbacks;
mod recomputed;
mod reductions;
mod refused;
mod replay;
mod round_trips;
mod run;
mod same_turns;
mod scope;
mod second_derivatives;
mod sequence;
mod set_up_rounds;
mod shared_stream;
mod sleeps;
mod sorts;
mod source_lines;
mod spent;
mod staged_copies;
mod stats;
mod steps;
mod storms;
mod streams;
mod syncs;
mod tally;
mod torn_down;
mod tried;
mod tuning;
mod turns;
mod uncalled_copies;
mod uneven_gpus;
mod unused_gradients;
mod widths;
mod without_gpu;
mod work_ranges;

use std::sync::OnceLock;

use crate::facts::EntityKind;
use crate::facts::store::Facts;
use crate::ledger::walk::{self, IdleDevice};
use crate::ledger::{Account, Calls, DeviceOps, IdleReading, InOperators, Op, OpKind, Scope, Unread};
use crate::limits::{MAX_ENTITY_OF_DEVICE_COUNT, MAX_ENTITY_OF_KIND_COUNT};
use crate::parallel::{self, Threads};
use crate::replay::{Change, InTurn};
use crate::steps::Phase;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{DeviceProperties, NONE, Timeline};
use kernel_names::Traits;
pub use kernel_profiles::{extract_profiles, join};
use launch_shapes::LaunchShapes;
use part::{DevicePart, Parents};
use pass::{DevicePass, PassWork};
use phases::Told;
pub use phases::View;
pub use replay::{Predicted, WhatIf};
pub use scope::ScopeError;
use storms::Storms;
use tally::Tally;

/// What every group of facts is extracted from.
struct Context<'timeline> {
    timeline: &'timeline Timeline,
    calls: Calls,
    /// What kernel names tell, by index of the name, short or whole: of a short name what the first kernel that it stands for does.
    traits: Vec<Traits>,
    launch_shapes: LaunchShapes,
    /// The threads of each process, by its index.
    threads: Vec<Vec<u32>>,
    devices: Vec<DeviceContext>,
    /// How many changes of each device may be played at once: of all together, for their memory, no more than devices side by side.
    plays_at_once: Threads,
    is_narrowed: bool,
    /// The phase that is asked for; absent for the whole windows.
    asked_phase: Option<Phase>,
    /// From the first to the last event of any kind.
    recorded: Option<Interval>,
    /// What [`Context::folded`] gives.
    folded: OnceLock<projection::Folded>,
    once: once::OfRecording,
}

/// One device with everything that was tallied of it.
struct DeviceContext {
    ops: DeviceOps,
    tally: Tally,
    /// What [`Self::idle`] gives, once it is read.
    idle: OnceLock<IdleReading>,
    storms: Storms,
    /// What it repeats, and which phase of its window is measured.
    told: Told,
    /// The thread that launches most of its operations.
    main_thread: Option<u32>,
    /// Indices of the processes that ran work on it, in order.
    processes: Vec<u32>,
    /// Whether the report has API calls of a process that ran work on it, and is whole: else nothing tells which idle time there was.
    knows_host: bool,
    once: once::OfDevice,
    replay: replay::OfDevice,
}

impl DeviceContext {
    /// Whether a process ran work on it. There may be as many processes as threads, and each thread is asked about.
    fn is_of(&self, process: u32) -> bool {
        self.processes.binary_search(&process).is_ok()
    }

    fn window(&self) -> Interval {
        self.ops.window
    }

    fn properties<'timeline>(&self, timeline: &'timeline Timeline) -> Option<&'timeline DeviceProperties> {
        timeline.devices[self.ops.device as usize].properties.as_ref()
    }

    /// Its idle time as the threads explain it, which is read beside the facts that do not need it: who asks waits for it.
    fn idle(&self) -> &IdleReading {
        self.idle.wait()
    }

    /// Nanoseconds of an account, 0 also where nothing tells.
    fn account_ns(&self, account: Account) -> i64 {
        self.tally.sums[account] + self.idle().sums[account].sum_ns
    }

    /// The window without its idle time.
    fn busy_ns(&self) -> i64 {
        self.window().len_ns() - self.account_ns(Account::Idle)
    }

    /// The part of an interval in which the device runs something.
    fn busy_within(&self, interval: Interval) -> i64 {
        self.tally.busy.overlap_ns(interval)
    }

    /// What overlap could win, where the host is known: had the host run ahead, the window would still be the larger of the
    /// host's and the device's work.
    fn overlap_ceiling(&self) -> Option<i64> {
        let host_work = self.idle().host_work_ns.filter(|_| self.knows_host)?;
        Some(self.window().len_ns() - host_work.max(self.busy_ns()))
    }
}

/// All facts of a timeline, measured in a scope.
///
/// # Errors
/// When the scope lies beside all GPU work, or names a range that is not there.
pub fn extract(timeline: &Timeline, scope: &Scope) -> Result<Facts, ScopeError> {
    extract_with(timeline, scope, None)
}

/// The same, with a number of threads; as many as the machine has, up to eight, when `None`. The facts do not depend on it.
///
/// # Errors
/// As for [`extract`].
pub fn extract_with(timeline: &Timeline, scope: &Scope, threads: Option<usize>) -> Result<Facts, ScopeError> {
    extract_view(timeline, scope, &View::default(), threads)
}

/// The same of one phase of each window, with steps of a certain name.
///
/// # Errors
/// As for [`extract`], and when there is no such step or phase.
pub fn extract_view(
    timeline: &Timeline,
    scope: &Scope,
    view: &View,
    threads: Option<usize>,
) -> Result<Facts, ScopeError> {
    extract_view_then(timeline, scope, view, threads, |facts, _| facts)
}

/// The same for something that is done with the facts, and with what can be played again while the recording is at hand.
///
/// # Errors
/// As for [`extract_view`].
pub fn extract_view_then<T>(
    timeline: &Timeline,
    scope: &Scope,
    view: &View,
    threads: Option<usize>,
    then: impl FnOnce(Facts, &Replays<'_>) -> T,
) -> Result<T, ScopeError> {
    let threads = Threads::new(threads);
    let (context, unread) = Context::new(timeline, scope, view, threads)?;
    let mut facts = Facts::default();
    let run = facts.add(EntityKind::Run, "run", &[]);
    let processes = run::processes(&context, &mut facts, run);
    let mut parents = Vec::new();
    for device in &context.devices {
        let key = key_of(timeline.devices[device.ops.device as usize].number);
        let id = facts.add(EntityKind::Device, key.as_str(), &[run]);
        parents.push(Parents { run, device: id, key, processes: &processes });
    }
    jobs::extract(&context, unread, (run, &processes, &parents), threads, &mut facts);
    let done = then(facts, &Replays { context: &context, threads });
    let Context { calls, devices, .. } = context;
    // To free what is held of a large recording takes as long as some of its facts do.
    parallel::both(threads, move || drop(devices), move || drop(calls));
    Ok(done)
}

/// The replays of the devices of a recording.
pub struct Replays<'all> {
    context: &'all Context<'all>,
    threads: Threads,
}

impl Replays<'_> {
    /// What a step of each device would take after some changes.
    pub fn what_if(&self, changes: &[Change]) -> Vec<WhatIf> {
        let devices = self.context.devices.iter();
        devices.map(|device| replay::what_if(self.context, device, changes)).collect()
    }

    /// What changes win of a step of a device, by the device's key in facts: each together with those before it. `None` where it is
    /// not played again.
    pub fn together(&self, key: &str, changes: &[Change]) -> Option<InTurn> {
        let number = |device: &DeviceContext| self.context.timeline.devices[device.ops.device as usize].number;
        let device = self.context.devices.iter().find(|device| key_of(number(device)) == key)?;
        replay::together(self.context, device, changes, self.threads)
    }
}

/// The key of a device in facts.
fn key_of(number: i64) -> String {
    format!("gpu{number}")
}

/// What a step of each device would take after some changes, by the number of the device.
///
/// # Errors
/// As for [`extract`].
pub fn what_if(timeline: &Timeline, scope: &Scope, view: &View, changes: &[Change]) -> Result<Vec<WhatIf>, ScopeError> {
    let threads = Threads::new(None);
    let (context, unread) = Context::new(timeline, scope, view, threads)?;
    context.read_idle(unread, threads);
    Ok(context.devices.iter().map(|device| replay::what_if(&context, device, changes)).collect())
}

impl DeviceContext {
    /// Of what is found about all devices, and in one pass over this one.
    fn new(context: &Context<'_>, ops: DeviceOps, pass: DevicePass, told: Told) -> Self {
        let DevicePass { tally, storms, main_thread, processes } = pass;
        let is_damaged = context.timeline.source.is_damaged;
        Self {
            ops,
            tally,
            idle: OnceLock::new(),
            storms,
            told,
            main_thread,
            knows_host: !is_damaged && processes.iter().any(|process| context.knows_calls_of(*process)),
            processes,
            once: once::OfDevice::default(),
            replay: replay::OfDevice::default(),
        }
    }
}

impl<'timeline> Context<'timeline> {
    /// With the idle time of each device, which is still to be read.
    fn new(
        timeline: &'timeline Timeline,
        scope: &Scope,
        view: &View,
        threads: Threads,
    ) -> Result<(Self, Vec<Unread>), ScopeError> {
        let operations = || {
            let traits = kernel_names::traits(timeline);
            let is_collective: Vec<bool> = traits.iter().map(|traits| traits.is_collective).collect();
            (DeviceOps::all(timeline, &is_collective), traits)
        };
        let of_host = || (Calls::new(timeline), run::recorded(timeline));
        let ((calls, recorded), (mut ops, traits)) = parallel::both(threads, of_host, operations);
        scope::apply(timeline, &mut ops, scope)?;
        let busiest = calls.busiest_threads(timeline);
        // These are those that launch, of most programs: they are asked next.
        let mut launching: Vec<u32> = busiest.values().copied().collect();
        launching.sort_unstable();
        launching.truncate(ops.len());
        let each = calls.threads_each(launching.iter().copied(), threads);
        let lay_out = || parallel::map(threads, &launching, |thread| calls.keep(timeline, *thread, each));
        let tell = || phases::tell(timeline, &calls, &mut ops, view, threads);
        let mut told = parallel::both(threads, lay_out, tell).1?;
        let launch_shapes = LaunchShapes::new(timeline);
        let work = PassWork {
            timeline,
            calls: &calls,
            launch_shapes: &launch_shapes,
            busiest: &busiest,
            in_operators: &InOperators::new(&calls),
            threads: threads.within(threads.for_devices().at_most(ops.len())),
        };
        phases::add_before(&work, &mut ops, &mut told);
        let passes = parallel::map(threads.for_devices(), &ops, |ops| DevicePass::new(&work, ops));
        let (unread, passes): (Vec<Unread>, Vec<DevicePass>) = passes.into_iter().unzip();
        let mut context = Self {
            timeline,
            calls,
            traits,
            launch_shapes,
            threads: threads_of(timeline),
            devices: Vec::new(),
            plays_at_once: threads.for_devices().within(ops.len()),
            is_narrowed: *scope != Scope::All,
            asked_phase: view.phase,
            recorded,
            folded: OnceLock::new(),
            once: once::OfRecording::default(),
        };
        for ((ops, pass), told) in ops.into_iter().zip(passes).zip(told) {
            context.devices.push(DeviceContext::new(&context, ops, pass, told));
        }
        Ok((context, unread))
    }

    /// Reads the idle time of the devices on the threads that have to explain it.
    fn read_idle(&self, unread: Vec<Unread>, threads: Threads) {
        let _in_any_case = IdleInAnyCase(&self.devices);
        let restarts = |device: &DeviceContext| device.fetched(self).map(ranges::Fetched::restarts).unwrap_or_default();
        let restarts: Vec<Union> = self.devices.iter().map(restarts).collect();
        let idle =
            unread.into_iter().zip(&self.devices).zip(&restarts).map(|((unread, device), restarts)| IdleDevice {
                unread,
                storms: &device.storms.parts,
                slow_steps: &device.told.slow_steps,
                restarts,
                rounds: &device.told.rounds,
                main_thread: device.main_thread,
            });
        let readings = walk::read(self.timeline, &self.calls, idle.collect(), threads);
        for (device, reading) in self.devices.iter().zip(readings) {
            device.idle.get_or_init(|| reading);
        }
    }

    /// What the whole name of a kernel tells; `None` of what is none.
    fn traits_of(&self, op: Op) -> Option<Traits> {
        let is_kernel = matches!(op.kind, OpKind::Kernel | OpKind::Communication);
        let name = is_kernel.then(|| self.timeline.kernels.shape_of(op.index).full_name)?;
        self.traits.get(name as usize).copied()
    }

    /// Whether the report has API calls of a process; of any where the process is not known.
    fn knows_calls_of(&self, process: u32) -> bool {
        match process {
            NONE => !self.timeline.api.is_empty(),
            process => self.calls_of(process, None).next().is_some(),
        }
    }

    /// The process id; 0 of a process that the report does not name.
    fn pid_of(&self, process: u32) -> i64 {
        self.timeline.processes.get(process as usize).map_or(0, |process| process.pid)
    }

    /// The threads of a process.
    fn threads_of(&self, process: u32) -> &[u32] {
        self.threads.get(process as usize).map_or(&[], |threads| threads)
    }

    /// Entities of one kind that a device may have: those with most time, when there are more.
    fn max_entities(&self) -> usize {
        (MAX_ENTITY_OF_KIND_COUNT / self.devices.len().max(1)).clamp(50, MAX_ENTITY_OF_DEVICE_COUNT)
    }
}

/// Lets nobody wait for the idle time of devices for ever, should reading it panic: that panic is what is told.
struct IdleInAnyCase<'all>(&'all [DeviceContext]);

impl Drop for IdleInAnyCase<'_> {
    fn drop(&mut self) {
        for device in self.0 {
            device.idle.get_or_init(IdleReading::default);
        }
    }
}

fn threads_of(timeline: &Timeline) -> Vec<Vec<u32>> {
    let mut threads = vec![Vec::new(); timeline.processes.len()];
    for (index, thread) in (0_u32..).zip(&timeline.threads) {
        if let Some(threads) = threads.get_mut(thread.process as usize) {
            threads.push(index);
        }
    }
    threads
}

#[cfg(test)]
mod layout_tests;
#[cfg(test)]
mod shared_waits_tests;
