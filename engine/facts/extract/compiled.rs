//! Facts of what `torch.compile` made: how many pieces a model is cut into, what the GPU loses between them, and in how many
//! steps code is compiled anew.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::{Context, DeviceContext, stats, steps};
use crate::facts::Entity;
use crate::ledger::compiling::CodeWork;
use crate::text::paths::file_name;
use crate::timeline::api::{self, ApiClass};
use crate::timeline::columns::RangeKind;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{NameId, ThreadRanges, Timeline};

/// How PyTorch begins the names of the ranges in which compiled code runs: `Torch-Compiled Region: 2/0` is the second function
/// that was compiled, as it was compiled first.
const REGION: &str = "Torch-Compiled Region";
/// How it begins the names of those in which a graph runs, newer releases; older ones have this for forward graphs.
const GRAPH: &str = "## Call CompiledFxGraph";
const FUNCTION: &str = "CompiledFunction";
/// Where it looks for compiled code that fits.
const LOOKUP: &str = "TorchDynamo Cache Lookup";
/// How PyTorch begins the names of the functions in which a model goes on behind a graph break: `…_in_forward_at_118`.
const RESUMED: &str = "torch_dynamo_resume_in_";
/// Shorter ones look code up.
const LEAST_COMPILE_NS: i64 = 1_000_000;
/// With fewer steps that compile nothing, they do not tell what a step is idle for without that.
const LEAST_OTHER_STEPS: usize = 3;
/// Shorter calls ask for what is loaded, unless their name tells that they load.
const LEAST_LOAD_NS: i64 = 20_000;

/// Whether compiled code runs in a range, by its name.
pub(super) fn is_of_compiled(name: &str) -> bool {
    [REGION, GRAPH, FUNCTION].iter().any(|begin| name.starts_with(begin))
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let steady = steps::steady(device);
    let steps: Vec<Interval> = steady.iter().map(|step| step.host).collect();
    let compiling = compiling_ns(context, device, &steps);
    facts.set("compiling_step_count", compiling.iter().filter(|ns| **ns >= LEAST_COMPILE_NS).count() as i64);
    let on_device: Vec<Interval> = steady.iter().map(|step| step.device.clip(device.window())).collect();
    facts.set_some("compiling_step_beside_ns", beside_compiling_ns(device, &on_device, &compiling));
    let loading = loading_step_count(context, device, &steps);
    facts.set("loading_step_count", loading);
    facts.set_some("loading_step_share", (!steps.is_empty()).then(|| loading as f64 / steps.len() as f64));
    let names = context.compiled();
    if let Some((count, place)) = &names.breaks {
        facts.set("graph_break_count", *count);
        facts.set("graph_break_place", place.as_str());
    }
    regions(timeline, device, (&steps, names), facts);
}

/// What the names of ranges tell of compiled code: the same for all devices.
#[derive(Debug)]
pub(super) struct CompiledNames {
    /// By label.
    signs: Vec<Option<Sign>>,
    /// How many versions beside the one that was compiled first the function has that has most.
    recompiled_version_count: Option<i64>,
    /// How many places break graphs, and the first of them.
    breaks: Option<(i64, String)>,
}

impl CompiledNames {
    pub(super) fn of(timeline: &Timeline) -> Self {
        let names = || timeline.ranges.labels.iter().map(|label| timeline.name(label.name));
        // A name may have a label in each of many domains.
        let mut of_names: HashMap<NameId, Option<Sign>> = HashMap::default();
        let mut functions: HashMap<&str, u32> = HashMap::default();
        let mut sign =
            |name: NameId| *of_names.entry(name).or_insert_with(|| sign_of(timeline.name(name), &mut functions));
        let mut signs: Vec<Option<Sign>> = timeline.ranges.labels.iter().map(|label| sign(label.name)).collect();
        if !signs.contains(&Some(Sign::Graph)) {
            let plain = names().zip(&mut signs).filter(|(name, _)| *name == FUNCTION);
            plain.for_each(|(_, sign)| *sign = Some(Sign::Graph));
        }
        let mut versions: HashMap<u32, i64> = HashMap::default();
        for sign in of_names.into_values().flatten() {
            if let Sign::Region(Compiled { function, is_again: true }) = sign {
                *versions.entry(function).or_default() += 1;
            }
        }
        Self { signs, recompiled_version_count: versions.into_values().max(), breaks: breaks(timeline) }
    }
}

