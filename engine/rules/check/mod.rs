//! From what a file says to a rule that cannot misspell a fact, mix units or print a bare number.

mod cases;
mod prose;
mod relations;
mod template;
mod types;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use minijinja::machinery::{parse, parse_expr};
use minijinja::syntax::SyntaxConfig;

use crate::facts::{EntityKind, FactType, FactValue, Needs, Unit, catalogue};
use crate::text::longest_tag;
use crate::text::nearest::did_you_mean;

use super::expr::{Program, message};
use super::fault::Log;
use super::outcome::{Confidence, Severity};
use super::params::number;
use super::raw::{self, RawEstimate, RawParam, RawRule};
use super::rule::{Code, EstimateCode, FactRef, Lower, Param, Reference, Rule, RuleInfo, Status, Text, When};
use types::{Dimension, Type};
use walk::{Scope, Uses, Walk};

pub(super) use relations::{Header, relations};

/// Bytes of one expression.
const MOST_BYTES: usize = 1_024;

/// Where a rule file lies.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The folder: the rule's category.
    pub(super) category: String,
    /// The file's stem: the rule's id.
    pub(super) stem: String,
}

/// The checked rule; none when faults have been noted.
pub(super) fn check(raw: &RawRule, place: &Place, log: &mut Log<'_>) -> Option<Rule> {
    head(raw, place, log);
    prose::check(raw, log);
    let for_each = entity_kind(&raw.for_each, log)?;
    let mut checker = Checker::new(raw, for_each, log);
    let code = checker.code(raw);
    let (example, tests) = cases::read(raw, for_each, &checker.scope, checker.log);
    let code = code.map(|code| Code { example, ..code });
    if let Some(code) = &code {
        cases::cover(raw, code, &tests, checker.log);
    }
    let (params, uses, unreadable) = (checker.params, checker.uses, checker.unreadable);
    if !unreadable {
        unused(raw, for_each, &uses, log);
    }
    if !log.faults.is_empty() {
        return None;
    }
    let info = RuleInfo {
        id: raw.id.get_ref().clone(),
        title: raw.title.get_ref().clone(),
        category: place.category.clone(),
        for_each,
        severity: raw.severity.as_ref().and_then(|word| Severity::ALL.into_iter().find(|s| s.name() == word.get_ref())),
        status: if is_experimental(raw) { Status::Experimental } else { Status::Stable },
        once: raw.once,
        collect: raw.collect.clone(),
        references: references(raw),
        explains: relations::read(&raw.relations.explains),
        suppressed_by: relations::read(&raw.relations.suppressed_by),
    };
    Some(Rule { info, file: log.file.to_owned(), source: log.source.to_owned(), params, code: code?, tests })
}

/// What the status of a rule may be.
pub(super) const STATUSES: [&str; 2] = ["stable", "experimental"];

/// Where advice stands for frameworks without advice of their own.
pub(super) const FRAMEWORK_DEFAULT: &str = "default";

/// What advice may be given for.
pub(super) fn frameworks() -> impl Iterator<Item = &'static str> {
    let known = match catalogue::find(EntityKind::Run, "framework").map(|fact| fact.kind) {
        Some(FactType::Choice(known)) => known,
        _ => &[],
    };
    std::iter::once(FRAMEWORK_DEFAULT).chain(known.iter().copied())
}

fn is_experimental(raw: &RawRule) -> bool {
    raw.status.as_ref().is_some_and(|status| status.get_ref() == "experimental")
}

fn references(raw: &RawRule) -> Vec<Reference> {
    raw.references
        .iter()
        .map(|reference| Reference {
            url: reference.url.get_ref().clone(),
            supports: reference.supports.get_ref().clone(),
        })
        .collect()
}

/// What can be checked without knowing the entity.
fn head(raw: &RawRule, place: &Place, log: &mut Log<'_>) {
    if *raw.schema.get_ref() != raw::SCHEMA {
        log.at(raw.schema.span(), format!("write `schema = {}`", raw::SCHEMA));
    }
    if *raw.id.get_ref() != place.stem {
        let message =
            format!("the id is `{}`, the file is named `{}.toml`: they must be equal", raw.id.get_ref(), place.stem);
        log.at(raw.id.span(), message);
    }
    filled("title", &raw.title, log);
    if raw.when.is_empty() {
        log.at(raw.id.span(), "a rule needs at least one [[when]]");
    }
    if let Some(word) = &raw.severity {
        one_of("severity", word, Severity::ALL.map(Severity::name), log);
    } else if raw.estimate.is_none() {
        log.at(raw.id.span(), "a rule without [estimate] needs a `severity`: nothing else tells how much it matters");
    }
    if let Some(word) = &raw.status {
        one_of("status", word, STATUSES, log);
    }
    for framework in raw.advice.get_ref().keys() {
        one_of("framework", framework, frameworks(), log);
    }
    if !raw.advice.get_ref().keys().any(|key| key.get_ref() == FRAMEWORK_DEFAULT) {
        log.at(raw.advice.span(), "[advice] needs a `default`, for frameworks that it does not name");
    }
    for reference in &raw.references {
        if !reference.url.get_ref().starts_with("https://") {
            log.at(reference.url.span(), format!("`{}` does not begin with https://", reference.url.get_ref()));
        }
        filled("supports", &reference.supports, log);
    }
}

