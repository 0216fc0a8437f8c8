//! Two sides held against each other: what work they did, which is faster, why, and which findings came and went.

mod alike;
#[cfg(test)]
mod alike_tests;
mod calls;
mod cause;
mod counts;
mod drawn;
mod finding;
#[cfg(test)]
mod finding_tests;
mod incomplete;
mod interval;
mod lacking;
mod launches;
mod ledger;
mod measure;
#[cfg(test)]
mod noise_tests;
mod odd;
mod rounds;
#[cfg(test)]
mod rounds_tests;
mod runs;
#[cfg(test)]
pub(crate) mod samples;
mod sides;
mod state;
mod verdict;
mod words;
mod work;
#[cfg(test)]
mod work_tests;

use crate::facts::EntityKind;
use crate::text::spans::Sentence;

pub(crate) use alike::measured_part;
pub use calls::CallChange;
pub use counts::StateCounts;
pub use finding::FindingChange;
pub use interval::Interval;
pub(crate) use interval::Spread;
pub use lacking::Lacking;
pub use launches::Replaced;
pub use ledger::{AccountChange, DeviceChange};
pub(crate) use measure::median;
pub use measure::{Change, Measure, Noise, Trend};
pub use odd::OddRun;
pub use runs::Run;
pub(crate) use runs::devices_with_work;
pub use sides::{Side, Sides};
pub use state::State;
pub use verdict::Outcome;
pub(crate) use words::signed;
pub use work::{Basis, Work};

use calls::{Calls, SameCalls};
use measure::Values;
pub use rounds::Behind;
pub(crate) use rounds::Rounds;
use runs::Runs;

/// What a project or a caller decides about comparisons.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Terms {
    /// A smaller change, as a share of the base, is noise; absent for what the number of runs asks for.
    pub noise_share: Option<f64>,
    /// Whether both sides did the same work, whatever they launch.
    pub same_work: bool,
}

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
    /// What each side was recorded without, and the other with.
    pub lacking: Sides<Lacking>,
    /// What counts as a change.
    pub noise: Noise,
    /// Runs that are left out, because they went another way than the others of their side.
    pub odd: Vec<OddRun>,
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
    /// How long, on the slowest device; of a step on average, without warm-up.
    pub change: Change,
    /// The median step; absent where the time is not a step's.
    pub median: Option<Change>,
    /// Steps of the first run that take much longer than the median, where the sides have other numbers of them.
    pub slow: Option<Sides<SlowSteps>>,
    /// The steps of the first run before those that are timed, where one side loses more in them than the other.
    pub warm_up: Option<Sides<WarmUp>>,
    /// The steps behind those that are timed, where they are too many or too slow to leave the change what it is.
    pub behind: Option<WithBehind>,
    /// How long the windows go on behind the last step that counts, where that is longer in the head by more than noise of all.
    pub tail_ns: Option<Sides<i64>>,
    /// How long GPUs compute before the steps that count, where that is longer in the head by a part of those steps: steps that nothing
    /// marks may lie there.
    pub lead_ns: Option<Sides<i64>>,
}

/// What steps behind the steady state make of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithBehind {
    /// Those of the first run.
    pub steps: Sides<Behind>,
    /// How long a step takes on average with them.
    pub change: Change,
}

/// Steps before the steady state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WarmUp {
    /// How many.
    pub count: i64,
    /// How long they take together.
    pub ns: i64,
    /// Of how many steps in all.
    pub of: i64,
}

/// Steps that take much longer than the median.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowSteps {
    /// How many.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// What they take beyond the median, on average.
    pub beyond_ns: i64,
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeOf {
    /// A step, without warm-up.
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
    lacking: Sides<Lacking>,
    noise: Noise,
    time: Option<Time>,
    devices: Vec<DeviceChange>,
    findings: Vec<FindingChange>,
    kernels: Vec<CallChange>,
    ranges: Vec<CallChange>,
    same_calls: Option<SameCalls>,
    /// By how much all kernels changed alike, if they did.
    common_factor: Option<f64>,
    odd: Vec<OddRun>,
}

impl Comparison {
    /// The window of the slowest device of each side; absent when a side recorded no GPU work.
    pub(crate) fn slowest_window(&self) -> Option<Change> {
        ledger::slowest(&self.devices, &self.noise)
    }
}

