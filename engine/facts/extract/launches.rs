//! Launches that belong together: of one launch shape, or of all of a kernel.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::launch_shapes::LaunchShape;
use super::tally::KernelTally;
use crate::ledger::Op;
use crate::timeline::{Geometry, NameId, Timeline};

/// How far launches lie from the mean of those of their launch shape.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread {
    squares: f64,
    freedom: usize,
}

impl Spread {
    /// Of launches of one shape, whatever their order.
    pub(super) fn of(durations: &[i64], sum_ns: i128) -> Self {
        let Some(freedom) = durations.len().checked_sub(1) else { return Self::default() };
        let mean = sum_ns / durations.len() as i128;
        let far = durations.iter().map(|ns| i128::from(*ns) - mean);
        let squares = far.fold(0_i128, |sum, far| sum.saturating_add(far.saturating_mul(far)));
        Self { squares: squares as f64, freedom }
    }

    fn absorb(&mut self, other: Self) {
        self.squares += other.squares;
        self.freedom += other.freedom;
    }

    /// The standard deviation; `None` of single launches.
    pub(super) fn deviation_ns(self) -> Option<i64> {
        (self.freedom > 0).then(|| (self.squares / self.freedom as f64).sqrt().round() as i64)
    }
}

/// The launches of one launch shape, or of all of a kernel.
#[derive(Debug, Default)]
pub(super) struct Launches {
    pub(super) durations: Vec<i64>,
    /// Durations of those during which unified memory migrates.
    pub(super) migrating: Vec<i64>,
    pub(super) sum_ns: i128,
    pub(super) spread: Spread,
    pub(super) min_ns: i64,
    pub(super) longest_ns: i64,
    pub(super) longest_start_ns: i64,
    pub(super) longest_name: NameId,
    pub(super) longest_function: NameId,
    pub(super) first_start_ns: i64,
    pub(super) streams: HashSet<u32>,
    last_stream: Option<u32>,
    geometries: Geometries,
}

/// Time by index of the launch geometry.
#[derive(Debug, Default)]
struct Geometries {
    sums: HashMap<u32, i128>,
    /// The last one, which mostly is the next as well, with what is not yet added to its sum.
    last: Option<(u32, i128)>,
}

impl Geometries {
    fn add(&mut self, geometry: u32, ns: i128) {
        match &mut self.last {
            Some((last, sum_ns)) if *last == geometry => *sum_ns += ns,
            last => {
                let before = last.replace((geometry, ns));
                self.settle(before);
            }
        }
    }

    fn settle(&mut self, last: Option<(u32, i128)>) {
        if let Some((geometry, ns)) = last {
            *self.sums.entry(geometry).or_default() += ns;
        }
    }

    fn absorb(&mut self, mut other: Self) {
        self.settle(other.last.take());
        for (geometry, ns) in other.sums {
            self.settle(Some((geometry, ns)));
        }
    }

    /// The one with most time.
    fn main(&mut self) -> Option<u32> {
        let last = self.last.take();
        self.settle(last);
        self.sums.iter().max_by_key(|(index, ns)| (**ns, Reverse(**index))).map(|(index, _)| *index)
    }
}

impl Launches {
    pub(super) fn new(first_start_ns: i64) -> Self {
        Self { first_start_ns, min_ns: i64::MAX, longest_ns: -1, ..Self::default() }
    }

    /// With room for so many.
    pub(super) fn with_capacity(first_start_ns: i64, count: usize) -> Self {
        Self { durations: Vec::with_capacity(count), ..Self::new(first_start_ns) }
    }

    /// Adds a launch, of which `part_ns` lie in the window.
    pub(super) fn add(&mut self, timeline: &Timeline, op: Op, part_ns: i64, is_migrating: bool) {
        self.durations.push(part_ns);
        if is_migrating {
            self.migrating.push(part_ns);
        }
        self.sum_ns += i128::from(part_ns);
        self.min_ns = self.min_ns.min(part_ns);
        let stream = op.stream(timeline);
        if self.last_stream.replace(stream) != Some(stream) {
            self.streams.insert(stream);
        }
        let shape = timeline.kernels.shape_of(op.index);
        self.geometries.add(shape.geometry, i128::from(part_ns));
        if part_ns > self.longest_ns {
            self.longest_ns = part_ns;
            self.longest_start_ns = op.start;
            self.longest_name = shape.full_name;
            self.longest_function = shape.function;
        }
    }

    /// Adds those of another launch shape of the kernel.
    pub(super) fn absorb(&mut self, other: Self) {
        // Most kernels have one launch shape.
        if self.durations.is_empty() {
            self.durations = other.durations;
        } else {
            self.durations.extend(other.durations);
        }
        self.sum_ns += other.sum_ns;
        self.spread.absorb(other.spread);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.first_start_ns = self.first_start_ns.min(other.first_start_ns);
        self.streams.extend(other.streams);
        self.geometries.absorb(other.geometries);
        if (other.longest_ns, Reverse(other.longest_start_ns)) > (self.longest_ns, Reverse(self.longest_start_ns)) {
            self.longest_ns = other.longest_ns;
            self.longest_start_ns = other.longest_start_ns;
            self.longest_name = other.longest_name;
            self.longest_function = other.longest_function;
        }
    }

    /// The launch geometry that most of the time was spent with.
    pub(super) fn main_geometry(&mut self, timeline: &Timeline) -> Option<Geometry> {
        self.geometries.main().and_then(|index| timeline.geometries.get(index as usize)).copied()
    }
}

/// The launches of one launch shape, with what its moments add up to.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) shape: LaunchShape,
    pub(super) launches: Launches,
    pub(super) tally: KernelTally,
}
