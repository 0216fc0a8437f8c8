//! Facts of kernels, all launches of one name on one device, and of the launch shapes below them.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::by_index::ByIndex;
use super::launches::{Launches, Shape, Spread};
use super::once::OfShape;
use super::stats::clamped;
use super::tally::{KernelTally, launch_shape};
use super::{
    Context, DeviceContext, DevicePart, Parents, copied_tensors, gathers, kernel_names, local_memory, product_casts,
    tried, widths,
};
use crate::facts::{Entity, EntityKind};
use crate::steps::median_ns;
use crate::timeline::occupancy;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// What the launches of one kernel name add up to: enough to tell which kernels have facts of their own.
struct Sum {
    name: NameId,
    sum_ns: i128,
    launch_count: i64,
    attributed_ns: i64,
}

/// Adds the kernels and their launch shapes; returns the index of each kernel among the entities, by name.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    parents: &Parents<'_>,
    part: &mut DevicePart,
) -> HashMap<NameId, usize> {
    let timeline = context.timeline;
    let of_shapes = of_launch_shapes(context, device);
    let mut sums = sums(context, device, &of_shapes);
    sums.sort_by(|a, b| b.sum_ns.cmp(&a.sum_ns).then_with(|| timeline.name(a.name).cmp(timeline.name(b.name))));
    tensor_copies(context, &sums, &mut part.device);
    copied_tensors::extract(context, device, &mut part.device);
    gathers::extract(context, device, &mut part.device);
    product_casts::extract(context, device, &mut part.device);
    part.keep(&mut sums, context.max_entities());
    let mut indices = HashMap::default();
    let mut shapes = Vec::new();
    let kernels = kernels(context, device, &sums, &of_shapes);
    let longest_shapes = longest_shapes(&kernels, context.max_entities(), part);
    let in_stages = in_stages(context, device, &kernels);
    let only_tried = tried::only_tried(timeline, device);
    let local_bytes = local_memory::per_thread_bytes(timeline, device);
    for (kernel, (name, own)) in kernels.into_iter().enumerate() {
        let mut entity = Entity::new(EntityKind::Kernel, parents.key_of(timeline.name(name)), parents.of_device());
        let is_in_stages = in_stages.contains(&name);
        widths::set((device.properties(timeline), is_in_stages), shortest_ns(device), &own, &mut entity);
        widths::set_faulting(&own, &mut entity);
        widths::set_varying(&own, &mut entity);
        entity.set_some("warp_share", device.properties(timeline).and_then(|known| widths::warp_share(known, &own)));
        let mut all = Launches::new(i64::MAX);
        let mut tally = KernelTally::default();
        for (index, mut shape) in own.into_iter().enumerate() {
            shape.launches.spread = Spread::of(&shape.launches.durations, shape.launches.sum_ns);
            if longest_shapes.contains(&(kernel, index)) {
                let below = shape_entity(context, device, parents, &mut shape);
                shapes.push((shape.launches.sum_ns, part.entities.len(), below));
            }
            tally.add(shape.tally);
            all.absorb(shape.launches);
        }
        set(context, device, name, (all, tally), &mut entity);
        entity.set_some("thread_local_bytes", local_bytes.get(&name).copied());
        entity.set_some("is_only_tried", only_tried.as_ref().map(|tried| tried.contains(&name)));
        indices.insert(name, part.entities.len());
        part.entities.push(entity);
    }
    let of_kernels = indices.values().filter_map(|index| part.entities.get(*index));
    let waits_ns = of_kernels.map(widths::waits_for_pages_ns).fold(0, i64::saturating_add);
    part.device.set("migration_kernel_ns", waits_ns.min(migrating_ns(context, device)));
    if device.properties(timeline).is_some_and(|known| known.sm_count.is_some()) {
        let of_kernels = indices.values().filter_map(|index| part.entities.get(*index));
        part.device.set("narrow_loss_ns", of_kernels.map(widths::loss_ns).fold(0, i64::saturating_add));
    }
    // Those of one kernel are in order of their width: the same in every export.
    shapes.sort_by_key(|(sum_ns, kernel, _)| (Reverse(*sum_ns), *kernel));
    for (_, kernel, entity) in shapes {
        part.below.push((part.entities.len(), kernel));
        part.entities.push(entity);
    }
    indices
}

