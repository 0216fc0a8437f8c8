//! Facts as JSON, as text, and the catalogue as a table.

use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::facts::catalogue::{self, Fact, FactType, Unit};
use crate::facts::file::SCHEMA;
use crate::facts::{Entity, EntityKind, FactValue, Facts};
use crate::source;
use crate::text::{escape, number};
use crate::timeline::Capability;

/// All facts as one JSON object: one array per kind of entity; in each entity its `id`, the ids of its ancestors, and
/// its facts by name, in the order of the catalogue.
///
/// # Errors
/// None for facts that were extracted; the signature is serde's.
pub fn facts_json(facts: &Facts) -> Result<String, serde_json::Error> {
    Ok(escape::json(serde_json::to_string_pretty(&AllFacts(facts))? + "\n"))
}

/// Writes the same without holding it: names of a stranger may take six times as much there as they do in memory.
///
/// # Errors
/// Those of what is written to.
pub fn write_facts_json(facts: &Facts, out: impl Write) -> io::Result<()> {
    let mut out = escape::JsonWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &AllFacts(facts))?;
    out.write_all(b"\n")
}

struct AllFacts<'a>(&'a Facts);

impl Serialize for AllFacts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", SCHEMA)?;
        map.serialize_entry("coldspot", env!("CARGO_PKG_VERSION"))?;
        for kind in EntityKind::ALL {
            let entities: Vec<OneEntity<'_>> =
                self.0.of_kind(kind).map(|(_, entity)| OneEntity { facts: self.0, entity }).collect();
            map.serialize_entry(kind.plural(), &entities)?;
        }
        map.end()
    }
}

struct OneEntity<'a> {
    facts: &'a Facts,
    entity: &'a Entity,
}

impl Serialize for OneEntity<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.entity.key)?;
        for ancestor in self.entity.ancestors.iter().map(|id| self.facts.get(*id)) {
            map.serialize_entry(ancestor.kind.name(), &ancestor.key)?;
        }
        for fact in catalogue::of_kind(self.entity.kind) {
            if let Some(value) = self.entity.get(fact.name) {
                map.serialize_entry(fact.name, value)?;
            }
        }
        map.end()
    }
}

/// All facts as text: one entity after the other, exact numbers first, then as people read them.
pub fn facts_text(facts: &Facts) -> String {
    let mut out = String::new();
    for (_, entity) in EntityKind::ALL.into_iter().flat_map(|kind| facts.of_kind(kind)) {
        let title = format!("{} {}", entity.kind.name(), escape::plain(&entity.key));
        out.push_str(&format!("{}\n", title.trim_end()));
        let known: Vec<(&Fact, &FactValue)> =
            catalogue::of_kind(entity.kind).filter_map(|fact| Some((fact, entity.get(fact.name)?))).collect();
        let width = known.iter().map(|(fact, _)| fact.name.len()).max().unwrap_or(0);
        for (fact, value) in known {
            let line = format!("  {:<width$}  {}", fact.name, value_text(fact, value));
            out.push_str(&format!("{}\n", line.trim_end()));
        }
        out.push('\n');
    }
    out
}

fn value_text(fact: &Fact, value: &FactValue) -> String {
    match value {
        FactValue::Bool(value) => value.to_string(),
        FactValue::Text(text) => escape::plain(text),
        FactValue::Int(value) => match fact.unit() {
            Unit::Ns if fact.name.ends_with("start_ns") || fact.name.ends_with("_end_ns") => {
                format!("{value:<20} {}", number::instant(*value))
            }
            Unit::Ns => format!("{value:<20} {}", number::duration(*value)),
            Unit::Bytes => format!("{value:<20} {}", number::bytes(*value)),
            _ => value.to_string(),
        },
        FactValue::Float(value) => match fact.unit() {
            Unit::Share => format!("{value:<20} {}", number::percent(*value)),
            Unit::GbPerS => format!("{value:<20} {}", number::gb_per_s(*value)),
            Unit::PerSecond => format!("{value:<20} {}", number::rate(*value)),
            _ => value.to_string(),
        },
    }
}

/// The catalogue as a table: what each fact is, and which capture brings it.
pub fn catalogue_text() -> String {
    let rows: Vec<[String; 6]> = entries()
        .map(|(kind, fact)| {
            let name = format!("{}.{}", kind.name(), fact.name);
            let unit = if fact.unit() == Unit::None { "-" } else { fact.unit().name() };
            [name, type_text(fact), unit.to_owned(), sources(kind, fact), capture(fact.needs), meaning(fact)]
        })
        .collect();
    let heads = ["fact", "type", "unit", "from", "capture", "meaning"].map(str::to_owned);
    table(std::iter::once(&heads).chain(&rows))
}

/// The catalogue as JSON.
pub fn catalogue_json() -> String {
    let facts: Vec<Value> = entries()
        .map(|(kind, fact)| {
            let mut object = json!({
                "entity": kind.name(),
                "fact": fact.name,
                "type": if matches!(fact.kind, FactType::Choice(_)) { "string" } else { fact.kind.name() },
                "meaning": fact.meaning,
                "formats": catalogue::formats_of(kind, fact),
            });
            let optional = [
                ("values", if let FactType::Choice(values) = fact.kind { Some(json!(values)) } else { None }),
                ("unit", (fact.unit() != Unit::None).then(|| json!(fact.unit().name()))),
                ("capture", source::how_to_capture(None, &[fact.needs]).map(|command| json!(command.to_string()))),
            ];
            for (key, value) in optional {
                if let Some(value) = value {
                    object[key] = value;
                }
            }
            object
        })
        .collect();
    format!("{:#}\n", json!({"schema": "coldspot.catalogue/1", "facts": facts}))
}

fn entries() -> impl Iterator<Item = (EntityKind, &'static Fact)> {
    EntityKind::ALL.into_iter().flat_map(|kind| catalogue::of_kind(kind).map(move |fact| (kind, fact)))
}

fn type_text(fact: &Fact) -> String {
    if matches!(fact.kind, FactType::Choice(_)) { "string".to_owned() } else { fact.kind.name().to_owned() }
}

fn meaning(fact: &Fact) -> String {
    match fact.kind {
        FactType::Choice(values) => format!("{} One of {}.", fact.meaning, values.join(", ")),
        _ => fact.meaning.to_owned(),
    }
}

/// The profilers whose recordings can give a fact: `nsys`, `kineto` (PyTorch), `ncu`.
fn sources(kind: EntityKind, fact: &Fact) -> String {
    let formats = catalogue::formats_of(kind, fact);
    let names: Vec<&str> = formats.iter().map(|id| id.split('-').next().unwrap_or(id)).collect();
    names.join(",")
}

/// The options of the profiler that bring a fact.
fn capture(needs: Capability) -> String {
    source::how_to_capture(None, &[needs]).map_or_else(|| "-".to_owned(), |command| command.options)
}

/// Columns aligned with spaces; the last one is as long as it is.
pub fn table<'a, const N: usize>(rows: impl Iterator<Item = &'a [String; N]> + Clone) -> String {
    let mut widths = [0; N];
    for row in rows.clone() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        out.push_str(&format!("{}\n", line.trim_end()));
    }
    out
}
