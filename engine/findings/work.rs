//! What a device did: the steps that its work repeats, and its phases.

use std::cmp::Reverse;

use super::part::{Part, parts_of};
use crate::facts::{Entity, EntityId, EntityKind, FactValue, Facts};
use crate::ledger::Account;
use crate::replay::STEP_FACT;
use crate::text::number::{self, percent};
use crate::text::spans::Sentence;

/// This part of an account in one step is nearly all of it.
const NEARLY_ALL_IN_STEP: f64 = 0.9;
/// Of fewer steps one is no exception.
const LEAST_STEPS: i64 = 3;

/// The slow step that nearly all of an account lies in, where there is one: its number, and of how many steps it is.
pub(super) fn only_step(device: &Entity, account: &str) -> Option<(i64, i64)> {
    let account = Account::parse(account)?;
    let of_slow = match account {
        Account::IdleHost => "step_slow_host_ns",
        Account::IdleBlocked => "step_slow_blocked_ns",
        Account::IdleAllocate => "step_slow_allocate_ns",
        Account::IdleLoad => "step_slow_load_ns",
        Account::IdleCompile => "step_slow_compile_ns",
        _ => return None,
    };
    let count = device.int("step_count").filter(|count| *count >= LEAST_STEPS)?;
    let (more_ns, all_ns) = (device.int(of_slow)?, device.int(account.fact()).filter(|ns| *ns > 0)?);
    let is_one = device.int("step_slow_count") == Some(1) && more_ns as f64 >= NEARLY_ALL_IN_STEP * all_ns as f64;
    Some((device.int("step_slowest_number").filter(|_| is_one)?, count))
}

/// What the work of a device repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct StepWork {
    /// The range that a step is told by; the kernel that begins it where launches tell it, which may have no name.
    pub name: Option<Sentence>,
    /// Whether a sequence of launches that repeats tells them, and no range.
    pub is_by_launches: bool,
    /// Whether the program marks them, by ranges of its own or by calls.
    pub is_marked: bool,
    /// How many there are in the window.
    pub count: i64,
    /// The median length of a step.
    pub median_ns: i64,
    /// The length of the slowest one that is not warm-up; absent when all are warm-up.
    pub slowest_ns: Option<i64>,
    /// Which one that is, counted from 1.
    pub slowest_number: Option<i64>,
    /// Leading steps that are warm-up.
    pub warm_up_count: i64,
    /// Those of all threads, where several enter such: the others are of one of them.
    pub of_threads: Option<StepsOfThreads>,
}

/// Steps that several threads enter at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepsOfThreads {
    /// The threads.
    pub thread_count: i64,
    /// How many steps they enter together.
    pub count: i64,
    /// The part of the window that is one of these, nanoseconds.
    pub each_ns: i64,
}

impl StepsOfThreads {
    fn of(device: &Entity) -> Option<Self> {
        let (thread_count, count) = device.int("step_thread_count").zip(device.int("step_all_count"))?;
        let each_ns = device.int(Account::Window.fact())?.checked_div(count)?;
        Some(Self { thread_count, count, each_ns })
    }

    /// In words, behind the steps of one thread.
    pub fn words(self) -> String {
        let (count, threads) = (number::count(self.count), number::count(self.thread_count));
        format!(
            " of one of {threads} threads, which enter {count} in all, one every {}",
            number::duration(self.each_ns)
        )
    }
}

/// The step that gains are told of, where it is not plain from the steps of the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GainStep {
    /// The mean step without what recording costs, nanoseconds.
    pub step_ns: i64,
    /// The same step as recorded; absent where recording is taken to cost it nothing.
    pub recorded_step_ns: Option<i64>,
    /// How many steps were played again; the first of them leads in, and is not in the mean.
    pub count: i64,
    /// How many there are; absent where all were played.
    pub of_count: Option<i64>,
    /// The part of the window that rounds of launches take, of that of all steps the part that ordinary ones take; absent where that is
    /// nearly all.
    pub covered_share: Option<f64>,
    /// Whether most kernels are of graphs and were recorded one by one: what that costs is not taken off.
    pub is_of_graph_kernels: bool,
}

