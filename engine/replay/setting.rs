//! What of a recording a change has to know.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::cells::looped_cells;
use super::record::{Op, Part, TO_HOST};
use super::{NameMarks, Role, Subject};
use crate::ledger::OpKind;
use crate::timeline::interval::Interval;
use crate::timeline::link::LinkRates;
use crate::timeline::{DeviceProperties, TensorRatios, occupancy};

/// Copies of at least so many bytes tell the rate of the link.
const MIN_RATE_BYTES: i64 = 1 << 20;
/// Threads that an SM of a data-centre GPU has room for; others have room for three quarters or half of that.
const SM_THREAD_COUNT: i64 = 2_048;
/// Blocks of so many threads, as large as can be, fill an SM to its rate alone, though two of them find room.
const LARGE_BLOCK_THREAD_COUNT: i64 = 1_024;
const LARGE_BLOCKS_ON_SM: i64 = 2;
/// So many blocks on an SM are few.
const FEW_BLOCKS_ON_SM: i64 = 2;
/// Of so many waves, blocks of unlike length fill the last.
const FEW_WAVES: f64 = 2.0;

/// A launch of a kernel for a list of tensors with fewer blocks holds few tensors, or a rest of many: each tensor has a block at least, and PyTorch lists
/// up to 110, 64, 48, 36 or 30 of them in one launch, for one to five lists that go together.
pub const MANY_TENSORS_BLOCKS: i64 = 30;

/// Fewer recurrent cells in a step are no sequence.
const MIN_CELL_COUNT: usize = 16;

/// How many recurrent cells the threads of a part call in each of its steps; 0 where these are no sequence.
fn looped_cell_count(subject: &Subject<'_>, part: &Part) -> usize {
    let ends = part.calls.iter().map(|call| (call.start, call.end));
    let Some((start, end)) = ends.reduce(|all, call| (all.0.min(call.0), all.1.max(call.1))) else { return 0 };
    let own: BTreeSet<u32> = part.calls.iter().map(|call| call.thread).collect();
    let cells = looped_cells(subject.timeline, |thread| own.contains(&thread), Interval::new(start, end));
    let of_step = cells.map_or(0, |(_, count)| count / part.step_count.max(1) as usize);
    if of_step >= MIN_CELL_COUNT { of_step } else { 0 }
}

/// What of the recording a change has to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'all> {
    pub(super) subject: Subject<'all>,
    pub(super) measured: Measured,
}

/// What was measured in the part that is played again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) spacing_ns: i64,
    pub(super) launch_ns: i64,
    pub(super) return_ns: i64,
    /// Host code between two calls that is shorter belongs to launching.
    pub(super) launch_gap_ns: i64,
    /// How many cells of a recurrent layer a loop calls in a step, one element of a sequence at a time; 0 where none does.
    pub(super) looped_cell_count: usize,
    /// Measured rates of pinned copies to the device and to the host, bytes a nanosecond.
    pub(super) pinned: [Option<f64>; 2],
}

impl Deref for Setting<'_> {
    type Target = Measured;

    fn deref(&self) -> &Self::Target {
        &self.measured
    }
}

impl<'all> Setting<'all> {
    /// What is measured in a part; what is usual is not known yet.
    pub(super) fn of(subject: Subject<'all>, part: &Part) -> Self {
        let threads = part.calls.iter().map(|call| call.thread);
        let launch_gap_ns = threads.map(|thread| subject.calls.launch_gap_ns(thread)).max().unwrap_or(0);
        let measured = Measured {
            spacing_ns: 0,
            launch_ns: 0,
            return_ns: 0,
            launch_gap_ns,
            looped_cell_count: looped_cell_count(&subject, part),
            pinned: pinned_rates(part),
        };
        Self { subject, measured }
    }

    fn properties(&self, device: u32) -> Option<&DeviceProperties> {
        self.subject.timeline.devices.get(device as usize)?.properties.as_ref()
    }

    /// The index of the device whose steps are looked at.
    pub(super) fn own_device(&self) -> u32 {
        self.subject.devices[self.subject.device].device
    }

    /// The compute capability of that device.
    pub(super) fn compute_capability(&self) -> Option<(i64, i64)> {
        self.properties(self.own_device())?.compute_capability
    }

