//! Storms: stretches of short kernels launched back to back.

use foldhash::HashMap;

use crate::ledger::{DeviceOps, Op, OpKind};
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// A kernel no longer than this is short: about what a launch costs the host.
const SHORT_NS: i64 = 10_000;
/// Kernels further apart than this are not back to back.
const APART_NS: i64 = 50_000;
/// Fewer kernels in a row are no storm.
const ENOUGH: usize = 20;

/// The storms of one device.
#[derive(Debug, Default)]
pub(super) struct Storms {
    /// From the first start to the last end of each, clipped to the window.
    pub(super) parts: Union,
    pub(super) count: i64,
    pub(super) kernel_count: i64,
    /// Time in which a kernel of a storm runs.
    pub(super) busy_ns: i64,
    /// Durations of the kernels, in nanoseconds: each is short.
    pub(super) durations: Vec<u32>,
    pub(super) longest: Option<Interval>,
    /// Launches by short name.
    pub(super) names: HashMap<NameId, i64>,
}

impl Storms {
    pub(super) fn find(timeline: &Timeline, device: &DeviceOps) -> Self {
        let mut storms = Self::default();
        let mut row: Vec<Op> = Vec::new();
        let mut last_end = i64::MIN;
        for op in device.in_window().filter(|op| !is_filler(timeline, *op)) {
            let is_short = op.kind == OpKind::Kernel && op.end - op.start <= SHORT_NS;
            if !is_short || op.start.saturating_sub(last_end) > APART_NS {
                storms.close(timeline, &mut row, device.window);
            }
            if is_short {
                row.push(op);
            }
            last_end = if row.len() == 1 { op.end } else { last_end.max(op.end) };
        }
        storms.close(timeline, &mut row, device.window);
        storms
    }

    fn close(&mut self, timeline: &Timeline, row: &mut Vec<Op>, window: Interval) {
        if row.len() >= ENOUGH {
            let end = row.iter().map(|op| op.end).max().unwrap_or(0);
            let whole = Interval::new(row[0].start, end).clip(window);
            self.busy_ns += Union::of(row.iter().map(|op| op.interval().clip(window))).len_ns();
            self.count += 1;
            self.kernel_count += row.len() as i64;
            self.durations.extend(row.iter().map(|op| (op.end - op.start) as u32));
            self.longest = self.longest.filter(|longest| longest.len_ns() >= whole.len_ns()).or(Some(whole));
            self.parts.push(whole);
            for op in row.iter() {
                *self.names.entry(timeline.kernels.shape_of(op.index).name).or_default() += 1;
            }
        }
        row.clear();
    }
}

/// What may stand between the kernels of a storm: a memset or a copy within the device as short as they are.
fn is_filler(timeline: &Timeline, op: Op) -> bool {
    let is_light = match op.kind {
        OpKind::Memset => true,
        OpKind::Copy => timeline.copies.direction.get(op.index as usize) == Some(&Direction::DeviceToDevice),
        _ => false,
    };
    is_light && op.end - op.start <= SHORT_NS
}
