//! What becomes of findings in a comparison, as machines are told it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::cli::{Printed, coldspot_in};
use crate::support::facts_files::with_host_code;
use crate::support::{fixtures, temp};

fn coldspot(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let assert = coldspot_in(folder, arguments);
    (assert.get_output().status.code(), assert.out())
}

fn facts(folder: &Path, name: &str) -> Value {
    let report = fixtures().join(name).display().to_string();
    serde_json::from_str(&coldspot(folder, &["facts", &report, "--format", "json"]).1).unwrap()
}

fn write(folder: &Path, name: &str, facts: &Value) {
    fs::write(folder.join(name), facts.to_string()).unwrap();
}

#[test]
fn machines_are_told_which_gpu_and_how_much_and_no_advice_on_what_is_won() {
    let folder = temp::folder();
    let folder = folder.path();
    let mut much = facts(folder, "training-step.sqlite");
    // Without a replay the ledger bounds what can be gained.
    much["devices"][0].as_object_mut().unwrap().remove("replay_step_ns");
    // Nor does the loader of batches explain it.
    much["devices"][0].as_object_mut().unwrap().remove("data_loading_count");
    let mut little = much.clone();
    with_host_code(&mut little["devices"][0], 5_000_000);
    let mut none = much.clone();
    with_host_code(&mut none["devices"][0], 0);
    for (name, facts) in [("much.json", &much), ("little.json", &little), ("none.json", &none)] {
        write(folder, name, facts);
    }
    let review: Value =
        serde_json::from_str(&coldspot(folder, &["review", "much.json", "--format", "json"]).1).unwrap();
    let finding =
        review["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "host-bound").unwrap().clone();
    let advice = finding["advice"]["plain"].as_str().unwrap().replace('%', "%25");
    let line = |base: &str, head: &str| {
        let text = coldspot(folder, &["compare", base, head, "--format", "github"]).1;
        text.lines().find(|line| line.ends_with("[host-bound]")).unwrap().to_owned()
    };
    let title = "The GPU waits for host code (GPU 0 (NVIDIA A100-SXM4-80GB))";
    let worse = line("little.json", "much.json");
    assert!(
        worse.contains(&format!(
            "title=worse%3A {title}::Up to 1.26 ms a step (9.7 %25) after 500 µs a step (3.9 %25). "
        )),
        "{worse}"
    );
    assert!(worse.contains(&advice), "{worse}");
    let better = line("much.json", "little.json");
    assert!(
        better.contains(&format!(
            "title=better%3A {title}::Up to 500 µs a step (3.9 %25) after 1.26 ms a step (9.7 %25). "
        )),
        "{better}"
    );
    let gone = line("much.json", "none.json");
    assert!(
        gone.contains(&format!("title=gone%3A {title}::Was up to 1.26 ms a step (9.7 %25) of the window. Was: ")),
        "{gone}"
    );
    assert!(![better, gone].iter().any(|line| line.contains(&advice)));
    // Code scanning would show what is gone as an alert.
    let rules = |head: &str| {
        let sarif = coldspot(folder, &["compare", "much.json", head, "--format", "sarif"]).1;
        let sarif: Value = serde_json::from_str(&sarif).unwrap();
        let results = sarif["runs"][0]["results"].as_array().unwrap().iter();
        results.map(|result| result["ruleId"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(rules("little.json").contains(&"host-bound".to_owned()));
    assert!(!rules("none.json").contains(&"host-bound".to_owned()));
}

#[test]
fn without_a_sound_unit_nothing_is_better_or_worse() {
    let folder = temp::folder();
    let sides =
        ["tiny-kernels", "training-step"].map(|name| fixtures().join(format!("{name}.sqlite")).display().to_string());
    for [base, head] in [[&sides[0], &sides[1]], [&sides[1], &sides[0]]] {
        let (_, json) = coldspot(folder.path(), &["compare", base, head, "--format", "json", "--fail-on", "low"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["outcome"], "not_comparable");
        assert_eq!((&json["counts"]["worse"], &json["counts"]["better"]), (&json!(0), &json!(0)));
        let is_of_both =
            |finding: &&Value| finding["because"].as_str().is_some_and(|why| why.contains("neither better nor worse"));
        let both = json["findings"].as_array().unwrap().iter().find(is_of_both).unwrap();
        assert_eq!(both["state"], "unclear");
        let says = json["gates"][1]["says"].as_str().unwrap();
        assert!(says.contains("new; whether others are worse cannot be told"), "{says}");
    }
}

#[test]
fn sides_that_only_set_memory_are_compared() {
    let folder = temp::folder();
    let mut facts = facts(folder.path(), "training-step.sqlite");
    for kind in ["launch_shapes", "kernels", "copy_groups", "steps", "sync_groups", "ranges"] {
        facts[kind] = json!([]);
    }
    let device = facts["devices"][0].as_object_mut().unwrap();
    device.retain(|name, _| !name.starts_with("step_"));
    device.insert("memset_count".to_owned(), json!(1));
    write(folder.path(), "memset.json", &facts);
    let (code, text) = coldspot(folder.path(), &["compare", "memset.json", "memset.json"]);
    assert!(code == Some(0) && text.contains("## coldspot: no change"), "{text}");
    facts["devices"][0]["memset_count"] = json!(3);
    write(folder.path(), "three.json", &facts);
    let (_, text) = coldspot(folder.path(), &["compare", "memset.json", "three.json"]);
    assert!(text.contains("the head does the base's work 3 times"), "{text}");
}
