//! docs/json.md names the keys that coldspot writes: all of them, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::analysis::facts;
use crate::support::cli::Printed;
use crate::support::formats::Printer;
use crate::support::project::Project;
use crate::support::{SchemaVersion, fixture, scenario_names};

/// What every object names, and what stands in a sentence of the guide.
const EVERYWHERE: [&str; 2] = ["schema", "coldspot"];
/// Keys of a review with a baseline, which the guide tells of in a sentence.
const WITH_BASELINE: [&str; 1] = ["known"];

/// The names in the first column of the first table after a heading.
fn documented(heading: &str) -> BTreeSet<String> {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md")).unwrap();
    let (_, section) = guide.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let rows = section.lines().skip_while(|line| !line.starts_with("| ")).take_while(|line| line.starts_with('|'));
    let cells = rows.skip(2).filter_map(|row| row.split('|').nth(1)).map(str::to_owned);
    let names: BTreeSet<String> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(names.len() > 5, "{heading}: {names:?}");
    names
}

/// The keys of objects.
fn keys<'a>(objects: impl IntoIterator<Item = &'a Value>) -> BTreeSet<String> {
    objects.into_iter().flat_map(|object| object.as_object().unwrap().keys().cloned()).collect()
}

fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}

/// Findings with those that they explain.
fn findings(reviews: &[Value]) -> Vec<&Value> {
    let mut all: Vec<&Value> = reviews.iter().flat_map(|review| list(review, "findings")).collect();
    let mut at = 0;
    while at < all.len() {
        all.extend(list(all[at], "symptoms"));
        at += 1;
    }
    all
}

fn check(heading: &str, found: BTreeSet<String>, besides: &[&str]) {
    let found: BTreeSet<String> = found.into_iter().filter(|key| !besides.contains(&key.as_str())).collect();
    assert_eq!(found, documented(heading), "left: what is written; right: docs/json.md, {heading}");
}

/// A project that makes use of all that a review can say.
fn project() -> Project {
    let project = Project::with(
        "[review]\nfail_on = 'low'\n[rules]\noff = ['sync-gap']\n\
         [budgets]\nstep_time = '+5%'\ndevice.idle_share = '<= 1'\n\
         [[ignore]]\nrule = 'pageable-copy'\nreason = 'known'\n[[ignore]]\nrule = 'exposed-memset'\nreason = 'gone'\n",
    );
    project.coldspot(&["baseline", "write", "known.json", "run.sqlite"]).success();
    project
}

/// Reviews of every scenario and of a project that makes use of everything.
fn reviews() -> Vec<Value> {
    let printer = Printer::new();
    let of_scenario = |name: &String| {
        let json = printer.json(&facts(&fixture(name, SchemaVersion::Nsys2025)), name).unwrap();
        serde_json::from_str(&json).unwrap()
    };
    let mut reviews: Vec<Value> = scenario_names().iter().map(of_scenario).collect();
    let project = project();
    reviews.push(project.review_json(&[]));
    reviews.push(project.review_json(&["--baseline", "known.json"]));
    reviews
}

#[test]
fn the_keys_of_reviews_are_those_of_the_guide() {
    let reviews = reviews();
    let besides = [&EVERYWHERE[..], &WITH_BASELINE].concat();
    check("## `coldspot review --format json`", keys(&reviews), &besides);
    check("### A device", keys(reviews.iter().flat_map(|review| list(review, "devices"))), &[]);
    check("### A finding", keys(findings(&reviews)), &[]);
}

#[test]
fn the_keys_of_comparisons_are_those_of_the_guide() {
    let project = project();
    project.copy("tiny-kernels.sqlite", "other.sqlite");
    let compare = |base: &str| {
        let more = ["--format", "json", "--fail-on", "low"];
        project.coldspot(&[&["compare", base, "run.sqlite"], &more[..]].concat()).json()
    };
    let comparisons = [compare("run.sqlite"), compare("other.sqlite")];
    check("## `coldspot compare --format json`", keys(&comparisons), &EVERYWHERE);
}
