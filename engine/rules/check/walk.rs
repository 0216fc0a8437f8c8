//! Checks one expression: every name, every type, every unit, and that optional facts are asked for before they are used.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{EntityKind, Unit, catalogue};
use crate::text::nearest::{did_you_mean, listed};

use super::super::expr::syntax::{Argument, Arithmetic, Choice, Comparison, Expr, Filter, Literal, Logic, Unsupported};
use super::super::expr::{FILTERS, TESTS};
use super::super::rule::FactRef;
use super::types::{Dimension, NUMBER_FILTERS, TEXT_FILTERS, Type};

/// The names that a rule's expressions may use.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) for_each: EntityKind,
    pub(super) optional: BTreeSet<FactRef>,
    /// The type is absent when the param itself is wrong.
    pub(super) params: BTreeMap<String, Option<Type>>,
    /// With their index; the type is absent when the value itself is wrong.
    pub(super) values: BTreeMap<String, (usize, Option<Type>)>,
    /// What each group can be asked, by its name; the type is absent when that is wrong.
    pub(super) groups: BTreeMap<String, BTreeMap<String, Option<Type>>>,
}

impl Scope {
    /// Nothing but the facts of a kind of entity and of its ancestors.
    pub(super) fn of(for_each: EntityKind) -> Self {
        Self {
            for_each,
            optional: BTreeSet::new(),
            params: BTreeMap::new(),
            values: BTreeMap::new(),
            groups: BTreeMap::new(),
        }
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = EntityKind> {
        std::iter::once(self.for_each).chain(self.for_each.ancestors().iter().copied())
    }

    /// The fact with this full name, where there is one.
    pub(super) fn find(&self, entity: &str, name: &str) -> Option<FactRef> {
        let kind = EntityKind::from_name(entity).filter(|kind| self.kinds().any(|known| known == *kind))?;
        catalogue::find(kind, name).map(|fact| FactRef { kind, name: fact.name })
    }

    /// The fact with this full name, or why there is none.
    pub(super) fn fact(&self, entity: &str, name: &str) -> Result<FactRef, String> {
        let Some(kind) = EntityKind::from_name(entity) else {
            let roots = self.kinds().map(EntityKind::name).chain(["params", "values", "groups"]);
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
                let hint = match did_you_mean(name, catalogue::of_kind(kind).map(|fact| fact.name)) {
                    none if none.is_empty() => "; `coldspot facts --list` prints all facts".to_owned(),
                    hint => hint,
                };
                Err(format!("`{entity}` has no fact `{name}`{hint}"))
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
    /// As `group.what`.
    pub(super) groups: BTreeSet<String>,
}

/// What an expression must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Condition,
    Time,
    Anything,
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

    /// The type of an expression that must give something.
    pub(super) fn wanted(&mut self, expr: &Expr<'_>, wanted: Wanted) -> Option<Type> {
        if wanted == Wanted::Condition {
            return self.condition(expr).map(|()| Type::Bool);
        }
        let kind = self.type_of(expr)?;
        let is_time = matches!(kind, Type::Number(dimension) if dimension.is(Unit::Ns));
        if wanted == Wanted::Time && !is_time {
            self.faults.push(format!("it must give ns, not {}", kind.name()));
        }
        Some(kind)
    }

    /// The type of an expression; none when a fault has been noted.
    pub(super) fn type_of(&mut self, expr: &Expr<'_>) -> Option<Type> {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Attribute { .. } => self.name(expr, false),
            Expr::Variable(name) => {
                self.fault(format!("`{name}` is no fact: write `entity.fact`, `params.name` or `values.name`"))
            }
            Expr::Not(inner) => self.condition(inner).map(|()| Type::Bool),
            Expr::Negative(inner) => self.number(inner).map(Type::Number),
            Expr::Logical(logic, operands) => self.logical(*logic, operands),
            Expr::Arithmetic(operation, operands) => self.arithmetic(*operation, operands),
            Expr::Compared { first, rest } => self.compared(first, rest),
            Expr::Choice(choice) => self.choice(choice),
            Expr::Filter(filter) => self.filter(filter),
            Expr::Test { of, name } if TESTS.contains(name) => self.presence(of),
            Expr::Test { name, .. } => self.fault(format!("unknown test `{name}`{}", did_you_mean(name, TESTS))),
            Expr::Call { function, arguments } => self.call(*function, arguments),
            Expr::List(_) | Expr::Unsupported(Unsupported::Map) => self.fault("a list may only stand after `in`"),
            Expr::Unsupported(Unsupported::Index) => {
                self.fault("`[ ]` is not part of the language: name facts as `entity.fact`")
            }
            Expr::Unsupported(Unsupported::Operator) => {
                self.fault("`**` and `~` are not part of the language; texts are put together in templates")
            }
        }
    }

    fn literal(&mut self, literal: &Literal) -> Option<Type> {
        match literal {
            Literal::Bool => Some(Type::Bool),
            Literal::Number(number) => Some(Type::Number(Dimension::literal(*number))),
            Literal::Text(text) => Some(Type::Literal(text.clone())),
            Literal::Nothing => {
                self.fault("`none` is not part of the language: absent facts are tested with `is defined`")
            }
        }
    }

    fn filter(&mut self, filter: &Filter<'_>) -> Option<Type> {
        match filter.name {
            "default" => self.default(&filter.of, &filter.arguments),
            "lower" => self.lower(&filter.of),
            name if NUMBER_FILTERS.contains(&name) || TEXT_FILTERS.contains(&name) => {
                // A filter binds closer than `/`, and that is how most people meet this.
                self.fault(format!("`{name}` prints: it goes last, in a text, as in `(a / b) | {name}`"))
            }
            name => self.fault(format!("unknown filter `{name}`{}", did_you_mean(name, FILTERS))),
        }
    }

    /// `entity.fact`, `params.x` or `values.x`.
    fn name(&mut self, expr: &Expr<'_>, may_be_absent: bool) -> Option<Type> {
        let Expr::Attribute { of, name } = expr else { return self.type_of(expr) };
        match **of {
            Expr::Variable("params") => self.param(name),
            Expr::Variable("values") => self.value(name),
            Expr::Variable("groups") => {
                self.fault(format!("`groups.{name}` is a group: ask for `groups.{name}.count` or one of its sums"))
            }
            Expr::Attribute { ref of, name: group } if matches!(**of, Expr::Variable("groups")) => {
                self.group(group, name)
            }
            Expr::Variable(entity) => self.fact(entity, name, may_be_absent),
            _ => self.fault(format!("`.{name}` follows something that has no facts")),
        }
    }

    fn param(&mut self, name: &str) -> Option<Type> {
        let Some(kind) = self.scope.params.get(name).cloned() else {
            let known = self.scope.params.keys().map(String::as_str);
            return self.fault(format!("`params.{name}` is not declared in [params]{}", did_you_mean(name, known)));
        };
        self.uses.params.insert(name.to_owned());
        kind
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

    fn group(&mut self, group: &str, what: &str) -> Option<Type> {
        let Some(known) = self.scope.groups.get(group) else {
            let near = did_you_mean(group, self.scope.groups.keys().map(String::as_str));
            return self.fault(format!("`groups.{group}` is not declared in [groups], or not known here{near}"));
        };
        self.uses.groups.insert(format!("{group}.{what}"));
        match known.get(what).cloned() {
            Some(kind) => kind,
            None => {
                let near = did_you_mean(what, known.keys().map(String::as_str));
                self.fault(format!("the group `{group}` has no `{what}`{near}"))
            }
        }
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
        let Expr::Attribute { of, name } = expr else { return None };
        let Expr::Variable(entity) = **of else { return None };
        self.scope.find(entity, name)
    }

    fn default(&mut self, inner: &Expr<'_>, arguments: &[Argument<'_>]) -> Option<Type> {
        let fact = self.fact_of(inner);
        let kind = self.name(inner, true);
        let [Argument::Positional(other)] = arguments else {
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

    pub(super) fn number(&mut self, expr: &Expr<'_>) -> Option<Dimension> {
        match self.type_of(expr)? {
            Type::Number(dimension) => Some(dimension),
            other => self.fault(format!("a number was expected, not {}", other.name())),
        }
    }

    fn logical(&mut self, logic: Logic, [left, right]: &[Expr<'_>; 2]) -> Option<Type> {
        // The right operand is reached only where the left one has not decided.
        let proven = self.proofs(left, logic == Logic::And);
        let first = self.condition(left);
        let second = self.with_proven(proven, |walk| walk.condition(right));
        first.and(second).map(|()| Type::Bool)
    }

    fn arithmetic(&mut self, operation: Arithmetic, [left, right]: &[Expr<'_>; 2]) -> Option<Type> {
        let dimension = match operation {
            Arithmetic::Add | Arithmetic::Subtract => self.sum("added to or taken from", left, right)?,
            Arithmetic::Remainder => self.sum("divided with remainder by", left, right)?,
            Arithmetic::Multiply | Arithmetic::Divide => {
                let (left, right) = (self.number(left), self.number(right));
                let (left, right) = (left?, right?);
                if operation == Arithmetic::Multiply { left.times(right) } else { left.over(right) }
            }
        };
        Some(Type::Number(dimension))
    }

    fn compared(&mut self, first: &Expr<'_>, rest: &[(Comparison, Expr<'_>)]) -> Option<Type> {
        let mut left = first;
        for (comparison, right) in rest {
            match comparison {
                Comparison::Membership => self.membership(left, right)?,
                Comparison::Equality => self.comparison(left, right, true)?,
                Comparison::Order => self.comparison(left, right, false)?,
            };
            left = right;
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
    pub(super) fn bare_literal(&mut self, a: &Type, b: &Type) -> bool {
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
        let Expr::List(items) = right else {
            let (part, whole) = (kind?, self.type_of(right)?);
            let texts = matches!(
                (part, whole),
                (Type::Text | Type::Literal(_), Type::Text | Type::Texts) | (Type::Choice(_), Type::Texts)
            );
            return match texts {
                true => Some(Type::Bool),
                false => self.fault("`in` needs a list, or a part of a text and the text"),
            };
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

    fn choice(&mut self, choice: &Choice<'_>) -> Option<Type> {
        let Some(no) = &choice.no else {
            return self.fault("`a if condition` needs an `else`");
        };
        let condition = self.condition(&choice.condition);
        let (when_true, when_false) = (self.proofs(&choice.condition, true), self.proofs(&choice.condition, false));
        let yes = self.with_proven(when_true, |walk| walk.type_of(&choice.yes));
        let no = self.with_proven(when_false, |walk| walk.type_of(no));
        let (yes, no) = (yes?, no?);
        condition?;
        self.bare_literal(&yes, &no);
        match yes.join(&no) {
            Some(kind) => Some(kind),
            None => self.fault(format!("`if` gives {}, `else` gives {}", yes.name(), no.name())),
        }
    }

    /// The optional facts that are there whenever a condition comes out as `truth`.
    pub(super) fn proofs(&self, expr: &Expr<'_>, truth: bool) -> Vec<FactRef> {
        match expr {
            Expr::Test { of, name } if (*name == "defined") == truth => self.fact_of(of).into_iter().collect(),
            Expr::Not(inner) => self.proofs(inner, !truth),
            Expr::Logical(logic, operands) if (*logic == Logic::And) == truth => {
                operands.iter().flat_map(|operand| self.proofs(operand, truth)).collect()
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
        Expr::Attribute { of, name } => match **of {
            Expr::Variable(entity) => format!("`{entity}.{name}` ({unit})"),
            _ => unit,
        },
        _ if dimension.is(Unit::None) => unit,
        _ => format!("an expression in {unit}"),
    }
}
