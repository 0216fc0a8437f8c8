//! The order of findings, and their severity.

use std::cmp::{Ordering, Reverse};

use super::relations::root;
use super::source::evidence;
use super::subject::subject_of;
use super::total;
use super::{Also, Finding, Gain, Reference, RuleCard};
use crate::facts::{EntityId, EntityKind, Facts};
use crate::rules::outcome::{Judgement, Match, Outcome, Severity};

/// From these shares of the window on, a finding is of that severity.
const SEVERITIES: [(f64, Severity); 3] = [(0.20, Severity::High), (0.05, Severity::Medium), (0.01, Severity::Low)];

/// One rule that holds for one entity.
pub(super) struct Occurrence<'a> {
    pub(super) rule: usize,
    pub(super) entity: EntityId,
    pub(super) found: &'a Match,
    pub(super) gain: Option<Gain>,
    pub(super) severity: Severity,
}

impl Occurrence<'_> {
    pub(super) fn recoverable_ns(&self) -> Option<i64> {
        self.gain.as_ref().map(|gain| gain.recoverable_ns)
    }
}

pub(super) fn occurrences<'a>(facts: &Facts, rules: &[RuleCard], judgements: &[&'a Judgement]) -> Vec<Occurrence<'a>> {
    let found = judgements.iter().filter_map(|judgement| match &judgement.outcome {
        Outcome::Finding(found) => Some((judgement.rule, judgement.entity, found.as_ref())),
        _ => None,
    });
    found
        .map(|(rule, entity, found)| {
            let gain = gain(facts, entity, found);
            // A severity that the rule fixes is its author's word; only without one does the gain decide.
            let severity = rules[rule]
                .severity
                .unwrap_or_else(|| gain.as_ref().map_or(Severity::Info, |gain| severity_of(gain.share)));
            Occurrence { rule, entity, found, gain, severity }
        })
        .collect()
}

pub(super) fn severity_of(share: f64) -> Severity {
    SEVERITIES.into_iter().find(|(least, _)| share >= *least).map_or(Severity::Info, |(_, severity)| severity)
}

/// The claim, held against the window of the entity's device; of all devices together for the run and for processes.
fn gain(facts: &Facts, entity: EntityId, found: &Match) -> Option<Gain> {
    let estimate = found.estimate.as_ref()?;
    let window_ns: i64 = match facts.related(entity, EntityKind::Device) {
        Some(device) => facts.get(device).int("window_ns")?,
        None => facts
            .of_kind(EntityKind::Device)
            .filter_map(|(_, device)| device.int("window_ns"))
            .fold(0, i64::saturating_add),
    };
    if window_ns <= 0 {
        return None;
    }
    let recoverable_ns = estimate.recoverable_ns.clamp(0, window_ns);
    let rest = window_ns - recoverable_ns;
    Some(Gain {
        recoverable_ns,
        window_ns,
        share: recoverable_ns as f64 / window_ns as f64,
        speedup_ceiling: (rest > 0).then(|| window_ns as f64 / rest as f64),
        account: estimate.account.clone(),
        basis: estimate.basis.clone(),
    })
}

/// The order of findings, a total one: a capture that cannot be trusted, then by what can be gained, then what has no
/// estimate.
pub(super) fn order(facts: &Facts, rules: &[RuleCard], a: &Occurrence<'_>, b: &Occurrence<'_>) -> Ordering {
    let key = |this: &Occurrence<'_>| {
        let group = match (&this.gain, this.severity) {
            (None, Severity::High) => 0,
            (Some(_), _) => 1,
            (None, _) => 2,
        };
        let severity = if this.gain.is_some() { Severity::Info } else { this.severity };
        // What has no estimate goes by the time that it is about.
        let alone = facts.get(this.entity).int("alone_ns").filter(|_| this.gain.is_none());
        (group, Reverse(severity), Reverse(this.recoverable_ns()), Reverse(this.found.confidence), Reverse(alone))
    };
    let name = |this: &Occurrence<'_>| (rules[this.rule].id.clone(), facts.get(this.entity).key.clone(), this.entity);
    key(a).cmp(&key(b)).then_with(|| name(a).cmp(&name(b)))
}

