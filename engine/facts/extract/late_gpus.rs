//! Facts of communication kernels that wait for another GPU of the recording.
//!
//! The kernels of one collective end together, on whatever GPU: who begins first runs until the last has come. The clocks of two GPUs
//! may differ by tens of microseconds: by how much, kernels tell that are paired in their order, and what a kernel waits is how much
//! longer it runs than the shortest of its collective.

use std::collections::BTreeMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::steps::median_ns;
use crate::timeline::NameId;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;

/// Kernels of one collective end within this time of each other, by clocks that differ.
const MOST_APART_NS: i64 = 50_000;
/// A shorter wait is what two launches differ by.
const LEAST_WAIT_NS: i64 = 20_000;
/// On a GPU that takes part in the collectives of another so many of its kernels are found: else they are those of another group.
const LEAST_FOUND: f64 = 0.8;
/// So many that end before a kernel, and as many after it, are held against it: kernels of a stream follow each other.
const MOST_NEAR: usize = 16;
/// In the names of kernels that send from one GPU to another.
const BETWEEN_TWO: &str = "SendRecv";
/// With more GPUs each is not held against every other.
const MOST_DEVICES: usize = 16;

/// The communication kernels of one device by name, in the order of these and of their ends: a recording may hold many of many names.
#[derive(Debug, Default)]
pub(super) struct ByName {
    /// Each name, and how many kernels there are up to its last one.
    names: Vec<(NameId, usize)>,
    times: Vec<Interval>,
}

impl ByName {
    fn new(mut kernels: Vec<(NameId, Interval)>) -> Self {
        kernels.sort_unstable_by_key(|(name, kernel)| (*name, kernel.end, kernel.start));
        let mut names: Vec<(NameId, usize)> = Vec::new();
        for (place, (name, _)) in kernels.iter().enumerate() {
            match names.last_mut().filter(|(last, _)| last == name) {
                Some((_, end)) => *end = place + 1,
                None => names.push((*name, place + 1)),
            }
        }
        Self { names, times: kernels.into_iter().map(|(_, kernel)| kernel).collect() }
    }

    fn at(&self, index: usize) -> &[Interval] {
        let before = index.checked_sub(1).and_then(|before| self.names.get(before));
        let end = self.names.get(index).map_or(0, |(_, end)| *end);
        self.times.get(before.map_or(0, |(_, end)| *end)..end).unwrap_or(&[])
    }

    /// The index of a name.
    fn index_of(&self, name: NameId) -> Option<usize> {
        self.names.binary_search_by_key(&name, |(own, _)| *own).ok()
    }

    /// By index of a name, the kernels of that name here and on another device; `None` of those that the other has not.
    fn beside<'all>(&'all self, other: &'all Self) -> Vec<Option<(&'all [Interval], &'all [Interval])>> {
        let mut theirs = other.names.iter().map(|(name, _)| *name).enumerate().peekable();
        let of_name = |(index, (name, _)): (usize, &(NameId, usize))| {
            while theirs.next_if(|(_, other)| other < name).is_some() {}
            let (same, _) = theirs.next_if(|(_, other)| other == name)?;
            Some((self.at(index), other.at(same)))
        };
        self.names.iter().enumerate().map(of_name).collect()
    }
}

