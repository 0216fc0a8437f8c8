//! What is told of small programs that are written down here.

use serde_json::json;

use crate::support::cli::Printed;
use crate::support::project::Project;
use crate::support::{Scenario, SchemaVersion};

/// A sum is a stage of many blocks and one of a single block, in turns: neither says what the other would take with other blocks.
#[test]
fn stages_of_one_operation_are_not_compared() {
    let device = |script: &str| {
        let project = Project::empty();
        let text = format!(
            r#"
            about = "A sum of two stages."
            [kernel]
            sum = {{ name = "void nrm2(float*, int)", run_us = 20, grid = [1, 1, 1], block = [128, 1, 1] }}
            [[thread]]
            script = [{script}, {{ sync = {{ api = "cudaDeviceSynchronize" }} }}]
            "#
        );
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["kernels"][0].clone()
    };
    let wide = r#"{ launch = { kernel = "sum", grid = [600, 1, 1], run_us = 25 } }"#;
    let narrow = r#"{ launch = { kernel = "sum" } }"#;
    let in_turns = device(&format!("{{ repeat = {{ times = 20, do = [{wide}, {narrow}] }} }}"));
    assert!(in_turns["wide_median_ns"].is_null() && in_turns["wide_launch_count"] == 20, "{in_turns:#}");
    let apart = device(&format!(
        "{{ repeat = {{ times = 20, do = [{wide}] }} }}, {{ repeat = {{ times = 20, do = [{narrow}] }} }}"
    ));
    assert_eq!(apart["wide_median_ns"], 25_000, "{apart:#}");
    // The longest of all is not the longest of one block.
    assert_eq!((&in_turns["one_block_longest_ns"], &in_turns["max_ns"]), (&json!(20_000), &json!(25_000)));
}

