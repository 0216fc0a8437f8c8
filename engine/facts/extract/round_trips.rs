//! Copies of the same size to the device and back again, round after round: data that could stay there.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::stats::clamped;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::idle::{self, BesideCopies, HostBesideCopies};
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// Smaller copies are arguments and results, not data that would stay.
const LEAST_BYTES: i64 = 1_000_000;
/// Fewer rounds may be input and output.
const ROUNDS: usize = 3;
/// Halves of the copies one way, for each the other way, that are no more than input or output beside them.
const MOST_EXCESS: usize = 3;
/// Different sizes that are looked at: a program that keeps data on the host copies the same few.
const MAX_SIZE_COUNT: usize = 1_000;
/// Host code beside copies that takes so many times longer does something else than to work on what they move.
const MOST_IDLE_RATIO: i64 = 10;

/// Copies there and back.
#[derive(Default, Clone)]
struct Copies {
    to_device: Vec<Copy>,
    to_host: Vec<Copy>,
}

/// One of them.
#[derive(Clone, Copy)]
struct Copy {
    /// Its index in the columns of copies.
    index: u32,
    times: Interval,
}

impl Copies {
    /// How often data went to the device and came back. Where it goes one way far more often, arrays of one size are input and
    /// output; fewer rounds than count are none.
    fn rounds(&self) -> usize {
        let (less, more) = (self.to_device.len().min(self.to_host.len()), self.to_device.len().max(self.to_host.len()));
        if less < ROUNDS || 2 * more > MOST_EXCESS * less { 0 } else { less }
    }

    fn append(&mut self, other: Self) {
        self.to_device.extend(other.to_device);
        self.to_host.extend(other.to_host);
    }
}

/// The pageable copies of one size.
#[derive(Default)]
struct Size {
    by_stream: BTreeMap<u32, Copies>,
    /// The stream of the last copy to the device, and how often it was another than that of the one before.
    last: Option<u32>,
    turns: usize,
}

impl Size {
    fn add_to_device(&mut self, stream: u32, copy: Copy) {
        self.turns += usize::from(self.last.replace(stream).is_some_and(|last| last != stream));
        self.by_stream.entry(stream).or_default().to_device.push(copy);
    }

    /// The copies of data that went to the device and came back, and how often. Streams that take turns stream: nothing tells them
    /// from arrays that each stay with a stream. Beside much that goes one way on a stream, each stream is judged by itself.
    fn round_trips(self) -> Option<(usize, Copies)> {
        let pairs = self.by_stream.values().map(|copies| copies.to_device.len()).sum::<usize>().saturating_sub(1);
        if self.turns > 0 && 2 * self.turns >= pairs {
            return None;
        }
        let (mut all, mut own, mut own_rounds) = (Copies::default(), Copies::default(), 0);
        for copies in self.by_stream.into_values() {
            if copies.rounds() > 0 {
                own_rounds += copies.rounds();
                own.append(copies.clone());
            }
            all.append(copies);
        }
        let rounds = all.rounds();
        match (rounds, own_rounds) {
            (0, 0) => None,
            (0, _) => Some((own_rounds, own)),
            _ => Some((rounds, all)),
        }
    }
}

