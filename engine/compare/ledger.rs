//! Where the time of each device went, side by side.

use super::measure::{Change, Measure, Noise};
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

/// One device on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceChange {
    /// Its name for readers, from the head.
    pub label: Sentence,
    /// The window per unit of comparison.
    pub window: Change,
    /// The accounts of the window, per unit of comparison: they sum to it.
    pub accounts: Vec<AccountChange>,
    /// Parts of the accounts; empty where the sides' idle time cannot be told apart so finely.
    pub parts: Vec<AccountChange>,
    /// Idle time between two repetitions of the work that only the longer side has, and that is left out.
    pub gap_ns: Sides<i64>,
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
}

/// All devices, in the order of their numbers. Without a sound unit, changes are those of the shares of the window.
pub(super) fn devices(sides: Sides<Runs<'_>>, work: &Work, noise: &Noise) -> Vec<DeviceChange> {
    let count = sides.map(|side| side.first().map_or(0, |run| run.devices().len()));
    let pairs = 0..count.base.min(count.head);
    pairs.filter_map(|index| Ledgers::new(index, sides, work)?.change(work, noise)).collect()
}

/// One device of one run, per unit of work.
struct Ledger {
    window_ns: i64,
    accounts: Sums,
    parts: Vec<Part>,
    gap_ns: i64,
}

impl Ledger {
    /// `other_idle_ns` is the idle time of the other side, per unit of its work.
    fn new(run: &Run, device: usize, units: i64, other_idle_ns: i64, work: &Work) -> Option<Self> {
        let devices = run.devices();
        let (_, device) = devices.get(device)?;
        let review = run.review.devices.iter().find(|review| review.key == device.key)?;
        let is_repeated = matches!(work.basis, Basis::Unit { .. });
        let gap_ns = if is_repeated { gaps(device, units, other_idle_ns) } else { 0 };
        let mut accounts = Sums::default();
        for account in Breakdown::Operation.accounts() {
            accounts[account] = int(device, account.fact()) / units;
        }
        accounts[Account::Idle] -= gap_ns / units;
        Some(Self { window_ns: (review.window_ns - gap_ns) / units, accounts, parts: scaled(review, units), gap_ns })
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

fn scaled(review: &DeviceReview, units: i64) -> Vec<Part> {
    review.parts.iter().map(|part| Part { ns: part.ns / units, ..part.clone() }).collect()
}

/// Repetitions one after the other have time between them that a single one lacks: at most the longest idle stretch for
/// each gap. As much of it is left out as would explain the difference, and no more.
fn gaps(device: &Entity, units: i64, other_idle_ns: i64) -> i64 {
    let most = (units - 1).saturating_mul(int(device, "idle_longest_ns"));
    let beyond = int(device, Account::Idle.fact()) - other_idle_ns.saturating_mul(units);
    beyond.clamp(0, most.max(0))
}

/// One device of all runs of both sides.
struct Ledgers {
    runs: Sides<Vec<Ledger>>,
    label: Sentence,
}

impl Ledgers {
    fn new(device: usize, sides: Sides<Runs<'_>>, work: &Work) -> Option<Self> {
        let units = work.units();
        let idle_ns = |side: Side| {
            sides
                .get(side)
                .median(|run| run.devices().get(device).map_or(0, |(_, device)| int(device, Account::Idle.fact())))
                / units.get(side)
        };
        let other_idle_ns = Sides { base: idle_ns(Side::Head), head: idle_ns(Side::Base) };
        let of_side = |side: Side| {
            let runs = sides.get(side).runs.iter().enumerate();
            let other_idle_ns = *other_idle_ns.get(side);
            runs.filter_map(|(index, run)| Ledger::new(run, device, work.units_of(side, index), other_idle_ns, work))
                .collect()
        };
        let head = sides.head.first()?;
        let (_, entity) = *head.devices().get(device)?;
        let label = head.review.devices.iter().find(|review| review.key == entity.key)?.label.clone();
        Some(Self { runs: Sides::of(of_side), label })
    }

    fn measures(&self, of: impl Fn(&Ledger) -> i64) -> Option<Sides<Measure>> {
        self.runs.each_ref().map(|runs| Measure::of(runs.iter().map(&of))).both()
    }

    fn change(self, work: &Work, noise: &Noise) -> Option<DeviceChange> {
        let window = self.measures(|ledger| ledger.window_ns)?;
        let rows = Rows { ledgers: &self, window, noise, is_comparable: work.basis.is_comparable() };
        let gap_ns = self.measures(|ledger| ledger.gap_ns)?.map(|ns| ns.median);
        let accounts = Breakdown::Operation.accounts().filter_map(|account| {
            let name = Name { account: account.id(), of: account.id(), label: account.label() };
            rows.row(name, |ledger| ledger.accounts[account])
        });
        let names = self.part_names(gap_ns).into_iter();
        let parts = names.filter_map(|name| rows.row(name, |ledger| ledger.part_ns(name.account)));
        Some(DeviceChange {
            window: Change::of(window, noise),
            accounts: accounts.collect(),
            parts: parts.collect(),
            gap_ns,
            label: self.label.clone(),
        })
    }

    /// The parts that all runs know, in the order of the accounts.
    fn part_names(&self, gap_ns: Sides<i64>) -> Vec<Name> {
        let mut names: Vec<Name> = Vec::new();
        for part in self.runs.iter().flatten().flat_map(|ledger| &ledger.parts) {
            if !names.iter().any(|name| name.account == part.account) {
                names.push(Name { account: part.account, of: part.of, label: part.label });
            }
        }
        names.sort_by_key(|name| Account::parse(name.of));
        let is_whole = gap_ns == Sides::default();
        names.retain(|name| {
            let is_split = self.runs.iter().flatten().all(|ledger| ledger.splits(name.of));
            name.account != name.of && is_split && (is_whole || name.of != Account::Idle.id())
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
        let measures = self.ledgers.measures(ns)?;
        if measures.base.high <= 0 && measures.head.high <= 0 {
            return None;
        }
        let mut time = Change::of(measures, self.noise);
        let share = measures.zip(self.window).map(|(part, window)| share(part, window));
        // Windows of different work: only what part of them an account is can be held against the other.
        let moved = if self.is_comparable {
            time.difference.unsigned_abs() as f64 / self.window.base.median.max(1) as f64
        } else {
            time.is_change = (share.base - share.head).abs() >= self.noise.floor_share * share.base;
            (share.base - share.head).abs()
        };
        time.is_change &= moved >= LEAST_SHARE;
        let Name { account, of, label } = name;
        Some(AccountChange { account, of, label, time, share })
    }
}

fn share(part: Measure, window: Measure) -> f64 {
    part.median as f64 / window.median.max(1) as f64
}
