//! What a finding is about, in words that stay the same from one run of a program to the next.

use foldhash::HashMap;

use crate::facts::{EntityId, EntityKind, Facts};

/// Names the findings of one report so that another report of the same program gives them the same names: without process
/// ids, stream numbers, step numbers and the numbers of GPUs, which are only counted.
#[derive(Debug)]
pub(super) struct Fingerprints<'a> {
    facts: &'a Facts,
    /// How many devices come before each, by number.
    devices: HashMap<EntityId, usize>,
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
            EntityKind::Run | EntityKind::Device | EntityKind::Step | EntityKind::Phase => None,
            EntityKind::Process | EntityKind::CopyGroup | EntityKind::Kernel => entity.text("name").map(str::to_owned),
            EntityKind::LaunchShape => {
                let [blocks, threads] =
                    ["grid_block_count", "block_thread_count"].map(|fact| entity.int(fact).unwrap_or(0));
                entity.text("name").map(|name| format!("{name} {blocks}x{threads}"))
            }
            EntityKind::Stream => entity.text("kind").map(str::to_owned),
            EntityKind::SyncGroup => entity.text("api").map(str::to_owned),
            EntityKind::Range => {
                let domain = entity.text("domain").map_or_else(String::new, |domain| format!("{domain}:"));
                entity.text("name").map(|name| format!("{domain}{name}"))
            }
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