    /// The rate of pinned copies: measured here, else what the link of the device carries.
    pub(super) fn pinned_rates(&self, lane: Option<u8>) -> LinkRates {
        let measured =
            lane.and_then(|lane| self.pinned[usize::from(lane == TO_HOST)]).or(self.pinned[0]).or(self.pinned[1]);
        let of_link = || LinkRates::of(self.properties(self.own_device()));
        measured.map_or_else(of_link, |rate| LinkRates { least: rate, most: rate })
    }

    /// The peak rate of the memory of a device, bytes a nanosecond.
    pub(super) fn memory_rate(&self, device: u32) -> Option<f64> {
        let rate = self.properties(device)?.memory_bandwidth.filter(|rate| *rate > 0)?;
        Some(rate as f64 / 1e9)
    }

    /// The share of the SMs of its device that have a block of a kernel; 0 where it is not known.
    pub(super) fn share_of(&self, op: &Op) -> f32 {
        if op.kind != OpKind::Kernel {
            return 0.0;
        }
        let blocks = self.block_count(op);
        let sms = self.properties(op.device).and_then(|properties| properties.sm_count).unwrap_or(0);
        if blocks > 0 && sms > 0 { (blocks as f32 / sms as f32).min(1.0) } else { 0.0 }
    }

    /// The share of the threads that its device has room for; 0 where it is not known.
    pub(super) fn thread_share_of(&self, op: &Op) -> f32 {
        let geometry = (op.kind == OpKind::Kernel).then(|| self.subject.timeline.geometry_of(op.index)).flatten();
        let threads = geometry.map_or(0, |geometry| geometry.grid_blocks.saturating_mul(geometry.block_threads));
        let sms = self.properties(op.device).and_then(|properties| properties.sm_count).unwrap_or(0);
        if threads > 0 && sms > 0 { (threads as f32 / (sms * SM_THREAD_COUNT) as f32).min(1.0) } else { 0.0 }
    }

    /// The share of its device that the blocks of a kernel take, as many of them as fit on each SM at once by their threads,
    /// registers and shared memory; 0 where it is not known. Kernels that each take all of it run one after the other.
    pub(super) fn resident_share_of(&self, op: &Op) -> f32 {
        let geometry = (op.kind == OpKind::Kernel).then(|| self.subject.timeline.geometry_of(op.index)).flatten();
        let fit = geometry.zip(self.properties(op.device)).and_then(|(geometry, properties)| {
            let on_sm = occupancy::theoretical(properties, geometry)?.blocks_per_sm;
            let most = on_sm.saturating_mul(properties.sm_count?);
            (most > 0).then(|| (geometry.grid_blocks as f32 / most as f32).min(1.0))
        });
        fit.unwrap_or_else(|| self.thread_share_of(op))
    }

    /// The share of the waves begun that the blocks of a kernel fill, where the last of few waves is not full, or where some SMs
    /// get a large block more than others; absent where neither is so.
    pub(super) fn filled_waves_share(&self, op: &Op) -> Option<f64> {
        let geometry = (op.kind == OpKind::Kernel).then(|| self.subject.timeline.geometry_of(op.index)).flatten()?;
        let properties = self.properties(op.device)?;
        let blocks_per_sm = occupancy::theoretical(properties, geometry)?.blocks_per_sm;
        let is_large = geometry.block_threads >= LARGE_BLOCK_THREAD_COUNT;
        // Of many small blocks on an SM those of the last round have it to themselves, and end sooner.
        let (most, at_once) = if is_large { (LARGE_BLOCKS_ON_SM, 1) } else { (FEW_BLOCKS_ON_SM, blocks_per_sm) };
        let places = properties.sm_count?.saturating_mul(at_once);
        let is_few = (1..=most).contains(&blocks_per_sm) && places > 0;
        let waves = geometry.grid_blocks as f64 / places.max(1) as f64;
        (is_few && waves > 1.0 && waves < FEW_WAVES).then(|| waves / waves.ceil())
    }

    /// Blocks of the grid of a kernel; 0 where it is not known.
    pub(super) fn block_count(&self, op: &Op) -> i64 {
        let geometry = (op.kind == OpKind::Kernel).then(|| self.subject.timeline.geometry_of(op.index)).flatten();
        geometry.map_or(0, |geometry| geometry.grid_blocks)
    }

    /// What was launched; `None` of what is no kernel.
    pub(super) fn shape_of(&self, op: &Op) -> Option<u32> {
        let shapes = &self.subject.timeline.kernels.shape;
        (op.kind == OpKind::Kernel).then(|| shapes.get(op.index as usize).copied()).flatten()
    }

