//! Findings that are new, gone, better or worse, by fingerprint.

use std::collections::{BTreeMap, BTreeSet};

use super::drawn::{Drawn, Times, account_trend, times};
use super::lacking::Lacking;
use super::ledger::DeviceChange;
use super::measure::{Change, Noise, Trend, Values, per_unit};
use super::runs::{Run, Runs, name_of};
use super::sides::{Side, Sides};
use super::state::State;
use super::work::Work;
use crate::facts::EntityKind;
use crate::findings::{Observation, SourceLocation};
use crate::ledger::Account;
use crate::rules::outcome::{Confidence, Severity};
use crate::text::spans::Sentence;

/// A finding that gained or lost less than this of the window is unchanged.
const LEAST_SHARE: f64 = 0.01;

/// What would be more of a window, rounding apart, is part of another one.
const MOST_SHARE: f64 = 1.005;

/// The folder of rules on the recording and how the program ended, and one of those that say that it failed.
const CAPTURE: &str = "capture";
const PROGRAM_FAILED: &str = "program-failed";

/// One finding of either side.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingChange {
    /// What became of it.
    pub state: State,
    /// The rule and what it is about, without what changes from run to run.
    pub fingerprint: String,
    /// The rule's id.
    pub rule: String,
    /// The rule's title.
    pub title: String,
    /// What it is about.
    pub subject: Sentence,
    /// The device that it is about, counted from 0 in the order of numbers.
    pub(super) device: Option<usize>,
    /// Whether the head has it.
    pub is_in_head: bool,
    /// Where in the project's code it is, in the head or, when it is gone, was in the base.
    pub source: Option<SourceLocation>,
    /// Whether its cost occurs once: then its gain is that of the whole, whatever the unit.
    pub once: bool,
    /// In the head, or in the base when it is gone.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it is, in the head or, when it is gone, in the base.
    pub summary: Sentence,
    /// What to do.
    pub advice: Sentence,
    /// The account that it draws on.
    pub account: Option<String>,
    /// The most that it can gain, per unit of comparison; 0 on the side that does not have it. Absent where time cannot be
    /// claimed.
    pub gain: Option<Change>,
    /// The same as a share of the window; absent where a side tells no window that it could be a part of.
    pub share: Option<Sides<f64>>,
    /// Why it is unclear what became of it.
    pub because: Option<String>,
    /// Whether it is unclear, and known to be no regression all the same: the time that it draws on did not grow.
    pub is_settled: bool,
    /// The side that was recorded without what it rests on, so that it is unclear; absent where both hold that, or lack it.
    pub lacking: Option<Side>,
    /// Whether a baseline knows it, as no less: then it fails nothing.
    pub is_known: bool,
    /// Whether it tells that the recording cannot be trusted, or that the program failed: no time that went explains it.
    pub(crate) tells_of_failure: bool,
}

/// Why a finding of one side alone may be no change, and whether it is known to be none.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    words: &'static str,
    is_settled: bool,
}

/// What one run says of one fingerprint.
struct Seen<'a> {
    by: Observation<'a>,
    /// Units of work in the run.
    units: f64,
    device: Option<usize>,
    /// The name of what it is about, in the head where it was replaced.
    name: String,
}

/// What the runs of one side say of each fingerprint.
type Findings<'a> = BTreeMap<String, Vec<Seen<'a>>>;

/// All findings of both sides: worse and new ones first, the gravest first.
pub(super) fn findings(
    sides: Sides<Runs<'_>>,
    work: &Work,
    devices: &[DeviceChange],
    (noise, lacking): (&Noise, &Sides<Lacking>),
) -> Vec<FindingChange> {
    let seen = Sides::of(|side| seen(*sides.get(side), side, work));
    let names: BTreeSet<&str> = seen.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    let times = sides.map(|side| side.runs.iter().map(|run| times(run)).collect());
    let context = Context { work, devices, noise, lacking, sides, times, is_comparable: work.basis.is_comparable() };
    let mut changes: Vec<FindingChange> =
        names.into_iter().filter_map(|name| Some(Pair::new(&context, name, sides, &seen)?.change())).collect();
    changes.sort_by(|a, b| a.rank().cmp(&b.rank()).then_with(|| a.fingerprint.cmp(&b.fingerprint)));
    changes
}

