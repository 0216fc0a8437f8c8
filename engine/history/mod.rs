//! The history of a program: facts of its runs commit by commit, and since when it takes more or less time.

mod change;
mod label;
mod runs;

use std::collections::BTreeMap;

use crate::compare::median;
use crate::limits::{MAX_TREND_COUNT, MAX_TREND_SHARE_COUNT};
use crate::rules::outcome::Severity;
use crate::text::spans::Sentence;

pub use change::ChangePoint;
pub use label::{Label, Order};
use runs::{About, Basis, Found, Recorded};
pub use runs::{Counts, Failed, Runs, TooManyFindings};

/// A finding that can gain less of the window is no trend worth a line.
const LEAST_SHARE: f64 = 0.01;

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

/// Why a run is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// It holds no time of the kind that the others have.
    NoTime,
    /// It does not hold all that ran: what is missing.
    Incomplete(String),
    /// It is not what most runs are of: what is otherwise.
    Other(&'static str),
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
    /// Runs that are left out, and why.
    pub left_out: Vec<(Label, LeftOut)>,
    /// Rules that went wrong on some run, by id.
    pub failures: Vec<Failed>,
}

impl History {
    /// Of runs in any order. A change below `least_share` is none.
    pub fn of(runs: Runs, order: &Order, least_share: f64) -> Self {
        let (runs, findings, failures) = runs.into_parts();
        let has_steps = |run: &&Recorded| run.step_ns.is_some();
        // Steps where most have them: single runs without must not make windows of all.
        let of = if 2 * runs.iter().filter(has_steps).count() > runs.len() { TimeOf::Step } else { TimeOf::Window };
        let mut groups: BTreeMap<Label, Vec<(f64, Recorded)>> = BTreeMap::new();
        let (mut timed, mut left_out) = (Vec::new(), Vec::new());
        for mut run in runs {
            // What is missing looks like less work, or like idle time.
            match (run.incomplete.take(), time_ns(&run, of)) {
                (None, Some(ns)) => timed.push((ns, run)),
                (None, None) => left_out.push((run.label, LeftOut::NoTime)),
                (Some(what), _) => left_out.push((run.label, LeftOut::Incomplete(what))),
            }
        }
        let (timed, others) = alike(timed, of, order);
        left_out.extend(others);
        for (ns, run) in timed {
            groups.entry(run.label.clone()).or_default().push((ns, run));
        }
        let mut groups: Vec<(Label, Vec<(f64, Recorded)>)> = groups.into_iter().collect();
        groups.sort_by_cached_key(|(label, _)| {
            let (place, text) = order.key(label);
            (place, text.to_owned())
        });
        let points: Vec<Point> = groups.iter().map(|(label, runs)| Point::new(label, runs)).collect();
        let times: Vec<f64> = points.iter().map(|point| point.time_ns).collect();
        let changes = change::points(&times, least_share);
        Self { of, changes, trends: trends(&groups, findings), points, left_out, failures }
    }

    /// The point that a change begins with.
    pub fn begin(&self, change: &ChangePoint) -> Option<&Point> {
        self.points.get(change.index)
    }
}

/// A run and its time.
type Timed = (f64, Recorded);

/// The runs that most are like, and the others: on another GPU, or of another step, a time is no other time of the program. Of as
/// many the latest.
fn alike(mut timed: Vec<Timed>, of: TimeOf, order: &Order) -> (Vec<Timed>, Vec<(Label, LeftOut)>) {
    let mut counts: BTreeMap<Basis, (usize, _)> = BTreeMap::new();
    for (_, run) in &mut timed {
        if of == TimeOf::Window {
            run.basis = std::mem::take(&mut run.basis).without_step();
        }
        let key = order.key(&run.label);
        let (count, latest) = counts.entry(run.basis.clone()).or_insert((0, key));
        *count += 1;
        *latest = key.max(*latest);
    }
    let most = counts.into_iter().max_by(|(_, one), (_, other)| one.cmp(other)).map(|(basis, _)| basis);
    let Some(most) = most else { return (timed, Vec::new()) };
    let (alike, others): (Vec<_>, Vec<_>) = timed.into_iter().partition(|(_, run)| run.basis == most);
    let other = |(_, run): Timed| {
        let what = run.basis.difference(&most).unwrap_or("of something else");
        (run.label, LeftOut::Other(what))
    };
    (alike, others.into_iter().map(other).collect())
}

