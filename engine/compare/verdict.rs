//! Which side is faster, in one sentence.

use super::measure::{Change, ENOUGH_RUNS, Trend};
use super::odd::OddRun;
use super::sides::Sides;
use super::work::{Basis, Work};
use super::{Behind, Measured, Time, TimeOf, WarmUp, WithBehind, words};
use crate::text::number;
use crate::text::plural::{counted, counted_as};
use crate::text::spans::Sentence;

/// What makes other work comparable.
const WAY_OUT: &str = " Put an NVTX range around what repeats (`step 1`, `step 2`, …) on both sides, or capture the same rounds of \
                       work; if both sides do the same work all the same, say so with --same-work.";
/// A smaller change is not worth more runs.
const LEAST_SHARE: f64 = 0.01;

/// The result of a measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The head takes less time.
    Faster,
    /// The head takes more time.
    Slower,
    /// What changed, if anything, is noise.
    NoChange,
    /// The sides cannot be held against each other.
    NotComparable,
}

impl Outcome {
    /// The words in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoChange => "no change",
            Self::NotComparable => "not comparable",
        }
    }

    pub(super) fn of(work: &Work, time: Option<&Time>) -> Self {
        match time {
            Some(time) if work.basis.is_comparable() => match time.trend() {
                Trend::Up => Self::Slower,
                Trend::Down => Self::Faster,
                Trend::Same => Self::NoChange,
            },
            _ => Self::NotComparable,
        }
    }
}

impl Time {
    /// Which way it went: on average, else in the middle, unless the average went the other way. What single steps pay, a run
    /// pays.
    fn trend(&self) -> Trend {
        self.told().trend()
    }

    /// The change that the verdict is about.
    pub fn told(&self) -> &Change {
        match &self.median {
            Some(median) if self.is_by_median(median) => median,
            _ => &self.change,
        }
    }

    fn is_by_median(&self, median: &Change) -> bool {
        self.change.trend() == Trend::Same && median.is_change && self.is_along(median)
    }

    /// Whether the middle went the way of the average.
    const fn is_along(&self, median: &Change) -> bool {
        self.change.difference == 0 || self.change.difference.signum() == median.difference.signum()
    }
}

/// With the likeliest cause, and what went against the change.
pub(super) fn verdict(measured: &Measured, cause: Option<&Sentence>, against: Option<&Sentence>) -> Sentence {
    let (Some(time), true) = (&measured.time, measured.work.basis.is_comparable()) else {
        return refusal(measured, cause);
    };
    let words = Sentence::default().own(&match measured.outcome {
        Outcome::Faster => format!("Faster: {}", moved(measured, time)),
        Outcome::Slower => format!("Slower: {}", moved(measured, time)),
        _ => same(measured, time),
    });
    let words = words.own(&steps(time)).own(&warm_up(time)).own(&behind(time)).own(&tail(time)).own(&lead(time));
    let words = measured.odd.iter().fold(words, left_out);
    let words = match measured.work.differences.as_slice() {
        [] => words,
        differences => listed(words.own(" The work differs: "), differences).own("."),
    };
    let words = match (measured.outcome, cause) {
        (Outcome::Faster | Outcome::Slower, Some(cause)) => words.own(" Likely cause: ").sentence(cause).own("."),
        (_, Some(kernel)) => words.own(" What did change: ").sentence(kernel).own("."),
        _ => words,
    };
    match against {
        Some(against) => words.own(" ").sentence(against).own("."),
        None => words,
    }
}

/// `a step takes 52 ms instead of 40 ms, 12 ms (30 %) slower (+28 % to +33 % by 5 and 5 runs).`
fn moved(measured: &Measured, time: &Time) -> String {
    let change = time.told();
    let (base, head) = (number::duration(change.base.median), number::duration(change.head.median));
    let bounds = match words::bounds(change, &measured.noise) {
        bounds if bounds.is_empty() => bounds,
        bounds => format!(" ({bounds})"),
    };
    let is_by_median = time.median.is_some_and(|median| time.is_by_median(&median));
    let subject = if is_by_median { "the median step" } else { subject(measured, time) };
    format!("{subject} takes {head} instead of {base}, {}{bounds}.", words::speed(change))
}

/// What the middle says where it says something else than the mean.
fn steps(time: &Time) -> String {
    let Some(median) = &time.median else { return String::new() };
    if median.trend() == time.change.trend() {
        return String::new();
    }
    if time.is_by_median(median) {
        let [base, head] = [time.change.base, time.change.head].map(|mean| number::duration(mean.median));
        return format!(" On average a step takes {head} after {base}, which is within the noise.");
    }
    let slow = match &time.slow {
        Some(slow) if slow.head.count > slow.base.count => {
            let (more, beyond) = (slow.head.count, number::duration(slow.head.beyond_ns));
            let take = if more == 1 { "takes" } else { "take" };
            format!(": {more} of {} {take} {beyond} more{}", counted(slow.head.of, "step"), before(slow.base.count))
        }
        Some(slow) => {
            let (fewer, beyond) = (slow.base.count, number::duration(slow.base.beyond_ns));
            format!(": {fewer} of {} took {beyond} more{}", counted(slow.base.of, "step"), after(slow.head.count))
        }
        None => String::new(),
    };
    let (base, head) = (number::duration(median.base.median), number::duration(median.head.median));
    match median.trend() {
        Trend::Same => format!(" The median step is unchanged ({head}){slow}."),
        _ => format!(" The median step takes {head} after {base}{slow}."),
    }
}