/// The launch shapes that have facts of their own, by index of the kernel and of its shape.
fn longest_shapes(kernels: &[(NameId, Vec<Shape>)], most: usize, part: &mut DevicePart) -> HashSet<(usize, usize)> {
    let shapes = kernels.iter().enumerate().flat_map(|(kernel, (_, own))| {
        own.iter().enumerate().map(move |(index, shape)| (Reverse(shape.launches.sum_ns), kernel, index))
    });
    let mut shapes: Vec<(Reverse<i128>, usize, usize)> = shapes.collect();
    shapes.sort_unstable();
    let left_out_count = shapes.len().saturating_sub(most) as i64;
    part.device.set_some("omitted_launch_shape_count", Some(left_out_count).filter(|count| *count > 0));
    shapes.truncate(most);
    shapes.into_iter().map(|(_, kernel, index)| (kernel, index)).collect()
}

/// Whether a functor is one of PyTorch's optimizers with `fused=True`.
fn is_of_fused_optimizer(functor: &str) -> bool {
    functor.starts_with("Fused") && functor.contains("MathFunctor")
}

/// Kernels that only copy a tensor, and those of a fused optimizer.
fn tensor_copies(context: &Context<'_>, kernels: &[Sum], device: &mut Entity) {
    let is_copy = |name: NameId| context.traits.get(name as usize).is_some_and(|traits| traits.is_tensor_copy);
    let (mut count, mut sum_ns) = (0, 0);
    let mut most = None;
    for kernel in kernels.iter().filter(|kernel| is_copy(kernel.name)) {
        count += kernel.launch_count;
        sum_ns += kernel.attributed_ns;
        let is_first = |(most_ns, _): &(i64, NameId)| *most_ns >= kernel.attributed_ns;
        most = most.filter(is_first).or(Some((kernel.attributed_ns, kernel.name)));
    }
    let transposes = |name: NameId| {
        let traits = context.traits.get(name as usize);
        traits.is_some_and(|traits| traits.is_transpose && !traits.is_matrix_product)
    };
    let transposing = kernels.iter().filter(|kernel| transposes(kernel.name));
    device.set("transpose_ns", transposing.fold(0_i64, |sum, kernel| sum.saturating_add(kernel.attributed_ns)));
    let has = |is: fn(&kernel_names::Traits) -> bool| {
        kernels.iter().any(|kernel| context.traits.get(kernel.name as usize).is_some_and(is))
    };
    device.set("has_products", has(|traits| traits.is_matrix_product));
    products(context, kernels, device);
    device.set("has_convolutions", has(|traits| traits.is_of_convolution));
    let fused = kernels.iter().filter(|kernel| is_of_fused_optimizer(context.timeline.name(kernel.name)));
    device.set("fused_optimizer_launch_count", fused.map(|kernel| kernel.launch_count).sum::<i64>());
    device.set("tensor_copy_launch_count", count);
    device.set("tensor_copy_ns", sum_ns);
    device.set_some("tensor_copy_kernel", most.map(|(_, name)| context.timeline.name(name)));
}

/// What kernels that multiply matrices add up to: those in plain fp32, and those of which no name tells fp32, TF32 or fp64.
fn products(context: &Context<'_>, kernels: &[Sum], device: &mut Entity) {
    let is_product = |kernel: &&Sum, is_of: fn(Option<&str>) -> bool| {
        let traits = context.traits.get(kernel.name as usize);
        traits.is_some_and(|traits| traits.is_matrix_product && is_of(traits.precision))
    };
    let sums = |is_of: fn(Option<&str>) -> bool| {
        let own = kernels.iter().filter(|kernel| is_product(kernel, is_of) && kernel.attributed_ns > 0);
        own.fold((0_i64, 0_i64, 0_i64), |(count, sum_ns, most_ns), kernel| {
            (count + 1, sum_ns.saturating_add(kernel.attributed_ns), most_ns.max(kernel.attributed_ns))
        })
    };
    let (count, sum_ns, _) = sums(|precision| precision == Some("fp32"));
    device.set("fp32_product_kernel_count", count);
    device.set("fp32_product_ns", sum_ns);
    let (count, sum_ns, most_ns) = sums(|precision| !matches!(precision, Some("fp32" | "tf32" | "fp64")));
    device.set("narrow_product_kernel_count", count);
    device.set("narrow_product_ns", sum_ns);
    device.set("narrow_product_most_ns", most_ns);
}

/// How often each launch shape was launched in the window, and for how long.
fn of_launch_shapes(context: &Context<'_>, device: &DeviceContext) -> ByIndex<OfShape> {
    let mut of_shapes: ByIndex<OfShape> = ByIndex::default();
    for (shape, of_shape) in &device.passed(context).shapes {
        if let Some(shape) = context.launch_shapes.index_of_shape(*shape) {
            of_shapes.of(shape, Default::default).add(*of_shape);
        }
    }
    of_shapes
}

