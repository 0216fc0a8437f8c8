//! Steps told from ranges that repeat: the outermost that holds most of the GPU work, before all those that are called steps.

pub(super) mod warm_up;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::launches::Launches;
use super::sequence;
use super::step::{Certainty, MIN_STEP_COUNT, Step, Steps, ToldBy};
use crate::text::cut;
use crate::timeline::columns::RangeKind;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, OPTIMIZER_STEP, Timeline};

/// From the first to the last step, they launch at least this share of the work there.
const NAMED_INSIDE_SHARE: f64 = 0.5;
/// The same of ranges that are not called steps.
const UNNAMED_INSIDE_SHARE: f64 = 0.8;
/// The share of all work that lies between the first and the last step: what comes before may be much.
const NAMED_WORK_SHARE: f64 = 0.1;
/// The same of ranges that are not called steps.
const UNNAMED_WORK_SHARE: f64 = 0.5;
/// A first range that takes so many times as long as the second one is its warm-up.
const WARM_UP_RATIO: i64 = 3;
/// A warm-up keeps the device busy for a smaller part of its time than what it warms up: this part of that at most.
const MOST_BUSY_OF_WARM_UP: f64 = 0.9;
/// What repeats more often than this within one range is what the program is about, and the range its `main`.
const MAX_PART_COUNT: usize = 10;
/// Of two ranges that hold nearly the same work, within this share, the outer one is the step.
const SAME_WORK_SHARE: f64 = 0.05;

/// A range that launched this share of the work launched all of it.
const WHOLE_WORK_SHARE: f64 = 0.95;
/// What a request computes beside its loop, at least, so that the loop is a part of it.
const BESIDE_WORK_SHARE: f64 = 0.1;

/// How much a name sounds like a step, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It says so.
    Step,
    /// What many programs call one round of their work.
    Round,
    /// A round that holds others.
    Epoch,
    /// Anything else.
    Other,
    /// A part of a step.
    Part,
    /// An operator of a framework.
    Operator,
}

const STEPS: [&str; 5] = ["step", "steps", "timestep", "iter", "iteration"];
const ROUNDS: [&str; 7] = ["batch", "minibatch", "token", "frame", "request", "round", "cycle"];
/// How the names of ranges of communication begin: what one process says to others is a part of a step.
const COMMUNICATION: [&str; 6] = ["nccl:", "gloo:", "hccl:", "xccl:", "ucc:", "record_param_comms"];
/// What repeats inside a step, however often.
const PARTS: [&str; 16] = [
    "layer",
    "layers",
    "block",
    "blocks",
    "head",
    "stage",
    "expert",
    "bucket",
    "chunk",
    "tile",
    "optimizer",
    "scheduler",
    "forward",
    "backward",
    "microbatch",
    "module",
];

/// What ranges are called, and what that says. Groups of many threads may be called the same: it is found out once.
#[derive(Debug, Clone)]
struct Called {
    /// Without numbers.
    name: Arc<str>,
    rank: Rank,
    is_warm_up: bool,
    /// It has `steps` in what is looked at of its name: one such range is the whole loop.
    names_steps: bool,
    /// What it warms up by its name, or which warm-ups are called the same but for one word, where there are any.
    pass: Option<Arc<[warm_up::ButOneWord]>>,
}

/// What tells stands in so much of a name.
const MAX_NAME_BYTES: usize = 256;

impl Called {
    fn new(name: Arc<str>, kind: RangeKind) -> Self {
        let told = cut::to_bytes(&name, MAX_NAME_BYTES);
        let rank = match kind {
            RangeKind::Nvtx | RangeKind::Annotation => rank(told),
            RangeKind::Operator | RangeKind::Library | RangeKind::PythonFrame => Rank::Operator,
        };
        let is_warm_up = is_warm_up(told);
        let names_steps = told.to_ascii_lowercase().contains("steps");
        Self { rank, is_warm_up, names_steps, name, pass: None }
    }
}

/// The ranges of one thread that are called the same, their numbers left out.
#[derive(Debug)]
struct Group {
    called: Called,
    thread: u32,
    process: u32,
    hosts: Vec<Interval>,
    /// Whether a name with other numbers came a second time: what is counted anew lies in something that repeats.
    counts_anew: bool,
    /// The label of the first, and those of others: most names come once on a thread.
    first_label: u32,
    seen: HashSet<u32>,
}

