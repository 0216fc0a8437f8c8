//! What became of a finding between two sides.

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
