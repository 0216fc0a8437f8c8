//! Call stacks, weighed: which function, or file, most of them lie in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};

use super::stats::median;
use crate::text::paths::{file_name, without_folders};
use crate::text::{escape, kernel_names};
use crate::timeline::modules;
use crate::timeline::samples::Frame;
use crate::timeline::{CpuSamples, FrameTraits, NONE, NameId, Timeline};

/// What the profiler asks in the program's place before it sets itself up.
pub(super) const FIRST_OF_PROFILER: &str = "cuModuleGetLoadingMode";

/// Fewer samples tell nothing.
pub(super) const MIN_SAMPLE_COUNT: usize = 8;
/// Samples, or calls with stacks, that stand for a smaller part of the time do not speak for it.
pub(super) const MIN_COVERED_SHARE: f64 = 0.5;
/// The function that calls one of the system does so in this part of the stacks that tell it, at least.
pub(super) const CALLER_SHARE: f64 = 0.6;
/// A function is told when at least this part of the weight lies in it, in percent.
const MIN_PERCENT: i64 = 60;
/// The same of a file, where most of the rest lies in an interpreter.
const MIN_PERCENT_BESIDE_INTERPRETER: i64 = 30;
/// This part of all samples of a thread lies in its roots, in percent.
const ROOT_PERCENT: i64 = 95;
/// So many stacks that reach the beginning of the program tell who calls what, where most others tell their innermost function alone.
const MIN_WHOLE_STACKS: usize = 30;
/// Of so much of both the innermost functions lie in the same files, at least.
const ALIKE_SHARE: f64 = 0.9;
/// A longer name is told without its namespaces and template arguments.
const MAX_NAME_CHARS: usize = 60;
/// A name that tells a function from another that is called the same without arguments is told up to this length.
const MAX_DISTINCT_CHARS: usize = 90;

fn file_of(timeline: &Timeline, frame: Frame) -> &str {
    file_name(timeline.name(frame.module))
}

/// Whether a function belongs to the system or to the profiler.
pub(super) fn is_system(timeline: &Timeline, frame: Frame) -> bool {
    modules::is_system(file_of(timeline, frame))
}

/// Whether it belongs to the profiler.
pub(super) fn is_profiler(timeline: &Timeline, frame: Frame) -> bool {
    modules::is_profiler(file_of(timeline, frame))
}

/// Whether it decodes or changes images.
pub(super) fn is_of_images(timeline: &Timeline, frame: Frame) -> bool {
    modules::is_of_images(file_of(timeline, frame))
}

/// Whether it makes random numbers.
pub(super) fn makes_random(timeline: &Timeline, frame: Frame) -> bool {
    modules::makes_random(timeline.name(frame.function), file_of(timeline, frame))
}

/// Whether it does what others ask for: of the system, or of the standard library of C++ that is compiled into the program.
pub(super) fn is_asked_for(timeline: &Timeline, frame: Frame) -> bool {
    is_system(timeline, frame) || modules::is_of_standard_library(timeline.name(frame.function))
}

/// Whether it belongs to the system, to CUDA, or to an interpreter: what they do, others ask for.
pub(super) fn is_plumbing(timeline: &Timeline, frame: Frame) -> bool {
    modules::is_plumbing(file_of(timeline, frame)) || modules::is_cuda_call(timeline.name(frame.function))
}

/// Longer names of functions are not looked into for one that is called the same.
const MAX_COMPARED_BYTES: usize = 1_000;
/// Bytes of names that are looked into for one function, over all GPUs, and what of that each name counts beside its own: in a program
/// of half a million functions one that is called the same may be missed.
const MAX_COMPARED_BYTES_OF_ALL: usize = 64 << 20;
const COMPARING_BYTES: usize = 64;
/// Frames that a profile of each of all devices counts, together: threads that ask for the work of many are sampled for each of them.
const MAX_FRAMES_OF_ALL: usize = 1 << 24;

