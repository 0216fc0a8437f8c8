//! What the formats of machines print: one note for each thing worth a line, of a review or a comparison.

use crate::compare::{FindingChange, Outcome, Sides, State};
use crate::findings::{Observation, RuleFailure, SourceLocation, digest};
use crate::gates::{Gate, GateOutcome, Gates};
use crate::report::{ComparisonReport, Report, ReviewReport};
use crate::rules::outcome::Severity;
use crate::text::spans::Sentence;
use crate::text::{escape, number};

/// All notes of one report or one comparison.
#[derive(Debug, Clone)]
pub(super) struct Notes<'a> {
    pub(super) title: &'static str,
    /// The reports that it is about, without folders.
    pub(super) reports: Vec<String>,
    pub(super) verdict: String,
    pub(super) verdict_level: Level,
    /// Whether the head of a comparison is slower.
    pub(super) is_slower: bool,
    pub(super) notes: Vec<Note>,
    pub(super) gates: &'a Gates,
    /// What else is to be said, in one line each.
    pub(super) remarks: Vec<String>,
    /// What the project changed of the findings, in one line each.
    pub(super) altered: Vec<String>,
    /// Rules that went wrong, in one line each: what they would find is not among the notes. An error where that ends the run.
    pub(super) failures: Vec<(Level, String)>,
}

/// One thing worth a line. All strings are on one line and free of control characters, and are escaped where printed.
#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) rule: String,
    pub(super) title: String,
    /// The same without what became of it: a name that stays.
    pub(super) name: String,
    /// What was found, and how much it can gain.
    pub(super) what: String,
    /// What to do; may be empty.
    pub(super) advice: String,
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
    pub(super) source: Option<SourceLocation>,
}

/// How grave a note is, in the words of most formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Note,
    Warning,
    Error,
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

impl<'a> Notes<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        match report {
            Report::Review(report) => Self::of_review(report),
            Report::Comparison(report) => Self::of_comparison(report),
        }
    }

    fn of_review(ReviewReport { name, review, gates }: &'a ReviewReport) -> Self {
        let has_several = review.devices.len() > 1;
        let note = |seen: Observation<'_>| Note {
            rule: seen.finding.rule.clone(),
            title: escape::line(&seen.finding.title),
            name: escape::line(&seen.finding.title),
            what: what(&seen, has_several),
            advice: message(&[&seen.finding.advice.plain()]),
            level: seen.severity.into(),
            severity: seen.severity,
            fingerprint: digest(seen.fingerprint),
            state: None,
            is_failure: gates.fail_on.is_some_and(|least| seen.severity >= least),
            is_in_head: true,
            source: seen.subject.source.clone(),
        };
        Self {
            title: "coldspot review",
            reports: vec![escape::line(name)],
            verdict: escape::line(&review.verdict.plain()),
            verdict_level: Level::Note,
            is_slower: false,
            notes: review.observations().into_iter().map(note).collect(),
            gates,
            remarks: needing_base(gates).into_iter().collect(),
            altered: altered(&review.altered),
            failures: failures(&review.errors),
        }
    }

    /// Findings that changed, and gates.
    fn of_comparison(report: &'a ComparisonReport) -> Self {
        let ComparisonReport { comparison, gates, errors, .. } = report;
        let each = comparison.work.basis.per();
        // What became faster fails for no finding but that it failed.
        let is_exempt = |finding: &FindingChange| comparison.outcome == Outcome::Faster && !finding.tells_of_failure;
        let fail_on = |finding: &FindingChange| gates.fail_on.filter(|_| !is_exempt(finding));
        let verdict_level = match comparison.outcome {
            Outcome::Slower | Outcome::NotComparable => Level::Warning,
            Outcome::Faster | Outcome::NoChange => Level::Note,
        };
        Self {
            title: "coldspot compare",
            reports: comparison.head.iter().map(|name| escape::line(name)).collect(),
            verdict: escape::line(&comparison.verdict.plain()),
            verdict_level,
            notes: comparison.findings.iter().map(|finding| changed(finding, fail_on(finding), each)).collect(),
            is_slower: comparison.outcome == Outcome::Slower,
            gates,
            remarks: Vec::new(),
            altered: altered(&report.altered),
            failures: failures(errors),
        }
    }

    /// Whether every rule that is coldspot's own could be asked.
    pub(super) fn is_whole(&self) -> bool {
        self.failures.iter().all(|(level, _)| *level != Level::Error)
    }

    /// How grave it is how a gate stands; `None` for one that holds.
    pub(super) fn level(&self, gate: &Gate) -> Option<Level> {
        match gate.outcome {
            GateOutcome::Passed => None,
            _ if self.gates.ends_run_by(gate) => Some(Level::Error),
            GateOutcome::Unknown => Some(Level::Note),
            GateOutcome::Failed | GateOutcome::Undecided { .. } => Some(Level::Warning),
        }
    }
}

