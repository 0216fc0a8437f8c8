//! Sentences about changes that read right in both directions.

use super::interval::Interval;
use super::measure::{Change, Noise, Trend};
use crate::text::number;

/// Larger shares are not printed.
const MOST_SHARE: f64 = 100.0;

/// `12 ms (8 %) faster`, `12 ms (8 %) slower`, `no change`.
pub(super) fn speed(change: &Change) -> String {
    sized(change, number::duration, "slower", "faster")
}

/// `12 ms (8 %) more`, `12 ms (8 %) less`, `no change`.
pub(super) fn time(change: &Change) -> String {
    sized(change, number::duration, "more", "less")
}

/// `120 (8 %) more`, `120 (8 %) fewer`, for what can be counted.
pub(super) fn counted(base: i64, head: i64) -> String {
    let share = (base != 0).then(|| format!(" ({})", number::percent(base.abs_diff(head) as f64 / base as f64)));
    let size = number::count(i64::try_from(base.abs_diff(head)).unwrap_or(i64::MAX));
    match head.cmp(&base) {
        std::cmp::Ordering::Greater => format!("{size}{} more", share.unwrap_or_default()),
        std::cmp::Ordering::Less => format!("{size}{} fewer", share.unwrap_or_default()),
        std::cmp::Ordering::Equal => "no change".to_owned(),
    }
}

/// `28 to 33 % by 5 and 5 runs`: between which bounds a change lies; nothing with one run a side.
pub(super) fn bounds(change: &Change, noise: &Noise) -> String {
    let Some(Interval { low, high, .. }) = change.interval else { return String::new() };
    let runs = format!("{} and {} runs", noise.base_runs, noise.head_runs);
    match (signed(low), signed(high)) {
        (low, high) if low == high => format!("{low} by {runs}"),
        (low, high) => format!("{low} to {high} by {runs}"),
    }
}

/// `+5 %`, `−3 %`.
pub(crate) fn signed(share: f64) -> String {
    format!("{}{}", if share < 0.0 { "−" } else { "+" }, number::percent(share.abs()))
}

fn sized(change: &Change, print: impl Fn(i64) -> String, up: &str, down: &str) -> String {
    let size = print(i64::try_from(change.difference.unsigned_abs()).unwrap_or(i64::MAX));
    // Of next to nothing no share says anything.
    let share = change.share.filter(|share| share.abs() < MOST_SHARE);
    let share = share.map_or_else(String::new, |share| format!(" ({})", number::percent(share.abs())));
    match change.trend() {
        Trend::Up => format!("{size}{share} {up}"),
        Trend::Down => format!("{size}{share} {down}"),
        Trend::Same => "no change".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Values;
    use super::super::sides::Sides;
    use super::*;

    fn change(base: i64, head: i64) -> Change {
        let one = |value| Values::of([value]).unwrap();
        Change::of(&Sides { base: one(base), head: one(head) }, &Noise::new(1, 1, None))
    }

    #[test]
    fn bounds_have_their_sign_and_the_number_of_runs() {
        let many = |values: &[i64]| Values::of(values.iter().copied()).unwrap();
        let noise = Noise::new(3, 3, None);
        let found = Change::of(&Sides { base: many(&[100, 101, 99]), head: many(&[110, 111, 109]) }, &noise);
        assert_eq!(bounds(&found, &noise), "+6.9 % to +13 % by 3 and 3 runs");
        assert_eq!(bounds(&change(100, 110), &Noise::new(1, 1, None)), "");
    }

    #[test]
    fn both_directions_read_right() {
        assert_eq!(speed(&change(100_000_000, 112_000_000)), "12 ms (12 %) slower");
        assert_eq!(speed(&change(112_000_000, 100_000_000)), "12 ms (11 %) faster");
        assert_eq!(speed(&change(100, 100)), "no change");
        assert_eq!(time(&change(0, 1_500)), "1.5 µs more");
        assert_eq!(time(&change(1_500, 0)), "1.5 µs (100 %) less");
        assert_eq!(counted(4_010, 3_587), "423 (11 %) fewer");
        assert_eq!(counted(0, 5), "5 more");
        assert_eq!(counted(5, 5), "no change");
    }
}
