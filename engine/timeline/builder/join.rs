//! Finds the API call that asked for a GPU operation: on process and correlation id, since ids repeat between processes.

use crate::timeline::{NONE, Thread};

/// The API calls of one process by correlation id.
#[derive(Debug)]
enum Calls {
    /// Ids close together: an array from the smallest.
    Dense { first: u32, calls: Vec<u32> },
    /// Ids far apart: id and call, by id.
    Sparse { calls: Vec<(u32, u32)> },
}

/// The API calls of a report by process and correlation id.
#[derive(Debug, Default)]
pub(super) struct Join {
    /// By index of the process, those of no process last.
    by_process: Vec<Option<Calls>>,
    /// The only process that has any.
    only: Option<usize>,
}

impl Join {
    /// Of the thread and correlation id of every call, by its index. When an id repeats within a process the first call
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
        for (index, (process, id)) in (0_u32..).zip(rows()).filter(|(_, (_, id))| *id != NONE) {
            if let Some(calls) = &mut by_process[process] {
                calls.insert(id, index);
            }
        }
        by_process.iter_mut().flatten().for_each(Calls::sort);
        let mut having = by_process.iter().enumerate().filter(|(_, calls)| calls.is_some()).map(|(process, _)| process);
        let only = having.next().filter(|_| having.next().is_none());
        Self { by_process, only }
    }

    /// The processes that have any.
    pub(super) fn callers(&self) -> Vec<u32> {
        let processes = self.by_process.split_last().map_or(&[][..], |(_, of_processes)| of_processes);
        (0_u32..).zip(processes).filter(|(_, calls)| calls.is_some()).map(|(process, _)| process).collect()
    }

    /// The call that a process made with this id, or [`NONE`]. An operation that names no process is looked up in the
    /// only process there is. Operations mostly run in the order of their ids: a search begins `near` where the last one ended.
    pub(super) fn find(&self, process: u32, id: u32, near: &mut usize) -> u32 {
        let last = self.by_process.len().saturating_sub(1);
        let index = if process == NONE { self.only.unwrap_or(last) } else { process as usize };
        let calls = self.by_process.get(index).and_then(Option::as_ref);
        calls.and_then(|calls| calls.get(id, near)).unwrap_or(NONE)
    }
}

impl Calls {
    fn new(first: u32, last: u32, count: u64) -> Self {
        let span = u64::from(last - first) + 1;
        if span <= 8 * count {
            Self::Dense { first, calls: vec![NONE; span as usize] }
        } else {
            Self::Sparse { calls: Vec::with_capacity(count as usize) }
        }
    }

    fn insert(&mut self, id: u32, index: u32) {
        match self {
            Self::Dense { first, calls } => {
                if let Some(slot) = calls.get_mut((id - *first) as usize).filter(|slot| **slot == NONE) {
                    *slot = index;
                }
            }
            Self::Sparse { calls } => calls.push((id, index)),
        }
    }

    /// Ends inserting. The first call of an id stays.
    fn sort(&mut self) {
        if let Self::Sparse { calls } = self {
            calls.sort();
            calls.dedup_by_key(|(id, _)| *id);
        }
    }

    fn get(&self, id: u32, near: &mut usize) -> Option<u32> {
        match self {
            Self::Dense { first, calls } => calls.get(id.checked_sub(*first)? as usize).copied(),
            Self::Sparse { calls } => {
                let begin = (*near).min(calls.len());
                let rest = &calls[begin..];
                let index = match rest.iter().take(NEAR).position(|(known, _)| *known >= id) {
                    Some(index) if index > 0 || rest.first()?.0 == id => begin + index,
                    _ => calls.partition_point(|(known, _)| *known < id),
                };
                *near = index;
                calls.get(index).filter(|(known, _)| *known == id).map(|(_, call)| *call)
            }
        }
    }
}

/// Calls that are looked at one by one before all are searched.
const NEAR: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_call_of_process_and_id_is_found(
            calls in proptest::collection::vec((0..4_u32, 0..40_u32), 0..60),
            apart in prop_oneof![Just(1_u32), Just(100_000_u32)],
            asked in proptest::collection::vec((0..3_u32, 0..42_u32), 0..60),
        ) {
            let threads: Vec<Thread> = [0, 1, 1, NONE].into_iter().zip(0..).map(|(process, id)| Thread { process, id }).collect();
            let callers: Vec<u32> = calls.iter().map(|(thread, _)| *thread).collect();
            let ids: Vec<u32> = calls.iter().map(|(_, id)| id * apart).collect();
            let join = Join::new(&threads, 2, &callers, &ids);
            let mut near = 0;
            for (process, id) in asked {
                let process = if process == 2 { NONE } else { process };
                let of = |thread: u32| threads[thread as usize].process;
                let having: std::collections::BTreeSet<u32> = callers.iter().map(|thread| of(*thread)).collect();
                let wanted = if process == NONE && having.len() == 1 { *having.first().unwrap() } else { process };
                let expected = calls.iter().position(|(thread, known)| of(*thread) == wanted && *known == id);
                prop_assert_eq!(join.find(process, id * apart, &mut near), expected.map_or(NONE, |index| index as u32));
            }
        }
    }
}
