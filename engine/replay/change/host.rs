//! Changes of what the host does: waits, allocations, launches, its own code.

use std::ops::Range;

use super::super::Role;
use super::super::model::{Edge, Play, What, Why};
use super::super::record::{Op, TO_DEVICE, TO_HOST};
use super::super::setting::Setting;
use super::Extent;
use crate::ledger::OpKind;
use crate::timeline::NONE;
use crate::timeline::api::ApiClass;

/// Read-backs of at most so many bytes are small results: the wait costs more than the bytes.
const MAX_SCALAR_BYTES: i64 = 16 << 10;
/// Between two kernels of a graph. Measured on the machine of docs/gains.md.
const GRAPH_SPACING_NS: i64 = 60;
/// Between two operations of a graph one of which is a copy or a memset. Measured on the machine of docs/gains.md.
const GRAPH_COPY_SPACING_NS: i64 = 300;
/// The launch of a graph.
const GRAPH_LAUNCH_NS: i64 = 8_000;
/// Of host code that other threads or processes do, what stays: taking over what they made. Measured on the machine of docs/gains.md.
const HANDED_OVER_SHARE: f64 = 0.15;
/// Of host code, the least that operators of the CPU take where it is theirs.
const OF_OPERATORS_SHARE: f64 = 0.5;
/// A copy and the waits for it, at most.
const MAX_CALLS_OF_COPY: usize = 6;
/// Reads in so many places of a step could be one at its end.
const MIN_PLACES_OF_READS: usize = 2;
/// So many reads in a step are those of a loop.
const MIN_READS_OF_LOOP: usize = 16;
/// Fewer launches between two waits are not worth a graph.
const MIN_GRAPH_LAUNCH_COUNT: usize = 10;
/// Of the host code that leads to a call, so much stays at least when the call before it goes.
const OWN_GAP_SHARE: f64 = 0.7;
/// Launches between two reads that make one result, at most.
const MAX_LAUNCHES_OF_RESULT: usize = 8;
/// So many results that are made and read one after the other are a loop over what one operation could do at once.
const MIN_RESULTS_IN_ROW: usize = 8;
/// Kernels that are shorter can vanish in others.
const SMALL_KERNEL_NS: i64 = 10_000;

