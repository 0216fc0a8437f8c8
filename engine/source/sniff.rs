//! Tells what a file is from its first bytes, never from its name alone.

use std::io::Read;
use std::path::Path;

use super::ReadError;
use super::format::{Format, Head, NearMiss, Reader};
use crate::files;

/// The bytes that are looked at.
pub(super) const HEAD_BYTES: u64 = 4_096;

/// Who of these reads the file.
pub(super) fn sniff(path: &Path, formats: &[&Format]) -> Result<Reader, ReadError> {
    let name = path.display().to_string();
    let open_error = |source| ReadError::Open { path: name.clone(), source };
    let not_a_report = |found: &str, hint: &str| ReadError::NotAReport {
        path: name.clone(),
        found: found.to_owned(),
        hint: hint.to_owned(),
    };
    if std::fs::metadata(path).map_err(open_error)?.is_dir() {
        return Err(not_a_report("is a folder", "Name one report file in it"));
    }
    let mut bytes = Vec::new();
    files::open(path).map_err(open_error)?.take(HEAD_BYTES).read_to_end(&mut bytes).map_err(open_error)?;
    if let Some(reader) = formats.iter().find_map(|format| (format.reader)(&bytes)) {
        return Ok(reader);
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    let head = Head { bytes: &bytes, extension: &extension };
    let near_miss = something_else(&bytes).or_else(|| formats.iter().find_map(|format| (format.near_miss)(head)));
    let hints = || formats.iter().map(|format| format.hint).collect::<Vec<_>>().join("; or: ");
    Err(match near_miss {
        Some(near) => not_a_report(near.found, near.hint),
        None if bytes.is_empty() => not_a_report("is empty", &hints()),
        None => not_a_report("is no report that coldspot knows", &hints()),
    })
}

/// Files of no format that are found where a report should be.
fn something_else(bytes: &[u8]) -> Option<NearMiss> {
    if bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        let found = "is a Git LFS pointer, not the report itself";
        return Some(NearMiss { found, hint: "Fetch the report with: git lfs pull" });
    }
    None
}
