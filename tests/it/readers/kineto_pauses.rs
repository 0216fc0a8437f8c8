//! A trace that begins with what the GPU still had to do, and in which the program then makes no call for long.

use serde_json::Value;

use crate::support::cli::{Printed, coldspot_in};
use crate::support::temp;

/// Kernels that were launched before the trace began, four seconds without anything, then kernels with their launches; with an operator
/// around each of these where there is a category for it.
fn paused_trace(operators: Option<&str>) -> String {
    let mut events = Vec::new();
    let kernel = |at: i64, correlation: i64| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {at}, "dur": 50,
              "args": {{"device": 0, "stream": 7, "correlation": {correlation}, "grid": [264, 1, 1], "block": [256, 1, 1]}}}}"#
        )
    };
    let host = |category: &str, name: &str, at: i64, length: i64, correlation: i64| {
        format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 99, "tid": 99, "ts": {at}, "dur": {length},
              "args": {{"correlation": {correlation}}}}}"#
        )
    };
    events.extend((0..60).map(|number| kernel(1_000 + 100 * number, 10_000 + number)));
    for number in 0..300 {
        let at = 4_000_000 + 100 * number;
        events.extend(operators.map(|category| host(category, "aten::mm", at - 2, 12, 0)));
        events.push(host("cuda_runtime", "cudaLaunchKernel", at, 5, number + 1));
        events.push(kernel(at + 10, number + 1));
    }
    format!("{{\"traceEvents\": [{}]}}\n", events.join(",\n"))
}

fn review_of(text: &str) -> Value {
    let folder = temp::folder();
    std::fs::write(folder.path().join("paused.json"), text).unwrap();
    coldspot_in(folder.path(), &["review", "paused.json", "--format", "json"]).json()
}

#[test]
fn a_pause_of_most_of_a_trace_is_told_first_with_operators_and_without() {
    for operators in [None, Some("cpu_op")] {
        let review = review_of(&paused_trace(operators));
        let verdict = review["verdict"]["plain"].as_str().unwrap();
        assert!(
            verdict.contains("in one pause of the GPU; what the launching thread does there was not recorded"),
            "{verdict}"
        );
        assert_eq!(review["findings"][0]["rule"], "short-gpu-window", "{review:#}");
        let finding = review["findings"][0].to_string();
        assert!(finding.contains("The GPU pauses for most of the run"), "{finding}");
    }
}