fn filled(key: &str, text: &raw::Text, log: &mut Log<'_>) {
    if text.get_ref().trim().is_empty() {
        log.at(text.span(), format!("`{key}` is empty"));
    }
}

/// A sentence that is printed as it is: braces would show.
fn sentence(key: &str, text: &raw::Text, log: &mut Log<'_>) -> String {
    filled(key, text, log);
    if text.get_ref().contains("{{") || text.get_ref().contains("{%") {
        log.at(text.span(), format!("`{key}` is printed as it is: it cannot hold expressions"));
    }
    text.get_ref().clone()
}

fn one_of<'a>(what: &str, word: &raw::Text, known: impl IntoIterator<Item = &'a str>, log: &mut Log<'_>) -> bool {
    let known: Vec<_> = known.into_iter().collect();
    let is_known = known.contains(&word.get_ref().as_str());
    if !is_known {
        log.at(word.span(), format!("unknown {what} `{}`{}", word.get_ref(), did_you_mean(word.get_ref(), known)));
    }
    is_known
}

fn entity_kind(word: &raw::Text, log: &mut Log<'_>) -> Option<EntityKind> {
    one_of("entity", word, EntityKind::ALL.map(EntityKind::name), log);
    EntityKind::from_name(word.get_ref())
}

fn confidence(word: &raw::Text, log: &mut Log<'_>) -> Option<Confidence> {
    one_of("confidence", word, Confidence::ALL.map(Confidence::name), log);
    Confidence::ALL.into_iter().find(|known| known.name() == word.get_ref())
}

pub(super) const UNITS: [(&str, Unit); 9] = [
    ("ns", Unit::Ns),
    ("bytes", Unit::Bytes),
    ("count", Unit::Count),
    ("share", Unit::Share),
    ("gbps", Unit::Gbps),
    ("per_s", Unit::PerSecond),
    ("mhz", Unit::Mhz),
    ("ratio", Unit::None),
    ("none", Unit::None),
];

fn param(name: &raw::Text, raw: &RawParam, log: &mut Log<'_>) -> Option<(Param, Unit)> {
    let label = name.get_ref();
    let default = number(raw.default.get_ref());
    if default.is_none() {
        log.at(raw.default.span(), format!("the default of `params.{label}` must be a finite number"));
    }
    one_of("unit", &raw.unit, UNITS.map(|(name, _)| name), log);
    filled("doc", &raw.doc, log);
    if let Some(why) = &raw.fixed {
        filled("fixed", why, log);
    }
    let (unit_name, unit) = UNITS.into_iter().find(|(name, _)| name == raw.unit.get_ref())?;
    let default = default?;
    let as_share = match default {
        FactValue::Float(number) => number,
        _ => raw.default.get_ref().as_integer().map_or(0.0, |number| number as f64),
    };
    if unit == Unit::Share && !(0.0..=1.0).contains(&as_share) {
        log.at(raw.default.span(), format!("`params.{label}` is a share: between 0 and 1"));
    }
    let fixed = raw.fixed.as_ref().map(|why| why.get_ref().clone());
    let doc = raw.doc.get_ref().clone();
    Some((Param { name: label.clone(), default, unit: unit_name, doc, fixed }, unit))
}

/// What an expression must give.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Condition,
    Time,
    Anything,
}

struct Checker<'a, 'log> {
    log: &'log mut Log<'a>,
    scope: Scope,
    params: Vec<Param>,
    uses: Uses,
    /// Optional facts that the conditions so far have shown to be there.
    proven: Vec<FactRef>,
    rule: String,
    texts: usize,
    /// Whether some expression could not be read, so that what it uses is not known.
    unreadable: bool,
}