/// What gains are told of: a program's step, or what its launches repeat, which may be a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GainUnit {
    /// A step that a range tells.
    Step,
    /// A round of launches.
    Round,
}

impl GainUnit {
    /// Of the gains of a device.
    pub(super) fn of(device: &Entity) -> Self {
        let is_told = device.int("step_count").is_some() && device.text("step_told_by") != Some("launches");
        if is_told { Self::Step } else { Self::Round }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Round => "round",
        }
    }
}

/// What of a device's time the steps or rounds take that a replay is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Repeated {
    pub(super) unit: GainUnit,
    /// The steady state, else the window.
    pub(super) steady_ns: i64,
    /// What of it rounds take; of steps, those that are like the ones that are played again.
    pub(super) covered_share: f64,
}

impl Repeated {
    /// Of a device; `None` where its time is not known.
    pub(super) fn of(device: &Entity) -> Option<Self> {
        let (unit, window_ns) = (GainUnit::of(device), device.int("window_ns"));
        let steady_ns = device.int("steady_ns").filter(|steady_ns| *steady_ns > 0).or(window_ns)?;
        let held_ns = device.number("replay_covered_share").zip(window_ns);
        let held_ns = held_ns.map(|(share, window_ns)| share * window_ns as f64);
        let of_steady = held_ns.map(|held_ns| (held_ns / steady_ns.max(1) as f64).clamp(0.0, 1.0));
        let covered_share = match (unit, device.number("replay_alike_share")) {
            (GainUnit::Round, _) => of_steady.unwrap_or(1.0),
            (_, Some(alike_share)) => of_steady.map_or(alike_share, |share| share.min(alike_share)),
            (_, None) => 1.0,
        };
        Some(Self { unit, steady_ns, covered_share })
    }
}

/// What of the window steps take that are like those that are played again; `None` where these are all steps.
fn alike_of_window(device: &Entity) -> Option<f64> {
    let alike_share = device.number("replay_alike_share")?;
    Some(device.number("replay_covered_share").map_or(alike_share, |covered_share| covered_share.min(alike_share)))
}

/// Rounds that take less of the window than this are told with the part that they take.
pub(super) const NEARLY_ALL_COVERED: f64 = 0.9;

/// The step of gains is told where it is longer or shorter than the median step by more than this share.
const LEAST_STEP_DIFFERENCE: f64 = 0.02;

/// The phase of a device's window that is judged, and those that are not.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseWork {
    /// The one that is judged: `steady`, `set-up`, `warm-up`, `tear-down`.
    pub judged: String,
    /// Whether it is what the program marks once with `cudaProfilerStart` and `cudaProfilerStop`.
    pub is_profiled_region: bool,
    /// Whether it is one pass that the program measures behind its warm-up.
    pub is_measured_pass: bool,
    /// Whether nothing tells that it is more than one pass: then it is not called steady.
    pub may_be_one_pass: bool,
    /// Whether the program marks its steps: then it is known where its work begins.
    pub is_marked: bool,
    /// The length of the whole window.
    pub whole_ns: i64,
    /// The phases before the steady state, where that is judged: their cost occurs once.
    pub before: Vec<PhaseBefore>,
    /// The function that most of their host code lies in, where samples tell it.
    pub before_host: Option<Sentence>,
    /// How long the device's work goes on after the last step.
    pub tear_down_ns: Option<i64>,
    /// How much of that work the last step launched, or those before it.
    pub tear_down_from_steps_share: Option<f64>,
    /// The kernel that takes much of it, where the steps did not launch it.
    pub tear_down_kernel: Option<Sentence>,
}

impl PhaseWork {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self.judged.as_str() {
            "steady" if self.is_profiled_region => "profiled region",
            "steady" if self.is_measured_pass => "measured pass",
            "steady" if self.may_be_one_pass => "main part",
            "steady" => "steady state",
            other => other,
        }
    }

    /// How long what comes before it lasts, where that is longer, and no mark of the program tells that its work begins later.
    pub(super) fn longer_before_ns(&self, window_ns: i64) -> Option<i64> {
        let is_asked = self.judged == "steady" && !(self.is_marked || self.is_profiled_region || self.is_measured_pass);
        let before_ns = self.before.iter().map(|phase| phase.duration_ns).fold(0, i64::saturating_add);
        Some(before_ns).filter(|before_ns| is_asked && *before_ns >= window_ns)
    }
}

