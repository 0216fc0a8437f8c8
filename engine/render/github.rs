//! Annotations of a GitHub workflow: one command a line, which nothing in a name can end or begin.

use foldhash::HashMap;

use super::notes::{Level, Note, Notes};
use crate::compare::State;
use crate::findings::SourceLocation;
use crate::gates::GateOutcome;
use crate::text::escape;

/// So many entities of one rule are told of in one annotation.
const MAX_TOGETHER: usize = 4;

/// One annotation for the verdict, one for each finding and each gate that does not hold, the gravest first; gates that
/// hold are plain lines of the log.
pub(super) fn github(notes: &Notes<'_>) -> String {
    let mut lines = vec![command(notes.verdict_level, notes.title, &notes.verdict)];
    lines.extend(notes.failures.iter().map(|(level, text)| command(*level, "coldspot", text)));
    for (level, gate) in notes.gates.gates.iter().filter_map(|gate| Some((notes.level(gate)?, gate))) {
        let title = format!("gate {} ({}) {}", gate.name, gate.limit, gate.outcome.name());
        lines.push(command(level, &title, &gate.says));
    }
    let mut sorted: Vec<_> = notes.notes.iter().filter(|note| note.state != Some(State::Unchanged)).collect();
    sorted.sort_by_key(|note| std::cmp::Reverse((note.is_failure, note.level)));
    for alike in together(&sorted) {
        let Some(note) = alike.first() else { continue };
        let mut found: Vec<&str> = alike.iter().take(MAX_TOGETHER).map(|note| note.what.as_str()).collect();
        let more = format!("And {} more.", alike.len().saturating_sub(MAX_TOGETHER));
        found.extend((alike.len() > MAX_TOGETHER).then_some(more.as_str()));
        found.extend((!note.advice.is_empty()).then_some(note.advice.as_str()));
        let message = format!("{} [{}]", found.join(" "), note.rule);
        lines.push(located(note.level, note.source.as_ref(), &note.title, &message));
    }
    for gate in notes.gates.gates.iter().filter(|gate| gate.outcome == GateOutcome::Passed) {
        let line = format!("gate {} ({}) passed: {}", gate.name, gate.limit, gate.says);
        // A plain line must not begin as a command.
        lines.push(escape::line(&line));
    }
    lines.extend(notes.remarks.iter().chain(&notes.altered).cloned());
    // No text of a line is trusted to have been parted before.
    lines.iter().map(|line| format!("{}\n", escape::part_hashes(line))).collect()
}

/// Notes of one rule at one place that ask for the same: one annotation says so once. In the order of their first.
fn together<'a>(notes: &[&'a Note]) -> Vec<Vec<&'a Note>> {
    let place = |note: &'a Note| note.source.as_ref().map(|source| (source.file.as_str(), source.line));
    let mut groups: Vec<Vec<&Note>> = Vec::new();
    let mut known: HashMap<_, usize> = HashMap::default();
    for &note in notes {
        // The title of a change names its state and what it is about.
        let index = *known.entry((&note.rule, &note.title, &note.advice, place(note))).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(note),
            None => groups.push(vec![note]),
        }
    }
    groups
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
