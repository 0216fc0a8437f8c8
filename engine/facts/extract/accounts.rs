//! The accounts of a device's window, as its facts.

use super::DeviceContext;
use crate::facts::Entity;
use crate::ledger::Account;
use crate::timeline::{Capability, Timeline};

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    for account in Account::all().filter(|account| is_told(timeline, device, *account)) {
        facts.set(account.fact(), device.account_ns(account));
    }
}

/// Whether the recording tells an account.
fn is_told(timeline: &Timeline, device: &DeviceContext, account: Account) -> bool {
    match account.needs() {
        // Without the calls of its processes nothing is known of the host: then only the unknown has a number.
        Capability::CudaApi => device.knows_host || matches!(account, Account::IdleUnknown | Account::AfterUnknown),
        Capability::DeviceInfo => device.properties(timeline).is_some_and(|known| known.sm_count.is_some()),
        _ => true,
    }
}
