//! Runs the tests that rule files carry.
//!
//! Each test that expects a finding or a pass is also run with all times, then all sizes, a thousand times larger and
//! smaller: the outcome must hold and the estimate must scale. A condition that mixes units does not survive this. Then each
//! number in turn is 0: a rule that divides by it must ask first.

#[cfg(test)]
mod extremes;
#[cfg(test)]
mod mutants;
mod probe;
mod zero;

use std::collections::BTreeSet;

use super::budget::Budget;
use super::example::{claimed_ns, judge};
use super::library::Library;
use super::outcome::{Estimate, Match, Outcome, Severity};
use super::params::Params;
use super::rule::{Case, Expected, Given, Rule};
use crate::text::spans::Sentence;

/// How one test went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport {
    /// The id of the rule.
    pub rule: String,
    /// The name of the test; `example` for the rule's example.
    pub test: String,
    /// The rule's file.
    pub file: String,
    /// The line of the test.
    pub line: usize,
    /// What differed from what was expected; absent when the test passed.
    pub problem: Option<String>,
}

impl TestReport {
    /// Whether the test passed.
    pub fn passed(&self) -> bool {
        self.problem.is_none()
    }
}

/// Runs all tests of all rules, in the order of the rules.
pub fn run(library: &Library) -> Vec<TestReport> {
    run_of(library, &library.rules().iter().collect::<Vec<_>>())
}

/// Runs all tests of some rules of a library, under one budget: the test that breaks it fails, and those after it are not run.
pub fn run_of(library: &Library, rules: &[&Rule]) -> Vec<TestReport> {
    let budget = Budget::of_tests();
    let mut reports = Vec::new();
    for (rule, case) in rules.iter().flat_map(|rule| rule.tests.iter().map(move |case| (rule, case))) {
        reports.push(report(library, rule, case, &budget));
        if budget.is_empty() {
            break;
        }
    }
    reports
}

fn report(library: &Library, rule: &Rule, case: &Case, budget: &Budget) -> TestReport {
    let params = params(rule, case);
    let facts = case.facts();
    let outcome = judge(library, rule, &facts, &params, budget);
    let problem = difference(rule, case, &outcome)
        .or_else(|| negative(library, rule, (case, &facts), &params, budget))
        .or_else(|| probe::problem(library, rule, (case, &facts), &outcome, budget))
        .or_else(|| zero::problem(library, rule, (case, &facts), budget));
    TestReport {
        rule: rule.id().to_owned(),
        test: case.name.clone(),
        file: rule.file.clone(),
        line: case.line,
        problem,
    }
}

/// An estimate is cut to nothing where it is negative: a rule whose example claims less than nothing is turned around.
fn negative(
    library: &Library,
    rule: &Rule,
    (case, facts): (&Case, &Given),
    params: &Params,
    budget: &Budget,
) -> Option<String> {
    let claimed = claimed_ns(library, rule, facts, params, budget).filter(|ns| *ns < 0)?;
    let is_finding = case.expect.outcome == Expected::Finding;
    is_finding.then(|| format!("the estimate is negative: {claimed} ns"))
}

fn params(rule: &Rule, case: &Case) -> Params {
    let mut params = Params::default();
    for (name, value) in &case.params {
        params.set(rule.id(), name, value.clone());
    }
    params
}

/// What differs from what the test expects.
fn difference(rule: &Rule, case: &Case, outcome: &Outcome) -> Option<String> {
    let expect = &case.expect;
    if let Outcome::Failed { message } = outcome {
        return Some(format!("the rule failed: {message}"));
    }
    if outcome.name() != expect.outcome.name() {
        let why = match outcome {
            Outcome::Unknown { missing } => format!(": {} absent", missing.join(", ")),
            _ => String::new(),
        };
        return Some(format!("expected {}, got {}{why}", expect.outcome.name(), outcome.name()));
    }
    match outcome {
        Outcome::Finding(found) => finding_difference(rule, case, found),
        Outcome::Unknown { missing } => expect
            .missing
            .as_ref()
            .filter(|expected| !same_names(expected, missing))
            .map(|expected| format!("expected {} to be missing, got {}", expected.join(", "), missing.join(", "))),
        _ => None,
    }
}

fn same_names(a: &[String], b: &[String]) -> bool {
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    set(a) == set(b)
}

fn finding_difference(rule: &Rule, case: &Case, found: &Match) -> Option<String> {
    let recoverable_ns = found.estimate.as_ref().map(Estimate::with_beside_ns);
    if let Some(expected) = case.expect.recoverable_ns
        && recoverable_ns != Some(expected)
    {
        let got = recoverable_ns.map_or_else(|| "no estimate".to_owned(), |ns| ns.to_string());
        return Some(format!("expected recoverable_ns {expected}, got {got}"));
    }
    if let Some(expected) = case.expect.confidence.filter(|expected| *expected != found.confidence) {
        return Some(format!("expected confidence {}, got {}", expected.name(), found.confidence.name()));
    }
    let severity = found.severity.or(rule.severity());
    if let Some(expected) = case.expect.severity.filter(|expected| Some(*expected) != severity) {
        let got = severity.map_or("what can be gained", Severity::name);
        return Some(format!("expected severity {}, got {got}", expected.name()));
    }
    let lacks = |what: &str, part: &Option<String>, printed: String| {
        let part = part.as_ref().filter(|part| !printed.contains(part.as_str()))?;
        Some(format!("expected a {what} with `{part}`, got `{printed}`"))
    };
    let title = found.title.as_ref().map_or_else(|| rule.title().to_owned(), Sentence::plain);
    let summary = lacks("summary", &case.expect.summary, found.summary.plain());
    let evidence: Vec<String> = found.evidence.iter().map(Sentence::plain).collect();
    let all = [&title, &found.summary.plain(), &evidence.join(" "), &found.advice.plain()].map(String::clone);
    summary
        .or_else(|| lacks("title", &case.expect.title, title))
        .or_else(|| lacks("evidence", &case.expect.evidence, evidence.join(" ")))
        .or_else(|| lacks("advice", &case.expect.advice, found.advice.plain()))
        .or_else(|| {
            let unsaid = case.expect.unsaid.as_ref()?;
            let said = all.iter().find(|said| said.contains(unsaid.as_str()))?;
            Some(format!("expected nothing to say `{unsaid}`, got `{said}`"))
        })
}

/// Whether rescaling says anything about a test.
fn is_judged(case: &Case) -> bool {
    matches!(case.expect.outcome, Expected::Finding | Expected::Pass)
}
