//! What the groups of facts of one device add, and what their entities hang below.

use crate::facts::EntityKind;
use crate::facts::store::{Entity, EntityId, Facts};
use crate::text::cut;

/// What a group adds: facts of the device itself, and entities below it.
pub(super) struct DevicePart {
    pub(super) device: Entity,
    pub(super) entities: Vec<Entity>,
    /// Which of them are below others of them: the index of each, and of what it is below.
    pub(super) below: Vec<(usize, usize)>,
    /// Entities beyond the limit, which have no facts of their own.
    pub(super) left_out_count: i64,
}

impl DevicePart {
    pub(super) fn new() -> Self {
        let device = Entity::new(EntityKind::Device, String::new(), Vec::new());
        Self { device, entities: Vec::new(), below: Vec::new(), left_out_count: 0 }
    }

    /// Keeps the first of what is sorted by weight, and counts how many are left out.
    pub(super) fn keep<T>(&mut self, sorted: &mut Vec<T>, most: usize) {
        self.left_out_count += sorted.len().saturating_sub(most) as i64;
        sorted.truncate(most);
    }

    pub(super) fn add_to(self, facts: &mut Facts, device: EntityId) {
        let entity = facts.get_mut(device);
        entity.take_facts(self.device);
        if self.left_out_count > 0 {
            entity.set("omitted_entity_count", entity.int("omitted_entity_count").unwrap_or(0) + self.left_out_count);
        }
        let mut ids = Vec::with_capacity(self.entities.len());
        let mut below = self.below.into_iter().peekable();
        for (index, mut entity) in self.entities.into_iter().enumerate() {
            if let Some((_, above)) = below.next_if(|(child, _)| *child == index)
                && let Some(above) = ids.get(above)
            {
                entity.ancestors.insert(0, *above);
            }
            ids.push(facts.push(entity));
        }
    }
}

/// Bytes of a name in a key. Each entity has a key of its own, where names are shared.
const MAX_KEY_BYTES: usize = 1 << 10;

/// The entities that those of a device hang below.
pub(super) struct Parents<'facts> {
    pub(super) run: EntityId,
    pub(super) device: EntityId,
    /// The key of the device.
    pub(super) key: String,
    /// By index of the process.
    pub(super) processes: &'facts [Option<EntityId>],
}

impl Parents<'_> {
    /// The key of an entity below the device.
    pub(super) fn key_of(&self, name: &str) -> String {
        format!("{}/{}", self.key, cut::distinct(name, MAX_KEY_BYTES))
    }

    /// Below the device.
    pub(super) fn of_device(&self) -> Vec<EntityId> {
        vec![self.device, self.run]
    }

    /// Below the device and a process, when it is known.
    pub(super) fn of_process(&self, process: u32) -> Vec<EntityId> {
        let process = self.processes.get(process as usize).copied().flatten();
        [Some(self.device), process, Some(self.run)].into_iter().flatten().collect()
    }
}