fn time_ns(run: &Recorded, of: TimeOf) -> Option<f64> {
    let ns = match of {
        TimeOf::Step => run.step_ns,
        TimeOf::Window => run.window_ns,
    };
    ns.filter(|ns| *ns > 0.0)
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
            counts: runs.first().map(|(_, run)| run.counts).unwrap_or_default(),
        }
    }
}

/// Findings of the first run of each point.
fn trends(groups: &[(Label, Vec<(f64, Recorded)>)], findings: Vec<(String, About)>) -> Vec<Trend> {
    let mut all: Vec<(usize, &Found)> = Vec::new();
    for (point, (_, runs)) in groups.iter().enumerate() {
        let of_first = runs.first().into_iter().flat_map(|(_, run)| &run.found);
        all.extend(of_first.map(|found| (point, found)));
    }
    all.sort_by_key(|(_, found)| found.finding);
    let each = all.chunk_by(|(_, one), (_, other)| one.finding == other.finding);
    let mut moving: Vec<Moving<'_>> = each.filter_map(|seen| Moving::of(seen, groups.len())).collect();
    let fingerprint = |finding: u32| findings.get(finding as usize).map(|(fingerprint, _)| fingerprint);
    moving.sort_by(|a, b| {
        let by_weight = b.severity.cmp(&a.severity).then_with(|| b.range.total_cmp(&a.range));
        by_weight.then_with(|| fingerprint(a.finding).cmp(&fingerprint(b.finding)))
    });
    // Each has a share for each point: there are as many of both as a stranger likes.
    moving.truncate(MAX_TREND_COUNT.min(MAX_TREND_SHARE_COUNT / groups.len().max(1)));
    moving.into_iter().filter_map(|moving| moving.told(&findings, groups.len())).collect()
}

/// A finding that comes, goes, or changes what it could gain.
struct Moving<'all> {
    finding: u32,
    severity: Severity,
    /// Between the least and the most that it could gain: nothing where it is not there.
    range: f64,
    /// Each point at which it was found.
    seen: &'all [(usize, &'all Found)],
}

