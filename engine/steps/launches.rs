//! What one process launched on a device, in the order of the launches.

use std::cmp::Reverse;
use std::ops::Range;

use foldhash::HashMap;

use super::kernel_tunings;
use crate::ledger::{DeviceOps, Op, OpKind};
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::union::Union;
use crate::timeline::{NONE, Timeline};

/// One operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Launch {
    /// When its call began; where it has none, when it began itself.
    pub(super) at: i64,
    /// When it began on the device.
    pub(super) start: i64,
    /// How long it ran; the longest that fits for one that ran longer.
    length_ns: u32,
    /// What it is: the same number for the same kernel. [`NONE`] for what counts in no sequence.
    pub(super) symbol: u32,
    /// Of a kernel, the index of its name, grid and block among all; [`NONE`] for all else.
    pub(super) shape: u32,
    /// Whether it is a kernel or a graph.
    pub(super) is_kernel: bool,
}

impl Launch {
    pub(super) fn length(&self) -> i64 {
        i64::from(self.length_ns)
    }

    pub(super) fn end(&self) -> i64 {
        self.start + i64::from(self.length_ns)
    }

    /// The same; the end of time where it ran longer than is kept.
    pub(super) fn end_at_most(&self) -> i64 {
        if self.length_ns == u32::MAX { i64::MAX } else { self.end() }
    }
}

/// The operations of the process that launches most, by launch.
#[derive(Debug)]
pub struct Launches {
    list: Vec<Launch>,
    /// When each was launched: what is searched, with nothing between.
    at: Vec<i64>,
    /// The time of the operations before each one, and of all at last.
    work_ns: Vec<i64>,
    pub(super) process: u32,
    /// The window of the device.
    pub(super) window: Interval,
    /// Before this moment no step begins: the window's begin where it cuts what the device ran, or what was asked for.
    pub(super) begin_ns: i64,
    /// Until when the device runs what was launched before the recording began: what comes before the first operation of a known
    /// call has none.
    pub(super) earlier_until_ns: i64,
    /// The name of each symbol, or [`NONE`].
    pub(super) names: Vec<u32>,
}

/// What an operation is, so that the same ones are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Content {
    kind: OpKind,
    /// The full name of a kernel; of a copy its direction.
    what: u32,
}

/// The number of each content, in the order in which they were met.
#[derive(Debug)]
struct Symbols {
    of: HashMap<Content, u32>,
    /// The numbers of kernels by their shape, each with the kind of the operation: `None` of those not yet met.
    of_shapes: Vec<Option<(OpKind, u32)>>,
    names: Vec<u32>,
}

impl Symbols {
    fn new(timeline: &Timeline) -> Self {
        Self { of: HashMap::default(), of_shapes: vec![None; timeline.kernels.shapes.len()], names: Vec::new() }
    }

    /// Of an operation, with its shape; [`NONE`] where it counts in no sequence.
    fn of(&mut self, timeline: &Timeline, op: Op, shape: u32) -> u32 {
        let known = self.of_shapes.get(shape as usize).copied().flatten();
        if let Some((_, symbol)) = known.filter(|(kind, _)| *kind == op.kind) {
            return symbol;
        }
        let Some(content) = content(timeline, op) else { return NONE };
        let symbol = *self.of.entry(content).or_insert_with(|| {
            self.names.push(name_of(timeline, op));
            self.names.len() as u32 - 1
        });
        if let Some(known) = self.of_shapes.get_mut(shape as usize) {
            *known = Some((op.kind, symbol));
        }
        symbol
    }
}

/// Copies of fewer bytes read a number back, or set one: they come now and then within the same step.
const LEAST_COPY_BYTES: i64 = 4_096;

/// So many launches are looked at before it is looked further ahead.
const NEAR: usize = 16;

/// What is read of the operations of a device to find what one process launched.
#[derive(Debug)]
struct OfProcess {
    process: u32,
    list: Vec<Launch>,
    /// Operations of no known call before the first of those.
    uncalled: Vec<Interval>,
    symbols: Symbols,
    /// How many operations each process launched; the last stands for no known one.
    counts: Vec<usize>,
}

