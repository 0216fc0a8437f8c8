//! Readers: one folder or file a report format. Nothing outside this module knows a table or a column.

mod nsys;
mod sniff;

use std::path::{Path, PathBuf};

use crate::timeline::Timeline;
pub use crate::timeline::builder::Limits;

/// Told how far reading has come.
pub trait Progress: Sync {
    /// `done` of about `total` rows have been read. Called a few times a second.
    fn rows(&self, done: u64, total: u64);
}

/// Shows nothing.
impl Progress for () {
    fn rows(&self, _done: u64, _total: u64) {}
}

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Threads to read with; as many as the machine has when `None`.
    pub threads: Option<usize>,
    /// The `nsys` program that exports `.nsys-rep` files; looked for on PATH when `None`.
    pub nsys: Option<PathBuf>,
    /// How much is taken in.
    pub limits: Limits,
    /// The project's folder: of paths in call stacks only what lies below it is kept. Without it file names alone.
    pub root: Option<PathBuf>,
}

/// Why a report cannot be read. Each message says which file, what was expected, and the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("{path}: cannot be opened: {source}")]
    Open {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is something else than a report that coldspot reads.
    #[error("{path}: {found}. {way_out}")]
    NotAReport {
        /// The file.
        path: String,
        /// What it is instead.
        found: String,
        /// What to do.
        way_out: String,
    },
    /// A database that SQLite cannot read to its end.
    #[error(
        "{path}: the database is damaged ({detail}). Nothing of it is reported, since what is missing could be what matters. \
         Export it again from the .nsys-rep: nsys export --type sqlite FILE.nsys-rep"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What SQLite says.
        detail: String,
    },
    /// The profiler's own exporter is needed and did not do it.
    #[error("{path}: {problem}. {way_out}")]
    Export {
        /// The file.
        path: String,
        /// What went wrong.
        problem: String,
        /// What to do.
        way_out: String,
    },
}

/// Reads a report of any format that coldspot knows.
///
/// # Errors
/// When the file is no such report, or is damaged: a report is read whole or not at all.
pub fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Timeline, ReadError> {
    match sniff::sniff(path)? {
        sniff::Format::NsysSqlite => nsys::read(path, options, progress),
        sniff::Format::NsysRep => nsys::rep::read(path, options, progress),
    }
}

/// Steps through every event table and takes every column that `read` takes, on one thread, keeping nothing: what SQLite
/// itself costs, which the benchmark compares a review with. Returns the number of cells.
///
/// # Errors
/// When the file is no Nsight Systems export, or is damaged.
#[doc(hidden)]
pub fn scan_floor(path: &Path) -> Result<u64, ReadError> {
    nsys::scan_floor(path)
        .map_err(|error| ReadError::Damaged { path: path.display().to_string(), detail: error.to_string() })
}
