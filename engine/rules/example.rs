//! What a rule says of facts that are given by hand: of its example, for its page, and of its tests.

use crate::facts::{EntityId, EntityKind, Facts};
use crate::text::spans::Sentence;

use super::budget::Budget;
use super::evaluate::{claimed, evaluate_one};
use super::library::Library;
use super::outcome::{Judgement, Outcome};
use super::params::Params;
use super::rule::{FactRef, FactTable, Given, Rule};
use super::vocabulary::{ADVICE_FACTS, FRAMEWORK_DEFAULT, choices};

/// What a rule says of its own example: for the rule's page.
pub fn outcome(library: &Library, rule: &Rule) -> Outcome {
    judge(library, rule, &rule.code.example, &Params::default(), &Budget::default())
}

/// The facts of a rule's example, with what the rule says of them: to review them like those of a report.
pub fn report(library: &Library, rule: &Rule) -> (Facts, Judgement) {
    let (facts, entity) = facts(rule.for_each(), &rule.code.example);
    let outcome = evaluate_one(library, rule, (&facts, entity), &Params::default(), &Budget::default());
    let index = library.rules().iter().position(|known| known.id() == rule.id()).unwrap_or_default();
    (facts, Judgement { rule: index, entity, outcome, entity_count: 1 })
}

/// A rule's advice for each framework, printed for its example; the default first.
pub fn advice(library: &Library, rule: &Rule) -> Vec<(String, Sentence)> {
    let mut frameworks: Vec<&String> = rule.code.advice.keys().collect();
    frameworks.sort_by_key(|framework| (*framework != FRAMEWORK_DEFAULT, *framework));
    let fact = |name| FactRef { kind: EntityKind::Run, name };
    let of = |framework: &str| ADVICE_FACTS.into_iter().find(|fact| choices(fact).contains(&framework)).map(fact);
    let (mut printed, budget) = (Vec::new(), Budget::default());
    for name in frameworks {
        let mut table = Given::clone(&rule.code.example);
        ADVICE_FACTS.iter().for_each(|name| drop(table.own.remove(&fact(name))));
        if let Some(fact) = of(name) {
            table.own.insert(fact, name.as_str().into());
        }
        if let Outcome::Finding(found) = judge(library, rule, &table, &Params::default(), &budget) {
            printed.push((name.clone(), found.advice));
        }
    }
    printed
}

/// The outcome of one rule for the one entity that a table of facts describes.
pub(super) fn judge(library: &Library, rule: &Rule, table: &Given, params: &Params, budget: &Budget) -> Outcome {
    if let Err(message) = charge(table, budget) {
        return Outcome::Failed { message };
    }
    let (facts, subject) = facts(rule.for_each(), table);
    evaluate_one(library, rule, (&facts, subject), params, budget)
}

/// Takes the making of facts out of a budget: there may be many of them, and each is looked at with each of them changed.
fn charge(given: &Given, budget: &Budget) -> Result<(), String> {
    /// What a fact takes as long as.
    const STEPS_OF_FACT: usize = 10;
    let tables = std::iter::once(&given.own).chain(given.members.iter().map(|(_, table)| table));
    budget.charge(tables.map(|table| (1 + table.len()) * STEPS_OF_FACT).sum::<usize>() as u64)
}

/// The nanoseconds that a rule's estimate gives for a table of facts, before it is bounded; absent where it gives none.
pub(super) fn claimed_ns(
    library: &Library,
    rule: &Rule,
    table: &Given,
    params: &Params,
    budget: &Budget,
) -> Option<i64> {
    charge(table, budget).ok()?;
    let (facts, subject) = facts(rule.for_each(), table);
    claimed(library, rule, (&facts, subject), params, budget)
}

/// The entity of `kind` and its ancestors, one of each, and what belongs to it.
fn facts(kind: EntityKind, given: &Given) -> (Facts, EntityId) {
    let mut facts = Facts::default();
    let mut made: Vec<(EntityKind, EntityId)> = Vec::new();
    for own in kind.ancestors().iter().rev() {
        let id = add(&mut facts, *own, "example", &made, &given.own);
        made.push((*own, id));
    }
    let id = add(&mut facts, kind, "example", &made, &given.own);
    made.push((kind, id));
    for (index, (kind, table)) in given.members.iter().enumerate() {
        add(&mut facts, *kind, &format!("member{}", index + 1), &made, table);
    }
    (facts, id)
}

fn add(facts: &mut Facts, kind: EntityKind, key: &str, made: &[(EntityKind, EntityId)], table: &FactTable) -> EntityId {
    let made = |kind: &EntityKind| made.iter().find(|(known, _)| known == kind).map(|(_, id)| *id);
    let parents: Vec<_> = kind.ancestors().iter().filter_map(made).collect();
    let id = facts.add(kind, key, &parents);
    for (fact, value) in table.iter().filter(|(fact, _)| fact.kind == kind) {
        facts.get_mut(id).set(fact.name, value.clone());
    }
    id
}
