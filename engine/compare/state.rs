//! What became of a finding between two sides, and how many findings came to each state.

use super::finding::FindingChange;
use crate::rules::outcome::Severity;

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It can gain more than before.
    Worse,
    /// Only the head has it.
    New,
    /// It can gain less than before.
    Better,
    /// Only the base has it.
    Gone,
    /// It differs, but noise or the amount of work can be why.
    Unclear,
    /// What changed, if anything, is noise.
    Unchanged,
}

impl State {
    /// Every state, in the order of reports.
    pub const ALL: [Self; 6] = [Self::Worse, Self::New, Self::Better, Self::Gone, Self::Unclear, Self::Unchanged];

    /// Whether the head pays for it more than the base did.
    pub const fn is_regression(self) -> bool {
        matches!(self, Self::New | Self::Worse)
    }

    /// What asks for something comes first, then what was won, what cannot be told, and what stayed.
    pub(super) const fn group(self) -> usize {
        match self {
            Self::Worse | Self::New => 0,
            Self::Better | Self::Gone => 1,
            Self::Unclear => 2,
            Self::Unchanged => 3,
        }
    }

    /// The word in reports and budgets.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Gone => "gone",
            Self::Unclear => "unclear",
            Self::Unchanged => "unchanged",
        }
    }
}

/// How many findings came to each state; those of severity info apart from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StateCounts {
    /// Only in the head.
    pub new: usize,
    /// Can gain more.
    pub worse: usize,
    /// Can gain less.
    pub better: usize,
    /// Only in the base.
    pub gone: usize,
    /// Cannot be told.
    pub unclear: usize,
    /// As before.
    pub unchanged: usize,
}

impl StateCounts {
    /// Of findings that are more than notes: those of severity info do not count.
    pub(super) fn of(findings: &[FindingChange]) -> Self {
        let mut counts = Self::default();
        for finding in findings.iter().filter(|finding| finding.severity > Severity::Info) {
            match finding.state {
                State::New => counts.new += 1,
                State::Worse => counts.worse += 1,
                State::Better => counts.better += 1,
                State::Gone => counts.gone += 1,
                State::Unclear => counts.unclear += 1,
                State::Unchanged => counts.unchanged += 1,
            }
        }
        counts
    }
}
