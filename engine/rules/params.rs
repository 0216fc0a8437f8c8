//! Thresholds and names that the user sets instead of a rule's own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::limits::{MAX_PARAM_TEXT_BYTES, MAX_PARAM_TEXT_COUNT};
use crate::text::nearest::did_you_mean;

use super::rule::Rule;
use super::vocabulary::TEXT;

/// What a param stands for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ParamValue {
    /// A whole number, in the unit of the param.
    Int(i64),
    /// A finite number, in the unit of the param.
    Float(f64),
    /// A name, or a pattern over names.
    Text(String),
    /// Several of them.
    Texts(Vec<String>),
}

impl From<i64> for ParamValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for ParamValue {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<&str> for ParamValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl ParamValue {
    /// A value of a file; absent for what no param can stand for.
    pub(crate) fn parse(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Integer(number) => Some(Self::Int(*number)),
            toml::Value::Float(number) if number.is_finite() => Some(Self::Float(*number)),
            toml::Value::String(text) => Some(Self::Text(text.clone())),
            toml::Value::Array(items) => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>().map(Self::Texts)
            }
            _ => None,
        }
    }

    /// The number that it is; absent for texts.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number).filter(|number| number.is_finite()),
            Self::Text(_) | Self::Texts(_) => None,
        }
    }

    /// The texts that it stands for: none for a number.
    pub(crate) fn texts(&self) -> &[String] {
        match self {
            Self::Int(_) | Self::Float(_) => &[],
            Self::Text(text) => std::slice::from_ref(text),
            Self::Texts(texts) => texts,
        }
    }

    /// What is wrong with it as the value of a param of this unit.
    pub(crate) fn fault(&self, unit: &str) -> Option<String> {
        match (unit, self.number()) {
            (TEXT, _) => self.text_fault(),
            (_, None) => Some(format!("must be a finite number, in {unit}")),
            ("share", Some(share)) if !(0.0..=1.0).contains(&share) => Some("is a share: between 0 and 1".to_owned()),
            _ => None,
        }
    }

    fn text_fault(&self) -> Option<String> {
        let texts = self.texts();
        if texts.is_empty() {
            return Some("must be a text, or a list of texts that is not empty".to_owned());
        }
        if texts.len() > MAX_PARAM_TEXT_COUNT {
            return Some(format!("is a list of more than {MAX_PARAM_TEXT_COUNT} texts"));
        }
        texts.iter().find_map(|text| match text.len() {
            0 => Some("holds an empty text, which is no name".to_owned()),
            length if length > MAX_PARAM_TEXT_BYTES => {
                Some(format!("holds a text of more than {MAX_PARAM_TEXT_BYTES} bytes"))
            }
            _ => None,
        })
    }

    /// The same, as a list where the param is declared as one.
    fn into_declared(self, default: &Self) -> Self {
        match (self, default) {
            (Self::Text(text), Self::Texts(_)) => Self::Texts(vec![text]),
            (own, _) => own,
        }
    }
}

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
