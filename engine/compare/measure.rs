//! Numbers of one or several runs, and when two of them differ.

use super::interval::Interval;
use super::sides::Sides;

/// Amounts of work that differ by less are the same.
pub(super) const SAME_SHARE: f64 = 0.01;
/// Smaller changes are noise: with so many runs on the side that has fewer. Clocks and temperatures drift between two sets of
/// runs, and few runs do not show by how much.
const FLOORS: [(usize, f64); 4] = [(4, 0.05), (8, 0.03), (10, 0.02), (usize::MAX, 0.01)];
/// As many runs a side find what fewer cannot.
pub(super) const ENOUGH_RUNS: usize = 5;

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
        Values::of(values).map(|values| values.measure())
    }
}

/// A number of each run of a side; at least one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values(Vec<i64>);

impl Values {
    /// `None` without any.
    pub(super) fn of(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        let values: Vec<i64> = values.into_iter().collect();
        (!values.is_empty()).then_some(Self(values))
    }

    /// A side that has nothing of it.
    pub(super) fn zero() -> Self {
        Self(vec![0])
    }

    pub(super) fn measure(&self) -> Measure {
        let mut values = self.0.clone();
        values.sort_unstable();
        let (upper, lower) = (values.len() / 2, (values.len() - 1) / 2);
        let median = i64::midpoint(values[lower], values[upper]);
        Measure { median, low: values[0], high: values[values.len() - 1] }
    }

    fn floats(&self) -> Vec<f64> {
        self.0.iter().map(|value| *value as f64).collect()
    }
}

/// The middle of some numbers; 0 of none.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (Some(lower), Some(upper)) = (sorted.get(sorted.len().wrapping_sub(1) / 2), sorted.get(sorted.len() / 2))
    else {
        return 0.0;
    };
    f64::midpoint(*lower, *upper)
}

/// What of an amount falls to each of so many units of work; the last of them may be cut.
pub(super) fn per_unit(amount: i64, units: f64) -> i64 {
    (amount as f64 / units) as i64
}

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Runs of the base that are compared.
    pub base_runs: usize,
    /// Runs of the head that are compared.
    pub head_runs: usize,
    /// A smaller change, as a share of the base, is noise.
    pub floor_share: f64,
}

impl Noise {
    /// `floor_share` is what the project says; absent for what the number of runs asks for.
    pub(super) fn new(base_runs: usize, head_runs: usize, floor_share: Option<f64>) -> Self {
        let fewer = base_runs.min(head_runs);
        let usual = FLOORS.into_iter().find(|(runs, _)| fewer < *runs).map_or(0.01, |(_, floor)| floor);
        Self { base_runs, head_runs, floor_share: floor_share.unwrap_or(usual) }
    }

    /// The fewer runs of the two sides.
    pub fn fewer_runs(&self) -> usize {
        self.base_runs.min(self.head_runs)
    }

    /// A change counts when it is over the floor and, with several runs, when no change at all is outside of its interval.
    fn is_change(&self, sides: Sides<&Measure>, interval: Option<Interval>) -> bool {
        let size = sides.base.median.abs_diff(sides.head.median) as f64;
        match interval {
            // The means tell more than the medians of a few runs; runs of which these go two ways tell nothing.
            Some(interval) => {
                let is_along = (interval.middle > 0.0) == (sides.head.median > sides.base.median);
                size > 0.0 && is_along && interval.excludes_zero() && interval.middle.abs() >= self.floor_share
            }
            None => size > 0.0 && size >= self.floor_share * sides.base.median.unsigned_abs() as f64,
        }
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
    /// Between which shares the change lies; absent where the runs are too few to tell.
    pub interval: Option<Interval>,
    /// Whether it is more than noise.
    pub is_change: bool,
}

impl Change {
    pub(super) fn of(values: &Sides<Values>, noise: &Noise) -> Self {
        let Sides { base, head } = values.each_ref().map(Values::measure);
        let interval = Interval::of(&values.base.floats(), &values.head.floats());
        let difference = head.median.saturating_sub(base.median);
        let share = (base.median != 0).then(|| difference as f64 / base.median as f64);
        let is_change = noise.is_change(Sides { base: &base, head: &head }, interval);
        Self { base, head, difference, share, interval, is_change }
    }

