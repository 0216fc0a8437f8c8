//! `coldspot collect`: what to record next.

use std::process::Command;

use serde_json::Value;

use crate::support::cli::{Printed, coldspot};
use crate::support::kernels::{TRANSPOSE, details, raw};
use crate::support::{Scenario, SchemaVersion, temp};

/// A report whose GPU runs one kernel most of the time.
fn report_of(folder: &std::path::Path, kernel: &str) -> String {
    rounds_of(folder, kernel, 20)
}

fn rounds_of(folder: &std::path::Path, kernel: &str, count: i64) -> String {
    let mut text = "about = \"One kernel.\"\n[[gpu]]\nid = 0\n[kernel]\n".to_owned();
    let quoted = serde_json::to_string(kernel).unwrap();
    text.push_str(&format!("{quoted} = {{ run_us = 900, grid = [256, 1, 1], block = [256, 1, 1] }}\n"));
    for round in 0..count {
        let (call, start) = (1_000_000 * round, 1_000_000 * round + 20_000);
        for (what, name, start, end) in
            [("call", "\"cudaLaunchKernel\"", call, call + 9_000), ("kernel", quoted.as_str(), start, start + 900_000)]
        {
            text.push_str(&format!(
                "[[exact]]\nwhat = \"{what}\"\nname = {name}\nstart_ns = {start}\nend_ns = {end}\ncorrelation = {}\n",
                round + 1
            ));
        }
    }
    let path = folder.join("run.sqlite");
    Scenario::parse(&text).write(SchemaVersion::Nsys2025, &path);
    path.display().to_string()
}

#[test]
fn without_a_report_each_profiler_is_shown() {
    let text = coldspot(&["collect"]).out();
    insta::assert_snapshot!(text);
    let all: Value = coldspot(&["collect", "--format", "json"]).json();
    let profilers: Vec<&str> =
        all["recordings"].as_array().unwrap().iter().map(|part| part["script"]["profiler"].as_str().unwrap()).collect();
    assert_eq!(profilers, ["nsys", "torch.profiler", "ncu"]);
}

#[test]
fn the_kernel_that_takes_the_time_is_to_be_profiled_and_then_is_not() {
    let folder = temp::folder();
    let report = report_of(folder.path(), "transpose_naive(const float *, float *, int)");
    let text = coldspot(&["collect", &report, "--quiet"]).out();
    assert!(text.contains("transpose_naive (90"), "{text}");
    let line =
        "ncu --set full -o kernels --kernel-name 'regex:^(transpose_naive)$' --launch-skip 3 --launch-count 1 PROGRAM";
    assert!(text.contains(line), "{text}");
    let page = folder.path().join("kernels.csv");
    std::fs::write(
        &page,
        // Of a GPU that the page does not name.
        raw(&[("transpose_naive(const float *, float *, int)", "(256, 1, 1)", "(256, 1, 1)", TRANSPOSE)])
            .replace("\"9.0\"", "\"\""),
    )
    .unwrap();
    let page = page.display().to_string();
    let text = coldspot(&["collect", &report, "--ncu", &page, "--quiet"]).out();
    assert!(!text.contains("--kernel-name"), "{text}");
}

#[test]
fn a_program_that_is_recorded_again_is_recorded_with_what_its_host_does() {
    let folder = temp::folder();
    let all: Value = coldspot(&["collect", &rounds_of(folder.path(), "k", 1), "--format", "json"]).json();
    let first = &all["recordings"][0];
    assert_eq!(first["rules"][0], "too-little-work", "{all:#}");
    let line = "nsys profile --trace=cuda,nvtx,osrt --sample=process-tree --output=run PROGRAM";
    assert_eq!(first["script"]["text"], line);
}

#[test]
fn a_page_lacks_the_program_and_what_its_own_page_leaves_out() {
    let folder = temp::folder();
    let path = folder.path().join("kernels.csv");
    std::fs::write(&path, details()).unwrap();
    let path = path.display().to_string();
    let all: Value = coldspot(&["collect", &path, "--format", "json"]).json();
    let parts = all["recordings"].as_array().unwrap();
    assert_eq!(parts.len(), 2, "{all:#}");
    assert!(parts[0]["then"].as_str().unwrap().starts_with("ncu --import FILE.ncu-rep --csv --page raw > kernels.csv"));
    assert_eq!(parts[1]["script"]["text"], "nsys profile --trace=cuda,nvtx,osrt --output=run PROGRAM");
    assert!(parts[1]["then"].as_str().unwrap().contains("--ncu "));
    let review = coldspot(&["review", &path]).out();
    assert!(review.contains("`coldspot collect REPORT` prints the whole commands."), "{review}");
}

#[cfg(unix)]
#[test]
fn a_shell_takes_no_name_for_a_command() {
    for name in ["k';touch${IFS}pwned;'", "$(touch${IFS}pwned)", "`touch${IFS}pwned`", "k|x&y;z>pwned", "a\\b\"c"] {
        let folder = temp::folder();
        let report = report_of(folder.path(), name);
        let all: Value = coldspot(&["collect", &report, "--quiet", "--format", "json"]).json();
        for part in all["recordings"].as_array().unwrap() {
            let line = part["script"]["text"].as_str().unwrap();
            let script = format!("ncu() {{ printf '%s\\n' \"$#\"; }}\n{line}");
            let run = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&run.stdout), "11\n", "{line}");
        }
        assert!(!folder.path().join("pwned").exists(), "{name}");
    }
}

#[test]
fn names_that_no_terminal_should_show_are_in_no_command() {
    let folder = temp::folder();
    for name in ["k\u{1b}[31mred", "k\u{202e}x", "k\nPROGRAM"] {
        let report = report_of(folder.path(), name);
        let text = coldspot(&["collect", &report, "--quiet"]).out();
        assert!(!text.contains("--kernel-name"), "{text}");
        assert!(text.contains("names that no command line should hold"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && !text.contains("##"), "{text:?}");
    }
    for name in ["k ##[error] x", "##[error]", "k##vso[task.complete]"] {
        let report = report_of(folder.path(), name);
        assert!(!coldspot(&["collect", &report, "--quiet"]).out().contains("##"), "{name}");
    }
    let report = report_of(folder.path(), "k");
    for name in ["##[error] x.sqlite", "a ##vso[task.complete].sqlite"] {
        let hostile = folder.path().join(name);
        std::fs::copy(&report, &hostile).unwrap();
        let text = coldspot(&["collect", hostile.to_str().unwrap(), "--quiet"]).out();
        assert!(text.contains("coldspot review REPORT") && !text.contains("##"), "{text}");
    }
}

#[test]
fn help_teaches_what_each_profiler_sees() {
    let help = coldspot(&["collect", "--help"]).out();
    for words in ["nsys  ", "torch.profiler  ", "ncu  ", "Nothing is run"] {
        assert!(help.contains(words), "{help}");
    }
}