impl<'all> Moving<'all> {
    /// `None` where it does not move over so many points.
    fn of(seen: &'all [(usize, &'all Found)], point_count: usize) -> Option<Self> {
        let (_, first) = seen.first()?;
        let shares = || seen.iter().map(|(_, found)| found.share);
        let is_always = seen.len() >= point_count;
        let least = shares().reduce(f64::min).filter(|_| is_always).unwrap_or(0.0);
        let range = shares().fold(0.0, f64::max) - least;
        let severity = seen.iter().map(|(_, found)| found.severity).max()?;
        let moves = !is_always || range >= LEAST_SHARE;
        moves.then_some(Self { finding: first.finding, severity, range, seen })
    }

    fn told(&self, findings: &[(String, About)], point_count: usize) -> Option<Trend> {
        let (fingerprint, about) = findings.get(self.finding as usize)?;
        let mut shares = vec![None; point_count];
        for (point, found) in self.seen {
            shares[*point] = Some(found.share);
        }
        Some(Trend {
            fingerprint: fingerprint.clone(),
            title: about.title.clone(),
            subject: about.subject.clone(),
            severity: self.severity,
            shares,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::Sample;

    /// Adds a run with so many GPUs.
    fn add(runs: &mut Runs, name: &str, window_ns: i64, devices: std::ops::Range<i64>) -> Result<(), TooManyFindings> {
        let mut sample = Sample::default();
        let run = sample.run();
        for number in devices {
            sample.device(run, number, "A100", window_ns, &[("compute_ns", window_ns)]);
        }
        let review = sample.review();
        runs.add(Label::of_stem(name), &sample.facts, &review)
    }

    #[test]
    fn runs_of_one_commit_are_one_point_in_the_order_of_commits() {
        let names = ["bbbbbbb-1", "aaaaaaa-1", "bbbbbbb-2", "aaaaaaa-2", "bbbbbbb-3"];
        let times = [30_000_000, 10_000_000, 20_000_000, 12_000_000, 21_000_000];
        let mut runs = Runs::default();
        names.iter().zip(times).for_each(|(name, ns)| add(&mut runs, name, ns, 0..1).unwrap());
        let history = History::of(runs, &Order::of_commits("bbbbbbbb00000000\naaaaaaaa00000000\n"), 0.02);
        let points: Vec<(&str, usize, f64)> =
            history.points.iter().map(|point| (point.label.text(), point.run_count, point.time_ns)).collect();
        assert_eq!(points, [("bbbbbbb", 3, 21_000_000.0), ("aaaaaaa", 2, 11_000_000.0)]);
        assert_eq!((history.of, history.changes.len()), (TimeOf::Window, 0), "two points show no change");
    }

    #[test]
    fn findings_of_many_points_are_as_many_as_their_shares_have_room_for() {
        let told = |point_count: usize| {
            let run = |point: usize| {
                let found = Found { finding: (point % 900) as u32, severity: Severity::Low, share: 0.1 };
                let label = Label::of_stem(&point.to_string());
                let (time_ns, found) = (Some(1.0), Box::new([found]));
                let (basis, counts) = (Basis::default(), Counts::default());
                Recorded { label, step_ns: None, window_ns: time_ns, incomplete: None, basis, counts, found }
            };
            let groups: Vec<_> = (0..point_count).map(run).map(|run| (run.label.clone(), vec![(1.0, run)])).collect();
            let about = || About { title: "A title".to_owned(), subject: Sentence::default() };
            let findings = (0..900).map(|finding| (format!("{finding}"), about())).collect();
            trends(&groups, findings).len()
        };
        assert_eq!((told(1_000), told(4_000), told(10_000)), (900, 250, 100));
    }

    #[test]
    fn what_is_missing_is_no_point_and_rules_that_went_wrong_are_counted() {
        let mut runs = Runs::default();
        for night in 0..4 {
            let mut sample = Sample::default();
            let run = sample.run();
            sample.device(run, 0, "A100", 10_000_000, &[("compute_ns", 10_000_000)]);
            sample.facts.get_mut(run).set("lacks_gpu_work", night == 3);
            let rule = sample.rule("broken", "A title", crate::facts::EntityKind::Run);
            let message = format!("a division by zero in night {night}");
            sample.judge(rule, run, crate::rules::outcome::Outcome::Failed { message });
            let review = sample.review();
            runs.add(Label::of_stem(&format!("{night}")), &sample.facts, &review).unwrap();
        }
        let history = History::of(runs, &Order::default(), 0.02);
        let left_out: Vec<(&str, bool)> =
            history.left_out.iter().map(|(label, why)| (label.text(), matches!(why, LeftOut::Incomplete(_)))).collect();
        assert_eq!((history.points.len(), left_out), (3, vec![("3", true)]));
        let failures: Vec<(&str, usize)> =
            history.failures.iter().map(|failed| (failed.rule.as_str(), failed.run_count)).collect();
        assert_eq!(failures, [("broken", 4)]);
    }

    #[test]
    fn runs_on_another_gpu_or_of_another_step_are_no_change_of_the_program() {
        let mut runs = Runs::default();
        for night in 0..9 {
            let mut sample = Sample::default();
            let run = sample.run();
            let gpu = match night {
                2 => "",
                0..4 => "A100",
                _ => "H100",
            };
            let device = sample.device(run, 0, gpu, 10_000_000, &[("compute_ns", 10_000_000)]);
            if night == 8 {
                sample.facts.get_mut(device).set("phase", "steady");
                sample.facts.get_mut(device).set("whole_window_ns", 90_000_000);
            }
            let review = sample.review();
            runs.add(Label::of_stem(&format!("{night}")), &sample.facts, &review).unwrap();
        }
        let history = History::of(runs, &Order::default(), 0.02);
        let of = |what: &'static str| {
            let others = history.left_out.iter().filter(move |(_, why)| *why == LeftOut::Other(what));
            others.map(|(label, _)| label.text()).collect::<Vec<_>>()
        };
        assert_eq!((history.points.len(), history.changes.len()), (4, 0));
        assert_eq!((of("on other GPUs"), of("of another part of the run")), (vec!["0", "1", "3"], vec!["8"]));
        assert_eq!(of("on GPUs that are not named"), ["2"]);
    }
}
