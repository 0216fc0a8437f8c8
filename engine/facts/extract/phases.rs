//! The phases of a device's window: which one is measured, and where the time of those before it went.

use super::last_pages::LastPages;
use super::one_window::{self, Found};
use super::pass::{DevicePass, PassWork};
use super::pause::Pause;
use super::stats::median;
use super::{Context, DeviceContext, DevicePart, Parents, ScopeError, before_steady, last_pages, pause};
use crate::facts::{Entity, EntityKind};
use crate::ledger::accounts::{ByAccount, Sums};
use crate::ledger::callers;
use crate::ledger::walk::{self, IdleDevice};
use crate::ledger::{Account, Activity, Breakdown, Calls, DeviceOps};
use crate::parallel::{self, Threads};
use crate::steps::{self, Certainty, Launches, Marks, Phase, Phases, Steps, ToldBy};
use crate::text::escape;
use crate::text::nearest::most_alike_first;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{Capability, Timeline};

/// Rounds that launches tell and that take so many times as long as the others hold something else as well.
const HOLDS_MORE_RATIO: i64 = 10;
/// Where less than this share of the window lies outside of the steady state, the window is looked at as a whole.
const LEAST_OUTSIDE_SHARE: f64 = 0.02;
/// Rounds that nothing but launches tell take at least this share of the window.
const LEAST_ROUNDS_SHARE: f64 = 0.2;
/// After rounds that nothing but launches tell there is no more of the window than this.
const MOST_AFTER_SHARE: f64 = 0.1;
/// Rounds that may be no steps tell the steady state when they hold this share of the work, and leave this much of the window out.
const UNSURE_WORK_SHARE: f64 = 0.5;
const UNSURE_OUTSIDE_SHARE: f64 = 0.2;
/// Where the device computes for this share of the time outside of them, that is a part of the work.
const UNSURE_COMPUTE_SHARE: f64 = 0.2;
/// Rounds of launches that together last for less of the window are no steps. Start-up may take forty times as long as a short loop.
const LEAST_LOOP_SHARE: f64 = 0.005;
/// A steady state in which the device waits for loading for this share holds the first launches of what it repeats.
const LOADING_SHARE: f64 = 0.03;
/// What no more than the first so many rounds set up and allocate is done for the first time.
const MAX_SET_UP_ROUNDS: usize = 3;
/// Threads that are asked for it beside the one that launches most: one for each device may run its backward pass.
const MAX_OTHER_COUNT: usize = 8;
/// It begins where no more than this part of the loading is left, if this part of it is left then.
const LEFT_LOADING_SHARE: f64 = 0.1;
const BEHIND_LOADING_SHARE: f64 = 0.25;
/// The same of what is left behind the steps of which the program says that they warm up.
const BEHIND_WARM_UP_SHARE: f64 = 0.25;
/// From so many medians on a step is slow.
const SLOW_RATIO: f64 = 1.25;
/// Beside one that takes that much longer, steps with less than this part of what it takes beyond the median differ as steps do.
const SLOW_PART: f64 = 0.1;

/// Which part of the windows is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// The phase; absent for the whole window. Where no phases are told, the whole window too.
    pub phase: Option<Phase>,
    /// The name of the range that is a step; absent to find out.
    pub step: Option<String>,
}

/// What is known of a device's steps and phases.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The steps within the window that is measured.
    pub(super) steps: Option<Steps>,
    /// How many came before them.
    pub(super) earlier_step_count: usize,
    /// How many come after them, and when the last of them ends, where a steady state of steps is measured.
    pub(super) later: Option<(usize, i64)>,
    /// Those of the steady state that take far longer than the others.
    pub(super) slow_steps: Union,
    /// How many these are: those that follow each other are one part of the union.
    pub(super) slow_step_count: usize,
    /// When what is played again runs: steps of the steady state, and all rounds of a sequence of launches, which may come in runs
    /// with other work between them.
    pub(super) rounds: Union,
    /// The phases of the whole window, where one of them is measured.
    phases: Option<Phases>,
    /// Which one that is.
    measured: Option<Phase>,
    /// How much of what the device does after the last step the host launched in that step or before.
    after_from_steps: Option<f64>,
    /// The length of the whole window.
    whole_ns: i64,
    /// How long other devices work that do nothing while this one is in the phase that is measured.
    left_out_ns: i64,
    /// The pause that parts the work that is measured from the rest, where one takes nearly all of the time.
    pub(super) pause: Option<Pause>,
    /// Pages of unified memory that still move after the window, all work that was launched being done.
    pub(super) last_pages: Option<LastPages>,
    /// Where the time of phases before it went.
    before: Vec<(Phase, Interval, Sums)>,
}

