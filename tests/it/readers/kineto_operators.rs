//! What operators of a trace tell of kernels and of host code.

use coldspot::facts::EntityKind;

use super::kineto::{device, facts};
use crate::support::trace::growing_trace;

#[test]
fn a_tensor_that_is_copied_whole_to_append_to_it_is_told() {
    let growing = facts(growing_trace(12));
    // The first appends to what nothing that was recorded made.
    assert_eq!(device(&growing, "growing_join_count"), 11);
    assert_eq!(device(&growing, "growing_join_sum_ns"), 11 * 200_000);
    let share = growing.of_kind(EntityKind::Device).next().unwrap().1.number("growing_join_copied_share").unwrap();
    assert!((0.99..0.992).contains(&share), "{share}");
    // The same sizes in each round are no growth, nor is a second tensor as large as the first.
    let of_one_size =
        (0..12).fold(growing_trace(12), |text, round| text.replace(&format!("[[[{},", 100 + round), "[[[100,"));
    assert_eq!(device(&facts(of_one_size), "growing_join_count"), 0);
    // Nor are two tensors that are joined to a third in turn, to the same two sizes each round.
    let in_turn = (0..12).fold(growing_trace(12), |text, round| {
        text.replace(&format!("[[[{},", 100 + round), &format!("[[[{},", 100 + round % 2))
    });
    assert_eq!(device(&facts(in_turn), "growing_join_count"), 0);
    let of_two_halves = growing_trace(12).replace("[1,64]", "[100,64]");
    assert_eq!(device(&facts(of_two_halves), "growing_join_count"), 0);
    let without_sizes = growing_trace(12).replace("Input Dims", "Dims");
    assert_eq!(device(&facts(without_sizes), "growing_join_count"), -1);
}

#[test]
fn kernels_and_host_code_go_by_the_innermost_operator() {
    let growing = facts(growing_trace(12));
    let operator = |facts: &coldspot::facts::Facts| {
        facts.of_kind(EntityKind::Kernel).next().unwrap().1.text("operator").map(str::to_owned)
    };
    assert_eq!(operator(&growing).as_deref(), Some("aten::cat"));
    // Of 772 µs between two kernels the operator holds 20 before the launch.
    let (all_ns, in_operators_ns) = (device(&growing, "idle_host_ns"), device(&growing, "idle_host_operator_ns"));
    assert!(
        in_operators_ns > 0 && in_operators_ns <= 12 * 25_000 && all_ns > 11 * 700_000,
        "{in_operators_ns} of {all_ns}"
    );
    let without = facts(growing_trace(12).replace("cpu_op", "user_annotation"));
    assert_eq!((operator(&without), device(&without, "idle_host_operator_ns")), (None, -1));
}
