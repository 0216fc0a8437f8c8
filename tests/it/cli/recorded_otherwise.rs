//! Comparisons of recordings that do not hold the same: what one lacks is neither gone nor new.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::cli::{Printed, coldspot};
use crate::support::facts_files::{Folder, each, facts, scaled};
use crate::support::{SchemaVersion, damage, scenario, temp};

/// A recording of a scenario without these tables.
fn without(folder: &Path, of: &str, tables: &[&str]) -> PathBuf {
    let path = folder.join(format!("{of}-{}.sqlite", tables.join("-")));
    scenario(of).write(SchemaVersion::Nsys2025, &path);
    let db = Connection::open(&path).unwrap();
    tables.iter().for_each(|table| db.execute_batch(&format!("DROP TABLE {table}")).unwrap());
    path
}

fn compared(base: &Path, head: &Path, more: &[&str]) -> Value {
    let (base, head) = (base.to_str().unwrap(), head.to_str().unwrap());
    coldspot(&[&["compare", base, head, "--format", "json", "--fail-on", "high"], more].concat()).json()
}

/// Rules with their states, but for what did not change.
fn states(comparison: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = comparison["findings"].as_array().unwrap().iter();
    let changed = all.filter(|finding| finding["state"] != "unchanged");
    changed.map(|finding| (text(&finding["rule"]), text(&finding["state"]))).collect()
}

#[test]
fn what_one_side_was_recorded_without_is_neither_gone_nor_new() {
    let folder = temp::folder();
    let whole = without(folder.path(), "starved-by-loader", &[]);
    let part = without(folder.path(), "starved-by-loader", &["OSRT_API"]);
    for (base, head, side) in [(&whole, &part, "head"), (&part, &whole, "base")] {
        let json = compared(base, head, &["--budget", "device.idle_host_ns=+1%"]);
        let states = states(&json);
        assert!(!states.is_empty() && states.iter().all(|(_, state)| state == "unclear"), "{side}: {states:?}");
        let note = json["work"]["notes"][0]["plain"].as_str().unwrap();
        assert!(note.contains(&format!("the {side} was recorded without calls of the operating system")), "{note}");
        let parts = json["devices"][0]["parts"].as_array().unwrap();
        assert!(parts.iter().all(|part| part["of"] != "idle"), "{parts:?}");
        let gates = json["gates"].as_array().unwrap();
        let outcomes: Vec<&Value> = gates.iter().map(|gate| &gate["outcome"]).collect();
        assert_eq!(outcomes, ["passed", "unknown", "unknown"], "{side}: {gates:#?}");
    }
    // Alike on both sides, there is nothing to say of it.
    for both in [&whole, &part] {
        let json = compared(both, both, &["--budget", "device.idle_host_ns=+1%"]);
        let open = json["gates"].as_array().unwrap().iter().filter(|gate| gate["outcome"] != "passed").count();
        assert_eq!((states(&json), open, json["work"]["notes"].as_array().unwrap().len()), (Vec::new(), 0, 0));
    }
}

#[test]
fn what_the_head_alone_could_find_with_more_recorded_is_decided_by_what_it_found() {
    let folder = temp::folder();
    let whole = without(folder.path(), "pageable-copies", &[]);
    let part = without(folder.path(), "pageable-copies", &["TARGET_INFO_GPU"]);
    let gate = |base: &Path, head: &Path| compared(base, head, &[])["gates"][1]["outcome"].clone();
    assert_eq!((gate(&whole, &part), gate(&part, &whole)), ("unknown".into(), "passed".into()));
}

#[test]
fn copies_that_calls_made_and_no_row_tells_are_missing_work() {
    let folder = temp::folder();
    let whole = without(folder.path(), "pageable-copies", &[]);
    let part = without(folder.path(), "pageable-copies", &["CUPTI_ACTIVITY_KIND_MEMCPY"]);
    let json = compared(&whole, &part, &[]);
    let says = json["verdict"]["plain"].as_str().unwrap();
    assert!(says.contains("work of the GPU of the head is missing"), "{says}");
    assert!(json["gates"].as_array().unwrap().iter().all(|gate| gate["outcome"] == "unknown"), "{:#}", json["gates"]);
    let facts = crate::support::analysis::facts(&part);
    assert!(facts.missing_work().unwrap().contains("no copy is recorded"), "{:?}", facts.missing_work());
    assert_eq!(crate::support::analysis::facts(&whole).missing_work(), None);
}

#[test]
fn where_work_makes_no_sense_nothing_found_is_no_answer() {
    let folder = temp::folder();
    let (whole, part) = (damage::healthy(folder.path(), "whole.sqlite"), damage::reversed_kernels(folder.path()));
    let gate = |path: &Path| {
        let args = ["review", path.to_str().unwrap(), "--format", "json", "--phase", "whole", "--fail-on", "high"];
        coldspot(&args).json()["gates"][0]["outcome"].as_str().unwrap().to_owned()
    };
    assert_ne!(gate(&whole), "unknown");
    assert!(["unknown", "failed"].contains(&gate(&part).as_str()));
}

