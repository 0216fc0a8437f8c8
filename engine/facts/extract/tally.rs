//! What one walk over a device's moments adds up to.

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::launch_shapes::{LANES_OF_SM, LaunchShape, LaunchShapes};
use super::stats::clamped;
use crate::ledger::accounts::{ByAccount, Sums};
use crate::ledger::idle::Stretch;
use crate::ledger::sweep::{Part, kernel_geometry, sweep};
use crate::ledger::{Account, DeviceOps, Moment, Op, OpKind, OpRef, TimeSum};
use crate::parallel::{self, Threads};
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::interval::Interval;
use crate::timeline::occupancy::{self, Occupancy};
use crate::timeline::union::Union;
use crate::timeline::{DeviceProperties, NONE, NameId, Timeline};

/// Copies that belong together: direction, host memory, and the API that asked (or [`NONE`]).
pub(super) type CopyKey = (Direction, HostMemory, NameId);

/// What the moments of a kernel, or of a launch shape, add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KernelTally {
    /// Compute or communication time that it owns.
    pub(super) attributed_ns: i64,
    pub(super) underfilled_ns: i64,
    /// Nanoseconds times SMs without a block.
    pub(super) unused_sm_ns: i128,
    /// Nanoseconds times lanes without a thread, of the underfilled time, with [`LANES_OF_SM`] lanes an SM.
    pub(super) unused_lane_ns: i128,
    pub(super) faulting_ns: i64,
    /// Nanoseconds times the part of the SMs that the last wave leaves empty, where nothing runs beside it.
    pub(super) tail_ns: f64,
}

impl KernelTally {
    pub(super) fn add(&mut self, other: Self) {
        self.attributed_ns += other.attributed_ns;
        self.underfilled_ns += other.underfilled_ns;
        self.unused_sm_ns += other.unused_sm_ns;
        self.unused_lane_ns += other.unused_lane_ns;
        self.faulting_ns += other.faulting_ns;
        self.tail_ns += other.tail_ns;
    }
}

/// What the moments of each launch shape add up to, by its index.
pub(super) type KernelTallies = ByIndex<KernelTally>;

impl KernelTallies {
    /// Of each kernel: all its launch shapes together.
    pub(super) fn by_kernel(&self, shapes: &LaunchShapes) -> HashMap<NameId, KernelTally> {
        let mut kernels: HashMap<NameId, KernelTally> = HashMap::default();
        for (shape, sums) in self.iter() {
            if let Some(shape) = shapes.get(*shape) {
                kernels.entry(shape.name).or_default().add(*sums);
            }
        }
        kernels
    }
}

/// What the moments of a device add up to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// All accounts but those of idle time.
    pub(super) sums: Sums,
    /// The pieces of the accounts of copies and memsets: of each operation its own.
    pub(super) pieces: ByAccount<TimeSum>,
    /// How much of each account lies before the work that repeats.
    pub(super) in_start_up: ByAccount<i64>,
    start_up: Interval,
    /// The operation that owns the last of them.
    last_owner: Option<OpRef>,
    /// The copy account by the group that owns each moment.
    pub(super) exposed_copies: HashMap<CopyKey, i64>,
    /// The copy account in which a copy to the device owns the moment, and a copy to the host.
    pub(super) exposed_to_device_ns: i64,
    pub(super) exposed_to_host_ns: i64,
    /// When either does from or to memory that is not pageable.
    pub(super) exposed_host_copies: Union,
    /// Compute time beside which no copy between host and device runs, none to the device, none to the host.
    pub(super) compute_without_host_copy_ns: i64,
    pub(super) compute_without_to_device_ns: i64,
    pub(super) compute_without_to_host_ns: i64,
    /// Time in which copies both ways run, and the part of it that is in the copy account.
    pub(super) both_ways_copy_ns: i64,
    /// How long copies within the device, or from one to another, run beside communication and nothing that computes.
    pub(super) device_copy_beside_communication_ns: i64,
    pub(super) exposed_both_ways_ns: i64,
    pub(super) copy_union_ns: i64,
    pub(super) copy_overlapped_ns: i64,
    pub(super) host_copy_union_ns: i64,
    pub(super) host_copy_overlapped_ns: i64,
    /// When copies between host and device run.
    pub(super) host_copies_run: Union,
    /// Time in which copies to the device run, and copies to the host.
    pub(super) to_device_union_ns: i64,
    pub(super) to_host_union_ns: i64,
    pub(super) kernel_union_ns: i64,
    pub(super) concurrent_ns: i64,
    pub(super) kernel_concurrent_ns: i64,
    pub(super) one_thread_ns: i64,
    /// Nanoseconds times SMs without a block.
    unused_sm_ns: i128,
    /// Compute time of kernels whose grid is known.
    known_grid_ns: i64,
    /// Nanoseconds of that time weighted by the part of the SMs with a block.
    filled_ns: f64,
    pub(super) tail_ns: f64,
    /// Time weighted by theoretical occupancy, and the time that it is known for.
    pub(super) occupancy_ns: f64,
    pub(super) occupancy_known_ns: i64,
    pub(super) kernels: KernelTallies,
    /// The shortest kernel that begins and ends in the window.
    pub(super) shortest_kernel_ns: Option<i64>,
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

