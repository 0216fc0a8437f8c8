//! Trials of a kernel in several launch shapes, as Triton's autotuner makes them (`do_bench`): before each launch memory as large as the
//! cache is filled, so that nothing of the launch before is left in it, and events stand around the launch. They repeat nothing of the
//! program.

use foldhash::{HashMap, HashSet};

use crate::ledger::{DeviceOps, Op, OpKind};
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline};

/// Fewer launches behind a fill of one size are no trials.
const LEAST_TRIAL_COUNT: usize = 20;
/// What is filled is no smaller than the cache of a large GPU: bytes of a memset, and threads of a kernel that writes 16 bytes each.
const LEAST_FILL_BYTES: i64 = 32 << 20;
const LEAST_FILL_THREADS: i64 = LEAST_FILL_BYTES / 16;
/// What kernels that fill memory have in their names, in lower case.
const FILL_WORD: &str = "fill";
/// What calls that record an event begin with behind the prefix of their API.
const EVENT_RECORD: &str = "EventRecord";
/// So many copies may lie before the first trial of a kernel, and behind the last.
const MOST_PREPARING: usize = 4;
/// So many other kernels may lie between two trials, as what puts back what a trial wrote.
const MOST_BETWEEN: usize = 2;

/// A kernel that is tried: launches of it that follow each other, each behind a fill of the same size.
#[derive(Debug, Clone)]
pub struct KernelTuning {
    /// The full name of the kernel.
    pub kernel: NameId,
    /// Another launch of it, among those of this tuning: what people call it is in the table of shapes.
    pub shape: u32,
    /// From the first fill to the end of the last launch, on the device.
    pub device: Interval,
    /// How many launches are tried.
    pub trial_count: usize,
    /// The geometries that they have.
    pub geometries: HashSet<u32>,
    /// When the first of them was launched, and the last; `None` where no call is known.
    launched: Option<Interval>,
}

impl KernelTuning {
    /// Takes the pauses on both sides as its own, with copies right beside the first and the last: the tuner prepares trials, and looks at
    /// what they took.
    fn reach_out(&mut self, device: &DeviceOps) {
        let ops = device.list();
        let first = ops.partition_point(|op| op.start < self.device.start);
        let before = ops[..first].iter().rev().take(MOST_PREPARING);
        let copy_count = before.take_while(|op| op.kind == OpKind::Copy).count();
        if let Some(begun) = first.checked_sub(copy_count + 1).and_then(|last| ops.get(last)) {
            self.device.start = self.device.start.min(begun.end);
        }
        let behind = ops.partition_point(|op| op.start < self.device.end);
        let mut after = ops[behind..].iter().take(MOST_PREPARING + 1);
        if let Some(next) = after.find(|op| op.kind != OpKind::Copy) {
            self.device.end = next.start;
        }
    }
}

/// What fills: the kind of the operation, the name and the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fill {
    kind: OpKind,
    what: u32,
    size: i64,
}

/// Of one stream, what may be the trials of a kernel.
#[derive(Debug)]
struct Open {
    fill: Fill,
    /// When a fill began behind which nothing was launched yet.
    filled_ns: Option<i64>,
    tuning: KernelTuning,
    /// Other kernels since the last trial.
    between_count: usize,
}

impl Open {
    fn new(fill: Fill, start_ns: i64) -> Self {
        let tuning = KernelTuning {
            kernel: NONE,
            shape: NONE,
            device: Interval::new(start_ns, start_ns),
            trial_count: 0,
            geometries: HashSet::default(),
            launched: None,
        };
        Self { fill, filled_ns: Some(start_ns), tuning, between_count: 0 }
    }

    /// Takes a kernel that fills nothing; returns whether it may still be trials.
    fn takes(&mut self, timeline: &Timeline, op: Op) -> bool {
        let shape = timeline.kernels.shape_of(op.index);
        let is_filled = self.filled_ns.take().is_some();
        if is_filled && self.tuning.kernel == NONE {
            self.tuning.kernel = shape.full_name;
            self.tuning.shape = timeline.kernels.shape.get(op.index as usize).copied().unwrap_or(NONE);
        }
        if shape.full_name != self.tuning.kernel {
            self.between_count += 1;
            return self.between_count <= MOST_BETWEEN;
        }
        if is_filled {
            self.between_count = 0;
            self.tuning.device.end = op.end;
            self.tuning.trial_count += 1;
            self.tuning.geometries.insert(shape.geometry);
            if let Some(at) = op.call(timeline).and_then(|call| timeline.api.times.get(call as usize)) {
                // Streams need not run in the order of the calls.
                let known = self.tuning.launched.unwrap_or(at);
                self.tuning.launched = Some(Interval::new(known.start.min(at.start), known.end.max(at.end)));
            }
        }
        true
    }
}

