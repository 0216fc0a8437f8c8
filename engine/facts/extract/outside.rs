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
use crate::ledger::compiling::compiler_of;
use crate::text::paths::{file_name, without_folders};
use crate::timeline::interval::Interval;
use crate::timeline::modules;
use crate::timeline::samples::Frame;
use crate::timeline::{NONE, NameId, Timeline};

/// A function is told that this part of the samples lies in, in percent: a program does several things there.
pub(super) const MIN_PERCENT: i64 = 25;
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
    let teller = teller(context, device, main, sides);
    facts.set("is_outside_of_first_caller", teller != main);
    let main = teller;
    let host = activities(context, main, sides, facts);
    ranges(context.timeline, main, window, sides, facts);
    if !context.timeline.cpu_samples.is_empty() {
        sampled(context.timeline, main, &host, facts);
    }
}

/// The thread that tells what the program did there: the one that launches most work, or, where most of the time was not recorded
/// of that one, as before a thread begins that a framework launches from, the one that called CUDA first.
pub(super) fn teller(context: &Context<'_>, device: &DeviceContext, main: u32, sides: [Interval; 2]) -> u32 {
    let timeline = context.timeline;
    let process = timeline.process_of(main);
    let threads = context.threads.get(process as usize).into_iter().flatten().copied();
    let first_call = |thread: &u32| {
        let first = context.calls.of_thread(*thread).first()?;
        Some((timeline.api.times.at(*first as usize).start, *thread))
    };
    let Some((_, first)) = threads.filter_map(|thread| first_call(&thread)).min() else { return main };
    if first == main || !device.processes.contains(&process) {
        return main;
    }
    let outside_ns = sides.iter().map(|side| side.len_ns().max(0)).fold(0, i64::saturating_add);
    let main_lacks_ns = unknown_ns(context, main, sides);
    let is_first = main_lacks_ns.saturating_mul(2) >= outside_ns && unknown_ns(context, first, sides) < main_lacks_ns;
    if is_first { first } else { main }
}

/// How much of it was not recorded of a thread.
fn unknown_ns(context: &Context<'_>, thread: u32, sides: [Interval; 2]) -> i64 {
    let mut unknown_ns = 0_i64;
    for side in sides.into_iter().filter(|side| side.len_ns() > 0) {
        context.calls.lay_out(context.timeline, thread, side, |part, activity, _| {
            if activity == Activity::Unknown {
                unknown_ns = unknown_ns.saturating_add(part.len_ns());
            }
        });
    }
    unknown_ns
}

