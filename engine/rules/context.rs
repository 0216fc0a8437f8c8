//! What expressions see: the facts of an entity and its ancestors, the rule's params, its values as they are computed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use minijinja::value::{Object, Value};

use crate::facts::{Entity, EntityId, EntityKind, FactValue, Facts};

use super::budget::{self, Budget};
use super::expr::Program;
use super::param_value::ParamValue;
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

/// Values by name.
pub(super) fn table(mut entries: Vec<(Box<str>, Value)>) -> Value {
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Value::from_object(Table(entries))
}

fn value_of(fact: &FactValue) -> Value {
    match fact {
        FactValue::Bool(value) => Value::from(*value),
        FactValue::Int(value) => Value::from(*value),
        FactValue::Float(value) => Value::from(*value),
        FactValue::Text(value) => Value::from(&**value),
    }
}

fn value_of_param(param: &ParamValue) -> Value {
    match param {
        ParamValue::Int(value) => Value::from(*value),
        ParamValue::Float(value) => Value::from(*value),
        ParamValue::Text(text) => Value::from(text.as_str()),
        ParamValue::Texts(texts) => texts.iter().map(|text| Value::from(text.as_str())).collect(),
    }
}

/// The entities of a report as expressions see them, each made when it is first asked for.
#[derive(Debug)]
pub(super) struct Entities<'a> {
    pub(super) facts: &'a Facts,
    made: Vec<OnceLock<Made>>,
}

/// An entity as expressions see it.
#[derive(Debug, Clone)]
struct Made {
    value: Value,
    /// How many steps one counts for that may look at its longest text.
    weight: u64,
}

impl<'a> Entities<'a> {
    pub(super) fn new(facts: &'a Facts) -> Self {
        Self { facts, made: facts.iter().map(|_| OnceLock::new()).collect() }
    }

    fn made(&self, id: EntityId) -> Made {
        let make = || Made::new(self.facts.get(id));
        self.made.get(id.index()).map_or_else(make, |cell| cell.get_or_init(make).clone())
    }
}

impl Made {
    fn new(entity: &Entity) -> Self {
        // The store keeps facts in the order of their names.
        let table = Table(entity.facts().map(|(name, fact)| (name.into(), value_of(fact))).collect());
        let texts = entity.facts().map(|(_, fact)| if let FactValue::Text(text) = fact { text.len() } else { 0 });
        Self { value: Value::from_object(table), weight: budget::weight(texts.max().unwrap_or(0)) }
    }
}

/// The params of a rule, as expressions see them.
#[derive(Debug)]
pub(super) struct RuleParams {
    value: Value,
    /// How many patterns one name is held against at most.
    pattern_count: u64,
    /// Bytes of the longest text.
    longest_text: usize,
}

/// The params of a rule: its own, or what the user set instead. An error when that does not fit.
pub(super) fn params(rule: &Rule, set: &Params) -> Result<RuleParams, String> {
    let (mut pattern_count, mut longest_text) = (1, 0);
    let mut entries: Vec<(Box<str>, Value)> = Vec::with_capacity(rule.params.len());
    for param in &rule.params {
        let value = set.get(rule.id(), &param.name).unwrap_or(&param.default);
        if let Some(fault) = value.fault(param.unit) {
            return Err(format!("`params.{}` {fault}", param.name));
        }
        pattern_count = pattern_count.max(value.texts().len() as u64);
        longest_text = value.texts().iter().map(String::len).fold(longest_text, usize::max);
        entries.push((param.name.as_str().into(), value_of_param(value)));
    }
    Ok(RuleParams { value: table(entries), pattern_count, longest_text })
}

/// The indexes of a rule's values by their names.
pub(super) type ValueNames = BTreeMap<Box<str>, usize>;

/// The values of a rule for one entity; one that has not been computed is undefined.
#[derive(Debug)]
struct Values {
    names: Arc<ValueNames>,
    cells: Vec<OnceLock<Value>>,
}

impl Object for Values {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let index = self.names.get(key)?;
        self.cells.get(*index)?.get().cloned()
    }
}

#[derive(Debug)]
struct Root {
    entities: [Option<Value>; KINDS],
    params: Value,
    values: Value,
    /// Set when the groups of the rule have been made.
    groups: OnceLock<Value>,
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "params" => Some(self.params.clone()),
            "values" => Some(self.values.clone()),
            "groups" => self.groups.get().cloned(),
            name => self.entities[EntityKind::from_name(name)? as usize].clone(),
        }
    }
}

/// The scope of one rule and one entity.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    rule: &'a Rule,
    values: Arc<Values>,
    shared: Arc<Root>,
    root: Value,
    budget: &'a Budget,
    /// How many steps one counts for: what the longest text of all that expressions see takes.
    weight: Cell<u64>,
    pattern_count: u64,
}

/// What asking a rule about one entity takes, beside its expressions.
pub(super) const STEPS_OF_ASKING: u64 = 10;

impl<'a> Scope<'a> {
    /// `related` holds the entity and its ancestors, by kind.
    pub(super) fn new(
        rule: &'a Rule,
        names: &Arc<ValueNames>,
        params: &RuleParams,
        entities: &Entities<'_>,
        related: &[Option<EntityId>; KINDS],
        budget: &'a Budget,
    ) -> Result<Self, String> {
        budget.charge(STEPS_OF_ASKING + names.len() as u64)?;
        let cells = names.iter().map(|_| OnceLock::new()).collect();
        let values = Arc::new(Values { names: Arc::clone(names), cells });
        let made = related.map(|id| id.map(|id| entities.made(id)));
        let weight = made.iter().flatten().map(|made| made.weight).max().unwrap_or(1);
        let pattern_count = params.pattern_count;
        let weight = Cell::new(weight.max(budget::weight(params.longest_text)).saturating_mul(pattern_count));
        let entities = made.map(|made| made.map(|made| made.value));
        let shown = Value::from_dyn_object(Arc::clone(&values));
        let shared = Arc::new(Root { entities, params: params.value.clone(), values: shown, groups: OnceLock::new() });
        let root = Value::from_dyn_object(Arc::clone(&shared));
        Ok(Self { rule, values, shared, root, budget, weight, pattern_count })
    }

    /// Lets expressions name the groups of the rule, the longest text of which has so many bytes.
    pub(super) fn enter_groups(&self, groups: Vec<(Box<str>, Value)>, longest_text: usize) {
        let weight = budget::weight(longest_text).saturating_mul(self.pattern_count);
        self.weight.set(self.weight.get().max(weight));
        self.shared.groups.get_or_init(|| table(groups));
    }

    /// The root of what an expression or text sees, which is about to take so many steps.
    pub(super) fn root(&self, steps: u64) -> Result<&Value, String> {
        self.budget.charge(steps.saturating_mul(self.weight.get()))?;
        Ok(&self.root)
    }

    /// Whether a condition holds.
    pub(super) fn holds(&self, condition: &Program) -> Result<bool, String> {
        self.compute(&condition.values)?;
        condition.holds(self.root(condition.steps)?)
    }

    /// Computes the values that an expression names, so that one that nothing asks for cannot go wrong.
    pub(super) fn compute(&self, needed: &[usize]) -> Result<(), String> {
        for index in needed {
            let (Some((_, program)), Some(cell)) = (self.rule.code.values.get(*index), self.values.cells.get(*index))
            else {
                continue;
            };
            if cell.get().is_none() {
                let value = program.value(self.root(program.steps)?)?;
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
