//! The facts of the accounts, made from their table.

use super::{Fact, FactType, Needs};
use crate::ledger::Account;
use crate::ledger::accounts::Evidence;

/// One fact an account, in the order of the table.
pub(super) const ACCOUNTS: [Fact; Account::COUNT] = {
    let mut facts = [fact_of(Account::Window); Account::COUNT];
    let mut index = 0;
    while index < facts.len() {
        facts[index] = fact_of(Account::at(index));
        index += 1;
    }
    facts
};

const fn fact_of(account: Account) -> Fact {
    let needs = match account.evidence() {
        Evidence::Operations => Needs::CudaTrace,
        Evidence::Calls => Needs::CudaApi,
        Evidence::DeviceProperties => Needs::DeviceInfo,
    };
    super::fact(account.fact(), FactType::Int, needs, account.scaling(), account.meaning())
}
