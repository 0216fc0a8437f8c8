//! Annotations of a GitHub workflow: one command a line, which nothing in a name can end or begin.

use super::notes::{Level, Notes};
use crate::findings::Place;

/// One annotation for the verdict, one for each finding and each gate that does not hold, the gravest first; gates that
/// hold are plain lines of the log.
pub fn github(notes: &Notes) -> String {
    let mut lines = vec![command(notes.verdict_level, notes.title, &notes.verdict)];
    for (level, gate) in notes.gates.iter().filter_map(|gate| Some((notes.level(gate)?, gate))) {
        let title = format!("gate {} ({}) {}", gate.name, gate.limit, gate.outcome.name());
        lines.push(command(level, &title, &gate.says));
    }
    let mut sorted: Vec<_> = notes.notes.iter().collect();
    sorted.sort_by_key(|note| std::cmp::Reverse((note.is_failure, note.level)));
    for note in sorted {
        let message = format!("{} [{}]", note.message, note.rule);
        lines.push(placed(note.level, note.place.as_ref(), &note.title, &message));
    }
    for gate in notes.gates.iter().filter(|gate| gate.outcome == crate::compare::GateOutcome::Passed) {
        let line = format!("gate {} ({}) passed: {}", gate.name, gate.limit, gate.says);
        // A plain line must not begin as a command.
        lines.push(crate::text::escape::plain(&line));
    }
    lines.extend(notes.remarks.iter().cloned());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn command(level: Level, title: &str, message: &str) -> String {
    placed(level, None, title, message)
}

/// Without a place the annotation is the run's.
fn placed(level: Level, place: Option<&Place>, title: &str, message: &str) -> String {
    let word = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let place = place.map_or_else(String::new, |place| {
        let line = place.line.map_or_else(String::new, |line| format!("line={line},"));
        format!("file={},{line}", property(&place.file))
    });
    format!("::{word} {place}title={}::{}", property(title), data(message))
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
        let place = Place { file: "a,b: c%\n::error::z".to_owned(), line: Some(7) };
        let line = placed(Level::Note, Some(&place), "t", "m");
        assert_eq!(line, "::notice file=a%2Cb%3A c%25%0A%3A%3Aerror%3A%3Az,line=7,title=t::m");
        let file = Place { file: "train.py".to_owned(), line: None };
        assert_eq!(placed(Level::Note, Some(&file), "t", "m"), "::notice file=train.py,title=t::m");
    }
}
