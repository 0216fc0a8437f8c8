//! Samples of CPU call stacks: which function the launching thread was in while the GPU was idle.

use serde_json::{Value, json};

use crate::support::cli::{Printed, redact};
use crate::support::project::Project;
use crate::support::{Scenario, SchemaVersion, scenario};

/// A project whose program was captured with samples, after a change of the report.
fn captured(version: SchemaVersion, change: &str) -> Project {
    let project = Project::empty();
    let report = project.file("run.sqlite");
    scenario("sampled-hashing").write(version, &report);
    rusqlite::Connection::open(report).unwrap().execute_batch(change).unwrap();
    project
}

/// How many samples, and the function that most lie in.
fn told(facts: &Value) -> Value {
    let device = &facts["devices"][0];
    json!([device["idle_host_sample_count"], device["idle_host_function"], device["idle_host_function_sample_count"]])
}

/// The first step's host code lies before the window. In each of the 19 others the GPU works for the first three samples; seven of
/// the hashing and two others follow.
fn whole() -> Value {
    json!([19 * 9, "sha256_block_data_order_shaext", 19 * 7])
}

#[test]
fn the_function_of_most_samples_in_idle_host_code_is_named() {
    for version in SchemaVersion::ALL {
        let facts = captured(version, "").facts();
        assert_eq!(told(&facts), whole());
        let device = &facts["devices"][0];
        assert_eq!(device["idle_host_function_module"], "libcrypto.so.3");
        assert_eq!(device["idle_host_function_caller"], "HASH_UPDATE");
        assert_eq!(device["idle_host_function_caller_module"], "_hashlib.so");
        for share in ["idle_host_function_share", "idle_host_function_self_share"] {
            assert_eq!(device[share], 7.0 / 9.0, "{share}");
        }
        // Folders are private.
        assert!(!facts.to_string().contains("venv"));
    }
}

#[test]
fn what_an_export_leaves_out_is_not_told() {
    let of = |change: &str| told(&captured(SchemaVersion::Nsys2025, change).facts());
    assert_eq!(of("ALTER TABLE SAMPLING_CALLCHAINS DROP COLUMN unresolved"), whole());
    assert_eq!(of("DROP TABLE COMPOSITE_EVENTS"), json!([null, null, null]));
    assert_eq!(of("DROP TABLE SAMPLING_CALLCHAINS"), json!([null, null, null]));
    assert_eq!(of("ALTER TABLE COMPOSITE_EVENTS DROP COLUMN globalTid"), json!([null, null, null]));
    // Samples whose stacks are lost count, and lie in no function.
    assert_eq!(of("DELETE FROM SAMPLING_CALLCHAINS WHERE id % 2 = 0"), json!([19 * 9, null, null]));
    // The interpreter tells nothing of the program.
    let others = "DELETE FROM SAMPLING_CALLCHAINS WHERE stackDepth < 2";
    assert_eq!(of(others), json!([19 * 9, null, null]));
}

#[test]
fn threads_that_do_not_call_cuda_are_not_read() {
    let others = "UPDATE COMPOSITE_EVENTS SET globalTid = globalTid + 77";
    let facts = captured(SchemaVersion::Nsys2025, others).facts();
    assert_eq!(told(&facts), json!([null, null, null]));
    assert_eq!(facts["runs"][0]["cpu_samples_captured"], true);
}

#[test]
fn seven_samples_name_no_function() {
    // The second step's samples of hashing in idle time begin with number 16.
    let of = |most: u32| {
        let change = format!(
            "DELETE FROM COMPOSITE_EVENTS WHERE id NOT IN (SELECT id FROM COMPOSITE_EVENTS WHERE id > 15 ORDER BY id LIMIT {most})"
        );
        told(&captured(SchemaVersion::Nsys2025, &change).facts())
    };
    assert_eq!(of(7), json!([7, null, null]));
    assert_eq!(of(8), json!([8, "sha256_block_data_order_shaext", 7]));
}

