//! Changes of copies between host and device: pinned, batched, beside other work.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::super::model::{Edge, Play, What, Why};
use super::super::record::{Call, Op, TO_DEVICE, TO_HOST};
use super::super::setting::Setting;
use super::{Extent, LARGE_SHARE};
use crate::timeline::NONE;
use crate::timeline::api::{ApiClass, WaitsFor};

/// Copies of at most so many bytes are small: they take longer to begin than to move.
const MAX_SMALL_COPY_BYTES: i64 = 64 << 10;
/// So many in a row, at least.
const MIN_BATCH_COUNT: usize = 4;
/// At what rate a host packs small pieces, bytes a nanosecond. Measured on the machine of docs/gains.md.
pub(super) const PACKING_RATE: f64 = 14.0;
/// So many pieces in a step, at least.
const MIN_PIECE_COUNT: u32 = 3;
/// Calls between a wait and what was asked for before or after it, at most.
const MAX_WAIT_DISTANCE: usize = 1_000;
/// What a copy takes beside its bytes.
pub(super) const COPY_LATENCY_NS: i64 = 1_500;
/// Of a kernel, the most that its last wave leaves to kernels of other streams. Measured on the machine of docs/gains.md.
pub(in super::super) const LAST_WAVE_SHARE: f64 = 0.08;
/// An operator that copies waits by itself so soon after it has asked for the copy.
const OWN_WAIT_NS: i64 = 50_000;
/// An asynchronous call.
pub(super) const ASYNC_CALL_NS: i64 = 4_000;

/// Which waits of the host go where copies overlap: who only pins memory waits for kernels as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dropped {
    AllWaits,
    WaitsForCopies,
}

