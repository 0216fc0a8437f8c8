//! What runs on devices where operations take turns: at a copy engine, and for room beside other kernels.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use foldhash::HashMap;

use super::record::BOTH_WAYS;
use crate::timeline::interval::Interval;
use crate::timeline::occupancy::MAX_KERNELS_AT_ONCE;

/// A device is full at all of it, give or take what rounding leaves.
const FULL_MILLIONTHS: u64 = 1_001_000;

/// What runs where operations take turns.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// When each copy engine of a device is free.
    engines: Vec<((u32, u8), i64)>,
    /// The engine of each device that has one for both directions.
    shared: HashMap<u32, SharedEngine>,
    /// What kernels fill, by device.
    kernels: Vec<(u32, Filled)>,
}

/// Copies further apart do not pass each other.
const MAX_KEPT_COPIES: usize = 64;

/// The one copy engine of a device. Who overlaps copies there asks for the next one in before the last one goes back, whatever the
/// order was in the recording: so a copy takes the first gap that it fits into.
#[derive(Debug, Default)]
struct SharedEngine {
    /// By start, and none over another.
    busy: VecDeque<Interval>,
    /// Before this it is not looked at.
    free_from: Option<i64>,
}

impl SharedEngine {
    /// Takes the first gap for so long from a time on: when it begins.
    fn take(&mut self, time: i64, run_ns: i64) -> i64 {
        let mut start = self.free_from.map_or(time, |free| free.max(time));
        let mut place = 0;
        for (index, busy) in self.busy.iter().enumerate() {
            if start.saturating_add(run_ns) <= busy.start {
                break;
            }
            start = start.max(busy.end);
            place = index + 1;
        }
        self.busy.insert(place, Interval::new(start, start.saturating_add(run_ns)));
        if self.busy.len() > MAX_KEPT_COPIES {
            self.free_from = self.busy.pop_front().map(|first| first.end);
        }
        start
    }
}

/// The kernels that a device runs, and how much of it they fill.
#[derive(Debug, Default)]
struct Filled {
    /// When each ends, and its share in millionths: sums of whole numbers stay exact however often one is taken off.
    ends: BinaryHeap<Reverse<(i64, u64)>>,
    sum_millionths: u64,
}

impl Filled {
    /// When there is room for one more, at a time or later.
    fn room_from(&mut self, share_millionths: u64, mut time: i64) -> i64 {
        loop {
            while let Some(Reverse((end, share))) = self.ends.peek().copied()
                && end <= time
            {
                self.ends.pop();
                self.sum_millionths -= share;
            }
            let is_full =
                self.sum_millionths + share_millionths > FULL_MILLIONTHS || self.ends.len() >= MAX_KERNELS_AT_ONCE;
            match self.ends.peek() {
                Some(Reverse((next, _))) if is_full => time = *next,
                _ => return time,
            }
        }
    }

    fn push(&mut self, end: i64, share_millionths: u64) {
        self.ends.push(Reverse((end, share_millionths)));
        self.sum_millionths += share_millionths;
    }
}

fn millionths(share: f32) -> u64 {
    (f64::from(share) * 1e6).round() as u64
}

/// Where an operation runs, and what it takes turns at there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) device: u32,
    /// The copy engine, where copies take turns.
    pub(super) engine: Option<u8>,
    /// What share of the device it fills.
    pub(super) share: f32,
}

impl Place {
    fn engine(self) -> Option<(u32, u8)> {
        self.engine.map(|engine| (self.device, engine))
    }
}

impl Running {
    /// When an operation that could begin at a time, and runs for so long, has its turn.
    pub(super) fn turn(&mut self, place: Place, time: i64, run_ns: i64) -> i64 {
        if let Some(engine) = place.engine() {
            if engine.1 == BOTH_WAYS {
                return self.shared.entry(engine.0).or_default().take(time, run_ns);
            }
            let free = self.engines.iter().find(|(known, _)| *known == engine);
            return time.max(free.map_or(i64::MIN, |(_, free)| *free));
        }
        if place.share <= 0.0 {
            return time;
        }
        let filled = self.kernels.iter_mut().find(|(known, _)| *known == place.device);
        filled.map_or(time, |(_, filled)| filled.room_from(millionths(place.share), time))
    }

    /// Notes that an operation ends.
    pub(super) fn end(&mut self, place: Place, time: i64) {
        if let Some(engine) = place.engine().filter(|(_, engine)| *engine != BOTH_WAYS) {
            match self.engines.iter_mut().find(|(known, _)| *known == engine) {
                Some((_, free)) => *free = (*free).max(time),
                None => self.engines.push((engine, time)),
            }
        }
        if place.share > 0.0 {
            let position = self.kernels.iter().position(|(known, _)| *known == place.device).unwrap_or_else(|| {
                self.kernels.push((place.device, Filled::default()));
                self.kernels.len() - 1
            });
            self.kernels[position].1.push(time, millionths(place.share));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_take_the_first_gap_of_the_one_engine() {
        let mut engine = SharedEngine::default();
        assert_eq!([engine.take(0, 30), engine.take(70, 30)], [0, 70]);
        // The next one in fits between the two, one more does not.
        assert_eq!([engine.take(10, 30), engine.take(10, 30), engine.take(10, 10)], [30, 100, 60]);
        assert_eq!([engine.take(200, 0), engine.take(0, 1)], [200, 130]);
    }
}
