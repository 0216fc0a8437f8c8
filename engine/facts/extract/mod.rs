//! Takes a timeline apart into facts, one file a group.

mod copies;
mod device;
mod idle;
mod kernel_names;
mod kernels;
mod metrics;
mod occupancy;
mod places;
mod ranges;
mod run;
mod steps;
mod storms;
mod streams;
mod syncs;
mod tally;

use rustc_hash::FxHashMap;

use crate::facts::EntityKind;
use crate::facts::store::{Entity, EntityId, Facts};
use crate::ledger::walk::Aside;
use crate::ledger::{Calls, DeviceOps, IdleReading, Op, Scope, Stretches, walk};
use crate::parallel::{self, Threads};
use crate::text::nearest::most_alike_first;
use crate::text::number;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, ThreadRanges, Timeline};
use kernel_names::Traits;
use storms::Storms;
use tally::Tally;

/// Why nothing can be looked at in the way that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// No operation lies in the window.
    #[error(
        "no GPU operation lies in the window that was asked for; the operations of this report lie between {} and {}",
        number::instant(*first_ns),
        number::instant(*last_ns)
    )]
    Empty {
        /// When the first operation begins.
        first_ns: i64,
        /// When the last one ends.
        last_ns: i64,
    },
    /// No annotation has that name, or not that many.
    #[error("the report has {found} annotation(s) named '{name}', number {number} was asked for; {hint}")]
    NoSuchRange {
        /// The name asked for.
        name: String,
        /// The number asked for.
        number: usize,
        /// How many there are.
        found: usize,
        /// Names that are there.
        hint: String,
    },
    /// The annotation launched nothing.
    #[error("no GPU operation was launched inside annotation '{name}' (number {number})")]
    NothingLaunched {
        /// The name asked for.
        name: String,
        /// The number asked for.
        number: usize,
    },
}

/// Entities of one kind over all devices. Every rule is asked of every entity, and nobody reads ten thousand of them.
const MOST_ENTITIES: usize = 8_000;

/// What every group of facts is extracted from.
struct Context<'timeline> {
    timeline: &'timeline Timeline,
    calls: Calls,
    /// What kernel names tell, by place of the name.
    traits: Vec<Traits>,
    /// The threads of each process, by its place.
    threads: Vec<Vec<u32>>,
    devices: Vec<DeviceContext>,
    is_narrowed: bool,
}

/// One device with everything that was tallied of it.
struct DeviceContext {
    ops: DeviceOps,
    tally: Tally,
    idle: IdleReading,
    storms: Storms,
    /// The thread that launches most of its operations.
    main_thread: Option<u32>,
    /// Places of the processes that ran work on it.
    processes: Vec<u32>,
}

impl DeviceContext {
    fn window(&self) -> Interval {
        self.ops.window
    }
}

/// All facts of a timeline, measured in a scope.
///
/// # Errors
/// When the scope lies beside all GPU work, or names an annotation that is not there.
pub fn extract(timeline: &Timeline, scope: &Scope) -> Result<Facts, ScopeError> {
    extract_with(timeline, scope, None)
}

/// The same, with a number of threads; as many as the machine has when `None`. The facts do not depend on it.
///
/// # Errors
/// As for [`extract`].
pub fn extract_with(timeline: &Timeline, scope: &Scope, threads: Option<usize>) -> Result<Facts, ScopeError> {
    let threads = Threads::new(threads);
    let context = Context::new(timeline, scope, threads)?;
    let mut facts = Facts::default();
    let run = facts.add(EntityKind::Run, "run", &[]);
    run::extract(&context, facts.get_mut(run));
    let processes = run::processes(&context, &mut facts, run);
    let jobs: Vec<(&DeviceContext, Part)> =
        context.devices.iter().flat_map(|device| Part::ALL.map(|part| (device, part))).collect();
    let branches = parallel::map(threads, &jobs, |(device, part)| {
        let mut branch = facts.clone();
        part.extract(&context, device, run, &processes, &mut branch);
        branch
    });
    let shared = facts.len();
    let mut branches = branches.into_iter();
    for _ in &context.devices {
        let of_device: Vec<Facts> = branches.by_ref().take(Part::ALL.len()).collect();
        facts.graft(of_device, shared);
    }
    Ok(facts)
}

