//! What findings are about, in words.

use super::source::{CodeName, SourceLocation};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::text::names;
use crate::text::plural::counted;
use crate::text::spans::Sentence;

/// The entity that a finding is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// The entity, in the facts that were reviewed.
    pub entity: EntityId,
    /// Its kind.
    pub kind: EntityKind,
    /// Its key in the facts.
    pub key: String,
    /// Its device, which it may be itself; absent for the run and processes.
    pub device: Option<SubjectDevice>,
    /// Its name for readers; says the GPU where the report has several.
    pub label: Sentence,
    /// The kernels and ranges that the finding is about, what it is about itself first.
    pub names: Vec<CodeName>,
    /// The line of the project's code that most of its time comes from, where the report has call stacks; else what its
    /// names are mapped to.
    pub source: Option<SourceLocation>,
}

impl Subject {
    /// What its GPU is called for short, where the report holds several.
    pub fn gpu_among_others(&self) -> Option<&str> {
        self.device.as_ref()?.among_others.as_deref()
    }
}

/// The device of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectDevice {
    /// The device, in the facts that were reviewed.
    pub entity: EntityId,
    /// Its key in the facts.
    pub key: String,
    /// What it is called for short, as `GPU 0`; absent where it is the only one of the report.
    pub among_others: Option<String>,
}

pub(super) fn subject(facts: &Facts, id: EntityId) -> Subject {
    let entity = facts.get(id);
    let device = facts.related(id, EntityKind::Device);
    let has_several = facts.of_kind(EntityKind::Device).nth(1).is_some();
    let device = device.map(|device| SubjectDevice {
        entity: device,
        key: facts.get(device).key.clone(),
        among_others: has_several.then(|| short_device(facts.get(device))),
    });
    let mut label = label(entity);
    if entity.kind != EntityKind::Device
        && let Some(name) = device.as_ref().and_then(|device| device.among_others.as_deref())
    {
        label = label.own(" on ").own(name);
    }
    Subject { entity: id, kind: entity.kind, key: entity.key.clone(), device, label, names: Vec::new(), source: None }
}

/// Gives kernels whose names come out alike once they are short the part in which they differ.
pub(super) fn tell_apart(facts: &Facts, mut subjects: Vec<&mut Subject>) {
    subjects.retain(|subject| matches!(subject.kind, EntityKind::Kernel | EntityKind::LaunchShape));
    let names: Vec<&str> = subjects.iter().map(|subject| facts.get(subject.entity).name()).collect();
    let short = names::shorten_apart(&names);
    for ((subject, name), short) in subjects.into_iter().zip(names).zip(short) {
        if names::shorten(name) != short {
            subject.label = subject.label.with_code(&names::shorten(name), &short);
        }
    }
}

/// `GPU 0 (NVIDIA A100)`.
pub(super) fn device_label(device: &Entity) -> Sentence {
    label(device)
}

fn short_device(device: &Entity) -> String {
    device.int("number").map_or_else(|| "a GPU without number".to_owned(), |number| format!("GPU {number}"))
}

pub(super) fn label(entity: &Entity) -> Sentence {
    let words = Sentence::default();
    let number = entity.int("number").map_or_else(String::new, |number| format!(" {number}"));
    match entity.kind {
        EntityKind::Run => words.own("the run"),
        EntityKind::Process => {
            let words = words.own("process").own(&entity.int("pid").map_or_else(String::new, |pid| format!(" {pid}")));
            named(words, entity)
        }
        EntityKind::Device => named(words.own(&short_device(entity)), entity),
        EntityKind::Stream => {
            let kind = if entity.text("kind") == Some("default") { "the default stream" } else { "stream" };
            words.own(kind).own(&number)
        }
        EntityKind::Kernel => words.code(&names::shorten(entity.name())),
        EntityKind::LaunchShape => {
            let words = words.code(&names::shorten(entity.name()));
            match (entity.int("grid_block_count"), entity.int("block_thread_count")) {
                (Some(blocks), Some(threads)) => {
                    words.own(&format!(" in {} of {}", counted(blocks, "block"), counted(threads, "thread")))
                }
                _ => words,
            }
        }
        EntityKind::SyncGroup => words.code(entity.text("api").unwrap_or(&entity.key)),
        EntityKind::CopyGroup | EntityKind::Range => words.code(entity.name()),
        EntityKind::Step => words.own("step").own(&number),
        EntityKind::Phase => words.value(entity.text("name").unwrap_or("phase")),
    }
}

fn named(words: Sentence, entity: &Entity) -> Sentence {
    match entity.text("name") {
        Some(name) => words.own(" (").value(name).own(")"),
        None => words,
    }
}
