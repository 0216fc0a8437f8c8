//! Reads a TOML file into its structs: every unknown key is noted with its line and the nearest known name.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::Log;
use crate::limits::{MAX_TOML_KEY_COUNT, MAX_UNKNOWN_KEY_COUNT};
use crate::text::nearest::did_you_mean;
use crate::text::number;

/// The tree of a file; none when it is no TOML, or has more keys than any.
pub(crate) fn parse<'a>(log: &mut Log<'a>) -> Option<Spanned<DeTable<'a>>> {
    // Before the tree is made, which is many times as large.
    let mut signs = log.source.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'=' | b'['));
    if let Some((at, _)) = signs.nth(MAX_TOML_KEY_COUNT) {
        let most = number::count(MAX_TOML_KEY_COUNT as i64);
        log.at(at..at + 1, format!("it has more than {most} keys, tables and lists (`=` and `[`)"));
        return None;
    }
    match DeTable::parse(log.source) {
        Ok(tree) => Some(tree),
        Err(error) => {
            log.at(error.span().unwrap_or_default(), one_line(error.message()));
            None
        }
    }
}

/// Reads the tree. Every unknown key is a fault of its own, up to a number; any other mistake of shape ends the reading.
pub(crate) fn read<T: DeserializeOwned>(mut tree: Spanned<DeTable<'_>>, log: &mut Log<'_>) -> Option<T> {
    for _ in 0..readings_of(log.source) {
        let error = match T::deserialize(toml::de::Deserializer::from(tree.clone())) {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        let span = error.span().unwrap_or_default();
        log.at(span.clone(), explain(error.message()));
        // Taken out, the next reading finds the next mistake.
        if !(error.message().starts_with("unknown field") && remove(tree.get_mut(), &span)) {
            return None;
        }
    }
    None
}

/// How often a file is read to find all its unknown keys: those of ordinary size as often as keys are told, larger ones less.
fn readings_of(source: &str) -> usize {
    /// Bytes that are read together.
    const MAX_BYTES: usize = MAX_UNKNOWN_KEY_COUNT * (64 << 10);
    (MAX_BYTES / source.len().max(1)).clamp(1, MAX_UNKNOWN_KEY_COUNT)
}

/// A message on one line, without the value that it quotes: it may be of a file that its reader may not see.
pub(crate) fn without_value(message: &str) -> String {
    let message = one_line(message);
    let is_about_a_value = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    match (message.split_once(['"', '`']), message.rsplit_once(", expected ")) {
        (Some((kind, _)), Some((_, expected))) if is_about_a_value && !kind.contains(", expected ") => {
            format!("{}, expected {expected}", kind.trim_end())
        }
        _ => message,
    }
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join(", ")
}

fn explain(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    match names.next() {
        Some(name) if message.starts_with("unknown field") => {
            format!("unknown key `{name}`{}", did_you_mean(name, names))
        }
        Some(name) if message.starts_with("missing field") => format!("the key `{name}` is missing"),
        _ if message.starts_with("invalid type: map, expected a sequence") => {
            format!("{}: write the header as `[[…]]`, once for each", one_line(message))
        }
        _ => without_value(message),
    }
}

/// Takes the key at `span` out, however deep it is.
fn remove(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    let key = table.keys().find(|key| key.span() == *span).cloned();
    if let Some(key) = key {
        return table.remove(&key).is_some();
    }
    table.iter_mut().any(|(_, value)| remove_in(value.get_mut(), span))
}

fn remove_in(value: &mut DeValue<'_>, span: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => remove(table, span),
        DeValue::Array(items) => items.iter_mut().any(|item| remove_in(item.get_mut(), span)),
        _ => false,
    }
}
