//! What one device ran, in time order, and the window in which it is measured.

use crate::timeline::columns::{GpuOps, KernelShape};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// What kind of operation it is, in the order of precedence of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpKind {
    /// A kernel that is not communication.
    Kernel,
    /// A graph launch whose kernels are hidden.
    Graph,
    /// A communication kernel.
    Communication,
    /// A copy.
    Copy,
    /// A unified-memory migration.
    Migration,
    /// A memset.
    Memset,
}

impl OpKind {
    /// Every kind, in order of precedence.
    pub const ALL: [Self; 6] =
        [Self::Kernel, Self::Graph, Self::Communication, Self::Copy, Self::Migration, Self::Memset];

    /// The columns that operations of this kind are in.
    #[inline]
    pub fn columns(self, timeline: &Timeline) -> &GpuOps {
        match self {
            Self::Kernel | Self::Communication => &timeline.kernels.ops,
            Self::Graph => &timeline.graphs.ops,
            Self::Copy => &timeline.copies.ops,
            Self::Migration => &timeline.migrations.ops,
            Self::Memset => &timeline.memsets.ops,
        }
    }

    /// Whether kernels run that compute.
    pub const fn is_compute(self) -> bool {
        matches!(self, Self::Kernel | Self::Graph)
    }

    /// Whether kernels run: compute or communication.
    pub const fn is_kernel(self) -> bool {
        self.is_compute() || matches!(self, Self::Communication)
    }
}

/// One operation of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// When it begins.
    pub start: i64,
    /// When it ends.
    pub end: i64,
    /// Its index in the columns of its kind.
    pub index: u32,
    /// What it is.
    pub kind: OpKind,
}

impl Op {
    /// When it runs.
    pub const fn interval(self) -> Interval {
        Interval::new(self.start, self.end)
    }

    /// The same without its times.
    pub const fn reference(self) -> OpRef {
        OpRef { kind: self.kind, index: self.index }
    }

    /// The index of the API call that asked for it, if the report has it.
    #[inline]
    pub fn call(self, timeline: &Timeline) -> Option<u32> {
        self.reference().call(timeline)
    }

    /// The index of its stream.
    #[inline]
    pub fn stream(self, timeline: &Timeline) -> u32 {
        self.reference().stream(timeline)
    }
}

/// One operation without its times: its kind, and its index in the columns of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpRef {
    /// What it is.
    pub kind: OpKind,
    /// Its index in the columns of its kind.
    pub index: u32,
}

impl OpRef {
    /// The index of the API call that asked for it, if the report has it.
    #[inline]
    pub fn call(self, timeline: &Timeline) -> Option<u32> {
        self.kind.columns(timeline).call.get(self.index as usize).copied().filter(|call| *call != NONE)
    }

    /// The index of its stream.
    #[inline]
    pub fn stream(self, timeline: &Timeline) -> u32 {
        self.kind.columns(timeline).stream.get(self.index as usize).copied().unwrap_or(NONE)
    }
}

/// Everything one device ran.
#[derive(Debug)]
pub struct DeviceOps {
    /// The index of the device.
    pub device: u32,
    /// All its operations by start, then precedence, then index; also those outside the window. They are gone through so often
    /// that times are not looked up in their columns each time.
    ops: Vec<Op>,
    /// Those of them that are copies, and those that are migrations: few, and asked for often.
    copies: Vec<Op>,
    migrations: Vec<Op>,
    /// Where facts are measured.
    pub window: Interval,
    /// The begin of that, before the work that repeats: without length where there is no such part.
    pub start_up: Interval,
    /// Nothing before this is asked for, the host's part of a step included; `i64::MIN` where all is.
    pub asked_from_ns: i64,
}

/// What of the recording is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// From the first to the last operation of each device.
    #[default]
    All,
    /// No further than these moments.
    Times {
        /// The first nanosecond; the beginning when `None`.
        start: Option<i64>,
        /// The first nanosecond after; the end when `None`.
        end: Option<i64>,
    },
    /// From the first start to the last end of the operations launched inside one range.
    Range {
        /// The range's text.
        name: String,
        /// Which of those with that text, counted from 1 in time order.
        number: usize,
    },
}

