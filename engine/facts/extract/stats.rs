//! Sums and medians.

/// The middle value, the lower of the two middle ones; `None` of nothing.
pub(super) fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

/// A sum that no window bounds: a hostile report's could overflow.
pub(super) fn clamped(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(i64::MAX)
}
