//! What would remain of a step without a cause, from the replay of the steady state.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::phases::are_marked;
use super::{Context, DeviceContext, DevicePart, Parents, beside_rounds, between_os_calls, culprits, reach, steps};
use crate::facts::Entity;
use crate::ledger::DeviceOps;
use crate::parallel::{self, Threads};
use crate::replay::{Assumption, Change, Gain, InTurn, Kept, NameMarks, NoReplay, Replay, Role, Subject};
use crate::steps::{Step, ToldBy};

/// What a step of one device would take after changes.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// The number of the device.
    pub device_number: i64,
    /// The replay, or why there is none.
    pub outcome: Result<Predicted, NoReplay>,
}

impl WhatIf {
    /// The key of the device in facts.
    pub fn device_key(&self) -> String {
        super::key_of(self.device_number)
    }
}

/// What a replay says.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// A step without the profiler, nanoseconds: what gains are told of.
    pub step_ns: i64,
    /// The least that it is.
    pub least_step_ns: i64,
    /// The most that it is.
    pub most_step_ns: i64,
    /// A step as recorded.
    pub recorded_step_ns: i64,
    /// How many steps were played again.
    pub step_count: u32,
    /// How far the steps are from those recorded, at most, when played again without a change: a share.
    pub identity_share: f64,
    /// The same of a step in the mean, without what the model does not explain.
    pub distance_share: f64,
    /// What is taken for granted, as the recording does not say it.
    pub assumptions: Vec<Assumption>,
    /// What each change wins: what is expected of it by itself, and at most with what is mostly made with it.
    pub each: Vec<(Change, Gain)>,
    /// What they win together.
    pub together: Gain,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, _: &Parents<'_>, part: &mut DevicePart) {
    let steps = steps::steady(device);
    let told = |replay: &Bounded<'_, '_>| {
        set(replay, (context.plays_at_once, has_slow_steps_of_same_work(device, steps)), &mut part.device);
        replay.alike()
    };
    let played = played(context, device, steps, told);
    part.device.set("is_replayed", played.is_ok());
    if let Ok(alike) = played {
        let all = device.told.steps.as_ref().filter(|steps| !are_marked(steps)).map_or(steps, |all| &all.steps);
        let is_of_all = alike.count == steps.len();
        part.device.set("replay_of_step_count", if is_of_all { all.len() } else { alike.count } as i64);
    }
    if beside_rounds::is_partial(device) {
        culprits::of_host(context.timeline, device, played.is_ok(), &mut part.device);
    }
    if let Ok(alike) = played {
        beside_rounds::extract(context.timeline, device, &mut part.device);
        beside_rounds::launching(device, &mut part.device);
        let window = device.window();
        let held_ns = device.told.rounds.overlap_ns(window);
        if steps::are_rounds(device) {
            let kernels = &device.tally.kernels_run;
            part.device.set("beside_rounds_kernel_ns", kernels.len_ns() - kernels.common_ns(&device.told.rounds));
        }
        part.device
            .set("replay_covered_share", (held_ns as f64 / window.len_ns().max(1) as f64).min(1.0) * alike.share);
        if alike.share < 1.0 {
            part.device.set("replay_alike_share", alike.share);
        }
    }
    if let Err(none) = played {
        part.device.set("replay_refused", none.id());
    }
}

