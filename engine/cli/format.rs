//! Formats and thresholds that `review` and `compare` share.

use clap::ValueEnum;
use coldspot::findings::Threshold;
use coldspot::rules::outcome::Severity;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people and forges.
    Markdown,
    /// One object; docs/json.md describes it.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
    /// JUnit's XML: what fails the run is a failed test.
    Junit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// At least 20 % of a GPU's window can be gained, or the capture cannot be trusted.
    High,
    /// At least 5 %.
    Medium,
    /// At least 1 %.
    Low,
    /// Whatever is found.
    Never,
}

impl From<FailOn> for Threshold {
    fn from(word: FailOn) -> Self {
        match word {
            FailOn::High => Self::At(Severity::High),
            FailOn::Medium => Self::At(Severity::Medium),
            FailOn::Low => Self::At(Severity::Low),
            FailOn::Never => Self::Never,
        }
    }
}
