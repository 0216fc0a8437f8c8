//! Idle time, read twice: by what the launching thread was doing at each moment, and by where it was when the device went
//! idle.

use std::collections::BTreeMap;

use super::accounts::{Account, ByAccount};
use super::after_waits::AfterWaits;
use super::ahead::Won;
use super::by_key::ByKey;
use super::host_run::HostRun;
use super::ops::{OpKind, OpRef};
use super::reading::{Drained, HostAndRounds, Piece, RangeReading, RangeSums, TimeSum};
use super::sparing;
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{GpuVendor, NONE, NameId, Timeline};

/// Up to this much of the time between a launch and its start is the ordinary gap between two operations.
const SPACING_NS: i64 = 5_000;
/// The same of AMD's GPUs: on an MI300X each kernel starts 17 to 24 µs after its launch began, on an empty queue.
const AMD_SPACING_NS: i64 = 20_000;

/// Up to how much of the time between a launch and its start is ordinary on the GPUs of a recording, in nanoseconds.
pub fn ordinary_spacing_ns(timeline: &Timeline) -> i64 {
    if timeline.source.gpu_vendor == Some(GpuVendor::Amd) { AMD_SPACING_NS } else { SPACING_NS }
}

/// A stretch of idle time of one device.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// When.
    pub interval: Interval,
    /// The operation that ends it; `None` at the end of the window when none follows.
    pub next: Option<OpRef>,
    /// An operation that ended when it began; `None` at the beginning of the window.
    pub previous: Option<OpRef>,
}

/// The copies between host and device that a stretch lies between, by their indices: of others nobody asks what they hold up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copies {
    /// The one that ended when it began; [`NONE`] without one.
    pub before: u32,
    /// The one that ends it; [`NONE`] without one.
    pub after: u32,
}

impl Default for Copies {
    fn default() -> Self {
        Self { before: NONE, after: NONE }
    }
}

impl Copies {
    pub(super) fn of(timeline: &Timeline, stretch: Stretch) -> Self {
        let is_with_host = |op: &OpRef| {
            let (copies, index) = (&timeline.copies, op.index as usize);
            let direction = copies.direction.get(index);
            matches!(direction, Some(Direction::HostToDevice | Direction::DeviceToHost))
                || copies.host_memory.get(index) == Some(&HostMemory::Pageable)
        };
        let copy =
            |op: Option<OpRef>| op.filter(|op| op.kind == OpKind::Copy && is_with_host(op)).map_or(NONE, |op| op.index);
        Self { before: copy(stretch.previous), after: copy(stretch.next) }
    }

    pub(super) const fn is_any(self) -> bool {
        self.before != NONE || self.after != NONE
    }
}

/// Idle time beside copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BesideCopies {
    /// The copies.
    pub copies: Copies,
    /// The length of the stretch.
    pub idle_ns: i64,
    /// What of it is of unknown cause.
    pub unknown_ns: i64,
}

/// Idle time beside copies that could be won.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WonBesideCopies {
    /// The copies.
    pub copies: Copies,
    /// What the stretch can win from the waits before it.
    pub won_ns: i64,
}

/// What the thread did in a stretch beside copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostBesideCopies {
    /// The copies.
    pub copies: Copies,
    /// The length of the stretch.
    pub stretch_ns: i64,
    /// What of it is host code.
    pub host_ns: i64,
    /// What of it the thread waits for the device, is in a copy call, or launches what comes next: a copy that blocks lets it launch no earlier.
    pub waiting_ns: i64,
    /// What of it the thread compiles or loads code, manages memory, sets up or prints for kernels, each a cause of its own.
    pub other_causes_ns: i64,
}

impl HostBesideCopies {
    pub(super) const fn new(copies: Copies, stretch: Interval) -> Self {
        Self { copies, stretch_ns: stretch.len_ns(), host_ns: 0, waiting_ns: 0, other_causes_ns: 0 }
    }

    /// Adds a piece of the stretch. Memory that is allocated, code that is loaded and the like are no matter of the copies.
    pub(super) const fn add(&mut self, piece: Interval, activity: Account) {
        match activity {
            Account::IdleHost => self.host_ns += piece.len_ns(),
            Account::IdleSync | Account::IdleQuery | Account::IdleCopyCall | Account::IdleLaunch => {
                self.waiting_ns += piece.len_ns()
            }
            Account::IdleCompile
            | Account::IdleLoad
            | Account::IdleAllocate
            | Account::IdleInit
            | Account::IdlePrint => {
                self.other_causes_ns += piece.len_ns();
            }
            _ => {}
        }
    }
}

