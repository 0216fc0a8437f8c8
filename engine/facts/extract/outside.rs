//! Facts of what of a recording lies outside of the work of all devices: how long that is, and what the thread that launches a
//! device's work does there.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::culprits::MIN_SAMPLE_COUNT;
use super::profile::{Profile, Weighed, is_plumbing, is_profiler, is_system};
use super::projection::told_name;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Activity;
use crate::text::paths::{file_name, without_folders};
use crate::timeline::interval::Interval;
use crate::timeline::modules;
use crate::timeline::samples::Frame;
use crate::timeline::{NONE, NameId, Timeline};

/// A function is told that this part of the samples lies in, in percent: a program does several things there.
const MIN_PERCENT: i64 = 25;
/// Beside a function that holds less it is told that most of it lies in the program itself.
const MAIN_SHARE: f64 = 0.4;
/// The OS call of drivers.
const DRIVER_CALL: &str = "ioctl";
/// A range that holds a smaller part of it does not tell what it is.
const MIN_RANGE_SHARE: f64 = 0.5;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    // What a damaged file lacks may be work of the device.
    if context.timeline.source.is_damaged {
        return;
    }
    if let Some(pause) = device.told.pause {
        facts.set("pause_ns", pause.times.len_ns());
        facts.set("pause_start_ns", pause.times.start);
        facts.set("is_pause_before_record", pause.is_before_record);
    }
    // One device may work for a moment, and another all the time.
    let windows = context.devices.iter().map(|device| device.told.whole(device.window()));
    let Some(window) = windows.reduce(|all, next| Interval::new(all.start.min(next.start), all.end.max(next.end)))
    else {
        return;
    };
    let Some(all) = context.recorded else { return };
    let sides = [Interval::new(all.start, window.start), Interval::new(window.end, all.end)];
    facts.set("outside_before_ns", sides[0].len_ns().max(0));
    facts.set("outside_after_ns", sides[1].len_ns().max(0));
    let Some(main) = device.main_thread.filter(|_| device.knows_host) else { return };
    let first = first_caller(context, main);
    let timed = [(first, sides[0]), (main, sides[1])];
    let spent = Spent::of(context, timed);
    spent.set(context.timeline, facts);
    ranges(context.timeline, window, timed, facts);
    if !context.timeline.cpu_samples.is_empty() {
        sampled(context.timeline, &spent.host, facts);
    }
}

/// What the thread that calls CUDA first does before the steady state, where that is judged: the part that costs most.
pub(super) fn extract_before(context: &Context<'_>, device: &DeviceContext, before: Interval, facts: &mut Entity) {
    let Some(main) = device.main_thread.filter(|_| device.knows_host && before.len_ns() > 0) else { return };
    let timeline = context.timeline;
    let thread = first_caller(context, main);
    let spent = Spent::of(context, [(thread, before)]);
    facts.set("before_steady_host_ns", spent.host_ns());
    if let Some((name, ns)) = most(timeline, spent.called) {
        facts.set("before_steady_call", without_folders(timeline.name(name)));
        facts.set("before_steady_call_ns", ns);
    }
    if let Some((function, share)) = function_of(timeline, &spent.host) {
        facts.set("before_steady_function", function);
        facts.set("before_steady_function_share", share);
    }
}

/// The thread of the same process that calls CUDA first: where the work of the window comes from a thread that a library starts, as
/// the backward pass of PyTorch does, that one is not there yet while the program starts.
fn first_caller(context: &Context<'_>, main: u32) -> u32 {
    let threads = &context.timeline.threads;
    let process = |thread: u32| threads.get(thread as usize).map(|thread| thread.process);
    let begins = |thread: &u32| {
        let first = *context.calls.of_thread(*thread).first()?;
        Some((context.timeline.api.times.at(first as usize).start, *thread))
    };
    let own = (0..threads.len() as u32).filter(|thread| process(*thread) == process(main));
    own.filter_map(|thread| begins(&thread)).min().map_or(main, |(_, thread)| thread)
}

