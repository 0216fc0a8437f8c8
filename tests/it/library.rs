//! The built-in rules fire where they should and nowhere else: on the scenarios, whose causes are known.

// The lints spare `#[test]` functions only, not what they share.
#![allow(clippy::panic, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::SchemaVersion;
use coldspot::facts::{self, Facts};
use coldspot::ledger::Scope;
use coldspot::read::{ReadOptions, read};
use coldspot::rules::outcome::Outcome;
use coldspot::rules::{Library, Params, evaluate};

/// The rules of these folders that must find something, for each scenario; all others must not.
const CATEGORIES: [&str; 7] = ["copies", "sync", "streams", "memory", "communication", "steps", "device"];

const EXPECTED: [(&str, &[&str]); 23] = [
    ("allocate-each-step", &["allocation", "memsets"]),
    ("busy-under-waits", &[]),
    ("call-stacks", &["pageable-copy", "sync-gap"]),
    ("exposed-collectives", &["exposed-communication"]),
    ("fused-kernels", &[]),
    ("item-read-back", &["scalar-readback", "sync-gap"]),
    ("lazy-loading", &[]),
    ("low-sm-active", &[]),
    ("one-block-kernel", &[]),
    ("one-stream-of-eight", &["overlap-copies", "single-stream", "streams-take-turns", "unused-streams"]),
    ("pageable-copies", &["pageable-copy"]),
    ("pinned-copies", &["overlap-copies"]),
    ("pipeline-overlapped", &[]),
    ("pipeline-serial", &["overlap-copies"]),
    ("profiler-steps", &["sync-gap", "warm-up"]),
    ("shared-correlation-ids", &["sync-gap", "unequal-devices"]),
    ("starved-by-loader", &["overlap-copies"]),
    ("sync-each-kernel", &["sync-gap"]),
    ("tiny-kernels", &[]),
    ("training-step", &["pageable-copy"]),
    ("unified-memory", &["unified-faulting", "unified-migration"]),
    ("unsupported-driver", &[]),
    ("whole-graphs", &[]),
];

fn builtin() -> Library {
    Library::builtin().unwrap_or_else(|faults| panic!("{faults}"))
}

fn facts_of(report: &Path) -> Facts {
    let timeline = read(report, &ReadOptions::default(), &()).expect("a report that can be read");
    facts::extract(&timeline, &Scope::All).expect("facts")
}

/// The rules of the categories that find something in a report.
fn found(library: &Library, report: &Path) -> BTreeSet<String> {
    let judgements = evaluate(library, &facts_of(report), &Params::default());
    let rules = judgements.iter().filter_map(|judgement| match &judgement.outcome {
        Outcome::Finding(_) => Some(&library.rules()[judgement.rule]),
        Outcome::Failed { message } => panic!("{}: {message}", report.display()),
        _ => None,
    });
    rules.filter(|rule| CATEGORIES.contains(&rule.category())).map(|rule| rule.id().to_owned()).collect()
}

#[test]
fn rules_find_the_causes_of_the_scenarios_and_nothing_else() {
    let library = builtin();
    for (scenario, expected) in EXPECTED {
        let report = crate::support::fixture(scenario, SchemaVersion::Nsys2025);
        let expected: BTreeSet<String> = expected.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(found(&library, &report), expected, "{scenario}");
    }
}

#[test]
fn running_ahead_wins_no_more_than_the_time_in_the_waits() {
    // Short waits, each before a long piece of host code that the device has to wait for anyway.
    let scenario = crate::support::Scenario::parse(
        r#"
        about = "A wait that costs little, and host code that costs much."
        [kernel]
        work = { name = "work(float*)", run_us = 100, grid = [1080, 1, 1], block = [256, 1, 1] }
        [[thread]]
        script = [{ repeat = { times = 20, do = [
          { launch = { kernel = "work" } },
          { host = { us = 90 } },
          { sync = { api = "cudaStreamSynchronize" } },
          { host = { us = 80 } },
        ] } }]
        "#,
    );
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("short-waits.sqlite");
    scenario.write(SchemaVersion::Nsys2025, &report);
    let facts = facts_of(&report);
    let (_, group) = facts.of_kind(facts::EntityKind::SyncGroup).next().expect("a wait");
    let fact = |name: &str| group.int(name).expect("a fact");
    assert!(fact("dry_ns") > fact("call_ns"), "the host code is longer than the waits");
    assert!(fact("run_ahead_ns") <= fact("call_ns"));
    assert!(fact("run_ahead_ns") > 0);
}
