//! Work on several threads with the results in the order of the items, whatever the number of threads.

use std::sync::Mutex;

/// How many threads work at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threads(usize);

/// More threads than these win little, and each holds memory of its own: what a review takes is not to depend on the machine.
const MOST_UNASKED: usize = 8;
/// GPUs that are looked at side by side at most: each thread then holds lists of its own of what all of them share.
const MOST_DEVICES_AT_ONCE: usize = 4;

impl Threads {
    /// As many as asked for, or as the machine has, up to eight.
    pub(crate) fn new(wanted: Option<usize>) -> Self {
        let all = || std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get).min(MOST_UNASKED);
        Self(wanted.unwrap_or_else(all).max(1))
    }

    /// The same for work on GPUs, one each.
    pub(crate) fn for_devices(self) -> Self {
        Self(self.0.min(MOST_DEVICES_AT_ONCE))
    }

    /// What each of several jobs that run side by side may use.
    pub(crate) fn within(self, jobs: usize) -> Self {
        Self((self.0 / jobs.max(1)).max(1))
    }

    /// No more than there is work for, and at least one.
    pub(crate) fn at_most(self, jobs: usize) -> usize {
        self.0.clamp(1, jobs.max(1))
    }
}

/// Applies a function to every item, on no more threads than there are items.
pub(crate) fn map<I, R>(threads: Threads, items: I, work: impl Fn(I::Item) -> R + Sync) -> Vec<R>
where
    I: IntoIterator<IntoIter: ExactSizeIterator + Send>,
    R: Send,
{
    let items = items.into_iter();
    let threads = threads.at_most(items.len());
    if threads < 2 {
        return items.map(work).collect();
    }
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let items = Mutex::new(items.enumerate());
    let next = || items.lock().ok()?.next();
    let take = || {
        while let Some((index, item)) = next() {
            let result = work(item);
            if let Ok(mut results) = results.lock() {
                results.push((index, result));
            }
        }
    };
    std::thread::scope(|scope| {
        // This thread works as well: it has memory to use again.
        for _ in 1..threads {
            scope.spawn(take);
        }
        take();
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Does two things, side by side if there are threads for both.
pub(crate) fn both<A: Send, B>(threads: Threads, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    if threads.at_most(2) < 2 {
        return (one(), other());
    }
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        // A panic goes on as one.
        (one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), other)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..1_000).collect();
        assert_eq!(
            super::map(super::Threads::new(Some(3)), &items, |item| item * 2),
            items.iter().map(|item| item * 2).collect::<Vec<_>>()
        );
        assert!(super::map(super::Threads::new(None), &[] as &[u32], |item| *item).is_empty());
    }
}
