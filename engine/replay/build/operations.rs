//! What operations waited for.

use std::ops::Range;

use foldhash::HashMap;

use super::super::Assumption;
use super::super::model::{Model, Why};
use super::super::record::Op;
use super::{Builder, MAX_LOOK_BACK, MAX_WAITED_STREAM_COUNT, RIGHT_BEFORE_NS};
use crate::ledger::OpKind;
use crate::timeline::{NONE, StreamKind};

/// An operation that begins later than this after all that it is known to wait for waited for something else.
const SUDDEN_NS: i64 = 5_000;
/// The same of an operation of another device.
const RIGHT_BEFORE_ELSEWHERE_NS: i64 = 40_000;
/// The same of communication, which begins while another operation still drains.
const RIGHT_BEFORE_COMMUNICATION_NS: i64 = 200_000;
/// Of the time between what an operation is known to wait for and its start, more is not explained.
const EXPLAINED_NS: i64 = 30_000;

/// Streams of one kind in one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct LegacyKey {
    process: u32,
    device: u32,
    context: i64,
    kind: StreamKind,
}

impl Builder<'_> {
    /// What each operation waited for.
    pub(super) fn operations(&mut self) {
        // Of each stream: what runs last, by end, of those that began.
        let mut last: HashMap<u32, u32> = HashMap::default();
        let legacy = self.legacy_streams();
        let askers = self.askers();
        for op in 0..self.model.part.ops.len() as u32 {
            let row = *self.model.op(op);
            let (start, end) = self.model.op_events[op as usize];
            self.edge(start, end, row.end - row.start, Why::Run);
            if row.call == NONE {
                if row.is_unlinked {
                    self.follow(op, &last, &askers);
                }
                last.insert(row.stream, op);
                continue;
            }
            let mut waits: Vec<(u32, i64, Why)> = Vec::new();
            let call = self.model.call(row.call);
            if call.start <= row.start {
                waits.push((self.model.call_events[row.call as usize].0, self.usual.launch_ns, Why::Launch));
            }
            if let Some(before) = self.before_in_stream(&last, &row) {
                waits.push((self.model.op_events[before as usize].1, self.usual.spacing_ns, Why::Stream));
            }
            for before in self.legacy_before(&last, &row, &legacy) {
                waits.push((self.model.op_events[before as usize].1, self.usual.spacing_ns, Why::Legacy));
            }
            self.settle_start(op, &mut waits);
            last.insert(row.stream, op);
        }
    }

    /// By stream, the positions of the calls of the thread that asks for its work.
    fn askers(&self) -> HashMap<u32, Range<usize>> {
        let part = &self.model.part;
        let mut askers: HashMap<u32, Range<usize>> = HashMap::default();
        for op in part.ops.iter().filter(|op| op.call != NONE) {
            if askers.contains_key(&op.stream) {
                continue;
            }
            if let Some(thread) = part.threads.iter().find(|thread| thread.contains(&(op.call as usize))) {
                askers.insert(op.stream, thread.clone());
            }
        }
        askers
    }

    /// What no recorded call asked for follows what ran right before it in its stream. Where nothing did, the thread that asks for
    /// the stream's other work asked for it about then: it follows that thread's last call.
    fn follow(&mut self, op: u32, last: &HashMap<u32, u32>, askers: &HashMap<u32, Range<usize>>) {
        let row = *self.model.op(op);
        let to = self.model.op_events[op as usize].0;
        let before = self.before_in_stream(last, &row);
        let gap_ns = before.map(|before| row.start - self.model.op(before).end);
        if let (Some(before), Some(gap_ns)) = (before, gap_ns) {
            let lag_ns = if gap_ns <= SUDDEN_NS { gap_ns } else { self.usual.spacing_ns.min(gap_ns) };
            self.edge(self.model.op_events[before as usize].1, to, lag_ns, Why::Unlinked);
        }
        let calls = askers.get(&row.stream).cloned().filter(|_| gap_ns.is_none_or(|gap_ns| gap_ns > SUDDEN_NS));
        let Some(calls) = calls else { return };
        let own = &self.model.part.calls[calls.clone()];
        let Some(place) = own.partition_point(|call| call.start < row.start).checked_sub(1) else { return };
        // What began while that call lasted was launched before it.
        let (begin, end) = self.model.call_events[calls.start + place];
        let (from, since) = if own[place].end <= row.start { (end, own[place].end) } else { (begin, own[place].start) };
        let lag_ns = row.start - since;
        self.edge(from, to, lag_ns, Why::Unlinked);
    }

    /// The edges to the start of an operation: that which held it has the lag that was recorded, the others what is usual.
    fn settle_start(&mut self, op: u32, waits: &mut Vec<(u32, i64, Why)>) {
        let row = *self.model.op(op);
        let to = self.model.op_events[op as usize].0;
        let recorded = |from: u32, model: &Model| model.recorded[from as usize];
        waits.retain(|(from, _, _)| recorded(*from, &self.model) <= row.start);
        let ready = waits.iter().map(|(from, lag, _)| recorded(*from, &self.model) + lag.min(&SUDDEN_NS)).max();
        if ready.is_none_or(|ready| row.start - ready > SUDDEN_NS)
            && let Some(wait) = self.ordered_after(op)
            && !waits.iter().any(|(from, _, _)| *from == wait.0)
        {
            waits.push(wait);
            self.assumptions.push(Assumption::OrderAcrossStreams);
        }
        let latest = waits.iter().max_by_key(|(from, lag, _)| recorded(*from, &self.model) + lag).copied();
        let is_communication = row.kind == OpKind::Communication;
        for (from, usual, why) in std::mem::take(waits) {
            let exact = row.start - recorded(from, &self.model);
            let is_holder = latest.is_some_and(|latest| latest.0 == from);
            self.edge(from, to, if is_holder { exact } else { exact.min(usual) }, why);
            // While its call lasts, the host is at work on it: it stages memory, or waits for room.
            let is_asked = self.model.call(row.call).end < row.start;
            let exact = if why == Why::Launch { row.start - self.model.call(row.call).end } else { exact };
            let explained_ns =
                if is_communication && why == Why::Order { RIGHT_BEFORE_COMMUNICATION_NS } else { EXPLAINED_NS };
            if is_holder && is_asked && exact > explained_ns {
                self.unexplained.push((to, (exact - usual).max(0)));
            }
        }
    }

    /// What let an operation begin that nothing known kept from it: an operation that ended right before, else one beside which
    /// it began. Either both waited for the same, or there was no room until the blocks of that one became few.
    fn ordered_after(&self, op: u32) -> Option<(u32, i64, Why)> {
        if let Some(before) = self.right_before(op) {
            return Some((self.model.op_events[before as usize].1, self.usual.spacing_ns, Why::Order));
        }
        let beside = self.beside(op)?;
        let (known, start) = (self.model.op(beside), self.model.op(op).start);
        // In the second half of it that is so, and no time is left to explain.
        let is_late = start - known.start > known.end - start;
        let lag_ns = if is_late { start - known.start } else { self.usual.spacing_ns };
        Some((self.model.op_events[beside as usize].0, lag_ns, Why::Order))
    }

    /// The operation of another stream that began last of those which still ran on the device when another began.
    fn beside(&self, op: u32) -> Option<u32> {
        let row = self.model.op(op);
        let asked_at = |op: &Op| self.model.part.calls.get(op.call as usize).map(|call| call.start);
        let asked = asked_at(row)?;
        let mut before = (0..op).rev().take(MAX_LOOK_BACK);
        before.find(|other| {
            let known = self.model.op(*other);
            let is_here = known.device == row.device && known.stream != row.stream;
            is_here
                && known.start < row.start
                && known.end > row.start
                && asked_at(known).is_none_or(|call| call < asked)
        })
    }

    /// An operation of the device or of the process that ended right before another began.
    fn right_before(&self, op: u32) -> Option<u32> {
        let row = self.model.op(op);
        let asked = self.model.part.calls.get(row.call as usize).map_or(i64::MAX, |call| call.start);
        let end_of = |index: u32| self.model.op(index).end;
        let first_later = self.by_end.partition_point(|other| end_of(*other) <= row.start);
        let before = self.by_end[..first_later].iter().rev().take(MAX_LOOK_BACK);
        let is_communication = row.kind == OpKind::Communication;
        let here_ns = if is_communication { RIGHT_BEFORE_COMMUNICATION_NS } else { RIGHT_BEFORE_NS };
        let most_ns = here_ns.max(RIGHT_BEFORE_ELSEWHERE_NS);
        let mut before = before.take_while(|other| row.start - end_of(**other) <= most_ns);
        before
            .find(|other| {
                let known = self.model.op(**other);
                let call = self.model.part.calls.get(known.call as usize).map_or(i64::MIN, |call| call.start);
                let near_ns = if known.device == row.device { here_ns } else { RIGHT_BEFORE_ELSEWHERE_NS };
                let is_near = row.start - known.end <= near_ns;
                is_near && **other != op && known.stream != row.stream && call < asked
            })
            .copied()
    }

    /// What ended last in the stream of an operation, of what began before it.
    fn before_in_stream(&self, last: &HashMap<u32, u32>, row: &Op) -> Option<u32> {
        let before = *last.get(&row.stream)?;
        if self.model.op(before).end <= row.start {
            return Some(before);
        }
        // Kernels of a graph run beside each other: that which ended last stands for what it waited for.
        let (_, ops) = self.of_stream.get(*self.stream_index.get(&row.stream)?)?;
        let at = ops.partition_point(|op| self.model.op(*op).start < row.start);
        let before = ops[..at].iter().rev().take(MAX_LOOK_BACK).filter(|op| self.model.op(**op).end <= row.start);
        before.max_by_key(|op| self.model.op(**op).end).copied()
    }

    /// What tells of a stream which others wait for it, or it for them, because of the legacy default stream.
    fn legacy_key(&self, stream: u32) -> Option<LegacyKey> {
        let stream = self.timeline.streams.get(stream as usize)?;
        Some(LegacyKey { process: stream.process, device: stream.device, context: stream.context, kind: stream.kind })
    }

    /// The streams of each context that are the legacy default stream, and those that block on it: the first of them.
    fn legacy_streams(&self) -> HashMap<LegacyKey, Vec<u32>> {
        let mut streams: HashMap<LegacyKey, Vec<u32>> = HashMap::default();
        for (stream, _) in &self.of_stream {
            if let Some(key) = self.legacy_key(*stream) {
                let known = streams.entry(key).or_default();
                known.extend(Some(*stream).filter(|_| known.len() < MAX_WAITED_STREAM_COUNT));
            }
        }
        streams
    }

    /// What an operation waits for because of the legacy default stream.
    fn legacy_before(&self, last: &HashMap<u32, u32>, row: &Op, streams: &HashMap<LegacyKey, Vec<u32>>) -> Vec<u32> {
        let Some(own) = self.legacy_key(row.stream) else { return Vec::new() };
        let kind = match own.kind {
            StreamKind::Default => StreamKind::Blocking,
            StreamKind::Blocking => StreamKind::Default,
            StreamKind::NonBlocking | StreamKind::Unknown => return Vec::new(),
        };
        let asked = self.model.call(row.call).start;
        let wanted = streams.get(&LegacyKey { kind, ..own }).map_or(&[][..], Vec::as_slice);
        let before = wanted.iter().filter_map(|stream| last.get(stream)).copied();
        // Only what was asked for before.
        let before = before.filter(|op| {
            self.model.part.calls.get(self.model.op(*op).call as usize).is_none_or(|call| call.start < asked)
        });
        let mut before: Vec<u32> = before.collect();
        before.sort_unstable();
        before
    }
}
