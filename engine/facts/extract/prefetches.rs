//! What the program moves to a device in advance, and what of it the host fetches back before a kernel runs.

use std::collections::BTreeMap;

use super::DeviceContext;
use super::stats::clamped;
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::Timeline;
use crate::timeline::columns::{Direction, MigrationCause};

/// Memory that was prefetched, and that no kernel can have used yet.
#[derive(Debug, Default)]
struct Pending {
    /// Where it begins, and where it ends. No two overlap.
    ranges: BTreeMap<i64, i64>,
    /// As much again as has no known place.
    unplaced: i64,
}

impl Pending {
    fn add(&mut self, address: i64, bytes: i64) {
        if bytes <= 0 {
            return;
        }
        if address > 0 {
            self.take(address, bytes);
            self.ranges.insert(address, address.saturating_add(bytes));
        } else {
            self.unplaced = self.unplaced.saturating_add(bytes);
        }
    }

    /// Takes out what lies there, and tells how much that is. What has no known place may lie anywhere.
    fn take(&mut self, address: i64, bytes: i64) -> i64 {
        if address <= 0 || self.ranges.is_empty() {
            let taken = bytes.min(self.unplaced);
            self.unplaced -= taken;
            return taken;
        }
        let end = address.saturating_add(bytes);
        let mut taken = 0;
        while let Some((begin, until)) = self.ranges.range(..end).next_back().map(|(begin, until)| (*begin, *until)) {
            if until <= address {
                break;
            }
            self.ranges.remove(&begin);
            if until > end {
                self.ranges.insert(end, until);
            }
            if begin < address {
                self.ranges.insert(begin, address);
            }
            taken += until.min(end) - begin.max(address);
        }
        taken
    }
}

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let migrations = &timeline.migrations;
    let (mut prefetched, mut back) = (0_i128, 0_i128);
    let mut pending = Pending::default();
    for op in device.ops.in_window() {
        if op.kind.is_kernel() {
            pending = Pending::default();
        }
        if op.kind != OpKind::Migration {
            continue;
        }
        let index = op.index as usize;
        let (bytes, address, cause) = (migrations.bytes[index], migrations.address[index], migrations.cause[index]);
        match migrations.direction[index] {
            Direction::HostToDevice if cause == MigrationCause::Prefetch => {
                prefetched += i128::from(bytes);
                pending.add(address, bytes);
            }
            Direction::DeviceToHost if cause.is_touch() => back += i128::from(pending.take(address, bytes)),
            _ => {}
        }
    }
    if prefetched > 0 {
        facts.set("prefetched_bytes", clamped(prefetched));
        facts.set("prefetched_back_bytes", clamped(back));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_back_is_told_by_its_place() {
        let mut pending = Pending::default();
        pending.add(0x1000, 0x4000);
        pending.add(0x1000, 0x4000);
        pending.add(0x10_000, 0x1000);
        // A page in the middle, and what the driver takes with it.
        assert_eq!(pending.take(0x2000, 0x1000), 0x1000);
        assert_eq!(pending.take(0x1000, 0x2000), 0x1000);
        assert_eq!(pending.take(0x4000, 0x100_000), 0x2000, "the last page of one, and all of the other");
        assert_eq!(pending.take(0x3000, 0x1000), 0x1000);
        assert_eq!(pending.take(0, 0x1000), 0, "nothing without a place is left");
        assert!(pending.ranges.is_empty());
    }

    #[test]
    fn results_that_the_host_reads_meanwhile_were_not_prefetched() {
        let mut pending = Pending::default();
        pending.add(0x1000, 0x1000);
        assert_eq!(pending.take(0x9000, 0x1000), 0);
        assert_eq!(pending.take(0x2000, 0x1000), 0, "right behind it");
        assert_eq!(pending.take(i64::MAX - 1, i64::MAX), 0);
    }

    #[test]
    fn without_places_bytes_count() {
        let mut pending = Pending::default();
        pending.add(0, 100);
        assert_eq!((pending.take(0, 70), pending.take(0, 70)), (70, 30));
    }
}