/// Of pageable memory only: a program that pins its buffers and copies them both ways in each round streams through them.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, window) = (context.timeline, device.window());
    let copies = &timeline.copies;
    let mut sizes: BTreeMap<i64, Size> = BTreeMap::new();
    let mut host_bytes = 0_i128;
    for op in device.ops.copies_in_window() {
        let index = op.index as usize;
        let bytes = copies.bytes[index];
        if matches!(copies.direction[index], Direction::HostToDevice | Direction::DeviceToHost) {
            host_bytes += i128::from(bytes);
        }
        let is_pageable = copies.host_memory[index] == HostMemory::Pageable;
        if !is_pageable || bytes < LEAST_BYTES || sizes.len() >= MAX_SIZE_COUNT && !sizes.contains_key(&bytes) {
            continue;
        }
        let size = sizes.entry(bytes).or_default();
        let copy = Copy { index: op.index, times: op.interval().clip(window) };
        match copies.direction[index] {
            Direction::HostToDevice => size.add_to_device(copies.ops.stream[index], copy),
            Direction::DeviceToHost => {
                let own = size.by_stream.entry(copies.ops.stream[index]).or_default();
                own.to_host.push(copy);
            }
            _ => {}
        }
    }
    let told =
        sizes.into_iter().filter_map(|(bytes, size)| size.round_trips().map(|(rounds, all)| (bytes, rounds, all)));
    let told: Vec<(i64, usize, Copies)> = told.collect();
    let count: usize = told.iter().map(|(_, rounds, _)| 2 * rounds).sum();
    let moved = |bytes: i64, rounds: usize| i128::from(bytes) * 2 * rounds as i128;
    facts.set("host_copy_bytes", clamped(host_bytes));
    facts.set("round_trip_copy_count", count as i64);
    facts.set("round_trip_bytes", clamped(told.iter().map(|(bytes, rounds, _)| moved(*bytes, *rounds)).sum()));
    if let Some((bytes, rounds, copies)) = told.iter().max_by_key(|(bytes, rounds, _)| moved(*bytes, *rounds)) {
        facts.set("round_trip_size_bytes", *bytes);
        facts.set("round_trip_size_count", *rounds as i64);
        facts.set_some("round_trip_first_start_ns", copies.to_device.iter().map(|first| first.times.start).min());
    }
    // The last way back may be a result, and the first way there an input: both count, as a bound.
    let all = told.into_iter().flat_map(|(.., copies)| copies.to_device.into_iter().chain(copies.to_host));
    let all: Vec<Copy> = all.collect();
    let run = Union::of(all.iter().map(|copy| copy.times));
    facts.set("round_trip_exposed_ns", run.len_ns() - run.common_ns(&device.tally.kernels_run));
    if device.knows_host {
        let idle = device.idle();
        let (host_ns, waiting_ns) = idle_beside_ns(&all, &idle.host_beside_copies);
        let unknown_ns = unknown_beside_ns(&all, &idle.beside_copies);
        facts.set("round_trip_idle_ns", host_ns.saturating_add(waiting_ns).saturating_add(unknown_ns));
        facts.set("round_trip_host_idle_ns", host_ns);
        facts.set("round_trip_unknown_idle_ns", unknown_ns);
    }
}

/// The host code, and the waits of the host, in idle time right before and after copies, in stretches that are not much longer than
/// they are.
fn idle_beside_ns(copies: &[Copy], stretches: &[HostBesideCopies]) -> (i64, i64) {
    let beside_ns = beside_ns(copies);
    let is_beside =
        |stretch: &&HostBesideCopies| stretch.stretch_ns <= beside_ns(stretch.copies).saturating_mul(MOST_IDLE_RATIO);
    stretches.iter().filter(is_beside).fold((0, 0), |(host_ns, waiting_ns), stretch| {
        (host_ns.saturating_add(stretch.host_ns), waiting_ns.saturating_add(stretch.waiting_ns))
    })
}

/// The idle time right before and after copies of which nothing is known, in stretches that are no longer than they are: what leads to a
/// copy of pageable memory takes time as well, whether its call is recorded or not.
fn unknown_beside_ns(copies: &[Copy], stretches: &[BesideCopies]) -> i64 {
    let beside_ns = beside_ns(copies);
    let unknown = stretches.iter().filter(|stretch| stretch.unknown_ns > 0);
    let beside = unknown.filter(|stretch| stretch.unknown_ns <= beside_ns(stretch.copies));
    beside.fold(0, |sum, stretch| sum.saturating_add(stretch.unknown_ns))
}

