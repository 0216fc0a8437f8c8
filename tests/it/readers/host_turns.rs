//! Threads that hold a lock around the work of a GPU, loops of small reads, memory that is locked and not copied, and backward passes that
//! are looked through for NaN.

use serde_json::Value;

use super::kineto::{device, facts};
use crate::support::project::Project;
use crate::support::trace::checkpointed_trace;
use crate::support::{Scenario, SchemaVersion};

/// A program of these threads.
pub fn program(threads: &str) -> Scenario {
    let kernel = "k = { run_us = 100, grid = [54, 1, 1], block = [256, 1, 1] }";
    Scenario::parse(&format!("about = \"Threads.\"\n[kernel]\n{kernel}\n{threads}"))
}

/// The facts of its GPU.
fn of_threads(threads: &str) -> Value {
    let project = Project::empty();
    program(threads).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    project.facts()["devices"][0].clone()
}

/// Two threads, each of which waits in a call of this name before its work, the second half a turn behind the first.
pub fn two_threads(call: &str) -> String {
    thread(call, 13, 0) + &thread(call, 14, 135)
}

/// A program that makes random numbers.
pub fn random_numbers() -> Scenario {
    let kernel = "gen_sequenced = { run_us = 100, grid = [64, 1, 1], block = [256, 1, 1] }";
    let launch = "script = [{ repeat = { times = 10, do = [{ launch = { kernel = \"gen_sequenced\" } }] } }]";
    Scenario::parse(&format!("about = \"Random numbers.\"\n[kernel]\n{kernel}\n[[thread]]\n{launch}\n"))
}

/// The same, each turn a range.
pub fn two_threads_in_steps() -> String {
    let turn = "do = [\n";
    let both = two_threads("pthread_mutex_lock").replace(turn, "do = [{ range = { name = \"request\", do = [\n");
    both.replace("] } },\n        ]\n", "] } }] } },\n        ]\n")
}

fn thread(call: &str, stream: i64, start_us: i64) -> String {
    format!(
        r#"
        [[thread]]
        name = "of stream {stream}"
        start_us = {start_us}
        script = [
          {{ repeat = {{ times = 20, do = [
            {{ os = {{ call = "{call}", us = 160 }} }},
            {{ launch = {{ kernel = "k", stream = {stream} }} }},
            {{ sync = {{ api = "cudaStreamSynchronize", stream = {stream} }} }},
          ] }} }},
        ]
        "#
    )
}

#[test]
fn a_lock_that_is_had_when_another_thread_is_done_with_the_gpu_is_a_turn() {
    let told = of_threads(&two_threads("pthread_mutex_lock"));
    let int = |name: &str| told[name].as_i64().unwrap_or(-1);
    assert_eq!((int("locked_turn_thread_count"), int("thread_stream_count")), (2, 1), "{told:#}");
    assert!((38..=39).contains(&int("locked_turn_count")), "{told:#}");
    assert_eq!(told["locked_turn_call"], "pthread_mutex_lock");
    let (wait_ns, won_ns, window_ns) = (int("locked_turn_wait_ns"), int("locked_turn_won_ns"), int("window_ns"));
    assert!((38 * 150_000..=39 * 160_000).contains(&wait_ns), "{wait_ns}");
    // No more than half of the time is left when both run beside each other.
    assert!(won_ns <= wait_ns / 2 && won_ns < window_ns, "{won_ns} of {window_ns}");
    assert!(won_ns >= window_ns / 2, "{won_ns} of {window_ns}");
}

#[test]
fn other_waits_and_threads_that_work_by_themselves_take_no_turns() {
    let is_told = |threads: &str| !of_threads(threads)["locked_turn_count"].is_null();
    assert!(!is_told(&two_threads("read")), "no lock");
    assert!(!is_told(&thread("pthread_mutex_lock", 13, 0)), "one thread");
}

