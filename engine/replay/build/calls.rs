//! What calls waited for.

use super::super::Assumption;
use super::super::model::Why;
use super::super::record::Call;
use super::{Builder, MAX_LOOK_BACK, MAX_WAITED_STREAM_COUNT, RIGHT_BEFORE_NS, SILENT_NS, USUAL_RETURN_NS, quantile};
use crate::timeline::api::{ApiClass, MemoryCall, WaitsFor};
use crate::timeline::{NONE, StreamKind};

/// What a call that waits takes by itself at most.
const WAITING_CALL_NS: i64 = 3_000;
/// So many distances tell whether they differ.
const MIN_LAG_COUNT: usize = 4;
/// A call that takes longer may have waited for room in the queue.
const LONG_CALL_NS: i64 = 50_000;

/// Whether a call takes memory of the device, and not in the order of a stream.
fn takes_memory(call: &Call) -> bool {
    call.memory == Some(MemoryCall::DeviceAllocate)
}

impl Builder<'_> {
    /// What a call takes by itself that takes memory of the device, where work ended in it: as long as those in which none did. Where
    /// there is none, and calls end at no one distance from the work, that is not what they wait for, and the shortest tells it.
    fn taking_memory_ns(&self) -> i64 {
        let (mut without, mut lags, mut shortest_ns) = (Vec::new(), Vec::new(), i64::MAX);
        for call in (0..self.model.part.calls.len() as u32).filter(|call| takes_memory(self.model.call(*call))) {
            let row = self.model.call(call);
            let duration = row.end - row.start;
            shortest_ns = shortest_ns.min(duration);
            match self.implied(call).into_iter().map(|(_, at, _)| at).max() {
                Some(at) => lags.push(row.end - at),
                None => without.push(duration),
            }
        }
        let spread_ns = lags.iter().max().zip(lags.iter().min()).map_or(0, |(most, least)| most - least);
        let shortest = (lags.len() >= MIN_LAG_COUNT && spread_ns > RIGHT_BEFORE_NS).then_some(shortest_ns);
        quantile(&mut without, 2).or(shortest).unwrap_or(0).max(WAITING_CALL_NS)
    }

    /// What each call waited for.
    pub(super) fn calls(&mut self) {
        let mut returns = Vec::new();
        let taking_ns = self.taking_memory_ns();
        for call in 0..self.model.part.calls.len() as u32 {
            let waited = self.waited_for(call);
            let row = *self.model.call(call);
            let latest = waited.iter().filter(|(_, at, _)| *at > row.start).max_by_key(|(_, at, _)| *at).copied();
            if let (Some((_, at, Why::Sync)), ApiClass::Wait(_)) = (latest, row.class) {
                returns.push(row.end - at);
            }
            let (start, end) = self.model.call_events[call as usize];
            let duration = row.end - row.start;
            let own_ns = if takes_memory(&row) { taking_ns } else { WAITING_CALL_NS };
            let own = if latest.is_some() { duration.min(own_ns) } else { duration };
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
            ApiClass::Wait(WaitsFor::Stream) => match self.latest_within(call) {
                Some(latest) => vec![latest],
                None => self.end_of_only_stream(call),
            },
            ApiClass::Wait(_) | ApiClass::Query => self.latest_within(call).into_iter().collect(),
            ApiClass::CopyBlocking | ApiClass::CopyAsync => self.own_copy(call),
            ApiClass::Allocate => self.implied(call),
            ApiClass::Launch | ApiClass::Memset => self.room_in_queue(call).into_iter().collect(),
            ApiClass::Load | ApiClass::Init | ApiClass::Other => Vec::new(),
        }
    }

    /// The last operation of each stream of the process that was asked for before a call and ended before its return.
    pub(super) fn last_of_streams(&self, call: u32) -> Vec<(u32, i64, Why)> {
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

    /// What a wait for a stream that had run dry would wait for where the host came sooner: known where there is but one stream.
    fn end_of_only_stream(&self, call: u32) -> Vec<(u32, i64, Why)> {
        if self.of_stream.len() == 1 { self.last_of_streams(call) } else { Vec::new() }
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
    pub(super) fn ended_in(&self, call: u32) -> Option<(u32, i64, Why)> {
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
            self.default_stream(call, op.stream)
        }
    }

    /// A copy call of the legacy default stream that returns before its copy begins has waited for what ended meanwhile in the
    /// streams that block on it.
    fn default_stream(&self, call: u32, stream: u32) -> Vec<(u32, i64, Why)> {
        let is_default =
            self.timeline.streams.get(stream as usize).is_some_and(|stream| stream.kind == StreamKind::Default);
        let waited = if is_default { self.implied(call) } else { Vec::new() };
        waited.into_iter().map(|(event, at, _)| (event, at, Why::Legacy)).collect()
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