pub(super) fn by_name(context: &Context<'_>) -> Vec<ByName> {
    let of_device = |device: &DeviceContext| {
        let all = device.ops.all_ops().filter(|op| op.kind == OpKind::Communication);
        ByName::new(all.map(|op| (context.timeline.kernels.shape_of(op.index).name, op.interval())).collect())
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
    let mut is_between_two = Told::new(&timeline.names, |name| name.contains(BETWEEN_TWO));
    let is_of_all = |kernel: &Kernel| context.devices.len() == 2 || !is_between_two.of(kernel.name);
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
    let all = || context.communication().iter().zip(&context.devices).enumerate();
    let is_own = |of: &DeviceContext| of.ops.device == device.ops.device;
    let Some((_, (own, _))) = all().find(|(_, (_, of))| is_own(of)) else { return Vec::new() };
    let others = all().filter(|(_, (_, of))| !is_own(of));
    let names: Vec<Option<usize>> = kernels.iter().map(|kernel| own.index_of(kernel.name)).collect();
    let same = others.map(|(index, (other, _))| {
        let beside = own.beside(other);
        let ahead_ns = ahead_ns(&beside);
        let of_kernel = |(kernel, name): (&Kernel, &Option<usize>)| {
            let of_name = beside.get((*name)?).copied().flatten()?;
            same(of_name, kernel.times, ahead_ns)
        };
        (index, kernels.iter().zip(&names).map(of_kernel).collect::<Vec<_>>())
    });
    let takes_part = |(_, same): &(usize, Vec<Option<Interval>>)| {
        same.iter().flatten().count() as f64 >= LEAST_FOUND * kernels.len() as f64
    };
    same.filter(takes_part).collect()
}

/// How far the clock of another device is ahead: by how much later its kernels end than those of the same name that come in the same
/// order. Right behind a long one there often is a short one, which may end nearer to the long one of the other clock.
fn ahead_ns(beside: &[Option<(&[Interval], &[Interval])>]) -> i64 {
    let mut apart_ns = Vec::new();
    for (own, other) in beside.iter().copied().flatten() {
        let (mut own, mut other) = (own.iter().peekable(), other.iter().peekable());
        while let (Some(one), Some(another)) = (own.peek(), other.peek()) {
            let later_ns = another.end.saturating_sub(one.end);
            let (is_own_left, is_other_left) = (later_ns > MOST_APART_NS, later_ns < -MOST_APART_NS);
            if !is_own_left && !is_other_left {
                apart_ns.push(later_ns);
            }
            if !is_other_left {
                own.next();
            }
            if !is_own_left {
                other.next();
            }
        }
    }
    median_ns(&mut apart_ns).unwrap_or(0)
}

/// The kernel of the same collective on another device, whose clock is so far ahead: by that, each ends nearest to the other of all
/// that run meanwhile.
fn same((own, other): (&[Interval], &[Interval]), kernel: Interval, ahead_ns: i64) -> Option<Interval> {
    let found = nearest(other, moved(kernel, ahead_ns))?;
    nearest(own, moved(found, -ahead_ns)).filter(|back| *back == kernel).map(|_| found)
}

fn moved(kernel: Interval, by_ns: i64) -> Interval {
    Interval::new(kernel.start.saturating_add(by_ns), kernel.end.saturating_add(by_ns))
}

/// The kernel that ends nearest to another, and runs meanwhile.
fn nearest(by_end: &[Interval], kernel: Interval) -> Option<Interval> {
    let place = by_end.partition_point(|other| other.end < kernel.end);
    let apart_ns = |other: &Interval| other.end.saturating_sub(kernel.end).saturating_abs();
    // On either side the first that runs meanwhile ends nearest.
    let is_same = |other: &&Interval| other.overlap_ns(kernel) > 0;
    let is_near = |other: &&Interval| apart_ns(other) <= MOST_APART_NS;
    let before = by_end[..place].iter().rev().take(MOST_NEAR).take_while(is_near).find(is_same);
    let after = by_end[place..].iter().take(MOST_NEAR).take_while(is_near).find(is_same);
    before.into_iter().chain(after).min_by_key(|other| apart_ns(other)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_one_name_stand_beside_each_other() {
        let of = |names: &[NameId]| {
            let kernels = (0..).zip(names).map(|(place, name)| (*name, Interval::new(100 - place, 200 - place)));
            ByName::new(kernels.collect())
        };
        let (own, other) = (of(&[7, 3, 7, 9]), of(&[9, 9, 2, 7]));
        let counts = own.beside(&other).into_iter().map(|both| both.map(|(own, other)| (own.len(), other.len())));
        assert_eq!(counts.collect::<Vec<_>>(), [None, Some((2, 1)), Some((1, 2))]);
        assert_eq!(own.index_of(7).map(|index| own.at(index)[0].end), Some(198), "in the order of their ends");
        assert_eq!((own.index_of(4), own.at(3).len()), (None, 0));
    }

    fn of(times: &[(i64, i64)]) -> Vec<Interval> {
        times.iter().map(|(start, end)| Interval::new(1_000 * start, 1_000 * end)).collect()
    }

    #[test]
    fn the_same_collective_ends_nearest() {
        let own = of(&[(1_000, 2_000)]);
        let others = of(&[(900, 1_949), (1_900, 1_960), (1_980, 2_010), (2_012, 2_040)]);
        let same = |others: &[Interval]| same((&own, others), own[0], 0);
        assert_eq!(same(&others), Some(others[2]));
        assert_eq!(same(&others[..2]), Some(others[1]));
        assert_eq!((same(&others[..1]), same(&others[3..])), (None, None));
    }

    #[test]
    fn each_has_one_partner_by_clocks_that_differ() {
        // A long one and a short one right behind it, in each of three steps; the other clock is 20 µs ahead.
        let steps = |ahead: i64, starts: i64| {
            let step = |at: i64| [(at + starts + ahead, at + 400 + ahead), (at + 403 + ahead, at + 411 + ahead)];
            of(&[1_000, 3_000, 5_000].map(step).concat())
        };
        let (own, other) = (steps(0, 30), steps(20, 0));
        let ahead = ahead_ns(&[None, Some((&own[..], &other[..]))]);
        assert_eq!(ahead, 20_000);
        let found: Vec<_> = own.iter().map(|kernel| same((&own, &other), *kernel, ahead)).collect();
        assert_eq!(found, other.iter().copied().map(Some).collect::<Vec<_>>());
        // The first of a recording may be cut off on one of them.
        assert_eq!(ahead_ns(&[Some((&own[1..], &other[..]))]), 20_000);
        assert_eq!(same((&own[1..], &other), own[1], ahead), Some(other[1]));
    }
}
