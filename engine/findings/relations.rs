//! Which findings explain, or replace, others.

use super::rank::{Occurrence, order};
use super::subject::subject;
use super::{RelationTo, RuleCard, Suppressed};
use crate::facts::{EntityId, Facts};

/// Takes out the findings that another one makes pointless. A finding that is taken out still takes out others, so that
/// the order of rules does not matter.
pub(super) fn suppress<'a>(
    facts: &Facts,
    rules: &[RuleCard],
    occurrences: Vec<Occurrence<'a>>,
) -> (Vec<Occurrence<'a>>, Vec<Suppressed>) {
    let replaced_by: Vec<Option<usize>> = occurrences
        .iter()
        .map(|this| {
            let relations = &rules[this.rule].suppressed_by;
            let by = |other: &&Occurrence<'_>| {
                other.rule != this.rule
                    && relations.iter().any(|relation| holds(facts, relation, rules, this.entity, other))
            };
            occurrences.iter().find(by).map(|other| other.rule)
        })
        .collect();
    let mut kept = Vec::new();
    let mut suppressed = Vec::new();
    for (occurrence, by) in occurrences.into_iter().zip(replaced_by) {
        match by {
            None => kept.push(occurrence),
            Some(by) => suppressed.push(Suppressed {
                rule: rules[occurrence.rule].id.clone(),
                by: rules[by].id.clone(),
                subject: subject(facts, occurrence.entity),
                summary: occurrence.found.summary.clone(),
            }),
        }
    }
    (kept, suppressed)
}

/// For each finding the place of the one that explains it: the most important, where several do.
///
/// A cause that can gain less than half of what its symptom can is not the whole cause: both are shown. So a symptom
/// never drags a large gain into the small print.
pub(super) fn causes(facts: &Facts, rules: &[RuleCard], occurrences: &[Occurrence<'_>]) -> Vec<Option<usize>> {
    let mut causes: Vec<Option<usize>> = vec![None; occurrences.len()];
    for (place, this) in occurrences.iter().enumerate() {
        let best = (0..occurrences.len())
            .filter(|other| *other != place && explains(facts, rules, &occurrences[*other], this))
            // Rules without cycles make none here; a cycle would hide all its findings.
            .filter(|other| root(&causes, *other) != place)
            .min_by(|a, b| order(facts, rules, &occurrences[*a], &occurrences[*b]));
        causes[place] = best;
    }
    causes
}

/// The finding at the end of the chain of causes.
pub(super) fn root(causes: &[Option<usize>], mut place: usize) -> usize {
    while let Some(cause) = causes[place] {
        place = cause;
    }
    place
}

fn explains(facts: &Facts, rules: &[RuleCard], cause: &Occurrence<'_>, symptom: &Occurrence<'_>) -> bool {
    let is_large_enough = match (cause.recoverable_ns(), symptom.recoverable_ns()) {
        (Some(cause), Some(symptom)) => cause >= symptom - cause,
        _ => true,
    };
    is_large_enough
        && rules[cause.rule].explains.iter().any(|relation| {
            relation.rule == rules[symptom.rule].id && same(facts, relation, cause.entity, symptom.entity)
        })
}

fn holds(facts: &Facts, relation: &RelationTo, rules: &[RuleCard], entity: EntityId, other: &Occurrence<'_>) -> bool {
    relation.rule == rules[other.rule].id && same(facts, relation, entity, other.entity)
}

fn same(facts: &Facts, relation: &RelationTo, a: EntityId, b: EntityId) -> bool {
    relation.on.iter().all(|kind| {
        let a = facts.related(a, *kind);
        a.is_some() && a == facts.related(b, *kind)
    })
}
