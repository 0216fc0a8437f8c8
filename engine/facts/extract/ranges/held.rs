//! What lies in ranges of one kind and nowhere else: the function or the operator in them that holds most of their idle time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashSet;

use super::super::DeviceContext;
use super::super::projection::InGroup;
use super::{Group, Told, name as label_name};
use crate::facts::Entity;
use crate::ledger::reading::RangeIdle;
use crate::timeline::{NONE, ThreadRanges, Timeline, ZERO_GRAD};

/// What holds a smaller part is not told.
const HELD_SHARE: f64 = 0.6;

/// Operators of PyTorch that put tensors into one for a broadcast, and part it again.
const JOINING: [&str; 2] = ["aten::flatten_dense_tensors", "aten::unflatten_dense_tensors"];
/// The ranges around a broadcast; the first lies in the second.
const BROADCASTS: [&str; 2] = ["nccl:broadcast", "c10d::broadcast_"];

/// Which time of ranges is meant.
type TimeOf = fn(&RangeIdle) -> InGroup;

/// The smallest group of ranges that lie in others, and nowhere else, and hold most of a time of these.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) group: u32,
    pub(super) ns: i64,
    pub(super) count: i64,
}

/// What holds most of the host code of the ranges of a group; some are left out.
pub(super) fn of_group(
    timeline: &Timeline,
    device: &DeviceContext,
    told: &Told<'_>,
    outer: (u32, i64),
    left_out: &BTreeSet<u32>,
) -> Option<Held> {
    let is_outer = |label: u32| told.folded.group_of(label) == Some(outer.0);
    let of_host = |idle: &RangeIdle| InGroup { all_ns: idle.host_ns, innermost_ns: idle.innermost_host_ns };
    deepest((timeline, device), told, (&is_outer, outer.1), (of_host, &|group| !left_out.contains(&group)))
}

/// The facts of what holds most of the idle time in ranges that fetch data, and of the function of Python that calls it where
/// it is built into a library.
pub(super) fn of_loading(
    timeline: &Timeline,
    device: &DeviceContext,
    told: &Told<'_>,
    loading_ns: i64,
    facts: &mut Entity,
) {
    let is_loading = timeline.loading_labels();
    let is_outer = |label: u32| is_loading.get(label as usize).copied().unwrap_or(false);
    let of_idle = |idle: &RangeIdle| InGroup { all_ns: idle.idle_ns, innermost_ns: idle.innermost_idle_ns };
    let name = |group: u32| told.folded.name(group);
    let find = |fits: &dyn Fn(u32) -> bool| deepest((timeline, device), told, (&is_outer, loading_ns), (of_idle, fits));
    // How Python's own loop over it is called says nothing.
    let is_told = |group: u32| !name(group).contains("__next__") && !name(group).starts_with("<built-in function next");
    let Some(held) = find(&is_told) else { return };
    facts.set("data_loading_held_range", name(held.group));
    facts.set("data_loading_held_ns", held.ns);
    let is_built_in = |group: u32| name(group).contains("built-in ");
    if is_built_in(held.group)
        && let Some(caller) = find(&|group| is_told(group) && !is_built_in(group))
    {
        facts.set("data_loading_held_caller", name(caller.group));
    }
}

/// The facts of tensors that are put into one for a broadcast, and parted again.
pub(super) fn of_broadcasts(timeline: &Timeline, told: &Told<'_>, facts: &mut Entity) {
    let named = |names: &[&str]| {
        let is_one = |group: &&Group| names.contains(&label_name(timeline, group.label));
        let sums = told.groups.iter().filter(is_one).map(|group| (group.sums.count, group.sums.idle.host_ns));
        sums.fold((0_i64, 0_i64), |all, one| (all.0 + one.0, all.1.saturating_add(one.1)))
    };
    let (joined_count, host_ns) = named(&JOINING);
    let count = BROADCASTS.iter().map(|name| named(&[name]).0).max().unwrap_or(0);
    if joined_count > 0 && count > 0 {
        facts.set("joined_broadcast_count", count);
        facts.set("idle_host_joined_broadcast_ns", host_ns);
    }
}

/// How long the device is idle while the host sets gradients to zero: in host code, in launches and in waits.
pub(super) fn of_zeroed_gradients(timeline: &Timeline, told: &Told<'_>, facts: &mut Entity) {
    let is_one = |group: &&Group| label_name(timeline, group.label).starts_with(ZERO_GRAD);
    let sums = told.groups.iter().filter(is_one).map(|group| group.sums.idle);
    let ns = sums.map(|idle| idle.host_ns.saturating_add(idle.launch_ns).saturating_add(idle.waits_ns));
    facts.set_some("idle_zero_grad_ns", ns.reduce(i64::saturating_add));
}

/// The smallest of the groups that fit, lie within outer ranges, and hold most of the time in these.
fn deepest(
    (timeline, device): (&Timeline, &DeviceContext),
    told: &Told<'_>,
    (is_outer, outer_ns): (&dyn Fn(u32) -> bool, i64),
    (time, fits): (TimeOf, &dyn Fn(u32) -> bool),
) -> Option<Held> {
    let mut by_group: BTreeMap<u32, (InGroup, i64)> = BTreeMap::new();
    for group in told.groups.iter().filter(|group| !is_outer(group.label)) {
        let Some(folded) = told.folded.group_of(group.label) else { continue };
        if fits(folded) && !told.all_holding.contains(&folded) {
            let (sum, count) = by_group.entry(folded).or_default();
            sum.add(time(&group.sums.idle));
            *count += group.sums.count;
        }
    }
    by_group.retain(|_, (sum, _)| sum.all_ns > 0 && sum.all_ns as f64 >= HELD_SHARE * outer_ns as f64);
    let mut elsewhere: HashSet<u32> = HashSet::default();
    let is_own = |ranges: &&ThreadRanges| ranges.thread != NONE && device.is_of(timeline.process_of(ranges.thread));
    for ranges in timeline.ranges.threads.iter().filter(is_own).filter(|_| !by_group.is_empty()) {
        let mut outer_until = i64::MIN;
        for (range, label) in ranges.times.iter().zip(&ranges.label) {
            if range.clip(device.window()).len_ns() <= 0 {
                continue;
            }
            if is_outer(*label) {
                outer_until = outer_until.max(range.end);
            } else if range.end > outer_until
                && let Some(folded) = told.folded.group_of(*label)
            {
                elsewhere.insert(folded);
            }
        }
    }
    let within = by_group.into_iter().filter(|(group, _)| !elsewhere.contains(group));
    let (group, (sum, count)) =
        within.min_by_key(|(group, (sum, _))| (sum.all_ns, Reverse(sum.innermost_ns), *group))?;
    Some(Held { group, ns: sum.all_ns.min(outer_ns), count })
}
