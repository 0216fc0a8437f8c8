//! Checks one expression: every name, every type, every unit, and that optional facts are asked for before they are used.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::machinery::ast::{BinOp, BinOpKind, Call, CallArg, Compare, CompareOpKind, Expr, IfExpr, UnaryOpKind};
use minijinja::value::{Value, ValueKind};

use crate::facts::{EntityKind, Unit, catalogue};
use crate::text::nearest::{did_you_mean, listed};

use super::super::expr::{FILTERS, FUNCTIONS, TESTS};
use super::super::rule::FactRef;
use super::types::{Dimension, NUMBER_FILTERS, TEXT_FILTERS, Type};

/// The names that a rule's expressions may use.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) for_each: EntityKind,
    pub(super) optional: BTreeSet<FactRef>,
    /// The unit is absent when it is not a known one.
    pub(super) params: BTreeMap<String, Option<Dimension>>,
    /// With their place; the type is absent when the value itself is wrong.
    pub(super) values: BTreeMap<String, (usize, Option<Type>)>,
}

impl Scope {
    pub(super) fn kinds(&self) -> impl Iterator<Item = EntityKind> {
        std::iter::once(self.for_each).chain(self.for_each.ancestors().iter().copied())
    }

    /// The fact with this full name, or why there is none.
    pub(super) fn fact(&self, entity: &str, name: &str) -> Result<FactRef, String> {
        let Some(kind) = EntityKind::from_name(entity) else {
            let roots = self.kinds().map(EntityKind::name).chain(["params", "values"]);
            return Err(format!("`{entity}` is no entity{}", did_you_mean(entity, roots)));
        };
        if !self.kinds().any(|known| known == kind) {
            let kinds: Vec<_> = self.kinds().map(EntityKind::name).collect();
            let rule = self.for_each.name();
            return Err(format!("a rule for each `{rule}` cannot name `{entity}`, only {}", listed(&kinds)));
        }
        match catalogue::find(kind, name) {
            Some(fact) => Ok(FactRef { kind, name: fact.name }),
            None => {
                let known = catalogue::of_kind(kind).map(|fact| fact.name);
                Err(format!("`{entity}` has no fact `{name}`{}", did_you_mean(name, known)))
            }
        }
    }
}

/// What expressions have named so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Uses {
    pub(super) facts: BTreeSet<FactRef>,
    pub(super) params: BTreeSet<String>,
    pub(super) values: BTreeSet<usize>,
}

