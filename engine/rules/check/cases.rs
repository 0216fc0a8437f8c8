//! Reads the example and the tests of a rule, and checks that they cover its outcomes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::facts::{EntityKind, FactType, FactValue, catalogue};
use crate::limits::MAX_NAME_BYTES;
use crate::text::nearest::did_you_mean;

use super::super::fault::Log;
use super::super::outcome::Severity;
use super::super::param_value::ParamValue;
use super::super::raw::{self, FactTables, RawExpect, RawFacts, RawRule, RawTest, Text};
use super::super::rule::{Case, Code, Expect, Expected, FactRef, FactTable, Given};
use super::types::Type;
use super::walk::Scope;
use super::{confidence, filled, full_name, may_be_absent, one_of, severity};

/// The name under which the example runs as a test.
const EXAMPLE: &str = "example";

/// The example's facts, and all tests with it as the first.
pub(super) fn read(raw: &RawRule, for_each: EntityKind, scope: &Scope, log: &mut Log<'_>) -> (Arc<Given>, Vec<Case>) {
    let kinds = raw.groups.values().filter_map(|group| EntityKind::from_name(group.each.get_ref()));
    let entry = Entry { scope, members: kinds.collect() };
    let mut example = Given::default();
    entry.enter(raw.example.get_ref(), &mut example, log);
    if !example.own.keys().any(|fact| fact.kind == for_each) {
        log.at(raw.example.span(), format!("[example] has no facts of a `{}`", for_each.name()));
    }
    let expect = Expect {
        outcome: Expected::Finding,
        recoverable_ns: None,
        confidence: None,
        severity: None,
        missing: None,
        summary: None,
        title: None,
        evidence: None,
        advice: None,
        unsaid: None,
    };
    let line = log.line(&raw.example.span());
    let example = Arc::new(example);
    let first = Case {
        name: EXAMPLE.to_owned(),
        line,
        example: Arc::clone(&example),
        unset: BTreeSet::new(),
        set: Given::default(),
        other_members: BTreeSet::new(),
        params: BTreeMap::new(),
        expect,
    };
    let mut cases = vec![first];
    let mut names = BTreeSet::from([EXAMPLE]);
    for test in &raw.tests {
        filled("name", &test.name, log);
        if !names.insert(test.name.get_ref()) {
            log.at(test.name.span(), format!("two tests are named `{}`", test.name.get_ref()));
        }
        cases.extend(case(test, &example, &entry, log));
    }
    (example, cases)
}

fn case(raw: &RawTest, example: &Arc<Given>, entry: &Entry<'_>, log: &mut Log<'_>) -> Option<Case> {
    let scope = entry.scope;
    let mut unset = BTreeSet::new();
    for name in &raw.unset {
        match found(name, scope) {
            Some(fact) if example.own.contains_key(&fact) && unset.insert(fact) => {}
            Some(fact) => log.at(name.span(), format!("`unset` names `{fact}`, which [example] does not set")),
            None => log.at_with(name.span(), || full_name(name.get_ref(), scope).err().unwrap_or_default()),
        }
    }
    let mut set = Given::default();
    entry.enter(&raw.set, &mut set, log);
    let kinds = raw.set.keys().filter_map(|entity| EntityKind::from_name(entity.get_ref()));
    let other_members = kinds.filter(|kind| entry.members.contains(kind)).collect();
    let mut params = BTreeMap::new();
    for (name, value) in &raw.params {
        let label = name.get_ref();
        if !scope.params.contains_key(label) {
            let near = || did_you_mean(label, scope.params.keys().map(String::as_str));
            log.at_with(name.span(), || format!("`params.{label}` is not declared in [params]{}", near()));
        }
        // Of one that is not declared, anything will do.
        let is_list = matches!(scope.params.get(label), Some(Some(Type::Texts)));
        let is_text = is_list || matches!(scope.params.get(label), Some(Some(Type::Text)));
        match ParamValue::parse(value.get_ref()) {
            Some(given) if given.texts().is_empty() != is_text => {
                let given = if is_list { ParamValue::Texts(given.texts().to_vec()) } else { given };
                params.insert(label.clone(), given);
            }
            _ if is_text => log.at(value.span(), format!("`params.{label}` must be a text")),
            _ => log.at(value.span(), format!("`params.{label}` must be a finite number")),
        }
    }
    let expect = expect(raw, entry, log)?;
    if is_the_example_again(raw, &expect) {
        let message =
            "says no more than [example], which runs as a test too: change a fact, or expect a number or words";
        log.at(raw.name.span(), format!("the test `{}` {message}", raw.name.get_ref()));
    }
    let (name, line, example) = (raw.name.get_ref().clone(), log.line(&raw.name.span()), Arc::clone(example));
    Some(Case { name, line, example, unset, set, other_members, params, expect })
}

