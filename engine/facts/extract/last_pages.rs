//! Pages of unified memory that still move when all work that the program asked for is done: the host works on results. No device waits
//! for anything then.

use crate::ledger::{DeviceOps, Op, OpKind};
use crate::timeline::Timeline;
use crate::timeline::columns::{Direction, MigrationCause};
use crate::timeline::interval::Interval;

/// A smaller part of a window than this is no matter.
const LEAST_SHARE: f64 = 0.01;

/// What moves back to the host behind all work that the program asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastPages {
    /// From the end of that work to the last migration.
    pub(super) times: Interval,
    /// Migrations in that time.
    pub(super) count: i64,
    /// How long they take, summed.
    pub(super) moved_ns: i64,
}

/// Ends the windows with the last operation that a call asked for, on any device, where migrations to the host alone take a hundredth of a
/// window or more after it. Tells for each device what they are; `None` where there are none.
pub(super) fn cut(timeline: &Timeline, devices: &mut [DeviceOps]) -> Vec<Option<LastPages>> {
    let migrations = &timeline.migrations;
    if migrations.ops.is_empty() {
        return vec![None; devices.len()];
    }
    let cause = |op: &Op| migrations.cause.get(op.index as usize);
    let is_back = |op: &Op| migrations.direction.get(op.index as usize) == Some(&Direction::DeviceToHost);
    let is_asked =
        |op: &Op| op.kind != OpKind::Migration || cause(op) == Some(&MigrationCause::Prefetch) || !is_back(op);
    let last = |device: &DeviceOps| device.in_window().filter(is_asked).map(|op| op.end).max();
    let Some(end) = devices.iter().filter_map(last).max() else { return vec![None; devices.len()] };
    let cut = |device: &mut DeviceOps| {
        let window = device.window;
        // A device on which nothing else ran keeps its window: there is no other.
        let rest = Interval::new(end, window.end.max(end));
        let is_long = rest.len_ns() > 0 && rest.len_ns() as f64 >= LEAST_SHARE * window.len_ns() as f64;
        (is_long && window.start < end).then(|| {
            let moves = device.in_window().filter(|op| op.start >= end).map(|op| op.interval().len_ns());
            let (count, moved_ns) = moves.fold((0, 0_i64), |(count, sum), ns| (count + 1, sum.saturating_add(ns)));
            device.narrow(Interval::new(window.start, end));
            LastPages { times: rest, count, moved_ns }
        })
    };
    devices.iter_mut().map(cut).collect()
}
