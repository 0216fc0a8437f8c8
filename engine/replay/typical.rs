//! Which of the steps are played again where there are more than can be.

use super::Subject;
use crate::steps::Step;
use crate::timeline::interval::Interval;

/// Where the device is busy for a share of the time that differs by more than this from that in all steps, others are looked for,
/// in so many places beside the first.
const TYPICAL_DISTANCE: f64 = 0.02;
const PLACE_COUNT: usize = 8;

/// So many steps in a row in which the device is about as busy as in all steps: those in the middle, or else where it is most so.
pub(super) fn steps<'all>(subject: &Subject<'all>, count: usize) -> &'all [Step] {
    let steps = subject.steps;
    let rest = steps.len().saturating_sub(count);
    let part = |first: usize| &steps[first..steps.len() - (rest - first)];
    let middle = rest / 2;
    let (Some(all), true) = (busy_share(subject, steps), rest > 0) else { return part(middle) };
    let distance = |first: usize| busy_share(subject, part(first)).map_or(0.0, |share| (share - all).abs());
    if distance(middle) <= TYPICAL_DISTANCE {
        return part(middle);
    }
    let places = (0..=PLACE_COUNT).map(|place| rest * place / PLACE_COUNT);
    let nearest = places.min_by(|one, other| distance(*one).total_cmp(&distance(*other)));
    part(nearest.unwrap_or(middle))
}

/// What the operations of the device that begin in some steps take of these, together.
fn busy_share(subject: &Subject<'_>, steps: &[Step]) -> Option<f64> {
    let whole = Interval::new(steps.first()?.device.start, steps.last()?.device.end);
    let ops = subject.devices.get(subject.device)?.begun_in(whole);
    let sum_ns = ops.map(|op| op.end - op.start).fold(0_i64, i64::saturating_add);
    (whole.len_ns() > 0).then(|| sum_ns as f64 / whole.len_ns() as f64)
}