/// Whether a test changes nothing and asserts nothing of the finding that the example is.
fn is_the_example_again(raw: &RawTest, expect: &Expect) -> bool {
    let sets = raw.set.values().any(|table| !table.is_empty());
    let changes = sets || !raw.unset.is_empty() || !raw.params.is_empty();
    let asserts = expect.recoverable_ns.is_some()
        || expect.confidence.is_some()
        || expect.severity.is_some()
        || expect.summary.is_some()
        || expect.title.is_some()
        || expect.evidence.is_some()
        || expect.advice.is_some()
        || expect.unsaid.is_some();
    !changes && !asserts && expect.outcome == Expected::Finding
}

fn expect(test: &RawTest, entry: &Entry<'_>, log: &mut Log<'_>) -> Option<Expect> {
    let missing_outcome = "asserts nothing: write `expect = { outcome = \"pass\" }`";
    let Some(spanned) = &test.expect else {
        log.at(test.name.span(), format!("the test `{}` {missing_outcome}", test.name.get_ref()));
        return None;
    };
    let raw = spanned.get_ref();
    let Some(word) = &raw.outcome else {
        log.at(spanned.span(), format!("the test `{}` {missing_outcome}", test.name.get_ref()));
        return None;
    };
    one_of("outcome", word, Expected::ALL.map(Expected::name), log);
    let outcome = Expected::ALL.into_iter().find(|known| known.name() == word.get_ref())?;
    fitting(raw, outcome, spanned.span(), log);
    let missing = raw.missing.as_ref().map(|names| {
        names.iter().for_each(|name| entry.known(name, log));
        names.iter().map(|name| name.get_ref().clone()).collect()
    });
    let words = |text: &Option<Text>| text.as_ref().map(|text| text.get_ref().clone());
    Some(Expect {
        outcome,
        recoverable_ns: raw.recoverable_ns.as_ref().map(|number| *number.get_ref()),
        confidence: raw.confidence.as_ref().and_then(|word| confidence(word, log)),
        severity: raw.severity.as_ref().and_then(|word| {
            one_of("severity", word, Severity::ALL.map(Severity::name), log);
            severity(word)
        }),
        missing,
        summary: words(&raw.summary),
        title: words(&raw.title),
        evidence: words(&raw.evidence),
        advice: words(&raw.advice),
        unsaid: words(&raw.unsaid),
    })
}

/// Only a finding has an estimate, a confidence and a summary; only an unknown misses facts.
fn fitting(raw: &RawExpect, outcome: Expected, span: std::ops::Range<usize>, log: &mut Log<'_>) {
    let words = [&raw.summary, &raw.title, &raw.evidence, &raw.advice, &raw.unsaid].iter().any(|words| words.is_some());
    let of_finding = raw.recoverable_ns.is_some() || raw.confidence.is_some() || raw.severity.is_some() || words;
    if of_finding && outcome != Expected::Finding {
        log.at(
            span.clone(),
            "`recoverable_ns`, `confidence`, `severity`, `summary`, `title`, `evidence`, `advice` and `unsaid` can be expected of a finding only",
        );
    }
    if raw.missing.is_some() && outcome != Expected::Unknown {
        log.at(span, "`missing` can be expected of an unknown only");
    }
}

fn found(name: &Text, scope: &Scope) -> Option<FactRef> {
    let (entity, fact) = name.get_ref().split_once('.')?;
    scope.find(entity, fact)
}

/// How facts that are given by hand are read.
struct Entry<'a> {
    scope: &'a Scope,
    /// The kinds of the members of groups: of these a file gives lists.
    members: BTreeSet<EntityKind>,
}

