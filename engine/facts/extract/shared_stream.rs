//! Threads of a program that share the legacy default stream: it runs their work one after the other, also where none of it needs
//! that of another thread.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::{StreamKind, Timeline};

/// Where the thread changes less often, from one operation of the stream to the next, one thread goes on where another has ended: as
/// the backward pass of PyTorch does, which has a thread of its own.
const LEAST_TURN_SHARE: f64 = 0.1;
/// A thread with fewer turns than this part of those of the thread with most does not count.
const LEAST_THREAD_SHARE: f64 = 0.1;

/// Operations of one stream, one behind the other, each of which was asked for before the one before it had ended.
struct Row {
    span: Interval,
    /// The thread that asked for the last of them.
    last_thread: u32,
    op_count: i64,
    turns: Turns,
    busy_ns: HashMap<u32, i64>,
    /// What they take of what all threads share, where they run beside each other.
    sms_ns: f64,
    to_device_ns: i64,
    to_host_ns: i64,
}

/// How often another thread's operation came next.
#[derive(Default)]
struct Turns {
    count: i64,
    /// By thread, how often its operations came next, those that the row begins with among them.
    of_thread: HashMap<u32, i64>,
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
        Self {
            span: Interval { start: op.start, end: op.start },
            last_thread: thread,
            op_count: 0,
            turns: Turns::default(),
            busy_ns: HashMap::default(),
            sms_ns: 0.0,
            to_device_ns: 0,
            to_host_ns: 0,
        }
    }

    fn push(&mut self, timeline: &Timeline, sm_count: i64, op: Op, thread: u32) {
        let length_ns = op.interval().len_ns();
        let is_turn = thread != self.last_thread;
        self.turns.count += i64::from(is_turn);
        if is_turn || self.op_count == 0 {
            *self.turns.of_thread.entry(thread).or_default() += 1;
        }
        self.last_thread = thread;
        self.op_count += 1;
        self.span.end = self.span.end.max(op.end);
        *self.busy_ns.entry(thread).or_default() += length_ns;
        match (op.kind, timeline.copies.direction.get(op.index as usize)) {
            (OpKind::Kernel, _) => self.sms_ns += length_ns as f64 * sms_share(timeline, sm_count, op),
            (OpKind::Copy, Some(Direction::HostToDevice)) => self.to_device_ns += length_ns,
            (OpKind::Copy, Some(Direction::DeviceToHost)) => self.to_host_ns += length_ns,
            (OpKind::Memset, _) => {}
            _ => self.sms_ns += length_ns as f64,
        }
    }

    /// What is won, at best, where each thread has a stream of its own: the row takes as long as its longest thread, or as what all
    /// of them share.
    fn won_ns(&self) -> i64 {
        let longest = self.busy_ns.values().copied().max().unwrap_or(0);
        let least = longest.max(self.sms_ns as i64).max(self.to_device_ns).max(self.to_host_ns);
        (self.span.len_ns() - least).max(0)
    }

    fn takes_turns(&self) -> bool {
        self.turns.count > 1 && self.turns.count as f64 >= LEAST_TURN_SHARE * self.op_count as f64
    }
}

/// The part of the SMs that a kernel's blocks take; all where it is not known.
fn sms_share(timeline: &Timeline, sm_count: i64, op: Op) -> f64 {
    let blocks = timeline.geometry_of(op.index).map(|geometry| geometry.grid_blocks).filter(|blocks| *blocks > 0);
    blocks.map_or(1.0, |blocks| (blocks as f64 / sm_count.max(1) as f64).min(1.0))
}

impl Sums {
    fn add(&mut self, row: &Row) {
        if !row.takes_turns() {
            return;
        }
        self.count += row.turns.count;
        self.won_ns = self.won_ns.saturating_add(row.won_ns());
        if self.longest.is_none_or(|longest| row.span.len_ns() > longest.len_ns()) {
            self.longest = Some(row.span);
        }
        for (thread, count) in &row.turns.of_thread {
            *self.of_thread.entry(*thread).or_default() += count;
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
    let most = streams.into_values().rev().max_by_key(|sums| (sums.won_ns, sums.count)).unwrap_or_default();
    facts.set("shared_stream_thread_count", most.thread_count());
    facts.set("shared_stream_turn_count", most.count);
    facts.set("shared_stream_turn_ns", most.won_ns);
    if let Some(longest) = most.longest {
        facts.set("shared_stream_turn_longest_ns", longest.len_ns());
        facts.set("shared_stream_turn_longest_start_ns", longest.start);
    }
}

/// The turns of each legacy default stream of a device, by its index.
fn of_streams(context: &Context<'_>, device: &DeviceContext, sm_count: i64) -> BTreeMap<u32, Sums> {
    let (timeline, window) = (context.timeline, device.window());
    let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
    let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
    let is_default =
        |stream: u32| timeline.streams.get(stream as usize).is_some_and(|stream| stream.kind == StreamKind::Default);
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let index = op.stream(timeline);
        if !is_default(index) {
            continue;
        }
        let Interval { start, end } = op.interval().clip(window);
        let op = Op { start, end, ..op };
        let call = op.call(timeline).map(|call| call as usize);
        let asked = call.and_then(|call| Some((timeline.api.times.start(call), *timeline.api.thread.get(call)?)));
        match (rows.remove(&index), asked) {
            (Some(mut row), Some((at, thread))) if at < row.span.end => {
                row.push(timeline, sm_count, op, thread);
                rows.insert(index, row);
            }
            // Of what nothing tells who asked for it, nothing tells whether it waits in vain.
            (ended, asked) => {
                if let Some(ended) = ended {
                    sums.entry(index).or_default().add(&ended);
                }
                if let Some((_, thread)) = asked {
                    let mut row = Row::new(op, thread);
                    row.push(timeline, sm_count, op, thread);
                    rows.insert(index, row);
                }
            }
        }
    }
    for (index, row) in rows {
        sums.entry(index).or_default().add(&row);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations of 10 ns one behind the other, of these threads.
    fn row(start: i64, threads: &[u32]) -> Row {
        let op = |at: i64| Op { start: start + 10 * at, end: start + 10 * at + 10, index: 0, kind: OpKind::Memset };
        let mut row = Row::new(op(0), threads[0]);
        (0..).zip(threads).for_each(|(at, thread)| row.push(&Timeline::default(), 132, op(at), *thread));
        row
    }

    #[test]
    fn the_thread_that_begins_a_row_takes_turns_as_well() {
        let mut sums = Sums::default();
        (0..20).for_each(|at| sums.add(&row(at * 100, &[1, 2, 3])));
        assert_eq!((sums.count, sums.thread_count(), sums.won_ns), (40, 3, 400));
    }

    #[test]
    fn the_longest_row_is_told_whatever_another_wins() {
        let mut sums = Sums::default();
        sums.add(&row(0, &[1, 2, 3, 4]));
        sums.add(&row(1_000, &[1, 1, 1, 1, 2, 1]));
        sums.add(&row(2_000, &[1; 9]));
        assert_eq!(sums.longest, Some(Interval::new(1_000, 1_060)), "one thread alone takes no turns");
    }
}
