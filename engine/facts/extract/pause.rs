//! A pause of all devices that takes nearly all of the time: beside it, nothing that the program repeats would be worth a word.

use crate::ledger::DeviceOps;
use crate::timeline::interval::Interval;

/// With less than a hundredth left, nothing else in the window can reach a hundredth of it.
const PAUSE_SHARE: f64 = 0.99;
/// With fewer operations there is too little to judge beside it.
const LEAST_OPERATION_COUNT: usize = 100;

/// Narrows the windows to the side of such a pause that holds more work, and tells the pause; `None` where there is none, or
/// little beside it.
pub(super) fn cut(devices: &mut [DeviceOps]) -> Option<Interval> {
    let hull = hull(devices.iter().map(|device| device.window))?;
    let pause =
        longest_pause(devices, hull).filter(|pause| pause.len_ns() as f64 >= PAUSE_SHARE * hull.len_ns() as f64)?;
    let sides = [Interval::new(hull.start, pause.start), Interval::new(pause.end, hull.end)];
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
    Some(pause)
}

fn hull(parts: impl Iterator<Item = Interval>) -> Option<Interval> {
    parts.reduce(|all, next| Interval::new(all.start.min(next.start), all.end.max(next.end)))
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
    use crate::timeline::Geometry;
    use crate::timeline::builder::Limits;
    use crate::timeline::builder::{Builder, KernelKey, OpEvent, StreamKey};

    const PAUSE_NS: i64 = 1_000_000;

    /// Kernels of 10 ns each, so many before a pause and after it.
    fn device(before: i64, after: i64) -> Vec<DeviceOps> {
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
        builder.take(chunk);
        DeviceOps::all(&builder.finish(), &[])
    }

    #[test]
    fn the_side_that_holds_more_work_is_judged() {
        let mut devices = device(5, 120);
        let pause = cut(&mut devices).unwrap();
        assert_eq!((pause.start, pause.end), (90, 100 + PAUSE_NS));
        assert_eq!(devices[0].window, Interval::new(100 + PAUSE_NS, 2_490 + PAUSE_NS));
        let mut devices = device(120, 5);
        assert!(cut(&mut devices).is_some());
        assert_eq!(devices[0].window, Interval::new(0, 2_390));
    }

    #[test]
    fn a_pause_beside_little_or_much_else_parts_nothing() {
        assert_eq!(cut(&mut device(5, 99)), None);
        assert_eq!(cut(&mut device(5, 600)), None);
        assert_eq!(cut(&mut device(0, 120)), None);
    }
}
