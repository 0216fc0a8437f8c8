//! Finds the API call that asked for a GPU operation: on process and correlation id, since ids repeat between processes.

use rustc_hash::FxHashMap;

use crate::timeline::NONE;

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
    by_process: FxHashMap<u32, Calls>,
}

impl Join {
    /// Of the process and correlation id of every call, by its place. When an id repeats within a process the first call
    /// counts.
    pub(super) fn new(processes: impl Iterator<Item = u32> + Clone, correlations: &[u32]) -> Self {
        let keyed = || processes.clone().zip(correlations.iter().copied()).filter(|(_, id)| *id != NONE);
        let mut spans: FxHashMap<u32, (u32, u32, u64)> = FxHashMap::default();
        for (process, id) in keyed() {
            let span = spans.entry(process).or_insert((id, id, 0));
            *span = (span.0.min(id), span.1.max(id), span.2 + 1);
        }
        let mut by_process: FxHashMap<u32, Calls> = spans
            .into_iter()
            .map(|(process, (first, last, count))| (process, Calls::new(first, last, count)))
            .collect();
        for (place, (process, id)) in (0_u32..).zip(processes.clone().zip(correlations.iter().copied())) {
            if id != NONE
                && let Some(calls) = by_process.get_mut(&process)
            {
                calls.insert(id, place);
            }
        }
        Self { by_process }
    }

    /// The call that a process made with this id, or [`NONE`]. An operation that names no process is looked up in the
    /// only process there is.
    pub(super) fn find(&self, process: u32, id: u32) -> u32 {
        let calls = if process == NONE && self.by_process.len() == 1 {
            self.by_process.values().next()
        } else {
            self.by_process.get(&process)
        };
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
