//! The built-in rules fire where they should and nowhere else: on the scenarios, whose causes are known. Each scenario file
//! lists the ids of all rules that must find something in it, in `expect`.

use std::collections::BTreeSet;

use coldspot::analysis::Reading;
use coldspot::facts::{EntityKind, Facts};

use coldspot::rules::outcome::Outcome;
use coldspot::rules::{Library, Params, evaluate};

use crate::support::analysis::{builtin, facts};
use crate::support::{Scenario, SchemaVersion, fixture, scenario, scenario_names, temp};

/// The rules that find something.
fn found(library: &Library, facts: &Facts) -> BTreeSet<String> {
    let judgements = evaluate(library, facts, &Params::default());
    let rules = judgements.iter().filter_map(|judgement| match &judgement.outcome {
        Outcome::Finding(_) => Some(library.rules()[judgement.rule].id().to_owned()),
        Outcome::Failed { message } => panic!("{}: {message}", library.rules()[judgement.rule].id()),
        _ => None,
    });
    rules.collect()
}

#[test]
fn rules_find_the_causes_of_the_scenarios_and_nothing_else() {
    let library = builtin();
    let mut wrong = String::new();
    for name in scenario_names() {
        // A file without `expect` is wrong whatever is found.
        let expected = scenario(&name).script.expect.map(BTreeSet::from_iter);
        let found = found(&library, &facts(&fixture(&name, SchemaVersion::Nsys2025)));
        if expected.as_ref() != Some(&found) {
            wrong += &format!("{name}.toml: expect = {found:?}\n");
        }
    }
    assert!(wrong.is_empty(), "these find something else than expected:\n{wrong}");
}

#[test]
fn scenarios_say_what_they_are_about_and_expect_built_in_rules() {
    let library = builtin();
    for name in scenario_names() {
        let script = scenario(&name).script;
        assert!(script.about.trim().ends_with('.'), "{name}.toml: `about` is a sentence");
        let expected = script.expect.unwrap_or_default();
        assert_eq!(expected.iter().find(|id| library.rule(id).is_none()), None, "{name}.toml");
    }
}

#[test]
fn a_review_leaves_out_what_the_host_reads_after_the_last_work() {
    let report = fixture("results-read-in-pages", SchemaVersion::Nsys2025);
    let (whole, judged) = (facts(&report), Reading::default().facts_for_review(&report).unwrap());
    let of =
        |facts: &Facts, name: &str| facts.of_kind(EntityKind::Device).next().and_then(|(_, device)| device.int(name));
    let pages_ns = of(&judged, "last_pages_ns").expect("pages that move after the last work");
    assert!(pages_ns > 80_000_000 && of(&whole, "last_pages_ns").is_none(), "{pages_ns}");
    assert_eq!(of(&judged, "window_ns").zip(of(&whole, "window_ns")).map(|(own, all)| all - own), Some(pages_ns));
    assert_eq!(
        of(&judged, "outside_after_ns").zip(of(&whole, "outside_after_ns")).map(|(own, all)| own - all),
        Some(pages_ns)
    );
    assert_eq!(
        found(&builtin(), &judged),
        BTreeSet::from(["results-in-pages", "unified-memory-faults"].map(str::to_owned))
    );
}