fn seen<'a>(runs: Runs<'a>, side: Side, work: &Work) -> Findings<'a> {
    let mut findings = Findings::new();
    for (index, run) in runs.runs.iter().enumerate() {
        let devices = run.devices();
        for by in run.review.observations() {
            let own = by.subject.device.as_ref().map(|device| device.entity);
            let device = devices.iter().position(|(entity, _)| Some(*entity) == own);
            let name = name_of(run.facts.get(by.subject.entity));
            // A finding about a kernel that was replaced is about the one in its place.
            let is_replaced = side == Side::Base && by.subject.kind == EntityKind::Kernel;
            let pair = work.replaced.iter().find(|pair| is_replaced && pair.old == name);
            // The name of a kernel ends it; the same letters in the rule's id are another thing.
            let without = pair.and_then(|pair| Some((by.fingerprint.strip_suffix(pair.old.as_str())?, pair)));
            let fingerprint =
                without.map_or_else(|| by.fingerprint.to_owned(), |(rest, pair)| format!("{rest}{}", pair.new));
            let name = pair.map_or(name, |pair| &pair.new).to_owned();
            let units = work.units_of(side, index);
            findings.entry(fingerprint).or_default().push(Seen { by, device, units, name });
        }
    }
    findings
}

impl FindingChange {
    fn rank(&self) -> impl Ord + use<> {
        let size = self.gain.map_or(0, |gain| gain.difference.unsigned_abs());
        (self.state.group(), std::cmp::Reverse(self.severity), self.state, std::cmp::Reverse(size))
    }
}

/// What all findings are held against.
struct Context<'a> {
    work: &'a Work,
    devices: &'a [DeviceChange],
    noise: &'a Noise,
    /// What only one side was recorded with.
    lacking: &'a Sides<Lacking>,
    sides: Sides<Runs<'a>>,
    /// What each run spends in what findings may be about.
    times: Sides<Vec<Times<'a>>>,
    is_comparable: bool,
}

/// A finding of one fingerprint, as the sides that have it see it.
struct Pair<'a> {
    context: &'a Context<'a>,
    fingerprint: &'a str,
    /// What the runs of each side say; empty for a side of which not most runs have it.
    seen: Sides<&'a [Seen<'a>]>,
    /// What speaks for all: the head's first, or the base's when the head does not have it.
    shown: &'a Seen<'a>,
    /// Units of work that its gain is counted by.
    units: Sides<f64>,
    gain: Option<Gain>,
}

/// What a finding can gain, on both sides.
#[derive(Clone, Copy)]
struct Gain {
    change: Change,
    /// The same as shares of the window; absent where a side tells none that holds it.
    share: Option<Sides<f64>>,
}