impl<'a, 'log> Checker<'a, 'log> {
    fn new(raw: &RawRule, for_each: EntityKind, log: &'log mut Log<'a>) -> Self {
        let empty = BTreeSet::new();
        let mut scope = Scope { for_each, optional: empty, params: BTreeMap::new(), values: BTreeMap::new() };
        for text in &raw.optional {
            match full_name(text.get_ref(), &scope) {
                Ok(fact) if !scope.optional.insert(fact) => {
                    log.at(text.span(), format!("`{fact}` is listed twice"));
                }
                Ok(_) => {}
                Err(message) => log.at(text.span(), message),
            }
        }
        let mut params = Vec::new();
        for (name, raw) in &raw.params {
            // A param that is wrong is still declared.
            scope.params.insert(name.get_ref().clone(), None);
            if let Some((param, unit)) = param(name, raw, log) {
                scope.params.insert(param.name.clone(), Some(Dimension::of(unit)));
                params.push(param);
            }
        }
        let (uses, proven, rule) = (Uses::default(), Vec::new(), raw.id.get_ref().clone());
        Self { log, scope, params, uses, proven, rule, texts: 0, unreadable: false }
    }

    fn code(&mut self, raw: &RawRule) -> Option<Code> {
        let mut condition_needs = Vec::new();
        let mut condition = None;
        if let Some(text) = &raw.condition {
            condition = self.expression(text, false, Wanted::Condition);
            condition_needs = self.needed();
        }
        let values = self.values(raw);
        let whens: Vec<_> = raw
            .when
            .iter()
            .map(|when| {
                let expr = self.expression(&when.expr, true, Wanted::Condition);
                Some(When { says: self.text("says", &when.says)?, expr: expr? })
            })
            .collect();
        let estimate = raw.estimate.as_ref().map(|estimate| self.estimate(estimate));
        let base = confidence(&raw.confidence.base, self.log);
        let lower = self.lower(raw, base);
        let summary = self.text("summary", &raw.message.summary);
        let verify = self.text("verify", &raw.message.verify);
        let look = raw.message.look.as_ref().map(|text| self.text("look", text));
        let advice: BTreeMap<_, _> = raw
            .advice
            .get_ref()
            .iter()
            .filter_map(|(framework, text)| Some((framework.get_ref().clone(), self.text("advice", text)?)))
            .collect();
        Some(Code {
            condition,
            condition_needs,
            needs: self.needed(),
            values: values?,
            whens: whens.into_iter().collect::<Option<_>>()?,
            estimate: estimate.map_or(Some(None), |estimate| estimate.map(Some))?,
            confidence: base?,
            lower,
            summary: summary?,
            verify: verify?,
            look: look.map_or(Some(None), |look| look.map(Some))?,
            advice,
            example: BTreeMap::new(),
        })
    }

    /// The facts named so far without which the rule cannot judge.
    fn needed(&self) -> Vec<FactRef> {
        self.uses.facts.difference(&self.scope.optional).copied().collect()
    }

    fn values(&mut self, raw: &RawRule) -> Option<Vec<(String, Program)>> {
        let mut programs = Vec::new();
        for (index, (name, text)) in raw.values.iter().enumerate() {
            let (program, kind) = self.typed(text, false, Wanted::Anything);
            self.scope.values.insert(name.get_ref().clone(), (index, kind));
            programs.push(program.map(|program| (name.get_ref().clone(), program)));
        }
        programs.into_iter().collect()
    }

    fn estimate(&mut self, raw: &RawEstimate) -> Option<EstimateCode> {
        let recoverable_ns = self.expression(&raw.recoverable_ns, true, Wanted::Time);
        let basis = sentence("basis", &raw.basis, self.log);
        if !self.scope.kinds().any(|kind| kind == EntityKind::Device) {
            let kind = self.scope.for_each.name();
            let message = format!("a rule for each `{kind}` has no device, and so no ledger to claim time from");
            self.log.at(raw.claims.span(), message);
            return None;
        }
        let account = raw.claims.get_ref().clone();
        let known: Vec<_> = catalogue::accounts().collect();
        if !known.contains(&account.as_str()) {
            let near = did_you_mean(&account, known);
            self.log.at(raw.claims.span(), format!("unknown account `{account}`{near}"));
            return None;
        }
        let holds = catalogue::find(EntityKind::Device, &format!("{account}_ns"))?.name;
        Some(EstimateCode { recoverable_ns: recoverable_ns?, account, holds, basis })
    }

    fn lower(&mut self, raw: &RawRule, base: Option<Confidence>) -> Vec<Lower> {
        let mut checked = Vec::new();
        for lower in &raw.confidence.lower {
            let to = confidence(&lower.to, self.log);
            let because = sentence("because", &lower.because, self.log);
            let when = self.expression(&lower.when, true, Wanted::Condition);
            let (Some(to), Some(base), Some(when)) = (to, base, when) else { continue };
            if to >= base {
                self.log.at(lower.to.span(), format!("`{}` is not lower than the base `{}`", to.name(), base.name()));
            }
            checked.push(Lower { to, when, because });
        }
        checked
    }

    fn expression(&mut self, text: &raw::Text, values_allowed: bool, wanted: Wanted) -> Option<Program> {
        self.typed(text, values_allowed, wanted).0
    }

