//! The steps of one run: how long they take, on average and in the middle, and how they spread.

use super::WarmUp;
use super::runs::{Run, devices_with_work, int};
use crate::facts::{Entity, EntityId, EntityKind, FactValue, Facts};

/// A GPU that works for a smaller part of what the busiest one does needs no steps.
const LEAST_WORK_SHARE: f64 = 0.02;
/// A step that takes this many medians more is one of its own.
const SLOW_FACTOR: f64 = 1.25;
/// A last step that launches a smaller part of what the median step does is cut.
const WHOLE_SHARE: f64 = 0.98;

/// The steady steps of the device whose steps take longest on average. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rounds {
    pub(crate) mean_ns: i64,
    pub(super) median_ns: i64,
    /// Those that the facts tell one by one: all, unless there are very many.
    pub(super) durations_ns: Vec<i64>,
    /// How many steps are timed.
    pub(super) count: i64,
    /// Those behind the steady state, of the device that loses most in them.
    pub(crate) behind: Behind,
}

/// Steps behind the steady state, which a pause parts from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Behind {
    /// How many.
    pub count: i64,
    /// Of how many steps in all.
    pub of: i64,
    /// How long a step takes on average with them and the pauses before them; without any, as long as those of the steady state.
    pub mean_with_ns: i64,
}

/// Of a step that is cut, or that overlaps the next, the mean may be a little shorter than the shortest.
const LEAST_MEAN_SHARE: f64 = 0.9;
/// Half of the steps take the median or longer.
const LEAST_MEDIAN_SHARE: f64 = 0.5;

