//! Formats and thresholds that `review` and `compare` share.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use coldspot::analysis::Analysis;
use coldspot::gates::Threshold;
use coldspot::render::Format;
use coldspot::report::Report;
use coldspot::rules::outcome::Severity;

use super::exit::{Exit, Failure};
use super::guard;

/// The format that `review` and `compare` print in by default.
pub(super) const DEFAULT: &str = Format::Markdown.name();

/// Reads the name of a format.
pub(super) fn parser() -> impl TypedValueParser<Value = Format> {
    let values = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.about()));
    let of_name = |name: String| Format::ALL.into_iter().find(|format| format.name() == name);
    PossibleValuesParser::new(values).try_map(move |name| of_name(name).ok_or("there is no such format"))
}

/// The text of a report. The templates of the user may never end.
pub(super) fn render(analysis: &Analysis, report: &Report, format: Format) -> Result<String, Failure> {
    guard::while_printing(|| analysis.render(report, format)).map_err(|error| Failure::new(Exit::Rules, error))
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
