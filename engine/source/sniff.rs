//! Tells what a file is from its first bytes, never from its name alone.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::ReadError;

/// The formats that there is a reader for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A SQLite database, which may be an Nsight Systems export.
    NsysSqlite,
    /// Nsight Systems' own report file.
    NsysRep,
}

const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
const EXPORT: &str = "Export the report with: nsys export --type sqlite FILE.nsys-rep";

/// What the file is.
pub(super) fn sniff(path: &Path) -> Result<Format, ReadError> {
    let name = path.display().to_string();
    let open_error = |source| ReadError::Open { path: name.clone(), source };
    let not_a_report = |found: &str, way_out: &str| ReadError::NotAReport {
        path: name.clone(),
        found: found.to_owned(),
        way_out: way_out.to_owned(),
    };
    if std::fs::metadata(path).map_err(open_error)?.is_dir() {
        return Err(not_a_report("is a folder", "Name one report file in it"));
    }
    let mut head = Vec::with_capacity(4096);
    File::open(path).map_err(open_error)?.take(4096).read_to_end(&mut head).map_err(open_error)?;
    if head.starts_with(SQLITE_MAGIC) {
        return Ok(Format::NsysSqlite);
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    Err(match head.as_slice() {
        [] => not_a_report("is empty", EXPORT),
        text if text.starts_with(b"version https://git-lfs.github.com/spec/") => {
            not_a_report("is a Git LFS pointer, not the report itself", "Fetch the report with: git lfs pull")
        }
        text if SQLITE_MAGIC.starts_with(text) => not_a_report("is cut off within its first bytes", EXPORT),
        [0x1f, 0x8b, ..] => not_a_report("is gzip data, which no Nsight Systems export is", EXPORT),
        [b'{' | b'[', ..] => not_a_report(
            "looks like JSON; traces of the PyTorch Profiler cannot be read yet",
            "Record the program with Nsight Systems: nsys profile --trace=cuda,nvtx,osrt PROGRAM",
        ),
        bytes if super::nsys::rep::is_rep(bytes) => return Ok(Format::NsysRep),
        bytes if bytes.starts_with(b"U3w[END]NVIDIA Nsight Systems Stream") => not_a_report(
            "is a raw recording of Nsight Systems (.qdstrm), which it could not turn into a report",
            "Do that with its importer: QdstrmImporter --input-file FILE.qdstrm",
        ),
        _ if matches!(extension.as_str(), "nsys-rep" | "qdrep") => not_a_report(
            "is named as a report of Nsight Systems, but does not begin as one",
            "Copy it again from where it was made",
        ),
        _ => not_a_report("is no report that coldspot knows", EXPORT),
    })
}
