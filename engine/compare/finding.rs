//! Findings that are new, gone, better or worse, by fingerprint.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::ledger::DeviceChange;
use super::measure::{Change, Measure, Noise};
use super::side::{Run, Side};
use super::work::Work;
use crate::findings::{Fingerprints, Place, Seen};
use crate::rules::outcome::{Confidence, Severity};
use crate::text::spans::Sentence;

/// A finding that gained or lost less than this of the window is unchanged.
const LEAST_SHARE: f64 = 0.01;

/// One finding of either side.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    #[serde(skip)]
    pub(super) device: Option<usize>,
    /// Whether the head has it.
    #[serde(skip)]
    pub(crate) is_in_head: bool,
    /// Where in the project's code it is, in the head or, when it is gone, was in the base.
    #[serde(rename = "source", skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<Place>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The most that it can gain, per unit of comparison; 0 on the side that does not have it. Absent where time cannot be
    /// claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Change>,
    /// The same as a share of the window: base, then head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<[f64; 2]>,
    /// Why it is unclear what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What became of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Only the head has it.
    New,
    /// It can gain more than before.
    Worse,
    /// It can gain less than before.
    Better,
    /// Only the base has it.
    Gone,
    /// It differs, but noise or the amount of work can be why.
    Unclear,
    /// What changed, if anything, is noise.
    Unchanged,
}

impl State {
    /// Every state, in the order of reports.
    pub const ALL: [Self; 6] = [Self::New, Self::Worse, Self::Better, Self::Gone, Self::Unclear, Self::Unchanged];

    /// The word in reports and budgets.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Gone => "gone",
            Self::Unclear => "unclear",
            Self::Unchanged => "unchanged",
        }
    }
}

/// What one run says of one fingerprint.
struct Told<'a> {
    seen: Seen<'a>,
    /// Units of work in the run.
    units: i64,
    device: Option<usize>,
}

type Findings<'a> = BTreeMap<String, Vec<Told<'a>>>;

/// All findings of both sides: new and worse ones first, the gravest first.
pub(super) fn findings(
    base: Side<'_>,
    head: Side<'_>,
    work: &Work,
    devices: &[DeviceChange],
    noise: &Noise,
) -> Vec<FindingChange> {
    let prints: Vec<Vec<Fingerprints<'_>>> =
        [base, head].map(|side| side.runs.iter().map(|run| Fingerprints::new(&run.facts)).collect()).into();
    let told =
        [told(base, &prints[0], |run| work.units_of(0, run)), told(head, &prints[1], |run| work.units_of(1, run))];
    let context =
        Context { sides: [base, head], units: work.units(), is_comparable: work.basis.is_comparable(), devices, noise };
    let names: BTreeSet<&String> = told.iter().flat_map(BTreeMap::keys).collect();
    let mut changes: Vec<FindingChange> =
        names.into_iter().filter_map(|name| context.change(name, [told[0].get(name), told[1].get(name)])).collect();
    let size = |change: &FindingChange| change.gain.map_or(0, |gain| gain.difference.unsigned_abs());
    changes.sort_by(|a, b| {
        let key = |c: &FindingChange| (c.state, std::cmp::Reverse((c.severity, size(c))));
        key(a).cmp(&key(b)).then_with(|| a.fingerprint.cmp(&b.fingerprint))
    });
    changes
}