impl Entry<'_> {
    /// Enters the facts of tables by entity. A list stands for all members of its kind.
    fn enter(&self, tables: &FactTables, given: &mut Given, log: &mut Log<'_>) {
        for (entity, facts) in tables {
            let member = EntityKind::from_name(entity.get_ref()).filter(|kind| self.members.contains(kind));
            match (facts, member) {
                (raw::Given::One(table), None) => enter(entity, table, &mut given.own, self.scope, log),
                (raw::Given::Several(tables), Some(kind)) => {
                    given.members.retain(|(known, _)| *known != kind);
                    for table in tables {
                        let mut facts = FactTable::new();
                        enter(entity, table, &mut facts, &Scope::of(kind), log);
                        given.members.push((kind, facts));
                    }
                }
                (raw::Given::One(_), Some(kind)) => {
                    let message = format!("`{}` is of a group: give a list, `[{{ … }}, …]`", kind.name());
                    log.at(entity.span(), message);
                }
                (raw::Given::Several(_), None) => {
                    log.at(entity.span(), format!("`{}` is one entity: give one table", entity.get_ref()));
                }
            }
        }
    }

    fn known(&self, name: &Text, log: &mut Log<'_>) {
        let of_member = |kind: &EntityKind| found(name, &Scope::of(*kind)).is_some();
        if found(name, self.scope).is_none() && !self.members.iter().any(of_member) {
            log.at_with(name.span(), || full_name(name.get_ref(), self.scope).err().unwrap_or_default());
        }
    }
}

/// Enters the facts of one entity, each of the type that the catalogue says.
fn enter(entity: &Text, table: &RawFacts, facts: &mut FactTable, scope: &Scope, log: &mut Log<'_>) {
    for (name, value) in table {
        let Some(fact) = scope.find(entity.get_ref(), name.get_ref()) else {
            let message = || scope.fact(entity.get_ref(), name.get_ref()).err().unwrap_or_default();
            log.at_with(name.span(), message);
            continue;
        };
        let Some(entry) = catalogue::find(fact.kind, fact.name) else { continue };
        if value.get_ref().as_str().is_some_and(|text| text.len() > MAX_NAME_BYTES) {
            log.at(value.span(), format!("`{fact}` is longer than {MAX_NAME_BYTES} bytes, which no report has"));
            continue;
        }
        match typed(value.get_ref(), entry.kind) {
            Some(value) => {
                facts.insert(fact, value);
            }
            None => log.at_with(value.span(), || wrong_type(fact, entry.kind, value.get_ref())),
        }
    }
}

fn typed(value: &toml::Value, kind: FactType) -> Option<FactValue> {
    let value = match (value, kind) {
        // A whole number is a number too.
        (toml::Value::Integer(number), FactType::Float) => FactValue::Float(*number as f64),
        (toml::Value::Boolean(value), _) => FactValue::Bool(*value),
        (toml::Value::String(text), _) => text.as_str().into(),
        (toml::Value::Integer(number), _) => FactValue::Int(*number),
        (toml::Value::Float(number), _) if number.is_finite() => FactValue::Float(*number),
        _ => return None,
    };
    kind.accepts(&value).then_some(value)
}

fn wrong_type(fact: FactRef, kind: FactType, value: &toml::Value) -> String {
    match (kind, value) {
        (FactType::Choice(values), toml::Value::String(text)) => {
            format!("`{fact}` is never '{text}'{}", did_you_mean(text, values.iter().copied()))
        }
        (FactType::Choice(_), _) => format!("`{fact}` is a string"),
        (FactType::Int, _) => format!("`{fact}` is an integer"),
        _ => format!("`{fact}` is a {}", kind.name()),
    }
}

/// At least one test each for finding, pass, and unknown where the report may lack a fact that is needed.
pub(super) fn cover(raw: &RawRule, code: &Code, tests: &[Case], log: &mut Log<'_>) {
    let mut expected = vec![(Expected::Pass, "a test that expects `pass` is missing".to_owned())];
    if let Some(fact) = code.needs.iter().find(|fact| may_be_absent(**fact)) {
        let message = format!("a test that expects `unknown` is missing: `{fact}` may be absent");
        expected.push((Expected::Unknown, message));
    }
    for (outcome, message) in expected {
        if !tests.iter().any(|test| test.expect.outcome == outcome) {
            log.at(raw.id.span(), message);
        }
    }
}
