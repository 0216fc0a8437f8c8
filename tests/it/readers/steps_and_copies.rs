//! What reports tell of copies that carry gradients, and of what one step has once.

use serde_json::{Value, json};

use crate::support::cli::Printed as _;
use crate::support::project::Project;
use crate::support::{Scenario, SchemaVersion, scenario};

const KERNELS: &str = r#"
    [kernel]
    push = { name = "void push<float>(float*, int)", run_us = 900, grid = [2160, 1, 1], block = [256, 1, 1] }
    gather = { name = "ncclDevKernel_AllGather_RING_LL", run_us = 3000, grid = [16, 1, 1], block = [256, 1, 1] }
"#;

fn facts_of(script: &str) -> Value {
    let project = Project::empty();
    let text = format!("about = \"A few steps.\"\n{KERNELS}\n[[thread]]\nscript = [{script}]");
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    project.facts()
}

#[test]
fn gradients_go_to_the_host() {
    let of = |direction: &str| {
        let script = format!(
            r#"{{ repeat = {{ times = 20, do = [
              {{ launch = {{ kernel = "push" }} }},
              {{ range = {{ name = "ToCopyBackward0", do = [
                {{ memcpy = {{ dir = "{direction}", host = "pageable", bytes = 8388608, gb_per_s = 6 }} }},
              ] }} }},
              {{ sync = {{ api = "cudaStreamSynchronize" }} }},
            ] }} }},"#
        );
        facts_of(&script)["devices"][0]["exposed_gradient_copy_ns"].as_i64().unwrap()
    };
    assert!(of("d2h") > 20_000_000, "{}", of("d2h"));
    assert_eq!(of("h2d"), 0);
}

/// What the host does beside copies there and back: its own code goes with them, memory that it takes meanwhile does not.
#[test]
fn round_trips_take_the_hosts_own_code_along_and_no_allocations() {
    let of = |between: &str| {
        let copy = |dir: &str| {
            format!(
                r#"{{ memcpy = {{ dir = "{dir}", host = "pageable", bytes = 33554432, gb_per_s = 6, api = "cudaMemcpy" }} }},"#
            )
        };
        let (there, back) = (copy("h2d"), copy("d2h"));
        let round = format!(r#"{there} {{ launch = {{ kernel = "push" }} }}, {back} {between}"#);
        let facts = facts_of(&format!("{{ repeat = {{ times = 20, do = [{round}] }} }},"));
        let fact = |name: &str| facts["devices"][0][name].as_i64().unwrap();
        (fact("round_trip_idle_ns"), fact("round_trip_host_idle_ns"), fact("idle_allocate_ns"))
    };
    let (alone_ns, alone_host_ns, _) = of("");
    let (host_ns, own_ns, _) = of("{ host = { us = 2000 } },");
    assert!((37_000_000..40_000_000).contains(&(own_ns - alone_host_ns)), "{own_ns} {alone_host_ns}");
    assert!(own_ns <= host_ns && host_ns - alone_ns < 41_000_000, "{host_ns} {alone_ns}");
    let (with_ns, with_host_ns, allocate_ns) = of(r#"{ call = { api = "cudaMalloc", us = 2000 } },"#);
    assert!(allocate_ns > 35_000_000, "{allocate_ns}");
    assert!((with_ns - alone_ns).abs() < 1_000_000, "{with_ns} {alone_ns}");
    assert!((with_host_ns - alone_host_ns).abs() < 1_000_000, "{with_host_ns} {alone_host_ns}");
}

/// Kernels of two streams that wait for unified memory at the same time wait for it once.
#[test]
fn kernels_wait_for_unified_memory_no_longer_than_they_run() {
    let launch = |stream: i64| {
        format!(
            r#"{{ launch = {{ kernel = "push", stream = {stream}, faults = {{ count = 8, bytes = 65536, gb_per_s = 9 }} }} }},"#
        )
    };
    let of = |body: &str| {
        let sync = r#"{ sync = { api = "cudaDeviceSynchronize" } },"#;
        let facts = facts_of(&format!("{{ repeat = {{ times = 20, do = [{body} {sync}] }} }},"));
        let device = &facts["devices"][0];
        (device["migration_kernel_ns"].as_i64().unwrap(), device["compute_ns"].as_i64().unwrap())
    };
    let (waits_ns, compute_ns) = of(&launch(7));
    assert!(waits_ns == compute_ns && waits_ns > 17_000_000, "{waits_ns} {compute_ns}");
    let (waits_ns, compute_ns) = of(&format!("{}{}", launch(7), launch(8)));
    assert!(waits_ns == compute_ns && waits_ns < 30_000_000, "{waits_ns} {compute_ns}");
}

#[test]
fn launches_of_another_grid_that_wait_for_unified_memory_count_whole() {
    let faults = "faults = { count = 8, bytes = 65536, gb_per_s = 9 }";
    let of = |last: &str| {
        let facts = facts_of(&format!(
            r#"{{ repeat = {{ times = 20, do = [
              {{ launch = {{ kernel = "push" }} }},
              {{ launch = {{ kernel = "push", {faults} }} }},
              {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
            ] }} }}, {last}"#
        ));
        let device = &facts["devices"][0];
        (device["migration_kernel_ns"].as_i64().unwrap(), facts["kernels"][0]["faulting_excess_ns"].as_i64().unwrap())
    };
    let (waits_ns, excess_ns) = of("");
    assert!(waits_ns == excess_ns && waits_ns < 1_000_000, "as long as those beside which nothing moves: {waits_ns}");
    let (waits_ns, excess_ns) = of(&format!(r#"{{ launch = {{ kernel = "push", grid = [1080, 1, 1], {faults} }} }},"#));
    assert!(waits_ns == excess_ns && (850_000..2_000_000).contains(&waits_ns), "{waits_ns}");
}

/// Two processes share no stream, although both call theirs the default one; and what lies outside of the window is not won.
#[test]
fn each_default_stream_is_judged_by_itself() {
    let of = |others: &[usize], window: Option<&str>| {
        let script = r#"[{ repeat = { times = 60, do = [
          { launch = { kernel = "push", stream = 7 } },
          { launch = { kernel = "push", stream = 7 } },
          { sync = { api = "cudaStreamSynchronize", stream = 7 } },
        ] } }]"#;
        let text = "about = \"Threads.\"\n[kernel]\npush = { run_us = 60, grid = [16, 1, 1], block = [128, 1, 1] }\n";
        let processes =
            (0..2).map(|pid| format!("[[process]]\npid = {}\nname = \"workers\"\nstreams = [7]\n", 42 + pid));
        let threads = [0, 0].iter().chain(others).enumerate().map(|(number, process)| {
            format!("[[thread]]\nprocess = {process}\nstart_us = {}\nscript = {script}\n", 20 * number)
        });
        let project = Project::empty();
        let text: String = std::iter::once(text.to_owned()).chain(processes).chain(threads).collect();
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        let facts = match window {
            Some(window) => {
                project.coldspot(&["facts", "run.sqlite", "--format", "json", "--window", window]).success().json()
            }
            None => project.facts(),
        };
        let device = facts["devices"][0].clone();
        let fact = |name: &str| device[name].as_i64().unwrap();
        (fact("shared_stream_thread_count"), fact("shared_stream_turn_ns"), fact("window_ns"))
    };
    let (threads, won_ns, window_ns) = of(&[], None);
    assert!(threads == 2 && won_ns < window_ns, "{threads} {won_ns}");
    assert_eq!(of(&[1, 1], None).0, 2);
    let (_, won_ns, window_ns) = of(&[], Some("2.01ms..2.03ms"));
    assert!(won_ns < window_ns && window_ns == 20_000, "{won_ns} {window_ns}");
}