impl Measured {
    fn new(sides: Sides<Runs<'_>>, odd: Vec<OddRun>, terms: Terms) -> Self {
        let noise = Noise::new(sides.base.runs.len(), sides.head.runs.len(), terms.noise_share);
        let lacking = lacking::lacking(sides);
        let work = work::work(sides, terms, &lacking);
        let devices = ledger::devices(sides, &work, &noise, lacking.splits_idle_alike());
        let time = time(sides, &work, &devices, &noise);
        let kernels = Calls::new(EntityKind::Kernel, sides, &work, &noise);
        Self {
            outcome: Outcome::of(&work, time.as_ref()),
            findings: finding::findings(sides, &work, &devices, (&noise, &lacking)),
            same_calls: kernels.same(),
            common_factor: kernels.common_factor(),
            kernels: kernels.changed(),
            ranges: Calls::new(EntityKind::Range, sides, &work, &noise).changed(),
            odd,
            work,
            lacking,
            noise,
            time,
            devices,
        }
    }
}

/// Compares the runs of two sides, each at least one.
///
/// # Errors
/// When there is nothing to hold against each other: reports of different profilers, or runs of one side on other numbers of
/// GPUs. A side without GPU work is no error but a verdict, and so are sides of other numbers of GPUs.
pub fn compare(base: &[Run], head: &[Run], terms: Terms) -> Result<Comparison, PairError> {
    let all = Sides { base, head };
    let odd = odd::find(all);
    let kept = Sides::of(|side| kept(&odd, side, all.get(side)));
    let sides = Sides { base: Runs { runs: &kept.base }, head: Runs { runs: &kept.head } };
    check(sides)?;
    let measured = Measured::new(sides, odd, terms);
    // Of recordings of which a part is missing, what changed is what is missing.
    let is_incomplete = kept.base.iter().chain(&kept.head).any(|run| run.facts.not_whole().is_some());
    let causes = if is_incomplete { cause::Causes::default() } else { cause::causes(&measured) };
    let names = all.map(|runs| runs.iter().map(|run| run.name.clone()).collect());
    Ok(Comparison {
        base: names.base,
        head: names.head,
        verdict: verdict::verdict(&measured, causes.list.first(), causes.against.as_ref()),
        causes: causes.list,
        counts: StateCounts::of(&measured.findings),
        outcome: measured.outcome,
        work: measured.work,
        lacking: measured.lacking,
        noise: measured.noise,
        odd: measured.odd,
        time: measured.time,
        devices: measured.devices,
        findings: measured.findings,
        same_call_share: measured.same_calls.map(|calls| calls.same),
        shared_kernel_share: measured.same_calls.map(|calls| calls.shared),
        kernels: measured.kernels,
        ranges: measured.ranges,
    })
}

/// The runs of a side that are compared: all but the odd ones.
pub(crate) fn kept<'a>(odd: &[OddRun], side: Side, runs: &'a [Run]) -> Vec<&'a Run> {
    let is_odd = |index: usize| odd.iter().any(|odd| odd.side == side && odd.index == index);
    runs.iter().enumerate().filter(|(index, _)| !is_odd(*index)).map(|(_, run)| run).collect()
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
    match formats.both().filter(|formats| formats.base != formats.head) {
        Some(Sides { base, head }) => Err(PairError::Formats { base, head }),
        None => Ok(()),
    }
}

/// Steps where both sides have them, else windows; of the slowest device, since the others wait for it.
fn time(sides: Sides<Runs<'_>>, work: &Work, devices: &[DeviceChange], noise: &Noise) -> Option<Time> {
    if work.step_count.is_some()
        && let Some(time) = step_time(sides, noise)
    {
        return Some(time);
    }
    let change = ledger::slowest(devices, noise)?;
    let of = if matches!(work.basis, Basis::Unit { .. }) { TimeOf::Unit } else { TimeOf::Window };
    Some(Time { of, change, median: None, slow: None, warm_up: None, behind: None, tail_ns: None, lead_ns: None })
}

