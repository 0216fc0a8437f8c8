//! Gradients of parameters that the optimizer's kernels cannot all update.

use coldspot::facts::EntityKind;

use super::kineto::facts;
use crate::support::trace::{DEVICE, host_event};

/// A kernel of PyTorch that updates pieces of many tensors.
const JOINT: &str = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdam>";

/// Five steps that compute gradients for so many parameters in so many backward passes, and then launch a kernel of so many blocks in the
/// step of an optimizer.
pub fn trained(parameters: i64, passes: i64, (kernel, blocks): (&str, i64)) -> String {
    let mut events = Vec::new();
    let mut correlation = 0;
    let mut launch = |events: &mut Vec<String>, thread: i64, at: i64, (kernel, blocks, length): (&str, i64, i64)| {
        correlation += 1;
        let id = format!("\"correlation\": {correlation}");
        events.push(host_event("cuda_runtime", "cudaLaunchKernel", thread, at, 2, &id));
        events.push(format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 7, "ts": {}, "dur": {length}, "args": {{"device": 0, "stream": 7, {id}, "grid": [{blocks}, 1, 1], "block": [256, 1, 1]}}}}"#,
            at + 5
        ));
    };
    for step in 0..5 {
        let begin = 10_000 + 10_000 * step;
        events.push(host_event("user_annotation", &format!("ProfilerStep#{step}"), 1, begin, 9_999, ""));
        for pass in 0..passes {
            let at = begin + 1_000 * pass;
            let node = |name: &str| format!("autograd::engine::evaluate_function: {name}");
            events.push(host_event("cpu_op", &node("NativeBatchNormBackward0"), 2, at, 20, ""));
            launch(
                &mut events,
                2,
                at + 2,
                ("at::native::batch_norm_elementwise_backward_eval<float>(float*)", 64, 300),
            );
            for parameter in 0..parameters {
                let name = node("torch::autograd::AccumulateGrad");
                events.push(host_event("cpu_op", &name, 2, at + 30 + 10 * parameter, 8, ""));
            }
        }
        events.push(host_event("cpu_op", "Optimizer.step#AdamW.step", 1, begin + 9_000, 50, ""));
        launch(&mut events, 1, begin + 9_002, (kernel, blocks, 100));
    }
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}]}}\n", events.join(",\n  "))
}

/// A step with gradients for 40 parameters, of which the optimizer updates two at most.
pub fn frozen() -> String {
    trained(40, 1, (JOINT, 2))
}

#[test]
fn gradients_that_an_optimizer_cannot_use_are_told() {
    let told = |text: String| {
        let facts = facts(text);
        let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
        let int = |name: &str| device.int(name);
        (int("gradient_parameter_count"), int("updated_parameter_count"), int("evaluated_norm_backward_count"))
    };
    assert_eq!(told(frozen()), (Some(40), Some(2), Some(5)));
    // Several passes between two steps compute gradients for the same parameters.
    assert_eq!(told(trained(40, 4, (JOINT, 2))), (Some(40), Some(2), Some(20)));
    // A kernel for each tensor, and one that may work on any number.
    assert_eq!(told(trained(40, 1, ("at::native::vectorized_elementwise_kernel<4>", 9))).1, Some(1));
    assert_eq!(told(trained(40, 1, ("triton_for_fused_0", 9))), (None, None, None));
    let ranks =
        frozen().replace("\"traceEvents\"", "\"distributedInfo\": {\"rank\": 0, \"world_size\": 2}, \"traceEvents\"");
    assert_eq!(told(ranks), (None, None, None));
}

#[test]
fn what_the_backward_pass_launches_is_told() {
    let facts = facts(frozen());
    let (_, device) = facts.of_kind(EntityKind::Device).next().unwrap();
    assert_eq!(device.int("backward_busy_ns"), Some(5 * 300_000));
}
