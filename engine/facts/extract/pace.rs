//! Whether steps keep a beat that something outside of the program sets: a camera, a display, a timer.

use super::DeviceContext;
use super::stats::median;
use crate::facts::Entity;

/// Fewer steps may keep a beat by chance.
const MIN_INTERVALS: usize = 30;
/// A step that is longer or shorter by more than this part of the median has lost the beat.
const MOST_OFF: f64 = 0.25;
/// No more of them have.
const LEAST_KEPT_SHARE: f64 = 0.85;
/// The middle half of all steps differs by no more than this part of the median.
const MOST_SPREAD: f64 = 0.1;
/// So many steps in a row,
const RUN: usize = 4;
/// together differ by no more than so many times as one does. Where each takes what it takes, they differ by twice as much, the
/// root of their number; where a clock says when each begins, by as much as one: a late one is followed by a shorter one.
const MOST_GROWTH: f64 = 1.4;
/// How much a step and the next go against each other at least: where a clock says when each begins, the next is shorter by what one is
/// late. Steps that alternate do so as well, but every other one is alike.
const LEAST_AGAINST: f64 = -0.1;
/// How much every other step may be alike.
const MOST_ALIKE: f64 = 0.35;
/// Steps that differ by less than this differ by what starting them takes.
const LEAST_DEVIATION_NS: f64 = 50_000.0;

pub(super) fn extract(device: &DeviceContext, facts: &mut Entity) {
    let Some(steps) = &device.told.steps else { return };
    let starts: Vec<i64> = steps.steps.iter().map(|step| step.device.start).collect();
    facts.set_some("step_beat_ns", beat_ns(&starts));
}

/// The time from one beat to the next, where things begin as by a clock.
fn beat_ns(starts: &[i64]) -> Option<i64> {
    let mut sorted: Vec<i64> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let intervals: Vec<f64> = sorted.iter().map(|ns| *ns as f64).collect();
    if intervals.len() < MIN_INTERVALS {
        return None;
    }
    let beat_ns = median(&mut sorted)?;
    sorted.sort_unstable();
    let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied();
    let spread_ns = at(75)?.saturating_sub(at(25)?);
    let is_kept = |ns: &f64| (ns - beat_ns as f64).abs() <= MOST_OFF * beat_ns as f64;
    let kept: Vec<f64> = intervals.iter().copied().filter(is_kept).collect();
    let runs: Vec<f64> =
        intervals.windows(RUN).filter(|run| run.iter().all(is_kept)).map(|run| run.iter().sum()).collect();
    let is_steady = spread_ns as f64 <= MOST_SPREAD * beat_ns as f64
        && kept.len() as f64 >= LEAST_KEPT_SHARE * intervals.len() as f64
        && runs.len() >= MIN_INTERVALS / 2;
    let goes_against = correlation(&kept, 1) <= LEAST_AGAINST && correlation(&kept, 2) <= MOST_ALIKE;
    let is_clock = deviation(&kept) >= LEAST_DEVIATION_NS && deviation(&runs) <= MOST_GROWTH * deviation(&kept);
    (is_steady && goes_against && is_clock).then_some(beat_ns)
}

/// Of values with those that come so many places later, from -1 to 1.
fn correlation(values: &[f64], places: usize) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let later = values.get(places..).unwrap_or_default();
    let together: f64 = values.iter().zip(later).map(|(one, other)| (one - mean) * (other - mean)).sum();
    let alone: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if alone > 0.0 { together / alone } else { 0.0 }
}

/// The standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEAT_NS: i64 = 40_000_000;

    /// What each of some steps takes more or less, in an order that repeats after a long time.
    fn jitter(number: i64) -> i64 {
        (number * number * 37 % 41 - 20) * 100_000
    }

    #[test]
    fn a_clock_says_when_each_begins() {
        let starts: Vec<i64> = (0..60).map(|number| number * BEAT_NS + jitter(number)).collect();
        assert!(beat_ns(&starts).is_some_and(|ns| (ns - BEAT_NS).abs() < BEAT_NS / 20));
        assert_eq!(beat_ns(&starts[..20]), None);
    }

    #[test]
    fn steps_that_alternate_keep_no_beat() {
        let starts: Vec<i64> = (0..60).map(|number| number * BEAT_NS + number % 2 * 700_000).collect();
        assert_eq!(beat_ns(&starts), None);
    }

    #[test]
    fn each_takes_what_it_takes() {
        let mut start = 0;
        let starts: Vec<i64> = (0..60)
            .map(|number| {
                start += BEAT_NS + jitter(number);
                start
            })
            .collect();
        assert_eq!(beat_ns(&starts), None);
    }

    #[test]
    fn steps_of_any_length_keep_no_beat() {
        let starts: Vec<i64> = (0..60).map(|number| number * BEAT_NS + 6 * jitter(number)).collect();
        assert_eq!(beat_ns(&starts), None);
    }
}
