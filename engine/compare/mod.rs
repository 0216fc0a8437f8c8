//! Two sides held against each other: what work they did, which is faster, why, and which findings came and went.

mod alone;
mod budget;
mod calls;
mod cause;
mod finding;
#[cfg(test)]
mod finding_tests;
mod gate;
mod grids;
mod judge;
mod ledger;
mod limit;
mod measure;
mod side;
mod verdict;
mod words;
mod work;

use serde::Serialize;

use crate::facts::EntityKind;
use crate::text::spans::Sentence;

pub use crate::findings::{Gate, GateOutcome};
pub use alone::review_gates;
pub use budget::{Budget, BudgetError, Budgets};
pub use calls::CallChange;
pub use finding::{FindingChange, State, StateCounts};
pub use gate::gates;
pub use ledger::{AccountChange, DeviceChange};
pub use measure::{Change, Measure, Noise, Trend};
pub use side::Run;
pub use verdict::Outcome;
pub use work::{Basis, Work};

use side::{Side, int};

/// Two sides, compared: a plain value that renderers print. `docs/json.md` describes it as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Names of the base's runs.
    pub base: Vec<String>,
    /// Names of the head's runs.
    pub head: Vec<String>,
    /// Which side is faster, if that can be said.
    pub outcome: Outcome,
    /// The same as one sentence, with why.
    pub verdict: Sentence,
    /// What the two sides did.
    pub work: Work,
    /// What counts as a change.
    pub noise: Noise,
    /// The time that the verdict is about; absent when a side recorded no GPU work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// What explains most of the change, the likeliest first.
    pub causes: Vec<Sentence>,
    /// Where the time of each device went.
    pub devices: Vec<DeviceChange>,
    /// How many findings came to each state; notes, of severity info, do not count.
    pub counts: StateCounts,
    /// The findings of both sides.
    pub findings: Vec<FindingChange>,
    /// Every gate and how it stands; empty until [`gates`] are evaluated.
    pub gates: Vec<Gate>,
    /// Of the head's time in kernels that both sides run, the part whose calls take as long as before; absent without such
    /// kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_call_share: Option<f64>,
    /// The part of the head's time in kernels that both sides run; absent without such kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_kernel_share: Option<f64>,
    /// Kernels that changed.
    pub kernels: Vec<CallChange>,
    /// Annotations that changed, in host time.
    pub ranges: Vec<CallChange>,
}

/// The time that a verdict is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Time {
    /// Of what.
    pub of: TimeOf,
    /// How long, on the slowest device.
    pub change: Change,
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeOf {
    /// The median step.
    Step,
    /// The window: from the first to the last GPU operation.
    Window,
    /// The window per unit of work.
    Unit,
}

/// Two sides that it makes no sense to compare at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairError {
    /// A side without runs.
    #[error("a comparison needs at least one report on each side")]
    Empty,
    /// Reports of different profilers measure different things.
    #[error("the base is of format {base}, the head of format {head}: compare reports of the same profiler")]
    Formats {
        /// The format of the base.
        base: String,
        /// The format of the head.
        head: String,
    },
    /// Another number of GPUs.
    #[error("the base holds work of {base} GPUs, the head of {head}: choose one that both have with --device N")]
    Devices {
        /// GPUs that ran work in the base.
        base: usize,
        /// GPUs that ran work in the head.
        head: usize,
    },
    /// Runs of one side on different numbers of GPUs.
    #[error("the runs of the {side} hold work of different numbers of GPUs: they are not runs of one program")]
    Runs {
        /// The side.
        side: &'static str,
    },
}

/// Compares the runs of two sides, each at least one.
///
/// # Errors
/// When there is nothing to hold against each other: reports of different profilers, or other numbers of GPUs. A side
/// without GPU work is no error but a verdict.
pub fn compare(base: &[Run], head: &[Run]) -> Result<Comparison, PairError> {
    let (base, head) = (Side { runs: base }, Side { runs: head });
    check(base, head)?;
    let noise = Noise::new(base.runs.len(), head.runs.len());
    let work = work::work(base, head);
    let devices = ledger::devices(base, head, &work, &noise);
    let findings = finding::findings(base, head, &work, &devices, &noise);
    let kernels = calls::calls(EntityKind::Kernel, base, head, &work, &noise);
    let ranges = calls::calls(EntityKind::Range, base, head, &work, &noise);
    let time = time(base, head, &work, &devices, &noise);
    let outcome = Outcome::of(&work, time.as_ref());
    let same_calls = calls::same_calls(base, head, &noise);
    let mut comparison = Comparison {
        base: finding::names(base.runs),
        head: finding::names(head.runs),
        outcome,
        verdict: Sentence::default(),
        causes: Vec::new(),
        counts: StateCounts::of(&findings),
        work,
        noise,
        time,
        devices,
        findings,
        gates: Vec::new(),
        same_call_share: same_calls.map(|calls| calls.same),
        shared_kernel_share: same_calls.map(|calls| calls.shared),
        kernels,
        ranges,
    };
    comparison.causes = cause::causes(&comparison);
    comparison.verdict = verdict::verdict(&comparison);
    Ok(comparison)
}

fn check(base: Side<'_>, head: Side<'_>) -> Result<(), PairError> {
    let (Some(first), Some(last)) = (base.first(), head.first()) else { return Err(PairError::Empty) };
    for (name, side) in [("base", base), ("head", head)] {
        let counts: Vec<usize> = side.runs.iter().map(|run| run.devices().len()).collect();
        if counts.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(PairError::Runs { side: name });
        }
    }
    let format = |run: &Run| run.entity().and_then(|run| run.text("format")).map(str::to_owned);
    if let (Some(base), Some(head)) = (format(first), format(last))
        && base != head
    {
        return Err(PairError::Formats { base, head });
    }
    match (first.devices().len(), last.devices().len()) {
        (base, head) if base != head && base > 0 && head > 0 => Err(PairError::Devices { base, head }),
        _ => Ok(()),
    }
}

/// Steps where both sides have them, else windows; of the slowest device, since the others wait for it.
fn time(base: Side<'_>, head: Side<'_>, work: &Work, devices: &[DeviceChange], noise: &Noise) -> Option<Time> {
    let step = |side: Side<'_>| {
        side.measure(|run| run.devices().iter().map(|(_, device)| int(device, "step_median_ns")).max())
    };
    if work.step_count.is_some()
        && let (Some(base), Some(head)) = (step(base), step(head))
    {
        return Some(Time { of: TimeOf::Step, change: Change::new(base, head, noise) });
    }
    let slowest = |of: fn(&DeviceChange) -> Measure| devices.iter().map(of).max_by_key(|window| window.median);
    let change = Change::new(slowest(|device| device.window.base)?, slowest(|device| device.window.head)?, noise);
    let of = if matches!(work.basis, Basis::Unit { .. }) { TimeOf::Unit } else { TimeOf::Window };
    Some(Time { of, change })
}
