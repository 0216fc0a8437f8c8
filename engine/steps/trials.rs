//! Trials of libraries that choose the fastest of several kernels: they come before the work, and repeat nothing of it.

use crate::ledger::DeviceOps;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// A kernel by which XLA and TensorFlow check what those that they try wrote.
const CHECKER: &str = "redzone_checker";
/// What ranges have in their names in which kernels are tried, in lower case: Triton, PyTorch's Inductor, XLA.
const RANGES: [&str; 2] = ["autotun", "benchmark_all_configs"];

/// When the last trial within the window of a device is over; `None` without any that a name tells.
pub(super) fn end(timeline: &Timeline, device: &DeviceOps) -> Option<i64> {
    let of_kernels = last_checker(timeline, device);
    let of_ranges = last_range(timeline, device.window);
    of_kernels.max(of_ranges)
}

fn last_checker(timeline: &Timeline, device: &DeviceOps) -> Option<i64> {
    let is_checker = timeline.tell_shapes(|name| name.contains(CHECKER));
    if !is_checker.contains(&true) {
        return None;
    }
    let is_check = |index: u32| {
        let shape = timeline.kernels.shape.get(index as usize);
        shape.is_some_and(|shape| is_checker.get(*shape as usize) == Some(&true))
    };
    let checks = device.in_window().filter(|op| op.kind.is_compute() && is_check(op.index));
    checks.map(|op| op.end.min(device.window.end)).max()
}

fn last_range(timeline: &Timeline, window: Interval) -> Option<i64> {
    let is_trial = |name: &str| {
        let name = name.to_ascii_lowercase();
        RANGES.iter().any(|word| name.contains(word))
    };
    let labels = timeline.ranges.labels.iter();
    let is_trial: Vec<bool> = labels.map(|label| is_trial(timeline.name(label.name))).collect();
    if !is_trial.contains(&true) {
        return None;
    }
    let threads = timeline.ranges.threads.iter();
    let trials = threads.flat_map(|thread| thread.labelled(&is_trial).map(|times| times.end));
    trials.filter(|end| (window.start..window.end).contains(end)).max()
}
