//! Thresholds and names that the user sets instead of a rule's own.

use std::collections::BTreeMap;

use crate::text::nearest::did_you_mean;

use super::param_value::ParamValue;
use super::rule::Rule;
use super::vocabulary::TEXT;

/// What the user sets: by rule id, then by the name of the param.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params {
    values: BTreeMap<String, BTreeMap<String, ParamValue>>,
}

impl Params {
    /// Sets one param of one rule, in the unit that the rule declares.
    pub fn set(&mut self, rule: &str, name: &str, value: impl Into<ParamValue>) {
        self.values.entry(rule.to_owned()).or_default().insert(name.to_owned(), value.into());
    }

    /// The params of a rule that are set.
    pub fn names(&self, rule: &str) -> impl Iterator<Item = &str> {
        self.values.get(rule).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// The value set for a param, if any.
    pub fn get(&self, rule: &str, name: &str) -> Option<&ParamValue> {
        self.values.get(rule)?.get(name)
    }
}

/// The value for a param of a rule, or what is wrong with it.
pub(crate) fn read(rule: &Rule, name: &str, value: &toml::Value) -> Result<ParamValue, String> {
    let id = rule.id();
    let Some(param) = rule.params().iter().find(|param| param.name == name) else {
        let near = did_you_mean(name, rule.params().iter().map(|param| param.name.as_str()));
        return Err(format!("rule `{id}` has no param `{name}`{near}"));
    };
    let of_wrong_type = match param.unit {
        TEXT => "must be a text, or a list of texts".to_owned(),
        unit => format!("must be a finite number, in {unit}"),
    };
    let value = ParamValue::parse(value).ok_or(of_wrong_type);
    let value = value.map(|value| value.into_declared(&param.default));
    let fault = |value: &ParamValue| match (value, &param.default) {
        (ParamValue::Texts(_), ParamValue::Text(_)) => Some("must be one text, not a list".to_owned()),
        _ => value.fault(param.unit),
    };
    value.and_then(|value| fault(&value).map_or(Ok(value), Err)).map_err(|fault| format!("`{id}.{name}` {fault}"))
}
