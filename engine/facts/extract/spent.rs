//! What a thread of the host does in parts of a recording: how long it runs code, waits, loads and compiles, and where in its code
//! it is by CPU samples.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::Context;
use super::profile::{
    CALLER_SHARE, FIRST_OF_PROFILER, MIN_COVERED_SHARE, MIN_SAMPLE_COUNT, Profile, Weighed, covered_share, is_plumbing,
    is_profiler, is_system,
};
use super::run::cuda_profiler_start;
use crate::ledger::Activity;
use crate::text::paths::{file_name, without_folders};
use crate::timeline::api::{MemoryCall, memory_call};
use crate::timeline::interval::Interval;
use crate::timeline::samples::Frame;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline, modules};

/// A function is told that this part of the samples lies in, in percent: a program does several things there.
const MIN_PERCENT: i64 = 25;
/// Beside a function that holds less the file is told that most of it lies in.
const MAIN_SHARE: f64 = 0.5;
/// CUDA starts within this time: what is longer holds more than that.
const LONGEST_START_NS: i64 = 1_000_000_000;
/// How the profiler calls what it does as soon as a context was made: CUDA has started.
const CONTEXT_MADE: &str = "CUDA profiling data flush on context created";
/// The OS call of drivers.
const DRIVER_CALL: &str = "ioctl";

/// Time by the name of a call.
type Sums = HashMap<NameId, i64>;

/// How long a thread does what.
#[derive(Default)]
pub(super) struct Spent {
    /// Its host code, by start.
    pub(super) host: Vec<Interval>,
    /// What was not recorded of it.
    pub(super) unknown: Vec<Interval>,
    /// In CUDA as that starts, in calls that were not recorded.
    pub(super) starts_ns: i64,
    /// When the profiler works, by start.
    pub(super) profiler: Union,
    /// Off the CPU in no call that was recorded, after the program began.
    pub(super) off_cpu_ns: i64,
    /// The same before it began.
    pub(super) loading_ns: i64,
    blocked: Sums,
    called: Sums,
    /// Calls that wait for the device.
    waited: Sums,
    compiled: Sums,
}

impl Spent {
    /// Of a thread, in parts that follow each other.
    pub(super) fn of(context: &Context<'_>, thread: u32, parts: &[Interval]) -> Self {
        let timeline = context.timeline;
        let driver = timeline.names.find(DRIVER_CALL);
        let begins_ns = begins_ns(context, thread);
        let starts = starts(context, thread);
        let mut spent = Self::default();
        for part in parts.iter().filter(|part| part.len_ns() > 0) {
            context.calls.lay_out(timeline, thread, *part, |part, activity, name| {
                let ns = part.len_ns();
                let sum = match activity {
                    Activity::Host => return spent.push_host(part, starts),
                    Activity::Unknown => return spent.unknown.push(part),
                    Activity::Profiler => return spent.profiler.push(part),
                    Activity::OffCpu => {
                        let before_ns = begins_ns.min(part.end).saturating_sub(part.start).max(0);
                        spent.loading_ns = spent.loading_ns.saturating_add(before_ns);
                        spent.off_cpu_ns = spent.off_cpu_ns.saturating_add(ns - before_ns);
                        return;
                    }
                    // That is how the driver talks to the GPU: a part of setting CUDA up.
                    Activity::Blocked if Some(name) == driver => spent.called.entry(name).or_default(),
                    Activity::Blocked => spent.blocked.entry(name).or_default(),
                    Activity::Compile => spent.compiled.entry(name).or_default(),
                    _ if activity.waits_for_device() => spent.waited.entry(name).or_default(),
                    _ => spent.called.entry(name).or_default(),
                };
                *sum = sum.saturating_add(ns);
            });
        }
        spent
    }

