//! Facts of communication kernels that wait for another GPU of the recording.
//!
//! The kernels of one collective end together, on whatever GPU: who begins first runs until the last has come. The clocks of two GPUs
//! may differ by tens of microseconds, so that what a kernel waits is how much longer it runs than the shortest of them.

use std::collections::BTreeMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::NameId;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// Kernels of one collective end within this time of each other, by clocks that differ.
const MOST_APART_NS: i64 = 50_000;
/// A shorter wait is what two launches differ by.
const LEAST_WAIT_NS: i64 = 20_000;
/// So many of the kernels have to find one on another GPU: else they belong to collectives with processes that were not recorded.
const LEAST_FOUND: f64 = 0.8;
/// With more GPUs each is not held against every other.
const MOST_DEVICES: usize = 16;

/// The communication kernels of one device by name, in the order of their ends.
pub(super) type ByName = BTreeMap<NameId, Vec<Interval>>;

pub(super) fn by_name(context: &Context<'_>) -> Vec<ByName> {
    let of_device = |device: &DeviceContext| {
        let mut all = ByName::new();
        for op in device.ops.all_ops().filter(|op| op.kind == OpKind::Communication) {
            let name = context.timeline.kernels.shape_of(op.index).name;
            all.entry(name).or_default().push(op.interval());
        }
        all.values_mut().for_each(|own| own.sort_by_key(|kernel| (kernel.end, kernel.start)));
        all
    };
    context.devices.iter().map(of_device).collect()
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !(2..=MOST_DEVICES).contains(&context.devices.len()) || !device.passed(context).has_communication {
        return;
    }
    let all = context.communication();
    let is_other = |index: &usize| context.devices[*index].ops.device != device.ops.device;
    let others: Vec<usize> = (0..context.devices.len()).filter(is_other).collect();
    let compute = Union::of(device.ops.in_window().filter(|op| op.kind.is_compute()).map(|op| op.interval()));
    let (mut count, mut found_count, mut waiting_count) = (0_usize, 0_usize, 0_i64);
    let mut waited_ns: BTreeMap<usize, i64> = BTreeMap::new();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Communication) {
        let (kernel, name) = (op.interval(), context.timeline.kernels.shape_of(op.index).name);
        let of_other = |index: &usize| Some((*index, same(all.get(*index)?.get(&name)?, kernel)?));
        let found = others.iter().filter_map(of_other).min_by_key(|(_, other)| other.len_ns());
        count += 1;
        found_count += usize::from(found.is_some());
        let Some((late, last)) = found else { continue };
        let waits = Interval::new(kernel.start, kernel.start + (kernel.len_ns() - last.len_ns()).max(0));
        if waits.len_ns() >= LEAST_WAIT_NS {
            waiting_count += 1;
            let sum_ns = waited_ns.entry(late).or_default();
            *sum_ns = sum_ns.saturating_add(waits.len_ns() - compute.overlap_ns(waits));
        }
    }
    if count == 0 || (found_count as f64) < LEAST_FOUND * count as f64 {
        return;
    }
    facts.set("communication_peer_wait_ns", waited_ns.values().copied().fold(0, i64::saturating_add));
    facts.set("communication_peer_wait_count", waiting_count);
    if let Some((late, sum_ns)) = waited_ns.into_iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > 0) {
        let number = context.timeline.devices[context.devices[late].ops.device as usize].number;
        facts.set("communication_late_gpu_number", number);
        facts.set("communication_late_gpu_wait_ns", sum_ns);
    }
}

/// The kernel of the same collective on another device: the one of its name that ends nearest, and runs meanwhile.
fn same(by_end: &[Interval], kernel: Interval) -> Option<Interval> {
    let first = by_end.partition_point(|other| other.end < kernel.end.saturating_sub(MOST_APART_NS));
    let near = by_end[first..].iter().take_while(|other| other.end <= kernel.end.saturating_add(MOST_APART_NS));
    let meanwhile = near.filter(|other| other.overlap_ns(kernel) > 0).take(MOST_NEAR);
    meanwhile.min_by_key(|other| (other.end - kernel.end).abs()).copied()
}

/// No more of them are held against one: kernels of a stream follow each other.
const MOST_NEAR: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_collective_ends_nearest() {
        let kernel = Interval::new(1_000_000, 2_000_000);
        let others = [
            Interval::new(900_000, 1_949_999),
            Interval::new(1_900_000, 1_960_000),
            Interval::new(1_980_000, 2_010_000),
            Interval::new(2_012_000, 2_040_000),
        ];
        assert_eq!(same(&others, kernel), Some(others[2]));
        assert_eq!(same(&others[..2], kernel), Some(others[1]));
        assert_eq!((same(&others[..1], kernel), same(&others[3..], kernel)), (None, None));
    }
}
