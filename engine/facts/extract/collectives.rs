//! Facts of collectives whose sizes are known: how fast they are, and how long they wait for other ranks.

use std::collections::BTreeMap;

use super::stats::median;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::NameId;
use crate::timeline::details::Collective;
use crate::timeline::union::Union;

/// Fewer of one kind tell nothing of how long it takes, nor do fewer of all kinds of what the links can do.
const MIN_COUNT: usize = 5;
/// A collective beside which other kernels run for more of its time shares the device: that alone makes it longer.
const MOST_BESIDE: f64 = 0.1;
/// What is computed behind the longest is next to nothing where it takes a smaller part of its time.
const MOST_BEHIND: f64 = 0.05;
/// Small ones, beside large ones of the same name, send at most one of so many bytes.
const SMALL_ONE_OF: i64 = 16;
/// Smaller ones are bound by latency, not by bandwidth.
const LARGE_BYTES: i64 = 1 << 20;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    facts.set_some("memory_reserved_peak_bytes", peak(context, device).map(|peak| peak.reserved_bytes));
    facts.set_some("memory_allocated_peak_bytes", peak(context, device).map(|peak| peak.allocated_bytes));
    if device.passed(context).has_communication {
        facts.set_some("is_longest_communication_last", is_longest_last(device));
    }
    if timeline.details.collectives.is_empty() {
        return;
    }
    let compute = device.computing();
    let (mut durations, mut alone) = (Durations::new(), Durations::new());
    for op in device.ops.in_window() {
        let Some(collective) = timeline.details.collectives.of(op.interval()) else { continue };
        let length_ns = op.end - op.start;
        durations.entry(collective).or_default().push(length_ns);
        if compute.overlap_ns(op.interval()) as f64 <= MOST_BESIDE * length_ns as f64 {
            alone.entry(collective).or_default().push(length_ns);
        }
    }
    if durations.is_empty() {
        return;
    }
    let (mut count, mut bytes) = (0, 0_i64);
    let (mut all, mut best) = (Rate::default(), Rate::default());
    let mut best_count = 0;
    let mut by_name: BTreeMap<NameId, i64> = BTreeMap::new();
    for (collective, own) in &durations {
        let sum_ns = own.iter().fold(0_i64, |sum, ns| sum.saturating_add(*ns));
        let least_ns = own.iter().copied().min().unwrap_or(0);
        let together = own.len() as i64;
        count += together;
        bytes = bytes.saturating_add(collective.bytes.saturating_mul(together));
        *by_name.entry(collective.name).or_default() += sum_ns;
        if collective.bytes >= LARGE_BYTES {
            let name = timeline.name(collective.name);
            let bus_bytes = bus_share(name, collective.group_size) * collective.bytes as f64 * together as f64;
            all.add(bus_bytes, sum_ns);
            // A single one may wait, and what one rank sends another has to wait until that one takes it.
            if together > 1 && collective.group_size > 1 && !is_between_two(name) {
                best.add(bus_bytes, least_ns.saturating_mul(together));
                best_count += together;
            }
        }
    }
    facts.set("collective_count", count);
    facts.set("collective_bytes", bytes);
    facts.set("collective_uneven_ns", uneven_ns(&durations));
    facts.set("collective_late_ns", uneven_ns(&alone));
    facts.set_some("collective_group_count", durations.keys().map(|collective| collective.group_size).max());
    let main = by_name.iter().max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(**name)));
    facts.set_some("collective_name", main.map(|(name, _)| timeline.name(*name)));
    facts.set_some("collective_bus_gb_per_s", all.gb_per_s());
    // Of few all may wait.
    facts.set_some("collective_best_bus_gb_per_s", best.gb_per_s().filter(|_| best_count >= MIN_COUNT as i64));
    if let Some((name, _)) = main {
        by_size(&alone, *name, facts);
    }
}

