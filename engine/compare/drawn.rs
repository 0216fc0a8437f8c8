//! Which ways the time went that findings draw on.

use foldhash::HashMap;

use super::ledger::DeviceChange;
use super::measure::Trend;
use super::runs::{Run, name_of};
use crate::facts::{EntityId, EntityKind};
use crate::ledger::Account;

/// Which ways what a finding draws on went.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub(super) has_grown: bool,
    pub(super) has_shrunk: bool,
    pub(super) is_changed: bool,
}

impl Drawn {
    /// Of all that it draws on.
    pub(super) fn of(trends: &[Trend]) -> Self {
        let has = |trend| trends.contains(&trend);
        Self { has_grown: has(Trend::Up), has_shrunk: has(Trend::Down), is_changed: has(Trend::Up) || has(Trend::Down) }
    }

    /// Whether any of it went that way; the same, where all of it did.
    pub(super) fn has(self, trend: Trend) -> bool {
        match trend {
            Trend::Up => self.has_grown,
            Trend::Down => self.has_shrunk,
            Trend::Same => !self.is_changed,
        }
    }
}

/// Which way an account went. Where it is not told apart on both sides the account of the window that it lies in tells, if that
/// moved.
pub(super) fn account_trend(device: &DeviceChange, account: Account) -> Option<Trend> {
    if account == Account::Window {
        return Some(device.window.trend());
    }
    let drift = |id: &str| {
        let mut changes = device.accounts.iter().chain(&device.parts);
        changes.find(|change| change.account == id).map(|change| change.drift)
    };
    drift(account.id()).or_else(|| drift(account.top().id()).filter(|drift| *drift != Trend::Same))
}

/// The sums of a run's kernels, ranges and copies of a name, of each device and of all.
pub(super) type Times<'a> = HashMap<(EntityKind, Option<EntityId>, &'a str), i64>;

/// Those of a run.
pub(super) fn times(run: &Run) -> Times<'_> {
    let mut times = Times::default();
    for (kind, fact) in
        [(EntityKind::Kernel, "sum_ns"), (EntityKind::Range, "sum_ns"), (EntityKind::CopyGroup, "busy_ns")]
    {
        for (id, entity) in run.facts.of_kind(kind) {
            let own = run.facts.related(id, EntityKind::Device).map(Some);
            for device in std::iter::once(None).chain(own) {
                let sum_ns = times.entry((kind, device, name_of(entity))).or_default();
                *sum_ns = sum_ns.saturating_add(entity.int(fact).unwrap_or(0));
            }
        }
    }
    times
}
