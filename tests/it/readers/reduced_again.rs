//! Gradients that are reduced in each of several backward passes before one step of the optimizer.

use coldspot::facts::EntityKind;

use super::kineto::facts;
use crate::support::trace::{DEVICE, Launches, host_event};

/// How many times and for how many bytes each pass of a step reduces.
type Reductions = &'static [&'static [i64]];

/// Each of three passes reduces the same two buckets.
const EACH: Reductions = &[&[4096, 1024], &[4096, 1024], &[4096, 1024]];

/// What else the host does in a step: a range, when it begins after the step does, and how long it lasts.
type Beside = (&'static str, i64, i64);
/// It gives up the gradients of the step before.
const NOTHING: Beside = ("Optimizer.zero_grad#SGD.zero_grad", 0, 5);

/// Four steps of these passes: a forward pass, a kernel of 200 us, and all-reduces of 100 us behind it, each asked for in 10 us; and buffers
/// that are sent beforehand.
fn accumulated(passes: Reductions, (beside, after_us, length_us): Beside) -> String {
    let mut events = Vec::new();
    let mut launches = Launches::default();
    let mut launch = |events: &mut Vec<String>, at: i64, kernel: &str, start: i64, length: i64, sent: &str| {
        launches.add(events, (1, at), kernel, (start, length), sent);
    };
    for step in 0..4 {
        let begin = 10_000 + 10_000 * step;
        events.push(host_event("user_annotation", &format!("ProfilerStep#{step}"), 1, begin, 9_999, ""));
        events.push(host_event("user_annotation", beside, 1, begin + after_us, length_us, ""));
        events.push(host_event("cpu_op", "c10d::broadcast_", 1, begin + 6, 4, ""));
        let mut at = begin + 10;
        for reduced in passes {
            events.push(host_event("user_annotation", "DistributedDataParallel.forward", 1, at, 50, ""));
            launch(&mut events, at + 5, "forward_kernel", at + 10, 200, "");
            for (index, elements) in (0..).zip(*reduced) {
                let asked = at + 100 + 20 * index;
                events.push(host_event("cpu_op", "c10d::allreduce_", 1, asked, 10, ""));
                let sent = format!(
                    r#", "Collective name": "allreduce", "In msg nelems": {elements}, "dtype": "Float", "Group size": 2"#
                );
                let start = at + 300 + 100 * index;
                launch(&mut events, asked + 4, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start, 100, &sent);
            }
            at += 1_000;
        }
        events.push(host_event("user_annotation", "Optimizer.step#SGD.step", 1, begin + 9_000, 50, ""));
        launch(&mut events, begin + 9_002, "update", begin + 9_010, 100, "");
    }
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}]}}\n", events.join(",\n  "))
}

/// All of it.
pub fn reduced_each_pass() -> String {
    accumulated(EACH, NOTHING)
}

#[test]
fn what_is_reduced_before_the_last_pass_is_told() {
    let told = |passes: Reductions| told_beside(passes, NOTHING);
    let [passes, steps, spare, exposed, host] = told(EACH);
    assert_eq!((passes, steps, spare), (Some(12), Some(4), Some(16)));
    assert_eq!((exposed, host), (Some(16 * 100_000), Some(16 * 10_000)));
    // Those of the last pass are needed, and so is what is reduced once: in each pass something else.
    assert_eq!(told(&[&[], &[], &[4096, 1024]]), [None; 5]);
    assert_eq!(told(&[&[4096], &[1024]]), [None; 5]);
    assert_eq!(told(&[&[4096, 1024]]), [None; 5]);
    // Buckets may be ready in another order.
    assert_eq!(told(&[&[512], &[1024, 4096], &[4096, 1024]])[..3], [Some(8), Some(4), Some(8)]);
}

/// The facts of these reductions.
fn told_beside(passes: Reductions, beside: Beside) -> [Option<i64>; 5] {
    let facts = facts(accumulated(passes, beside));
    let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
    let names = [
        "reduced_pass_count",
        "reduced_step_count",
        "spare_reduction_count",
        "spare_reduction_exposed_ns",
        "spare_reduction_host_ns",
    ];
    names.map(|name| device.int(name))
}

#[test]
fn gradients_that_are_given_up_or_found_within_a_step_are_not_accumulated() {
    let twice: Reductions = &[&[4096, 1024], &[4096, 1024]];
    assert_eq!(told_beside(twice, NOTHING)[0], Some(8));
    // SAM gives the gradients of the first pass up; of three passes the last two may still add up.
    let given_up = |us| ("Optimizer.zero_grad#SAM.zero_grad", us, 5);
    assert_eq!(told_beside(twice, given_up(900))[0], None);
    assert_eq!(told_beside(EACH, given_up(900))[..3], [Some(8), Some(4), Some(8)]);
    assert_eq!(told_beside(EACH, given_up(1_900))[0], None);
    // Those of the step before may be given up behind the forward pass.
    assert_eq!(told_beside(twice, given_up(70))[0], Some(8));
    // L-BFGS computes gradients within its step.
    assert_eq!(told_beside(twice, ("Optimizer.step#LBFGS.step", 5, 8_000))[0], None);
}