#[test]
fn a_part_that_somebody_chose_and_a_gpu_without_a_name_are_told() {
    let folder = Folder::new();
    let whole = facts("training-step.sqlite");
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut facts = whole.clone();
        change(&mut facts);
        PathBuf::from(folder.write(name, &facts))
    };
    let base = changed("base.json", &|_| {});
    let chosen = changed("chosen.json", &|facts| facts["runs"][0]["is_window_narrowed"] = json!(true));
    let unnamed = changed("unnamed.json", &|facts| {
        facts["devices"][0].as_object_mut().unwrap().remove("name");
    });
    let gates =
        |json: &Value| json["gates"].as_array().unwrap().iter().map(|gate| gate["outcome"].clone()).collect::<Vec<_>>();
    let json = compared(&base, &chosen, &[]);
    assert!(json["verdict"]["plain"].as_str().unwrap().contains("a part of its recording that somebody chose"));
    assert_eq!((&json["outcome"], &gates(&json)[0]), (&json!("not_comparable"), &json!("unknown")));
    assert_eq!(compared(&chosen, &chosen, &[])["outcome"], "no_change");
    let json = compared(&base, &unnamed, &[]);
    assert_eq!(gates(&json)[0], "unknown", "{json:#}");
    assert!(json["work"]["notes"][0]["plain"].as_str().unwrap().contains("what the GPU is"));
}

/// A count of its calls is a number of a file: it may be any.
#[test]
fn however_often_a_kernel_claims_to_be_called_a_comparison_ends() {
    let folder = Folder::new();
    let mut facts = facts("training-step.sqlite");
    let base = folder.write("base.json", &facts);
    facts["kernels"][0]["launch_count"] = json!(1_u64 << 50);
    let head = folder.write("head.json", &facts);
    coldspot(&["compare", &base, &head]).code(predicates::ord::ne(7));
}

#[test]
fn what_is_not_told_one_by_one_is_not_gone() {
    let folder = Folder::new();
    let whole = facts("training-step.sqlite");
    let kernels = whole["kernels"].as_array().unwrap();
    let longest = kernels.iter().max_by_key(|kernel| kernel["attributed_ns"].as_i64()).unwrap()["name"].clone();
    let without = |name: &str, omitted: i64| {
        let mut facts = whole.clone();
        facts["kernels"].as_array_mut().unwrap().retain(|kernel| kernel["name"] != longest);
        facts["launch_shapes"] = json!([]);
        facts["devices"][0]["omitted_entity_count"] = json!(omitted);
        folder.write(name, &facts)
    };
    let base = folder.write("base.json", &whole);
    let budget = format!("kernel[\"{}\"].sum_ns=+5%", longest.as_str().unwrap());
    for (head, gate, says_gone) in
        [(without("gone.json", 0), "passed", true), (without("untold.json", 1), "unknown", false)]
    {
        let args = ["compare", &base, &head, "--same-work", "--format", "json", "--budget", &budget];
        let json = coldspot(&args).json();
        assert_eq!(json["gates"][0]["outcome"], gate, "{:#}", json["gates"]);
        let is_told = json["work"]["differences"].to_string().contains("only the base launches");
        assert_eq!(is_told, says_gone, "{:#}", json["work"]);
    }
}

#[test]
fn a_recording_is_measured_as_the_facts_that_it_is_held_against() {
    let folder = temp::folder();
    let report = without(folder.path(), "solves-before-loop", &[]);
    let kept = |name: &str, more: &[&str]| {
        let path = folder.path().join(name);
        let args = ["facts", report.to_str().unwrap(), "--format", "json", "--output", path.to_str().unwrap()];
        coldspot(&[&args[..], more].concat()).success();
        path
    };
    let (whole, steady) = (kept("whole.json", &[]), kept("steady.json", &["--phase", "steady"]));
    let windows = [whole, steady].map(|base| {
        let json = compared(&base, &report, &[]);
        assert_eq!(json["outcome"], "no_change", "{:#}", json["verdict"]);
        let window = &json["devices"][0]["window"];
        assert_eq!(window["base"], window["head"]);
        window["base"]["median"].as_i64().or_else(|| window["base"].as_i64()).unwrap()
    });
    assert!(windows[0] > windows[1], "{windows:?}");
}

/// A faster head may uncover findings; but whether they matter is not known of one that lacks what the base was recorded with.
#[test]
fn a_new_finding_opens_no_gate_that_is_open_without_it() {
    let folder = Folder::new();
    let head = facts("training-step.sqlite");
    let mut base = scaled(head.clone(), 1.4);
    // The same copies, from pinned memory, and all of them under kernels.
    each(&mut base, "copy_groups", |group| {
        (group["host_memory"], group["is_pageable"]) = (json!("pinned"), json!(false));
        if group["direction"] == "host_to_device" {
            group["exposed_ns"] = json!(0);
        }
    });
    each(&mut base, "devices", |device| {
        let hidden_ns = device["exposed_copy_h2d_pageable_ns"].as_i64().unwrap();
        for (account, ns) in [("exposed_copy_ns", -hidden_ns), ("compute_ns", hidden_ns)] {
            device[account] = json!(device[account].as_i64().unwrap() + ns);
        }
        for account in ["exposed_copy_h2d_pageable_ns", "exposed_copy_h2d_pageable_once_ns"] {
            device[account] = json!(0);
        }
        for account in ["exposed_copy_h2d_pageable_longest_ns", "exposed_copy_longest_ns"] {
            device[account] = json!(0);
        }
    });
    let mut less = head.clone();
    less["runs"][0]["os_call_count"] = json!(0);
    let [base, head, less] = [("base.json", &base), ("head.json", &head), ("less.json", &less)]
        .map(|(name, facts)| folder.write(name, facts));
    let passes = "the head is faster, although";
    coldspot(&["compare", &base, &head, "--fail-on", "low"]).success().stdout(predicates::str::contains(passes));
    for least in ["high", "low"] {
        let gates = coldspot(&["compare", &base, &less, "--fail-on", least]).code(1).out();
        assert!(gates.contains("? unknown") || gates.contains("the head was recorded without"), "{least}: {gates}");
    }
}
