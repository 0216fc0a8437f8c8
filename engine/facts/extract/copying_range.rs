//! Facts of the range in which the program does nothing for the device but to copy to the host, and to run its own code: it saves or
//! fetches what was computed, and the device waits.

use super::DeviceContext;
use super::projection::Folded;
use crate::facts::Entity;
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, Timeline};

/// Kernels that were launched before it run for no more of it.
const MOST_KERNEL_SHARE: f64 = 0.1;
/// Copies to the host take as much of it at least: else it does something else.
const LEAST_COPY_SHARE: f64 = 0.1;
/// A range that comes for as many of the steps is a part of them.
const MOST_OF_STEPS: f64 = 0.25;

/// Of a range by its group: where it is such a one.
pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, folded: &Folded, group: u32, facts: &mut Entity) {
    let times = times(timeline, device, folded, group);
    let most_count = device.told.sure_steps().map(|steps| MOST_OF_STEPS * steps.steps.len() as f64);
    if most_count.is_some_and(|most| times.len() as f64 > most) {
        return;
    }
    let (count, range) = (times.len(), Union::of(times));
    let kernels_ns = device.tally.kernels_run.common_ns(&range);
    let is_to_host = |copy: u32| timeline.copies.direction[copy as usize] == Direction::DeviceToHost;
    let to_host = device.ops.copies_in_window().filter(|copy| is_to_host(copy.index));
    let copies_ns = Union::of(to_host.map(|copy| copy.interval())).common_ns(&range);
    let range_ns = range.len_ns();
    let is_little = kernels_ns as f64 <= MOST_KERNEL_SHARE * range_ns as f64;
    if range_ns > 0 && is_little && copies_ns as f64 >= LEAST_COPY_SHARE * range_ns as f64 {
        facts.set("copying_range", folded.name(group));
        facts.set("copying_range_count", count as i64);
        facts.set("copying_range_ns", range_ns);
        facts.set("copying_range_kernel_ns", kernels_ns);
        facts.set("copying_range_copy_ns", copies_ns);
    }
}

/// When its ranges are open in the window, on threads of processes that work on the device.
fn times(timeline: &Timeline, device: &DeviceContext, folded: &Folded, group: u32) -> Vec<Interval> {
    let is_own = |thread: u32| thread != NONE && device.is_of(timeline.process_of(thread));
    let of_threads = timeline.ranges.threads.iter().filter(|ranges| is_own(ranges.thread));
    let all = of_threads.flat_map(|ranges| ranges.times.iter().zip(&ranges.label));
    let own = all.filter(|(_, label)| folded.group_of(**label) == Some(group));
    own.map(|(times, _)| times.clip(device.window())).filter(|times| times.len_ns() > 0).collect()
}
