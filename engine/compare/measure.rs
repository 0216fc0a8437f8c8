//! Numbers of one or several runs, and when two of them differ.

use super::sides::Sides;

/// Amounts of work that differ by less are the same.
pub(super) const SAME_SHARE: f64 = 0.01;
/// With one run on a side, smaller changes are noise.
const SINGLE_RUN_FLOOR: f64 = 0.05;
/// With several runs on both sides their spread decides, but clocks drift by this much between two sets of runs.
const SEVERAL_RUNS_FLOOR: f64 = 0.01;

/// A number of a side: the median of its runs, and how far they spread. One run has no spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The median of the runs.
    pub median: i64,
    /// The smallest.
    pub low: i64,
    /// The largest.
    pub high: i64,
}

impl Measure {
    /// Of values, one a run; `None` without any.
    pub(super) fn of(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        let mut values: Vec<i64> = values.into_iter().collect();
        values.sort_unstable();
        let (low, high) = (*values.first()?, *values.last()?);
        let upper = values.len() / 2;
        let lower = (values.len() - 1) / 2;
        let median = i64::midpoint(values[lower], values[upper]);
        Some(Self { median, low, high })
    }

    pub(super) const ZERO: Self = Self { median: 0, low: 0, high: 0 };
}

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Runs of the base.
    pub base_runs: usize,
    /// Runs of the head.
    pub head_runs: usize,
    /// A smaller change, as a share of the base, is noise.
    pub floor_share: f64,
}

impl Noise {
    pub(super) fn new(base_runs: usize, head_runs: usize) -> Self {
        let is_single = base_runs < 2 || head_runs < 2;
        let floor_share = if is_single { SINGLE_RUN_FLOOR } else { SEVERAL_RUNS_FLOOR };
        Self { base_runs, head_runs, floor_share }
    }

    /// A change counts when the two sides' spreads do not meet, and it is over the floor.
    pub(super) fn is_change(&self, base: Measure, head: Measure) -> bool {
        let is_apart = base.high < head.low || head.high < base.low;
        let size = base.median.abs_diff(head.median) as f64;
        is_apart && size >= self.floor_share * base.median.unsigned_abs() as f64
    }
}

/// A number on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Before.
    pub base: Measure,
    /// After.
    pub head: Measure,
    /// Head minus base, of the medians.
    pub difference: i64,
    /// The same as a share of the base; absent when that is 0.
    pub share: Option<f64>,
    /// Whether it is more than noise.
    pub is_change: bool,
}

impl Change {
    pub(super) fn new(base: Measure, head: Measure, noise: &Noise) -> Self {
        let difference = head.median.saturating_sub(base.median);
        let share = (base.median != 0).then(|| difference as f64 / base.median as f64);
        Self { base, head, difference, share, is_change: noise.is_change(base, head) }
    }

    pub(super) fn of(sides: Sides<Measure>, noise: &Noise) -> Self {
        Self::new(sides.base, sides.head, noise)
    }

    /// The number of each side.
    pub(super) fn sides(&self) -> Sides<Measure> {
        Sides { base: self.base, head: self.head }
    }

    /// Which way it went, noise being none.
    pub fn trend(&self) -> Trend {
        match (self.is_change, self.difference) {
            (true, 1..) => Trend::Up,
            (true, ..=-1) => Trend::Down,
            _ => Trend::Same,
        }
    }
}

/// Which way a number went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// It grew.
    Up,
    /// It shrank.
    Down,
    /// What changed, if anything, is noise.
    Same,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(value: i64) -> Measure {
        Measure::of([value]).unwrap()
    }

    #[test]
    fn medians_and_spreads() {
        assert_eq!(Measure::of([3, 1, 2]), Some(Measure { median: 2, low: 1, high: 3 }));
        assert_eq!(Measure::of([4, 1]), Some(Measure { median: 2, low: 1, high: 4 }));
        assert_eq!(Measure::of([]), None);
    }

    #[test]
    fn with_one_run_the_floor_decides_and_with_several_the_spread() {
        let single = Noise::new(1, 3);
        assert!(!single.is_change(one(100), one(104)) && single.is_change(one(100), one(105)));
        assert!(!single.is_change(one(100), one(100)) && single.is_change(one(0), one(1)));
        let several = Noise::new(3, 3);
        let base = Measure::of([95, 100, 110]).unwrap();
        assert!(!several.is_change(base, Measure::of([109, 120, 130]).unwrap()));
        assert!(several.is_change(base, Measure::of([111, 112, 113]).unwrap()));
        assert!(!several.is_change(Measure::of([1000, 1001]).unwrap(), Measure::of([1002, 1003]).unwrap()));
    }

    proptest! {
        #[test]
        fn a_measure_against_itself_is_no_change(values in prop::collection::vec(0i64..1_000_000, 1..6)) {
            let measure = Measure::of(values).unwrap();
            let change = Change::new(measure, measure, &Noise::new(2, 2));
            prop_assert_eq!((change.difference, change.trend()), (0, Trend::Same));
        }

        #[test]
        fn changes_are_symmetric_in_direction(base in 1i64..1_000_000, head in 1i64..1_000_000) {
            let noise = Noise::new(1, 1);
            let (there, back) = (Change::new(one(base), one(head), &noise), Change::new(one(head), one(base), &noise));
            prop_assert_eq!(there.difference, -back.difference);
            prop_assert!(there.trend() == Trend::Same || there.trend() != back.trend());
        }
    }
}