#[test]
fn samples_beyond_the_limit_are_counted() {
    let project = captured(SchemaVersion::Nsys2021, "");
    let facts = project.coldspot(&["facts", "run.sqlite", "--format", "json", "--limit", "rows=119"]).success().json();
    // 240 samples, with 200 stacks of five functions and 40 of four.
    assert_eq!(facts["runs"][0]["unread_row_count"], (240 - 119) + (200 * 5 + 40 * 4 - 119));
}

#[test]
fn what_lies_outside_of_the_work_is_what_the_tables_say() {
    let project = Project::empty();
    let report = project.file("run.sqlite");
    scenario("late-first-work").write(SchemaVersion::Nsys2025, &report);
    let db = rusqlite::Connection::open(&report).unwrap();
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let first = number("SELECT MIN(start) FROM CUPTI_ACTIVITY_KIND_KERNEL");
    let last = number("SELECT MAX(\"end\") FROM CUPTI_ACTIVITY_KIND_KERNEL");
    let begin = number("SELECT MIN(start) FROM NVTX_EVENTS WHERE \"end\" IS NOT NULL");
    let end = number("SELECT MAX(\"end\") FROM NVTX_EVENTS")
        .max(number("SELECT MAX(\"end\") FROM CUPTI_ACTIVITY_KIND_RUNTIME"));
    let facts = project.facts();
    let device = &facts["devices"][0];
    assert_eq!(device["outside_before_ns"], first - begin);
    assert_eq!(device["outside_after_ns"], end - last);
    assert_eq!(device["outside_range"], "preprocess");
    assert_eq!(device["outside_range_ns"], 60_000_000);
    // What the profiler does within a range is no part of what is told of it.
    let work = "CREATE TABLE PROFILER_OVERHEAD (start INTEGER, \"end\" INTEGER, globalTid INTEGER, nameId INTEGER, overheadType INTEGER); \
         INSERT INTO PROFILER_OVERHEAD (start, \"end\", globalTid, nameId, overheadType) \
         SELECT start + 5000000, start + 25000000, globalTid, (SELECT MIN(id) FROM StringIds), 3 FROM NVTX_EVENTS WHERE text = 'preprocess'";
    let profiled = Project::empty();
    std::fs::copy(&report, profiled.file("run.sqlite")).unwrap();
    rusqlite::Connection::open(profiled.file("run.sqlite")).unwrap().execute_batch(work).unwrap();
    let own = profiled.facts()["devices"][0].clone();
    assert_eq!((&own["outside_profiler_ns"], &own["outside_range_ns"]), (&json!(20_000_000), &json!(40_000_000)));
    // The rest is in calls: the first launch, and the end of the last wait.
    assert_eq!((&device["outside_unknown_ns"], &device["outside_profiler_ns"]), (&json!(0), &json!(0)));
    let (host, call) = (device["outside_host_ns"].as_i64().unwrap(), device["outside_call_ns"].as_i64().unwrap());
    assert!(host >= 60_000_000 && host + call <= first - begin + end - last, "{host} {call}");
    assert!(device["outside_off_cpu_ns"] == 0 && device["outside_blocked_call"].is_null(), "{device:#}");
}

#[test]
fn what_lies_before_the_steady_state_has_the_function_that_takes_it() {
    let project = Project::empty();
    scenario("solves-before-loop").write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let review = project.coldspot(&["review", "run.sqlite", "--format", "json"]).json();
    let first = &review["findings"][0];
    assert_eq!(first["rule"], "long-set-up", "{first:#}");
    let summary = first["summary"]["plain"].as_str().unwrap();
    assert!(summary.ends_with("are host code, with 100 % of its CPU samples in poisson_"), "{summary}");
    let page = redact(&project.coldspot(&["review", "run.sqlite"]).out(), project.path());
    insta::assert_snapshot!("what_lies_before_the_steady_state", page);
}