/// What the moments of a device are added up with.
pub(super) struct Measure<'all> {
    timeline: &'all Timeline,
    shapes: &'all LaunchShapes,
    start_up: Interval,
    sm_count: Option<i64>,
    /// What each launch geometry means on the device.
    fits: Vec<Fit>,
}

impl<'all> Measure<'all> {
    pub(super) fn new(timeline: &'all Timeline, shapes: &'all LaunchShapes, device: &DeviceOps) -> Self {
        let properties = timeline.devices.get(device.device as usize).and_then(|device| device.properties.as_ref());
        let fits = timeline.geometries.iter().map(|geometry| fit(properties, *geometry)).collect();
        let sm_count = properties.and_then(|properties| properties.sm_count);
        Self { timeline, shapes, start_up: device.start_up, sm_count, fits }
    }

    /// Of the moments of a part of the window; each idle stretch is handed on in time order.
    pub(super) fn part(&self, part: Part<'_>, mut idle: impl FnMut(Stretch)) -> Tally {
        let Self { timeline, shapes, .. } = *self;
        let mut tally = Tally { start_up: self.start_up, ..Tally::default() };
        tally.busy.reserve(part.op_count());
        tally.kernels_run.reserve(part.op_count());
        sweep(timeline, part, |moment| {
            let shape = moment.owner.and_then(|owner| launch_shape(timeline, shapes, owner));
            tally.account(timeline, moment, shape);
            tally.overlap(moment);
            match moment.account {
                Account::Compute => {
                    let shape = shape.and_then(|index| Some((index, shapes.get(index)?)));
                    tally.compute(self, moment, shape);
                }
                Account::Idle => {
                    idle(Stretch { interval: moment.interval, next: moment.next, previous: moment.previous });
                }
                _ => {}
            }
        });
        tally
    }

    /// Of a device, from the parts of its window in time order.
    pub(super) fn whole(&self, device: &DeviceOps, mut parts: Vec<Tally>, threads: Threads) -> Tally {
        // These grow with the work.
        let busy: Vec<Union> = parts.iter_mut().map(|part| std::mem::take(&mut part.busy)).collect();
        let kernels_run: Vec<Union> = parts.iter_mut().map(|part| std::mem::take(&mut part.kernels_run)).collect();
        let of_kernels = || (joined(kernels_run), shortest_kernel_ns(device));
        let (busy, (kernels_run, shortest_kernel_ns)) = parallel::both(threads, || joined(busy), of_kernels);
        let tally = parts.into_iter().reduce(Tally::followed_by).unwrap_or_default();
        let mut tally = Tally { busy, kernels_run, shortest_kernel_ns, ..tally };
        tally.sums[Account::Window] = device.window.len_ns();
        if let Some(sm_count) = self.sm_count {
            tally.sums[Account::UnusedSm] = clamped(tally.unused_sm_ns / i128::from(sm_count));
        }
        tally
    }
}

