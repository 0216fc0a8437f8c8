//! Where the time of each device went, side by side.

use super::measure::{Change, Measure, Noise, Trend, Values, per_unit};
use super::rounds;
use super::runs::{Run, Runs, int};
use super::sides::{Side, Sides};
use super::work::{Basis, Work};
use crate::facts::Entity;
use crate::findings::{DeviceReview, Part};
use crate::ledger::accounts::Sums;
use crate::ledger::{Account, Breakdown};
use crate::text::spans::Sentence;

/// An account that is, and was, a smaller part of the window than this is not said to have changed.
const LEAST_SHARE: f64 = 0.01;

/// A finding that draws on an account may be worse or better from here on.
const LEAST_DRIFT_SHARE: f64 = 0.004;

/// One device on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceChange {
    /// Its name for readers, from the head.
    pub label: Sentence,
    /// The window per unit of comparison.
    pub window: Change,
    /// The accounts of the window, per unit of comparison: they sum to it.
    pub accounts: Vec<AccountChange>,
    /// Parts of the accounts; empty where the sides' time cannot be told apart so finely.
    pub parts: Vec<AccountChange>,
    /// Idle time between two repetitions of the work that only the longer side has, and that is left out.
    pub gap_ns: Sides<i64>,
    /// The longest stretch of idle time.
    pub(super) longest_idle_ns: Sides<i64>,
    /// The window of each run, per unit of comparison.
    windows_ns: Sides<Vec<i64>>,
}

/// The window of the slowest device of each run: which one that is need not be the same in all.
pub(super) fn slowest(devices: &[DeviceChange], noise: &Noise) -> Option<Change> {
    let of_side = |side: Side| {
        let runs = devices.iter().map(|device| device.windows_ns.get(side));
        let longer =
            |all: Vec<i64>, next: &Vec<i64>| all.iter().zip(next).map(|(one, other)| *one.max(other)).collect();
        let mut runs = runs.cloned();
        let first = runs.next()?;
        Values::of(runs.fold(first, |all, next| longer(all, &next)))
    };
    Some(Change::of(&Sides::of(of_side).both()?, noise))
}

/// An account on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountChange {
    /// The fact of the device that it is, without `_ns`.
    pub account: &'static str,
    /// The account that it is part of, or itself.
    pub of: &'static str,
    /// What it is, for readers.
    pub label: &'static str,
    /// How long, per unit of comparison.
    pub time: Change,
    /// Its share of the window.
    pub share: Sides<f64>,
    /// Which way it went where less than a change worth a word counts, too: for what draws on it.
    pub(super) drift: Trend,
}

/// All devices, in the order of their numbers. Without a sound unit, changes are those of the shares of the window.
/// `splits_idle`: whether both sides recorded alike what the host does in idle time.
pub(super) fn devices(sides: Sides<Runs<'_>>, work: &Work, noise: &Noise, splits_idle: bool) -> Vec<DeviceChange> {
    let count = sides.map(|side| side.first().map_or(0, |run| run.devices().len()));
    let pairs = 0..count.base.min(count.head);
    let ledgers = pairs.filter_map(|index| Some(Ledgers { splits_idle, ..Ledgers::new(index, sides, work)? }));
    ledgers.filter_map(|ledgers| ledgers.change(work, noise)).collect()
}

/// One device of one run, per unit of work.
struct Ledger {
    window_ns: i64,
    accounts: Sums,
    parts: Vec<Part>,
    gap_ns: i64,
}

/// What the other side has of a device, per unit of its work.
#[derive(Debug, Clone, Copy)]
struct Other {
    units: f64,
    idle_ns: i64,
    idle_longest_ns: i64,
}

