//! What explains a change: the accounts that moved with it, the findings and kernels behind them, and what moved against it.

use super::calls::{CallChange, SameCalls};
use super::ledger::{AccountChange, DeviceChange};
use super::measure::Trend;
use super::sides::Sides;
use super::state::State;
use super::verdict::Outcome;
use super::{Measured, words};
use crate::ledger::Account;
use crate::text::spans::Sentence;
use crate::text::{names, number};

/// More are no explanation.
const MOST: usize = 3;
/// What moved against a change by less than this part of it is no word worth.
const AGAINST_SHARE: f64 = 0.1;
/// A kernel that changed by less than this part of the window does not matter.
const LEAST_SHARE: f64 = 0.01;
/// As much of what idle time grew by lies in its longest stretch when that is what happened.
const PAUSE_SHARE: f64 = 0.75;
/// And by at least this part of it longer than that of the other side.
const PAUSE_LONGER_SHARE: f64 = 0.1;

/// What explains a change, and what moved against it.
#[derive(Debug, Default)]
pub(super) struct Causes {
    /// The likeliest first.
    pub(super) list: Vec<Sentence>,
    /// What went the other way, as a whole sentence without its full stop.
    pub(super) against: Option<Sentence>,
}

pub(super) fn causes(measured: &Measured) -> Causes {
    let (mut list, against) = match measured.outcome {
        Outcome::NoChange => (kernels(measured), None),
        Outcome::NotComparable => (shares(measured), None),
        Outcome::Faster => (moved(measured, Trend::Down), against(measured, Trend::Up)),
        Outcome::Slower => (moved(measured, Trend::Up), against(measured, Trend::Down)),
    };
    list.truncate(MOST);
    Causes { list, against }
}

/// Where nothing changed as a whole: the kernels that changed all the same.
fn kernels(measured: &Measured) -> Vec<Sentence> {
    let window_ns: i64 = measured.devices.iter().map(|device| device.window.base.median).sum();
    let is_large =
        |kernel: &&CallChange| kernel.total.difference.unsigned_abs() as f64 >= LEAST_SHARE * window_ns.max(1) as f64;
    // With another number of rounds the calls of one that is cut are no change.
    let is_meant = |kernel: &&CallChange| {
        measured.work.is_same_amount() || kernel.call.as_ref().is_some_and(|call| call.is_change)
    };
    let changed = measured.kernels.iter().filter(is_large).filter(is_meant);
    changed.map(|kernel| of_kernel(measured, Sentence::default(), kernel)).collect()
}

/// The accounts that moved as the time did, the most moved first.
fn moved(measured: &Measured, trend: Trend) -> Vec<Sentence> {
    let clocks = common(measured, trend);
    let Some((index, device)) = culprit(measured, trend) else { return clocks.into_iter().collect() };
    let mut accounts: Vec<&AccountChange> = finest(device).filter(|account| account.time.trend() == trend).collect();
    accounts.sort_by_key(|account| std::cmp::Reverse(account.time.difference.unsigned_abs()));
    let accounts = accounts.into_iter().map(|account| cause(measured, index, account, trend));
    clocks.into_iter().chain(accounts).collect()
}

/// All kernels by one factor: clocks, and not code.
fn common(measured: &Measured, trend: Trend) -> Option<Sentence> {
    let factor = measured.common_factor?;
    let (is_up, way) = if factor > 0.0 { (true, "longer") } else { (false, "shorter") };
    let text = format!(
        "calls of all kernels take about {} {way}, alike: clocks, power or another machine do that, a change of code hardly ever",
        number::percent(factor.abs())
    );
    (is_up == (trend == Trend::Up)).then(|| Sentence::default().own(&text))
}

