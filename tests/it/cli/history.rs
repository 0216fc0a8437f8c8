//! `coldspot history`: a folder of facts files, night by night.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::cli::{Printed, coldspot};
use crate::support::facts_files::scaled;
use crate::support::{fixtures, temp};

/// Facts of so many nights, whose steps take a hundredth more from night to night and back, and from one night on `factor` of that.
fn nights(folder: &std::path::Path, count: usize, since: usize, factor: f64) {
    let report = fixtures().join("training-step.sqlite").display().to_string();
    let facts: Value = coldspot(&["facts", &report, "--format", "json"]).success().json();
    for night in 0..count {
        let wobble = 1.0 + [0.0, 0.004, 0.008, 0.002][night % 4];
        let times = wobble * if night >= since { factor } else { 1.0 };
        let scaled = scaled(facts.clone(), times);
        let name = format!("2026-11-{:02}-{:07x}-1.json", night + 1, 0xabc_0000 + night);
        std::fs::write(folder.join(name), scaled.to_string()).unwrap();
    }
}

#[test]
fn a_slower_commit_is_named() {
    let folder = temp::folder();
    nights(folder.path(), 16, 9, 1.12);
    let path = folder.path().display().to_string();
    let text = coldspot(&["history", &path]).success().out();
    assert!(text.contains("The last change: slower since `2026-11-10-abc0009`"), "{text}");
    let json = coldspot(&["history", &path, "--format", "json"]).success().json();
    assert_eq!((json["of"].as_str(), json["points"].as_array().unwrap().len()), (Some("step"), 16));
    let change = &json["changes"][0];
    assert_eq!((change["commit"].as_str(), change["index"].as_u64()), (Some("abc0009"), Some(9)));
    assert!((change["share"].as_f64().unwrap() - 0.12).abs() < 0.02, "{change}");
    let page = coldspot(&["history", &path, "--format", "html"]).success().out();
    assert_eq!(page.matches("<circle").count(), 16);
    coldspot(&["history", &path, "--noise", "20%"])
        .success()
        .stdout(contains("No change beyond the noise in 16 points"));
}

#[test]
fn the_order_of_commits_goes_before_that_of_names_and_names_are_inert() {
    let folder = temp::folder();
    nights(folder.path(), 3, 9, 1.0);
    let commits = folder.path().join("commits");
    std::fs::write(&commits, "abc0002\nabc0000\nabc0001\n").unwrap();
    let facts = folder.path().join("2026-11-01-abc0000-1.json");
    std::fs::copy(&facts, folder.path().join("<img src=x>|`.json")).unwrap();
    let path = folder.path().display().to_string();
    let arguments = ["history", &path, "--commits", &commits.display().to_string(), "--format"];
    let json = coldspot(&[&arguments[..], &["json"]].concat()).success().json();
    let labels: Vec<&str> =
        json["points"].as_array().unwrap().iter().map(|point| point["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["<img src=x>|`", "2026-11-03-abc0002", "2026-11-01-abc0000", "2026-11-02-abc0001"]);
    for format in ["html", "markdown"] {
        let text = coldspot(&[&arguments[..], &[format]].concat()).success().out();
        let is_inert = format == "markdown" || !text.contains("<img");
        assert!(is_inert && text.contains("img src=x"), "{text}");
    }
}

#[test]
fn a_folder_without_facts_is_refused() {
    let folder = temp::folder();
    let path = folder.path().display().to_string();
    coldspot(&["history", &path]).code(2).stdout("").stderr(contains("holds no facts files"));
    coldspot(&["history", "/no/such/folder"])
        .code(2)
        .stdout("")
        .stderr(contains("cannot be read").and(contains("/no/such")));
}
