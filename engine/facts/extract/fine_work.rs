//! Work that is cut too fine: rows of short operations, many of them copies, too small for what each costs to start.

use super::stats::{clamped, median};
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::Timeline;
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// A kernel, a memset or a copy within the device no longer than this is short: about what a launch costs the host.
const SHORT_NS: i64 = 10_000;
/// A copy no larger than this is small: starting it costs more than moving it.
const SMALL_BYTES: i64 = 65_536;
/// Operations further apart than this are not in one row.
const APART_NS: i64 = 50_000;
/// Fewer operations make no row.
const ENOUGH: usize = 20;
/// With fewer copies between host and device than one in this many, a row is one of kernels: a storm.
const OF_COPIES: usize = 5;
/// Copies within the device are no pieces of one unless they are this part of a row: programs copy between kernels all the time.
const OF_DEVICE_COPIES: usize = 2;

/// The rows of one device.
#[derive(Debug, Default)]
struct Rows {
    /// From the first start to the last end of each, clipped to the window.
    parts: Union,
    op_count: i64,
    kernel_count: i64,
    /// Bytes of the copies between host and device, and of those within the device where a row is mostly these.
    sizes: Vec<i64>,
    /// Bytes of those of them that stay within the device, and when these run.
    device_copy_bytes: i128,
    device_copies: Vec<Interval>,
    /// When all of them run.
    copies: Vec<Interval>,
    longest: Option<Interval>,
}

impl Rows {
    fn find(timeline: &Timeline, device: &DeviceContext) -> Self {
        let mut rows = Self::default();
        let mut row: Vec<Op> = Vec::new();
        let mut last_end = i64::MIN;
        for op in device.ops.in_window() {
            if !is_short(timeline, op) {
                rows.close(timeline, &mut row, device.window());
                last_end = i64::MIN;
                continue;
            }
            if op.start.saturating_sub(last_end) > APART_NS {
                rows.close(timeline, &mut row, device.window());
            }
            row.push(op);
            last_end = last_end.max(op.end);
        }
        rows.close(timeline, &mut row, device.window());
        rows
    }

    fn close(&mut self, timeline: &Timeline, row: &mut Vec<Op>, window: Interval) {
        if row.len() < ENOUGH {
            return row.clear();
        }
        let count =
            |bytes: fn(&Timeline, Op) -> Option<i64>| row.iter().filter(|op| bytes(timeline, **op).is_some()).count();
        let is_of_device = count(device_copy_bytes) * OF_DEVICE_COPIES >= row.len();
        if is_of_device || count(host_copy_bytes) * OF_COPIES >= row.len() {
            let end = row.iter().map(|op| op.end).max().unwrap_or(0);
            let whole = Interval::new(row[0].start, end).clip(window);
            self.op_count += row.len() as i64;
            self.longest = self.longest.filter(|longest| longest.len_ns() >= whole.len_ns()).or(Some(whole));
            self.parts.push(whole);
            for op in row.iter() {
                self.kernel_count += i64::from(op.kind == OpKind::Kernel);
                let of_device = device_copy_bytes(timeline, *op).filter(|_| is_of_device);
                if let Some(bytes) = of_device {
                    self.device_copy_bytes += i128::from(bytes);
                    self.device_copies.push(op.interval().clip(window));
                }
                if let Some(bytes) = host_copy_bytes(timeline, *op).or(of_device) {
                    self.sizes.push(bytes);
                    self.copies.push(op.interval().clip(window));
                }
            }
        }
        row.clear();
    }
}

/// The size of a copy between host and device; `None` of other operations.
fn host_copy_bytes(timeline: &Timeline, op: Op) -> Option<i64> {
    copy_bytes(timeline, op, &[Direction::HostToDevice, Direction::DeviceToHost])
}

/// The size of a copy within a device; `None` of other operations.
fn device_copy_bytes(timeline: &Timeline, op: Op) -> Option<i64> {
    copy_bytes(timeline, op, &[Direction::DeviceToDevice])
}

fn copy_bytes(timeline: &Timeline, op: Op, directions: &[Direction]) -> Option<i64> {
    let copies = &timeline.copies;
    let direction = copies.direction.get(op.index as usize).filter(|_| op.kind == OpKind::Copy)?;
    directions.contains(direction).then(|| copies.bytes[op.index as usize])
}

fn is_short(timeline: &Timeline, op: Op) -> bool {
    match op.kind {
        OpKind::Kernel | OpKind::Memset => op.end - op.start <= SHORT_NS,
        // Those within the device are small as well: what is large is no piece, however fast its memory is.
        OpKind::Copy => match (host_copy_bytes(timeline, op), device_copy_bytes(timeline, op)) {
            (Some(bytes), _) => bytes <= SMALL_BYTES,
            (None, Some(bytes)) => bytes <= SMALL_BYTES && op.end - op.start <= SHORT_NS,
            (None, None) => op.end - op.start <= SHORT_NS,
        },
        OpKind::Graph | OpKind::Communication | OpKind::Migration => false,
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let mut rows = Rows::find(context.timeline, device);
    let length = rows.parts.len_ns();
    let bytes_up = |op: Op| copy_bytes(context.timeline, op, &[Direction::HostToDevice]);
    let uploads = device.ops.copies_in_window().filter_map(bytes_up);
    facts.set("small_upload_count", uploads.filter(|bytes| *bytes <= SMALL_BYTES).count() as i64);
    facts.set("fine_work_count", rows.op_count);
    facts.set("fine_work_ns", length);
    facts.set("fine_work_idle_ns", length - device.tally.busy.common_ns(&rows.parts));
    facts.set("fine_kernel_count", rows.kernel_count);
    facts.set("fine_copy_count", rows.sizes.len() as i64);
    facts.set("fine_copy_bytes", clamped(rows.sizes.iter().map(|bytes| i128::from(*bytes)).sum()));
    facts.set("fine_device_copy_count", rows.device_copies.len() as i64);
    facts.set("fine_device_copy_bytes", clamped(rows.device_copy_bytes));
    let alone_ns = |copies: Vec<Interval>| {
        let copies = Union::of(copies);
        copies.len_ns() - copies.common_ns(&device.tally.kernels_run)
    };
    facts.set("fine_copy_exposed_ns", alone_ns(rows.copies));
    facts.set("fine_device_copy_exposed_ns", alone_ns(rows.device_copies));
    facts.set_some("fine_copy_median_bytes", median(&mut rows.sizes));
    if let Some(longest) = rows.longest {
        facts.set("fine_work_longest_ns", longest.len_ns());
        facts.set("fine_work_longest_start_ns", longest.start);
    }
}
