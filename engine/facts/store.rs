//! The entities of one report with their facts: the plain value that passes from extraction to the rules.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::catalogue::{self, EntityKind};

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
    /// A string of the report (hostile), or one of the values that the catalogue lists.
    Text(String),
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
        Self::Text(value.to_owned())
    }
}

impl From<String> for FactValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// The place of an entity in [`Facts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(usize);

impl EntityId {
    /// Its index in the order of [`Facts::iter`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// One thing that facts are about.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// What kind of thing it is.
    pub kind: EntityKind,
    /// Unique among the entities of its kind in one report, and the same whenever that report is read again.
    pub key: String,
    /// The entities that rules about this one may also name, nearest first; the last is always the run.
    pub ancestors: Vec<EntityId>,
    facts: BTreeMap<&'static str, FactValue>,
}

impl Entity {
    /// Enters a fact. A float that is not finite stays absent.
    ///
    /// In debug builds a name that the catalogue does not list for this kind, or a value of the wrong type, panics: it
    /// is a fault of the code that extracts, never of the report. In release builds such a fact is left out.
    pub fn set(&mut self, name: &str, value: impl Into<FactValue>) {
        let value = value.into();
        if matches!(value, FactValue::Float(number) if !number.is_finite()) {
            return;
        }
        let known = catalogue::find(self.kind, name).filter(|fact| fact.kind.accepts(&value));
        debug_assert!(known.is_some(), "{}.{name} = {value:?} does not fit the catalogue", self.kind.name());
        if let Some(fact) = known {
            self.facts.insert(fact.name, value);
        }
    }

    /// Enters a fact that may be absent.
    pub fn set_some(&mut self, name: &str, value: Option<impl Into<FactValue>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// The value of a fact, if the report gives it.
    pub fn get(&self, name: &str) -> Option<&FactValue> {
        self.facts.get(name)
    }

    /// A whole-number fact.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.facts.get(name) {
            Some(FactValue::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// A whole or a finite number.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.facts.get(name)? {
            FactValue::Int(value) => Some(*value as f64),
            FactValue::Float(value) => Some(*value),
            FactValue::Bool(_) | FactValue::Text(_) => None,
        }
    }

    /// A string fact.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.facts.get(name) {
            Some(FactValue::Text(value)) => Some(value),
            _ => None,
        }
    }

    /// All facts, by name.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &FactValue)> {
        self.facts.iter().map(|(name, value)| (*name, value))
    }
}

/// All entities of one report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    entities: Vec<Entity>,
}

impl Facts {
    /// Adds an entity below `parents` (nearest first) and returns its place.
    pub fn add(&mut self, kind: EntityKind, key: impl Into<String>, parents: &[EntityId]) -> EntityId {
        self.entities.push(Entity { kind, key: key.into(), ancestors: parents.to_vec(), facts: BTreeMap::new() });
        EntityId(self.entities.len() - 1)
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Takes over branches that began as a copy of the first `shared` entities of these, and went on with one and the same
    /// entity: that one gets the facts of all of them. What more than one of them counted as left out adds up.
    pub(crate) fn graft(&mut self, branches: Vec<Self>, shared: usize) {
        const LEFT_OUT: &str = "left_out_count";
        let own = self.entities.len();
        let left_out: i64 =
            branches.iter().filter_map(|branch| branch.entities.get(shared)).filter_map(|own| own.int(LEFT_OUT)).sum();
        for (number, branch) in branches.into_iter().enumerate() {
            let moved = self.entities.len() - shared - usize::from(number > 0);
            let place = |id: EntityId| match id.0.cmp(&shared) {
                Ordering::Less => id,
                Ordering::Equal => EntityId(own),
                Ordering::Greater => EntityId(id.0 + moved),
            };
            let mut grown = branch.entities.into_iter().skip(shared);
            match self.entities.get_mut(own) {
                Some(known) => known.facts.extend(grown.next().into_iter().flat_map(|other| other.facts)),
                None => self.entities.extend(grown.next()),
            }
            self.entities.extend(grown.map(|mut entity| {
                entity.ancestors.iter_mut().for_each(|ancestor| *ancestor = place(*ancestor));
                entity
            }));
        }
        if let Some(own) = self.entities.get_mut(own).filter(|_| left_out > 0) {
            own.set(LEFT_OUT, left_out);
        }
    }

    /// The entity at a place that [`Facts::add`] returned.
    pub fn get(&self, id: EntityId) -> &Entity {
        &self.entities[id.0]
    }

    /// The same, to enter facts.
    pub fn get_mut(&mut self, id: EntityId) -> &mut Entity {
        &mut self.entities[id.0]
    }

    /// The entities of one kind, in the order in which they were added.
    pub fn of_kind(&self, kind: EntityKind) -> impl Iterator<Item = (EntityId, &Entity)> {
        self.iter().filter(move |(_, entity)| entity.kind == kind)
    }

    /// Every entity.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, &Entity)> {
        self.entities.iter().enumerate().map(|(index, entity)| (EntityId(index), entity))
    }

    /// The entity of `kind` that `id` is, or is below.
    pub fn related(&self, id: EntityId, kind: EntityKind) -> Option<EntityId> {
        let entity = self.get(id);
        if entity.kind == kind {
            return Some(id);
        }
        entity.ancestors.iter().copied().find(|ancestor| self.get(*ancestor).kind == kind)
    }
}
