//! The zero probe: whatever number of a report is 0, a rule gives an answer.

use crate::facts::catalogue;
use crate::facts::{FactValue, Unit};

use super::super::budget::Budget;
use super::super::example::judge;
use super::super::library::Library;
use super::super::outcome::Outcome;
use super::super::rule::{Case, FactRef, FactTable, Given, Rule};
use super::{is_judged, params};

/// What fails when one number of a test is 0: a division, as a rule.
pub(super) fn problem(
    library: &Library,
    rule: &Rule,
    (case, facts): (&Case, &Given),
    budget: &Budget,
) -> Option<String> {
    if !is_judged(case) {
        return None;
    }
    let params = params(rule, case);
    replaced(facts, zero).find_map(|(fact, given)| match judge(library, rule, &given, &params, budget) {
        Outcome::Failed { message } => Some(format!(
            "with `{fact}` = 0 the rule fails: {message}; ask first: `… if {fact} > 0 else …`, or a condition before it"
        )),
        _ => None,
    })
}

/// The facts of a test with one value after the other replaced, and which it is. `other` gives `None` for what stays.
pub(super) fn replaced(
    given: &Given,
    other: impl Fn(FactRef, &FactValue) -> Option<FactValue> + Copy,
) -> impl Iterator<Item = (FactRef, Given)> {
    let own = replaced_in(&given.own, other).map(|(fact, own)| (fact, Given { own, ..given.clone() }));
    let members = given.members.iter().enumerate().flat_map(move |(index, (kind, table))| {
        replaced_in(table, other).map(move |(fact, table)| {
            let mut members = given.members.clone();
            if let Some(member) = members.get_mut(index) {
                *member = (*kind, table);
            }
            (fact, Given { members, ..given.clone() })
        })
    });
    own.chain(members)
}

fn replaced_in(
    table: &FactTable,
    other: impl Fn(FactRef, &FactValue) -> Option<FactValue>,
) -> impl Iterator<Item = (FactRef, FactTable)> {
    table.iter().filter_map(move |(fact, value)| {
        let mut table = table.clone();
        table.insert(*fact, other(*fact, value)?);
        Some((*fact, table))
    })
}

fn zero(fact: FactRef, value: &FactValue) -> Option<FactValue> {
    match value {
        FactValue::Int(number) if *number != 0 && can_be_zero(fact) => Some(FactValue::Int(0)),
        FactValue::Float(number) if *number != 0.0 && can_be_zero(fact) => Some(FactValue::Float(0.0)),
        _ => None,
    }
}

/// Numbers that name something are no amounts.
fn can_be_zero(fact: FactRef) -> bool {
    catalogue::find(fact.kind, fact.name).is_some_and(|entry| entry.unit() != Unit::Id)
}
