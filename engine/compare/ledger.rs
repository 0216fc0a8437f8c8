//! Where the time of each device went, side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use super::measure::{Change, Measure, Noise};
use super::side::{Run, Side, int};
use super::work::Work;
use crate::facts::Entity;
use crate::findings::{DeviceReview, Part};
use crate::text::spans::Sentence;

/// An account that is, and was, a smaller part of the window than this is not said to have changed.
const LEAST_SHARE: f64 = 0.01;

/// The accounts of a window, with the words of a reader.
const ACCOUNTS: [(&str, &str); 6] = [
    ("compute", "compute"),
    ("exposed_communication", "communication"),
    ("exposed_copy", "copy"),
    ("exposed_migration", "unified-memory migration"),
    ("exposed_memset", "memset"),
    ("idle", "idle"),
];

/// One device on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceChange {
    /// Its name for readers, from the head.
    pub label: Sentence,
    /// The window per unit of comparison.
    pub window: Change,
    /// The accounts of the window, per unit of comparison: they sum to it.
    pub accounts: Vec<AccountChange>,
    /// Parts of the accounts; empty where the sides' idle time cannot be told apart so finely.
    pub parts: Vec<AccountChange>,
    /// Idle time between two rounds of work that only the longer side has, and that is left out: base, then head.
    pub between_rounds_ns: [i64; 2],
}

/// An account on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AccountChange {
    /// The fact of the device that it is, without `_ns`.
    pub account: &'static str,
    /// The account that it is part of, or itself.
    pub of: &'static str,
    /// What it is, for readers.
    pub label: &'static str,
    /// How long, per unit of comparison.
    pub time: Change,
    /// Its share of the window: base, then head.
    pub share: [f64; 2],
}

/// All devices, in the order of their numbers. Without a sound unit, changes are those of the shares of the window.
pub(super) fn devices(base: Side<'_>, head: Side<'_>, work: &Work, noise: &Noise) -> Vec<DeviceChange> {
    let count = |side: Side<'_>| side.first().map_or(0, |run| run.devices().len());
    let pairs = 0..count(base).min(count(head));
    pairs.filter_map(|place| device(place, [base, head], work, noise)).collect()
}

/// One device of one run, per unit of work.
struct Ledger {
    window_ns: i64,
    accounts: BTreeMap<&'static str, i64>,
    parts: Vec<Part>,
    between_ns: i64,
}

fn device(place: usize, sides: [Side<'_>; 2], work: &Work, noise: &Noise) -> Option<DeviceChange> {
    let units = work.units();
    let idle = |side: usize| sides[side].median(|run| fact(run, place, "idle_ns")) / units[side];
    let other_idle = [idle(1), idle(0)];
    let ledgers: Vec<Vec<Ledger>> = (0..2)
        .map(|side| {
            let runs = sides[side].runs.iter().enumerate();
            runs.filter_map(|(at, run)| ledger(run, place, work.units_of(side, at), other_idle[side], work)).collect()
        })
        .collect();
    let measure = |side: usize, of: &dyn Fn(&Ledger) -> i64| Measure::of(ledgers[side].iter().map(of));
    let window = [measure(0, &|ledger| ledger.window_ns)?, measure(1, &|ledger| ledger.window_ns)?];
    let judge = Judge { window, noise, is_comparable: work.basis.is_comparable() };
    let row = |account: &'static str, of, label, ns: &dyn Fn(&Ledger) -> i64| {
        let (base, head) = (measure(0, ns)?, measure(1, ns)?);
        (base.high > 0 || head.high > 0).then(|| judge.row(account, of, label, base, head))
    };
    let accounts = ACCOUNTS
        .into_iter()
        .filter_map(|(account, label)| row(account, account, label, &|ledger| ledger.accounts[account]))
        .collect();
    let between_rounds_ns = [0, 1].map(|side| measure(side, &|ledger| ledger.between_ns).map_or(0, |ns| ns.median));
    let mut names: Vec<(&'static str, &'static str, &'static str)> = Vec::new();
    for part in ledgers.iter().flatten().flat_map(|ledger| &ledger.parts) {
        if !names.iter().any(|(account, ..)| *account == part.account) {
            names.push((part.account, part.of, part.label));
        }
    }
    names.sort_by_key(|(_, of, _)| ACCOUNTS.iter().position(|(account, _)| account == of));
    // Absent is not zero: an account that one side cannot split is not split.
    let is_split = |ledger: &Ledger, of: &str| {
        ledger.accounts.get(of).is_none_or(|ns| *ns == 0)
            || ledger.parts.iter().any(|part| part.of == of && part.account != of)
    };
    names.retain(|(account, of, _)| {
        let can_split = ledgers.iter().flatten().all(|ledger| is_split(ledger, of));
        account != of && can_split && (between_rounds_ns == [0, 0] || *of != "idle")
    });
    let part_ns = |ledger: &Ledger, account: &str| {
        ledger.parts.iter().filter(|part| part.account == account).map(|part| part.ns).sum()
    };
    let parts = names
        .into_iter()
        .filter_map(|(account, of, label)| row(account, of, label, &|ledger| part_ns(ledger, account)));
    let label = sides[1].first()?.review.devices.iter().find(|device| {
        Some(&device.key) == sides[1].first().and_then(|run| run.devices().get(place).map(|(_, entity)| &entity.key))
    })?;
    Some(DeviceChange {
        label: label.label.clone(),
        window: Change::new(window[0], window[1], noise),
        parts: parts.collect(),
        accounts,
        between_rounds_ns,
    })
}

/// What all rows of a device share.
struct Judge<'a> {
    window: [Measure; 2],
    noise: &'a Noise,
    is_comparable: bool,
}

