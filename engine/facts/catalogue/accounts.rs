//! The facts of the accounts, made from their table.

use super::{Fact, FactType};
use crate::ledger::{Account, Breakdown};

/// One fact an account, in the order of the table.
const ACCOUNTS: &[Fact] = &{
    let mut facts = [fact_of(Account::Window); Account::COUNT];
    let mut index = 0;
    while index < facts.len() {
        facts[index] = fact_of(Account::at(index));
        index += 1;
    }
    facts
};

/// The facts of the accounts of one breakdown, which stand together in the table; that of the window for `None`.
pub(super) const fn of(breakdown: Option<Breakdown>) -> &'static [Fact] {
    let mut start = 0;
    while !is_same(Account::at(start).part_of(), breakdown) {
        start += 1;
    }
    let mut end = start;
    while end < Account::COUNT && is_same(Account::at(end).part_of(), breakdown) {
        end += 1;
    }
    ACCOUNTS.split_at(end).0.split_at(start).1
}

const fn is_same(one: Option<Breakdown>, other: Option<Breakdown>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one as u8 == other as u8,
        (None, None) => true,
        _ => false,
    }
}

const fn fact_of(account: Account) -> Fact {
    super::fact(account.fact(), FactType::Int, account.needs(), account.scaling(), account.meaning())
}
