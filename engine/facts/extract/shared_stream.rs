//! Threads of a program that share the legacy default stream: it runs their work one after the other, also where none of it needs
//! that of another thread.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::columns::{Direction, KernelShape};
use crate::timeline::interval::Interval;
use crate::timeline::{Stream, StreamKind, Timeline};

/// Where the thread changes less often, from one operation of the stream to the next, one thread goes on where another has ended: as
/// the backward pass of PyTorch does, which has a thread of its own.
const LEAST_TURN_SHARE: f64 = 0.1;
/// A thread with fewer turns than this part of those of the thread with most does not count.
const LEAST_THREAD_SHARE: f64 = 0.1;

/// Operations of one stream, one behind the other, each of which was asked for before the one before it had ended.
#[derive(Default)]
struct Row {
    span: Interval,
    /// The thread that asked for the last of them, and what it did since its turn began.
    last_thread: u32,
    last: OfThread,
    op_count: i64,
    turn_count: i64,
    /// By thread, without what is in `last`.
    of_threads: HashMap<u32, OfThread>,
    /// What they take of what all threads share, where they run beside each other.
    sms_ns: f64,
    to_device_ns: i64,
    to_host_ns: i64,
}

/// The part of a row that is of one thread.
#[derive(Debug, Clone, Copy, Default)]
struct OfThread {
    /// How often its operations came next, those that the row begins with among them.
    turn_count: i64,
    busy_ns: i64,
}

/// What the rows of turns of one stream add up to.
#[derive(Default)]
struct Sums {
    count: i64,
    won_ns: i64,
    longest: Option<Interval>,
    of_thread: BTreeMap<u32, i64>,
}

impl Row {
    fn new(op: Op, thread: u32) -> Self {
        Self { span: Interval { start: op.start, end: op.start }, last_thread: thread, ..Self::default() }
    }

    /// Adds an operation that a thread asked for, with the part of the SMs that it takes.
    fn push(&mut self, timeline: &Timeline, sms_share: f64, op: Op, thread: u32) {
        let length_ns = op.interval().len_ns();
        let is_turn = thread != self.last_thread;
        if is_turn {
            self.end_turn();
            self.turn_count += 1;
            self.last_thread = thread;
        }
        self.last.turn_count += i64::from(is_turn || self.op_count == 0);
        self.last.busy_ns += length_ns;
        self.op_count += 1;
        self.span.end = self.span.end.max(op.end);
        let direction = || timeline.copies.direction.get(op.index as usize);
        match op.kind {
            OpKind::Kernel => self.sms_ns += length_ns as f64 * sms_share,
            OpKind::Copy if direction() == Some(&Direction::HostToDevice) => self.to_device_ns += length_ns,
            OpKind::Copy if direction() == Some(&Direction::DeviceToHost) => self.to_host_ns += length_ns,
            OpKind::Memset => {}
            _ => self.sms_ns += length_ns as f64,
        }
    }

    fn end_turn(&mut self) {
        let OfThread { turn_count, busy_ns } = std::mem::take(&mut self.last);
        let of_thread = self.of_threads.entry(self.last_thread).or_default();
        of_thread.turn_count += turn_count;
        of_thread.busy_ns += busy_ns;
    }

    /// What is won, at best, where each thread has a stream of its own: the row takes as long as its longest thread, or as what all
    /// of them share.
    fn won_ns(&self) -> i64 {
        let longest = self.of_threads.values().map(|of_thread| of_thread.busy_ns).max().unwrap_or(0);
        let least = longest.max(self.sms_ns as i64).max(self.to_device_ns).max(self.to_host_ns);
        (self.span.len_ns() - least).max(0)
    }

    fn takes_turns(&self) -> bool {
        self.turn_count > 1 && self.turn_count as f64 >= LEAST_TURN_SHARE * self.op_count as f64
    }
}

/// The part of the SMs that the blocks of each kernel shape take; all where it is not known.
fn sms_shares(timeline: &Timeline, sm_count: i64) -> Vec<f64> {
    let share = |shape: &KernelShape| {
        let geometry = timeline.geometries.get(shape.geometry as usize);
        let blocks = geometry.map(|geometry| geometry.grid_blocks).filter(|blocks| *blocks > 0);
        blocks.map_or(1.0, |blocks| (blocks as f64 / sm_count.max(1) as f64).min(1.0))
    };
    timeline.kernels.shapes.iter().map(share).collect()
}

impl Sums {
    fn add(&mut self, mut row: Row) {
        if !row.takes_turns() {
            return;
        }
        row.end_turn();
        self.count += row.turn_count;
        self.won_ns = self.won_ns.saturating_add(row.won_ns());
        if self.longest.is_none_or(|longest| row.span.len_ns() > longest.len_ns()) {
            self.longest = Some(row.span);
        }
        for (thread, of_thread) in row.of_threads {
            *self.of_thread.entry(thread).or_default() += of_thread.turn_count;
        }
    }

