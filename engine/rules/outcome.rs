//! What a rule says of one entity.

use crate::facts::EntityId;
use crate::replay::Change;
use crate::text::spans::Sentence;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The report hints at it.
    Low,
    /// Something is assumed.
    Medium,
    /// The report shows it.
    High,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; folded away in the report.
    Info,
    /// At least 1 % of the window.
    Low,
    /// At least 5 % of the window.
    Medium,
    /// At least 20 % of the window, or a capture that cannot be trusted.
    High,
}

/// The most that a change can gain: a claim on an account of the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Nanoseconds that may be recovered; never negative, never more than the account holds.
    pub recoverable_ns: i64,
    /// Nanoseconds of other accounts that go with it where it comes again; with it never more than the window.
    pub beside_ns: i64,
    /// The account, by the id of its [`crate::ledger::Account`].
    pub account: String,
    /// Why it is a bound.
    pub basis: String,
    /// What the replay of the steady state says in its place; absent where that was not played again.
    pub replayed: Option<Replayed>,
    /// Whether the rule tells that it comes again with the work, in however few pieces its account comes.
    pub comes_again: bool,
}

impl Estimate {
    /// All that goes where it comes again.
    pub const fn with_beside_ns(&self) -> i64 {
        self.recoverable_ns.saturating_add(self.beside_ns)
    }
}

/// What a change gains of a step, by replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// The change.
    pub change: Change,
    /// A step, nanoseconds.
    pub step_ns: i64,
    /// What a plain fix brings, nanoseconds a step.
    pub expected_ns: i64,
    /// The most that it could bring, nanoseconds a step.
    pub ceiling_ns: i64,
}

/// A rule that holds for an entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The heading of the finding; absent where that of the rule says as much.
    pub title: Option<Sentence>,
    /// One line: what it is.
    pub summary: Sentence,
    /// One sentence for each condition that held.
    pub evidence: Vec<Sentence>,
    /// What it may gain; absent for rules about the capture, or about nothing that time can be claimed for.
    pub estimate: Option<Estimate>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why confidence is lower than the rule's own.
    pub because: Vec<String>,
    /// How grave it is by the conditions that the rule puts on that; absent where none holds.
    pub severity: Option<Severity>,
    /// What to do, for the framework that the report shows.
    pub advice: Sentence,
    /// How to check that it helped.
    pub verify: Sentence,
    /// Where to look in the profiler: times and names.
    pub look: Option<Sentence>,
}

/// The outcome of one rule for one entity.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// `where` and every `when` hold.
    Finding(Box<Match>),
    /// `where` holds, some `when` does not.
    Pass,
    /// `where` does not hold.
    NotApplicable,
    /// Facts that the rule needs are absent: their full names, such as `device.sm_count`.
    Unknown {
        /// The absent facts.
        missing: Vec<String>,
    },
    /// The rule itself went wrong: a condition that is no boolean, an estimate that is not finite.
    Failed {
        /// What went wrong.
        message: String,
    },
}

/// One rule, one entity, one outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The rule's place in its library.
    pub rule: usize,
    /// What the rule was asked about.
    pub entity: EntityId,
    /// The answer.
    pub outcome: Outcome,
    /// Of how many entities that is the answer, this one the first: one of a finding, and all of any other that is the same.
    pub entity_count: usize,
}

impl Confidence {
    /// Every confidence, the least first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// The word in rules and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl Severity {
    /// Every severity, the least first.
    pub const ALL: [Self; 4] = [Self::Info, Self::Low, Self::Medium, Self::High];

    /// The word in rules and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl Outcome {
    /// The word that tests in rule files expect; `failed` cannot be expected.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Finding(_) => "finding",
            Self::Pass => "pass",
            Self::NotApplicable => "not_applicable",
            Self::Unknown { .. } => "unknown",
            Self::Failed { .. } => "failed",
        }
    }
}
