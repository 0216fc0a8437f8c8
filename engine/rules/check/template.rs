//! Checks one text of a rule: plain Markdown with `{{ expression }}` and `{% if %}`, nothing else of the template language.

use minijinja::machinery::ast::{Expr, Filter, Stmt};

use crate::text::nearest::did_you_mean;

use super::types::{NUMBER_FILTERS, TEXT_FILTERS, Type};
use super::walk::Walk;

impl Walk<'_> {
    pub(super) fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    pub(super) fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(emit) => self.emit(&emit.expr),
            Stmt::IfCond(branch) => {
                self.condition(&branch.expr);
                let (when_true, when_false) = (self.proofs(&branch.expr, true), self.proofs(&branch.expr, false));
                self.with_proven(when_true, |walk| walk.statements(&branch.true_body));
                self.with_proven(when_false, |walk| walk.statements(&branch.false_body));
            }
            _ => self.faults.push("a text may use `{{ … }}` and `{% if … %}` only".to_owned()),
        }
    }

    /// What is printed: a number through a filter that fits its unit, or a text.
    fn emit(&mut self, expr: &Expr<'_>) {
        match expr {
            Expr::IfExpr(choice) => {
                self.condition(&choice.test_expr);
                let (when_true, when_false) =
                    (self.proofs(&choice.test_expr, true), self.proofs(&choice.test_expr, false));
                self.with_proven(when_true, |walk| walk.emit(&choice.true_expr));
                match &choice.false_expr {
                    Some(otherwise) => self.with_proven(when_false, |walk| walk.emit(otherwise)),
                    None => self.faults.push("`a if condition` needs an `else`".to_owned()),
                }
            }
            Expr::Filter(filter) if !matches!(filter.name, "default" | "lower") => self.printed(filter),
            _ => match self.type_of(expr) {
                Some(Type::Number(dimension)) => {
                    let fitting: Vec<_> = NUMBER_FILTERS.into_iter().filter(|name| dimension.prints_as(name)).collect();
                    let way_out = match (fitting.as_slice(), is_instant(expr)) {
                        (_, true) => "add `| instant`".to_owned(),
                        ([], _) => format!("no filter prints {}", dimension.name()),
                        ([first, ..], _) => format!("add `| {first}`"),
                    };
                    self.faults.push(format!("a number is printed without a filter: {way_out}"));
                }
                Some(Type::Bool) => self.faults.push("true or false cannot be printed: use `{% if %}`".to_owned()),
                _ => {}
            },
        }
    }

    fn printed(&mut self, filter: &Filter<'_>) {
        let name = filter.name;
        let Some(inner) = &filter.expr else { return };
        if !NUMBER_FILTERS.contains(&name) && !TEXT_FILTERS.contains(&name) {
            let near = did_you_mean(name, NUMBER_FILTERS.into_iter().chain(TEXT_FILTERS).chain(["default", "lower"]));
            self.faults.push(format!("unknown filter `{name}`{near}"));
            return;
        }
        if !filter.args.is_empty() {
            self.faults.push(format!("`{name}` takes no arguments"));
        }
        match self.type_of(inner) {
            None => {}
            Some(Type::Number(dimension)) if TEXT_FILTERS.contains(&name) || !dimension.prints_as(name) => {
                self.faults.push(format!("`{name}` does not print {}", dimension.name()));
            }
            Some(Type::Number(_)) => match (name, is_instant(inner)) {
                ("duration", true) => self.faults.push("this is a moment, not a length: use `| instant`".to_owned()),
                ("instant", false) => self.faults.push("this is a length, not a moment: use `| duration`".to_owned()),
                _ => {}
            },
            Some(Type::Bool) => self.faults.push(format!("`{name}` does not print true or false")),
            Some(_) if NUMBER_FILTERS.contains(&name) => self.faults.push(format!("`{name}` does not print text")),
            Some(_) => {}
        }
    }
}

/// Whether an expression is a fact that says when, not how long.
fn is_instant(expr: &Expr<'_>) -> bool {
    let name = match expr {
        Expr::GetAttr(attribute) => attribute.name,
        Expr::Filter(filter) => return filter.expr.as_ref().is_some_and(is_instant),
        _ => return false,
    };
    name.ends_with("start_ns") || name.ends_with("end_ns")
}
