//! Thresholds that the user sets instead of a rule's own.

use std::collections::BTreeMap;

use crate::facts::FactValue;

use super::fault::did_you_mean;
use super::library::Library;

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

    /// What is wrong with what the user set: rules and params that do not exist, values that are no finite number, shares
    /// outside of 0 to 1. Empty when all is well.
    pub fn faults(&self, library: &Library) -> Vec<String> {
        let mut faults = Vec::new();
        for (id, values) in &self.values {
            let Some(rule) = library.rules().iter().find(|rule| rule.id() == id) else {
                let near = did_you_mean(id, library.rules().iter().map(|rule| rule.id()));
                faults.push(format!("there is no rule `{id}`{near}"));
                continue;
            };
            for (name, value) in values {
                let Some(param) = rule.params().iter().find(|param| param.name == *name) else {
                    let near = did_you_mean(name, rule.params().iter().map(|param| param.name.as_str()));
                    faults.push(format!("rule `{id}` has no param `{name}`{near}"));
                    continue;
                };
                let number = match value {
                    FactValue::Int(number) => Some(*number as f64),
                    FactValue::Float(number) => Some(*number).filter(|number| number.is_finite()),
                    FactValue::Bool(_) | FactValue::Text(_) => None,
                };
                match number {
                    None => faults.push(format!("`{id}.{name}` must be a finite number, in {}", param.unit)),
                    Some(number) if param.unit == "share" && !(0.0..=1.0).contains(&number) => {
                        faults.push(format!("`{id}.{name}` is a share: between 0 and 1"));
                    }
                    Some(_) => {}
                }
            }
        }
        faults
    }
}