/// The name that has most.
fn most(timeline: &Timeline, sums: HashMap<NameId, i64>) -> Option<(NameId, i64)> {
    let named = sums.into_iter().filter(|(name, _)| *name != NONE);
    named.max_by_key(|(name, ns)| (*ns, Reverse(timeline.name(*name))))
}

/// Where threads spend stretches of time.
#[derive(Default)]
struct Spent {
    /// Host code, each with its thread; by start, of each thread.
    host: Vec<(u32, Interval)>,
    profiler_ns: i64,
    unknown_ns: i64,
    off_cpu_ns: i64,
    /// In calls of the OS.
    blocked: HashMap<NameId, i64>,
    /// In calls of CUDA, and what else sets CUDA up, loads or compiles code.
    called: HashMap<NameId, i64>,
}

impl Spent {
    fn of<const N: usize>(context: &Context<'_>, timed: [(u32, Interval); N]) -> Self {
        let timeline = context.timeline;
        let driver = timeline.names.find(DRIVER_CALL);
        let mut spent = Self::default();
        for (thread, side) in timed.into_iter().filter(|(_, side)| side.len_ns() > 0) {
            context.calls.lay_out(timeline, thread, side, |part, activity, name| {
                let sums = match activity {
                    Activity::Host => return spent.host.push((thread, part)),
                    Activity::Unknown => return spent.unknown_ns = spent.unknown_ns.saturating_add(part.len_ns()),
                    Activity::Profiler => return spent.profiler_ns = spent.profiler_ns.saturating_add(part.len_ns()),
                    Activity::OffCpu => return spent.off_cpu_ns = spent.off_cpu_ns.saturating_add(part.len_ns()),
                    // That is how the driver talks to the GPU: a part of setting CUDA up.
                    Activity::Blocked if Some(name) == driver => &mut spent.called,
                    Activity::Blocked => &mut spent.blocked,
                    _ => &mut spent.called,
                };
                let sum = sums.entry(name).or_default();
                *sum = sum.saturating_add(part.len_ns());
            });
        }
        spent
    }

    fn host_ns(&self) -> i64 {
        self.host.iter().map(|(_, part)| part.len_ns()).fold(0, i64::saturating_add)
    }

    fn set(&self, timeline: &Timeline, facts: &mut Entity) {
        facts.set("outside_host_ns", self.host_ns());
        facts.set("outside_profiler_ns", self.profiler_ns);
        facts.set("outside_unknown_ns", self.unknown_ns);
        facts.set("outside_off_cpu_ns", self.off_cpu_ns);
        if let Some((name, ns)) = most(timeline, self.blocked.clone()) {
            facts.set("outside_blocked_call", without_folders(timeline.name(name)));
            facts.set("outside_blocked_call_ns", ns);
        }
        if let Some((name, ns)) = most(timeline, self.called.clone()) {
            facts.set("outside_call", without_folders(timeline.name(name)));
            facts.set("outside_call_ns", ns);
        }
    }
}

/// The innermost range of the thread that holds half of it, and none of the devices' work.
fn ranges(timeline: &Timeline, window: Interval, timed: [(u32, Interval); 2], facts: &mut Entity) {
    let sides = timed.map(|(_, side)| side);
    let outside_ns = sides.iter().map(|side| side.len_ns().max(0)).fold(0, i64::saturating_add);
    let mut threads = timed.map(|(thread, _)| thread).to_vec();
    threads.dedup();
    let mut told: Option<(i64, u32)> = None;
    for own in threads.into_iter().filter_map(|thread| timeline.ranges.of_thread(thread)) {
        let holds = |(times, label): (Interval, &u32)| {
            let ns = sides.iter().map(|side| times.overlap_ns(*side)).fold(0, i64::saturating_add);
            let is_told = ns > 0 && ns as f64 >= MIN_RANGE_SHARE * outside_ns as f64 && times.overlap_ns(window) == 0;
            is_told.then_some((ns, *label))
        };
        // By start: those that begin within the devices' work are none.
        let before = own.times.partition_point(0, |times| times.start < window.start);
        let after = own.times.partition_point(before, |times| times.start < window.end);
        let beside = (0..before).chain(after..own.times.len()).map(|index| (own.times.at(index), &own.label[index]));
        let own = beside.filter_map(holds);
        told = told.into_iter().chain(own).min_by_key(|(ns, label)| (*ns, Reverse(*label)));
    }
    if let Some((ns, label)) = told {
        facts.set("outside_range", told_name(timeline, label));
        facts.set("outside_range_ns", ns);
    }
}

