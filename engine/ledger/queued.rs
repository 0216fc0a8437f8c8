//! Launches into a long queue: where the GPU has other work for long after a launch returns, what took the launch long may have been
//! waiting for room, and cost nothing else.

use foldhash::{HashMap, HashSet};

use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// A queue that lasts no longer than this behind a launch says nothing.
const LONG_QUEUE_NS: i64 = 5_000_000;

/// Which of some launches of kernels return for so long before what their stream runs ahead of the kernel has ended.
pub(super) fn far_ahead(timeline: &Timeline, launches: &HashSet<u32>) -> HashSet<u32> {
    let api = &timeline.api.times;
    let ops = &timeline.kernels.ops;
    // By stream, when a kernel begins that waits for long, and its launch, by start.
    let mut late: HashMap<u32, Vec<(i64, u32)>> = HashMap::default();
    for ((call, stream), times) in ops.call.iter().zip(&ops.stream).zip(ops.times.iter()) {
        if *call != NONE && launches.contains(call) && times.start >= queue_end(api.end(*call as usize)) {
            late.entry(*stream).or_default().push((times.start, *call));
        }
    }
    if late.is_empty() {
        return HashSet::default();
    }
    late.values_mut().for_each(|kernels| kernels.sort_unstable());
    // Of what begins before each of them, and not before the one before it, when the last ends.
    let mut ahead: HashMap<u32, Vec<i64>> =
        late.iter().map(|(stream, kernels)| (*stream, vec![i64::MIN; kernels.len()])).collect();
    let mut see = |stream: u32, times: Interval| {
        let Some((kernels, ends)) = late.get(&stream).zip(ahead.get_mut(&stream)) else { return };
        if let Some(end) = ends.get_mut(kernels.partition_point(|(start, _)| *start <= times.start)) {
            *end = times.end.max(*end);
        }
    };
    for ops in [&timeline.kernels.ops, &timeline.copies.ops, &timeline.memsets.ops, &timeline.graphs.ops] {
        ops.stream.iter().zip(ops.times.iter()).for_each(|(stream, times)| see(*stream, times));
    }
    let mut far = HashSet::default();
    for (stream, kernels) in late {
        let mut until = i64::MIN;
        for ((_, call), end) in kernels.iter().zip(&ahead[&stream]) {
            until = until.max(*end);
            if until >= queue_end(api.end(*call as usize)) {
                far.insert(*call);
            }
        }
    }
    far
}

/// From when on it is long.
const fn queue_end(call_end: i64) -> i64 {
    call_end.saturating_add(LONG_QUEUE_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_is_far_ahead_where_its_stream_has_work_for_long() {
        let mut timeline = Timeline::default();
        // Launches end at 1, 2, and 3 ms.
        for end_ms in 1..=3 {
            timeline.api.times.push(Interval::new((end_ms - 1) * 1_000_000, end_ms * 1_000_000));
        }
        let mut kernel = |call, stream, start_us: i64, end_us: i64| {
            timeline.kernels.ops.call.push(call);
            timeline.kernels.ops.stream.push(stream);
            timeline.kernels.ops.times.push(Interval::new(start_us * 1_000, end_us * 1_000));
        };
        kernel(NONE, 0, 0, 6_000);
        kernel(0, 0, 7_000, 7_010);
        kernel(NONE, 1, 0, 6_999);
        kernel(1, 1, 9_000, 9_010);
        kernel(2, 2, 9_000, 9_010);
        let of = |launches: &[u32]| {
            let far = far_ahead(&timeline, &launches.iter().copied().collect());
            let mut far: Vec<u32> = far.into_iter().collect();
            far.sort_unstable();
            far
        };
        assert_eq!(of(&[0, 1, 2]), [0], "the second has work for just less, the last waits behind nothing");
        assert_eq!(of(&[1, 2]), [0_u32; 0]);
    }
}
