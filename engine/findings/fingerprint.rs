//! What a finding is about, in words that stay the same from one run of a program to the next.

use rustc_hash::FxHashMap;

use super::occurrence::severity_of;
use super::{Also, Finding, Gain, Review, Subject};
use crate::facts::{EntityId, EntityKind, Facts};
use crate::rules::outcome::{Confidence, Severity};
use crate::text::spans::Sentence;

/// Names the findings of one report so that another report of the same program gives them the same names: without process
/// ids, stream numbers, step numbers and the numbers of GPUs, which are only counted.
#[derive(Debug)]
pub(super) struct Fingerprints<'a> {
    facts: &'a Facts,
    /// How many devices come before each, by number.
    devices: FxHashMap<EntityId, usize>,
}

impl<'a> Fingerprints<'a> {
    pub(super) fn new(facts: &'a Facts) -> Self {
        let devices = facts.devices().into_iter().enumerate().map(|(index, (id, _))| (id, index)).collect();
        Self { facts, devices }
    }

    /// The fingerprint of a rule's finding about an entity: `pageable-copy gpu#0 copy_group host to device`.
    pub(super) fn of(&self, rule: &str, entity: EntityId) -> String {
        let mut words = vec![rule.to_owned()];
        let device = self.facts.related(entity, EntityKind::Device);
        words.extend(device.and_then(|device| self.devices.get(&device)).map(|index| format!("gpu#{index}")));
        let kind = self.facts.get(entity).kind;
        if kind != EntityKind::Device {
            words.push(kind.name().to_owned());
        }
        words.extend(self.stable_name(entity).filter(|name| !name.is_empty()));
        words.join(" ")
    }

    /// What names the entity for good; `None` where only numbers do.
    fn stable_name(&self, id: EntityId) -> Option<String> {
        let entity = self.facts.get(id);
        match entity.kind {
            EntityKind::Run | EntityKind::Device | EntityKind::Step => None,
            EntityKind::Process | EntityKind::CopyGroup | EntityKind::Kernel => entity.text("name").map(str::to_owned),
            EntityKind::Stream => entity.text("kind").map(str::to_owned),
            EntityKind::SyncGroup => entity.text("api").map(str::to_owned),
            EntityKind::Range => {
                let domain = entity.text("domain").map_or_else(String::new, |domain| format!("{domain}:"));
                entity.text("name").map(|name| format!("{domain}{name}"))
            }
        }
    }
}

/// One rule that holds for one entity, or for several that only volatile numbers tell apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation<'a> {
    /// The rule and the stable name of what it is about.
    pub fingerprint: &'a str,
    /// The finding that it belongs to: title, advice, references.
    pub finding: &'a Finding,
    /// What it is about.
    pub subject: &'a Subject,
    /// The severity of this one alone.
    pub severity: Severity,
    /// The most that it can gain.
    pub gain: Option<&'a Gain>,
    /// What it is.
    pub summary: &'a Sentence,
    /// How sure it is.
    pub confidence: Confidence,
}

impl Review {
    /// Every finding, symptoms and further entities too, in its order; of those with the same fingerprint the one that can
    /// gain most.
    pub fn observations(&self) -> Vec<Observation<'_>> {
        let mut seen: Vec<Observation<'_>> = Vec::new();
        let mut indices: FxHashMap<&str, usize> = FxHashMap::default();
        for one in self.findings.iter().flat_map(Finding::observations) {
            match indices.get(one.fingerprint) {
                Some(index) if seen[*index].recoverable_ns() >= one.recoverable_ns() => {}
                Some(index) => seen[*index] = one,
                None => {
                    indices.insert(one.fingerprint, seen.len());
                    seen.push(one);
                }
            }
        }
        seen
    }
}

impl Observation<'_> {
    fn recoverable_ns(&self) -> Option<i64> {
        self.gain.map(|gain| gain.recoverable_ns)
    }
}

impl Finding {
    fn observations(&self) -> Vec<Observation<'_>> {
        let best = Observation {
            fingerprint: &self.fingerprint,
            finding: self,
            subject: &self.subject,
            severity: self.own_severity(),
            gain: self.gain.as_ref(),
            summary: &self.summary,
            confidence: self.confidence,
        };
        let also = self.also.iter().map(|also: &Also| Observation {
            fingerprint: &also.fingerprint,
            finding: self,
            subject: &also.subject,
            severity: also.severity,
            gain: also.gain.as_ref(),
            summary: &also.summary,
            confidence: self.confidence,
        });
        let symptoms = self.symptoms.iter().flat_map(Self::observations);
        std::iter::once(best).chain(also).chain(symptoms).collect()
    }

    /// A finding bears the gravest severity of its entities; what can gain most need not be the gravest.
    fn own_severity(&self) -> Severity {
        let others = self.also.iter().map(|also| also.severity).max();
        match (others, &self.gain) {
            (Some(others), Some(gain)) if others == self.severity => severity_of(gain.share).min(self.severity),
            _ => self.severity,
        }
    }
}

/// 64 bits of a text as 16 digits, the same on every machine (FNV-1a): for formats that want ids.
pub fn digest(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renumbering_leaves_a_fingerprint_as_it_was() {
        let names: Vec<String> = [(0, 144, 7), (3, 991, 21)]
            .into_iter()
            .map(|(number, pid, stream): (i64, i64, i64)| {
                let mut facts = Facts::default();
                let run = facts.add(EntityKind::Run, "run", &[]);
                let process = facts.add(EntityKind::Process, format!("process{pid}"), &[run]);
                let device = facts.add(EntityKind::Device, format!("gpu{number}"), &[run]);
                facts.get_mut(device).set("number", number);
                let key = format!("gpu{number}/{pid}/1/{stream}");
                let stream = facts.add(EntityKind::Stream, key, &[device, process, run]);
                facts.get_mut(stream).set("kind", "blocking");
                Fingerprints::new(&facts).of("single-stream", stream)
            })
            .collect();
        assert_eq!(names, ["single-stream gpu#0 stream blocking"; 2]);
    }

    #[test]
    fn digests_are_those_of_fnv() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(digest("a"), "af63dc4c8601ec8c");
    }
}
