//! What explains a change: the accounts that moved with it, and the findings and kernels behind them.

use super::calls::{CallChange, SameCalls};
use super::finding::State;
use super::ledger::{AccountChange, DeviceChange};
use super::measure::Trend;
use super::sides::Sides;
use super::verdict::Outcome;
use super::{Measured, words};
use crate::ledger::Account;
use crate::text::spans::Sentence;
use crate::text::{names, number};

/// More are no explanation.
const MOST: usize = 3;

pub(super) fn causes(measured: &Measured) -> Vec<Sentence> {
    let mut causes = match measured.outcome {
        Outcome::NoChange => Vec::new(),
        Outcome::NotComparable => shares(measured),
        Outcome::Faster => moved(measured, Trend::Down),
        Outcome::Slower => moved(measured, Trend::Up),
    };
    causes.truncate(MOST);
    causes
}

/// The accounts that moved as the time did, the most moved first.
fn moved(measured: &Measured, trend: Trend) -> Vec<Sentence> {
    // The slowest device is what the time is about.
    let slowest = measured
        .devices
        .iter()
        .enumerate()
        .max_by_key(|(_, device)| device.window.head.median.max(device.window.base.median));
    let Some((index, device)) = slowest else { return Vec::new() };
    let mut accounts: Vec<&AccountChange> = finest(device).filter(|account| account.time.trend() == trend).collect();
    accounts.sort_by_key(|account| std::cmp::Reverse(account.time.difference.unsigned_abs()));
    accounts.into_iter().map(|account| cause(measured, index, account, trend)).collect()
}

/// Parts where an account has them, else the account.
fn finest(device: &DeviceChange) -> impl Iterator<Item = &AccountChange> {
    let is_split = |account: &&AccountChange| !device.parts.iter().any(|part| part.of == account.account);
    device.accounts.iter().filter(is_split).chain(&device.parts)
}

fn cause(measured: &Measured, device: usize, account: &AccountChange, trend: Trend) -> Sentence {
    let words = Sentence::default().own(&format!("{}, {}", title(account), words::time(&account.time)));
    let finding = measured.findings.iter().find(|finding| {
        let is_state = match trend {
            Trend::Up => matches!(finding.state, State::New | State::Worse),
            _ => matches!(finding.state, State::Gone | State::Better),
        };
        let draws = finding.account.as_deref().is_some_and(|drawn| drawn == account.account || drawn == account.of);
        is_state && draws && finding.device.is_none_or(|of| of == device)
    });
    if matches!(Account::parse(account.account), Some(Account::Compute | Account::ExposedCommunication)) {
        let is_same = |kernel: &&CallChange| kernel.total.trend() == trend;
        if let Some(kernel) = measured.kernels.iter().find(is_same) {
            return of_kernel(words.own(" (most by "), kernel).own(")");
        }
    }
    match finding {
        Some(finding) => words.own(&format!(" ({}: {})", finding.state.name(), finding.title)),
        None => words,
    }
}

fn of_kernel(words: Sentence, kernel: &CallChange) -> Sentence {
    let words = words.code(&names::shorten(&kernel.name)).own(", ");
    let Sides { base, head } = kernel.count;
    match &kernel.call {
        None if base == 0 => words.own("which is new"),
        None => words.own("which is gone"),
        Some(call) if call.is_change => words.own(&words::speed(call)).own(" a call"),
        Some(_) => words.own(&format!("with {} calls", words::counted(base, head))),
    }
}

/// Where windows hold different work: the accounts whose share of the window moved most.
fn shares(measured: &Measured) -> Vec<Sentence> {
    let mut found: Vec<(f64, Sentence)> = Vec::new();
    for device in &measured.devices {
        for account in device.accounts.iter().filter(|account| account.time.is_change) {
            let Sides { base, head } = account.share;
            let way = if head > base { "rose" } else { "fell" };
            let text = format!(
                ": {} {way} from {} to {} of the window",
                account.label,
                number::percent(base),
                number::percent(head)
            );
            found.push(((base - head).abs(), Sentence::default().sentence(&device.label).own(&text)));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shares = found.into_iter().map(|(_, sentence)| sentence);
    let calls = measured.same_calls.map(|SameCalls { shared, same }| {
        let of = match shared {
            0.9995.. => "the kernel time".to_owned(),
            _ => format!("the time in kernels that both sides run ({} of it all)", number::percent(shared)),
        };
        let words = match same {
            0.9995.. => "a call takes as long as before for every kernel of both sides".to_owned(),
            0.5.. => format!("a call takes as long as before for {} of {of}", number::percent(same)),
            _ => format!("a call takes longer or shorter for {} of {of}", number::percent(1.0 - same)),
        };
        Sentence::default().own(&words)
    });
    shares.take(MOST - 1).chain(calls).collect()
}

fn title(account: &AccountChange) -> String {
    if account.of == account.account {
        return account.label.to_owned();
    }
    match Account::parse(account.of) {
        Some(Account::Idle) => format!("idle time ({})", account.label),
        _ => account.label.to_owned(),
    }
}
