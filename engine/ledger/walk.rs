//! Each thread that has idle stretches to explain is walked once, for all devices.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use super::accounts::Account;
use super::activity::Activity;
use super::after_waits::WaitInRange;
use super::ahead::{Done, Lead, Waited};
use super::host::Calls;
use super::idle::{HostBesideCopies, IdleReading, WonBesideCopies};
use super::of_thread::{OfThread, tell_threads};
use super::open_ranges::OpenRanges;
use super::queries::{Guess, Queries, Query, QueryCursor};
use super::reading::{Drained, Piece, RangeIdle, TimeSum};
use super::sparing;
use super::stretches::Unread;
use crate::limits::{max_call_names, max_open_ranges, max_waits_in_ranges};
use crate::parallel::{self, Threads};
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::union::{Follower, Union};
use crate::timeline::{CpuSamples, LocationCursor, NONE, NameId, StackedCalls, ThreadRanges, Timeline};

/// Batches of threads: threads can be hundreds of thousands, and those of a batch are put together at once.
const MAX_BATCHES: usize = 1024;
/// Bytes that the readings of batches may take that are walked, or wait for those before them: one that takes more is walked alone.
const MAX_WALKED_BYTES: usize = 64 << 20;
/// What a label, a name of a call, a place, and a wait within a range take of the reading of a thread, for each device that it is asked about: in their sums
/// by account, by what they drained, and in what finds them.
const LABEL_BYTES: usize = size_of::<RangeIdle>() + 32;
const NAME_BYTES: usize = size_of::<TimeSum>() + size_of::<Drained>() + 128;
const PLACE_BYTES: usize = 128;
const WAIT_BYTES: usize = 2 * (size_of::<WaitInRange>() + size_of::<i64>());

/// What one thread has to explain of one device.
struct Question<'all> {
    thread: u32,
    /// The index of the device among those asked about.
    device: usize,
    /// The stretches of short kernels of the device.
    storms: &'all Union,
    /// Its slow steps.
    slow_steps: &'all Union,
    /// Where loops over loaders begin anew.
    restarts: &'all Union,
    /// Its rounds.
    rounds: &'all Union,
    /// By label, whether its ranges are steps of an optimizer.
    is_optimizer: &'all [bool],
    queries: &'all [Queries],
    /// The window: waits count within it.
    window: Interval,
    /// The begin of that, before the work that repeats.
    start_up: Interval,
}

impl Question<'_> {
    /// From the begin of the window to the end of what is asked: up to there waits can win something.
    fn hull(&self) -> Interval {
        let last = self.queries.last().and_then(Queries::last_host);
        last.map_or(self.window, |last| self.window.hull(last))
    }
}

/// A device whose idle time is to be read.
pub(crate) struct IdleDevice<'all> {
    /// Its idle stretches.
    pub(crate) unread: Unread,
    /// Its stretches of short kernels.
    pub(crate) storms: &'all Union,
    /// Its steps that are slower than the others.
    pub(crate) slow_steps: &'all Union,
    /// Where loops over loaders of data end and begin anew.
    pub(crate) restarts: &'all Union,
    /// All that repeats: its rounds.
    pub(crate) rounds: &'all Union,
    /// The thread that launches most of its operations.
    pub(crate) main_thread: Option<u32>,
}

/// Reads the idle stretches of all devices.
pub(crate) fn read(
    timeline: &Timeline,
    calls: &Calls,
    mut devices: Vec<IdleDevice<'_>>,
    threads: Threads,
) -> Vec<IdleReading> {
    let readings = devices.iter_mut().map(|device| std::mem::take(&mut device.unread.reading));
    let mut readings: Vec<IdleReading> = readings.collect();
    let mut of_threads = Vec::new();
    walk_all(timeline, calls, &devices, threads, |batch| {
        for (device, part) in batch.parts {
            if let Some(reading) = readings.get_mut(device) {
                reading.merge(part);
            }
        }
        of_threads.extend(batch.threads);
    });
    let windows = devices.iter().map(|device| device.main_thread.map(|_| device.unread.window));
    tell_threads(&mut readings, windows, of_threads);
    readings
}

/// What some threads say.
#[derive(Default)]
struct Batch {
    /// By device.
    parts: BTreeMap<usize, IdleReading>,
    threads: Vec<OfThread>,
}

