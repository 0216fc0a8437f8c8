//! What expressions see: the facts of an entity and its ancestors, the rule's params, its values as they are computed.

use std::sync::{Arc, OnceLock};

use minijinja::value::{Object, Value};

use crate::facts::{Entity, EntityId, EntityKind, FactValue, Facts};

use super::params::Params;
use super::rule::Rule;

const KINDS: usize = EntityKind::ALL.len();

/// A number or string by name, looked up by halving.
#[derive(Debug)]
struct Table(Vec<(Box<str>, Value)>);

impl Object for Table {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let index = self.0.binary_search_by(|(name, _)| (**name).cmp(key)).ok()?;
        Some(self.0[index].1.clone())
    }
}

fn value_of(fact: &FactValue) -> Value {
    match fact {
        FactValue::Bool(value) => Value::from(*value),
        FactValue::Int(value) => Value::from(*value),
        FactValue::Float(value) => Value::from(*value),
        FactValue::Text(value) => Value::from(value.as_str()),
    }
}

/// The entities of a report as expressions see them, each made when it is first asked for.
#[derive(Debug)]
pub(super) struct Entities<'a> {
    pub(super) facts: &'a Facts,
    made: Vec<OnceLock<Value>>,
}

impl<'a> Entities<'a> {
    pub(super) fn new(facts: &'a Facts) -> Self {
        Self { facts, made: facts.iter().map(|_| OnceLock::new()).collect() }
    }

    fn value(&self, id: EntityId) -> Value {
        let make = || table(self.facts.get(id));
        self.made.get(id.index()).map_or_else(make, |cell| cell.get_or_init(make).clone())
    }
}

fn table(entity: &Entity) -> Value {
    // The store keeps facts in the order of their names.
    Value::from_object(Table(entity.facts().map(|(name, fact)| (name.into(), value_of(fact))).collect()))
}

/// The params of a rule: its own, or what the user set instead. An error when that is no finite number.
pub(super) fn params(rule: &Rule, set: &Params) -> Result<Value, String> {
    let mut entries: Vec<(Box<str>, Value)> = Vec::with_capacity(rule.params.len());
    for param in &rule.params {
        let value = set.get(rule.id(), &param.name).unwrap_or(&param.default);
        let is_number = match value {
            FactValue::Int(_) => true,
            FactValue::Float(number) => number.is_finite(),
            FactValue::Bool(_) | FactValue::Text(_) => false,
        };
        if !is_number {
            return Err(format!("`params.{}` is set to no finite number", param.name));
        }
        entries.push((param.name.as_str().into(), value_of(value)));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Value::from_object(Table(entries)))
}

/// The values of a rule for one entity; one that has not been computed is undefined.
#[derive(Debug)]
struct Values {
    names: Arc<[Box<str>]>,
    cells: Vec<OnceLock<Value>>,
}

impl Object for Values {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let index = self.names.iter().position(|name| **name == *key)?;
        self.cells.get(index)?.get().cloned()
    }
}

#[derive(Debug)]
struct Root {
    entities: [Option<Value>; KINDS],
    params: Value,
    values: Value,
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "params" => Some(self.params.clone()),
            "values" => Some(self.values.clone()),
            name => self.entities[EntityKind::from_name(name)? as usize].clone(),
        }
    }
}

/// The scope of one rule and one entity.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    rule: &'a Rule,
    values: Arc<Values>,
    pub(super) root: Value,
}

impl<'a> Scope<'a> {
    /// `related` holds the entity and its ancestors, by kind.
    pub(super) fn new(
        rule: &'a Rule,
        names: &Arc<[Box<str>]>,
        params: &Value,
        entities: &Entities<'_>,
        related: &[Option<EntityId>; KINDS],
    ) -> Self {
        let cells = names.iter().map(|_| OnceLock::new()).collect();
        let values = Arc::new(Values { names: Arc::clone(names), cells });
        let entities = related.map(|id| id.map(|id| entities.value(id)));
        let root = Root { entities, params: params.clone(), values: Value::from_dyn_object(Arc::clone(&values)) };
        Self { rule, values, root: Value::from_object(root) }
    }

    /// Computes the values that an expression names, so that one that nothing asks for cannot go wrong.
    pub(super) fn compute(&self, needed: &[usize]) -> Result<(), String> {
        for index in needed {
            let (Some((_, program)), Some(cell)) = (self.rule.code.values.get(*index), self.values.cells.get(*index))
            else {
                continue;
            };
            if cell.get().is_none() {
                let value = program.value(&self.root)?;
                cell.get_or_init(|| value);
            }
        }
        Ok(())
    }
}

/// The entity and its ancestors, by kind.
pub(super) fn related(facts: &Facts, id: EntityId) -> [Option<EntityId>; KINDS] {
    let mut found = [None; KINDS];
    for id in std::iter::once(id).chain(facts.get(id).ancestors.iter().copied()) {
        found[facts.get(id).kind as usize].get_or_insert(id);
    }
    found
}
