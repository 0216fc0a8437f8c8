//! Sums and medians.

use std::cmp::Reverse;

/// The middle value, the lower of the two middle ones; `None` of nothing.
pub(super) fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

/// What holds this part of a sum is what it is.
const MAIN_SHARE: f64 = 0.9;

/// How many of the longest of some durations make up nearly all of them.
pub(super) fn main_count(mut lengths: Vec<i64>) -> i64 {
    lengths.sort_unstable_by_key(|length| Reverse(*length));
    let whole = lengths.iter().copied().fold(0_i64, i64::saturating_add);
    let (mut sum, mut count) = (0_i64, 0);
    for length in lengths {
        if sum as f64 >= MAIN_SHARE * whole as f64 {
            break;
        }
        sum = sum.saturating_add(length);
        count += 1;
    }
    count
}

/// Many durations of which the middle one is asked for: nearly all fit into half of the memory.
#[derive(Debug, Default)]
pub(super) struct Durations {
    short_ns: Vec<u32>,
    long_ns: Vec<i64>,
}

impl Durations {
    /// With room for so many.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { short_ns: Vec::with_capacity(count), long_ns: Vec::new() }
    }

    /// Adds one, which is not negative.
    pub(super) fn push(&mut self, ns: i64) {
        match u32::try_from(ns) {
            Ok(short_ns) => self.short_ns.push(short_ns),
            Err(_) => self.long_ns.push(ns),
        }
    }

    /// The middle one, the lower of the two middle ones; `None` of nothing.
    pub(super) fn median_ns(mut self) -> Option<i64> {
        let middle = (self.short_ns.len() + self.long_ns.len()).checked_sub(1)? / 2;
        match middle.checked_sub(self.short_ns.len()) {
            None => Some(i64::from(*self.short_ns.select_nth_unstable(middle).1)),
            Some(middle) => Some(*self.long_ns.select_nth_unstable(middle).1),
        }
    }
}

/// A sum that no window bounds: a hostile report's could overflow.
pub(super) fn clamped(sum: i128) -> i64 {
    i64::try_from(sum).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_one_is_found_whatever_its_length() {
        let of = |all: &[i64]| {
            let mut durations = Durations::default();
            all.iter().for_each(|ns| durations.push(*ns));
            assert_eq!(durations.median_ns(), median(&mut all.to_vec()));
        };
        let long = i64::from(u32::MAX) + 1;
        [
            &[][..],
            &[3],
            &[3, 2],
            &[long, 1, 2],
            &[long, 1],
            &[long + 5, long, 1],
            &[long; 4],
            &[long - 1, long, long - 1, 5],
        ]
        .into_iter()
        .for_each(of);
    }

    #[test]
    fn the_longest_that_hold_nine_tenths_count() {
        assert_eq!(main_count(vec![1, 90, 9]), 1);
        assert_eq!(main_count(vec![10; 10]), 9);
        assert_eq!(main_count(Vec::new()), 0);
        assert_eq!(main_count(vec![50, 40, 5, 5]), 2);
        assert_eq!((main_count(vec![10, 10, 10]), main_count(vec![i64::MAX; 3])), (3, 1));
    }
}
