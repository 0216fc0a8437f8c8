//! Which thread asks for the work of a device.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{DeviceOps, OpKind};
use crate::timeline::{NONE, Timeline};

/// How many operations of a device each thread launches.
pub fn launch_counts(timeline: &Timeline, device: &DeviceOps) -> BTreeMap<u32, usize> {
    let mut launches: BTreeMap<u32, usize> = BTreeMap::new();
    // Mostly a thread launches many in a row.
    let mut row = (NONE, 0);
    let mut settle = |(thread, count): (u32, usize)| {
        if thread != NONE {
            *launches.entry(thread).or_default() += count;
        }
    };
    for op in device.in_window().filter(|op| op.kind != OpKind::Migration) {
        let thread = op.call(timeline).and_then(|call| timeline.api.thread.get(call as usize));
        let thread = thread.copied().unwrap_or(NONE);
        if thread != row.0 {
            settle(std::mem::replace(&mut row, (thread, 0)));
        }
        row.1 += 1;
    }
    settle(row);
    launches
}

/// The thread that launches most operations of a device; of several, the first.
pub fn main_thread(timeline: &Timeline, device: &DeviceOps) -> Option<u32> {
    let launches = launch_counts(timeline, device);
    launches.into_iter().max_by_key(|(thread, count)| (*count, Reverse(*thread))).map(|(thread, _)| thread)
}
