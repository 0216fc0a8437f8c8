//! Which processes run work on a device.

use std::collections::BTreeSet;

use crate::ledger::{DeviceOps, Op};
use crate::timeline::Timeline;

/// The processes that run work in the window; in a window without work, those that run any at all.
pub(super) fn of(timeline: &Timeline, ops: &DeviceOps) -> Vec<u32> {
    let in_window = among(timeline, ops.in_window());
    if in_window.is_empty() { among(timeline, ops.all_ops()) } else { in_window }
}

fn among(timeline: &Timeline, ops: impl Iterator<Item = Op>) -> Vec<u32> {
    let mut seen = vec![false; timeline.streams.len()];
    for op in ops {
        if let Some(seen) = seen.get_mut(op.stream(timeline) as usize) {
            *seen = true;
        }
    }
    let used = timeline.streams.iter().zip(seen).filter(|(_, seen)| *seen).map(|(stream, _)| stream.process);
    used.collect::<BTreeSet<u32>>().into_iter().collect()
}