/// Where graphs break, by the functions in which the model goes on.
fn breaks(timeline: &Timeline) -> Option<(i64, String)> {
    let labels = timeline.ranges.labels.iter().filter(|label| label.kind == RangeKind::PythonFrame);
    let places: BTreeSet<Break<'_>> = labels.filter_map(|label| break_of(timeline.name(label.name))).collect();
    let first = places.first()?;
    Some((places.len() as i64, format!("{}:{} ({})", first.file, first.line, first.function)))
}

/// A line after which a function goes on in eager mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Break<'a> {
    file: &'a str,
    line: u32,
    function: &'a str,
}

/// Of `train.py(12): torch_dynamo_resume_in_forward_at_118`.
fn break_of(frame: &str) -> Option<Break<'_>> {
    let (place, function) = frame.rsplit_once("): ")?;
    let (function, line) = function.strip_prefix(RESUMED)?.rsplit_once("_at_")?;
    let (path, _) = place.rsplit_once('(')?;
    Some(Break { file: file_name(path), line: line.parse().ok()?, function })
}

/// What steps that compile are idle for beyond others, and beyond compiling itself: looking up and loading code, and what runs for the
/// first time. `None` where none compiles, or nothing tells what others are idle for and compiling is not most of it.
fn beside_compiling_ns(device: &DeviceContext, steps: &[Interval], compile_ns: &[i64]) -> Option<i64> {
    let idle_ns = |step: &Interval| step.len_ns() - device.busy_within(*step);
    let idle = steps.iter().map(idle_ns).zip(compile_ns.iter().copied());
    let (own, others): (Vec<_>, Vec<_>) = idle.partition(|(_, compile_ns)| *compile_ns >= LEAST_COMPILE_NS);
    let mut others: Vec<i64> = others.into_iter().map(|(idle_ns, _)| idle_ns).collect();
    let usual_ns = if others.len() >= LEAST_OTHER_STEPS { stats::median(&mut others) } else { None };
    let sum = |ns: fn(&(i64, i64)) -> i64| own.iter().map(ns).fold(0, i64::saturating_add);
    let compiling_ns = sum(|(idle_ns, compile_ns)| *idle_ns.min(compile_ns));
    let is_most = || compiling_ns.saturating_mul(2) >= sum(|(idle_ns, _)| *idle_ns);
    let is_told = !own.is_empty() && (usual_ns.is_some() || is_most());
    let beyond_ns = own.iter().map(|(idle_ns, compile_ns)| (idle_ns - usual_ns.unwrap_or(0) - compile_ns).max(0));
    is_told.then(|| beyond_ns.fold(0, i64::saturating_add))
}

/// How long threads that launch the device's work compile in each step.
fn compiling_ns(context: &Context<'_>, device: &DeviceContext, steps: &[Interval]) -> Vec<i64> {
    let code = context.calls.code();
    let rows = code.times.iter().zip(&code.thread).zip(&code.work);
    let own = rows.filter(|((times, thread), work)| {
        **work == CodeWork::Compile
            && times.len_ns() >= LEAST_COMPILE_NS
            && device.is_of(context.timeline.process_of(**thread))
    });
    let compiling = Union::of(own.map(|((times, _), _)| times));
    steps.iter().map(|step| compiling.overlap_ns(*step)).collect()
}

