//! Reads what a thread did for one device.

use std::ops::Range;

use super::accounts::Account;
use super::activity::{Activity, Did};
use super::ahead::{Done, Waited};
use super::calm::Calm;
use super::idle::{HostBesideCopies, IdleReading};
use super::open_ranges::OpenRanges;
use super::queries::{Guess, Query, QueryCursor};
use super::question::Question;
use super::reading::Piece;
use super::sparing;
use super::wins::{Ended, EndedInPart, Wins};
use crate::limits::max_open_ranges;
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::union::{Follower, Union};
use crate::timeline::{CpuSamples, LocationCursor, NONE, NameId, StackedCalls, Timeline};

/// The samples of a thread, read in time order.
#[derive(Default)]
struct SampleCursor<'all> {
    /// When they were taken.
    times: &'all [i64],
    /// The index of the first of them.
    first: usize,
    /// How many of them have been read.
    read: usize,
    near: Near,
}

impl<'all> SampleCursor<'all> {
    fn new(samples: &'all CpuSamples, thread: u32) -> Self {
        let own = samples.of_thread(thread);
        let times = samples.time_ns.get(own.clone()).unwrap_or_default();
        Self { times, first: own.start, read: 0, near: Near::default() }
    }

    /// Those of an interval, by their indices. Intervals come in time order.
    fn within(&mut self, interval: Interval) -> Range<u32> {
        let times = self.times;
        // Most threads have none, most pieces hold none, and all are asked for millions of times.
        if times.get(self.read).is_none_or(|next| *next >= interval.end) {
            return 0..0;
        }
        let mut before =
            |moment: i64| self.near.partition_point(times.len(), |index| times[index] < moment).max(self.read);
        let (first, end) = (before(interval.start), before(interval.end));
        self.read = end.max(first);
        (self.first + first) as u32..(self.first + self.read) as u32
    }
}

/// Calls of the OS that call each other, at most: one that began further back has ended.
const MAX_NESTED_CALLS: usize = 8;

/// The calls of the OS of a thread that have stacks, read in time order.
struct StackedCursor<'all> {
    calls: &'all StackedCalls,
    /// When those of the thread begin.
    starts: &'all [i64],
    /// The index of the first of them.
    first: usize,
    /// How many of them have begun.
    begun: usize,
    /// When the last of these ends that may still be open.
    until: i64,
    near: Near,
}

impl<'all> StackedCursor<'all> {
    fn new(calls: &'all StackedCalls, thread: Option<u32>) -> Self {
        let own = thread.map_or(0..0, |thread| calls.samples.of_thread(thread));
        let starts = calls.samples.time_ns.get(own.clone()).unwrap_or_default();
        Self { calls, starts, first: own.start, begun: 0, until: i64::MIN, near: Near::default() }
    }

    /// The innermost that an interval lies in, by its index. Intervals come in time order.
    fn at(&mut self, interval: Interval) -> Option<u32> {
        let starts = self.starts;
        let open = |begun: usize| (self.first..self.first + begun).rev().take(MAX_NESTED_CALLS);
        let end = |row: usize| self.calls.interval(row).end;
        if starts.get(self.begun).is_some_and(|next| *next <= interval.start) {
            self.begun = self.near.partition_point(starts.len(), |index| starts[index] <= interval.start);
            self.until = open(self.begun).map(end).fold(i64::MIN, i64::max);
        }
        // Most pieces lie in none.
        if self.until < interval.end {
            return None;
        }
        open(self.begun).find(|row| end(*row) >= interval.end).map(|row| row as u32)
    }
}

