//! Gains are told of rounds like all of them, where not all are played again.

use coldspot::replay::Change;

use super::trace::{TO_HOST, Trace};

#[test]
fn rounds_that_are_played_again_are_as_long_as_all_of_them() {
    // A value is read back after each kernel; a quarter of the kernels take five times as long as the others.
    let (long_us, short_us, count) = (500.0, 100.0, 600);
    let mut trace = Trace::default();
    for round in 0..count {
        let is_long = round >= 3 * count / 4;
        trace.launch("sweep", if is_long { long_us } else { short_us });
        trace.copy(TO_HOST, 1.0);
        trace.wait();
    }
    let mean_us = trace.host_us / f64::from(count);
    let (gain, step_ns) = trace.gain(Change::NoSync);
    let step_us = step_ns as f64 / 1e3;
    assert!((0.85..1.05).contains(&(step_us / mean_us)), "{step_us} of {mean_us}");
    // No more than what all of it is idle for, but for what another run may take longer.
    let idle_share = 1.0 - (long_us + 3.0 * short_us) / 4.0 / mean_us;
    let most = gain.ceiling_ns as f64 / step_ns as f64;
    assert!((idle_share * 0.7..idle_share * 1.5).contains(&most), "{most} of {idle_share}");
}