    /// Adds host code, without what of it lies where CUDA starts.
    fn push_host(&mut self, part: Interval, starts: Option<Interval>) {
        let Some(starts) = starts.filter(|starts| starts.overlap_ns(part) > 0) else { return self.host.push(part) };
        self.starts_ns = self.starts_ns.saturating_add(starts.overlap_ns(part));
        let sides = [Interval::new(part.start, starts.start), Interval::new(starts.end, part.end)];
        self.host.extend(sides.into_iter().filter(|side| side.len_ns() > 0));
    }

    pub(super) fn host_ns(&self) -> i64 {
        self.host.iter().map(|part| part.len_ns()).fold(0, i64::saturating_add)
    }

    pub(super) fn unknown_ns(&self) -> i64 {
        self.unknown.iter().map(|part| part.len_ns()).fold(0, i64::saturating_add)
    }

    /// The call of the OS that takes most.
    pub(super) fn blocked<'all>(&self, timeline: &'all Timeline) -> Option<(&'all str, i64)> {
        most(timeline, self.blocked.iter())
    }

    /// The call of CUDA, or what else sets it up, that takes most; of those that wait for the device where they count.
    pub(super) fn called<'all>(&self, timeline: &'all Timeline, with_waits: bool) -> Option<(&'all str, i64)> {
        most(timeline, self.called.iter().chain(self.waited.iter().filter(|_| with_waits)))
    }

    /// The same of the call that takes most beside the one of a name.
    pub(super) fn called_beside<'all>(&self, timeline: &'all Timeline, first: &str) -> Option<(&'all str, i64)> {
        let all = self.called.iter().chain(&self.waited);
        most(timeline, all.filter(|(name, _)| timeline.name(**name) != first))
    }

    /// How long calls lock pages of the host, or free such memory.
    pub(super) fn pins_ns(&self, timeline: &Timeline) -> i64 {
        let pins = |name: &NameId| {
            let kind = memory_call(&without_folders(timeline.name(*name)));
            matches!(kind, MemoryCall::HostPin | MemoryCall::HostUnpin)
        };
        let own = self.called.iter().chain(&self.waited).filter(|(name, _)| **name != NONE && pins(name));
        own.map(|(_, ns)| *ns).fold(0, i64::saturating_add)
    }

    /// What gives most of the compiling away, and how long all of it takes.
    pub(super) fn compiled<'all>(&self, timeline: &'all Timeline) -> Option<(&'all str, i64)> {
        let all_ns = self.compiled.values().copied().fold(0, i64::saturating_add);
        most(timeline, self.compiled.iter()).map(|(name, _)| (name, all_ns))
    }

    /// Where its host code lies.
    pub(super) fn sampled(&self, timeline: &Timeline, thread: u32) -> Sampled {
        Sampled::of(timeline, &host_samples(timeline, thread, &self.host), Some(self.host_ns()))
    }
}

fn most<'all, 'sums>(
    timeline: &'all Timeline,
    sums: impl Iterator<Item = (&'sums NameId, &'sums i64)>,
) -> Option<(&'all str, i64)> {
    let named = sums.filter(|(name, _)| **name != NONE).map(|(name, ns)| (timeline.name(*name), *ns));
    named.max_by_key(|(name, ns)| (*ns, Reverse(*name)))
}

/// When the program begins, by the first that tells of it: a call or a range of the thread, a sample of it in the program itself, or
/// the profiler's notice that CUDA is used. What comes before is loading; the begin of time where nothing
/// tells, or where what would tell was not recorded.
fn begins_ns(context: &Context<'_>, thread: u32) -> i64 {
    let (timeline, samples) = (context.timeline, &context.timeline.cpu_samples);
    let is_program: Vec<bool> =
        samples.frames.iter().map(|frame| modules::is_program(file_name(timeline.name(frame.module)))).collect();
    let is_in_program = |sample: &usize| {
        let mut stack = samples.stack(*sample).iter();
        stack.any(|frame| is_program.get(*frame as usize).copied().unwrap_or(false))
    };
    let sample = samples.of_thread(thread).find(is_in_program).and_then(|sample| samples.time_ns.get(sample)).copied();
    let os_call = context.calls.first_os_call(timeline, thread);
    // Where neither calls of the OS nor samples were recorded of it, it may have begun long before the first thing that was.
    if os_call.is_none() && samples.of_thread(thread).is_empty() {
        return i64::MIN;
    }
    let first = [first_call_or_range_ns(context, thread), sample, os_call, cuda_profiler_start(timeline)]
        .into_iter()
        .flatten()
        .min();
    first.unwrap_or(i64::MIN)
}

