//! Finds the API call that asked for a GPU operation: on process and correlation id, since ids repeat between processes.

use rustc_hash::FxHashMap;

use crate::timeline::{NONE, Thread};

/// The API calls of one process by correlation id.
#[derive(Debug)]
enum Calls {
    /// Ids close together: an array from the smallest.
    Dense { first: u32, calls: Vec<u32> },
    /// Ids far apart.
    Sparse(FxHashMap<u32, u32>),
}

/// The API calls of a report by process and correlation id.
#[derive(Debug, Default)]
pub(super) struct Join {
    /// By place of the process, those of no process last.
    by_process: Vec<Option<Calls>>,
    /// The only process that has any.
    only: Option<usize>,
}

impl Join {
    /// Of the thread and correlation id of every call, by its place. When an id repeats within a process the first call
    /// counts.
    pub(super) fn new(threads: &[Thread], process_count: usize, callers: &[u32], correlations: &[u32]) -> Self {
        let process = |thread: u32| threads.get(thread as usize).map_or(NONE, |thread| thread.process) as usize;
        let rows = || {
            let of_row = |(thread, id): (&u32, &u32)| (process(*thread).min(process_count), *id);
            callers.iter().zip(correlations).map(of_row)
        };
        let mut spans: Vec<Option<(u32, u32, u64)>> = vec![None; process_count + 1];
        for (process, id) in rows().filter(|(_, id)| *id != NONE) {
            let (first, last, count) = spans[process].unwrap_or((id, id, 0));
            spans[process] = Some((first.min(id), last.max(id), count + 1));
        }
        let calls = |span: (u32, u32, u64)| Calls::new(span.0, span.1, span.2);
        let mut by_process: Vec<Option<Calls>> = spans.into_iter().map(|span| span.map(calls)).collect();
        for (place, (process, id)) in (0_u32..).zip(rows()).filter(|(_, (_, id))| *id != NONE) {
            if let Some(calls) = &mut by_process[process] {
                calls.insert(id, place);
            }
        }
        let mut having = by_process.iter().enumerate().filter(|(_, calls)| calls.is_some()).map(|(process, _)| process);
        let only = having.next().filter(|_| having.next().is_none());
        Self { by_process, only }
    }

    /// The call that a process made with this id, or [`NONE`]. An operation that names no process is looked up in the
    /// only process there is.
    pub(super) fn find(&self, process: u32, id: u32) -> u32 {
        let last = self.by_process.len().saturating_sub(1);
        let place = if process == NONE { self.only.unwrap_or(last) } else { process as usize };
        let calls = self.by_process.get(place).and_then(Option::as_ref);
        calls.and_then(|calls| calls.get(id)).unwrap_or(NONE)
    }
}

impl Calls {
    fn new(first: u32, last: u32, count: u64) -> Self {
        let span = u64::from(last - first) + 1;
        if span <= 8 * count + 1_024 {
            Self::Dense { first, calls: vec![NONE; span as usize] }
        } else {
            Self::Sparse(FxHashMap::default())
        }
    }

    fn insert(&mut self, id: u32, place: u32) {
        match self {
            Self::Dense { first, calls } => {
                if let Some(slot) = calls.get_mut((id - *first) as usize).filter(|slot| **slot == NONE) {
                    *slot = place;
                }
            }
            Self::Sparse(calls) => {
                calls.entry(id).or_insert(place);
            }
        }
    }

    fn get(&self, id: u32) -> Option<u32> {
        match self {
            Self::Dense { first, calls } => calls.get(id.checked_sub(*first)? as usize).copied(),
            Self::Sparse(calls) => calls.get(&id).copied(),
        }
    }
}