/// The shortest kernel that lies in the window of a device; `None` without any that takes time.
fn shortest_kernel_ns(device: &DeviceOps) -> Option<i64> {
    let kernels = device.in_window().filter(|op| op.kind == OpKind::Kernel);
    let whole = kernels.map(|op| op.interval()).filter(|interval| interval.clip(device.window) == *interval);
    whole.map(Interval::len_ns).filter(|ns| *ns > 0).min()
}

/// Those of the parts of a window as one.
fn joined(parts: Vec<Union>) -> Union {
    let later_count = parts.iter().skip(1).map(|part| part.parts().len()).sum();
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap_or_default();
    all.reserve(later_count);
    parts.for_each(|part| all.append(part));
    all
}

impl Tally {
    /// Takes in the part of the window that follows, before which the device is idle; when it was busy is told by the whole.
    fn followed_by(mut self, next: Self) -> Self {
        for (account, sum) in self.sums.iter_mut() {
            *sum += next.sums[account];
        }
        for (account, pieces) in self.pieces.iter_mut() {
            pieces.merge(next.pieces[account]);
        }
        for (account, ns) in self.in_start_up.iter_mut() {
            *ns += next.in_start_up[account];
        }
        for (key, ns) in next.exposed_copies {
            *self.exposed_copies.entry(key).or_default() += ns;
        }
        self.exposed_to_device_ns += next.exposed_to_device_ns;
        self.exposed_to_host_ns += next.exposed_to_host_ns;
        self.compute_without_host_copy_ns += next.compute_without_host_copy_ns;
        self.compute_without_to_device_ns += next.compute_without_to_device_ns;
        self.compute_without_to_host_ns += next.compute_without_to_host_ns;
        self.both_ways_copy_ns += next.both_ways_copy_ns;
        self.device_copy_beside_communication_ns += next.device_copy_beside_communication_ns;
        self.exposed_both_ways_ns += next.exposed_both_ways_ns;
        self.copy_union_ns += next.copy_union_ns;
        self.copy_overlapped_ns += next.copy_overlapped_ns;
        self.host_copy_union_ns += next.host_copy_union_ns;
        self.host_copy_overlapped_ns += next.host_copy_overlapped_ns;
        self.to_device_union_ns += next.to_device_union_ns;
        self.to_host_union_ns += next.to_host_union_ns;
        self.kernel_union_ns += next.kernel_union_ns;
        self.concurrent_ns += next.concurrent_ns;
        self.kernel_concurrent_ns += next.kernel_concurrent_ns;
        self.one_thread_ns += next.one_thread_ns;
        self.unused_sm_ns += next.unused_sm_ns;
        self.known_grid_ns += next.known_grid_ns;
        self.filled_ns += next.filled_ns;
        self.tail_ns += next.tail_ns;
        self.occupancy_ns += next.occupancy_ns;
        self.occupancy_known_ns += next.occupancy_known_ns;
        for (shape, sums) in next.kernels.into_list() {
            self.kernels.of(shape, KernelTally::default).add(sums);
        }
        self.stretch_count += next.stretch_count;
        self.longest_stretch = longer(self.longest_stretch, next.longest_stretch);
        self.exposed_host_copies.append(next.exposed_host_copies);
        self.host_copies_run.append(next.host_copies_run);
        self
    }

    /// How long copies between host and device run from the begin of the first kernel to the end of the last.
    pub(super) fn host_copy_amid_kernels_ns(&self) -> i64 {
        let (first, last) = (self.kernels_run.parts().next(), self.kernels_run.parts().next_back());
        let hull = first.zip(last).map(|(first, last)| Interval::new(first.start, last.end));
        hull.map_or(0, |hull| self.host_copies_run.overlap_ns(hull))
    }

