//! What the formats of machines print: one note for each thing worth a line, of a review or a comparison.

use crate::compare::{Comparison, FindingChange, Gate, GateOutcome, Outcome, State};
use crate::facts::Facts;
use crate::findings::{CodeName, Fingerprints, Place, Review, Sources, Threshold, digest};
use crate::rules::Library;
use crate::rules::outcome::Severity;
use crate::text::escape;

use super::rule_page::rule_page;

/// All notes of one report or one comparison.
#[derive(Debug, Clone)]
pub struct Notes {
    pub(super) title: &'static str,
    /// The reports that it is about, without folders.
    pub(super) reports: Vec<String>,
    pub(super) verdict: String,
    pub(super) verdict_level: Level,
    pub(super) notes: Vec<Note>,
    pub(super) gates: Vec<Gate>,
    /// What else is to be said, in one line each.
    pub(super) remarks: Vec<String>,
    pub(super) rules: Vec<RuleHelp>,
}

/// One thing worth a line. All strings are on one line and free of control characters, and are escaped where printed.
#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) rule: String,
    pub(super) title: String,
    pub(super) message: String,
    pub(super) level: Level,
    pub(super) severity: Severity,
    /// The same for the same finding of another run.
    pub(super) fingerprint: String,
    /// What became of it since the base; absent in a review.
    pub(super) state: Option<State>,
    /// Whether it ends the run with exit code 1.
    pub(super) is_failure: bool,
    /// Where in the project's code it is; absent where that is not known: then it is about the run.
    pub(super) place: Option<Place>,
    names: Vec<CodeName>,
}

/// How grave a note is, in the words of most formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Note,
    Warning,
    Error,
}

/// A rule that notes refer to.
#[derive(Debug, Clone)]
pub(super) struct RuleHelp {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) category: String,
    /// Its page.
    pub(super) help: String,
    pub(super) url: Option<String>,
}

impl From<Severity> for Level {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::High => Self::Error,
            Severity::Medium => Self::Warning,
            Severity::Low | Severity::Info => Self::Note,
        }
    }
}

impl Notes {
    /// Of a review of these facts. `report` is the name of the file, `threshold` what ends the run with exit code 1.
    pub fn of_review(facts: &Facts, review: &Review, report: &str, library: &Library, threshold: Threshold) -> Self {
        let prints = Fingerprints::new(facts);
        let notes: Vec<Note> = prints
            .all(review)
            .into_iter()
            .map(|seen| Note {
                rule: seen.finding.rule.clone(),
                title: escape::plain(&seen.finding.title),
                message: message(&[&seen.summary.plain, &seen.finding.advice.plain]),
                level: seen.severity.into(),
                severity: seen.severity,
                fingerprint: digest(&seen.fingerprint),
                state: None,
                is_failure: matches!(threshold, Threshold::At(least) if seen.severity >= least),
                place: seen.subject.place.clone(),
                names: seen.subject.names.clone(),
            })
            .collect();
        Self {
            title: "coldspot review",
            reports: vec![escape::plain(report)],
            verdict: escape::plain(&review.verdict.plain),
            verdict_level: Level::Note,
            rules: rules(&notes, library),
            notes,
            gates: review.gates.clone(),
            remarks: needing_base(review).into_iter().collect(),
        }
    }

    /// Of a comparison: findings that changed, and gates.
    pub fn of_comparison(comparison: &Comparison, library: &Library) -> Self {
        let least = comparison.gates.iter().find(|gate| gate.name == "fail-on").map(|gate| gate.limit.as_str());
        let least = Severity::ALL.into_iter().find(|severity| Some(severity.name()) == least);
        let is_shown = |finding: &&FindingChange| finding.state != State::Unchanged;
        let notes: Vec<Note> =
            comparison.findings.iter().filter(is_shown).map(|finding| changed(finding, least)).collect();
        Self {
            title: "coldspot compare",
            reports: comparison.head.iter().map(|name| escape::plain(name)).collect(),
            verdict: escape::plain(&comparison.verdict.plain),
            verdict_level: match comparison.outcome {
                Outcome::Slower | Outcome::NotComparable => Level::Warning,
                Outcome::Faster | Outcome::NoChange => Level::Note,
            },
            rules: rules(&notes, library),
            notes,
            gates: comparison.gates.clone(),
            remarks: Vec::new(),
        }
    }

    /// The same, each at the place in the project's code that it is mapped to, where no call stack told one.
    #[must_use]
    pub fn placed(mut self, sources: &Sources) -> Self {
        for note in self.notes.iter_mut().filter(|note| note.place.is_none()) {
            note.place = sources.find(&note.names).cloned();
        }
        self
    }

    /// Gates that do not hold or could not be evaluated.
    pub(super) fn failed_gates(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|gate| gate.outcome != GateOutcome::Passed)
    }
}

fn needing_base(review: &Review) -> Option<String> {
    let names = review.gates_needing_base.join(", ");
    let words = format!("gates that need a base are not evaluated in a review: {names}");
    (!names.is_empty()).then(|| escape::plain(&words))
}

fn changed(finding: &FindingChange, least: Option<Severity>) -> Note {
    let is_failure =
        matches!(finding.state, State::New | State::Worse) && least.is_some_and(|least| finding.severity >= least);
    Note {
        rule: finding.rule.clone(),
        title: escape::plain(&format!("{}: {}", finding.state.name(), finding.title)),
        message: message(&[&finding.summary.plain, &finding.advice.plain]),
        // What got better is good news, however grave it still is.
        level: match finding.state {
            State::New | State::Worse => finding.severity.into(),
            _ => Level::Note,
        },
        severity: finding.severity,
        fingerprint: digest(&finding.fingerprint),
        state: Some(finding.state),
        is_failure,
        place: finding.place.clone(),
        names: finding.names.clone(),
    }
}

fn message(sentences: &[&str]) -> String {
    let words: Vec<String> = sentences
        .iter()
        .map(|sentence| escape::plain(sentence))
        .filter(|sentence| !sentence.is_empty())
        .map(|sentence| if sentence.ends_with(['.', '!', '?']) { sentence } else { format!("{sentence}.") })
        .collect();
    words.join(" ")
}

fn rules(notes: &[Note], library: &Library) -> Vec<RuleHelp> {
    let ids: std::collections::BTreeSet<&str> = notes.iter().map(|note| note.rule.as_str()).collect();
    ids.into_iter()
        .filter_map(|id| library.rule(id))
        .map(|rule| RuleHelp {
            id: rule.id().to_owned(),
            title: rule.title().to_owned(),
            category: rule.category().to_owned(),
            // The page's template is the built-in one; were it wrong, the title would have to do.
            help: rule_page(library, rule).unwrap_or_else(|_| rule.title().to_owned()),
            url: rule.references().first().map(|reference| reference.url.clone()),
        })
        .collect()
}