/// The ranges of a recording that may be steps, for all of its devices.
#[derive(Debug)]
pub struct Marks(Vec<Group>);

impl Marks {
    /// All but those that are parts of a step; of these the steps of optimizers, which tell where a step ends. All of them where steps are called warm-up: what comes after it may have no name but
    /// that of a part.
    pub fn new(timeline: &Timeline) -> Self {
        let mut plain = Plain::new(timeline);
        let warms_up = plain.names.iter().any(|called| called.rank <= Rank::Part && called.is_warm_up);
        let most = if warms_up { Rank::Part } else { Rank::Other };
        if warms_up {
            warm_up::tell_passes(&mut plain.names);
        }
        Self(groups(timeline, plain, |called| called.rank <= most || called.name.starts_with(OPTIMIZER_STEP)))
    }

    /// Those of the process that launches, without parts of steps.
    fn of<'all>(&'all self, launches: &Launches) -> impl Iterator<Item = &'all Group> {
        self.with_parts(launches).filter(|group| group.called.rank < Rank::Part)
    }

    /// How many of the steps of a process, the first ones, begin while it says that it warms up.
    pub fn warm_up_count(&self, process: u32, steps: &[Step]) -> usize {
        let warm_up = self.0.iter().filter(|group| group.process == process && group.called.is_warm_up);
        let warm_up = Union::of(warm_up.flat_map(|group| group.hosts.iter().copied()));
        let begins_in = |step: &&Step| warm_up.overlap_ns(Interval::new(step.host.start, step.host.start + 1)) > 0;
        steps.iter().take_while(begins_in).count()
    }

    fn with_parts<'all>(&'all self, launches: &Launches) -> impl Iterator<Item = &'all Group> {
        let process = launches.process;
        self.0.iter().filter(move |group| group.process == process)
    }
}

/// The steps that ranges tell.
pub(super) fn find(marks: &Marks, launches: &Launches) -> Option<Steps> {
    let groups = marks.of(launches);
    let groups: Vec<(&Group, i64)> =
        groups.filter_map(|group| group.work_ns(launches).map(|work| (group, work))).collect();
    let (warm_up, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(group, _)| group.called.is_warm_up);
    let found = main_of(others, launches).or_else(|| {
        let warm_up = main_of(warm_up, launches)?;
        Some(warm_up::behind(marks, launches, &warm_up).unwrap_or(warm_up))
    });
    found.map(|steps| Steps { warm_from: warm_up::end_before(marks, launches, &steps), ..steps })
}

/// Of ranges that may be steps, with the work that each holds, those that are.
fn main_of(mut groups: Vec<(&Group, i64)>, launches: &Launches) -> Option<Steps> {
    let rank = groups.iter().map(|(group, _)| group.called.rank).min()?;
    groups.retain(|(group, _)| group.called.rank == rank);
    let most = groups.iter().map(|(_, work)| *work).max()?;
    groups.retain(|(_, work)| *work as f64 >= (1.0 - SAME_WORK_SHARE) * most as f64);
    let (group, work) = groups.into_iter().min_by_key(|(group, work)| (group.hosts.len(), Reverse(*work)))?;
    let certainty = if group.called.rank == Rank::Other { Certainty::Medium } else { Certainty::High };
    let steps = group.steps(launches, certainty, work).filter(|steps| steps.steps.len() >= MIN_STEP_COUNT)?;
    // One thing that is measured in many sizes is no step.
    let is_sweep = group.called.rank == Rank::Other && sequence::is_sweep(launches, &steps.steps);
    (!is_sweep).then_some(steps)
}

/// Whether ranges that are called steps hold half of the work, too few of them to show what repeats: what repeats within them
/// is then a part of a step.
pub(super) fn has_few_steps(marks: &Marks, launches: &Launches) -> bool {
    let mut all = marks.of(launches).filter(|group| group.called.rank == Rank::Step);
    // One range around the whole loop is no step.
    let is_loop = |group: &Group| group.hosts.len() == 1 && group.called.names_steps;
    all.any(|group| {
        let inside_ns = || launches.work_in_all_ns(&group.hosts);
        group.hosts.len() < MIN_STEP_COUNT
            && !is_loop(group)
            && inside_ns() as f64 >= UNNAMED_WORK_SHARE * launches.all_work_ns() as f64
    })
}