    /// The name of a kernel, as an index; [`crate::timeline::NONE`] of what is none.
    pub(super) fn name_of(&self, op: &Op) -> u32 {
        if op.kind != OpKind::Kernel {
            return crate::timeline::NONE;
        }
        self.subject.timeline.kernels.shape_of(op.index).name
    }

    pub(super) fn role_of(&self, op: &Op) -> Role {
        if !matches!(op.kind, OpKind::Kernel | OpKind::Communication) {
            return Role::Compute;
        }
        // One short name may stand for kernels that do different things.
        let name = self.subject.timeline.kernels.shape_of(op.index).full_name;
        self.subject.roles.get(name as usize).copied().unwrap_or_default()
    }

    /// Whether a kernel computes in double precision.
    pub(super) fn is_fp64(&self, op: &Op) -> bool {
        self.subject.doubles.get(self.name_of(op) as usize) == Some(&true)
    }

    /// What the words in the whole name of a kernel tell; nothing of what is none.
    pub(super) fn marks_of(&self, op: &Op) -> NameMarks {
        if op.kind != OpKind::Kernel {
            return NameMarks::default();
        }
        let name = self.subject.timeline.kernels.shape_of(op.index).full_name;
        self.subject.marks.get(name as usize).copied().unwrap_or_default()
    }

    /// Whether a kernel works through a list of tensors, piece by piece, as those of optimizers do.
    pub(super) fn is_of_many_tensors(&self, op: &Op) -> bool {
        self.marks_of(op).is_of_many_tensors
    }

    /// Whether it is one for a list of few tensors at most: each has a block of its own at least.
    pub(super) fn is_of_few_tensors(&self, op: &Op) -> bool {
        (1..MANY_TENSORS_BLOCKS).contains(&self.block_count(op)) && self.is_of_many_tensors(op)
    }

    /// Whether a kernel convolves by Winograd's method.
    pub(super) fn is_winograd(&self, op: &Op) -> bool {
        self.subject.marks.get(self.name_of(op) as usize).is_some_and(|marks| marks.is_winograd)
    }

    /// Whether any of them is a kernel of a framework that Python calls: of PyTorch or CuPy.
    pub(super) fn is_any_of_python(&self, ops: &[Op]) -> bool {
        ops.iter().any(|op| self.marks_of(op).is_of_python)
    }

    /// Whether a kernel only copies a tensor into another type or layout.
    pub(super) fn is_tensor_copy(&self, op: &Op) -> bool {
        self.subject.tensor_copies.get(self.name_of(op) as usize) == Some(&true)
    }

    /// Whether a kernel applies a function to each element of one tensor.
    pub(super) fn is_activation(&self, op: &Op) -> bool {
        self.subject.activations.get(self.name_of(op) as usize) == Some(&true)
    }

    /// The peak of plain fp32 over that of fp64.
    pub(super) fn fp64_ratio(&self) -> Option<f64> {
        self.properties(self.own_device())?.fp64_ratio()
    }

    /// The peaks of matrix products on tensor cores over that of fp32 without.
    pub(super) fn tensor_ratios(&self) -> Option<TensorRatios> {
        self.properties(self.own_device())?.tensor_ratios()
    }

    /// Whether one process runs work on several devices, and broadcasts to them in most steps.
    pub(super) fn sends_parameters(&self, part: &Part) -> bool {
        let process = |op: &Op| self.subject.timeline.streams.get(op.stream as usize).map(|stream| stream.process);
        let sends: Vec<&Op> = part.ops.iter().filter(|op| self.role_of(op) == Role::Broadcast).collect();
        let steps: BTreeSet<u32> = sends.iter().map(|op| op.step).collect();
        let of_one = |sender: &&Op| {
            let own = part.ops.iter().filter(|op| process(op) == process(sender));
            own.map(|op| op.device).any(|device| device != sender.device)
        };
        2 * steps.len() >= part.step_count as usize && sends.first().is_some_and(of_one)
    }
}

/// The rates of pinned copies to the device and to the host, bytes a nanosecond.
fn pinned_rates(part: &Part) -> [Option<f64>; 2] {
    [0, 1].map(|lane| {
        let fits = |op: &&Op| op.lane == Some(lane) && !op.is_pageable && op.bytes >= MIN_RATE_BYTES;
        let rates = part.ops.iter().filter(fits).map(|op| op.bytes as f64 / (op.end - op.start).max(1) as f64);
        let mut rates: Vec<f64> = rates.collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    })
}
