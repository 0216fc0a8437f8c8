//! How often noise alone is called a change, and a true change is found: runs drawn with a seed, each as a whole faster or slower
//! than the next, as clocks and temperatures have it.

use crate::facts::{EntityKind, FactValue};

use super::measure::{Change, Noise, Trend, Values};
use super::{OddRun, Outcome, Run, Side, Sides, Terms, compare, samples};

const WINDOW_NS: f64 = 40_000_000.0;

/// Numbers that look random, the same each time.
struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Of the normal distribution, by Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn runs(&mut self, count: usize, factor: f64, spread: f64) -> Vec<i64> {
        (0..count).map(|_| (WINDOW_NS * factor * (1.0 + spread * self.normal())) as i64).collect()
    }
}

/// The share of so many draws in which a change is said.
fn said(runs: usize, factor: f64, spread: f64) -> f64 {
    const DRAWS: usize = 4_000;
    let (mut dice, noise) = (Dice(7), Noise::new(runs, runs, None));
    let changes = (0..DRAWS).filter(|_| {
        let values = Sides { base: dice.runs(runs, 1.0, spread), head: dice.runs(runs, factor, spread) };
        let values = values.map(|values| Values::of(values).unwrap());
        Change::of(&values, &noise).trend() != Trend::Same
    });
    changes.count() as f64 / DRAWS as f64
}

#[test]
fn noise_alone_is_hardly_ever_a_change() {
    for runs in [2, 3, 5, 10] {
        for spread in [0.01, 0.02, 0.03] {
            let share = said(runs, 1.0, spread);
            let most = if runs == 3 || runs == 5 { 0.02 } else { 0.03 };
            assert!(share <= most, "{runs} runs, {spread}: {share}");
        }
    }
}

#[test]
fn five_per_cent_are_found_with_five_runs_a_side() {
    for (runs, factor, spread, least) in [
        (5, 1.05, 0.02, 0.8),
        (5, 1.1, 0.02, 0.99),
        (10, 1.03, 0.02, 0.75),
        (10, 1.05, 0.02, 0.98),
        (3, 1.3, 0.03, 0.98),
    ] {
        let share = said(runs, factor, spread);
        assert!(share >= least, "{runs} runs, {factor}, {spread}: {share}");
    }
}

fn run(name: &str, window_ns: i64) -> Run {
    let (sample, _) = samples::of_one_kernel(window_ns);
    let review = sample.review();
    Run { name: name.to_owned(), facts: sample.facts, review }
}

fn runs(windows: &[i64]) -> Vec<Run> {
    (1..).zip(windows).map(|(number, ms)| run(&format!("{number}.sqlite"), ms * 100_000)).collect()
}

#[test]
fn one_odd_run_hides_nothing_and_is_named() {
    let (steady, slower) = ([400, 398, 402, 401, 399], [520, 517, 523, 522, 518]);
    for (base, head, side, index) in
        [([400, 398, 402, 401, 560], slower, Side::Base, 4), (steady, [520, 401, 523, 522, 518], Side::Head, 1)]
    {
        let comparison = compare(&runs(&base), &runs(&head), Terms::default()).unwrap();
        assert_eq!(comparison.outcome, Outcome::Slower, "{}", comparison.verdict.plain());
        let odd: Vec<(Side, usize)> = comparison.odd.iter().map(|OddRun { side, index, .. }| (*side, *index)).collect();
        assert_eq!(odd, [(side, index)]);
        let name = format!("Left out of the {}: {}.sqlite", side.name(), index + 1);
        assert!(comparison.verdict.plain().contains(&name), "{}", comparison.verdict.plain());
    }
}

/// A run that differs because a part of it is missing, or because it ran on another GPU, is not left out: nothing may be said of its side.
#[test]
fn a_run_that_is_not_whole_or_ran_elsewhere_is_never_left_out_as_odd() {
    let with = |fact: &str, value: FactValue, kind: EntityKind| {
        let mut head = runs(&[490, 491, 3_000]);
        let id = head[2].facts.of_kind(kind).next().unwrap().0;
        head[2].facts.get_mut(id).set(fact, value);
        compare(&runs(&[500, 501, 502]), &head, Terms::default()).unwrap()
    };
    let whole = with("dropped_event_count", 0_i64.into(), EntityKind::Run);
    assert_eq!((whole.odd.len(), whole.outcome), (1, Outcome::NoChange));
    for (fact, value, kind) in [
        ("is_file_damaged", FactValue::from(true), EntityKind::Run),
        ("unread_row_count", 7_i64.into(), EntityKind::Run),
        ("name", "Another GPU".into(), EntityKind::Device),
    ] {
        let comparison = with(fact, value, kind);
        assert_eq!((comparison.odd.len(), comparison.outcome), (0, Outcome::NotComparable), "{fact}");
    }
}

#[test]
fn runs_that_are_too_few_say_so() {
    let comparison = compare(&runs(&[400, 410, 405]), &runs(&[420, 416, 428]), Terms::default()).unwrap();
    assert_eq!(comparison.outcome, Outcome::NoChange);
    let words = "3 and 3 runs cannot show a change of this size: record 5 a side.";
    assert!(comparison.verdict.plain().contains(words), "{}", comparison.verdict.plain());
}
