//! What the rules said of one report, put in one order: the [`Review`].

mod baseline;
mod capture;
mod card;
mod fingerprint;
mod gate;
mod ignored;
mod rank;
mod relations;
mod scorecard;
mod source;
mod spent;
mod subject;
mod total;
mod unjudged;
mod verdict;

use serde::Serialize;

use crate::facts::{EntityKind, Facts};
use crate::rules::outcome::{Confidence, Judgement, Outcome, Severity};
use crate::text::spans::Sentence;

pub use baseline::{Baseline, BaselineError, Known, KnownFinding};
pub use card::{Reference, RelationTo, RuleCard};
pub use fingerprint::{Fingerprints, Seen, digest};
pub use gate::{BaseGate, Gate, GateOutcome};
pub use ignored::{Ignore, Ignored, IgnoredFinding, Policy, Stale, StaleIgnore};
pub use scorecard::{Score, Scorecard, ScorecardError};
pub use source::{CodeKind, CodeName, Place, Source, Sources};
pub use spent::{DeviceReview, Part};
pub use subject::Subject;
pub use unjudged::{Unjudged, UnjudgedRule};

/// One report, reviewed: a plain value that renderers print.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Review {
    /// One sentence: how the device did, and what to change first.
    pub verdict: Sentence,
    /// Where the time of each device went, in the report's order of devices; empty when no GPU work was recorded.
    pub devices: Vec<DeviceReview>,
    /// The findings, the most important first; those of severity info are folded away when printed.
    pub findings: Vec<Finding>,
    /// Findings that another finding makes pointless.
    pub suppressed: Vec<Suppressed>,
    /// Findings that the user has accepted, by the ignore that sets them aside.
    pub ignored: Vec<Ignored>,
    /// Ignores that set nothing aside.
    pub stale_ignores: Vec<StaleIgnore>,
    /// Rules that the user has switched off, by id.
    pub rules_off: Vec<String>,
    /// What a baseline took out of the findings; absent without one.
    pub known: Option<Known>,
    /// What could not be judged, and what to capture.
    pub unjudged: Vec<Unjudged>,
    /// Rules that went wrong.
    pub errors: Vec<RuleFailure>,
    /// What the capture itself was missing.
    pub capture: Vec<Sentence>,
    /// How many answers of each kind the rules gave.
    pub counts: Counts,
    /// The threshold of severity and budgets that can be held against this report alone, and how they stand; empty until they are evaluated.
    pub gates: Vec<Gate>,
    /// Budgets that only a comparison can evaluate.
    pub gates_needing_base: Vec<BaseGate>,
}

impl Review {
    /// How many findings there are for single entities, symptoms among them; notes, of severity info, do not count.
    pub fn entity_count(&self, facts: &Facts) -> usize {
        Fingerprints::new(facts).all(self).iter().filter(|seen| seen.severity > Severity::Info).count()
    }

    /// The gravest severity of all findings that are shown, symptoms among them; `None` without findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(Finding::worst).max()
    }
}

/// From which severity on findings are too grave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// This one.
    At(Severity),
    /// Whatever is found.
    Never,
}

impl Threshold {
    /// Whether a review holds such a finding.
    pub fn is_reached(self, review: &Review) -> bool {
        match self {
            Self::At(least) => review.worst().is_some_and(|worst| worst >= least),
            Self::Never => false,
        }
    }
}

/// One rule that holds: for the entity where it matters most, with the others beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: String,
    /// The rule's title.
    pub title: String,
    /// The rule's folder: the cause that it looks for.
    pub category: String,
    /// The rule's own where it fixes one, else by the share of the window that it can gain.
    pub severity: Severity,
    /// Whether the cost occurs once, so that a longer run would hardly see it.
    pub once: bool,
    /// Whether the rule has yet to prove itself on real reports.
    pub is_experimental: bool,
    /// What it is about.
    pub subject: Subject,
    /// The most that it can gain; absent where time cannot be claimed.
    pub gain: Option<Gain>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why it is not surer.
    pub because: Vec<String>,
    /// What it is.
    pub summary: Sentence,
    /// A sentence for each condition that held.
    pub evidence: Vec<Sentence>,
    /// What to do.
    pub advice: Sentence,
    /// How to check that it helped.
    pub verify: Sentence,
    /// Where to look in the profiler.
    pub look: Option<Sentence>,
    /// Where the rule's knowledge comes from.
    pub references: Vec<Reference>,
    /// The other entities that the rule holds for, best first.
    pub also: Vec<Also>,
    /// Findings that this one explains.
    pub symptoms: Vec<Self>,
}

impl Finding {
    /// The gravest severity of it and of what it explains.
    pub fn worst(&self) -> Severity {
        self.symptoms.iter().map(Self::worst).fold(self.severity, Severity::max)
    }
}

/// The most that a finding can gain, of one device's window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// Nanoseconds that may be recovered.
    pub recoverable_ns: i64,
    /// The window that they are part of.
    pub window_ns: i64,
    /// The same as a share of that window.
    pub share: f64,
    /// How much faster the window could pass: T / (T - R). Absent when all of the window may be recovered.
    pub speedup_ceiling: Option<f64>,
    /// The account of the ledger that it draws on.
    pub account: String,
    /// Why it is a bound.
    pub basis: String,
}

/// Another entity that a rule holds for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Also {
    /// What it is about.
    pub subject: Subject,
    /// The severity of this one alone.
    pub severity: Severity,
    /// The most that it can gain.
    pub gain: Option<Gain>,
    /// What it is.
    pub summary: Sentence,
}

