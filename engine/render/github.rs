//! Annotations of a GitHub workflow: one command a line, which nothing in a name can end or begin.

use super::notes::{Level, Notes};
use crate::compare::State;
use crate::findings::SourceLocation;
use crate::gates::GateOutcome;
use crate::text::escape;

/// One annotation for the verdict, one for each finding and each gate that does not hold, the gravest first; gates that
/// hold are plain lines of the log.
pub(super) fn github(notes: &Notes<'_>) -> String {
    let mut lines = vec![command(notes.verdict_level, notes.title, &notes.verdict)];
    for (level, gate) in notes.gates.gates.iter().filter_map(|gate| Some((notes.level(gate)?, gate))) {
        let title = format!("gate {} ({}) {}", gate.name, gate.limit, gate.outcome.name());
        lines.push(command(level, &title, &gate.says));
    }
    let mut sorted: Vec<_> = notes.notes.iter().filter(|note| note.state != Some(State::Unchanged)).collect();
    sorted.sort_by_key(|note| std::cmp::Reverse((note.is_failure, note.level)));
    for note in sorted {
        let message = format!("{} [{}]", note.message, note.rule);
        lines.push(located(note.level, note.source.as_ref(), &note.title, &message));
    }
    for gate in notes.gates.gates.iter().filter(|gate| gate.outcome == GateOutcome::Passed) {
        let line = format!("gate {} ({}) passed: {}", gate.name, gate.limit, gate.says);
        // A plain line must not begin as a command.
        lines.push(escape::plain(&line));
    }
    lines.extend(notes.remarks.iter().cloned());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn command(level: Level, title: &str, message: &str) -> String {
    located(level, None, title, message)
}

/// Without a source location the annotation is the run's.
fn located(level: Level, source: Option<&SourceLocation>, title: &str, message: &str) -> String {
    let word = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let source = source.map_or_else(String::new, |source| {
        let line = source.line.map_or_else(String::new, |line| format!("line={line},"));
        format!("file={},{line}", property(&source.file))
    });
    format!("::{word} {source}title={}::{}", property(title), data(message))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_command() {
        let line = command(Level::Error, "a,b: 5 %\n::error::x", "100 %\r\n::error::y");
        assert_eq!(line, "::error title=a%2Cb%3A 5 %25%0A%3A%3Aerror%3A%3Ax::100 %25%0D%0A::error::y");
        let source = SourceLocation { file: "a,b: c%\n::error::z".to_owned(), line: Some(7) };
        let line = located(Level::Note, Some(&source), "t", "m");
        assert_eq!(line, "::notice file=a%2Cb%3A c%25%0A%3A%3Aerror%3A%3Az,line=7,title=t::m");
        let file = SourceLocation { file: "train.py".to_owned(), line: None };
        assert_eq!(located(Level::Note, Some(&file), "t", "m"), "::notice file=train.py,title=t::m");
    }
}