    /// Over compute time, the part of the SMs that can have a block, tails of the last wave taken off. Kernels
    /// hidden in graphs have no grid: where they are most of the time, the rest stands for nothing.
    pub(super) fn sm_filled_share(&self) -> Option<f64> {
        let is_known = self.known_grid_ns > 0 && 2 * self.known_grid_ns >= self.sums[Account::Compute];
        is_known.then(|| ((self.filled_ns - self.tail_ns) / self.known_grid_ns as f64).clamp(0.0, 1.0))
    }

    fn account(&mut self, timeline: &Timeline, moment: &Moment, shape: Option<u32>) {
        let length = moment.interval.len_ns();
        self.sums[moment.account] += length;
        let Some(owner) = moment.owner else { return };
        match moment.account {
            Account::ExposedCopy => {
                let key = copy_key(timeline, owner);
                *self.exposed_copies.entry(key).or_default() += length;
                let of_kind = Account::of_copy(key.0, key.1);
                self.sums[of_kind] += length;
                self.add_piece(&[moment.account, of_kind], moment.interval, owner);
                let is_of_host = matches!(key.0, Direction::HostToDevice | Direction::DeviceToHost);
                if is_of_host && key.1 != HostMemory::Pageable {
                    self.exposed_host_copies.push(moment.interval);
                }
                match key.0 {
                    Direction::HostToDevice => self.exposed_to_device_ns += length,
                    Direction::DeviceToHost => self.exposed_to_host_ns += length,
                    _ => {}
                }
            }
            Account::Compute | Account::ExposedCommunication => {
                if let Some(shape) = shape {
                    self.kernels.of(shape, KernelTally::default).attributed_ns += length;
                }
                if moment.account == Account::ExposedCommunication {
                    self.add_piece(&[moment.account], moment.interval, owner);
                }
            }
            Account::ExposedMemset | Account::ExposedMigration => {
                self.add_piece(&[moment.account], moment.interval, owner);
            }
            _ => {}
        }
    }

    fn add_piece(&mut self, accounts: &[Account], interval: Interval, owner: Op) {
        let is_same = self.last_owner.replace(owner.reference()) == Some(owner.reference());
        for account in accounts {
            self.pieces[*account].add_part(interval, is_same);
            self.in_start_up[*account] += self.start_up.overlap_ns(interval);
        }
    }

    /// What runs beside what.
    fn overlap(&mut self, moment: &Moment) {
        let length = moment.interval.len_ns();
        if moment.account == Account::Idle {
            self.stretch_count += 1;
            self.longest_stretch = longer(self.longest_stretch, Some(moment.interval));
            return;
        }
        self.busy.push(moment.interval);
        let beside_kernel_ns = if moment.kernels > 0 { length } else { 0 };
        if moment.copies > 0 {
            self.copy_union_ns += length;
            self.copy_overlapped_ns += beside_kernel_ns;
            let is_of_device = moment.copies > moment.host_copies && moment.account == Account::ExposedCommunication;
            self.device_copy_beside_communication_ns += if is_of_device { length } else { 0 };
        }
        if moment.host_copies > 0 {
            self.host_copy_union_ns += length;
            self.host_copies_run.push(moment.interval);
            self.host_copy_overlapped_ns += beside_kernel_ns;
            let (to_device, to_host) = (moment.copies_to_host < moment.host_copies, moment.copies_to_host > 0);
            self.to_device_union_ns += if to_device { length } else { 0 };
            self.to_host_union_ns += if to_host { length } else { 0 };
            let both_ways_ns = if to_device && to_host { length } else { 0 };
            self.both_ways_copy_ns += both_ways_ns;
            self.exposed_both_ways_ns += if moment.account.top() == Account::ExposedCopy { both_ways_ns } else { 0 };
        }
        if moment.kernels > 0 {
            self.kernel_union_ns += length;
            self.kernels_run.push(moment.interval);
        }
        self.concurrent_ns += if moment.streams > 1 { length } else { 0 };
        self.kernel_concurrent_ns += if moment.kernel_streams > 1 { length } else { 0 };
    }

