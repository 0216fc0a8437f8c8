//! Exit codes, documented once: `--help` prints this table.

use std::process::ExitCode;

use coldspot::analysis::AnalysisError;
use coldspot::compare::PairError;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    Ok = 0,
    Findings = 1,
    Usage = 2,
    Report = 3,
    Rules = 4,
    Comparison = 5,
    Forge = 6,
    Bounds = 7,
}

impl Exit {
    const ALL: [Self; 8] =
        [Self::Ok, Self::Findings, Self::Usage, Self::Report, Self::Rules, Self::Comparison, Self::Forge, Self::Bounds];

    const fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "nothing at or over --fail-on, and every gate holds",
            Self::Findings => "findings at or over --fail-on, or another gate that does not hold",
            Self::Usage => "wrong usage, a wrong coldspot.toml, or the output cannot be written",
            Self::Report => "the report cannot be read",
            Self::Rules => "a rule or a template is wrong",
            Self::Comparison => "the two sides of a comparison cannot be compared",
            Self::Forge => "the forge did not take the comment",
            Self::Bounds => "the run takes more than --max-time or --max-memory, or than its rules may",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The table that `--help` prints.
pub(super) fn table() -> String {
    let rows: Vec<String> = Exit::ALL.iter().map(|exit| format!("  {}  {}\n", *exit as u8, exit.meaning())).collect();
    format!("Exit codes:\n{}", rows.concat())
}

/// Why there is no result.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(exit: Exit, error: impl ToString) -> Self {
        Self { exit, message: error.to_string() }
    }
}

impl From<AnalysisError> for Failure {
    fn from(error: AnalysisError) -> Self {
        let exit = match &error {
            AnalysisError::Rules(_) | AnalysisError::Templates(_) => Exit::Rules,
            AnalysisError::Recording(_) | AnalysisError::FactsFile(_) | AnalysisError::NoProfile { .. } => Exit::Report,
            // A head that somebody else made can choose all that keeps two sides apart, except that there are none.
            AnalysisError::Pair(pair) if *pair != PairError::Empty => Exit::Comparison,
            AnalysisError::TooMuchCompared { .. } => Exit::Comparison,
            _ => Exit::Usage,
        };
        Self::new(exit, error)
    }
}
