//! Runs that went another way than the others of their side: named, and left out, so that one of them hides nothing.

use super::alike::is_on_others;
use super::measure::median;
use super::rounds::Rounds;
use super::runs::{Run, int};
use super::sides::{Side, Sides};

/// A run that differs by less from the others is not odd.
const ODD_SHARE: f64 = 0.1;
/// It also lies this many times as far from their middle as they lie from each other.
const ODD_RANGES: f64 = 3.0;
/// Of so many runs one may be odd; of fewer than three none can be told.
const RUNS_FOR_EACH: usize = 5;

/// A run that is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct OddRun {
    /// Its side.
    pub side: Side,
    /// Which of the side's runs it is, counted from 0.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// How much more time it takes than the middle of the others, as a share; negative when less.
    pub share: f64,
}

/// The odd runs of both sides.
pub(super) fn find(sides: Sides<&[Run]>) -> Vec<OddRun> {
    [Side::Base, Side::Head].into_iter().flat_map(|side| of_side(side, sides.get(side))).collect()
}

fn of_side(side: Side, runs: &[Run]) -> Vec<OddRun> {
    let times: Option<Vec<f64>> = runs.iter().map(time).collect();
    let Some(times) = times.filter(|times| times.len() >= 3) else { return Vec::new() };
    let odd = |(index, share): (usize, f64)| OddRun { side, index, name: runs[index].name.clone(), share };
    let most = runs.len().div_ceil(RUNS_FOR_EACH).min((runs.len() - 1) / 2);
    let found = (1..=most).rev().map(|count| outside(&times, count)).find(|found| !found.is_empty());
    let found = found.unwrap_or_default();
    // What is not whole, or ran elsewhere, is no run like the others: left out, nobody would learn of it.
    let other =
        (0..runs.len()).find(|index| found.iter().all(|(odd, _)| odd != index)).and_then(|index| runs.get(index));
    let is_like_others = |(index, _): &(usize, f64)| {
        runs[*index].facts.not_whole().is_none() && !other.is_some_and(|other| is_on_others(&runs[*index], other))
    };
    found.into_iter().filter(is_like_others).map(odd).collect()
}

/// The so many times that lie farthest from the middle, with how far, if all of them lie apart from the others.
fn outside(times: &[f64], count: usize) -> Vec<(usize, f64)> {
    let center = median(times);
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|a, b| (times[*b] - center).abs().total_cmp(&(times[*a] - center).abs()));
    let (far, near) = order.split_at(count);
    let others: Vec<f64> = near.iter().map(|index| times[*index]).collect();
    let (low, high) = others.iter().fold((f64::MAX, f64::MIN), |(low, high), time| (low.min(*time), high.max(*time)));
    let center = median(&others);
    let reach = (ODD_SHARE * center).max(ODD_RANGES * (high - low));
    let mut found: Vec<(usize, f64)> = far.iter().map(|index| (*index, times[*index] / center - 1.0)).collect();
    found.sort_by_key(|(index, _)| *index);
    let is_apart = far.iter().all(|index| (times[*index] - center).abs() > reach);
    if is_apart && center > 0.0 { found } else { Vec::new() }
}

/// What a run takes: for a step, else as a whole, on the slowest device.
fn time(run: &Run) -> Option<f64> {
    if let Some(rounds) = Rounds::of(&run.facts) {
        return Some(rounds.mean_ns as f64);
    }
    run.devices().iter().map(|(_, device)| int(device, "window_ns")).max().map(|ns| ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(times: &[f64], count: usize) -> Vec<usize> {
        outside(times, count).into_iter().map(|(index, _)| index).collect()
    }

    #[test]
    fn one_run_far_from_all_others_is_odd() {
        assert_eq!(indices(&[40.0, 39.5, 40.4, 40.1, 56.0], 1), [4]);
        assert_eq!(indices(&[52.0, 40.0, 52.4, 51.8, 52.1], 1), [1]);
        assert_eq!(indices(&[40.0, 39.0, 41.0, 40.5, 43.0], 1), Vec::<usize>::new(), "noise");
        assert_eq!(indices(&[40.0, 52.0, 40.2, 51.7, 40.1], 1), Vec::<usize>::new(), "two groups");
        assert_eq!(indices(&[40.0, 52.0, 40.2, 51.7, 40.1, 40.3, 40.2, 39.9, 40.0, 40.1], 2), [1, 3]);
    }
}
