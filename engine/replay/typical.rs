//! Which of the steps are played again where there are more than can be.

use std::ops::Range;

use super::Subject;
use crate::steps::kinds::first_kind;
use crate::steps::{Step, median};
use crate::timeline::interval::Interval;

/// Where the device is busy for a share of the time that differs by more than this from that in all steps, or where steps are by so
/// much longer or shorter as counts for as much, others are looked for, in so many places beside the first.
const TYPICAL_DISTANCE: f64 = 0.02;
const LENGTH_WEIGHT: f64 = 0.2;
const PLACE_COUNT: usize = 64;

/// A round that takes so many times what those around it do, so many on either side, holds another part of the program, which comes
/// once.
const ODD_RATIO: i64 = 3;
const AROUND_COUNT: usize = 8;

/// What is played again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Typical<'all> {
    pub(super) steps: &'all [Step],
    pub(super) of: Alike,
}

/// The steps that those played again are taken from, and are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// How many there are.
    pub count: usize,
    /// What they take of the time of all steps, each step that is far longer counted as one of the others.
    pub share: f64,
    /// Whether steps are left out that take far longer than those around them.
    pub leaves_out_slow: bool,
}

/// So many steps in a row that are about as long as all steps, and in which the device is about as busy: those in the middle, or else where it is most so. Of
/// steps fewer, and half as many at least, where that leaves out one that is not like the others: it would weigh more in a part than
/// in all. Where steps of one kind follow those of another, they are of the kind that takes more time.
pub(super) fn steps<'all>(subject: &Subject<'all>, count: usize) -> Typical<'all> {
    if !subject.are_rounds && count >= subject.steps.len() {
        let of = Alike { count: subject.steps.len(), share: 1.0, leaves_out_slow: false };
        return Typical { steps: subject.steps, of };
    }
    let lengths = lengths(subject.steps);
    let kind = longer_kind(&lengths);
    let row = longest_alike(&lengths[kind.clone()]);
    let row = kind.start + row.start..kind.start + row.end;
    let is_enough = 2 * row.len() >= count.min(kind.len());
    // Rounds that hold another part of the program are no longer for it.
    let is_told = is_enough && !subject.are_rounds;
    let odd_ns = if is_told { odd_ns(&lengths[kind.clone()]) } else { 0 };
    let row = if is_enough { row } else { kind.clone() };
    let sum_ns = |of: &[i64]| of.iter().fold(0.0, |sum, length| sum + *length as f64);
    let share = (sum_ns(&lengths[kind.clone()]) - odd_ns as f64) / sum_ns(&lengths).max(1.0);
    let of = Alike { count: kind.len(), share, leaves_out_slow: odd_ns > 0 };
    Typical { steps: most_alike(subject, &subject.steps[row], count), of }
}

/// So many of steps, which are as long as all of them and keep the device as busy.
fn most_alike<'all>(subject: &Subject<'all>, steps: &'all [Step], count: usize) -> &'all [Step] {
    let rest = steps.len().saturating_sub(count);
    let part = |first: usize| &steps[first..steps.len() - (rest - first)];
    let middle = rest / 2;
    let (Some(all), true) = (Kind::of(subject, steps), rest > 0) else { return part(middle) };
    let distance = |first: usize| Kind::of(subject, part(first)).map_or(0.0, |kind| kind.distance(all));
    if distance(middle) <= TYPICAL_DISTANCE {
        return part(middle);
    }
    let places = (0..=PLACE_COUNT).map(|place| rest * place / PLACE_COUNT);
    let nearest = places.min_by(|one, other| distance(*one).total_cmp(&distance(*other)));
    part(nearest.unwrap_or(middle))
}

/// How long each step is, with what lies between it and the next.
fn lengths(steps: &[Step]) -> Vec<i64> {
    let ends = steps.iter().skip(1).map(|next| next.device.start).chain(steps.last().map(|last| last.device.end));
    steps.iter().zip(ends).map(|(step, end)| end.saturating_sub(step.device.start).max(0)).collect()
}

