//! Thresholds that the user sets instead of a rule's own.

use std::collections::BTreeMap;

use crate::facts::FactValue;
use crate::text::nearest::did_you_mean;

use super::rule::Rule;

/// What the user sets: by rule id, then by the name of the param.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params {
    values: BTreeMap<String, BTreeMap<String, FactValue>>,
}

impl Params {
    /// Sets one param of one rule, in the unit that the rule declares.
    pub fn set(&mut self, rule: &str, name: &str, value: impl Into<FactValue>) {
        self.values.entry(rule.to_owned()).or_default().insert(name.to_owned(), value.into());
    }

    /// The value set for a param, if any.
    pub fn get(&self, rule: &str, name: &str) -> Option<&FactValue> {
        self.values.get(rule)?.get(name)
    }
}

/// What is wrong with a value for a param of a rule. No value: what stands there is no finite number.
pub(crate) fn fault(rule: &Rule, name: &str, value: Option<&FactValue>) -> Option<String> {
    let id = rule.id();
    let Some(param) = rule.params().iter().find(|param| param.name == name) else {
        let near = did_you_mean(name, rule.params().iter().map(|param| param.name.as_str()));
        return Some(format!("rule `{id}` has no param `{name}`{near}"));
    };
    let number = match value {
        Some(FactValue::Int(number)) => Some(*number as f64),
        Some(FactValue::Float(number)) => Some(*number).filter(|number| number.is_finite()),
        Some(FactValue::Bool(_) | FactValue::Text(_)) | None => None,
    };
    match number {
        None => Some(format!("`{id}.{name}` must be a finite number, in {}", param.unit)),
        Some(number) if param.unit == "share" && !(0.0..=1.0).contains(&number) => {
            Some(format!("`{id}.{name}` is a share: between 0 and 1"))
        }
        Some(_) => None,
    }
}

/// A number of a file as a fact's value.
pub(crate) fn number(value: &toml::Value) -> Option<FactValue> {
    match value {
        toml::Value::Integer(number) => Some(FactValue::Int(*number)),
        toml::Value::Float(number) if number.is_finite() => Some(FactValue::Float(*number)),
        _ => None,
    }
}