impl Play<'_> {
    pub(super) fn pin_copies(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        if !model.part.ops.iter().any(is_large_pageable) {
            return;
        }
        let pinned = |op: &Op, run_ns: i64| {
            let rate = extent.rate(setting.pinned_rates(op.lane));
            run_ns.min((op.bytes as f64 / rate) as i64 + COPY_LATENCY_NS)
        };
        self.set_runs(|_, op, run_ns| is_large_pageable(op).then(|| pinned(op, run_ns)));
        let pageable = |call: u32| {
            let row = model.call(call);
            model.part.ops.get(row.first_op as usize).filter(|op| row.op_count > 0 && is_large_pageable(op))
        };
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain_mut(|edge| {
            if let Some(op) = self.starting(edge).filter(|op| is_large_pageable(model.op(*op))) {
                if edge.why == Why::Launch && is_large_pageable(model.op(op)) {
                    edge.lag_ns = edge.lag_ns.min(setting.launch_ns);
                }
                return true;
            }
            let Some((call, op)) = self.returning(edge).and_then(|call| Some((call, pageable(call)?))) else {
                return true;
            };
            if edge.why == Why::Call {
                edge.lag_ns = edge.lag_ns.min(ASYNC_CALL_NS);
                return true;
            }
            // What comes back is waited for, as the host wants to read it; and so does a call that blocks by its name.
            let waits = op.lane == Some(TO_HOST) || model.call(call).class == ApiClass::CopyBlocking;
            let from_start = matches!(model.what[edge.from as usize], What::OpStart(_));
            let rest = if from_start { pinned(op, op.end - op.start) } else { 0 };
            edge.lag_ns = edge.lag_ns.min(rest + setting.return_ns);
            waits && extent == Extent::Expected
        });
        self.edges = edges;
        let is_of_copy = self.waits_of_uploads();
        self.free_calls(|call| is_of_copy[call as usize].then_some(0));
        if extent == Extent::Ceiling {
            // What does not change is copied once, before all steps.
            let may_be_same = self.copied_again();
            self.drop_ops(|op| may_be_same.get(op.call as usize) == Some(&true));
            self.free_calls(|call| may_be_same[call as usize].then_some(0));
            if may_be_same.contains(&true) {
                // Nothing that comes from the host keeps the rest from being launched at once.
                self.graph(extent, setting);
            }
            // Pinned memory lets copies run beside kernels as well.
            // Nobody gives buffers of their own to copies that are little of a step, to wait for nothing.
            let dropped = if self.copies_much() { Dropped::AllWaits } else { Dropped::WaitsForCopies };
            self.overlap(usize::MAX, dropped, setting);
        }
    }

    /// Whether copies from and to pageable memory take a good part of a step, as recorded.
    fn copies_much(&self) -> bool {
        let part = &self.model.part;
        let copies = part.ops.iter().filter(|op| is_large_pageable(op));
        let sum_ns = copies.map(|op| op.end - op.start).fold(0, i64::saturating_add);
        let of_step = sum_ns as f64 / f64::from(part.step_count.max(1));
        of_step >= LARGE_SHARE * self.model.step_ns(&self.model.recorded)
    }

    /// Which calls send as many bytes in each step from pageable memory, once, where no data is loaded: that may be the same data.
    fn copied_again(&self) -> Vec<bool> {
        let part = &self.model.part;
        let mut again = vec![false; part.calls.len()];
        if part.calls.iter().any(|call| call.loading_before_ns > 0) {
            return again;
        }
        let mut of_size: BTreeMap<i64, Vec<&Op>> = BTreeMap::new();
        for op in part.ops.iter().filter(|op| is_large_pageable(op) && op.lane == Some(TO_DEVICE) && op.call != NONE) {
            of_size.entry(op.bytes).or_default().push(op);
        }
        let steps = |ops: &[&Op]| ops.iter().map(|op| op.step).collect::<BTreeSet<u32>>().len();
        // Copies run ahead of the work that needs them: at either end of what is played again one may be missing.
        let comes_again = |ops: &[&Op]| steps(ops) == ops.len() && ops.len() + 1 >= part.step_count as usize;
        for op in of_size.values().filter(|ops| comes_again(ops)).flatten() {
            again[op.call as usize] |= part.calls[op.call as usize].op_count == 1;
        }
        again
    }

    /// Which calls are waits for an upload from pageable memory that the operator which copies makes by itself: a copy from pinned
    /// memory that need not block has none. Only where operators are recorded: a program may wait for its own reasons.
    fn waits_of_uploads(&self) -> Vec<bool> {
        let model = self.model;
        let mut is_wait = vec![false; model.part.calls.len()];
        for thread in &model.part.threads {
            if model.part.calls[thread.clone()].iter().all(|call| call.operator_count == 0) {
                continue;
            }
            for call in thread.clone().skip(1) {
                let (before, row) = (model.part.calls[call - 1], model.part.calls[call]);
                let op = model.part.ops.get(before.first_op as usize).filter(|_| before.op_count == 1);
                let is_upload = op.is_some_and(|op| is_large_pageable(op) && op.lane == Some(TO_DEVICE));
                let is_own = row.operator_count == 0 && row.start - before.end < OWN_WAIT_NS;
                is_wait[call] = is_upload && is_own && matches!(row.class, ApiClass::Wait(WaitsFor::Stream));
            }
        }
        is_wait
    }

    pub(super) fn batch_copies(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut bytes_of: HashMap<u32, i64> = HashMap::default();
        let mut is_later = vec![false; model.part.ops.len()];
        let mut runs: HashMap<u32, Vec<u32>> = HashMap::default();
        let mut close = |run: &mut Vec<u32>, is_later: &mut Vec<bool>| {
            if run.len() >= MIN_BATCH_COUNT {
                bytes_of.insert(run[0], run.iter().map(|op| model.op(*op).bytes).sum());
                run[1..].iter().for_each(|op| is_later[*op as usize] = true);
            }
            run.clear();
        };
        for (op, row) in (0_u32..).zip(&model.part.ops) {
            // What moves between devices has a target of its own each time.
            let is_of_one = row.lane.is_some() || row.is_within_device;
            let is_small = is_of_one && row.bytes <= MAX_SMALL_COPY_BYTES && row.call != NONE;
            let run = runs.entry(row.stream).or_default();
            let fits = run.last().is_some_and(|last| {
                let last = model.op(*last);
                last.lane == row.lane && last.step == row.step
            });
            if !is_small || !fits {
                close(run, &mut is_later);
            }
            if is_small {
                run.push(op);
            }
        }
        runs.values_mut().for_each(|run| close(run, &mut is_later));
        self.merge_copies(&bytes_of, &is_later, extent, setting);
    }

    /// The first copy of each run moves all bytes, the others are gone with their calls.
    fn merge_copies(&mut self, bytes_of: &HashMap<u32, i64>, is_later: &[bool], extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let is_gone = self.with_waits(|call| {
            let row = model.call(call);
            row.op_count == 1 && is_later.get(row.first_op as usize) == Some(&true)
        });
        let is_gone = |call: u32| is_gone[call as usize];
        for edge in &mut self.edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Run, What::OpEnd(op)) => {
                    if let Some(bytes) = bytes_of.get(&op) {
                        edge.lag_ns = joint_copy_ns(model.op(op), *bytes, extent, setting) + COPY_LATENCY_NS;
                    } else if is_later[op as usize] {
                        edge.lag_ns = 0;
                    }
                }
                (_, What::OpStart(op)) if is_later[op as usize] => edge.lag_ns = 0,
                (Why::Call | Why::Sync | Why::Queue, What::CallEnd(call)) if is_gone(call) => edge.lag_ns = 0,
                (Why::Program, What::CallStart(call)) if is_gone(call) => edge.lag_ns = 0,
                (Why::Program, What::CallStart(call)) if extent == Extent::Expected => {
                    // What stays on the device is gathered there.
                    let is_packed = |op: u32| model.part.ops.get(op as usize).is_some_and(|op| op.lane.is_some());
                    let first = Some(model.call(call)).filter(|row| row.op_count > 0).map(|row| row.first_op);
                    let packed = first.filter(|op| is_packed(*op)).and_then(|op| bytes_of.get(&op));
                    edge.lag_ns += packed.map_or(0, |bytes| (*bytes as f64 / PACKING_RATE) as i64);
                }
                _ => {}
            }
        }
    }

    /// Which calls go when some do: those as well that wait or ask, and nothing else, between two of them or before the first.
    fn with_waits(&self, goes: impl Fn(u32) -> bool) -> Vec<bool> {
        let model = self.model;
        let mut is_gone: Vec<bool> = (0..model.part.calls.len() as u32).map(goes).collect();
        for thread in &model.part.threads {
            for call in thread.clone().rev().skip(1) {
                let row = &model.part.calls[call];
                let is_side =
                    row.op_count == 0 && matches!(row.class, ApiClass::Wait(_) | ApiClass::Query | ApiClass::Other);
                is_gone[call] |= is_side && is_gone[call + 1];
            }
        }
        is_gone
    }

    pub(super) fn overlap_copies(&mut self, extent: Extent, setting: &Setting<'_>) {
        let buffer_count = if extent == Extent::Expected { self.buffer_count() } else { usize::MAX };
        let has_copies = self.overlap(buffer_count, Dropped::AllWaits, setting);
        if extent == Extent::Ceiling && has_copies {
            // Kernels of several streams fill the last wave of each other.
            self.set_runs(|_, op, run_ns| {
                op.kind.is_kernel().then_some((run_ns as f64 * (1.0 - LAST_WAVE_SHARE)) as i64)
            });
        }
    }

    /// Whether what a call waits for ended after it had begun: else the stream had run dry, and whoever reads its results goes on doing so.
    fn has_waited(&self, edge: &Edge, call: u32) -> bool {
        match self.model.what[edge.from as usize] {
            What::OpStart(op) | What::OpEnd(op) => self.model.op(op).end > self.model.call(call).start,
            _ => true,
        }
    }

    /// Copies leave the order of their stream, and some waits go: data goes from copies to the kernels after them and from kernels to the copies
    /// after them, and so many steps share the buffers. Returns whether there are copies that matter.
    fn overlap(&mut self, buffer_count: usize, dropped: Dropped, setting: &Setting<'_>) -> bool {
        let model = self.model;
        if !model.part.ops.iter().any(is_large_copy) {
            return false;
        }
        self.turns.copies = true;
        // Where a step has pieces of its own, they overlap each other, and the step still ends with a wait.
        let is_at_best = buffer_count == usize::MAX;
        let pieces = if is_at_best { None } else { self.pieces() };
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain(|edge| {
            let of_stream = matches!(edge.why, Why::Stream | Why::Order | Why::Legacy);
            let touches = |event: u32| match model.what[event as usize] {
                What::OpStart(op) | What::OpEnd(op) => model.op(op).lane.is_some(),
                _ => false,
            };
            let waits = edge.why == Why::Sync
                && (dropped == Dropped::AllWaits || touches(edge.from))
                && self.returning(edge).is_some_and(|call| {
                    (is_at_best || self.has_waited(edge, call)) && (pieces.is_none() || !self.ends_step(call))
                });
            !(of_stream && (touches(edge.from) || touches(edge.to)) || waits)
        });
        self.edges = edges;
        let spacing = setting.spacing_ns;
        for ops in model.by_stream() {
            let (mut kernel, mut arrived): (Option<u32>, Vec<u32>) = (None, Vec::new());
            let mut crossed = false;
            for op in ops.iter().copied() {
                let to = model.op_events[op as usize].0;
                match model.op(op).lane {
                    Some(TO_DEVICE) => {
                        arrived.push(op);
                        crossed = true;
                    }
                    Some(_) => {
                        if let Some(kernel) = kernel {
                            self.add(model.op_events[kernel as usize].1, to, spacing, Why::Stream);
                        }
                        crossed = true;
                    }
                    None => {
                        for copy in arrived.drain(..) {
                            self.add(model.op_events[copy as usize].1, to, spacing, Why::Stream);
                        }
                        if let Some(kernel) = kernel.filter(|_| crossed) {
                            self.add(model.op_events[kernel as usize].1, to, spacing, Why::Stream);
                        }
                        crossed = false;
                        kernel = Some(op);
                    }
                }
            }
        }
        self.share_buffers(buffer_count, pieces.as_ref());
        true
    }

    /// Two buffers, or one more than there are streams already that take turns with their copies.
    fn buffer_count(&self) -> usize {
        let fills =
            self.model.part.ops.iter().filter(|op| op.lane == Some(TO_DEVICE) && op.bytes > MAX_SMALL_COPY_BYTES);
        let streams: BTreeSet<u32> = fills.map(|op| op.stream).collect();
        streams.len().max(1) + 1
    }

    /// Where a step works on piece after piece, each sent, worked on and sent back in one stream: the piece of each operation,
    /// and how many there are.
    fn pieces(&self) -> Option<(Vec<u32>, usize)> {
        let part = &self.model.part;
        let is_large = |op: &Op, lane| op.lane == Some(lane) && op.bytes > MAX_SMALL_COPY_BYTES;
        let (mut piece, mut back_count) = (0, 0);
        let mut pieces = Vec::with_capacity(part.ops.len());
        let mut streams = part.ops.iter().filter(|op| op.lane.is_some()).map(|op| op.stream);
        let stream = streams.next()?;
        if streams.any(|other| other != stream) {
            return None;
        }
        let mut is_sent = true;
        for op in &part.ops {
            if is_large(op, TO_DEVICE) {
                piece += u32::from(is_sent);
                is_sent = false;
            } else {
                back_count += u32::from(is_large(op, TO_HOST) && !is_sent);
                is_sent |= is_large(op, TO_HOST);
            }
            pieces.push(piece);
        }
        let least = MIN_PIECE_COUNT * part.step_count;
        (piece >= least && back_count >= least).then_some((pieces, piece as usize + 1))
    }

    /// Whether a call is the last of a step, so that the host waits there for what the step made.
    fn ends_step(&self, call: u32) -> bool {
        let calls = &self.model.part.calls;
        let thread = self.model.call(call).thread;
        let step = |row: &Call| self.model.part.ops.get(row.first_op as usize).map(|op| op.step);
        let of_thread = |row: &&Call| row.thread == thread;
        let asks = |row: &&Call| row.op_count > 0;
        let (before, after) = calls.split_at(call as usize);
        let before = before.iter().rev().take(MAX_WAIT_DISTANCE).take_while(of_thread).find(asks).and_then(step);
        let after = after.iter().skip(1).take(MAX_WAIT_DISTANCE).take_while(of_thread).find(asks).and_then(step);
        before != after
    }

    /// The first copies of a step, or of a piece of it, wait for what was done with their buffers.
    fn share_buffers(&mut self, buffer_count: usize, pieces: Option<&(Vec<u32>, usize)>) {
        let model = self.model;
        let unit_count = pieces.map_or(model.part.step_count as usize, |(_, count)| *count);
        if buffer_count >= unit_count {
            return;
        }
        let unit = |op: u32| pieces.map_or(model.op(op).step, |(pieces, _)| pieces[op as usize]);
        let mut lasts: Vec<Vec<u32>> = vec![Vec::new(); unit_count];
        for ops in model.by_stream() {
            let mut last: BTreeMap<(u32, bool), u32> = BTreeMap::new();
            for op in ops.iter().copied() {
                let row = model.op(op);
                last.insert((unit(op), row.lane.is_some()), op);
            }
            for ((unit, _), op) in last {
                if let Some(lasts) = lasts.get_mut(unit as usize).filter(|lasts| lasts.len() < 16) {
                    lasts.push(op);
                }
            }
        }
        for (op, row) in (0_u32..).zip(&model.part.ops) {
            let unit = unit(op) as usize;
            if row.lane != Some(TO_DEVICE) || row.call == NONE || unit < buffer_count {
                continue;
            }
            for last in &lasts[unit - buffer_count] {
                self.add(model.op_events[*last as usize].1, model.op_events[op as usize].0, 0, Why::Buffer);
            }
        }
    }
}

/// How long the bytes of many small copies take together: over the link, or through the memory of the device, which reads and writes
/// them; at best one of both is in a cache. Where its rate is not known it is more than that of the link.
fn joint_copy_ns(first: &Op, bytes: i64, extent: Extent, setting: &Setting<'_>) -> i64 {
    let within = if first.is_within_device { setting.memory_rate(first.device) } else { None };
    let rate = match (extent, within) {
        (Extent::Ceiling, Some(rate)) => rate,
        (Extent::Expected, Some(rate)) => rate / 2.0,
        (Extent::Ceiling, None) if first.is_within_device => f64::INFINITY,
        _ => extent.rate(setting.pinned_rates(first.lane)),
    };
    (bytes as f64 / rate) as i64
}

fn is_large_pageable(op: &Op) -> bool {
    op.is_pageable && op.bytes > MAX_SMALL_COPY_BYTES
}

/// Between host and device.
pub(in super::super) fn is_large_copy(op: &Op) -> bool {
    op.lane.is_some() && op.bytes > MAX_SMALL_COPY_BYTES
}