impl Ledger {
    fn new(run: &Run, device: usize, units: f64, other: Other, work: &Work) -> Option<Self> {
        let devices = run.devices();
        let (id, device) = *devices.get(device)?;
        let review = run.review.devices.iter().find(|review| review.key == device.key)?;
        let steps: Vec<&Entity> = rounds::steps(&run.facts, id).collect();
        // Time that is not the work's, or that the work lacks: both only ever idle.
        let (gap_ns, missing_ns) = match work.basis {
            Basis::Unit { .. } => (other.gaps(device, units), 0),
            // As many steps on both sides lack the same.
            Basis::Step { .. } if !work.is_same_amount() => (0, rounds::missing_ns(device, &steps)),
            _ => (0, 0),
        };
        let mut accounts = Sums::default();
        for account in Breakdown::Operation.accounts() {
            accounts[account] = per_unit(int(device, account.fact()), units);
        }
        let idle_ns = accounts[Account::Idle];
        let window_ns = per_unit(review.window_ns - gap_ns + missing_ns, units);
        accounts[Account::Idle] = idle_ns + per_unit(missing_ns - gap_ns, units);
        let scale = if idle_ns > 0 { accounts[Account::Idle] as f64 / idle_ns as f64 } else { 1.0 };
        Some(Self { window_ns, accounts, parts: scaled(review, units, scale), gap_ns })
    }

    fn part_ns(&self, account: &str) -> i64 {
        self.parts.iter().filter(|part| part.account == account).map(|part| part.ns).sum()
    }

    /// Whether the parts of an account are known. Absent is not zero.
    fn splits(&self, of: &str) -> bool {
        Account::parse(of).is_none_or(|of| self.accounts[of] == 0)
            || self.parts.iter().any(|part| part.of == of && part.account != of)
    }
}

/// The parts of the accounts; those of idle time grow and shrink as it does.
fn scaled(review: &DeviceReview, units: f64, idle_scale: f64) -> Vec<Part> {
    let scale = |part: &Part| if part.of == Account::Idle.id() { idle_scale } else { 1.0 };
    review
        .parts
        .iter()
        .map(|part| Part { ns: per_unit((part.ns as f64 * scale(part)) as i64, units), ..part.clone() })
        .collect()
}

impl Other {
    /// Repetitions one after the other have time between them, which the side with fewer of them has less of: of ten, nine times,
    /// of five, four. At most the longest idle stretch that both sides have for each such gap. As much of it is left out as would
    /// explain the difference, and no more.
    fn gaps(self, device: &Entity, units: f64) -> i64 {
        let gap_ns = int(device, "idle_longest_ns").min(if self.units > 1.0 { self.idle_longest_ns } else { i64::MAX });
        let more = (units / self.units - 1.0).max(0.0);
        let beyond = int(device, Account::Idle.fact()) - (self.idle_ns as f64 * units) as i64;
        beyond.clamp(0, (more * gap_ns as f64) as i64)
    }
}

/// One device of all runs of both sides.
struct Ledgers {
    runs: Sides<Vec<Ledger>>,
    longest_idle_ns: Sides<i64>,
    label: Sentence,
    /// Whether the parts of idle time mean the same on both sides.
    splits_idle: bool,
}

impl Ledgers {
    fn new(device: usize, sides: Sides<Runs<'_>>, work: &Work) -> Option<Self> {
        let units = work.units();
        let middle = |side: Side, fact: &str| {
            let of = |run: &Run| run.devices().get(device).map_or(0, |(_, device)| int(device, fact));
            sides.get(side).median(of)
        };
        let other = |side: Side| Other {
            units: *units.get(side),
            idle_ns: per_unit(middle(side, Account::Idle.fact()), *units.get(side)),
            idle_longest_ns: middle(side, "idle_longest_ns"),
        };
        let others = Sides { base: other(Side::Head), head: other(Side::Base) };
        let of_side = |side: Side| {
            let runs = sides.get(side).runs.iter().enumerate();
            let other = *others.get(side);
            runs.filter_map(|(index, run)| Ledger::new(run, device, work.units_of(side, index), other, work)).collect()
        };
        let head = sides.head.first()?;
        let (_, entity) = *head.devices().get(device)?;
        let label = head.review.devices.iter().find(|review| review.key == entity.key)?.label.clone();
        let longest_idle_ns = Sides::of(|side| middle(side, "idle_longest_ns"));
        Some(Self { runs: Sides::of(of_side), longest_idle_ns, label, splits_idle: true })
    }

