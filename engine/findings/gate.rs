//! Gates as reports show them: what must hold, and whether it does.

use serde::Serialize;

/// How a gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// It holds.
    Passed,
    /// It does not.
    Failed,
    /// It could not be evaluated.
    Unknown,
}

impl GateOutcome {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// One gate, evaluated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// `fail-on`, or the name of the budget.
    pub name: String,
    /// What must hold, as the user wrote it.
    pub limit: String,
    /// How it stands.
    pub outcome: GateOutcome,
    /// The numbers, or why there are none.
    pub says: String,
}

/// A gate that a report alone cannot be held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BaseGate {
    /// The name of the budget.
    pub name: String,
    /// What must hold, as the user wrote it.
    pub limit: String,
}