/// Steps in which calls of the device's processes load or link code.
fn loading_step_count(context: &Context<'_>, device: &DeviceContext, steps: &[Interval]) -> i64 {
    // The calls are many, and without steps nothing is asked of them.
    if steps.is_empty() {
        return 0;
    }
    let (timeline, api) = (context.timeline, &context.timeline.api);
    let mut is_load = vec![false; timeline.names.len()];
    for (name, _) in context.api_names() {
        is_load[*name as usize] = api::classify(timeline.name(*name)) == ApiClass::Load;
    }
    if !is_load.contains(&true) {
        return 0;
    }
    let mut brings = Told::new(&timeline.names, api::brings_code);
    let (mut long, mut brought) = (Vec::new(), Vec::new());
    for (call, name) in api.name.iter().enumerate().filter(|(_, name)| is_load.get(**name as usize) == Some(&true)) {
        let times = api.times.at(call);
        if api.thread.get(call).is_some_and(|thread| device.is_of(timeline.process_of(*thread))) {
            let kind = if brings.of(*name) { &mut brought } else { &mut long };
            kind.push(times);
        }
    }
    long.retain(|times: &Interval| times.len_ns() >= LEAST_LOAD_NS);
    let (long, brought) = (Union::of(long), Union::of(brought));
    steps.iter().filter(|step| long.overlap_ns(**step) >= LEAST_LOAD_NS || brought.overlap_ns(**step) > 0).count()
        as i64
}

/// How often compiled code is looked for, entered, and left for another piece within steps, and for how long the device is idle
/// between two pieces of one step.
fn regions(
    timeline: &Timeline,
    device: &DeviceContext,
    (steps, names): (&[Interval], &CompiledNames),
    facts: &mut Entity,
) {
    let signs = &names.signs;
    let own = timeline.ranges.threads.iter();
    let own = own.filter(|ranges| device.is_of(timeline.process_of(ranges.thread)));
    let mut all = Regions::new(device, steps, signs);
    if signs.iter().any(Option::is_some) {
        own.clone().for_each(|ranges| all.of_thread(ranges));
    }
    facts.set("compiled_lookup_count", all.lookup_count);
    let graph_count = range_count(timeline, device, signs, |sign| *sign == Sign::Graph);
    facts.set_some("compiled_graph_count", Some(graph_count).filter(|count| *count > 0));
    facts.set(
        "compiled_region_count",
        if steps.is_empty() {
            range_count(timeline, device, signs, |sign| matches!(sign, Sign::Region(_)))
        } else {
            all.count
        },
    );
    // PyTorch tells of lookups since 2.0, and of the regions behind them only later.
    if all.lookup_count > 0 && (all.count > 0 || !signs.contains(&Some(Sign::Graph))) {
        facts.set("eager_lookup_count", (all.lookup_count - all.count).max(0));
    }
    facts.set_some("recompiled_version_count", names.recompiled_version_count);
    if all.count == 0 {
        return;
    }
    let functions: BTreeSet<u32> = all.met.iter().map(|met| met.function).collect();
    facts.set("compiled_function_count", functions.len() as i64);
    let again: BTreeSet<u32> = all.met.iter().filter(|met| met.is_again).map(|met| met.function).collect();
    facts.set("recompiled_function_count", again.len() as i64);
    facts.set("graph_break_run_count", all.nested_count);
    let is_graph = |label: u32| signs.get(label as usize) == Some(&Some(Sign::Graph));
    let graphs = own.flat_map(|ranges| ranges.times.iter().zip(&ranges.label));
    let graphs = graphs.filter(|(_, label)| is_graph(**label)).map(|(times, _)| times);
    // Where one thread has left a compiled graph, another may run the compiled backward pass.
    let taken = Union::of(device.tally.busy.parts().chain(graphs));
    facts.set("idle_between_compiled_ns", all.idle_ns(&taken));
}

/// How many ranges of a kind the device's processes enter in the whole recording.
fn range_count(
    timeline: &Timeline,
    device: &DeviceContext,
    signs: &[Option<Sign>],
    is_counted: impl Fn(&Sign) -> bool,
) -> i64 {
    if !signs.iter().flatten().any(&is_counted) {
        return 0;
    }
    let own = timeline.ranges.threads.iter();
    let own = own.filter(|ranges| device.is_of(timeline.process_of(ranges.thread)));
    let of = |label: &u32| signs.get(*label as usize).and_then(Option::as_ref);
    own.map(|ranges| ranges.label.iter().filter_map(of).filter(|sign| is_counted(sign)).count() as i64).sum()
}

/// What a range tells of compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// Compiled code is looked for.
    Lookup,
    /// It runs, with what Python does around it.
    Region(Compiled),
    /// A compiled graph runs, forward or backward.
    Graph,
}

