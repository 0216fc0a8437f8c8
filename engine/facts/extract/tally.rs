//! What one walk over a device's moments adds up to.

use rustc_hash::FxHashMap;

use super::occupancy::{self, Occupancy};
use crate::ledger::idle::Stretch;
use crate::ledger::sweep::{kernel_geometry, sweep};
use crate::ledger::{Account, DeviceOps, Moment, Op, OpKind};
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{DeviceProperties, NONE, NameId, Timeline};

/// Copies that belong together: direction, host memory, and the API that asked (or [`NONE`]).
pub(super) type CopyKey = (Direction, HostMemory, NameId);

/// What the moments of a kernel name add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KernelTally {
    pub(super) alone_ns: i64,
    pub(super) underfilled_ns: i64,
    /// Nanoseconds times multiprocessors without a block.
    pub(super) unused_sm_ns: i128,
    pub(super) faulting_ns: i64,
}

/// What the moments of each kernel name add up to.
#[derive(Debug, Default)]
pub(super) struct KernelTallies {
    /// Places in `sums` by name, [`NONE`] where it has none: every moment of every kernel is looked up.
    places: Vec<u32>,
    sums: Vec<(NameId, KernelTally)>,
}

impl KernelTallies {
    fn of(&mut self, name: NameId) -> &mut KernelTally {
        let place = name as usize;
        if place >= self.places.len() {
            self.places.resize(place + 1, NONE);
        }
        if self.places[place] == NONE {
            self.places[place] = self.sums.len() as u32;
            self.sums.push((name, KernelTally::default()));
        }
        &mut self.sums[self.places[place] as usize].1
    }

    pub(super) fn get(&self, name: NameId) -> Option<KernelTally> {
        let place = self.places.get(name as usize)?;
        self.sums.get(*place as usize).map(|(_, sums)| *sums)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(NameId, KernelTally)> {
        self.sums.iter()
    }
}

/// What the moments of a device add up to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By account; sums to the window.
    pub(super) accounts: [i64; 6],
    /// The copy account by the group that owns each moment.
    pub(super) exposed_copies: FxHashMap<CopyKey, i64>,
    /// The copy account in which a copy between host and device runs.
    pub(super) exposed_host_copy_ns: i64,
    /// Compute time beside which no copy between host and device runs.
    pub(super) compute_without_host_copy_ns: i64,
    pub(super) copy_union_ns: i64,
    pub(super) copy_overlapped_ns: i64,
    pub(super) host_copy_union_ns: i64,
    pub(super) host_copy_overlapped_ns: i64,
    pub(super) kernel_union_ns: i64,
    pub(super) concurrent_ns: i64,
    pub(super) kernel_concurrent_ns: i64,
    pub(super) faulting_ns: i64,
    pub(super) one_thread_ns: i64,
    pub(super) underfilled_ns: i64,
    pub(super) unused_sm_ns: i128,
    /// Compute time of kernels whose grid is known.
    pub(super) known_grid_ns: i64,
    /// Nanoseconds of that time weighted by the part of multiprocessors with a block.
    pub(super) filled_ns: f64,
    pub(super) tail_ns: f64,
    /// Time weighted by theoretical occupancy, and the time that it is known for.
    pub(super) occupancy_ns: f64,
    pub(super) occupancy_known_ns: i64,
    pub(super) kernels: KernelTallies,
    pub(super) stretch_count: i64,
    pub(super) longest_stretch: Option<Interval>,
    /// When anything runs.
    pub(super) busy: Union,
    /// When kernels or graphs run.
    pub(super) kernels_run: Union,
}

/// What a launch geometry means on one device.
#[derive(Debug, Clone, Copy)]
struct Fit {
    occupancy: Option<Occupancy>,
    /// The part of the kernel's time times the part of the device that its last wave leaves empty.
    tail_share: f64,
}

impl Tally {
    /// Of the moments of a device; each idle stretch is handed on in time order.
    pub(super) fn new(timeline: &Timeline, device: &DeviceOps, mut idle: impl FnMut(Stretch)) -> Self {
        let properties = timeline.devices.get(device.device as usize).and_then(|device| device.properties.as_ref());
        let fits: Vec<Fit> = timeline.geometries.iter().map(|geometry| fit(properties, *geometry)).collect();
        let sm_count = properties.and_then(|properties| properties.sm_count);
        let mut tally = Self::default();
        sweep(timeline, device, |moment| {
            tally.account(timeline, moment);
            match moment.account {
                Account::Compute => tally.compute(timeline, moment, sm_count, &fits),
                Account::Idle => {
                    idle(Stretch { interval: moment.interval, next: moment.next, previous: moment.previous });
                }
                _ => {}
            }
        });
        tally
    }