/// One finding a rule, symptoms under their causes, in order. `causes` says for each occurrence what explains it,
/// `is_shown` whether it is: what is ignored or known is left out.
pub(super) fn findings(
    facts: &Facts,
    rules: &[RuleCard],
    occurrences: &[Occurrence<'_>],
    causes: &[Option<usize>],
    is_shown: &[bool],
) -> Vec<Finding> {
    let mut places: Vec<usize> = (0..occurrences.len()).filter(|place| is_shown[*place]).collect();
    places.sort_by(|a, b| order(facts, rules, &occurrences[*a], &occurrences[*b]));
    let tops: Vec<usize> = places.iter().copied().filter(|place| causes[*place].is_none()).collect();
    let roots: Vec<(usize, usize)> = places
        .iter()
        .filter(|place| causes[**place].is_some())
        .map(|place| (*place, occurrences[root(causes, *place)].rule))
        .collect();
    let mut findings: Vec<Finding> = by_rule(&tops, occurrences)
        .into_iter()
        .map(|group| {
            let rule = occurrences[group[0]].rule;
            let below: Vec<usize> = roots.iter().filter(|(_, root)| *root == rule).map(|(place, _)| *place).collect();
            let symptoms = by_rule(&below, occurrences)
                .iter()
                .map(|symptoms| finding(facts, rules, occurrences, symptoms, Vec::new()))
                .collect();
            finding(facts, rules, occurrences, &group, symptoms)
        })
        .collect();
    // Several entities of a rule gain more together than the best of them, by which the groups came.
    findings.sort_by_key(|finding| match &finding.gain {
        None if finding.severity == Severity::High => (0, Reverse(0)),
        Some(gain) => (1, Reverse(gain.recoverable_ns)),
        None => (2, Reverse(0)),
    });
    findings
}

/// Groups by rule, in the order of each group's first.
fn by_rule(places: &[usize], occurrences: &[Occurrence<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &place in places {
        let rule = occurrences[place].rule;
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| occurrences[*first].rule == rule)) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// `group` holds occurrences of one rule, best first; never empty.
fn finding(
    facts: &Facts,
    rules: &[RuleCard],
    occurrences: &[Occurrence<'_>],
    group: &[usize],
    symptoms: Vec<Finding>,
) -> Finding {
    let best = &occurrences[group[0]];
    let (rule, found) = (&rules[best.rule], best.found);
    let gain = total::gain(facts, occurrences, group);
    let together = gain.as_ref().filter(|_| rule.severity.is_none()).map(|gain| severity_of(gain.share));
    let also = group[1..].iter().map(|place| {
        let other = &occurrences[*place];
        Also {
            subject: subject_of(facts, other.entity, other.found),
            severity: other.severity,
            gain: other.gain.clone(),
            summary: other.found.summary.clone(),
        }
    });
    Finding {
        rule: rule.id.clone(),
        title: rule.title.clone(),
        category: rule.category.clone(),
        // On a short window of a second device the same rule may matter more than where it gains most.
        severity: group
            .iter()
            .map(|place| occurrences[*place].severity)
            .chain(together)
            .fold(best.severity, Severity::max),
        once: rule.once,
        is_experimental: rule.is_experimental,
        subject: subject_of(facts, best.entity, found),
        gain,
        confidence: found.confidence,
        because: found.because.clone(),
        summary: found.summary.clone(),
        evidence: found.evidence.iter().cloned().chain(evidence(facts.get(best.entity))).collect(),
        advice: found.advice.clone(),
        verify: found.verify.clone(),
        look: found.look.clone(),
        references: references(facts, rule),
        also: also.collect(),
        symptoms,
    }
}

/// The pages that fit the program: those of PyTorch only where it is used, unless there is no other.
fn references(facts: &Facts, rule: &RuleCard) -> Vec<Reference> {
    let is_pytorch = facts.run().is_none_or(|run| run.text("framework") == Some("pytorch"));
    let fits = |reference: &&Reference| is_pytorch || !reference.url.contains("pytorch.org/");
    let fitting: Vec<Reference> = rule.references.iter().filter(fits).cloned().collect();
    if fitting.is_empty() { rule.references.clone() } else { fitting }
}