    fn thread_count(&self) -> i64 {
        let most = self.of_thread.values().copied().max().unwrap_or(0);
        self.of_thread.values().filter(|count| **count as f64 >= LEAST_THREAD_SHARE * most as f64).count() as i64
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let Some(sm_count) = device.properties(timeline).and_then(|known| known.sm_count) else { return };
    if timeline.streams.iter().all(|stream| stream.kind == StreamKind::Unknown) {
        return;
    }
    // Each process has such a stream of its own, and none of them waits for another.
    let streams = of_streams(context, device, sm_count);
    let most = streams.into_iter().rev().max_by_key(|sums| (sums.won_ns, sums.count)).unwrap_or_default();
    facts.set("shared_stream_thread_count", most.thread_count());
    facts.set("shared_stream_turn_count", most.count);
    facts.set("shared_stream_turn_ns", most.won_ns);
    if let Some(longest) = most.longest {
        facts.set("shared_stream_turn_longest_ns", longest.len_ns());
        facts.set("shared_stream_turn_longest_start_ns", longest.start);
    }
}

/// The turns of each legacy default stream of a device that several threads ask for work of: one alone takes none.
fn of_streams(context: &Context<'_>, device: &DeviceContext, sm_count: i64) -> Vec<Sums> {
    let (timeline, window, passed) = (context.timeline, device.window(), device.passed(context));
    let is_shared = |(index, stream): (u32, &Stream)| {
        stream.kind == StreamKind::Default && passed.stream(index).has_several_threads
    };
    let is_shared: Vec<bool> = (0..).zip(&timeline.streams).map(is_shared).collect();
    if !is_shared.contains(&true) {
        return Vec::new();
    }
    let sms_shares = sms_shares(timeline, sm_count);
    let mut streams: ByIndex<(Option<Row>, Sums)> = ByIndex::default();
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let index = op.stream(timeline);
        if is_shared.get(index as usize) != Some(&true) {
            continue;
        }
        let Interval { start, end } = op.interval().clip(window);
        let op = Op { start, end, ..op };
        let shape = timeline.kernels.shape.get(op.index as usize).filter(|_| op.kind == OpKind::Kernel);
        let sms_share = shape.and_then(|shape| sms_shares.get(*shape as usize)).copied().unwrap_or(1.0);
        let call = op.call(timeline).map(|call| call as usize);
        let asked = call.and_then(|call| Some((timeline.api.times.start(call), *timeline.api.thread.get(call)?)));
        let (row, sums) = streams.of(index, Default::default);
        match (row.as_mut(), asked) {
            (Some(row), Some((at, thread))) if at < row.span.end => row.push(timeline, sms_share, op, thread),
            // Of what nothing tells who asked for it, nothing tells whether it waits in vain.
            (_, asked) => {
                if let Some(ended) = row.take() {
                    sums.add(ended);
                }
                if let Some((_, thread)) = asked {
                    row.insert(Row::new(op, thread)).push(timeline, sms_share, op, thread);
                }
            }
        }
    }
    let mut streams = streams.into_list();
    streams.sort_unstable_by_key(|(index, _)| *index);
    let ended = streams.into_iter().map(|(_, (row, mut sums))| {
        if let Some(row) = row {
            sums.add(row);
        }
        sums
    });
    ended.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations of 10 ns one behind the other, of these threads.
    fn row(start: i64, threads: &[u32]) -> Row {
        let op = |at: i64| Op { start: start + 10 * at, end: start + 10 * at + 10, index: 0, kind: OpKind::Memset };
        let mut row = Row::new(op(0), threads[0]);
        (0..).zip(threads).for_each(|(at, thread)| row.push(&Timeline::default(), 1.0, op(at), *thread));
        row
    }

    #[test]
    fn the_thread_that_begins_a_row_takes_turns_as_well() {
        let mut sums = Sums::default();
        (0..20).for_each(|at| sums.add(row(at * 100, &[1, 2, 3])));
        assert_eq!((sums.count, sums.thread_count(), sums.won_ns), (40, 3, 400));
    }

    #[test]
    fn the_longest_row_is_told_whatever_another_wins() {
        let mut sums = Sums::default();
        sums.add(row(0, &[1, 2, 3, 4]));
        sums.add(row(1_000, &[1, 1, 1, 1, 2, 1]));
        sums.add(row(2_000, &[1; 9]));
        assert_eq!(sums.longest, Some(Interval::new(1_000, 1_060)), "one thread alone takes no turns");
    }
}
