//! `coldspot.toml`, from the file to the exit code.

use std::fs;

use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::cli::{self, Printed};
use crate::support::{project, temp};

/// A project with a report of pageable copies and this configuration; commands run in a folder of it.
struct Project(project::Project);

impl Project {
    fn new(config: &str) -> Self {
        let project = project::Project::empty();
        project.copy("pageable-copies-2021.sqlite", "deep/run.sqlite");
        project.write("coldspot.toml", config);
        Self(project)
    }

    fn path(&self) -> &std::path::Path {
        self.0.path()
    }

    fn coldspot(&self, arguments: &[&str]) -> Assert {
        self.0.coldspot_from("deep", arguments)
    }

    fn review(&self) -> Value {
        self.coldspot(&["review", "run.sqlite", "--format", "json"]).code(0).json()
    }
}

fn ids(review: &Value) -> Vec<&str> {
    review["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect()
}

#[test]
fn the_file_decides_when_a_review_fails_and_the_command_line_goes_before_it() {
    let project = Project::new("[review]\nfail_on = 'medium'");
    project.coldspot(&["review", "run.sqlite"]).code(1);
    project.coldspot(&["review", "run.sqlite", "--fail-on", "never"]).code(0);
    project.coldspot(&["review", "run.sqlite", "--no-config"]).code(0);
    fs::write(project.path().join("deep/other.toml"), "").unwrap();
    project.coldspot(&["review", "run.sqlite", "--config", "other.toml"]).code(0);
    project.coldspot(&["review", "run.sqlite", "--config", "none.toml"]).code(2).stderr(contains("none.toml:1: "));
}

#[test]
fn severities_are_set() {
    let project = Project::new("[review]\nfail_on = 'medium'\n[severity]\npageable-copy = 'low'");
    let review = project.review();
    let copies = review["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "pageable-copy");
    assert_eq!(copies.unwrap()["severity"], "low");
}

#[test]
fn thresholds_are_set() {
    let before = Project::new("").review();
    assert!(ids(&before).contains(&"pageable-copy"));
    let after = Project::new("[params.pageable-copy]\nmin_share = 0.999").review();
    assert!(!ids(&after).contains(&"pageable-copy"));
}

#[test]
fn rules_are_switched_off_and_the_review_says_so() {
    let project = Project::new("[rules]\noff = ['pageable-copy']");
    let review = project.review();
    assert!(!ids(&review).contains(&"pageable-copy"));
    assert_eq!(review["rules_off"], serde_json::json!(["pageable-copy"]));
    project.coldspot(&["review", "run.sqlite"]).stdout(contains("Switched off: `pageable-copy`."));
    let is_off = |line: &str| line.starts_with("pageable-copy ") && line.contains("  off  ");
    project.coldspot(&["rules", "list"]).stdout(predicate::function(|text: &str| text.lines().any(is_off)));
}

#[test]
fn targets_of_the_scorecard_are_set() {
    let target = |review: &Value| review["devices"][0]["scores"][0]["at_least"].as_f64();
    assert_eq!(target(&Project::new("").review()), Some(0.85));
    let review = Project::new("[scorecard]\ngpu_busy = 0.1").review();
    assert_eq!(target(&review), Some(0.1));
    assert_eq!(review["devices"][0]["scores"][0]["meets"], true);
}

#[test]
fn rules_and_templates_are_found_beside_the_file() {
    let project = Project::new("templates = 'look'\n[rules]\ndirs = ['ours']");
    fs::create_dir(project.path().join("look")).unwrap();
    fs::write(project.path().join("look/review.md.j2"), "mine {{ report }}").unwrap();
    project.coldspot(&["rules", "list"]).code(2).stderr(contains("coldspot.toml:3: there is no folder `ours`"));
    project.coldspot(&["rules", "new", "big-kernel"]).success().stdout(contains("ours/big-kernel.toml: written"));
    project.coldspot(&["rules", "new", "big-kernel"]).code(2).stderr(contains("there is such a file already"));
    project.coldspot(&["rules", "list"]).success().stdout(contains("big-kernel"));
    project.coldspot(&["review", "run.sqlite"]).success().stdout("mine run.sqlite");
    project.coldspot(&["config", "check"]).success().stdout(contains("coldspot.toml: nothing wrong"));
    // The folder is loaded by the file already; naming it again neither doubles its faults nor hides its rules.
    project.coldspot(&["rules", "test", "../ours"]).success().stdout("7 tests of 1 rule: all pass\n");
    fs::create_dir(project.path().join("ours/empty")).unwrap();
    project.coldspot(&["rules", "test", "../ours/empty"]).code(4).stderr(contains("holds no rule"));
    let path = project.path().join("ours/big-kernel.toml");
    fs::write(
        &path,
        fs::read_to_string(&path).unwrap().replace("kernel.attributed_ns * params", "kernel.alon_ns * params"),
    )
    .unwrap();
    let faults = project.coldspot(&["rules", "check", "../ours"]).code(4).err();
    assert_eq!(faults.lines().count(), 1, "{faults}");
}

#[test]
fn a_page_and_a_list_of_rules_show_what_the_project_decided() {
    let project = Project::new("[rules]\ndirs = ['ours']\n[params.pageable-copy]\nmin_share = 0.05");
    fs::create_dir(project.path().join("ours")).unwrap();
    let source = project.coldspot(&["rules", "show", "tail-effect", "--format", "toml", "--no-config"]).success();
    fs::write(project.path().join("ours/tail-effect.toml"), &source.get_output().stdout).unwrap();
    let written = String::from_utf8(source.get_output().stdout.clone()).unwrap();
    let hostile = format!("##[error]boo \u{202e}hidden\n##vso[task.complete]x\n{written}");
    fs::write(project.path().join("ours/tail-effect.toml"), hostile).unwrap();
    let shown = project.coldspot(&["rules", "show", "tail-effect", "--format", "toml"]).success().out();
    assert!(shown.contains("boo") && shown.contains("for_each"), "{shown}");
    assert!(!shown.contains("##[") && !shown.contains("##vso[") && !shown.contains('\u{202e}'), "{shown}");
    fs::write(project.path().join("ours/tail-effect.toml"), &source.get_output().stdout).unwrap();
    let set = contains("`params.min_share = 0.01` (share), set to `0.05` by the project: ");
    project.coldspot(&["rules", "show", "pageable-copy"]).success().stdout(set.clone());
    project.coldspot(&["rules", "show", "pageable-copy", "--no-config"]).success().stdout(set.not());
    let category = contains("| kernels ").or(contains("  kernels  "));
    project.coldspot(&["rules", "list"]).success().stdout(contains("(replaces the built-in rule)").and(category));
    fs::create_dir(project.path().join("theirs")).unwrap();
    fs::write(project.path().join("theirs/tail-effect.toml"), &source.get_output().stdout).unwrap();
    let twice = contains("ours/tail-effect.toml` has the same id: ids are unique");
    project.coldspot(&["rules", "list", "--rules", "../theirs"]).code(4).stderr(twice);
}

#[test]
fn a_configuration_is_checked_with_the_rules_of_the_command_line() {
    let project = Project::new("[params.big-kernel]\nmin_share = 0.5");
    project.coldspot(&["rules", "new", "big-kernel", "--dir", "../theirs", "--no-config"]).success();
    project.coldspot(&["config", "check"]).code(2).stderr(contains("there is no rule `big-kernel`"));
    project.coldspot(&["config", "check", "--rules", "../theirs"]).success();
}

#[test]
fn an_undefined_name_in_a_template_is_named() {
    let project = Project::new("templates = 'look'");
    fs::create_dir(project.path().join("look")).unwrap();
    fs::write(project.path().join("look/review.md.j2"), "{{ report }}\n{{ nope }}").unwrap();
    project.coldspot(&["review", "run.sqlite"]).code(4).stderr(contains("line 2: `nope` is undefined"));
}

#[test]
fn wrong_configurations_are_2_with_all_faults() {
    let project = Project::new("[rules]\noff = ['pageable-copi']\n[review]\nfail_on = 'hgih'");
    for arguments in [&["review", "run.sqlite"][..], &["rules", "list"], &["config", "check"]] {
        let expected = contains("coldspot.toml:2: there is no rule").and(contains("coldspot.toml:4: unknown fail_on"));
        project.coldspot(arguments).code(2).stdout("").stderr(expected);
    }
}

const IGNORE: &str = "[review]\nfail_on = 'low'\n[[ignore]]\nrule = 'pageable-copy'\nreason = 'The loader is new.'\n";

#[test]
fn ignored_findings_fail_nothing_and_are_folded_away() {
    let project = Project::new(IGNORE);
    let review = project.review();
    assert!(!ids(&review).contains(&"pageable-copy"));
    let ignored = &review["ignored"][0];
    assert_eq!((&ignored["rule"], &ignored["reason"]), (&"pageable-copy".into(), &"The loader is new.".into()));
    assert!(ignored["findings"][0]["gain"]["share"].as_f64().unwrap() > 0.2);
    let page = project.coldspot(&["review", "run.sqlite"]).code(0).stderr("");
    page.stdout(contains("- Ignored: 2 (The loader is new)"));
}

#[test]
fn ignores_that_do_nothing_are_reported() {
    let project = Project::new(&format!("{IGNORE}entity = 'gpu7/*'\n"));
    let out = project.coldspot(&["review", "run.sqlite"]).code(1);
    out.stderr("coldspot: the ignore of pageable-copy of gpu7/* matches nothing in this report\n")
        .stdout(contains("These ignores do nothing: `pageable-copy` of `gpu7/*` (nothing matches)."));
    let project = Project::new(&format!("{IGNORE}until = '2026-06-14'\n"));
    let out = project.coldspot(&["review", "run.sqlite"]).code(1);
    out.stderr(contains("expired after 2026-06-14")).stdout(contains("(expired after 2026-06-14)"));
    let project = Project::new(&format!("{IGNORE}until = '2026-06-15'\n"));
    project.coldspot(&["review", "run.sqlite"]).code(0).stderr("");
}

#[test]
fn a_day_that_is_none_is_wrong_usage() {
    let mut command = cli::command(temp::root());
    cli::run(command.args(["rules", "list"]).env("COLDSPOT_TODAY", "tomorrow"))
        .code(2)
        .stderr(contains("COLDSPOT_TODAY=tomorrow"));
}

#[test]
fn ids_of_new_rules_are_words() {
    let project = Project::new("");
    for id in ["Big", "a_b", "-a", "a--b", "../a", ""] {
        project.coldspot(&["rules", "new", "--", id]).code(2).stderr(contains("is no id for a rule"));
    }
    project.coldspot(&["rules", "new", "sync-gap"]).code(2).stderr(contains("is the id of a built-in rule"));
    project.coldspot(&["rules", "new", "mine"]).success();
    project.coldspot(&["rules", "test", "my-rules"]).success().stdout(contains("all pass"));
}