#[test]
fn kernels_of_two_processes_take_turns_that_no_wait_of_a_thread_keeps_apart() {
    let processes: String = (0..2).map(|n| format!("[[process]]\npid = {}\nname = \"serve\"\n", 42 + n)).collect();
    let of = |second: usize| {
        let second = thread("read", 14, 135).replacen("[[thread]]", &format!("[[thread]]\nprocess = {second}"), 1);
        let told = of_threads(&(processes.clone() + &thread("read", 13, 0) + &second));
        let int = |name: &str| told[name].as_i64().unwrap_or(-1);
        (int("process_turn_count"), int("process_turn_ns"), int("host_wait_turn_count"))
    };
    let (count, won_ns, waits) = of(1);
    // Twenty kernels of each, of 100 µs; those of one could run beside those of the other, each of which had ended before it was launched.
    assert_eq!((count, won_ns, waits), (0, 2_000_000, 0));
    let (count, won_ns, waits) = of(0);
    assert_eq!((count, won_ns), (-1, -1), "one process");
    assert!(waits >= 19, "{waits}");
}

/// A loop that reads before each launch in small pieces, with so long between two of them.
pub fn small_reads(apart_us: i64) -> String {
    format!(
        r#"
        [[thread]]
        script = [
          {{ repeat = {{ times = 10, do = [
            {{ repeat = {{ times = 50, do = [
              {{ os = {{ call = "fread", us = 3 }} }},
              {{ host = {{ us = {apart_us} }} }},
            ] }} }},
            {{ launch = {{ kernel = "k" }} }},
            {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
          ] }} }},
        ]
        "#
    )
}

#[test]
fn short_host_code_between_calls_of_one_function_is_told() {
    let told = |apart_us: i64| {
        let device = of_threads(&small_reads(apart_us));
        let int = |name: &str| device[name].as_i64();
        (int("idle_host_between_os_calls_count"), int("idle_host_between_os_calls_ns"))
    };
    // Before the first launch nothing is idle; between the last read and the launch it is another's time.
    assert_eq!(told(2), (Some(9 * 49), Some(9 * 49 * 2_000)));
    assert_eq!(told(20), (Some(9 * 49), Some(9 * 49 * 20_000)));
    assert_eq!(told(21), (None, Some(0)), "work of its own");
}

/// A program that locks pages of the host, and then copies from memory of this kind.
pub fn locked_pages(host: &str) -> String {
    format!(
        r#"
        [[thread]]
        script = [
          {{ call = {{ api = "cudaHostAlloc", us = 50 }} }},
          {{ memcpy = {{ dir = "h2d", host = "{host}", bytes = 1_000_000, gb_per_s = 10 }} }},
          {{ repeat = {{ times = 10, do = [{{ launch = {{ kernel = "k" }} }}] }} }},
          {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
        ]
        "#
    )
}

#[test]
fn copies_from_locked_pages_are_counted_where_pages_are_locked() {
    let told = |threads: &str| {
        let device = of_threads(threads);
        (device["page_locking_call_count"].as_i64(), device["pinned_copy_count"].as_i64())
    };
    assert_eq!(told(&locked_pages("pageable")), (Some(1), Some(0)));
    assert_eq!(told(&locked_pages("pinned")), (Some(1), Some(1)));
    assert_eq!(told(&locked_pages("pinned").replace("cudaHostAlloc", "cudaMalloc")), (None, None));
}

/// A trace whose backward nodes run these operators.
pub fn nan_checks(operators: &[&str]) -> String {
    checkpointed_trace(4, "AddmmBackward0", operators)
}

#[test]
fn nodes_of_the_backward_pass_that_are_looked_through_for_nan_are_counted() {
    let told = |operators: &[&str]| {
        let facts = facts(nan_checks(operators));
        ["backward_node_count", "nan_checked_node_count", "nan_check_ns", "nan_check_busy_ns"]
            .map(|name| device(&facts, name))
    };
    // From the begin of the test to the end of the answer, 18 us, in each of four steps, with a kernel of 40 us in each operator.
    assert_eq!(told(&["aten::isnan", "aten::item"]), [4, 4, 4 * 18_000, 4 * 80_000]);
    assert_eq!(
        told(&["aten::isnan", "aten::any", "aten::item", "aten::isnan", "aten::item"]),
        [4, 4, 4 * (28_000 + 18_000), 4 * 200_000]
    );
    assert_eq!(told(&["aten::isnan", "aten::mul"]), [-1; 4], "nothing is read back");
    assert_eq!(told(&["aten::item", "aten::isnan"]), [-1; 4], "not the answer");
}

/// A library tries kernels and checks what they wrote, and then the work runs so often.
pub fn tried_first(work_count: usize) -> String {
    format!(
        r#"
        [kernel.tried]
        name = "transpose_tried"
        run_us = 100
        grid = [54, 1, 1]
        block = [256, 1, 1]
        [kernel.redzone_checker]
        name = "redzone_checker"
        run_us = 5
        grid = [54, 1, 1]
        block = [256, 1, 1]
        [[thread]]
        script = [
          {{ repeat = {{ times = 10, do = [
            {{ launch = {{ kernel = "redzone_checker" }} }},
            {{ launch = {{ kernel = "tried" }} }},
            {{ launch = {{ kernel = "k" }} }},
          ] }} }},
          {{ launch = {{ kernel = "redzone_checker" }} }},
          {{ repeat = {{ times = {work_count}, do = [{{ launch = {{ kernel = "k" }} }}] }} }},
          {{ memcpy = {{ dir = "d2h", host = "pinned", bytes = 1_000, gb_per_s = 10 }} }},
          {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
        ]
        "#
    )
}

#[test]
fn what_runs_among_checks_alone_is_only_tried() {
    let told = |work_count: usize| {
        let project = Project::empty();
        program(&tried_first(work_count)).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        let facts = project.facts();
        let kernels = facts["kernels"].as_array().cloned().unwrap_or_default();
        let of = |name: &str| {
            let kernel = kernels.iter().find(|kernel| kernel["name"] == name);
            kernel.map(|kernel| kernel["is_only_tried"].clone())
        };
        (of("transpose_tried"), of("k"))
    };
    assert_eq!(told(1), (Some(true.into()), Some(false.into())));
    assert_eq!(told(0), (Some(Value::Null), Some(Value::Null)), "all of the work may lie there");
}

#[test]
fn nodes_of_a_backward_pass_through_a_backward_pass_are_counted() {
    let told = |node: &str| device(&facts(checkpointed_trace(4, node, &[])), "second_derivative_node_count");
    assert_eq!(told("TanhBackwardBackward0"), 4);
    assert_eq!(told("TanhBackward0"), -1);
}

/// A loop that takes memory from a pool, which asks the driver for the first of two pieces, and of the second takes so long.
pub fn pool_rounds(second_us: i64) -> String {
    format!(
        r#"
        [[thread]]
        script = [
          {{ repeat = {{ times = 60, do = [
            {{ call = {{ api = "cudaMallocAsync", us = 90 }} }},
            {{ call = {{ api = "cudaMallocAsync", us = {second_us} }} }},
            {{ launch = {{ kernel = "k" }} }},
            {{ call = {{ api = "cudaFreeAsync", us = 2 }} }},
            {{ sync = {{ api = "cudaStreamSynchronize" }} }},
          ] }} }},
        ]
        "#
    )
}

#[test]
fn calls_that_a_pool_hands_on_to_the_driver_are_told_from_those_that_it_serves() {
    let told = |second_us: i64| {
        let told = of_threads(&pool_rounds(second_us));
        ["call_round_pool_call_count", "call_round_pool_call_main_count"].map(|name| told[name].as_i64().unwrap_or(-1))
    };
    let [count, slow_count] = told(1);
    assert!((110..=120).contains(&count) && 10 * slow_count <= 5 * count, "{slow_count} of {count}");
    let [count, slow_count] = told(90);
    assert!(10 * slow_count >= 8 * count, "{slow_count} of {count}");
    assert!(of_threads(&small_reads(2))["call_round_pool_call_count"].is_null());
}
