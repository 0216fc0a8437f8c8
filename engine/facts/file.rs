//! Facts files: what `coldspot facts --format json` writes, read back. They stand wherever a report can.

use std::io::Read;
use std::path::Path;

use foldhash::HashMap;

use super::catalogue::EntityKind;
use super::json::{self, RawEntities, RawEntity};
use super::store::{EntityId, Facts};
use super::wholes;
use crate::files;
use crate::limits::{MAX_DEVICE_COUNT, MAX_ENTITY_OF_KIND_COUNT, MAX_FACTS_FILE_BYTES};
use crate::text::escape;

/// The shape of a facts file; a change that breaks readers needs a new number.
pub const SCHEMA: &str = "coldspot.facts/1";

const SCHEMA_NAME: &str = "coldspot.facts/";
const SCHEMA_NUMBER: u64 = 1;
/// Files whose first bytes hold none of coldspot's keys are something else.
const HEAD_BYTES: u64 = 4096;

/// Why a facts file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FactsFileError {
    /// It cannot be read from the disk.
    #[error("{path}: cannot be read: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A newer coldspot wrote it.
    #[error(
        "{path}: is a facts file of schema {found}; this coldspot reads up to {SCHEMA}. Update coldspot, or write the \
         file again with this one: coldspot facts REPORT --format json --output FILE"
    )]
    Newer {
        /// The file.
        path: String,
        /// Its schema.
        found: String,
    },
    /// It is JSON of coldspot, but of another kind.
    #[error("{path}: holds {found}, not facts. Write facts with: coldspot facts REPORT --format json --output FILE")]
    Other {
        /// The file.
        path: String,
        /// Its schema.
        found: String,
    },
    /// It is damaged.
    #[error(
        "{path}: the facts file is damaged ({detail}). Write it again with: coldspot facts REPORT --format json --output FILE"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong, and where.
        detail: String,
    },
}

/// Whether a file's first bytes are those of JSON that coldspot writes. A file that cannot be opened is not.
pub fn is_facts_file(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = files::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let text = String::from_utf8_lossy(&head);
    read.is_ok()
        && text.trim_start().starts_with('{')
        && (text.contains("\"coldspot.") || text.contains("\"coldspot\":"))
}

/// The facts in a file.
///
/// # Errors
/// When it cannot be read, is of a newer schema, holds something else, or is damaged: it is read whole or not at all.
/// Facts that this version does not know are left out, as are arrays of kinds that it does not know.
pub fn read(path: &Path) -> Result<Facts, FactsFileError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    files::open(path)
        .and_then(|file| file.take(MAX_FACTS_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|source| FactsFileError::Read { path: name.clone(), source })?;
    let damaged = |detail: String| FactsFileError::Damaged { path: name.clone(), detail: escape::plain(&detail) };
    if bytes.len() as u64 > MAX_FACTS_FILE_BYTES {
        return Err(damaged("it is larger than any".to_owned()));
    }
    let schema = json::schema(&bytes).map_err(|error| damaged(error.to_string()))?;
    let Some(schema) = schema else { return Err(damaged("it names no schema".to_owned())) };
    match schema.strip_prefix(SCHEMA_NAME).map(str::parse) {
        Some(Ok(SCHEMA_NUMBER)) => {
            let entities = json::entities(&bytes).map_err(|error| damaged(error.to_string()))?;
            drop(bytes);
            facts_of(entities).and_then(wholes::checked).map_err(damaged)
        }
        Some(Ok(1u64..)) => Err(FactsFileError::Newer { path: name, found: escape::plain(&schema) }),
        Some(_) => Err(damaged(format!("its schema is {schema}"))),
        None => Err(FactsFileError::Other { path: name, found: escape::plain(&schema) }),
    }
}

/// The ids of entities by kind and key.
type Ids = HashMap<(EntityKind, String), EntityId>;

fn facts_of(entities: RawEntities) -> Result<Facts, String> {
    let mut facts = Facts::default();
    let mut ids = Ids::default();
    for (kind, entities) in EntityKind::ALL.into_iter().zip(entities) {
        let entities = match entities {
            Some(entities) => entities,
            // Older writers did not know every kind.
            None if kind != EntityKind::Run => continue,
            None => return Err(format!("`{}` is no array", kind.plural())),
        };
        if let Some(most) = most(kind).filter(|most| entities.len() > *most) {
            return Err(format!("it holds more than {most} {}", kind.plural()));
        }
        for (index, entity) in entities.into_iter().enumerate() {
            let within = |problem: String| format!("{}[{index}]: {problem}", kind.plural());
            add(&mut facts, &mut ids, kind, entity).map_err(within)?;
        }
    }
    match facts.of_kind(EntityKind::Run).count() {
        1 => Ok(facts),
        count => Err(format!("it holds {count} runs; a facts file holds one")),
    }
}

/// No file that coldspot writes holds more of a kind: what rules say of each is kept.
const fn most(kind: EntityKind) -> Option<usize> {
    match kind {
        // There is one, and it is said when there are others.
        EntityKind::Run => None,
        EntityKind::Device => Some(MAX_DEVICE_COUNT),
        EntityKind::Process
        | EntityKind::Stream
        | EntityKind::Kernel
        | EntityKind::LaunchShape
        | EntityKind::CopyGroup
        | EntityKind::SyncGroup
        | EntityKind::Range
        | EntityKind::Step
        | EntityKind::Phase => Some(MAX_ENTITY_OF_KIND_COUNT),
    }
}