/// How long those of some copies run that a stretch lies between.
fn beside_ns(copies: &[Copy]) -> impl Fn(idle::Copies) -> i64 {
    let length_of: HashMap<u32, i64> = copies.iter().map(|copy| (copy.index, copy.times.len_ns())).collect();
    move |of| {
        let ends = [of.before, of.after];
        ends.iter().filter_map(|copy| length_of.get(copy)).fold(0_i64, |sum, ns| sum.saturating_add(*ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds and the copies that are theirs, of copies on streams: to the device and back.
    fn of(to_device: &[(u32, usize)], to_host: &[(u32, usize)]) -> Option<(usize, usize)> {
        let copy = Copy { index: 0, times: Interval::new(0, 1) };
        let mut size = Size::default();
        for (stream, count) in to_device {
            (0..*count).for_each(|_| size.add_to_device(*stream, copy));
        }
        for (stream, count) in to_host {
            let own = size.by_stream.entry(*stream).or_default();
            own.to_host.extend(vec![copy; *count]);
        }
        size.round_trips().map(|(rounds, all)| (rounds, all.to_device.len() + all.to_host.len()))
    }

    #[test]
    fn as_much_goes_there_as_comes_back() {
        assert_eq!(of(&[(7, 4)], &[(7, 4)]), Some((4, 8)));
        assert_eq!(of(&[(7, 6)], &[(7, 4)]), Some((4, 10)));
        assert_eq!(of(&[(7, 7)], &[(7, 4)]), None);
        assert_eq!(of(&[(7, 2)], &[(7, 2)]), None);
    }

    #[test]
    fn idle_time_beside_them_goes_where_it_is_not_much_longer() {
        let copies = [3, 4].map(|index| Copy { index, times: Interval::new(0, 10) });
        let stretch = |before, after, stretch_ns| HostBesideCopies {
            copies: crate::ledger::idle::Copies { before, after },
            stretch_ns,
            host_ns: stretch_ns / 2,
            waiting_ns: stretch_ns / 4,
            other_causes_ns: 0,
        };
        let beside = |idle_ns| idle_beside_ns(&copies, &[stretch(3, 4, idle_ns), stretch(7, 4, 100), stretch(7, 8, 1)]);
        assert_eq!((beside(200), beside(201)), ((150, 75), (50, 25)));
    }

    #[test]
    fn idle_time_of_unknown_cause_goes_where_it_is_no_longer_than_the_copies_beside_it() {
        let copies = [3, 4].map(|index| Copy { index, times: Interval::new(0, 10) });
        let stretch = |before, after, unknown_ns| BesideCopies {
            copies: idle::Copies { before, after },
            idle_ns: 2 * unknown_ns,
            unknown_ns,
        };
        let stretches = [stretch(3, 4, 20), stretch(3, 4, 21), stretch(7, 4, 10), stretch(7, 4, 11), stretch(7, 8, 1)];
        assert_eq!(unknown_beside_ns(&copies, &stretches), 30);
    }

    #[test]
    fn streams_that_take_turns_stream() {
        let turns = [(7, 1), (8, 1), (7, 1), (8, 1)];
        assert_eq!(of(&turns, &turns), None);
        // In half of the pairs, and in fewer.
        assert_eq!(of(&[(7, 2), (8, 2), (7, 1)], &[(7, 3), (8, 2)]), None);
        assert_eq!(of(&[(7, 3), (8, 3)], &[(7, 3), (8, 3)]), Some((6, 12)));
    }

    #[test]
    fn another_stream_takes_no_round_trips_away() {
        assert_eq!(of(&[(7, 1), (13, 60)], &[(13, 60)]), Some((60, 121)));
        // Back on a stream of its own.
        assert_eq!(of(&[(7, 20)], &[(8, 20)]), Some((20, 40)));
        // Many that only go there, on another stream.
        assert_eq!(of(&[(7, 100), (13, 20)], &[(13, 20)]), Some((20, 40)));
        assert_eq!(of(&[(7, 100), (13, 2)], &[(13, 2)]), None);
    }
}