/// A phase before the steady state.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseBefore {
    /// `set-up` or `warm-up`.
    pub name: String,
    /// How long it lasts.
    pub duration_ns: i64,
    /// Where most of it went, the most first; shares are of the phase.
    pub parts: Vec<Part>,
}

/// Parts that are listed of a phase, and the smallest share of it that is worth a word.
const LISTED_PARTS: usize = 3;
const LEAST_PART_SHARE: f64 = 0.1;
/// A kernel that runs for a smaller part of what follows the steady state is not told.
const LEAST_KERNEL_SHARE: f64 = 0.25;
/// A function that holds less of the host code of the phases before does not tell what they are.
const LEAST_FUNCTION_SHARE: f64 = 0.5;
/// Compute of a phase is worth a word from this share of what the steady state computes.
const LEAST_COMPUTE_SHARE: f64 = 0.2;

/// What tells steps that no program marks.
const FOUND_STEPS: [&str; 2] = ["launches", "optimizer"];

/// The phase of a device that is judged; `None` where the whole window is.
pub(super) fn phase(facts: &Facts, id: EntityId) -> Option<PhaseWork> {
    let device = facts.get(id);
    let judged = device.text("phase")?.to_owned();
    let phases = facts.of_kind(EntityKind::Phase);
    let mut own: Vec<&Entity> = phases
        .filter(|(phase, _)| facts.related(*phase, EntityKind::Device) == Some(id))
        .map(|(_, phase)| phase)
        .collect();
    own.sort_by_key(|phase| phase.int("start_ns"));
    let compute_ns = device.int(Account::Compute.fact()).unwrap_or(0);
    Some(PhaseWork {
        judged,
        is_profiled_region: device.get("is_profiled_region") == Some(&FactValue::Bool(true)),
        is_measured_pass: device.get("is_measured_pass") == Some(&FactValue::Bool(true)),
        may_be_one_pass: device.text("phase_certainty") == Some("low"),
        is_marked: device.text("step_told_by").is_some_and(|by| !FOUND_STEPS.contains(&by)),
        whole_ns: device.int("whole_window_ns")?,
        before: own.into_iter().filter_map(|phase| before(phase, compute_ns)).collect(),
        before_host: before_host(device),
        tear_down_ns: device.int("tear_down_ns"),
        tear_down_from_steps_share: device.number("tear_down_from_steps_share"),
        tear_down_kernel: tear_down_kernel(device),
    })
}

/// A kernel that takes a good part of what the device does after the steady state, and that no step launched.
fn tear_down_kernel(device: &Entity) -> Option<Sentence> {
    let tear_down_ns = device.int("tear_down_ns").filter(|ns| *ns > 0)?;
    let kernel_ns = device.int("tear_down_kernel_ns")?;
    let is_of_steps = device.number("tear_down_from_steps_share").is_some_and(|share| share >= LEAST_PART_SHARE);
    let is_told = !is_of_steps && kernel_ns as f64 >= LEAST_KERNEL_SHARE * tear_down_ns as f64;
    let kernel = device.text("tear_down_kernel").filter(|_| is_told)?;
    let words = Sentence::default().own("one launch of ").code(kernel);
    Some(words.own(&format!(" takes {} of it", number::duration(kernel_ns))))
}

/// The function that most of the host code before the steady state lies in, by CPU samples, where that is much of the time there.
fn before_host(device: &Entity) -> Option<Sentence> {
    let before_ns = device.int("before_steady_ns").filter(|ns| *ns > 0)?;
    let host_ns = device.int("before_steady_host_ns")?;
    let share = device.number("before_steady_function_share").filter(|share| *share >= LEAST_FUNCTION_SHARE)?;
    let is_told = host_ns as f64 >= LEAST_PART_SHARE * before_ns as f64;
    let function = device.text("before_steady_function").filter(|_| is_told)?;
    let words = Sentence::default().own(&format!("{} of the CPU samples of host code there lie in ", percent(share)));
    let words = words.code(function);
    let words = device
        .text("before_steady_function_caller")
        .into_iter()
        .fold(words, |words, caller| words.own(", called by ").code(caller));
    Some(words.own("."))
}

