//! What a rule file says, before anything is checked: each value with its place, for error messages.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{Log, did_you_mean};

pub(super) type Text = Spanned<String>;
pub(super) type FactTables = BTreeMap<Text, BTreeMap<Text, Spanned<toml::Value>>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRule {
    pub(super) schema: Spanned<i64>,
    pub(super) id: Text,
    pub(super) title: Text,
    pub(super) for_each: Text,
    #[serde(rename = "where")]
    pub(super) condition: Option<Text>,
    #[serde(default)]
    pub(super) optional: Vec<Text>,
    pub(super) collect: Option<String>,
    pub(super) severity: Option<Text>,
    pub(super) status: Option<Text>,
    #[serde(default)]
    pub(super) once: bool,
    #[serde(default)]
    pub(super) params: BTreeMap<Text, RawParam>,
    #[serde(default)]
    pub(super) values: BTreeMap<Text, Text>,
    pub(super) when: Vec<RawWhen>,
    pub(super) estimate: Option<RawEstimate>,
    pub(super) confidence: RawConfidence,
    #[serde(default)]
    pub(super) relations: RawRelations,
    pub(super) message: RawMessage,
    pub(super) advice: Spanned<BTreeMap<Text, Text>>,
    #[serde(default)]
    pub(super) references: Vec<RawReference>,
    pub(super) example: Spanned<FactTables>,
    #[serde(default)]
    pub(super) tests: Vec<RawTest>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawParam {
    pub(super) default: Spanned<toml::Value>,
    pub(super) unit: Text,
    pub(super) doc: Text,
    pub(super) fixed: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWhen {
    pub(super) expr: Text,
    pub(super) says: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEstimate {
    pub(super) recoverable_ns: Text,
    pub(super) claims: Text,
    pub(super) basis: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConfidence {
    pub(super) base: Text,
    #[serde(default)]
    pub(super) lower: Vec<RawLower>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLower {
    pub(super) to: Text,
    pub(super) when: Text,
    pub(super) because: Text,
}

#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRelations {
    #[serde(default)]
    pub(super) explains: Vec<RawRelation>,
    #[serde(default)]
    pub(super) suppressed_by: Vec<RawRelation>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRelation {
    pub(super) rule: Text,
    pub(super) on: Spanned<Vec<Text>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMessage {
    pub(super) summary: Text,
    pub(super) verify: Text,
    pub(super) look: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReference {
    pub(super) url: Text,
    pub(super) supports: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTest {
    pub(super) name: Text,
    #[serde(default)]
    pub(super) set: FactTables,
    #[serde(default)]
    pub(super) unset: Vec<Text>,
    #[serde(default)]
    pub(super) params: BTreeMap<Text, Spanned<toml::Value>>,
    pub(super) expect: Option<Spanned<RawExpect>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExpect {
    pub(super) outcome: Option<Text>,
    pub(super) recoverable_ns: Option<Spanned<i64>>,
    pub(super) confidence: Option<Text>,
    pub(super) missing: Option<Vec<Text>>,
    pub(super) summary: Option<Text>,
}

/// The version of the rule language that this engine reads.
pub(super) const SCHEMA: i64 = 1;

/// Reads one file. Every unknown key is a fault of its own; any other mistake of shape ends the reading of this file.
pub(super) fn read(log: &mut Log<'_>) -> Option<RawRule> {
    let mut tree = match DeTable::parse(log.source) {
        Ok(tree) => tree,
        Err(error) => {
            log.at(error.span().unwrap_or_default(), one_line(error.message()));
            return None;
        }
    };
    if newer_schema(&tree, log) {
        return None;
    }
    loop {
        let error = match RawRule::deserialize(toml::de::Deserializer::from(tree.clone())) {
            Ok(rule) => return Some(rule),
            Err(error) => error,
        };
        let span = error.span().unwrap_or_default();
        log.at(span.clone(), explain(error.message()));
        // Taken out, the next reading finds the next mistake.
        if !(error.message().starts_with("unknown field") && remove(tree.get_mut(), &span)) {
            return None;
        }
    }
}

/// A file of a newer language may hold anything, so that nothing else of it is reported.
fn newer_schema(tree: &Spanned<DeTable<'_>>, log: &mut Log<'_>) -> bool {
    let Some(value) = tree.get_ref().get("schema") else { return false };
    let number = value.get_ref().as_integer().and_then(|number| number.as_str().parse::<i64>().ok());
    let Some(number) = number.filter(|number| *number > SCHEMA) else { return false };
    let message =
        format!("`schema = {number}` is newer than this coldspot, which reads schema {SCHEMA}: update coldspot");
    log.at(value.span(), message);
    true
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join(", ")
}

fn explain(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    match names.next() {
        Some(name) if message.starts_with("unknown field") => {
            format!("unknown key `{name}`{}", did_you_mean(name, names))
        }
        Some(name) if message.starts_with("missing field") => format!("the key `{name}` is missing"),
        _ => one_line(message),
    }
}

/// Takes the key at `span` out, however deep it is.
fn remove(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    let key = table.keys().find(|key| key.span() == *span).cloned();
    if let Some(key) = key {
        return table.remove(&key).is_some();
    }
    table.iter_mut().any(|(_, value)| remove_in(value.get_mut(), span))
}

fn remove_in(value: &mut DeValue<'_>, span: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => remove(table, span),
        DeValue::Array(items) => items.iter_mut().any(|item| remove_in(item.get_mut(), span)),
        _ => false,
    }
}
