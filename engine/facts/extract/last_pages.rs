//! Pages of unified memory that still move when all work that the program launched is done: the host works on results. No device waits
//! for anything then.

use crate::ledger::{DeviceOps, OpKind};
use crate::timeline::interval::Interval;

/// Less of a window than this is no matter.
const LEAST_SHARE: f64 = 0.1;

/// Ends the windows with the last operation that a call asked for, on any device, where migrations alone take a good part of them after
/// it. Tells from when to when these go on; `None` where there are none.
pub(super) fn cut(devices: &mut [DeviceOps]) -> Option<Interval> {
    let launched =
        |device: &DeviceOps| device.in_window().filter(|op| op.kind != OpKind::Migration).map(|op| op.end).max();
    let end = devices.iter().filter_map(launched).max()?;
    let is_long = |device: &&mut DeviceOps| {
        let window = device.window;
        let rest = window.end.saturating_sub(end.max(window.start));
        rest > 0 && rest as f64 >= LEAST_SHARE * window.len_ns() as f64
    };
    let mut last = end;
    for device in devices.iter_mut().filter(is_long) {
        let window = device.window;
        // A device on which nothing else ran keeps its window: there is no other.
        if window.start < end {
            last = last.max(window.end);
            device.narrow(Interval::new(window.start, end));
        }
    }
    (last > end).then(|| Interval::new(end, last))
}
