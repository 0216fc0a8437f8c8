//! GitLab's Code Quality report, a subset of Code Climate's: a list of issues, each at a place, which a merge request shows as
//! new or resolved by their fingerprints.

use serde::Serialize;

use super::notes::{Level, Note, Notes};
use crate::findings::digest;
use crate::gates::Gate;
use crate::rules::outcome::Severity;
use crate::text::escape;

#[derive(Serialize)]
struct Issue<'a> {
    description: String,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Location<'a>,
}

#[derive(Serialize)]
struct Location<'a> {
    path: &'a str,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// What is in the report or the head, what fails a gate, and a head that is slower. What is gone is left out, as GitLab finds
/// out by itself.
pub(super) fn codequality(notes: &Notes<'_>) -> serde_json::Result<String> {
    // A place is asked for: what is about the run is at the report.
    let report = notes.reports.first().map_or("coldspot", String::as_str);
    let slower = notes.is_slower.then(|| of_verdict(notes, report));
    let gates = notes.gates.gates.iter().filter(|gate| notes.level(gate) == Some(Level::Error));
    let gates = gates.map(|gate| of_gate(gate, report));
    let findings = notes.notes.iter().filter(|note| note.is_in_head).map(|note| of_note(note, report));
    let failures = notes.failures.iter().filter(|(level, _)| *level == Level::Error);
    let failures = failures.map(|(_, text)| of_failure(text, report));
    let altered = notes.altered.iter().map(|told| of_altered(told, report));
    let failures = failures.chain(altered);
    let issues: Vec<Issue<'_>> = slower.into_iter().chain(failures).chain(gates).chain(findings).collect();
    Ok(escape::json(serde_json::to_string_pretty(&issues)? + "\n"))
}

fn of_verdict<'a>(notes: &Notes<'_>, report: &'a str) -> Issue<'a> {
    Issue {
        description: notes.verdict.clone(),
        check_name: "coldspot-verdict",
        fingerprint: digest("coldspot-verdict"),
        severity: "critical",
        location: at(report, None),
    }
}

fn of_failure<'a>(text: &str, report: &'a str) -> Issue<'a> {
    Issue {
        description: text.to_owned(),
        check_name: "coldspot-rule",
        fingerprint: digest(&format!("coldspot-rule {text}")),
        severity: "critical",
        location: at(report, None),
    }
}

/// What the project changed of the findings.
fn of_altered<'a>(text: &str, report: &'a str) -> Issue<'a> {
    Issue {
        description: text.to_owned(),
        check_name: "coldspot-altered",
        fingerprint: digest(&format!("coldspot-altered {text}")),
        severity: "info",
        location: at(report, None),
    }
}

fn of_gate<'a>(gate: &Gate, report: &'a str) -> Issue<'a> {
    Issue {
        description: format!("gate {} ({}) {}: {}", gate.name, gate.limit, gate.outcome.name(), gate.says),
        check_name: "coldspot-gate",
        fingerprint: digest(&format!("coldspot-gate {} {}", gate.name, gate.limit)),
        severity: "critical",
        location: at(report, None),
    }
}

fn of_note<'a>(note: &'a Note, report: &'a str) -> Issue<'a> {
    let source = note.source.as_ref();
    Issue {
        description: format!("{}: {}", note.name, note.message()),
        check_name: &note.rule,
        fingerprint: note.fingerprint.clone(),
        severity: match note.severity {
            Severity::High => "major",
            Severity::Medium => "minor",
            Severity::Low | Severity::Info => "info",
        },
        location: at(source.map_or(report, |source| &source.file), source.and_then(|source| source.line)),
    }
}

fn at(path: &str, line: Option<u32>) -> Location<'_> {
    Location { path, lines: Lines { begin: line.unwrap_or(1) } }
}
