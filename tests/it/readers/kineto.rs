//! Traces of the PyTorch Profiler, from the file to the facts.

use coldspot::facts::{EntityKind, Facts};
use coldspot::source::ReadOptions;

use crate::support::analysis::{facts_of, try_timeline};
use crate::support::temp;

/// A training step of 100 µs: a launch, a kernel behind it, a copy from pageable memory; in the spelling of 2021 or of today.
fn step(number: i64, is_old: bool) -> String {
    let at = 1_000 + number * 100;
    let [operator, runtime, kernel, copy] = if is_old {
        ["Operator", "Runtime", "Kernel", "Memcpy"]
    } else {
        ["cpu_op", "cuda_runtime", "kernel", "gpu_memcpy"]
    };
    let (first, second) = (2 * number + 1, 2 * number + 2);
    let host = r#""pid": 99, "tid": "99""#;
    format!(
        r#"
  {{"ph": "X", "cat": "{operator}", "name": "ProfilerStep#{number}", {host}, "ts": {at}, "dur": 99.5, "args": null}},
  {{"ph": "X", "cat": "{runtime}", "name": "cudaLaunchKernel", {host}, "ts": "{}", "dur": 5, "args": {{"correlation": {first}}}}},
  {{"ph": "X", "cat": "{runtime}", "name": "cudaMemcpyAsync", {host}, "ts": {}, "dur": 25, "args": {{"correlation": {second}}}}},
  {{"ph": "X", "cat": "{kernel}", "name": "gemm", "pid": 0, "tid": 7, "ts": {}.125, "dur": 30.25,
    "args": {{"device": 0, "stream": 7, "correlation": {first}, "grid": [264, 1, 1], "block": [256, 1, 1]}}}},
  {{"ph": "X", "cat": "{copy}", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": {}.500, "dur": 10,
    "args": {{"device": 0, "stream": 7, "correlation": {second}, "bytes": "4096"}}}}"#,
        at + 1,
        at + 40,
        at + 8,
        at + 50,
    )
}

const DEVICE: &str =
    r#"{"id": 0, "name": "NVIDIA H100", "numSms": 132, "computeMajor": 9, "computeMinor": 0, "warpSize": 32}"#;

fn trace(steps: i64, is_old: bool) -> String {
    let events: Vec<String> = (0..steps).map(|number| step(number, is_old)).collect();
    format!("{{\"deviceProperties\": [{DEVICE}], \"traceEvents\": [{}\n]}}\n", events.join(","))
}

fn facts(text: &str) -> Facts {
    let folder = temp::folder();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, text).unwrap();
    facts_of(&try_timeline(&path, &ReadOptions::default()).unwrap())
}

fn device(facts: &Facts, name: &str) -> i64 {
    facts.of_kind(EntityKind::Device).next().and_then(|(_, device)| device.int(name)).unwrap_or(-1)
}

#[test]
fn a_trace_gives_the_facts_of_its_gpus_in_every_dialect() {
    let today = trace(6, false);
    let bare = today.split_once("\"traceEvents\": ").unwrap().1.trim_end().trim_end_matches('}').to_owned();
    for text in [&today, &trace(6, true), &bare] {
        let facts = facts(text);
        // From the first kernel's start to the last copy's end.
        assert_eq!(device(&facts, "window_ns"), 552_375);
        assert_eq!(device(&facts, "compute_ns"), 6 * 30_250);
        assert_eq!(device(&facts, "exposed_copy_ns"), 6 * 10_000);
        assert_eq!((device(&facts, "kernel_count"), device(&facts, "copy_count")), (6, 6));
        assert_eq!((device(&facts, "pageable_copy_count"), device(&facts, "pageable_copy_bytes")), (6, 6 * 4_096));
        assert_eq!(device(&facts, "step_count"), 6);
        assert_eq!(device(&facts, "idle_unknown_ns"), 0);
    }
    assert_eq!(device(&facts(&today), "sm_count"), 132);
}

#[test]
fn idle_time_before_work_that_nothing_launched_is_unknown() {
    let whole = facts(&trace(6, false));
    // The window of the recording began after this launch.
    let late =
        trace(6, false).replace(r#""ts": "1301", "dur": 5, "args": {"correlation": 7}"#, r#""ts": "1301", "dur": 5"#);
    let facts = facts(&late);
    assert_eq!(device(&facts, "window_ns"), device(&whole, "window_ns"));
    assert_eq!(device(&facts, "kernel_count"), 6);
    // Since the copy before.
    assert_eq!(device(&facts, "idle_unknown_ns"), 47_625);
}

#[test]
fn what_is_broken_is_counted_and_costs_nothing_else() {
    let run = |facts: &Facts, name: &str| facts.run().and_then(|run| run.int(name)).unwrap();
    let broken = trace(6, false).replace("\"ts\": 1308.125, \"dur\": 30.25", "\"ts\": 1308.125, \"dur\": 9e15");
    let absurd = facts(&broken);
    assert_eq!((device(&absurd, "kernel_count"), run(&absurd, "dropped_event_count")), (5, 1));
    assert_eq!(device(&absurd, "window_ns"), 552_375);
    let cut = trace(6, false);
    let cut = facts(&cut[..cut.len() * 2 / 3]);
    assert!(device(&cut, "kernel_count") >= 3);
    assert_eq!(run(&cut, "dropped_event_count"), 1);
}

#[test]
fn what_is_no_trace_gets_one_message_with_the_way_out() {
    let folder = temp::folder();
    for (text, found) in [
        ("{\"a\": 1}", "it has no traceEvents"),
        ("{\"traceEvents\": []}", "without events"),
        ("[{\"ph\": \"X\"}]", "none of them an event"),
        ("{", "it has no traceEvents"),
    ] {
        let path = folder.path().join("trace.json");
        std::fs::write(&path, text).unwrap();
        let error = try_timeline(&path, &ReadOptions::default()).err().unwrap().to_string();
        assert!(error.contains(found) && error.contains("torch.profiler.profile"), "{error}");
    }
}