impl OfProcess {
    fn new(timeline: &Timeline, device: &DeviceOps, process: u32, has_calls: bool) -> Self {
        let mut counts = vec![0; timeline.processes.len() + 1];
        let mut symbols = Symbols::new(timeline);
        let mut list: Vec<Launch> = Vec::with_capacity(device.all_ops().size_hint().0);
        let mut uncalled: Vec<Interval> = Vec::new();
        for op in device.in_window() {
            let launched = launched_at(timeline, op);
            if let Some((_, of)) = launched {
                counts[(of as usize).min(timeline.processes.len())] += 1;
            }
            let at = match launched {
                _ if op.kind == OpKind::Migration => continue,
                Some((at, of)) if of == process => at,
                None if !has_calls => op.start,
                None if list.is_empty() => {
                    uncalled.push(op.interval());
                    continue;
                }
                _ => continue,
            };
            let shape = shape_of(timeline, op);
            let symbol = symbols.of(timeline, op, shape);
            let length_ns = u32::try_from(op.interval().len_ns()).unwrap_or(u32::MAX);
            list.push(Launch { at, start: op.start, length_ns, symbol, shape, is_kernel: op.kind.is_kernel() });
        }
        Self { process, list, uncalled, symbols, counts }
    }

    /// The process that launched most; the first of several.
    fn main(&self) -> Option<u32> {
        let (main, count) =
            self.counts.iter().enumerate().max_by_key(|(process, count)| (**count, Reverse(*process)))?;
        (*count > 0).then(|| if main + 1 == self.counts.len() { NONE } else { main as u32 })
    }

    fn launches(self, timeline: &Timeline, device: &DeviceOps) -> Option<Launches> {
        let Self { process, mut list, uncalled, symbols, .. } = self;
        // What is tried to choose a kernel is no part of what repeats.
        let tunings = kernel_tunings(timeline, device);
        if !tunings.is_empty() {
            let trials = Union::of(tunings.into_iter().map(|tuning| tuning.device));
            let is_tried = |start: i64| trials.overlap_ns(Interval::new(start, start.saturating_add(1))) > 0;
            list.iter_mut().filter(|launch| is_tried(launch.start)).for_each(|launch| launch.symbol = NONE);
        }
        if !list.is_sorted_by_key(|launch: &Launch| launch.at) {
            list.sort_by_key(|launch| launch.at);
        }
        let mut first_ns = list.first()?.start;
        let (mut at, mut work_ns) = (Vec::with_capacity(list.len()), Vec::with_capacity(list.len() + 1));
        let mut sum_ns = 0;
        work_ns.push(sum_ns);
        for launch in &list {
            at.push(launch.at);
            sum_ns += i64::from(launch.length_ns);
            work_ns.push(sum_ns);
            first_ns = first_ns.min(launch.start);
        }
        let earlier = uncalled.iter().filter(|op| op.start < first_ns).map(|op| op.end);
        let earlier_until_ns = earlier.max().unwrap_or(i64::MIN);
        let window = device.window;
        let is_cut = device.all_ops().next().is_some_and(|first| first.start < window.start);
        let begin_ns = if is_cut { window.start } else { device.asked_from_ns };
        Some(Launches { list, at, work_ns, process, window, begin_ns, earlier_until_ns, names: symbols.names })
    }
}

impl Launches {
    /// `None` where nothing was launched.
    pub fn new(timeline: &Timeline, device: &DeviceOps) -> Option<Self> {
        // Mostly there is one process: only where there are others that launch more, the list is made again.
        let first = device.in_window().find_map(|op| launched_at(timeline, op));
        let process = first.map_or(NONE, |(_, process)| process);
        let of = OfProcess::new(timeline, device, process, first.is_some());
        match of.main().filter(|main| *main != process) {
            Some(main) => {
                drop(of);
                OfProcess::new(timeline, device, main, true).launches(timeline, device)
            }
            None => of.launches(timeline, device),
        }
    }

    pub(super) fn all(&self) -> &[Launch] {
        &self.list
    }

    /// Those that the host launched in an interval.
    pub(super) fn within(&self, host: Interval) -> &[Launch] {
        let (first, last) = self.range(host);
        &self.list[first..last]
    }

    /// How many the host launched in an interval.
    pub(super) fn count(&self, host: Interval) -> usize {
        let (first, last) = self.range(host);
        last - first
    }

    /// How long the operations ran that the host launched in an interval.
    pub(super) fn work_ns(&self, host: Interval) -> i64 {
        let (first, last) = self.range(host);
        self.work_between(first, last)
    }

