//! Who is to blame for idle time: the functions and files that samples of the launching thread lie in, and who made the calls of
//! the OS that it waited in.

use std::collections::BTreeSet;

use foldhash::HashSet;

use super::peers::{self, PeerWaits};
use super::profile::{
    CALLER_SHARE, MIN_COVERED_SHARE, MIN_SAMPLE_COUNT, Profile, Weighed, covered_share, is_asked_for, is_of_images,
    is_plumbing, is_profiler, is_system, makes_random,
};
use super::{Context, DeviceContext, beside_rounds};
use crate::facts::Entity;
use crate::ledger::Account;
use crate::ledger::compiling::compiler_of;
use crate::text::paths::{file_name, without_folders};
use crate::timeline::interval::Interval;
use crate::timeline::samples::Frame;
use crate::timeline::union::Union;
use crate::timeline::{NameId, ThreadState, Timeline, modules};

/// The same of host code where the scheduler's record tells when the thread ran.
const MIN_SCHEDULED_SHARE: f64 = 0.2;

/// Of fewer of a thread's samples the others tell what all of them lie in.
const MOST_OF_THREAD: f64 = 0.8;

/// The facts of an account that lies in calls of CUDA: how many samples, the function outside of CUDA that holds most, its
/// file, its share, and the file where no function does.
struct InCalls {
    account: Account,
    samples: &'static str,
    function: &'static str,
    module: &'static str,
    share: &'static str,
}

const IN_CALLS: [InCalls; 5] = [
    InCalls {
        account: Account::IdleCompile,
        samples: "idle_compile_sample_count",
        function: "idle_compile_function",
        module: "idle_compile_module",
        share: "idle_compile_function_share",
    },
    InCalls {
        account: Account::IdleLoad,
        samples: "idle_load_sample_count",
        function: "idle_load_function",
        module: "idle_load_module",
        share: "idle_load_function_share",
    },
    InCalls {
        account: Account::IdleAllocate,
        samples: "idle_allocate_sample_count",
        function: "idle_allocate_function",
        module: "idle_allocate_module",
        share: "idle_allocate_function_share",
    },
    InCalls {
        account: Account::IdleInit,
        samples: "idle_init_sample_count",
        function: "idle_init_function",
        module: "idle_init_module",
        share: "idle_init_function_share",
    },
    InCalls {
        account: Account::IdleLaunch,
        samples: "idle_launch_sample_count",
        function: "idle_launch_function",
        module: "idle_launch_module",
        share: "idle_launch_function_share",
    },
];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if !beside_rounds::is_partial(device) {
        of_host(timeline, device, false, facts);
    }
    if !timeline.cpu_samples.is_empty() {
        IN_CALLS.iter().for_each(|names| of_calls(timeline, device, names, facts));
    }
    of_blocked(timeline, device, facts);
    peers::of_blocked(timeline, device, facts);
    sleeps(context, device, facts);
    if let Some((name, sum)) = device.idle().main_call(timeline, Account::IdleCompile) {
        facts.set("idle_compile_evidence_ns", sum.sum_ns);
        facts.set("idle_compile_by", compiler_of(timeline.name(name)));
        facts.set("idle_compile_evidence", without_folders(file_name(timeline.name(name))));
    }
}

/// The samples of an account, where they are enough to tell anything.
fn samples_of(device: &DeviceContext, account: Account) -> Option<&[u32]> {
    let samples = &device.idle().samples[account];
    (samples.len() >= MIN_SAMPLE_COUNT && device.account_ns(account) > 0).then_some(samples.as_slice())
}

