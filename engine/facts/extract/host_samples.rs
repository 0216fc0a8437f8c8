//! Which function the samples of the launching thread lie in, of those taken in the host code that a device is idle for.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::DeviceContext;
use crate::facts::Entity;
use crate::ledger::Account;
use crate::text::paths::{file_name, without_folders};
use crate::timeline::samples::Frame;
use crate::timeline::{CpuSamples, NONE, Timeline};

/// Fewer samples tell nothing.
const MIN_SAMPLE_COUNT: usize = 8;
/// A function is told when at least this part of the samples lies in it, in percent.
const MIN_PERCENT: usize = 60;
/// Functions that everything lies in: the beginnings of programs and threads.
const ENTRIES: [&str; 10] = [
    "main",
    "_start",
    "__libc_start_main",
    "__libc_start_call_main",
    "__libc_start_main_impl",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__GI___clone3",
];
/// The interpreter of Python, which tells nothing of what it interprets.
const INTERPRETER: [&str; 4] = ["Py", "_Py", "pymain_", "run_mod"];

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let all = &timeline.cpu_samples;
    if all.is_empty() {
        return;
    }
    let samples = &device.idle.host_samples;
    facts.set("idle_host_sample_count", samples.len() as i64);
    let host_ns = device.account_ns(Account::IdleHost);
    if samples.len() < MIN_SAMPLE_COUNT || host_ns <= 0 {
        return;
    }
    if let Some(period_ns) = period(all, samples) {
        let sampled_ns = period_ns as f64 * samples.len() as f64;
        facts.set("idle_host_sampled_share", (sampled_ns / host_ns as f64).min(1.0));
    }
    let profile = Profile::new(timeline, samples);
    let Some(function) = profile.deepest() else { return };
    function_facts(&profile, function, facts);
    if let Some(caller) = profile.caller_of(function) {
        facts.set("idle_host_function_caller", profile.name(caller));
        facts.set_some("idle_host_function_caller_module", profile.module(caller));
    }
}

/// What is told of the function that most samples lie in.
fn function_facts(profile: &Profile<'_>, function: u32, facts: &mut Entity) {
    let (held, all) = (profile.held(function), profile.samples.len() as f64);
    facts.set("idle_host_function", profile.name(function));
    facts.set_some("idle_host_function_module", profile.module(function));
    facts.set("idle_host_function_sample_count", held.count as i64);
    facts.set("idle_host_function_share", held.count as f64 / all);
    facts.set("idle_host_function_self_share", held.innermost_count as f64 / all);
}

/// The median time from one sample of a thread to its next, over the threads and times of these samples.
fn period(all: &CpuSamples, samples: &[u32]) -> Option<i64> {
    let gap_after = |sample: &u32| {
        let (this, next) = (*sample as usize, *sample as usize + 1);
        (all.thread.get(next) == all.thread.get(this)).then(|| all.time_ns[next].saturating_sub(all.time_ns[this]))
    };
    let mut gaps: Vec<i64> = samples.iter().filter_map(gap_after).filter(|gap| *gap > 0).collect();
    super::stats::median(&mut gaps)
}

/// The samples that lie in a function.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// In it or in what it calls.
    count: usize,
    /// In itself.
    innermost_count: usize,
    /// One more than the last sample that was counted: a function that calls itself counts once.
    last: usize,
}

/// Samples, counted by function.
struct Profile<'all> {
    timeline: &'all Timeline,
    samples: &'all [u32],
    /// By the index of the function.
    held: HashMap<u32, Held>,
}

impl<'all> Profile<'all> {
    fn new(timeline: &'all Timeline, samples: &'all [u32]) -> Self {
        let mut held: HashMap<u32, Held> = HashMap::default();
        for (number, sample) in (1..).zip(samples) {
            for (depth, frame) in timeline.cpu_samples.stack(*sample as usize).iter().enumerate() {
                let held = held.entry(*frame).or_default();
                held.innermost_count += usize::from(depth == 0);
                held.count += usize::from(held.last != number);
                held.last = number;
            }
        }
        Self { timeline, samples, held }
    }

    fn frame(&self, function: u32) -> Frame {
        self.timeline
            .cpu_samples
            .frames
            .get(function as usize)
            .copied()
            .unwrap_or(Frame { function: NONE, module: NONE })
    }

    fn held(&self, function: u32) -> Held {
        self.held.get(&function).copied().unwrap_or_default()
    }

    fn name(&self, function: u32) -> String {
        without_folders(self.timeline.name(self.frame(function).function))
    }

    /// The file of a function, without its folder.
    fn module(&self, function: u32) -> Option<&'all str> {
        let module = self.frame(function).module;
        (module != NONE).then(|| file_name(self.timeline.name(module)))
    }

    /// The deepest function that most samples lie in.
    fn deepest(&self) -> Option<u32> {
        self.innermost(|_| true, |stack| stack).map(|(function, _)| function)
    }

    /// The deepest function of another file that most samples lie in, where it calls a function in most samples of that.
    fn caller_of(&self, function: u32) -> Option<u32> {
        let module = self.frame(function).module;
        let callers = |stack: &'all [u32]| {
            let index = stack.iter().position(|frame| *frame == function);
            index.map_or(&[][..], |index| &stack[index + 1..])
        };
        let caller = self.innermost(|frame| frame.module != module && frame.module != NONE, callers);
        caller.filter(|(_, votes)| 2 * votes > self.held(function).count).map(|(caller, _)| caller)
    }

    /// Among the functions that fit and that most samples lie in, the one that is the innermost in most samples, and in how
    /// many; `part` is what of a stack is looked at.
    fn innermost(
        &self,
        fits: impl Fn(&Frame) -> bool,
        part: impl Fn(&'all [u32]) -> &'all [u32],
    ) -> Option<(u32, usize)> {
        let is_candidate = |function: u32| {
            let (frame, held) = (self.frame(function), self.held(function));
            held.count * 100 >= self.samples.len() * MIN_PERCENT && fits(&frame) && self.tells(frame, held)
        };
        let candidates: BTreeSet<u32> = self.held.keys().copied().filter(|function| is_candidate(*function)).collect();
        let mut votes: BTreeMap<u32, usize> = BTreeMap::new();
        for sample in self.samples {
            let mut stack = part(self.timeline.cpu_samples.stack(*sample as usize)).iter().copied();
            if let Some(function) = stack.find(|function| candidates.contains(function)) {
                *votes.entry(function).or_default() += 1;
            }
        }
        votes.into_iter().max_by_key(|(function, votes)| (*votes, self.held(*function).count, Reverse(*function)))
    }

    /// Whether the name of a function says what is done: that of a program's beginning only where most of it is in itself.
    fn tells(&self, frame: Frame, held: Held) -> bool {
        let name = self.timeline.name(frame.function);
        let name = name.split("@@").next().unwrap_or(name);
        let is_entry = ENTRIES.contains(&name) && 2 * held.innermost_count < self.samples.len();
        let is_interpreter = INTERPRETER.iter().any(|prefix| name.starts_with(prefix));
        !name.is_empty() && !is_entry && !is_interpreter
    }
}