fn set(replay: &Bounded<'_, '_>, (threads, is_slow_by_itself): (Threads, bool), facts: &mut Entity) {
    facts.set("replay_step_ns", replay.step_ns());
    facts.set("replay_least_step_ns", replay.least_step_ns());
    facts.set("replay_most_step_ns", replay.most_step_ns());
    facts.set("replay_recorded_step_ns", replay.recorded_step_ns());
    facts.set("replay_step_count", i64::from(replay.step_count()));
    facts.set("replay_distance_share", replay.distance_share());
    facts.set("replay_inner_wait_count", replay.inner_wait_count().round() as i64);
    facts.set("lower_precision_halves_others", replay.lower_precision_halves_others());
    facts.set("host_aside_sends_ahead", replay.host_aside_sends_ahead());
    if let Some(pieces) = replay.piece_loop() {
        facts.set("piece_choice_count", pieces.choice_count as i64);
        facts.set("piece_choice_launch_count", pieces.choice_launch_count);
        facts.set("piece_step_launch_count", pieces.step_launch_count as i64);
        facts.set("piece_with_product_count", pieces.with_product_count as i64);
        facts.set("piece_with_value_count", pieces.with_value_count as i64);
    }
    // What slow steps lose is not in those that are played.
    let is_told = |change: &&Change| **change != Change::SteadySteps || !replay.alike().leaves_out_slow;
    let changes: Vec<&Change> = Change::ALL.iter().filter(is_told).collect();
    let gains = parallel::map(threads, &changes, |change| replay.gain(&[**change]));
    for (change, gain) in changes.into_iter().zip(gains) {
        let mut expected_ns = beyond(replay, *change, gain.expected_ns);
        if *change == Change::Graph && is_slow_by_itself {
            expected_ns = expected_ns.min(beyond_steady(replay, *change));
        }
        facts.set(change.expected_fact(), expected_ns);
        facts.set(change.ceiling_fact(), gain.ceiling_ns);
    }
}

/// Steps that launch so many as the others do the same work.
const SAME_WORK_SHARE: f64 = 0.98;

/// Whether some steps are slower than others that launch as much: what makes them so is no price of launching.
fn has_slow_steps_of_same_work(device: &DeviceContext, steps: &[Step]) -> bool {
    let counts = || steps.iter().map(|step| step.launch_count);
    let (Some(least), Some(most)) = (counts().min(), counts().max()) else { return false };
    device.told.slow_steps.parts().len() > 0 && f64::from(least) >= SAME_WORK_SHARE * f64::from(most)
}

/// What is expected of a change in steps of which each takes as long as the median one.
fn beyond_steady(replay: &Bounded<'_, '_>, change: Change) -> i64 {
    let steady_ns = replay.expected_ns(&[Change::SteadySteps]);
    (replay.expected_ns(&[Change::SteadySteps, change]) - steady_ns).max(0)
}

/// Changes that hide what others take away: a host that launches in no time has time for its batches, and makes up for what it
/// waited; and one kernel for many is launched once, whatever memory they pass over. What is expected of them is what they win beyond the others, whose time that is; the ceiling stays.
const BEYOND: [(Change, &[Change]); 4] = [
    (Change::Graph, &[Change::LoadAhead, Change::PinCopies, Change::NoSync]),
    (Change::FuseOptimizer, &[Change::LoadAhead]),
    (Change::ForEach, &[Change::LoadAhead]),
    (Change::Fuse, &[Change::Graph]),
];

/// What is expected of a change beyond those whose time it hides, where it is `alone_ns` without them.
fn beyond(replay: &Bounded<'_, '_>, change: Change, alone_ns: i64) -> i64 {
    let Some((_, firsts)) = BEYOND.into_iter().find(|(of, _)| *of == change) else { return alone_ns };
    let wins = |first: &Change| replay.expected_ns(&[*first]) > 0;
    let mut all: Vec<Change> = firsts.iter().copied().filter(wins).collect();
    if all.is_empty() {
        return alone_ns;
    }
    let of_firsts = replay.expected_ns(&all);
    // Where waits alone are what it hides, and it wins more than they do, they are what is told of beside it.
    if all == [Change::NoSync] && alone_ns > of_firsts {
        return alone_ns;
    }
    all.push(change);
    (replay.expected_ns(&all) - of_firsts).clamp(0, alone_ns)
}

pub(super) fn what_if(context: &Context<'_>, device: &DeviceContext, changes: &[Change]) -> WhatIf {
    let steps = steps::steady(device);
    let predicted = |replay: &Bounded<'_, '_>| Predicted {
        step_ns: replay.step_ns(),
        least_step_ns: replay.least_step_ns(),
        most_step_ns: replay.most_step_ns(),
        recorded_step_ns: replay.recorded_step_ns(),
        step_count: replay.step_count(),
        identity_share: replay.identity_share(),
        distance_share: replay.distance_share(),
        assumptions: replay.assumptions().to_vec(),
        each: changes.iter().map(|change| (*change, replay.gain(&[*change]))).collect(),
        together: replay.gain(changes),
    };
    let number = context.timeline.devices[device.ops.device as usize].number;
    WhatIf { device_number: number, outcome: played(context, device, steps, predicted) }
}

