//! The history of a program: facts of its runs commit by commit, and since when it takes more or less time.

mod change;
mod label;

use std::collections::BTreeMap;

use crate::compare::{Rounds, devices_with_work, median};
use crate::facts::Facts;
use crate::findings::Review;
use crate::limits::MAX_TREND_COUNT;
use crate::rules::outcome::Severity;
use crate::text::spans::Sentence;

pub use change::ChangePoint;
pub use label::{Label, Order};

/// A finding that can gain less of the window is no trend worth a line.
const LEAST_SHARE: f64 = 0.01;

/// One run: what its file is called, what was recorded, and what the rules said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What it is a run of.
    pub label: Label,
    /// Its facts.
    pub facts: Facts,
    /// Their review.
    pub review: Review,
}

/// All runs of one label.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What they are runs of.
    pub label: Label,
    /// How many.
    pub run_count: usize,
    /// The median of their times, in nanoseconds.
    pub time_ns: f64,
    /// The shortest and the longest.
    pub range_ns: [f64; 2],
    /// How many findings there are, of the first run.
    pub counts: Counts,
}

/// Findings that are more than notes, by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Grave ones.
    pub high: usize,
    /// Others that matter.
    pub medium: usize,
    /// The rest.
    pub low: usize,
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeOf {
    /// The mean step, without warm-up.
    Step,
    /// The window of the slowest GPU.
    Window,
}

impl TimeOf {
    /// `step` or `window`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Window => "window",
        }
    }
}

/// A finding over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// The rule and what it is about.
    pub fingerprint: String,
    /// The rule's title.
    pub title: String,
    /// What it is about.
    pub subject: Sentence,
    /// The gravest that it was.
    pub severity: Severity,
    /// What it could gain as a share of the window, at each point; absent where it was not found. What has no gain has 0.
    pub shares: Vec<Option<f64>>,
}

/// The points in order, and where they change.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// What is timed.
    pub of: TimeOf,
    /// The oldest first.
    pub points: Vec<Point>,
    /// Where time changed, the oldest first.
    pub changes: Vec<ChangePoint>,
    /// Findings that came, went or could gain a percent of the window more or less, the gravest first.
    pub trends: Vec<Trend>,
    /// Runs that hold no time of the kind that the others have, and are left out.
    pub left_out: Vec<Label>,
}

impl History {
    /// Of runs in any order. A change below `least_share` is none.
    pub fn of(runs: Vec<Recorded>, order: &Order, least_share: f64) -> Self {
        let has_steps = |run: &&Recorded| Rounds::of(&run.facts).is_some();
        // Steps where most have them: single runs without must not make windows of all.
        let of = if 2 * runs.iter().filter(has_steps).count() > runs.len() { TimeOf::Step } else { TimeOf::Window };
        let mut groups: BTreeMap<Label, Vec<(f64, Recorded)>> = BTreeMap::new();
        let mut left_out = Vec::new();
        for run in runs {
            match time_ns(&run.facts, of) {
                Some(ns) => groups.entry(run.label.clone()).or_default().push((ns, run)),
                None => left_out.push(run.label),
            }
        }
        let mut groups: Vec<(Label, Vec<(f64, Recorded)>)> = groups.into_iter().collect();
        groups.sort_by(|a, b| order.key(&a.0).cmp(&order.key(&b.0)));
        let points: Vec<Point> = groups.iter().map(|(label, runs)| Point::new(label, runs)).collect();
        let times: Vec<f64> = points.iter().map(|point| point.time_ns).collect();
        let changes = change::points(&times, least_share);
        Self { of, changes, trends: trends(&groups), points, left_out }
    }

    /// The point that a change begins with.
    pub fn begin(&self, change: &ChangePoint) -> Option<&Point> {
        self.points.get(change.index)
    }
}

fn time_ns(facts: &Facts, of: TimeOf) -> Option<f64> {
    let ns = match of {
        TimeOf::Step => Rounds::of(facts)?.mean_ns,
        TimeOf::Window => devices_with_work(facts).iter().filter_map(|(_, device)| device.int("window_ns")).max()?,
    };
    (ns > 0).then_some(ns as f64)
}

