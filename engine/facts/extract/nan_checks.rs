//! Facts of a backward pass whose nodes are looked through for NaN one by one, as autograd's anomaly detection does.

use foldhash::HashMap;

use super::DeviceContext;
use super::framework::BACKWARD_NODE;
use crate::facts::Entity;
use crate::ledger::Op;
use crate::timeline::columns::{Label, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{ThreadRanges, Timeline};

/// What looks for NaN, and what reads the answer back.
const TEST: &str = "aten::isnan";
const ANSWER: &str = "aten::item";

/// What a range is to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Node,
    Test,
    Answer,
    Other,
}

impl Role {
    fn of(timeline: &Timeline, label: &Label) -> Self {
        match timeline.name(label.name) {
            _ if label.kind == RangeKind::PythonFrame => Self::Other,
            TEST => Self::Test,
            ANSWER => Self::Answer,
            name if name.starts_with(BACKWARD_NODE) => Self::Node,
            _ => Self::Other,
        }
    }
}

/// The nodes of a backward pass.
#[derive(Debug, Default)]
struct Checks {
    node_count: i64,
    /// Those in which a result is tested, and the answer read back.
    checked_count: i64,
    /// From the test to the answer: of each check, in time order.
    parts: Vec<Interval>,
}

impl Checks {
    fn add(&mut self, ranges: &ThreadRanges, roles: &[Role], window: Interval) {
        let (mut node_end, mut is_checked, mut test): (i64, bool, Option<i64>) = (i64::MIN, false, None);
        for (times, label) in ranges.times.iter().zip(&ranges.label).filter(|(times, _)| times.overlap_ns(window) > 0) {
            match roles.get(*label as usize) {
                Some(Role::Node) if times.start >= node_end => {
                    self.node_count += 1;
                    (node_end, is_checked, test) = (times.end, false, None);
                }
                Some(Role::Test) if times.end <= node_end => test = test.or(Some(times.start)),
                Some(Role::Answer) if times.end <= node_end => {
                    let Some(begun) = test.take() else { continue };
                    self.parts.push(Interval::new(begun, times.end));
                    self.checked_count += i64::from(!is_checked);
                    is_checked = true;
                }
                _ => {}
            }
        }
    }
}

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let roles: Vec<Role> = timeline.ranges.labels.iter().map(|label| Role::of(timeline, label)).collect();
    if ![Role::Node, Role::Test, Role::Answer].iter().all(|role| roles.contains(role)) {
        return;
    }
    let (mut node_count, mut checked_count, mut by_thread) = (0, 0, HashMap::default());
    let threads = timeline.ranges.threads.iter();
    for ranges in threads.filter(|ranges| device.is_of(timeline.process_of(ranges.thread))) {
        let mut checks = Checks::default();
        checks.add(ranges, &roles, device.window());
        node_count += checks.node_count;
        checked_count += checks.checked_count;
        by_thread.insert(ranges.thread, Union::of(checks.parts));
    }
    if checked_count > 0 {
        let sum_ns = by_thread.values().map(|parts| parts.overlap_ns(device.window())).fold(0, i64::saturating_add);
        facts.set("backward_node_count", node_count);
        facts.set("nan_checked_node_count", checked_count);
        facts.set("nan_check_ns", sum_ns);
        facts.set("nan_check_busy_ns", busy_ns(timeline, device, &by_thread));
    }
}

/// How long runs what was launched in these parts of the threads' time.
pub(super) fn busy_ns(timeline: &Timeline, device: &DeviceContext, by_thread: &HashMap<u32, Union>) -> i64 {
    let is_launched = |op: &Op| {
        let call = op.call(timeline)? as usize;
        let parts = by_thread.get(timeline.api.thread.get(call)?)?;
        let at = timeline.api.times.get(call)?.start;
        Some(parts.overlap_ns(Interval::new(at, at + 1)) > 0)
    };
    let ops = device.ops.in_window().filter(|op| is_launched(op).unwrap_or(false));
    ops.map(|op| op.interval().clip(device.window()).len_ns()).fold(0, i64::saturating_add)
}
