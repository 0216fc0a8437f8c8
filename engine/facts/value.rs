//! The value of a fact.

use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The value of a fact. Absent facts have no value at all: there is no null, and no float is NaN or infinite.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FactValue {
    /// A yes or no.
    Bool(bool),
    /// A whole number: nanoseconds, bytes, counts.
    Int(i64),
    /// A finite number: shares, rates, ratios.
    Float(f64),
    /// A string of the report (hostile), or one of the values that the catalogue lists. Shared with the table of names: a name is
    /// told of many entities.
    #[serde(serialize_with = "as_text")]
    Text(Arc<str>),
}

impl From<bool> for FactValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for FactValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for FactValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for FactValue {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for FactValue {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl From<&Arc<str>> for FactValue {
    fn from(value: &Arc<str>) -> Self {
        Self::Text(Arc::clone(value))
    }
}

fn as_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}
