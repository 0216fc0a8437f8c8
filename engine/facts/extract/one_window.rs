//! One window for all devices that work together: what two of them do can only be compared over the same time.

use std::cmp::Reverse;

use crate::ledger::{DeviceOps, OpKind};
use crate::steps::{Launches, Phases, Steps};
use crate::timeline::interval::Interval;

/// Steady states that share this part of what they cover together are the same.
const SAME_SHARE: f64 = 0.8;
/// What all of them share is taken where it is this part of the steady state that is surest; else that one is.
const LEAST_COMMON_SHARE: f64 = 0.5;

/// What the launches of one device tell, before it is held against the others.
pub(super) struct Found {
    pub(super) launches: Option<Launches>,
    pub(super) steps: Option<Steps>,
    pub(super) phases: Option<Phases>,
}

/// Lets the devices that work with the one whose steady state is surest be judged over the same time.
pub(super) fn align(devices: &[DeviceOps], found: &mut [Found]) {
    let sure = |found: &Found| found.phases.as_ref().map(|phases| (phases.certainty, phases.steady.len_ns()));
    let told = found.iter().enumerate().filter_map(|(index, found)| Some((sure(found)?, index)));
    let Some((_, lead)) = told.max_by_key(|(sure, index)| (*sure, Reverse(*index))) else { return };
    let Some(own) = found[lead].phases.clone() else { return };
    let lead_communicates = communicates(&devices[lead]);
    let is_partner = |index: &usize| {
        *index != lead
            && found[*index].phases.is_some()
            && (work_alike(&found[lead], &found[*index]) || lead_communicates && communicates(&devices[*index]))
    };
    let partners: Vec<usize> = (0..found.len()).filter(is_partner).collect();
    let as_sure = partners.iter().filter_map(|index| found[*index].phases.as_ref());
    let as_sure = as_sure.filter(|phases| phases.certainty == own.certainty).map(|phases| phases.steady);
    let common = as_sure.fold(own.steady, Interval::clip);
    let is_most = common.len_ns() as f64 >= LEAST_COMMON_SHARE * own.steady.len_ns() as f64;
    let common = if is_most { common } else { own.steady };
    for index in partners.into_iter().chain([lead]) {
        let Found { steps, phases, .. } = &mut found[index];
        let works = || devices[index].in_window().any(|op| op.interval().overlap_ns(common) > 0);
        if let Some(phases) = phases.as_mut().filter(|phases| !is_same(phases.steady, common) && works()) {
            let steps = steps.as_ref().map_or(&[][..], |steps| &steps.steps);
            if let Some(moved) = phases.moved_to(devices[index].window, common, (steps, own.certainty)) {
                *phases = moved;
            }
        }
    }
}

/// Whether one process launches for two devices, or they repeat the same.
fn work_alike(one: &Found, other: &Found) -> bool {
    one.steps.as_ref().zip(other.steps.as_ref()).is_some_and(|(one, other)| {
        one.process == other.process || one.told_by == other.told_by && one.name == other.name
    })
}

/// Whether a device takes part in collectives: it works with all others that do.
fn communicates(device: &DeviceOps) -> bool {
    device.in_window().any(|op| op.kind == OpKind::Communication)
}

fn is_same(one: Interval, other: Interval) -> bool {
    let shared_ns = one.overlap_ns(other);
    let covered_ns = one.len_ns() + other.len_ns() - shared_ns;
    shared_ns as f64 >= SAME_SHARE * covered_ns as f64
}