impl Told {
    /// Whether one phase is measured, and not the whole window.
    pub(super) const fn is_phase(&self) -> bool {
        self.measured.is_some()
    }

    /// The whole window, of the one that is measured; what a pause parts from it is no part of that.
    pub(super) fn whole(&self, window: Interval) -> Interval {
        self.phases.as_ref().map_or(window, |phases| Interval::new(phases.set_up.start, phases.tear_down.end))
    }

    /// The steps, where it is sure enough that they are what repeats.
    pub(super) fn sure_steps(&self) -> Option<&Steps> {
        self.steps.as_ref().filter(|steps| steps.certainty > Certainty::Low)
    }

    /// The steps and phases of a device, whose window is narrowed to the phase that is asked for.
    fn new(timeline: &Timeline, marks: &Marks, ops: &mut DeviceOps, (view, found): (&View, Found)) -> Self {
        let Found { launches, steps, phases } = found;
        let mut told = Self { whole_ns: ops.window.len_ns(), ..Self::default() };
        if let (Some(phase), Some(phases)) = (view.phase, phases)
            && ops.narrow(phases.of(phase))
        {
            let last = phases
                .steady_steps
                .end
                .checked_sub(1)
                .zip(steps.as_ref())
                .and_then(|(last, steps)| steps.steps.get(last));
            let launched = launches.as_ref().zip(last);
            told.after_from_steps = launched
                .and_then(|(launches, last)| launches.share_launched_before(phases.tear_down.start, last.host.end));
            (told.measured, told.phases) = (Some(phase), Some(phases));
        }
        // The first step may begin before the first operation, where the window begins.
        let is_earlier = |step: &&steps::Step| step.device.end <= ops.window.start;
        told.earlier_step_count = steps.iter().flat_map(|steps| &steps.steps).filter(is_earlier).count();
        let is_later = |step: &&steps::Step| step.device.end > ops.window.end;
        let has_steps = told.phases.as_ref().is_some_and(|phases| !phases.steady_steps.is_empty());
        if let Some(steps) = steps.as_ref().filter(|_| has_steps && told.measured == Some(Phase::Steady)) {
            let end_ns = steps.steps.last().map_or(ops.window.end, |last| last.device.end);
            told.later = Some((steps.steps.iter().filter(is_later).count(), end_ns));
        }
        // Rounds that take little of the window say nothing of it.
        let is_much = |steps: &Steps| {
            let ns = steps.steps.iter().map(|step| step.device.overlap_ns(ops.window)).fold(0, i64::saturating_add);
            are_marked(steps) || ns as f64 >= LEAST_ROUNDS_SHARE * ops.window.len_ns() as f64
        };
        let steps = steps.filter(is_much);
        if told.measured.is_none() && !steps.as_ref().is_some_and(are_marked) {
            ops.start_up = steps::start_up(timeline, marks, ops, launches.as_ref()).unwrap_or_default();
        }
        told.set_steps(steps.map(|steps| within(steps, ops.window)), ops.window);
        told
    }

