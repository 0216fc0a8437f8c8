//! SARIF 2.1.0, which code scanning reads. Keys are in the order of the alphabet.

use std::collections::BTreeSet;

use serde::Serialize;

use super::notes::{Level, Note, Notes};
use super::rule_page::rule_page;
use crate::compare::State;
use crate::findings::digest;
use crate::rules::{Library, Rule};
use crate::text::escape;

/// The id of the result that says so.
const SLOWER: &str = "slower";
/// Files without any character outside of these need no encoding in an address.
const PLAIN: &str = "-._~";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    runs: [Run; 1],
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    column_kind: &'static str,
    invocations: [Invocation; 1],
    results: Vec<Finding>,
    tool: Tool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Text,
}

#[derive(Serialize)]
struct Text {
    text: String,
}

impl Text {
    /// A message, which quotes names: in plain text of SARIF `[a](b)` is a link and `{0}` stands for an argument.
    fn said(text: &str) -> Self {
        let has_link = text.contains("](");
        let holds_argument = |(at, _): (usize, &str)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
        let has_argument = text.match_indices('{').any(holds_argument);
        let mut said = String::with_capacity(text.len());
        for c in text.chars() {
            if has_link && matches!(c, '[' | ']' | '\\') {
                said.push('\\');
            }
            said.push(c);
            if has_argument && matches!(c, '{' | '}') {
                said.push(c);
            }
        }
        Self { text: said }
    }
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
struct Driver {
    name: &'static str,
    rules: Vec<RuleHelp>,
    version: &'static str,
}

/// A rule that results refer to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleHelp {
    full_description: Text,
    help: Help,
    #[serde(skip_serializing_if = "Option::is_none")]
    help_uri: Option<String>,
    id: String,
    name: String,
    properties: Properties,
    short_description: Text,
}

#[derive(Serialize)]
struct Help {
    markdown: String,
    text: String,
}

#[derive(Serialize)]
struct Properties {
    tags: [String; 3],
}

/// A result, in SARIF's word.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_state: Option<&'static str>,
    level: &'static str,
    locations: [Location; 1],
    message: Text,
    partial_fingerprints: Fingerprints,
    rule_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
}

#[derive(Serialize)]
struct Fingerprints {
    #[serde(rename = "coldspot/1")]
    coldspot: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
}

