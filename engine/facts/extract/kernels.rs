//! Facts of kernels: all launches of one short name on one device.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::stats::{clamped, median};
use super::tally::kernel_name;
use super::{Context, DeviceContext, DevicePart, Parents, occupancy};
use crate::facts::{Entity, EntityKind};
use crate::ledger::Op;
use crate::timeline::{NameId, Timeline};

/// The launches of one name.
#[derive(Debug, Default)]
struct Launches {
    durations: Vec<i64>,
    sum_ns: i128,
    min_ns: i64,
    longest_ns: i64,
    longest_start_ns: i64,
    longest_name: NameId,
    first_start_ns: i64,
    streams: HashSet<u32>,
    /// Time by index of the launch geometry and full name.
    shapes: HashMap<(u32, NameId), i128>,
}

impl Launches {
    fn new(first_start_ns: i64) -> Self {
        Self { first_start_ns, min_ns: i64::MAX, longest_ns: -1, ..Self::default() }
    }

    /// Adds a launch, of which `part_ns` lie in the window.
    fn add(&mut self, timeline: &Timeline, op: Op, part_ns: i64) {
        self.durations.push(part_ns);
        self.sum_ns += i128::from(part_ns);
        self.min_ns = self.min_ns.min(part_ns);
        self.streams.insert(op.stream(timeline));
        let shape = timeline.kernels.shape_of(op.index);
        *self.shapes.entry((shape.geometry, shape.full_name)).or_default() += i128::from(part_ns);
        if part_ns > self.longest_ns {
            self.longest_ns = part_ns;
            self.longest_start_ns = op.start;
            self.longest_name = shape.full_name;
        }
    }

    /// The index of the launch geometry that most of the time was spent with.
    fn main_geometry(&self) -> Option<u32> {
        let mut geometries: HashMap<u32, i128> = HashMap::default();
        for ((geometry, _), time) in &self.shapes {
            *geometries.entry(*geometry).or_default() += time;
        }
        let main = geometries.into_iter().max_by_key(|(index, time)| (*time, Reverse(*index)));
        main.map(|(index, _)| index)
    }

    /// The part of the time that launches with the longest one's name had in a geometry.
    fn share_of(&self, geometry: u32) -> Option<f64> {
        let time = self.shapes.get(&(geometry, self.longest_name)).copied().unwrap_or(0);
        (self.sum_ns > 0).then(|| time as f64 / self.sum_ns as f64)
    }
}

/// Adds the kernels; returns the index of each among the entities, by short name.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    parents: &Parents<'_>,
    part: &mut DevicePart,
) -> HashMap<NameId, usize> {
    let timeline = context.timeline;
    let mut kernels: HashMap<NameId, Launches> = HashMap::default();
    for op in device.ops.in_window(timeline) {
        let Some(name) = kernel_name(timeline, op) else { continue };
        let part_ns = op.interval().clip(device.window()).len_ns();
        kernels.entry(name).or_insert_with(|| Launches::new(op.start)).add(timeline, op, part_ns);
    }
    let mut kernels: Vec<(NameId, Launches)> = kernels.into_iter().collect();
    kernels.sort_by(|a, b| b.1.sum_ns.cmp(&a.1.sum_ns).then_with(|| timeline.name(a.0).cmp(timeline.name(b.0))));
    part.keep(&mut kernels, context.max_entities());
    let mut entities = HashMap::default();
    for (name, launches) in kernels {
        let mut entity = Entity::new(EntityKind::Kernel, parents.key_of(timeline.name(name)), parents.of_device());
        set(context, device, name, launches, &mut entity);
        entities.insert(name, part.entities.len());
        part.entities.push(entity);
    }
    entities
}

fn set(context: &Context<'_>, device: &DeviceContext, name: NameId, mut launches: Launches, facts: &mut Entity) {
    let timeline = context.timeline;
    let count = launches.durations.len() as i64;
    facts.set("name", timeline.name(name));
    facts.set("full_name", timeline.name(launches.longest_name));
    facts.set("launch_count", count);
    facts.set("sum_ns", clamped(launches.sum_ns));
    facts.set("mean_ns", clamped(launches.sum_ns / i128::from(count.max(1))));
    facts.set_some("median_ns", median(&mut launches.durations));
    facts.set("min_ns", launches.min_ns);
    facts.set("max_ns", launches.longest_ns);
    facts.set("first_start_ns", launches.first_start_ns);
    facts.set("longest_start_ns", launches.longest_start_ns);
    facts.set("stream_count", launches.streams.len() as i64);
    let traits = context.traits.get(name as usize).copied().unwrap_or_default();
    facts.set("is_communication", traits.is_communication);
    facts.set("is_matrix_product", traits.is_matrix_product);
    facts.set("is_transpose", traits.is_transpose);
    facts.set("is_elementwise", traits.is_elementwise);
    facts.set_some("precision", traits.precision);
    let tally = device.tally.kernels.get(name).unwrap_or_default();
    facts.set("attributed_ns", tally.attributed_ns);
    facts.set("faulting_ns", tally.faulting_ns);
    geometry(timeline, device, &launches, facts);
    if let Some(sm_count) = device.properties(timeline).and_then(|known| known.sm_count) {
        facts.set("underfilled_ns", tally.underfilled_ns);
        facts.set("unused_sm_ns", clamped(tally.unused_sm_ns / i128::from(sm_count)));
    }
}

/// Of the launch geometry that most of its time was spent with.
fn geometry(timeline: &Timeline, device: &DeviceContext, launches: &Launches, facts: &mut Entity) {
    let Some(main) = launches.main_geometry() else { return };
    let Some(geometry) = timeline.geometries.get(main as usize).copied() else { return };
    facts.set_some("main_launch_share", launches.share_of(main));
    facts.set_some("grid_block_count", positive(geometry.grid_blocks));
    facts.set_some("block_thread_count", positive(geometry.block_threads));
    facts.set_some("register_count", positive(geometry.registers));
    if geometry.block_threads > 0 {
        facts.set("shared_memory_bytes", geometry.shared_memory_bytes);
    }
    let Some(properties) = device.properties(timeline) else { return };
    let Some(fit) = occupancy::theoretical(properties, geometry) else { return };
    facts.set("blocks_per_sm_count", fit.blocks_per_sm);
    facts.set("theoretical_occupancy_share", fit.share);
    facts.set("occupancy_limiter", fit.limiter);
    if let Some(sm_count) = properties.sm_count.filter(|_| fit.blocks_per_sm > 0) {
        let wave = sm_count.saturating_mul(fit.blocks_per_sm);
        facts.set_some("waves_per_sm", positive(geometry.grid_blocks).map(|blocks| blocks as f64 / wave as f64));
    }
}

/// Of what a report gives as 0 where it does not know.
fn positive(value: i64) -> Option<i64> {
    (value > 0).then_some(value)
}
