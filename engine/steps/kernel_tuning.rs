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
    /// A tuning that begins with a block of trials; where it is tuned anew, with what the tuner launches before them too.
    fn of(kernel: NameId, shape: u32, block: &Block, is_anew: bool) -> Self {
        let led = block.led.last.filter(|(geometry, _)| is_anew && *geometry == block.geometry);
        let start_ns = led.map_or(block.device.start, |(_, start_ns)| start_ns.min(block.device.start));
        let device = Interval::new(start_ns, block.device.end);
        let geometries = HashSet::from_iter([block.geometry]);
        let launched = block.launched;
        Self { kernel, shape, device, trial_count: block.trial_count, geometries, launched }
    }

    fn goes_on(&mut self, block: &Block) {
        self.device.end = block.device.end;
        self.trial_count += block.trial_count;
        self.geometries.insert(block.geometry);
        // Streams need not run in the order of the calls.
        self.launched = self.launched.into_iter().chain(block.launched).reduce(Interval::hull);
    }

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

/// Trials in one launch shape that follow each other, with what was launched before them.
#[derive(Debug)]
struct Block {
    geometry: u32,
    /// From the first fill to the end of the last launch.
    device: Interval,
    trial_count: usize,
    /// When the first of them was launched, and the last.
    launched: Option<Interval>,
    /// The launches of the kernel without a fill right before the first.
    led: Led,
}

/// Launches of a kernel without a fill, between two trials: the tuner's own, as it tries whether the kernel runs and warms up, or the
/// program's.
#[derive(Debug, Default)]
struct Led {
    count: usize,
    /// The launch shape of the last, and where those of one shape begin that end with it.
    last: Option<(u32, i64)>,
    /// Whether they have several.
    is_mixed: bool,
}

impl Led {
    fn takes(&mut self, geometry: u32, start_ns: i64) {
        self.count += 1;
        if self.last.is_none_or(|(last, _)| last != geometry) {
            self.is_mixed = self.last.is_some();
            self.last = Some((geometry, start_ns));
        }
    }

    /// Whether some of them have another shape than the trials that follow.
    fn has_other_than(&self, geometry: u32) -> bool {
        self.is_mixed || self.last.is_some_and(|(last, _)| last != geometry)
    }
}

/// Of one stream, what may be the trials of a kernel.
#[derive(Debug)]
struct Open {
    fill: Fill,
    /// When a fill began behind which nothing was launched yet.
    filled_ns: Option<i64>,
    kernel: NameId,
    shape: u32,
    blocks: Vec<Block>,
    /// What was launched since the last trial.
    led: Led,
    /// Other kernels since the last trial.
    between_count: usize,
}

impl Open {
    fn new(fill: Fill, start_ns: i64) -> Self {
        let blocks = Vec::new();
        let led = Led::default();
        Self { fill, filled_ns: Some(start_ns), kernel: NONE, shape: NONE, blocks, led, between_count: 0 }
    }

    /// Takes a kernel that fills nothing; returns whether it may still be trials.
    fn takes(&mut self, timeline: &Timeline, op: Op) -> bool {
        let shape = timeline.kernels.shape_of(op.index);
        let filled_ns = self.filled_ns.take();
        if filled_ns.is_some() && self.kernel == NONE {
            self.kernel = shape.full_name;
            self.shape = timeline.kernels.shape.get(op.index as usize).copied().unwrap_or(NONE);
        }
        if shape.full_name != self.kernel {
            self.between_count += 1;
            return self.between_count <= MOST_BETWEEN;
        }
        match filled_ns {
            Some(filled_ns) => self.tries(timeline, op, shape.geometry, filled_ns),
            None => self.led.takes(shape.geometry, op.start),
        }
        true
    }

    fn tries(&mut self, timeline: &Timeline, op: Op, geometry: u32, filled_ns: i64) {
        self.between_count = 0;
        let led = std::mem::take(&mut self.led);
        let is_on = |block: &Block| block.geometry == geometry && !led.has_other_than(geometry);
        if !self.blocks.last().is_some_and(is_on) {
            let device = Interval::new(filled_ns, op.end);
            self.blocks.push(Block { geometry, device, trial_count: 0, launched: None, led });
        }
        let Some(block) = self.blocks.last_mut() else { return };
        block.device.end = op.end;
        block.trial_count += 1;
        if let Some(at) = op.call(timeline).and_then(|call| timeline.api.times.get(call as usize)) {
            block.launched = Some(block.launched.map_or(at, |launched| launched.hull(at)));
        }
    }

    /// What was tried, a tuning each. A tuner goes from shape to shape with no launch between but its own first one of the next shape;
    /// where another lies between, the program has used what was found, and it is tuned anew.
    fn tunings(self) -> Vec<KernelTuning> {
        let led = self.blocks.iter().skip(1).map(|block| block.led.count);
        let usual_count = led.min().unwrap_or(0);
        let mut tunings: Vec<KernelTuning> = Vec::new();
        for (nth, block) in self.blocks.into_iter().enumerate() {
            let is_anew = nth > 0 && (block.led.count > usual_count || block.led.has_other_than(block.geometry));
            match tunings.last_mut().filter(|_| !is_anew) {
                Some(tuning) => tuning.goes_on(&block),
                None => tunings.push(KernelTuning::of(self.kernel, self.shape, &block, is_anew)),
            }
        }
        tunings.retain(|tuning| tuning.trial_count >= LEAST_TRIAL_COUNT);
        tunings
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
    // A name may be long, and have a hundred thousand shapes.
    let mut is_fill = Told::new(&timeline.names, |name| name.to_ascii_lowercase().contains(FILL_WORD));
    let of = |shape: &crate::timeline::KernelShape| {
        let geometry = timeline.geometries.get(shape.geometry as usize)?;
        let threads = geometry.grid_blocks.saturating_mul(geometry.block_threads);
        let fill = Fill { kind: OpKind::Kernel, what: shape.full_name, size: threads };
        (threads >= LEAST_FILL_THREADS && is_fill.of(shape.full_name)).then_some(fill)
    };
    timeline.kernels.shapes.iter().map(of).collect()
}

/// All runs of launches behind fills that are long enough.
fn runs_of_trials(timeline: &Timeline, device: &DeviceOps, fills: &[Option<Fill>]) -> Vec<KernelTuning> {
    let mut found = Vec::new();
    let mut keep = |open: Open| found.extend(open.tunings());
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