    fn typed(&mut self, text: &raw::Text, values_allowed: bool, wanted: Wanted) -> (Option<Program>, Option<Type>) {
        let source = text.get_ref();
        if !self.is_short(text, source.len()) {
            return (None, None);
        }
        let tree = match parse_expr(source) {
            Ok(tree) => tree,
            Err(error) => {
                self.log.at(text.span(), format!("`{source}` cannot be read: {}", message(&error)));
                self.unreadable = true;
                return (None, None);
            }
        };
        let mut walk = Walk::new(&self.scope, values_allowed, &self.proven);
        let kind = match wanted {
            Wanted::Condition => walk.condition(&tree).map(|()| Type::Bool),
            Wanted::Time | Wanted::Anything => walk.type_of(&tree),
        };
        if let (Wanted::Time, Some(kind)) = (wanted, &kind)
            && !matches!(kind, Type::Number(dimension) if dimension.is(Unit::Ns))
        {
            walk.faults.push(format!("it must give ns, not {}", kind.name()));
        }
        let proven = walk.proofs(&tree, true);
        let (uses, faults) = (walk.uses, walk.faults);
        if matches!(wanted, Wanted::Condition) {
            self.proven.extend(proven);
        }
        if !self.note(text.span(), source, faults, &uses) {
            return (None, kind);
        }
        match Program::compile(source, uses.values.into_iter().collect()) {
            Ok(program) => (Some(program), kind),
            Err(error) => {
                self.log.at(text.span(), format!("`{source}` cannot be read: {}", message(&error)));
                (None, kind)
            }
        }
    }

    fn text(&mut self, key: &str, text: &raw::Text) -> Option<Text> {
        filled(key, text, self.log);
        let source = text.get_ref();
        if !self.is_short(text, longest_tag(source)) {
            return None;
        }
        let tree = match parse(source, key, SyntaxConfig::default()) {
            Ok(tree) => tree,
            Err(error) => {
                self.log.at(text.span(), format!("`{key}` cannot be read: {}", message(&error)));
                self.unreadable = true;
                return None;
            }
        };
        let mut walk = Walk::new(&self.scope, true, &self.proven);
        walk.statement(&tree);
        let (uses, faults) = (walk.uses, walk.faults);
        if !self.note(text.span(), key, faults, &uses) {
            return None;
        }
        self.texts += 1;
        let values = uses.values.into_iter().collect();
        Some(Text { name: format!("{}:{}", self.rule, self.texts), source: source.clone(), values })
    }

    /// The parser calls itself for each operator: of enough of them it would end the program.
    fn is_short(&mut self, text: &raw::Text, length: usize) -> bool {
        let is_short = length <= MOST_BYTES;
        if !is_short {
            self.log.at(text.span(), format!("an expression is longer than {MOST_BYTES} bytes"));
            self.unreadable = true;
        }
        is_short
    }

    /// Notes what a walk found; whether it found no fault.
    fn note(&mut self, span: Range<usize>, subject: &str, faults: Vec<String>, uses: &Uses) -> bool {
        self.uses.facts.extend(&uses.facts);
        self.uses.params.extend(uses.params.iter().cloned());
        self.uses.values.extend(&uses.values);
        let sound = faults.is_empty();
        for fault in faults {
            self.log.at(span.clone(), format!("in `{subject}`: {fault}"));
        }
        sound
    }
}

/// Splits `entity.fact` and looks it up.
fn full_name(name: &str, scope: &Scope) -> Result<FactRef, String> {
    let (entity, fact) = name.split_once('.').ok_or_else(|| format!("`{name}` is no fact: write `entity.fact`"))?;
    scope.fact(entity, fact)
}

/// Whether a report may lack the fact although it is a report.
fn may_be_absent(fact: FactRef) -> bool {
    catalogue::find(fact.kind, fact.name).is_some_and(|entry| entry.needs != Needs::Report)
}

fn unused(raw: &RawRule, for_each: EntityKind, uses: &Uses, log: &mut Log<'_>) {
    for name in raw.params.keys() {
        if !uses.params.contains(name.get_ref()) {
            log.at(name.span(), format!("`params.{}` is never used", name.get_ref()));
        }
    }
    for (index, name) in raw.values.keys().enumerate() {
        if !uses.values.contains(&index) {
            log.at(name.span(), format!("`values.{}` is never used", name.get_ref()));
        }
    }
    let scope = Scope { for_each, optional: BTreeSet::new(), params: BTreeMap::new(), values: BTreeMap::new() };
    for text in &raw.optional {
        if full_name(text.get_ref(), &scope).is_ok_and(|fact| !uses.facts.contains(&fact)) {
            log.at(text.span(), format!("`{}` is optional, but never used", text.get_ref()));
        }
    }
}
