//! Facts of kernels: all launches of one short name on one device.

use rustc_hash::{FxHashMap, FxHashSet};

use super::tally::kernel_name;
use super::{Context, DeviceContext, Parents, device, occupancy};
use crate::facts::{Entity, EntityKind, Facts};
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
    streams: FxHashSet<u32>,
    /// Time by place of launch geometry.
    geometries: FxHashMap<u32, i128>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, facts: &mut Facts) {
    let timeline = context.timeline;
    let mut kernels: FxHashMap<NameId, Launches> = FxHashMap::default();
    for op in device.ops.in_window(timeline) {
        let Some(name) = kernel_name(timeline, op) else { continue };
        let part = op.interval().clip(device.window()).len_ns();
        let launches = kernels.entry(name).or_insert_with(|| Launches {
            first_start_ns: op.start,
            min_ns: i64::MAX,
            longest_ns: -1,
            ..Launches::default()
        });
        launches.durations.push(part);
        launches.sum_ns += i128::from(part);
        launches.min_ns = launches.min_ns.min(part);
        launches.streams.insert(op.stream(timeline));
        let shape = timeline.kernels.shape_of(op.index);
        *launches.geometries.entry(shape.geometry).or_default() += i128::from(part);
        if part > launches.longest_ns {
            launches.longest_ns = part;
            launches.longest_start_ns = op.start;
            launches.longest_name = shape.full_name;
        }
    }
    let mut kernels: Vec<(NameId, Launches)> = kernels.into_iter().collect();
    kernels.sort_by(|a, b| b.1.sum_ns.cmp(&a.1.sum_ns).then_with(|| timeline.name(a.0).cmp(timeline.name(b.0))));
    super::keep(&mut kernels, context.most_entities(), facts.get_mut(parents.device));
    let prefix = facts.get(parents.device).key.clone();
    for (name, launches) in kernels {
        let key = format!("{prefix}/{}", timeline.name(name));
        let id = facts.add(EntityKind::Kernel, key, &[parents.device, parents.run]);
        set(context, device, name, launches, facts.get_mut(id));
    }
}

fn set(context: &Context<'_>, device: &DeviceContext, name: NameId, mut launches: Launches, facts: &mut Entity) {
    let timeline = context.timeline;
    let count = launches.durations.len() as i64;
    facts.set("name", timeline.name(name));
    facts.set("full_name", timeline.name(launches.longest_name));
    facts.set("launch_count", count);
    facts.set("sum_ns", i64::try_from(launches.sum_ns).unwrap_or(i64::MAX));
    facts.set("mean_ns", i64::try_from(launches.sum_ns / i128::from(count.max(1))).unwrap_or(i64::MAX));
    facts.set_some("median_ns", device::median(&mut launches.durations));
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
    facts.set("alone_ns", tally.alone_ns);
    facts.set("faulting_ns", tally.faulting_ns);
    geometry(timeline, device, &launches, facts);
    let properties = timeline.devices[device.ops.device as usize].properties.as_ref();
    if let Some(sm_count) = properties.and_then(|properties| properties.sm_count) {
        facts.set("underfilled_ns", tally.underfilled_ns);
        facts.set("unused_sm_ns", i64::try_from(tally.unused_sm_ns / i128::from(sm_count)).unwrap_or(i64::MAX));
    }
}

/// Of the launch geometry that most of its time was spent with.
fn geometry(timeline: &Timeline, device: &DeviceContext, launches: &Launches, facts: &mut Entity) {
    let main = launches.geometries.iter().max_by_key(|(place, time)| (**time, std::cmp::Reverse(**place)));
    let Some(geometry) = main.and_then(|(place, _)| timeline.geometries.get(*place as usize)).copied() else { return };
    let positive = |value: i64| (value > 0).then_some(value);
    facts.set_some("grid_block_count", positive(geometry.grid_blocks));
    facts.set_some("block_thread_count", positive(geometry.block_threads));
    facts.set_some("register_count", positive(geometry.registers));
    if geometry.block_threads > 0 {
        facts.set("shared_memory_bytes", geometry.shared_memory_bytes);
    }
    let Some(properties) = &timeline.devices[device.ops.device as usize].properties else { return };
    let Some(fit) = occupancy::theoretical(properties, geometry) else { return };
    facts.set("blocks_per_sm_count", fit.blocks_per_sm);
    facts.set("theoretical_occupancy_share", fit.share);
    facts.set("occupancy_limiter", fit.limiter);
    if let Some(sm_count) = properties.sm_count.filter(|_| fit.blocks_per_sm > 0) {
        let wave = sm_count.saturating_mul(fit.blocks_per_sm);
        facts.set_some("waves", positive(geometry.grid_blocks).map(|blocks| blocks as f64 / wave as f64));
    }
}
