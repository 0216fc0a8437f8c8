//! Operators of the forward pass that run again in the backward pass, as traces tell them.

use super::kineto::{device, facts};
use crate::support::trace::{BLOCK, checkpointed_trace, framed_trace};

/// Operators and kernels that run again, and how long, in microseconds; -1 for what is absent.
fn again(text: &str) -> (i64, i64, i64) {
    let facts = facts(text);
    let ns = device(&facts, "recomputed_busy_ns");
    let us = if ns < 0 { ns } else { ns / 1_000 };
    (device(&facts, "recomputed_operator_count"), device(&facts, "recomputed_kernel_count"), us)
}

#[test]
fn a_forward_pass_in_the_backward_pass_is_told_with_what_it_launches() {
    // The backward operator of the node is its own work.
    assert_eq!(again(&checkpointed_trace(4, "AddmmBackward0", &BLOCK[..4])), (16, 16, 640));
    assert_eq!(again(&checkpointed_trace(4, "AddmmBackward0", BLOCK)), (20, 20, 800));
    // A node of checkpointing computes whatever runs in it again.
    assert_eq!(again(&checkpointed_trace(4, "CheckpointFunctionBackward", &["aten::linear"])), (4, 4, 160));
}

#[test]
fn what_a_node_of_the_backward_pass_runs_otherwise_is_its_own_work() {
    let gradients = ["aten::t", "aten::mm", "aten::t", "aten::mm", "aten::mul", "aten::sum"];
    for names in [&gradients[..], &BLOCK[..3], &[]] {
        assert_eq!(again(&checkpointed_trace(4, "MulBackward0", names)), (0, -1, -1), "{names:?}");
    }
    // Without numbers of the forward pass it runs in no grad mode.
    let text = checkpointed_trace(4, "AddmmBackward0", BLOCK);
    let plain = text.replace("\"Fwd thread id\": 0", "\"x\": 0");
    assert_eq!(again(&plain), (0, -1, -1));
    // No node of a backward pass is recorded.
    assert_eq!(again(&framed_trace(4)), (-1, -1, -1));
}

/// The kernels of a step that run again go, and nothing else: none of the work that the node has for itself.
#[test]
fn a_replay_that_keeps_results_runs_none_of_it_again() {
    let gain_us = |names: &[&str]| {
        let facts = facts(checkpointed_trace(8, "AddmmBackward0", names));
        device(&facts, "keep_activations_expected_gain_ns") / 1_000
    };
    let gain = gain_us(BLOCK);
    assert!((180..=220).contains(&gain), "{gain}");
    assert_eq!(gain_us(&[]), 0);
}

/// Steps in each of which the same node of the backward pass runs, as where each is for one of several losses.
pub fn of_several_losses() -> String {
    let text = checkpointed_trace(4, "AddmmBackward0", &[]);
    (1..4).fold(text, |text, step| text.replace(&format!("\"Sequence number\": {step},"), "\"Sequence number\": 0,"))
}

#[test]
fn a_node_of_the_backward_pass_that_runs_again_is_told_with_what_it_launches() {
    let told = |text: String| {
        let facts = facts(text);
        ["repeated_node_count", "repeated_kernel_count", "repeated_busy_ns"].map(|name| device(&facts, name))
    };
    assert_eq!(told(of_several_losses()), [3, 3, 300_000]);
    assert_eq!(told(checkpointed_trace(4, "AddmmBackward0", &[])), [0, -1, -1], "each step has a node of its own");
    assert_eq!(told(framed_trace(4)), [-1, -1, -1]);
}
