//! Facts files: what `coldspot facts --format json` writes, read back. They stand wherever a report can.

use std::io::Read;
use std::path::Path;

use foldhash::HashMap;

use super::catalogue::EntityKind;
use super::json::{self, RawEntities, RawEntity};
use super::store::{EntityId, Facts};
use crate::files;
use crate::ledger::{Account, Breakdown};
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
            facts_of(entities).and_then(whole).map_err(damaged)
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

/// What gains are held against, and is a part of the window: a longer one would make nothing of each of them.
const PARTS_OF_WINDOW: [&str; 3] = ["replay_step_ns", "replay_recorded_step_ns", "replay_least_step_ns"];

/// Facts whose parts are no more than their wholes, but for what rounding each of them adds.
fn whole(facts: Facts) -> Result<Facts, String> {
    let more = |part: &str, whole: &str, key: &str| format!("{key}: {part} is more than its {whole}");
    let mut of_kernels: HashMap<EntityId, (i64, i64)> = HashMap::default();
    for (id, kernel) in facts.of_kind(EntityKind::Kernel) {
        let Some(device) = facts.related(id, EntityKind::Device) else { continue };
        let (sum_ns, count) = of_kernels.entry(device).or_default();
        *sum_ns = sum_ns.saturating_add(kernel.int("attributed_ns").unwrap_or(0));
        *count += 1;
    }
    for (id, device) in facts.of_kind(EntityKind::Device) {
        let Some(window_ns) = device.int(Account::Window.fact()) else { continue };
        if of_kernels.get(&id).is_some_and(|(sum_ns, count)| *sum_ns > window_ns + count) {
            return Err(more("the time of its kernels", Account::Window.fact(), &device.key));
        }
        let too_long = PARTS_OF_WINDOW.into_iter().find(|part| device.int(part).is_some_and(|ns| ns > window_ns));
        if let Some(part) = too_long {
            return Err(more(part, Account::Window.fact(), &device.key));
        }
        for account in Account::all() {
            let Some(breakdown) = account.part_of() else { continue };
            let whole_ns = device.int(breakdown.whole().fact()).unwrap_or(window_ns);
            let parts = breakdown.accounts().filter(|part| breakdown != Breakdown::Waste || *part == account);
            let parts: Vec<i64> = parts.filter_map(|part| device.int(part.fact())).collect();
            if parts.iter().copied().fold(0, i64::saturating_add) > whole_ns + parts.len() as i64 {
                return Err(more(account.fact(), breakdown.whole().fact(), &device.key));
            }
        }
    }
    Ok(facts)
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
            ("2000000000", "null", "`window_ns` is not of type integer"),
            ("2000000000", "-1", "`window_ns` is negative"),
            ("2000000000", "4611686018427387904", "`window_ns` is out of range"),
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
    fn parts_are_no_more_than_their_wholes() {
        let with = |facts: &[(&'static str, i64)], of_kernel: i64| {
            let mut changed = sample();
            let run = changed.of_kind(EntityKind::Run).next().unwrap().0;
            let device = changed.of_kind(EntityKind::Device).next().unwrap().0;
            facts.iter().for_each(|(name, value)| changed.get_mut(device).set(name, *value));
            for key in ["a", "b"] {
                let kernel = changed.add(EntityKind::Kernel, key, &[device, run]);
                changed.get_mut(kernel).set("attributed_ns", of_kernel);
            }
            load(&facts_json(&changed).unwrap()).map_err(|error| error.to_string())
        };
        let whole = [("compute_ns", 1_500_000_000), ("idle_ns", 500_000_000), ("idle_host_ns", 500_000_000)];
        assert!(with(&whole, 1_000_000_001).is_ok());
        let error = with(&whole, 1_000_000_002).unwrap_err();
        assert!(error.contains("gpu0: the time of its kernels is more than its window_ns"), "{error}");
        for (name, value, of) in [
            ("idle_ns", 500_000_003, "window_ns"),
            ("idle_host_ns", 500_000_002, "idle_ns"),
            ("underfilled_ns", 1_500_000_002, "compute_ns"),
            ("replay_step_ns", 2_000_000_001, "window_ns"),
        ] {
            let mut changed = whole.to_vec();
            changed.push((name, value));
            let error = with(&changed, 0).unwrap_err();
            assert!(error.contains(&format!("is more than its {of}")), "{error}");
        }
        assert!(load(&facts_json(&sample()).unwrap().replace("window_ns", "idle_host_culprit_share")).is_err());
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
