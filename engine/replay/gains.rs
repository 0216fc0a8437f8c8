//! What each change could win of a step.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Mutex, OnceLock, PoisonError};

use foldhash::HashMap;

use super::build::{Built, build};
use super::change::{Change, Extent, LARGE_SHARE, LAST_WAVE_SHARE, MAX_PROFILER_SHARE, MOST_PROFILER_SHARE, PieceLoop};
use super::left::{Kernels, Left};
use super::model::{Edge, Play};
use super::most::{ALLOCATION_SPREAD, DEVICE_SPREAD, HOST_SPREAD, Whole, spread};
use super::record::{Call, MAX_STEP_COUNT, Part};
use super::recording_cost::{LEAST_COST_NS, MOST_COST_NS, recording_cost_ns, works_itself};
use super::setting::{Measured, Setting};
use super::typical::Alike;
use super::waits::inner_wait_count;
use super::{Assumption, NoReplay, Subject};

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
const OPERATOR_COST: f64 = 1.35;
/// The same of an operator whose shapes are not recorded.
const SHAPELESS_OPERATOR_COST: f64 = 0.95;
const FRAME_COST: f64 = 0.125;
const SHAPES: &str = "record_shapes";
/// The times of most programs that were measured lie between those with so many times the cost, docs/gains.md.
const LOW_COST_FACTOR: f64 = 0.6;
const HIGH_COST_FACTOR: f64 = 1.5;
/// The same of an operator that is called where data is fetched: no autograd, and nothing for the device.
const LOADING_OPERATOR_NS: i64 = 800;
/// Where steps would be shorter than this share without the most that recording may cost, the host decides how long they are.
const HOST_BOUND_SHARE: f64 = 0.98;

/// That holds with GPUs of this compute capability and later. The hosts of older ones launch more slowly, profiler or not.
const MEASURED_SINCE: i64 = 8;

/// A recording that can be played again.
#[derive(Debug)]
pub struct Replay<'all> {
    setting: Setting<'all>,
    kept: Kept,
}

/// What a replay keeps of its recording, which it needs again to be played: see [`Replay::keep`].
#[derive(Debug)]
pub struct Kept {
    measured: Measured,
    built: Built,
    /// A step as recorded, as it would be without the profiler, and the least and the most that it could be.
    recorded_ns: f64,
    step_ns: f64,
    least_ns: f64,
    most_ns: f64,
    /// The edges without what recording costs, without the least, and without the most that it could cost.
    bare: Vec<Edge>,
    fullest: Vec<Edge>,
    barest: Vec<Edge>,
    /// What a step takes where nothing is changed, by the time that is played: most changes find nothing to change.
    unchanged: [OnceLock<Left>; 4],
    /// The host code before each call, in the same order.
    host_code_ns: [OnceLock<Option<Vec<i64>>>; 4],
    /// What was played before: several changes are mostly made with the same others, and one is asked for beside many.
    known: Mutex<HashMap<Asked, Left>>,
}

impl Deref for Replay<'_> {
    type Target = Kept;

    fn deref(&self) -> &Self::Target {
        &self.kept
    }
}

impl Kept {
    /// The replay of the recording that it was kept of.
    pub const fn replay(self, subject: Subject<'_>) -> Replay<'_> {
        Replay { setting: Setting { subject, measured: self.measured }, kept: self }
    }
}

/// Changes in the order in which they are made, as one bit each, how much of them is won, and in which time.
type Asked = (u64, Extent, World);

/// Which time is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum World {
    /// As it would be without the profiler.
    Bare,
    /// The same where recording cost the least that it may have cost.
    Fullest,
    /// The same where it cost the most.
    Barest,
    /// As recorded.
    Recorded,
}

impl<'all> Replay<'all> {
    /// Of a recording.
    ///
    /// # Errors
    /// When the recording cannot be played again.
    pub fn new(subject: Subject<'all>) -> Result<Self, NoReplay> {
        let (mut built, mut setting) = Self::built(subject)?;
        built.model.shares = built.model.part.ops.iter().map(|op| setting.resident_share_of(op)).collect();
        let measured = &mut setting.measured;
        (measured.spacing_ns, measured.launch_ns, measured.return_ns) =
            (built.usual.spacing_ns, built.usual.launch_ns, built.usual.return_ns);
        let recorded_ns = built.model.step_ns(&built.model.recorded);
        let kept = Kept {
            measured: *measured,
            built,
            recorded_ns,
            step_ns: recorded_ns,
            least_ns: recorded_ns,
            most_ns: recorded_ns,
            bare: Vec::new(),
            fullest: Vec::new(),
            barest: Vec::new(),
            unchanged: Default::default(),
            host_code_ns: Default::default(),
            known: Mutex::default(),
        };
        let mut replay = Self { setting, kept };
        let is_measured = replay.setting.compute_capability().is_some_and(|(major, _)| major >= MEASURED_SINCE);
        let told_ns = recording_cost_ns(&replay.built.model.part.calls).filter(|_| is_measured);
        // Where nothing tells it, it is taken to be little, and may be much.
        let cost_ns = told_ns.unwrap_or(LEAST_COST_NS) as f64;
        let high_cost_ns = told_ns.map_or(MOST_COST_NS as f64, |ns| HIGH_COST_FACTOR * ns as f64);
        let play = replay.without_profiler(cost_ns, MAX_PROFILER_SHARE);
        let step_ns = play.model.step_ns(&play.times()).min(recorded_ns);
        let bare = play.edges;
        let least_cost_ns = if works_itself(&replay.built.model.part.calls) { 0.0 } else { LOW_COST_FACTOR * cost_ns };
        let play = replay.without_profiler(least_cost_ns, MAX_PROFILER_SHARE);
        let most_ns = play.model.step_ns(&play.times()).clamp(step_ns, recorded_ns);
        let fullest = play.edges;
        let play = replay.without_profiler(high_cost_ns, MOST_PROFILER_SHARE);
        let least_ns = play.model.step_ns(&play.times()).min(step_ns);
        let barest = play.edges;
        let kept = &mut replay.kept;
        (kept.step_ns, kept.least_ns, kept.most_ns) = (step_ns, least_ns, most_ns);
        (kept.bare, kept.fullest, kept.barest) = (bare, fullest, barest);
        Ok(replay)
    }

