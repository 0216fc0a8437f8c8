//! Where the time of a device's window went, and how much of it all findings together can claim.

use std::collections::BTreeMap;

use super::occurrence::{Context, Occurrence};
use super::scorecard::{Score, Scorecard};
use super::subject::device_label;
use super::work::{self, KernelWork, PhaseWork, StepWork};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::ledger::{Account, Breakdown};
use crate::text::spans::Sentence;

/// One device of a review.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceReview {
    /// The device, in the facts that were reviewed.
    pub entity: EntityId,
    /// Its key in the facts.
    pub key: String,
    /// Its name for readers: `GPU 0 (NVIDIA A100)`.
    pub label: Sentence,
    /// When the window begins, since the start of the capture; absent when the report does not tell.
    pub window_start_ns: Option<i64>,
    /// The length of the window.
    pub window_ns: i64,
    /// Time in which anything runs.
    pub busy_ns: i64,
    /// Time in which a kernel that is not communication runs.
    pub compute_ns: i64,
    /// What the device did: parts that sum to the window, in the order of precedence, none of them empty.
    pub parts: Vec<Part>,
    /// How its idle time began: parts that sum to the idle time; empty when the capture does not tell.
    pub triggers: Vec<Part>,
    /// The kernels that take most of the window, the longest first; at most five.
    pub kernels: Vec<KernelWork>,
    /// The steps that its work repeats; absent where nothing tells them.
    pub steps: Option<StepWork>,
    /// The phase that the window is; absent where it is the whole.
    pub phase: Option<PhaseWork>,
    /// The most that all findings together can gain here: never more than is in the accounts that they draw on.
    pub recoverable_ns: i64,
    /// Its scorecard.
    pub scores: Vec<Score>,
}

/// A part of the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The fact of the device that it is, without `_ns`; `unaccounted` for what no fact covers.
    pub account: &'static str,
    /// The account that it is part of, or itself.
    pub of: &'static str,
    /// What it is, for readers.
    pub label: &'static str,
    /// How long.
    pub ns: i64,
    /// The share of the window.
    pub share: f64,
}

impl Context<'_> {
    /// Where the time of each device went that ran work.
    pub(super) fn devices(&self, scorecard: &Scorecard, shown: &[&Occurrence<'_>]) -> Vec<DeviceReview> {
        let devices = self.facts.of_kind(EntityKind::Device);
        devices
            .filter(|(_, device)| device.int("window_ns").is_some_and(|window| window > 0))
            .map(|(id, device)| DeviceReview {
                recoverable_ns: recoverable(self.facts, id, shown),
                scores: scorecard.of(device),
                kernels: work::kernels(self.facts, id, device.int("window_ns").unwrap_or(0)),
                phase: work::phase(self.facts, id),
                ..review_of(id, device)
            })
            .collect()
    }
}

/// All but the scorecard, the kernels and what can be gained.
fn review_of(entity: EntityId, device: &Entity) -> DeviceReview {
    let window_ns = device.int("window_ns").unwrap_or(0);
    let idle_ns = ns_of(device, Account::Idle);
    let mut parts = parts_of(device, window_ns);
    let known_ns: i64 = parts.iter().map(|part| part.ns).sum();
    parts.extend(unaccounted(window_ns - known_ns, window_ns));
    DeviceReview {
        entity,
        key: device.key.clone(),
        label: device_label(device),
        window_start_ns: device.int("window_start_ns"),
        window_ns,
        busy_ns: device.int("busy_ns").unwrap_or(window_ns - idle_ns),
        compute_ns: ns_of(device, Account::Compute),
        triggers: split(device, Breakdown::Trigger, window_ns).unwrap_or_default(),
        parts,
        kernels: Vec::new(),
        steps: work::steps(device),
        phase: None,
        recoverable_ns: 0,
        scores: Vec::new(),
    }
}

/// What a device or one of its phases did, in the order of precedence; shares are of its length.
pub(super) fn parts_of(entity: &Entity, whole_ns: i64) -> Vec<Part> {
    let mut parts = Vec::new();
    for account in Breakdown::Operation.accounts() {
        match account.breakdown().and_then(|breakdown| split(entity, breakdown, whole_ns)) {
            Some(split) => parts.extend(split),
            None => parts.extend(part(entity, account, account, whole_ns)),
        }
    }
    parts
}

/// The parts of an account, when the facts give parts that sum to it.
fn split(device: &Entity, breakdown: Breakdown, window_ns: i64) -> Option<Vec<Part>> {
    let whole = breakdown.whole();
    let sum: i64 = breakdown.accounts().map(|account| ns_of(device, account)).sum();
    let is_whole = sum == ns_of(device, whole);
    is_whole.then(|| breakdown.accounts().filter_map(|account| part(device, account, whole, window_ns)).collect())
}

fn part(device: &Entity, account: Account, of: Account, window_ns: i64) -> Option<Part> {
    let ns = ns_of(device, account);
    let (account, of, label) = (account.id(), of.id(), account.label());
    (ns != 0).then(|| Part { account, of, label, ns, share: ns as f64 / window_ns as f64 })
}

/// What the accounts leave of the window, of facts that do not add up.
fn unaccounted(ns: i64, window_ns: i64) -> Option<Part> {
    let (account, label) = ("unaccounted", "not accounted for");
    (ns != 0).then(|| Part { account, of: account, label, ns, share: ns as f64 / window_ns as f64 })
}

fn ns_of(device: &Entity, account: Account) -> i64 {
    device.int(account.fact()).unwrap_or(0)
}

/// Claims on one account share it, and accounts that are parts of another share that one. Of what another finding explains only
/// the rest counts: the sum never counts a nanosecond twice, as far as accounts and relations tell.
fn recoverable(facts: &Facts, id: EntityId, occurrences: &[&Occurrence<'_>]) -> i64 {
    let device = facts.get(id);
    let window_ns = device.int("window_ns").unwrap_or(0);
    let is_only = facts.of_kind(EntityKind::Device).count() == 1;
    let mut claims: BTreeMap<Account, i64> = BTreeMap::new();
    for occurrence in occurrences {
        let on = facts.related(occurrence.entity, EntityKind::Device);
        if (on == Some(id) || (on.is_none() && is_only))
            && let (Some(ns), Some(estimate)) = (occurrence.own_ns, &occurrence.found.estimate)
            && let Some(account) = Account::parse(&estimate.account)
        {
            let claim = claims.entry(account).or_default();
            *claim = claim.saturating_add(ns);
        }
    }
    let mut tops: BTreeMap<Account, i64> = BTreeMap::new();
    for (account, claim) in claims {
        let held = claim.min(ns_of(device, account).max(0));
        let top = tops.entry(account.top()).or_default();
        *top = top.saturating_add(held);
    }
    let total: i64 = tops.into_iter().map(|(account, claim)| claim.min(ns_of(device, account).max(0))).sum();
    total.min(window_ns)
}