impl DeviceOps {
    /// The operations of every device, by index of the device; `is_communication` is by name of kernel.
    pub fn all(timeline: &Timeline, is_communication: &[bool]) -> Vec<Self> {
        let kinds = [OpKind::Kernel, OpKind::Graph, OpKind::Copy, OpKind::Migration, OpKind::Memset];
        let mut of_streams = vec![0_usize; timeline.streams.len()];
        for stream in kinds.iter().flat_map(|kind| &kind.columns(timeline).stream) {
            if let Some(count) = of_streams.get_mut(*stream as usize) {
                *count += 1;
            }
        }
        let mut counts = vec![0; timeline.devices.len()];
        for (stream, count) in timeline.streams.iter().zip(of_streams) {
            if let Some(sum) = counts.get_mut(stream.device as usize) {
                *sum += count;
            }
        }
        let shapes = timeline.kernels.shapes.iter();
        let communicates = |shape: &KernelShape| is_communication.get(shape.name as usize) == Some(&true);
        let communicates: Vec<bool> = shapes.map(communicates).collect();
        let shape_of = |kernel: u32| timeline.kernels.shape.get(kernel as usize).map(|shape| *shape as usize);
        let is_communication = |kernel: u32| shape_of(kernel).and_then(|shape| communicates.get(shape)) == Some(&true);
        let mut lists: Vec<Vec<Op>> = counts.into_iter().map(Vec::with_capacity).collect();
        for kind in kinds {
            let columns = kind.columns(timeline);
            for (index, (times, stream)) in (0_u32..).zip(columns.times.iter().zip(&columns.stream)) {
                let device = timeline.streams.get(*stream as usize).map_or(NONE, |stream| stream.device);
                let Some(list) = lists.get_mut(device as usize) else { continue };
                let kind = match kind {
                    OpKind::Kernel if is_communication(index) => OpKind::Communication,
                    other => other,
                };
                list.push(Op { start: times.start, end: times.end, index, kind });
            }
        }
        (0_u32..).zip(lists).map(|(device, ops)| Self::new(device, ops)).collect()
    }

    fn new(device: u32, mut ops: Vec<Op>) -> Self {
        let key = |op: &Op| (op.start, op.kind, op.index);
        // The rows of each kind mostly are in order: the stable sort merges such runs.
        ops.sort_by_key(key);
        let (start, mut end) = ops.first().map_or((0, 0), |op| (op.start, op.end));
        let (mut copies, mut migrations) = (Vec::new(), Vec::new());
        for op in &ops {
            end = end.max(op.end);
            match op.kind {
                OpKind::Copy => copies.push(*op),
                OpKind::Migration => migrations.push(*op),
                _ => {}
            }
        }
        let window = Interval::new(start, end);
        Self { device, ops, copies, migrations, window, start_up: Interval::default(), asked_from_ns: i64::MIN }
    }

    /// Narrows the window; returns whether anything of it is left.
    pub fn narrow(&mut self, to: Interval) -> bool {
        self.window = self.window.clip(to);
        self.start_up = Interval::default();
        self.window.len_ns() > 0
    }

    /// All its operations by start, then precedence, then index; also those outside the window.
    pub fn all_ops(&self) -> impl Iterator<Item = Op> + Clone + '_ {
        self.ops.iter().copied()
    }

    /// The same as a list.
    pub(crate) fn list(&self) -> &[Op] {
        &self.ops
    }

    /// The operations that touch the window.
    pub fn in_window(&self) -> impl Iterator<Item = Op> + Clone + '_ {
        touching(&self.ops, self.window)
    }

    /// The copies among them.
    pub fn copies_in_window(&self) -> impl Iterator<Item = Op> + Clone + '_ {
        touching(&self.copies, self.window)
    }

    /// The migrations among them.
    pub fn migrations_in_window(&self) -> impl Iterator<Item = Op> + Clone + '_ {
        touching(&self.migrations, self.window)
    }

    /// The operations that begin within an interval.
    pub fn begun_in(&self, within: Interval) -> impl ExactSizeIterator<Item = Op> + '_ {
        let before = |moment: i64| self.ops.partition_point(|op| op.start < moment);
        let first = before(within.start);
        self.ops[first..before(within.end).max(first)].iter().copied()
    }
}

impl DeviceOps {
    /// The same as [`Self::begun_in`] for intervals that mostly follow each other: `first` is where those of the last one began, and is set
    /// to where these do.
    pub fn begun_in_next(&self, within: Interval, first: &mut usize) -> impl Iterator<Item = Op> + '_ {
        let is_behind = |before: &usize| self.ops.get(*before).is_none_or(|op| op.start >= within.start);
        if first.checked_sub(1).is_some_and(|before| is_behind(&before)) {
            *first = self.ops.partition_point(|op| op.start < within.start);
        }
        while !is_behind(first) {
            *first += 1;
        }
        self.ops[*first..].iter().copied().take_while(move |op| op.start < within.end)
    }
}

/// The operations that touch a window, of some that are sorted by their starts.
fn touching(ops: &[Op], window: Interval) -> impl Iterator<Item = Op> + Clone + '_ {
    let begun = ops.partition_point(|op| op.start <= window.end);
    ops[..begun].iter().copied().filter(move |op| touches(*op, window))
}

/// Whether an operation counts in a window. One without length counts where it stands.
fn touches(op: Op, window: Interval) -> bool {
    if op.start == op.end {
        return window.start <= op.start && op.start <= window.end;
    }
    op.start < window.end && op.end > window.start
}