/// The sums of each kernel with launches in the window.
fn sums(context: &Context<'_>, device: &DeviceContext, of_shapes: &ByIndex<OfShape>) -> Vec<Sum> {
    let mut indices: HashMap<NameId, usize> = HashMap::default();
    let mut sums: Vec<Sum> = Vec::new();
    for (index, OfShape { launch_count, sum_ns, .. }) in of_shapes.iter() {
        let Some(shape) = context.launch_shapes.get(*index) else { continue };
        let attributed_ns = device.tally.kernels.get(*index).map_or(0, |tally| tally.attributed_ns);
        let at = *indices.entry(shape.name).or_insert(sums.len());
        if at == sums.len() {
            sums.push(Sum { name: shape.name, sum_ns: 0, launch_count: 0, attributed_ns: 0 });
        }
        sums[at].sum_ns += sum_ns;
        sums[at].launch_count += launch_count;
        sums[at].attributed_ns += attributed_ns;
    }
    sums
}

/// The launches in the window of some kernels, in their order: by launch shape, those of one kernel in order of their width.
fn kernels(
    context: &Context<'_>,
    device: &DeviceContext,
    kept: &[Sum],
    of_shapes: &ByIndex<OfShape>,
) -> Vec<(NameId, Vec<Shape>)> {
    let timeline = context.timeline;
    let indices: HashMap<NameId, usize> = kept.iter().map(|kernel| kernel.name).zip(0..).collect();
    let index_of = |shape: u32| indices.get(&context.launch_shapes.get(shape)?.name).copied();
    let is_cut = kept.len() >= context.max_entities();
    let migrations = device.ops.migrations_in_window();
    let migrations = Union::of(migrations.map(|op| op.interval()));
    let mut launches: ByIndex<Launches> = ByIndex::default();
    let has_migrations = migrations.len_ns() > 0;
    for op in device.ops.in_window() {
        let Some(shape) = launch_shape(timeline, &context.launch_shapes, op) else { continue };
        let part_ns = op.interval().clip(device.window()).len_ns();
        let is_migrating = has_migrations && migrations.overlap_ns(op.interval()) > 0;
        if is_cut && index_of(shape).is_none() {
            continue;
        }
        let room = || of_shapes.get(shape).map_or(0, |of_shape| of_shape.launch_count as usize);
        launches.of(shape, || Launches::with_capacity(op.start, room())).add(timeline, op, part_ns, is_migrating);
    }
    let mut kernels: Vec<(NameId, Vec<Shape>)> = kept.iter().map(|kernel| (kernel.name, Vec::new())).collect();
    for (index, launches) in launches.into_list() {
        let Some((shape, at)) = context.launch_shapes.get(index).zip(index_of(index)) else { continue };
        let tally = device.tally.kernels.get(index).copied().unwrap_or_default();
        kernels[at].1.push(Shape { shape, launches, tally });
    }
    kernels.iter_mut().for_each(|(_, shapes)| shapes.sort_by_key(|shape| shape.shape));
    kernels
}

/// The time of the window in which kernels run during which unified memory migrates, each moment once.
fn migrating_ns(context: &Context<'_>, device: &DeviceContext) -> i64 {
    let migrations = Union::of(device.ops.migrations_in_window().map(|op| op.interval()));
    if migrations.len_ns() == 0 {
        return 0;
    }
    let kernels =
        device.ops.in_window().filter(|op| launch_shape(context.timeline, &context.launch_shapes, *op).is_some());
    let waiting = kernels.map(|op| op.interval()).filter(|times| migrations.overlap_ns(*times) > 0);
    Union::of(waiting.map(|times| times.clip(device.window()))).len_ns()
}

/// The kernels that are launched with few blocks and with many in turns: as the stages of one operation, where one sums up what the
/// other left. What one of them takes says nothing of the other.
fn in_stages(context: &Context<'_>, device: &DeviceContext, kernels: &[(NameId, Vec<Shape>)]) -> HashSet<NameId> {
    let sm_count = device.properties(context.timeline).and_then(|known| known.sm_count);
    let Some(sm_count) = sm_count else { return HashSet::default() };
    let may_be = kernels.iter().filter(|(_, shapes)| widths::may_take_turns(sm_count, shapes));
    let mut turns: HashMap<NameId, widths::Turns> = may_be.map(|(name, _)| (*name, widths::Turns::default())).collect();
    // Nearly always there is none.
    if turns.is_empty() {
        return HashSet::default();
    }
    for op in device.ops.in_window() {
        let shape = launch_shape(context.timeline, &context.launch_shapes, op);
        let shape = shape.and_then(|shape| context.launch_shapes.get(shape)).filter(|shape| shape.grid_blocks > 0);
        if let Some((shape, turns)) = shape.and_then(|shape| Some((shape, turns.get_mut(&shape.name)?))) {
            turns.add(shape.grid_blocks < sm_count);
        }
    }
    turns.into_iter().filter(|(_, turns)| turns.are_all()).map(|(name, _)| name).collect()
}