/// How long the large and the small ones of a name take with nothing computed beside them: where bytes decide that, the small ones take a
/// small part of it.
fn by_size(alone: &Durations, name: NameId, facts: &mut Entity) {
    let own: Vec<_> = alone.iter().filter(|(collective, _)| collective.name == name).collect();
    let many = own.iter().filter(|(collective, times)| times.len() >= MIN_COUNT && collective.bytes >= LARGE_BYTES);
    let sum_ns = |times: &[i64]| times.iter().copied().fold(0, i64::saturating_add);
    let Some((large, large_ns)) = many.max_by_key(|(_, times)| sum_ns(times)) else { return };
    let is_small = |collective: &Collective| {
        collective.group_size == large.group_size && collective.bytes <= large.bytes / SMALL_ONE_OF
    };
    let small: Vec<_> = own.iter().filter(|(collective, _)| is_small(collective)).collect();
    let mut small_ns: Vec<i64> = small.iter().flat_map(|(_, times)| times.iter().copied()).collect();
    if small_ns.len() < MIN_COUNT {
        return;
    }
    facts.set_some("small_collective_bytes", small.iter().map(|(collective, _)| collective.bytes).max());
    facts.set_some("small_collective_median_ns", median(&mut small_ns));
    facts.set("large_collective_bytes", large.bytes);
    facts.set_some("large_collective_median_ns", median(&mut (*large_ns).clone()));
}

/// What goes over the busiest link, and how long that takes.
#[derive(Debug, Default)]
struct Rate {
    bytes: f64,
    ns: i64,
}

impl Rate {
    fn add(&mut self, bytes: f64, ns: i64) {
        self.bytes += bytes;
        self.ns = self.ns.saturating_add(ns);
    }

    fn gb_per_s(&self) -> Option<f64> {
        (self.ns > 0).then(|| self.bytes / self.ns as f64)
    }
}

/// Whether nothing of what the device computes lies behind its longest kernel of communication; absent without one.
fn is_longest_last(device: &DeviceContext) -> Option<bool> {
    let communication = device.ops.in_window().filter(|op| op.kind == OpKind::Communication);
    let longest = communication.max_by_key(|op| op.end - op.start)?;
    let behind = device.ops.in_window().filter(|op| op.kind.is_compute() && op.end > longest.end);
    let behind_ns = Union::of(behind.map(|op| op.interval())).len_ns();
    Some((behind_ns as f64) < MOST_BEHIND * (longest.end - longest.start) as f64)
}

/// How long collectives of each kind and size take.
type Durations = BTreeMap<Collective, Vec<i64>>;

/// What they take longer than the shortest of their kind.
fn uneven_ns(durations: &Durations) -> i64 {
    let many = durations.values().filter(|own| own.len() >= MIN_COUNT);
    let longer = many.flat_map(|own| {
        let least_ns = own.iter().copied().min().unwrap_or(0);
        own.iter().map(move |ns| ns - least_ns)
    });
    longer.fold(0, i64::saturating_add)
}

fn peak(context: &Context<'_>, device: &DeviceContext) -> Option<crate::timeline::details::MemoryPeak> {
    let timeline = context.timeline;
    let number = timeline.devices[device.ops.device as usize].number;
    let held: Vec<_> = timeline.details.memory.iter().copied().filter(|peak| peak.reserved_bytes > 0).collect();
    let own = held.iter().find(|peak| peak.device == number).copied();
    // The framework counts the devices that the process sees, the runtime of AMD all of them.
    let only = || Some(*held.first()?).filter(|_| held.len() == 1 && context.devices.len() == 1);
    own.or_else(only)
}

/// Whether a collective gives each rank the sum, or the like, of what all have.
pub(super) fn is_all_reduce(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("allreduce") || name.contains("all_reduce")
}

/// Whether one rank sends and another receives.
fn is_between_two(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["send", "recv"].iter().any(|part| name.contains(part))
}

/// What goes over the busiest link for each byte, as the tests of NCCL count it.
fn bus_share(name: &str, ranks: i64) -> f64 {
    let ranks = ranks as f64;
    if is_all_reduce(name) {
        return 2.0 * (ranks - 1.0) / ranks;
    }
    let name = name.to_ascii_lowercase();
    if ["gather", "scatter", "alltoall", "all_to_all"].iter().any(|kind| name.contains(kind)) {
        (ranks - 1.0) / ranks
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_bandwidth_is_that_of_the_tests_of_nccl() {
        assert_eq!(bus_share("allreduce", 2), 1.0);
        assert_eq!(bus_share("allreduce", 8), 1.75);
        assert_eq!(bus_share("_allgather_base", 4), 0.75);
        assert_eq!(bus_share("_reduce_scatter_base", 4), 0.75);
        assert_eq!(bus_share("broadcast", 4), 1.0);
        assert!(is_between_two("send") && is_between_two("Recv") && !is_between_two("allreduce"));
    }
}
