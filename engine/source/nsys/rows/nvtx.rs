//! Annotations: push/pop and start/end ranges, and the domains that they are in.

use rustc_hash::FxHashMap;

use super::{NO_TIMES, Reason, check};
use crate::source::nsys::keys::Keys;
use crate::source::nsys::take::Cells;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Times};

#[derive(Debug, Default)]
pub(in super::super) struct NvtxRows {
    /// One that was never left ends at `i64::MAX`.
    pub(in super::super) times: Times,
    pub(in super::super) thread: Vec<u32>,
    pub(in super::super) label: Vec<u32>,
    /// Thread, domain and name of each domain that was created.
    pub(in super::super) domains: Vec<(u32, i64, u32)>,
}

const NVTX_RANGES: [i64; 4] = [59, 60, 70, 71];
const NVTX_DOMAIN: i64 = 75;

impl NvtxRows {
    pub(super) fn push(&mut self, cells: &Cells<'_, '_>, keys: &mut Keys) -> Result<(), Reason> {
        let kind = cells.int(3).unwrap_or(-1);
        let is_range = NVTX_RANGES.contains(&kind);
        if !is_range && kind != NVTX_DOMAIN {
            return Ok(());
        }
        let thread = cells.int(2).map_or(NONE, |thread| keys.threads.place(thread));
        let domain = cells.int(6).unwrap_or(0);
        let name = cells
            .bytes(4)
            .and_then(|text| keys.text(without_counters(text)))
            .unwrap_or_else(|| keys.string_id(cells.int(5)));
        if !is_range {
            self.domains.push((thread, domain, name));
            return Ok(());
        }
        let start = cells.int(0).ok_or(NO_TIMES)?;
        self.times.push(match cells.int(1) {
            Some(end) => check(start, end)?,
            None => Interval::new(check(start, start)?.start, i64::MAX),
        });
        self.thread.push(thread);
        self.label.push(keys.labels.place((domain, name)));
        Ok(())
    }
}

impl NvtxRows {
    /// Brings the rows of each thread together, in the order in which they were read.
    pub(super) fn group(&mut self) {
        if self.thread.is_sorted() {
            return;
        }
        let mut places: FxHashMap<u32, usize> = FxHashMap::default();
        for thread in &self.thread {
            *places.entry(*thread).or_default() += 1;
        }
        let mut counts: Vec<(u32, usize)> = places.iter().map(|(thread, count)| (*thread, *count)).collect();
        counts.sort_unstable();
        let mut next = 0;
        for (thread, count) in counts {
            places.insert(thread, next);
            next += count;
        }
        let mut order = vec![0; self.thread.len()];
        for (row, thread) in self.thread.iter().enumerate() {
            if let Some(place) = places.get_mut(thread) {
                order[*place] = row;
                *place += 1;
            }
        }
        self.times = order.iter().map(|row| self.times.at(*row)).collect();
        self.label = order.iter().map(|row| self.label[*row]).collect();
        self.thread.sort_unstable();
    }
}

/// PyTorch appends a running number to each annotation of an operator: `aten::view, op_id = 17`.
fn without_counters(text: &[u8]) -> &[u8] {
    const COUNTERS: [&[u8]; 2] = [b", op_id = ", b", seq = "];
    let mut commas = text.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(at, _)| at);
    commas.find(|at| COUNTERS.iter().any(|counter| text[*at..].starts_with(counter))).map_or(text, |at| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_numbers_are_no_part_of_a_name() {
        assert_eq!(without_counters(b"aten::view, op_id = 314290"), b"aten::view");
        assert_eq!(without_counters(b"aten::mul, seq = 5, op_id = 6"), b"aten::mul");
        assert_eq!(without_counters(b"step 5"), b"step 5");
    }
}