#[test]
fn a_gain_of_a_round_names_the_function_that_rounds_wait_for() {
    let project = Project::empty();
    scenario("prints-between-rounds").write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let device = &project.facts()["devices"][0];
    assert_eq!(device["is_idle_host_sampled_in_rounds"], true, "{device:#}");
    assert_eq!(device["idle_host_culprit"], "pack_batch");
    let (within, all) = (device["round_host_ns"].as_i64().unwrap(), device["idle_host_ns"].as_i64().unwrap());
    assert!((100_000_000..140_000_000).contains(&within), "{within}");
    assert!(device["round_host_longest_ns"].as_i64().unwrap() < 4_000_000, "{device:#}");
    let beside = device["beside_rounds_host_ns"].as_i64().unwrap();
    assert!(within + beside <= all && beside >= 290_000_000, "{within} {beside} {all}");
    assert!((150..155).contains(&(device["beside_rounds_longest_ns"].as_i64().unwrap() / 1_000_000)), "{device:#}");
    assert_eq!(device["beside_rounds_function"], "print_results");
    // More samples of it outside than in rounds change nothing.
    let review = project.coldspot(&["review", "run.sqlite", "--format", "json"]).json();
    let findings = review["findings"].as_array().unwrap();
    let of = |rule: &str| findings.iter().find(|finding| finding["rule"] == rule).unwrap();
    assert!(of("host-bound")["summary"]["plain"].as_str().unwrap().contains("samples in pack_batch"), "{review:#}");
    assert!(
        of("host-between-rounds")["summary"]["plain"].as_str().unwrap().contains("lie in print_results"),
        "{review:#}"
    );
    assert_eq!(of("host-between-rounds")["once"], true);
}

/// Of a program of which a third of the samples lie in `main` itself and a file without names of functions, all lie in its file. Where
/// samples stand for less than half of the host code, as before the sampler starts, no share of them is told.
#[test]
fn shares_of_samples_are_of_what_the_samples_cover() {
    let of = |unsampled_us: u64| {
        let text = format!(
            r#"
            about = "A program prepares data in several functions, and launches."
            [kernel]
            push = {{ name = "void push<float>(float*, int)", run_us = 900, grid = [2160, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {{ call = {{ api = "cudaMalloc", us = 90 }} }},
              {{ host = {{ us = {unsampled_us} }} }},
              {{ sampled = {{ every_us = 5000, stack = ["read @ /opt/app/solver", "main @ /opt/app/solver"], do = [{{ host = {{ us = 100000 }} }}] }} }},
              {{ sampled = {{ every_us = 5000, stack = ["sort @ /opt/app/solver", "main @ /opt/app/solver"], do = [{{ host = {{ us = 110000 }} }}] }} }},
              {{ sampled = {{ every_us = 5000, stack = ["main @ /opt/app/solver"], do = [{{ host = {{ us = 100000 }} }}] }} }},
              {{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = "push" }} }}] }} }},
              {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
            ]
        "#
        );
        let project = Project::empty();
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["devices"][0].clone()
    };
    let device = of(200_000);
    assert_eq!(
        (&device["outside_module"], &device["outside_module_share"]),
        (&json!("solver"), &json!(1.0)),
        "{device:#}"
    );
    let device = of(400_000);
    assert!(device["outside_sample_count"].as_i64().unwrap() >= 60, "{device:#}");
    assert!(device["outside_module"].is_null() && device["outside_function"].is_null(), "{device:#}");
}

