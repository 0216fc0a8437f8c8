//! Whether the tests of a rule would notice a condition turned around.

use std::path::Path;

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use toml::Spanned;

use super::super::check::check;
use super::super::fault::Log;
use super::super::library::{Library, place};
use super::super::raw;
use super::super::rule::Rule;
use super::run;

/// A rule with one comparison of one `when` turned around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// The id of the rule.
    pub rule: String,
    /// The condition as it was turned.
    pub expr: String,
    /// Whether no test noticed.
    pub survived: bool,
}

/// Turns every comparison in every `when` of every rule around, one at a time, and runs the rule's tests. A condition
/// without a comparison is negated.
pub fn mutants(library: &Library) -> Vec<Mutant> {
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
    let tokens = tokenize(expr, true, SyntaxConfig::default());
    let mutants: Vec<_> = tokens
        .flatten()
        .filter_map(|(token, span)| {
            let opposite = opposite(&token)?;
            let (before, after) = (expr.get(..span.start_offset as usize)?, expr.get(span.end_offset as usize..)?);
            Some(format!("{before}{opposite}{after}"))
        })
        .collect();
    if mutants.is_empty() { vec![format!("not ({expr})")] } else { mutants }
}

fn opposite(token: &Token<'_>) -> Option<&'static str> {
    match token {
        Token::Gte => Some("<"),
        Token::Lt => Some(">="),
        Token::Gt => Some("<="),
        Token::Lte => Some(">"),
        Token::Eq => Some("!="),
        Token::Ne => Some("=="),
        _ => None,
    }
}

fn with_condition(rule: &Rule, index: usize, expr: &str) -> Option<Library> {
    let mut log = Log::new(&rule.file, &rule.source);
    let mut raw = raw::read(&mut log)?;
    let when = raw.when.get_mut(index)?;
    when.expr = Spanned::new(when.expr.span(), expr.to_owned());
    check(&raw, &place(Path::new(&rule.file)), &mut log).map(Library::single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comparison_is_turned_once() {
        assert_eq!(turned("a.b >= 1 and a.c != 'x'"), ["a.b < 1 and a.c != 'x'", "a.b >= 1 and a.c == 'x'"]);
        assert_eq!(turned("a.b"), ["not (a.b)"]);
    }
}
