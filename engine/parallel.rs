//! Work on several threads with the results in the order of the items, whatever the number of threads.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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

    /// One more, of so many.
    pub(crate) fn and_one_more(self, of: Self) -> Self {
        Self((self.0 + 1).min(of.0).max(1))
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

/// How far the items are that are worked on side by side and taken in their order.
struct InOrder<R> {
    /// The next that is worked on, and the next that is taken.
    next: usize,
    turn: usize,
    /// What was made of items that wait for those before them.
    made: BTreeMap<usize, R>,
    /// What those weigh that are worked on, or wait.
    held: usize,
    is_taking: bool,
    /// Whether one of the threads has panicked, so that a turn may never come.
    is_ended: bool,
}

/// Ends the others where a thread panics: they would wait for its turn.
struct EndsAll<'all, R>(&'all Mutex<InOrder<R>>, &'all Condvar);

impl<R> Drop for EndsAll<'_, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            locked(self.0).is_ended = true;
            self.1.notify_all();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes something of every item and has it taken in the order of the items. No more is begun while what is worked on, or waits for its
/// turn, weighs so much already; what weighs more by itself is worked on once all before it is taken.
pub(crate) fn in_order<T: Sync, R: Send>(
    threads: Threads,
    items: &[T],
    (most, weight): (usize, impl Fn(&T) -> usize + Sync),
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(R) + Send,
) {
    let threads = threads.at_most(items.len());
    if threads < 2 {
        return items.iter().for_each(|item| take(work(item)));
    }
    let state = InOrder { next: 0, turn: 0, made: BTreeMap::new(), held: 0, is_taking: false, is_ended: false };
    let (state, moved, take) = (Mutex::new(state), Condvar::new(), Mutex::new(take));
    let begin = || {
        let mut now = locked(&state);
        loop {
            let (index, item) = (now.next, items.get(now.next).filter(|_| !now.is_ended)?);
            let weight = weight(item);
            if now.turn == index || now.held.saturating_add(weight) <= most {
                now.next += 1;
                now.held = now.held.saturating_add(weight);
                return Some((index, item));
            }
            now = moved.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
    };
    // Whoever finds the next in turn takes all that follow it.
    let hand_over = |index: usize, made: R| {
        let mut now = locked(&state);
        now.made.insert(index, made);
        while !now.is_taking {
            let turn = now.turn;
            let Some(made) = now.made.remove(&turn) else { return };
            now.is_taking = true;
            drop(now);
            locked(&take)(made);
            now = locked(&state);
            now.is_taking = false;
            now.turn += 1;
            now.held = now.held.saturating_sub(items.get(turn).map_or(0, &weight));
            moved.notify_all();
        }
    };
    let run = || {
        let _ends_all = EndsAll(&state, &moved);
        while let Some((index, item)) = begin() {
            hand_over(index, work(item));
        }
    };
    std::thread::scope(|scope| {
        // This thread works as well: it has memory to use again.
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_is_taken_in_order_waits_for_its_turn_and_weighs_no_more_than_it_may() {
        let items: Vec<usize> = (0..500).collect();
        // Each thirtieth weighs more than all may.
        let weight = |item: &usize| if item.is_multiple_of(30) { 50 } else { 1 + item % 7 };
        for threads in [1, 2, 3, 8] {
            let (held, most_held, mut taken) = (AtomicUsize::new(0), AtomicUsize::new(0), Vec::new());
            let work = |item: &usize| {
                let now = held.fetch_add(weight(item), Ordering::SeqCst) + weight(item);
                most_held.fetch_max(now, Ordering::SeqCst);
                if item.is_multiple_of(11) {
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                *item
            };
            super::in_order(super::Threads::new(Some(threads)), &items, (20, weight), work, |item| {
                held.fetch_sub(weight(&item), Ordering::SeqCst);
                taken.push(item);
            });
            assert_eq!(taken, items);
            assert!(most_held.into_inner() <= 50 + 20, "with {threads} threads");
        }
    }

    #[test]
    fn a_panic_of_one_ends_all_that_wait_for_it() {
        let items: Vec<usize> = (0..100).collect();
        let work = |item: &usize| assert_ne!(*item, 3);
        let panics = || super::in_order(super::Threads::new(Some(4)), &items, (1, |_: &usize| 1), work, |()| {});
        assert!(std::panic::catch_unwind(panics).is_err());
    }

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
