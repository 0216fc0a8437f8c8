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

/// Kernels of one collective end within this time of each other, by clocks that differ.
const MOST_APART_NS: i64 = 50_000;
/// A shorter wait is what two launches differ by.
const LEAST_WAIT_NS: i64 = 20_000;
/// On a GPU that takes part in the collectives of another so many of its kernels are found: else they are those of another group.
const LEAST_FOUND: f64 = 0.8;
/// So many that end before a kernel, and as many after it, are held against it: kernels of a stream follow each other.
const MOST_NEAR: usize = 32;
/// In the names of kernels that send from one GPU to another.
const BETWEEN_TWO: &str = "SendRecv";
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

/// A communication kernel of the device.
struct Kernel {
    times: Interval,
    name: NameId,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !(2..=MOST_DEVICES).contains(&context.devices.len()) || !device.passed(context).has_communication {
        return;
    }
    let timeline = context.timeline;
    let ops = device.ops.in_window().filter(|op| op.kind == OpKind::Communication);
    let kernels = ops.map(|op| Kernel { times: op.interval(), name: timeline.kernels.shape_of(op.index).name });
    // With more than two, nothing tells which of them sends to which.
    let is_of_all = |kernel: &Kernel| context.devices.len() == 2 || !timeline.name(kernel.name).contains(BETWEEN_TWO);
    let kernels: Vec<Kernel> = kernels.filter(is_of_all).collect();
    let others = same_on_others(context, device, &kernels);
    if kernels.is_empty() || others.is_empty() {
        return;
    }
    let compute = device.computing();
    let mut waiting_count = 0;
    let mut waited_ns: BTreeMap<usize, i64> = BTreeMap::new();
    for (place, kernel) in kernels.iter().enumerate() {
        let found = others.iter().filter_map(|(other, same)| Some((*other, same.get(place).copied().flatten()?)));
        let Some((late, last)) = found.min_by_key(|(_, same)| same.len_ns()) else { continue };
        let times = kernel.times;
        let waits = Interval::new(times.start, times.start + (times.len_ns() - last.len_ns()).max(0));
        let exposed_ns = waits.len_ns() - compute.overlap_ns(waits);
        if waits.len_ns() >= LEAST_WAIT_NS && exposed_ns > 0 {
            waiting_count += 1;
            let sum_ns = waited_ns.entry(late).or_default();
            *sum_ns = sum_ns.saturating_add(exposed_ns);
        }
    }
    facts.set("communication_peer_wait_ns", waited_ns.values().copied().fold(0, i64::saturating_add));
    facts.set("communication_peer_wait_count", waiting_count);
    if let Some((late, sum_ns)) = waited_ns.into_iter().max_by_key(|(_, ns)| *ns) {
        let number = timeline.devices[context.devices[late].ops.device as usize].number;
        facts.set("communication_late_gpu_number", number);
        facts.set("communication_late_gpu_wait_ns", sum_ns);
    }
}

/// The kernels of the same collectives on each other device that takes part in them, by the places of these.
fn same_on_others(
    context: &Context<'_>,
    device: &DeviceContext,
    kernels: &[Kernel],
) -> Vec<(usize, Vec<Option<Interval>>)> {
    let all = context.communication().iter().enumerate();
    let others = all.filter(|(index, _)| context.devices[*index].ops.device != device.ops.device);
    let same = others.map(|(index, by_name)| {
        let of_kernel = |kernel: &Kernel| same(by_name.get(&kernel.name)?, kernel.times);
        (index, kernels.iter().map(of_kernel).collect::<Vec<_>>())
    });
    let takes_part = |(_, same): &(usize, Vec<Option<Interval>>)| {
        same.iter().flatten().count() as f64 >= LEAST_FOUND * kernels.len() as f64
    };
    same.filter(takes_part).collect()
}

/// The kernel of the same collective on another device: the one of its name that ends nearest, and runs meanwhile.
fn same(by_end: &[Interval], kernel: Interval) -> Option<Interval> {
    let place = by_end.partition_point(|other| other.end < kernel.end);
    let near = &by_end[place.saturating_sub(MOST_NEAR)..(place + MOST_NEAR).min(by_end.len())];
    let is_same = |other: &&Interval| (other.end - kernel.end).abs() <= MOST_APART_NS && other.overlap_ns(kernel) > 0;
    near.iter().filter(is_same).min_by_key(|other| (other.end - kernel.end).abs()).copied()
}

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
