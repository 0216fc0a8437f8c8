//! The facts of the accounts, made from their table.

use super::{Fact, FactType};
use crate::ledger::accounts::Scaling;
use crate::ledger::{Account, Breakdown};
use crate::timeline::Capability;

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

/// How many accounts come in pieces that may occur once.
const CAN_BE_ONCE_COUNT: usize = {
    let (mut count, mut index) = (0, 0);
    while index < Account::COUNT {
        count += if Account::at(index).can_be_once() { 1 } else { 0 };
        index += 1;
    }
    count
};

/// Two facts an account that may occur once: how much of it, and in how many pieces.
pub(super) const ONCE: &[Fact] = &{
    let mut facts = [fact_of(Account::Window); 2 * CAN_BE_ONCE_COUNT];
    let (mut index, mut next) = (0, 0);
    while index < Account::COUNT {
        let account = Account::at(index);
        if account.can_be_once() {
            facts[next] =
                super::fact(account.once_fact(), FactType::Int, account.needs(), Scaling::OneTime, ONCE_MEANING);
            facts[next + 1] = super::fact(
                account.once_count_fact(),
                FactType::Int,
                account.needs(),
                Scaling::OneTime,
                ONCE_COUNT_MEANING,
            );
            next += 2;
        }
        index += 1;
    }
    facts
};

/// How many accounts have a longest piece to look at.
const PLACE_COUNT: usize = {
    let (mut count, mut index) = (0, 0);
    while index < Account::COUNT {
        count += if Account::at(index).has_place() { 1 } else { 0 };
        index += 1;
    }
    count
};

/// Two facts an account with a place: its longest piece, and when that begins.
pub(super) const PLACES: &[Fact] = &{
    let mut facts = [fact_of(Account::Window); 2 * PLACE_COUNT];
    let (mut index, mut next) = (0, 0);
    while index < Account::COUNT {
        let account = Account::at(index);
        if account.has_place() {
            facts[next] =
                super::fact(account.longest_fact(), FactType::Int, account.needs(), Scaling::OneTime, LONGEST_MEANING);
            facts[next + 1] = super::fact(
                account.longest_start_fact(),
                FactType::Int,
                account.needs(),
                Scaling::Incomparable,
                LONGEST_START_MEANING,
            );
            next += 2;
        }
        index += 1;
    }
    facts
};

const LONGEST_MEANING: &str = "The longest piece of the account of that name, of one operation or one stretch and without a break; absent where the account is empty.";
const LONGEST_START_MEANING: &str = "When that piece begins. For readers and scripts: where to look.";

const ONCE_MEANING: &str = "The part of the account of that name that occurs once: its longest piece, or its two or three longest ones where the work repeats 8 or 12 times, if they hold 80 % of it, else 0; where no steps are told, what lies before each of the kernels that repeat and are most of the work has run, if that is 80 % of it. Absent where the work repeats fewer than 4 times, but for a single collective in two or three steps.";
const ONCE_COUNT_MEANING: &str = "In how many pieces that part comes: 1 to 3; 4 for all that lies before the work that repeats, 0 where there is none.";

/// How many accounts the host's code brings about.
const WITH_SOURCE_COUNT: usize = {
    let (mut count, mut index) = (0, 0);
    while index < Account::COUNT {
        count += if Account::at(index).has_source() { 1 } else { 0 };
        index += 1;
    }
    count
};

/// Three facts an account that the host's code brings about: the line, how much of it comes from there, and whether the line is
/// in the project.
pub(super) const SOURCES: &[Fact] = &{
    let mut facts = [fact_of(Account::Window); 3 * WITH_SOURCE_COUNT];
    let (mut index, mut next) = (0, 0);
    while index < Account::COUNT {
        let account = Account::at(index);
        if account.has_source() {
            let source = account.source();
            facts[next] = of_stacks(source.place, FactType::Text, Scaling::Incomparable, SOURCE_MEANING);
            facts[next + 1] = of_stacks(source.share, FactType::Float, Scaling::Intensive, SOURCE_SHARE_MEANING);
            facts[next + 2] =
                of_stacks(source.is_in_project, FactType::Bool, Scaling::Incomparable, SOURCE_PLACE_MEANING);
            next += 3;
        }
        index += 1;
    }
    facts
};

const fn of_stacks(name: &'static str, kind: FactType, scaling: Scaling, meaning: &'static str) -> Fact {
    super::fact(name, kind, Capability::CallStacks, scaling, meaning)
}

const SOURCE_MEANING: &str = "The line of the program's own code that the launching thread was in for most of the account of that name, as `train.py:118 (train_step)`: with Python frames, the line at which the function begins. Where the lines of one function have half of the time together, and none has it alone, the function with its file, as `train_step (train.py)`. Host code and blocked time that fetch data are left out. Absent when nothing has half of the time, and where one stay in that line holds nearly all of the window while a function or an operator further inside holds 60 % of the account.";
const SOURCE_SHARE_MEANING: &str = "The part of the account's time, as far as it counts, that comes from that line.";
const SOURCE_PLACE_MEANING: &str = "Whether that file lies below the project's folder.";

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