impl Judge<'_> {
    fn row(
        &self,
        account: &'static str,
        of: &'static str,
        label: &'static str,
        base: Measure,
        head: Measure,
    ) -> AccountChange {
        let mut time = Change::new(base, head, self.noise);
        let share = [share(base, self.window[0]), share(head, self.window[1])];
        // Windows of different work: only what part of them an account is can be held against the other.
        let moved = if self.is_comparable {
            time.difference.unsigned_abs() as f64 / self.window[0].median.max(1) as f64
        } else {
            time.is_change = (share[0] - share[1]).abs() >= self.noise.floor_share * share[0];
            (share[0] - share[1]).abs()
        };
        time.is_change &= moved >= LEAST_SHARE;
        AccountChange { account, of, label, time, share }
    }
}

fn share(part: Measure, window: Measure) -> f64 {
    part.median as f64 / window.median.max(1) as f64
}

fn fact(run: &Run, place: usize, name: &str) -> i64 {
    run.devices().get(place).map_or(0, |(_, device)| int(device, name))
}

fn ledger(run: &Run, place: usize, units: i64, other_idle_ns: i64, work: &Work) -> Option<Ledger> {
    let devices = run.devices();
    let (_, device) = devices.get(place)?;
    let review = run.review.devices.iter().find(|review| review.key == device.key)?;
    let between_ns =
        if matches!(work.basis, super::Basis::Unit { .. }) { between(device, units, other_idle_ns) } else { 0 };
    let mut accounts: BTreeMap<&'static str, i64> =
        ACCOUNTS.iter().map(|(account, _)| (*account, int(device, &format!("{account}_ns")) / units)).collect();
    accounts.entry("idle").and_modify(|idle| *idle -= between_ns / units);
    Some(Ledger {
        window_ns: (review.window_ns - between_ns) / units,
        accounts,
        parts: scaled(review, units),
        between_ns,
    })
}

fn scaled(review: &DeviceReview, units: i64) -> Vec<Part> {
    review.parts.iter().map(|part| Part { ns: part.ns / units, ..part.clone() }).collect()
}

/// Rounds one after the other have time between them that a single round lacks: at most the longest idle stretch for each
/// of the seams. As much of it is left out as would explain the difference, and no more.
fn between(device: &Entity, units: i64, other_idle_ns: i64) -> i64 {
    let most = (units - 1).saturating_mul(int(device, "idle_longest_ns"));
    let beyond = int(device, "idle_ns") - other_idle_ns.saturating_mul(units);
    beyond.clamp(0, most.max(0))
}