/// The facts of host code. Where the rounds are played again, gains are told of them: what is not in them is to blame for nothing there.
pub(super) fn of_host(timeline: &Timeline, device: &DeviceContext, is_of_rounds: bool, facts: &mut Entity) {
    let (all, mut host_ns) = (&timeline.cpu_samples, device.account_ns(Account::IdleHost));
    let samples = samples_of(device, Account::IdleHost).unwrap_or(&[]);
    let ran = |samples: &[u32], whole_ns: i64| {
        let covered = covered_share(timeline, samples, whole_ns)?;
        // Host code is on a CPU by the scheduler's record: samples that are not taken evenly speak for all of it.
        Some(if covered >= MIN_SCHEDULED_SHARE && is_scheduled(timeline, device) { 1.0 } else { covered })
    };
    let covered = ran(samples, host_ns).unwrap_or(0.0);
    let weighed = samples.iter().map(|sample| (*sample, 1)).collect();
    let (waits, mut rest) = PeerWaits::split(timeline, all, weighed);
    // So few samples of waits are not measure enough: of eight, how long they are is told within a third.
    let is_enough = waits.weight() as usize >= MIN_SAMPLE_COUNT;
    let told = if is_enough { waits.weight() as f64 } else { 0.0 };
    let sampled_ns = (told / samples.len().max(1) as f64 * covered * host_ns as f64) as i64;
    let is_told = samples.len() >= MIN_SAMPLE_COUNT && (is_enough || waits.weight() == 0);
    let mut peers_ns = peers::of_host(timeline, device, (&waits, is_told.then_some(sampled_ns)), facts);
    if all.is_empty() {
        return;
    }
    let is_waiting = waits.weight() > 0;
    let mut count = if is_waiting { rest.len() } else { device.idle().samples[Account::IdleHost].len() };
    if is_of_rounds {
        let whole_ns = host_ns;
        host_ns = device.idle().host_and_rounds.within_ns();
        // Of the waits for others, so much lies in rounds at most.
        peers_ns = (peers_ns as f64 * host_ns as f64 / whole_ns.max(1) as f64) as i64;
        rest.retain(|(sample, _)| beside_rounds::is_within(timeline, device, *sample));
        count = rest.len();
    }
    facts.set("is_idle_host_sampled_in_rounds", is_of_rounds);
    let samples: Vec<u32> = rest.iter().map(|(sample, _)| *sample).collect();
    facts.set("idle_host_sample_count", count as i64);
    if samples.len() < MIN_SAMPLE_COUNT || host_ns <= peers_ns {
        return;
    }
    facts.set_some("idle_host_sampled_share", ran(&samples, host_ns - peers_ns));
    let drivers = drivers(timeline, device, &samples);
    of_host_code(timeline, Weighed::new(rest), &Outer { roots: roots(timeline, &samples), drivers }, facts);
}

/// Functions by name and file.
type Roots = HashSet<(NameId, NameId)>;

/// The functions that all of a thread lies in, whatever it does: none of them is to blame for a part of it. Where nearly all samples are
/// of that part, nothing tells them from what is.
fn roots(timeline: &Timeline, samples: &[u32]) -> Roots {
    let all = &timeline.cpu_samples;
    let threads: BTreeSet<u32> =
        samples.iter().filter_map(|sample| all.thread.get(*sample as usize)).copied().collect();
    let of_threads: Vec<u32> =
        threads.into_iter().flat_map(|thread| all.of_thread(thread)).map(|sample| sample as u32).collect();
    if samples.len() as f64 >= MOST_OF_THREAD * of_threads.len() as f64 {
        return Roots::default();
    }
    Profile::new(timeline, all, Weighed::samples(&of_threads)).roots()
}

/// The functions around what host code may be blamed on.
struct Outer {
    roots: Roots,
    /// Those that hold the loop and its launches: they call CUDA as well as the host code.
    drivers: Roots,
}

/// Fewer samples of calls of CUDA do not tell who drives them.
const MIN_CALL_SAMPLES: usize = 3;
/// A driver that so much of the host code lies in itself, or in what it asks the system for, is to blame for that.
const OWN_SHARE: f64 = 0.5;

/// The functions that calls of CUDA come from in the window, by samples of the threads that these samples of host code are of.
fn drivers(timeline: &Timeline, device: &DeviceContext, samples: &[u32]) -> Roots {
    let (all, window) = (&timeline.cpu_samples, device.window());
    let threads: BTreeSet<u32> =
        samples.iter().filter_map(|sample| all.thread.get(*sample as usize)).copied().collect();
    let traits = all.traits(&timeline.names);
    let is_call = |sample: &usize| {
        let is_cuda = |frame: &u32| traits.of(*frame).is_in_cuda;
        let is_within = all.time_ns.get(*sample).is_some_and(|ns| (window.start..window.end).contains(ns));
        is_within && all.stack(*sample).iter().any(is_cuda)
    };
    let of_threads = threads.into_iter().flat_map(|thread| all.of_thread(thread));
    let calls: Vec<u32> = of_threads.filter(is_call).map(|sample| sample as u32).collect();
    if calls.len() < MIN_CALL_SAMPLES {
        return Roots::default();
    }
    Profile::new(timeline, all, Weighed::samples(&calls)).callers_of_cuda()
}

/// The facts of the functions that hold most of host code where none holds most of all.
const IN_PART: [(&str, &str); 2] =
    [("idle_host_first_function", "idle_host_first_share"), ("idle_host_second_function", "idle_host_second_share")];
/// The parts of host code, at least, that two functions hold which are told where none holds most of it.
const MIN_NAMED_SHARES: [f64; 2] = [0.2, 0.1];

