//! What each call and each operation of a part waited for: the edges of its model.

use foldhash::HashMap;

use super::model::{Edge, Model, What, Why};
use super::record::{Op, Part};
use super::{Assumption, NoReplay};
use crate::ledger::OpKind;
use crate::timeline::api::{ApiClass, WaitsFor};
use crate::timeline::{NONE, StreamKind, Timeline};

/// Between the end of an operation and the start of the next in its stream, where nothing was measured.
const USUAL_SPACING_NS: i64 = 1_000;
/// Between the start of a call and that of its operation on an idle stream, where nothing was measured.
const USUAL_LAUNCH_NS: i64 = 6_000;
/// Between the end of an operation and the return of a call that waits for it, where nothing was measured.
const USUAL_RETURN_NS: i64 = 5_000;
/// What a call that waits takes by itself at most.
const WAITING_CALL_NS: i64 = 3_000;
/// An operation that begins later than this after all that it is known to wait for waited for something else.
const SUDDEN_NS: i64 = 5_000;
/// What it waited for ended so shortly before.
const RIGHT_BEFORE_NS: i64 = 20_000;
/// The same of an operation of another device.
const RIGHT_BEFORE_ELSEWHERE_NS: i64 = 40_000;
/// The same of communication, which begins while another operation still drains.
const RIGHT_BEFORE_COMMUNICATION_NS: i64 = 200_000;
/// Of the time between what an operation is known to wait for and its start, more is not explained.
const EXPLAINED_NS: i64 = 30_000;
/// A call that takes longer may have waited for room in the queue.
const LONG_CALL_NS: i64 = 50_000;
/// Host code between calls that is longer may be a wait for another thread.
const SILENT_NS: i64 = 20_000;
/// How many operations that ended before another are looked at.
const MAX_LOOK_BACK: usize = 16;
/// Streams that one wait waits for at most.
const MAX_WAITED_STREAM_COUNT: usize = 64;
/// What is not explained may be this share of a step: it stays in every replay.
const CLOSE_SHARE: f64 = 0.05;
/// More than this of a step is worth a word.
const UNEXPLAINED_SHARE: f64 = 0.01;

/// What is usual in this recording.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    pub(super) spacing_ns: i64,
    pub(super) launch_ns: i64,
    pub(super) return_ns: i64,
}

/// A model, and how far it can be trusted.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) model: Model,
    pub(super) usual: Usual,
    pub(super) assumptions: Vec<Assumption>,
    /// How far steps that are played again without what is not explained are from those recorded, at most.
    pub(super) distance_share: f64,
}

pub(super) fn build(timeline: &Timeline, part: Part) -> Result<Built, NoReplay> {
    let builder = Builder::new(timeline, part);
    let built = builder.run();
    if built.distance_share > CLOSE_SHARE { Err(NoReplay::Unexplained) } else { Ok(built) }
}

struct Builder<'all> {
    timeline: &'all Timeline,
    model: Model,
    usual: Usual,
    /// The operations of each stream, by start.
    of_stream: Vec<(u32, Vec<u32>)>,
    /// Where each stream is among them.
    stream_index: HashMap<u32, usize>,
    /// All operations by end.
    by_end: Vec<u32>,
    assumptions: Vec<Assumption>,
    /// Time that is not explained, by event that came late because of it.
    unexplained: Vec<(u32, i64)>,
}

/// Streams of one kind in one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct LegacyKey {
    process: u32,
    device: u32,
    context: i64,
    kind: StreamKind,
}

impl<'all> Builder<'all> {
    fn new(timeline: &'all Timeline, part: Part) -> Self {
        let mut stream_index: HashMap<u32, usize> = HashMap::default();
        let mut of_stream: Vec<(u32, Vec<u32>)> = Vec::new();
        for (op, row) in (0_u32..).zip(&part.ops) {
            let index = *stream_index.entry(row.stream).or_insert_with(|| {
                of_stream.push((row.stream, Vec::new()));
                of_stream.len() - 1
            });
            of_stream[index].1.push(op);
        }
        let mut by_end: Vec<u32> = (0..part.ops.len() as u32).collect();
        by_end.sort_by_key(|op| part.ops[*op as usize].end);
        let model = Model::new(part);
        let usual = Usual { spacing_ns: USUAL_SPACING_NS, launch_ns: USUAL_LAUNCH_NS, return_ns: USUAL_RETURN_NS };
        Self {
            timeline,
            model,
            usual,
            of_stream,
            stream_index,
            by_end,
            assumptions: Vec::new(),
            unexplained: Vec::new(),
        }
    }

