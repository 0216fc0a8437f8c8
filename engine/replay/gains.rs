//! What each change could win of a step.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use foldhash::HashMap;

use super::build::{Built, build};
use super::change::{
    Change, Extent, LARGE_SHARE, MAX_PROFILER_SHARE, MOST_PROFILER_SHARE, is_scalar_readback, is_small_kernel,
};
use super::model::{Edge, Play};
use super::record::{Call, MAX_STEP_COUNT, Op, Part};
use super::setting::Setting;
use super::waits::inner_wait_count;
use super::{Assumption, NoReplay, Subject};
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// What a change could win of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// What a plain fix brings, nanoseconds a step.
    pub expected_ns: i64,
    /// Everything that the change could bring, nanoseconds a step.
    pub ceiling_ns: i64,
}

/// What changes win of a step, one made after the other.
#[derive(Debug, Clone)]
pub struct InTurn {
    /// A step, nanoseconds.
    pub step_ns: i64,
    /// What is expected of each together with those before it, nanoseconds a step.
    pub expected_ns: Vec<i64>,
    /// What all of them win together.
    pub all: Gain,
}

/// What recording costs the host, as docs/gains.md fits it to programs that were timed with and without a profiler: a call of
/// CUDA, an operator of a framework and a function of Python that are recorded cost so much of what a launch is recorded to
/// take beyond what it takes without a profiler. A slow or busy host pays more for all of them.
const BARE_LAUNCH_NS: i64 = 2_500;
const OPERATOR_COST: f64 = 1.35;
/// The same of an operator whose shapes are not recorded.
const SHAPELESS_OPERATOR_COST: f64 = 0.95;
const FRAME_COST: f64 = 0.125;
const SHAPES: &str = "record_shapes";
/// What a call costs at least, as tight loops of C++ pay under Nsight Systems, and at most, as was seen.
const LEAST_COST_NS: i64 = 1_200;
/// On a host that launches faster than those that were measured, recording is as much faster: no more than this share of a launch.
const LEAST_COST_SHARE: f64 = 0.4;
const MOST_COST_NS: i64 = 8_000;
/// The times of most programs that were measured lie between those with so many times the cost, docs/gains.md.
const LOW_COST_FACTOR: f64 = 0.6;
const HIGH_COST_FACTOR: f64 = 1.5;
/// The same of an operator that is called where data is fetched: no autograd, and nothing for the device.
const LOADING_OPERATOR_NS: i64 = 800;
/// What the host does takes this much longer in one run than in another: between two machines of one kind, docs/gains.md.
const HOST_SPREAD: f64 = 1.28;
/// The same of what calls take that allocate and free.
const ALLOCATION_SPREAD: f64 = 1.6;
/// The same of copies from and to pageable memory, docs/gains.md.
const PAGEABLE_SPREAD: f64 = 1.1;

/// The same of what the device does: kernels take up to so much longer at other clocks, and beside other neighbours in memory.
const DEVICE_SPREAD: f64 = 1.05;

/// How much longer what changes take away may take in another run.
pub fn spread(changes: &[Change]) -> f64 {
    let of = |change: &Change| match change {
        Change::CacheAllocations => ALLOCATION_SPREAD,
        Change::PinCopies => PAGEABLE_SPREAD,
        change if change.is_of_host() => HOST_SPREAD,
        _ => DEVICE_SPREAD,
    };
    changes.iter().map(of).fold(1.0, f64::max)
}

/// Where steps would be shorter than this share without the most that recording may cost, the host decides how long they are.
const HOST_BOUND_SHARE: f64 = 0.98;

/// That holds with GPUs of this compute capability and later. The hosts of older ones launch more slowly, profiler or not.
const MEASURED_SINCE: i64 = 8;
/// So few launches tell nothing, nor do those that are rare among other calls.
const MIN_LAUNCH_COUNT: usize = 20;
const MAX_CALLS_PER_LAUNCH: usize = 20;