/// How far a thread has been read for one device: the queries of a device follow each other in time.
pub(super) struct Cursor<'all> {
    device: usize,
    reading: IdleReading,
    storms: Follower<'all>,
    slow_steps: Follower<'all>,
    restarts: Follower<'all>,
    rounds: Follower<'all>,
    loading: Follower<'all>,
    queries: QueryCursor<'all>,
    /// The query that is looked at.
    query: Option<Query>,
    /// Its trigger, once its first moment is known.
    trigger: Option<(Account, NameId)>,
    /// What the thread did in it so far.
    done: Done,
    /// How long it was in host code in it since it last loaded code, nanoseconds.
    host_ns: i64,
    /// The same of a query beside copies.
    beside_copies: Option<HostBesideCopies>,
    /// What its stretches win from the waits before them.
    wins: Wins,
    process: u32,
    open_ranges: Option<OpenRanges<'all>>,
    places: Option<LocationCursor<'all>>,
    samples: SampleCursor<'all>,
    stacked: StackedCursor<'all>,
    start_up: Interval,
    /// Whether what the thread did is told in sums: of no calls, ranges, samples and places.
    is_in_sums: bool,
    /// Where nothing begins or ends.
    calm: Calm,
}

impl<'all> Cursor<'all> {
    pub(super) fn new(
        timeline: &'all Timeline,
        question: &Question<'all>,
        loading: &'all Union,
        is_in_sums: bool,
    ) -> Self {
        // What explains sums further would have to be read piece by piece.
        let thread = (!is_in_sums).then_some(question.thread);
        let ranges = thread.and_then(|thread| timeline.ranges.of_thread(thread));
        let mut queries = QueryCursor::within(question.queries, question.asked);
        let follow = |union| Follower::from(union, question.asked.start);
        Self {
            device: question.device,
            reading: IdleReading::default(),
            storms: follow(question.storms),
            slow_steps: follow(question.slow_steps),
            restarts: follow(question.restarts),
            rounds: follow(question.rounds),
            loading: Follower::new(loading),
            query: queries.next(),
            queries,
            trigger: None,
            done: Done::default(),
            host_ns: 0,
            beside_copies: None,
            wins: Wins::default(),
            process: timeline.process_of(question.thread),
            open_ranges: ranges
                .filter(|_| !question.queries.is_empty())
                .map(|ranges| OpenRanges::new(ranges, question.is_optimizer, timeline.devices.len()))
                .map(|open| open.with_last_ends(question.last_ends)),
            places: thread
                .and_then(|thread| timeline.call_locations.of_thread(thread))
                .map(|ranges| LocationCursor::new(ranges, max_open_ranges(timeline.devices.len()))),
            samples: thread.map_or_else(SampleCursor::default, |own| SampleCursor::new(&timeline.cpu_samples, own)),
            stacked: StackedCursor::new(&timeline.os_stacks, thread),
            start_up: question.start_up,
            is_in_sums,
            calm: Calm::default(),
        }
    }

    /// Reads a part of what is asked: what is before it is not known yet.
    pub(super) fn of_part(self) -> Self {
        Self { wins: Wins::of_part(), ..self }
    }

    /// Whether anything is asked about the time before a moment that has not been answered.
    pub(super) fn asks_by(&self, moment: i64) -> bool {
        self.query.is_some_and(|query| query.stretch.start < moment)
    }

    /// When anything begins or ends that what the thread did is held against, after a moment up to which all was visited: what it did until
    /// then may be handed over in sums.
    pub(super) fn next_edge(&mut self, now: i64) -> i64 {
        let Some(query) = self.query else { return i64::MAX };
        if query.stretch.start > now {
            return query.stretch.start;
        }
        // The first moment of a stretch tells what it began with.
        if self.trigger.is_none() || query.host.end <= now {
            return now;
        }
        let unions = [&mut self.storms, &mut self.slow_steps, &mut self.restarts, &mut self.rounds];
        let of_unions = unions.into_iter().map(|union| union.next_edge(now));
        let of_start_up = [self.start_up.start, self.start_up.end].into_iter().filter(|edge| *edge > now);
        of_unions.chain(of_start_up).fold(query.host.end, i64::min)
    }

    /// Leaves behind the queries that end before a moment.
    fn advance(&mut self, waited: &Waited, moment: i64) {
        while let Some(query) = self.query.filter(|query| query.host.end <= moment) {
            self.settle(waited, query);
            self.query = self.queries.next();
        }
    }