    fn account(&mut self, timeline: &Timeline, moment: &Moment) {
        let length = moment.interval.len_ns();
        self.accounts[moment.account as usize] += length;
        let mut add_if = |holds: bool, sum: fn(&mut Self) -> &mut i64| *sum(self) += if holds { length } else { 0 };
        let has_kernel = moment.kernels > 0;
        add_if(moment.copies > 0, |tally| &mut tally.copy_union_ns);
        add_if(moment.copies > 0 && has_kernel, |tally| &mut tally.copy_overlapped_ns);
        add_if(moment.host_copies > 0, |tally| &mut tally.host_copy_union_ns);
        add_if(moment.host_copies > 0 && has_kernel, |tally| &mut tally.host_copy_overlapped_ns);
        add_if(has_kernel, |tally| &mut tally.kernel_union_ns);
        add_if(moment.streams > 1, |tally| &mut tally.concurrent_ns);
        add_if(moment.kernel_streams > 1, |tally| &mut tally.kernel_concurrent_ns);
        if moment.account == Account::Idle {
            self.stretch_count += 1;
            self.longest_stretch =
                self.longest_stretch.filter(|longest| longest.len_ns() >= length).or(Some(moment.interval));
        } else {
            self.busy.push(moment.interval);
        }
        if has_kernel {
            self.kernels_run.push(moment.interval);
        }
        let Some(owner) = moment.owner else { return };
        match moment.account {
            Account::Copy => {
                *self.exposed_copies.entry(copy_key(timeline, owner)).or_default() += length;
                self.exposed_host_copy_ns += if moment.host_copies > 0 { length } else { 0 };
            }
            Account::Compute | Account::Communication => {
                if let Some(name) = kernel_name(timeline, owner) {
                    self.kernels.of(name).alone_ns += length;
                }
            }
            _ => {}
        }
    }

    fn compute(&mut self, timeline: &Timeline, moment: &Moment, sm_count: Option<i64>, fits: &[Fit]) {
        let length = moment.interval.len_ns();
        if moment.host_copies == 0 {
            self.compute_without_host_copy_ns += length;
        }
        let Some(owner) = moment.owner else { return };
        let mut kernel = kernel_name(timeline, owner).map(|name| self.kernels.of(name));
        if moment.migrations > 0 {
            self.faulting_ns += length;
            if let Some(kernel) = &mut kernel {
                kernel.faulting_ns += length;
            }
        }
        if let (Some(blocks), Some(sm_count)) = (moment.blocks, sm_count) {
            self.known_grid_ns += length;
            self.filled_ns += length as f64 * (blocks as f64 / sm_count as f64).min(1.0);
            if blocks < sm_count {
                let unused = i128::from(length) * i128::from(sm_count - blocks);
                self.underfilled_ns += length;
                self.unused_sm_ns += unused;
                if let Some(kernel) = &mut kernel {
                    kernel.underfilled_ns += length;
                    kernel.unused_sm_ns += unused;
                }
            }
        }
        let Some(geometry) = kernel_geometry(timeline, owner) else { return };
        if moment.kernels == 1 && geometry.grid_blocks == 1 && (1..=32).contains(&geometry.block_threads) {
            self.one_thread_ns += length;
        }
        let place = timeline.kernels.shape_of(owner.index).geometry as usize;
        let Some(fit) = fits.get(place) else { return };
        if moment.kernels == 1 {
            self.tail_ns += length as f64 * fit.tail_share;
        }
        if let Some(occupancy) = fit.occupancy {
            self.occupancy_ns += length as f64 * occupancy.share;
            self.occupancy_known_ns += length;
        }
    }
}

fn fit(properties: Option<&DeviceProperties>, geometry: crate::timeline::Geometry) -> Fit {
    let occupancy = properties.and_then(|properties| occupancy::theoretical(properties, geometry));
    let sm_count = properties.and_then(|properties| properties.sm_count);
    let tail_share = match (occupancy, sm_count) {
        (Some(occupancy), Some(sm_count)) if geometry.grid_blocks >= sm_count && occupancy.blocks_per_sm > 0 => {
            let wave = sm_count.saturating_mul(occupancy.blocks_per_sm);
            let (whole, last) = (geometry.grid_blocks / wave, geometry.grid_blocks % wave);
            // Blocks spread over the multiprocessors first: one is empty only when the last wave has fewer blocks than
            // there are multiprocessors.
            let empty = if last == 0 { 0 } else { (sm_count - last).max(0) };
            empty as f64 / sm_count as f64 / (whole + 1) as f64
        }
        _ => 0.0,
    };
    Fit { occupancy, tail_share }
}

/// The group that a copy belongs to.
pub(super) fn copy_key(timeline: &Timeline, op: Op) -> CopyKey {
    let copies = &timeline.copies;
    let place = op.index as usize;
    let api = op.call(timeline).and_then(|call| timeline.api.name.get(call as usize)).copied().unwrap_or(NONE);
    (copies.direction[place], copies.host_memory[place], api)
}

/// The short name of a kernel; `None` for other operations, and for one of which nothing is known.
pub(super) fn kernel_name(timeline: &Timeline, op: Op) -> Option<NameId> {
    matches!(op.kind, OpKind::Kernel | OpKind::Communication)
        .then(|| timeline.kernels.shape_of(op.index).name)
        .filter(|name| *name != NONE)
}