impl<'a> Pair<'a> {
    /// `None` when neither side has it: a finding of a side is one that most of its runs have.
    fn new(
        context: &'a Context<'a>,
        fingerprint: &'a str,
        sides: Sides<Runs<'_>>,
        seen: &'a Sides<Findings<'a>>,
    ) -> Option<Self> {
        let any: Sides<&[Seen<'_>]> = seen.each_ref().map(|seen| seen.get(fingerprint).map_or(&[][..], Vec::as_slice));
        let has = any.zip(sides).map(|(seen, side)| 2 * seen.len() > side.runs.len());
        let seen = any.zip(has).map(|(seen, has)| if has { seen } else { &[] });
        let shown = seen.head.first().or(seen.base.first())?;
        // What occurs once does not grow with the work: per unit, the longer run would seem to have less of it.
        let once = shown.by.finding.once;
        let units = if once { Sides { base: 1.0, head: 1.0 } } else { context.work.units() };
        let mut pair = Self { context, fingerprint, seen, shown, units, gain: None };
        let has_gain = any.iter().copied().flatten().any(|seen| seen.by.gain.is_some());
        pair.gain = if has_gain { pair.gain() } else { None };
        Some(pair)
    }

    fn gain(&self) -> Option<Gain> {
        let values = self.seen.map(|seen| self.recoverable_ns(seen)).both()?;
        let change = Change::of(&values, self.context.noise);
        let share = Sides::of(|side| match (change.sides().get(side).median, self.window_ns(side)) {
            (gain_ns, _) if gain_ns <= 0 => Some(0.0),
            (gain_ns, window_ns) => {
                (window_ns > 0).then(|| gain_ns as f64 / window_ns as f64).filter(|share| *share <= MOST_SHARE)
            }
        });
        Some(Gain { change, share: share.both() })
    }

    /// Per unit of comparison; 0 for a side that does not have it.
    fn recoverable_ns(&self, seen: &[Seen<'_>]) -> Option<Values> {
        if seen.is_empty() {
            return Some(Values::zero());
        }
        let once = self.shown.by.finding.once;
        let per_unit =
            |seen: &Seen<'_>| Some(per_unit(seen.by.gain?.recoverable_ns, if once { 1.0 } else { seen.units }));
        Values::of(seen.iter().filter_map(per_unit))
    }

    /// Whether a part of what it gains is time of accounts that it does not name.
    fn has_beside(&self) -> bool {
        self.shown.by.gain.is_some_and(|gain| gain.beside_ns > 0)
    }

    /// As much of the device's window, or of all windows together, as the gain is about.
    fn window_ns(&self, side: Side) -> i64 {
        let window_ns = |device: &DeviceChange| device.window.sides().get(side).median;
        let per_unit = match self.device() {
            Some(device) => window_ns(device),
            None => self.context.devices.iter().map(window_ns).fold(0, i64::saturating_add),
        };
        (per_unit as f64 * self.context.work.units().get(side) / self.units.get(side)) as i64
    }

    fn device(&self) -> Option<&'a DeviceChange> {
        self.shown.device.and_then(|index| self.context.devices.get(index))
    }

    fn is_in(&self, side: Side) -> bool {
        !self.seen.get(side).is_empty()
    }

    fn change(self) -> FindingChange {
        let state = match (self.is_in(Side::Base), self.is_in(Side::Head)) {
            (false, true) => State::New,
            (true, false) => State::Gone,
            _ if self.context.is_comparable => self.moved(),
            // What one side did is no measure of the other.
            _ => State::Unclear,
        };
        let lacking = self.lacking(state);
        let without = lacking.map(|side| self.context.lacking.get(side).why(self.shown.by.finding, side));
        let undecided = self.unclear(state).map(str::to_owned).or(without);
        let doubt = match state {
            State::New | State::Gone if undecided.is_none() => self.doubt(state),
            _ => None,
        };
        let is_settled = doubt.is_some_and(|doubt| doubt.is_settled);
        let because = undecided.or_else(|| doubt.map(|doubt| doubt.words.to_owned()));
        let Seen { by, device, .. } = self.shown;
        FindingChange {
            state: if because.is_some() { State::Unclear } else { state },
            fingerprint: self.fingerprint.to_owned(),
            rule: by.finding.rule.clone(),
            title: by.finding.title.clone(),
            subject: by.subject.label.clone(),
            device: *device,
            is_in_head: self.is_in(Side::Head),
            source: by.subject.source.clone(),
            once: by.finding.once,
            severity: by.severity,
            confidence: by.confidence,
            summary: by.summary.clone(),
            advice: by.finding.advice.clone(),
            account: by.gain.map(|gain| gain.account.clone()),
            gain: self.gain.map(|gain| gain.change),
            share: self.gain.and_then(|gain| gain.share),
            because,
            is_settled,
            lacking,
            is_known: false,
            tells_of_failure: by.gain.is_none()
                && by.finding.category == CAPTURE
                && (by.severity == Severity::High || by.finding.rule == PROGRAM_FAILED),
        }
    }

    /// The side that was recorded without what tells of a finding: then its state is that of the recordings.
    fn lacking(&self, state: State) -> Option<Side> {
        if state == State::Unchanged {
            return None;
        }
        let account = self.shown.by.gain.and_then(|gain| Account::parse(&gain.account));
        let is_in = Sides::of(|side| self.is_in(side));
        self.context.lacking.of_finding(self.shown.by.finding, account, is_in)
    }

    /// Why it cannot be told what became of a finding, whatever it gains.
    fn unclear(&self, state: State) -> Option<&'static str> {
        let is_in_both = self.is_in(Side::Base) && self.is_in(Side::Head);
        match state {
            State::Unchanged => None,
            _ if is_in_both && !self.context.is_comparable => {
                Some("since the two sides did different work, it is neither better nor worse")
            }
            _ if self.has_long_gaps() => Some("time between rounds makes up much of the longer side"),
            State::New | State::Gone if self.shown.by.finding.once && self.is_longer(state) => {
                Some("it occurs once, and weighs less in the side that did more work")
            }
            _ => None,
        }
    }