fn told<'a>(side: Side<'a>, prints: &[Fingerprints<'a>], units: impl Fn(usize) -> i64) -> Findings<'a> {
    let mut findings = Findings::new();
    for (place, (run, prints)) in side.runs.iter().zip(prints).enumerate() {
        let devices = run.devices();
        for seen in prints.all(&run.review) {
            let device = devices.iter().position(|(_, entity)| Some(&entity.key) == seen.subject.device.as_ref());
            findings.entry(seen.fingerprint.clone()).or_default().push(Told { seen, device, units: units(place) });
        }
    }
    findings
}

/// What all findings are held against.
struct Context<'a> {
    sides: [Side<'a>; 2],
    units: [i64; 2],
    is_comparable: bool,
    devices: &'a [DeviceChange],
    noise: &'a Noise,
}

impl Context<'_> {
    fn change(&self, fingerprint: &str, told: [Option<&Vec<Told<'_>>>; 2]) -> Option<FindingChange> {
        // A finding of a side is one that most of its runs have.
        let has = |side: usize| told[side].is_some_and(|told| 2 * told.len() > self.sides[side].runs.len());
        let (in_base, in_head) = (has(0), has(1));
        let shown = told[usize::from(in_head)]?.first()?;
        if !in_base && !in_head {
            return None;
        }
        let device = shown.device;
        let finding = shown.seen.finding;
        // What occurs once does not grow with the work: per unit, the longer run would seem to have less of it.
        let units = if finding.once { [1, 1] } else { self.units };
        let measure = |side: usize| match told[side].filter(|_| [in_base, in_head][side]) {
            Some(told) => {
                let units = |told: &Told<'_>| if finding.once { 1 } else { told.units };
                Measure::of(told.iter().filter_map(|told| Some(told.seen.gain?.recoverable_ns / units(told))))
            }
            None => Some(Measure::ZERO),
        };
        let has_gain = told.iter().flatten().flat_map(|told| told.iter()).any(|told| told.seen.gain.is_some());
        let gain = measure(0).zip(measure(1)).filter(|_| has_gain);
        let gain = gain.map(|(base, head)| Change::new(base, head, self.noise));
        let share = gain.map(|gain| self.shares(gain, device, units));
        let mut state = match (in_base, in_head) {
            (false, true) => State::New,
            (true, false) => State::Gone,
            _ if self.is_comparable => moved(gain, share),
            // What one side did is no measure of the other.
            _ => State::Unclear,
        };
        let account = shown.seen.gain.map(|gain| gain.account.clone());
        let is_in = [in_base, in_head];
        let because = self.unclear(state, is_in, finding.once, device).or_else(|| match state {
            State::New | State::Gone => self.doubt(gain, share, device, account.as_deref(), units),
            _ => None,
        });
        if because.is_some() {
            state = State::Unclear;
        }
        Some(FindingChange {
            state,
            fingerprint: fingerprint.to_owned(),
            rule: finding.rule.clone(),
            title: finding.title.clone(),
            subject: shown.seen.subject.label.clone(),
            device,
            is_in_head: in_head,
            place: shown.seen.subject.place.clone(),
            once: finding.once,
            severity: shown.seen.severity,
            confidence: shown.seen.confidence,
            summary: shown.seen.summary.clone(),
            advice: finding.advice.clone(),
            account,
            gain,
            share,
            because,
        })
    }

    /// Why it cannot be told what became of a finding, whatever it gains.
    fn unclear(&self, state: State, is_in: [bool; 2], once: bool, device: Option<usize>) -> Option<String> {
        let words = match state {
            State::Unchanged => return None,
            _ if is_in == [true, true] && !self.is_comparable => {
                "since the two sides did different work, it is neither better nor worse"
            }
            _ if self.is_stretched(device) => "time between rounds makes up much of the longer side",
            State::New | State::Gone if once && self.is_longer(state) => {
                "it occurs once, and weighs less in the side that did more work"
            }
            _ => return None,
        };
        Some(words.to_owned())
    }

    /// Whether time between rounds of work, which only the longer side has, changes what shares of its window mean.
    fn is_stretched(&self, device: Option<usize>) -> bool {
        let is_stretched = |device: &DeviceChange| {
            let windows = [device.window.base.median, device.window.head.median];
            (0..2).any(|side| {
                let per_unit = device.between_rounds_ns[side] / self.units[side];
                per_unit as f64 >= self.noise.floor_share * windows[side] as f64 && per_unit > 0
            })
        };
        match device.and_then(|place| self.devices.get(place)) {
            Some(device) => is_stretched(device),
            None => self.devices.iter().any(is_stretched),
        }
    }

    /// Whether the side that does not have a new or gone finding did more work.
    fn is_longer(&self, state: State) -> bool {
        let [base, head] = self.units;
        if state == State::New { base > head } else { head > base }
    }

    /// Of the device's window, or of all windows together: as much of them as the gain is about.
    fn shares(&self, gain: Change, device: Option<usize>, units: [i64; 2]) -> [f64; 2] {
        let window = |side: usize| -> i64 {
            let of = |device: &DeviceChange| [device.window.base, device.window.head][side].median;
            let per_unit = match device.and_then(|place| self.devices.get(place)) {
                Some(device) => of(device),
                None => self.devices.iter().map(of).fold(0, i64::saturating_add),
            };
            per_unit.saturating_mul(self.units[side] / units[side])
        };
        let share = |measure: Measure, side| measure.median as f64 / window(side).max(1) as f64;
        [share(gain.base, 0), share(gain.head, 1)]
    }

    /// Why a finding of one side alone may be no change at all.
    fn doubt(
        &self,
        gain: Option<Change>,
        share: Option<[f64; 2]>,
        device: Option<usize>,
        account: Option<&str>,
        units: [i64; 2],
    ) -> Option<String> {
        let (gain, [base, head], account) = (gain?, share?, account?);
        let device = self.devices.get(device.or_else(|| (self.devices.len() == 1).then_some(0))?)?;
        let is_idle = account.starts_with("idle") || account.starts_with("dry");
        let claimed = |side: usize| [gain.base, gain.head][side].median.saturating_mul(units[side]);
        if is_idle
            && (0..2).any(|side| device.between_rounds_ns[side] > 0 && claimed(side) <= device.between_rounds_ns[side])
        {
            return Some("it may be the idle time between rounds, which only the longer side has".to_owned());
        }
        let is_small = base.max(head) < self.noise.floor_share;
        if is_small && !self.account_moved(device, account)? {
            return Some("the time that it draws on did not change: it is at the edge of its threshold".to_owned());
        }
        None
    }

    fn account_moved(&self, device: &DeviceChange, account: &str) -> Option<bool> {
        let own = device.accounts.iter().chain(&device.parts).find(|change| change.account == account);
        match own {
            Some(change) => Some(change.time.is_change),
            None if account.starts_with("dry") || account.starts_with("idle") => {
                device.accounts.iter().find(|change| change.account == "idle").map(|change| change.time.is_change)
            }
            None => {
                device.accounts.iter().find(|change| change.account == "compute").map(|change| change.time.is_change)
            }
        }
    }
}

fn moved(gain: Option<Change>, share: Option<[f64; 2]>) -> State {
    let (Some(gain), Some([base, head])) = (gain, share) else { return State::Unchanged };
    let largest = gain.base.median.max(gain.head.median).max(1);
    let part = gain.difference.unsigned_abs() as f64 * base.max(head) / largest as f64;
    match (gain.is_change && part >= LEAST_SHARE, gain.difference > 0) {
        (false, _) => State::Unchanged,
        (true, true) => State::Worse,
        (true, false) => State::Better,
    }
}

/// How many findings came to each state; those of severity info apart from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StateCounts {
    /// Only in the head.
    pub new: usize,
    /// Can gain more.
    pub worse: usize,
    /// Can gain less.
    pub better: usize,
    /// Only in the base.
    pub gone: usize,
    /// Cannot be told.
    pub unclear: usize,
    /// As before.
    pub unchanged: usize,
}

impl StateCounts {
    /// Of findings that are more than notes: those of severity info do not count.
    pub(super) fn of(findings: &[FindingChange]) -> Self {
        let mut counts = Self::default();
        for finding in findings.iter().filter(|finding| finding.severity > Severity::Info) {
            let place = match finding.state {
                State::New => &mut counts.new,
                State::Worse => &mut counts.worse,
                State::Better => &mut counts.better,
                State::Gone => &mut counts.gone,
                State::Unclear => &mut counts.unclear,
                State::Unchanged => &mut counts.unchanged,
            };
            *place += 1;
        }
        counts
    }
}

/// The runs whose findings are compared are those of the sides; a name is only needed in messages.
pub(super) fn names(runs: &[Run]) -> Vec<String> {
    runs.iter().map(|run| run.name.clone()).collect()
}