/// What the steps before those that are timed take, where one side loses more in them.
fn warm_up(time: &Time) -> String {
    let Some(Sides { base, head }) = &time.warm_up else { return String::new() };
    let told = |of: &WarmUp| format!("{} in {}", number::duration(of.ns), counted_as(of.count, "step", "steps"));
    let numbers = match (base.count, head.count) {
        (0, _) => format!("{}; the base has none", told(head)),
        (_, 0) => format!("{} in the base; the head has none", told(base)),
        _ => format!("{} after {}", told(head), told(base)),
    };
    format!(" Warm-up, which does not count, takes {numbers}.")
}

/// What the steps behind those that are timed make of the change.
fn behind(time: &Time) -> String {
    let Some(WithBehind { steps: Sides { base, head }, change }) = &time.behind else { return String::new() };
    let told = |of: &Behind| format!("{} of {}", number::count(of.count), counted_as(of.of, "step", "steps"));
    let numbers = match (base.count, head.count) {
        (0, 0) => return String::new(),
        (_, 0) => format!("{} in the base, none in the head", told(base)),
        (0, _) => format!("{} in the head, none in the base", told(head)),
        _ => format!("{} in the head, {} in the base", told(head), told(base)),
    };
    let [base, head] = [change.base, change.head].map(|mean| number::duration(mean.median));
    format!(" Steps behind a pause do not count: {numbers}. With them and the pause a step takes {head} after {base}.")
}

/// What comes behind the steps that count, where it is not told with steps there.
fn tail(time: &Time) -> String {
    let Some(Sides { base, head }) = time.tail_ns.filter(|_| time.behind.is_none()) else { return String::new() };
    let [base, head] = [base, head].map(number::duration);
    format!(" What comes behind the last step that counts takes {head} after {base}.")
}

/// What GPUs compute before the steps that count.
fn lead(time: &Time) -> String {
    let Some(lead) = time.lead_ns else { return String::new() };
    let Sides { base, head } = lead.map(number::duration);
    format!(" Before the steps that count the GPU computes for {head} after {base}.")
}

fn before(count: usize) -> String {
    if count == 0 { String::new() } else { format!(", before {count}") }
}

fn after(count: usize) -> String {
    if count == 0 { ", now none".to_owned() } else { format!(", now {count}") }
}

/// ` Left out: run b.sqlite of the base, 40 % slower than the others.`
fn left_out(words: Sentence, odd: &OddRun) -> Sentence {
    let way = if odd.share > 0.0 { "slower" } else { "faster" };
    let share = number::percent(odd.share.abs());
    let words = words.own(&format!(" Left out of the {}: ", odd.side.name())).code(&odd.name);
    words.own(&format!(", {share} {way} than its other runs."))
}

fn same(measured: &Measured, time: &Time) -> String {
    let (change, what) = (&time.change, subject(measured, time));
    let (base, head) = (number::duration(change.base.median), number::duration(change.head.median));
    match change.difference {
        0 => format!("No change: {what} takes {head} on both sides."),
        _ if base == head => format!("No change: {what} takes {head} on both sides, to within the noise."),
        _ => format!(
            "No change beyond the noise ({}): {what} takes {head} after {base}.{}",
            noise(measured, change),
            more_runs(measured, change)
        ),
    }
}

/// What would tell.
fn more_runs(measured: &Measured, change: &Change) -> String {
    let fewer = measured.noise.fewer_runs();
    let is_worth_it = change.share.is_none_or(|share| share.abs() >= LEAST_SHARE);
    if fewer >= ENOUGH_RUNS || !is_worth_it {
        return String::new();
    }
    let runs = match (measured.noise.base_runs, measured.noise.head_runs) {
        (1, 1) => "One run a side".to_owned(),
        (base, head) => format!("{base} and {head} runs"),
    };
    format!(" {runs} cannot show a change of this size: record {ENOUGH_RUNS} a side.")
}

fn noise(measured: &Measured, change: &Change) -> String {
    let floor = number::percent(measured.noise.floor_share);
    match words::bounds(change, &measured.noise) {
        bounds if bounds.is_empty() => format!("{floor} with one run a side"),
        bounds => format!("{bounds}, and at least {floor}"),
    }
}

fn refusal(measured: &Measured, cause: Option<&Sentence>) -> Sentence {
    let words = Sentence::default().own("Not comparable: ");
    let Basis::None { because } = &measured.work.basis else {
        return words.own("no time was recorded on a side, so there is no verdict.");
    };
    let words = words.sentence(because).own(".");
    let words = if measured.work.is_other { words.own(WAY_OUT) } else { words };
    let words = if measured.devices.is_empty() {
        words
    } else {
        words.own(" Whether the change made it faster or slower cannot be told from these reports.")
    };
    match cause {
        Some(cause) => words.own(" What can be told: ").sentence(cause).own("."),
        None => words,
    }
}

fn listed(words: Sentence, sentences: &[Sentence]) -> Sentence {
    sentences
        .iter()
        .enumerate()
        .fold(words, |words, (index, sentence)| words.own(if index > 0 { "; " } else { "" }).sentence(sentence))
}

const fn subject(measured: &Measured, time: &Time) -> &'static str {
    match time.of {
        TimeOf::Step => "a step",
        TimeOf::Window if measured.devices.len() > 1 => "the window of the slowest GPU",
        TimeOf::Window => "the GPU's window",
        TimeOf::Unit => "a unit of work",
    }
}
