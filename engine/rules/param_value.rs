//! What a param of a rule stands for: a number, or names.

use schemars::JsonSchema;
use serde::Serialize;

use crate::limits::{MAX_PARAM_TEXT_BYTES, MAX_PARAM_TEXT_COUNT};

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
    pub(super) fn into_declared(self, default: &Self) -> Self {
        match (self, default) {
            (Self::Text(text), Self::Texts(_)) => Self::Texts(vec![text]),
            (own, _) => own,
        }
    }
}
