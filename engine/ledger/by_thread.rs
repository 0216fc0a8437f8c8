//! Rows of a table, by the thread that they name.

use crate::timeline::Times;

/// Rows of one table, by the thread that they name.
pub(super) struct ByThread {
    /// The indices of the rows of each thread, by start; empty when the table is.
    pub(super) of_thread: Vec<Vec<u32>>,
    /// Those that name no thread.
    pub(super) of_none: Vec<u32>,
}

impl ByThread {
    pub(super) fn new(threads: &[u32], times: &Times, count: usize) -> Self {
        // Most recordings have no rows of some kinds, and threads can be many.
        let mut of_thread = vec![Vec::new(); if threads.is_empty() { 0 } else { count }];
        let mut of_none = Vec::new();
        for (index, thread) in (0_u32..).zip(threads) {
            of_thread.get_mut(*thread as usize).unwrap_or(&mut of_none).push(index);
        }
        let start = |index: &u32| times.get(*index as usize).map_or(i64::MAX, |times| times.start);
        for list in of_thread.iter_mut().chain([&mut of_none]) {
            if !list.is_sorted_by_key(start) {
                list.sort_by_key(start);
            }
        }
        Self { of_thread, of_none }
    }
}
