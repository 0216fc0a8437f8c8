//! The steps of one run: how long they take, on average and in the middle, and how they spread.

use super::WarmUp;
use super::runs::{Run, devices_with_work, int};
use crate::facts::{Entity, EntityId, EntityKind, FactValue, Facts};

/// A step that takes this many medians more is one of its own.
const SLOW_FACTOR: f64 = 1.25;
/// A last step that launches a smaller part of what the median step does is cut.
const WHOLE_SHARE: f64 = 0.98;

/// The steady steps of the device whose steps take longest. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rounds {
    pub(crate) mean_ns: i64,
    pub(super) median_ns: i64,
    /// Those that the facts tell one by one: all, unless there are very many.
    pub(super) durations_ns: Vec<i64>,
    /// How many steps are timed.
    pub(super) count: i64,
}

/// Of a step that is cut, or that overlaps the next, the mean may be a little shorter than the shortest.
const LEAST_MEAN_SHARE: f64 = 0.9;

impl Rounds {
    /// `None` without steps.
    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        let devices = devices_with_work(facts);
        let each = devices.iter().filter_map(|(id, device)| Self::of_device(facts, *id, device));
        each.max_by_key(|rounds| rounds.median_ns)
    }

    fn of_device(facts: &Facts, id: EntityId, device: &Entity) -> Option<Self> {
        let median_ns = device.int("step_median_ns").filter(|ns| *ns > 0)?;
        let mut steps: Vec<&Entity> = steps(facts, id).collect();
        let missing_ns = missing_ns(device, &steps);
        // A capture may end in the middle of a step: that one tells nothing.
        let cut_ns = cut_last(device, &mut steps);
        let count = int(device, "step_count") - int(device, "warm_up_step_count") - i64::from(cut_ns.is_some());
        let mean_ns = match (device.int("steady_ns"), cut_ns) {
            (Some(steady_ns), Some(cut_ns)) if count > 0 => (steady_ns - cut_ns) / count,
            (Some(steady_ns), None) if count > 0 => (steady_ns + missing_ns) / count,
            // Of rounds that launches tell no time stands for all but their mean.
            _ => device.int("step_mean_ns")?,
        };
        let is_steady = |step: &&&Entity| step.get("is_warm_up") != Some(&FactValue::Bool(true));
        let mut durations_ns: Vec<i64> = steps.iter().filter(is_steady).map(|step| int(step, "duration_ns")).collect();
        if let Some(last) = durations_ns.last_mut().filter(|_| cut_ns.is_none()) {
            *last += missing_ns;
        }
        // A mean below all that it is of is none.
        let shortest_ns = durations_ns.iter().copied().min().filter(|_| durations_ns.len() as i64 >= count);
        let is_mean = mean_ns > 0
            && shortest_ns.is_none_or(|shortest_ns| mean_ns as f64 >= LEAST_MEAN_SHARE * shortest_ns as f64);
        is_mean.then_some(Self { mean_ns, median_ns, durations_ns, count })
    }

    /// The mean and the standard deviation of the steps.
    pub(super) fn spread(&self) -> Option<(f64, f64)> {
        let count = self.durations_ns.len() as f64;
        if count < 2.0 {
            return None;
        }
        let mean = self.durations_ns.iter().map(|ns| *ns as f64).sum::<f64>() / count;
        let squares: f64 = self.durations_ns.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
        Some((mean, (squares / (count - 1.0)).sqrt()))
    }

    /// Steps that take much longer than `median_ns`, and by how much on average.
    pub(super) fn slow(&self, median_ns: i64) -> (usize, i64) {
        let is_slow = |ns: &&i64| **ns as f64 > SLOW_FACTOR * median_ns as f64;
        let slow: Vec<i64> = self.durations_ns.iter().filter(is_slow).map(|ns| ns - median_ns).collect();
        let count = i64::try_from(slow.len()).unwrap_or(i64::MAX);
        (slow.len(), slow.iter().fold(0_i64, |sum, ns| sum.saturating_add(*ns)) / count.max(1))
    }
}

/// The steps before the steady state, of the device that loses most in them.
pub(super) fn warm_up(facts: &Facts) -> WarmUp {
    let of_device = |(id, device): (EntityId, &Entity)| match (device.int("set_up_ns"), device.int("before_steady_ns"))
    {
        // A window of the steady state does not hold them.
        (Some(set_up_ns), Some(before_ns)) => {
            WarmUp { count: int(device, "earlier_step_count"), ns: before_ns.saturating_sub(set_up_ns) }
        }
        _ => {
            let is_one = |step: &&Entity| step.get("is_warm_up") == Some(&FactValue::Bool(true));
            let steps = steps(facts, id).filter(is_one);
            steps.fold(WarmUp::default(), |all, step| WarmUp {
                count: all.count + 1,
                ns: all.ns.saturating_add(int(step, "duration_ns")),
            })
        }
    };
    let all = devices_with_work(facts).into_iter().map(of_device);
    all.filter(|of| of.count > 0).max_by_key(|of| of.ns).unwrap_or_default()
}

/// A step ends where the next begins, so the last one lacks the time before the next: as much idle time as the median step has
/// more.
pub(super) fn missing_ns(device: &Entity, steps: &[&Entity]) -> i64 {
    let Some(last) = steps.last().filter(|last| is_last(device, last)) else { return 0 };
    let time_ns = int(device, "step_median_ns") - int(last, "duration_ns");
    let idle_ns = int(last, "idle_median_ns") - int(last, "idle_ns");
    time_ns.min(idle_ns).max(0)
}

/// How many steps the run holds. Of a last one that is cut, as much as it launched of what the others do.
pub(super) fn whole_count(run: &Run) -> f64 {
    let of_device = |(id, device): (EntityId, &Entity)| {
        let steps: Vec<&Entity> = steps(&run.facts, id).collect();
        let missing_share = cut_share(device, &steps).map_or(0.0, |share| 1.0 - share);
        int(device, "step_count") as f64 - missing_share
    };
    run.devices().into_iter().map(of_device).fold(1.0, f64::max)
}

/// Whether a step is the last one of all, and not merely of those that are told one by one.
fn is_last(device: &Entity, step: &Entity) -> bool {
    let end_ns = |start: Option<i64>, length: Option<i64>| Some(start? + length?);
    let own = end_ns(step.int("start_ns"), step.int("duration_ns"));
    own.is_some() && own == end_ns(device.int("steady_start_ns"), device.int("steady_ns"))
}

/// How much of what the others launch the last step does, where it is cut.
fn cut_share(device: &Entity, steps: &[&Entity]) -> Option<f64> {
    let last = steps.last().filter(|last| steps.len() > 2 && is_last(device, last))?;
    let (own, usual) = (last.int("kernel_count")?, last.int("kernel_median_count")?);
    Some(own as f64 / usual.max(1) as f64).filter(|share| *share < WHOLE_SHARE)
}

/// Takes the last step out where it is cut, and gives how long it was.
fn cut_last(device: &Entity, steps: &mut Vec<&Entity>) -> Option<i64> {
    cut_share(device, steps)?;
    steps.pop().map(|last| int(last, "duration_ns"))
}

/// The steps of a device, in order.
pub(super) fn steps(facts: &Facts, device: EntityId) -> impl Iterator<Item = &Entity> {
    let of_device = move |id: EntityId| facts.related(id, EntityKind::Device) == Some(device);
    facts.of_kind(EntityKind::Step).filter(move |(id, _)| of_device(*id)).map(|(_, step)| step)
}