/// Who is to blame for host code that waits for nobody.
fn of_host_code(timeline: &Timeline, samples: Weighed, outer: &Outer, facts: &mut Entity) {
    let profile = Profile::new(timeline, &timeline.cpu_samples, samples);
    let is_root = |frame: Frame| outer.roots.contains(&(frame.function, frame.module));
    facts.set("idle_host_image_share", profile.share_in(|frame| is_of_images(timeline, frame)));
    facts.set("idle_host_random_share", profile.share_in(|frame| makes_random(timeline, frame)));
    let parts = profile.innermost_telling();
    // What lies in a driver itself is its own matter; of the rest, what it calls tells more than it.
    // There may be as many functions as samples, and each of them is asked about.
    let own = parts.iter().take_while(|(_, share)| *share >= OWN_SHARE).map(|(function, _)| profile.frame(*function));
    let own: Vec<Frame> = own.collect();
    let is_driver = |frame: Frame| outer.drivers.contains(&(frame.function, frame.module)) && !own.contains(&frame);
    let told = || parts.iter().filter(|(function, _)| !is_driver(profile.frame(*function)));
    let is_parted = told().next().is_some_and(|(_, share)| *share >= MIN_NAMED_SHARES[0]);
    let fits = |frame: Frame| !is_profiler(timeline, frame) && !is_root(frame);
    let within = profile.deepest(|frame| fits(frame) && !is_driver(frame));
    // Where nothing that it calls can be told, a driver tells at least where it is.
    let function = within.or_else(|| profile.deepest(fits).filter(|_| !is_parted));
    let Some(function) = function else {
        if let Some(known) = profile.of_whole_stacks().filter(|_| !is_parted)
            && let Some(function) = known.deepest(fits)
        {
            let own = own_function(timeline, &known, (is_root, is_driver));
            return of_function(timeline, &known, function, own, facts);
        }
        // All that a program does lies in its own file.
        let is_library = |(module, _): &(NameId, f64)| !modules::is_program(file_name(timeline.name(*module)));
        if let Some((module, share)) = profile.module().or_else(|| profile.main_module()).filter(is_library) {
            facts.set("idle_host_module", file_name(timeline.name(module)));
            facts.set("idle_host_module_share", share);
        }
        let told = told().zip(IN_PART).zip(MIN_NAMED_SHARES);
        for (((function, share), (name, share_fact)), _) in told.take_while(|(((_, share), _), least)| share >= least) {
            facts.set(name, profile.name(*function));
            facts.set(share_fact, *share);
        }
        return;
    };
    of_function(timeline, &profile, function, own_function(timeline, &profile, (is_root, is_driver)), facts);
}

/// The function of the program's own that most host code lies in; one that drives CUDA only where nothing further in can be told.
fn own_function(
    timeline: &Timeline,
    profile: &Profile<'_>,
    (is_root, is_driver): (impl Fn(Frame) -> bool, impl Fn(Frame) -> bool),
) -> Option<u32> {
    let is_own = |frame: Frame| {
        let is_of_others = is_plumbing(timeline, frame) || is_asked_for(timeline, frame);
        !is_of_others && profile.is_of_program(frame) && !is_root(frame)
    };
    profile.deepest(|frame| is_own(frame) && !is_driver(frame)).or_else(|| profile.deepest(is_own))
}

/// The facts of the function that most host code lies in, and of the function of the program's own that asks for it.
fn of_function(timeline: &Timeline, profile: &Profile<'_>, function: u32, own: Option<u32>, facts: &mut Entity) {
    facts.set("idle_host_function", profile.name(function));
    facts.set_some("idle_host_function_module", profile.file(function));
    facts.set("idle_host_function_sample_count", profile.weight(function));
    facts.set("idle_host_function_share", profile.share(function));
    facts.set("idle_host_function_self_share", profile.self_share(function));
    // A stack may be cut off, and the program's `main` calls what it calls.
    let of_program = || profile.program_caller(function).filter(|(_, share)| *share >= CALLER_SHARE);
    let of_system = || of_program().filter(|_| is_system(timeline, profile.frame(function))).map(|(caller, _)| caller);
    if let Some(caller) = profile.caller_of(function).or_else(of_system) {
        facts.set("idle_host_function_caller", profile.name(caller));
        facts.set_some("idle_host_function_caller_module", profile.file(caller));
    }
    if let Some(own) = own.filter(|own| *own != function) {
        facts.set("idle_host_own_function", profile.name(own));
        facts.set_some("idle_host_own_function_module", profile.file(own));
        facts.set("idle_host_own_function_share", profile.share(own));
    }
    // What the C library does, or that of C++, says less than who asks for it.
    let culprit = own.filter(|_| is_asked_for(timeline, profile.frame(function))).unwrap_or(function);
    facts.set("idle_host_culprit", profile.name(culprit));
    facts.set("idle_host_culprit_share", profile.share(culprit));
}

