//! Which side is faster, in one sentence.

use serde::Serialize;

use super::measure::{Change, Trend};
use super::work::{Basis, Work};
use super::{Comparison, Time, TimeOf, words};
use crate::text::number;
use crate::text::spans::Sentence;

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
            Some(time) if work.basis.is_comparable() => match time.change.trend() {
                Trend::Up => Self::Slower,
                Trend::Down => Self::Faster,
                Trend::Same => Self::NoChange,
            },
            _ => Self::NotComparable,
        }
    }
}

pub(super) fn verdict(comparison: &Comparison) -> Sentence {
    let words = Sentence::default();
    let (Some(time), true) = (&comparison.time, comparison.work.basis.is_comparable()) else {
        return refusal(comparison);
    };
    let change = &time.change;
    let (what, base, head) =
        (subject(time.of), number::duration(change.base.median), number::duration(change.head.median));
    let words = match comparison.outcome {
        Outcome::Faster => {
            words.own(&format!("Faster: {what} takes {head} instead of {base}, {}.", words::speed(change)))
        }
        Outcome::Slower => {
            words.own(&format!("Slower: {what} takes {head} instead of {base}, {}.", words::speed(change)))
        }
        _ => words.own(&same(comparison, what, change)),
    };
    let words = match comparison.work.differences.as_slice() {
        [] => words,
        differences => listed(words.own(" The work differs: "), differences).own("."),
    };
    match (comparison.outcome, comparison.causes.first()) {
        (Outcome::Faster | Outcome::Slower, Some(cause)) => words.own(" Likely cause: ").sentence(cause).own("."),
        _ => words,
    }
}

fn same(comparison: &Comparison, what: &str, change: &Change) -> String {
    let (base, head) = (number::duration(change.base.median), number::duration(change.head.median));
    match change.difference {
        0 => format!("No change: {what} takes {head} on both sides."),
        _ if base == head => format!("No change: {what} takes {head} on both sides, to within the noise."),
        _ => format!("No change beyond the noise ({}): {what} takes {head} after {base}.", noise(comparison)),
    }
}

fn noise(comparison: &Comparison) -> String {
    let floor = number::percent(comparison.noise.floor_share);
    if comparison.noise.base_runs > 1 || comparison.noise.head_runs > 1 {
        format!("the spread of the runs, at least {floor}")
    } else {
        format!("{floor} with one run a side")
    }
}

fn refusal(comparison: &Comparison) -> Sentence {
    let words = Sentence::default().own("Not comparable: ");
    let Basis::None { because } = &comparison.work.basis else {
        return words.own("no time was recorded on a side, so there is no verdict.");
    };
    let words = words.sentence(because).own(".");
    let words = if comparison.devices.is_empty() {
        words
    } else {
        words.own(" Whether the change made it faster or slower cannot be told from these reports.")
    };
    match comparison.causes.first() {
        Some(cause) => words.own(" What can be told: ").sentence(cause).own("."),
        None => words,
    }
}

fn listed(words: Sentence, sentences: &[Sentence]) -> Sentence {
    sentences
        .iter()
        .enumerate()
        .fold(words, |words, (place, sentence)| words.own(if place > 0 { "; " } else { "" }).sentence(sentence))
}

const fn subject(of: TimeOf) -> &'static str {
    match of {
        TimeOf::Step => "a step",
        TimeOf::Window => "the GPU's window",
        TimeOf::Unit => "a unit of work",
    }
}
