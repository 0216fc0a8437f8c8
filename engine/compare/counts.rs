//! How many findings came to each state.

use super::finding::FindingChange;
use super::state::State;
use crate::rules::outcome::Severity;

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
