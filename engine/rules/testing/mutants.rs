//! Whether the tests of a rule would notice a condition turned around.

use std::path::Path;

use toml::Spanned;

use super::super::check::check;
use super::super::depth::Depth;
use super::super::expr::syntax::opposites;
use super::super::fault::Log;
use super::super::library::tests::load;
use super::super::library::{Library, rule_path};
use super::super::raw;
use super::super::rule::Rule;
use super::super::skeleton::skeleton;
use super::run;

/// A rule with one comparison of one `when` turned around.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mutant {
    /// The id of the rule.
    rule: String,
    /// The condition as it was turned.
    expr: String,
    /// Whether no test noticed.
    survived: bool,
}

/// Turns every comparison in every `when` of every rule around, one at a time, and runs the rule's tests. A condition
/// without a comparison is negated.
fn mutants(library: &Library) -> Vec<Mutant> {
    library.rules().iter().flat_map(of_rule).collect()
}

fn of_rule(rule: &Rule) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (index, when) in rule.code.whens.iter().enumerate() {
        for expr in turned(&when.expr.source) {
            // One that no longer loads is noticed, too.
            let survived = with_condition(rule, index, &expr)
                .is_some_and(|library| run(&library).iter().all(super::TestReport::passed));
            mutants.push(Mutant { rule: rule.id().to_owned(), expr, survived });
        }
    }
    mutants
}

fn turned(expr: &str) -> Vec<String> {
    let opposites = opposites(expr);
    if opposites.is_empty() {
        return vec![format!("not ({expr})")];
    }
    opposites.into_iter().map(|(range, sign)| format!("{}{sign}{}", &expr[..range.start], &expr[range.end..])).collect()
}

fn with_condition(rule: &Rule, index: usize, expr: &str) -> Option<Library> {
    let mut log = Log::new(&rule.file, &rule.source);
    let mut raw = raw::read(&mut log)?;
    let when = raw.when.get_mut(index)?;
    when.expr = Spanned::new(when.expr.span(), expr.to_owned());
    check(&raw, &rule_path(Path::new(&rule.file)), Depth::Whole, &mut log).map(Library::single)
}

#[test]
fn every_comparison_is_turned_once() {
    assert_eq!(turned("a.b >= 1 and a.c != 'x'"), ["a.b < 1 and a.c != 'x'", "a.b >= 1 and a.c == 'x'"]);
    assert_eq!(turned("a.b"), ["not (a.b)"]);
}

#[test]
fn every_condition_of_the_built_in_rules_turned_around_is_noticed() {
    let library = Library::builtin().unwrap_or_else(|faults| panic!("{faults}"));
    let mutants = mutants(&library);
    let survivors: Vec<_> = mutants
        .iter()
        .filter(|mutant| mutant.survived)
        .map(|mutant| format!("{}: `{}` passes every test of the rule", mutant.rule, mutant.expr))
        .collect();
    assert!(!mutants.is_empty());
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}

#[test]
fn every_condition_of_the_rule_to_begin_with_turned_around_is_noticed() {
    let text = skeleton("my-first-rule").unwrap();
    let library = load(&[("ours/my-first-rule.toml", &text)]).unwrap();
    let mutants = mutants(&library);
    assert!(!mutants.is_empty() && mutants.iter().all(|mutant| !mutant.survived), "{mutants:?}");
}
