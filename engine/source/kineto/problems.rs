//! What went wrong while a trace was read, and was got over; and what cannot be got over.

use std::io;

/// Why an event, or a piece of the file, was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Problem {
    /// No JSON.
    Broken,
    /// The file ends within it.
    CutOff,
    /// Larger than any event.
    TooLarge,
    /// Something between two events that is no event, such as a line of a log.
    Stray,
    /// Its start is no number, or none that fits.
    NoTime,
    /// It starts over a day before or after the others.
    AbsurdTime,
    /// Its duration is no number.
    NoDuration,
    /// Its duration is negative.
    NegativeDuration,
    /// It lasts over a day.
    AbsurdDuration,
    /// GPU work that names no device.
    NoDevice,
    /// One half of an event, its beginning or its end, of a kind that is written whole.
    Half,
    /// It does not say what it is.
    NoKind,
    /// It is a trace of its own, with a list of events.
    Nested,
}

impl Problem {
    /// Whether it is the form of what was left out that is wrong, not what an event says.
    pub(super) const fn is_of_form(self) -> bool {
        matches!(
            self,
            Self::Broken | Self::CutOff | Self::TooLarge | Self::Stray | Self::Half | Self::NoKind | Self::Nested
        )
    }

    const ALL: [Self; 13] = [
        Self::Broken,
        Self::CutOff,
        Self::TooLarge,
        Self::Stray,
        Self::NoTime,
        Self::AbsurdTime,
        Self::NoDuration,
        Self::NegativeDuration,
        Self::AbsurdDuration,
        Self::NoDevice,
        Self::Half,
        Self::NoKind,
        Self::Nested,
    ];

    /// In the words of the review.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Broken => "no valid JSON",
            Self::CutOff => "cut off by the end of the file",
            Self::TooLarge => "larger than any event",
            Self::Stray => "no event, but something between events",
            Self::NoTime => "without a start",
            Self::AbsurdTime => "starts over a day away from the others",
            Self::NoDuration => "without a duration",
            Self::NegativeDuration => "ends before it starts",
            Self::AbsurdDuration => "lasts over a day",
            Self::NoDevice => "names no device",
            Self::Half => "begins or ends apart from its other half",
            Self::NoKind => "does not say what it is",
            Self::Nested => "a trace of its own, with a list of events",
        }
    }
}

/// How a file ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    /// Where the document ends.
    Whole,
    /// The same, but what was inflated is not what was compressed.
    Changed,
    /// The same, but more stands behind it that cannot be read.
    Behind,
    /// The same, but the compressed data goes on and is cut off: another trace may have stood there.
    CutBehind,
    /// Right behind an event of a list that has no end, as the format allows.
    Open,
    /// Within the document.
    CutOff,
    /// The compressed data cannot be inflated any further.
    Damaged(String),
    /// It inflates to more than its size can account for; the rest was not read.
    BeyondBudget,
    /// What it holds takes more memory than its size can account for; the rest was not read.
    BeyondMemory,
}

/// What was left out, by reason, and what was mended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Problems {
    counts: [u64; Problem::ALL.len()],
    /// Events that were taken although quotes in their strings lack backslashes.
    pub(super) mended_count: u64,
}

impl Problems {
    pub(super) fn add(&mut self, problem: Problem) {
        self.counts[problem as usize] += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.mended_count += other.mended_count;
    }

    /// How much was left out for a reason.
    pub(super) const fn count(&self, problem: Problem) -> u64 {
        self.counts[problem as usize]
    }

    /// What was left out, by reason; reasons that did not occur are not among them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Problem, u64)> {
        Problem::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0)
    }
}

/// Why a trace cannot be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The file cannot be opened.
    Io(io::Error),
    /// What it is compressed into cannot be inflated.
    Damaged(io::Error),
    /// There is nothing in it.
    Empty,
    /// It is an archive of files.
    Archive,
    /// It is no JSON.
    NotJson,
    /// It is JSON without a list of events.
    NoEventList,
    /// Its list of events is empty, or nothing in it is an event of the PyTorch Profiler.
    NoEvents {
        /// Objects that were seen in the list.
        seen: u64,
        /// Whether the document is a list, not an object.
        is_bare: bool,
    },
}