/// The walk over one expression or text.
pub(super) struct Walk<'a> {
    scope: &'a Scope,
    /// Whether `values.x` may be named.
    values_allowed: bool,
    /// Optional facts that are known to be there at this point.
    pub(super) proven: Vec<FactRef>,
    pub(super) uses: Uses,
    pub(super) faults: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(scope: &'a Scope, values_allowed: bool, proven: &[FactRef]) -> Self {
        Self { scope, values_allowed, proven: proven.to_vec(), uses: Uses::default(), faults: Vec::new() }
    }

    pub(super) fn fault<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.faults.push(message.into());
        None
    }

    /// The type of an expression; none when a fault has been noted.
    pub(super) fn type_of(&mut self, expr: &Expr<'_>) -> Option<Type> {
        match expr {
            Expr::Const(constant) => self.constant(&constant.value),
            Expr::GetAttr(_) => self.name(expr, false),
            Expr::Var(var) => {
                self.fault(format!("`{}` is no fact: write `entity.fact`, `params.name` or `values.name`", var.id))
            }
            Expr::UnaryOp(unary) => match unary.op {
                UnaryOpKind::Not => self.condition(&unary.expr).map(|()| Type::Bool),
                UnaryOpKind::Neg => self.number(&unary.expr).map(Type::Number),
            },
            Expr::BinOp(operation) => self.operation(operation),
            Expr::Compare(compare) => self.chain(compare),
            Expr::IfExpr(choice) => self.choice(choice),
            Expr::Filter(filter) => match (&filter.expr, filter.name) {
                (Some(inner), "default") => self.default(inner, &filter.args),
                (Some(inner), "lower") => self.lower(inner),
                (_, name) if NUMBER_FILTERS.contains(&name) || TEXT_FILTERS.contains(&name) => {
                    // A filter binds closer than `/`, and that is how most people meet this.
                    self.fault(format!("`{name}` prints: it goes last, in a text, as in `(a / b) | {name}`"))
                }
                (_, name) => self.fault(format!("unknown filter `{name}`{}", did_you_mean(name, FILTERS))),
            },
            Expr::Test(test) if TESTS.contains(&test.name) => self.presence(&test.expr),
            Expr::Test(test) => self.fault(format!("unknown test `{}`{}", test.name, did_you_mean(test.name, TESTS))),
            Expr::Call(call) => self.call(call),
            Expr::GetItem(_) | Expr::Slice(_) => {
                self.fault("`[ ]` is not part of the language: name facts as `entity.fact`")
            }
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => self.fault("a list may only stand after `in`"),
        }
    }

    fn constant(&mut self, value: &Value) -> Option<Type> {
        match value.kind() {
            ValueKind::Bool => Some(Type::Bool),
            ValueKind::Number => {
                let number = f64::try_from(value.clone()).unwrap_or(f64::INFINITY);
                Some(Type::Number(Dimension::literal(number)))
            }
            ValueKind::String => Some(Type::Literal(value.to_string())),
            _ => self.fault("`none` is not part of the language: absent facts are tested with `is defined`"),
        }
    }

    /// `entity.fact`, `params.x` or `values.x`.
    fn name(&mut self, expr: &Expr<'_>, may_be_absent: bool) -> Option<Type> {
        let Expr::GetAttr(attribute) = expr else { return self.type_of(expr) };
        let Expr::Var(root) = &attribute.expr else {
            return self.fault(format!("`.{}` follows something that has no facts", attribute.name));
        };
        match root.id {
            "params" => self.param(attribute.name),
            "values" => self.value(attribute.name),
            entity => self.fact(entity, attribute.name, may_be_absent),
        }
    }

    fn param(&mut self, name: &str) -> Option<Type> {
        let Some(dimension) = self.scope.params.get(name).copied() else {
            let known = self.scope.params.keys().map(String::as_str);
            return self.fault(format!("`params.{name}` is not declared in [params]{}", did_you_mean(name, known)));
        };
        self.uses.params.insert(name.to_owned());
        dimension.map(Type::Number)
    }

    fn value(&mut self, name: &str) -> Option<Type> {
        if !self.values_allowed {
            return self.fault(format!(
                "`values.{name}` cannot be used here: `where` and [values] are made from facts and params only"
            ));
        }
        let Some((index, kind)) = self.scope.values.get(name).cloned() else {
            let known = self.scope.values.keys().map(String::as_str);
            return self.fault(format!("`values.{name}` is not declared in [values]{}", did_you_mean(name, known)));
        };
        self.uses.values.insert(index);
        kind
    }

    fn fact(&mut self, entity: &str, name: &str, may_be_absent: bool) -> Option<Type> {
        let found = match self.scope.fact(entity, name) {
            Ok(found) => found,
            Err(message) => return self.fault(message),
        };
        self.uses.facts.insert(found);
        if !may_be_absent && self.scope.optional.contains(&found) && !self.proven.contains(&found) {
            self.faults.push(format!("`{found}` is optional: use `| default(…)`, or ask `{found} is defined` first"));
        }
        catalogue::find(found.kind, found.name).map(|fact| Type::of_fact(fact.kind, fact.unit()))
    }

    /// Whether a fact is there: only worth asking of optional ones.
    fn presence(&mut self, expr: &Expr<'_>) -> Option<Type> {
        let Some(fact) = self.fact_of(expr) else {
            return self.fault("`is defined` asks for a fact: write `entity.fact is defined`");
        };
        self.name(expr, true)?;
        if !self.scope.optional.contains(&fact) {
            return self.fault(format!("`{fact}` is needed, so it is always defined: list it in `optional`"));
        }
        Some(Type::Bool)
    }

    fn fact_of(&self, expr: &Expr<'_>) -> Option<FactRef> {
        let Expr::GetAttr(attribute) = expr else { return None };
        let Expr::Var(root) = &attribute.expr else { return None };
        self.scope.fact(root.id, attribute.name).ok()
    }

    fn default(&mut self, inner: &Expr<'_>, args: &[CallArg<'_>]) -> Option<Type> {
        let fact = self.fact_of(inner);
        let kind = self.name(inner, true);
        let [CallArg::Pos(other)] = args else {
            return self.fault("`default` takes one value: `entity.fact | default(params.x)`");
        };
        let other = self.type_of(other);
        match fact {
            Some(fact) if !self.scope.optional.contains(&fact) => {
                return self.fault(format!("`{fact}` is needed, so its default is never used: list it in `optional`"));
            }
            None if kind.is_some() => return self.fault("`default` is for an optional fact only"),
            _ => {}
        }
        let (kind, other) = (kind?, other?);
        self.bare_literal(&kind, &other);
        match kind.join(&other) {
            Some(joined) => Some(joined),
            None => self.fault(format!("the fact is in {}, its default in {}", kind.name(), other.name())),
        }
    }

    fn lower(&mut self, inner: &Expr<'_>) -> Option<Type> {
        match self.type_of(inner)? {
            Type::Text | Type::Choice(_) | Type::Literal(_) => Some(Type::Text),
            other => self.fault(format!("`lower` is for text, not {}", other.name())),
        }
    }

    pub(super) fn condition(&mut self, expr: &Expr<'_>) -> Option<()> {
        match self.type_of(expr)? {
            Type::Bool => Some(()),
            other => self.fault(format!("a condition must be true or false, not {}", other.name())),
        }
    }

    fn number(&mut self, expr: &Expr<'_>) -> Option<Dimension> {
        match self.type_of(expr)? {
            Type::Number(dimension) => Some(dimension),
            other => self.fault(format!("a number was expected, not {}", other.name())),
        }
    }

    fn operation(&mut self, operation: &BinOp<'_>) -> Option<Type> {
        let (left, right) = (&operation.left, &operation.right);
        match operation.op {
            BinOpKind::ScAnd | BinOpKind::ScOr => {
                let proven = self.proofs(left, matches!(operation.op, BinOpKind::ScAnd));
                let first = self.condition(left);
                let second = self.with_proven(proven, |walk| walk.condition(right));
                first.and(second).map(|()| Type::Bool)
            }
            BinOpKind::Add | BinOpKind::Sub => self.sum("added to or taken from", left, right).map(Type::Number),
            BinOpKind::Rem => self.sum("divided with remainder by", left, right).map(Type::Number),
            BinOpKind::Mul | BinOpKind::Div | BinOpKind::FloorDiv => {
                let (a, b) = (self.number(left), self.number(right));
                let (a, b) = (a?, b?);
                Some(Type::Number(if matches!(operation.op, BinOpKind::Mul) { a.times(b) } else { a.over(b) }))
            }
            BinOpKind::Pow | BinOpKind::Concat => {
                self.fault("`**` and `~` are not part of the language; texts are put together in templates")
            }
            BinOpKind::In => self.membership(left, right),
            BinOpKind::Eq | BinOpKind::Ne => self.comparison(left, right, true),
            BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte => self.comparison(left, right, false),
        }
    }

    fn chain(&mut self, compare: &Compare<'_>) -> Option<Type> {
        let mut left = &compare.expr;
        for step in &compare.ops {
            match step.op {
                CompareOpKind::In | CompareOpKind::NotIn => self.membership(left, &step.expr)?,
                CompareOpKind::Eq | CompareOpKind::Ne => self.comparison(left, &step.expr, true)?,
                _ => self.comparison(left, &step.expr, false)?,
            };
            left = &step.expr;
        }
        Some(Type::Bool)
    }

    fn sum(&mut self, verb: &str, left: &Expr<'_>, right: &Expr<'_>) -> Option<Dimension> {
        let (a, b) = (self.number(left), self.number(right));
        let (a, b) = (a?, b?);
        if self.bare_literal(&Type::Number(a), &Type::Number(b)) {
            return None;
        }
        match a.join(b) {
            Some(dimension) => Some(dimension),
            None => {
                let (left, right) = (subject(left, a), subject(right, b));
                self.fault(format!("{left} is {verb} {right}"))
            }
        }
    }

    /// A bare number beside one with a unit: 5000 of what?
    fn bare_literal(&mut self, a: &Type, b: &Type) -> bool {
        let (Type::Number(a), Type::Number(b)) = (a, b) else { return false };
        let unit = match (a.is_literal_number(), b.is_literal_number()) {
            (true, false) => b,
            (false, true) => a,
            _ => return false,
        };
        if a.join(*b).is_some() {
            return false;
        }
        self.faults.push(format!(
            "a bare number beside one in {0}: declare it in [params] with `unit = \"{0}\"`",
            unit.name()
        ));
        true
    }

    fn comparison(&mut self, left: &Expr<'_>, right: &Expr<'_>, equality: bool) -> Option<Type> {
        let (a, b) = (self.type_of(left), self.type_of(right));
        match (a?, b?) {
            (Type::Number(a), Type::Number(b)) => {
                if !self.bare_literal(&Type::Number(a), &Type::Number(b)) && a.join(b).is_none() {
                    let (left, right) = (subject(left, a), subject(right, b));
                    return self.fault(format!("{left} is compared with {right}"));
                }
                Some(Type::Bool)
            }
            (a, b) if !equality => {
                let odd = if matches!(a, Type::Number(_)) { b } else { a };
                self.fault(format!("`<`, `<=`, `>` and `>=` compare numbers, not {}", odd.name()))
            }
            (a, b) => self.same_text(&a, &b),
        }
    }

    fn same_text(&mut self, a: &Type, b: &Type) -> Option<Type> {
        if let (Type::Choice(values), Type::Literal(text)) | (Type::Literal(text), Type::Choice(values)) = (a, b)
            && !values.contains(&text.as_str())
        {
            let near = did_you_mean(text, values.iter().copied());
            return self.fault(format!("the fact is never '{text}'{near}"));
        }
        match a.join(b) {
            Some(_) => Some(Type::Bool),
            None => self.fault(format!("{} is compared with {}", a.name(), b.name())),
        }
    }

    /// `x in ['a', 'b']`, or `'part' in text`.
    fn membership(&mut self, left: &Expr<'_>, right: &Expr<'_>) -> Option<Type> {
        let kind = self.type_of(left);
        let items = match right {
            Expr::List(list) => &list.items,
            Expr::Tuple(tuple) => &tuple.items,
            _ => {
                let (part, whole) = (kind?, self.type_of(right)?);
                let texts = matches!(part, Type::Text | Type::Literal(_)) && whole == Type::Text;
                return if texts {
                    Some(Type::Bool)
                } else {
                    self.fault("`in` needs a list, or a part of a text and the text")
                };
            }
        };
        let kind = kind?;
        for item in items {
            let item_type = self.type_of(item)?;
            if matches!(kind, Type::Number(_)) {
                self.comparison(left, item, true)?;
            } else {
                self.same_text(&kind, &item_type)?;
            }
        }
        Some(Type::Bool)
    }

    fn choice(&mut self, choice: &IfExpr<'_>) -> Option<Type> {
        let Some(otherwise) = &choice.false_expr else {
            return self.fault("`a if condition` needs an `else`");
        };
        let condition = self.condition(&choice.test_expr);
        let (when_true, when_false) = (self.proofs(&choice.test_expr, true), self.proofs(&choice.test_expr, false));
        let a = self.with_proven(when_true, |walk| walk.type_of(&choice.true_expr));
        let b = self.with_proven(when_false, |walk| walk.type_of(otherwise));
        let (a, b) = (a?, b?);
        condition?;
        self.bare_literal(&a, &b);
        match a.join(&b) {
            Some(kind) => Some(kind),
            None => self.fault(format!("`if` gives {}, `else` gives {}", a.name(), b.name())),
        }
    }

    fn call(&mut self, call: &Call<'_>) -> Option<Type> {
        let name = match &call.expr {
            Expr::Var(var) if FUNCTIONS.contains(&var.id) => var.id,
            Expr::Var(var) => {
                return self.fault(format!("unknown function `{}`{}", var.id, did_you_mean(var.id, FUNCTIONS)));
            }
            _ => return self.fault("methods are not part of the language"),
        };
        let mut joined: Option<Dimension> = None;
        for arg in &call.args {
            let CallArg::Pos(arg) = arg else { return self.fault(format!("`{name}` takes numbers only")) };
            let dimension = self.number(arg)?;
            let known = joined.unwrap_or(dimension);
            self.bare_literal(&Type::Number(known), &Type::Number(dimension));
            joined = match known.join(dimension) {
                Some(dimension) => Some(dimension),
                None => {
                    return self.fault(format!("`{name}` is given {} and {}", known.name(), dimension.name()));
                }
            };
        }
        match joined {
            Some(dimension) if call.args.len() > 1 => Some(Type::Number(dimension)),
            _ => self.fault(format!("`{name}` needs two numbers or more")),
        }
    }

    /// The optional facts that are there whenever a condition comes out as `truth`.
    pub(super) fn proofs(&self, expr: &Expr<'_>, truth: bool) -> Vec<FactRef> {
        match expr {
            Expr::Test(test) if (test.name == "defined") == truth => self.fact_of(&test.expr).into_iter().collect(),
            Expr::UnaryOp(unary) if matches!(unary.op, UnaryOpKind::Not) => self.proofs(&unary.expr, !truth),
            Expr::BinOp(operation)
                if matches!((operation.op, truth), (BinOpKind::ScAnd, true) | (BinOpKind::ScOr, false)) =>
            {
                let mut proven = self.proofs(&operation.left, truth);
                proven.extend(self.proofs(&operation.right, truth));
                proven
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn with_proven<T>(&mut self, proven: Vec<FactRef>, inner: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.proven.len();
        self.proven.extend(proven);
        let result = inner(self);
        self.proven.truncate(before);
        result
    }
}

/// An operand in a message: its name where it has one, and its unit.
fn subject(expr: &Expr<'_>, dimension: Dimension) -> String {
    let unit = dimension.name();
    match expr {
        Expr::GetAttr(attribute) => match &attribute.expr {
            Expr::Var(root) => format!("`{}.{}` ({unit})", root.id, attribute.name),
            _ => unit,
        },
        _ if dimension.is(Unit::None) => unit,
        _ => format!("an expression in {unit}"),
    }
}