    fn compute(&mut self, measure: &Measure<'_>, moment: &Moment, shape: Option<(u32, LaunchShape)>) {
        let Measure { timeline, sm_count, fits, .. } = measure;
        let length = moment.interval.len_ns();
        let without = |copies: u32| if copies == 0 { length } else { 0 };
        self.compute_without_host_copy_ns += without(moment.host_copies);
        self.compute_without_to_host_ns += without(moment.copies_to_host);
        self.compute_without_to_device_ns += without(moment.host_copies - moment.copies_to_host);
        let Some(owner) = moment.owner else { return };
        let mut kernel = shape.map(|(index, _)| self.kernels.of(index, KernelTally::default));
        if moment.migrations > 0 {
            self.sums[Account::Faulting] += length;
            if let Some(kernel) = &mut kernel {
                kernel.faulting_ns += length;
            }
        }
        if let (Some(blocks), Some(sm_count)) = (moment.blocks, *sm_count) {
            self.known_grid_ns += length;
            self.filled_ns += length as f64 * (blocks as f64 / sm_count as f64).min(1.0);
            if blocks < sm_count {
                let unused = i128::from(length) * i128::from(sm_count - blocks);
                self.sums[Account::Underfilled] += length;
                self.unused_sm_ns += unused;
                if let Some(kernel) = &mut kernel {
                    kernel.underfilled_ns += length;
                    kernel.unused_sm_ns += unused;
                    let alone = shape.filter(|_| moment.kernels == 1).map(|(_, shape)| shape.lanes());
                    let used = alone.unwrap_or_else(|| blocks.saturating_mul(LANES_OF_SM));
                    let lanes = sm_count.saturating_mul(LANES_OF_SM);
                    kernel.unused_lane_ns += i128::from(length) * i128::from((lanes - used).max(0));
                }
            }
        }
        let Some(geometry) = kernel_geometry(timeline, owner) else { return };
        if moment.kernels == 1 && geometry.grid_blocks == 1 && (1..=32).contains(&geometry.block_threads) {
            self.one_thread_ns += length;
        }
        let geometry_index = timeline.kernels.shape_of(owner.index).geometry as usize;
        let Some(fit) = fits.get(geometry_index) else { return };
        if moment.kernels == 1 {
            let tail_ns = length as f64 * fit.tail_share;
            self.tail_ns += tail_ns;
            if let Some(kernel) = &mut kernel {
                kernel.tail_ns += tail_ns;
            }
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
            // Blocks spread over the SMs first: one is empty only when the last wave has fewer blocks than
            // there are SMs.
            let empty = if last == 0 { 0 } else { (sm_count - last).max(0) };
            empty as f64 / sm_count as f64 / (whole + 1) as f64
        }
        _ => 0.0,
    };
    Fit { occupancy, tail_share }
}

/// The longer of two stretches; of equal ones the first.
fn longer(first: Option<Interval>, second: Option<Interval>) -> Option<Interval> {
    let second_ns = second.map_or(0, Interval::len_ns);
    first.filter(|first| first.len_ns() >= second_ns).or(second)
}

/// The group that a copy belongs to.
pub(super) fn copy_key(timeline: &Timeline, op: Op) -> CopyKey {
    let copies = &timeline.copies;
    let index = op.index as usize;
    let api = op.call(timeline).and_then(|call| timeline.api.name.get(call as usize)).copied().unwrap_or(NONE);
    (copies.direction[index], copies.host_memory[index], api)
}

/// The index of what a kernel was launched as; `None` for other operations, and for one of which nothing is known.
pub(super) fn launch_shape(timeline: &Timeline, shapes: &LaunchShapes, op: Op) -> Option<u32> {
    matches!(op.kind, OpKind::Kernel | OpKind::Communication).then(|| shapes.index_of(timeline, op.index)).flatten()
}

/// The name of a kernel; `None` for other operations, and for one of which nothing is known.
pub(super) fn kernel_name(timeline: &Timeline, op: Op) -> Option<NameId> {
    matches!(op.kind, OpKind::Kernel | OpKind::Communication)
        .then(|| timeline.kernels.shape_of(op.index).name)
        .filter(|name| *name != NONE)
}