/// The device whose own work explains the change: communication is also waiting for another one. The slowest where no work
/// does.
fn culprit(measured: &Measured, trend: Trend) -> Option<(usize, &DeviceChange)> {
    let devices = || measured.devices.iter().enumerate();
    let sign = if trend == Trend::Up { 1 } else { -1 };
    let own = |device: &DeviceChange| {
        let waiting = device.accounts.iter().find(|account| account.account == Account::ExposedCommunication.id());
        sign * (device.window.difference - waiting.map_or(0, |account| account.time.difference))
    };
    let slowest = devices().max_by_key(|(_, device)| device.window.head.median.max(device.window.base.median))?;
    let most = devices().max_by_key(|(_, device)| own(device))?;
    // As long as the slowest explains most of it, it is what the time is about.
    Some(if own(slowest.1).saturating_mul(2) >= own(most.1) && own(slowest.1) > 0 && !is_on_one(measured) {
        slowest
    } else {
        most
    })
}

/// Whether kernels changed on some devices only.
fn is_on_one(measured: &Measured) -> bool {
    measured.kernels.first().is_some_and(|kernel| kernel.device.is_some())
}

/// Parts where an account has them, else the account.
fn finest(device: &DeviceChange) -> impl Iterator<Item = &AccountChange> {
    let is_split = |account: &&AccountChange| !device.parts.iter().any(|part| part.of == account.account);
    device.accounts.iter().filter(is_split).chain(&device.parts)
}

fn cause(measured: &Measured, device: usize, account: &AccountChange, trend: Trend) -> Sentence {
    let words = on_device(measured, device);
    let words = words.own(&format!("{}, {}", title(account), words::time(&account.time)));
    if let Some(kernel) = kernel_of(measured, device, account, trend) {
        return of_kernel(measured, words.own(" (most by "), kernel).own(")");
    }
    if let Some(pause_ns) = pause(measured, device, account) {
        return words.own(&format!(" (a single pause of {})", number::duration(pause_ns)));
    }
    match finding_of(measured, device, account, trend) {
        Some((state, title)) => words.own(&format!(" ({}: {title})", state.name())),
        None => words,
    }
}

fn on_device(measured: &Measured, device: usize) -> Sentence {
    let words = Sentence::default();
    match measured.devices.get(device) {
        Some(of) if measured.devices.len() > 1 => words.sentence(&of.label).own(": "),
        _ => words,
    }
}

/// The kernel that an account moved with.
fn kernel_of<'a>(
    measured: &'a Measured,
    device: usize,
    account: &AccountChange,
    trend: Trend,
) -> Option<&'a CallChange> {
    let is_of_kernels =
        matches!(Account::parse(account.account), Some(Account::Compute | Account::ExposedCommunication));
    let is_meant = |kernel: &&CallChange| kernel.trend() == trend && kernel.device.is_none_or(|of| of == device);
    measured.kernels.iter().find(is_meant).filter(|_| is_of_kernels && measured.common_factor.is_none())
}

/// The finding that draws on an account: on the very account, else on the one that it is part of.
fn finding_of<'a>(
    measured: &'a Measured,
    device: usize,
    account: &AccountChange,
    trend: Trend,
) -> Option<(State, &'a str)> {
    let is_state = |state: State| match trend {
        Trend::Up => state.is_regression(),
        _ => matches!(state, State::Gone | State::Better),
    };
    let of = |drawn: &str| {
        measured.findings.iter().find(|finding| {
            is_state(finding.state)
                && finding.account.as_deref() == Some(drawn)
                && finding.device.is_none_or(|of| of == device)
        })
    };
    let found = of(account.account).or_else(|| of(account.of));
    found.map(|finding| (finding.state, finding.title.as_str()))
}

