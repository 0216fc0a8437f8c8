//! What recording costs the host, by its launches.

use super::record::Call;
use crate::timeline::api::ApiClass;

/// A launch takes so long without a profiler, docs/gains.md.
const BARE_LAUNCH_NS: i64 = 2_500;
/// What a call costs at least, as tight loops of C++ pay under Nsight Systems, and at most, as was seen.
pub(super) const LEAST_COST_NS: i64 = 1_200;
/// On a host that launches faster than those that were measured, recording is as much faster: no more than this share of a launch.
const LEAST_COST_SHARE: f64 = 0.4;
pub(super) const MOST_COST_NS: i64 = 8_000;
/// So few launches tell nothing, nor do those that are rare among other calls.
const MIN_LAUNCH_COUNT: usize = 20;
const MAX_CALLS_PER_LAUNCH: usize = 20;

/// What recording a call costs, where launches are recorded to take as long as they do here; nanoseconds.
pub(super) fn recording_cost_ns(calls: &[Call]) -> Option<i64> {
    let is_launch = |call: &Call| call.class == ApiClass::Launch && call.traced_count == 1 && call.op_count <= 1;
    // A launch after a wait is slow without the profiler as well.
    let in_row = calls.windows(2).filter(|pair| {
        let waits = matches!(
            pair[0].class,
            ApiClass::Wait(_) | ApiClass::Query | ApiClass::CopyBlocking | ApiClass::CopyAsync | ApiClass::Allocate
        );
        is_launch(&pair[1]) && pair[0].thread == pair[1].thread && !waits
    });
    let mut launches: Vec<i64> = in_row.map(|pair| pair[1].end - pair[1].start).collect();
    if launches.len() < MIN_LAUNCH_COUNT.max(calls.len() / MAX_CALLS_PER_LAUNCH) {
        return None;
    }
    let at = launches.len() / 2;
    let median_ns = *launches.select_nth_unstable(at).1;
    let least_ns = LEAST_COST_NS.min((median_ns as f64 * LEAST_COST_SHARE) as i64);
    Some((median_ns - BARE_LAUNCH_NS).clamp(least_ns, MOST_COST_NS))
}

/// Whether the host computes for longer than it launches: its launches tell little of what recording costs it then, which may be nothing.
pub(super) fn works_itself(calls: &[Call]) -> bool {
    let of_launches = calls.iter().filter(|call| call.class == ApiClass::Launch);
    let launching_ns: i64 = of_launches.map(|call| call.end - call.start).sum();
    calls.iter().map(|call| call.long_operators_ns).sum::<i64>() > launching_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::NONE;

    fn launches(count: i64, ns: i64) -> Vec<Call> {
        let launch = |index: i64| Call {
            start: 100_000 * index,
            end: 100_000 * index + ns,
            thread: 0,
            class: ApiClass::Launch,
            blocked_before_ns: 0,
            loading_before_ns: 0,
            cpu_operators_ns: 0,
            long_operators_ns: 0,
            is_of_optimizer: false,
            is_of_gradient: false,
            memory: None,
            brings_code: false,
            asks: false,
            traced_count: 1,
            operator_count: 0,
            frame_count: 0,
            profiler_before_ns: 0,
            first_op: NONE,
            op_count: 1,
        };
        (0..count).map(launch).collect()
    }

    #[test]
    fn recording_costs_more_on_a_host_whose_launches_take_longer() {
        let cost = |count, ns| recording_cost_ns(&launches(count, ns));
        assert_eq!(cost(100, 3_000), Some(LEAST_COST_NS));
        assert_eq!(cost(100, 2_000), Some(800), "a fast host records as fast");
        assert_eq!(cost(100, 6_500), Some(4_000));
        assert_eq!(cost(100, 50_000), Some(MOST_COST_NS), "no more than was seen");
        assert_eq!(cost(10, 6_500), None, "a few launches tell nothing");
        let mut unlike = launches(100, 4_500);
        unlike[..40].iter_mut().for_each(|call| call.end += 50_000);
        assert_eq!(cost(100, 4_500), recording_cost_ns(&unlike), "what some of them wait for is not the profiler's");
    }

    #[test]
    fn a_host_that_computes_for_longer_than_it_launches_may_lose_nothing_to_recording() {
        let mut calls = launches(100, 5_000);
        calls[50].long_operators_ns = 500_000;
        assert!(!works_itself(&calls), "as long as launching");
        calls[60].long_operators_ns = 1;
        assert!(works_itself(&calls));
    }
}