/// One run of the tool: the rules that notes refer to with their help, and one result a note.
pub(super) fn sarif(notes: &Notes<'_>, library: &Library) -> Result<String, serde_json::Error> {
    let ids: BTreeSet<&str> = notes.notes.iter().map(|note| note.rule.as_str()).collect();
    let rules: Vec<&Rule> = ids.into_iter().filter_map(|id| library.rule(id)).collect();
    // Code scanning takes every result for one that is there, whatever its `baselineState`.
    let slower = notes.is_slower.then(|| slower(notes, rules.len()));
    let findings = notes.notes.iter().filter(|note| note.is_in_head).map(|note| result(note, notes, &rules));
    let results = slower.into_iter().chain(findings).collect();
    let is_slower = notes.is_slower.then(RuleHelp::slower);
    let driver = Driver {
        name: "coldspot",
        rules: rules.iter().map(|rule| RuleHelp::new(library, rule)).chain(is_slower).collect(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let invocation =
        Invocation { execution_successful: notes.is_whole(), tool_execution_notifications: notifications(notes) };
    let log = Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        runs: [Run { column_kind: "unicodeCodePoints", invocations: [invocation], results, tool: Tool { driver } }],
        version: "2.1.0",
    };
    Ok(escape::json(format!("{}\n", serde_json::to_string_pretty(&log)?)))
}

impl RuleHelp {
    /// Of the verdict, which no rule gives.
    fn slower() -> Self {
        let text = "The same work takes more time than before the change, by more than noise explains. The comment of the pull \
                    request says what the time went into, and which kernels and findings changed.";
        Self {
            full_description: Text { text: "The head is slower than the base.".to_owned() },
            help: Help { markdown: text.to_owned(), text: text.to_owned() },
            help_uri: None,
            id: SLOWER.to_owned(),
            name: SLOWER.to_owned(),
            properties: Properties { tags: ["performance".to_owned(), "gpu".to_owned(), "comparison".to_owned()] },
            short_description: Text { text: "The head is slower than the base".to_owned() },
        }
    }

    fn new(library: &Library, rule: &Rule) -> Self {
        // The page's template is the built-in one; were it wrong, the title would have to do.
        let page = rule_page(library, rule).unwrap_or_else(|_| rule.title().to_owned());
        let url = rule.references().first().map(|reference| reference.url.clone());
        Self {
            full_description: Text { text: format!("{}.", rule.title().trim_end_matches('.')) },
            // The page shows the rule's file word for word; a fence keeps it so.
            help: Help { markdown: fenced(&page), text: page },
            help_uri: url.filter(|url| url.starts_with("https://") || url.starts_with("http://")),
            id: rule.id().to_owned(),
            name: rule.id().to_owned(),
            properties: Properties { tags: ["performance".to_owned(), "gpu".to_owned(), rule.category().to_owned()] },
            short_description: Text { text: rule.title().to_owned() },
        }
    }
}

fn result(note: &Note, notes: &Notes<'_>, rules: &[&Rule]) -> Finding {
    let state = note.state.map(|state| match state {
        State::New => "new",
        State::Worse | State::Better | State::Unclear => "updated",
        State::Gone | State::Unchanged => "unchanged",
    });
    Finding {
        baseline_state: state,
        level: level(note.level),
        locations: [Location { physical_location: location(note, notes) }],
        message: Text::said(&format!("{}: {}", note.title, note.message())),
        partial_fingerprints: Fingerprints { coldspot: note.fingerprint.clone() },
        rule_id: note.rule.clone(),
        rule_index: rules.iter().position(|rule| rule.id() == note.rule),
    }
}

/// That the head is slower: no rule's finding, but what a reader of alerts must not miss.
fn slower(notes: &Notes<'_>, index: usize) -> Finding {
    let artifact_location = report(notes);
    Finding {
        baseline_state: Some("new"),
        level: level(notes.verdict_level),
        locations: [Location { physical_location: PhysicalLocation { artifact_location, region: None } }],
        message: Text::said(&notes.verdict),
        partial_fingerprints: Fingerprints { coldspot: digest("verdict") },
        rule_id: SLOWER.to_owned(),
        rule_index: Some(index),
    }
}

/// The place in the code, from the root of the sources, which whoever reads the log knows; else the report.
fn location(note: &Note, notes: &Notes<'_>) -> PhysicalLocation {
    let Some(source) = &note.source else {
        return PhysicalLocation { artifact_location: report(notes), region: None };
    };
    let folders: Vec<String> = source.file.split('/').map(address).collect();
    PhysicalLocation {
        artifact_location: ArtifactLocation { uri: folders.join("/"), uri_base_id: Some("%SRCROOT%") },
        region: source.line.map(|line| Region { start_line: line }),
    }
}

fn report(notes: &Notes<'_>) -> ArtifactLocation {
    let report = notes.reports.first().map_or("report", String::as_str);
    ArtifactLocation { uri: address(report), uri_base_id: None }
}

fn notifications(notes: &Notes<'_>) -> Vec<Notification> {
    let verdict = notification(notes.verdict_level, notes.verdict.clone());
    let gates = notes.gates.gates.iter().map(|gate| {
        let text = format!("gate {} ({}) {}: {}", gate.name, gate.limit, gate.outcome.name(), gate.says);
        notification(notes.level(gate).unwrap_or(Level::Note), text)
    });
    let remarks = notes.remarks.iter().chain(&notes.altered).map(|remark| notification(Level::Note, remark.clone()));
    let failures = notes.failures.iter().map(|(level, text)| notification(*level, text.clone()));
    std::iter::once(verdict).chain(failures).chain(gates).chain(remarks).collect()
}

fn notification(grade: Level, text: String) -> Notification {
    Notification { level: level(grade), message: Text::said(&text) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_links_and_no_placeholders() {
        let said = |text: &str| Text::said(text).text;
        assert_eq!(said("a[1] of {lambda()#1}"), "a[1] of {lambda()#1}");
        assert_eq!(said("[Fix it](https://evil.example) \\"), "\\[Fix it\\](https://evil.example) \\\\");
        assert_eq!(said("{0} and {1}"), "{{0}} and {{1}}");
    }
}
