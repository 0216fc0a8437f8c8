//! Why there is no result.

use std::path::PathBuf;

use crate::compare::PairError;
use crate::facts::file::FactsFileError;
use crate::limits::{MAX_COMPARED_BYTES_ANYWAY, MAX_COMPARED_BYTES_PER_BYTE};
use crate::render::TemplateError;
use crate::rules::Faults;
use crate::source::ReadError;
use crate::text::escape;

/// Why an analysis gives nothing. Each message says what is wrong, and the way out; the kinds are those that a caller
/// tells apart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The project's coldspot.toml is wrong.
    #[error(transparent)]
    Configuration(Faults),
    /// Rules are wrong.
    #[error(transparent)]
    Rules(Faults),
    /// Templates cannot be used.
    #[error(transparent)]
    Templates(#[from] TemplateError),
    /// A recording cannot be read.
    #[error("{}", escape::plain(&.0.to_string()))]
    Recording(#[from] ReadError),
    /// A facts file cannot be read.
    #[error(transparent)]
    FactsFile(#[from] FactsFileError),
    /// The part that was asked for is not in the recording.
    #[error("{}: {}", .path.display(), escape::plain(.problem))]
    Scope {
        /// The recording.
        path: PathBuf,
        /// What it has instead. Ranges are named in it.
        problem: String,
    },
    /// A part of a facts file was asked for.
    #[error(
        "{}: is a facts file, whose window is fixed; give --window and --range when writing it with `coldspot facts`",
        .path.display()
    )]
    FixedWindow {
        /// The facts file.
        path: PathBuf,
    },
    /// A part of a table of kernels was asked for.
    #[error("{}: is a table of kernels, in which nothing has a time: it has no window and no steps", .path.display())]
    NoWindow {
        /// The table.
        path: PathBuf,
    },
    /// What --ncu names is no table of kernels.
    #[error(
        "{}: is no page of Nsight Compute; print one with: ncu --import FILE.ncu-rep --csv --page raw > kernels.csv",
        .path.display()
    )]
    NoProfile {
        /// The file.
        path: PathBuf,
    },
    /// A GPU was asked for that did no work.
    #[error("--device {number}: the report holds {known}")]
    Device {
        /// Its number.
        number: i64,
        /// Those that did.
        known: String,
    },
    /// The runs of a comparison take more memory together than files of their size can need.
    #[error(
        "{}: with the runs before it, more is to be held than {} MiB and {MAX_COMPARED_BYTES_PER_BYTE} times the files: compare fewer runs",
        .path.display(),
        MAX_COMPARED_BYTES_ANYWAY >> 20
    )]
    TooMuchCompared {
        /// The run that is one too many.
        path: PathBuf,
    },
    /// The two sides cannot be held against each other at all.
    #[error(transparent)]
    Pair(#[from] PairError),
}