/// Groups of a device's facts that do not depend on each other. Each begins with an entity of the device.
#[derive(Debug, Clone, Copy)]
enum Part {
    Device,
    Groups,
    Annotations,
}

impl Part {
    const ALL: [Self; 3] = [Self::Device, Self::Groups, Self::Annotations];

    fn extract(
        self,
        context: &Context<'_>,
        device: &DeviceContext,
        run: EntityId,
        processes: &[Option<EntityId>],
        facts: &mut Facts,
    ) {
        let key = format!("gpu{}", context.timeline.devices[device.ops.device as usize].number);
        let id = facts.add(EntityKind::Device, key, &[run]);
        let parents = Parents { run, device: id, processes };
        match self {
            Self::Device => {
                device::extract(context, device, facts.get_mut(id));
                idle::extract(context, device, facts.get_mut(id));
                metrics::extract(context, device, facts.get_mut(id));
            }
            Self::Groups => {
                streams::extract(context, device, &parents, facts);
                kernels::extract(context, device, &parents, facts);
                copies::extract(context, device, &parents, facts);
                syncs::extract(context, device, &parents, facts);
                places::extract(context, device, &parents, facts);
            }
            Self::Annotations => {
                ranges::extract(context, device, &parents, facts);
                steps::extract(context, device, &parents, facts);
            }
        }
    }
}

/// Keeps the first of what is sorted by weight, and notes on the device how many are left out.
fn keep<T>(sorted: &mut Vec<T>, most: usize, device: &mut Entity) {
    let left_out = sorted.len().saturating_sub(most) as i64;
    if left_out > 0 {
        device.set("left_out_count", device.int("left_out_count").unwrap_or(0) + left_out);
        sorted.truncate(most);
    }
}

/// The entities that those of a device hang below.
struct Parents<'facts> {
    run: EntityId,
    device: EntityId,
    /// By place of the process.
    processes: &'facts [Option<EntityId>],
}

impl Parents<'_> {
    /// Below the device and a process, when it is known.
    fn with_process(&self, process: u32) -> Vec<EntityId> {
        let process = self.processes.get(process as usize).copied().flatten();
        [Some(self.device), process, Some(self.run)].into_iter().flatten().collect()
    }
}

