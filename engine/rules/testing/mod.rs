//! Runs the tests that rule files carry.
//!
//! Each test that expects a finding or a pass is also run with all times, then all sizes, a thousand times larger and
//! smaller: the outcome must hold and the estimate must scale. A condition that mixes units does not survive this.

mod mutants;
mod probe;

use crate::facts::{EntityId, EntityKind, Facts};
use crate::text::spans::Sentence;

use super::check::FRAMEWORK_DEFAULT;
use super::evaluate::evaluate_one;
use super::library::Library;
use super::outcome::{Judgement, Match, Outcome};
use super::params::Params;
use super::rule::{Case, Expected, FactRef, FactTable, Rule};

pub use mutants::{Mutant, mutants};

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
    let rules = library.rules().iter();
    rules.flat_map(|rule| rule.tests.iter().map(move |case| report(library, rule, case))).collect()
}

/// What a rule says of its own example: for the rule's page.
pub fn example(library: &Library, rule: &Rule) -> Outcome {
    judge(library, rule, rule.example(), &Params::default())
}

/// The facts of a rule's example, with what the rule says of them: to review them like those of a report.
pub fn example_report(library: &Library, rule: &Rule) -> (Facts, Judgement) {
    let (facts, entity) = facts(rule.for_each(), rule.example());
    let outcome = evaluate_one(library, rule, &facts, entity, &Params::default());
    let place = library.rules().iter().position(|known| known.id() == rule.id()).unwrap_or_default();
    (facts, Judgement { rule: place, entity, outcome })
}

/// A rule's advice for each framework, printed for its example; the default first.
pub fn advice(library: &Library, rule: &Rule) -> Vec<(String, Sentence)> {
    let mut frameworks: Vec<&String> = rule.code.advice.keys().collect();
    frameworks.sort_by_key(|framework| (*framework != FRAMEWORK_DEFAULT, *framework));
    let framework = FactRef { kind: EntityKind::Run, name: "framework" };
    let print = |name: &String| {
        let mut table = rule.example().clone();
        match name.as_str() {
            FRAMEWORK_DEFAULT => table.remove(&framework),
            _ => table.insert(framework, name.as_str().into()),
        };
        match judge(library, rule, &table, &Params::default()) {
            Outcome::Finding(found) => Some((name.clone(), found.advice)),
            _ => None,
        }
    };
    frameworks.into_iter().filter_map(print).collect()
}

fn report(library: &Library, rule: &Rule, case: &Case) -> TestReport {
    let outcome = judge(library, rule, &case.facts, &params(rule, case));
    let problem = difference(case, &outcome).or_else(|| probe::problem(library, rule, case, &outcome));
    TestReport {
        rule: rule.id().to_owned(),
        test: case.name.clone(),
        file: rule.file.clone(),
        line: case.line,
        problem,
    }
}

fn params(rule: &Rule, case: &Case) -> Params {
    let mut params = Params::default();
    for (name, value) in &case.params {
        params.set(rule.id(), name, value.clone());
    }
    params
}

/// The outcome of one rule for the one entity that a table of facts describes.
fn judge(library: &Library, rule: &Rule, table: &FactTable, params: &Params) -> Outcome {
    let (facts, subject) = facts(rule.for_each(), table);
    evaluate_one(library, rule, &facts, subject, params)
}

/// The entity of `kind` and its ancestors, one of each.
fn facts(kind: EntityKind, table: &FactTable) -> (Facts, EntityId) {
    let mut facts = Facts::default();
    let mut made: Vec<(EntityKind, EntityId)> = Vec::new();
    for own in kind.ancestors().iter().rev() {
        let id = add(&mut facts, *own, &made, table);
        made.push((*own, id));
    }
    let id = add(&mut facts, kind, &made, table);
    (facts, id)
}

fn add(facts: &mut Facts, kind: EntityKind, made: &[(EntityKind, EntityId)], table: &FactTable) -> EntityId {
    let place = |kind: &EntityKind| made.iter().find(|(known, _)| known == kind).map(|(_, id)| *id);
    let parents: Vec<_> = kind.ancestors().iter().filter_map(place).collect();
    let id = facts.add(kind, "example", &parents);
    for (fact, value) in table.iter().filter(|(fact, _)| fact.kind == kind) {
        facts.get_mut(id).set(fact.name, value.clone());
    }
    id
}

/// What differs from what the test expects.
fn difference(case: &Case, outcome: &Outcome) -> Option<String> {
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
        Outcome::Finding(found) => finding_difference(case, found),
        Outcome::Unknown { missing } => expect
            .missing
            .as_ref()
            .filter(|expected| !same_names(expected, missing))
            .map(|expected| format!("expected {} to be missing, got {}", expected.join(", "), missing.join(", "))),
        _ => None,
    }
}

fn same_names(a: &[String], b: &[String]) -> bool {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    sorted(a) == sorted(b)
}

fn finding_difference(case: &Case, found: &Match) -> Option<String> {
    let recoverable_ns = found.estimate.as_ref().map(|estimate| estimate.recoverable_ns);
    if let Some(expected) = case.expect.recoverable_ns
        && recoverable_ns != Some(expected)
    {
        let got = recoverable_ns.map_or_else(|| "no estimate".to_owned(), |ns| ns.to_string());
        return Some(format!("expected recoverable_ns {expected}, got {got}"));
    }
    if let Some(expected) = case.expect.confidence.filter(|expected| *expected != found.confidence) {
        return Some(format!("expected confidence {}, got {}", expected.name(), found.confidence.name()));
    }
    let part = case.expect.summary.as_ref().filter(|part| !found.summary.plain().contains(part.as_str()));
    part.map(|part| format!("expected a summary with `{part}`, got `{}`", found.summary.plain()))
}

/// Whether rescaling says anything about a test.
fn is_judged(case: &Case) -> bool {
    matches!(case.expect.outcome, Expected::Finding | Expected::Pass)
}