/// How long the thread is in host code, in calls of the OS, and in which call of CUDA the longest; returns its host code by start.
fn activities(context: &Context<'_>, main: u32, sides: [Interval; 2], facts: &mut Entity) -> Vec<Interval> {
    let timeline = context.timeline;
    let driver = timeline.names.find(DRIVER_CALL);
    let mut host = Vec::new();
    let (mut profiler_ns, mut unknown_ns, mut off_cpu_ns) = (0_i64, 0_i64, 0_i64);
    let (mut blocked, mut called): (HashMap<NameId, i64>, HashMap<NameId, i64>) = Default::default();
    let mut compiled: HashMap<NameId, i64> = HashMap::default();
    for side in sides.into_iter().filter(|side| side.len_ns() > 0) {
        context.calls.lay_out(timeline, main, side, |part, activity, name| {
            let sums = match activity {
                Activity::Host => return host.push(part),
                Activity::Unknown => return unknown_ns = unknown_ns.saturating_add(part.len_ns()),
                Activity::Profiler => return profiler_ns = profiler_ns.saturating_add(part.len_ns()),
                Activity::OffCpu => return off_cpu_ns = off_cpu_ns.saturating_add(part.len_ns()),
                // That is how the driver talks to the GPU: a part of setting CUDA up.
                Activity::Blocked if Some(name) == driver => &mut called,
                Activity::Blocked => &mut blocked,
                Activity::Compile => &mut compiled,
                _ => &mut called,
            };
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(part.len_ns());
        });
    }
    facts.set("outside_host_ns", host.iter().map(|part| part.len_ns()).fold(0, i64::saturating_add));
    facts.set("outside_profiler_ns", profiler_ns);
    facts.set("outside_unknown_ns", unknown_ns);
    facts.set("outside_off_cpu_ns", off_cpu_ns);
    let most = |sums: HashMap<NameId, i64>| {
        let named = sums.into_iter().filter(|(name, _)| *name != NONE);
        named.max_by_key(|(name, ns)| (*ns, Reverse(timeline.name(*name))))
    };
    if let Some((name, ns)) = most(blocked) {
        facts.set("outside_blocked_call", without_folders(timeline.name(name)));
        facts.set("outside_blocked_call_ns", ns);
    }
    let compiled_ns = compiled.values().copied().fold(0, i64::saturating_add);
    facts.set("outside_compile_ns", compiled_ns);
    let compiler = most(compiled).map(|(name, _)| timeline.name(name));
    if let Some(name) = compiler {
        facts.set("outside_compile_evidence", without_folders(name));
        facts.set("outside_compile_by", compiler_of(name));
    }
    let called = most(called).map(|(name, ns)| (timeline.name(name), ns));
    let compiled = compiler.map(|name| (name, compiled_ns));
    if let Some((name, ns)) = called.into_iter().chain(compiled).max_by_key(|(_, ns)| *ns) {
        facts.set("outside_call", without_folders(name));
        facts.set("outside_call_ns", ns);
    }
    host
}

/// The innermost range of the thread that holds half of it, and none of the devices' work.
fn ranges(timeline: &Timeline, main: u32, window: Interval, sides: [Interval; 2], facts: &mut Entity) {
    let Some(own) = timeline.ranges.of_thread(main) else { return };
    let outside_ns = sides.iter().map(|side| side.len_ns().max(0)).fold(0, i64::saturating_add);
    let holds = |(times, label): (Interval, &u32)| {
        let ns = sides.iter().map(|side| times.overlap_ns(*side)).fold(0, i64::saturating_add);
        let is_told = ns > 0 && ns as f64 >= MIN_RANGE_SHARE * outside_ns as f64 && times.overlap_ns(window) == 0;
        is_told.then_some((ns, *label))
    };
    // By start: those that begin within the devices' work are none.
    let before = own.times.partition_point(0, |times| times.start < window.start);
    let after = own.times.partition_point(before, |times| times.start < window.end);
    let beside = (0..before).chain(after..own.times.len()).map(|index| (own.times.at(index), &own.label[index]));
    if let Some((ns, label)) = beside.filter_map(holds).min_by_key(|(ns, label)| (*ns, Reverse(*label))) {
        facts.set("outside_range", told_name(timeline, label));
        facts.set("outside_range_ns", ns);
    }
}

/// Of the system, and not of the profiler: what the program's own `main` calls most may be a function of the C library.
fn is_of_system(timeline: &Timeline, frame: Frame) -> bool {
    is_system(timeline, frame) && !is_profiler(timeline, frame)
}

/// The samples of a thread that were taken in its host code, which is given by start.
pub(super) fn host_samples(timeline: &Timeline, thread: u32, host: &[Interval]) -> Vec<u32> {
    let all = &timeline.cpu_samples;
    let is_host = |sample: &usize| {
        let Some(time) = all.time_ns.get(*sample) else { return false };
        let begun = host.partition_point(|part| part.start <= *time);
        begun.checked_sub(1).and_then(|last| host.get(last)).is_some_and(|part| *time < part.end)
    };
    all.of_thread(thread).filter(is_host).map(|sample| sample as u32).collect()
}

/// Where the host code of the thread that tells of it lies.
fn sampled(timeline: &Timeline, main: u32, host: &[Interval], facts: &mut Entity) {
    let all = &timeline.cpu_samples;
    let samples = host_samples(timeline, main, host);
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
