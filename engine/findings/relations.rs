//! Which findings explain, or replace, others.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::Suppressed;
use super::occurrence::{Context, Occurrence, chain};
use crate::facts::{EntityId, EntityKind, Facts};
use crate::rules::{Relation, RuleInfo};

/// Takes out the findings that another one makes pointless. A finding that is taken out still takes out others, so that
/// the order of rules does not matter.
pub(super) fn suppress<'a>(
    context: &Context<'_>,
    occurrences: Vec<Occurrence<'a>>,
) -> (Vec<Occurrence<'a>>, Vec<Suppressed>) {
    let index = Index::new(context, &occurrences);
    let replaced_by: Vec<Option<usize>> = occurrences
        .iter()
        .map(|this| {
            let relations = context.rule(this).suppressed_by.iter();
            let others = relations.flat_map(|relation| index.find(relation, this.entity));
            let first = others.filter(|other| occurrences[**other].rule != this.rule).min();
            first.map(|other| occurrences[*other].rule)
        })
        .collect();
    let mut kept = Vec::new();
    let mut suppressed = Vec::new();
    for (occurrence, by) in occurrences.into_iter().zip(replaced_by) {
        match by {
            None => kept.push(occurrence),
            Some(by) => suppressed.push(Suppressed {
                rule: context.rule(&occurrence).id.clone(),
                by: context.rules[by].id.clone(),
                subject: context.subject(&occurrence),
                summary: occurrence.found.summary.clone(),
            }),
        }
    }
    (kept, suppressed)
}

/// Notes for each finding which one explains it: the most important, where several do.
///
/// A cause that can gain less than half of what its symptom can is not the whole cause: both are shown. So a symptom
/// never drags a large gain into the small print.
pub(super) fn find_causes(context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    let index = Index::new(context, occurrences);
    for this in 0..occurrences.len() {
        let cause = index
            .explaining(context.rules, &occurrences[this])
            .filter(|other| *other != this && is_large_enough(&occurrences[*other], &occurrences[this]))
            // Rules without cycles make none here; a cycle would hide all its findings.
            .filter(|other| chain(occurrences, *other).all(|above| above != this))
            .min_by(|a, b| context.order(&occurrences[*a], &occurrences[*b]));
        occurrences[this].cause = cause;
    }
}

fn is_large_enough(cause: &Occurrence<'_>, symptom: &Occurrence<'_>) -> bool {
    match (cause.recoverable_ns(), symptom.recoverable_ns()) {
        (Some(cause), Some(symptom)) => cause >= symptom - cause,
        _ => true,
    }
}

/// What a relation looks findings up by: the rule, and the entities that both are about.
type Key<'a> = (&'a str, &'a [EntityKind], Vec<EntityId>);

/// Findings by every relation that names their rule. A report can have thousands of findings: comparing each with each
/// would not end.
struct Index<'a> {
    facts: &'a Facts,
    /// By what a relation says of the finding it leads to.
    led_to: HashMap<Key<'a>, Vec<usize>>,
    /// By what a rule says that it explains: the explained rule, and the indices of those that explain.
    explaining: HashMap<Key<'a>, Vec<usize>>,
}

impl<'a> Index<'a> {
    fn new(context: &Context<'a>, occurrences: &[Occurrence<'_>]) -> Self {
        let Context { facts, rules, .. } = *context;
        let mut led_to: HashMap<Key<'a>, Vec<usize>> = HashMap::default();
        let mut explaining: HashMap<Key<'a>, Vec<usize>> = HashMap::default();
        let mut wanted: HashMap<&str, BTreeSet<&[EntityKind]>> = HashMap::default();
        for relation in rules.iter().flat_map(|rule| &rule.suppressed_by) {
            wanted.entry(&relation.rule).or_default().insert(&relation.on);
        }
        for (index, occurrence) in occurrences.iter().enumerate() {
            let rule = &rules[occurrence.rule];
            for on in wanted.get(rule.id.as_str()).into_iter().flatten().copied() {
                if let Some(subjects) = subjects(facts, on, occurrence.entity) {
                    led_to.entry((rule.id.as_str(), on, subjects)).or_default().push(index);
                }
            }
            for Relation { rule, on } in &rule.explains {
                if let Some(subjects) = subjects(facts, on, occurrence.entity) {
                    explaining.entry((rule.as_str(), on.as_slice(), subjects)).or_default().push(index);
                }
            }
        }
        Self { facts, led_to, explaining }
    }

    /// The findings that a relation leads to from an entity.
    fn find(&self, relation: &'a Relation, from: EntityId) -> impl Iterator<Item = &usize> {
        let subjects = subjects(self.facts, &relation.on, from);
        let found = subjects.and_then(|subjects| self.led_to.get(&(relation.rule.as_str(), &*relation.on, subjects)));
        found.into_iter().flatten()
    }

    /// The findings that explain one.
    fn explaining<'b>(&'b self, rules: &'a [RuleInfo], of: &'b Occurrence<'_>) -> impl Iterator<Item = usize> + 'b {
        let rule = rules[of.rule].id.as_str();
        let relations = rules.iter().flat_map(|rule| &rule.explains).filter(move |relation| relation.rule == rule);
        let ways: BTreeSet<&[EntityKind]> = relations.map(|relation| &*relation.on).collect();
        ways.into_iter().flat_map(move |on| {
            let subjects = subjects(self.facts, on, of.entity);
            subjects.and_then(|subjects| self.explaining.get(&(rule, on, subjects))).into_iter().flatten().copied()
        })
    }
}

/// The entities of these kinds that an entity is, or is below; `None` when one is missing.
fn subjects(facts: &Facts, on: &[EntityKind], entity: EntityId) -> Option<Vec<EntityId>> {
    on.iter().map(|kind| facts.related(entity, *kind)).collect()
}
