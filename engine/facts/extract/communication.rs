//! Facts of how long single communication kernels take: those that are far longer than others of their name and grid or send next to nothing,
//! which wait for late ranks, those that take as long each time, and those that send floats of 32 bits.

use std::collections::BTreeMap;

use super::stats::median;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Op;
use crate::ledger::OpKind;
use crate::timeline::details::Collective;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// Fewer of one name and grid tell nothing of how long it takes.
const MIN_COUNT: usize = 5;
/// What takes so many times the median of its name and grid waits, or sends far more than most: those are few, at most one of so many.
const FAR_LONGER: i64 = 10;
const ONE_OF: usize = 4;
/// So few bytes take no link a millisecond: who takes longer waits.
const TINY_BYTES: i64 = 64 << 10;
const TINY_WAIT_NS: i64 = 1_000_000;
/// Kernels that are this near to the median of their name and grid take as long each time.
const NEAR_SHARE: f64 = 0.15;
/// A kernel beside which others compute for more of its time shares the device: that alone makes it longer.
const MOST_BESIDE: f64 = 0.1;
/// What the names of kernels that reduce floats of 32 bits hold.
const F32_NAMES: [&str; 2] = ["_f32", "_float>"];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if !device.passed(context).has_communication {
        return;
    }
    let ops: Vec<Op> = device.ops.in_window().filter(|op| op.kind == OpKind::Communication).collect();
    let compute = device.computing();
    let kernels: Vec<Kernel> = ops.iter().map(|op| Kernel::of(timeline, *op, compute)).collect();
    // How many blocks a collective has tells of how much it sends.
    let mut alike: BTreeMap<(NameId, i64), Vec<Kernel>> = BTreeMap::new();
    kernels.iter().for_each(|kernel| alike.entry((kernel.name, kernel.grid_blocks)).or_default().push(*kernel));
    late(timeline, &alike, facts);
    tiny(timeline, &kernels, facts);
    steady(&alike, facts);
    of_f32(timeline, &kernels, facts);
}

/// A communication kernel.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    name: NameId,
    /// The blocks of its grid; 0 where that is not recorded.
    grid_blocks: i64,
    ns: i64,
    /// What it sends, where that is known.
    sent: Option<Collective>,
    /// Whether next to nothing computes beside it.
    is_alone: bool,
}

impl Kernel {
    fn of(timeline: &Timeline, op: Op, compute: &Union) -> Self {
        let ns = op.end - op.start;
        Self {
            name: timeline.kernels.shape_of(op.index).name,
            grid_blocks: timeline.geometry_of(op.index).map_or(0, |geometry| geometry.grid_blocks),
            ns,
            sent: timeline.details.collectives.of(op.interval()),
            is_alone: compute.overlap_ns(op.interval()) as f64 <= MOST_BESIDE * ns as f64,
        }
    }
}

/// A few of one name and grid that take far longer than most, where nothing tells how much each of them sends.
fn late(timeline: &Timeline, alike: &BTreeMap<(NameId, i64), Vec<Kernel>>, facts: &mut Entity) {
    let of_one = |((name, _), own): (&(NameId, i64), &Vec<Kernel>)| {
        let own: Vec<Kernel> = own.iter().copied().filter(|kernel| kernel.sent.is_none()).collect();
        let usual_ns = median(&mut own.iter().map(|kernel| kernel.ns).collect::<Vec<_>>())?;
        let far = |kernel: &&Kernel| kernel.ns > usual_ns.saturating_mul(FAR_LONGER);
        let count = own.iter().filter(far).count();
        let is_few = own.len() >= MIN_COUNT && count * ONE_OF <= own.len();
        let alone: Vec<i64> = own.iter().filter(far).filter(|kernel| kernel.is_alone).map(|kernel| kernel.ns).collect();
        let longer_ns = alone.iter().map(|ns| ns - usual_ns).fold(0, i64::saturating_add);
        (is_few && longer_ns > 0).then_some((longer_ns, *name, usual_ns, alone, own.len()))
    };
    let all: Vec<_> = alike.iter().filter_map(of_one).collect();
    let sum_ns = all.iter().map(|(ns, ..)| *ns).fold(0, i64::saturating_add);
    let Some((_, name, usual_ns, alone, own_count)) = all.into_iter().max_by_key(|(ns, ..)| *ns) else { return };
    facts.set("late_communication_ns", sum_ns);
    facts.set("late_communication_kernel", timeline.name(name));
    facts.set("late_communication_count", alone.len() as i64);
    facts.set("late_communication_of_count", own_count as i64);
    facts.set("late_communication_usual_ns", usual_ns);
    facts.set_some("late_communication_longest_ns", alone.into_iter().max());
}

