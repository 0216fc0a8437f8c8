//! What the formats of machines print: one note for each thing worth a line, of a review or a comparison.

use crate::compare::{Comparison, FindingChange, Gate, GateOutcome, Outcome, State};
use crate::facts::Facts;
use crate::findings::{Fingerprints, Place, Review, Threshold, digest};
use crate::rules::Library;
use crate::rules::outcome::Severity;
use crate::text::{escape, number};

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
    /// Whether gates that could not be evaluated fail nothing.
    pub(super) allows_unknown: bool,
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
    /// Whether it is there still: what is gone is not.
    pub(super) is_in_head: bool,
    /// Where in the project's code it is; absent where that is not known: then it is about the run.
    pub(super) place: Option<Place>,
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
                message: message(&[&seen.summary.plain(), &seen.finding.advice.plain()]),
                level: seen.severity.into(),
                severity: seen.severity,
                fingerprint: digest(&seen.fingerprint),
                state: None,
                is_failure: matches!(threshold, Threshold::At(least) if seen.severity >= least),
                is_in_head: true,
                place: seen.subject.place.clone(),
            })
            .collect();
        Self {
            title: "coldspot review",
            reports: vec![escape::plain(report)],
            verdict: escape::plain(&review.verdict.plain()),
            verdict_level: Level::Note,
            rules: rules(&notes, library),
            notes,
            gates: review.gates.clone(),
            allows_unknown: false,
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
            verdict: escape::plain(&comparison.verdict.plain()),
            verdict_level: match comparison.outcome {
                Outcome::Slower | Outcome::NotComparable => Level::Warning,
                Outcome::Faster | Outcome::NoChange => Level::Note,
            },
            rules: rules(&notes, library),
            notes,
            gates: comparison.gates.clone(),
            allows_unknown: false,
            remarks: Vec::new(),
        }
    }

    /// The same, where the user lets gates pass that could not be evaluated.
    #[must_use]
    pub fn allowing_unknown_gates(mut self, is_allowed: bool) -> Self {
        self.allows_unknown = is_allowed;
        self
    }

    /// How grave it is how a gate stands; `None` for one that holds.
    pub(super) fn level(&self, gate: &Gate) -> Option<Level> {
        match gate.outcome {
            GateOutcome::Passed => None,
            GateOutcome::Unknown if self.allows_unknown => Some(Level::Note),
            GateOutcome::Failed | GateOutcome::Unknown => Some(Level::Error),
        }
    }
}

fn needing_base(review: &Review) -> Option<String> {
    let gates: Vec<String> =
        review.gates_needing_base.iter().map(|gate| format!("{} ({})", gate.name, gate.limit)).collect();
    let words = format!("gates that need a base are not evaluated in a review: {}", gates.join(", "));
    (!gates.is_empty()).then(|| escape::plain(&words))
}

fn changed(finding: &FindingChange, least: Option<Severity>) -> Note {
    let is_failure =
        matches!(finding.state, State::New | State::Worse) && least.is_some_and(|least| finding.severity >= least);
    // What is being won, or is gone already, asks for nothing and is nowhere.
    let is_live = !matches!(finding.state, State::Better | State::Gone);
    let asks = matches!(finding.state, State::New | State::Worse);
    let advice = if asks { finding.advice.plain() } else { String::new() };
    let summary = match finding.state {
        State::Gone => format!("Was: {}", finding.summary.plain()),
        _ => finding.summary.plain(),
    };
    Note {
        rule: finding.rule.clone(),
        title: escape::plain(&format!("{}: {} ({})", finding.state.name(), finding.title, finding.subject.plain())),
        message: message(&[&how_much(finding), &summary, &advice]),
        // What got better is good news, however grave it still is.
        level: match finding.state {
            State::New | State::Worse => finding.severity.into(),
            _ => Level::Note,
        },
        severity: finding.severity,
        fingerprint: digest(&finding.fingerprint),
        state: Some(finding.state),
        is_failure,
        is_in_head: finding.is_in_head,
        place: finding.place.clone().filter(|_| is_live),
    }
}

/// `Up to 30.4 ms (10 %) after 5.49 ms (1.8 %)`.
fn how_much(finding: &FindingChange) -> String {
    let because = finding.because.as_deref().unwrap_or_default();
    let (Some(gain), Some(share)) = (&finding.gain, finding.share) else { return capital(because) };
    let [base, head] = [(gain.base, share[0]), (gain.head, share[1])]
        .map(|(gain, share)| format!("{} ({})", number::duration(gain.median), number::percent(share)));
    match finding.state {
        State::New => format!("Up to {head} of the window"),
        State::Gone => format!("Was up to {base} of the window"),
        State::Worse | State::Better => format!("Up to {head} after {base}"),
        State::Unclear if gain.base.median == 0 => format!("Up to {head} of the window; unclear: {because}"),
        State::Unclear if gain.head.median == 0 => format!("Was up to {base} of the window; unclear: {because}"),
        State::Unclear => format!("Up to {head} after {base}; unclear: {because}"),
        State::Unchanged => String::new(),
    }
}

fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
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