/// `steady_compute_ns` is what the GPU computes in the steady state: a phase that computes a good part of that may be work as well.
fn before(phase: &Entity, steady_compute_ns: i64) -> Option<PhaseBefore> {
    let duration_ns = phase.int("duration_ns").filter(|ns| *ns > 0)?;
    let mut parts = parts_of(phase, duration_ns);
    let is_work = |part: &Part| {
        part.account == Account::Compute.id() && part.ns as f64 >= LEAST_COMPUTE_SHARE * steady_compute_ns as f64
    };
    parts.retain(|part| part.share >= LEAST_PART_SHARE || is_work(part));
    // Alone, that nothing is known of a part tells nothing.
    if parts.iter().all(|part| part.account == Account::IdleUnknown.id()) {
        parts.clear();
    }
    parts.sort_by_key(|part| Reverse(part.ns));
    parts.truncate(LISTED_PARTS);
    Some(PhaseBefore { name: phase.text("name")?.to_owned(), duration_ns, parts })
}

/// The step that gains of a device are told of; `None` without a replay, and where it is as long as the median step.
pub(super) fn gain_step(device: &Entity) -> Option<GainStep> {
    let is_round = GainUnit::of(device) == GainUnit::Round;
    let covered_share = if is_round { device.number("replay_covered_share") } else { alike_of_window(device) };
    let covered_share = covered_share.filter(|share| *share < NEARLY_ALL_COVERED);
    let (step_ns, count) = (device.int(STEP_FACT)?, device.int("replay_step_count")?);
    // A step may be left out at each end.
    let of_count = device.int("replay_of_step_count").filter(|all| *all > count.saturating_add(2));
    let recorded_step_ns = device.int("replay_recorded_step_ns").filter(|recorded_ns| *recorded_ns != step_ns);
    let of_graphs = device.int("graph_kernel_count").unwrap_or(0);
    let is_of_graph_kernels = device.int("kernel_count").is_some_and(|all| of_graphs > all / 2);
    let step = GainStep { step_ns, recorded_step_ns, count, of_count, covered_share, is_of_graph_kernels };
    let is_median =
        |median_ns: i64| (step.step_ns - median_ns).abs() as f64 <= LEAST_STEP_DIFFERENCE * median_ns as f64;
    (covered_share.is_some() || !device.int("step_median_ns").is_some_and(is_median)).then_some(step)
}