    /// Whether time between repetitions of the work, which only the longer side has, changes what shares of its window
    /// mean.
    fn has_long_gaps(&self) -> bool {
        match self.device() {
            Some(device) => self.context.has_long_gaps(device),
            None => self.context.devices.iter().any(|device| self.context.has_long_gaps(device)),
        }
    }

    /// Whether the side that does not have a new or gone finding did more work.
    fn is_longer(&self, state: State) -> bool {
        let Sides { base, head } = self.context.work.units();
        if state == State::New { base > head } else { head > base }
    }

    /// Why a finding of one side alone may be no change at all.
    fn doubt(&self, state: State) -> Option<Doubt> {
        let open = |words| Some(Doubt { words, is_settled: false });
        let settled = |words| Some(Doubt { words, is_settled: true });
        if self.is_beyond(state) {
            return open("its rule finds more on the other side than is told of one rule");
        }
        if self.is_untold(state) {
            return open("the other side has more kernels, ranges or copies than are told one by one");
        }
        if self.is_in_gaps() {
            return open("it may be the idle time between rounds, which only the longer side has");
        }
        let wanted = if state == State::New { Trend::Up } else { Trend::Down };
        match (self.drawn()?, state) {
            (trend, _) if trend.has(wanted) => None,
            _ if self.has_beside() => open(
                "the time that it claims did not go that way, and what went with it on the other side is not known",
            ),
            (Drawn { is_changed: false, .. }, _) => {
                settled("the time that it draws on did not change: it is at the edge of its threshold")
            }
            (_, State::New) => settled("uncovered: the time that it draws on did not grow, other time went"),
            _ => settled("covered: the time that it draws on did not shrink, other time came"),
        }
    }

    /// Whether its rule found as much on the side that does not have it as is told: it may be among the rest.
    fn is_beyond(&self, state: State) -> bool {
        let other = if state == State::New { Side::Base } else { Side::Head };
        let rule = &self.shown.by.finding.rule;
        self.context.sides.get(other).runs.iter().any(|run| run.review.full_rules.contains(rule))
    }

    /// Whether what it is about may be there on the side that does not have it, among what has no facts of its own.
    fn is_untold(&self, state: State) -> bool {
        let kind = self.shown.by.subject.kind;
        let other = if state == State::New { Side::Base } else { Side::Head };
        if kind == EntityKind::Kernel && *self.context.work.hides_kernels.get(other) {
            return true;
        }
        let omits = || self.context.sides.get(other).runs.iter().any(|run| run.omits(kind));
        matches!(kind, EntityKind::Kernel | EntityKind::Range | EntityKind::CopyGroup) && omits()
    }

    fn is_in_gaps(&self) -> bool {
        let (Some(gain), Some(device)) = (self.gain, self.one_device()) else { return false };
        let account = self.shown.by.gain.and_then(|gain| Account::parse(&gain.account));
        let is_in = |side: Side| {
            let gaps_ns = *device.gap_ns.get(side);
            let claimed_ns = gain.change.sides().get(side).median as f64 * *self.units.get(side);
            gaps_ns > 0 && claimed_ns <= gaps_ns as f64
        };
        account.is_some_and(|account| account.top() == Account::Idle) && (is_in(Side::Base) || is_in(Side::Head))
    }