/// An error that ends a context is no end of the program where another context works on.
#[test]
fn a_success_after_a_failed_kernel_is_told() {
    let succeeds = |after: &str| {
        let project = Project::empty();
        let text = format!(
            r#"
            about = "A kernel fails."
            [kernel]
            push = {{ name = "void push<float>(float*, int)", run_us = 900, grid = [2160, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = "push" }} }}] }} }},
              {{ call = {{ api = "cudaDeviceSynchronize", us = 140, result = 700 }} }},
              {after}
            ]
            "#
        );
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["runs"][0]["succeeds_after_kernel_error"].clone()
    };
    assert_eq!(
        succeeds(
            r#"{ call = { api = "cudaMemcpy", us = 2, result = 700 } }, { call = { api = "cudaGetLastError", us = 1 } }"#
        ),
        false
    );
    assert_eq!(succeeds(r#"{ call = { api = "cudaMemcpy", us = 2 } }"#), true);
    // What finds the runtime gone at the end of the program is no success, but what came before it is.
    let gone = r#"{ call = { api = "cudaMemcpy", us = 2, result = 4 } }"#;
    assert_eq!(succeeds(&format!("{gone}, {gone}")), false);
    assert_eq!(succeeds(&format!(r#"{{ call = {{ api = "cudaMemcpy", us = 2 }} }}, {gone}"#)), true);
}

/// The steady state of the device that a program of two kernels works on.
fn steady_state(script: &str) -> serde_json::Value {
    let project = Project::empty();
    let text = format!(
        r#"
        about = "Work of two kernels, again and again."
        [kernel]
        gemm = {{ name = "void gemm(float*, int)", run_us = 300, grid = [432, 1, 1], block = [256, 1, 1] }}
        add = {{ name = "void add(float*, int)", run_us = 200, grid = [432, 1, 1], block = [256, 1, 1] }}
        [[thread]]
        script = [{script}, {{ sync = {{ api = "cudaDeviceSynchronize" }} }}]
        "#
    );
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let facts = project.coldspot(&["facts", "run.sqlite", "--phase", "steady", "--format", "json"]).json();
    facts["devices"][0].clone()
}

/// The rounds that load code at their first launches are no part of the steady state.
#[test]
fn a_steady_state_begins_behind_what_is_loaded() {
    let device = steady_state(
        r#"
          { launch = { kernel = "add" } },
          { host = { us = 30000 } },
          { repeat = { times = 4, do = [{ launch = { kernel = "gemm", load_us = 3000 } }, { launch = { kernel = "add" } }] } },
          { repeat = { times = 20, do = [{ launch = { kernel = "gemm" } }, { launch = { kernel = "add" } }] } }
        "#,
    );
    assert_eq!((&device["phase"], &device["idle_load_ns"]), (&json!("steady"), &json!(0)), "{device:#}");
}

/// Steps of which the program says that they warm up are no part of the steady state, unless hardly any others are left.
#[test]
fn a_steady_state_begins_behind_what_the_program_calls_a_warm_up() {
    let steps = |warm_up: u64, others: u64| {
        let step = r#"{ range = { name = "step", do = [{ launch = { kernel = "gemm" } }, { launch = { kernel = "add" } }] } }"#;
        let repeated = |count: u64| format!("{{ repeat = {{ times = {count}, do = [{step}] }} }}");
        let warm_up = format!(r#"{{ range = {{ name = "warm-up", do = [{}] }} }}"#, repeated(warm_up));
        steady_state(&format!("{warm_up}, {}", repeated(others)))["step_count"].clone()
    };
    assert_eq!(steps(10, 20), 20);
    assert_eq!(steps(40, 4), 44, "too few are left");
}

/// What is told of a loop of two kernels and this turn behind them: the busy time that the host is late behind, of all and of each kernel.
fn late_behind(kernels: &str, turn: &str) -> Option<(i64, Vec<i64>)> {
    late_behind_with(kernels, turn, "")
}

/// The same beside another thread.
fn late_behind_with(kernels: &str, turn: &str, other_thread: &str) -> Option<(i64, Vec<i64>)> {
    let project = Project::empty();
    let text = format!(
        r#"
        about = "Products, once each."
        [kernel]
        product = {{ name = "ampere_sgemm_128x64_tn", run_us = 100, grid = [2160, 1, 1], block = [256, 1, 1] }}
        other = {{ name = "void other(float*, int)", run_us = 100, grid = [2160, 1, 1], block = [256, 1, 1] }}
        [[thread]]
        script = [
          {{ repeat = {{ times = 10, do = [{kernels}, {turn}] }} }},
          {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
        ]
        {other_thread}
        "#
    );
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let facts = project.facts();
    let kernels = facts["kernels"].as_array().unwrap();
    let late = kernels.iter().filter_map(|kernel| kernel["late_host_sum_ns"].as_i64());
    Some((facts["devices"][0]["late_host_busy_ns"].as_i64()?, late.collect()))
}

const TWO: &str = r#"{ launch = { kernel = "other" } }, { launch = { kernel = "product" } }"#;

/// Kernels that end sooner win nothing where the host launches the next only after them, waiting for nothing.
#[test]
fn kernels_that_the_host_is_late_behind_win_nothing() {
    let told = |turn: &str| late_behind(TWO, turn).unwrap();
    // Behind the last of them the host waits.
    assert_eq!(told("{ host = { us = 500 } }"), (9 * 200_000, vec![900_000, 900_000]));
    assert_eq!(told(r#"{ sync = { api = "cudaDeviceSynchronize" } }, { host = { us = 500 } }"#), (0, vec![0, 0]));
    assert_eq!(told("{ host = { us = 50 } }"), (0, vec![0, 0]));
    // A copy that blocks waits for what it copies.
    let copy = r#"{ memcpy = { dir = "d2h", host = "pageable", bytes = 4096, gb_per_s = 6 } }"#;
    assert_eq!(told(&format!("{copy}, {{ host = {{ us = 500 }} }}")), (0, vec![0, 0]));
}

/// The host may wait for kernels in calls that are made for something else.
#[test]
fn a_host_that_may_wait_for_kernels_is_late_behind_none() {
    let all = Some((9 * 200_000, vec![900_000, 900_000]));
    let none = Some((0, vec![0, 0]));
    let turn = "{ host = { us = 500 } }";
    // A launch that takes long while others run may wait for room in the queue; on a device that is idle it cannot.
    let long = |us: u64| TWO.replace("\"product\"", &format!("\"product\", api_us = {us}"));
    assert_eq!(late_behind(&long(20), turn), all);
    assert_eq!(late_behind(&long(90), turn), none);
    let first = TWO.replace("\"other\"", "\"other\", api_us = 90");
    assert_eq!(late_behind(&first, turn), all);
    // Hundreds of launches that have not begun fill the queue, however short each call is; behind the last of them the host waits no more.
    let late_share = |count: i64| {
        let kernels = format!(r#"{{ repeat = {{ times = {count}, do = [{TWO}] }} }}"#);
        late_behind(&kernels, "{ host = { us = 200000 } }").unwrap().0 as f64 / (9 * count * 200_000) as f64
    };
    assert_eq!(late_share(200), 1.0);
    assert!((0.8..0.99).contains(&late_share(300)), "{}", late_share(300));
    // Another process may wait for the device, and this one for it; a sleep is for nobody.
    let os = |call: &str| late_behind(TWO, &format!(r#"{{ os = {{ call = "{call}", us = 500 }} }}"#));
    assert_eq!((os("nanosleep"), os("recv")), (all.clone(), none));
    // Who waits for a thread that calls the device waits for that thread's own waits, as a main thread does while PyTorch's backward pass
    // runs; for one that is in no call meanwhile, for all that is known, for the device.
    let main = r#"[[thread]]
        script = [{ call = { api = "cudaGetDevice", us = 2 } }, { os = { call = "pthread_cond_wait", us = 20000 } }]"#;
    let (busy_ns, _) = late_behind_with(TWO, turn, main).unwrap();
    assert!(busy_ns >= 8 * 200_000, "{busy_ns}");
    // A function of the host that the device runs may wake whoever waits, in no call that tells it.
    let call = |api: &str| late_behind(TWO, &format!(r#"{{ call = {{ api = "{api}", us = 2 }} }}, {turn}"#));
    assert_eq!((call("cudaEventRecord"), call("cudaLaunchHostFunc_v10000")), (all, None));
    assert_eq!(call("cuStreamAddCallback"), None);
}

/// Kernels that are shorter than the period of a sample have none for themselves: what the window's samples hold is theirs, where they
/// run for a good part of it.
#[test]
fn short_kernels_fill_as_many_sms_as_the_samples_of_their_window_tell() {
    let device = |host_us: u64| {
        let project = Project::empty();
        let text = format!(
            r#"
            about = "Short kernels, under which 40 % of the SMs are active."
            metric = [{{ name = "SMs Active [Throughput %]", period_us = 103, busy = 40, idle = 0 }}]
            [kernel]
            step = {{ name = "void step(float*, int)", run_us = 10, grid = [2160, 1, 1], block = [128, 1, 1] }}
            [[thread]]
            script = [
              {{ repeat = {{ times = 600, do = [{{ launch = {{ kernel = "step" }} }}, {{ sync = {{ api = "cudaDeviceSynchronize" }} }}, {{ host = {{ us = {host_us} }} }}] }} }},
            ]
            "#
        );
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["devices"][0].clone()
    };
    let often = device(10);
    assert!(often["sampled_sm_active_share"].is_null() && often["sm_active_source"] == "sampled", "{often:#}");
    let share = often["sm_active_share"].as_f64().unwrap();
    assert!((0.3..=0.5).contains(&share), "{share}");
    let seldom = device(300);
    assert_eq!(seldom["sm_active_source"], "derived", "{seldom:#}");
}

/// Before a launcher has started the program, nothing of it can have been recorded.
#[test]
fn a_process_that_begins_late_did_not_run_before() {
    let device = |os_call: &str| {
        let project = Project::empty();
        let text = format!(
            r#"
            about = "A launcher, and the program that it starts two seconds later."
            [kernel]
            step = {{ name = "void step(float*, int)", run_us = 900, grid = [600, 1, 1], block = [128, 1, 1] }}
            [[process]]
            pid = 100
            name = "mpirun"
            gpus = []
            [[process]]
            pid = 200
            name = "solver"
            [[thread]]
            script = [{{ os = {{ call = "poll", us = 3000000 }} }}, {{ os = {{ call = "write", us = 10 }} }}]
            [[thread]]
            process = 1
            start_us = 2000000
            script = [{os_call} {{ host = {{ us = 300000 }} }}, {{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = "step" }} }}] }} }},
              {{ sync = {{ api = "cudaDeviceSynchronize" }} }}]
            "#
        );
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["devices"][0].clone()
    };
    let traced = device("{ os = { call = \"open\", us = 10 } },");
    let absent_ns = traced["outside_absent_ns"].as_i64().unwrap();
    assert!((1_900_000_000..2_010_000_000).contains(&absent_ns), "{traced:#}");
    assert!(traced["outside_unknown_ns"].as_i64().unwrap() >= 600_000_000, "no one noticed its end: {traced:#}");
    let untraced = device("");
    assert_eq!(untraced["outside_absent_ns"], 0, "it may have run all the time");
}
