//! What communication that runs beside computing wins of programs that are written by hand.

use coldspot::replay::Change;

use super::trace::{KERNEL_US, STEP_COUNT, Trace};

#[test]
fn communication_in_two_streams_at_once_is_won_once() {
    let mut trace = Trace::default();
    for step in 0..3 {
        let begin = trace.host_us;
        trace.launch("filter_kernel", KERNEL_US);
        let at = trace.gpu_us;
        for stream in [13, 17] {
            trace.gpu_us = at;
            trace.ask("cudaLaunchKernel", "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream, KERNEL_US);
        }
        trace.wait();
        trace.step(step, begin);
    }
    let (gain, step_ns) = trace.gain(Change::OverlapCommunication);
    assert!(step_ns > 200_000 && gain.ceiling_ns > 50_000, "{gain:?} of {step_ns}");
    assert!(gain.ceiling_ns <= 115_000, "{gain:?} of {step_ns}");
}

/// Steps of a kernel and communication that waits for it: how long that of the first takes, and that of others.
fn reductions(first_us: f64, others_us: f64) -> Trace {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.launch("filter_kernel", KERNEL_US);
        let length = if step == 0 { first_us } else { others_us };
        trace.ask("cudaLaunchKernel", "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 7, length);
        trace.wait();
        trace.step(step, begin);
    }
    trace
}

#[test]
fn communication_is_won_once_beside_other_changes() {
    let (one, step_ns) = reductions(KERNEL_US, KERNEL_US).gain(Change::OverlapCommunication);
    let changes = [Change::OverlapCommunication, Change::FullGrid];
    let (both, _) = reductions(KERNEL_US, KERNEL_US).gain_of(&changes);
    assert!((90_000..=115_000).contains(&one.ceiling_ns), "{one:?} of {step_ns}");
    assert!((one.ceiling_ns..one.ceiling_ns + 5_000).contains(&both.ceiling_ns), "{both:?}, {one:?} of {step_ns}");
    // What waits win comes on top, with the spread of the host.
    let (both, _) = reductions(KERNEL_US, KERNEL_US).gain_of(&[Change::OverlapCommunication, Change::NoSync]);
    assert!((one.ceiling_ns + 1..=135_000).contains(&both.ceiling_ns), "{both:?}, {one:?} of {step_ns}");
    // Only of the steps that are played again.
    let (late, _) = reductions(5.0 * KERNEL_US, KERNEL_US).gain_of(&changes);
    assert!(late.ceiling_ns < one.ceiling_ns + 5_000, "{late:?}, {one:?}");
}

#[test]
fn communication_hides_beside_no_more_than_is_computed() {
    let of = |others_us: f64| reductions(others_us, others_us).gain(Change::OverlapCommunication).0.expected_ns;
    assert!((30_000..=50_000).contains(&of(KERNEL_US)), "{}", of(KERNEL_US));
    assert!((90_000..=101_000).contains(&of(8.0 * KERNEL_US)), "{}", of(8.0 * KERNEL_US));
}