/// A call that locks pages sets CUDA up as any first call does: its time is not told as that of locking them.
#[test]
fn the_first_call_sets_cuda_up_whatever_it_is_for() {
    let of = |before: &str| {
        let text = format!(
            r#"
            about = "Page-locked memory is made, and a kernel launched again and again."
            [kernel]
            push = {{ name = "void push<float>(float*, int)", run_us = 900, grid = [2160, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {before}
              {{ call = {{ api = "cudaHostAlloc", us = 300000 }} }},
              {{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = "push" }} }}] }} }},
              {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
            ]
        "#
        );
        let project = Project::empty();
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["devices"][0]["does_outside_call_set_up"].clone()
    };
    assert_eq!(of(""), true);
    assert_eq!(of(r#"{ call = { api = "cudaFree", us = 60000 } },"#), false);
}

/// Of a program whose launches come from a thread that a library starts late, the start is that of the thread that calls CUDA first.
#[test]
fn the_thread_that_calls_cuda_first_tells_what_lies_before_the_work() {
    let project = Project::empty();
    let text = r#"
        about = "A thread reads weights for 400 ms, another launches."
        [kernel]
        push = { name = "void push<float>(float*, int)", run_us = 900, grid = [2160, 1, 1], block = [256, 1, 1] }
        [[thread]]
        script = [
          { call = { api = "cudaMalloc", us = 90 } },
          { sampled = { every_us = 5000, stack = ["read_weights @ /opt/app/solver", "main @ /opt/app/solver"], do = [
            { host = { us = 400000 } },
          ] } },
          { call = { api = "cudaMalloc", us = 90 } },
        ]
        [[thread]]
        script = [
          { host = { us = 401000 } },
          { repeat = { times = 20, do = [{ launch = { kernel = "push" } }] } },
          { sync = { api = "cudaDeviceSynchronize" } },
        ]
    "#;
    Scenario::parse(text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let facts = project.facts();
    let device = &facts["devices"][0];
    assert_eq!(device["outside_function"], "read_weights");
    assert!(device["outside_unknown_ns"].as_i64().unwrap() < 1_000_000, "{device:#}");
    assert!(device["outside_host_ns"].as_i64().unwrap() >= 400_000_000, "{device:#}");
}

/// Of each of 20 rounds, the last 19 in the window, 4 of 5 ms are waits in MPI: of 20 samples for 2.2 ms and 1.8 ms, 11 and 9.
#[test]
fn samples_in_mpi_are_waits_for_other_ranks() {
    for version in SchemaVersion::ALL {
        let project = Project::empty();
        scenario("waits-in-mpi").write(version, &project.file("run.sqlite"));
        let device = &project.facts()["devices"][0];
        let told = ["idle_peers_library", "idle_peers_call", "idle_peers_caller", "idle_peers_second_caller"];
        let told = told.map(|fact| device[fact].as_str().unwrap_or("").to_owned());
        assert_eq!(told, ["MPI", "PMPI_Barrier", "push_wrapper_", "field_wrapper_"]);
        let (peers, host) = (device["idle_peers_ns"].as_f64().unwrap(), device["idle_host_ns"].as_f64().unwrap());
        assert!((0.75..0.85).contains(&(peers / host)), "{peers} of {host}");
        assert_eq!(device["idle_peers_caller_share"].as_f64().map(|share| (share * 20.0).round()), Some(11.0));
        assert_eq!(device["is_idle_peers_traced"], false);
        // What is no wait is told by itself.
        assert!(device["idle_host_module"].is_null(), "its own file tells nothing");
        assert_eq!(device["idle_host_first_function"], "solve_");
        assert_eq!(device["idle_host_second_function"], "filter_");
    }
}

#[test]
fn calls_of_mpi_that_were_traced_are_waits_for_other_ranks() {
    let project = Project::empty();
    let report = project.file("run.sqlite");
    scenario("waits-in-mpi").write(SchemaVersion::Nsys2025, &report);
    let traced = "DELETE FROM COMPOSITE_EVENTS;
        CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, \"end\" INTEGER, globalTid INTEGER, textId INTEGER);
        INSERT INTO StringIds (id, value) VALUES (990, 'MPI_Recv');
        INSERT INTO MPI_P2P_EVENTS (start, \"end\", globalTid, textId)
        SELECT \"end\" + 1000, \"end\" + 3001000, globalTid, 990 FROM CUPTI_ACTIVITY_KIND_RUNTIME
        WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cudaDeviceSynchronize%')";
    rusqlite::Connection::open(report).unwrap().execute_batch(traced).unwrap();
    let device = &project.facts()["devices"][0];
    assert_eq!((&device["idle_peers_library"], &device["idle_peers_call"]), (&json!("MPI"), &json!("MPI_Recv")));
    // Those of the 19 rounds after the first launch.
    assert_eq!(device["idle_peers_ns"], 19 * 3_000_000);
    assert_eq!(device["is_idle_peers_traced"], true);
    assert!(device["idle_peers_caller"].is_null() && device["idle_host_range"].is_null());
}

/// A function of the C library is told with the function of the program that calls it, as the stacks tell that are not cut off. What
/// lies off the CPU before the program begins is loading, and no wait.
#[test]
fn outside_of_the_work_callers_are_told_and_loading_is_no_wait() {
    let project = Project::empty();
    let text = r#"
        about = "A program is loaded, makes numbers with rand, and sleeps before it launches."
        [kernel]
        push = { name = "void push<float>(float*, int)", run_us = 900, grid = [2160, 1, 1], block = [256, 1, 1] }
        [[thread]]
        script = [
          { off = { us = 200000 } },
          { call = { api = "cudaMalloc", us = 90 } },
          { sampled = { every_us = 5000, stack = ["__random @ /lib/libc.so.6", "rand @ /lib/libc.so.6", "main @ /opt/app/solver"], do = [
            { host = { us = 100000 } },
          ] } },
          { sampled = { every_us = 5000, stack = ["__random @ /lib/libc.so.6"], do = [{ host = { us = 300000 } }] } },
          { off = { us = 70000 } },
          { repeat = { times = 20, do = [{ launch = { kernel = "push" } }] } },
          { sync = { api = "cudaDeviceSynchronize" } },
        ]
    "#;
    Scenario::parse(text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let device = &project.facts()["devices"][0];
    assert_eq!((&device["outside_function"], &device["outside_function_caller"]), (&json!("__random"), &json!("main")));
    assert_eq!(device["outside_loading_ns"], 200_000_000);
    assert_eq!(device["outside_off_cpu_ns"], 70_000_000);
    assert!(device["outside_module"].is_null(), "{device:#}");
    let review = project.coldspot(&["review", "run.sqlite"]).out();
    assert!(review.contains("of its CPU samples in `__random`, called by `main`"), "{review}");
    assert!(review.contains("Loading the program, until it begins, takes 200 ms"), "{review}");
}

/// What a thread waits for is told by the process that runs within the wait, whichever call it waits in.
#[test]
fn a_wait_in_which_a_compiler_runs_as_a_process_compiles() {
    let compilers = "INSERT INTO StringIds (id, value) VALUES (900001, '/usr/local/cuda/bin/PROGRAM'), (900002, 'run'); \
         INSERT INTO COMPOSITE_EVENTS (id, start, globalTid, cpuCycles) \
             SELECT 800000 + 2 * rowid, start + 50000, globalTid + ((1000 + rowid) << 24), 1 FROM OSRT_API; \
         INSERT INTO COMPOSITE_EVENTS (id, start, globalTid, cpuCycles) \
             SELECT 800001 + 2 * rowid, \"end\" - 50000, globalTid + ((1000 + rowid) << 24), 1 FROM OSRT_API; \
         INSERT INTO SAMPLING_CALLCHAINS (id, symbol, module, stackDepth) SELECT 800000 + 2 * rowid, 900002, 900001, 0 FROM OSRT_API";
    // The table of processes names one that has no sample in a file of its own.
    let processes = "CREATE TABLE IF NOT EXISTS PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT); \
         INSERT INTO PROCESSES (globalPid, pid, name) \
             SELECT ((globalTid >> 24) + 1000 + rowid) << 24, 1000 + rowid, 'PROGRAM' FROM OSRT_API";
    let first = |program: &str, named: &str| {
        let project = Project::empty();
        let report = project.file("run.sqlite");
        scenario("reads-and-prints").write(SchemaVersion::Nsys2025, &report);
        let change = format!("{}; {}", compilers.replace("PROGRAM", program), processes.replace("PROGRAM", named));
        rusqlite::Connection::open(report).unwrap().execute_batch(&change).unwrap();
        let facts = project.facts();
        let device = &facts["devices"][0];
        json!([device["idle_compile_ns"].as_i64() > Some(0), device["idle_blocked_ns"].as_i64() > Some(0)])
    };
    assert_eq!(first("tileiras", "run"), json!([true, false]));
    assert_eq!(first("reader", "tileiras"), json!([true, false]));
    assert_eq!(first("reader", "run"), json!([false, true]));
}

/// The first device's facts of a program, of its steady state where that is told.
fn device_of(text: &str) -> Value {
    let project = Project::empty();
    Scenario::parse(text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    project.facts()["devices"][0].clone()
}

/// All of the program lies in `init_`; what the GPU waits for is one of the functions below it, and no one holds most of that.
#[test]
fn what_all_samples_of_a_thread_lie_in_is_not_to_blame() {
    let device = |loop_stack: &str| {
        device_of(&format!(
            r#"
            about = "Two functions of a program take turns."
            [kernel]
            push = {{ name = "void push<float>(float*, int)", run_us = 100, grid = [2160, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {{ sampled = {{ every_us = 500, stack = ["read_mesh @ /opt/app/solver", "init_ @ /opt/app/solver", "main @ /opt/app/solver"], do = [{{ host = {{ us = 60000 }} }}] }} }},
              {{ repeat = {{ times = 20, do = [
                {{ sampled = {{ every_us = 500, stack = ["filter_ @ /opt/app/solver", {loop_stack}"main @ /opt/app/solver"], do = [{{ host = {{ us = 2000 }} }}] }} }},
                {{ sampled = {{ every_us = 500, stack = ["solve_ @ /opt/app/solver", {loop_stack}"main @ /opt/app/solver"], do = [{{ host = {{ us = 2000 }} }}] }} }},
                {{ memcpy = {{ dir = "h2d", host = "pinned", bytes = 65536, gb_per_s = 24 }} }},
                {{ launch = {{ kernel = "push" }} }},
              ] }} }},
              {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
            ]
            "#
        ))
    };
    let root = device("\"init_ @ /opt/app/solver\", ");
    assert!(root["idle_host_function"].is_null(), "{root:#}");
    assert_eq!(root["idle_host_second_share"].as_f64().map(|share| share > 0.4), Some(true), "{root:#}");
    let step = device("\"step_ @ /opt/app/solver\", ");
    assert_eq!(step["idle_host_function"], "step_", "{step:#}");
}

/// The C library, the profiler and a function of the program, all of them called by `main`: its name says nothing of any.
#[test]
fn the_beginning_of_a_program_is_not_to_blame_for_what_it_calls() {
    let device = device_of(
        r#"
        about = "A program of one function, and what else runs in its thread."
        [kernel]
        push = { name = "void push<float>(float*, int)", run_us = 100, grid = [2160, 1, 1], block = [256, 1, 1] }
        [[thread]]
        script = [
          { repeat = { times = 20, do = [
            { sampled = { every_us = 500, stack = ["app::filter::h0123456789abcdef @ /opt/app/solver", "main @ /opt/app/solver"], do = [{ host = { us = 2000 } }] } },
            { sampled = { every_us = 500, stack = ["app::filter::h0123456789abcde0 @ /opt/app/solver", "main @ /opt/app/solver"], do = [{ host = { us = 2000 } }] } },
            { sampled = { every_us = 500, stack = ["main @ /opt/app/solver"], do = [{ host = { us = 2000 } }] } },
            { sampled = { every_us = 500, stack = ["memcpy @ /lib/libc.so.6", "main @ /opt/app/solver"], do = [{ host = { us = 2000 } }] } },
            { sampled = { every_us = 500, stack = ["memset @ /lib/libc.so.6", "Log @ /opt/nsys/libToolsInjection64.so", "filter_ @ /opt/app/solver", "main @ /opt/app/solver"], do = [{ host = { us = 2000 } }] } },
            { memcpy = { dir = "h2d", host = "pinned", bytes = 65536, gb_per_s = 24 } },
            { launch = { kernel = "push" } },
          ] } },
          { sync = { api = "cudaDeviceSynchronize" } },
        ]
        "#,
    );
    assert!(device["idle_host_function"].is_null(), "{device:#}");
    assert_eq!(device["idle_host_first_function"], "app::filter", "{device:#}");
    assert_eq!(device["idle_host_first_share"].as_f64().map(|share| (0.3..0.5).contains(&share)), Some(true));
    assert!(device["idle_host_second_function"].is_null(), "{device:#}");
}

/// `drive_` holds the loop and its launches: what it calls between them is to blame, by its functions, not by those of C++'s library.
#[test]
fn the_function_that_launches_is_not_to_blame_for_what_it_calls() {
    let device = |wait: &str| {
        device_of(&format!(
            r#"
            about = "A function that calls CUDA and the host code between."
            [kernel]
            push = {{ name = "void push<float>(float*, int)", run_us = 2000, grid = [2160, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {{ repeat = {{ times = 20, do = [
                {{ sampled = {{ every_us = 500, stack = ["void std::_Destroy<int*>(int*, int*) @ /opt/app/solver", "app::clear(int) @ /opt/app/solver", "drive_ @ /opt/app/solver"], do = [{{ host = {{ us = 3000 }} }}] }} }},
                {{ sampled = {{ every_us = 500, stack = ["app::resize(int) @ /opt/app/solver", "drive_ @ /opt/app/solver"], do = [{{ host = {{ us = 2500 }} }}] }} }},
                {{ memcpy = {{ dir = "h2d", host = "pinned", bytes = 65536, gb_per_s = 24 }} }},
                {{ launch = {{ kernel = "push" }} }},
                {{ sampled = {{ every_us = 200, stack = ["cudaDeviceSynchronize @ /opt/app/solver", "{wait} @ /opt/app/solver"], do = [{{ sync = {{ api = "cudaDeviceSynchronize" }} }}] }} }},
              ] }} }},
            ]
            "#
        ))
    };
    let driven = device("drive_");
    assert!(driven["idle_host_function"].is_null(), "{driven:#}");
    assert_eq!(driven["idle_host_first_function"], "app::clear", "{driven:#}");
    assert_eq!(driven["idle_host_second_function"], "app::resize", "{driven:#}");
    assert_eq!(device("main")["idle_host_culprit"], "drive_", "nothing tells that it launches");
}

/// Rounds of eight kernels, with a wait in MPI after each, of which the last takes other calls as well.
#[test]
fn a_call_of_mpi_that_waits_as_long_in_each_round_is_told_to() {
    let told = |waits_us: &[i64]| {
        let project = Project::empty();
        let report = project.file("run.sqlite");
        let rounds: String = waits_us
            .iter()
            .map(|us| {
                format!(
                    r#"
                    {{ repeat = {{ times = 8, do = [{{ launch = {{ kernel = "k" }} }}] }} }},
                    {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
                    {{ host = {{ us = {us} }} }},
                    "#
                )
            })
            .collect();
        let kernel = "[kernel]\nk = { run_us = 100, grid = [1080, 1, 1], block = [256, 1, 1] }";
        let last = "{ launch = { kernel = \"k\" } },";
        let text = format!("about = \"Rounds.\"\n{kernel}\n[[thread]]\nscript = [{rounds}{last}]");
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &report);
        let starts = "SELECT \"end\" + 1000, \"end\" + 1000 + 1000 * CASE ROW_NUMBER() OVER (ORDER BY start)";
        let lengths: String =
            waits_us.iter().enumerate().map(|(index, us)| format!(" WHEN {} THEN {}", index + 1, us - 2)).collect();
        let traced = format!(
            "CREATE TABLE MPI_OTHER_EVENTS (start INTEGER NOT NULL, \"end\" INTEGER, globalTid INTEGER, textId INTEGER);
            INSERT INTO StringIds (id, value) VALUES (990, 'MPI_Waitall');
            INSERT INTO MPI_OTHER_EVENTS (start, \"end\", globalTid, textId)
            {starts}{lengths} END, globalTid, 990 FROM CUPTI_ACTIVITY_KIND_RUNTIME
            WHERE nameId IN (SELECT id FROM StringIds WHERE value LIKE 'cudaDeviceSynchronize%')"
        );
        rusqlite::Connection::open(report).unwrap().execute_batch(&traced).unwrap();
        let device = &project.facts()["devices"][0];
        let count = device["idle_peers_like_count"].as_i64().unwrap_or(-1);
        (count, device["idle_peers_like_ns"].as_i64().unwrap_or(-1) / 1_000_000)
    };
    assert_eq!(told(&[20_002, 20_002, 20_002]), (3, 60));
    assert_eq!(told(&[20_002, 30_002, 40_002]), (3, 90), "half as long as the longest");
    assert_eq!(told(&[19_002, 30_002, 40_002]), (2, 70));
    assert_eq!(told(&[200_002, 1_002, 1_002]), (1, 200), "the first waits, and the others hardly");
}
