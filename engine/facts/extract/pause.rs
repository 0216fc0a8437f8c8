//! A pause of all devices that takes nearly all of the time: beside it, nothing that the program repeats would be worth a word. And
//! one before which nothing of the host was recorded: the profiler was not on yet, and what the program did there nobody knows.

use crate::ledger::DeviceOps;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// With less than a hundredth left, nothing else in the window can reach a hundredth of it.
const PAUSE_SHARE: f64 = 0.99;
/// What comes before the host was recorded is cut off where the pause behind it takes this part of the time.
const UNRECORDED_SHARE: f64 = 0.5;
/// With fewer operations there is too little to judge beside it.
const LEAST_OPERATION_COUNT: usize = 100;

/// A pause of all devices that parts what is measured from other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) times: Interval,
    /// Whether nothing of any thread of the host was recorded before its end.
    pub(super) is_before_record: bool,
}

/// Narrows the windows to the side of such a pause that holds more work, or of which more was recorded, and tells the pause; `None`
/// where there is none, or little beside it.
pub(super) fn cut(timeline: &Timeline, devices: &mut [DeviceOps]) -> Option<Pause> {
    let hull = hull(devices.iter().map(|device| device.window))?;
    let pause = longest_pause(devices, hull)?;
    let takes = |share: f64| pause.len_ns() as f64 >= share * hull.len_ns() as f64;
    // Nearly always there is none: nobody need look through what the host did.
    if !takes(UNRECORDED_SHARE) {
        return None;
    }
    let (before, after) = (Interval::new(hull.start, pause.start), Interval::new(pause.end, hull.end));
    let host_start = host_start(timeline).filter(|_| !timeline.source.is_damaged);
    let is_late = host_start.is_some_and(|start| start > pause.start);
    let sides = match is_late {
        true => vec![after],
        false if takes(PAUSE_SHARE) => vec![before, after],
        false => return None,
    };
    let work_ns = |side: &Interval| {
        let of = |device: &DeviceOps| {
            device.in_window().map(|op| op.interval().overlap_ns(*side)).fold(0, i64::saturating_add)
        };
        devices.iter().map(of).fold(0, i64::saturating_add)
    };
    let side = sides.into_iter().max_by_key(work_ns)?;
    let works = |device: &DeviceOps| device.in_window().any(|op| op.interval().overlap_ns(side) > 0);
    let count = devices.iter().map(|device| device.begun_in(side).len()).fold(0, usize::saturating_add);
    if count < LEAST_OPERATION_COUNT || !devices.iter().all(works) {
        return None;
    }
    for device in devices {
        let own = hull_of_work(device, side);
        device.narrow(own);
    }
    let sampled = timeline.cpu_samples.time_ns.iter().min();
    let is_before_record =
        host_start.is_some_and(|start| start >= pause.end) && sampled.is_none_or(|at| *at >= pause.end);
    Some(Pause { times: pause, is_before_record })
}

/// When the first thing begins that was recorded of the host.
fn host_start(timeline: &Timeline) -> Option<i64> {
    let ranges = timeline.ranges.threads.iter().map(|ranges| &ranges.times);
    let all = ranges.chain([&timeline.api.times, &timeline.os_calls.times]);
    all.filter_map(|times| times.iter().map(|times| times.start).min()).min()
}

fn hull(parts: impl Iterator<Item = Interval>) -> Option<Interval> {
    parts.reduce(Interval::hull)
}

fn hull_of_work(device: &DeviceOps, side: Interval) -> Interval {
    hull(device.in_window().map(|op| op.interval().clip(side)).filter(|part| part.len_ns() > 0)).unwrap_or(side)
}

/// The time in which no device runs anything that is in the longest such time of each.
fn longest_pause(devices: &[DeviceOps], hull: Interval) -> Option<Interval> {
    let pauses = devices.iter().map(|device| longest_of(device, hull));
    pauses.reduce(Interval::clip).filter(|pause| pause.start > hull.start && pause.end < hull.end)
}