/// Whether steps are parts of one request: a range that the program enters once launched all the work, that of the steps and a good
/// part before and after them. What lies beside them is then no warm-up.
pub(super) fn are_parts_of_one(marks: &Marks, launches: &Launches, steps: &Steps) -> bool {
    let (Some(first), Some(last)) = (steps.steps.first(), steps.steps.last()) else { return false };
    let all_ns = launches.all_work_ns();
    let beside_ns = all_ns - launches.work_ns(Interval::new(first.host.start, last.host.end));
    steps.told_by == ToldBy::Range
        && steps.steps.len() <= MAX_PART_COUNT
        && beside_ns as f64 >= BESIDE_WORK_SHARE * all_ns as f64
        && marks.of(launches).any(|group| {
            let [whole] = group.hosts[..] else { return false };
            launches.work_ns(whole) as f64 >= WHOLE_WORK_SHARE * all_ns as f64
        })
}

/// Rounds that launches tell, as steps that end with the step of the program's one optimizer: none of them begins amid another. Where
/// the optimizer's steps are more than the rounds, networks take turns in these.
pub(super) fn of_optimizer(marks: &Marks, launches: &Launches, rounds: &Steps) -> Option<Steps> {
    let mut all = marks.with_parts(launches).filter(|group| group.called.name.starts_with(OPTIMIZER_STEP));
    let (group, None) = (all.next()?, all.next()) else { return None };
    // The recording may begin and end amid a round.
    if !(MIN_STEP_COUNT..=rounds.steps.len() + 2).contains(&group.hosts.len()) {
        return None;
    }
    let first = launches.all().first()?.at;
    let begins = std::iter::once(first).chain(group.hosts.iter().map(|host| host.end));
    let hosts: Vec<Interval> =
        begins.zip(&group.hosts).map(|(begin, host)| Interval::new(begin.min(host.start), host.end)).collect();
    let work_ns = launches.work_in_all_ns(&hosts);
    let of_hosts = Group::new(&group.called, (group.thread, group.process));
    let steps = Group { hosts, ..of_hosts }.steps(launches, Certainty::High, work_ns)?;
    let is_most = work_ns as f64 >= UNNAMED_WORK_SHARE * launches.all_work_ns() as f64;
    (is_most && steps.steps.len() >= MIN_STEP_COUNT).then_some(Steps { told_by: ToldBy::Optimizer, ..steps })
}

/// The steps that the user names: with or without its numbers.
pub(super) fn named(timeline: &Timeline, launches: &Launches, name: &str) -> Option<Steps> {
    let wanted = without_numbers(name);
    let groups = groups(timeline, Plain::new(timeline), |called| *called.name == wanted).into_iter();
    let groups = groups.filter(|group| group.process == launches.process);
    let inside_ns = |group: &Group| launches.work_in_all_ns(&group.hosts);
    let group = groups.max_by_key(inside_ns)?;
    let work_ns = inside_ns(&group);
    group.steps(launches, Certainty::High, work_ns)
}

/// When the second of two like ranges begins that hold most of the work, the first of which takes far longer: it loads, compiles
/// and tries what the second one uses.
pub(super) fn second_run(marks: &Marks, launches: &Launches) -> Option<i64> {
    let second_of = |group: &Group| {
        let [first, second] = group.hosts[..] else { return None };
        let (first_ns, second_ns) = (launches.work_ns(first), launches.work_ns(second));
        let work_ns = first_ns.saturating_add(second_ns);
        let busy = |host: Interval, work_ns: i64| work_ns as f64 / host.len_ns().max(1) as f64;
        let is_warm_up = first.len_ns() >= second.len_ns().saturating_mul(WARM_UP_RATIO)
            && second_ns > 0
            && busy(first, first_ns) <= MOST_BUSY_OF_WARM_UP * busy(second, second_ns)
            && work_ns as f64 >= UNNAMED_WORK_SHARE * launches.all_work_ns() as f64;
        is_warm_up.then_some((work_ns, Reverse(second.start)))
    };
    marks.of(launches).filter_map(second_of).max().map(|(_, second)| second.0)
}