    /// The number of each side.
    pub(super) fn sides(&self) -> Sides<Measure> {
        Sides { base: self.base, head: self.head }
    }

    /// Whether it may be a growth as large as one that counts, and the runs leave open whether it is.
    pub(crate) fn may_be_growth(&self, floor_share: f64) -> bool {
        let Some(interval) = self.interval.filter(|_| !self.is_change) else { return false };
        self.share.is_some_and(|share| share >= floor_share) || interval.middle >= floor_share
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

    fn change(base: &[i64], head: &[i64], noise: &Noise) -> Change {
        let values = |side: &[i64]| Values::of(side.iter().copied()).unwrap();
        Change::of(&Sides { base: values(base), head: values(head) }, noise)
    }

    fn trend(base: &[i64], head: &[i64]) -> Trend {
        change(base, head, &Noise::new(base.len(), head.len(), None)).trend()
    }

    #[test]
    fn medians_and_spreads() {
        assert_eq!(Measure::of([3, 1, 2]), Some(Measure { median: 2, low: 1, high: 3 }));
        assert_eq!(Measure::of([4, 1]), Some(Measure { median: 2, low: 1, high: 4 }));
        assert_eq!(Measure::of([]), None);
    }

    #[test]
    fn with_one_run_the_floor_decides_and_with_several_the_interval() {
        assert_eq!((trend(&[100], &[104]), trend(&[100], &[105])), (Trend::Same, Trend::Up));
        assert_eq!((trend(&[100], &[100]), trend(&[0], &[1])), (Trend::Same, Trend::Up));
        assert_eq!(trend(&[950, 1000, 1100], &[1090, 1200, 1300]), Trend::Same);
        assert_eq!(trend(&[990, 1000, 1010], &[1190, 1200, 1210]), Trend::Up);
        // Twelve of twenty runs are faster, and on average they are slower.
        let head: Vec<i64> = (0..20).map(|run| if run < 12 { 970 + run % 3 } else { 1_300 + run }).collect();
        let base: Vec<i64> = (0..20).map(|run| 1_000 + run % 3).collect();
        assert_eq!(trend(&base, &head), Trend::Same);
        // Ranges that meet hide nothing, and ranges that do not meet show nothing alone.
        assert_eq!(trend(&[100, 101, 99, 102, 106], &[105, 112, 113, 111, 110]), Trend::Up);
        assert_eq!(trend(&[1000, 1020], &[1060, 1090]), Trend::Same);
    }

    #[test]
    fn runs_whose_middle_and_mean_go_two_ways_are_no_change() {
        let base: Vec<i64> = (0..20).map(|run| 1_000 + run % 3).collect();
        let head: Vec<i64> = (0..20).map(|run| if run < 12 { 970 } else { 1_300 }).collect();
        let both = change(&base, &head, &Noise::new(20, 20, None));
        assert_eq!((both.trend(), both.may_be_growth(0.01)), (Trend::Same, true));
        assert!(!change(&base, &base, &Noise::new(20, 20, None)).may_be_growth(0.01));
    }

    #[test]
    fn the_floor_is_wide_while_runs_are_few_and_can_be_set() {
        let floors = [1, 3, 4, 5, 8, 10, 50].map(|runs| Noise::new(runs, 50, None).floor_share);
        assert_eq!(floors, [0.05, 0.05, 0.03, 0.03, 0.02, 0.01, 0.01]);
        let set = Noise::new(1, 1, Some(0.02));
        assert_eq!((change(&[1000], &[1019], &set).is_change, change(&[1000], &[1020], &set).is_change), (false, true));
    }

    proptest! {
        #[test]
        fn a_measure_against_itself_is_no_change(values in prop::collection::vec(0i64..1_000_000, 1..6)) {
            let change = change(&values, &values, &Noise::new(2, 2, None));
            prop_assert_eq!((change.difference, change.trend()), (0, Trend::Same));
        }

        #[test]
        fn changes_are_symmetric_in_direction(base in 1i64..1_000_000, head in 1i64..1_000_000) {
            let noise = Noise::new(1, 1, None);
            let (there, back) = (change(&[base], &[head], &noise), change(&[head], &[base], &noise));
            prop_assert_eq!(there.difference, -back.difference);
            prop_assert!(there.trend() == Trend::Same || there.trend() != back.trend());
        }
    }
}
