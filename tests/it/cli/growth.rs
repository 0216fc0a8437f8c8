//! A report against one with more of the same work.

use std::path::Path;

use serde_json::Value;

use crate::support::cli::{self, Printed};
use crate::support::{fixtures, temp};

fn coldspot(arguments: &[&str]) -> (Option<i32>, String, String) {
    let assert = cli::coldspot(arguments);
    (assert.get_output().status.code(), assert.out(), assert.err())
}

/// A limit of 6 % more on every amount of the run and of devices that takes one.
fn budgets(report: &Path) -> Vec<String> {
    let (_, catalogue, _) = coldspot(&["facts", "--list", "--format", "json"]);
    let catalogue: Value = serde_json::from_str(&catalogue).unwrap();
    let amounts = catalogue["facts"].as_array().unwrap().iter().filter(|fact| {
        let name = fact["fact"].as_str().unwrap();
        ["run", "device"].contains(&fact["entity"].as_str().unwrap())
            && ["_ns", "_bytes", "_count"].iter().any(|unit| name.ends_with(unit))
    });
    let name = |fact: &Value| format!("{}.{}", fact["entity"].as_str().unwrap(), fact["fact"].as_str().unwrap());
    let report = report.to_str().unwrap();
    let (refused, taken): (Vec<String>, Vec<String>) =
        amounts.map(name).partition(|name| name.ends_with("_start_ns") || name.ends_with("_end_ns"));
    let (code, _, error) = coldspot(&["review", report, "--budget", &format!("{}=+6%", refused[0])]);
    assert!(code == Some(2) && error.contains("a moment or an id"), "{error}");
    taken.iter().map(|name| format!("--budget={name}=+6%")).collect()
}

#[test]
fn every_amount_is_compared_by_unit_of_work() {
    let folder = temp::folder();
    for name in ["training-step", "pageable-copies-2021", "tiny-kernels"] {
        let report = fixtures().join(format!("{name}.sqlite"));
        let large = folder.path().join(format!("{name}-twice.sqlite"));
        crate::enlarge::enlarge(&report, &large, 2).unwrap();
        let budgets = budgets(&report);
        let sides = [report.to_str().unwrap(), large.to_str().unwrap()];
        for sides in [sides, [sides[1], sides[0]]] {
            let budgets: Vec<&str> = budgets.iter().map(String::as_str).collect();
            let command = [&["compare", sides[0], sides[1], "--format", "json"], &budgets[..]].concat();
            let (code, json, error) = coldspot(&command);
            let json: Value = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{code:?} {error}"));
            let gates = json["gates"].as_array().unwrap();
            assert_eq!(gates.len(), budgets.len());
            let failed: Vec<&Value> = gates.iter().filter(|gate| gate["outcome"] == "failed").collect();
            assert!(failed.is_empty(), "{name}: {failed:#?}");
            let passed = gates.iter().filter(|gate| gate["outcome"] == "passed").count();
            assert!(passed >= 60, "{name}: {passed} of {}", gates.len());
        }
    }
}

#[test]
fn runs_of_one_side_are_each_divided_by_their_own_steps() {
    let folder = temp::folder();
    let report = fixtures().join("training-step.sqlite");
    let large = folder.path().join("twice.sqlite");
    crate::enlarge::enlarge(&report, &large, 2).unwrap();
    let [small, large] = [report, large].map(|path| path.display().to_string());
    let (code, json, error) = coldspot(&[
        "compare",
        "--base",
        &small,
        &large,
        "--head",
        &small,
        "--format",
        "json",
        "--budget",
        "kernel.count=+1%",
    ]);
    assert_eq!(code, Some(0), "{error}");
    let json: Value = serde_json::from_str(&json).unwrap();
    let accounts = json["devices"][0]["accounts"].as_array().unwrap();
    let compute = &accounts.iter().find(|account| account["account"] == "compute").unwrap()["time"]["base"];
    assert_eq!(compute["low"], compute["high"], "every run takes as long a step");
    assert_eq!(json["work"]["differences"][0]["plain"], "the head did 10 steps, the base 10 to 20");
    let says = json["gates"][0]["says"].as_str().unwrap();
    assert!(says.starts_with("75 a step after 75 (no change)"), "{says}");
}
