//! From a file to facts, in one place.

use std::path::Path;

use coldspot::facts::{Facts, extract};
use coldspot::ledger::Scope;
use coldspot::rules::Library;
use coldspot::source::{ReadError, ReadOptions, Recording, read};
use coldspot::timeline::Timeline;

/// Reads a report that may be refused.
pub fn try_timeline(path: &Path, options: &ReadOptions) -> Result<Timeline, ReadError> {
    read(path, options, &()).map(Recording::into_timeline)
}

/// Reads a report that is sound.
pub fn timeline(path: &Path) -> Timeline {
    try_timeline(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The facts of a timeline that has GPU work.
pub fn facts_of(timeline: &Timeline) -> Facts {
    extract(timeline, &Scope::All).unwrap_or_else(|error| panic!("{error}"))
}

/// The facts of a report that is sound.
pub fn facts(path: &Path) -> Facts {
    facts_of(&timeline(path))
}

/// The built-in rules.
pub fn builtin() -> Library {
    Library::builtin().unwrap_or_else(|faults| panic!("{faults}"))
}