    /// The steps within a window, and what these tell.
    fn set_steps(&mut self, steps: Option<Steps>, window: Interval) {
        self.steps = steps.filter(|steps| !steps.steps.is_empty());
        let steady = self.steps.as_ref().map_or(&[][..], |steps| Phases::steady_of(window, steps));
        let usual_ns = median(&mut steady.iter().map(|step| step.device.len_ns()).collect::<Vec<_>>()).unwrap_or(0);
        let excess_ns = |part: &Interval| part.len_ns() - usual_ns;
        let most_ns = steady.iter().map(|step| excess_ns(&step.device)).max().unwrap_or(0);
        // One that is twice as long is slow, however long another is.
        let part_ns = (SLOW_PART * most_ns as f64).min(usual_ns as f64);
        let least_ns = ((SLOW_RATIO - 1.0) * usual_ns as f64).max(part_ns);
        let is_slow = |part: &Interval| excess_ns(part) as f64 >= least_ns;
        let slow: Vec<Interval> = steady.iter().map(|step| step.device).filter(is_slow).collect();
        self.slow_step_count = slow.len();
        self.slow_steps = Union::of(slow);
        let unmarked = self.steps.as_ref().filter(|steps| !are_marked(steps) && !steady.is_empty());
        let rounds = unmarked.map_or(steady, |steps| &steps.steps);
        // One that is so much longer goes on with something else: the next one begins behind that.
        let holds_more = |part: &Interval| {
            usual_ns > 0 && unmarked.is_some() && part.len_ns() >= usual_ns.saturating_mul(HOLDS_MORE_RATIO)
        };
        let rounds = Union::of(rounds.iter().map(|step| step.device).filter(|part| !holds_more(part)));
        self.rounds = rounds;
    }

    /// Measures a phase that other devices tell. Their steps begin and end a little before or after its own, which are of it where
    /// most of them lies in it.
    fn measure(&mut self, phase: Option<Phase>, window: Interval) {
        self.measured = phase;
        let Some(mut steps) = self.steps.take() else { return };
        let is_earlier = |step: &steps::Step| step.device.start < window.start;
        let is_within = |step: &steps::Step| 2 * step.device.overlap_ns(window) >= step.device.len_ns().max(1);
        let outside = || steps.steps.iter().filter(|step| !is_within(step));
        let earlier_count = outside().filter(|step| is_earlier(step)).count();
        let later_count = outside().count() - earlier_count;
        let end_ns = steps.steps.last().map_or(window.end, |last| last.device.end);
        self.earlier_step_count += earlier_count;
        if phase == Some(Phase::Steady) && are_marked(&steps) {
            self.later = Some((later_count, end_ns));
        }
        steps.steps.retain(is_within);
        self.set_steps(Some(steps), window);
    }
}

/// What the launches of one device tell.
fn found(timeline: &Timeline, (calls, marks): (&Calls, &Marks), ops: &DeviceOps, view: &View) -> Found {
    let launches = Launches::new(timeline, ops);
    let steps = launches.as_ref().and_then(|launches| steps::find(timeline, marks, launches, view.step.as_deref()));
    let steps = steps.filter(|steps| is_loop(steps, ops.window));
    let phases = view.phase.and_then(|_| phases_of(timeline, marks, ops, (launches.as_ref(), steps.as_ref())));
    let phases = phases.map(|phases| match &steps {
        Some(steps) if !are_marked(steps) => behind_loading(timeline, calls, ops, (&steps.steps, phases)),
        _ => phases,
    });
    Found { launches, steps, phases }
}

/// The same phases where the steady state begins behind the marked steps of which the program says that they warm up, where enough is left of it.
fn behind_warm_up(marks: &Marks, window: Interval, steps: &Steps, phases: Phases) -> Phases {
    if !are_marked(steps) {
        return phases;
    }
    let count = marks.warm_up_count(steps.process, &steps.steps);
    let first = steps.steps.get(count).filter(|_| count > phases.steady_steps.start);
    let later = first.and_then(|first| phases.begun_by(window, first.device.start, &steps.steps, BEHIND_WARM_UP_SHARE));
    later.unwrap_or(phases)
}

/// Whether steps may be what the program does: a sequence of launches that fills next to nothing of the window is a part of its set-up.
fn is_loop(steps: &Steps, window: Interval) -> bool {
    let first = steps.steps.first().map_or(0, |step| step.device.start);
    let last = steps.steps.last().map_or(0, |step| step.device.end);
    are_marked(steps) || (last - first) as f64 >= LEAST_LOOP_SHARE * window.len_ns() as f64
}

/// The steps that lie in a window.
fn within(mut steps: Steps, window: Interval) -> Steps {
    steps.steps.retain(|step| step.device.end > window.start && step.device.end <= window.end);
    steps
}