impl Note {
    /// What was found, and what to do.
    pub(super) fn message(&self) -> String {
        message(&[&self.what, &self.advice])
    }
}

/// What was found; of which GPU, where there are several.
fn what(seen: &Observation<'_>, has_several: bool) -> String {
    let gain = seen.gain.map_or_else(String::new, |gain| {
        if gain.replayed.is_some() {
            return capital(&gain.words());
        }
        let (gain, share) = (number::duration(gain.recoverable_ns), number::percent(gain.share));
        format!("Up to {gain}, {share} of the window")
    });
    let words = message(&[&seen.summary.plain(), &gain]);
    if has_several && seen.subject.device.is_some() {
        format!("{}: {words}", escape::line(&seen.subject.label.plain()))
    } else {
        words
    }
}

fn altered(altered: &[Sentence]) -> Vec<String> {
    altered.iter().map(|told| escape::line(&told.plain())).collect()
}

/// A rule of the user's own that meets a report it was not made for ends no run; one that was not asked to the end does.
fn failures(errors: &[RuleFailure]) -> Vec<(Level, String)> {
    let line = |error: &RuleFailure| {
        let level = if error.is_own && !error.is_spent() { Level::Warning } else { Level::Error };
        let words =
            format!("rule {} {}, so what it would find is not told: {}", error.rule, error.what(), error.message);
        (level, escape::line(&words))
    };
    errors.iter().map(line).collect()
}

fn needing_base(gates: &Gates) -> Option<String> {
    let gates: Vec<String> = gates.needing_base.iter().map(|gate| format!("{} ({})", gate.name, gate.limit)).collect();
    let words = format!("gates that need a base are not evaluated in a review: {}", gates.join(", "));
    (!gates.is_empty()).then(|| escape::line(&words))
}

fn changed(finding: &FindingChange, least: Option<Severity>, each: &str) -> Note {
    let asks = finding.state.is_regression();
    let is_failure = asks && !finding.is_known && least.is_some_and(|least| finding.severity >= least);
    // What is being won, or is gone already, asks for nothing and is nowhere.
    let is_live = !matches!(finding.state, State::Better | State::Gone);
    let advice = if asks { finding.advice.plain() } else { String::new() };
    let summary = match finding.state {
        State::Gone => format!("Was: {}", finding.summary.plain()),
        _ => finding.summary.plain(),
    };
    Note {
        rule: finding.rule.clone(),
        title: escape::line(&format!("{}: {} ({})", finding.state.name(), finding.title, finding.subject.plain())),
        name: escape::line(&format!("{} ({})", finding.title, finding.subject.plain())),
        what: message(&[&how_much(finding, each), &summary]),
        advice: message(&[&advice]),
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
        source: finding.source.clone().filter(|_| is_live),
    }
}

/// `Up to 30.4 ms a step (10 %) after 5.49 ms a step (1.8 %)`.
fn how_much(finding: &FindingChange, each: &str) -> String {
    let each = if finding.once { "" } else { each };
    let because = finding.because.as_deref().unwrap_or_default();
    let Some(gain) = &finding.gain else { return capital(because) };
    let shares = Sides::of(|side| finding.share.map(|share| format!(" ({})", number::percent(*share.get(side)))));
    let measured = Sides { base: gain.base, head: gain.head }.zip(shares);
    let Sides { base, head } =
        measured.map(|(gain, share)| format!("{}{each}{}", number::duration(gain.median), share.unwrap_or_default()));
    let of = if finding.share.is_some() { " of the window" } else { "" };
    match finding.state {
        State::New => format!("Up to {head}{of}"),
        State::Gone => format!("Was up to {base}{of}"),
        State::Worse | State::Better => format!("Up to {head} after {base}"),
        State::Unclear if gain.base.median == 0 => format!("Up to {head}{of}; unclear: {because}"),
        State::Unclear if gain.head.median == 0 => format!("Was up to {base}{of}; unclear: {because}"),
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
        .map(|sentence| escape::line(sentence))
        .filter(|sentence| !sentence.is_empty())
        .map(|sentence| if sentence.ends_with(['.', '!', '?']) { sentence } else { format!("{sentence}.") })
        .collect();
    words.join(" ")
}
