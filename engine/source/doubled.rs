//! Operations of a GPU that a recording holds more than once: no stream runs two of one call at the same time.

use crate::timeline::columns::GpuOps;
use crate::timeline::{NONE, Timeline};

/// Kernels and copies that begin and end, on the same stream, when the first that their call started does. Those of no known call
/// are not looked at, nor of a graph more than the first.
pub(super) fn count(timeline: &Timeline) -> u64 {
    let mut first = vec![NONE; timeline.api.times.len()];
    let mut count = 0;
    for ops in [&timeline.kernels.ops, &timeline.copies.ops] {
        first.fill(NONE);
        count += of(ops, &mut first);
    }
    count
}

/// `first` is for each call the first operation that it started, where one was seen.
fn of(ops: &GpuOps, first: &mut [u32]) -> u64 {
    let mut count = 0;
    for (op, call) in (0_u32..).zip(&ops.call) {
        let Some(first) = first.get_mut(*call as usize) else { continue };
        if *first == NONE {
            *first = op;
            continue;
        }
        let [one, other] = [*first as usize, op as usize];
        let is_again = ops.times.at(one) == ops.times.at(other) && ops.stream[one] == ops.stream[other];
        count += u64::from(is_again);
    }
    count
}
