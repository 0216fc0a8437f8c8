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
    /// Time by index of the launch geometry.
    geometries: HashMap<u32, i128>,
}

impl Launches {
    pub(super) fn new(first_start_ns: i64) -> Self {
        Self { first_start_ns, min_ns: i64::MAX, longest_ns: -1, ..Self::default() }
    }

    /// Adds a launch, of which `part_ns` lie in the window.
    pub(super) fn add(&mut self, timeline: &Timeline, op: Op, part_ns: i64, is_migrating: bool) {
        self.durations.push(part_ns);
        if is_migrating {
            self.migrating.push(part_ns);
        }
        self.sum_ns += i128::from(part_ns);
        self.min_ns = self.min_ns.min(part_ns);
        self.streams.insert(op.stream(timeline));
        let shape = timeline.kernels.shape_of(op.index);
        *self.geometries.entry(shape.geometry).or_default() += i128::from(part_ns);
        if part_ns > self.longest_ns {
            self.longest_ns = part_ns;
            self.longest_start_ns = op.start;
            self.longest_name = shape.full_name;
            self.longest_function = shape.function;
        }
    }

    /// Adds those of another launch shape of the kernel.
    pub(super) fn absorb(&mut self, other: Self) {
        self.durations.extend(other.durations);
        self.sum_ns += other.sum_ns;
        self.spread.absorb(other.spread);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.first_start_ns = self.first_start_ns.min(other.first_start_ns);
        self.streams.extend(other.streams);
        for (geometry, time) in other.geometries {
            *self.geometries.entry(geometry).or_default() += time;
        }
        if (other.longest_ns, Reverse(other.longest_start_ns)) > (self.longest_ns, Reverse(self.longest_start_ns)) {
            self.longest_ns = other.longest_ns;
            self.longest_start_ns = other.longest_start_ns;
            self.longest_name = other.longest_name;
            self.longest_function = other.longest_function;
        }
    }

    /// The launch geometry that most of the time was spent with.
    pub(super) fn main_geometry(&self, timeline: &Timeline) -> Option<Geometry> {
        let main = self.geometries.iter().max_by_key(|(index, time)| (**time, Reverse(**index)));
        main.and_then(|(index, _)| timeline.geometries.get(*index as usize)).copied()
    }
}

/// The launches of one launch shape, with what its moments add up to.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) shape: LaunchShape,
    pub(super) launches: Launches,
    pub(super) tally: KernelTally,
}
