//! The operator of a framework that launches most of a kernel.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use foldhash::HashMap;

use super::cpu_operators::OPERATOR;
use super::tally::kernel_name;
use super::{Context, DeviceContext, DevicePart};
use crate::ledger::Op;
use crate::timeline::columns::RangeKind;
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// A kernel is an operator's where so much of its time is.
const MIN_SHARE: f64 = 0.6;

/// Of several kernels, so few operators are named as hold so much of their time, and no more than so many.
const NAMED_SHARE: f64 = 0.8;
const MAX_NAMED_COUNT: usize = 5;

/// A launch: by thread and time, with the entity of its kernel and how long that runs.
struct Launch {
    thread: u32,
    at: i64,
    entity: usize,
    ns: i64,
}

/// Kernels that operators of one name launch: how many, and how long they run within the window, each by itself.
#[derive(Default)]
pub(super) struct Launched {
    pub(super) count: i64,
    pub(super) ns: i64,
}

/// Adds to the kernels of a device, whose index among the entities is given by name.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    kernels: &HashMap<NameId, usize>,
    part: &mut DevicePart,
) {
    let timeline = context.timeline;
    let entity_of = |op: Op| kernels.get(&kernel_name(timeline, op)?).copied();
    let times = times(timeline, device, device.ops.in_window().filter_map(|op| Some((entity_of(op)?, op))), &[]);
    let mut most: BTreeMap<usize, (i64, i64, u32)> = BTreeMap::new();
    for ((entity, name), Launched { ns, .. }) in times {
        let (all_ns, most_ns, of) = most.entry(entity).or_insert((0, 0, NONE));
        *all_ns = all_ns.saturating_add(ns);
        if (ns, Reverse(name)) > (*most_ns, Reverse(*of)) {
            (*most_ns, *of) = (ns, name);
        }
    }
    for (entity, (all_ns, ns, name)) in most {
        let is_main = name != NONE && ns > 0 && ns as f64 >= MIN_SHARE * all_ns as f64;
        if let Some(entity) = part.entities.get_mut(entity).filter(|_| is_main) {
            entity.set("operator", timeline.name(name));
        }
    }
}

/// The operators that launch most of some kernels, the one with most of their time first: as few as hold [`NAMED_SHARE`] of it, at most
/// [`MAX_NAMED_COUNT`]. None where these do not hold [`MIN_SHARE`].
pub(super) fn main_of(timeline: &Timeline, device: &DeviceContext, kernels: impl Iterator<Item = Op>) -> Vec<NameId> {
    main_within(timeline, device, kernels, &[])
}

/// The same where an operator of some labels counts before those that it calls, the outermost of them first.
pub(super) fn main_within(
    timeline: &Timeline,
    device: &DeviceContext,
    kernels: impl Iterator<Item = Op>,
    is_whole: &[bool],
) -> Vec<NameId> {
    let times = by_operator(timeline, device, kernels, is_whole);
    let all_ns = times.values().map(|of| of.ns).fold(0, i64::saturating_add) as f64;
    let mut times: Vec<(i64, NameId)> = times.into_iter().map(|(name, of)| (of.ns, name)).collect();
    times.retain(|(ns, name)| *name != NONE && *ns > 0);
    times.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| timeline.name(*one).cmp(timeline.name(*other))));
    let (mut named, mut named_ns) = (Vec::new(), 0_i64);
    for (ns, name) in times.into_iter().take(MAX_NAMED_COUNT) {
        if named_ns as f64 >= NAMED_SHARE * all_ns {
            break;
        }
        named_ns = named_ns.saturating_add(ns);
        named.push(name);
    }
    if named_ns as f64 >= MIN_SHARE * all_ns { named } else { Vec::new() }
}

/// What operators launch of some kernels, by the innermost of them, or the outermost that counts as a whole; what none launches goes by
/// [`NONE`]. Empty without operators.
pub(super) fn by_operator(
    timeline: &Timeline,
    device: &DeviceContext,
    kernels: impl Iterator<Item = Op>,
    is_whole: &[bool],
) -> BTreeMap<NameId, Launched> {
    let times = times(timeline, device, kernels.map(|op| (0, op)), is_whole);
    times.into_iter().map(|((_, name), of)| (name, of)).collect()
}

/// The same by entity as well.
fn times(
    timeline: &Timeline,
    device: &DeviceContext,
    kernels: impl Iterator<Item = (usize, Op)>,
    is_whole: &[bool],
) -> BTreeMap<(usize, NameId), Launched> {
    let mut times: BTreeMap<(usize, NameId), Launched> = BTreeMap::new();
    if !timeline.ranges.hold_operators() {
        return times;
    }
    let launches = launches(timeline, device, kernels);
    each(
        timeline,
        is_whole,
        &launches,
        |launch| (launch.thread, launch.at),
        |launch, label| {
            let name = timeline.ranges.labels.get(label as usize).map_or(NONE, |label| label.name);
            let of = times.entry((launch.entity, name)).or_default();
            of.count += 1;
            of.ns = of.ns.saturating_add(launch.ns);
        },
    );
    times
}

