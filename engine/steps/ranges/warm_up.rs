//! What ranges that are called warm-up say of the steps behind them.

use std::cmp::Reverse;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::RandomState;
use foldhash::{HashMap, HashSet};

use super::{Called, Group, MAX_NAME_BYTES, Marks, UNNAMED_INSIDE_SHARE, WARM_UP, WARM_UP_PAIR, words};
use crate::steps::Launches;
use crate::steps::phases::MAX_WARM_UP_STEPS;
use crate::steps::step::{Certainty, MIN_STEP_COUNT, Steps};
use crate::text::cut;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// What tells stands in so many words of a name.
const MAX_WORDS: usize = 16;

/// What repeats after steps that are called warm-up: the outermost range that launches nearly all of the work there.
pub(super) fn behind(marks: &Marks, launches: &Launches, warm_up: &Steps) -> Option<Steps> {
    let end = warm_up.steps.iter().map(|step| step.host.end).max()?;
    let after_ns = launches.work_ns(Interval::new(end, i64::MAX));
    let groups = marks.with_parts(launches).filter(|group| !group.called.is_warm_up);
    let later: Vec<Group> = groups.map(|group| group.after(end)).collect();
    let inside_ns = |group: &Group| launches.work_in_all_ns(&group.hosts);
    let holds = later.iter().map(|group| (group, inside_ns(group))).filter(|(group, inside_ns)| {
        group.hosts.len() >= MIN_STEP_COUNT && *inside_ns as f64 >= UNNAMED_INSIDE_SHARE * after_ns as f64
    });
    let (group, work_ns) = holds.min_by_key(|(group, work_ns)| (group.hosts.len(), Reverse(*work_ns)))?;
    // The program itself says that what comes before is warm-up.
    group.steps(launches, Certainty::High, work_ns).filter(|steps| steps.steps.len() >= MIN_STEP_COUNT)
}

/// When the last range ends that the program calls warm-up and that launches what steps behind it do. `None` where it calls none so, or
/// where the first steps behind it launch kernels that had not run before.
pub(super) fn end_before(marks: &Marks, launches: &Launches, steps: &Steps) -> Option<i64> {
    let last = steps.steps.last()?.host.start;
    let warm_up = marks.with_parts(launches).filter(|group| group.called.is_warm_up);
    let hosts = warm_up.flat_map(|group| group.hosts.iter());
    let end = hosts.filter(|host| host.end <= last && launches.work_ns(**host) > 0).map(|host| host.end).max()?;
    let before = launches.within(Interval::new(i64::MIN, end));
    let known: HashSet<u32> = before.iter().map(|launch| launch.symbol).collect();
    let behind = steps.steps.iter().filter(|step| step.host.start >= end).take(MAX_WARM_UP_STEPS);
    let mut kernels = behind.flat_map(|step| launches.within(step.host)).filter(|launch| launch.is_kernel);
    kernels.all(|launch| known.contains(&launch.symbol)).then_some(end)
}

/// The range of a program that measures one pass after one that it calls warm-up: both are called the same but for that word, as
/// `warmup|forward` and `measure|forward`, and launch about as much. The later of several.
pub(in crate::steps) fn measured(timeline: &Timeline, marks: &Marks, launches: &Launches) -> Option<Interval> {
    let mut warm_up: HashMap<ButOneWord, Vec<(i64, usize)>> = HashMap::default();
    for group in marks.with_parts(launches).filter(|group| group.called.is_warm_up) {
        let runs = || group.hosts.iter().map(|host| (host.end, launches.count(*host)));
        passes(group).for_each(|pass| warm_up.entry(*pass).or_default().extend(runs()));
    }
    for runs in warm_up.values_mut() {
        runs.sort_unstable();
        // The most that any launched which had ended by then.
        let mut most = 0;
        for (_, count) in runs.iter_mut() {
            most = most.max(*count);
            *count = most;
        }
    }
    let follows = |host: Interval, group: &Group| {
        let mut earlier = passes(group).filter_map(|pass| {
            let runs = warm_up.get(pass)?;
            let ended = runs.partition_point(|(end, _)| *end <= host.start);
            runs.get(ended.checked_sub(1)?)
        });
        earlier.any(|(_, most)| is_near(*most, launches.count(host)))
    };
    let single = marks.with_parts(launches).filter(|group| !group.called.is_warm_up);
    let single = single.filter_map(|group| match group.hosts[..] {
        [host] if !warm_up.is_empty() && follows(host, group) => Some((group, host)),
        _ => None,
    });
    let (group, host) = single.max_by_key(|(_, host)| host.start)?;
    Some(innermost(timeline, group, host, launches))
}