/// The steps of a device; `None` where no range tells them.
pub(super) fn steps(device: &Entity) -> Option<StepWork> {
    // Numbers that never vary are a part of the name.
    let named = device.text("step_full_name").or_else(|| device.text("step_name"));
    Some(StepWork {
        name: named.filter(|name| !name.is_empty()).map(|name| Sentence::default().code(name)),
        is_by_launches: device.text("step_told_by") == Some("launches"),
        is_marked: matches!(device.text("step_told_by"), Some("range" | "profiler_calls")),
        count: device.int("step_count")?,
        median_ns: device.int("step_median_ns")?,
        slowest_ns: device.int("step_slowest_ns"),
        slowest_number: device.int("step_slowest_number"),
        warm_up_count: device.int("warm_up_step_count").unwrap_or(0),
        of_threads: StepsOfThreads::of(device),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::entity;

    #[test]
    fn gains_are_of_rounds_where_no_range_tells_steps_and_say_what_part_rounds_take() {
        let mut device = entity(EntityKind::Device, &[("replay_step_ns", 6_500_000), ("replay_step_count", 9)]);
        device.set("replay_covered_share", 0.7);
        assert_eq!(GainUnit::of(&device), GainUnit::Round);
        assert_eq!(gain_step(&device).and_then(|step| step.covered_share), Some(0.7));
        device.set("replay_covered_share", 0.9);
        assert_eq!(gain_step(&device).map(|step| step.covered_share), Some(None));
        device.set("step_count", 9);
        device.set("step_told_by", "range");
        device.set("replay_covered_share", 0.7);
        assert_eq!(GainUnit::of(&device), GainUnit::Step);
        assert_eq!(gain_step(&device).map(|step| step.covered_share), Some(None));
        device.set("replay_alike_share", 0.5);
        assert_eq!(gain_step(&device).and_then(|step| step.covered_share), Some(0.5));
        device.set("step_told_by", "launches");
        assert_eq!(GainUnit::of(&device), GainUnit::Round);
    }

    #[test]
    fn how_many_rounds_there_are_is_told_where_not_all_are_played() {
        let mut device = entity(EntityKind::Device, &[("replay_step_ns", 10), ("replay_step_count", 100)]);
        let of_count = |device: &Entity| gain_step(device).and_then(|step| step.of_count);
        device.set("replay_of_step_count", 102_i64);
        assert_eq!(of_count(&device), None);
        device.set("replay_of_step_count", 203_i64);
        assert_eq!(of_count(&device), Some(203));
    }

    #[test]
    fn a_step_as_recorded_is_told_where_recording_cost_something() {
        let mut device = entity(EntityKind::Device, &[("replay_step_ns", 10), ("replay_step_count", 100)]);
        let recorded_step_ns = |device: &Entity| gain_step(device).map(|step| step.recorded_step_ns);
        assert_eq!(recorded_step_ns(&device), Some(None));
        device.set("replay_recorded_step_ns", 10_i64);
        assert_eq!(recorded_step_ns(&device), Some(None));
        device.set("replay_recorded_step_ns", 11_i64);
        assert_eq!(recorded_step_ns(&device), Some(Some(11)));
    }

    #[test]
    fn what_may_be_one_pass_is_called_no_steady_state() {
        let mut phase = PhaseWork {
            judged: "steady".to_owned(),
            is_profiled_region: false,
            is_measured_pass: false,
            may_be_one_pass: true,
            is_marked: false,
            whole_ns: 2,
            before: Vec::new(),
            before_host: None,
            tear_down_ns: None,
            tear_down_from_steps_share: None,
            tear_down_kernel: None,
        };
        assert_eq!(phase.name(), "main part");
        phase.may_be_one_pass = false;
        assert_eq!(phase.name(), "steady state");
    }

    #[test]
    fn the_function_that_holds_the_host_code_before_is_named() {
        let facts = [("before_steady_ns", 1_000), ("before_steady_host_ns", 100)];
        let mut device = entity(EntityKind::Device, &facts);
        let told = |device: &Entity| before_host(device).map(|words| words.plain());
        assert_eq!(told(&device), None);
        device.set("before_steady_function", "print_results");
        device.set("before_steady_function_share", 0.5);
        let words = "50 % of the CPU samples of host code there lie in print_results";
        assert_eq!(told(&device), Some(format!("{words}.")));
        device.set("before_steady_function_caller", "main");
        assert_eq!(told(&device), Some(format!("{words}, called by main.")));
        device.set("before_steady_function_share", 0.49);
        assert_eq!(told(&device), None);
        device.set("before_steady_function_share", 0.5);
        device.set("before_steady_host_ns", 99);
        assert_eq!(told(&device), None);
    }

    #[test]
    fn rounds_win_time_of_what_they_take_alone() {
        let mut device = entity(EntityKind::Device, &[("window_ns", 1_000), ("replay_step_ns", 10)]);
        device.set("replay_covered_share", 0.4);
        let repeated = |device: &Entity| Repeated::of(device).map(|of| (of.steady_ns, of.covered_share));
        assert_eq!(repeated(&device), Some((1_000, 0.4)));
        // Rounds lie in the steady state.
        device.set("steady_ns", 800);
        assert_eq!(repeated(&device), Some((800, 0.5)));
        device.set("steady_ns", 300);
        assert_eq!(repeated(&device), Some((300, 1.0)));
        device.set("step_count", 9);
        device.set("step_told_by", "range");
        device.set("steady_ns", 800);
        assert_eq!(repeated(&device), Some((800, 1.0)));
        // Steps take four fifths of the window, and those that are played again three fifths of them.
        device.set("replay_alike_share", 0.6);
        device.set("replay_covered_share", 0.48);
        assert_eq!(repeated(&device), Some((800, 0.6)));
        assert_eq!(repeated(&entity(EntityKind::Device, &[])), None);
    }
}