/// Takes each of some moments of threads, which come in that order, with the label of the operator that [`Within::at`] tells of it.
fn each<T>(
    timeline: &Timeline,
    is_whole: &[bool],
    moments: &[T],
    of: impl Fn(&T) -> (u32, i64),
    mut take: impl FnMut(&T, u32),
) {
    let labels = timeline.ranges.labels.iter();
    let is_operator: Vec<bool> = labels.map(|label| label.kind == RangeKind::Operator).collect();
    for of_thread in moments.chunk_by(|a, b| of(a).0 == of(b).0) {
        let ranges = of_thread.first().and_then(|first| timeline.ranges.of_thread(of(first).0));
        let mut within = ranges.map(|ranges| Within::new(ranges, &is_operator));
        for moment in of_thread {
            take(moment, within.as_mut().map_or(NONE, |within| within.at(of(moment).1, is_whole)));
        }
    }
}

/// The operator of PyTorch that at least half of some calls are made in, the outermost of those within each other, and how many are.
pub(super) fn outermost_of(timeline: &Timeline, calls: impl Iterator<Item = u32>) -> Option<(NameId, usize)> {
    if !timeline.ranges.hold_operators() {
        return None;
    }
    let labels = &timeline.ranges.labels;
    let is_torch = |name: &str| name.starts_with(OPERATOR) || name.starts_with("SyncBatchNorm");
    let is_outer: Vec<bool> =
        labels.iter().map(|label| label.kind == RangeKind::Operator && is_torch(timeline.name(label.name))).collect();
    let api = &timeline.api;
    let of_thread = |call: u32| Some((*api.thread.get(call as usize)?, api.times.start(call as usize)));
    let mut calls: Vec<(u32, i64)> = calls.filter(|call| *call != NONE).filter_map(of_thread).collect();
    calls.sort_unstable();
    let mut counts: BTreeMap<NameId, usize> = BTreeMap::new();
    each(
        timeline,
        &is_outer,
        &calls,
        |call| *call,
        |_, label| {
            if is_outer.get(label as usize) == Some(&true) {
                *counts.entry(labels[label as usize].name).or_default() += 1;
            }
        },
    );
    most(timeline, counts).filter(|(_, count)| 2 * count >= calls.len())
}

/// The name that is counted most often, of several the first.
pub(super) fn most(timeline: &Timeline, counts: BTreeMap<NameId, usize>) -> Option<(NameId, usize)> {
    counts.into_iter().max_by_key(|(name, count)| (*count, Reverse(timeline.name(*name))))
}

fn launches(timeline: &Timeline, device: &DeviceContext, kernels: impl Iterator<Item = (usize, Op)>) -> Vec<Launch> {
    let launch = |(entity, op): (usize, Op)| {
        let call = op.call(timeline)? as usize;
        let thread = timeline.api.thread.get(call).copied().filter(|thread| *thread != NONE)?;
        let ns = op.interval().clip(device.window()).len_ns();
        Some(Launch { thread, at: timeline.api.times.start(call), entity, ns })
    };
    let mut launches: Vec<Launch> = kernels.filter_map(launch).collect();
    launches.sort_unstable_by_key(|launch| (launch.thread, launch.at));
    launches
}

/// The operators of a thread that are open, read in time order.
pub(super) struct Within<'all> {
    ranges: &'all ThreadRanges,
    is_operator: &'all [bool],
    next: usize,
    /// When each ends, and its label.
    open: Vec<(i64, u32)>,
    /// Those of them that count as a whole, by when they began.
    wholes: VecDeque<(i64, u32)>,
}

impl<'all> Within<'all> {
    pub(super) fn new(ranges: &'all ThreadRanges, is_operator: &'all [bool]) -> Self {
        Self { ranges, is_operator, next: 0, open: Vec::new(), wholes: VecDeque::new() }
    }

    /// The label of the innermost at a moment, or of the outermost that counts as a whole, or [`NONE`].
    pub(super) fn at(&mut self, moment: i64, is_whole: &[bool]) -> u32 {
        while let Some(range) = self.ranges.times.get(self.next).filter(|range| range.start <= moment) {
            let label = self.ranges.label.get(self.next).copied().unwrap_or(NONE);
            self.next += 1;
            if range.end > moment && self.is_operator.get(label as usize) == Some(&true) {
                self.open.push((range.end, label));
                if is_whole.get(label as usize) == Some(&true) {
                    self.wholes.push_back((range.end, label));
                }
            }
        }
        // What has ended behind another that is open stays where it is: a thread may open as many as it launches kernels.
        while self.open.pop_if(|(end, _)| *end <= moment).is_some() {}
        while self.wholes.front().is_some_and(|(end, _)| *end <= moment) {
            self.wholes.pop_front();
        }
        self.wholes.front().or(self.open.last()).map_or(NONE, |(_, label)| *label)
    }
}
