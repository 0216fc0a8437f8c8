//! The ledger as a bar of characters, with the rows that explain it.

use super::json::Part;
use crate::ledger::Account;

/// How many characters a bar is long.
const WIDTH: i64 = 60;
/// Smaller parts share a row.
const ROW_SHARE: f64 = 0.01;

/// The character of an account in the bar.
pub(super) fn sign(account: &str) -> &'static str {
    Account::parse(account).map_or("?", Account::sign)
}

/// One character for each sixtieth of the window, rounded so that the bar is always full.
pub(super) fn bar(parts: &[Part], window_ns: i64) -> String {
    let mut bar = String::new();
    let (mut reached_ns, mut drawn) = (0i128, 0i128);
    for part in parts {
        reached_ns += i128::from(part.ns.max(0));
        // Rounding where a part ends, not its length, keeps the error under one character.
        let end = (reached_ns * i128::from(WIDTH) * 2 + i128::from(window_ns)) / (2 * i128::from(window_ns.max(1)));
        let end = end.min(i128::from(WIDTH));
        bar.extend((drawn..end).map(|_| sign(part.of)));
        drawn = drawn.max(end);
    }
    bar
}

/// The parts, with those under 1 % of the window put together by account where there are several. They still sum.
pub(super) fn rows(parts: &[Part]) -> Vec<Part> {
    let is_small = |part: &Part| part.share < ROW_SHARE;
    let mut rows: Vec<Part> = Vec::new();
    for part in parts {
        let small: Vec<&Part> = parts.iter().filter(|other| other.of == part.of && is_small(other)).collect();
        if !is_small(part) || small.len() < 2 {
            rows.push(part.clone());
        } else if small.first().is_some_and(|first| first.account == part.account) {
            rows.push(Part {
                account: part.of,
                of: part.of,
                label: format!("{} smaller parts", small.len()),
                ns: small.iter().map(|part| part.ns).sum(),
                share: small.iter().map(|part| part.share).sum(),
            });
        }
    }
    for row in rows.iter_mut().filter(|row| row.account != row.of || row.label.ends_with("parts")) {
        let of = Account::parse(row.of).map_or("", Account::label);
        if !row.label.starts_with(of) {
            row.label = format!("{of}: {}", row.label);
        }
    }
    // Within an account the largest first; "smaller parts" last.
    let order = |of: &str| parts.iter().position(|part| part.of == of);
    rows.sort_by_key(|row| (order(row.of), row.account == row.of, std::cmp::Reverse(row.ns)));
    rows
}

/// One part for each account, the largest first: what a line can say of a device.
pub(super) fn accounts(parts: &[Part]) -> Vec<Part> {
    let mut accounts: Vec<Part> = Vec::new();
    for part in parts {
        match accounts.iter_mut().find(|account| account.of == part.of) {
            Some(account) => {
                account.ns += part.ns;
                account.share += part.share;
            }
            None => {
                let label = Account::parse(part.of).map_or_else(|| part.label.clone(), |of| of.label().to_owned());
                accounts.push(Part { account: part.of, label, ..part.clone() });
            }
        }
    }
    accounts.sort_by_key(|account| std::cmp::Reverse(account.ns));
    accounts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bars_are_full_and_rows_sum(sizes in prop::collection::vec(0i64..1_000_000_000_000, 1..12)) {
            let accounts = ["compute", "exposed_copy", "idle", "idle", "idle", "idle"];
            let window_ns: i64 = sizes.iter().sum::<i64>().max(1);
            let mut parts: Vec<Part> = sizes
                .iter()
                .zip(accounts)
                .enumerate()
                .map(|(index, (ns, of))| Part { account: ["a", "b", "c", "d", "e", "f"][index], of, label: "x".to_owned(), ns: *ns, share: *ns as f64 / window_ns as f64 })
                .collect();
            let known: i64 = parts.iter().map(|part| part.ns).sum();
            parts.push(Part { account: "z", of: "unaccounted", label: "rest".to_owned(), ns: window_ns - known, share: 0.0 });
            prop_assert_eq!(bar(&parts, window_ns).chars().count(), 60);
            prop_assert_eq!(rows(&parts).iter().map(|row| row.ns).sum::<i64>(), window_ns);
        }
    }
}
