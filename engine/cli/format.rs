//! Formats and thresholds that `review` and `compare` share.

use std::fmt::Display;

use clap::ValueEnum;
use coldspot::findings::Threshold;
use coldspot::render::{self, Notes};
use coldspot::rules::outcome::Severity;

use super::exit::{Exit, Failure};
use super::guard::Guard;

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

impl Format {
    /// The text in this format, made from a template, as JSON, or from notes.
    pub(super) fn print<M: Display, J: Display>(
        self,
        markdown: impl FnOnce() -> Result<String, M>,
        json: impl FnOnce() -> Result<String, J>,
        notes: impl FnOnce() -> Notes,
    ) -> Result<String, Failure> {
        let _guard = Guard::new();
        match self {
            Self::Markdown => markdown().map_err(|error| Failure::new(Exit::Rules, error)),
            Self::Json => json().map_err(|error| Failure::new(Exit::Rules, error)),
            Self::Sarif => Ok(render::sarif(&notes())),
            Self::Github => Ok(render::github(&notes())),
            Self::Junit => Ok(render::junit(&notes())),
        }
    }
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
