//! The rows of one table that tell of a thread, read by start.

use crate::timeline::Times;
use crate::timeline::interval::Interval;

/// Which table a source reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    ApiCalls,
    OsCalls,
    Overheads,
    OffCpu,
    Code,
}

/// Calls are in each other to this depth as a rule.
const FEW_ROWS: usize = 8;

/// A source of intervals by start.
pub(super) struct Source<'calls> {
    pub(super) table: Table,
    times: &'calls Times,
    /// The rows of the table to read.
    pub(super) rows: &'calls [u32],
    next: usize,
    /// The interval of the next one.
    pub(super) next_interval: Option<Interval>,
    /// When that begins; `i64::MAX` when there is none.
    pub(super) next_start: i64,
}

impl<'calls> Source<'calls> {
    #[inline]
    pub(super) fn new(table: Table, times: &'calls Times, rows: &'calls [u32]) -> Self {
        let mut source = Self { table, times, rows, next: 0, next_interval: None, next_start: i64::MAX };
        source.find_next();
        source
    }

    #[inline]
    pub(super) fn next_row(&self) -> Option<usize> {
        self.rows.get(self.next).map(|row| *row as usize)
    }

    #[inline]
    fn find_next(&mut self) {
        self.next_interval = self.next_row().and_then(|row| self.times.get(row));
        self.next_start = self.next_interval.map_or(i64::MAX, |next| next.start);
    }

    /// How many begin before a moment.
    pub(super) fn before(&self, moment: i64) -> usize {
        self.rows.partition_point(|row| self.times.start(*row as usize) < moment)
    }

    /// The last few of those that begin before a moment, by start.
    pub(super) fn last_before(&self, moment: i64) -> impl Iterator<Item = (usize, Interval)> + '_ {
        let end = self.before(moment);
        let last = self.rows.get(end.saturating_sub(FEW_ROWS)..end).unwrap_or_default();
        last.iter().map(|row| *row as usize).filter_map(|row| self.times.get(row).map(|interval| (row, interval)))
    }

    /// Goes on with the first that does not begin before a moment.
    pub(super) fn seek(&mut self, moment: i64) {
        self.next = self.before(moment);
        self.find_next();
    }

    /// How many were taken.
    pub(super) const fn taken_count(&self) -> usize {
        self.next
    }

    /// When the one at an index begins.
    #[inline]
    pub(super) fn start(&self, index: usize) -> Option<i64> {
        self.rows.get(index).map(|row| self.times.start(*row as usize))
    }

    /// When the one after the next begins; `i64::MAX` when there is none.
    #[inline]
    pub(super) fn second_start(&self) -> i64 {
        self.start(self.next + 1).unwrap_or(i64::MAX)
    }

    #[inline]
    pub(super) fn take(&mut self) -> Option<(usize, Interval)> {
        let (row, interval) = (self.next_row()?, self.next_interval);
        self.next += 1;
        self.find_next();
        Some((row, interval?))
    }
}