    /// Some intervals, each with the places of what the host launched in it: they lie near those of the one before where they come in
    /// time order.
    pub(super) fn each(
        &self,
        hosts: impl IntoIterator<Item = Interval>,
    ) -> impl Iterator<Item = (Interval, Range<usize>)> {
        let mut near = Near::default();
        hosts.into_iter().map(move |host| {
            let first = near.partition_point(self.at.len(), |index| self.at[index] < host.start);
            (host, first..self.first_from(first, host.end))
        })
    }

    /// How long the operations ran that the host launched in each of some intervals, together.
    pub(super) fn work_in_all_ns(&self, hosts: &[Interval]) -> i64 {
        let each = self.each(hosts.iter().copied());
        each.map(|(_, launched)| self.work_between(launched.start, launched.end)).sum()
    }

    /// How long the operations from one index to another ran.
    pub(super) fn work_between(&self, first: usize, last: usize) -> i64 {
        self.work_ns[last] - self.work_ns[first]
    }

    /// Of the time of the operations that begin on the device at a moment or later, the share that the host launched before another;
    /// `None` where none runs or nothing tells when it was launched.
    pub fn share_launched_before(&self, device_ns: i64, host_ns: i64) -> Option<f64> {
        let later = || self.list.iter().filter(|launch| launch.start >= device_ns);
        let sum = |launches: &mut dyn Iterator<Item = &Launch>| {
            launches.fold(0_i64, |sum, launch| sum.saturating_add(i64::from(launch.length_ns)))
        };
        let all_ns = sum(&mut later());
        let has_calls = self.list.iter().any(|launch| launch.at < launch.start);
        (all_ns > 0 && has_calls).then(|| sum(&mut later().filter(|launch| launch.at < host_ns)) as f64 / all_ns as f64)
    }

    /// How long all of them ran.
    pub(super) fn all_work_ns(&self) -> i64 {
        self.work_between(0, self.list.len())
    }

    fn range(&self, host: Interval) -> (usize, usize) {
        let first = self.at.partition_point(|at| *at < host.start);
        (first, self.first_from(first, host.end))
    }

    /// The first from a place on that was launched at a moment or later. Mostly it is near.
    fn first_from(&self, from: usize, moment: i64) -> usize {
        let rest = &self.at[from..];
        let mut reach = NEAR;
        while rest.get(reach).is_some_and(|at| *at < moment) {
            reach *= 2;
        }
        from + rest[..reach.min(rest.len())].partition_point(|at| *at < moment)
    }
}

/// When an operation's call began, and the process that made it.
#[inline]
fn launched_at(timeline: &Timeline, op: Op) -> Option<(i64, u32)> {
    let call = op.call(timeline)? as usize;
    let thread = timeline.api.thread.get(call).copied().unwrap_or(NONE);
    Some((timeline.api.times.get(call)?.start, process_of(timeline, thread)))
}

/// The index of a kernel's name, grid and block among all; [`NONE`] for all else.
fn shape_of(timeline: &Timeline, op: Op) -> u32 {
    match op.kind {
        OpKind::Kernel | OpKind::Communication => {
            timeline.kernels.shape.get(op.index as usize).copied().unwrap_or(NONE)
        }
        _ => NONE,
    }
}

fn content(timeline: &Timeline, op: Op) -> Option<Content> {
    let what = match op.kind {
        OpKind::Kernel | OpKind::Communication => timeline.kernels.shape_of(op.index).full_name,
        OpKind::Graph => 0,
        OpKind::Copy => {
            let index = op.index as usize;
            if timeline.copies.bytes.get(index).is_none_or(|bytes| *bytes < LEAST_COPY_BYTES) {
                return None;
            }
            *timeline.copies.direction.get(index)? as u32
        }
        OpKind::Memset | OpKind::Migration => return None,
    };
    Some(Content { kind: op.kind, what })
}

fn name_of(timeline: &Timeline, op: Op) -> u32 {
    match op.kind {
        OpKind::Kernel | OpKind::Communication => timeline.kernels.shape_of(op.index).name,
        _ => NONE,
    }
}

/// The process of a thread's calls, [`NONE`] where it is not known.
pub(super) fn process_of(timeline: &Timeline, thread: u32) -> u32 {
    if thread == NONE { NONE } else { timeline.process_of(thread) }
}