/// What a launch takes at least on a device: as long as its shortest kernel, as far as that is short.
fn shortest_ns(device: &DeviceContext) -> i64 {
    /// A kernel that takes longer does more than begin and end.
    const SHORT_NS: i64 = 5_000;
    /// What launches take at least where all kernels are longer.
    const LEAST_NS: i64 = 2_000;
    device.tally.shortest_kernel_ns.filter(|ns| *ns <= SHORT_NS).unwrap_or(LEAST_NS)
}

fn shape_entity(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, of: &mut Shape) -> Entity {
    let timeline = context.timeline;
    let name = timeline.name(of.shape.name);
    let key = parents.key_of(&format!("{name}/{}x{}", of.shape.grid_blocks, of.shape.block_threads));
    let mut facts = Entity::new(EntityKind::LaunchShape, key, parents.of_device());
    let launches = &mut of.launches;
    facts.set("name", &timeline.shared_name(of.shape.name));
    facts.set("launch_count", launches.durations.len() as i64);
    facts.set("sum_ns", clamped(launches.sum_ns));
    facts.set_some("median_ns", median_ns(&mut launches.durations));
    facts.set("min_ns", launches.min_ns);
    facts.set("max_ns", launches.longest_ns);
    facts.set("longest_start_ns", launches.longest_start_ns);
    moments(timeline, device, &of.tally, &mut facts);
    geometry(timeline, device, &mut of.launches, &mut facts);
    if facts.number("waves_per_sm").is_some() {
        facts.set("tail_effect_sm_ns", of.tally.tail_ns as i64);
    }
    facts
}

fn set(
    context: &Context<'_>,
    device: &DeviceContext,
    name: NameId,
    (mut launches, tally): (Launches, KernelTally),
    facts: &mut Entity,
) {
    let timeline = context.timeline;
    let count = launches.durations.len() as i64;
    facts.set("name", &timeline.shared_name(name));
    facts.set("full_name", &timeline.shared_name(launches.longest_name));
    facts.set("function", &timeline.shared_name(launches.longest_function));
    let [function, full_name] = [launches.longest_function, launches.longest_name].map(|name| timeline.name(name));
    facts.set_some("functor", kernel_names::functor(timeline.name(name), function, full_name));
    facts.set("may_be_triton", kernel_names::may_be_triton(full_name));
    facts.set("launch_count", count);
    facts.set("sum_ns", clamped(launches.sum_ns));
    facts.set("mean_ns", clamped(launches.sum_ns / i128::from(count.max(1))));
    facts.set_some("median_ns", median_ns(&mut launches.durations));
    facts.set("min_ns", launches.min_ns);
    facts.set("max_ns", launches.longest_ns);
    facts.set_some("spread_ns", launches.spread.deviation_ns());
    facts.set("first_start_ns", launches.first_start_ns);
    facts.set("longest_start_ns", launches.longest_start_ns);
    facts.set("stream_count", launches.streams.len() as i64);
    let traits = context.traits.get(name as usize).copied().unwrap_or_default();
    traits.set(facts);
    moments(timeline, device, &tally, facts);
    geometry(timeline, device, &mut launches, facts);
}

/// What the moments of a kernel, or of a launch shape, add up to.
fn moments(timeline: &Timeline, device: &DeviceContext, tally: &KernelTally, facts: &mut Entity) {
    facts.set("attributed_ns", tally.attributed_ns);
    facts.set("faulting_ns", tally.faulting_ns);
    if let Some(sm_count) = device.properties(timeline).and_then(|known| known.sm_count) {
        facts.set("underfilled_ns", tally.underfilled_ns);
        facts.set("unused_sm_ns", clamped(tally.unused_sm_ns / i128::from(sm_count)));
    }
}

/// Of the launch geometry that most of its time was spent with.
fn geometry(timeline: &Timeline, device: &DeviceContext, launches: &mut Launches, facts: &mut Entity) {
    let Some(geometry) = launches.main_geometry(timeline) else { return };
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

#[cfg(test)]
mod tests {
    use super::is_of_fused_optimizer;

    #[test]
    fn fused_optimizers_are_known_by_their_functors() {
        for functor in ["FusedAdamMathFunctor", "FusedSgdMathFunctor", "FusedAdagradMathFunctor"] {
            assert!(is_of_fused_optimizer(functor));
        }
        for other in ["BinaryOpListAlphaFunctor", "PointwiseOpListFunctor", "fused_dropout_kernel", "FusedRMSNorm"] {
            assert!(!is_of_fused_optimizer(other), "{other}");
        }
    }
}