/// The idle time of one device, read both ways.
#[derive(Debug, Default)]
pub struct IdleReading {
    /// By activity and by trigger: the accounts of each sum to the idle time.
    pub sums: ByAccount<TimeSum>,
    /// By activity and call.
    pub calls: ByKey<(Account, NameId), TimeSum>,
    /// By kernel, for how long the device was idle although it had been launched, beyond the ordinary.
    pub late_kernels: ByKey<NameId, i64>,
    /// By stream, the first of its operations that did so: when it began, and for how long the device was idle.
    pub late_streams: ByKey<u32, (i64, i64)>,
    /// By trigger and the call that the thread was in: process, trigger, call.
    pub drained: ByKey<(u32, Account, NameId), Drained>,
    /// Idle time read on a thread that was only guessed.
    pub guessed_ns: i64,
    /// The host code in it.
    pub guessed_host_ns: i64,
    /// Launching within the storms of short kernels.
    pub storm_launch_ns: i64,
    /// Idle time within them that began while the thread waited.
    pub storm_after_sync_ns: i64,
    /// Launching in stretches that waits explain: without those before it the host would have launched in time.
    pub waited_launch_ns: i64,
    /// Of the waits for work that was launched, what lies before unified memory that moves in pieces, while the host waits for all of it.
    pub queued_migration_ns: i64,
    /// By activity that was read on a thread: what of it lies in one stretch is a piece.
    pub in_stretches: ByAccount<TimeSum>,
    /// By activity and by trigger, before the work that repeats.
    pub in_start_up: ByAccount<i64>,
    /// By activity, in steps that are slower than the others.
    pub in_slow_steps: ByAccount<i64>,
    /// By activity, where loops over loaders of data end and begin anew.
    pub in_restarts: ByAccount<i64>,
    /// Host code, within the rounds that repeat and outside of them.
    pub host_and_rounds: HostAndRounds,
    /// The ranges that it lies in: by process and label.
    pub ranges: RangeSums,
    /// Host code in stretches that began in a wait.
    pub host_after_sync_ns: i64,
    /// The same of what it waits in the operating system.
    pub blocked_after_sync_ns: i64,
    /// The same of what it loads code.
    pub load_after_sync_ns: i64,
    /// Host code in stretches that began in a copy call that blocks.
    pub host_after_copy_call_ns: i64,
    /// Host code after which the thread loads code in the same stretch: it may have compiled or read that meanwhile.
    pub host_before_load_ns: i64,
    /// The same by stretch: when what ends it begins, and how long.
    pub host_before_loads: Vec<(i64, i64)>,
    /// The ends of waits that the device went idle in: by process, call, and label of the innermost range or [`NONE`].
    pub after_waits: AfterWaits,
    /// Host code, launching and waits in steps of an optimizer, each moment once.
    pub optimizer_ns: i64,
    /// Ranges that explain nothing because too many were open.
    pub too_deep_count: i64,
    /// Stretches of which it is known for how long the host did what, and not in which pieces.
    pub summed_count: i64,
    /// How many pieces of what threads did were read for it.
    #[cfg(test)]
    pub(crate) visited_count: usize,
    /// The stretches that lie beside copies.
    pub beside_copies: Vec<BesideCopies>,
    /// Those of them that a thread has to explain.
    pub host_beside_copies: Vec<HostBesideCopies>,
    /// Those beside migrations of unified memory, in time order, without those that are longer than from one page to the next.
    pub beside_migrations: Vec<Interval>,
    /// Those beside copies that the waits before them hold up.
    pub won_beside_copies: Vec<WonBesideCopies>,
    /// The samples of the CPU, by what the thread was doing and by their indices.
    pub samples: ByAccount<Vec<u32>>,
    /// How much of the time blocked in the OS lies in each call that was recorded with its stack, by its index.
    pub stacked_ns: BTreeMap<u32, i64>,
    /// By account, and by where in the program's own code the thread was: in a piece, or as its stretch began. Host code and blocked
    /// time that fetch data are left out.
    pub sources: BTreeMap<(Account, u32), i64>,
    /// By where the thread was: what fetches data.
    pub loading_sources: BTreeMap<u32, i64>,
    /// How much host code, and how much blocked time, fetches data on threads of which is known where they were.
    pub in_loading: ByAccount<i64>,
    /// The time of the window in which no thread that launches merely waits for the device; `None` when none launches.
    pub host_work_ns: Option<i64>,
    /// The longest run of host code.
    pub host_run: HostRun,
    /// When a thread that launches loads code, whatever the device does meanwhile.
    pub loads: Union,
}

impl IdleReading {
    /// Books a stretch of which nothing is known; `host` is the part that a thread had to explain.
    pub(super) fn book_unknown(&mut self, whole: Interval, host: Interval) {
        self.book(Account::IdleUnknown, NONE, host);
        self.sums[Account::AfterUnknown].add(whole);
    }

