//! Nodes of a backward pass through a backward pass: the program differentiates twice.

use super::DeviceContext;
use super::framework::BACKWARD_NODE;
use crate::facts::Entity;
use crate::timeline::Timeline;
use crate::timeline::columns::{Label, RangeKind};

/// How PyTorch ends the names of these nodes, but for a number.
const TWICE: &str = "BackwardBackward";

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let is_node = |label: &Label| {
        let name = timeline.name(label.name);
        let is_twice = || name.trim_end_matches(|letter: char| letter.is_ascii_digit()).ends_with(TWICE);
        label.kind != RangeKind::PythonFrame && name.starts_with(BACKWARD_NODE) && is_twice()
    };
    let is_node: Vec<bool> = timeline.ranges.labels.iter().map(is_node).collect();
    if !is_node.contains(&true) {
        return;
    }
    let own = timeline.ranges.threads.iter().filter(|ranges| device.is_of(timeline.process_of(ranges.thread)));
    let nodes = own.flat_map(|ranges| ranges.labelled(&is_node));
    let nodes = nodes.filter(|times| times.overlap_ns(device.window()) > 0);
    let count = nodes.count() as i64;
    facts.set_some("second_derivative_node_count", (count > 0).then_some(count));
}
