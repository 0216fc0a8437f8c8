//! What Nsight Systems notes of its own work says of the program: when a context is made, and that the program exits.

use serde_json::Value;

use super::host_turns::program;
use crate::support::SchemaVersion;
use crate::support::project::Project;

const EXIT: &str = r#"{ profiler = { name = "CUDA profiling data flush on process exit", us = 2000 } },"#;

/// The facts of a program that works on the GPU some time after CUDA has started.
fn facts(behind_start: &str, behind_work: &str) -> Value {
    let project = Project::empty();
    let script = format!(
        r#"
        [[thread]]
        script = [
          {{ profiler = {{ name = "CUDA profiling initialization", us = 20000 }} }},
          {{ call = {{ api = "cuModuleGetLoadingMode", us = 1 }} }},
          {{ host = {{ us = 5000 }} }},
          {behind_start}
          {{ host = {{ us = 40000 }} }},
          {{ call = {{ api = "cudaMalloc", us = 300 }} }},
          {{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = "k" }} }}] }} }},
          {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
          {behind_work}
        ]
        "#
    );
    program(&script).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    project.facts()
}

#[test]
fn cuda_has_started_once_the_profiler_notices_a_context() {
    let told = |notice: &str| {
        let facts = facts(notice, "");
        let ns = |name: &str| facts["devices"][0][name].as_i64().unwrap_or(-1) / 1_000_000;
        (ns("outside_cuda_init_ns"), ns("outside_host_ns"))
    };
    assert_eq!(told(""), (45, 0));
    let made = r#"{ profiler = { name = "CUDA profiling data flush on context created", us = 900 } },"#;
    assert_eq!(told(made), (5, 40));
}

#[test]
fn a_program_exits_where_the_profiler_says_so_behind_all_of_its_calls() {
    let told = |behind: &str| facts("", behind)["runs"][0]["is_exit_recorded"].clone();
    assert_eq!(told(EXIT), true);
    assert_eq!(told(""), false);
    let another = format!(r#"{EXIT} {{ host = {{ us = 10 }} }}, {{ call = {{ api = "cudaFree", us = 20 }} }},"#);
    assert_eq!(told(&another), false, "a call comes behind it");
}

#[test]
fn a_helper_that_exits_says_nothing_of_the_program() {
    let told = |behind_work: &str| {
        let project = Project::empty();
        let script = format!(
            r#"
            [[process]]
            pid = 4242
            name = "train"
            [[process]]
            pid = 4243
            name = "helper"
            [[thread]]
            script = [
              {{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = "k" }} }}] }} }},
              {{ sync = {{ api = "cudaDeviceSynchronize" }} }},
              {behind_work}
            ]
            [[thread]]
            process = 1
            script = [
              {{ call = {{ api = "cudaGetDeviceCount", us = 1 }} }},
              {{ host = {{ us = 90000 }} }},
              {EXIT}
            ]
            "#
        );
        program(&script).write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
        project.facts()["runs"][0]["is_exit_recorded"].clone()
    };
    assert_eq!(told(""), false);
    assert_eq!(told(EXIT), true);
}