/// Those that send next to nothing, and take long all the same.
fn tiny(timeline: &Timeline, kernels: &[Kernel], facts: &mut Entity) {
    let mut counts: BTreeMap<Collective, usize> = BTreeMap::new();
    let alone = || kernels.iter().filter(|kernel| kernel.is_alone);
    alone().filter_map(|kernel| kernel.sent).for_each(|sent| *counts.entry(sent).or_default() += 1);
    let waits = || {
        let tiny = alone().filter_map(|kernel| Some((kernel.ns, kernel.sent?)));
        tiny.filter(|(ns, sent)| *ns >= TINY_WAIT_NS && sent.bytes <= TINY_BYTES)
    };
    let Some((longest_ns, sent)) = waits().max_by_key(|(ns, _)| *ns) else { return };
    // Of those that are many, what they take longer than the shortest is told as late already.
    let few = waits().filter(|(_, sent)| counts.get(sent).is_none_or(|count| *count < MIN_COUNT));
    facts.set("tiny_collective_wait_ns", few.map(|(ns, _)| ns).fold(0, i64::saturating_add));
    facts.set("tiny_collective_longest_ns", longest_ns);
    facts.set("tiny_collective_bytes", sent.bytes);
    facts.set("tiny_collective_name", timeline.name(sent.name));
}

/// Those that take about as long as most of their name and grid.
fn steady(alike: &BTreeMap<(NameId, i64), Vec<Kernel>>, facts: &mut Entity) {
    let of_one = |own: &Vec<Kernel>| {
        let usual_ns = median(&mut own.iter().map(|kernel| kernel.ns).collect::<Vec<_>>()).unwrap_or(0);
        let is_near = |kernel: &&Kernel| (kernel.ns - usual_ns).abs() as f64 <= NEAR_SHARE * usual_ns as f64;
        own.iter().filter(is_near).map(|kernel| kernel.ns).collect::<Vec<_>>()
    };
    let near: Vec<i64> = alike.values().filter(|own| own.len() >= MIN_COUNT).flat_map(of_one).collect();
    facts.set("steady_communication_count", near.len() as i64);
    facts.set("steady_communication_ns", near.into_iter().fold(0, i64::saturating_add));
}

/// Those that send floats of 32 bits, by what the framework says of them, else by the names of kernels.
fn of_f32(timeline: &Timeline, kernels: &[Kernel], facts: &mut Entity) {
    let mut by_name: BTreeMap<NameId, (i64, i64)> = BTreeMap::new();
    let mut is_named_f32 = Told::new(&timeline.names, |name| F32_NAMES.iter().any(|part| name.contains(part)));
    for kernel in kernels {
        let (name, is_f32) = match kernel.sent {
            Some(sent) => (sent.name, sent.is_f32),
            None => (kernel.name, is_named_f32.of(kernel.name)),
        };
        if is_f32 {
            let (ns, count) = by_name.entry(name).or_default();
            (*ns, *count) = (ns.saturating_add(kernel.ns), *count + 1);
        }
    }
    let main = by_name.iter().max_by_key(|(_, (ns, _))| *ns);
    if let Some((name, (ns, count))) = main {
        facts.set("f32_communication_name", timeline.name(*name));
        facts.set("f32_communication_ns", *ns);
        facts.set("f32_communication_count", *count);
    }
}
