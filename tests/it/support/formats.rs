//! Everything that coldspot prints of a report.

use coldspot::compare::{Run, compare};
use coldspot::facts::Facts;
use coldspot::findings::{Review, RuleCard, Threshold, review};
use coldspot::render::facts::{facts_json, facts_text};
use coldspot::render::{Notes, Templates, comparison_json, github, junit, review_json, sarif};
use coldspot::rules::{Library, Params, evaluate};

use super::analysis::builtin;

/// Rules and templates, loaded once.
pub struct Printer {
    library: Library,
    cards: Vec<RuleCard>,
    templates: Templates,
}

/// A format's name, and what is printed in it.
pub type Printed = (&'static str, String);

impl Printer {
    pub fn new() -> Self {
        let library = builtin();
        Self { cards: RuleCard::of_library(&library), library, templates: Templates::load(None).unwrap() }
    }

    pub fn review(&self, facts: &Facts) -> Review {
        let judgements = evaluate(&self.library, facts, &Params::default());
        review(facts, &self.cards, &judgements, self.templates.scorecard())
    }

    /// A review as Markdown.
    pub fn markdown(&self, facts: &Facts, report: &str) -> Result<String, String> {
        self.templates.review(&self.review(facts), report).map_err(|error| error.to_string())
    }

    /// A review as JSON.
    pub fn json(&self, facts: &Facts, report: &str) -> Result<String, String> {
        review_json(&self.review(facts), report).map_err(|error| error.to_string())
    }

    /// A review and the facts in every format; or which rule went wrong.
    pub fn print(&self, facts: &Facts, report: &str) -> Result<Vec<Printed>, String> {
        let review = self.review(facts);
        if let Some(error) = review.errors.first() {
            return Err(format!("rule {}: {}", error.rule, error.message));
        }
        let notes = Notes::of_review(facts, &review, report, &self.library, Threshold::Never);
        Ok(vec![
            ("markdown", self.templates.review(&review, report).map_err(|error| error.to_string())?),
            ("json", review_json(&review, report).map_err(|error| error.to_string())?),
            ("sarif", sarif(&notes)),
            ("github", github(&notes)),
            ("junit", junit(&notes)),
            ("facts text", facts_text(facts)),
            ("facts json", facts_json(facts).map_err(|error| error.to_string())?),
        ])
    }

    /// Two reports held against each other, in every format; nothing where they cannot be.
    pub fn compare(&self, base: &Facts, head: &Facts, report: &str) -> Result<Vec<Printed>, String> {
        let run = |facts: &Facts| Run { name: report.to_owned(), facts: facts.clone(), review: self.review(facts) };
        let Ok(comparison) = compare(&[run(base)], &[run(head)]) else { return Ok(Vec::new()) };
        let notes = Notes::of_comparison(&comparison, &self.library);
        Ok(vec![
            ("markdown", self.templates.comparison(&comparison).map_err(|error| error.to_string())?),
            ("json", comparison_json(&comparison).map_err(|error| error.to_string())?),
            ("sarif", sarif(&notes)),
            ("github", github(&notes)),
            ("junit", junit(&notes)),
        ])
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
