//! Set-up, warm-up, steady state and tear-down of a device's window.

use super::launches::Launches;
use super::ranges::{self, Marks};
use super::region;
use super::step::{Certainty, MIN_STEP_COUNT, Step, Steps, WARM_UP_FACTOR, median};
use crate::ledger::DeviceOps;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// More leading steps, of fewer than so many times as many, are no warm-up.
pub(super) const MAX_WARM_UP_STEPS: usize = 3;
const WARM_UP_PART: usize = 10;
/// A pause of the device of more than this part of the steady state parts it from what comes before and after.
const PAUSE_PART: i64 = 4;
/// So do pauses before it that together take so many times that; shorter ones than this part of it do not count.
const PAUSES_RATIO: i64 = 2;
const LEAST_PAUSE_PART: i64 = 1_000;

/// A part of a device's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the first step.
    SetUp,
    /// The leading steps that take over 1.5 times the median, pauses between runs of steps before the steady state, and what still
    /// loads code for the first time.
    WarmUp,
    /// What a longer run would repeat.
    Steady,
    /// After the last step.
    TearDown,
}

impl Phase {
    /// In time order.
    pub const ALL: [Self; 4] = [Self::SetUp, Self::WarmUp, Self::Steady, Self::TearDown];

    /// Its name in facts and options.
    pub const fn id(self) -> &'static str {
        match self {
            Self::SetUp => "set-up",
            Self::WarmUp => "warm-up",
            Self::Steady => "steady",
            Self::TearDown => "tear-down",
        }
    }
}

/// The phases of a device's window. Each may be empty but the steady state; together they are the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases {
    /// Before the first step.
    pub set_up: Interval,
    /// From there to the steady state.
    pub warm_up: Interval,
    /// What a longer run would repeat.
    pub steady: Interval,
    /// After that.
    pub tear_down: Interval,
    /// The indices of the steps of the steady state, from the first to after the last; empty where the program's own
    /// region tells it without steps.
    pub steady_steps: std::ops::Range<usize>,
    /// How sure it is.
    pub certainty: Certainty,
}

impl Phases {
    /// One of them.
    pub const fn of(&self, phase: Phase) -> Interval {
        match phase {
            Phase::SetUp => self.set_up,
            Phase::WarmUp => self.warm_up,
            Phase::Steady => self.steady,
            Phase::TearDown => self.tear_down,
        }
    }

    /// Of a window with these steps. `None` without enough of them.
    pub fn of_steps(window: Interval, steps: &Steps) -> Option<Self> {
        let run = main_run(&steps.steps);
        let usual = median(steps.steps[run.clone()].iter().map(|step| step.device.len_ns()));
        let is_slow = |step: &&Step| step.device.len_ns() as f64 > WARM_UP_FACTOR * usual as f64;
        let warm_up_count = steps.steps[run.clone()].iter().take_while(is_slow).count();
        // Many slow steps that get faster are a trend of the work itself. Those that follow a warm-up are slow for a cause that comes
        // again where later ones are slow as well; else they fill a pipeline.
        let is_trend = warm_up_count > MAX_WARM_UP_STEPS.max(run.len() / WARM_UP_PART);
        let first = steps.steps.get(run.start);
        let is_warm = steps.warm_from.zip(first).is_some_and(|(from, first)| first.host.start >= from)
            && steps.steps[run.clone()].iter().skip(warm_up_count).any(|step| is_slow(&step));
        let warm_up_count = if is_trend || is_warm { 0 } else { warm_up_count };
        let steady_steps = run.start + warm_up_count..run.end;
        if steady_steps.len() < MIN_STEP_COUNT - 1 {
            return None;
        }
        let first = steps.steps.first()?.device.start;
        let steady =
            Interval::new(steps.steps[steady_steps.start].device.start, steps.steps[steady_steps.end - 1].device.end);
        Some(Self::cut(window, first, steady, steady_steps, steps.certainty))
    }

    /// The same with what lies close to the steady state taken into it: rounds that may be parts of one pass do not say that what the
    /// device does right before and after them is no part of it.
    #[must_use]
    pub fn with_neighbours(self, device: &DeviceOps) -> Self {
        let most_ns = self.steady.len_ns() / PAUSE_PART;
        let least_ns = (self.steady.len_ns() / LEAST_PAUSE_PART).max(1);
        let mut busy_until = device.window.start;
        let mut pauses: Vec<(i64, i64)> = Vec::new();
        let mut end = self.steady.end;
        for op in device.in_window().map(|op| op.interval().clip(device.window)) {
            let pause_ns = op.start - busy_until;
            if op.start <= self.steady.start && pause_ns >= least_ns {
                pauses.push((op.start, pause_ns));
            }
            busy_until = busy_until.max(op.end);
            if op.start - end <= most_ns {
                end = end.max(op.end);
            }
        }
        // One long pause parts it, and so do many that together are much longer: the device begins to work there.
        let mut sum_ns = 0_i64;
        let parts = |(_, pause_ns): &&(i64, i64)| {
            sum_ns = sum_ns.saturating_add(*pause_ns);
            *pause_ns > most_ns || sum_ns > PAUSES_RATIO * most_ns
        };
        let begin = pauses.iter().rev().find(parts).map_or(device.window.start, |(begin, _)| *begin);
        let steady = Interval::new(begin.min(self.steady.start), end);
        Self::cut(device.window, steady.start, steady, self.steady_steps, self.certainty)
    }