/// A report may begin with a step in the middle of the run, by a delay or at a call of the program.
#[test]
fn the_profiler_tells_where_it_was_told_to_begin() {
    let of = |name: &str, value: &str| {
        let project = Project::empty();
        let report = project.file("run.sqlite");
        scenario("pageable-copies").write(SchemaVersion::Nsys2025, &report);
        let change = format!("INSERT INTO META_DATA_CAPTURE (name, value) VALUES ('{name}', '{value}')");
        rusqlite::Connection::open(report).unwrap().execute_batch(&change).unwrap();
        project.facts()["runs"][0]["is_begin_chosen"].clone()
    };
    assert_eq!((of("START_TRIGGER", "Immediate"), of("START_DELAY_MS", "0")), (json!(false), json!(false)));
    assert_eq!((of("START_TRIGGER", "CudaProfilerApi"), of("START_DELAY_MS", "5000")), (json!(true), json!(true)));
}

#[test]
fn a_single_collective_in_a_few_steps_waits_in_one() {
    let of = |each: &str, last: &str| {
        let step = |index: usize, more: &str| {
            format!(
                r#"{{ range = {{ name = "ProfilerStep#{index}", do = [
                  {{ repeat = {{ times = 6, do = [{{ launch = {{ kernel = "push" }} }}] }} }}, {each} {more}
                  {{ sync = {{ api = "cudaStreamSynchronize" }} }},
                ] }} }},"#
            )
        };
        let facts = facts_of(&[step(1, ""), step(2, ""), step(3, last)].concat());
        let device = &facts["devices"][0];
        (device["repeat_count"].clone(), device["exposed_communication_once_count"].clone())
    };
    let collective = r#"{ launch = { kernel = "gather" } },"#;
    assert_eq!(of("", collective), (json!(3), json!(1)));
    assert_eq!(of(collective, ""), (json!(3), json!(null)));
}
