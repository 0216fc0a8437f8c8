//! Gates: what must hold for a report or a change to pass, and whether it does.
//!
//! [`Conditions`] are what is asked for: a severity that no finding may have, and [`Budgets`] of numbers. `review` holds
//! one report against them, `comparison` two sides; `standing` says in words how each stands.

mod budget;
mod comparison;
#[cfg(test)]
mod comparison_tests;
mod fail_on;
mod limit;
mod named;
mod review;
mod standing;

use crate::compare::{Comparison, Run, Sides, kept};
use crate::facts::Facts;
use crate::findings::Review;
use crate::rules::outcome::Severity;

pub use budget::{Budget, BudgetError, Budgets};
pub use fail_on::{FailOn, Slower};

/// From which severity on findings are too grave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// This one.
    At(Severity),
    /// Whatever is found passes.
    Never,
}

impl Threshold {
    /// The words that users choose one by.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("high", Self::At(Severity::High)),
        ("medium", Self::At(Severity::Medium)),
        ("low", Self::At(Severity::Low)),
        ("never", Self::Never),
    ];

    /// The least severity that fails; absent where none does.
    pub fn least(self) -> Option<Severity> {
        match self {
            Self::At(least) => Some(least),
            Self::Never => None,
        }
    }
}

/// What is asked of a report, or of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Findings that are too grave, in a comparison new or worse ones; and whether a slower head fails.
    pub fail_on: FailOn,
    /// How far numbers may go.
    pub budgets: Budgets,
    /// Whether gates pass that cannot be evaluated or decided.
    pub allow_unknown: bool,
    /// Whether limits against a base are evaluated although the sides did other work.
    pub on_other_work: bool,
}

/// Every gate of a report or a comparison, evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Gates {
    /// The least severity of findings that fail; absent where none does.
    pub fail_on: Option<Severity>,
    /// Whether gates pass that could not be evaluated.
    pub allows_unknown: bool,
    /// The gates, the one on findings first.
    pub gates: Vec<Gate>,
    /// Budgets that only a comparison can evaluate; none in a comparison.
    pub needing_base: Vec<BaseGate>,
    /// Why the report that was reviewed does not hold the whole program's work; absent where nothing says so, and in a comparison,
    /// which tells it of its sides.
    pub not_whole: Option<&'static str>,
}

impl Gates {
    /// No gates at all.
    pub fn none() -> Self {
        Self { fail_on: None, allows_unknown: false, gates: Vec::new(), needing_base: Vec::new(), not_whole: None }
    }

    /// Holds a review of these facts against conditions.
    pub fn of_review(review: &Review, facts: &Facts, conditions: &Conditions) -> Self {
        let (gates, needing_base) = review::gates(review, facts, conditions);
        let Conditions { fail_on, allow_unknown, .. } = conditions;
        Self {
            fail_on: fail_on.findings.least(),
            allows_unknown: *allow_unknown,
            gates,
            needing_base,
            not_whole: facts.why_not_whole(),
        }
    }

    /// Holds a comparison of these runs against conditions.
    pub fn of_comparison(comparison: &Comparison, runs: Sides<&[Run]>, conditions: &Conditions) -> Self {
        let kept = Sides::of(|side| kept(&comparison.odd, side, runs.get(side)));
        let gates = comparison::gates(comparison, Sides { base: &kept.base, head: &kept.head }, conditions);
        let Conditions { fail_on, allow_unknown, .. } = conditions;
        Self {
            fail_on: fail_on.findings.least(),
            allows_unknown: *allow_unknown,
            gates,
            needing_base: Vec::new(),
            not_whole: None,
        }
    }

    /// Whether a gate was evaluated and does not hold, or does not hold as measured where that cannot be decided.
    pub fn has_failed(&self) -> bool {
        self.gates.iter().any(|gate| self.fails(gate))
    }

    /// The same of one gate.
    pub fn fails(&self, gate: &Gate) -> bool {
        match gate.outcome {
            GateOutcome::Failed => true,
            GateOutcome::Undecided { is_over } => is_over && !self.allows_unknown,
            GateOutcome::Passed | GateOutcome::Unknown => false,
        }
    }

    /// Whether the gates end the run with exit code 1.
    pub fn ends_run(&self) -> bool {
        self.gates.iter().any(|gate| self.ends_run_by(gate))
    }

    /// The same of one gate.
    pub fn ends_run_by(&self, gate: &Gate) -> bool {
        self.fails(gate) || (gate.outcome == GateOutcome::Unknown && !self.allows_unknown)
    }

    /// Whether a gate could not be evaluated, and has to be.
    pub fn lacks_answer(&self) -> bool {
        !self.allows_unknown && self.gates.iter().any(|gate| gate.outcome == GateOutcome::Unknown)
    }
}

/// How a gate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateOutcome {
    /// It holds.
    Passed,
    /// It does not.
    Failed,
    /// The runs cannot tell.
    Undecided {
        /// Whether it does not hold as measured.
        is_over: bool,
    },
    /// It could not be evaluated.
    Unknown,
}

impl GateOutcome {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided { .. } => "undecided",
            Self::Unknown => "unknown",
        }
    }
}

/// One gate, evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// `verdict`, `fail-on`, or the name of the budget.
    pub name: String,
    /// What must hold, as the user wrote it.
    pub limit: String,
    /// How it stands.
    pub outcome: GateOutcome,
    /// The numbers, or why there are none.
    pub says: String,
}

/// A gate that a report alone cannot be held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseGate {
    /// The name of the budget.
    pub name: String,
    /// What must hold, as the user wrote it.
    pub limit: String,
}