/// The tunings of kernels within the window of a device, in time order.
pub fn kernel_tunings(timeline: &Timeline, device: &DeviceOps) -> Vec<KernelTuning> {
    let fills = fills(timeline);
    let has_memset = timeline.memsets.bytes.iter().any(|bytes| *bytes >= LEAST_FILL_BYTES);
    if !has_memset && !fills.iter().any(Option::is_some) {
        return Vec::new();
    }
    let mut found = runs_of_trials(timeline, device, &fills);
    keep_tried(timeline, device, &mut found);
    found.iter_mut().for_each(|tuning| tuning.reach_out(device));
    found.sort_by_key(|tuning| tuning.device.start);
    found
}

/// What each launch shape fills, by its index: `None` for those that fill nothing as large as a cache.
fn fills(timeline: &Timeline) -> Vec<Option<Fill>> {
    let of = |shape: &crate::timeline::KernelShape| {
        let geometry = timeline.geometries.get(shape.geometry as usize)?;
        let threads = geometry.grid_blocks.saturating_mul(geometry.block_threads);
        let is_fill = || timeline.name(shape.full_name).to_ascii_lowercase().contains(FILL_WORD);
        let fill = Fill { kind: OpKind::Kernel, what: shape.full_name, size: threads };
        (threads >= LEAST_FILL_THREADS && is_fill()).then_some(fill)
    };
    timeline.kernels.shapes.iter().map(of).collect()
}

/// All runs of launches behind fills that are long enough.
fn runs_of_trials(timeline: &Timeline, device: &DeviceOps, fills: &[Option<Fill>]) -> Vec<KernelTuning> {
    let mut found = Vec::new();
    let mut keep = |open: Open| {
        if open.tuning.trial_count >= LEAST_TRIAL_COUNT {
            found.push(open.tuning);
        }
    };
    let mut streams: HashMap<u32, Open> = HashMap::default();
    for op in device.in_window() {
        let stream = op.stream(timeline);
        if let Some(fill) = fill_of(timeline, op, fills) {
            match streams.get_mut(&stream).filter(|open| open.fill == fill) {
                Some(open) => open.filled_ns = Some(op.start),
                None => streams.insert(stream, Open::new(fill, op.start)).into_iter().for_each(&mut keep),
            }
        } else if op.kind == OpKind::Kernel && streams.get_mut(&stream).is_some_and(|open| !open.takes(timeline, op)) {
            streams.remove(&stream).into_iter().for_each(&mut keep);
        }
    }
    let mut left: Vec<(u32, Open)> = streams.into_iter().collect();
    left.sort_unstable_by_key(|(stream, _)| *stream);
    left.into_iter().for_each(|(_, open)| keep(open));
    found
}

/// What an operation fills, if it fills as much as a cache.
fn fill_of(timeline: &Timeline, op: Op, fills: &[Option<Fill>]) -> Option<Fill> {
    match op.kind {
        OpKind::Kernel => {
            let shape = timeline.kernels.shape.get(op.index as usize)?;
            fills.get(*shape as usize).copied().flatten()
        }
        OpKind::Memset => {
            let size = timeline.memsets.bytes.get(op.index as usize).copied()?;
            (size >= LEAST_FILL_BYTES).then_some(Fill { kind: OpKind::Memset, what: NONE, size })
        }
        _ => None,
    }
}

/// Keeps those of kernels that are tried in several shapes and that the program launches besides, with two events around each launch: what
/// has one shape, or nothing beside its launches behind fills, is no choice of a kernel but the work of the program.
fn keep_tried(timeline: &Timeline, device: &DeviceOps, found: &mut Vec<KernelTuning>) {
    if found.is_empty() {
        return;
    }
    let mut geometries: HashMap<NameId, HashSet<u32>> = HashMap::default();
    for tuning in found.iter() {
        geometries.entry(tuning.kernel).or_default().extend(&tuning.geometries);
    }
    let trials = Union::of(found.iter().map(|tuning| tuning.device));
    let mut used: HashSet<NameId> = HashSet::default();
    for op in device.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let name = timeline.kernels.shape_of(op.index).full_name;
        if geometries.contains_key(&name) && !used.contains(&name) && trials.overlap_ns(op.interval()) == 0 {
            used.insert(name);
        }
    }
    let mut records: Vec<i64> = event_records(timeline);
    records.sort_unstable();
    let records_in = |part: Interval| {
        let before = |moment: i64| records.partition_point(|at| *at < moment);
        before(part.end).saturating_sub(before(part.start))
    };
    found.retain(|tuning| {
        let has_events = tuning.launched.is_some_and(|launched| records_in(launched) >= tuning.trial_count);
        has_events
            && used.contains(&tuning.kernel)
            && geometries.get(&tuning.kernel).is_some_and(|tried| tried.len() > 1)
    });
}

/// When the calls were made that record events.
fn event_records(timeline: &Timeline) -> Vec<i64> {
    let mut is_record = Told::new(&timeline.names, |name| name.contains(EVENT_RECORD));
    let calls = timeline.api.times.iter().zip(&timeline.api.name);
    calls.filter(|(_, name)| is_record.of(**name)).map(|(times, _)| times.start).collect()
}