impl Rounds {
    /// `None` without steps, or where a GPU that ran work tells none: it may be the slowest.
    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        let mut devices = devices_with_work(facts);
        // A process has a context on a GPU that it does nothing else on.
        let busy_ns = |device: &Entity| device.int("busy_ns").unwrap_or(i64::MAX);
        let most_ns = devices.iter().map(|(_, device)| busy_ns(device)).max().unwrap_or(0);
        devices.retain(|(_, device)| {
            device.int("step_median_ns").is_some() || busy_ns(device) as f64 >= LEAST_WORK_SHARE * most_ns as f64
        });
        let each: Option<Vec<Self>> = devices.iter().map(|(id, device)| Self::of_device(facts, *id, device)).collect();
        let each = each?;
        let behind =
            each.iter().map(|rounds| rounds.behind).max_by_key(|behind| (behind.mean_with_ns, behind.count))?;
        let slowest = each.into_iter().max_by_key(|rounds| (rounds.mean_ns, rounds.median_ns))?;
        Some(Self { behind, ..slowest })
    }

    fn of_device(facts: &Facts, id: EntityId, device: &Entity) -> Option<Self> {
        let median_ns = device.int("step_median_ns").filter(|ns| *ns > 0)?;
        let all_count = steps(facts, id).count() as i64;
        let mut steps: Vec<&Entity> = steps(facts, id).filter(|step| !is_behind(device, step)).collect();
        let missing_ns = missing_ns(device, &steps);
        // A capture may end in the middle of a step: that one tells nothing.
        let cut_ns = cut_last(device, &mut steps);
        let is_steady = |step: &&&Entity| step.get("is_warm_up") != Some(&FactValue::Bool(true));
        let mut durations_ns: Vec<i64> = steps.iter().filter(is_steady).map(|step| int(step, "duration_ns")).collect();
        let cut_count = i64::from(cut_ns.is_some());
        let steady_count = device.int("steady_step_count").or_else(|| {
            // Of files that do not tell it: where steps may lie behind the steady state, only those that are told are known.
            let in_window = int(device, "step_count").saturating_sub(int(device, "warm_up_step_count"));
            match (device.get("phase").is_some(), all_count >= int(device, "step_count")) {
                (false, true) if all_count > 0 => Some(durations_ns.len() as i64 + cut_count),
                (false, false) if all_count > 0 => None,
                _ => Some(in_window),
            }
        });
        let count = steady_count.unwrap_or(0).saturating_sub(cut_count);
        let mean_ns = match (device.int("steady_ns"), cut_ns) {
            (Some(steady_ns), Some(cut_ns)) if count > 0 => steady_ns.saturating_sub(cut_ns) / count,
            (Some(steady_ns), None) if count > 0 => steady_ns.saturating_add(missing_ns) / count,
            // Of rounds that launches tell no time stands for all but their mean.
            _ => device.int("step_mean_ns")?,
        };
        if let Some(last) = durations_ns.last_mut().filter(|_| cut_ns.is_none()) {
            *last = last.saturating_add(missing_ns);
        }
        // A mean below all that it is of is none. Of many steps the longest alone are told.
        let shortest_ns = durations_ns.iter().copied().min().filter(|_| durations_ns.len() as i64 >= count);
        let of_many = || if steps.is_empty() { 0.0 } else { LEAST_MEDIAN_SHARE * median_ns as f64 };
        let least_ns = shortest_ns.map_or_else(of_many, |shortest_ns| shortest_ns as f64);
        let is_mean = mean_ns > 0 && mean_ns as f64 >= LEAST_MEAN_SHARE * least_ns;
        let behind = Behind::of(device, count, mean_ns);
        is_mean.then_some(Self { mean_ns, median_ns, durations_ns, count, behind })
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

impl Behind {
    fn of(device: &Entity, steady_count: i64, mean_ns: i64) -> Self {
        let of = all_step_count(device);
        let none = Self { count: 0, of, mean_with_ns: mean_ns };
        let Some(steady_step_count) = device.int("steady_step_count") else { return none };
        let in_window = int(device, "step_count").saturating_sub(int(device, "warm_up_step_count"));
        let in_window = in_window.saturating_sub(steady_step_count);
        let count = in_window.saturating_add(int(device, "later_step_count")).max(0);
        let all_ns = i128::from(mean_ns) * i128::from(steady_count) + i128::from(int(device, "after_steady_ns"));
        let mean_with_ns = all_ns / (i128::from(steady_count) + i128::from(count)).max(1);
        if count == 0 {
            none
        } else {
            Self { count, of, mean_with_ns: i64::try_from(mean_with_ns).unwrap_or(i64::MAX) }
        }
    }
}

/// The steps of the whole window, of which a phase may be measured.
pub(super) fn all_step_count(device: &Entity) -> i64 {
    let outside = ["earlier_step_count", "later_step_count"].map(|fact| int(device, fact));
    outside.into_iter().fold(int(device, "step_count"), i64::saturating_add)
}

/// Whether a step lies behind the steady state.
fn is_behind(device: &Entity, step: &Entity) -> bool {
    let end_ns = device.int("steady_start_ns").zip(device.int("steady_ns")).map(|(start, ns)| start.saturating_add(ns));
    end_ns.zip(step.int("start_ns")).is_some_and(|(end_ns, start_ns)| start_ns >= end_ns)
}

/// The steps before the steady state, of the device that loses most in them.
pub(super) fn warm_up(facts: &Facts) -> WarmUp {
    let of_device = |(id, device): (EntityId, &Entity)| {
        let of = all_step_count(device);
        // A window of the steady state does not hold them.
        if let Some((set_up_ns, before_ns)) = device.int("set_up_ns").zip(device.int("before_steady_ns")) {
            let ns = before_ns.saturating_sub(set_up_ns).max(0);
            return WarmUp { count: int(device, "earlier_step_count"), ns, of };
        }
        if let Some((count, ns)) = device.int("warm_up_step_count").zip(device.int("warm_up_steps_ns")) {
            return WarmUp { count, ns, of };
        }
        // Of files that tell neither, those that are told.
        let is_one = |step: &&Entity| step.get("is_warm_up") == Some(&FactValue::Bool(true));
        steps(facts, id).filter(is_one).fold(WarmUp { of, ..WarmUp::default() }, |all, step| WarmUp {
            count: all.count + 1,
            ns: all.ns.saturating_add(int(step, "duration_ns")),
            ..all
        })
    };
    let all = devices_with_work(facts).into_iter().map(of_device);
    all.filter(|of| of.count > 0).max_by_key(|of| of.ns).unwrap_or_default()
}

/// How long the whole window of a run goes on behind its last step, and how long it is. Steps behind a pause are judged as steps.
pub(super) fn tail(run: &Run) -> Option<(i64, i64)> {
    let of_device = |(_, device): (EntityId, &Entity)| {
        let after_ns = int(device, "after_steady_ns");
        if let Some((tail_ns, whole_ns)) = device.int("tear_down_ns").zip(device.int("whole_window_ns")) {
            return Some((tail_ns.saturating_sub(after_ns).max(0), whole_ns));
        }
        // A phase has its own end, and what the whole window is was not told.
        let window_ns = device.int("window_ns").filter(|_| device.get("phase").is_none())?;
        let end_ns = device.int("window_start_ns")?.checked_add(window_ns)?;
        let steady_end_ns = device.int("steady_start_ns")?.checked_add(device.int("steady_ns")?)?;
        Some((end_ns.checked_sub(steady_end_ns)?.saturating_sub(after_ns).max(0), window_ns))
    };
    run.devices().into_iter().filter_map(of_device).max()
}

/// How long the GPU that computes most before the steady state does so, and how long it computes in that. `None` where the whole window
/// is measured.
pub(super) fn lead(run: &Run) -> Option<(i64, i64)> {
    let of_device = |(id, device): (EntityId, &Entity)| {
        let phases = run.facts.of_kind(EntityKind::Phase);
        let own = phases.filter(|(phase, _)| run.facts.related(*phase, EntityKind::Device) == Some(id));
        let lead_ns = own.map(|(_, phase)| int(phase, "compute_ns")).fold(0, i64::saturating_add);
        device.get("phase").is_some().then(|| (lead_ns, int(device, "compute_ns")))
    };
    run.devices().into_iter().filter_map(of_device).max()
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
    let end_ns = |start: Option<i64>, length: Option<i64>| start?.checked_add(length?);
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