#[test]
fn running_ahead_wins_no_more_than_the_time_in_the_waits() {
    // Short waits, each before a long piece of host code that the device has to wait for anyway.
    let scenario = Scenario::parse(
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
    let folder = temp::folder();
    let report = folder.path().join("short-waits.sqlite");
    scenario.write(SchemaVersion::Nsys2025, &report);
    let facts = facts(&report);
    let (_, group) = facts.of_kind(EntityKind::SyncGroup).next().expect("a wait");
    let fact = |name: &str| group.int(name).expect("a fact");
    assert!(fact("idle_after_ns") > fact("call_ns"), "the host code is longer than the waits");
    assert!(fact("run_ahead_ns") <= fact("call_ns"));
    assert!(fact("run_ahead_ns") > 0);
}

#[test]
fn the_first_launch_of_a_round_loads_code_once() {
    let idle_ns = |load_us: u32| {
        let scenario = Scenario::parse(&format!(
            r#"
            about = "Rounds that allocate, launch, wait and free; the first launch loads the kernel."
            [kernel]
            work = {{ name = "work(float*)", run_us = 100, grid = [1080, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {{ memset = {{ bytes = 1048576, gb_per_s = 1500 }} }},
              {{ call = {{ api = "cudaMalloc", us = 20 }} }},
              {{ launch = {{ kernel = "work", load_us = {load_us} }} }},
              {{ sync = {{ api = "cudaFree", tail_us = 40 }} }},
              {{ repeat = {{ times = 80, do = [
                {{ call = {{ api = "cudaMalloc", us = 20 }} }},
                {{ launch = {{ kernel = "work" }} }},
                {{ sync = {{ api = "cudaFree", tail_us = 40 }} }},
              ] }} }},
            ]
            "#
        ));
        let folder = temp::folder();
        let report = folder.path().join("rounds.sqlite");
        scenario.write(SchemaVersion::Nsys2025, &report);
        let facts = facts(&report);
        let (_, device) = facts.of_kind(EntityKind::Device).next().expect("a device");
        device.int("call_round_call_idle_ns").expect("rounds")
    };
    let (short, long) = (idle_ns(5_000), idle_ns(50_000));
    assert!(short > 0 && (long - short).abs() < 1_000_000, "{short} {long}");
}

#[test]
fn what_frees_before_anything_is_allocated_sets_cuda_up() {
    let sets_up = |between: &str| {
        let scenario = Scenario::parse(&format!(
            r#"
            about = "A library brings a runtime of its own, which is set up after the program's."
            [kernel]
            work = {{ name = "work(float*)", run_us = 100, grid = [1080, 1, 1], block = [256, 1, 1] }}
            [[thread]]
            script = [
              {{ call = {{ api = "cudaFree_v3020", us = 100000 }} }},
              {{ call = {{ api = "{between}", us = 10 }} }},
              {{ call = {{ api = "cudaFree_v3020", us = 300000 }} }},
              {{ call = {{ api = "cudaMalloc_v3020", us = 10 }} }},
              {{ launch = {{ kernel = "work" }} }},
            ]
            "#
        ));
        let folder = temp::folder();
        let report = folder.path().join("frees.sqlite");
        scenario.write(SchemaVersion::Nsys2025, &report);
        let facts = facts(&report);
        let (_, device) = facts.of_kind(EntityKind::Device).next().expect("a device");
        assert_eq!((device.text("outside_call"), device.int("outside_call_ns")), (Some("cudaFree"), Some(400_000_000)));
        device.get("does_outside_call_set_up").cloned()
    };
    assert_eq!(sets_up("cudaGetDevice_v2000"), Some(true.into()));
    assert_eq!(sets_up("cudaMalloc_v3020"), Some(false.into()));
}

#[test]
fn memsets_under_which_pages_migrate_wait_for_them() {
    let scenario = Scenario::parse(
        r#"
        about = "Two memsets, and pages that migrate under the first."
        [kernel]
        work = { name = "work(float*)", run_us = 1000, grid = [1080, 1, 1], block = [256, 1, 1] }
        [[thread]]
        script = [
          { launch = { kernel = "work", faults = { count = 1, bytes = 524288, gb_per_s = 9 } } },
          { memset = { bytes = 100000000, gb_per_s = 1000 } },
          { memset = { bytes = 100000000, gb_per_s = 1000 } },
          { launch = { kernel = "work" } },
        ]
        "#,
    );
    let folder = temp::folder();
    let report = folder.path().join("memsets.sqlite");
    scenario.write(SchemaVersion::Nsys2025, &report);
    let waiting_ns = || {
        let facts = facts(&report);
        facts.of_kind(EntityKind::Device).next().and_then(|(_, device)| device.int("page_waiting_memset_ns"))
    };
    assert_eq!(waiting_ns(), Some(0), "they migrate under a kernel");
    let move_under_memset = "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET \
         start = (SELECT MIN(start) FROM CUPTI_ACTIVITY_KIND_MEMSET) + 10000, \
         \"end\" = (SELECT MIN(start) FROM CUPTI_ACTIVITY_KIND_MEMSET) + 30000";
    rusqlite::Connection::open(&report).unwrap().execute_batch(move_under_memset).unwrap();
    assert_eq!(waiting_ns(), Some(100_900 - 20_000));
}
