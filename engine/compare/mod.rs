//! Two sides held against each other: what work they did, which is faster, why, and which findings came and went.

mod calls;
mod cause;
mod finding;
#[cfg(test)]
mod finding_tests;
mod ledger;
mod measure;
mod runs;
mod sides;
mod verdict;
mod words;
mod work;

use crate::facts::EntityKind;
use crate::text::spans::Sentence;

pub use calls::CallChange;
pub use finding::{FindingChange, State, StateCounts};
pub use ledger::{AccountChange, DeviceChange};
pub use measure::{Change, Measure, Noise, Trend};
pub use runs::Run;
pub(crate) use runs::devices_with_work;
pub use sides::{Side, Sides};
pub use verdict::Outcome;
pub use work::{Basis, Work};

use calls::SameCalls;
use runs::{Runs, int};

/// Two sides, compared: a plain value that renderers print.
#[derive(Debug, Clone, PartialEq)]
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
    pub time: Option<Time>,
    /// What explains most of the change, the likeliest first.
    pub causes: Vec<Sentence>,
    /// Where the time of each device went.
    pub devices: Vec<DeviceChange>,
    /// How many findings came to each state; notes, of severity info, do not count.
    pub counts: StateCounts,
    /// The findings of both sides.
    pub findings: Vec<FindingChange>,
    /// Of the head's time in kernels that both sides run, the part whose calls take as long as before; absent without such
    /// kernels.
    pub same_call_share: Option<f64>,
    /// The part of the head's time in kernels that both sides run; absent without such kernels.
    pub shared_kernel_share: Option<f64>,
    /// Kernels that changed.
    pub kernels: Vec<CallChange>,
    /// Ranges that changed, in host time.
    pub ranges: Vec<CallChange>,
}

/// The time that a verdict is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Time {
    /// Of what.
    pub of: TimeOf,
    /// How long, on the slowest device.
    pub change: Change,
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// What is measured of both sides, before it is put into words.
struct Measured {
    outcome: Outcome,
    work: Work,
    noise: Noise,
    time: Option<Time>,
    devices: Vec<DeviceChange>,
    findings: Vec<FindingChange>,
    kernels: Vec<CallChange>,
    ranges: Vec<CallChange>,
    same_calls: Option<SameCalls>,
}

impl Measured {
    fn new(sides: Sides<Runs<'_>>) -> Self {
        let noise = Noise::new(sides.base.runs.len(), sides.head.runs.len());
        let work = work::work(sides);
        let devices = ledger::devices(sides, &work, &noise);
        let time = time(sides, &work, &devices, &noise);
        Self {
            outcome: Outcome::of(&work, time.as_ref()),
            findings: finding::findings(sides, &work, &devices, &noise),
            kernels: calls::calls(EntityKind::Kernel, sides, &work, &noise),
            ranges: calls::calls(EntityKind::Range, sides, &work, &noise),
            same_calls: calls::same_calls(sides, &noise),
            work,
            noise,
            time,
            devices,
        }
    }
}

/// Compares the runs of two sides, each at least one.
///
/// # Errors
/// When there is nothing to hold against each other: reports of different profilers, or other numbers of GPUs. A side
/// without GPU work is no error but a verdict.
pub fn compare(base: &[Run], head: &[Run]) -> Result<Comparison, PairError> {
    let sides = Sides { base: Runs { runs: base }, head: Runs { runs: head } };
    check(sides)?;
    let measured = Measured::new(sides);
    let causes = cause::causes(&measured);
    let names = sides.map(|side| side.runs.iter().map(|run| run.name.clone()).collect());
    Ok(Comparison {
        base: names.base,
        head: names.head,
        verdict: verdict::verdict(&measured, &causes),
        causes,
        counts: StateCounts::of(&measured.findings),
        outcome: measured.outcome,
        work: measured.work,
        noise: measured.noise,
        time: measured.time,
        devices: measured.devices,
        findings: measured.findings,
        same_call_share: measured.same_calls.map(|calls| calls.same),
        shared_kernel_share: measured.same_calls.map(|calls| calls.shared),
        kernels: measured.kernels,
        ranges: measured.ranges,
    })
}

fn check(sides: Sides<Runs<'_>>) -> Result<(), PairError> {
    let Some(first) = sides.map(Runs::first).both() else { return Err(PairError::Empty) };
    for side in [Side::Base, Side::Head] {
        let counts: Vec<usize> = sides.get(side).runs.iter().map(|run| run.devices().len()).collect();
        if counts.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(PairError::Runs { side: side.name() });
        }
    }
    let formats = first.map(|run| run.entity().and_then(|run| run.text("format")).map(str::to_owned));
    if let Some(Sides { base, head }) = formats.both().filter(|formats| formats.base != formats.head) {
        return Err(PairError::Formats { base, head });
    }
    let Sides { base, head } = first.map(|run| run.devices().len());
    match base != head && base > 0 && head > 0 {
        true => Err(PairError::Devices { base, head }),
        false => Ok(()),
    }
}

/// Steps where both sides have them, else windows; of the slowest device, since the others wait for it.
fn time(sides: Sides<Runs<'_>>, work: &Work, devices: &[DeviceChange], noise: &Noise) -> Option<Time> {
    let step = |run: &Run| run.devices().iter().map(|(_, device)| int(device, "step_median_ns")).max();
    if work.step_count.is_some()
        && let Some(steps) = sides.map(|side| side.measure(step)).both()
    {
        return Some(Time { of: TimeOf::Step, change: Change::of(steps, noise) });
    }
    let slowest = |side: Side| {
        let windows = devices.iter().map(|device| *device.window.sides().get(side));
        windows.max_by_key(|window| window.median)
    };
    let windows = Sides::of(slowest).both()?;
    let of = if matches!(work.basis, Basis::Unit { .. }) { TimeOf::Unit } else { TimeOf::Window };
    Some(Time { of, change: Change::of(windows, noise) })
}