    /// Ends playing for now: what was built and played stays known.
    pub fn keep(self) -> Kept {
        self.kept
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

    /// What the steps are that those are taken from.
    pub fn alike(&self) -> Alike {
        self.built.model.part.of
    }

    /// How often the host waits between launches of a step, in the mean.
    pub fn inner_wait_count(&self) -> f64 {
        inner_wait_count(&self.built.model)
    }

    /// The loop over pieces of data that chooses elements for each.
    pub fn piece_loop(&self) -> Option<PieceLoop> {
        Play::new(&self.built.model).piece_loop(&self.setting)
    }

    /// Whether the most that matrix products in lower precision win counts that other kernels move half as much.
    pub fn lower_precision_halves_others(&self) -> bool {
        let has_tensor_cores = self.setting.tensor_ratios().is_some();
        has_tensor_cores && Play::new(&self.built.model).has_many_fp32_products(&self.setting)
    }

    /// Whether what is won without host code counts that copies run beside kernels.
    pub fn host_aside_sends_ahead(&self) -> bool {
        Play::new(&self.built.model).sends_ahead(&self.setting)
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
        let most_ns = self.whole().most_won_ns(changes, Extent::Expected).min(self.whole().most_hidden_ns(changes));
        self.plainly_won_ns(changes).min(most_ns) as i64
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
        let expected_ns = self.plainly_won_ns(changes);
        // However much of the time is the profiler's.
        let mut ceiling_share = self.won_share(changes, World::Bare).max(self.won_share(changes, World::Fullest));
        // Where the host is not what steps wait for, it may be so after the changes.
        if self.least_ns < HOST_BOUND_SHARE * self.step_ns || ceiling_share > 1.0 - HOST_BOUND_SHARE {
            ceiling_share = ceiling_share.max(self.won_share(changes, World::Barest));
        }
        // Whoever launches the forward pass again falls behind the device where others would not.
        if changes.contains(&Change::KeepActivations) {
            ceiling_share = ceiling_share.max(self.won_share(changes, World::Recorded));
        }
        let (ceiling_ns, exposed_ns) = (ceiling_share * self.step_ns, self.exposed_ns(changes));
        // What other changes win may come on top of what is hidden; played together, they have hidden it already.
        let others: Vec<Change> = changes.iter().filter(|change| !self.hides(change)).copied().collect();
        let beside_ns =
            if exposed_ns > 0.0 && !others.is_empty() { self.own_gain(&others).ceiling_ns as f64 } else { 0.0 };
        let ceiling_ns = ceiling_ns.max((beside_ns + exposed_ns).min(self.step_ns));
        let ceiling_ns = ceiling_ns.max(expected_ns);
        let hidden_ns = self.whole().most_hidden_ns(changes).min(self.beside_hidden_copies_ns(changes));
        let most_ns = |extent| self.whole().most_won_ns(changes, extent).min(hidden_ns);
        Gain {
            expected_ns: expected_ns.min(most_ns(Extent::Expected)) as i64,
            ceiling_ns: ceiling_ns.min(most_ns(Extent::Ceiling)).min(self.beside_kernels_ns(changes)) as i64,
        }
    }

    /// The most that changes of kernels and of copies win together, where the copies are little of a step: what either wins, as neither
    /// makes room for the other. Others may: a host that waits for a copy and for a value waits on without one of both.
    fn beside_hidden_copies_ns(&self, changes: &[Change]) -> f64 {
        let others: Vec<Change> = changes.iter().filter(|change| **change != Change::OverlapCopies).copied().collect();
        let is_beside = !others.is_empty() && others.len() < changes.len();
        if !is_beside || !others.iter().all(|change| change.is_of_kernels()) {
            return f64::INFINITY;
        }
        let hidden_ns = self.whole().hidden_copies_ns();
        if hidden_ns.is_finite() { self.own_gain(&others).ceiling_ns as f64 + hidden_ns } else { hidden_ns }
    }

    /// What a step leaves to changes beside the kernels that stay: however well they are made, these take their time. The step may be as
    /// long as it is told to be at most, or what goes of it take longer in another run, where that was seen.
    fn beside_kernels_ns(&self, changes: &[Change]) -> f64 {
        if changes.iter().any(|change| change.moves_work()) {
            return f64::INFINITY;
        }
        let Kernels { busiest_stream_ns, filled_ns } = self.played(changes, Extent::Ceiling, World::Bare).kernels;
        let kept_ns = match changes {
            _ if changes.iter().all(|change| change.keeps_kernels()) => busiest_stream_ns,
            // What becomes shorter may become so much shorter at other clocks.
            _ if !changes.iter().any(|change| change.spreads_kernels()) => busiest_stream_ns / DEVICE_SPREAD,
            // The change itself counts that there.
            _ if changes.contains(&Change::OverlapCopies) => filled_ns / DEVICE_SPREAD,
            _ => filled_ns * (1.0 - LAST_WAVE_SHARE) / DEVICE_SPREAD,
        };
        let longer = match changes {
            _ if changes.contains(&Change::CacheAllocations) => ALLOCATION_SPREAD,
            _ if changes.iter().any(|change| change.is_of_host_code()) => HOST_SPREAD,
            _ => 1.0,
        };
        let rest_ns = (longer * (self.step_ns - kept_ns)).max(self.most_ns - kept_ns).max(0.0);
        self.step_ns * rest_ns / (kept_ns + rest_ns).max(1.0)
    }

    /// The share of a step that changes win at most, where recording cost so much; in a run in which what goes takes longer.
    fn won_share(&self, changes: &[Change], world: World) -> f64 {
        let of = self.played(&[], Extent::Ceiling, world);
        let left = self.played(changes, Extent::Ceiling, world);
        let are_of_kernels = changes.iter().all(|change| change.is_of_kernels());
        let mut won_ns = (of.step_ns - left.step_ns).max(0.0);
        if are_of_kernels {
            // Where the host decides what is left, that is no bound: it may launch faster in another run, before the changes as well.
            let sooner_ns = |played: &Left| played.busy_ns.max(played.step_ns / HOST_SPREAD).max(1.0);
            let sooner_share = 1.0 - sooner_ns(&left) / sooner_ns(&of);
            won_ns = won_ns.max((sooner_share * of.step_ns).min(of.busy_ns - left.busy_ns));
        }
        let of_device_ns = (of.busy_ns - left.busy_ns).clamp(0.0, won_ns);
        let longer_ns = (won_ns - of_device_ns) * spread(changes) + of_device_ns * self.whole().device_spread(changes);
        let spread = longer_ns / won_ns.max(1.0);
        // Kernels take as long on a faster host: of a step that is told longer than one there they win no more of its time.
        let of_ns = if are_of_kernels { of.step_ns.max(self.step_ns) } else { of.step_ns };
        let share = won_ns / of_ns.max(1.0);
        (share * spread).min(1.0 - (1.0 - share) / spread.max(1.0))
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

    fn whole(&self) -> Whole<'_> {
        Whole {
            model: &self.built.model,
            setting: &self.setting,
            bare: &self.bare,
            step_ns: self.step_ns,
            most_ns: self.most_ns,
        }
    }

    /// What is left of a step after changes.
    fn left(&self, changes: &[Change], extent: Extent, world: World) -> f64 {
        self.played(changes, extent, world).step_ns
    }

    /// A step after changes, which is played once.
    fn played(&self, changes: &[Change], extent: Extent, world: World) -> Left {
        let asked = (changes.iter().fold(0, |bits, change| bits | 1 << *change as u64), extent, world);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = known().get(&asked) {
            return *left;
        }
        let left = self.play(changes, extent, world);
        known().insert(asked, left);
        left
    }

    fn play(&self, changes: &[Change], extent: Extent, world: World) -> Left {
        let model = &self.built.model;
        let edges = match world {
            World::Bare => &self.bare,
            World::Fullest => &self.fullest,
            World::Barest => &self.barest,
            World::Recorded => &model.edges,
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
        let is_changed = !play.has_edges(edges) || play.turns != turns || matches!(play.shares, Cow::Owned(_));
        let left = |times: &[i64]| model.left(times, self.setting.own_device(), &play.shares);
        if !is_changed && !changes.contains(&Change::SteadySteps) {
            let unchanged = || left(&play.times());
            return self.unchanged.get(world as usize).map_or_else(unchanged, |known| *known.get_or_init(unchanged));
        }
        let times = play.times();
        let mut left = left(&times);
        if changes.contains(&Change::SteadySteps) {
            let mut lengths = model.lengths(&times);
            lengths.sort_unstable();
            let median = lengths.get(lengths.len() / 2).map(|median| *median as f64);
            left.step_ns = median.map_or(left.step_ns, |median| left.step_ns.min(median));
        }
        left
    }
}
