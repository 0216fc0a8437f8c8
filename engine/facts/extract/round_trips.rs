//! Copies of the same size to the device and back again, round after round: data that could stay there.

use std::collections::{BTreeMap, BTreeSet};

use super::stats::clamped;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
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

/// The pageable copies of one size.
#[derive(Default)]
struct Size {
    to_device: Vec<Interval>,
    to_host: Vec<Interval>,
    /// The streams of those to the device.
    streams: BTreeSet<u32>,
}

impl Size {
    /// How often data of this size went to the device and came back. Where it goes one way far more often, arrays of one size are
    /// input and output; where rounds take turns on streams, each has data of its own.
    fn rounds(&self) -> usize {
        if self.streams.len() > 1 {
            return 0;
        }
        let (less, more) = (self.to_device.len().min(self.to_host.len()), self.to_device.len().max(self.to_host.len()));
        if 2 * more > MOST_EXCESS * less { 0 } else { less }
    }
}

/// Of pageable memory only: a program that pins its buffers and copies them both ways in each round streams through them.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, window) = (context.timeline, device.window());
    let copies = &timeline.copies;
    let mut sizes: BTreeMap<i64, Size> = BTreeMap::new();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Copy) {
        let index = op.index as usize;
        let bytes = copies.bytes[index];
        let is_pageable = copies.host_memory[index] == HostMemory::Pageable;
        if !is_pageable || bytes < LEAST_BYTES || sizes.len() >= MAX_SIZE_COUNT && !sizes.contains_key(&bytes) {
            continue;
        }
        let size = sizes.entry(bytes).or_default();
        match copies.direction[index] {
            Direction::HostToDevice => {
                size.to_device.push(op.interval().clip(window));
                size.streams.insert(copies.ops.stream[index]);
            }
            Direction::DeviceToHost => size.to_host.push(op.interval().clip(window)),
            _ => {}
        }
    }
    sizes.retain(|_, size| size.rounds() >= ROUNDS);
    let count: usize = sizes.values().map(|size| 2 * size.rounds()).sum();
    let bytes: i128 = sizes.iter().map(|(bytes, size)| i128::from(*bytes) * 2 * size.rounds() as i128).sum();
    let most = sizes.iter().max_by_key(|(bytes, size)| i128::from(**bytes) * size.rounds() as i128);
    facts.set("round_trip_copy_count", count as i64);
    facts.set("round_trip_bytes", clamped(bytes));
    if let Some((bytes, size)) = most {
        facts.set("round_trip_size_bytes", *bytes);
        facts.set("round_trip_size_count", size.rounds() as i64);
        facts.set_some("round_trip_first_start_ns", size.to_device.first().map(|first| first.start));
    }
    // The last way back may be a result, and the first way there an input: both count, as a bound.
    let all = sizes.into_values().flat_map(|size| size.to_device.into_iter().chain(size.to_host));
    let all = Union::of(all);
    facts.set("round_trip_exposed_ns", all.len_ns() - all.common_ns(&device.tally.kernels_run));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_take_turns_on_streams_have_data_of_their_own() {
        let copies = |count: usize| vec![Interval::new(0, 1); count];
        let of = |to_device, to_host, streams: &[u32]| {
            let (to_device, to_host) = (copies(to_device), copies(to_host));
            Size { to_device, to_host, streams: streams.iter().copied().collect() }.rounds()
        };
        assert_eq!((of(4, 4, &[7]), of(6, 4, &[7]), of(7, 4, &[7])), (4, 4, 0));
        assert_eq!(of(4, 4, &[7, 8]), 0);
    }
}
