//! Sums and medians.

/// The middle value, the lower of the two middle ones; `None` of nothing.
pub(super) fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

/// The middle duration; of an even number, the mean of the two middle ones. `None` of nothing.
pub(super) fn median_ns(durations: &mut [i64]) -> Option<i64> {
    let is_even = durations.len().is_multiple_of(2);
    let middle = durations.len() / 2;
    if middle >= durations.len() {
        return None;
    }
    let (below, upper, _) = durations.select_nth_unstable(middle);
    let lower = below.iter().copied().max().filter(|_| is_even).unwrap_or(*upper);
    Some(lower + upper.saturating_sub(lower) / 2)
}

/// A sum that no window bounds: a hostile report's could overflow.
pub(super) fn clamped(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_middle_ones_the_median_is_their_mean() {
        let of = |durations: &[i64]| median_ns(&mut durations.to_vec());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some(7));
        assert_eq!(of(&[8, 2]), Some(5));
        assert_eq!(of(&[9, 1, 5]), Some(5));
        assert_eq!(of(&[1, 100, 2, 200]), Some(51));
    }
}