    /// The device that it is about, or the only one.
    fn one_device(&self) -> Option<&'a DeviceChange> {
        let devices = self.context.devices;
        let index = self.shown.device.or_else(|| (devices.len() == 1).then_some(0))?;
        devices.get(index)
    }

    /// Which way the time went that it draws on: its account, what goes with that, and what it is about itself. `None` where it draws
    /// on none.
    fn drawn(&self) -> Option<Drawn> {
        let account = self.shown.by.gain.and_then(|gain| Account::parse(&gain.account));
        let devices = match self.shown.device {
            Some(index) => self.context.devices.get(index..=index).unwrap_or_default(),
            None => self.context.devices,
        };
        let mut trends: Vec<Trend> = match account {
            Some(account) => devices.iter().filter_map(|device| account_trend(device, account)).collect(),
            None => Vec::new(),
        };
        trends.extend(self.beside_trend());
        trends.extend(self.own_trend());
        (!trends.is_empty()).then(|| Drawn::of(&trends))
    }

    /// Which way the time went that goes with what it claims. A side that does not have the finding does not tell that.
    fn beside_trend(&self) -> Option<Trend> {
        let beside_ns = |seen: &Seen<'_>| Some(per_unit(seen.by.gain?.beside_ns, seen.units));
        let values = self.seen.map(|seen| Values::of(seen.iter().filter_map(beside_ns))).both()?;
        let is_any = values.each_ref().iter().any(|values| values.measure().high > 0);
        is_any.then(|| self.trend_in_window(&values))
    }

    /// Which way a number of nanoseconds went, where that is enough of the window to matter.
    fn trend_in_window(&self, values: &Sides<Values>) -> Trend {
        let change = Change::of(values, self.context.noise);
        let window_ns = self.window_ns(Side::Base).max(self.window_ns(Side::Head)).max(1);
        let is_large = change.difference.unsigned_abs() as f64 >= LEAST_SHARE * window_ns as f64;
        if is_large { change.trend() } else { Trend::Same }
    }

    /// Which way the time of the kernel, copies or range went that it is about.
    fn own_trend(&self) -> Option<Trend> {
        let kind = self.shown.by.subject.kind;
        if !matches!(kind, EntityKind::Kernel | EntityKind::Range | EntityKind::CopyGroup) {
            return None;
        }
        let values = Sides::of(|side| {
            let runs = self.context.sides.get(side).runs.iter().enumerate();
            Values::of(runs.map(|(index, run)| {
                per_unit(self.own_ns((run, index), side, kind), self.context.work.units_of(side, index))
            }))
        });
        Some(self.trend_in_window(&values.both()?))
    }

    fn own_ns(&self, (run, index): (&Run, usize), side: Side, kind: EntityKind) -> i64 {
        let pair = self.context.work.replaced.iter().find(|pair| pair.new == self.shown.name);
        let name = pair.filter(|_| side == Side::Base).map_or(self.shown.name.as_str(), |pair| &pair.old);
        let device = self.shown.device.and_then(|index| run.devices().get(index).map(|(id, _)| *id));
        let times = self.context.times.get(side).get(index);
        times.and_then(|times| times.get(&(kind, device, name))).copied().unwrap_or(0)
    }

    fn graver(&self) -> State {
        let severities = |side: Side| self.seen.get(side).iter().map(|seen| seen.by.severity);
        let ends = |side: Side| severities(side).min().zip(severities(side).max());
        match (ends(Side::Base), ends(Side::Head)) {
            (Some((_, before)), Some((now, _))) if now > before => State::Worse,
            (Some((before, _)), Some((_, now))) if now < before => State::Better,
            _ => State::Unchanged,
        }
    }

    /// A finding of both sides is worse only when the time that it draws on grew, and better only when that shrank; without a gain,
    /// when all runs find it graver than before, or less grave.
    fn moved(&self) -> State {
        if self.gain.is_none() {
            return self.graver();
        }
        let state = moved(self.gain);
        let wanted = match state {
            State::Worse => Trend::Up,
            State::Better => Trend::Down,
            _ => return state,
        };
        if self.drawn().is_none_or(|drawn| drawn.has(wanted)) { state } else { State::Unchanged }
    }
}

impl Context<'_> {
    fn has_long_gaps(&self, device: &DeviceChange) -> bool {
        let is_long = |side: Side| {
            let per_unit = per_unit(*device.gap_ns.get(side), *self.work.units().get(side));
            let window_ns = device.window.sides().get(side).median;
            per_unit > 0 && per_unit as f64 >= self.noise.floor_share * window_ns as f64
        };
        is_long(Side::Base) || is_long(Side::Head)
    }
}

fn moved(gain: Option<Gain>) -> State {
    let Some(Gain { change, share }) = gain else { return State::Unchanged };
    let largest = change.base.median.max(change.head.median).max(1);
    let part = change.difference.unsigned_abs() as f64 / largest as f64;
    // Without a window nothing says that it is small.
    let part = part * share.map_or(1.0, |share| share.base.max(share.head));
    match (change.is_change && part >= LEAST_SHARE, change.difference > 0) {
        (false, _) => State::Unchanged,
        (true, true) => State::Worse,
        (true, false) => State::Better,
    }
}
