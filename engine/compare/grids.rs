//! Whether kernels of the same name work on problems of another size.

use std::collections::BTreeMap;

use super::side::{Run, Side, int, name_of};
use super::work::SAME_SHARE;
use crate::facts::EntityKind;

/// From this part of the kernel time on, it is the program that works on another size.
const LEAST_SHARE: f64 = 0.5;

/// The part of the base's time in kernels of both sides whose threads changed in number, when it is large.
pub(super) fn sizes(base: Side<'_>, head: Side<'_>) -> Option<f64> {
    let (base, head) = (threads(base.first()?), threads(head.first()?));
    let mut all = 0.0;
    let mut changed = 0.0;
    for (name, (before, time_ns)) in &base {
        let Some((after, _)) = head.get(name) else { continue };
        all += time_ns;
        if (before - after).abs() > SAME_SHARE * before.max(*after) {
            changed += time_ns;
        }
    }
    let share = if all > 0.0 { changed / all } else { 0.0 };
    (share >= LEAST_SHARE).then_some(share)
}

/// Threads of a launch and time, by kernel; where one ran on several devices, those of the device where it took longest.
fn threads(run: &Run) -> BTreeMap<String, (f64, f64)> {
    let mut threads: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (_, kernel) in run.facts.of_kind(EntityKind::Kernel) {
        let (blocks, size) = (int(kernel, "grid_block_count"), int(kernel, "block_thread_count"));
        let time_ns = int(kernel, "sum_ns") as f64;
        if blocks > 0 && size > 0 && threads.get(name_of(kernel)).is_none_or(|(_, known)| *known < time_ns) {
            threads.insert(name_of(kernel).to_owned(), (blocks as f64 * size as f64, time_ns));
        }
    }
    threads
}
