//! The kernels that take most of what a device runs.

use std::cmp::Reverse;

use super::is_of_kernels_alone;
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::text::names;
use crate::text::spans::Sentence;

/// Kernels that a review lists of a device.
const LISTED: usize = 5;
/// The same of a report that holds nothing else.
const LISTED_ALONE: usize = 12;

/// All launches of one kernel on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelWork {
    /// Its key in the facts.
    pub key: String,
    /// Its name, for readers.
    pub name: Sentence,
    /// The time of the window that is attributed to it: of kernels that run together, to the one that began first.
    pub attributed_ns: i64,
    /// How long its launches take in all, also beside kernels that began first; absent where that is hardly more.
    pub sum_ns: Option<i64>,
    /// The time that is attributed to it as a share of the window.
    pub share: f64,
    /// How often it was launched.
    pub launch_count: i64,
    /// The median duration of a launch; absent when the facts do not tell.
    pub median_ns: Option<i64>,
    /// The longest launch; absent when the facts do not tell.
    pub max_ns: Option<i64>,
    /// How many warps fit on an SM, and why not more; absent when the GPU or the launch geometry is not known.
    pub occupancy: Option<Occupancy>,
    /// What limits it inside; absent where no profiler of single kernels measured it.
    pub profile: Option<KernelLimit>,
}

/// What limits a kernel, of its launch shape that takes most of its time and was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelLimit {
    /// As in the catalogue of facts; absent where throughput was not measured.
    pub limit: Option<String>,
    /// Throughput of the SMs, against their peak.
    pub compute_share: Option<f64>,
    /// Throughput of the busiest part of the memory system, against its peak.
    pub memory_share: Option<f64>,
    /// Warps that were resident, of those that an SM can hold.
    pub occupancy_share: Option<f64>,
    /// What warps waited for longest, as in the catalogue of facts.
    pub stall_reason: Option<String>,
}

impl KernelLimit {
    fn of(facts: &Facts, kernel: EntityId) -> Option<Self> {
        let own = facts.of_kind(EntityKind::LaunchShape).filter(|(id, shape)| {
            facts.related(*id, EntityKind::Kernel) == Some(kernel) && shape.int("profiled_launch_count").is_some()
        });
        let (_, shape) = own.max_by_key(|(id, shape)| (shape.int("attributed_ns"), Reverse(*id)))?;
        Some(Self {
            limit: shape.text("limit").map(str::to_owned),
            compute_share: shape.number("compute_throughput_share"),
            memory_share: shape.number("memory_throughput_share"),
            occupancy_share: shape.number("achieved_occupancy_share"),
            stall_reason: shape.text("stall_reason").map(str::to_owned),
        })
    }
}

/// Grids that hold a smaller part of the warps that fit are what limits them; a block that is missing here and there is not.
const FAR_FEWER: f64 = 0.8;

/// Theoretical occupancy, of the launch geometry that most of a kernel's time was spent with; or what its grids hold, where that is
/// less.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    /// Of the warps that an SM can hold.
    pub share: f64,
    /// What keeps it under 1, as in the catalogue of facts, or the `grid`.
    pub limiter: String,
}

impl Occupancy {
    fn of(kernel: &Entity) -> Option<Self> {
        let limiter = kernel.text("occupancy_limiter")?.to_owned();
        let share = kernel.number("theoretical_occupancy_share")?;
        let held = kernel.number("warp_share").filter(|held| *held < FAR_FEWER * share);
        Some(held.map_or(Self { share, limiter }, |share| Self { share, limiter: "grid".to_owned() }))
    }
}

/// The kernels of a device that take most of its window, the longest first.
pub(super) fn kernels(facts: &Facts, device: EntityId, window_ns: i64) -> Vec<KernelWork> {
    let mut kernels: Vec<(EntityId, KernelWork)> = facts
        .of_kind(EntityKind::Kernel)
        .filter(|(id, _)| facts.related(*id, EntityKind::Device) == Some(device))
        .filter_map(|(id, kernel)| Some((id, kernel_work(kernel, window_ns)?)))
        .collect();
    kernels.sort_by(|(_, a), (_, b)| (Reverse(a.attributed_ns), &a.key).cmp(&(Reverse(b.attributed_ns), &b.key)));
    kernels.truncate(if is_of_kernels_alone(facts) { LISTED_ALONE } else { LISTED });
    let names: Vec<String> = kernels.iter().map(|(_, kernel)| kernel.name.plain()).collect();
    let names = names::shorten_apart(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let named = kernels.into_iter().zip(names);
    let profiled = named.map(|((id, work), name)| KernelWork {
        name: Sentence::default().code(&name),
        profile: KernelLimit::of(facts, id),
        ..work
    });
    profiled.collect()
}

/// What a kernel's launches take in all is told where it is more than this many times what is attributed to it.
const MORE_IN_ALL: f64 = 1.05;

fn kernel_work(kernel: &Entity, window_ns: i64) -> Option<KernelWork> {
    let attributed_ns = kernel.int("attributed_ns").filter(|ns| *ns > 0)?;
    Some(KernelWork {
        key: kernel.key.clone(),
        // Shortened beside the others.
        name: Sentence::default().code(kernel.name()),
        attributed_ns,
        sum_ns: kernel.int("sum_ns").filter(|sum_ns| *sum_ns as f64 > MORE_IN_ALL * attributed_ns as f64),
        share: attributed_ns as f64 / window_ns as f64,
        launch_count: kernel.int("launch_count")?,
        median_ns: kernel.int("median_ns").filter(|median_ns| !is_of_two_unlike(kernel, *median_ns)),
        max_ns: kernel.int("max_ns"),
        occupancy: Occupancy::of(kernel),
        profile: None,
    })
}

/// Of two launches that differ by more than this, none is in the middle.
const MOST_UNLIKE: f64 = 1.25;

fn is_of_two_unlike(kernel: &Entity, median_ns: i64) -> bool {
    let longest_ns = kernel.int("max_ns").unwrap_or(median_ns);
    kernel.int("launch_count") == Some(2) && longest_ns as f64 > MOST_UNLIKE * median_ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::entity;

    #[test]
    fn all_of_a_kernels_launches_are_told_where_others_ran_beside_them() {
        let of = |sum_ns: i64| {
            let facts = [("attributed_ns", 1_000), ("sum_ns", sum_ns), ("launch_count", 3)];
            kernel_work(&entity(EntityKind::Kernel, &facts), 10_000).and_then(|work| work.sum_ns)
        };
        assert_eq!((of(1_000), of(1_050), of(1_051), of(4_000)), (None, None, Some(1_051), Some(4_000)));
    }

    #[test]
    fn two_unlike_launches_have_no_median() {
        let of = |count: i64, max_ns: i64| {
            let facts = [("attributed_ns", 1_000), ("launch_count", count), ("median_ns", 100), ("max_ns", max_ns)];
            kernel_work(&entity(EntityKind::Kernel, &facts), 10_000).and_then(|work| work.median_ns)
        };
        assert_eq!((of(2, 126), of(2, 125), of(3, 900)), (None, Some(100), Some(100)));
    }
}