    fn values(&self, of: impl Fn(&Ledger) -> i64) -> Option<Sides<Values>> {
        self.runs.each_ref().map(|runs| Values::of(runs.iter().map(&of))).both()
    }

    fn change(self, work: &Work, noise: &Noise) -> Option<DeviceChange> {
        let window = Change::of(&self.values(|ledger| ledger.window_ns)?, noise);
        let rows = Rows { ledgers: &self, window: window.sides(), noise, is_comparable: work.basis.is_comparable() };
        let gap_ns = self.values(|ledger| ledger.gap_ns)?.map(|ns| ns.measure().median);
        let accounts = Breakdown::Operation.accounts().filter_map(|account| {
            let name = Name { account: account.id(), of: account.id(), label: account.label() };
            rows.row(name, |ledger| ledger.accounts[account])
        });
        let names = self.part_names().into_iter();
        let parts = names.filter_map(|name| rows.row(name, |ledger| ledger.part_ns(name.account)));
        Some(DeviceChange {
            window,
            accounts: accounts.collect(),
            parts: parts.collect(),
            gap_ns,
            longest_idle_ns: self.longest_idle_ns,
            windows_ns: self.runs.each_ref().map(|runs| runs.iter().map(|ledger| ledger.window_ns).collect()),
            label: self.label.clone(),
        })
    }

    /// The parts that all runs know, in the order of the accounts.
    fn part_names(&self) -> Vec<Name> {
        let mut names: Vec<Name> = Vec::new();
        for part in self.runs.iter().flatten().flat_map(|ledger| &ledger.parts) {
            if !names.iter().any(|name| name.account == part.account) {
                names.push(Name { account: part.account, of: part.of, label: part.label });
            }
        }
        names.sort_by_key(|name| Account::parse(name.of));
        names.retain(|name| {
            let is_split = self.runs.iter().flatten().all(|ledger| ledger.splits(name.of));
            let means_the_same = self.splits_idle || name.of != Account::Idle.id();
            name.account != name.of && is_split && means_the_same
        });
        names
    }
}

/// An account, what it is part of, and its words.
#[derive(Debug, Clone, Copy)]
struct Name {
    account: &'static str,
    of: &'static str,
    label: &'static str,
}

/// What all rows of a device share.
struct Rows<'a> {
    ledgers: &'a Ledgers,
    window: Sides<Measure>,
    noise: &'a Noise,
    is_comparable: bool,
}

impl Rows<'_> {
    /// An account on both sides; `None` where neither has any of it.
    fn row(&self, name: Name, ns: impl Fn(&Ledger) -> i64) -> Option<AccountChange> {
        let mut time = Change::of(&self.ledgers.values(ns)?, self.noise);
        if time.base.high <= 0 && time.head.high <= 0 {
            return None;
        }
        let share = time.sides().zip(self.window).map(|(part, window)| share(part, window));
        // Windows of different work: only what part of them an account is can be held against the other.
        let moved = if self.is_comparable {
            time.difference.unsigned_abs() as f64 / self.window.base.median.max(1) as f64
        } else {
            time.is_change = (share.base - share.head).abs() >= self.noise.floor_share * share.base;
            (share.base - share.head).abs()
        };
        let drift = if moved >= LEAST_DRIFT_SHARE { time.trend() } else { Trend::Same };
        time.is_change &= moved >= LEAST_SHARE;
        let Name { account, of, label } = name;
        Some(AccountChange { account, of, label, time, share, drift })
    }
}

fn share(part: Measure, window: Measure) -> f64 {
    part.median as f64 / window.median.max(1) as f64
}