/// What recording a call costs, where launches are recorded to take as long as they do here; nanoseconds.
fn recording_cost_ns(calls: &[Call]) -> Option<i64> {
    let is_launch = |call: &Call| call.class == ApiClass::Launch && call.traced_count == 1 && call.op_count <= 1;
    // A launch after a wait is slow without the profiler as well.
    let in_row = calls.windows(2).filter(|pair| {
        let waits = matches!(
            pair[0].class,
            ApiClass::Wait(_) | ApiClass::Query | ApiClass::CopyBlocking | ApiClass::CopyAsync | ApiClass::Allocate
        );
        is_launch(&pair[1]) && pair[0].thread == pair[1].thread && !waits
    });
    let mut launches: Vec<i64> = in_row.map(|pair| pair[1].end - pair[1].start).collect();
    if launches.len() < MIN_LAUNCH_COUNT.max(calls.len() / MAX_CALLS_PER_LAUNCH) {
        return None;
    }
    let at = launches.len() / 2;
    let median_ns = *launches.select_nth_unstable(at).1;
    let least_ns = LEAST_COST_NS.min((median_ns as f64 * LEAST_COST_SHARE) as i64);
    Some((median_ns - BARE_LAUNCH_NS).clamp(least_ns, MOST_COST_NS))
}

/// A recording that can be played again.
#[derive(Debug)]
pub struct Replay<'all> {
    built: Built,
    setting: Setting<'all>,
    /// A step as recorded, as it would be without the profiler, and the least and the most that it could be.
    recorded_ns: f64,
    step_ns: f64,
    least_ns: f64,
    most_ns: f64,
    /// The edges without what recording costs, and without the most that it could cost.
    bare: Vec<Edge>,
    barest: Vec<Edge>,
    /// What a step takes where nothing is changed, by the time that is played: most changes find nothing to change.
    unchanged_ns: [OnceLock<f64>; 3],
    /// The host code before each call, in the same order.
    host_code_ns: [OnceLock<Option<Vec<i64>>>; 3],
}

/// Which time is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum World {
    Recorded,
    Bare,
    Barest,
}

impl<'all> Replay<'all> {
    /// Of a recording.
    ///
    /// # Errors
    /// When the recording cannot be played again.
    pub fn new(subject: Subject<'all>) -> Result<Self, NoReplay> {
        let (mut built, mut setting) = Self::built(subject)?;
        built.model.shares = built.model.part.ops.iter().map(|op| setting.resident_share_of(op)).collect();
        (setting.spacing_ns, setting.launch_ns, setting.return_ns) =
            (built.usual.spacing_ns, built.usual.launch_ns, built.usual.return_ns);
        let recorded_ns = built.model.step_ns(&built.model.recorded);
        let mut replay = Self {
            built,
            setting,
            recorded_ns,
            step_ns: recorded_ns,
            least_ns: recorded_ns,
            most_ns: recorded_ns,
            bare: Vec::new(),
            barest: Vec::new(),
            unchanged_ns: Default::default(),
            host_code_ns: Default::default(),
        };
        let is_measured = replay.setting.compute_capability().is_some_and(|(major, _)| major >= MEASURED_SINCE);
        let told_ns = recording_cost_ns(&replay.built.model.part.calls).filter(|_| is_measured);
        // Where nothing tells it, it is taken to be little, and may be much.
        let cost_ns = told_ns.unwrap_or(LEAST_COST_NS) as f64;
        let high_cost_ns = told_ns.map_or(MOST_COST_NS as f64, |ns| HIGH_COST_FACTOR * ns as f64);
        let play = replay.without_profiler(cost_ns, MAX_PROFILER_SHARE);
        let step_ns = play.model.step_ns(&play.times()).min(recorded_ns);
        let bare = play.edges;
        let play = replay.without_profiler(LOW_COST_FACTOR * cost_ns, MAX_PROFILER_SHARE);
        let most_ns = play.model.step_ns(&play.times()).clamp(step_ns, recorded_ns);
        let play = replay.without_profiler(high_cost_ns, MOST_PROFILER_SHARE);
        let least_ns = play.model.step_ns(&play.times()).min(step_ns);
        let barest = play.edges;
        (replay.step_ns, replay.least_ns, replay.most_ns) = (step_ns, least_ns, most_ns);
        (replay.bare, replay.barest) = (bare, barest);
        Ok(replay)
    }