fn phases_of(
    timeline: &Timeline,
    marks: &Marks,
    ops: &DeviceOps,
    (launches, steps): (Option<&Launches>, Option<&Steps>),
) -> Option<Phases> {
    let sure = steps.filter(|steps| steps.certainty > Certainty::Low);
    let is_all = |phases: &Phases| phases.tear_down.len_ns() as f64 <= MOST_AFTER_SHARE * ops.window.len_ns() as f64;
    // Of what launches tell, much that comes after it is no end but other work.
    let fits = |steps: &Steps, phases: &Phases| are_marked(steps) || is_all(phases);
    let of = |steps: &Steps| {
        let phases = Phases::of_steps(ops.window, steps).filter(|phases| fits(steps, phases));
        phases.map(|phases| behind_warm_up(marks, ops.window, steps, phases))
    };
    let phases = sure.and_then(of);
    let phases = phases.or_else(|| Phases::of_region(timeline, launches?));
    let measured = || steps.is_none().then(|| Phases::of_measured(timeline, marks, launches?)).flatten();
    let phases = phases.or_else(measured);
    let outside_ns = |phases: &Phases| ops.window.len_ns() - phases.steady.len_ns();
    let is_outside = |phases: &Phases, share: f64| outside_ns(phases) as f64 >= share * ops.window.len_ns() as f64;
    if let Some(phases) = phases {
        return Some(phases).filter(|phases| is_outside(phases, LEAST_OUTSIDE_SHARE));
    }
    // Whatever it is that repeats, when it is most of the work, the rest is no part of it, unless the device is at work there too: the
    // layers of a model repeat within one pass, which has more than layers.
    let unsure = steps.filter(|steps| steps.work_share >= UNSURE_WORK_SHARE)?;
    let computes_outside = |phases: &Phases| {
        let compute = ops.in_window().filter(|op| op.kind.is_compute()).map(|op| op.interval());
        let outside = compute.map(|op| op.clip(ops.window).len_ns() - op.overlap_ns(phases.steady)).sum::<i64>();
        outside as f64 >= UNSURE_COMPUTE_SHARE * outside_ns(phases) as f64
    };
    let with_neighbours = of(unsure).map(|phases| phases.with_neighbours(ops));
    with_neighbours.filter(|phases| is_outside(phases, UNSURE_OUTSIDE_SHARE) && !computes_outside(phases))
}

/// The same phases where what is launched first loads code, or sets up, in what launches tell as the steady state: that begins behind it, where
/// enough is left of it.
fn behind_loading(
    timeline: &Timeline,
    calls: &Calls,
    ops: &DeviceOps,
    (steps, phases): (&[steps::Step], Phases),
) -> Phases {
    let Some(main) = callers::main_thread(timeline, ops) else { return phases };
    let (mut loads, mut sets_up): (Vec<Interval>, Vec<Interval>) = (Vec::new(), Vec::new());
    let process = timeline.process_of(main);
    let threads = (0_u32..).zip(&timeline.threads).filter(|(_, thread)| thread.process == process);
    // Another thread may load what the backward pass needs.
    let others = threads.map(|(thread, _)| thread).filter(|thread| *thread != main);
    let others = others.filter(|thread| !calls.of_thread(*thread).is_empty()).take(MAX_OTHER_COUNT);
    for thread in std::iter::once(main).chain(others) {
        calls.lay_out(timeline, thread, phases.steady, |part, activity, _| match activity {
            _ if part.len_ns() == 0 => {}
            Activity::Load | Activity::Compile => loads.push(part),
            Activity::Init | Activity::Allocate => sets_up.push(part),
            _ => {}
        });
    }
    // What more than the first rounds set up and allocate is what rounds do.
    let sets_up = Union::of(sets_up);
    let later = steps.iter().filter(|step| step.device.end > phases.steady.start).skip(MAX_SET_UP_ROUNDS);
    if later.into_iter().all(|step| sets_up.overlap_ns(step.device) == 0) {
        loads.extend(sets_up.parts());
    }
    let loads: Vec<Interval> = Union::of(loads).parts().collect();
    // What loads while the device has work is no loss.
    let busy = Union::of(ops.in_window().map(|op| op.interval().clip(phases.steady)));
    let idle_ns = |part: &Interval| part.len_ns() - busy.overlap_ns(*part);
    let all_ns: i64 = loads.iter().map(idle_ns).sum();
    if (all_ns as f64) < LOADING_SHARE * phases.steady.len_ns() as f64 {
        return phases;
    }
    // The last stretch behind which nearly nothing of it is left.
    let mut left_ns = all_ns;
    let last = loads.iter().find(|part| {
        left_ns -= idle_ns(part);
        left_ns as f64 <= LEFT_LOADING_SHARE * all_ns as f64
    });
    let later = last.and_then(|last| phases.begun_by(ops.window, last.end, steps, BEHIND_LOADING_SHARE));
    later.unwrap_or(phases)
}