/// When the first call or range of a thread begins.
pub(super) fn first_call_or_range_ns(context: &Context<'_>, thread: u32) -> Option<i64> {
    let timeline = context.timeline;
    let call = context.calls.of_thread(thread).first().map(|call| timeline.api.times.at(*call as usize).start);
    let range = timeline.ranges.of_thread(thread).and_then(|ranges| ranges.times.get(0)).map(|range| range.start);
    [call, range].into_iter().flatten().min()
}

/// So many of the first calls of a thread are looked through: before the one that sets CUDA up a program asks for little.
pub(super) const MOST_ASKING: usize = 1_000;
/// How the calls begin that set nothing up: of the profiler in the program's place, for versions, devices and addresses, and what registers code.
const ASKING: [&str; 9] = [
    FIRST_OF_PROFILER,
    "cuLibraryLoad",
    "cuInit",
    "cuGetProcAddress",
    "cuDriverGetVersion",
    "cuDeviceGet",
    "cudaGetDeviceCount",
    "cudaGetDeviceProperties",
    "cudaDriverGetVersion",
];

pub(super) fn asks_only(call: &str) -> bool {
    ASKING.iter().any(|begin| call.starts_with(begin))
}

/// From where the profiler notices CUDA to where it notices a context, or the first call of the thread that needs one: `cuInit` and what
/// makes the context, which are not recorded as calls. `None` where that is too long to be no more, or samples lie in the program's own code.
fn starts(context: &Context<'_>, thread: u32) -> Option<Interval> {
    let timeline = context.timeline;
    let name_of = |call: &u32| timeline.api.name.get(*call as usize).map(|name| timeline.name(*name));
    let calls = context.calls.of_thread(thread).iter();
    let first = calls.take(MOST_ASKING).find(|call| name_of(call).is_none_or(|name| !asks_only(name)))?;
    let start = cuda_profiler_start(timeline)?;
    let first = timeline.api.times.at(*first as usize).start;
    let starts = Interval::new(start, context_made(timeline, start).map_or(first, |made| made.min(first)));
    let samples = &timeline.cpu_samples;
    let is_own = |sample: &usize| {
        let time = samples.time_ns.get(*sample).is_some_and(|time| (starts.start..starts.end).contains(time));
        let frame = samples.stack(*sample).first().and_then(|frame| samples.frames.get(*frame as usize));
        time && frame.is_some_and(|frame| modules::is_program(file_name(timeline.name(frame.module))))
    };
    let is_start = starts.len_ns() > 0 && starts.len_ns() <= LONGEST_START_NS;
    (is_start && !samples.of_thread(thread).any(|sample| is_own(&sample))).then_some(starts)
}

/// When the profiler is done with what it does as the first context was made, after some time.
fn context_made(timeline: &Timeline, after: i64) -> Option<i64> {
    let name = timeline.names.find(CONTEXT_MADE)?;
    let overheads = timeline.overheads.times.iter().zip(&timeline.overheads.name);
    overheads.filter(|(times, own)| **own == name && times.start >= after).map(|(times, _)| times.end).min()
}

