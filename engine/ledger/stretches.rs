//! The idle stretches of a device, each handed to the thread that launched what ended it.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::accounts::Account;
use super::idle::{BesideCopies, Copies, IdleReading, Stretch, ordinary_spacing_ns};
use super::in_operators::InOperators;
use super::ops::{DeviceOps, OpKind, OpRef};
use super::queries::{Guess, MOST_BETWEEN_FAULTS_NS, Queries, Query};
use super::sparing;
use crate::timeline::columns::HostMemory;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// Hands the idle stretches of one device, or of a part of its window, to the threads that have to explain them.
pub struct Stretches<'all> {
    timeline: &'all Timeline,
    /// The busiest thread of each process.
    busiest: &'all HashMap<u32, u32>,
    in_operators: &'all InOperators<'all>,
    reading: IdleReading,
    queries: Vec<(u32, Queries)>,
    /// The index of each thread in `queries`.
    index_of: HashMap<u32, usize>,
    /// The thread that was asked last, with its index: mostly it is asked again.
    last: Option<(u32, usize)>,
}

/// The idle stretches of one device, as they are left to the threads that have to explain them.
pub struct Unread {
    /// What no thread is asked about.
    pub(super) reading: IdleReading,
    /// By thread, in lists that follow each other.
    pub(super) queries: BTreeMap<u32, Vec<Queries>>,
    pub(super) window: Interval,
    pub(super) start_up: Interval,
}

impl Unread {
    /// Of a device, from its parts in time order.
    pub fn of<'all>(ops: &DeviceOps, parts: impl IntoIterator<Item = Stretches<'all>>) -> Self {
        let (mut reading, mut queries): (IdleReading, BTreeMap<u32, Vec<Queries>>) = Default::default();
        for part in parts {
            reading.merge(part.reading);
            for (thread, list) in part.queries {
                queries.entry(thread).or_default().push(list);
            }
        }
        Self { reading, queries, window: ops.window, start_up: ops.start_up }
    }
}

impl<'all> Stretches<'all> {
    /// Without any yet; `busiest` is the busiest thread of each process.
    pub fn new(
        timeline: &'all Timeline,
        busiest: &'all HashMap<u32, u32>,
        in_operators: &'all InOperators<'all>,
    ) -> Self {
        Self {
            timeline,
            busiest,
            in_operators,
            reading: IdleReading::default(),
            queries: Vec::new(),
            index_of: HashMap::default(),
            last: None,
        }
    }

    /// Adds a stretch, in time order: books what the launch had queued, and leaves the rest to a thread.
    pub fn add(&mut self, stretch: Stretch) {
        let is_migration = |op: Option<OpRef>| op.is_some_and(|op| op.kind == OpKind::Migration);
        let is_beside = is_migration(stretch.previous) || is_migration(stretch.next);
        if is_beside && stretch.interval.len_ns() <= MOST_BETWEEN_FAULTS_NS {
            self.reading.beside_migrations.push(stretch.interval);
        }
        let copies = Copies::of(self.timeline, stretch);
        let mut beside = BesideCopies { copies, idle_ns: stretch.interval.len_ns(), unknown_ns: 0 };
        if let Some((thread, query)) = self.ask(stretch, &mut beside) {
            let index = self.index_of(thread);
            self.queries[index].1.push(query);
        }
        if copies.is_any() {
            sparing::push(&mut self.reading.beside_copies, beside);
        }
    }

    fn index_of(&mut self, thread: u32) -> usize {
        if let Some((_, index)) = self.last.filter(|(last, _)| *last == thread) {
            return index;
        }
        let index = *self.index_of.entry(thread).or_insert_with(|| {
            self.queries.push((thread, Queries::default()));
            self.queries.len() - 1
        });
        self.last = Some((thread, index));
        index
    }