/// A function that was compiled, by a number of its own, and whether it was compiled before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Compiled {
    function: u32,
    is_again: bool,
}

fn sign_of<'all>(name: &'all str, functions: &mut HashMap<&'all str, u32>) -> Option<Sign> {
    match name {
        LOOKUP => Some(Sign::Lookup),
        _ if name.starts_with(GRAPH) => Some(Sign::Graph),
        _ => compiled_of(name).map(|(function, is_again)| {
            let next = functions.len() as u32;
            Sign::Region(Compiled { function: *functions.entry(function).or_insert(next), is_again })
        }),
    }
}

/// A function that was compiled, and whether not for the first time. Older releases of PyTorch tell no numbers.
fn compiled_of(name: &str) -> Option<(&str, bool)> {
    let id = name.strip_prefix(REGION)?.trim_start_matches(": ");
    // Compiled autograd has a number of its own before: `!0/3/0`.
    let (function, time) = id.rsplit_once('/').unwrap_or((id, "0"));
    Some((function, time != "0"))
}

struct Regions<'all> {
    device: &'all DeviceContext,
    steps: &'all [Interval],
    signs: &'all [Option<Sign>],
    lookup_count: i64,
    count: i64,
    /// Of those, how many within another.
    nested_count: i64,
    met: BTreeSet<Compiled>,
    /// The time between two graphs of one step: two threads may leave theirs at once.
    gaps: Vec<Interval>,
}

impl<'all> Regions<'all> {
    const fn new(device: &'all DeviceContext, steps: &'all [Interval], signs: &'all [Option<Sign>]) -> Self {
        Self {
            device,
            steps,
            signs,
            lookup_count: 0,
            count: 0,
            nested_count: 0,
            met: BTreeSet::new(),
            gaps: Vec::new(),
        }
    }

    /// What of the gaps the device is idle for and no thread runs a compiled graph, each moment once.
    fn idle_ns(&self, taken: &Union) -> i64 {
        let gaps = Union::of(self.gaps.iter().copied());
        gaps.len_ns() - gaps.common_ns(taken)
    }

    fn of_thread(&mut self, ranges: &ThreadRanges) {
        let mut step = 0;
        let mut region_end = i64::MIN;
        let mut graph: Option<(usize, i64)> = None;
        for (times, label) in ranges.times.iter().zip(&ranges.label) {
            let Some(sign) = self.signs.get(*label as usize).copied().flatten() else { continue };
            while self.steps.get(step).is_some_and(|step| step.end <= times.start) {
                step += 1;
            }
            if self.steps.get(step).is_none_or(|step| times.start < step.start) {
                continue;
            }
            match sign {
                Sign::Lookup => self.lookup_count += 1,
                Sign::Region(id) => {
                    self.count += 1;
                    self.nested_count += i64::from(times.start < region_end);
                    region_end = region_end.max(times.end);
                    self.met.insert(id);
                }
                // What lies within another is counted with it.
                Sign::Graph if graph.is_some_and(|(_, end)| times.start < end) => {}
                Sign::Graph => {
                    if let Some((_, end)) = graph.filter(|(before, _)| *before == step) {
                        self.gaps.push(Interval::new(end, times.start).clip(self.device.window()));
                    }
                    graph = Some((step, times.end));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graph_breaks_are_told_by_where_the_function_goes_on() {
        let found = break_of("/home/me/model/layers.py(31): torch_dynamo_resume_in_forward_at_118");
        assert_eq!(found, Some(Break { file: "layers.py", line: 118, function: "forward" }));
        assert_eq!(break_of("layers.py(31): forward"), None);
        assert_eq!(break_of("layers.py(31): torch_dynamo_resume_in_forward_at_x"), None);
    }

    #[test]
    fn regions_tell_which_function_was_compiled_and_whether_again() {
        let of = compiled_of;
        assert_eq!(of("Torch-Compiled Region: 2/0"), Some(("2", false)));
        assert_eq!(of("Torch-Compiled Region: 2/3"), Some(("2", true)));
        assert_eq!(of("Torch-Compiled Region"), Some(("", false)));
        assert_eq!(of("CompiledFunction"), None);
    }
}
