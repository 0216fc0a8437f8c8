//! Why a file cannot be read.

/// Why a file cannot be read. Each message says which file, what was expected, and, in the words of the reader, what to do.
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
    #[error("{path}: {found}. {hint}")]
    NotAReport {
        /// The file.
        path: String,
        /// What it is instead.
        found: String,
        /// What to do.
        hint: String,
    },
    /// A report that cannot be read to its end.
    #[error(
        "{path}: is damaged ({detail}). Nothing of it is reported, since what is missing could be what matters. {hint}"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What shows it.
        detail: String,
        /// What to do.
        hint: String,
    },
    /// A report that takes too long to read.
    #[error(
        "{path}: is given up: reading it takes more processor time than any export of its size does. It is damaged or made to \
         be slow, unless this machine is many times slower than others. {hint}"
    )]
    GivenUp {
        /// The file.
        path: String,
        /// What to do.
        hint: String,
    },
    /// The profiler's own exporter is needed and did not do it.
    #[error("{path}: {problem}. {hint}")]
    Export {
        /// The file.
        path: String,
        /// What went wrong.
        problem: String,
        /// What to do.
        hint: String,
    },
}
