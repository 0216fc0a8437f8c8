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
    // Behind an operator's name its arguments may follow.
    let operator = |name: &'_ str| name.split(',').next().unwrap_or_default().trim_end().to_owned();
    let labels = &timeline.ranges.labels;
    let names: Vec<String> = labels.iter().map(|label| operator(timeline.name(label.name))).collect();
    for (cell, layer) in CELLS {
        let is_cell: Vec<bool> = names.iter().map(|name| name == cell).collect();
        if !is_cell.contains(&true) || names.iter().any(|name| name == layer) {
            continue;
        }
        let threads = timeline.ranges.threads.iter();
        let own = threads.filter(|ranges| device.processes.contains(&timeline.process_of(ranges.thread)));
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
