//! Data that goes to the GPU and back, round after round: it stays there, and so does what is done with it in between.

use std::collections::BTreeMap;

use super::super::model::Play;
use super::super::record::{Op, TO_DEVICE, TO_HOST};
use super::super::setting::Setting;
use super::Extent;

/// Smaller copies are arguments and results, unless they stand beside larger ones.
const LEAST_BYTES: i64 = 1_000_000;
/// Copies of one size are input and output where they go so many times as often one way, in halves, as the other.
const MOST_EXCESS: usize = 3;
/// Host code that takes so many times as long as the copies beside it is expected to do something else than to work on what they move.
const MOST_HOST_RATIO: i64 = 10;

impl Play<'_> {
    /// The copies go, with the waits for them and the host code between those that come back and those that are sent again.
    pub(super) fn keep_data(&mut self, extent: Extent, setting: &Setting<'_>) {
        let is_gone = self.of_both_ways();
        if !is_gone.contains(&true) {
            return;
        }
        let works_on_them = self.works_on(&is_gone, extent);
        // Launching what the device does in place of it takes as long as between any two calls.
        let left_ns = if extent == Extent::Expected { setting.launch_gap_ns } else { 0 };
        self.shorten_gaps(|call, gap_ns, blocked_ns| {
            if works_on_them[call as usize] { blocked_ns + (gap_ns - blocked_ns).min(left_ns) } else { gap_ns }
        });
        self.free_calls(|call| is_gone[call as usize].then_some(0));
        self.drop_ops(|op| is_gone.get(op.call as usize) == Some(&true));
        self.close_gaps(&is_gone, extent, setting);
    }

    /// Which calls copy from or to pageable memory what goes both ways in each step, or wait for such a copy.
    fn of_both_ways(&self) -> Vec<bool> {
        let part = &self.model.part;
        let mut sizes: BTreeMap<i64, [usize; 2]> = BTreeMap::new();
        for op in part.ops.iter().filter(|op| op.is_pageable) {
            if let Some(lane) = op.lane {
                sizes.entry(op.bytes).or_default()[usize::from(lane == TO_HOST)] += 1;
            }
        }
        let goes_both_ways = |bytes: i64| {
            let [to_device, to_host] = sizes.get(&bytes).copied().unwrap_or_default();
            let (less, more) = (to_device.min(to_host), to_device.max(to_host));
            less >= 2 && less + 1 >= part.step_count as usize && 2 * more <= MOST_EXCESS * less
        };
        let copy = |call: usize| self.own_copy(call).filter(|op| goes_both_ways(op.bytes));
        let mut is_gone: Vec<bool> =
            (0..part.calls.len()).map(|call| copy(call).is_some_and(|op| op.bytes >= LEAST_BYTES)).collect();
        for thread in &part.threads {
            // Small ones go with large ones right before or behind them, as biases go with weights.
            self.spread(thread.clone(), &mut is_gone, |call| copy(call).is_some());
            self.spread(thread.clone().rev(), &mut is_gone, |call| copy(call).is_some());
            for call in thread.clone().skip(1) {
                is_gone[call] |= is_gone[call - 1] && self.only_waits(call);
            }
        }
        is_gone
    }

    /// The operation of a call that copies one thing from or to pageable memory.
    fn own_copy(&self, call: usize) -> Option<&Op> {
        let row = &self.model.part.calls[call];
        let op = self.model.part.ops.get(row.first_op as usize).filter(|_| row.op_count == 1);
        op.filter(|op| op.is_pageable && op.lane.is_some())
    }

    /// Lets copies that may go do so where the one before them goes and takes the same way.
    fn spread(&self, calls: impl Iterator<Item = usize>, is_gone: &mut [bool], may_go: impl Fn(usize) -> bool) {
        let mut last = None;
        for call in calls {
            if self.model.part.calls[call].op_count == 0 {
                continue;
            }
            is_gone[call] |= last.is_some() && last == self.lane(call) && may_go(call);
            last = self.lane(call).filter(|_| is_gone[call]);
        }
    }

    /// Before which calls the host works on what came back, and makes what it sends; at best whatever it does beside these copies.
    fn works_on(&self, is_gone: &[bool], extent: Extent) -> Vec<bool> {
        let calls = &self.model.part.calls;
        let mut works = vec![false; calls.len()];
        for thread in &self.model.part.threads {
            let mut before: Vec<Row> = self.rows(thread.clone(), is_gone).collect();
            before.pop();
            let mut after: Vec<Row> = self.rows(thread.clone().rev(), is_gone).collect();
            after.reverse();
            for (call, (before, after)) in thread.clone().skip(1).zip(before.into_iter().zip(after.into_iter().skip(1)))
            {
                let is_between = before.lane == Some(TO_HOST) && after.lane == Some(TO_DEVICE);
                let is_beside = extent == Extent::Ceiling && (before.lane.is_some() || after.lane.is_some());
                let host_ns = calls[call].start - calls[call - 1].end;
                let copies_ns = before.run_ns.saturating_add(after.run_ns);
                let is_alike = host_ns <= copies_ns.saturating_mul(MOST_HOST_RATIO);
                works[call] = is_beside || is_between && is_alike;
            }
        }
        works
    }

    /// After each of some calls, in the order in which they come, the row of copies that it is the last of.
    fn rows<'all>(
        &'all self,
        calls: impl Iterator<Item = usize> + 'all,
        is_gone: &'all [bool],
    ) -> impl Iterator<Item = Row> + 'all {
        calls.scan(Row::default(), |row, call| {
            match self.own_copy(call).filter(|_| is_gone[call]) {
                Some(op) => {
                    let so_far_ns = if row.lane == op.lane { row.run_ns } else { 0 };
                    *row = Row { lane: op.lane, run_ns: so_far_ns.saturating_add(op.end - op.start) };
                }
                // A wait for them parts no two.
                None if is_gone[call] => {}
                None => *row = Row::default(),
            }
            Some(*row)
        })
    }
}

/// Copies one way that all go: which way, and how long they run.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    lane: Option<u8>,
    run_ns: i64,
}
