//! When threads that call a device wait in the operating system, or in MPI, for what may in turn wait for the device.

use std::sync::Arc;

use super::Context;
use crate::ledger::PROCESS_WAITS;
use crate::timeline::columns::{Label, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::peers::is_mpi_call;
use crate::timeline::{NameId, Timeline};

/// A launch that takes longer may wait until the queue has room, and a call of the operating system for someone.
pub(super) const LONG_CALL_NS: i64 = 50_000;

/// Calls of the operating system that may wait for another process, beside those that may wait for one that the program started.
const MORE_WAITS: [&str; 13] = [
    "pthread_mutex_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pread",
    "recvmmsg",
    "mq_receive",
    "flock",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "accept",
    "pthread_barrier_wait",
];

/// Such waits, by start: those of one set of processes, of whose threads some launch.
#[derive(Clone, Default)]
pub(super) struct WaitsForOthers(Arc<Vec<Interval>>);

impl WaitsForOthers {
    pub(super) fn get(&self, index: usize) -> Option<&Interval> {
        self.0.get(index)
    }
}

impl From<Vec<Interval>> for WaitsForOthers {
    fn from(mut waits: Vec<Interval>) -> Self {
        waits.retain(|wait| wait.len_ns() > 0);
        // Of several lists one after the other, each in order: this sort makes use of that.
        waits.sort_by_key(|wait| wait.start);
        Self(Arc::new(waits))
    }
}

/// The calls of the operating system that may wait for another process, or for a thread.
pub(super) fn waits(timeline: &Timeline) -> Vec<NameId> {
    PROCESS_WAITS.into_iter().flatten().chain(&MORE_WAITS).filter_map(|name| timeline.names.find(name)).collect()
}

/// The long waits in the operating system of threads that call CUDA: put in order once, for all devices.
pub(super) struct OsWaits {
    /// The indices of the calls, by start.
    by_start: Vec<u32>,
    /// Places in that list, by when the call returns.
    by_end: Vec<u32>,
}

impl OsWaits {
    pub(super) fn new(context: &Context<'_>) -> Self {
        let timeline = context.timeline;
        let all = &timeline.os_calls;
        let names = waits(timeline);
        let rows = (0_u32..).zip(all.times.iter()).zip(&all.name).zip(&all.thread);
        let rows = rows.filter(|(((_, times), name), thread)| {
            times.len_ns() >= LONG_CALL_NS && names.contains(name) && !context.calls.of_thread(**thread).is_empty()
        });
        let mut by_start: Vec<u32> = rows.map(|(((row, _), _), _)| row).collect();
        by_start.sort_by_key(|row| all.times.start(*row as usize));
        let mut by_end: Vec<u32> = (0_u32..).zip(&by_start).map(|(place, _)| place).collect();
        by_end.sort_by_key(|place| all.times.end(by_start[*place as usize] as usize));
        Self { by_start, by_end }
    }

    /// What of each wait is not while another thread of its process launches, of these: from its begin to the first call of any of
    /// them within it, and from the end of their last.
    fn but_for<'all>(
        &'all self,
        context: &Context<'all>,
        launching: &[u32],
    ) -> impl Iterator<Item = (u32, [Interval; 2])> + 'all {
        let all = &context.timeline.os_calls;
        let none = Interval { start: i64::MAX, end: i64::MIN };
        let mut hulls = vec![none; if launching.is_empty() { 0 } else { self.by_start.len() }];
        launching.iter().for_each(|other| self.widen(context, *other, &mut hulls));
        self.by_start.iter().enumerate().map(move |(place, row)| {
            let wait = all.times.at(*row as usize);
            let hull = hulls.get(place).copied().filter(|hull| hull.start < i64::MAX);
            let hull = hull.unwrap_or_else(|| Interval::new(wait.end, wait.end));
            (all.thread[*row as usize], [Interval::new(wait.start, hull.start), Interval::new(hull.end, wait.end)])
        })
    }

    /// Widens what is known of the calls of other threads within each wait by those of one: it and its waits are gone along twice, in
    /// the order of their starts and of their ends.
    fn widen(&self, context: &Context<'_>, other: u32, hulls: &mut [Interval]) {
        let timeline = context.timeline;
        let (all, process) = (&timeline.os_calls, timeline.process_of(other));
        let mut calls = context.calls.of_thread(other).iter().map(|call| timeline.api.times.at(*call as usize));
        let is_asked = |row: usize| all.thread[row] != other && timeline.process_of(all.thread[row]) == process;
        let mut next = calls.next();
        for (row, hull) in self.by_start.iter().zip(hulls.iter_mut()) {
            let wait = all.times.at(*row as usize);
            while next.is_some_and(|call| call.start < wait.start) {
                next = calls.next();
            }
            let Some(first) = next else { break };
            if first.start < wait.end && is_asked(*row as usize) {
                hull.start = hull.start.min(first.start);
            }
        }
        let mut calls =
            context.calls.of_thread(other).iter().map(|call| timeline.api.times.at(*call as usize)).peekable();
        let mut last: Option<Interval> = None;
        for place in &self.by_end {
            let row = self.by_start[*place as usize] as usize;
            let wait = all.times.at(row);
            while let Some(call) = calls.next_if(|call| call.start < wait.end) {
                last = Some(call);
            }
            if let Some(last) = last.filter(|last| last.start >= wait.start && is_asked(row)) {
                let hull = &mut hulls[*place as usize];
                hull.end = hull.end.max(last.end.min(wait.end));
            }
        }
    }
}

/// The waits of threads of these processes, in order, that call CUDA, where these threads of them launch work. Of a wait in the operating
/// system counts what is not while another thread of the process launches, as the one that runs the backward pass of PyTorch does: then
/// the wait is for that thread, whose own waits count.
pub(super) fn of(context: &Context<'_>, processes: &[u32], launching: &[u32]) -> WaitsForOthers {
    let timeline = context.timeline;
    let is_of = |thread: u32| processes.binary_search(&timeline.process_of(thread)).is_ok();
    let (mut waits, mut behind) = (Vec::new(), Vec::new());
    for (_, [before, after]) in context.os_waits().but_for(context, launching).filter(|(thread, _)| is_of(*thread)) {
        waits.extend(Some(before).filter(|wait| wait.len_ns() > 0));
        behind.extend(Some(after).filter(|wait| wait.len_ns() > 0));
    }
    waits.append(&mut behind);
    waits.extend(in_mpi(timeline, |thread| is_of(thread) && !context.calls.of_thread(thread).is_empty()));
    waits.into()
}

/// When some threads are in calls of MPI.
fn in_mpi(timeline: &Timeline, is_asked: impl Fn(u32) -> bool) -> impl Iterator<Item = Interval> {
    let is_mpi = |label: &Label| label.kind == RangeKind::Library && is_mpi_call(timeline.name(label.name));
    let is_mpi: Vec<bool> = timeline.ranges.labels.iter().map(is_mpi).collect();
    let of_threads = timeline.ranges.threads.iter().filter(move |ranges| is_asked(ranges.thread));
    let in_mpi = of_threads.flat_map(|ranges| ranges.times.iter().zip(&ranges.label));
    in_mpi.filter(move |(_, label)| is_mpi.get(**label as usize).copied().unwrap_or(false)).map(|(times, _)| times)
}