impl Point {
    fn new(label: &Label, runs: &[(f64, Recorded)]) -> Self {
        let times: Vec<f64> = runs.iter().map(|(ns, _)| *ns).collect();
        let fold = |of: fn(f64, f64) -> f64| times.iter().copied().reduce(of).unwrap_or_default();
        Self {
            label: label.clone(),
            run_count: runs.len(),
            time_ns: median(&times),
            range_ns: [fold(f64::min), fold(f64::max)],
            counts: runs.first().map(|(_, run)| Counts::of(&run.review)).unwrap_or_default(),
        }
    }
}

impl Counts {
    fn of(review: &Review) -> Self {
        let mut counts = Self::default();
        for seen in review.observations() {
            match seen.severity {
                Severity::High => counts.high += 1,
                Severity::Medium => counts.medium += 1,
                Severity::Low => counts.low += 1,
                Severity::Info => {}
            }
        }
        counts
    }
}

/// Findings of the first run of each point.
fn trends(groups: &[(Label, Vec<(f64, Recorded)>)]) -> Vec<Trend> {
    let mut all: BTreeMap<String, (Trend, BTreeMap<usize, f64>)> = BTreeMap::new();
    for (index, (_, runs)) in groups.iter().enumerate() {
        let Some((_, run)) = runs.first() else { continue };
        for seen in run.review.observations().iter().filter(|seen| seen.severity > Severity::Info) {
            let (trend, shares) = all.entry(seen.fingerprint.to_owned()).or_insert_with(|| {
                let trend = Trend {
                    fingerprint: seen.fingerprint.to_owned(),
                    title: seen.finding.title.clone(),
                    subject: seen.subject.label.clone(),
                    severity: seen.severity,
                    shares: Vec::new(),
                };
                (trend, BTreeMap::new())
            });
            trend.severity = trend.severity.max(seen.severity);
            shares.insert(index, seen.gain.map_or(0.0, |gain| gain.share));
        }
    }
    let mut moving: Vec<(Trend, BTreeMap<usize, f64>)> =
        all.into_values().filter(|(_, shares)| moves(shares, groups.len())).collect();
    let size = |shares: &BTreeMap<usize, f64>| range_of(shares, groups.len());
    moving.sort_by(|(a, of_a), (b, of_b)| b.severity.cmp(&a.severity).then_with(|| size(of_b).total_cmp(&size(of_a))));
    // Each has a share for each point: there are as many of both as a stranger likes.
    moving.truncate(MAX_TREND_COUNT);
    let whole = |(trend, shares): (Trend, BTreeMap<usize, f64>)| Trend {
        shares: (0..groups.len()).map(|index| shares.get(&index).copied()).collect(),
        ..trend
    };
    moving.into_iter().map(whole).collect()
}

/// Whether a finding comes, goes, or changes what it could gain, over so many points.
fn moves(shares: &BTreeMap<usize, f64>, point_count: usize) -> bool {
    shares.len() < point_count || range_of(shares, point_count) >= LEAST_SHARE
}

/// Between the least and the most that a finding could gain: nothing where it is not there.
fn range_of(shares: &BTreeMap<usize, f64>, point_count: usize) -> f64 {
    let least = shares.values().copied().reduce(f64::min).filter(|_| shares.len() == point_count);
    shares.values().copied().fold(0.0, f64::max) - least.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::Sample;

    fn recorded(name: &str, window_ns: i64) -> Recorded {
        let mut sample = Sample::default();
        let run = sample.run();
        sample.device(run, 0, "A100", window_ns, &[("compute_ns", window_ns)]);
        let review = sample.review();
        Recorded { label: Label::of_stem(name), facts: sample.facts, review }
    }

    #[test]
    fn runs_of_one_commit_are_one_point_in_the_order_of_commits() {
        let runs = ["bbbbbbb-1", "aaaaaaa-1", "bbbbbbb-2", "aaaaaaa-2", "bbbbbbb-3"];
        let times = [30_000_000, 10_000_000, 20_000_000, 12_000_000, 21_000_000];
        let runs: Vec<Recorded> = runs.iter().zip(times).map(|(name, ns)| recorded(name, ns)).collect();
        let history = History::of(runs, &Order::of_commits("bbbbbbbb00000000\naaaaaaaa00000000\n"), 0.02);
        let points: Vec<(&str, usize, f64)> =
            history.points.iter().map(|point| (point.label.text(), point.run_count, point.time_ns)).collect();
        assert_eq!(points, [("bbbbbbb", 3, 21_000_000.0), ("aaaaaaa", 2, 11_000_000.0)]);
        assert_eq!((history.of, history.changes.len()), (TimeOf::Window, 0), "two points show no change");
    }
}
