//! What is printed: a review or a comparison, complete.

use crate::compare::Comparison;
use crate::findings::{Ignored, Review, RuleFailure, StaleIgnore};
use crate::gates::Gates;
use crate::text::spans::Sentence;

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
    /// Where the runs come from, as the caller says.
    pub about: About,
    /// Findings that the project has accepted, and that are left out: titles with the reason.
    pub ignored: Vec<Ignored>,
    /// Ignores whose last day has passed.
    pub expired: Vec<StaleIgnore>,
    /// What the project changed of what the built-in rules find, one sentence each.
    pub altered: Vec<Sentence>,
    /// Rules that went wrong on a run, each once: what they would have found is not compared.
    pub errors: Vec<RuleFailure>,
}

/// Where the runs of a comparison come from. All of it is the caller's word; each may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// What was recorded, where one change is measured by several programs.
    pub program: String,
    /// The commit of the base.
    pub base: String,
    /// The commit of the head.
    pub head: String,
    /// The address of the run that measured; `https://` or `http://`.
    pub url: String,
}

impl About {
    /// Whether an address may stand as a link: nothing in it ends one.
    pub fn is_address(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$&'*+,;=%".contains(c);
        (text.starts_with("https://") || text.starts_with("http://")) && text.len() < 500 && text.chars().all(is_plain)
    }
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