    /// The thread that has to explain a stretch, and what of it. What no thread can explain is told beside the copies.
    fn ask(&mut self, stretch: Stretch, beside: &mut BesideCopies) -> Option<(u32, Query)> {
        let whole = stretch.interval;
        // What is missing of the file may be work, also that of this stretch.
        if self.timeline.source.is_damaged {
            self.reading.book_unknown(whole, whole);
            return None;
        }
        let Some(call) = stretch.next.and_then(|op| op.call(self.timeline)) else {
            return self.guess(stretch, beside);
        };
        let api = &self.timeline.api;
        let thread = api.thread.get(call as usize).copied().filter(|thread| *thread != NONE);
        let returned = api.times.get(call as usize).map_or(whole.end, |call| call.end).clamp(whole.start, whole.end);
        let queued = Interval::new(returned, whole.end);
        let ordinary_ns = queued.len_ns().min(ordinary_spacing_ns(self.timeline));
        let spacing = Interval::new(whole.end - ordinary_ns, whole.end);
        self.reading.book(Account::IdleInterKernelGap, NONE, spacing);
        self.late(stretch.next, call, Interval::new(queued.start, spacing.start));
        if let Some(op) = stretch.next.filter(|_| spacing.start > queued.start) {
            let late = (whole.end, spacing.start - queued.start);
            self.reading.add_late_stream(op.stream(self.timeline), late);
        }
        let host = Interval::new(whole.start, returned);
        if host.len_ns() == 0 {
            self.reading.sums[Account::AfterQueued].add(whole);
            return None;
        }
        if thread.is_none() {
            self.reading.book_unknown(whole, host);
            beside.unknown_ns = host.len_ns();
        }
        let query = Query { stretch: whole, host, guess: None, copies: beside.copies };
        thread.map(|thread| (thread, query))
    }

    /// Books how long an operation had been launched and did not begin, under the call that launched it and, of a kernel, its name.
    fn late(&mut self, next: Option<OpRef>, call: u32, queued: Interval) {
        let api = self.timeline.api.name.get(call as usize).copied().unwrap_or(NONE);
        self.reading.book(Account::IdleQueue, api, queued);
        let is_kernel = |op: &OpRef| matches!(op.kind, OpKind::Kernel | OpKind::Communication);
        let kernel = next.filter(is_kernel).map(|op| self.timeline.kernels.shape_of(op.index).name);
        if let Some(kernel) = kernel.filter(|kernel| *kernel != NONE && queued.len_ns() > 0) {
            *self.reading.late_kernels.of(kernel) += queued.len_ns();
        }
    }

    /// The thread that what no call asked for is read on: the busiest of its process, where it can be known. Where calls are lacking,
    /// that of a copy of pageable memory: the only one that is in an operator as it begins. Other work may have been launched long before.
    fn guessed_thread(&self, next: OpRef, begin: i64) -> Option<u32> {
        let process = self.timeline.process_of_stream(next.stream(self.timeline));
        if self.timeline.lacks_calls {
            let memory = self.timeline.copies.host_memory.get(next.index as usize);
            if next.kind != OpKind::Copy || memory != Some(&HostMemory::Pageable) {
                return None;
            }
            return self.in_operators.thread_at(self.timeline, process, begin);
        }
        let only = || (self.busiest.len() == 1).then(|| self.busiest.values().next()).flatten();
        self.busiest.get(&process).or_else(|| if process == NONE { only() } else { None }).copied()
    }

    fn guess(&mut self, stretch: Stretch, beside: &mut BesideCopies) -> Option<(u32, Query)> {
        let next = stretch.next;
        let Some(thread) = next.and_then(|op| self.guessed_thread(op, stretch.interval.end)) else {
            self.reading.book_unknown(stretch.interval, stretch.interval);
            beside.unknown_ns = stretch.interval.len_ns();
            return None;
        };
        // Two operations that follow each other are as far apart, whoever launched them.
        let is_between = stretch.previous.is_some() && next.is_some_and(|op| op.kind != OpKind::Migration);
        if is_between && stretch.interval.len_ns() <= ordinary_spacing_ns(self.timeline) {
            self.reading.book(Account::IdleInterKernelGap, NONE, stretch.interval);
            self.reading.sums[Account::AfterUnknown].add(stretch.interval);
            return None;
        }
        self.reading.guessed_ns += stretch.interval.len_ns();
        let moves = next.is_some_and(|op| op.kind == OpKind::Migration);
        let why = if moves { Guess::Migration } else { Guess::Unrecorded };
        let (stretch, copies) = (stretch.interval, beside.copies);
        Some((thread, Query { stretch, host: stretch, guess: Some(why), copies }))
    }
}