/// The name of a function of stacks as it is told: in short, unless another function of its file is called the same in short.
pub(super) fn name_of(timeline: &Timeline, stacks: &CpuSamples, frame: Option<Frame>) -> String {
    let Some(frame) = frame else { return String::new() };
    let full = timeline.name(frame.function);
    let short = in_short(full);
    // Another's name holds the end of this one's, whatever its arguments.
    let last = short.rsplit("::").next().unwrap_or(&short);
    let of_module = stacks.frames.iter().filter(|other| other.module == frame.module);
    let others = of_module.filter(|other| other.function != frame.function).map(|other| timeline.name(other.function));
    let mut left = MAX_COMPARED_BYTES_OF_ALL / timeline.devices.len().max(1);
    let mut others = others.filter(|name| name.len() <= MAX_COMPARED_BYTES).take_while(|name| {
        left = left.saturating_sub(name.len() + COMPARING_BYTES);
        left > 0
    });
    let is_alike = |name: &str| name.contains(last) && in_short(name) == short;
    let name = if !short.is_empty() && others.any(is_alike) {
        escape::shorten_middle(modules::without_hash(full), MAX_DISTINCT_CHARS)
    } else {
        short
    };
    without_folders(&name)
}

/// Without arguments; a long name without its namespaces and template arguments, which say less than they take.
fn in_short(name: &str) -> String {
    let short = modules::without_arguments(name);
    if short.chars().count() > MAX_NAME_CHARS { kernel_names::function_within(name) } else { short.to_owned() }
}

/// How much of a time its samples stand for: each stands for the median time between two.
pub(super) fn covered_share(timeline: &Timeline, samples: &[u32], whole_ns: i64) -> Option<f64> {
    let all = &timeline.cpu_samples;
    let gap_after = |sample: &u32| {
        let (this, next) = (*sample as usize, *sample as usize + 1);
        (all.thread.get(next) == all.thread.get(this)).then(|| all.time_ns[next].saturating_sub(all.time_ns[this]))
    };
    let mut gaps: Vec<i64> = samples.iter().filter_map(gap_after).filter(|gap| *gap > 0).collect();
    let period_ns = median(&mut gaps)?;
    Some((period_ns as f64 * samples.len() as f64 / whole_ns as f64).min(1.0))
}

/// Indices of stacks, each with what it stands for.
pub(super) struct Weighed(Vec<(u32, i64)>);

impl Weighed {
    pub(super) const fn new(stacks: Vec<(u32, i64)>) -> Self {
        Self(stacks)
    }

    /// Every so many of them, each for as many as are left out, so that no more frames than that are looked at.
    fn within(self, stacks: &CpuSamples, most_frames: usize) -> Self {
        let frames = self.0.iter().map(|(stack, _)| stacks.stack(*stack as usize).len()).sum::<usize>();
        let every = frames.div_ceil(most_frames.max(1));
        if every < 2 {
            return self;
        }
        Self(self.0.into_iter().step_by(every).map(|(stack, weight)| (stack, weight * every as i64)).collect())
    }

    /// Samples, each of which counts once.
    pub(super) fn samples(samples: &[u32]) -> Self {
        Self(samples.iter().map(|sample| (*sample, 1)).collect())
    }
}

/// What lies in a function.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// In it or in what it calls.
    weight: i64,
    /// In itself.
    innermost: i64,
    /// One more than the last stack that was counted: a function that calls itself counts once.
    last: usize,
}

/// Stacks, counted by function.
pub(super) struct Profile<'all> {
    timeline: &'all Timeline,
    stacks: &'all CpuSamples,
    weighed: Weighed,
    whole: i64,
    /// By the index of the function.
    held: HashMap<u32, Held>,
    /// A function is told when at least this part of the weight lies in it, in percent.
    least_percent: i64,
    /// Whether the beginning of a program may be told.
    tells_entries: bool,
}

impl<'all> Profile<'all> {
    pub(super) fn new(timeline: &'all Timeline, stacks: &'all CpuSamples, weighed: Weighed) -> Self {
        let weighed = weighed.within(stacks, MAX_FRAMES_OF_ALL / timeline.devices.len().max(1));
        let mut held: HashMap<u32, Held> = HashMap::default();
        for (number, (stack, weight)) in (1..).zip(&weighed.0) {
            for (depth, frame) in stacks.stack(*stack as usize).iter().enumerate() {
                let held = held.entry(*frame).or_default();
                held.innermost += if depth == 0 { *weight } else { 0 };
                held.weight += if held.last == number { 0 } else { *weight };
                held.last = number;
            }
        }
        let whole = weighed.0.iter().map(|(_, weight)| *weight).sum();
        Self { timeline, stacks, weighed, whole, held, least_percent: MIN_PERCENT, tells_entries: false }
    }

    /// Tells of functions that hold less than most of it.
    pub(super) const fn with_least_percent(mut self, percent: i64) -> Self {
        self.least_percent = percent;
        self
    }

