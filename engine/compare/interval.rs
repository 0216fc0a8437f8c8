//! Between which bounds a change lies, told from how the runs of each side differ.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How often a change that is none may lie outside its interval.
const ERROR_SHARE: f64 = 0.021;

/// More values tell nothing else.
const MAX_FREEDOM: usize = 10_000;

/// Bounds of a change, as shares of the base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The change by the means of both sides.
    pub middle: f64,
    /// The change is hardly less than this.
    pub low: f64,
    /// Nor more than this.
    pub high: f64,
}

impl Interval {
    /// Of values of each side, at least two of one: Student's interval of the difference of means, with a common spread. Where
    /// all values are above zero it is that of their logarithms, since noise is a share of what it disturbs. Three and three
    /// runs are too few for a test of ranks, and from five and five on it finds more than one. `None` without two values on
    /// a side, or without a base to be a share of.
    pub(crate) fn of(base: &[f64], head: &[f64]) -> Option<Self> {
        let freedom = (base.len() + head.len()).checked_sub(2).filter(|freedom| *freedom > 0)?;
        if base.is_empty() || head.is_empty() {
            return None;
        }
        let is_positive = base.iter().chain(head).all(|value| *value > 0.0);
        let scale = mean(base).abs();
        if !is_positive && scale <= 0.0 {
            return None;
        }
        let scaled = |values: &[f64]| -> Vec<f64> {
            values.iter().map(|value| if is_positive { value.ln() } else { value / scale }).collect()
        };
        let (base, head) = (scaled(base), scaled(head));
        let spread = ((squares(&base) + squares(&head)) / freedom as f64).sqrt();
        let error = spread * (1.0 / base.len() as f64 + 1.0 / head.len() as f64).sqrt();
        let reach = quantile(freedom) * error;
        let middle = mean(&head) - mean(&base);
        let share = |change: f64| if is_positive { change.exp_m1() } else { change };
        Some(Self { middle: share(middle), low: share(middle - reach), high: share(middle + reach) })
    }

    /// Around a change that one run a side shows, by how its calls spread; `None` where nothing tells that, and where short
    /// and usual calls changed with the mean: then calls differ by what they do, and all of them changed.
    pub(crate) fn of_calls(middle: f64, base: Spread, head: Spread) -> Option<Self> {
        let has_moved =
            |base: f64, head: f64| base > 0.0 && (head / base - 1.0) * middle.signum() >= middle.abs() / 2.0;
        if has_moved(base.shortest, head.shortest) && has_moved(base.usual, head.usual) {
            return None;
        }
        let freedom = (base.count + head.count).checked_sub(2).filter(|freedom| *freedom > 0)?;
        let error = |side: Spread| side.deviation * side.deviation / side.count.max(1) as f64;
        let reach = quantile(freedom) * (error(base) + error(head)).sqrt() / base.mean;
        (base.mean > 0.0).then_some(Self { middle, low: middle - reach, high: middle + reach })
    }

    /// Whether no change at all is outside of it.
    pub fn excludes_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Calls of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// How many.
    pub(crate) count: usize,
    /// Of one call.
    pub(crate) mean: f64,
    /// How far they lie from it: the standard deviation.
    pub(crate) deviation: f64,
    /// The shortest.
    pub(crate) shortest: f64,
    /// The median; of several kernels, the mean of theirs.
    pub(crate) usual: f64,
}

/// As many standard errors as a change of nothing stays within.
pub(super) fn quantile(freedom: usize) -> f64 {
    student(freedom, ERROR_SHARE)
}

/// What Student's distribution exceeds, on both sides together, in this share of all cases.
fn student(freedom: usize, share: f64) -> f64 {
    // From there on it is the normal distribution; of more than billions the quantile is never found.
    let student = StudentsT::new(0.0, 1.0, freedom.min(MAX_FREEDOM) as f64);
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(1.0 - share / 2.0))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (freedom, expected) in [(1, 12.706), (4, 2.776), (8, 2.306), (18, 2.101)] {
            let found = student(freedom, 0.05);
            assert!((found - expected).abs() < 0.001, "{freedom}: {found}");
        }
    }

    #[test]
    fn however_many_calls_a_file_claims_the_quantile_is_found() {
        for freedom in [20_000, 1_000_000_000, usize::MAX] {
            assert!((student(freedom, 0.05) - 1.960).abs() < 0.001, "{freedom}");
        }
    }

    #[test]
    fn an_interval_narrows_with_the_number_of_runs_and_needs_two() {
        let width = |base: &[f64], head: &[f64]| Interval::of(base, head).map(|found| found.high - found.low);
        assert_eq!(width(&[100.0], &[110.0]), None);
        assert_eq!(width(&[], &[110.0, 111.0]), None);
        let few = width(&[99.0, 101.0], &[109.0, 111.0]).unwrap();
        let more = width(&[99.0, 100.0, 101.0], &[109.0, 110.0, 111.0]).unwrap();
        let most = width(&[99.0, 100.0, 100.0, 101.0, 100.0], &[109.0, 110.0, 110.0, 110.0, 111.0]).unwrap();
        assert!(few > more && more > most, "{few} {more} {most}");
    }

    #[test]
    fn what_was_nothing_has_no_share() {
        assert_eq!(Interval::of(&[0.0, 0.0], &[5.0, 6.0]), None);
        let found = Interval::of(&[0.0, 2.0, 1.0], &[1.0, 2.0, 0.0]).unwrap();
        assert!(!found.excludes_zero());
        let same = Interval::of(&[7.0, 7.0], &[14.0, 14.0]).unwrap();
        assert!((same.low - 1.0).abs() < 1e-9 && (same.high - 1.0).abs() < 1e-9);
    }
}
