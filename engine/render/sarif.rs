//! SARIF 2.1.0, which code scanning reads.

use serde_json::{Value, json};

use super::notes::{Level, Note, Notes};
use crate::compare::State;
use crate::text::escape;

/// Files without any character outside of these need no encoding in an address.
const PLAIN: &str = "-._~";

/// One run of the tool: the rules that notes refer to with their help, and one result a note.
pub fn sarif(notes: &Notes) -> String {
    let rules: Vec<Value> = notes
        .rules
        .iter()
        .map(|rule| {
            let mut value = json!({
                "id": rule.id,
                "name": rule.id,
                "shortDescription": { "text": rule.title },
                "fullDescription": { "text": format!("{}.", rule.title.trim_end_matches('.')) },
                // The page shows the rule's file word for word; a fence keeps it so.
                "help": { "text": rule.help, "markdown": fenced(&rule.help) },
                "properties": { "tags": ["performance", "gpu", rule.category] },
            });
            if let Some(url) = rule.url.as_ref().filter(|url| url.starts_with("https://") || url.starts_with("http://"))
            {
                value["helpUri"] = json!(url);
            }
            value
        })
        .collect();
    // Code scanning takes every result for one that is there, whatever its `baselineState`.
    let results: Vec<Value> =
        notes.notes.iter().filter(|note| note.is_in_head).map(|note| result(note, notes)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "coldspot", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(notes),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    escape::json(&format!("{log:#}\n"))
}

fn result(note: &Note, notes: &Notes) -> Value {
    let mut value = json!({
        "ruleId": note.rule,
        "level": level(note.level),
        "message": { "text": format!("{}: {}", note.title, note.message) },
        "partialFingerprints": { "coldspot/1": note.fingerprint },
        "locations": [{ "physicalLocation": location(note, notes) }],
    });
    if let Some(index) = notes.rules.iter().position(|rule| rule.id == note.rule) {
        value["ruleIndex"] = json!(index);
    }
    let state = note.state.map(|state| match state {
        State::New => "new",
        State::Worse | State::Better | State::Unclear => "updated",
        State::Gone | State::Unchanged => "unchanged",
    });
    if let Some(state) = state {
        value["baselineState"] = json!(state);
    }
    value
}

/// The place in the code, from the root of the sources, which whoever reads the log knows; else the report.
fn location(note: &Note, notes: &Notes) -> Value {
    let Some(place) = &note.place else {
        let report = notes.reports.first().map_or("report", String::as_str);
        return json!({ "artifactLocation": { "uri": address(report) } });
    };
    let folders: Vec<String> = place.file.split('/').map(address).collect();
    let mut value = json!({ "artifactLocation": { "uri": folders.join("/"), "uriBaseId": "%SRCROOT%" } });
    if let Some(line) = place.line {
        value["region"] = json!({ "startLine": line });
    }
    value
}

fn notifications(notes: &Notes) -> Vec<Value> {
    let verdict = json!({ "level": level(notes.verdict_level), "message": { "text": notes.verdict } });
    let gates = notes.gates.iter().map(|gate| {
        let text = format!("gate {} ({}) {}: {}", gate.name, gate.limit, gate.outcome.name(), gate.says);
        json!({ "level": level(notes.level(gate).unwrap_or(Level::Note)), "message": { "text": text } })
    });
    let remarks = notes.remarks.iter().map(|remark| json!({ "level": "note", "message": { "text": remark } }));
    std::iter::once(verdict).chain(gates).chain(remarks).collect()
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    }
}

/// A relative address of a file name.
fn address(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(char::from(byte)) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.is_empty() { "report".to_owned() } else { out }
}

fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2);
    let fence = "`".repeat(longest + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}
