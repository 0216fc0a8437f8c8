//! The command line, as a user meets it.

use std::ffi::OsStr;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;

use crate::support::cli::{Printed, bare, binary, coldspot, coldspot_in};
use crate::support::{fixtures, temp};

fn fixture(name: &str) -> String {
    fixtures().join(name).display().to_string()
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

#[test]
fn help_teaches() {
    coldspot(&["--help"])
        .success()
        .stdout(contains("Exit codes:").and(contains("nsys profile")).and(contains("  3  the report")));
    coldspot(&["review", "--help"]).success().stdout(contains("--fail-on").and(contains("Exit codes:")));
    coldspot(&[] as &[&str]).code(2);
}

#[test]
fn wrong_usage_is_2_and_says_what_to_write() {
    let report = fixture("healthy.sqlite");
    coldspot(&["review"]).code(2);
    coldspot(&["review", &report, "--window", "1..2"]).code(2).stderr(contains("has no unit"));
    coldspot(&["review", &report, "--window", "1s..2s", "--range", "x"]).code(2);
    coldspot(&["review", &report, "--device", "7"]).code(2).stderr(contains("--device 7"));
    coldspot(&["review", &report, "--output", "/no/such/folder/x.md"]).code(2).stderr(contains("cannot be written"));
    coldspot(&["rules", "show", "pageable-copi"]).code(2).stderr(contains("did you mean 'pageable-copy'"));
}

#[test]
fn a_report_that_cannot_be_read_is_3() {
    let folder = temp::folder();
    write(folder.path(), "empty.sqlite", "");
    let path = folder.path().join("empty.sqlite").display().to_string();
    coldspot(&["review", &path]).code(3).stdout("").stderr(contains("empty.sqlite"));
    coldspot(&["facts", "/no/such/report.sqlite"]).code(3).stderr(contains("/no/such/report.sqlite"));
}

#[test]
fn wrong_rules_and_templates_are_4_before_the_report_is_read() {
    let folder = temp::folder();
    let dir = folder.path().display().to_string();
    coldspot(&["review", "/no/such/report", "--templates", &dir]).code(4).stderr(contains("none of the templates"));
    write(folder.path(), "mine.toml", "schema = 1\nid = 'other'\n");
    coldspot(&["review", "/no/such/report", "--rules", &dir]).code(4).stderr(contains("mine.toml:"));
    coldspot(&["rules", "check", &dir]).code(4).stderr(contains("mine.toml:"));
}

#[test]
fn a_review_is_printed_or_written() {
    let report = fixture("healthy.sqlite");
    let folder = temp::folder();
    let path = folder.path().join("review.json");
    coldspot(&["review", &report]).success().stdout(contains("# coldspot: healthy.sqlite"));
    let text = coldspot(&["review", &report, "--format", "text"]).success().out();
    assert!(
        text.starts_with("coldspot: healthy.sqlite\n") && !text.contains('\u{1b}') && !text.contains("**"),
        "{text}"
    );
    coldspot(&["review", &report, "--format", "json", "--output", &path.display().to_string()]).success().stdout("");
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(json["schema"], "coldspot.review/1");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn findings_end_the_run_with_1_where_that_is_asked_for() {
    let report = fixture("pageable-copies-2021.sqlite");
    coldspot(&["review", &report]).success().stderr("");
    coldspot(&["review", &report, "--fail-on", "medium"]).code(1).stdout(contains("pageable")).stderr("");
    coldspot(&["review", &fixture("healthy.sqlite"), "--fail-on", "medium"]).success();
}

#[test]
fn an_annotation_or_a_window_narrows_what_is_measured() {
    let report = fixture("training-step.sqlite");
    let window_of = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["facts", &report, "--format", "json"].iter().chain(arguments).copied().collect();
        coldspot(&arguments).success().json()["devices"][0]["window_ns"].as_i64().unwrap()
    };
    let whole = window_of(&[]);
    assert!(window_of(&["--range", "ProfilerStep#1"]) < whole);
    assert!(window_of(&["--window", "..100ms"]) < whole);
    coldspot(&["review", &report, "--range", "no such"]).code(2).stderr(contains("no such"));
}

#[cfg(unix)]
#[test]
fn a_written_file_is_as_open_as_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temp::folder();
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    write(folder.path(), "plain.md", "");
    let path = folder.path().join("review.md").display().to_string();
    coldspot(&["review", &fixture("healthy.sqlite"), "--output", &path]).success();
    assert_eq!(mode("review.md"), mode("plain.md"));
    coldspot(&["review", &fixture("healthy.sqlite"), "--output", "/dev/full"])
        .code(2)
        .stderr(contains("cannot be written"));
}

