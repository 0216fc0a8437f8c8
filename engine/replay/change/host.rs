//! Changes of what the host does: waits, allocations, launches, its own code.

use foldhash::HashMap;

use super::super::model::{Play, What, Why};
use super::super::record::{Op, TO_HOST};
use super::super::setting::Setting;
use super::Extent;
use crate::ledger::OpKind;
use crate::timeline::NONE;
use crate::timeline::api::ApiClass;

/// Read-backs of at most so many bytes are single values.
const MAX_SCALAR_BYTES: i64 = 4_096;
/// Between two kernels of a graph. Measured on the machine of docs/gains.md.
const GRAPH_SPACING_NS: i64 = 60;
/// The launch of a graph.
const GRAPH_LAUNCH_NS: i64 = 8_000;
/// Kernels that are shorter can vanish in others.
const SMALL_KERNEL_NS: i64 = 10_000;

impl Play<'_> {
    /// Whether a call reads a single value back, and waits for it.
    fn reads_scalar(&self, call: u32) -> bool {
        let row = self.model.call(call);
        let op = self.model.part.ops.get(row.first_op as usize);
        let is_copy = matches!(row.class, ApiClass::CopyBlocking | ApiClass::CopyAsync);
        is_copy && row.op_count == 1 && op.is_some_and(is_scalar_readback)
    }

    pub(super) fn no_sync(&mut self, _: Extent) {
        let model = self.model;
        let is_wait = |call: u32| matches!(model.call(call).class, ApiClass::Wait(_) | ApiClass::Query);
        let reads: Vec<bool> = (0..model.part.calls.len() as u32).map(|call| self.reads_scalar(call)).collect();
        self.free_calls(|call| (is_wait(call) || reads[call as usize]).then_some(0));
        self.drop_ops(is_scalar_readback);
    }

    pub(super) fn cache_allocations(&mut self) {
        let model = self.model;
        self.free_calls(|call| (model.call(call).class == ApiClass::Allocate).then_some(0));
    }

    pub(super) fn load_ahead(&mut self) {
        let model = self.model;
        for edge in self.edges.iter_mut().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            edge.lag_ns -= model.call(call).loading_before_ns.clamp(0, edge.lag_ns.max(0));
        }
    }

    /// Host code between calls, less than what is launching.
    pub(super) fn host_aside(&mut self, setting: &Setting<'_>) {
        self.shorten_gaps(|gap_ns, blocked_ns| {
            let host_ns = gap_ns - blocked_ns;
            if host_ns >= setting.launch_gap_ns { blocked_ns } else { gap_ns }
        });
    }

    pub(super) fn no_blocking(&mut self) {
        self.shorten_gaps(|gap_ns, blocked_ns| gap_ns - blocked_ns);
    }

    /// Sets the time between calls, from what it is and what of it the thread waits in the operating system.
    fn shorten_gaps(&mut self, length: impl Fn(i64, i64) -> i64) {
        let model = self.model;
        for edge in self.edges.iter_mut().filter(|edge| matches!(edge.why, Why::Program | Why::HandOver)) {
            let What::CallStart(call) = model.what[edge.to as usize] else { continue };
            let blocked = model.call(call).blocked_before_ns.min(edge.lag_ns);
            edge.lag_ns = length(edge.lag_ns, blocked).clamp(0, edge.lag_ns.max(0));
        }
    }

    pub(super) fn graph(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let is_captured = |call: u32| {
            let row = model.call(call);
            let is_pageable = model.part.ops.get(row.first_op as usize).is_some_and(|op| op.is_pageable);
            match row.class {
                ApiClass::Launch | ApiClass::Memset | ApiClass::Other | ApiClass::Init => true,
                ApiClass::CopyAsync => !is_pageable,
                _ => false,
            }
        };
        // The first call of a step stands for the launch of the graph.
        let mut first: HashMap<u32, u32> = HashMap::default();
        for op in model.part.ops.iter().filter(|op| op.call != NONE && is_captured(op.call)) {
            let known = first.entry(op.step).or_insert(op.call);
            if model.call(op.call).start < model.call(*known).start {
                *known = op.call;
            }
        }
        let launches: foldhash::HashSet<u32> = first.into_values().collect();
        for edge in &mut self.edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Call | Why::Queue, What::CallEnd(call)) if is_captured(call) => {
                    edge.lag_ns = edge.lag_ns.min(if launches.contains(&call) { GRAPH_LAUNCH_NS } else { 0 });
                }
                (Why::Program | Why::HandOver, What::CallStart(call))
                    if is_captured(call) && edge.lag_ns < setting.launch_gap_ns =>
                {
                    edge.lag_ns = 0;
                }
                (Why::Launch, What::OpStart(_)) => edge.lag_ns = edge.lag_ns.min(setting.launch_ns),
                (Why::Stream, What::OpStart(op)) if model.op(op).kind.is_kernel() => {
                    edge.lag_ns = edge.lag_ns.min(GRAPH_SPACING_NS);
                }
                _ => {}
            }
        }
        if extent == Extent::Ceiling {
            self.set_runs(|_, op, run_ns| (op.kind == OpKind::Kernel && run_ns < SMALL_KERNEL_NS).then_some(0));
        }
    }
}

fn is_scalar_readback(op: &Op) -> bool {
    op.lane == Some(TO_HOST) && op.bytes <= MAX_SCALAR_BYTES
}
