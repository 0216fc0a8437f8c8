//! Gradients that a program reduces itself, behind the backward pass.

use coldspot::facts::{Entity, EntityKind};

use super::kineto::facts;
use crate::support::cli::{Printed, coldspot_in};
use crate::support::temp;
use crate::support::trace::{DEVICE, Launches, host_event};

/// The thread of the program, and the one on which autograd runs.
const PROGRAM: i64 = 1;
const AUTOGRAD: i64 = 2;

/// Steps of a forward and a backward pass and six all-reduces of 100 us, 10 us apart, which a thread asks for so long after the
/// step began; the backward pass is over after 500 us, the optimizer steps after 1,000.
fn reduced(thread: i64, asked_us: i64) -> String {
    let mut events = Vec::new();
    let mut launches = Launches::default();
    let mut launch = |events: &mut Vec<String>, asked: (i64, i64), kernel: &str, start: i64, length: i64| {
        launches.add(events, asked, kernel, (start, length), "");
    };
    for step in 0..5 {
        let begin = 10_000 + 1_690 * step;
        events.push(host_event("user_annotation", &format!("ProfilerStep#{step}"), PROGRAM, begin, 1_689, ""));
        launch(&mut events, (PROGRAM, begin + 5), "forward_kernel", begin + 10, 400);
        let node = "autograd::engine::evaluate_function: MmBackward0";
        events.push(host_event("cpu_op", node, AUTOGRAD, begin + 300, 200, ""));
        launch(&mut events, (AUTOGRAD, begin + 310), "backward_kernel", begin + 410, 500);
        for index in 0..6 {
            let asked = begin + asked_us + 10 * index;
            launch(
                &mut events,
                (thread, asked),
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                begin + 920 + 110 * index,
                100,
            );
        }
        events.push(host_event("user_annotation", "Optimizer.step#SGD.step", PROGRAM, begin + 1_000, 50, ""));
        launch(&mut events, (PROGRAM, begin + 1_010), "update", begin + 1_575, 100);
        // So that the GPU keeps the time, and not the host.
        events.push(host_event("cuda_runtime", "cudaDeviceSynchronize", PROGRAM, begin + 1_055, 621, ""));
    }
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}]}}\n", events.join(",\n  "))
}

/// By the thread of the program, when the backward pass is over.
pub fn reduced_by_hand() -> String {
    reduced(PROGRAM, 600)
}

fn told(trace: String) -> [Option<i64>; 4] {
    let facts = facts(trace);
    let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
    let names =
        ["late_reduction_count", "late_reduction_step_count", "late_reduction_exposed_ns", "late_reduction_idle_ns"];
    names.map(|name| Entity::int(device, name))
}

#[test]
fn what_is_reduced_behind_the_backward_pass_is_told() {
    let [count, steps, exposed, idle] = told(reduced_by_hand());
    let (count, steps) = (count.unwrap(), steps.unwrap());
    assert_eq!(count, 6 * steps);
    assert_eq!((exposed, idle), (Some(600_000 * steps), Some(50_000 * steps)));
    let folder = temp::folder();
    std::fs::write(folder.path().join("trace.json"), reduced_by_hand()).unwrap();
    let review = coldspot_in(folder.path(), &["review", "trace.json", "--format", "markdown"]).out();
    assert!(review.contains("6 all-reduces one after another (`reduced-after-backward`)"), "{review}");
}

#[test]
fn what_is_reduced_during_the_pass_or_by_another_thread_is_not() {
    assert_eq!(told(reduced(PROGRAM, 100)), [None; 4], "of the forward pass");
    assert_eq!(told(reduced(AUTOGRAD, 600)), [None; 4], "from hooks");
    assert_eq!(told(reduced(PROGRAM, 1_100)), [None; 4], "of parameters, when they are new");
    let without_nodes = reduced_by_hand().replace("autograd::engine", "engine");
    assert_eq!(told(without_nodes), [None; 4]);
}
