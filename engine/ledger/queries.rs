//! The idle stretches that one thread has to explain, kept small: a recording has them by the million.

use super::activity::Activity;
use super::idle::Copies;
use crate::timeline::Times;
use crate::timeline::interval::Interval;

/// What ends a stretch without a call that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    /// Unified memory that moves.
    Migration,
    /// Work whose call was not recorded.
    Unrecorded,
}

/// A stretch to be read on a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) stretch: Interval,
    /// The part of it that the thread has to explain: until the launch had returned.
    pub(super) host: Interval,
    /// Why the thread is only guessed, if it is.
    pub(super) guess: Option<Guess>,
    /// The copies that the stretch lies between.
    pub(super) copies: Copies,
}

/// Host code that works on unified memory meets the next page sooner than this: a page holds what it reads in far less.
pub(super) const MOST_BETWEEN_FAULTS_NS: i64 = 5_000_000;

impl Query {
    /// Whether it leads to a migration after more time than code takes that works on unified memory: something else fills that.
    pub(super) fn is_seldom_migration(&self) -> bool {
        self.guess == Some(Guess::Migration) && self.stretch.len_ns() > MOST_BETWEEN_FAULTS_NS
    }

    /// What an activity of the thread is to it; `is_named` of a call with a name.
    pub(super) fn meant(&self, activity: Activity, is_named: bool) -> Activity {
        match (self.guess, activity) {
            // A call that launches nothing of this is one that moves the memory, as a prefetch is.
            (Some(Guess::Migration), Activity::Launch) if is_named => Activity::CopyCall,
            // A thread that touches a page which is elsewhere leaves the CPU until it is there: that is its own code.
            (Some(Guess::Migration), Activity::OffCpu) if !self.is_seldom_migration() => Activity::Host,
            _ => activity,
        }
    }
}

/// Work that starts later than this after its launch had returned waits for something else than the host. Where nothing is queued,
/// it starts within some tens of microseconds.
const LATE_START_NS: i64 = 50_000;

impl Query {
    /// How long what ends it had been launched and did not start, where that is late: nothing of it is the host's.
    pub(super) fn late_start_ns(&self) -> i64 {
        let late_ns = self.stretch.end.saturating_sub(self.host.end);
        if self.guess.is_none() && late_ns > LATE_START_NS { late_ns } else { 0 }
    }

    /// The stretch as far as the host could have shortened it: without the time in which launched work did not start.
    pub(super) fn of_host(&self) -> Interval {
        Interval::new(self.stretch.start, if self.late_start_ns() > 0 { self.host.end } else { self.stretch.end })
    }
}

/// Stretches to be read on one thread, in time order.
#[derive(Debug, Default)]
pub(super) struct Queries {
    stretches: Times,
    hosts: Times,
    /// The indices of those whose thread is guessed, and why.
    guesses: Vec<(u32, Guess)>,
    /// The indices of those that a copy lies beside, with the copies.
    copies: Vec<(u32, Copies)>,
}

impl Queries {
    pub(super) fn push(&mut self, query: Query) {
        if let Some(guess) = query.guess {
            self.guesses.push((self.stretches.len() as u32, guess));
        }
        if query.copies.is_any() {
            self.copies.push((self.stretches.len() as u32, query.copies));
        }
        self.stretches.push(query.stretch);
        self.hosts.push(query.host);
    }

    /// What of each the thread has to explain.
    pub(super) fn hosts(&self) -> impl Iterator<Item = Interval> + '_ {
        self.hosts.iter()
    }

    /// The same of the last one.
    pub(super) fn last_host(&self) -> Option<Interval> {
        self.hosts.last()
    }
}

/// Reads queries one after the other, which come in lists that follow each other.
#[derive(Debug)]
pub(super) struct QueryCursor<'all> {
    /// The list that is read, and those after it.
    lists: &'all [Queries],
    /// The next one of that list.
    next: usize,
    /// What is left of these.
    guesses: &'all [(u32, Guess)],
    copies: &'all [(u32, Copies)],
    /// Those that begin then, or later, are not read.
    until: i64,
}