/// Of the system, and not of the profiler: what the program's own `main` calls most may be a function of the C library.
fn is_of_system(timeline: &Timeline, frame: Frame) -> bool {
    is_system(timeline, frame) && !is_profiler(timeline, frame)
}

/// Samples of host code.
fn samples_of(timeline: &Timeline, host: &[(u32, Interval)]) -> Vec<u32> {
    let all = &timeline.cpu_samples;
    let mut threads: Vec<u32> = host.iter().map(|(thread, _)| *thread).collect();
    threads.dedup();
    let is_host = |thread: u32, sample: &usize| {
        let Some(time) = all.time_ns.get(*sample) else { return false };
        let begun = host.partition_point(|(_, part)| part.start <= *time);
        let last = begun.checked_sub(1).and_then(|last| host.get(last));
        last.is_some_and(|(own, part)| *own == thread && *time < part.end)
    };
    let own =
        threads.into_iter().flat_map(|thread| all.of_thread(thread).filter(move |sample| is_host(thread, sample)));
    own.map(|sample| sample as u32).collect()
}

/// The function that most of host code lies in, with its share of the samples.
fn function_of(timeline: &Timeline, host: &[(u32, Interval)]) -> Option<(String, f64)> {
    let samples = samples_of(timeline, host);
    if samples.len() < MIN_SAMPLE_COUNT {
        return None;
    }
    let profile = Profile::new(timeline, &timeline.cpu_samples, Weighed::samples(&samples));
    let profile = profile.with_least_percent(MIN_PERCENT);
    let function = profile.deepest(|frame| !is_plumbing(timeline, frame))?;
    Some((profile.name(function), profile.share(function)))
}

/// Where the host code of the thread lies.
fn sampled(timeline: &Timeline, host: &[(u32, Interval)], facts: &mut Entity) {
    let all = &timeline.cpu_samples;
    let samples = samples_of(timeline, host);
    facts.set("outside_sample_count", samples.len() as i64);
    if samples.len() < MIN_SAMPLE_COUNT {
        return;
    }
    let profile = Profile::new(timeline, all, Weighed::samples(&samples)).with_least_percent(MIN_PERCENT);
    let module = profile.module().map(|(module, share)| (file_name(timeline.name(module)), share));
    let function = profile.deepest(|frame| !is_plumbing(timeline, frame));
    let of_system = || profile.deepest(|frame| is_of_system(timeline, frame));
    let function = function.or_else(|| if module.is_none() { of_system() } else { None });
    if let Some(function) = function {
        facts.set("outside_function", profile.name(function));
        facts.set("outside_function_share", profile.share(function));
    }
    // That most of it is in the program itself tells more than a function of a small part.
    let is_main = function.is_some_and(|function| profile.share(function) >= MAIN_SHARE);
    let is_told = |file: &str| function.is_none() || (!is_main && modules::is_program(file));
    if let Some((file, share)) = module.filter(|(file, _)| is_told(file)) {
        facts.set("outside_module", file);
        facts.set("outside_module_share", share);
        facts.set("is_outside_module_program", modules::is_program(file));
    }
}