    /// The model of as many steps as may be, and what is the case there.
    fn built(subject: Subject<'all>) -> Result<(Built, Setting<'all>), NoReplay> {
        let mut most_steps = MAX_STEP_COUNT;
        loop {
            let part = Part::new(&subject, most_steps)?;
            most_steps = part.step_count as usize / 2;
            let setting = Setting::of(subject, &part);
            match build(subject.timeline, part) {
                Err(NoReplay::TooLong) => {}
                built => return built.map(|built| (built, setting)),
            }
        }
    }

    /// The model without what recording costs: so much a call.
    fn without_profiler(&self, call_ns: f64, most_share: f64) -> Play<'_> {
        let mut play = Play::new(&self.built.model);
        let has_shapes = self.setting.subject.timeline.source.costly_options.contains(&SHAPES);
        let of_operator = if has_shapes { OPERATOR_COST } else { SHAPELESS_OPERATOR_COST };
        let (operator_ns, frame_ns) = ((of_operator * call_ns) as i64, (FRAME_COST * call_ns) as i64);
        let call_ns = call_ns as i64;
        let operator_ns = |call: &Call| if call.loading_before_ns > 0 { LOADING_OPERATOR_NS } else { operator_ns };
        let gap = |call: &Call| i64::from(call.operator_count) * operator_ns(call);
        let calls = &self.built.model.part.calls;
        // What a call costs beyond its own length is paid after it.
        let rest = calls
            .iter()
            .map(|call| (i64::from(call.traced_count) * call_ns - (call.end - call.start)).clamp(0, call_ns));
        let of_gap = calls.iter().zip(std::iter::once(0).chain(rest)).map(|(call, rest)| gap(call) + rest);
        let of_gap: Vec<i64> = of_gap.collect();
        let of_frames: Vec<i64> =
            calls.iter().map(|call| i64::from(call.frame_count) * frame_ns + call.profiler_before_ns).collect();
        play.without_profiler(call_ns, &of_gap, &of_frames, most_share);
        play
    }

    /// A step without the profiler, in the mean of the part that is played again, nanoseconds: what gains are told of.
    pub fn step_ns(&self) -> i64 {
        self.step_ns as i64
    }

    /// A step as recorded, nanoseconds.
    pub fn recorded_step_ns(&self) -> i64 {
        self.recorded_ns as i64
    }

    /// The least that a step takes without the profiler, where recording costs the most that it was seen to cost.
    pub fn least_step_ns(&self) -> i64 {
        self.least_ns as i64
    }

    /// The most that it takes, where recording costs the least.
    pub fn most_step_ns(&self) -> i64 {
        self.most_ns as i64
    }

    /// How many steps are played again.
    pub fn step_count(&self) -> u32 {
        self.built.model.part.step_count
    }

    /// How often the host waits between launches of a step, in the mean.
    pub fn inner_wait_count(&self) -> f64 {
        inner_wait_count(&self.built.model)
    }

    /// Whether the most that matrix products in lower precision win counts that other kernels move half as much.
    pub fn lower_precision_halves_others(&self) -> bool {
        let has_tensor_cores = self.setting.tensor_ratios().is_some();
        has_tensor_cores && Play::new(&self.built.model).has_many_fp32_products(&self.setting)
    }

    /// How far steps are from those recorded when played again without what the model does not explain, as a share.
    pub fn distance_share(&self) -> f64 {
        self.built.distance_share
    }

    /// How far a step is at most from what was recorded when played again without a change.
    pub fn identity_share(&self) -> f64 {
        let model = &self.built.model;
        let played = model.lengths(&Play::new(model).times());
        let pairs = model.lengths(&model.recorded).into_iter().zip(played);
        let apart = pairs.map(|(recorded, played)| (recorded - played).abs() as f64 / recorded.max(1) as f64);
        apart.fold(0.0, f64::max)
    }

    /// What is taken for granted.
    pub fn assumptions(&self) -> &[Assumption] {
        &self.built.assumptions
    }

    /// What a plain fix of changes wins together, nanoseconds of a step: that of [`Self::gain`], without playing the most that they
    /// could win.
    pub fn expected_ns(&self, changes: &[Change]) -> i64 {
        self.plainly_won_ns(changes).min(self.most_ns(changes, Extent::Expected)) as i64
    }

    fn plainly_won_ns(&self, changes: &[Change]) -> f64 {
        (self.step_ns - self.left(changes, Extent::Expected, World::Bare)).max(0.0)
    }

    /// The changes whose gain is the most that some could bring, of which so much is expected: with those that are mostly made with
    /// them, where it is worth that.
    pub fn at_best(&self, changes: &[Change], expected_ns: i64) -> Vec<Change> {
        let is_large = expected_ns as f64 >= LARGE_SHARE * self.step_ns;
        if is_large { Change::with_along(changes) } else { changes.to_vec() }
    }

    /// What changes could win together, at most with those that [`Self::at_best`] says.
    pub fn gain(&self, changes: &[Change]) -> Gain {
        let own = self.own_gain(changes);
        let at_best = self.at_best(changes, own.expected_ns);
        if at_best.len() == changes.len() {
            return own;
        }
        Gain { ceiling_ns: own.ceiling_ns.max(self.own_gain(&at_best).ceiling_ns), ..own }
    }

    /// What changes could win together, and nothing made with them.
    fn own_gain(&self, changes: &[Change]) -> Gain {
        let left = |world| self.left(changes, Extent::Ceiling, world);
        let expected_ns = self.plainly_won_ns(changes);
        let are_of_kernels = changes.iter().all(|change| change.is_of_kernels());
        let share = |left_ns: f64, of_ns: f64| {
            let won_ns = of_ns - left_ns;
            // Kernels take as long on a faster host: of a step that is told longer than one there they win no more of its time.
            let of_ns = if are_of_kernels { of_ns.max(self.step_ns) } else { of_ns };
            won_ns / of_ns.max(1.0)
        };
        // However much of the time is the profiler's.
        let mut ceiling_share =
            share(left(World::Bare), self.step_ns).max(share(left(World::Recorded), self.recorded_ns));
        // Where the host is not what steps wait for, it may be so after the changes.
        if self.least_ns < HOST_BOUND_SHARE * self.step_ns || ceiling_share > 1.0 - HOST_BOUND_SHARE {
            ceiling_share = ceiling_share.max(share(left(World::Barest), self.least_ns));
        }
        let spread = spread(changes);
        let ceiling_share = (ceiling_share * spread).min(1.0 - (1.0 - ceiling_share) / spread);
        let (ceiling_ns, exposed_ns) = (ceiling_share * self.step_ns, self.exposed_ns(changes));
        // What other changes win may come on top of what is hidden; played together, they have hidden it already.
        let others: Vec<Change> = changes.iter().filter(|change| !self.hides(change)).copied().collect();
        let beside_ns =
            if exposed_ns > 0.0 && !others.is_empty() { self.own_gain(&others).ceiling_ns as f64 } else { 0.0 };
        let ceiling_ns = ceiling_ns.max((beside_ns + exposed_ns).min(self.step_ns));
        let ceiling_ns = ceiling_ns.max(expected_ns);
        let most_ns = |extent| self.most_ns(changes, extent);
        Gain {
            expected_ns: expected_ns.min(most_ns(Extent::Expected)) as i64,
            ceiling_ns: ceiling_ns.min(most_ns(Extent::Ceiling)) as i64,
        }
    }

    /// The most that changes win where they only take idle time away.
    fn most_ns(&self, changes: &[Change], extent: Extent) -> f64 {
        if !changes.iter().all(|change| change.is_of_idle_time()) {
            return f64::INFINITY;
        }
        let busy_ns = self.busy_ns(changes, extent);
        let idle_ns = (self.step_ns - busy_ns).max(0.0) * spread(changes);
        let recorded = 1.0 - busy_ns / self.recorded_ns.max(1.0);
        self.step_ns * (idle_ns / (busy_ns + idle_ns).max(1.0)).max(recorded)
    }

    /// How long the device is busy in a step with what stays after changes that only take idle time away: kernels of a graph that
    /// are small can become one, and values that nobody waits for need not come back. Another device of the process that is busy
    /// for longer is what the host waits for: no step is expected to get shorter than that.
    fn busy_ns(&self, changes: &[Change], extent: Extent) -> f64 {
        let model = &self.built.model;
        let device = self.setting.own_device();
        let of_host = if changes.contains(&Change::HostAside) {
            Play::of(model, &self.bare).copies_of_host_code(&self.setting)
        } else {
            Vec::new()
        };
        let as_recorded = Play::of(model, &self.bare);
        let is_best = extent == Extent::Ceiling;
        let merged = if is_best && changes.contains(&Change::Graph) {
            as_recorded.merged_shares(&self.setting)
        } else {
            HashMap::default()
        };
        let joined = changes.contains(&Change::NoSync).then(|| as_recorded.joined_runs(extent, &self.setting));
        let vanishes = |op: &Op| {
            of_host.get(op.call as usize) == Some(&true)
                || changes.contains(&Change::Graph) && is_small_kernel(op, op.end - op.start)
                || changes.contains(&Change::NoSync) && is_scalar_readback(op)
        };
        let staying_ns = |index: u32, op: &Op| {
            let run_ns = op.end - op.start;
            let joined_ns = joined.as_ref().and_then(|joined| joined(op, run_ns));
            joined_ns.unwrap_or_else(|| merged.get(&index).map_or(run_ns, |share| (run_ns as f64 * share) as i64))
        };
        let counts = |op: &Op| op.device == device || extent == Extent::Expected;
        let staying = (0_u32..).zip(&model.part.ops).filter(|(_, op)| counts(op) && !vanishes(op));
        let Some((played, count)) = model.recorded_span() else { return 0.0 };
        // Without waits, what runs in one stream need not wait for what runs in another.
        let is_one = |op: &Op| {
            let stream = if changes.contains(&Change::NoSync) { op.stream } else { 0 };
            (op.device, if op.device == device { stream } else { 0 })
        };
        let mut of_stream: BTreeMap<(u32, u32), Vec<Interval>> = BTreeMap::new();
        staying.for_each(|(index, op)| {
            let left = Interval::new(op.start, op.start + staying_ns(index, op));
            of_stream.entry(is_one(op)).or_default().push(left);
        });
        let busiest_ns = of_stream.into_values().map(|ops| Union::of(ops).overlap_ns(played)).max();
        busiest_ns.unwrap_or(0) as f64 / count as f64
    }

    /// Communication that runs alone in a step, where changes hide it: no dependency of this recording keeps it from going.
    fn exposed_ns(&self, changes: &[Change]) -> f64 {
        let model = &self.built.model;
        if !changes.iter().any(|change| self.hides(change)) {
            return 0.0;
        }
        let Some((played, count)) = model.recorded_span() else { return 0.0 };
        let exposed = model.exposed_communication_ns(self.setting.own_device(), played);
        (exposed as f64 / count as f64).min(self.step_ns)
    }

    /// Whether a change hides communication.
    fn hides(&self, change: &Change) -> bool {
        match change {
            Change::OverlapCommunication => true,
            Change::MergeCollectives => !Play::of(&self.built.model, &self.bare).small_collectives().is_empty(),
            Change::ProcessPerGpu => self.setting.sends_parameters(&self.built.model.part),
            _ => false,
        }
    }

    /// What [`Play::host_code_of_unlinked_ns`] says of a world before any change: it is asked for again for each.
    fn host_code_ns(&self, world: World, unchanged: &Play<'_>) -> Option<&[i64]> {
        let known = self.host_code_ns.get(world as usize)?;
        known.get_or_init(|| unchanged.host_code_of_unlinked_ns()).as_deref()
    }

    /// What is left of a step after changes.
    fn left(&self, changes: &[Change], extent: Extent, world: World) -> f64 {
        let model = &self.built.model;
        let edges = match world {
            World::Recorded => &model.edges,
            World::Bare => &self.bare,
            World::Barest => &self.barest,
        };
        let mut play = Play::of(model, edges);
        play.turns.copies = model.copies_take_turns;
        let turns = play.turns;
        // Always in one order, whatever order they are asked for in.
        for (index, change) in Change::ALL.iter().filter(|change| changes.contains(change)).enumerate() {
            let of_later = (index > 0).then(|| play.host_code_of_unlinked_ns()).flatten();
            let before_ns = if index > 0 { of_later.as_deref() } else { self.host_code_ns(world, &play) };
            play.apply(*change, extent, &self.setting, before_ns);
        }
        let is_changed = play.edges != *edges || play.turns != turns || matches!(play.shares, Cow::Owned(_));
        if !is_changed && !changes.contains(&Change::SteadySteps) {
            let unchanged_ns = || play.model.step_ns(&play.times());
            return self
                .unchanged_ns
                .get(world as usize)
                .map_or_else(unchanged_ns, |known| *known.get_or_init(unchanged_ns));
        }
        let times = play.times();
        let step_ns = play.model.step_ns(&times);
        if !changes.contains(&Change::SteadySteps) {
            return step_ns;
        }
        let mut lengths = play.model.lengths(&times);
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).map_or(step_ns, |median| step_ns.min(*median as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::NONE;

    fn launches(count: i64, ns: i64) -> Vec<Call> {
        let launch = |index: i64| Call {
            start: 100_000 * index,
            end: 100_000 * index + ns,
            thread: 0,
            class: ApiClass::Launch,
            blocked_before_ns: 0,
            loading_before_ns: 0,
            cpu_operators_ns: 0,
            is_of_optimizer: false,
            is_of_pool: false,
            takes_memory: false,
            asks: false,
            traced_count: 1,
            operator_count: 0,
            frame_count: 0,
            profiler_before_ns: 0,
            first_op: NONE,
            op_count: 1,
        };
        (0..count).map(launch).collect()
    }

    #[test]
    fn recording_costs_more_on_a_host_whose_launches_take_longer() {
        let cost = |count, ns| recording_cost_ns(&launches(count, ns));
        assert_eq!(cost(100, 3_000), Some(LEAST_COST_NS));
        assert_eq!(cost(100, 2_000), Some(800), "a fast host records as fast");
        assert_eq!(cost(100, 6_500), Some(4_000));
        assert_eq!(cost(100, 50_000), Some(MOST_COST_NS), "no more than was seen");
        assert_eq!(cost(10, 6_500), None, "a few launches tell nothing");
        let mut unlike = launches(100, 4_500);
        unlike[..40].iter_mut().for_each(|call| call.end += 50_000);
        assert_eq!(cost(100, 4_500), recording_cost_ns(&unlike), "what some of them wait for is not the profiler's");
    }
}
