//! Recordings that are played again: without a change what comes back is what was recorded.

use std::path::{Path, PathBuf};

use coldspot::analysis::Reading;
use coldspot::replay::{Assumption, Change};

use crate::support::{SchemaVersion, fixture, sample_reports, scenario_names};

/// Steps may differ by this share.
const CLOSE: f64 = 0.01;
/// What is not explained may be this share where that is said.
const UNEXPLAINED: f64 = 0.05;

/// Plays a recording again and prints how close it comes. Whether it could be played.
fn check(path: &Path) -> usize {
    let answers = Reading::default().what_if(path, Change::ALL).unwrap_or_else(|error| panic!("{error}"));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut played = 0;
    for answer in answers {
        let number = answer.device_number;
        match answer.outcome {
            Ok(predicted) => {
                println!(
                    "{name} GPU {number}: {} steps of {} ns, apart by {:.4} each, {:.4} without what is not explained",
                    predicted.step_count, predicted.step_ns, predicted.identity_share, predicted.distance_share
                );
                assert!(predicted.identity_share <= CLOSE, "{name}: {}", predicted.identity_share);
                let is_told = predicted.assumptions.contains(&Assumption::UnexplainedStays);
                let most = if is_told { UNEXPLAINED } else { CLOSE };
                assert!(predicted.distance_share <= most, "{name}: {}", predicted.distance_share);
                for (change, gain) in &predicted.each {
                    let is_ordered = 0 <= gain.expected_ns
                        && gain.expected_ns <= gain.ceiling_ns
                        && gain.ceiling_ns <= predicted.step_ns;
                    assert!(is_ordered, "{name}: {}: {gain:?} of {}", change.id(), predicted.step_ns);
                }
                played += 1;
            }
            Err(none) => println!("{name} GPU {number}: not played again, {}", none.id()),
        }
    }
    played
}

fn folder(name: &str) -> Vec<PathBuf> {
    let Some(folder) = sample_reports() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder.join(name)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn scenarios_come_back_as_recorded() {
    let played: usize = scenario_names().iter().map(|name| check(&fixture(name, SchemaVersion::Nsys2025))).sum();
    assert!(played > 0);
}

#[test]
fn sample_reports_come_back_as_recorded() {
    let paths: Vec<PathBuf> = ["nsys", "gains/nsys", "gains/kineto"].iter().flat_map(|name| folder(name)).collect();
    let played: usize = paths.iter().map(|path| check(path)).sum();
    assert!(played > 0 || paths.is_empty());
}
