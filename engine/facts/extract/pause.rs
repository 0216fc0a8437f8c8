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
