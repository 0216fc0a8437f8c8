//! Reviews and comparisons as JSON, version 1: what templates see, too.
//!
//! These types are the contract that `docs/json.md` describes, apart from the values that they are made from, so that
//! those can change. A change that breaks readers needs a new schema. What is absent is left out, never null.

mod comparison;
mod finding;
mod ignores;
mod review;

use serde::Serialize;

use super::spans::markdown;
use crate::findings::SourceLocation;
use crate::gates::Gates;
use crate::report::Report;
use crate::text::escape;
use crate::text::spans::Sentence;

pub(super) use comparison::ComparisonView;
pub(super) use review::{Part, ReviewView};

/// A report as one JSON object.
///
/// # Errors
/// None for reports that coldspot makes; the signature is serde's.
pub(super) fn json(report: &Report) -> Result<String, serde_json::Error> {
    let json = match report {
        Report::Review(report) => serde_json::to_string_pretty(&ReviewView::new(report)),
        Report::Comparison(report) => serde_json::to_string_pretty(&ComparisonView::new(report)),
    };
    Ok(escape::json(format!("{}\n", json?)))
}

/// A sentence: for Markdown, and for outputs that escape by themselves.
#[derive(Debug, Serialize)]
struct Text {
    markdown: String,
    plain: String,
}

impl From<&Sentence> for Text {
    fn from(sentence: &Sentence) -> Self {
        Self { markdown: markdown(sentence), plain: sentence.plain() }
    }
}

fn texts(sentences: &[Sentence]) -> Vec<Text> {
    sentences.iter().map(Text::from).collect()
}

#[derive(Serialize)]
struct Source<'a> {
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

impl<'a> From<&'a SourceLocation> for Source<'a> {
    fn from(location: &'a SourceLocation) -> Self {
        Self { file: &location.file, line: location.line }
    }
}

#[derive(Serialize)]
struct Gate<'a> {
    name: &'a str,
    limit: &'a str,
    outcome: &'static str,
    is_failure: bool,
    says: &'a str,
}

fn gates(gates: &Gates) -> Vec<Gate<'_>> {
    let all = gates.gates.iter();
    all.map(|gate| Gate {
        name: &gate.name,
        limit: &gate.limit,
        outcome: gate.outcome.name(),
        is_failure: gates.ends_run_by(gate),
        says: &gate.says,
    })
    .collect()
}
