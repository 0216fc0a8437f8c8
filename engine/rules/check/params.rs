//! Checks the thresholds that a rule declares.

use crate::facts::{FactValue, Unit};

use super::super::fault::Log;
use super::super::params::number;
use super::super::raw::{RawParam, Text};
use super::super::rule::Param;
use super::super::vocabulary::UNITS;
use super::{filled, one_of};

/// A param and its unit; none when its unit or its default is no such thing.
pub(super) fn check(name: &Text, raw: &RawParam, log: &mut Log<'_>) -> Option<(Param, Unit)> {
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
    if unit == Unit::Share && !is_share(&default) {
        log.at(raw.default.span(), format!("`params.{label}` is a share: between 0 and 1"));
    }
    let fixed = raw.fixed.as_ref().map(|why| why.get_ref().clone());
    let doc = raw.doc.get_ref().clone();
    Some((Param { name: label.clone(), default, unit: unit_name, doc, fixed }, unit))
}

fn is_share(value: &FactValue) -> bool {
    match value {
        FactValue::Int(number) => (0..=1).contains(number),
        FactValue::Float(number) => (0.0..=1.0).contains(number),
        FactValue::Bool(_) | FactValue::Text(_) => false,
    }
}