/// Takes what the threads say, by device, in parts: those of each batch as soon as those before it are taken.
fn walk_all(
    timeline: &Timeline,
    calls: &Calls,
    devices: &[IdleDevice<'_>],
    threads: Threads,
    take: impl FnMut(Batch) + Send,
) {
    let is_optimizer = timeline.optimizer_labels();
    let mut questions = questions(devices, is_optimizer);
    questions.sort_by_key(|question| (question.thread, question.device));
    let by_thread: Vec<_> = questions.chunk_by(|a, b| a.thread == b.thread).collect();
    let batches: Vec<_> = by_thread.chunks(by_thread.len().div_ceil(MAX_BATCHES).max(1)).collect();
    let weight = |batch: &&[&[Question<'_>]]| weight(timeline, calls, batch);
    parallel::in_order(threads, &batches, (MAX_WALKED_BYTES, weight), |batch| walk_batch(timeline, calls, batch), take);
}

/// Walks some threads, and puts together what they say of each device.
fn walk_batch(timeline: &Timeline, calls: &Calls, batch: &[&[Question<'_>]]) -> Batch {
    let mut all = Batch::default();
    for questions in batch {
        let (parts, of_thread) = walk(timeline, calls, questions);
        for (device, part) in parts {
            match all.parts.entry(device) {
                Entry::Vacant(vacant) => _ = vacant.insert(part),
                Entry::Occupied(mut known) => known.get_mut().merge(part),
            }
        }
        let tells = !of_thread.waits.is_empty() || !of_thread.loads.is_empty();
        all.threads.extend(Some(of_thread).filter(|_| tells));
    }
    all
}

/// Bytes that the readings of some threads take at most.
fn weight(timeline: &Timeline, calls: &Calls, batch: &[&[Question<'_>]]) -> usize {
    let of_thread = |questions: &&[Question<'_>]| {
        let Some(thread) = questions.first().map(|question| question.thread) else { return 0 };
        let rows = |ranges: Option<&ThreadRanges>| ranges.map_or(0, |ranges| ranges.times.len());
        let labels = rows(timeline.ranges.of_thread(thread)).min(timeline.ranges.labels.len());
        let names = calls.row_count(thread).min(max_call_names(timeline.devices.len()));
        let places = rows(timeline.call_locations.of_thread(thread));
        let waits = rows(timeline.ranges.of_thread(thread)).min(max_waits_in_ranges(timeline.devices.len()));
        let of_ranges = labels * LABEL_BYTES + waits * WAIT_BYTES;
        let bytes = size_of::<IdleReading>() + of_ranges + names * NAME_BYTES + places * PLACE_BYTES;
        bytes.saturating_mul(questions.len())
    };
    batch.iter().map(of_thread).fold(0, usize::saturating_add)
}

/// What every thread is asked. Flat: threads can be hundreds of thousands.
fn questions<'all>(devices: &'all [IdleDevice<'_>], is_optimizer: &'all [bool]) -> Vec<Question<'all>> {
    let mut questions = Vec::new();
    for (device, IdleDevice { unread, storms, slow_steps, restarts, rounds, main_thread }) in devices.iter().enumerate()
    {
        let Unread { window, start_up, .. } = *unread;
        let asked = |thread, queries: &'all [Queries]| Question {
            thread,
            device,
            storms,
            slow_steps,
            restarts,
            rounds,
            is_optimizer,
            queries,
            window,
            start_up,
        };
        questions.extend(unread.queries.iter().map(|(thread, queries)| asked(*thread, queries)));
        let silent = main_thread.filter(|main| !unread.queries.contains_key(main));
        questions.extend(silent.map(|thread| asked(thread, &[])));
    }
    questions
}

/// The samples of a thread, read in time order.
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
        // Most threads have none, and are asked millions of times.
        if self.read >= times.len() {
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
    near: Near,
}

impl<'all> StackedCursor<'all> {
    fn new(calls: &'all StackedCalls, thread: u32) -> Self {
        let own = calls.samples.of_thread(thread);
        let starts = calls.samples.time_ns.get(own.clone()).unwrap_or_default();
        Self { calls, starts, first: own.start, begun: 0, near: Near::default() }
    }

    /// The innermost that an interval lies in, by its index. Intervals come in time order.
    fn at(&mut self, interval: Interval) -> Option<u32> {
        let starts = self.starts;
        let begun = self.near.partition_point(starts.len(), |index| starts[index] <= interval.start);
        self.begun = self.begun.max(begun);
        let begun = self.first..self.first + self.begun;
        let inside = |row: &usize| self.calls.interval(*row).end >= interval.end;
        begun.rev().take(MAX_NESTED_CALLS).find(inside).map(|row| row as u32)
    }
}

/// How far a thread has been read for one device: the queries of a device follow each other in time.
struct Cursor<'all> {
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
    /// Whether the thread was polling or waiting in the OS at its first moment.
    began_waiting: bool,
    /// What the thread did in it so far.
    done: Done,
    /// How long it was in host code in it since it last loaded code, nanoseconds.
    host_ns: i64,
    /// The same of a query beside copies.
    beside_copies: Option<HostBesideCopies>,
    /// What the thread would be ahead without its waits, and has not been won.
    lead: Lead,
    process: u32,
    open_ranges: Option<OpenRanges<'all>>,
    places: Option<LocationCursor<'all>>,
    samples: SampleCursor<'all>,
    stacked: StackedCursor<'all>,
    start_up: Interval,
}

impl<'all> Cursor<'all> {
    fn new(timeline: &'all Timeline, question: &Question<'all>, loading: &'all Union) -> Self {
        let ranges = timeline.ranges.of_thread(question.thread);
        let mut queries = QueryCursor::new(question.queries);
        Self {
            device: question.device,
            reading: IdleReading::default(),
            storms: Follower::new(question.storms),
            slow_steps: Follower::new(question.slow_steps),
            restarts: Follower::new(question.restarts),
            rounds: Follower::new(question.rounds),
            loading: Follower::new(loading),
            query: queries.next(),
            queries,
            trigger: None,
            began_waiting: false,
            done: Done::default(),
            host_ns: 0,
            beside_copies: None,
            lead: Lead::default(),
            process: timeline.process_of(question.thread),
            open_ranges: ranges
                .filter(|_| !question.queries.is_empty())
                .map(|ranges| OpenRanges::new(ranges, question.is_optimizer, timeline.devices.len())),
            places: timeline
                .call_locations
                .of_thread(question.thread)
                .map(|ranges| LocationCursor::new(ranges, max_open_ranges(timeline.devices.len()))),
            samples: SampleCursor::new(&timeline.cpu_samples, question.thread),
            stacked: StackedCursor::new(&timeline.os_stacks, question.thread),
            start_up: question.start_up,
        }
    }

    /// Whether anything is asked about the time before a moment that has not been answered.
    fn asks_by(&self, moment: i64) -> bool {
        self.query.is_some_and(|query| query.stretch.start < moment)
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
        let won = self.lead.win(waited, trigger, query.of_host(), done);
        self.reading.win(self.process, trigger, won);
        if self.began_waiting {
            self.reading.waited_launch_ns += done.launch_ns();
        } else if won.sum_ns == 0
            && let Some((waits, won)) = self.lead.win_launches(waited, done.launch_ns())
        {
            self.reading.win(self.process, waits, won);
        }
        if query.copies.is_any() && won.sum_ns > 0 {
            let won = WonBesideCopies { copies: query.copies, won_ns: won.sum_ns };
            sparing::push(&mut self.reading.won_beside_copies, won);
        }
    }

    /// Hands what the thread did to every query that it overlaps.
    fn visit(&mut self, waited: &Waited, (interval, activity, name): (Interval, Activity, NameId)) {
        let process = self.process;
        self.advance(waited, interval.start);
        while let Some(query) = self.query.filter(|query| query.stretch.start < interval.end) {
            let part = query.host.clip(interval);
            let is_guess = query.guess.is_some();
            let activity = query.meant(activity, name != NONE);
            // A wait for memory that moves in pieces: the device has what it is to do.
            let is_queued = query.guess == Some(Guess::Migration) && activity == Activity::Sync;
            let account = if is_queued { Account::IdleQueue } else { activity.account() };
            // What waits asks for nothing.
            let name = if is_queued { NONE } else { name };
            let is_first = self.trigger.is_none();
            let asked = if is_queued { Account::AfterQueued } else { activity.trigger() };
            let begun = || (query.stretch, query.guess.is_none().then(|| query.late_start_ns()));
            let (trigger, trigger_name) =
                *self.trigger.get_or_insert_with(|| self.reading.begin(process, begun(), asked, name));
            if is_first {
                self.begin(trigger, query.stretch);
            }
            self.place(part, account, is_first.then_some((trigger, query.stretch)));
            self.done.add(part, activity);
            if query.copies.is_any() {
                let new = || HostBesideCopies::new(query.copies, query.stretch);
                self.beside_copies.get_or_insert_with(new).add(part, account);
            }
            let piece = Piece { interval: part, activity: account, trigger, trigger_name };
            self.reading.take(process, (piece, is_guess), name);
            if is_queued {
                self.reading.queued_migration_ns += part.len_ns();
            }
            self.book(query, &piece);
            if let Some(open_ranges) = &mut self.open_ranges {
                open_ranges.take(&piece);
            }
            self.reading.samples[account].extend(self.samples.within(part));
            if account == Account::IdleBlocked
                && let Some(call) = self.stacked.at(part)
            {
                *self.reading.stacked_ns.entry(call).or_default() += part.len_ns();
            }
            if is_guess && activity == Activity::Host && !query.is_seldom_migration() {
                self.reading.guessed_host_ns += part.len_ns();
            }
            if query.host.end > interval.end {
                break;
            }
            self.advance(waited, query.host.end);
        }
    }

    /// Books a piece of a query by where it lies.
    fn book(&mut self, query: Query, piece: &Piece) {
        let Piece { interval: part, activity, .. } = *piece;
        self.reading.in_stretches[activity].add_of(query.stretch, part);
        self.reading.in_slow_steps[activity] += self.slow_steps.overlap_ns(part);
        self.reading.in_restarts[activity] += self.restarts.overlap_ns(part);
        self.reading.in_start_up[activity] += self.start_up.overlap_ns(part);
        match activity {
            Account::IdleHost => {
                self.host_ns += part.len_ns();
                self.reading.host_and_rounds.add(part, &mut self.rounds);
            }
            Account::IdleLoad => self.reading.add_before_load(query.stretch.end, std::mem::take(&mut self.host_ns)),
            Account::IdleLaunch => {
                self.reading.storm_launch_ns += self.storms.overlap_ns(part);
                self.reading.host_and_rounds.launch_ns += self.rounds.overlap_ns(part);
            }
            _ => {}
        }
    }

    /// Books where a stretch lies by what it began with.
    fn begin(&mut self, trigger: Account, stretch: Interval) {
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

    fn finish(mut self, waited: &Waited) -> (usize, IdleReading) {
        self.advance(waited, i64::MAX);
        let process = self.process;
        if let Some(open_ranges) = self.open_ranges.take() {
            self.reading.take_ranges(process, open_ranges.finish());
        }
        (self.device, self.reading)
    }
}

/// Lays a thread out once for all questions to it, which come by device.
fn walk(timeline: &Timeline, calls: &Calls, questions: &[Question<'_>]) -> (Vec<(usize, IdleReading)>, OfThread) {
    let devices = questions.iter().map(|question| question.device).collect();
    let mut of_thread = OfThread { devices, ..OfThread::default() };
    let Some(thread) = questions.first().map(|question| question.thread) else { return (Vec::new(), of_thread) };
    let Some(hull) = questions.iter().map(Question::hull).reduce(Interval::hull) else {
        return (Vec::new(), of_thread);
    };
    let loading = located_loading(timeline, thread);
    let cursor = |question| Cursor::new(timeline, question, &loading);
    let mut cursors: Vec<Cursor<'_>> = questions.iter().map(cursor).collect();
    let mut waited = Waited::default();
    calls.lay_out_once(timeline, thread, hull, |interval, activity, name| {
        of_thread.add(interval, activity);
        waited.add(activity, name, interval);
        // Most threads have to explain few moments of few devices.
        let asking = cursors.iter_mut().filter(|cursor| cursor.asks_by(interval.end));
        asking.for_each(|cursor| cursor.visit(&waited, (interval, activity, name)));
    });
    (cursors.into_iter().map(|cursor| cursor.finish(&waited)).collect(), of_thread)
}

/// When a thread fetches data; nothing where no stacks tell where in the program's own code it is.
fn located_loading(timeline: &Timeline, thread: u32) -> Union {
    let known = timeline.call_locations.of_thread(thread).and_then(|_| timeline.ranges.of_thread(thread));
    let Some(ranges) = known else { return Union::default() };
    let is_loading = timeline.loading_labels();
    let labelled = ranges.times.iter().zip(&ranges.label);
    Union::of(labelled.filter(|(_, label)| is_loading.get(**label as usize) == Some(&true)).map(|(times, _)| times))
}
