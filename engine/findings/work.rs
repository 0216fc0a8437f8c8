//! What a device ran: the kernels that take most of its time, and the steps that its work repeats.

use std::cmp::Reverse;

use super::subject::label;
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::text::spans::Sentence;

/// Kernels that a review lists of a device.
const LISTED: usize = 5;

/// All launches of one kernel on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelWork {
    /// Its key in the facts.
    pub key: String,
    /// Its name, for readers.
    pub name: Sentence,
    /// The time of the window that is attributed to it: of kernels that run together, to the one that began first.
    pub attributed_ns: i64,
    /// The same as a share of the window.
    pub share: f64,
    /// How often it was launched.
    pub launch_count: i64,
    /// The median duration of a launch; absent when the facts do not tell.
    pub median_ns: Option<i64>,
    /// The longest launch; absent when the facts do not tell.
    pub max_ns: Option<i64>,
    /// How many warps fit on an SM, and why not more; absent when the GPU or the launch geometry is not known.
    pub occupancy: Option<Occupancy>,
}

/// Theoretical occupancy, of the launch geometry that most of a kernel's time was spent with.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    /// Of the warps that an SM can hold.
    pub share: f64,
    /// What keeps it under 1, as in the catalogue of facts.
    pub limiter: String,
}

impl Occupancy {
    fn of(kernel: &Entity) -> Option<Self> {
        let limiter = kernel.text("occupancy_limiter")?.to_owned();
        Some(Self { share: kernel.number("theoretical_occupancy_share")?, limiter })
    }
}

/// What the work of a device repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct StepWork {
    /// The range that a step is told by.
    pub name: Sentence,
    /// How many there are in the window.
    pub count: i64,
    /// The median length of a step.
    pub median_ns: i64,
    /// The length of the slowest one that is not warm-up; absent when all are warm-up.
    pub slowest_ns: Option<i64>,
    /// Which one that is, counted from 1.
    pub slowest_number: Option<i64>,
    /// Leading steps that are warm-up.
    pub warm_up_count: i64,
}

/// The kernels of a device that take most of its window, the longest first.
pub(super) fn kernels(facts: &Facts, device: EntityId, window_ns: i64) -> Vec<KernelWork> {
    let mut kernels: Vec<KernelWork> = facts
        .of_kind(EntityKind::Kernel)
        .filter(|(id, _)| facts.related(*id, EntityKind::Device) == Some(device))
        .filter_map(|(_, kernel)| kernel_work(kernel, window_ns))
        .collect();
    kernels.sort_by(|a, b| (Reverse(a.attributed_ns), &a.key).cmp(&(Reverse(b.attributed_ns), &b.key)));
    kernels.truncate(LISTED);
    kernels
}

fn kernel_work(kernel: &Entity, window_ns: i64) -> Option<KernelWork> {
    let attributed_ns = kernel.int("attributed_ns").filter(|ns| *ns > 0)?;
    Some(KernelWork {
        key: kernel.key.clone(),
        name: label(kernel),
        attributed_ns,
        share: attributed_ns as f64 / window_ns as f64,
        launch_count: kernel.int("launch_count")?,
        median_ns: kernel.int("median_ns"),
        max_ns: kernel.int("max_ns"),
        occupancy: Occupancy::of(kernel),
    })
}

/// The steps of a device; `None` where no range tells them.
pub(super) fn steps(device: &Entity) -> Option<StepWork> {
    Some(StepWork {
        name: Sentence::default().code(device.text("step_name")?),
        count: device.int("step_count")?,
        median_ns: device.int("step_median_ns")?,
        slowest_ns: device.int("step_slowest_ns"),
        slowest_number: device.int("step_slowest_number"),
        warm_up_count: device.int("warm_up_step_count").unwrap_or(0),
    })
}