    /// The same where the steady state begins later: with the first of its steps that does not begin before a moment. `None` with
    /// fewer steps behind it than show a repetition, or where they are less than a part of the steady state.
    #[must_use]
    pub fn begun_by(&self, window: Interval, moment: i64, steps: &[Step], least_share: f64) -> Option<Self> {
        let own = steps.get(self.steady_steps.clone())?;
        let dropped = own.partition_point(|step| step.device.start < moment);
        let begin = own.get(dropped)?.device.start;
        let steady = Interval::new(begin, self.steady.end);
        let is_part = steady.len_ns() as f64 >= least_share * self.steady.len_ns() as f64;
        let steady_steps = self.steady_steps.start + dropped..self.steady_steps.end;
        let is_enough = steady_steps.len() >= MIN_STEP_COUNT && is_part;
        is_enough.then(|| Self::cut(window, self.set_up.end, steady, steady_steps, self.certainty))
    }

    /// The same where other devices tell from when to when the steady state is, and how sure that is. `None` where this one has no step
    /// then.
    #[must_use]
    pub fn moved_to(&self, window: Interval, to: Interval, (steps, certainty): (&[Step], Certainty)) -> Option<Self> {
        let steady = to.clip(window);
        let first = steps.partition_point(|step| step.device.start < steady.start);
        let last = steps.partition_point(|step| step.device.end <= steady.end);
        let first_ns = steps.first().map_or(steady.start, |step| step.device.start);
        // Without steps it is a region that the program marks, which this one need not be.
        let is_region = self.steady_steps.is_empty();
        let certainty = certainty.min(self.certainty);
        (steady.len_ns() > 0 && (is_region || last > first))
            .then(|| Self::cut(window, first_ns, steady, first..last.max(first), certainty))
    }

    /// The steps of the steady state of a window; none without enough of them.
    pub fn steady_of(window: Interval, steps: &Steps) -> &[Step] {
        Self::of_steps(window, steps).map_or(&[], |phases| &steps.steps[phases.steady_steps])
    }

    /// Of a window in which the program marks its own region, and nothing repeats.
    pub fn of_region(timeline: &Timeline, launches: &Launches) -> Option<Self> {
        let [region] = region::regions(timeline, launches.process)[..] else { return None };
        let launched = launches.within(region);
        let is_part = launched.len() < launches.all().len();
        let start = launched.iter().map(|launch| launch.start).min().filter(|_| is_part)?;
        let end = launched.iter().map(super::launches::Launch::end).max()?;
        Some(Self::cut(launches.window, start, Interval::new(start, end), 0..0, Certainty::High))
    }

    /// Of a window in which nothing repeats but a pass that the program warms up for, and measures.
    pub fn of_measured(timeline: &Timeline, marks: &Marks, launches: &Launches) -> Option<Self> {
        let range = ranges::warm_up::measured(timeline, marks, launches)?;
        let launched = launches.within(range);
        let start = launched.iter().map(|launch| launch.start).min()?.min(range.start);
        let end = launched.iter().map(super::launches::Launch::end).max()?;
        // What the device still does for the warm-up is no part of it.
        let earlier =
            launches.within(Interval::new(i64::MIN, range.start)).iter().map(super::launches::Launch::end).max()?;
        let steady = Interval::new(start.max(earlier), end.max(earlier));
        (steady.len_ns() > 0).then(|| Self::cut(launches.window, start, steady, 0..0, Certainty::Low))
    }

    fn cut(
        window: Interval,
        first_ns: i64,
        steady: Interval,
        steady_steps: std::ops::Range<usize>,
        certainty: Certainty,
    ) -> Self {
        let steady = steady.clip(window);
        let first_ns = first_ns.clamp(window.start, steady.start);
        Self {
            set_up: Interval::new(window.start, first_ns),
            warm_up: Interval::new(first_ns, steady.start),
            steady,
            tear_down: Interval::new(steady.end, window.end),
            steady_steps,
            certainty,
        }
    }
}

/// The steps of the steady state, warm-up among them: of runs with pauses between them the longest, the later of two that are
/// as long; all where none has half of the steps.
fn main_run(steps: &[Step]) -> std::ops::Range<usize> {
    let mut runs = Vec::new();
    let mut begin = 0;
    for (index, pair) in steps.windows(2).enumerate() {
        if pair[0].device.end < pair[1].device.start {
            runs.push(begin..index + 1);
            begin = index + 1;
        }
    }
    runs.push(begin..steps.len());
    let longest = runs.into_iter().max_by_key(std::ops::Range::len).unwrap_or(0..steps.len());
    if 2 * longest.len() >= steps.len() { longest } else { 0..steps.len() }
}