/// The longest time in which a device runs nothing.
fn longest_of(device: &DeviceOps, hull: Interval) -> Interval {
    let (mut longest, mut until) = (Interval::default(), hull.start);
    for op in device.in_window() {
        if op.start.saturating_sub(until) > longest.len_ns() {
            longest = Interval::new(until, op.start);
        }
        until = until.max(op.interval().end);
    }
    if hull.end.saturating_sub(until) > longest.len_ns() { Interval::new(until, hull.end) } else { longest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::builder::Limits;
    use crate::timeline::builder::{Builder, CallEvent, KernelKey, OpEvent, StreamKey, ThreadKey};
    use crate::timeline::samples::{CpuSamples, Frame};
    use crate::timeline::{Geometry, NONE};

    const PAUSE_NS: i64 = 1_000_000;

    /// Kernels of 10 ns each, so many before a pause and after it.
    fn device(before: i64, after: i64) -> (Timeline, Vec<DeviceOps>) {
        device_with_host(before, after, None)
    }

    /// The same, with a call of the host.
    fn device_with_host(before: i64, after: i64, call_ns: Option<i64>) -> (Timeline, Vec<DeviceOps>) {
        let mut builder = Builder::new(Limits::default());
        let mut chunk = builder.chunk("events");
        let name = chunk.text(b"solve").unwrap();
        for index in 0..before + after {
            let start = 20 * index + if index < before { 0 } else { PAUSE_NS };
            let stream = StreamKey { process: Some(7), device: 0, context: 0, stream: 7 };
            let op = OpEvent { start, end: start + 10, stream, correlation: None };
            let geometry = Geometry { grid_blocks: 8, block_threads: 64, registers: 0, shared_memory_bytes: 0 };
            chunk.kernel(&op, KernelKey { name, full_name: name, geometry });
        }
        if let Some(start) = call_ns {
            let thread = Some(ThreadKey { process: 7, id: 7 });
            chunk.api_call(&CallEvent { start, end: start + 1, thread, name }, None, None);
        }
        builder.take(chunk);
        let timeline = builder.finish();
        let devices = DeviceOps::all(&timeline, &[]);
        (timeline, devices)
    }

    fn cut_of((timeline, mut devices): (Timeline, Vec<DeviceOps>)) -> (Option<Interval>, Interval) {
        (cut(&timeline, &mut devices).map(|pause| pause.times), devices[0].window)
    }

    #[test]
    fn the_side_that_holds_more_work_is_judged() {
        let (pause, window) = cut_of(device(5, 120));
        assert_eq!(pause, Some(Interval::new(90, 100 + PAUSE_NS)));
        assert_eq!(window, Interval::new(100 + PAUSE_NS, 2_490 + PAUSE_NS));
        let (pause, window) = cut_of(device(120, 5));
        assert!(pause.is_some());
        assert_eq!(window, Interval::new(0, 2_390));
    }

    #[test]
    fn a_pause_beside_little_or_much_else_parts_nothing() {
        assert_eq!(cut_of(device(5, 99)).0, None);
        assert_eq!(cut_of(device(5, 600)).0, None);
        assert_eq!(cut_of(device(0, 120)).0, None);
    }

    #[test]
    fn what_comes_before_the_host_was_recorded_is_not_judged() {
        // More work before than after, and a pause of less than nearly all.
        let (pause, window) = cut_of(device_with_host(1_200, 600, Some(PAUSE_NS)));
        assert_eq!(pause, Some(Interval::new(23_990, 24_000 + PAUSE_NS)));
        assert_eq!(window, Interval::new(24_000 + PAUSE_NS, 35_990 + PAUSE_NS));
        // The host was recorded before; or little came behind; or the pause is short.
        assert_eq!(cut_of(device_with_host(1_200, 600, Some(23_989))).0, None);
        assert_eq!(cut_of(device_with_host(1_200, 99, Some(PAUSE_NS))).0, None);
        assert_eq!(cut_of(device_with_host(1_200, 60_000, Some(PAUSE_NS))).0, None);
    }

    #[test]
    fn a_host_that_was_recorded_within_the_pause_is_known() {
        let of = |call_ns: Option<i64>| {
            let (timeline, mut devices) = device_with_host(1_200, 600, call_ns);
            cut(&timeline, &mut devices).map(|pause| pause.is_before_record)
        };
        let end = 24_000 + PAUSE_NS;
        assert_eq!((of(Some(end)), of(Some(end - 1)), of(Some(30_000))), (Some(true), Some(false), Some(false)));
        let (timeline, mut devices) = device_with_host(5, 120, None);
        assert_eq!(cut(&timeline, &mut devices).map(|pause| pause.is_before_record), Some(false));
        let (mut timeline, mut devices) = device_with_host(1_200, 600, Some(end));
        timeline.cpu_samples = CpuSamples::new(vec![Frame { function: 0, module: NONE }]);
        timeline.cpu_samples.push(0, end - 1, [0].into_iter());
        assert_eq!(cut(&timeline, &mut devices).map(|pause| pause.is_before_record), Some(false));
    }
}