    /// Books a piece under an activity, and under the call that the thread was in, or [`NONE`].
    pub(super) fn book(&mut self, activity: Account, name: NameId, interval: Interval) {
        if interval.len_ns() == 0 {
            return;
        }
        self.sums[activity].add(interval);
        if name != NONE {
            self.calls.of((activity, name)).add(interval);
        }
    }

    /// The call that most time of an activity was spent in.
    pub fn main_call(&self, timeline: &Timeline, activity: Account) -> Option<(NameId, TimeSum)> {
        self.calls
            .iter()
            .filter(|((of, _), _)| *of == activity)
            .max_by_key(|((_, name), sum)| (sum.sum_ns, std::cmp::Reverse(timeline.name(*name))))
            .map(|((_, name), sum)| (*name, *sum))
    }

    /// The call in which most of an account's time passes beside the one of a name, where that is so much.
    pub fn second_call(
        &self,
        timeline: &Timeline,
        activity: Account,
        (first, least_ns): (NameId, i64),
    ) -> Option<NameId> {
        let others = self.calls.iter().filter(|((of, name), _)| *of == activity && *name != first);
        let second = others.max_by_key(|((_, name), sum)| (sum.sum_ns, std::cmp::Reverse(timeline.name(*name))));
        second.filter(|(_, sum)| sum.sum_ns > 0 && sum.sum_ns >= least_ns).map(|((_, name), _)| *name)
    }

    /// Keeps the first operation of a stream that had been launched and did not begin.
    pub(super) fn add_late_stream(&mut self, stream: u32, (begun, idle_ns): (i64, i64)) {
        let known = self.late_streams.of(stream);
        if known.1 == 0 || begun < known.0 {
            *known = (begun, idle_ns);
        }
    }

    /// Adds host code before code is loaded, in a stretch that ends then.
    pub(super) fn add_before_load(&mut self, end: i64, host_ns: i64) {
        self.host_before_load_ns += host_ns;
        if host_ns > 0 {
            self.host_before_loads.push((end, host_ns));
        }
    }

    /// Takes in what was read after that on the same thread: no piece of it goes on there.
    pub(super) fn append(&mut self, later: Self) {
        let mut host_and_rounds = std::mem::take(&mut self.host_and_rounds);
        host_and_rounds.append(later.host_and_rounds);
        self.merge(later);
        // A pause may go on, where another thread has pauses of its own.
        self.host_and_rounds = host_and_rounds;
    }

    /// Takes in what was read on another thread.
    pub(super) fn merge(&mut self, other: Self) {
        for (account, sum) in self.sums.iter_mut() {
            sum.merge(other.sums[account]);
        }
        for (key, sum) in other.calls.iter() {
            self.calls.of(*key).merge(*sum);
        }
        for (kernel, ns) in other.late_kernels.iter() {
            *self.late_kernels.of(*kernel) += ns;
        }
        for (stream, late) in other.late_streams.iter() {
            self.add_late_stream(*stream, *late);
        }
        for (key, drained) in other.drained.iter() {
            self.drained.of(*key).merge(*drained);
        }
        self.host_run.merge(other.host_run);
        self.guessed_ns += other.guessed_ns;
        self.guessed_host_ns += other.guessed_host_ns;
        self.storm_launch_ns += other.storm_launch_ns;
        self.storm_after_sync_ns += other.storm_after_sync_ns;
        self.waited_launch_ns += other.waited_launch_ns;
        self.queued_migration_ns += other.queued_migration_ns;
        self.beside_migrations.extend(other.beside_migrations);
        self.ranges.merge(other.ranges);
        self.after_waits.merge(other.after_waits);
        self.host_after_sync_ns += other.host_after_sync_ns;
        self.blocked_after_sync_ns += other.blocked_after_sync_ns;
        self.load_after_sync_ns += other.load_after_sync_ns;
        self.host_after_copy_call_ns += other.host_after_copy_call_ns;
        self.host_before_load_ns += other.host_before_load_ns;
        self.host_before_loads.extend(other.host_before_loads);
        self.in_slow_steps.add(&other.in_slow_steps);
        self.in_restarts.add(&other.in_restarts);
        self.host_and_rounds.merge(other.host_and_rounds);
        for (account, sum) in self.in_stretches.iter_mut() {
            sum.merge(other.in_stretches[account]);
        }
        self.in_start_up.add(&other.in_start_up);
        self.optimizer_ns += other.optimizer_ns;
        self.too_deep_count += other.too_deep_count;
        self.summed_count += other.summed_count;
        #[cfg(test)]
        {
            self.visited_count += other.visited_count;
        }
        sparing::append(&mut self.beside_copies, other.beside_copies);
        sparing::append(&mut self.won_beside_copies, other.won_beside_copies);
        sparing::append(&mut self.host_beside_copies, other.host_beside_copies);
        for (account, samples) in other.samples.into_pairs() {
            self.samples[account].extend(samples);
        }
        add_each(&mut self.stacked_ns, other.stacked_ns);
        add_each(&mut self.sources, other.sources);
        add_each(&mut self.loading_sources, other.loading_sources);
        self.in_loading.add(&other.in_loading);
    }