    /// Books what a query that has been read can win from the waits before it. What no call asked for would not come
    /// earlier if the host did.
    fn settle(&mut self, waited: &Waited, query: Query) {
        let done = std::mem::take(&mut self.done);
        self.host_ns = 0;
        if let Some(beside) = self.beside_copies.take() {
            sparing::push(&mut self.reading.host_beside_copies, beside);
        }
        let Some(trigger) = self.trigger.take().filter(|_| query.guess.is_none()) else { return };
        let ended = Ended { trigger, of_host_ns: query.of_host().len_ns(), done, copies: query.copies };
        self.wins.take(&mut self.reading, self.process, waited, ended);
    }

    /// Hands what the thread did to every query that it overlaps.
    pub(super) fn visit(&mut self, waited: &Waited, did: Did) {
        #[cfg(test)]
        {
            self.reading.visited_count += 1;
        }
        if self.calm.holds(did) {
            return self.visit_in_calm(did);
        }
        self.add_calm(did.time.start);
        self.visit_each(waited, did);
        if self.calm.is_next_worth_while(did.time.end) {
            self.find_calm(did.time.end);
        }
    }

    fn visit_each(&mut self, waited: &Waited, did: Did) {
        let (process, interval) = (self.process, did.time);
        self.advance(waited, interval.start);
        while let Some(query) = self.query.filter(|query| query.stretch.start < interval.end) {
            let part = query.host.clip(interval);
            let activity = query.meant(did.activity, did.is_named);
            // A wait for memory that moves in pieces: the device has what it is to do.
            let is_queued = query.guess == Some(Guess::Migration) && activity == Activity::Sync;
            let account = if is_queued { Account::IdleQueue } else { activity.account() };
            // What waits asks for nothing.
            let name = if is_queued { NONE } else { did.name };
            let is_first = self.trigger.is_none();
            let asked = if is_queued { Account::AfterQueued } else { activity.trigger() };
            let begun = || (query.stretch, query.guess.is_none().then(|| query.late_start_ns()));
            let (trigger, trigger_name) =
                *self.trigger.get_or_insert_with(|| self.reading.begin(process, begun(), asked, name));
            if is_first {
                self.begin(trigger, query);
            }
            self.place(part, account, is_first.then_some((trigger, query.stretch)));
            self.done.add(part, activity);
            let piece = Piece { interval: part, activity: account, trigger, trigger_name };
            self.take(query.stretch, &piece, name);
            if is_queued {
                self.reading.queued_migration_ns += part.len_ns();
            }
            if let Some(open_ranges) = &mut self.open_ranges {
                open_ranges.take(&piece);
            }
            self.add_up(query, &piece);
            if query.guess.is_some() && activity == Activity::Host && !query.is_seldom_migration() {
                self.reading.guessed_host_ns += part.len_ns();
            }
            if query.host.end > interval.end {
                break;
            }
            self.advance(waited, query.host.end);
        }
    }

    /// Takes what has to be taken piece by piece.
    fn take(&mut self, stretch: Interval, piece: &Piece, name: NameId) {
        let Piece { interval: part, activity: account, .. } = *piece;
        self.reading.book(account, if self.is_in_sums { NONE } else { name }, part);
        if !self.is_in_sums && part.len_ns() > 0 {
            self.reading.host_run.take(account, part);
        }
        self.reading.in_stretches[account].add_of(stretch, part);
        match account {
            Account::IdleHost => self.reading.host_and_rounds.add(part, &mut self.rounds),
            Account::IdleBlocked => {
                if let Some(call) = self.stacked.at(part) {
                    *self.reading.stacked_ns.entry(call).or_default() += part.len_ns();
                }
            }
            _ => {}
        }
        let samples = self.samples.within(part);
        if !samples.is_empty() {
            self.reading.samples[account].extend(samples);
        }
    }

    /// Takes what may be taken of several pieces of one kind at once, as if they were one, where nothing begins or ends meanwhile.
    fn add_up(&mut self, query: Query, piece: &Piece) {
        if let Some(beside) = &mut self.beside_copies {
            beside.add(piece.interval, piece.activity);
        }
        if query.guess.is_none() {
            self.reading.take(self.process, *piece);
        }
        self.book(query, piece);
    }