    /// Tells of `main`, too, where nothing further in can be told.
    pub(super) fn with_entries(mut self) -> Self {
        self.tells_entries = true;
        self
    }

    /// The same of the stacks that reach the beginning of the program, where most tell nothing but their innermost function, and that
    /// lies in the same files: what the one are called by, the others are.
    pub(super) fn of_whole_stacks(&self) -> Option<Self> {
        let is_whole = |stack: &[u32]| stack.len() > 1 && stack.iter().any(|function| self.traits(*function).is_entry);
        let (mut whole, mut cut_weight) = (Vec::new(), 0);
        let mut files: BTreeMap<NameId, [i64; 2]> = BTreeMap::new();
        for (stack, weight) in &self.weighed.0 {
            let functions = self.stacks.stack(*stack as usize);
            let Some(first) = functions.first() else { continue };
            let is_whole = is_whole(functions);
            if is_whole {
                whole.push((*stack, *weight));
            } else if functions.len() == 1 {
                cut_weight += weight;
            } else {
                continue;
            }
            files.entry(self.frame(*first).module).or_default()[usize::from(is_whole)] += weight;
        }
        let whole_weight: i64 = whole.iter().map(|(_, weight)| *weight).sum();
        let share = |weight: i64, of: i64| weight as f64 / of.max(1) as f64;
        let alike = files.values().map(|[cut, whole]| share(*cut, cut_weight).min(share(*whole, whole_weight)));
        let is_enough = whole.len() >= MIN_WHOLE_STACKS && 2 * cut_weight >= self.whole;
        (is_enough && alike.sum::<f64>() >= ALIKE_SHARE)
            .then(|| Self::new(self.timeline, self.stacks, Weighed::new(whole)))
    }

    /// The functions that call everything else: nearly all lies in them, and nearly nothing in themselves.
    pub(super) fn roots(&self) -> HashSet<(NameId, NameId)> {
        let is_root = |held: &Held| {
            100 * held.weight >= ROOT_PERCENT * self.whole && 100 * held.innermost <= (100 - ROOT_PERCENT) * self.whole
        };
        let roots = self.held.iter().filter(|(_, held)| is_root(held));
        roots.map(|(function, _)| self.frame(*function)).map(|frame| (frame.function, frame.module)).collect()
    }

    /// The functions of the program that call CUDA in most of the stacks, all of which lie in calls of it.
    pub(super) fn callers_of_cuda(&self) -> HashSet<(NameId, NameId)> {
        let is_cuda = |function: u32| self.traits(function).is_in_cuda;
        let mut held: HashMap<Frame, (usize, i64)> = HashMap::default();
        for (number, (stack, weight)) in self.weighed.0.iter().enumerate() {
            let stack = self.stacks.stack(*stack as usize);
            let outside = stack.iter().rposition(|function| is_cuda(*function)).map_or(0, |last| last + 1);
            for function in &stack[outside..] {
                let (last, sum) = held.entry(self.frame(*function)).or_insert((usize::MAX, 0));
                // A function that calls itself counts once.
                if *last != number {
                    (*last, *sum) = (number, *sum + weight);
                }
            }
        }
        let most = held.into_iter().filter(|(_, (_, weight))| 2 * weight > self.whole);
        most.map(|(frame, _)| (frame.function, frame.module)).collect()
    }

    pub(super) fn frame(&self, function: u32) -> Frame {
        self.stacks.frames.get(function as usize).copied().unwrap_or(Frame { function: NONE, module: NONE })
    }

    fn held(&self, function: u32) -> Held {
        self.held.get(&function).copied().unwrap_or_default()
    }

    /// What lies in a function or in what it calls.
    pub(super) fn weight(&self, function: u32) -> i64 {
        self.held(function).weight
    }

    /// The part that lies in a function or in what it calls.
    pub(super) fn share(&self, function: u32) -> f64 {
        self.held(function).weight as f64 / self.whole.max(1) as f64
    }

    /// The part that lies in a function itself.
    pub(super) fn self_share(&self, function: u32) -> f64 {
        self.held(function).innermost as f64 / self.whole.max(1) as f64
    }