fn step_time(sides: Sides<Runs<'_>>, noise: &Noise) -> Option<Time> {
    let each = |side: Runs<'_>| side.runs.iter().map(|run| Rounds::of(&run.facts)).collect::<Option<Vec<Rounds>>>();
    let rounds = sides.map(each).both()?;
    let of = |of: fn(&Rounds) -> i64| {
        let values = rounds.each_ref().map(|rounds| Values::of(rounds.iter().map(of))).both()?;
        Some(Change::of(&values, noise))
    };
    let mut change = of(|rounds| rounds.mean_ns)?;
    let median = of(|rounds| rounds.median_ns)?;
    let first = rounds.each_ref().map(|rounds| rounds.first()).both()?;
    if noise.fewer_runs() < 2 && is_within_steps(first, &change) {
        change.is_change = false;
    }
    // The shorter median: steps that are slow on one side are told by it on both.
    let usual_ns = median.base.median.min(median.head.median).max(1);
    let slow = first.map(|rounds| {
        let (count, beyond_ns) = rounds.slow(usual_ns);
        SlowSteps { count, of: rounds.durations_ns.len(), beyond_ns }
    });
    let slow = (slow.base.count != slow.head.count).then_some(slow);
    let warm_up = sides.map(|side| side.first().map(|run| rounds::warm_up(&run.facts))).both()?;
    // What they take beyond as many steps of the steady state; less than the noise of all steps is none.
    let lost_ns = |of: WarmUp, change: Measure| of.ns.saturating_sub(of.count.saturating_mul(change.median));
    let lost = Sides { base: lost_ns(warm_up.base, change.base), head: lost_ns(warm_up.head, change.head) };
    let all_ns = change.base.median.saturating_mul(first.base.count).saturating_add(warm_up.base.ns);
    let is_more = lost.base.abs_diff(lost.head) as f64 > noise.floor_share * all_ns as f64;
    let with_behind = of(|rounds| rounds.behind.mean_with_ns)?;
    let behind = WithBehind { steps: first.map(|rounds| rounds.behind), change: with_behind };
    let behind = Some(behind).filter(|_| differs(&with_behind, &change, noise));
    let warm_up = is_more.then_some(warm_up);
    let tail_ns = tail_ns(sides, noise);
    let lead_ns = lead_ns(sides);
    Some(Time { of: TimeOf::Step, change, median: Some(median), slow, warm_up, behind, tail_ns, lead_ns })
}

/// From this part of the steps that count on, what is computed before them may be steps too.
const LEAD_SHARE: f64 = 0.25;

/// What comes behind the steps that count, where the head takes longer for it by more than the noise of the whole.
fn tail_ns(sides: Sides<Runs<'_>>, noise: &Noise) -> Option<Sides<i64>> {
    let of = |part: fn((i64, i64)) -> i64| sides.map(|side| side.measure(|run| rounds::tail(run).map(part))).both();
    let (tail, whole) = (of(|(tail, _)| tail)?, of(|(_, whole)| whole)?);
    let more_ns = tail.head.median.saturating_sub(tail.base.median);
    let is_more = more_ns as f64 > noise.floor_share * whole.base.median as f64;
    is_more.then_some(Sides { base: tail.base.median, head: tail.head.median })
}

/// What GPUs compute before the steps that count, where that grew by a part of what they compute in these.
fn lead_ns(sides: Sides<Runs<'_>>) -> Option<Sides<i64>> {
    let of = |part: fn((i64, i64)) -> i64| sides.map(|side| side.measure(|run| rounds::lead(run).map(part))).both();
    let (lead, steps) = (of(|(lead, _)| lead)?, of(|(_, steps)| steps)?);
    let more_ns = lead.head.median.saturating_sub(lead.base.median);
    let is_more = more_ns as f64 > LEAD_SHARE * steps.head.median as f64;
    is_more.then_some(Sides { base: lead.base.median, head: lead.head.median })
}

/// Whether a number went another way than another one, or much farther.
fn differs(one: &Change, other: &Change, noise: &Noise) -> bool {
    let share = |change: &Change| change.share.unwrap_or(0.0);
    one.trend() != other.trend() || (share(one) - share(other)).abs() >= noise.floor_share
}

/// Whether steps that differ on both sides as much as these do explain a change of their mean. Those of the steadier side tell:
/// single slow steps of the other are what a change may be.
fn is_within_steps(rounds: Sides<&Rounds>, change: &Change) -> bool {
    let Some(spread) = rounds.map(Rounds::spread).both() else { return false };
    let counts = rounds.map(|rounds| rounds.durations_ns.len());
    let deviation = spread.base.1.min(spread.head.1);
    let error = deviation * (1.0 / counts.base as f64 + 1.0 / counts.head as f64).sqrt();
    (change.difference.unsigned_abs() as f64) < interval::quantile(counts.base + counts.head - 2) * error
}
