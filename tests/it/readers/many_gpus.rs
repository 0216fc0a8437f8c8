//! Recordings of more GPUs than are told apart: what is left out is told, and no gate passes without it.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use crate::support::cli::{Printed, coldspot_in};
use crate::support::heavy;
use crate::support::kernels;
use crate::support::temp;

/// A trace with two launches on each of so many GPUs; those of the last take longest.
fn trace(gpus: i64) -> String {
    let mut events = Vec::new();
    for launch in 0..2 * gpus {
        let (gpu, at) = (launch % gpus, 1_000 + 100 * launch);
        let length = if gpu == gpus - 1 { 90_000 } else { 50 };
        let host = r#""pid": 99, "tid": 99"#;
        events.push(format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", {host}, "ts": {at}, "dur": 5, "args": {{"correlation": {launch}}}}},
            {{"ph": "X", "cat": "kernel", "name": "gemm", "pid": {gpu}, "tid": 7, "ts": {}, "dur": {length}, "args": {{"device": {gpu}, "stream": 7, "correlation": {launch}}}}}"#,
            at + 8
        ));
    }
    format!("{{\"traceEvents\": [{}]}}", events.join(",\n"))
}

fn export(path: &Path, gpus: i64) {
    heavy::write(path, 2 * gpus, &[&heavy::KERNELS.replace("PID, 0,", &format!("PID, n % {gpus},")), heavy::LAUNCHES]);
}

/// How a budget stands that the work of the first GPUs holds, and what the review says.
fn reviewed(folder: &Path, name: &str) -> (serde_json::Value, String) {
    let arguments = ["review", name, "--budget", "window_time<=3600s", "--fail-on", "never", "--format"];
    let of = |format: &str| coldspot_in(folder, &[&arguments[..], &[format]].concat());
    (of("json").json()["gates"][0]["outcome"].clone(), of("markdown").out())
}

#[test]
fn gpus_beyond_the_limit_are_told_and_leave_gates_open() {
    let folder = temp::folder();
    let path = |name: &str| folder.path().join(name);
    let mut page = String::new();
    for gpus in [32, 40] {
        std::fs::write(path(&format!("trace{gpus}.json")), trace(gpus)).unwrap();
        export(&path(&format!("export{gpus}.sqlite")), gpus);
        page.clear();
        let one = kernels::transpose();
        let (head, row) = one.trim_end().rsplit_once('\n').unwrap();
        page.push_str(head);
        for gpu in 0..gpus {
            write!(
                page,
                "\n{}",
                row.replace("\"0\",\"9.0\"", &format!("\"{gpu}\",\"9.0\"")).replacen("\"0\"", &format!("\"{gpu}\""), 1)
            )
            .unwrap();
        }
        std::fs::write(path(&format!("page{gpus}.csv")), format!("{page}\n")).unwrap();
    }
    for (name, end) in [("trace", "json"), ("export", "sqlite"), ("page", "csv")] {
        let (outcome, said) = reviewed(folder.path(), &format!("{name}32.{end}"));
        assert_eq!(outcome, json!("passed"), "{name}: {said}");
        assert!(!said.contains("A limit was reached"), "{said}");
        let (outcome, said) = reviewed(folder.path(), &format!("{name}40.{end}"));
        assert_eq!(outcome, json!("unknown"), "{name}: {said}");
        assert!(said.contains("8 × GPU beyond the limit: left out with all that ran on it"), "{name}: {said}");
        // The profiler lost none of it, and it makes sense.
        assert!(!said.contains("could not be used") && !said.contains("the profiler lost"), "{name}: {said}");
    }
    let (base, head) = ("trace32.json", "trace40.json");
    let compared =
        coldspot_in(folder.path(), &["compare", base, head, "--fail-on", "slower", "--same-work", "--format", "json"])
            .json();
    assert_ne!(compared["gates"][0]["outcome"], json!("passed"), "{compared:#}");
}