#[test]
fn facts_are_listed() {
    coldspot(&["facts", "--list"])
        .success()
        .stdout(contains("device.window_ns").and(contains("copy_group.host_memory")));
    let json = coldspot(&["facts", "--list", "--format", "json"]).success().json();
    assert!(json["facts"].as_array().unwrap().len() > 100);
    coldspot(&["facts"]).code(2);
}

#[test]
fn rules_are_listed_shown_and_tested() {
    coldspot(&["rules", "list"]).success().stdout(contains("pageable-copy"));
    coldspot(&["rules", "show", "pageable-copy"])
        .success()
        .stdout(contains("## Thresholds").and(contains("### 1. Copies to the device wait on pageable host memory")));
    coldspot(&["rules", "show", "pageable-copy", "--format", "toml"])
        .success()
        .stdout(contains("id = \"pageable-copy\""));
    let json = coldspot(&["rules", "list", "--format", "json"]).success().json();
    assert_eq!(json["schema"], "coldspot.rules/1");
    let rules = json["rules"].as_array().unwrap();
    let copies = rules.iter().find(|rule| rule["id"] == "pageable-copy").unwrap();
    let params = copies["params"].as_array().unwrap();
    let least = params.iter().find(|param| param["name"] == "min_share").unwrap();
    assert_eq!((&copies["account"], &least["unit"]), (&"exposed_copy".into(), &"share".into()));
    coldspot(&["rules", "test"]).success().stdout(contains("all pass"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    coldspot_in(root, &["rules", "check", "rules"]).success().stdout(contains("nothing wrong"));
    coldspot_in(root, &["rules", "test", "docs"]).code(4).stderr(contains("holds no rule"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let script = format!("'{}' facts --list | true; exit ${{PIPESTATUS[0]}}", binary().display());
    for _ in 0..5 {
        bare("bash", temp::root()).args(["-c", &script]).assert().success().stderr("");
    }
}

#[test]
fn a_report_is_never_written_over() {
    let folder = temp::folder();
    let report = folder.path().join("run.sqlite");
    std::fs::copy(fixtures().join("healthy.sqlite"), &report).unwrap();
    let before = std::fs::read(&report).unwrap();
    let same = folder.path().join("./run.sqlite");
    for subcommand in ["review", "facts"] {
        let arguments = [subcommand.as_ref(), report.as_os_str(), "--output".as_ref(), same.as_os_str()];
        coldspot(&arguments).code(2).stderr(contains("would be written over"));
    }
    assert_eq!(std::fs::read(&report).unwrap(), before);
    // Nor is anything else that is read.
    let [page, baseline, configuration] =
        ["page.csv", "baseline.toml", "coldspot.toml"].map(|name| folder.path().join(name));
    let read = [("--ncu", page), ("--baseline", baseline), ("--config", configuration)];
    for (option, file) in &read {
        std::fs::write(file, "kept").unwrap();
        for arguments in [vec!["review"], vec!["compare", report.to_str().unwrap()]] {
            let more = [report.as_os_str(), option.as_ref(), file.as_os_str(), "--output".as_ref(), file.as_os_str()];
            let arguments: Vec<&OsStr> = arguments.into_iter().map(OsStr::new).chain(more).collect();
            coldspot(&arguments).code(2).stderr(contains("would be written over"));
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), "kept");
    }
}