/// How much of some parts a call that locks pages of the host takes until a context is made in it: that sets CUDA up.
pub(super) fn pin_set_up_ns(context: &Context<'_>, thread: u32, parts: &[Interval]) -> i64 {
    let timeline = context.timeline;
    let Some(made) = context_made(timeline, i64::MIN) else { return 0 };
    let times = |call: &u32| timeline.api.times.at(*call as usize);
    let calls = context.calls.of_thread(thread).iter().take(MOST_ASKING);
    let Some(call) = calls.take_while(|call| times(call).start < made).find(|call| times(call).end > made) else {
        return 0;
    };
    let name = timeline.api.name.get(*call as usize).map_or("", |name| timeline.name(*name));
    let until_made = Interval::new(times(call).start, made);
    let is_pin = memory_call(&without_folders(name)) == MemoryCall::HostPin;
    if is_pin { parts.iter().map(|part| part.overlap_ns(until_made)).fold(0, i64::saturating_add) } else { 0 }
}

/// The samples of a thread that were taken in its host code, which is given by start.
fn host_samples(timeline: &Timeline, thread: u32, host: &[Interval]) -> Vec<u32> {
    let all = &timeline.cpu_samples;
    let is_host = |sample: &usize| {
        let Some(time) = all.time_ns.get(*sample) else { return false };
        let begun = host.partition_point(|part| part.start <= *time);
        begun.checked_sub(1).and_then(|last| host.get(last)).is_some_and(|part| *time < part.end)
    };
    all.of_thread(thread).filter(is_host).map(|sample| sample as u32).collect()
}

/// Where in its code a thread is, by its samples.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sampled {
    /// How many samples tell it.
    pub(super) count: usize,
    /// The deepest function that much of it lies in, and how much.
    pub(super) function: Option<(String, f64)>,
    /// The function that calls it, where it is of the system.
    pub(super) caller: Option<String>,
    /// The deepest file that most of it lies in, and how much, where that tells more.
    pub(super) module: Option<(String, f64)>,
}

impl Sampled {
    /// By samples, where they are enough, and stand for most of `whole_ns` where that is given: before the sampler starts and while a
    /// program ends hardly any are taken, and a share of them is none of the time.
    pub(super) fn of(timeline: &Timeline, samples: &[u32], whole_ns: Option<i64>) -> Self {
        let mut told = Self { count: samples.len(), ..Self::default() };
        let covered = |whole_ns| covered_share(timeline, samples, whole_ns).unwrap_or(0.0);
        if samples.len() < MIN_SAMPLE_COUNT || whole_ns.is_some_and(|whole_ns| covered(whole_ns) < MIN_COVERED_SHARE) {
            return told;
        }
        let stacks = &timeline.cpu_samples;
        let profile = Profile::new(timeline, stacks, Weighed::samples(samples)).with_least_percent(MIN_PERCENT);
        let module = profile.module().map(|(module, share)| (file_name(timeline.name(module)), share));
        let function = profile.deepest(|frame| !is_plumbing(timeline, frame));
        if let Some(function) = function {
            told.function = Some((profile.name(function), profile.share(function)));
        } else if let Some(function) = profile.deepest(|frame| is_of_system(timeline, frame))
            && module.is_none_or(|(file, _)| modules::is_program(file))
        {
            // Who asks the C library for it says more than what that does.
            told.caller = caller(&profile, function);
            told.function =
                (told.caller.is_some() || module.is_none()).then(|| (profile.name(function), profile.share(function)));
        }
        // What most of it is in tells more than a function of a part.
        let is_main = told.function.as_ref().is_some_and(|(_, share)| *share >= MAIN_SHARE);
        told.module = module.filter(|_| !is_main).map(|(file, share)| (file.to_owned(), share));
        told
    }
}

/// Of the system, and not of the profiler: what the program's own `main` calls most may be a function of the C library.
fn is_of_system(timeline: &Timeline, frame: Frame) -> bool {
    is_system(timeline, frame) && !is_profiler(timeline, frame)
}

/// The function of the program that calls one of the system, in most of the stacks that tell who does.
fn caller(profile: &Profile<'_>, function: u32) -> Option<String> {
    let (caller, share) = profile.program_caller(function)?;
    (share >= CALLER_SHARE).then(|| profile.name(caller))
}
