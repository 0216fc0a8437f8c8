//! Storms: stretches of short kernels launched back to back.

use foldhash::HashMap;

use super::by_index::ByIndex;
use crate::ledger::{DeviceOps, Op, OpKind};
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::union::{RunningLength, Union};
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

/// Short kernels that follow each other, which are a storm once they are enough.
struct Row {
    count: usize,
    /// From the first start to the last end.
    whole: Interval,
    /// When one of them runs, within the window.
    busy: RunningLength,
    /// The names of the first of them, until they are enough.
    names: Vec<NameId>,
    /// How many durations are those of earlier rows.
    earlier: usize,
}

impl Storms {
    pub(super) fn find(timeline: &Timeline, device: &DeviceOps) -> Self {
        let mut storms = Self::default();
        let mut names: ByIndex<i64> = ByIndex::default();
        let mut row: Option<Row> = None;
        let mut last_end = i64::MIN;
        for op in device.in_window().filter(|op| !is_filler(timeline, *op)) {
            let is_short = op.kind == OpKind::Kernel && op.end - op.start <= SHORT_NS;
            if !is_short || op.start.saturating_sub(last_end) > APART_NS {
                storms.close(row.take(), device.window);
            }
            if is_short {
                let name = timeline.kernels.shape_of(op.index).name;
                let row = row.get_or_insert_with(|| Row::new(op, storms.durations.len()));
                storms.durations.push((op.end - op.start) as u32);
                row.add(op, device.window);
                row.count_name(name, &mut names);
                last_end = row.whole.end;
            } else {
                last_end = last_end.max(op.end);
            }
        }
        storms.close(row.take(), device.window);
        storms.names = names.into_list().into_iter().collect();
        storms
    }

    fn close(&mut self, row: Option<Row>, window: Interval) {
        let Some(row) = row else { return };
        if row.count < ENOUGH {
            self.durations.truncate(row.earlier);
            return;
        }
        let whole = row.whole.clip(window);
        self.busy_ns += row.busy.len_ns();
        self.count += 1;
        self.kernel_count += row.count as i64;
        self.longest = self.longest.filter(|longest| longest.len_ns() >= whole.len_ns()).or(Some(whole));
        self.parts.push(whole);
    }
}

impl Row {
    fn new(first: Op, earlier: usize) -> Self {
        Self { count: 0, whole: first.interval(), busy: RunningLength::default(), names: Vec::new(), earlier }
    }

    /// Adds a kernel that does not start before the last one.
    fn add(&mut self, op: Op, window: Interval) {
        self.count += 1;
        self.whole.end = self.whole.end.max(op.end);
        self.busy.push(op.interval().clip(window));
    }

    fn count_name(&mut self, name: NameId, counts: &mut ByIndex<i64>) {
        if self.count < ENOUGH {
            return self.names.push(name);
        }
        for name in self.names.drain(..).chain([name]) {
            *counts.of(name, || 0) += 1;
        }
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