fn passes(group: &Group) -> impl Iterator<Item = &ButOneWord> {
    group.called.pass.iter().flat_map(|passes| passes.iter())
}

/// The words of a name but for those at one place, which say whether the range warms up or is measured: a number for them, the same for
/// the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ButOneWord(u64);

/// Tells of each name which pass it warms up, and of others which of these they may measure: once for a recording, whose ranges may have
/// many names on many threads.
pub(super) fn tell_passes(names: &mut [Called]) {
    let numbers = RandomState::default();
    let mut warmed_up: HashSet<ButOneWord> = HashSet::default();
    for called in names.iter_mut().filter(|called| called.is_warm_up) {
        if let Some(pass) = ButOneWord::of_warm_up(&called.name, &numbers) {
            warmed_up.insert(pass);
            called.pass = Some([pass].into());
        }
    }
    for called in names.iter_mut().filter(|called| !called.is_warm_up && !warmed_up.is_empty()) {
        let passes = ButOneWord::all_without_one(&called.name, &numbers);
        let passes: Vec<ButOneWord> = passes.filter(|pass| warmed_up.contains(pass)).collect();
        called.pass = Some(passes).filter(|passes| !passes.is_empty()).map(Arc::from);
    }
}

impl ButOneWord {
    /// Of a range that is called warm-up; `None` where it is called nothing else.
    fn of_warm_up(name: &str, numbers: &RandomState) -> Option<Self> {
        let words = few_words(name);
        let is_said = |word: &String| WARM_UP.iter().chain(&WARM_UP_PAIR).any(|said| said == word);
        let place = words.iter().position(is_said)?;
        let others: Vec<&String> = words.iter().filter(|word| !is_said(word)).collect();
        (!others.is_empty()).then(|| Self(numbers.hash_one((others, place))))
    }

    /// Without one word of another range each.
    fn all_without_one(name: &str, numbers: &RandomState) -> impl Iterator<Item = Self> {
        let words = few_words(name);
        (0..words.len()).map(move |left_out| {
            let others = words.iter().enumerate().filter(|(place, _)| *place != left_out);
            let others: Vec<&String> = others.map(|(_, word)| word).collect();
            Self(numbers.hash_one((others, left_out)))
        })
    }
}

/// The words of the begin of a name, no more than so many.
fn few_words(name: &str) -> Vec<String> {
    let mut words = words(cut::to_bytes(name, MAX_NAME_BYTES));
    words.truncate(MAX_WORDS);
    words
}

/// Of ranges of one name within each other, the innermost that launches all: what lies around it prepares the measurement.
fn innermost(timeline: &Timeline, group: &Group, host: Interval, launches: &Launches) -> Interval {
    let Some(ranges) = timeline.ranges.of_thread(group.thread) else { return host };
    let same = ranges.times.iter().zip(&ranges.label).filter(|(_, label)| **label == group.first_label);
    let inside = same.map(|(times, _)| times).filter(|times| host.start <= times.start && times.end <= host.end);
    let holding = inside.filter(|times| launches.count(*times) == launches.count(host));
    holding.min_by_key(|times| times.len_ns()).unwrap_or(host)
}

/// Whether two counts of launches may be those of one pass, of which the first sets something up.
fn is_near(one: usize, other: usize) -> bool {
    other > 0 && 2 * one.min(other) >= one.max(other)
}
