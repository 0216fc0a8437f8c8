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
    of_thread: HashMap<u32, i64>,
}

/// What the rows of turns add up to.
#[derive(Default)]
struct Sums {
    count: i64,
    won_ns: i64,
    /// The row that wins most, and what it wins.
    longest: Option<(i64, Interval)>,
    of_thread: BTreeMap<(u32, u32), i64>,
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
        if thread != self.last_thread {
            self.turns.count += 1;
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
    fn add(&mut self, process: u32, row: &Row) {
        if !row.takes_turns() {
            return;
        }
        let won_ns = row.won_ns();
        self.count += row.turns.count;
        self.won_ns = self.won_ns.saturating_add(won_ns);
        if self.longest.is_none_or(|(most_ns, _)| won_ns > most_ns) {
            self.longest = Some((won_ns, row.span));
        }
        for (thread, count) in &row.turns.of_thread {
            *self.of_thread.entry((process, *thread)).or_default() += count;
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
    let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
    let mut sums = Sums::default();
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let index = op.stream(timeline);
        let Some(stream) = timeline.streams.get(index as usize).filter(|stream| stream.kind == StreamKind::Default)
        else {
            continue;
        };
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
                    sums.add(stream.process, &ended);
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
        if let Some(stream) = timeline.streams.get(index as usize) {
            sums.add(stream.process, &row);
        }
    }
    facts.set("shared_stream_thread_count", sums.thread_count());
    facts.set("shared_stream_turn_count", sums.count);
    facts.set("shared_stream_turn_ns", sums.won_ns);
    if let Some((_, longest)) = sums.longest {
        facts.set("shared_stream_turn_longest_ns", longest.len_ns());
        facts.set("shared_stream_turn_longest_start_ns", longest.start);
    }
}
