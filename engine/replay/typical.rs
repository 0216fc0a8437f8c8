//! Which of the steps are played again where there are more than can be.

use super::Subject;
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

/// So many steps in a row that are about as long as all steps, and in which the device is about as busy: those in the middle, or else where it is most so. Of
/// rounds fewer, and half as many at least, where that leaves out one that is not like the others.
pub(super) fn steps<'all>(subject: &Subject<'all>, count: usize) -> &'all [Step] {
    let alike = if subject.are_rounds { longest_alike(subject.steps) } else { subject.steps };
    let steps = if 2 * alike.len() >= count.min(subject.steps.len()) { alike } else { subject.steps };
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

/// The longest row of steps without one that takes far longer than those around it, the first of as long ones.
fn longest_alike(steps: &[Step]) -> &[Step] {
    let ends = steps.iter().skip(1).map(|next| next.device.start).chain(steps.last().map(|last| last.device.end));
    let lengths: Vec<i64> = steps.iter().zip(ends).map(|(step, end)| end.saturating_sub(step.device.start)).collect();
    let usual_ns = |index: usize| {
        let around = index.saturating_sub(AROUND_COUNT)..lengths.len().min(index + AROUND_COUNT + 1);
        median(lengths[around].iter().copied())
    };
    let (mut longest, mut first) = (0..0, 0);
    for (index, length) in lengths.iter().enumerate() {
        if *length > usual_ns(index).saturating_mul(ODD_RATIO) {
            first = index + 1;
        } else if index + 1 - first > longest.len() {
            longest = first..index + 1;
        }
    }
    steps.get(longest).unwrap_or(steps)
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
        let of = |lengths: &[i64]| {
            let steps = row(lengths);
            let alike = longest_alike(&steps);
            (alike.first().map_or(0, |first| first.device.start), alike.len())
        };
        assert_eq!(of(&[10, 10, 30, 10, 12]), (0, 5));
        assert_eq!(of(&[10, 10, 31, 10, 12]), (0, 2));
        assert_eq!(of(&[10, 31, 10, 12, 11, 9]), (41, 4));
        assert_eq!(of(&[&[10; 20][..], &[40; 20]].concat()), (0, 40), "longer from then on");
        assert_eq!(of(&[]), (0, 0));
    }
}