impl<'timeline> Context<'timeline> {
    fn new(timeline: &'timeline Timeline, scope: &Scope, threads: Threads) -> Result<Self, ScopeError> {
        let traits = kernel_names::traits(timeline);
        let is_communication: Vec<bool> = traits.iter().map(|traits| traits.is_communication).collect();
        let (calls, mut ops) =
            parallel::both(threads, || Calls::new(timeline), || DeviceOps::all(timeline, &is_communication));
        apply_scope(timeline, &mut ops, scope)?;
        let busiest = calls.busiest_threads(timeline);
        let looks: Vec<(Look, &DeviceOps)> =
            [Look::Sweep, Look::Others].into_iter().flat_map(|look| ops.iter().map(move |ops| (look, ops))).collect();
        let (mut tallies, mut stretches, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for seen in parallel::map(threads, &looks, |(look, ops)| look.at(timeline, ops, &busiest)) {
            match seen {
                Seen::Sweep(tally, of_device) => {
                    tallies.push(*tally);
                    stretches.push(*of_device);
                }
                Seen::Others(storms, main_thread) => others.push((storms, main_thread)),
            }
        }
        let asides =
            others.iter().map(|other: &(Storms, Option<u32>)| Aside { storms: &other.0.parts, main_thread: other.1 });
        let asides: Vec<Aside<'_>> = asides.collect();
        let readings = walk::read(timeline, &calls, stretches, &asides, threads);
        let devices = ops.into_iter().zip(tallies).zip(readings).zip(others);
        let devices = devices.map(|(((ops, tally), idle), (storms, main_thread))| {
            let processes = processes_of(timeline, &ops);
            DeviceContext { ops, tally, idle, storms, main_thread, processes }
        });
        let threads = threads_of(timeline);
        Ok(Self { timeline, calls, traits, threads, devices: devices.collect(), is_narrowed: *scope != Scope::All })
    }

    /// Whether the report has API calls of a process that ran work on a device.
    fn knows_host_of(&self, device: &DeviceContext) -> bool {
        let has_calls = |process: &u32| match *process {
            NONE => !self.timeline.api.is_empty(),
            process => self.calls_of(process, None).next().is_some(),
        };
        device.processes.iter().any(has_calls)
    }

    /// The threads of a process.
    fn threads_of(&self, process: u32) -> &[u32] {
        self.threads.get(process as usize).map_or(&[], |threads| threads)
    }

    /// Entities of one kind that a device may have: those with most time, when there are more.
    fn most_entities(&self) -> usize {
        (MOST_ENTITIES / self.devices.len().max(1)).clamp(50, 1_000)
    }

    /// How often each API was called by a process within a window.
    fn calls_of(&self, process: u32, window: Option<Interval>) -> impl Iterator<Item = u32> + '_ {
        let timeline = self.timeline;
        let threads = self.threads_of(process).iter();
        threads.flat_map(|thread| self.calls.of_thread(*thread)).copied().filter(move |call| {
            let interval = timeline.api.times.at(*call as usize);
            window.is_none_or(|window| interval.start < window.end && interval.end > window.start)
        })
    }
}

/// Two looks at the operations of a device that do not depend on each other.
#[derive(Debug, Clone, Copy)]
enum Look {
    Sweep,
    Others,
}

/// What they see.
enum Seen<'all> {
    Sweep(Box<Tally>, Box<Stretches<'all>>),
    Others(Storms, Option<u32>),
}

impl Look {
    fn at<'all>(self, timeline: &'all Timeline, ops: &DeviceOps, busiest: &'all FxHashMap<u32, u32>) -> Seen<'all> {
        match self {
            Self::Sweep => {
                let mut stretches = Stretches::new(timeline, busiest, ops);
                let tally = Tally::new(timeline, ops, |stretch| stretches.add(stretch));
                Seen::Sweep(Box::new(tally), Box::new(stretches))
            }
            Self::Others => Seen::Others(Storms::find(timeline, ops), walk::main_thread(timeline, ops)),
        }
    }
}

fn threads_of(timeline: &Timeline) -> Vec<Vec<u32>> {
    let mut threads = vec![Vec::new(); timeline.processes.len()];
    for (place, thread) in (0_u32..).zip(&timeline.threads) {
        if let Some(threads) = threads.get_mut(thread.process as usize) {
            threads.push(place);
        }
    }
    threads
}

/// The processes that run work in the window; in a window without work, those that run any at all.
fn processes_of(timeline: &Timeline, ops: &DeviceOps) -> Vec<u32> {
    let in_window = processes_among(timeline, ops.in_window(timeline));
    if in_window.is_empty() { processes_among(timeline, ops.all_ops(timeline)) } else { in_window }
}

fn processes_among(timeline: &Timeline, ops: impl Iterator<Item = Op>) -> Vec<u32> {
    let mut seen = vec![false; timeline.streams.len()];
    for op in ops {
        if let Some(seen) = seen.get_mut(op.stream(timeline) as usize) {
            *seen = true;
        }
    }
    let used = timeline.streams.iter().zip(seen).filter(|(_, seen)| *seen).map(|(stream, _)| stream.process);
    let mut processes: Vec<u32> = used.collect();
    processes.sort_unstable();
    processes.dedup();
    processes
}

