//! Everything that coldspot prints of a report.

use coldspot::analysis::{Analysis, Project, Reading, Request};
use coldspot::facts::Facts;
use coldspot::render::Format;
use coldspot::render::facts::{facts_json, facts_text};
use coldspot::report::Report;

/// Rules and templates, loaded once.
pub struct Printer {
    analysis: Analysis,
}

/// A format's name, and what is printed in it.
pub type Printed = (&'static str, String);

impl Printer {
    pub fn new() -> Self {
        Self { analysis: Analysis::new(Project::builtin().unwrap(), Reading::default()) }
    }

    /// A review as Markdown.
    pub fn markdown(&self, facts: &Facts, report: &str) -> Result<String, String> {
        self.review_as(Format::Markdown, facts, report)
    }

    /// A review as JSON.
    pub fn json(&self, facts: &Facts, report: &str) -> Result<String, String> {
        self.review_as(Format::Json, facts, report)
    }

    fn review_as(&self, format: Format, facts: &Facts, report: &str) -> Result<String, String> {
        let review = self.analysis.review_facts(facts, report, &Request::default());
        self.analysis.render(&Report::Review(Box::new(review)), format).map_err(|error| error.to_string())
    }

    /// A review and the facts in every format; or which rule went wrong.
    pub fn print(&self, facts: &Facts, report: &str) -> Result<Vec<Printed>, String> {
        let review = self.analysis.review_facts(facts, report, &Request::default());
        if let Some(error) = review.review.errors.first() {
            return Err(format!("rule {}: {}", error.rule, error.message));
        }
        let mut printed = self.in_every_format(&Report::Review(Box::new(review)))?;
        printed.push(("facts text", facts_text(facts)));
        printed.push(("facts json", facts_json(facts).map_err(|error| error.to_string())?));
        Ok(printed)
    }

    /// Two reports held against each other, in every format; nothing where they cannot be.
    pub fn compare(&self, base: &Facts, head: &Facts, report: &str) -> Result<Vec<Printed>, String> {
        let run = |facts: &Facts| [self.analysis.run(facts.clone(), report)];
        match self.analysis.compare_runs(&run(base), &run(head), &Request::default()) {
            Ok(comparison) => self.in_every_format(&Report::Comparison(Box::new(comparison))),
            Err(_) => Ok(Vec::new()),
        }
    }

    fn in_every_format(&self, report: &Report) -> Result<Vec<Printed>, String> {
        let print = |format: Format| match self.analysis.render(report, format) {
            Ok(text) => Ok((format.name(), text)),
            Err(error) => Err(error.to_string()),
        };
        Format::ALL.into_iter().map(print).collect()
    }
}

/// What is wrong with what was printed, whatever is in it: characters that something acts on, commands that are not
/// coldspot's own, JSON that is none.
pub fn fault((format, text): &Printed) -> Option<String> {
    if let Some(c) = text.chars().find(|c| c.is_control() && *c != '\n') {
        return Some(format!("{format}: control character {c:?}"));
    }
    let is_ours = |line: &str| {
        *format == "github"
            && ["::error title=", "::warning title=", "::notice title="].iter().any(|own| line.starts_with(own))
    };
    if let Some(line) = text.lines().find(|line| line.trim_start().starts_with("::") && !is_ours(line)) {
        return Some(format!("{format}: a workflow command: {line}"));
    }
    if text.contains("##[") || text.contains("##vso") || text.contains("##teamcity") {
        return Some(format!("{format}: a command of a pipeline"));
    }
    let is_json = format.ends_with("json") || *format == "sarif";
    is_json
        .then(|| serde_json::from_str::<serde_json::Value>(text).err())
        .flatten()
        .map(|error| format!("{format}: {error}"))
}
