//! The zero probe: whatever number of a report is 0, a rule gives an answer.

use crate::facts::catalogue;
use crate::facts::{FactValue, Unit};

use super::super::example::judge;
use super::super::library::Library;
use super::super::outcome::Outcome;
use super::super::rule::{Case, FactRef, FactTable, Given, Rule};
use super::{is_judged, params};

/// What fails when one number of a test is 0: a division, as a rule.
pub(super) fn problem(library: &Library, rule: &Rule, case: &Case) -> Option<String> {
    if !is_judged(case) {
        return None;
    }
    let params = params(rule, case);
    zeroed(&case.facts).find_map(|(fact, given)| match judge(library, rule, &given, &params) {
        Outcome::Failed { message } => Some(format!(
            "with `{fact}` = 0 the rule fails: {message}; ask first: `… if {fact} > 0 else …`, or a condition before it"
        )),
        _ => None,
    })
}

/// The facts of a test with one number after the other set to 0, and which it is.
fn zeroed(given: &Given) -> impl Iterator<Item = (FactRef, Given)> {
    let own = zeros(&given.own).map(|(fact, own)| (fact, Given { own, ..given.clone() }));
    let members = given.members.iter().enumerate().flat_map(move |(index, (kind, table))| {
        zeros(table).map(move |(fact, table)| {
            let mut members = given.members.clone();
            if let Some(member) = members.get_mut(index) {
                *member = (*kind, table);
            }
            (fact, Given { members, ..given.clone() })
        })
    });
    own.chain(members)
}

fn zeros(table: &FactTable) -> impl Iterator<Item = (FactRef, FactTable)> {
    table.iter().filter_map(|(fact, value)| {
        let zero = match value {
            FactValue::Int(number) if *number != 0 => FactValue::Int(0),
            FactValue::Float(number) if *number != 0.0 => FactValue::Float(0.0),
            _ => return None,
        };
        can_be_zero(*fact).then(|| {
            let mut table = table.clone();
            table.insert(*fact, zero);
            (*fact, table)
        })
    })
}

/// Numbers that name something are no amounts.
fn can_be_zero(fact: FactRef) -> bool {
    catalogue::find(fact.kind, fact.name).is_some_and(|entry| entry.unit() != Unit::Id)
}
