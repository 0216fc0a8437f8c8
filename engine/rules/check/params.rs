//! Checks the thresholds and names that a rule declares.

use super::super::fault::Log;
use super::super::param_value::ParamValue;
use super::super::raw::{RawParam, Text};
use super::super::rule::Param;
use super::super::vocabulary::{TEXT, UNITS};
use super::types::{Dimension, Type};
use super::{filled, one_of};

/// A param and its type; none when its unit or its default is no such thing.
pub(super) fn check(name: &Text, raw: &RawParam, log: &mut Log<'_>) -> Option<(Param, Type)> {
    one_of("unit", &raw.unit, UNITS.map(|(name, _)| name), log);
    filled("doc", &raw.doc, log);
    if let Some(why) = &raw.fixed {
        filled("fixed", why, log);
    }
    let (unit_name, unit) = UNITS.into_iter().find(|(name, _)| name == raw.unit.get_ref())?;
    let label = name.get_ref();
    let default = ParamValue::parse(raw.default.get_ref());
    let fault = match &default {
        Some(default) => default.fault(unit_name),
        None if unit_name == TEXT => Some("must be a text, or a list of texts".to_owned()),
        None => Some("must be a finite number".to_owned()),
    };
    if let Some(fault) = fault {
        // Who declares a name seldom looks for a unit.
        let is_text = default.as_ref().is_some_and(|default| !default.texts().is_empty());
        let hint = if is_text && unit_name != TEXT { "; a name has `unit = \"text\"`" } else { "" };
        log.at(raw.default.span(), format!("the default of `params.{label}` {fault}{hint}"));
        return None;
    }
    let default = default?;
    let kind = match &default {
        ParamValue::Text(_) => Type::Text,
        ParamValue::Texts(_) => Type::Texts,
        ParamValue::Int(_) | ParamValue::Float(_) => Type::Number(Dimension::of(unit)),
    };
    let fixed = raw.fixed.as_ref().map(|why| why.get_ref().clone());
    let doc = raw.doc.get_ref().clone();
    Some((Param { name: label.clone(), default, unit: unit_name, doc, fixed }, kind))
}
