//! What findings are about, in words.

use serde::Serialize;

use super::source::{CodeName, Place, names, place};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::rules::outcome::Match;
use crate::text::names;
use crate::text::spans::Sentence;

/// The entity that a finding is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Subject {
    /// Its kind.
    pub kind: EntityKind,
    /// Its key in the facts.
    pub key: String,
    /// The key of its device, which it may be itself; absent for the run and processes.
    pub device: Option<String>,
    /// Its name for readers; says the GPU where the report has several.
    pub label: Sentence,
    /// The kernels and annotations that the finding is about, what it is about itself first.
    #[serde(skip)]
    pub names: Vec<CodeName>,
    /// The line of the project's code that most of its time comes from, where the report has call stacks; else what its
    /// names are mapped to, once the review has been placed.
    #[serde(rename = "source", skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// The subject of a finding, with the names by which its place in the code is known.
pub(super) fn subject_of(facts: &Facts, id: EntityId, found: &Match) -> Subject {
    Subject { names: names(facts, id, found), place: place(facts.get(id)), ..subject(facts, id) }
}

pub(super) fn subject(facts: &Facts, id: EntityId) -> Subject {
    let entity = facts.get(id);
    let device = facts.related(id, EntityKind::Device).map(|device| facts.get(device));
    let mut label = label(entity);
    if let Some(device) = device.filter(|_| entity.kind != EntityKind::Device)
        && facts.of_kind(EntityKind::Device).nth(1).is_some()
    {
        label = label.own(" on ").own(&short_device(device));
    }
    Subject {
        kind: entity.kind,
        key: entity.key.clone(),
        device: device.map(|device| device.key.clone()),
        label: label,
        names: Vec::new(),
        place: None,
    }
}

/// `GPU 0 (NVIDIA A100)`.
pub(super) fn device_label(device: &Entity) -> Sentence {
    label(device)
}

fn short_device(device: &Entity) -> String {
    device.int("number").map_or_else(|| "a GPU without number".to_owned(), |number| format!("GPU {number}"))
}

fn label(entity: &Entity) -> Sentence {
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
        EntityKind::Kernel => words.code(&names::shorten(name_of(entity))),
        EntityKind::SyncGroup => words.code(entity.text("api").unwrap_or(&entity.key)),
        EntityKind::CopyGroup | EntityKind::Range => words.code(name_of(entity)),
        EntityKind::Step => words.own("step").own(&number),
    }
}

fn name_of(entity: &Entity) -> &str {
    entity.text("name").unwrap_or(&entity.key)
}

fn named(words: Sentence, entity: &Entity) -> Sentence {
    match entity.text("name") {
        Some(name) => words.own(" (").value(name).own(")"),
        None => words,
    }
}
