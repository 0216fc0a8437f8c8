//! Printing: reports in every format, facts as text and JSON, rules as pages and lists.
//!
//! A format is one file here and one variant of [`Format`]; hostile names go through all of them in the tests.

mod bar;
mod codequality;
pub mod collect;
mod comment;
mod comparison_text;
pub mod facts;
mod filters;
mod github;
pub mod history;
mod json;
mod junit;
mod markdown;
mod markup;
mod notes;
mod rule_list;
mod rule_page;
mod sarif;
mod spans;
mod text;
pub mod whatif;
mod window;

use crate::report::Report;
use crate::rules::Library;
use notes::Notes;

pub use markdown::{TemplateError, Templates};
pub use rule_list::{rule_list_json, rule_list_text};
pub use rule_page::{rule_index, rule_page, rule_page_set};
pub use spans::markdown;
pub use text::Screen;

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people and forges, through templates.
    Markdown,
    /// For people at a terminal.
    Text(Screen),
    /// One object; `docs/json.md` describes it.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
    /// JUnit's XML.
    Junit,
    /// GitLab's Code Quality report.
    Codequality,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] = [
        Self::Markdown,
        Self::Text(Screen::PLAIN),
        Self::Json,
        Self::Sarif,
        Self::Github,
        Self::Junit,
        Self::Codequality,
    ];

    /// The word that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text(_) => "text",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Github => "github",
            Self::Junit => "junit",
            Self::Codequality => "codequality",
        }
    }

    /// What it is, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Markdown => "For people and forges",
            Self::Text(_) => "For a terminal",
            Self::Json => "One object; docs/json.md describes it",
            Self::Sarif => "SARIF 2.1.0, for code scanning",
            Self::Github => "Annotations of a GitHub workflow",
            Self::Junit => "JUnit's XML: what fails the run is a failed test",
            Self::Codequality => "GitLab's Code Quality report",
        }
    }
}

/// What formats need beside the report.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// For Markdown.
    pub templates: &'a Templates,
    /// The rules that judged, for formats that explain them.
    pub library: &'a Library,
}

/// Why a report cannot be printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A template of the user fails.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A value that JSON cannot hold: no report of coldspot has one.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Prints a report.
///
/// # Errors
/// When a template of the user fails.
pub fn render(report: &Report, format: Format, context: Context<'_>) -> Result<String, RenderError> {
    Ok(match format {
        Format::Markdown => context.templates.markdown(report)?,
        Format::Text(screen) => match report {
            Report::Review(review) => text::text(review, screen),
            Report::Comparison(comparison) => comparison_text::text(comparison, screen),
        },
        Format::Json => json::json(report)?,
        Format::Sarif => sarif::sarif(&Notes::of(report), context.library)?,
        Format::Github => github::github(&Notes::of(report)),
        Format::Junit => junit::junit(&Notes::of(report)),
        Format::Codequality => codequality::codequality(&Notes::of(report))?,
    })
}

#[cfg(test)]
mod tests;