impl Play<'_> {
    /// Whether a call reads a single value back, and waits for it.
    pub(super) fn reads_scalar(&self, call: u32) -> bool {
        let row = self.model.call(call);
        let op = self.model.part.ops.get(row.first_op as usize);
        let is_copy = matches!(row.class, ApiClass::CopyBlocking | ApiClass::CopyAsync);
        is_copy && row.op_count == 1 && op.is_some_and(is_scalar_readback)
    }

    pub(super) fn no_sync(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let is_wait = |call: u32| matches!(model.call(call).class, ApiClass::Wait(_) | ApiClass::Query);
        let is_gone = |call: u32| is_wait(call) || self.reads_scalar(call);
        let mut is_gone: Vec<bool> = (0..model.part.calls.len() as u32).map(is_gone).collect();
        self.add_single_results(&mut is_gone, extent, setting);
        let reads = (0..model.part.calls.len() as u32).filter(|call| self.reads_scalar(*call)).count();
        let step_count = model.part.step_count as usize;
        if extent == Extent::Expected && self.places_of_reads() >= MIN_PLACES_OF_READS * step_count {
            self.keep_last_reads(&mut is_gone);
        }
        self.free_calls(|call| is_gone[call as usize].then_some(0));
        let is_dropped = |op: &Op| {
            is_gone.get(op.call as usize) == Some(&true) && (extent == Extent::Ceiling || is_scalar_readback(op))
        };
        self.drop_ops(is_dropped);
        self.close_gaps(&is_gone, extent, setting);
        if extent == Extent::Ceiling && reads >= MIN_READS_OF_LOOP * step_count {
            // Whoever reads so often does so for one thing after the other: for all at once it is one launch.
            self.graph(extent, setting);
        }
    }

    /// In how many places values are read: those that are read one behind the other, with nothing asked for between, are one.
    fn places_of_reads(&self) -> usize {
        let part = &self.model.part;
        let asks = |call: &usize| part.calls[*call].op_count > 0;
        let places_of = |thread: &Range<usize>| {
            let is_read = thread.clone().filter(asks).map(|call| self.reads_scalar(call as u32));
            is_read.scan(false, |before, is_read| Some(!std::mem::replace(before, is_read) && is_read))
        };
        part.threads.iter().flat_map(places_of).filter(|is_first| *is_first).count()
    }

    /// Whoever reads many values here and there in a step still reads them, all at once: the last read of each step stays, with the
    /// wait for it. Results that were made and read in a row have become one value, which is read like any other.
    fn keep_last_reads(&self, is_gone: &mut [bool]) {
        let part = &self.model.part;
        for thread in &part.threads {
            let mut later_step = NONE;
            for call in thread.clone().rev().filter(|call| self.reads_scalar(*call as u32)) {
                let step = part.ops.get(part.calls[call].first_op as usize).map_or(NONE, |op| op.step);
                let asked = (thread.start..call).rev().find(|before| part.calls[*before].op_count > 0);
                let is_in_row = asked.is_some_and(|before| is_gone[before] && !self.reads_scalar(before as u32));
                if std::mem::replace(&mut later_step, step) != step && !is_in_row {
                    let is_wait = |call: &usize| part.calls[*call].op_count == 0;
                    let waits = (call + 1..thread.end).take_while(is_wait).count();
                    is_gone[call..=call + waits].fill(false);
                }
            }
        }
    }

    /// The few small kernels between two reads make the one result that is read: for all results at once they are one launch.
    /// That is expected where many are made one after the other, unless it is elements that they choose: those are no results.
    fn add_single_results(&self, is_gone: &mut [bool], extent: Extent, setting: &Setting<'_>) {
        let is_ceiling = extent == Extent::Ceiling;
        let least_count = if is_ceiling { 1 } else { MIN_RESULTS_IN_ROW };
        let chooses = |call: usize| self.call_role(call, setting) == Some(Role::Selection);
        for thread in &self.model.part.threads {
            let mut in_row: Vec<Range<usize>> = Vec::new();
            let mut first = None;
            for read in thread.clone().filter(|call| self.reads_scalar(*call as u32)) {
                let Some(after) = first.replace(read + 1) else { continue };
                if self.makes_one_result(after..read, is_gone) && (is_ceiling || !(after..read).any(chooses)) {
                    in_row.push(after..read);
                } else {
                    settle_results(&mut in_row, is_gone, least_count);
                }
            }
            settle_results(&mut in_row, is_gone, least_count);
        }
    }

    /// Whether calls between two reads launch nothing but the few small kernels of one result.
    fn makes_one_result(&self, calls: Range<usize>, is_gone: &[bool]) -> bool {
        let part = &self.model.part;
        let asks = |call: &usize| part.calls[*call].op_count > 0;
        let can_vanish = |op: &Op| op.kind == OpKind::Memset || is_small_kernel(op, op.end - op.start);
        let is_small = |call: usize| {
            let row = &part.calls[call];
            let op = part.ops.get(row.first_op as usize).filter(|_| row.op_count == 1);
            op.is_some_and(can_vanish) || row.op_count == 0 && row.class == ApiClass::Other
        };
        calls.clone().filter(asks).count() <= MAX_LAUNCHES_OF_RESULT && { calls }
            .all(|call| is_gone[call] || is_small(call))
    }

    /// Takes the host code out that led to calls that are gone: of the code around them the longest stretch stays, as it leads
    /// to the call after them. At best part of that was theirs too.
    pub(super) fn close_gaps(&mut self, is_gone: &[bool], extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut gaps: Vec<Option<usize>> = vec![None; model.part.calls.len()];
        for (index, edge) in self.edges.iter().enumerate() {
            if let (Why::Program | Why::HandOver, What::CallStart(call)) = (edge.why, model.what[edge.to as usize])
                && (0..setting.launch_gap_ns).contains(&edge.lag_ns)
            {
                gaps[call as usize] = Some(index);
            }
        }
        for thread in &model.part.threads {
            let mut run: Vec<usize> = Vec::new();
            for call in thread.clone() {
                run.extend(gaps[call]);
                if is_gone[call] {
                    continue;
                }
                let longest = run.iter().map(|index| self.edges[*index].lag_ns).max().unwrap_or(0);
                if call > thread.start && is_gone[call - 1] {
                    let rest =
                        if extent == Extent::Expected { longest } else { (longest as f64 * OWN_GAP_SHARE) as i64 };
                    run.iter().for_each(|index| self.edges[*index].lag_ns = 0);
                    // On the last of them: what comes before the first is at work meanwhile.
                    if let Some(last) = run.last() {
                        self.edges[*last].lag_ns = rest;
                    }
                }
                run.clear();
            }
        }
    }

    pub(super) fn cache_allocations(&mut self, extent: Extent, setting: &Setting<'_>) {
        let calls = &self.model.part.calls;
        let is_gone: Vec<bool> = calls.iter().map(|call| call.class == ApiClass::Allocate).collect();
        self.free_calls(|call| is_gone[call as usize].then_some(0));
        self.close_gaps(&is_gone, extent, setting);
    }

    pub(super) fn load_ahead(&mut self, extent: Extent) {
        let model = self.model;
        let gone = if extent == Extent::Expected { 1.0 - HANDED_OVER_SHARE } else { 1.0 };
        for edge in self.edges.iter_mut().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            let loading_ns = model.call(call).loading_before_ns.clamp(0, edge.lag_ns.max(0));
            edge.lag_ns -= (loading_ns as f64 * gone) as i64;
        }
    }

    /// Host code between calls, less than what is launching, and less what handing its results over takes. What operators of the
    /// CPU do the device can do, and then what they work on need not come back; at best what they make need not be sent either.
    pub(super) fn host_aside(&mut self, extent: Extent, setting: &Setting<'_>) {
        let left = if extent == Extent::Expected { HANDED_OVER_SHARE } else { 0.0 };
        let is_moved = self.moved_to_device(extent, setting);
        let is_gone = self.kept_on_device(&is_moved, extent);
        self.shorten_gaps(|call, gap_ns, blocked_ns| {
            let host_ns = gap_ns - blocked_ns;
            let left = if is_moved[call as usize] { 0.0 } else { left };
            if host_ns >= setting.launch_gap_ns { blocked_ns + (host_ns as f64 * left) as i64 } else { gap_ns }
        });
        if is_gone.contains(&true) {
            self.free_calls(|call| is_gone[call as usize].then_some(0));
            self.drop_ops(|op| is_gone.get(op.call as usize) == Some(&true));
        }
    }

    /// Whether the device could do the host code before a call: it is mostly operators of the CPU; at best all of it, whatever it
    /// is, where it may be work on what the device made: a framework is at work, or results come back. Of a program that only
    /// sends, what is sent comes from elsewhere, and still has to get to the device.
    fn moved_to_device(&self, extent: Extent, setting: &Setting<'_>) -> Vec<bool> {
        let model = self.model;
        let mut is_moved = vec![false; model.part.calls.len()];
        let has_operators = model.part.calls.iter().any(|call| call.operator_count > 0);
        let has_results = model.part.ops.iter().any(|op| op.lane == Some(TO_HOST));
        let is_any = extent == Extent::Ceiling && (has_operators || has_results);
        for edge in self.edges.iter().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            let row = model.call(call);
            let host_ns = edge.lag_ns - row.blocked_before_ns.min(edge.lag_ns);
            let is_of_operators = row.cpu_operators_ns as f64 >= OF_OPERATORS_SHARE * host_ns as f64;
            is_moved[call as usize] = host_ns >= setting.launch_gap_ns && (is_of_operators || is_any);
        }
        is_moved
    }

    /// Which calls go where operators of the CPU before some calls run on the device: copies that bring what they work on, with
    /// the waits for them; at best those as well that send what they made.
    fn kept_on_device(&self, is_moved: &[bool], extent: Extent) -> Vec<bool> {
        let part = &self.model.part;
        let mut is_gone = vec![false; part.calls.len()];
        let lane = |call: &usize| {
            let row = &part.calls[*call];
            part.ops.get(row.first_op as usize).filter(|_| row.op_count == 1).and_then(|op| op.lane)
        };
        let waits = |call: &usize| {
            let row = &part.calls[*call];
            row.op_count == 0 && matches!(row.class, ApiClass::Wait(_) | ApiClass::Query | ApiClass::Other)
        };
        for thread in &part.threads {
            for call in thread.clone().filter(|call| is_moved[*call]) {
                let before = (thread.start..call).rev().take(MAX_CALLS_OF_COPY);
                let back = before.take_while(|call| waits(call) || lane(call) == Some(TO_HOST));
                if let Some(first) = back.filter(|call| lane(call) == Some(TO_HOST)).last()
                    && self.outlasts(thread.start, call, first..call)
                {
                    is_gone[first..call].fill(true);
                }
                let after = (call..thread.end).take(MAX_CALLS_OF_COPY);
                let sent = after.take_while(|call| waits(call) || lane(call) == Some(TO_DEVICE));
                let sent: Vec<usize> = sent.collect();
                let is_sent = sent.iter().any(|call| lane(call) == Some(TO_DEVICE));
                if let Some(last) = sent.last().filter(|_| is_sent).filter(|_| extent == Extent::Ceiling)
                    && self.outlasts(thread.start, call, call..*last + 1)
                {
                    is_gone[call..=*last].fill(true);
                }
            }
        }
        is_gone
    }

    /// Whether the host code before a call is operators of the CPU, or takes longer than what some calls copy: what is made or read
    /// in less time is not what is copied.
    fn outlasts(&self, first_of_thread: usize, call: usize, copies: Range<usize>) -> bool {
        let part = &self.model.part;
        let row = &part.calls[call];
        let before = call.checked_sub(1).filter(|before| *before >= first_of_thread);
        let host_ns = before.map_or(0, |before| row.start - part.calls[before].end);
        let ops = part.calls[copies].iter().filter_map(|call| part.ops.get(call.first_op as usize));
        let copied_ns: i64 = ops.map(|op| op.end - op.start).sum();
        row.cpu_operators_ns as f64 >= OF_OPERATORS_SHARE * host_ns as f64 || host_ns >= copied_ns
    }

    /// Which calls go with what operators of the CPU before some calls work on and make, at best.
    pub(in super::super) fn copies_of_host_code(&self, setting: &Setting<'_>) -> Vec<bool> {
        self.kept_on_device(&self.moved_to_device(Extent::Ceiling, setting), Extent::Ceiling)
    }

    pub(super) fn no_blocking(&mut self) {
        self.shorten_gaps(|_, gap_ns, blocked_ns| gap_ns - blocked_ns);
    }

    /// Sets the time before calls, from what it is and what of it the thread waits in the operating system.
    fn shorten_gaps(&mut self, mut length: impl FnMut(u32, i64, i64) -> i64) {
        let model = self.model;
        for edge in self.edges.iter_mut().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            let blocked = model.call(call).blocked_before_ns.min(edge.lag_ns);
            edge.lag_ns = length(call, edge.lag_ns, blocked).clamp(0, edge.lag_ns.max(0));
        }
    }

    pub(super) fn graph(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let captured = self.captured(extent, setting);
        let mut edges = std::mem::take(&mut self.edges);
        for edge in &mut edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Call | Why::Queue, What::CallEnd(call)) => match captured[call as usize] {
                    Captured::No => {}
                    Captured::First => edge.lag_ns = edge.lag_ns.min(GRAPH_LAUNCH_NS),
                    Captured::Later => edge.lag_ns = 0,
                },
                (Why::Program | Why::HandOver, What::CallStart(call))
                    if captured[call as usize] != Captured::No && edge.lag_ns < setting.launch_gap_ns =>
                {
                    edge.lag_ns = 0;
                }
                (why, What::OpStart(op)) if captured.get(model.op(op).call as usize) != Some(&Captured::No) => {
                    let most_ns = match why {
                        Why::Launch => setting.launch_ns,
                        Why::Stream if self.is_kernel_after_kernel(edge, op) => GRAPH_SPACING_NS,
                        Why::Stream => GRAPH_COPY_SPACING_NS,
                        _ => continue,
                    };
                    edge.lag_ns = edge.lag_ns.min(most_ns);
                }
                _ => {}
            }
        }
        self.edges = edges;
        if extent == Extent::Ceiling {
            self.set_runs(|_, op, run_ns| is_small_kernel(op, run_ns).then_some(0));
        }
    }

    /// Whether both sides of an edge between operations are kernels.
    fn is_kernel_after_kernel(&self, edge: &Edge, op: u32) -> bool {
        let before = match self.model.what[edge.from as usize] {
            What::OpStart(before) | What::OpEnd(before) => self.model.op(before).kind.is_kernel(),
            _ => false,
        };
        before && self.model.op(op).kind.is_kernel()
    }

    /// What of the calls graphs hold: what a thread launches of a step, or of many where a step is but a few launches, with no call
    /// between that waits or allocates, which a graph cannot hold. At best nothing of that is left.
    fn captured(&self, extent: Extent, setting: &Setting<'_>) -> Vec<Captured> {
        let model = self.model;
        let is_short = model.part.ops.len() < MIN_GRAPH_LAUNCH_COUNT * model.part.step_count as usize;
        let mut captured = vec![Captured::No; model.part.calls.len()];
        for thread in &model.part.threads {
            let mut section: Vec<usize> = Vec::new();
            let mut step = NONE;
            let mut close = |section: &mut Vec<usize>| {
                let launches = section.iter().filter(|call| model.part.calls[**call].op_count > 0).count();
                if launches >= MIN_GRAPH_LAUNCH_COUNT || extent == Extent::Ceiling {
                    section.iter().for_each(|call| captured[*call] = Captured::Later);
                    let first = section.iter().find(|call| model.part.calls[**call].op_count > 0);
                    first.into_iter().for_each(|call| captured[*call] = Captured::First);
                }
                section.clear();
            };
            for call in thread.clone() {
                let row = &model.part.calls[call];
                let of_step = model.part.ops.get(row.first_op as usize).map_or(step, |op| op.step);
                let is_captured = self.can_capture(call as u32);
                let before = model.part.calls[thread.start.max(call.saturating_sub(1))];
                let goes_on = is_short && row.start - before.end < setting.launch_gap_ns;
                if of_step != step && !goes_on || !is_captured && extent == Extent::Expected {
                    close(&mut section);
                }
                step = of_step;
                if is_captured {
                    section.push(call);
                }
            }
            close(&mut section);
        }
        captured
    }

    fn can_capture(&self, call: u32) -> bool {
        let row = self.model.call(call);
        let is_pageable = self.model.part.ops.get(row.first_op as usize).is_some_and(|op| op.is_pageable);
        match row.class {
            ApiClass::Launch | ApiClass::Memset | ApiClass::Other | ApiClass::Init => true,
            ApiClass::CopyAsync => !is_pageable,
            _ => false,
        }
    }
}

/// Lets the calls go that make results in a row, where there are enough of them.
fn settle_results(in_row: &mut Vec<Range<usize>>, is_gone: &mut [bool], least_count: usize) {
    let many = in_row.len() >= least_count;
    in_row.drain(..).filter(|_| many).for_each(|calls| is_gone[calls].fill(true));
}

/// How a graph holds a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Captured {
    No,
    /// It stands for the launch of the graph.
    First,
    Later,
}

/// Whether an operation that takes so long can vanish in others.
pub(in super::super) fn is_small_kernel(op: &Op, run_ns: i64) -> bool {
    op.kind == OpKind::Kernel && run_ns < SMALL_KERNEL_NS
}

/// Whether an operation brings a value or a few back to the host.
pub(in super::super) fn is_scalar_readback(op: &Op) -> bool {
    op.lane == Some(TO_HOST) && op.bytes <= MAX_SCALAR_BYTES
}
