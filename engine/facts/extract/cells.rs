//! Facts of recurrent cells that a loop calls one element of a sequence at a time.

use super::DeviceContext;
use crate::facts::Entity;
use crate::timeline::Timeline;

/// Operators of PyTorch that compute one element of a sequence, and those that compute all of it, which call the first where cuDNN
/// cannot.
const CELLS: [(&str, &str); 4] = [
    ("aten::lstm_cell", "aten::lstm"),
    ("aten::gru_cell", "aten::gru"),
    ("aten::rnn_tanh_cell", "aten::rnn_tanh"),
    ("aten::rnn_relu_cell", "aten::rnn_relu"),
];

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let labels = &timeline.ranges.labels;
    for (cell, layer) in CELLS {
        let is_of = |operator| labels.iter().map(move |label| is_operator(timeline.name(label.name), operator));
        let is_cell: Vec<bool> = is_of(cell).collect();
        if !is_cell.contains(&true) || is_of(layer).any(|is_layer| is_layer) {
            continue;
        }
        let threads = timeline.ranges.threads.iter();
        let own = threads.filter(|ranges| device.is_of(timeline.process_of(ranges.thread)));
        let count = own.flat_map(|ranges| ranges.times.iter().zip(&ranges.label)).filter(|(times, label)| {
            is_cell.get(**label as usize) == Some(&true) && times.overlap_ns(device.window()) > 0
        });
        let count = count.count();
        if count > 0 {
            facts.set("recurrent_cell_count", count as i64);
            facts.set("recurrent_cell", cell);
            return;
        }
    }
}

/// Whether a range is of an operator: behind the name of one its arguments may follow.
fn is_operator(name: &str, operator: &str) -> bool {
    name.strip_prefix(operator).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ' ']))
}
