//! What is held against the targets of the scorecard, and what is not.

use serde_json::Value;

use crate::readers::host_turns::program;
use crate::support::project::Project;
use crate::support::{Scenario, SchemaVersion};

/// A share of the scorecard of a program's GPU.
fn share(program: &Scenario, id: &str) -> Option<f64> {
    let project = Project::empty();
    program.write(SchemaVersion::Nsys2025, &project.file("run.sqlite"));
    let review = project.review_json(&[]);
    let scores = review["devices"][0]["scores"].as_array().cloned().unwrap_or_default();
    scores.iter().find(|score| score["id"] == id).and_then(|score: &Value| score["share"].as_f64())
}

#[test]
fn copies_before_the_first_kernel_have_none_to_run_beside() {
    let copy = r#"{ memcpy = { dir = "h2d", host = "pinned", bytes = 2097152, gb_per_s = 25 } }"#;
    let work =
        r#"{ launch = { kernel = "k" } }, { launch = { kernel = "k" } }, { sync = { api = "cudaDeviceSynchronize" } }"#;
    let overlapped = |turns: &str| share(&program(&format!("[[thread]]\nscript = [{turns}]\n")), "copies_overlapped");
    let repeated = |what: &str| format!("{{ repeat = {{ times = 40, do = [{what}] }} }}");
    assert_eq!(overlapped(&repeated(&format!("{copy}, {work}"))), Some(0.0));
    assert_eq!(overlapped(&format!("{}, {}", repeated(copy), repeated(work))), None);
    assert_eq!(overlapped(&format!("{}, {}", repeated(work), repeated(copy))), None);
}

#[test]
fn work_that_was_not_recorded_is_held_against_no_target() {
    let told = |idle: u32, id: &str| {
        let text = format!(
            r#"
            about = "Other work on the GPU."
            metric = [{{ name = "SMs Active [Throughput %]", period_us = 100, busy = 90, idle = {idle} }}]
            [kernel]
            k = {{ run_us = 20, grid = [54, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [{{ repeat = {{ times = 20, do = [{{ launch = {{ kernel = "k" }} }}, {{ host = {{ us = 1000 }} }}] }} }}]
            "#
        );
        share(&Scenario::parse(&text), id).is_some()
    };
    assert!(told(2, "gpu_busy") && told(2, "sm_active"));
    assert!(!told(80, "gpu_busy") && !told(80, "sm_active"));
}