/// A finding that is not shown, because another one makes it pointless.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suppressed {
    /// The rule's id.
    pub rule: String,
    /// The rule whose finding stands in its place.
    pub by: String,
    /// What it is about.
    pub subject: Subject,
    /// What it is.
    pub summary: Sentence,
}

/// A rule that went wrong: the fault is the rule's, not the report's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleFailure {
    /// The rule's id.
    pub rule: String,
    /// What went wrong.
    pub message: String,
    /// For how many entities.
    pub entity_count: usize,
}

/// How many answers of each kind the rules gave, over all entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Rules in the library.
    pub rules: usize,
    /// Rules of which no entity was left unjudged for want of facts, nor went wrong.
    pub rules_judged: usize,
    /// The rule holds.
    pub findings: usize,
    /// The rule looked and found nothing.
    pub passes: usize,
    /// The rule is about something else.
    pub not_applicable: usize,
    /// A fact is missing.
    pub unknown: usize,
    /// The rule went wrong.
    pub failed: usize,
    /// Of the findings, those that the user has accepted, and those that they explain.
    pub ignored: usize,
}

/// Puts what the rules said in order. `judgements` name rules by their place in `rules`; one that names none is left out.
pub fn review(facts: &Facts, rules: &[RuleCard], judgements: &[Judgement], scorecard: &Scorecard) -> Review {
    review_under(facts, rules, judgements, scorecard, &Policy::default())
}

/// The same, with what the user has accepted set aside.
pub fn review_under(
    facts: &Facts,
    rules: &[RuleCard],
    judgements: &[Judgement],
    scorecard: &Scorecard,
    policy: &Policy,
) -> Review {
    let judgements: Vec<&Judgement> = judgements.iter().filter(|judgement| judgement.rule < rules.len()).collect();
    let occurrences = rank::occurrences(facts, rules, &judgements);
    let stale_ignores = policy.stale(facts, rules, &occurrences);
    let (occurrences, suppressed) = relations::suppress(facts, rules, occurrences);
    let causes = relations::causes(facts, rules, &occurrences);
    let places = policy.places(facts, rules, &occurrences, &causes);
    let recognised = policy.baseline.as_ref().map(|baseline| baseline.known(facts, rules, &occurrences));
    let (new, new_causes) = match &recognised {
        Some(recognised) => (
            (0..places.len()).map(|at| !recognised.is_known[at] && places[at].is_none()).collect(),
            recognised.new_causes(&causes),
        ),
        None => (places.iter().map(Option::is_none).collect::<Vec<bool>>(), causes),
    };
    let findings = rank::findings(facts, rules, &occurrences, &new_causes, &new);
    let known = recognised.map(|it| it.folded(facts, rules, &occurrences, |place| places[place].is_none()));
    let ignored = policy.ignored(facts, rules, &occurrences, &places);
    let counts = Counts { ignored: places.iter().flatten().count(), ..count(rules, &judgements) };
    let shown: Vec<rank::Occurrence<'_>> =
        occurrences.into_iter().zip(&places).filter(|(_, ignore)| ignore.is_none()).map(|(this, _)| this).collect();
    let capture = capture::notes(facts);
    let devices = devices(facts, scorecard, &shown);
    Review {
        verdict: verdict::verdict(facts, &devices, &findings, &capture, &counts, known.as_ref()),
        devices,
        findings,
        suppressed,
        ignored,
        stale_ignores,
        rules_off: policy.rules_off.clone(),
        known,
        unjudged: unjudged::unjudged(facts, rules, &judgements),
        errors: failures(rules, &judgements),
        capture,
        counts,
        gates: Vec::new(),
        gates_needing_base: Vec::new(),
    }
}

fn devices(facts: &Facts, scorecard: &Scorecard, shown: &[rank::Occurrence<'_>]) -> Vec<DeviceReview> {
    facts
        .of_kind(EntityKind::Device)
        .filter(|(_, device)| device.int("window_ns").is_some_and(|window| window > 0))
        .map(|(id, device)| DeviceReview {
            recoverable_ns: spent::recoverable(facts, id, shown),
            scores: scorecard.of(device),
            ..spent::device(device)
        })
        .collect()
}

fn count(rules: &[RuleCard], judgements: &[&Judgement]) -> Counts {
    let mut counts = Counts { rules: rules.len(), ..Counts::default() };
    let mut is_judged = vec![true; rules.len()];
    for judgement in judgements {
        let place = match judgement.outcome {
            Outcome::Finding(_) => &mut counts.findings,
            Outcome::Pass => &mut counts.passes,
            Outcome::NotApplicable => &mut counts.not_applicable,
            Outcome::Unknown { .. } => &mut counts.unknown,
            Outcome::Failed { .. } => &mut counts.failed,
        };
        *place += 1;
        if matches!(judgement.outcome, Outcome::Unknown { .. } | Outcome::Failed { .. }) {
            is_judged[judgement.rule] = false;
        }
    }
    counts.rules_judged = is_judged.into_iter().filter(|judged| *judged).count();
    counts
}

fn failures(rules: &[RuleCard], judgements: &[&Judgement]) -> Vec<RuleFailure> {
    let mut failures: Vec<RuleFailure> = Vec::new();
    for judgement in judgements {
        let Outcome::Failed { message } = &judgement.outcome else { continue };
        let rule = &rules[judgement.rule].id;
        match failures.iter_mut().find(|failure| failure.rule == *rule && failure.message == *message) {
            Some(failure) => failure.entity_count += 1,
            None => failures.push(RuleFailure { rule: rule.clone(), message: message.clone(), entity_count: 1 }),
        }
    }
    failures
}

#[cfg(test)]
mod ignored_tests;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