fn add(facts: &mut Facts, ids: &mut Ids, kind: EntityKind, entity: RawEntity) -> Result<(), String> {
    let Some(key) = entity.key else { return Err("it has no id".to_owned()) };
    let mut parents = Vec::new();
    for ancestor in kind.ancestors() {
        // The last of a name counts.
        let parent = entity.ancestors.iter().rfind(|(kind, _)| kind == ancestor);
        let Some((_, parent)) = parent else {
            // Not every recording tells the process of a range.
            if *ancestor == EntityKind::Process {
                continue;
            }
            return Err(format!("`{key}` names no {}", ancestor.name()));
        };
        match ids.get(&(*ancestor, parent.clone())) {
            Some(parent) => parents.push(*parent),
            None => return Err(format!("`{key}` names the {} `{parent}`, which is not there", ancestor.name())),
        }
    }
    let id = facts.add(kind, key.as_str(), &parents);
    for (name, value) in entity.facts {
        facts.get_mut(id).set(name, value);
    }
    match ids.insert((kind, key), id) {
        Some(twice) => Err(format!("the id `{}` is there twice", facts.get(twice).key)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::limits::MAX_NAME_BYTES;
    use crate::render::facts::facts_json;

    fn sample() -> Facts {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        facts.get_mut(run).set("framework", "pytorch");
        let process = facts.add(EntityKind::Process, "process1", &[run]);
        let device = facts.add(EntityKind::Device, "gpu0", &[run]);
        facts.get_mut(device).set("window_ns", 2_000_000_000);
        facts.get_mut(device).set("compute_ns", 2_000_000_000);
        facts.get_mut(device).set("window_start_ns", -5);
        facts.get_mut(device).set("memory_bandwidth_gb_per_s", 0.1 + 0.2);
        let range = facts.add(EntityKind::Range, "gpu0/1/\u{1b}[31m", &[device, process, run]);
        facts.get_mut(range).set("name", "a \u{202e} ##[error] \u{1b}[31m");
        facts
    }

    fn load(text: &str) -> Result<Facts, FactsFileError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("facts.json");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn facts_read_back_as_they_were_written() {
        let text = facts_json(&sample()).unwrap();
        let facts = load(&text).unwrap();
        assert_eq!(facts, sample());
        assert_eq!(facts_json(&facts).unwrap(), text);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let text = facts_json(&sample()).unwrap();
        let error = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            load(&text.replace(from, to)).unwrap_err().to_string()
        };
        for (from, to, expected) in [
            ("facts/1", "facts/2", "Update coldspot"),
            ("facts/1", "review/1", "holds coldspot.review/1, not facts"),
            ("facts/1", "facts/x", "damaged"),
            ("2000000000", "null", "is not of type integer"),
            ("\"window_ns\"", "\"idle_host_culprit_share\"", "is a share of more than 1"),
            ("\"window_ns\": 2000000000", "\"window_ns\": 2000000002", "the parts of window_ns sum to 2000000000"),
            ("2000000000", "-1", "is negative"),
            ("2000000000", "4611686018427387904", "is out of range"),
            ("\"id\": \"gpu0\"", "\"id\": \"gpu1\"", "names the device `gpu0`, which is not there"),
            ("\"runs\"", "\"walks\"", "`runs` is no array"),
        ] {
            let message = error(from, to);
            assert!(message.contains(expected) && message.contains("facts.json"), "{message}");
        }
        assert!(load(&text[..text.len() / 2]).unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn newer_keys_and_words_are_left_out() {
        let text = facts_json(&sample()).unwrap().replace("\"pytorch\"", "\"mojo\", \"not_yet_known\": [1]");
        let facts = load(&text).unwrap();
        let (_, run) = facts.of_kind(EntityKind::Run).next().unwrap();
        assert_eq!(run.text("framework"), None);
    }

    #[test]
    fn texts_are_no_longer_than_names_of_recordings() {
        let mut long = sample();
        let [one, other] = ["a", "b"].map(|end| "x".repeat(MAX_NAME_BYTES) + end);
        let run = long.of_kind(EntityKind::Run).next().unwrap().0;
        for key in [&one, &other] {
            let device = long.add(EntityKind::Device, key.as_str(), &[run]);
            long.get_mut(device).set("name", one.as_str());
            long.add(EntityKind::Stream, format!("{key} stream"), &[device, run]);
        }
        let read = load(&facts_json(&long).unwrap()).unwrap();
        let devices: Vec<_> = read.of_kind(EntityKind::Device).skip(1).map(|(id, device)| (id, &device.key)).collect();
        assert!(devices.iter().all(|(_, key)| key.len() <= MAX_NAME_BYTES) && devices[0].1 != devices[1].1);
        assert!(read.get(devices[0].0).text("name").is_some_and(|name| name.len() <= MAX_NAME_BYTES));
        let of_streams = read.of_kind(EntityKind::Stream).map(|(id, _)| read.related(id, EntityKind::Device));
        assert!(of_streams.eq(devices.iter().map(|(id, _)| Some(*id))));
    }
}