/// Narrows the windows; devices of which nothing is left are dropped.
fn apply_scope(timeline: &Timeline, devices: &mut Vec<DeviceOps>, scope: &Scope) -> Result<(), ScopeError> {
    let first_ns = devices.iter().map(|device| device.window.start).min();
    let last_ns = devices.iter().map(|device| device.window.end).max();
    let (Some(first_ns), Some(last_ns)) = (first_ns, last_ns) else { return Ok(()) };
    match scope {
        Scope::All => return Ok(()),
        Scope::Times { start, end } => {
            let to = Interval::new(start.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX));
            devices.retain_mut(|device| device.narrow(to));
        }
        Scope::Range { name, number } => {
            let (range, thread) = find_range(timeline, name, *number)?;
            // What its own thread launched; where that launched nothing, such as in an annotation around work that other
            // threads do, what its process launched.
            let by_thread = |call: u32| timeline.api.thread[call as usize] == thread;
            let process = timeline.process_of(thread);
            let by_process = |call: u32| timeline.process_of(timeline.api.thread[call as usize]) == process;
            let has_own = devices.iter().any(|device| launched_in(timeline, device, range, by_thread).is_some());
            devices.retain_mut(|device| {
                let launched = if has_own {
                    launched_in(timeline, device, range, by_thread)
                } else {
                    launched_in(timeline, device, range, by_process)
                };
                launched.is_some_and(|launched| device.narrow(launched))
            });
            if devices.is_empty() {
                return Err(ScopeError::NothingLaunched { name: name.clone(), number: *number });
            }
        }
    }
    if devices.is_empty() { Err(ScopeError::Empty { first_ns, last_ns }) } else { Ok(()) }
}

/// When an annotation was entered and left, and by which thread.
fn find_range(timeline: &Timeline, name: &str, number: usize) -> Result<(Interval, u32), ScopeError> {
    let ranges = &timeline.ranges;
    let wanted = timeline.names.find(name);
    let is_wanted =
        |label: &u32| wanted.is_some() && ranges.labels.get(*label as usize).map(|label| label.name) == wanted;
    let of_thread = |of: &ThreadRanges| {
        let fitting = of.times.iter().zip(&of.label).filter(|(_, label)| is_wanted(label));
        fitting.map(|(times, _)| (times, of.thread)).collect::<Vec<_>>()
    };
    let mut found: Vec<(Interval, u32)> = ranges.threads.iter().flat_map(of_thread).collect();
    found.sort_by_key(|(times, thread)| (times.start, *thread));
    let place = number.checked_sub(1).and_then(|index| found.get(index)).copied();
    place.ok_or_else(|| ScopeError::NoSuchRange {
        name: name.to_owned(),
        number,
        found: found.len(),
        hint: range_hint(timeline, name),
    })
}

/// The annotations whose names are nearest to one that is not there.
fn range_hint(timeline: &Timeline, name: &str) -> String {
    let known = timeline.ranges.labels.iter().map(|label| timeline.name(label.name));
    match most_alike_first(name, known).as_slice() {
        [] => "the report has no annotations: capture them with nsys profile --trace=cuda,nvtx".to_owned(),
        names => format!("names that it has: {}", names.iter().take(5).copied().collect::<Vec<_>>().join(", ")),
    }
}

/// From the first start to the last end of what was launched on a device within a range, by calls that count.
fn launched_in(
    timeline: &Timeline,
    device: &DeviceOps,
    range: Interval,
    counts: impl Fn(u32) -> bool,
) -> Option<Interval> {
    let launched = device.all_ops(timeline).filter(|op| {
        let Some(call) = op.call(timeline) else { return false };
        let start = timeline.api.times.start(call as usize);
        range.start <= start && start < range.end && counts(call)
    });
    launched.map(|op| op.interval()).reduce(|all, next| Interval::new(all.start.min(next.start), all.end.max(next.end)))
}