/// The steps and phases of all devices, whose windows are narrowed to the phase that is asked for.
pub(super) fn tell(
    timeline: &Timeline,
    calls: &Calls,
    ops: &mut Vec<DeviceOps>,
    view: &View,
    threads: Threads,
) -> Result<Vec<Told>, ScopeError> {
    let marks = Marks::new(timeline);
    let is_steady = view.phase == Some(Phase::Steady);
    let pause = if is_steady { pause::cut(timeline, ops) } else { None };
    let last_pages = if is_steady { last_pages::cut(timeline, ops) } else { Vec::new() };
    let mut all_found =
        parallel::map(threads.for_devices(), ops.iter(), |ops| found(timeline, (calls, &marks), ops, view));
    one_window::align(ops, &mut all_found);
    let found = ops.iter_mut().zip(all_found);
    let mut told =
        parallel::map(threads.for_devices(), found, |(ops, found)| Told::new(timeline, &marks, ops, (view, found)));
    if let Some(name) = &view.step
        && told.iter().all(|told| told.steps.is_none())
    {
        let names = steps::names(timeline);
        let names = most_alike_first(name, names.iter().map(String::as_str));
        let names = names.iter().take(5).map(|name| escape::short(name)).collect::<Vec<_>>().join(", ");
        return Err(ScopeError::NoSuchStep { name: name.clone(), names });
    }
    told.iter_mut().for_each(|told| told.pause = pause);
    told.iter_mut().zip(last_pages).for_each(|(told, pages)| told.last_pages = pages);
    // A device without steps of its own is looked at while the others are in that phase.
    let starts_and_ends = ops.iter().zip(&told).filter(|(_, told)| told.measured.is_some()).map(|(ops, _)| ops.window);
    let hull = starts_and_ends.reduce(Interval::hull);
    let mut keeps = vec![true; ops.len()];
    if let Some(hull) = hull {
        for ((ops, told), keeps) in
            ops.iter_mut().zip(&mut told).zip(&mut keeps).filter(|((_, told), _)| told.measured.is_none())
        {
            *keeps = ops.narrow(hull);
            told.measure(view.phase, ops.window);
        }
    } else if let Some(phase) = view.phase.filter(|phase| *phase != Phase::Steady) {
        return Err(ScopeError::NoSuchPhase { phase: phase.id() });
    }
    let left_out_ns = ops.iter().zip(&keeps).filter(|(_, keeps)| !**keeps).map(|(ops, _)| {
        // What the window was narrowed to holds none of it.
        Union::of(ops.all_ops().map(|op| op.interval())).len_ns()
    });
    let left_out_ns = left_out_ns.fold(0, i64::saturating_add);
    let mut keep = keeps.iter();
    ops.retain(|_| *keep.next().unwrap_or(&true));
    let mut keep = keeps.iter();
    told.retain(|_| *keep.next().unwrap_or(&true));
    told.iter_mut().for_each(|told| told.left_out_ns = left_out_ns);
    Ok(told)
}

