//! Facts of gradients that ranks reduce, by when the host asks for that.

mod after;
mod again;

use super::collectives::is_all_reduce;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::Timeline;
use crate::timeline::columns::RangeKind;

/// The range of a forward pass whose backward pass reduces the gradients.
const FORWARD: &str = "DistributedDataParallel.forward";
/// How the ranges begin in which a module whose parameters are sharded by themselves gets them before its forward pass: the name of the
/// module stands behind it.
const GATHERED_UNIT: &str = "FSDP::pre_forward (";

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !device.passed(context).has_communication {
        return;
    }
    let is_forward = labels(context.timeline, |name| name == FORWARD);
    if is_forward.contains(&true) {
        facts.set("data_parallel_forward_count", count_of(context.timeline, device, &is_forward));
    }
    let is_unit = labels(context.timeline, |name| name.starts_with(GATHERED_UNIT));
    let unit_count = is_unit.iter().filter(|is_unit| **is_unit).count() as i64;
    if unit_count > 0 && count_of(context.timeline, device, &is_unit) > 0 {
        facts.set("fsdp_unit_count", unit_count);
    }
    again::extract(context, device, facts, &is_forward);
    after::extract(context, device, facts);
}

/// By index of the label, whether the name of its ranges is such a one.
fn labels(timeline: &Timeline, fits: impl Fn(&str) -> bool) -> Vec<bool> {
    let labels = timeline.ranges.labels.iter();
    labels.map(|label| label.kind != RangeKind::PythonFrame && fits(timeline.name(label.name))).collect()
}

/// How many ranges of such labels the processes have that use a device.
fn count_of(timeline: &Timeline, device: &DeviceContext, is_one: &[bool]) -> i64 {
    let own = timeline.ranges.threads.iter().filter(|ranges| device.is_of(timeline.process_of(ranges.thread)));
    own.flat_map(|ranges| ranges.labelled(is_one)).count() as i64
}