    fn run(mut self) -> Built {
        self.measure();
        self.threads();
        self.operations();
        self.calls();
        let mut model = self.model;
        model.edges.retain(|edge| edge.from < edge.to);
        model.edges.sort_by_key(|edge| edge.to);
        let communicates = model.part.ops.iter().any(|op| op.kind == OpKind::Communication);
        self.assumptions.extend(communicates.then_some(Assumption::OtherRanksUnchanged));
        self.assumptions.sort_unstable();
        self.assumptions.dedup();
        let distance_share = distance(&model, &self.unexplained);
        if distance_share > UNEXPLAINED_SHARE {
            self.assumptions.push(Assumption::UnexplainedStays);
        }
        Built { model, usual: self.usual, assumptions: self.assumptions, distance_share }
    }

    /// What is usual between the end of one operation and the start of the next, and so on.
    fn measure(&mut self) {
        let (mut spacings, mut launches) = (Vec::new(), Vec::new());
        for (_, ops) in &self.of_stream {
            for pair in ops.windows(2) {
                let (before, op) = (self.model.op(pair[0]), self.model.op(pair[1]));
                let Some(call) = self.model.part.calls.get(op.call as usize) else { continue };
                if call.end < before.end && op.start >= before.end {
                    spacings.push(op.start - before.end);
                } else if call.start > before.end && op.start >= call.start {
                    launches.push(op.start - call.start);
                }
            }
        }
        // The device was never kept waiting where it is fastest: the lower quarter.
        self.usual.spacing_ns = quantile(&mut spacings, 4).map_or(USUAL_SPACING_NS, |ns| ns.min(4 * USUAL_SPACING_NS));
        self.usual.launch_ns = quantile(&mut launches, 4).map_or(USUAL_LAUNCH_NS, |ns| ns.min(4 * USUAL_LAUNCH_NS));
    }

    fn edge(&mut self, from: u32, to: u32, lag_ns: i64, why: Why) {
        self.model.edges.push(Edge { from, to, lag_ns, why });
    }

    /// The program order of each thread, and who handed over to whom.
    fn threads(&mut self) {
        let threads = self.model.part.threads.clone();
        for range in &threads {
            self.begin(range, &threads);
            for call in range.clone().skip(1) {
                let (before, this) = (call - 1, call);
                let gap = self.model.part.calls[this].start - self.model.part.calls[before].end;
                let to = self.model.call_events[this].0;
                let giver = if gap >= SILENT_NS { self.hand_over(range, this, &threads) } else { None };
                if let Some(giver) = giver {
                    let from = self.model.call_events[giver].1;
                    let lag = self.model.part.calls[this].start - self.model.part.calls[giver].end;
                    self.edge(from, to, lag, Why::HandOver);
                    self.assumptions.push(Assumption::ThreadsTakeTurns);
                } else {
                    // Of calls without length at one moment the second begins before the first returns.
                    let (begin, end) = self.model.call_events[before];
                    self.edge(if end < to { end } else { begin }, to, gap.max(0), Why::Program);
                }
            }
        }
    }

    /// What begins a thread: the last call before its first, of any thread of the process.
    fn begin(&mut self, own: &std::ops::Range<usize>, threads: &[std::ops::Range<usize>]) {
        let calls = &self.model.part.calls;
        let Some(first) = calls.get(own.start).filter(|_| !own.is_empty()) else { return };
        let process = self.timeline.process_of(first.thread);
        let others = threads.iter().filter(|other| *other != own && !other.is_empty());
        let before = others.filter(|other| self.timeline.process_of(calls[other.start].thread) == process);
        let last = before.filter_map(|other| {
            let count = calls[other.clone()].partition_point(|call| call.end <= first.start);
            count.checked_sub(1).map(|last| other.start + last)
        });
        let Some(giver) = last.max_by_key(|last| calls[*last].end) else { return };
        let (from, to) = (self.model.call_events[giver].1, self.model.call_events[own.start].0);
        let lag = first.start - calls[giver].end;
        self.edge(from, to, lag, Why::HandOver);
        self.assumptions.push(Assumption::ThreadsTakeTurns);
    }