    /// Looks for when anything begins or ends next, after a moment up to which all was visited.
    fn find_calm(&mut self, now: i64) {
        let is_in_query = |query: Query| query.guess.is_none() && query.stretch.start <= now && now < query.host.end;
        // Where places are known, each moment has one.
        if self.is_in_sums || self.places.is_some() || !self.query.is_some_and(is_in_query) {
            return;
        }
        let edge = self.open_ranges.as_mut().map_or(i64::MAX, |ranges| ranges.edge_after(now));
        let edge = edge.min(self.next_edge(now));
        self.calm.begin(Interval::new(now, edge));
    }

    fn visit_in_calm(&mut self, did: Did) {
        let (Some(query), Some((trigger, trigger_name))) = (self.query, self.trigger) else { return };
        let activity = did.activity.account();
        self.take(query.stretch, &Piece { interval: did.time, activity, trigger, trigger_name }, did.name);
        self.calm.add(activity, did.time.len_ns());
    }

    /// Takes the sums of what was done where nothing began or ended.
    fn add_calm(&mut self, now: i64) {
        let (Some(query), Some((trigger, trigger_name))) = (self.query, self.trigger) else { return };
        for (activity, interval) in self.calm.take_sums(now) {
            let piece = Piece { interval, activity, trigger, trigger_name };
            if let Some(open_ranges) = &mut self.open_ranges {
                open_ranges.book(&piece, interval.len_ns());
            }
            self.add_up(query, &piece);
        }
    }

    /// Books a piece of a query by where it lies.
    fn book(&mut self, query: Query, piece: &Piece) {
        let Piece { interval: part, activity, .. } = *piece;
        self.reading.in_slow_steps[activity] += self.slow_steps.overlap_ns(part);
        self.reading.in_restarts[activity] += self.restarts.overlap_ns(part);
        self.reading.in_start_up[activity] += self.start_up.overlap_ns(part);
        match activity {
            Account::IdleHost => self.host_ns += part.len_ns(),
            Account::IdleLoad => self.reading.add_before_load(query.stretch.end, std::mem::take(&mut self.host_ns)),
            Account::IdleLaunch => {
                self.reading.storm_launch_ns += self.storms.overlap_ns(part);
                self.reading.host_and_rounds.launch_ns += self.rounds.overlap_ns(part);
            }
            _ => {}
        }
    }

    /// Books where a stretch lies by what it began with.
    fn begin(&mut self, trigger: Account, query: Query) {
        let stretch = query.stretch;
        self.beside_copies = query.copies.is_any().then(|| HostBesideCopies::new(query.copies, stretch));
        self.reading.summed_count += i64::from(self.is_in_sums);
        self.reading.in_start_up[trigger] += self.start_up.overlap_ns(stretch);
        if trigger == Account::AfterSync {
            self.reading.storm_after_sync_ns += self.storms.overlap_ns(stretch);
        }
    }

    /// Books a piece by where in the code the thread was, and a stretch that begins with it. Pieces come in time order.
    fn place(&mut self, part: Interval, account: Account, begun: Option<(Account, Interval)>) {
        let Some(places) = &mut self.places else { return };
        if let Some((trigger, stretch)) = begun {
            self.reading.book_source(trigger, places.at(part.start), stretch.len_ns());
        }
        let mut now = part.start;
        while now < part.end {
            let location = places.at(now);
            let until = places.until().min(part.end);
            let loading_ns = self.loading.overlap_ns(Interval::new(now, until));
            self.reading.book_place(account, location, (until - now, loading_ns));
            now = until;
        }
    }

    /// The device, what was read for it, and the stretches of a part that may win something.
    pub(super) fn finish(mut self, waited: &Waited) -> (usize, IdleReading, Vec<EndedInPart>) {
        self.add_calm(i64::MAX);
        self.advance(waited, i64::MAX);
        let process = self.process;
        if let Some(open_ranges) = self.open_ranges.take() {
            self.reading.take_ranges(process, open_ranges.finish());
        }
        (self.device, self.reading, self.wins.into_part())
    }
}
