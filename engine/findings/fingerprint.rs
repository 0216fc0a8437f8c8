//! What a finding is about, in words that stay the same from one run of a program to the next.

use rustc_hash::FxHashMap;

use super::{Also, Finding, Gain, Review, Subject};
use crate::facts::{EntityId, EntityKind, Facts};
use crate::rules::outcome::{Confidence, Severity};
use crate::text::spans::Sentence;

/// Names the findings of one report so that another report of the same program gives them the same names: without process
/// ids, stream numbers, step numbers and the numbers of GPUs, which are only counted.
#[derive(Debug)]
pub struct Fingerprints<'a> {
    facts: &'a Facts,
    places: FxHashMap<(EntityKind, &'a str), EntityId>,
    devices: FxHashMap<EntityId, usize>,
}

/// One rule that holds for one entity, or for several that only volatile numbers tell apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen<'a> {
    /// The rule and the stable name of what it is about.
    pub fingerprint: String,
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

impl<'a> Fingerprints<'a> {
    /// Of the facts that a review was made from.
    pub fn new(facts: &'a Facts) -> Self {
        let places = facts.iter().map(|(id, entity)| ((entity.kind, entity.key.as_str()), id)).collect();
        let mut devices: Vec<_> = facts.of_kind(EntityKind::Device).collect();
        devices.sort_by_key(|(id, device)| (device.int("number"), *id));
        let devices = devices.into_iter().enumerate().map(|(place, (id, _))| (id, place)).collect();
        Self { facts, places, devices }
    }

    /// The fingerprint of a rule's finding about a subject of these facts: `pageable-copy gpu#0 copy_group host to device`.
    pub fn of(&self, rule: &str, subject: &Subject) -> String {
        let mut words = vec![rule.to_owned()];
        let id = self.places.get(&(subject.kind, subject.key.as_str())).copied();
        let device = id.and_then(|id| self.facts.related(id, EntityKind::Device));
        words.extend(device.and_then(|device| self.devices.get(&device)).map(|place| format!("gpu#{place}")));
        if subject.kind != EntityKind::Device {
            words.push(subject.kind.name().to_owned());
        }
        words.extend(id.and_then(|id| self.stable_name(id)).filter(|name| !name.is_empty()));
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

    /// Every finding of the review, symptoms and further entities too, in its order; of those with the same fingerprint
    /// the one that can gain most.
    pub fn all(&self, review: &'a Review) -> Vec<Seen<'a>> {
        let mut seen: Vec<Seen<'a>> = Vec::new();
        let mut places: FxHashMap<String, usize> = FxHashMap::default();
        for one in review.findings.iter().flat_map(|finding| self.within(finding)) {
            match places.get(&one.fingerprint) {
                Some(place) if gain_of(&seen[*place]) >= gain_of(&one) => {}
                Some(place) => seen[*place] = one,
                None => {
                    places.insert(one.fingerprint.clone(), seen.len());
                    seen.push(one);
                }
            }
        }
        seen
    }

    pub(super) fn within(&self, finding: &'a Finding) -> Vec<Seen<'a>> {
        let severity = if finding.also.is_empty() { finding.severity } else { own_severity(finding) };
        let best = Seen {
            fingerprint: self.of(&finding.rule, &finding.subject),
            finding,
            subject: &finding.subject,
            severity,
            gain: finding.gain.as_ref(),
            summary: &finding.summary,
            confidence: finding.confidence,
        };
        let also = finding.also.iter().map(|also: &'a Also| Seen {
            fingerprint: self.of(&finding.rule, &also.subject),
            finding,
            subject: &also.subject,
            severity: also.severity,
            gain: also.gain.as_ref(),
            summary: &also.summary,
            confidence: finding.confidence,
        });
        let symptoms = finding.symptoms.iter().flat_map(|symptom| self.within(symptom));
        std::iter::once(best).chain(also).chain(symptoms).collect()
    }
}

fn gain_of(seen: &Seen<'_>) -> Option<i64> {
    seen.gain.map(|gain| gain.recoverable_ns)
}

/// A finding bears the gravest severity of its entities; what can gain most need not be the gravest.
fn own_severity(finding: &Finding) -> Severity {
    let others = finding.also.iter().map(|also| also.severity).max();
    match (others, &finding.gain) {
        (Some(others), Some(gain)) if others == finding.severity => {
            super::rank::severity_of(gain.share).min(finding.severity)
        }
        _ => finding.severity,
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
                let stream = facts.add(EntityKind::Stream, key.clone(), &[device, process, run]);
                facts.get_mut(stream).set("kind", "blocking");
                let subject = Subject {
                    kind: EntityKind::Stream,
                    key,
                    device: None,
                    label: Sentence::default(),
                    names: Vec::new(),
                    place: None,
                };
                Fingerprints::new(&facts).of("single-stream", &subject)
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
