//! Which side is faster, in one sentence.

use super::measure::{Change, Trend};
use super::work::{Basis, Work};
use super::{Measured, Time, TimeOf, words};
use crate::text::number;
use crate::text::spans::Sentence;

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
            Some(time) if work.basis.is_comparable() => match time.change.trend() {
                Trend::Up => Self::Slower,
                Trend::Down => Self::Faster,
                Trend::Same => Self::NoChange,
            },
            _ => Self::NotComparable,
        }
    }
}

pub(super) fn verdict(measured: &Measured, causes: &[Sentence]) -> Sentence {
    let words = Sentence::default();
    let (Some(time), true) = (&measured.time, measured.work.basis.is_comparable()) else {
        return refusal(measured, causes.first());
    };
    let change = &time.change;
    let (what, base, head) =
        (subject(time.of), number::duration(change.base.median), number::duration(change.head.median));
    let words = match measured.outcome {
        Outcome::Faster => {
            words.own(&format!("Faster: {what} takes {head} instead of {base}, {}.", words::speed(change)))
        }
        Outcome::Slower => {
            words.own(&format!("Slower: {what} takes {head} instead of {base}, {}.", words::speed(change)))
        }
        _ => words.own(&same(measured, what, change)),
    };
    let words = match measured.work.differences.as_slice() {
        [] => words,
        differences => listed(words.own(" The work differs: "), differences).own("."),
    };
    match (measured.outcome, causes.first()) {
        (Outcome::Faster | Outcome::Slower, Some(cause)) => words.own(" Likely cause: ").sentence(cause).own("."),
        _ => words,
    }
}

fn same(measured: &Measured, what: &str, change: &Change) -> String {
    let (base, head) = (number::duration(change.base.median), number::duration(change.head.median));
    match change.difference {
        0 => format!("No change: {what} takes {head} on both sides."),
        _ if base == head => format!("No change: {what} takes {head} on both sides, to within the noise."),
        _ => format!("No change beyond the noise ({}): {what} takes {head} after {base}.", noise(measured)),
    }
}

fn noise(measured: &Measured) -> String {
    let floor = number::percent(measured.noise.floor_share);
    if measured.noise.base_runs > 1 || measured.noise.head_runs > 1 {
        format!("the spread of the runs, at least {floor}")
    } else {
        format!("{floor} with one run a side")
    }
}

fn refusal(measured: &Measured, cause: Option<&Sentence>) -> Sentence {
    let words = Sentence::default().own("Not comparable: ");
    let Basis::None { because } = &measured.work.basis else {
        return words.own("no time was recorded on a side, so there is no verdict.");
    };
    let words = words.sentence(because).own(".");
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

const fn subject(of: TimeOf) -> &'static str {
    match of {
        TimeOf::Step => "a step",
        TimeOf::Window => "the GPU's window",
        TimeOf::Unit => "a unit of work",
    }
}