/// The names that `--step` may give, each once.
pub fn names(timeline: &Timeline) -> Vec<String> {
    let ids: HashSet<NameId> = timeline.ranges.labels.iter().map(|label| label.name).collect();
    let names: BTreeSet<String> = ids.into_iter().map(|id| without_numbers(timeline.name(id))).collect();
    names.into_iter().collect()
}

/// What ranges are called, without their numbers.
struct Plain {
    /// By label, the index of its name.
    of_label: Vec<usize>,
    names: Vec<Called>,
}

impl Plain {
    fn new(timeline: &Timeline) -> Self {
        let mut indices: HashMap<Arc<str>, usize> = HashMap::default();
        // A name may have a label in each of many domains.
        let mut of_name: HashMap<NameId, usize> = HashMap::default();
        let mut plain = Self { of_label: Vec::new(), names: Vec::new() };
        for label in &timeline.ranges.labels {
            if let Some(index) = of_name.get(&label.name) {
                plain.of_label.push(*index);
                continue;
            }
            let name: Arc<str> = without_numbers(timeline.name(label.name)).into();
            let index = *indices.entry(Arc::clone(&name)).or_insert_with(|| {
                plain.names.push(Called::new(name, label.kind));
                plain.names.len() - 1
            });
            of_name.insert(label.name, index);
            plain.of_label.push(index);
        }
        plain
    }
}

/// The ranges by thread and name.
fn groups(timeline: &Timeline, plain: Plain, is_meant: impl Fn(&Called) -> bool) -> Vec<Group> {
    let Plain { of_label, names } = plain;
    // Most ranges of a large recording are parts: they are passed over at once.
    let is_meant: Vec<bool> = names.iter().map(&is_meant).collect();
    let meant: Vec<Option<usize>> =
        of_label.into_iter().map(|name| Some(name).filter(|name| is_meant.get(*name) == Some(&true))).collect();
    let mut groups = Vec::new();
    for ranges in &timeline.ranges.threads {
        let process = timeline.process_of(ranges.thread);
        let mut index_of: HashMap<usize, usize> = HashMap::default();
        for (row, label) in ranges.label.iter().enumerate() {
            let Some(name) = meant.get(*label as usize).copied().flatten() else { continue };
            let index = *index_of.entry(name).or_insert_with(|| {
                groups.push(Group::new(&names[name], (ranges.thread, process)));
                groups.len() - 1
            });
            groups[index].add(ranges.times.at(row), *label);
        }
    }
    groups
}

impl Group {
    fn new(called: &Called, (thread, process): (u32, u32)) -> Self {
        let (called, hosts, seen) = (called.clone(), Vec::with_capacity(1), HashSet::default());
        Self { called, thread, process, hosts, counts_anew: false, first_label: NONE, seen }
    }

    /// Adds a range; one inside the last is a part of it.
    fn add(&mut self, host: Interval, label: u32) {
        if self.hosts.last().is_some_and(|last| host.start < last.end) {
            return;
        }
        self.hosts.push(host);
        if self.hosts.len() == 1 {
            self.first_label = label;
        } else if (label == self.first_label || !self.seen.insert(label)) && !self.seen.is_empty() {
            self.counts_anew = true;
        }
    }

    /// Those of them that begin at a moment or later.
    fn after(&self, start: i64) -> Self {
        let hosts = self.hosts.iter().copied().filter(|host| host.start >= start).collect();
        Self { hosts, ..Self::new(&self.called, (self.thread, self.process)) }
    }

    /// How long the operations ran that they launched, when they may be steps.
    fn work_ns(&self, launches: &Launches) -> Option<i64> {
        let is_named = self.called.rank != Rank::Other;
        if self.hosts.len() < MIN_STEP_COUNT || (!is_named && self.counts_anew) {
            return None;
        }
        let hull = Interval::new(self.hosts.first()?.start, self.hosts.last()?.end);
        let (mut inside, mut launching) = (0, 0);
        for (_, launched) in launches.each(self.hosts.iter().copied()) {
            launching += usize::from(!launched.is_empty());
            inside += launches.work_between(launched.start, launched.end);
        }
        let (least_inside, least_work) =
            if is_named { (NAMED_INSIDE_SHARE, NAMED_WORK_SHARE) } else { (UNNAMED_INSIDE_SHARE, UNNAMED_WORK_SHARE) };
        let is_step = launching >= MIN_STEP_COUNT
            && 2 * launching >= self.hosts.len()
            && inside as f64 >= least_inside * launches.work_ns(hull) as f64
            && inside as f64 >= least_work * launches.all_work_ns() as f64;
        is_step.then_some(inside)
    }

