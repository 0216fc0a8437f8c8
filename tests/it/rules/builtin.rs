//! The built-in rules: they load, pass the tests that they carry, and those tests would notice a mistake.

use std::fs;
use std::path::Path;

use coldspot::render::markdown;
use coldspot::rules::outcome::Outcome;
use coldspot::rules::{Depth, Library, Rule, example, skeleton, testing};

use crate::support::analysis::builtin;
use crate::support::temp;

#[test]
fn built_in_rules_pass_their_tests_and_the_unit_probe() {
    let reports = testing::run(&builtin());
    let failed: Vec<_> = reports
        .iter()
        .filter_map(|report| {
            let problem = report.problem.as_ref()?;
            Some(format!("{}:{}: {}: {problem}", report.file, report.line, report.test))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(reports.len() >= builtin().rules().len() * 2, "every rule has its example and a test");
}

#[test]
fn the_rule_to_begin_with_passes_and_its_tests_would_notice_a_mistake() {
    let root = temp::folder();
    let text = skeleton("my-first-rule").expect("a sound id");
    fs::write(root.path().join("my-first-rule.toml"), text).expect("a file to write");
    let library =
        Library::with_dirs(&[root.path().to_owned()], Depth::Whole).unwrap_or_else(|faults| panic!("{faults}"));
    let problems: Vec<_> = testing::run(&library).into_iter().filter(|report| !report.passed()).collect();
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn the_example_of_a_rule_reads_well() {
    let library = builtin();
    let rule = library.rule("pageable-copy").expect("a built-in rule");
    let Outcome::Finding(found) = example::outcome(&library, rule) else { panic!("the example is a finding") };
    let sentences = [&found.summary].into_iter().chain(&found.evidence).chain(&found.look).chain([&found.verify]);
    let text: Vec<_> = sentences.map(markdown).collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn categories_are_the_folders() {
    let library = builtin();
    let rule = library.rule("pageable-copy").expect("a built-in rule");
    assert_eq!((rule.category(), rule.file()), ("copies", "rules/copies/pageable-copy.toml"));
}

/// Writes a built-in rule, changed, below a folder.
fn write(root: &Path, file: &str, id: &str, from: &str, to: &str) {
    let library = builtin();
    let source = library.rule(id).expect("a built-in rule").source();
    assert!(source.contains(from));
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder to write to");
    fs::write(path, source.replacen(from, to, 1)).expect("a file to write");
}

#[test]
fn folders_add_to_the_built_in_rules_and_replace_them_by_id() {
    let root = temp::folder();
    let (first, second) = (root.path().join("ours"), root.path().join("theirs"));
    write(&first, "deep/sync-gap.toml", "sync-gap", "title = \"", "title = \"Ours: ");
    write(&second, "no-work.toml", "no-gpu-work", "id = \"no-gpu-work\"", "id = \"no-work\"");
    let library = Library::with_dirs(&[first, second], Depth::Whole).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(library.rules().len(), builtin().rules().len() + 1);
    let (gap, added) = (library.rule("sync-gap").expect("a rule"), library.rule("no-work").expect("a rule"));
    assert!(gap.title().starts_with("Ours: "));
    // What it is about does not change with the folder.
    assert_eq!(Some(gap.category()), builtin().rule("sync-gap").map(Rule::category));
    assert_eq!(added.category(), "theirs");
    assert!(gap.replaces_builtin() && !added.replaces_builtin());
    assert!(library.rules().is_sorted_by_key(|rule| rule.id()));
}

#[test]
fn two_folders_may_not_hold_one_id_but_may_lead_to_one_file() {
    let root = temp::folder();
    let (first, second) = (root.path().join("ours"), root.path().join("theirs"));
    write(&first, "sync-gap.toml", "sync-gap", "title = \"", "title = \"Ours: ");
    write(&second, "deep/sync-gap.toml", "sync-gap", "title = \"", "title = \"Theirs: ");
    let faults = Library::with_dirs(&[first.clone(), second], Depth::Whole).expect_err("a fault").to_string();
    assert!(faults.contains("ours/sync-gap.toml` has the same id: ids are unique"), "{faults}");
    let deep = first.join("..").join("ours");
    assert!(Library::with_dirs(&[first, deep], Depth::Whole).is_ok());
}

#[test]
fn folders_without_rules_are_faults() {
    let root = temp::folder();
    let absent = root.path().join("absent");
    let faults = Library::with_dirs(&[root.path().to_owned(), absent.clone()], Depth::Whole)
        .expect_err("two faults")
        .to_string();
    let lines: Vec<_> = faults.lines().collect();
    let empty = format!("{}:1: it holds no rule: a rule is a file that ends in .toml", root.path().display());
    assert_eq!(lines[0], empty);
    assert!(lines[1].starts_with(&format!("{}:1: it cannot be read as a folder of rules: ", absent.display())));
}
