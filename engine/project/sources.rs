//! Checks which files kernels and ranges are mapped to.

use toml::Spanned;

use super::raw::{RawSource, Text};
use crate::findings::{CodeKind, Source, SourceLocation, Sources};
use crate::limits::{MAX_CONFIG_ENTRY_COUNT, MAX_PATTERN_BYTES};
use crate::rules::fault::Log;
use crate::text::escape;
use crate::text::glob::Glob;
use crate::text::paths;

pub(super) fn check(raw: &[RawSource], log: &mut Log<'_>) -> Sources {
    if let Some(beyond) = raw.get(MAX_CONFIG_ENTRY_COUNT) {
        log.at(beyond.file.span(), format!("there are more than {MAX_CONFIG_ENTRY_COUNT} sources"));
    }
    let raw = raw.get(..MAX_CONFIG_ENTRY_COUNT).unwrap_or(raw);
    Sources { list: raw.iter().filter_map(|source| check_one(source, log)).collect(), folders: Vec::new() }
}

fn check_one(raw: &RawSource, log: &mut Log<'_>) -> Option<Source> {
    let named = match (&raw.kernel, &raw.range) {
        (Some(kernel), None) => Some((CodeKind::Kernel, kernel)),
        (None, Some(range)) => Some((CodeKind::Range, range)),
        (Some(_), Some(range)) => {
            log.at(range.span(), "a source has either a `kernel` or a `range`: write two of them");
            None
        }
        (None, None) => {
            log.at(
                raw.file.span(),
                "a source needs a `kernel` or a `range`: a pattern over names, where `*` is any text",
            );
            None
        }
    };
    if let Some((_, pattern)) = named.filter(|(_, pattern)| pattern.get_ref().is_empty()) {
        log.at(pattern.span(), "an empty pattern matches no name");
    }
    if let Some((_, pattern)) = named.filter(|(_, pattern)| pattern.get_ref().len() > MAX_PATTERN_BYTES) {
        log.at(pattern.span(), format!("a pattern has at most {MAX_PATTERN_BYTES} bytes"));
    }
    let line = raw.line.as_ref().map(|line| (line, line_number(line)));
    if let Some((written, None)) = line {
        log.at(written.span(), format!("`line` is a line of the file: from 1 to {}", u32::MAX));
    }
    let file = file(&raw.file, log);
    let (kind, pattern) = named?;
    let line = line.and_then(|(_, number)| number);
    Some(Source { kind, pattern: Glob::new(pattern.get_ref()), location: SourceLocation { file: file?, line } })
}

fn line_number(line: &Spanned<toml::Value>) -> Option<u32> {
    line.get_ref().as_integer().and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0)
}

/// The path as forges want it: annotations may name nothing outside of the project.
fn file(raw: &Text, log: &mut Log<'_>) -> Option<String> {
    match paths::inside(raw.get_ref()) {
        Ok(file) => Some(file),
        Err(problem) => {
            log.at(raw.span(), format!("`{}` {problem}", escape::plain(raw.get_ref())));
            None
        }
    }
}