fn of_calls(timeline: &Timeline, device: &DeviceContext, names: &InCalls, facts: &mut Entity) {
    let whole_ns = device.account_ns(names.account);
    facts.set(names.samples, device.idle().samples[names.account].len() as i64);
    let Some(samples) = samples_of(device, names.account) else { return };
    if covered_share(timeline, samples, whole_ns).is_none_or(|covered| covered < MIN_COVERED_SHARE) {
        return;
    }
    let profile = Profile::new(timeline, &timeline.cpu_samples, Weighed::samples(samples));
    if let Some(function) = profile.deepest(|frame| !is_plumbing(timeline, frame)) {
        facts.set(names.function, profile.name(function));
        facts.set(names.share, profile.share(function));
        facts.set_some(names.module, profile.file(function));
    } else if let Some((module, _)) = profile.module() {
        facts.set(names.module, file_name(timeline.name(module)));
    }
}

/// Who called the OS, by the stacks of the calls that the thread was blocked in.
fn of_blocked(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let stacked = &device.idle().stacked_ns;
    let (known, whole): (i64, i64) = (stacked.values().sum(), device.account_ns(Account::IdleBlocked));
    if whole <= 0 || (known as f64) < MIN_COVERED_SHARE * whole as f64 {
        return;
    }
    let calls = Weighed::new(stacked.iter().map(|(call, ns)| (*call, *ns)).collect());
    let profile = Profile::new(timeline, &timeline.os_stacks.samples, calls).with_entries();
    if let Some(caller) = profile.deepest(|frame| !is_plumbing(timeline, frame)) {
        facts.set("idle_blocked_caller", profile.name(caller));
        facts.set_some("idle_blocked_caller_module", profile.file(caller));
        facts.set("idle_blocked_caller_ns", profile.weight(caller));
    } else if let Some((module, share)) = profile.module() {
        facts.set("idle_blocked_caller_module", file_name(timeline.name(module)));
        facts.set("idle_blocked_caller_ns", (share * known as f64) as i64);
    }
}

/// Whether the scheduler's record tells when threads of a device's processes were off the CPU.
fn is_scheduled(timeline: &Timeline, device: &DeviceContext) -> bool {
    let of_device = |thread: u32| device.is_of(timeline.process_of(thread));
    timeline.thread_states.thread.iter().any(|thread| of_device(*thread))
}

/// Fewer pieces of one length are chance.
const MIN_SLEEPS: usize = 10;
/// Sleeps are as long as asked for, and a little longer.
const MAX_SLEEP_SPREAD: f64 = 1.2;
/// A shorter stay off the CPU is no sleep that matters.
const MIN_SLEEP_NS: i64 = 50_000;

/// Stays off the CPU that are all of one length, in idle time of the device: the thread sleeps for so long again and again.
fn sleeps(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let states = &timeline.thread_states;
    facts.set("scheduler_captured", is_scheduled(timeline, device));
    let Some(main) = device.main_thread else { return };
    let (mut stays, mut lengths, mut idle_ns): (Vec<Interval>, Vec<i64>, i64) = (Vec::new(), Vec::new(), 0);
    for ((times, thread), state) in states.times.iter().zip(&states.thread).zip(&states.state) {
        let part: Interval = times.clip(device.window());
        if *thread != main || *state == ThreadState::Runnable || part.len_ns() < MIN_SLEEP_NS {
            continue;
        }
        let idle = part.len_ns() - device.busy_within(part);
        if 2 * idle >= part.len_ns() {
            stays.push(times);
            lengths.push(times.len_ns());
            idle_ns += idle;
        }
    }
    lengths.sort_unstable();
    let at = |percent: usize| lengths.get(lengths.len() * percent / 100).copied();
    let (Some(low), Some(median), Some(high)) = (at(10), at(50), at(90)) else { return };
    let is_much = 2 * idle_ns >= device.account_ns(Account::IdleBlocked);
    let is_even = lengths.len() >= MIN_SLEEPS && high as f64 <= MAX_SLEEP_SPREAD * low as f64;
    if is_even && is_much && !awaits_launches(context, device, main, &stays) {
        facts.set("idle_sleep_count", lengths.len() as i64);
        facts.set("idle_sleep_median_ns", median);
        facts.set("idle_sleep_ns", idle_ns.min(device.account_ns(Account::IdleBlocked)));
    }
}

/// Whether other threads of the device's processes call CUDA during most of a thread's stays off the CPU: then it waits for what they
/// do, as the one that asks PyTorch for gradients waits for the thread that computes them.
fn awaits_launches(context: &Context<'_>, device: &DeviceContext, thread: u32, stays: &[Interval]) -> bool {
    let api = &context.timeline.api;
    let calls = device.processes.iter().flat_map(|process| context.calls_of(*process, Some(device.window())));
    let others = calls.filter(|call| api.thread.get(*call as usize).is_some_and(|of| *of != thread));
    let others = Union::of(others.map(|call| api.times.at(call as usize)));
    2 * stays.iter().filter(|stay| others.overlap_ns(**stay) > 0).count() > stays.len()
}
