//! The JSON of a facts file, read as it comes: what is no fact is passed over, and nothing is kept twice.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::catalogue::{self, EntityKind, Fact, FactType, Unit};
use super::value::FactValue;
use crate::limits::{MAX_FACTS_FILE_ENTITY_COUNT, MAX_FACTS_FILE_NUMBER as MAX_NUMBER, MAX_NAME_BYTES};
use crate::text::cut;

/// An entity as the file has it.
#[derive(Debug, Default)]
pub(super) struct RawEntity {
    pub(super) key: Option<String>,
    /// The keys of its ancestors, by kind.
    pub(super) ancestors: Vec<(EntityKind, String)>,
    pub(super) facts: Vec<(&'static str, FactValue)>,
}

/// The entities of each kind, by its number; `None` for a kind that the file does not have.
pub(super) type RawEntities = [Option<Vec<RawEntity>>; EntityKind::ALL.len()];

/// The schema that JSON names, if any.
pub(super) fn schema(bytes: &[u8]) -> serde_json::Result<Option<String>> {
    read(bytes, SchemaReader)
}

/// The entities of JSON whose schema is known.
pub(super) fn entities(bytes: &[u8]) -> serde_json::Result<RawEntities> {
    read(bytes, EntitiesReader)
}

fn read<'de, S: DeserializeSeed<'de>>(bytes: &'de [u8], seed: S) -> serde_json::Result<S::Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

struct SchemaReader;

impl<'de> DeserializeSeed<'de> for SchemaReader {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for SchemaReader {
    type Value = Option<String>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut file: A) -> Result<Self::Value, A::Error> {
        let mut schema = None;
        while let Some(key) = file.next_key::<String>()? {
            if key != "schema" {
                file.next_value::<IgnoredAny>()?;
            } else if let Scalar::Text(text) = file.next_value_seed(ScalarReader)? {
                schema = Some(text);
            }
        }
        Ok(schema)
    }
}

struct EntitiesReader;

impl<'de> DeserializeSeed<'de> for EntitiesReader {
    type Value = RawEntities;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EntitiesReader {
    type Value = RawEntities;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut file: A) -> Result<Self::Value, A::Error> {
        let mut entities = RawEntities::default();
        while let Some(key) = file.next_key::<String>()? {
            let Some(kind) = EntityKind::ALL.into_iter().find(|kind| kind.plural() == key) else {
                file.next_value::<IgnoredAny>()?;
                continue;
            };
            // The last of a name counts.
            entities[kind as usize] = None;
            let left = MAX_FACTS_FILE_ENTITY_COUNT - entities.iter().flatten().map(Vec::len).sum::<usize>();
            entities[kind as usize] = Some(file.next_value_seed(KindReader { kind, left })?);
        }
        Ok(entities)
    }
}

/// Reads the entities of a kind.
#[derive(Clone, Copy)]
struct KindReader {
    kind: EntityKind,
    /// How many there may be.
    left: usize,
}

impl<'de> DeserializeSeed<'de> for KindReader {
    type Value = Vec<RawEntity>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for KindReader {
    type Value = Vec<RawEntity>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an array of {}", self.kind.plural())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut entities = Vec::new();
        while let Some(entity) = array.next_element_seed(EntityReader { kind: self.kind, index: entities.len() })? {
            if entities.len() == self.left {
                return Err(A::Error::custom(format!("it holds more than {MAX_FACTS_FILE_ENTITY_COUNT} entities")));
            }
            entities.push(entity);
        }
        Ok(entities)
    }
}

/// Reads one entity.
#[derive(Clone, Copy)]
struct EntityReader {
    kind: EntityKind,
    index: usize,
}

/// What a key of an entity stands for.
enum Key {
    Id,
    Ancestor(EntityKind),
    Fact(&'static Fact),
    Unknown,
}

impl<'de> DeserializeSeed<'de> for EntityReader {
    type Value = RawEntity;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EntityReader {
    type Value = RawEntity;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object for {}[{}]", self.kind.plural(), self.index)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut entity = RawEntity::default();
        while let Some(key) = object.next_key_seed(KeyReader(self.kind))? {
            let value = match key {
                Key::Unknown => {
                    object.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => object.next_value_seed(ScalarReader)?,
            };
            match (key, value) {
                (Key::Id, Scalar::Text(text)) => entity.key = Some(as_name(text)),
                (Key::Ancestor(kind), Scalar::Text(text)) => set(&mut entity.ancestors, kind, as_name(text)),
                (Key::Ancestor(kind), _) => set(&mut entity.ancestors, kind, String::new()),
                (Key::Fact(fact), value) => {
                    let value = value_of(fact, value).map_err(|problem| self.wrong(fact, problem))?;
                    if let Some(value) = value {
                        set(&mut entity.facts, fact.name, value);
                    }
                }
                (Key::Id | Key::Unknown, _) => {}
            }
        }
        Ok(entity)
    }
}

/// A key that comes again replaces what it said before.
fn set<K: PartialEq, V>(values: &mut Vec<(K, V)>, key: K, value: V) {
    match values.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => *known = value,
        None => values.push((key, value)),
    }
}

impl EntityReader {
    fn wrong<E: Error>(self, fact: &Fact, problem: String) -> E {
        E::custom(format!("{}[{}]: `{}` {problem}", self.kind.plural(), self.index, fact.name))
    }
}

struct KeyReader(EntityKind);

impl<'de> DeserializeSeed<'de> for KeyReader {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyReader {
    type Value = Key;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> Result<Key, E> {
        if name == "id" {
            return Ok(Key::Id);
        }
        let ancestor = self.0.ancestors().iter().find(|ancestor| ancestor.name() == name);
        let fact = || catalogue::find(self.0, name).map_or(Key::Unknown, Key::Fact);
        Ok(ancestor.map_or_else(fact, |ancestor| Key::Ancestor(*ancestor)))
    }
}

/// A value that a fact can have, or something else, of which nothing is kept.
enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Other,
}

struct ScalarReader;

impl<'de> DeserializeSeed<'de> for ScalarReader {
    type Value = Scalar;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarReader {
    type Value = Scalar;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(i64::try_from(value).map_or(Scalar::Float(value as f64), Scalar::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Scalar, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Scalar, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

/// A text as long as a name of a recording may be.
fn as_name(text: String) -> String {
    if text.len() > MAX_NAME_BYTES { cut::distinct(&text, MAX_NAME_BYTES).into_owned() } else { text }
}

/// A value of the fact's type; `None` for a word that this version does not know.
fn value_of(fact: &Fact, value: Scalar) -> Result<Option<FactValue>, String> {
    let value = match (fact.kind, value) {
        (FactType::Bool, Scalar::Bool(value)) => FactValue::Bool(value),
        (FactType::Int, Scalar::Int(number)) => FactValue::Int(whole(fact, Some(number))?),
        (FactType::Int, Scalar::Float(_)) => FactValue::Int(whole(fact, None)?),
        (FactType::Float, Scalar::Float(number)) => FactValue::Float(amount(fact, number)?),
        // Tools that rewrite JSON may print 1.0 as 1.
        (FactType::Float, Scalar::Int(number)) => FactValue::Float(amount(fact, number as f64)?),
        (FactType::Text, Scalar::Text(text)) => FactValue::Text(as_name(text).into()),
        (FactType::Choice(known), Scalar::Text(text)) if known.contains(&text.as_str()) => FactValue::Text(text.into()),
        (FactType::Choice(_), Scalar::Text(_)) => return Ok(None),
        _ => return Err(format!("is not of type {}", fact.kind.name())),
    };
    Ok(Some(value))
}

/// An integer that a fact may be. Larger ones are no times, bytes or counts of a run, and sums of many of them would not fit.
fn whole(fact: &Fact, number: Option<i64>) -> Result<i64, String> {
    let number = number.filter(|number| number.unsigned_abs() <= MAX_NUMBER.unsigned_abs()).ok_or("is out of range")?;
    // Times on the clock of the capture may lie before its start; lengths and counts may not be negative.
    let is_amount = matches!(fact.unit(), Unit::Ns | Unit::Bytes | Unit::Count) && !catalogue::is_instant(fact.name);
    if is_amount && number < 0 { Err("is negative".to_owned()) } else { Ok(number) }
}

/// A number that a share, a rate or a clock may be.
fn amount(fact: &Fact, number: f64) -> Result<f64, String> {
    match number {
        _ if fact.unit() == Unit::Share && number > 1.0 => Err("is a share of more than 1".to_owned()),
        _ if number < 0.0 => Err("is negative".to_owned()),
        _ if number <= MAX_NUMBER as f64 => Ok(number),
        _ => Err("is too large".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_comes_again_is_kept_once_as_it_was_said_last() {
        let again = r#""name": "a", "#.repeat(100);
        let text =
            format!(r#"{{"kernels": [{{"id": "gpu0/k", {again}"name": "b", "device": "gpu0", "device": "gpu1"}}]}}"#);
        let kernels = entities(text.as_bytes()).unwrap().into_iter().flatten().flatten();
        let kernels: Vec<RawEntity> = kernels.collect();
        assert_eq!(kernels[0].facts, [("name", FactValue::from("b"))]);
        assert_eq!(kernels[0].ancestors, [(EntityKind::Device, "gpu1".to_owned())]);
    }
}