    /// Books a piece of time under a line of the program's own code; a part of it fetches data.
    pub(super) fn book_place(&mut self, account: Account, location: Option<u32>, (all_ns, loading_ns): (i64, i64)) {
        if let Some(location) = location.filter(|_| loading_ns > 0) {
            *self.loading_sources.entry(location).or_default() += loading_ns;
        }
        // Of these two, what fetches data is another rule's matter.
        let is_apart = matches!(account, Account::IdleHost | Account::IdleBlocked);
        let apart_ns = if is_apart { loading_ns } else { 0 };
        self.in_loading[account] += apart_ns;
        self.book_source(account, location, all_ns - apart_ns);
    }

    /// Books time under a line of the program's own code.
    pub(super) fn book_source(&mut self, account: Account, location: Option<u32>, length_ns: i64) {
        if let Some(location) = location.filter(|_| account.has_source() && length_ns > 0) {
            *self.sources.entry((account, location)).or_default() += length_ns;
        }
    }

    /// Books a stretch under what the thread was doing when it began; returns the account of that, with the call. A stretch
    /// whose thread is only guessed has no late start, and is blamed on no call.
    pub(super) fn begin(
        &mut self,
        process: u32,
        (stretch, late_start_ns): (Interval, Option<i64>),
        trigger: Account,
        name: NameId,
    ) -> (Account, NameId) {
        self.sums[trigger].add(stretch);
        if let Some(late_start_ns) = late_start_ns {
            let drained = self.drained.of((process, trigger, name));
            drained.stretches.add(stretch);
            drained.late_start_ns = drained.late_start_ns.saturating_add(late_start_ns);
        }
        (trigger, name)
    }

    /// Books what a stretch can win from the waits before it.
    pub(super) fn win(&mut self, process: u32, (trigger, name): (Account, NameId), won: Won) {
        if won.sum_ns > 0 {
            self.drained.of((process, trigger, name)).run_ahead_ns += won.sum_ns;
            self.waited_launch_ns += won.launch_ns;
        }
    }

    /// Books a piece, or the sum of several, under what the stretch began with.
    pub(super) fn take(&mut self, process: u32, piece: Piece) {
        match (piece.activity, piece.trigger) {
            (Account::IdleHost, Account::AfterSync) => self.host_after_sync_ns += piece.interval.len_ns(),
            (Account::IdleBlocked, Account::AfterSync) => self.blocked_after_sync_ns += piece.interval.len_ns(),
            (Account::IdleLoad, Account::AfterSync) => self.load_after_sync_ns += piece.interval.len_ns(),
            (Account::IdleHost, Account::AfterCopy) => self.host_after_copy_call_ns += piece.interval.len_ns(),
            _ => {}
        }
        let drained = self.drained.of((process, piece.trigger, piece.trigger_name));
        match piece.activity {
            Account::IdleSync => drained.sync_ns += piece.interval.len_ns(),
            Account::IdleHost | Account::IdleBlocked => drained.host_ns += piece.interval.len_ns(),
            Account::IdleCompile
            | Account::IdleLoad
            | Account::IdleAllocate
            | Account::IdleInit
            | Account::IdlePrint => {
                drained.calls_ns += piece.interval.len_ns();
            }
            // Neither the wait itself nor the host's own work.
            _ => {}
        }
    }

    /// Takes in what the ranges of a thread of a process explain.
    pub(super) fn take_ranges(&mut self, process: u32, reading: RangeReading) {
        let sums = reading.idle.into_sums().into_iter();
        self.ranges.extend(sums.map(|(label, idle)| ((process, label), idle)));
        self.after_waits.merge_of(process, reading.after_waits);
        self.optimizer_ns += reading.optimizer_ns;
        self.too_deep_count += reading.too_deep_count;
    }
}

/// Adds times to those that are known by the same keys.
fn add_each<K: Ord>(sums: &mut BTreeMap<K, i64>, more: BTreeMap<K, i64>) {
    for (key, ns) in more {
        *sums.entry(key).or_default() += ns;
    }
}
