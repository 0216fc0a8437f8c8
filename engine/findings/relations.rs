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
            let firsts = relations.filter_map(|relation| index.first(relation, this.entity));
            let others = firsts.filter(|other| occurrences[*other].rule != this.rule);
            others.min().map(|other| occurrences[other].rule)
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
        let ways = index.explaining(context.rules, &occurrences[this]);
        let best = ways.flat_map(|way| way.of(occurrences, this));
        occurrences[this].cause = best.min_by(|a, b| context.order(&occurrences[*a], &occurrences[*b]));
    }
}

/// The findings that explain those of one rule about the same entities, each list the most important first.
#[derive(Default)]
struct Causes {
    gaining: Vec<usize>,
    others: Vec<usize>,
}

impl Causes {
    fn push(&mut self, index: usize, occurrences: &[Occurrence<'_>]) {
        let list = if occurrences[index].gain.is_some() { &mut self.gaining } else { &mut self.others };
        list.push(index);
    }

    fn sort(&mut self, context: &Context<'_>, occurrences: &[Occurrence<'_>]) {
        for list in [&mut self.gaining, &mut self.others] {
            list.sort_by(|a, b| context.order(&occurrences[*a], &occurrences[*b]));
        }
    }

    /// The most important ones that explain this: of those that gain and of those that do not. Of those that gain, the
    /// first that is too small ends the search, since all that follow gain less.
    fn of(&self, occurrences: &[Occurrence<'_>], this: usize) -> impl Iterator<Item = usize> {
        // Rules without cycles make none here; a cycle would hide all its findings.
        let may = |other: &usize| *other != this && chain(occurrences, *other).all(|above| above != this);
        let is_enough = |other: &&usize| is_large_enough(&occurrences[**other], &occurrences[this]);
        let gaining = self.gaining.iter().take_while(is_enough).copied().find(may);
        gaining.into_iter().chain(self.others.iter().copied().find(may))
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
    /// The first finding, by what a relation says of the findings it leads to.
    led_to: HashMap<Key<'a>, usize>,
    /// By what a rule says that it explains: the explained rule, and those that explain.
    explaining: HashMap<Key<'a>, Causes>,
}

impl<'a> Index<'a> {
    fn new(context: &Context<'a>, occurrences: &[Occurrence<'_>]) -> Self {
        let Context { facts, rules, .. } = *context;
        let mut led_to: HashMap<Key<'a>, usize> = HashMap::default();
        let mut explaining: HashMap<Key<'a>, Causes> = HashMap::default();
        let mut wanted: HashMap<&str, BTreeSet<&[EntityKind]>> = HashMap::default();
        for relation in rules.iter().flat_map(|rule| &rule.suppressed_by) {
            wanted.entry(&relation.rule).or_default().insert(&relation.on);
        }
        for (index, occurrence) in occurrences.iter().enumerate() {
            let rule = &rules[occurrence.rule];
            for on in wanted.get(rule.id.as_str()).into_iter().flatten().copied() {
                if let Some(subjects) = subjects(facts, on, occurrence.entity) {
                    led_to.entry((rule.id.as_str(), on, subjects)).or_insert(index);
                }
            }
            for Relation { rule, on } in &rule.explains {
                if let Some(subjects) = subjects(facts, on, occurrence.entity) {
                    let causes = explaining.entry((rule.as_str(), on.as_slice(), subjects)).or_default();
                    causes.push(index, occurrences);
                }
            }
        }
        explaining.values_mut().for_each(|causes| causes.sort(context, occurrences));
        Self { facts, led_to, explaining }
    }

    /// The first finding that a relation leads to from an entity. All that it leads to are of one rule.
    fn first(&self, relation: &'a Relation, from: EntityId) -> Option<usize> {
        let subjects = subjects(self.facts, &relation.on, from)?;
        self.led_to.get(&(relation.rule.as_str(), &*relation.on, subjects)).copied()
    }

    /// The findings that explain one, by what they have in common with it.
    fn explaining<'b>(
        &'b self,
        rules: &'a [RuleInfo],
        of: &'b Occurrence<'_>,
    ) -> impl Iterator<Item = &'b Causes> + 'b {
        let rule = rules[of.rule].id.as_str();
        let relations = rules.iter().flat_map(|rule| &rule.explains).filter(move |relation| relation.rule == rule);
        let ways: BTreeSet<&[EntityKind]> = relations.map(|relation| &*relation.on).collect();
        ways.into_iter().filter_map(move |on| {
            let subjects = subjects(self.facts, on, of.entity)?;
            self.explaining.get(&(rule, on, subjects))
        })
    }
}

/// The entities of these kinds that an entity is, or is below; `None` when one is missing.
fn subjects(facts: &Facts, on: &[EntityKind], entity: EntityId) -> Option<Vec<EntityId>> {
    on.iter().map(|kind| facts.related(entity, *kind)).collect()
}