impl<'all> QueryCursor<'all> {
    /// Reads those of lists that begin in an interval.
    pub(super) fn within(lists: &'all [Queries], asked: Interval) -> Self {
        let is_before = |stretch: Interval| stretch.start < asked.start;
        let first = lists.iter().position(|list| list.stretches.last().is_some_and(|last| !is_before(last)));
        let mut cursor =
            Self { until: asked.end, ..Self::new(first.and_then(|first| lists.get(first..)).unwrap_or_default()) };
        let Some(list) = cursor.lists.first() else { return cursor };
        cursor.next = list.stretches.partition_point(0, is_before);
        let read = cursor.next as u32;
        cursor.guesses = &list.guesses[list.guesses.partition_point(|(of, _)| *of < read)..];
        cursor.copies = &list.copies[list.copies.partition_point(|(of, _)| *of < read)..];
        cursor
    }

    /// Reads lists from the first one on.
    fn new(lists: &'all [Queries]) -> Self {
        let (guesses, copies) = lists.first().map_or((&[][..], &[][..]), |first| (&first.guesses, &first.copies));
        Self { lists, next: 0, guesses, copies, until: i64::MAX }
    }

    pub(super) fn next(&mut self) -> Option<Query> {
        let (list, later) = self.lists.split_first()?;
        let index = self.next;
        let Some((stretch, host)) = list.stretches.get(index).zip(list.hosts.get(index)) else {
            *self = Self { until: self.until, ..Self::new(later) };
            return self.next();
        };
        if stretch.start >= self.until {
            return None;
        }
        self.next += 1;
        let mut query = Query { stretch, host, guess: None, copies: Copies::default() };
        if let Some(((of, guess), rest)) = self.guesses.split_first()
            && *of as usize == index
        {
            (query.guess, self.guesses) = (Some(*guess), rest);
        }
        if let Some(((of, copies), rest)) = self.copies.split_first()
            && *of as usize == index
        {
            (query.copies, self.copies) = (*copies, rest);
        }
        Some(query)
    }
}

/// How many queries of lists begin in an interval.
pub(super) fn count_within(lists: &[Queries], asked: Interval) -> usize {
    let before = |list: &Queries, moment: i64| list.stretches.partition_point(0, |stretch| stretch.start < moment);
    lists.iter().map(|list| before(list, asked.end).saturating_sub(before(list, asked.start))).sum()
}

/// When a thread is asked about nothing, from a moment on: from the end of each query to the begin of the next.
pub(super) fn pauses_from(lists: &[Queries], moment: i64) -> impl Iterator<Item = Interval> + '_ {
    let mut queries = QueryCursor::within(lists, Interval::new(moment, i64::MAX));
    let mut last = queries.next();
    let pauses = std::iter::from_fn(move || {
        let (query, next) = (last?, queries.next()?);
        last = Some(next);
        // One of no length has begun and ended by the next moment.
        let ended = query.stretch.end.max(query.host.end).max(query.stretch.start.saturating_add(1));
        Some(Interval::new(ended, next.stretch.start))
    });
    pauses.filter(|pause| pause.len_ns() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_migration_for_long_does_something_else() {
        let is_seldom = |length_ns: i64, guess: Option<Guess>| {
            let stretch = Interval::new(10, 10 + length_ns);
            Query { stretch, host: stretch, guess, copies: Copies::default() }.is_seldom_migration()
        };
        assert!(is_seldom(5_000_001, Some(Guess::Migration)) && !is_seldom(5_000_000, Some(Guess::Migration)));
        assert!(!is_seldom(5_000_001, Some(Guess::Unrecorded)) && !is_seldom(5_000_001, None));
    }

    #[test]
    fn what_starts_late_is_none_of_the_hosts_time() {
        let late = |host_ns: i64, guess: Option<Guess>| {
            let (stretch, host) = (Interval::new(0, 100_000), Interval::new(0, host_ns));
            let query = Query { stretch, host, guess, copies: Copies::default() };
            (query.late_start_ns(), query.of_host().len_ns())
        };
        assert_eq!(late(49_999, None), (50_001, 49_999));
        assert_eq!(late(50_000, None), (0, 100_000), "soon enough for work that nothing is queued before");
        assert_eq!(late(0, Some(Guess::Unrecorded)), (0, 100_000), "nobody knows when it was launched");
    }
}