/// The longest stretch of idle time, where it alone is what came or went.
fn pause(measured: &Measured, device: usize, account: &AccountChange) -> Option<i64> {
    let device = measured.devices.get(device)?;
    if Account::parse(account.of) != Some(Account::Idle) || !measured.work.is_same_amount() {
        return None;
    }
    let units = measured.work.units();
    let of_all = (account.time.base.median as f64 * units.base - account.time.head.median as f64 * units.head).abs();
    let Sides { base, head } = device.longest_idle_ns;
    let is_all = |ns: i64| (PAUSE_SHARE..=1.0 / PAUSE_SHARE).contains(&(ns as f64 / of_all.max(1.0)));
    // Where the other side has a long stretch too, the new one is longer, and as long as all that came.
    let is_new = base.abs_diff(head) as f64 >= PAUSE_LONGER_SHARE * of_all && is_all(base.max(head));
    (is_all((base - head).abs()) || is_new).then_some(base.max(head))
}

/// What a kernel does otherwise: `` `sgemm`, 12 ms (8 %) slower a call ``.
fn of_kernel(measured: &Measured, words: Sentence, kernel: &CallChange) -> Sentence {
    let words = words.code(&names::shorten(&kernel.name));
    let words = match kernel.device.and_then(|device| measured.devices.get(device)) {
        Some(device) => words.own(" on ").sentence(&device.label).own(" alone"),
        None => words,
    };
    let words = match &kernel.was {
        Some(was) => words.own(" in place of ").code(&names::shorten(was)),
        None => words,
    };
    let words = words.own(", ");
    let Sides { base, head } = kernel.count;
    match &kernel.call {
        None if base == 0 => words.own("which is new"),
        None => words.own("which is gone"),
        Some(call) if call.is_change => words.own(&words::speed(call)).own(" a call"),
        Some(_) => words.own(&format!("with {} calls", words::counted(base, head))),
    }
}

/// What went against the change, and what it would be without: an account of the culprit, with its kernel; else a kernel.
fn against(measured: &Measured, trend: Trend) -> Option<Sentence> {
    let time = measured.time.as_ref()?;
    let (index, device) = culprit(measured, if trend == Trend::Up { Trend::Down } else { Trend::Up })?;
    let least = (AGAINST_SHARE * time.change.difference.unsigned_abs() as f64)
        .max(LEAST_SHARE * device.window.base.median as f64);
    let is_large = |difference: i64| difference.unsigned_abs() as f64 >= least;
    // The whole accounts: parts of one that change places are not against each other.
    let accounts =
        device.accounts.iter().filter(|account| account.time.trend() == trend && is_large(account.time.difference));
    // Without it a GPU that others outlast would change, and the time would not.
    let is_slowest = measured.devices.iter().all(|other| {
        let windows = other.window.sides().zip(device.window.sides());
        windows.iter().all(|(other, own)| other.median <= own.median)
    });
    let accounts = accounts.filter(|_| is_slowest);
    if let Some(account) = accounts.max_by_key(|account| account.time.difference.unsigned_abs()) {
        let would = time.change.difference.saturating_sub(account.time.difference);
        let share = would as f64 / time.change.base.median.max(1) as f64;
        let way = if would < 0 { "faster" } else { "slower" };
        let text = format!("It would be {} {way}, but for ", number::percent(share.abs()));
        return Some(Sentence::default().own(&text).sentence(&cause(measured, index, account, trend)));
    }
    let kernel = measured.kernels.iter().find(|kernel| kernel.trend() == trend && is_large(kernel.total.difference))?;
    let size = format!(": {}{}", words::time(&kernel.total), measured.work.basis.per());
    Some(of_kernel(measured, Sentence::default().own("Against it goes "), kernel).own(&size))
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
    shares.take(MOST - 1).chain(measured.same_calls.map(same_calls)).collect()
}

fn same_calls(SameCalls { shared, same }: SameCalls) -> Sentence {
    let of = match shared {
        0.9995.. => "the kernel time".to_owned(),
        _ => format!("the time in kernels that both sides run ({} of it all)", number::percent(shared)),
    };
    let words = match same {
        0.9995.. => format!("a call takes as long as before for all of {of}"),
        0.5.. => format!("a call takes as long as before for {} of {of}", number::percent(same)),
        _ => format!("a call takes longer or shorter for {} of {of}", number::percent(1.0 - same)),
    };
    Sentence::default().own(&words)
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