    /// The last call of another thread of the process, where that thread was busy while this one was silent, and is silent now.
    fn hand_over(
        &self,
        own: &std::ops::Range<usize>,
        call: usize,
        threads: &[std::ops::Range<usize>],
    ) -> Option<usize> {
        let calls = &self.model.part.calls;
        let (start, silent_from) = (calls[call].start, calls[call - 1].end);
        let process = self.timeline.process_of(calls[call].thread);
        let others = threads.iter().filter(|other| *other != own && !other.is_empty());
        let last = others.filter_map(|other| {
            let is_same = self.timeline.process_of(calls[other.start].thread) == process;
            let next = other.start + calls[other.clone()].partition_point(|call| call.start <= start);
            let last = next.checked_sub(1).filter(|last| *last >= other.start && is_same)?;
            let is_silent =
                calls[last].end <= start && (next == other.end || calls[next].start - calls[last].end >= SILENT_NS);
            (is_silent && calls[last].end > silent_from).then_some(last)
        });
        last.max_by_key(|last| calls[*last].end)
    }

    /// What each operation waited for.
    fn operations(&mut self) {
        // Of each stream: what runs last, by end, of those that began.
        let mut last: HashMap<u32, u32> = HashMap::default();
        let legacy = self.legacy_streams();
        for op in 0..self.model.part.ops.len() as u32 {
            let row = *self.model.op(op);
            let (start, end) = self.model.op_events[op as usize];
            self.edge(start, end, row.end - row.start, Why::Run);
            if row.call == NONE {
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

    /// The edges to the start of an operation: that which held it has the lag that was recorded, the others what is usual.
    fn settle_start(&mut self, op: u32, waits: &mut Vec<(u32, i64, Why)>) {
        let row = *self.model.op(op);
        let to = self.model.op_events[op as usize].0;
        let recorded = |from: u32, model: &Model| model.recorded[from as usize];
        waits.retain(|(from, _, _)| recorded(*from, &self.model) <= row.start);
        let ready = waits.iter().map(|(from, lag, _)| recorded(*from, &self.model) + lag.min(&SUDDEN_NS)).max();
        if ready.is_none_or(|ready| row.start - ready > SUDDEN_NS)
            && let Some(before) = self.right_before(op)
        {
            waits.push((self.model.op_events[before as usize].1, self.usual.spacing_ns, Why::Order));
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

    /// What each call waited for.
    fn calls(&mut self) {
        let mut returns = Vec::new();
        for call in 0..self.model.part.calls.len() as u32 {
            let waited = self.waited_for(call);
            let row = *self.model.call(call);
            let latest = waited.iter().filter(|(_, at, _)| *at > row.start).max_by_key(|(_, at, _)| *at).copied();
            if let (Some((_, at, Why::Sync)), ApiClass::Wait(_)) = (latest, row.class) {
                returns.push(row.end - at);
            }
            let (start, end) = self.model.call_events[call as usize];
            let duration = row.end - row.start;
            let own = if latest.is_some() { duration.min(WAITING_CALL_NS) } else { duration };
            self.edge(start, end, own, Why::Call);
            for (event, at, why) in waited {
                let exact = row.end - at;
                let is_holder = latest.is_some_and(|latest| latest.0 == event);
                self.edge(event, end, if is_holder { exact } else { exact.min(self.usual.return_ns) }, why);
            }
        }
        self.usual.return_ns = quantile(&mut returns, 2).map_or(USUAL_RETURN_NS, |ns| ns.min(4 * USUAL_RETURN_NS));
    }

    /// The events that a call waited for, each with its recorded time.
    fn waited_for(&mut self, call: u32) -> Vec<(u32, i64, Why)> {
        let row = *self.model.call(call);
        match row.class {
            ApiClass::Wait(WaitsFor::Device) => self.last_of_streams(call),
            ApiClass::Wait(_) | ApiClass::Query => self.latest_within(call).into_iter().collect(),
            ApiClass::CopyBlocking | ApiClass::CopyAsync => self.own_copy(call),
            ApiClass::Allocate => self.implied(call),
            ApiClass::Launch | ApiClass::Memset => self.room_in_queue(call).into_iter().collect(),
            ApiClass::Load | ApiClass::Init | ApiClass::Other => Vec::new(),
        }
    }

    /// The last operation of each stream of the process that was asked for before a call and ended before its return.
    fn last_of_streams(&self, call: u32) -> Vec<(u32, i64, Why)> {
        let row = self.model.call(call);
        let process = self.timeline.process_of(row.thread);
        let mut waited = Vec::new();
        for (stream, ops) in self.of_stream.iter().take(MAX_WAITED_STREAM_COUNT) {
            let owner = self.timeline.streams.get(*stream as usize).map_or(NONE, |stream| stream.process);
            if owner != NONE && owner != process {
                continue;
            }
            let asked = |op: &u32| {
                let call = self.model.part.calls.get(self.model.op(*op).call as usize);
                call.map_or(i64::MIN, |call| call.start)
            };
            let count = ops.partition_point(|op| asked(op) < row.start);
            let Some(op) = count.checked_sub(1).map(|last| ops[last]) else { continue };
            let end = self.model.op(op).end;
            if end <= row.end {
                waited.push((self.model.op_events[op as usize].1, end, Why::Sync));
            }
        }
        waited
    }

    /// Of what was asked for before a wait, what ended last before its return; for one stream or event nothing more is told.
    fn latest_within(&mut self, call: u32) -> Option<(u32, i64, Why)> {
        let row = *self.model.call(call);
        let latest =
            self.last_of_streams(call).into_iter().filter(|(_, at, _)| *at > row.start).max_by_key(|one| one.1);
        let latest = latest.or_else(|| self.ended_in(call))?;
        self.assumptions.push(Assumption::WaitTargets);
        Some(latest)
    }

    /// The last operation that ended during a call and had been asked for before it.
    fn ended_in(&self, call: u32) -> Option<(u32, i64, Why)> {
        let row = self.model.call(call);
        let process = self.timeline.process_of(row.thread);
        let end_of = |index: u32| self.model.op(index).end;
        let first_later = self.by_end.partition_point(|other| end_of(*other) <= row.end);
        let mut before = self.by_end[..first_later].iter().rev().take(MAX_LOOK_BACK);
        let found = before.find(|other| {
            let known = self.model.op(**other);
            let asker = self.model.part.calls.get(known.call as usize);
            known.end > row.start
                && asker
                    .is_none_or(|asker| asker.start < row.start && self.timeline.process_of(asker.thread) == process)
        })?;
        Some((self.model.op_events[*found as usize].1, end_of(*found), Why::Sync))
    }

    /// A copy call that blocks, or stages pageable memory, waits for its own copy.
    fn own_copy(&self, call: u32) -> Vec<(u32, i64, Why)> {
        let row = self.model.call(call);
        let Some(op) = self.model.part.ops.get(row.first_op as usize) else { return Vec::new() };
        if row.class == ApiClass::CopyAsync && !op.is_pageable {
            return self.room_in_queue(call).into_iter().collect();
        }
        let (start, end) = self.model.op_events[row.first_op as usize];
        if op.end <= row.end {
            vec![(end, op.end, Why::Sync)]
        } else if op.start <= row.end {
            vec![(start, op.start, Why::Sync)]
        } else {
            Vec::new()
        }
    }

    /// A call that frees or allocates waits for the device where all that was asked for ended during it.
    fn implied(&self, call: u32) -> Vec<(u32, i64, Why)> {
        let row = self.model.call(call);
        if row.end - row.start < SILENT_NS {
            return Vec::new();
        }
        let waited = self.last_of_streams(call);
        let is_during = waited.iter().any(|(_, at, _)| *at > row.start);
        if is_during { waited } else { Vec::new() }
    }

    /// A launch that takes long while the device is busy waits until something ends.
    fn room_in_queue(&self, call: u32) -> Option<(u32, i64, Why)> {
        let row = self.model.call(call);
        if row.end - row.start < LONG_CALL_NS {
            return None;
        }
        let (event, at, _) = self.ended_in(call)?;
        (row.end - at <= RIGHT_BEFORE_NS).then_some((event, at, Why::Queue))
    }
}

/// How far the steps are from those recorded, at most, when what is not explained is left out.
fn distance(model: &Model, unexplained: &[(u32, i64)]) -> f64 {
    let mut play = super::model::Play::new(model);
    let mut less: HashMap<u32, i64> = HashMap::default();
    for (event, ns) in unexplained {
        *less.entry(*event).or_default() += *ns;
    }
    for edge in &mut play.edges {
        if let (Some(ns), What::OpStart(_)) = (less.get(&edge.to), model.what[edge.to as usize]) {
            edge.lag_ns = (edge.lag_ns - ns).max(0);
        }
    }
    let recorded = model.step_ns(&model.recorded);
    let played = model.step_ns(&play.times());
    if recorded > 0.0 { (played - recorded).abs() / recorded } else { 1.0 }
}

/// The value below which one in so many lie.
fn quantile(values: &mut [i64], one_in: usize) -> Option<i64> {
    let at = values.len().checked_sub(1)? / one_in;
    Some(*values.select_nth_unstable(at).1)
}
