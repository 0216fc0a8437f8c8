//! Parts of a window or of a phase: accounts with their shares.

use crate::facts::Entity;
use crate::ledger::{Account, Breakdown};
use crate::timeline::api::{ApiClass, classify, normal_name};

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
pub(super) fn split(device: &Entity, breakdown: Breakdown, window_ns: i64) -> Option<Vec<Part>> {
    let whole = breakdown.whole();
    let sum: i64 = breakdown.accounts().map(|account| ns_of(device, account)).sum();
    let is_whole = sum == ns_of(device, whole);
    is_whole.then(|| breakdown.accounts().filter_map(|account| part(device, account, whole, window_ns)).collect())
}

fn part(device: &Entity, account: Account, of: Account, window_ns: i64) -> Option<Part> {
    let ns = ns_of(device, account);
    let (account, of, label) = (account.id(), of.id(), label_of(device, account));
    (ns != 0).then(|| Part { account, of, label, ns, share: ns as f64 / window_ns as f64 })
}

/// What an account is called on a device. Calls that ask for copies, sets and prefetches are no launches.
fn label_of(device: &Entity, account: Account) -> &'static str {
    let is_launch = |call: &str| classify(normal_name(call)) == ApiClass::Launch;
    match device.text("idle_launch_call") {
        Some(call) if account == Account::IdleLaunch && !is_launch(call) => "asynchronous calls",
        _ => account.label(),
    }
}

/// What the accounts leave of the window, of facts that do not add up.
pub(super) fn unaccounted(ns: i64, window_ns: i64) -> Option<Part> {
    let (account, label) = ("unaccounted", "not accounted for");
    // Facts that are rounded one by one may be a few nanoseconds more than the window.
    (ns > 0).then(|| Part { account, of: account, label, ns, share: ns as f64 / window_ns as f64 })
}

pub(super) fn ns_of(device: &Entity, account: Account) -> i64 {
    device.int(account.fact()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;

    #[test]
    fn what_asks_for_memory_work_is_no_launching() {
        let mut device = Entity::new(EntityKind::Device, "gpu0".to_owned(), Vec::new());
        assert_eq!(label_of(&device, Account::IdleLaunch), "launching");
        device.set("idle_launch_call", "cudaLaunchKernel");
        assert_eq!(label_of(&device, Account::IdleLaunch), "launching");
        device.set("idle_launch_call", "cudaMemPrefetchAsync");
        assert_eq!(label_of(&device, Account::IdleLaunch), "asynchronous calls");
        assert_eq!(label_of(&device, Account::IdleSync), Account::IdleSync.label());
    }

    #[test]
    fn parts_that_are_a_little_more_than_the_window_leave_nothing() {
        assert_eq!(unaccounted(-3, 100), None);
        assert_eq!(unaccounted(0, 100), None);
        assert!(unaccounted(3, 100).is_some_and(|part| part.ns == 3));
    }
}
