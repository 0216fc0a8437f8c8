//! Recurrent cells that a loop calls one element of a sequence at a time, where a layer of a library does all of them.

use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// Operators of PyTorch that compute one element of a sequence, and those that compute all of it, which call the first where cuDNN
/// cannot.
const CELLS: [(&str, &str); 4] = [
    ("aten::lstm_cell", "aten::lstm"),
    ("aten::gru_cell", "aten::gru"),
    ("aten::rnn_tanh_cell", "aten::rnn_tanh"),
    ("aten::rnn_relu_cell", "aten::rnn_relu"),
];

/// Which of them threads call within an interval, outside of any layer of its kind, and how often; absent where none is called.
pub fn looped_cells(
    timeline: &Timeline,
    is_own: impl Fn(u32) -> bool,
    within: Interval,
) -> Option<(&'static str, usize)> {
    let labels = &timeline.ranges.labels;
    for (cell, layer) in CELLS {
        let is_of = |operator| labels.iter().map(move |label| is_operator(timeline.name(label.name), operator));
        let is_cell: Vec<bool> = is_of(cell).collect();
        if !is_cell.contains(&true) || is_of(layer).any(|is_layer| is_layer) {
            continue;
        }
        let own = timeline.ranges.threads.iter().filter(|ranges| is_own(ranges.thread));
        let cells = own.flat_map(|ranges| ranges.labelled(&is_cell));
        let count = cells.filter(|times| times.overlap_ns(within) > 0).count();
        if count > 0 {
            return Some((cell, count));
        }
    }
    None
}

/// Whether a range is of an operator: behind the name of one its arguments may follow.
fn is_operator(name: &str, operator: &str) -> bool {
    name.strip_prefix(operator).is_some_and(|rest| rest.is_empty() || rest.starts_with([',', ' ']))
}
