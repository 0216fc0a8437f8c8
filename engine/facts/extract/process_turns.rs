//! Processes that take turns at a device: without MPS it gives each a slice of its time, and their kernels never run side by side.

use std::collections::BTreeMap;

use super::locked_turns::warp_shares;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::columns::Direction;
use crate::timeline::union::Union;
use crate::timeline::{NONE, Timeline};

/// With more processes on a device they are not held against each other.
const MOST_PROCESSES: usize = 64;

/// What the processes of a device ran.
#[derive(Default)]
struct Tally {
    busy: BTreeMap<u32, Union>,
    /// What computes: copies run beside the kernels of another process whoever has the SMs.
    computing: BTreeMap<u32, Union>,
    /// Kernels that were asked for before an operation of another process ended, and begin after it.
    turn_count: i64,
    /// By what they take of the warps of the device, and by direction of the link.
    kernels_ns: f64,
    to_device_ns: i64,
    to_host_ns: i64,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !(2..=MOST_PROCESSES).contains(&device.processes.len()) {
        return;
    }
    let timeline = context.timeline;
    let shares = warp_shares(timeline, device.properties(timeline));
    let mut tally = Tally::default();
    let mut last: Option<(u32, i64)> = None;
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        // One whose process is not known may be of any: nothing is told then.
        let process = timeline.process_of_stream(op.stream(timeline));
        if process == NONE {
            return;
        }
        tally.add(timeline, device, &shares, op, process);
        if last.is_some_and(|(of, end)| of != process && is_turn(timeline, op, end)) {
            tally.turn_count += 1;
        }
        if last.is_none_or(|(_, end)| op.end >= end) {
            last = Some((process, op.end));
        }
    }
    if tally.busy.len() > 1 {
        tally.set(facts);
    }
}

/// Whether a kernel had been asked for before something ended, and began no earlier than that.
fn is_turn(timeline: &Timeline, op: Op, end: i64) -> bool {
    let asked = op.call(timeline).map(|call| timeline.api.times.end(call as usize));
    op.kind.is_compute() && op.start >= end && asked.is_some_and(|asked| asked < end)
}

impl Tally {
    fn add(&mut self, timeline: &Timeline, device: &DeviceContext, shares: &[f64], op: Op, process: u32) {
        let part = op.interval().clip(device.window());
        self.busy.entry(process).or_default().push(part);
        if op.kind.is_compute() {
            self.computing.entry(process).or_default().push(part);
        }
        match (op.kind, timeline.copies.direction.get(op.index as usize)) {
            (OpKind::Kernel | OpKind::Communication, _) => {
                let shape = timeline.kernels.shape.get(op.index as usize);
                let share = shape.and_then(|shape| shares.get(*shape as usize)).copied();
                self.kernels_ns += part.len_ns() as f64 * share.unwrap_or(1.0);
            }
            (OpKind::Graph, _) => self.kernels_ns += part.len_ns() as f64,
            (OpKind::Copy, Some(Direction::HostToDevice)) => {
                self.to_device_ns = self.to_device_ns.saturating_add(part.len_ns())
            }
            (OpKind::Copy, Some(Direction::DeviceToHost)) => {
                self.to_host_ns = self.to_host_ns.saturating_add(part.len_ns());
            }
            _ => {}
        }
    }

    fn set(self, facts: &mut Entity) {
        let longest_ns = self.busy.values().map(Union::len_ns).max().unwrap_or(0);
        let together_ns = Union::of(self.busy.values().flat_map(Union::parts)).len_ns();
        let floor_ns = longest_ns.max(self.kernels_ns as i64).max(self.to_device_ns).max(self.to_host_ns);
        facts.set("process_turn_count", self.turn_count);
        let computing_ns = self.computing.values().map(Union::len_ns).fold(0, i64::saturating_add);
        let computing_together_ns = Union::of(self.computing.values().flat_map(Union::parts)).len_ns();
        facts.set("process_concurrent_ns", computing_ns.saturating_sub(computing_together_ns).max(0));
        facts.set("process_turn_ns", together_ns.saturating_sub(floor_ns).max(0));
    }
}
