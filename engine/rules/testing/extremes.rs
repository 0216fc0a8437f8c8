//! Whether a rule has an outcome whatever number a fact is: files of facts can be written by hand.

use super::super::budget::Budget;
use super::super::example::judge;
use super::super::library::Library;
use super::super::outcome::Outcome;
use super::super::rule::{Case, FactTable, Given, Rule};
use super::params;
use super::zero::replaced;
use crate::facts::FactValue;
use crate::limits::MAX_FACTS_FILE_NUMBER;

/// Nothing, the smallest amount, and the most that a file of facts can hold.
fn extremes(value: &FactValue) -> Vec<FactValue> {
    let most = MAX_FACTS_FILE_NUMBER;
    match value {
        FactValue::Int(_) => [0, 1, most].map(FactValue::Int).into(),
        FactValue::Float(_) => [0.0, 1e-300, most as f64].map(FactValue::Float).into(),
        _ => Vec::new(),
    }
}

/// Which of the extremes.
const INDICES: std::ops::Range<usize> = 0..3;

/// The facts of a test with one of them, and with all numbers of them, at an extreme.
fn given(facts: &Given) -> impl Iterator<Item = (String, Given)> {
    INDICES.flat_map(move |index| {
        let each = replaced(facts, move |_, value| extremes(value).get(index).cloned());
        let each = each.map(move |(fact, given)| (format!("{fact} at extreme {index}"), given));
        let extreme = |value: &FactValue| extremes(value).get(index).cloned().unwrap_or_else(|| value.clone());
        let own: FactTable = facts.own.iter().map(|(fact, value)| (*fact, extreme(value))).collect();
        each.chain([(format!("all facts at extreme {index}"), Given { own, ..facts.clone() })])
    })
}

fn faults(library: &Library, rule: &Rule, case: &Case) -> Vec<String> {
    let params = params(rule, case);
    let facts = case.facts();
    let judged = given(&facts).map(|(name, facts)| (name, judge(library, rule, &facts, &params, &Budget::default())));
    judged
        .filter_map(|(name, outcome)| match outcome {
            Outcome::Failed { message } => Some(format!("{}, {}: {name}: {message}", rule.id(), case.name)),
            _ => None,
        })
        .collect()
}

#[test]
fn every_built_in_rule_has_an_outcome_whatever_numbers_a_fact_is() {
    let library = Library::builtin().unwrap_or_else(|faults| panic!("{faults}"));
    let cases = library.rules().iter().flat_map(|rule| rule.tests.iter().map(move |case| (rule, case)));
    let faults: Vec<String> = cases.flat_map(|(rule, case)| faults(&library, rule, case)).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