    /// The part of all that lies in any of the functions which fit.
    pub(super) fn share_in(&self, fits: impl Fn(Frame) -> bool) -> f64 {
        let fitting: HashSet<u32> = self.held.keys().copied().filter(|function| fits(self.frame(*function))).collect();
        let is_in = |stack: u32| self.stacks.stack(stack as usize).iter().any(|function| fitting.contains(function));
        let held: i64 = self.weighed.0.iter().filter(|(stack, _)| is_in(*stack)).map(|(_, weight)| *weight).sum();
        held as f64 / self.whole.max(1) as f64
    }

    pub(super) fn name(&self, function: u32) -> String {
        name_of(self.timeline, self.stacks, Some(self.frame(function)))
    }

    /// The file of a function, without its folder.
    pub(super) fn file(&self, function: u32) -> Option<&'all str> {
        let module = self.frame(function).module;
        (module != NONE).then(|| file_name(self.timeline.name(module)))
    }

    /// Whether a function belongs to the program itself, not to a library.
    pub(super) fn is_of_program(&self, frame: Frame) -> bool {
        modules::is_program(file_of(self.timeline, frame))
    }

    /// The deepest function that fits and that most lies in.
    pub(super) fn deepest(&self, fits: impl Fn(Frame) -> bool) -> Option<u32> {
        self.innermost(fits, |stack| stack).map(|(function, _)| function)
    }

    /// What the name and the file of a function tell.
    fn traits(&self, function: u32) -> FrameTraits {
        self.stacks.traits(&self.timeline.names).of(function)
    }

    /// The function that tells and that most stacks with a function name as the first around it, and in how many of those that
    /// name any: a stack may be cut off.
    pub(super) fn program_caller(&self, function: u32) -> Option<(u32, f64)> {
        let mut votes: BTreeMap<u32, i64> = BTreeMap::new();
        for (stack, weight) in &self.weighed.0 {
            let mut stack = self.stacks.stack(*stack as usize).iter().copied();
            if stack.any(|frame| frame == function)
                && let Some(caller) = stack.find(|caller| self.traits(*caller).is_telling)
            {
                *votes.entry(caller).or_default() += weight;
            }
        }
        let all: i64 = votes.values().sum();
        let (caller, most) = votes.into_iter().max_by_key(|(caller, votes)| (*votes, Reverse(*caller)))?;
        Some((caller, most as f64 / all.max(1) as f64))
    }

    /// The functions that tell, by how much of all they are the innermost of, most first: no two share any of it. What the system does
    /// counts for who asks for it, what the profiler does for nobody, and what nothing but the beginning of the program asks for neither.
    pub(super) fn innermost_telling(&self) -> Vec<(u32, f64)> {
        let mut weights: BTreeMap<u32, i64> = BTreeMap::new();
        for (stack, weight) in &self.weighed.0 {
            let stack = self.stacks.stack(*stack as usize).iter().copied();
            let first = stack.map(|function| (function, self.traits(function)));
            let first = first.clone().find(|(_, traits)| traits.is_telling || traits.is_profiler);
            let is_own = |(_, traits): &(u32, FrameTraits)| !traits.is_profiler && !traits.is_entry;
            if let Some((function, _)) = first.filter(is_own) {
                *weights.entry(function).or_default() += weight;
            }
        }
        let mut weights: Vec<(u32, i64)> = weights.into_iter().collect();
        weights.sort_by_key(|(function, weight)| (Reverse(*weight), *function));
        weights.into_iter().map(|(function, weight)| (function, weight as f64 / self.whole.max(1) as f64)).collect()
    }

    /// The deepest function of another file that most lies in, where it calls a function in most of that.
    pub(super) fn caller_of(&self, function: u32) -> Option<u32> {
        let module = self.frame(function).module;
        let callers = |stack: &'all [u32]| {
            let index = stack.iter().position(|frame| *frame == function);
            index.map_or(&[][..], |index| &stack[index + 1..])
        };
        let caller = self.innermost(|frame| frame.module != module && frame.module != NONE, callers);
        caller.filter(|(_, votes)| 2 * votes > self.held(function).weight).map(|(caller, _)| caller)
    }

    /// The deepest file that most lies in, and how much of all; not those that others ask for something.
    pub(super) fn module(&self) -> Option<(NameId, f64)> {
        self.module_with(MIN_PERCENT).map(|(module, share, _)| (module, share))
    }

    /// The same of a file that holds much, where no other file tells of more than a little: the rest is an interpreter's.
    pub(super) fn main_module(&self) -> Option<(NameId, f64)> {
        let found = self.module_with(MIN_PERCENT_BESIDE_INTERPRETER);
        found.filter(|(_, share, others)| 4.0 * others <= *share).map(|(module, share, _)| (module, share))
    }

    /// The deepest file that so much lies in, how much of all, and in how much another is the innermost that tells.
    fn module_with(&self, least_percent: i64) -> Option<(NameId, f64, f64)> {
        let mut held: BTreeMap<NameId, i64> = BTreeMap::new();
        let mut innermost: BTreeMap<NameId, i64> = BTreeMap::new();
        let frames_of = |stack: u32| self.stacks.stack(stack as usize).iter().copied();
        let is_telling = |function: &u32| {
            let traits = self.traits(*function);
            !traits.is_plumbing && !self.is_entry(traits)
        };
        for (stack, weight) in &self.weighed.0 {
            let modules: Vec<NameId> =
                frames_of(*stack).filter(is_telling).map(|function| self.frame(function).module).collect();
            if let Some(first) = modules.first() {
                *innermost.entry(*first).or_default() += weight;
            }
            for module in modules.into_iter().collect::<BTreeSet<_>>() {
                *held.entry(module).or_default() += weight;
            }
        }
        let most = held.into_iter().filter(|(_, weight)| weight * 100 >= self.whole * least_percent);
        let (main, _) =
            most.max_by_key(|(module, weight)| (innermost.get(module).copied(), *weight, Reverse(*module)))?;
        // All that lies in the file, the beginning of the program and what has no name among it.
        let is_in = |stack: u32| frames_of(stack).any(|function| self.frame(function).module == main);
        let held: i64 = self.weighed.0.iter().filter(|(stack, _)| is_in(*stack)).map(|(_, weight)| *weight).sum();
        let others: i64 = innermost.iter().filter(|(module, _)| **module != main).map(|(_, weight)| *weight).sum();
        let share = |weight: i64| weight as f64 / self.whole.max(1) as f64;
        Some((main, share(held), share(others)))
    }

    /// Among the functions that fit and that most lies in, the one that is the innermost in most stacks, and in how much of
    /// them; `part` is what of a stack is looked at.
    fn innermost(&self, fits: impl Fn(Frame) -> bool, part: impl Fn(&'all [u32]) -> &'all [u32]) -> Option<(u32, i64)> {
        let is_candidate = |function: u32| {
            let (frame, held) = (self.frame(function), self.held(function));
            held.weight * 100 >= self.whole * self.least_percent && fits(frame) && self.tells(function, held)
        };
        let candidates: BTreeSet<u32> = self.held.keys().copied().filter(|function| is_candidate(*function)).collect();
        let mut votes: BTreeMap<u32, i64> = BTreeMap::new();
        for (stack, weight) in &self.weighed.0 {
            let mut stack = part(self.stacks.stack(*stack as usize)).iter().copied();
            if let Some(function) = stack.find(|function| candidates.contains(function)) {
                *votes.entry(function).or_default() += weight;
            }
        }
        votes.into_iter().max_by_key(|(function, votes)| (*votes, self.held(*function).weight, Reverse(*function)))
    }

    const fn is_entry(&self, traits: FrameTraits) -> bool {
        traits.is_entry && !(self.tells_entries && traits.is_program_entry)
    }

    /// Whether the name of a function says what is done: that of a program's beginning only where most of it is in itself.
    fn tells(&self, function: u32, held: Held) -> bool {
        let name = self.timeline.name(self.frame(function).function);
        let is_entry = self.is_entry(self.traits(function)) && 2 * held.innermost < self.whole;
        !name.is_empty() && !is_entry && !modules::is_of_interpreter(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_frames_than_are_counted_every_so_many_stacks_stand_for_all() {
        let mut stacks =
            CpuSamples::new(vec![Frame { function: 0, module: NONE }, Frame { function: 1, module: NONE }]);
        for sample in 0..1_000 {
            let stack = if sample % 4 == 3 { vec![1, 0] } else { vec![0, 0] };
            stacks.push(0, sample, stack.into_iter());
        }
        let samples: Vec<u32> = (0..1_000).collect();
        let within = |most_frames: usize| Weighed::samples(&samples).within(&stacks, most_frames).0;
        assert_eq!(within(2_000).len(), 1_000);
        let some = within(300);
        let (weight, frames) = (some.iter().map(|(_, weight)| weight).sum::<i64>(), 2 * some.len());
        assert!(frames <= 300 && (995..1_010).contains(&weight), "{frames}, {weight}");
    }
}