/// What changes win of a step, each together with those before it.
pub(super) fn together(
    context: &Context<'_>,
    device: &DeviceContext,
    changes: &[Change],
    threads: Threads,
) -> Option<InTurn> {
    let in_turn = |replay: &Bounded<'_, '_>| {
        let expected_ns = || (1..=changes.len()).map(|count| replay.expected_ns(&changes[..count])).collect();
        let (expected_ns, all) = parallel::both(threads, expected_ns, || replay.gain(changes));
        InTurn { step_ns: replay.step_ns(), expected_ns, all }
    };
    played(context, device, steps::steady(device), in_turn).ok()
}

fn played<T>(
    context: &Context<'_>,
    device: &DeviceContext,
    steps: &[Step],
    then: impl FnOnce(&Bounded<'_, '_>) -> T,
) -> Result<T, NoReplay> {
    // Work that is missing would take its time in every replay.
    if context.timeline.source.is_damaged || context.timeline.source.lacks_gpu_work == Some(true) {
        return Err(NoReplay::Incomplete);
    }
    let devices: Vec<&DeviceOps> = context.devices.iter().map(|device| &device.ops).collect();
    let own = context.devices.iter().position(|other| other.ops.device == device.ops.device).unwrap_or(0);
    let roles: Vec<Role> = context.traits.iter().map(|traits| traits.role).collect();
    let doubles: Vec<bool> = context.traits.iter().map(|traits| traits.is_fp64).collect();
    let tensor_copies: Vec<bool> = context.traits.iter().map(|traits| traits.is_tensor_copy).collect();
    let activations: Vec<bool> = context.traits.iter().map(|traits| traits.is_activation).collect();
    let marks: Vec<NameMarks> = context.traits.iter().map(|traits| traits.marks).collect();
    let subject = Subject {
        timeline: context.timeline,
        calls: &context.calls,
        devices: &devices,
        device: own,
        steps,
        are_rounds: device.told.steps.as_ref().is_some_and(|steps| steps.told_by == ToldBy::Launches),
        roles: &roles,
        doubles: &doubles,
        tensor_copies: &tensor_copies,
        activations: &activations,
        marks: &marks,
    };
    let replay = device.replay.take().unwrap_or_else(|| Replay::new(subject).map(Replay::keep));
    let played = replay.map(|kept| {
        let bounds = reach::Bounds::new(device, steps, between_os_calls::idle_ns(context, device));
        let bounded = Bounded { replay: kept.replay(subject), bounds };
        (then(&bounded), bounded.replay.keep())
    });
    let (told, kept) = match played {
        Ok((told, kept)) => (Ok(told), Ok(kept)),
        Err(none) => (Err(none), Err(none)),
    };
    device.replay.put(kept);
    told
}

/// The replay of the steady steps of a device, which is asked several times: absent before the first, and while somebody plays it.
#[derive(Debug, Default)]
pub(super) struct OfDevice(Mutex<Option<Result<Kept, NoReplay>>>);

impl OfDevice {
    fn take(&self) -> Option<Result<Kept, NoReplay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, kept: Result<Kept, NoReplay>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(kept);
    }
}

/// A replay whose gains are no larger than what the ledger says that they can be.
struct Bounded<'all, 'bounds> {
    replay: Replay<'all>,
    bounds: reach::Bounds<'bounds>,
}

impl<'all> Deref for Bounded<'all, '_> {
    type Target = Replay<'all>;

    fn deref(&self) -> &Self::Target {
        &self.replay
    }
}

impl Bounded<'_, '_> {
    fn gain(&self, changes: &[Change]) -> Gain {
        let gain = self.replay.gain(changes);
        self.bounds.bound(changes, &self.replay.at_best(changes, gain.expected_ns), gain)
    }

    /// The expected part of that, which what could be won at most bounds only where the accounts do.
    fn expected_ns(&self, changes: &[Change]) -> i64 {
        let expected_ns = self.replay.expected_ns(changes);
        self.bounds.bound(changes, changes, Gain { expected_ns, ceiling_ns: i64::MAX }).expected_ns
    }
}
