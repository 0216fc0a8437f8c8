//! The entities of one report with their facts: the plain value that passes from extraction to the rules.

use std::collections::BTreeMap;

use super::catalogue::{self, EntityKind};
use super::value::FactValue;
use crate::limits::MAX_FACTS_FILE_NUMBER as MAX_NUMBER;
use crate::text::plural::counted_as;

/// What a fact takes in the map of an entity, whose nodes are two thirds full, about; and what each allocation takes beyond its own.
const BYTES_OF_FACT: usize = 64;
const BYTES_OF_ALLOCATION: usize = 24;

/// The index of an entity in [`Facts`].
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
    /// An entity below `ancestors` (nearest first), without facts.
    pub(crate) const fn new(kind: EntityKind, key: String, ancestors: Vec<EntityId>) -> Self {
        Self { kind, key, ancestors, facts: BTreeMap::new() }
    }

    /// Takes over the facts of another entity of its kind.
    pub(crate) fn take_facts(&mut self, other: Self) {
        debug_assert_eq!(self.kind, other.kind);
        self.facts.extend(other.facts);
    }

    /// Enters a fact. A float that is not finite stays absent.
    ///
    /// In debug builds a name that the catalogue does not list for this kind, or a value of the wrong type, panics: it
    /// is a fault of the code that extracts, never of the report. In release builds such a fact is left out. A test holds that
    /// every fact of the catalogue is set, so that a wrong name does not stay unseen.
    pub fn set(&mut self, name: &str, value: impl Into<FactValue>) {
        // Larger numbers are none of a run: the largest that a file of facts holds stands for them.
        let value = match value.into() {
            FactValue::Float(number) if !number.is_finite() => return,
            FactValue::Float(number) => FactValue::Float(number.min(MAX_NUMBER as f64)),
            FactValue::Int(number) => FactValue::Int(number.clamp(-MAX_NUMBER, MAX_NUMBER)),
            other => other,
        };
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

    /// A number, whole or not.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.facts.get(name) {
            Some(FactValue::Int(value)) => Some(*value as f64),
            Some(FactValue::Float(value)) => Some(*value),
            _ => None,
        }
    }

    /// The name for readers: that of its facts, else its key.
    pub fn name(&self) -> &str {
        self.text("name").unwrap_or(&self.key)
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
    /// The entities of each kind, so that none is looked for among all.
    by_kind: [Vec<EntityId>; EntityKind::ALL.len()],
}

/// What keeps a recording from being that of the whole program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotWhole {
    /// A part of the file is missing or cannot be read.
    Damaged,
    /// Work of GPUs is missing amid what was recorded.
    Missing,
    /// So many operations make no sense: each may have taken any time.
    Unusable(i64),
    /// What is in it is right, and is not all that the program was to do.
    Unmeasured(&'static str),
}

impl Facts {
    /// Adds an entity below `parents` (nearest first) and returns its id.
    pub fn add(&mut self, kind: EntityKind, key: impl Into<String>, parents: &[EntityId]) -> EntityId {
        self.push(Entity::new(kind, key.into(), parents.to_vec()))
    }

    /// Adds an entity whose ancestors are there.
    pub(crate) fn push(&mut self, entity: Entity) -> EntityId {
        let id = EntityId(self.entities.len());
        self.by_kind[entity.kind as usize].push(id);
        self.entities.push(entity);
        id
    }

    /// The run: what the whole report is about. Absent where there are no facts at all.
    pub fn run(&self) -> Option<&Entity> {
        self.of_kind(EntityKind::Run).map(|(_, run)| run).next()
    }

    /// Whether a part of the file is missing or cannot be read: nothing that is not in it can be told from idle time.
    pub fn is_damaged(&self) -> bool {
        self.run().and_then(|run| run.get("is_file_damaged")) == Some(&FactValue::Bool(true))
    }

    /// Whether somebody thinned the trace out: of what ran, most is not in it, so that shares and idle time are of nothing that ran.
    pub fn is_thinned(&self) -> bool {
        self.run().is_some_and(|run| run.get("numbered_operator_count").is_some())
    }

    /// Whether work of GPUs is missing from the recording: of a damaged file, or because the profiler lost it. What is missing
    /// looks like less work and more idle time.
    pub fn is_incomplete(&self) -> bool {
        self.is_damaged() || self.run().and_then(|run| run.get("lacks_gpu_work")) == Some(&FactValue::Bool(true))
    }

    /// Operations of GPUs that were left out because they make no sense: any of them may have taken any time.
    pub fn unusable_work(&self) -> Option<i64> {
        self.run()?.int("unusable_gpu_row_count").filter(|count| *count > 0)
    }