/// Adds up where the time went before the steady state, where that is measured.
pub(super) fn add_before(work: &PassWork<'_>, ops: &mut [DeviceOps], told: &mut [Told]) {
    for phase in [Phase::SetUp, Phase::WarmUp] {
        let mut of_phase = Vec::new();
        for (ops, told) in ops.iter_mut().zip(&mut *told).filter(|(_, told)| told.measured == Some(Phase::Steady)) {
            let Some(window) = told.phases.as_ref().map(|phases| phases.of(phase)) else { continue };
            if window.len_ns() > 0 {
                let measured = std::mem::replace(&mut ops.window, window);
                let (unread, pass) = DevicePass::new(work, ops);
                ops.window = measured;
                of_phase.push((unread, (pass, told, window)));
            }
        }
        let (unread, of_phase): (Vec<_>, Vec<_>) = of_phase.into_iter().unzip();
        let none = &Union::default();
        let idle = unread.into_iter().zip(&of_phase).map(|(unread, (pass, ..))| {
            let (storms, main_thread) = (&pass.storms.parts, pass.main_thread);
            IdleDevice { unread, storms, slow_steps: none, restarts: none, rounds: none, main_thread }
        });
        // All devices at once: each thread is laid out once for them.
        let readings = walk::read(work.timeline, work.calls, idle.collect(), work.threads);
        for ((pass, told, window), reading) in of_phase.into_iter().zip(readings) {
            let mut sums: Sums = ByAccount::default();
            for (account, sum) in sums.iter_mut() {
                *sum = pass.tally.sums[account] + reading.sums[account].sum_ns;
            }
            told.before.push((phase, window, sums));
        }
    }
}

/// Facts of the phases: which one is measured, how long the others are, and where their time went.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, part: &mut DevicePart) {
    let told = &device.told;
    let Some(measured) = told.measured else { return };
    part.device.set("phase", measured.id());
    part.device.set("whole_window_ns", told.whole_ns);
    part.device.set("left_out_devices_busy_ns", told.left_out_ns);
    if told.steps.is_some() {
        part.device.set("earlier_step_count", told.earlier_step_count as i64);
    }
    if let Some(phases) = &told.phases {
        part.device.set("phase_certainty", phases.certainty.id());
        part.device.set("is_profiled_region", measured == Phase::Steady && is_region(phases));
        let is_measured = phases.steady_steps.is_empty() && phases.certainty == Certainty::Low;
        part.device.set("is_measured_pass", measured == Phase::Steady && is_measured);
        part.device.set("set_up_ns", phases.set_up.len_ns());
        part.device.set("before_steady_ns", phases.set_up.len_ns() + phases.warm_up.len_ns());
        part.device.set("tear_down_ns", phases.tear_down.len_ns());
        if measured == Phase::Steady {
            let before = Interval::new(phases.set_up.start, phases.steady.start);
            let account_ns =
                |account| told.before.iter().map(|(_, _, sums)| sums[account]).fold(0, i64::saturating_add);
            before_steady::extract(context, device, before, account_ns, &mut part.device);
            before_steady::compute(device, phases, &mut part.device);
            before_steady::tear_down(context.timeline, device, phases, &mut part.device);
        }
        part.device.set_some("tear_down_from_steps_share", told.after_from_steps);
    }
    for (phase, interval, sums) in &told.before {
        let mut entity = Entity::new(EntityKind::Phase, parents.key_of(phase.id()), parents.of_device());
        entity.set("name", phase.id());
        entity.set("start_ns", interval.start);
        entity.set("duration_ns", interval.len_ns());
        let accounts = Breakdown::Operation.accounts().chain(Breakdown::Activity.accounts());
        for account in accounts.filter(|account| is_told(device, *account)) {
            entity.set(account.fact(), sums[account]);
        }
        part.entities.push(entity);
    }
}

/// Whether the steady state is what the program marks once for the profiler.
fn is_region(phases: &Phases) -> bool {
    phases.steady_steps.is_empty() && phases.certainty > Certainty::Low
}

fn is_told(device: &DeviceContext, account: Account) -> bool {
    account.needs() != Capability::CudaApi || device.knows_host || account == Account::IdleUnknown
}

/// Whether steps are told as steps: a range says so, or the program.
pub(super) fn are_marked(steps: &Steps) -> bool {
    steps.told_by != ToldBy::Launches
}
