//! JUnit's XML: gates and findings as tests. What ends the run with exit code 1 is a failed test, and nothing else is; a rule of
//! coldspot's own that went wrong is an error.

use super::markup;
use super::notes::{Level, Note, Notes};
use crate::compare::State;
use crate::gates::{Gate, GateOutcome};

/// The notes as one test suite.
pub(super) fn junit(notes: &Notes<'_>) -> String {
    let gates = notes.gates.gates.iter().map(|gate| {
        let name = format!("{} {}", gate.name, gate.limit);
        let body = match gate.outcome {
            GateOutcome::Passed => output(&gate.says),
            GateOutcome::Failed => failure("failed", &gate.says),
            GateOutcome::Undecided { .. } if notes.gates.fails(gate) => failure("undecided", &gate.says),
            GateOutcome::Undecided { .. } => skipped("undecided", &gate.says),
            GateOutcome::Unknown if notes.gates.allows_unknown => skipped("could not be evaluated", &gate.says),
            GateOutcome::Unknown => failure("could not be evaluated", &gate.says),
        };
        (case("gates", &name, &body), notes.level(gate) == Some(Level::Error))
    });
    let shown = notes.notes.iter().filter(|note| note.state != Some(State::Unchanged));
    let findings = shown.map(|note| (of_note(note), note.is_failure));
    let verdict = (case("verdict", notes.title, &output(&notes.verdict)), false);
    let remarks = notes.remarks.iter().map(|remark| (case("gates", "not evaluated", &output(remark)), false));
    let altered = notes.altered.iter().map(|told| (case("rules", "altered", &output(told)), false));
    let is_error = |(level, _): &&(Level, String)| *level == Level::Error;
    let errors = notes.failures.iter().filter(is_error).count();
    let failures = notes.failures.iter().map(|failure| (of_failure(failure), false));
    let cases: Vec<(String, bool)> =
        std::iter::once(verdict).chain(failures).chain(gates).chain(remarks).chain(altered).chain(findings).collect();
    let failed = cases.iter().filter(|(_, failed)| *failed).count();
    let body: String = cases.iter().map(|(case, _)| case.as_str()).collect();
    let is_skipped = |gate: &&Gate| matches!(notes.level(gate), Some(Level::Note | Level::Warning));
    let skipped = notes.gates.gates.iter().filter(is_skipped).count();
    let counts = format!("tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\"", cases.len());
    let name = xml(notes.title);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {counts}>\n  \
         <testsuite name=\"{name}\" {counts} skipped=\"{skipped}\">\n{body}  </testsuite>\n</testsuites>\n"
    )
}

/// A rule that went wrong is an error of the test, no failure of what it tests.
fn of_failure((level, text): &(Level, String)) -> String {
    let body = match level {
        Level::Error => format!("<error type=\"rule\" message=\"{}\"/>", xml(text)),
        Level::Warning | Level::Note => output(text),
    };
    case("rules", "went wrong", &body)
}

fn of_note(note: &Note) -> String {
    let name = format!("{} ({})", note.name, note.fingerprint);
    let message = note.state.map_or_else(|| note.message(), |state| format!("{}: {}", state.name(), note.message()));
    let body = if note.is_failure { failure(note.severity.name(), &message) } else { output(&message) };
    case(&note.rule, &name, &body)
}

fn case(class: &str, name: &str, body: &str) -> String {
    format!("    <testcase classname=\"coldspot.{}\" name=\"{}\">{body}</testcase>\n", xml(class), xml(name))
}

fn failure(kind: &str, message: &str) -> String {
    format!("<failure type=\"{}\" message=\"{}\"/>", xml(kind), xml(message))
}

fn skipped(why: &str, message: &str) -> String {
    format!("<skipped message=\"{why}: {}\"/>", xml(message))
}

fn output(text: &str) -> String {
    format!("<system-out>{}</system-out>", xml(text))
}

/// Text for content and attributes; characters that XML does not allow are left out.
fn xml(text: &str) -> String {
    let allowed = |c: char| match c {
        '\t' | '\n' | '\r' => Some(' '),
        '\u{fffe}' | '\u{ffff}' => None,
        c => (!c.is_control()).then_some(c),
    };
    markup::escaped(&text.chars().filter_map(allowed).collect::<String>())
}