/// How long those around one are.
fn usual_ns(lengths: &[i64], index: usize) -> i64 {
    let around = index.saturating_sub(AROUND_COUNT)..lengths.len().min(index + AROUND_COUNT + 1);
    median(lengths[around].iter().copied())
}

fn is_odd(lengths: &[i64], index: usize) -> bool {
    lengths[index] > usual_ns(lengths, index).saturating_mul(ODD_RATIO)
}

/// By how much those take longer that take far longer than those around them.
fn odd_ns(lengths: &[i64]) -> i64 {
    let odd = (0..lengths.len()).filter(|index| is_odd(lengths, *index));
    odd.map(|index| lengths[index] - usual_ns(lengths, index)).fold(0, i64::saturating_add)
}

/// The longest row of steps without one that takes far longer than those around it, the first of as long ones.
fn longest_alike(lengths: &[i64]) -> Range<usize> {
    let (mut longest, mut first) = (0..0, 0);
    for index in 0..lengths.len() {
        if is_odd(lengths, index) {
            first = index + 1;
        } else if index + 1 - first > longest.len() {
            longest = first..index + 1;
        }
    }
    longest
}

/// Where steps of one kind follow those of another, the row that takes more time; all of them otherwise.
fn longer_kind(lengths: &[i64]) -> Range<usize> {
    let Some(count) = first_kind(lengths) else { return 0..lengths.len() };
    let (first, second) = lengths.split_at(count);
    let sum = |of: &[i64]| of.iter().copied().fold(0, i64::saturating_add);
    if sum(first) >= sum(second) { 0..count } else { count..lengths.len() }
}

/// What some steps are like.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// What the operations of the device that begin in them take of the time, together.
    busy_share: f64,
    mean_ns: f64,
}

impl Kind {
    fn of(subject: &Subject<'_>, steps: &[Step]) -> Option<Self> {
        let whole = Interval::new(steps.first()?.device.start, steps.last()?.device.end);
        let ops = subject.devices.get(subject.device)?.begun_in(whole);
        let sum_ns = ops.map(|op| op.end - op.start).fold(0_i64, i64::saturating_add);
        let whole_ns = whole.len_ns() as f64;
        (whole_ns > 0.0).then(|| Self { busy_share: sum_ns as f64 / whole_ns, mean_ns: whole_ns / steps.len() as f64 })
    }

    fn distance(self, other: Self) -> f64 {
        let longer = (self.mean_ns / other.mean_ns - 1.0).abs();
        (self.busy_share - other.busy_share).abs() + LENGTH_WEIGHT * longer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of so many nanoseconds, one behind the other.
    fn row(lengths: &[i64]) -> Vec<Step> {
        let mut start = 0;
        let mut next = |length: &i64| {
            let whole = Interval::new(start, start + length);
            start = whole.end;
            Step::of(whole)
        };
        lengths.iter().map(&mut next).collect()
    }

    #[test]
    fn the_longest_row_has_no_odd_one() {
        let of = |given: &[i64]| longest_alike(&lengths(&row(given)));
        assert_eq!(of(&[10, 10, 30, 10, 12]), 0..5);
        assert_eq!(of(&[10, 10, 31, 10, 12]), 0..2);
        assert_eq!(of(&[10, 31, 10, 12, 11, 9]), 2..6);
        assert_eq!(of(&[&[10; 20][..], &[40; 20]].concat()), 0..40, "longer from then on");
        assert_eq!(of(&[]), 0..0);
    }

    #[test]
    fn what_an_odd_one_takes_beyond_the_others_is_not_theirs() {
        assert_eq!(odd_ns(&[10, 10, 31, 10, 12]), 21);
        assert_eq!(odd_ns(&[10, 10, 30, 10, 12]), 0);
        assert_eq!(odd_ns(&[]), 0);
    }

    #[test]
    fn of_two_kinds_one_after_the_other_the_one_that_takes_more_time_is_played() {
        let rows = |short: usize, long: usize| longer_kind(&[vec![10; short], vec![40; long]].concat());
        assert_eq!(rows(200, 20), 0..200);
        assert_eq!(rows(60, 20), 60..80);
        assert_eq!(longer_kind(&[]), 0..0);
    }
}
