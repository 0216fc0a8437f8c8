//! Searches that begin where the last one ended: what is asked for mostly lies near what was asked for before.

/// Where the last search ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Near {
    last: usize,
}

impl Near {
    /// How many of so many items come before what is asked for, as [`slice::partition_point`] tells: first those that do, then those
    /// that do not. It takes the longer the further that lies from what was asked for last.
    pub(crate) fn partition_point(&mut self, count: usize, is_before: impl Fn(usize) -> bool) -> usize {
        let from = self.last.min(count);
        let (mut low, mut high) =
            if from < count && is_before(from) { up(from + 1, count, &is_before) } else { down(from, &is_before) };
        while low < high {
            let middle = low.midpoint(high);
            if is_before(middle) { low = middle + 1 } else { high = middle }
        }
        self.last = low;
        low
    }
}

/// Between which two places it lies, where all below the first come before.
fn up(mut low: usize, count: usize, is_before: impl Fn(usize) -> bool) -> (usize, usize) {
    let mut step = 1;
    while low < count {
        let probe = low.saturating_add(step - 1).min(count - 1);
        if !is_before(probe) {
            return (low, probe);
        }
        low = probe + 1;
        step = step.saturating_mul(2);
    }
    (low, low)
}

/// The same, where none from a place on comes before.
fn down(mut high: usize, is_before: impl Fn(usize) -> bool) -> (usize, usize) {
    let mut step = 1;
    while high > 0 {
        let probe = high.saturating_sub(step);
        if is_before(probe) {
            return (probe + 1, high);
        }
        high = probe;
        step = step.saturating_mul(2);
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_a_search_of_all_finds(
            mut items in proptest::collection::vec(0..40_i32, 0..60),
            asked in proptest::collection::vec(-1..41_i32, 1..30),
        ) {
            items.sort_unstable();
            let mut near = Near::default();
            for asked in asked {
                let found = near.partition_point(items.len(), |index| items[index] < asked);
                prop_assert_eq!(found, items.partition_point(|item| *item < asked));
            }
        }
    }
}
