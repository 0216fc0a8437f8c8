//! Checks one text of a rule: plain Markdown with `{{ expression }}` and `{% if %}`, nothing else of the template language.

use crate::text::nearest::did_you_mean;

use super::super::expr::FILTERS;
use super::super::expr::syntax::{Expr, Filter, Part};
use super::types::{Dimension, NUMBER_FILTERS, TEXT_FILTERS, Type};
use super::walk::Walk;

impl Walk<'_> {
    pub(super) fn parts(&mut self, parts: &[Part<'_>]) {
        for part in parts {
            self.part(part);
        }
    }

    fn part(&mut self, part: &Part<'_>) {
        match part {
            Part::Raw => {}
            Part::Print(expr) => self.print(expr),
            Part::If { condition, yes, no } => {
                self.condition(condition);
                let (when_true, when_false) = (self.proofs(condition, true), self.proofs(condition, false));
                self.with_proven(when_true, |walk| walk.parts(yes));
                self.with_proven(when_false, |walk| walk.parts(no));
            }
            Part::Unsupported => self.faults.push("a text may use `{{ … }}` and `{% if … %}` only".to_owned()),
        }
    }

    /// What is printed: a number through a filter that fits its unit, or a text.
    fn print(&mut self, expr: &Expr<'_>) {
        match expr {
            Expr::Choice(choice) => {
                let condition = &choice.condition;
                self.condition(condition);
                let (when_true, when_false) = (self.proofs(condition, true), self.proofs(condition, false));
                self.with_proven(when_true, |walk| walk.print(&choice.yes));
                match &choice.no {
                    Some(no) => self.with_proven(when_false, |walk| walk.print(no)),
                    None => self.faults.push("`a if condition` needs an `else`".to_owned()),
                }
            }
            Expr::Filter(filter) if !FILTERS.contains(&filter.name) => self.printed(filter),
            _ => match self.type_of(expr) {
                Some(Type::Number(dimension)) => {
                    let way_out = match number_filter(expr, dimension) {
                        Some(filter) => format!("add `| {filter}`"),
                        None => format!("no filter prints {}", dimension.name()),
                    };
                    self.faults.push(format!("a number is printed without a filter: {way_out}"));
                }
                Some(Type::Bool) => self.faults.push("true or false cannot be printed: use `{% if %}`".to_owned()),
                Some(Type::Texts) => self.faults.push("a list of texts cannot be printed".to_owned()),
                _ => {}
            },
        }
    }

    fn printed(&mut self, filter: &Filter<'_>) {
        let name = filter.name;
        let inner = &filter.of;
        if !NUMBER_FILTERS.contains(&name) && !TEXT_FILTERS.contains(&name) {
            let near = did_you_mean(name, NUMBER_FILTERS.into_iter().chain(TEXT_FILTERS).chain(FILTERS));
            self.faults.push(format!("unknown filter `{name}`{near}"));
            return;
        }
        if !filter.arguments.is_empty() {
            self.faults.push(format!("`{name}` takes no arguments"));
        }
        match self.type_of(inner) {
            None => {}
            Some(Type::Number(dimension)) if TEXT_FILTERS.contains(&name) || !dimension.prints_as(name) => {
                let right = number_filter(inner, dimension);
                let way_out = right.map_or_else(String::new, |right| format!(": use `| {right}`"));
                self.faults.push(format!("`{name}` does not print {}{way_out}", dimension.name()));
            }
            Some(Type::Number(_)) => match (name, is_instant(inner)) {
                ("duration", true) => self.faults.push("this is a moment, not a length: use `| instant`".to_owned()),
                ("instant", false) => self.faults.push("this is a length, not a moment: use `| duration`".to_owned()),
                _ => {}
            },
            Some(Type::Bool) => self.faults.push(format!("`{name}` does not print true or false")),
            Some(Type::Texts) => self.faults.push(format!("`{name}` does not print a list of texts")),
            Some(_) if NUMBER_FILTERS.contains(&name) => self.faults.push(format!("`{name}` does not print text")),
            Some(_) => {}
        }
    }
}

/// The filter that prints a number of a unit, the most usual where there are several; absent where none does.
fn number_filter(expr: &Expr<'_>, dimension: Dimension) -> Option<&'static str> {
    NUMBER_FILTERS.into_iter().find(|name| match is_instant(expr) {
        true => *name == "instant",
        false => dimension.prints_as(name),
    })
}

/// Whether an expression is a fact that says when, not how long.
fn is_instant(expr: &Expr<'_>) -> bool {
    match expr {
        Expr::Attribute { name, .. } => name.ends_with("start_ns") || name.ends_with("end_ns"),
        Expr::Filter(filter) => is_instant(&filter.of),
        _ => false,
    }
}
