//! What is printed: a review or a comparison, complete.

use crate::compare::Comparison;
use crate::findings::Review;
use crate::gates::Gates;

/// One result, in whichever format it is printed.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// Of one recording.
    Review(Box<ReviewReport>),
    /// Of two sides.
    Comparison(Box<ComparisonReport>),
}

/// A review, and how its gates stand.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewReport {
    /// The name of the file that was reviewed, without its folder.
    pub name: String,
    /// What was found.
    pub review: Review,
    /// What must hold, and whether it does.
    pub gates: Gates,
}

/// A comparison, and how its gates stand.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonReport {
    /// What changed.
    pub comparison: Comparison,
    /// What must hold, and whether it does.
    pub gates: Gates,
}

impl Report {
    /// How the gates stand.
    pub fn gates(&self) -> &Gates {
        match self {
            Self::Review(report) => &report.gates,
            Self::Comparison(report) => &report.gates,
        }
    }
}