    fn steps(&self, launches: &Launches, certainty: Certainty, work_ns: i64) -> Option<Steps> {
        let steps = Steps::of_hosts(launches, ToldBy::Range, self.hosts.iter().copied());
        let work_share = work_ns as f64 / launches.all_work_ns().max(1) as f64;
        (!steps.is_empty()).then_some(Steps {
            name: self.called.name.to_string(),
            told_by: ToldBy::Range,
            certainty,
            thread: self.thread,
            process: self.process,
            steps,
            work_share,
            warm_from: None,
        })
    }
}

/// Words of which each says that a range warms something up, and those that say so in this order.
const WARM_UP: [&str; 2] = ["warmup", "prewarm"];
const WARM_UP_PAIR: [&str; 2] = ["warm", "up"];

/// Whether a range says by its name that it warms up.
fn is_warm_up(plain: &str) -> bool {
    let words = words(plain);
    words.iter().any(|word| WARM_UP.contains(&word.as_str())) || words.windows(2).any(|pair| pair == WARM_UP_PAIR)
}

/// How much a name without its numbers sounds like a step.
fn rank(plain: &str) -> Rank {
    let words = words(plain);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    if plain.contains("::") || COMMUNICATION.iter().any(|begin| plain.starts_with(begin)) {
        Rank::Operator
    } else if has(&PARTS) {
        Rank::Part
    } else if has(&STEPS) {
        Rank::Step
    } else if has(&ROUNDS) && !has(&["norm"]) {
        Rank::Round
    } else if has(&["epoch"]) {
        Rank::Epoch
    } else {
        Rank::Other
    }
}

/// A text with its numbers taken out: `ProfilerStep#7` and `step 12 of 90` are told by what stays.
pub fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_ascii_digit() {
            plain.push(character);
        } else if !plain.ends_with('#') {
            plain.push('#');
        }
    }
    plain
}

/// The words of a name, in lower case: `ProfilerStep#`, `train_step` and `step # of #` all have `step`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_lower = false;
    for character in name.chars() {
        if !character.is_ascii_alphabetic() || (character.is_ascii_uppercase() && before_is_lower) {
            words.push(String::new());
        }
        before_is_lower = character.is_ascii_lowercase();
        if let (true, Some(word)) = (character.is_ascii_alphabetic(), words.last_mut()) {
            word.push(character.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_by_whole_words() {
        for (name, expected) in [
            ("ProfilerStep#7", Rank::Step),
            ("train_step", Rank::Step),
            ("Iteration 12", Rank::Step),
            ("step 3 of 90", Rank::Step),
            ("batch 4", Rank::Round),
            ("token_7_processing", Rank::Round),
            ("epoch 2", Rank::Epoch),
            ("BatchNorm2d", Rank::Other),
            ("batchnorm0", Rank::Other),
            ("log writer", Rank::Other),
            ("layer_3_step", Rank::Part),
            ("Optimizer.step#Adam.step", Rank::Part),
            ("aten::step", Rank::Operator),
            ("nccl:all_to_all", Rank::Operator),
        ] {
            assert_eq!(rank(&without_numbers(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_warm_up_is_told_by_its_name() {
        for name in ["Warm-up Step #", "warmup", "WarmUp #", "warm_up_iter", "prewarm"] {
            assert!(is_warm_up(name), "{name}");
        }
        for name in ["warm", "step #", "up", "warmth up"] {
            assert!(!is_warm_up(name), "{name}");
        }
    }

    #[test]
    fn numbers_are_no_part_of_a_step_name() {
        assert_eq!(without_numbers("ProfilerStep#17"), "ProfilerStep#");
        assert_eq!(without_numbers("step 3 of 90"), "step # of #");
    }
}
