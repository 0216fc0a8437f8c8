//! What JSON Schemas of TOML files say beyond the shapes of their structs, for editors: names from the catalogue of facts.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::facts::{EntityKind, FactType, catalogue};
use crate::ledger::Account;
use crate::replay::Change;

use super::rule::{CaptureNote, Expected};
use super::vocabulary::{FRAMEWORK_DEFAULT, SCHEMA, STATUSES, UNITS, frameworks};

/// The schema of a file that is read as `T`, without nulls: TOML has none.
pub(crate) fn document<T: JsonSchema>() -> String {
    let schema = SchemaSettings::draft07().for_deserialize().into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    tidy(&mut value);
    format!("{value:#}\n")
}

fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, value| {
                !((key == "default" && is_empty(value)) || (key == "format" && value.is_string()))
            });
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
                choices.retain(|choice| choice != &json!({"type": "null"}));
                if choices.len() == 1 {
                    let only = object.remove("anyOf").unwrap_or_default();
                    object.insert("allOf".to_owned(), only);
                }
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                // Comments are broken into lines where their width ends.
                *text = text.replace("\n\n", "\u{0}").replace('\n', " ").replace('\u{0}', "\n\n");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Defaults that say no more than that the key may be left out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.values().all(is_empty),
        _ => false,
    }
}

fn schema(value: Value) -> Schema {
    Schema::try_from(value).unwrap_or_default()
}

fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> Schema {
    schema(json!({ "type": "string", "enum": words.into_iter().collect::<Vec<_>>() }))
}

pub(super) fn version(_: &mut SchemaGenerator) -> Schema {
    schema(json!({ "type": "integer", "const": SCHEMA }))
}

pub(super) fn entity(_: &mut SchemaGenerator) -> Schema {
    one_of(EntityKind::ALL.map(EntityKind::name))
}

pub(super) fn entities(_: &mut SchemaGenerator) -> Schema {
    schema(json!({ "type": "array", "minItems": 1, "items": one_of(EntityKind::ALL.map(EntityKind::name)) }))
}

pub(super) fn status(_: &mut SchemaGenerator) -> Schema {
    one_of(STATUSES)
}

pub(super) fn capture_note(_: &mut SchemaGenerator) -> Schema {
    one_of(CaptureNote::ALL.map(CaptureNote::name))
}

pub(super) fn unit(_: &mut SchemaGenerator) -> Schema {
    one_of(UNITS.map(|(name, _)| name))
}

pub(super) fn outcome(_: &mut SchemaGenerator) -> Schema {
    one_of(Expected::ALL.map(Expected::name))
}

pub(super) fn account(_: &mut SchemaGenerator) -> Schema {
    one_of(Account::all().map(Account::id))
}

/// Optional: an enumeration of strings, or nothing.
pub(super) fn change(_: &mut SchemaGenerator) -> Schema {
    one_of(Change::ALL.iter().map(|change| change.id()))
}

pub(super) fn fact_names(_: &mut SchemaGenerator) -> Schema {
    let kinds = EntityKind::ALL.map(EntityKind::name).join("|");
    schema(json!({ "type": "array", "items": { "type": "string", "pattern": format!("^({kinds})\\.[a-z0-9_]+$") } }))
}

pub(super) fn advice(_: &mut SchemaGenerator) -> Schema {
    let properties: Map<String, Value> =
        frameworks().map(|name| (name.to_owned(), json!({ "type": "string" }))).collect();
    let required = [FRAMEWORK_DEFAULT];
    schema(json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false }))
}

/// Facts by entity, each with its meaning and the type that the catalogue says.
pub(super) fn fact_tables(generator: &mut SchemaGenerator) -> Schema {
    const NAME: &str = "Facts";
    let definitions = generator.definitions_mut();
    if !definitions.contains_key(NAME) {
        let kinds: Map<String, Value> =
            EntityKind::ALL.into_iter().map(|kind| (kind.name().to_owned(), facts_of(kind))).collect();
        // A list is of the members of a group.
        let either = |facts: Value| json!({ "anyOf": [facts, { "type": "array", "items": facts }] });
        let kinds: Map<String, Value> = kinds.into_iter().map(|(kind, facts)| (kind, either(facts))).collect();
        let facts = json!({ "type": "object", "properties": kinds, "additionalProperties": false });
        definitions.insert(NAME.to_owned(), facts);
    }
    schema(json!({ "$ref": format!("#/definitions/{NAME}") }))
}

fn facts_of(kind: EntityKind) -> Value {
    let facts: Map<String, Value> =
        catalogue::of_kind(kind).map(|fact| (fact.name.to_owned(), described(fact))).collect();
    json!({ "type": "object", "properties": facts, "additionalProperties": false })
}

fn described(fact: &catalogue::Fact) -> Value {
    let mut value = match fact.kind {
        FactType::Bool => json!({ "type": "boolean" }),
        FactType::Int => json!({ "type": "integer" }),
        FactType::Float => json!({ "type": "number" }),
        FactType::Text => json!({ "type": "string" }),
        FactType::Choice(values) => json!({ "type": "string", "enum": values }),
    };
    value["description"] = fact.meaning.into();
    value
}
