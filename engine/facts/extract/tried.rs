//! Kernels that a library only tries, to choose the fastest of several.

use foldhash::HashSet;

use super::DeviceContext;
use crate::timeline::{NameId, Timeline};

/// A kernel by which XLA and TensorFlow check what those that they try wrote.
const CHECKER: &str = "redzone_checker";

/// The kernels all of whose launches lie between the first such check and the last; `None` without checks, or where no kernel comes
/// after the last: then the work itself may lie there.
pub(super) fn only_tried(timeline: &Timeline, device: &DeviceContext) -> Option<HashSet<NameId>> {
    let is_checker = timeline.tell_shapes(|name| name.contains(CHECKER));
    if !is_checker.contains(&true) {
        return None;
    }
    let kernels = || device.ops.in_window().filter(|op| op.kind.is_kernel());
    let shape_of = |index: u32| timeline.kernels.shape.get(index as usize).copied();
    let is_check = |index: u32| shape_of(index).and_then(|shape| is_checker.get(shape as usize)) == Some(&true);
    let mut checks = kernels().filter(|op| is_check(op.index));
    let first = checks.next()?.start;
    let last = checks.map(|op| op.start).max().unwrap_or(first);
    let (mut tried, mut others): (HashSet<NameId>, HashSet<NameId>) = Default::default();
    let mut comes_after = false;
    for op in kernels() {
        let name = timeline.kernels.shape_of(op.index).name;
        comes_after |= op.start > last;
        if (first..=last).contains(&op.start) { &mut tried } else { &mut others }.insert(name);
    }
    tried.retain(|name| !others.contains(name));
    comes_after.then_some(tried)
}
