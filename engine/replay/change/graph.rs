//! Launches that become one: of a graph, and at best of one kernel.

use super::super::model::{Edge, Play, What, Why};
use super::super::record::Call;
use super::super::setting::Setting;
use super::Extent;
use crate::timeline::NONE;
use crate::timeline::api::ApiClass;

/// Between two kernels of a graph. Measured on the machine of docs/gains.md.
const GRAPH_SPACING_NS: i64 = 60;
/// Between two operations of a graph one of which is a copy or a memset. Measured on the machine of docs/gains.md.
const GRAPH_COPY_SPACING_NS: i64 = 300;
/// The launch of a graph.
const GRAPH_LAUNCH_NS: i64 = 8_000;
/// Fewer launches between two waits are not worth a graph.
const MIN_GRAPH_LAUNCH_COUNT: usize = 10;
/// A framework that calls its operators this closely does nothing but dispatch them: a graph does none of that.
const DISPATCH_NS: i64 = 20_000;

impl Play<'_> {
    pub(super) fn graph(&mut self, extent: Extent, setting: &Setting<'_>) {
        self.graph_of(|_| true, extent, setting);
        if extent == Extent::Expected && setting.looped_cell_count > 0 {
            let runs = self.runs_in_layers(setting);
            self.set_runs(|index, _, _| runs.get(&index).copied());
        }
    }

    /// The same of some calls alone.
    pub(super) fn graph_of(&mut self, is_wanted: impl Fn(usize) -> bool, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let captured = self.captured(&is_wanted, extent, setting);
        let mut edges = std::mem::take(&mut self.edges);
        for edge in &mut edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Call | Why::Queue, What::CallEnd(call)) => match captured[call as usize] {
                    Captured::No => {}
                    Captured::First => edge.lag_ns = edge.lag_ns.min(GRAPH_LAUNCH_NS),
                    Captured::Later => edge.lag_ns = 0,
                },
                (Why::Program | Why::HandOver, What::CallStart(call))
                    if captured[call as usize] != Captured::No
                        && (edge.lag_ns < setting.launch_gap_ns
                            || extent == Extent::Ceiling && is_dispatching(model.call(call), edge.lag_ns)) =>
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
            let merged = self.merged_runs(setting);
            self.set_runs(|index, op, _| merged.get(&index).copied().filter(|_| is_wanted(op.call as usize)));
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
    /// between that waits or allocates, which a graph cannot hold. At best nothing of that is left. What is not wanted is left as it is.
    fn captured(&self, is_wanted: impl Fn(usize) -> bool, extent: Extent, setting: &Setting<'_>) -> Vec<Captured> {
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
                let is_captured = self.can_capture(call as u32) && is_wanted(call);
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

/// Whether all that a framework does before a call is to call operators, one close after the other.
fn is_dispatching(call: &Call, gap_ns: i64) -> bool {
    call.loading_before_ns == 0 && gap_ns <= i64::from(call.operator_count) * DISPATCH_NS
}

/// How a graph holds a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Captured {
    No,
    /// It stands for the launch of the graph.
    First,
    Later,
}