    /// Why the times of a recording are not those of all that the program was to do, although what is in it is right; `None` where
    /// nothing says so.
    pub fn unmeasured_work(&self) -> Option<&'static str> {
        /// Launches without work that are fewer, as a share, change no time.
        const MANY: i64 = 100;
        let run = self.run()?;
        let count = |name: &str| run.int(name).unwrap_or(0);
        // A capture of a length that was asked for ends while the host runs ahead; a trace ends where its program says.
        let is_lost_in_part = run.text("format") == Some("kineto")
            && count("lost_launch_count").saturating_mul(MANY) > count("launch_call_count");
        if run.get("kernel_error_call").is_some() {
            Some("a kernel failed, and what its context was to do from then on did not run")
        } else if count("unread_row_count") > 0 {
            Some("rows beyond a limit were not read, and what they hold may have taken any time")
        } else if count("omitted_device_count") > 0 {
            Some("GPUs beyond a limit were left out, and what ran on them may have taken any time")
        } else if count("untimed_launch_count") > 0 {
            Some("launches were profiled that do not tell how long they took, which may be any time")
        } else if is_lost_in_part {
            Some("launches have no work in the recording, which may have taken any time")
        } else if run.get("has_open_end") == Some(&FactValue::Bool(true)) {
            Some("the list of events has no end, and what may follow may have taken any time")
        } else {
            None
        }
    }

    /// What pages of Nsight Compute that were read with the recording do not tell: times stand, and what is found of its kernels may not
    /// be all. `None` where they are whole.
    pub fn incomplete_profiles(&self) -> Option<&str> {
        self.run()?.text("incomplete_profile_notice")
    }

    /// What keeps the times of a recording, and what is found in it, from being those of the whole program: the one answer for all
    /// that holds a recording against a limit or another, or keeps it for later. `None` where nothing says so.
    pub fn not_whole(&self) -> Option<NotWhole> {
        if self.is_damaged() {
            Some(NotWhole::Damaged)
        } else if self.is_incomplete() {
            Some(NotWhole::Missing)
        } else if let Some(count) = self.unusable_work() {
            Some(NotWhole::Unusable(count))
        } else {
            self.unmeasured_work().map(NotWhole::Unmeasured)
        }
    }

    /// The same in words.
    pub fn why_not_whole(&self) -> Option<&'static str> {
        Some(match self.not_whole()? {
            NotWhole::Damaged => "a part of what was recorded is not in the file",
            NotWhole::Missing => {
                "work of the GPU is missing, lost by the profiler or unreadable, which looks like less work and more idle time"
            }
            NotWhole::Unusable(_) => {
                "work of the GPU was left out that makes no sense, and may be any part of what ran"
            }
            NotWhole::Unmeasured(why) => why,
        })
    }

    /// The share of the calls that should launch and returned an error: what they should do takes no time.
    pub fn failed_launch_share(&self) -> f64 {
        let count = |name: &str| self.run().and_then(|run| run.int(name)).unwrap_or(0).max(0) as f64;
        let failed = count("failed_launch_count");
        if failed > 0.0 { failed / (failed + count("launch_call_count")) } else { 0.0 }
    }

    /// What work of GPUs is missing amid what was recorded, in a few words; `None` where none is known to be.
    pub fn missing_work(&self) -> Option<String> {
        let run = self.run().filter(|run| run.get("lacks_gpu_work") == Some(&FactValue::Bool(true)))?;
        let counted = |name: &str, one: &str, many: &str| run.int(name).map(|count| counted_as(count, one, many));
        let lost =
            counted("lost_launch_count", "launch has", "launches have").map(|lost| lost + " no work in the recording");
        let unusable =
            || Some(counted("unusable_gpu_row_count", "row of GPU work makes", "rows of GPU work make")? + " no sense");
        let copies =
            || Some(counted("unrecorded_copy_count", "call copied", "calls copied")? + ", and no copy is recorded");
        // Of a file that is cut, what is broken is its end.
        let others = || unusable().filter(|_| !self.is_damaged()).or_else(copies);
        let last = if self.is_damaged() {
            "a part of the recording is not in the file"
        } else {
            "the profiler says that something failed"
        };
        Some(lost.or_else(others).unwrap_or_else(|| last.to_owned()))
    }

    /// The GPUs, in the order of their numbers.
    pub fn devices(&self) -> Vec<(EntityId, &Entity)> {
        let mut devices: Vec<_> = self.of_kind(EntityKind::Device).collect();
        devices.sort_by_key(|(id, device)| (device.int("number"), *id));
        devices
    }

    /// The facts about one GPU, with the run and the processes; nothing of a GPU where none has that number.
    pub fn of_device(&self, number: i64) -> Self {
        self.filter(|entity| entity.kind != EntityKind::Device || entity.int("number") == Some(number))
    }

    /// The entities that are to be kept. What hangs below one that is not kept is not kept either.
    pub fn filter(&self, keep: impl Fn(&Entity) -> bool) -> Self {
        let mut kept = Self::default();
        kept.take(self, "", keep);
        kept
    }

    /// Adds all entities of another recording. `prefix` is put before their keys: one that no other recording has keeps the
    /// keys of all of them apart.
    pub fn absorb(&mut self, prefix: &str, other: &Self) {
        self.take(other, prefix, |_| true);
    }

    /// Copies entities, whose ids become those that they have here.
    fn take(&mut self, other: &Self, prefix: &str, keep: impl Fn(&Entity) -> bool) {
        let mut here: Vec<Option<EntityId>> = Vec::with_capacity(other.len());
        for entity in &other.entities {
            let ancestors: Option<Vec<EntityId>> = entity.ancestors.iter().map(|old| here[old.0]).collect();
            here.push(ancestors.filter(|_| keep(entity)).map(|ancestors| {
                self.push(Entity { key: format!("{prefix}{}", entity.key), ancestors, ..entity.clone() })
            }));
        }
    }

    /// Lets go of the facts of some entities, but for their names.
    pub(crate) fn forget(&mut self, is_one: impl Fn(&Entity) -> bool) {
        for entity in self.entities.iter_mut().filter(|entity| is_one(entity)) {
            let name = entity.facts.remove_entry("name");
            entity.facts = name.into_iter().collect();
        }
    }

    /// Bytes of memory that they take, about.
    pub(crate) fn byte_count(&self) -> usize {
        let of_fact = |value: &FactValue| {
            let text_bytes = if let FactValue::Text(text) = value { text.len() + BYTES_OF_ALLOCATION } else { 0 };
            BYTES_OF_FACT + text_bytes
        };
        let of_entity = |entity: &Entity| {
            let of_facts: usize = entity.facts.values().map(of_fact).sum();
            let own = size_of::<Entity>() + size_of::<EntityId>() * (1 + entity.ancestors.len());
            own + entity.key.len() + 2 * BYTES_OF_ALLOCATION + of_facts
        };
        self.entities.iter().map(of_entity).sum()
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The entity with an id that [`Facts::add`] returned.
    pub fn get(&self, id: EntityId) -> &Entity {
        &self.entities[id.0]
    }

    /// The same, to enter facts.
    pub fn get_mut(&mut self, id: EntityId) -> &mut Entity {
        &mut self.entities[id.0]
    }

    /// The entities of one kind, in the order in which they were added.
    pub fn of_kind(&self, kind: EntityKind) -> impl Iterator<Item = (EntityId, &Entity)> {
        self.by_kind[kind as usize].iter().map(|id| (*id, self.get(*id)))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with a kernel on each of some GPUs.
    fn sample(numbers: &[i64]) -> Facts {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        for number in numbers {
            let device = facts.add(EntityKind::Device, format!("gpu{number}"), &[run]);
            facts.get_mut(device).set("number", *number);
            let kernel = facts.add(EntityKind::Kernel, format!("gpu{number}/k"), &[device, run]);
            facts.get_mut(kernel).set("launch_count", *number);
        }
        facts
    }

    #[test]
    fn the_gravest_reason_is_why_a_recording_is_not_whole() {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        assert_eq!(facts.not_whole(), None);
        let mut with = |name: &'static str, value: FactValue| {
            facts.get_mut(run).set(name, value);
            assert_eq!(facts.why_not_whole().is_some(), facts.not_whole().is_some());
            facts.not_whole()
        };
        let open = "the list of events has no end, and what may follow may have taken any time";
        assert_eq!(with("has_open_end", true.into()), Some(NotWhole::Unmeasured(open)));
        let many = "rows beyond a limit were not read, and what they hold may have taken any time";
        assert_eq!(with("unread_row_count", 1.into()), Some(NotWhole::Unmeasured(many)));
        assert_eq!(with("unusable_gpu_row_count", 7.into()), Some(NotWhole::Unusable(7)));
        assert_eq!(with("lacks_gpu_work", true.into()), Some(NotWhole::Missing));
        assert_eq!(with("is_file_damaged", true.into()), Some(NotWhole::Damaged));
    }

    #[test]
    fn one_device_keeps_the_run_and_what_is_its_own() {
        let kept = sample(&[3, 5]).of_device(5);
        assert_eq!(kept.len(), 3);
        let (kernel, entity) = kept.of_kind(EntityKind::Kernel).next().unwrap();
        assert_eq!(entity.int("launch_count"), Some(5));
        assert_eq!(kept.get(kept.related(kernel, EntityKind::Device).unwrap()).int("number"), Some(5));
        assert!(kept.related(kernel, EntityKind::Run).is_some());
    }

    #[test]
    fn recordings_that_are_held_together_keep_their_keys_apart() {
        let mut all = Facts::default();
        all.absorb("rank0/", &sample(&[0, 1]));
        all.absorb("rank1/", &sample(&[0, 1]));
        let keys: std::collections::BTreeSet<(EntityKind, &str)> =
            all.iter().map(|(_, entity)| (entity.kind, entity.key.as_str())).collect();
        assert_eq!((keys.len(), all.len()), (10, 10));
        for (id, kernel) in all.of_kind(EntityKind::Kernel) {
            let device = all.get(all.related(id, EntityKind::Device).unwrap());
            assert!(kernel.key.starts_with(&device.key) && kernel.int("launch_count") == device.int("number"));
            let run = all.get(all.related(id, EntityKind::Run).unwrap());
            assert_eq!(run.key.split('/').next(), kernel.key.split('/').next());
        }
    }
}
