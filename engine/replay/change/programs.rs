//! Changes of how a program is written: for all tensors at once, with masks, in another layout, with a process a GPU.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::Role;
use super::super::model::{ElementwiseRows, Model, Play, What, Why};
use super::super::record::{Call, Op, Part};
use super::super::setting::Setting;
use super::kernels::is_pass;
use super::{Extent, MIN_READS_OF_LOOP};
use crate::ledger::OpKind;
use crate::steps::median;
use crate::steps::rows::{Row, rows};
use crate::timeline::NONE;
use crate::timeline::api::ApiClass;

/// Kernels that run for one tensor, at most, and for how many tensors at least.
const MAX_PERIOD: usize = 12;
const MIN_REPEAT_COUNT: usize = 8;
/// What a call for all tensors does on the host for each of them.
const LISTED_TENSOR_NS: i64 = 1_500;
/// What a kernel takes beside its data.
const KERNEL_LATENCY_NS: i64 = 1_000;
/// Of a kernel, what is left at least without that.
const LEAST_DATA_SHARE: f64 = 0.3;
/// The longest of a few kernels moves nearly all tensors of one; of more kernels, one for each so many, up to so many times as
/// much. Measured on the machine of docs/gains.md.
const KERNELS_A_TENSOR: f64 = 4.0;
const MOST_TENSORS_RATIO: f64 = 2.4;
/// Of the time of normalisation, what is left where channels lie together. Measured on the machine of docs/gains.md.
const ORDERED_NORMALIZATION_SHARE: f64 = 0.4;
/// Collectives that are shorter are mostly latency, and so many of them in a step could be few.
const MAX_SMALL_COLLECTIVE_NS: i64 = 50_000;
const MIN_SMALL_COLLECTIVES: usize = 16;
/// Calls around a read-back that belong to a choice, at most, and behind it those that may move what was chosen.
const MAX_SELECTION_CALL_COUNT: usize = 16;

/// Which loops over tensors are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loops {
    All,
    OfOptimizer,
}

impl Loops {
    fn hold(self, part: &Part, op: &Op) -> bool {
        let is_of_optimizer = || part.calls.get(op.call as usize).is_some_and(|call| call.is_of_optimizer);
        self == Self::All || is_of_optimizer()
    }
}

/// A loop over pieces of data, in each turn of which the host asks how many elements are of one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceLoop {
    /// How often it asks in a step, in the mean: a turn may ask several times.
    pub choice_count: usize,
    /// Calls that launch from one question to the next, the median.
    pub choice_launch_count: i64,
    /// Calls that launch in a step, in the mean, those beside the loop as well.
    pub step_launch_count: usize,
    /// After how many of these questions a matrix product is launched before the next, in a step, in the mean.
    pub with_product_count: usize,
    /// After how many the host reads a single value back before the next, beside the answers, in a step, in the mean.
    pub with_value_count: usize,
}

impl Play<'_> {
    /// Of the kernels for one tensor the longest stays, as one pass over its data.
    pub(super) fn for_each(&mut self, loops: Loops, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let (ops_count, calls_count) = (model.part.ops.len(), model.part.calls.len());
        let mut runs: Vec<Option<i64>> = vec![None; ops_count];
        let mut is_gone = vec![false; calls_count];
        let mut lists: Vec<i64> = vec![0; calls_count];
        let is_wait = self.waits_of_optimizer();
        let is_asked = || elementwise_rows(model, loops, &is_wait, setting);
        for (chain, rows) in model.asked.elementwise_rows[loops as usize].get_or_init(is_asked) {
            for repeats in rows {
                let ops = &chain[repeats.places()];
                let pass = |ops: &[u32]| {
                    data_ns(ops.iter().map(|op| model.op(*op).end - model.op(*op).start).max().unwrap_or(0))
                };
                let tensors = (repeats.period as f64 / KERNELS_A_TENSOR).clamp(1.0, MOST_TENSORS_RATIO);
                let all: i64 = if extent == Extent::Expected { ops.chunks(repeats.period).map(pass).sum() } else { 0 };
                let sum: i64 = ops.iter().map(|op| model.op(*op).end - model.op(*op).start).sum();
                let all = ((all as f64 * tensors) as i64).min(sum);
                for (index, op) in ops.iter().enumerate() {
                    runs[*op as usize] = Some(if index == 0 { all } else { 0 });
                    let call = model.op(*op).call as usize;
                    if index > 0 && model.part.calls.get(call).is_some_and(|call| call.op_count == 1) {
                        is_gone[call] = true;
                    } else if let Some(list) = lists.get_mut(call).filter(|_| extent == Extent::Expected) {
                        *list = LISTED_TENSOR_NS * repeats.count as i64;
                    }
                }
            }
        }
        if is_gone.contains(&true) {
            is_gone.iter_mut().zip(&is_wait).for_each(|(is_gone, is_wait)| *is_gone |= is_wait);
            self.lengthen(&runs, &lists);
            self.drop_ops(|op| is_wait.get(op.call as usize) == Some(&true));
            self.free_launches(&is_gone, extent, setting);
            if extent == Extent::Ceiling {
                // Who updates all tensors at once may launch that as a graph as well, whatever the rest of the step does.
                let is_own = |call: usize| match loops {
                    Loops::All => is_gone.get(call) == Some(&true),
                    Loops::OfOptimizer => model.part.calls.get(call).is_some_and(|row| row.is_of_optimizer),
                };
                self.graph_of(is_own, extent, setting);
            }
        }
    }

    /// Which calls of an optimizer wait or read a value back: one that updates all parameters at once has no number of its own for
    /// each of them to read.
    fn waits_of_optimizer(&self) -> Vec<bool> {
        let calls = (0_u32..).zip(&self.model.part.calls);
        calls.map(|(call, row)| row.is_of_optimizer && self.is_wait_or_read(call)).collect()
    }

    /// Sets how long operations run, and what calls do more; an operation may take the work of others over.
    fn lengthen(&mut self, runs: &[Option<i64>], calls: &[i64]) {
        let model = self.model;
        for edge in &mut self.edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Run, What::OpEnd(op)) => edge.lag_ns = runs[op as usize].unwrap_or(edge.lag_ns),
                (Why::Call, What::CallEnd(call)) => edge.lag_ns += calls[call as usize],
                (_, What::OpStart(op)) if runs[op as usize] == Some(0) => edge.lag_ns = 0,
                _ => {}
            }
        }
    }

    /// The small collectives of each step, where there are enough of them to be pieces of a few.
    pub(in super::super) fn small_collectives(&self) -> Vec<Vec<u32>> {
        let mut of_step: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (index, op) in (0_u32..).zip(&self.model.part.ops) {
            let is_small = op.kind == OpKind::Communication && op.end - op.start < MAX_SMALL_COLLECTIVE_NS;
            if is_small && op.call != NONE {
                of_step.entry((op.device, op.step)).or_default().push(index);
            }
        }
        of_step.into_values().filter(|ops| ops.len() >= MIN_SMALL_COLLECTIVES).collect()
    }

    /// Of the small collectives of a step the first stays, and of the others what they take beyond the shortest, which is what it takes
    /// to start one; at best all communication runs beside the computation, as that of buckets does.
    pub(super) fn merge_collectives(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut runs: Vec<Option<i64>> = vec![None; model.part.ops.len()];
        let mut is_gone = vec![false; model.part.calls.len()];
        for ops in self.small_collectives() {
            let run_ns = |op: &u32| model.op(*op).end - model.op(*op).start;
            let least_ns = ops.iter().map(run_ns).min().unwrap_or(0);
            for op in &ops[1..] {
                let data_ns = if extent == Extent::Expected { run_ns(op) - least_ns } else { 0 };
                runs[*op as usize] = Some(data_ns.max(0));
                let call = model.op(*op).call as usize;
                is_gone[call] = model.part.calls.get(call).is_some_and(|call| call.op_count == 1);
            }
        }
        if is_gone.contains(&true) {
            self.lengthen(&runs, &vec![0; model.part.calls.len()]);
            self.free_launches(&is_gone, extent, setting);
            if extent == Extent::Ceiling {
                self.overlap_communication(extent);
            }
        }
    }

    /// Takes calls out with the host code that led to them.
    pub(super) fn free_launches(&mut self, is_gone: &[bool], extent: Extent, setting: &Setting<'_>) {
        self.free_calls(|call| is_gone[call as usize].then_some(0));
        self.close_gaps(is_gone, extent, setting);
    }

    /// What chooses elements goes, with the host's wait for their number and with what moves the chosen ones right behind it. Other
    /// gathers, as along the edges of a graph, have nothing to do with a choice.
    pub(super) fn fixed_shapes(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut is_gone = vec![false; model.part.calls.len()];
        let mut moved = Vec::new();
        for thread in &model.part.threads {
            for (_, selection) in self.choices(thread, setting) {
                let moves = |call: &usize| matches!(self.call_role(*call, setting), None | Some(Role::Gather));
                moved.extend((selection.end..thread.end).take(MAX_SELECTION_CALL_COUNT).take_while(moves));
                is_gone[selection].fill(true);
            }
        }
        if !is_gone.contains(&true) {
            return;
        }
        for call in moved.into_iter().filter(|call| self.call_role(*call, setting) == Some(Role::Gather)) {
            is_gone[call] = true;
        }
        let is_dropped = |op: &Op| is_gone.get(op.call as usize) == Some(&true);
        self.drop_ops(is_dropped);
        self.free_launches(&is_gone, extent, setting);
        let is_loop = self.piece_loop(setting).is_some();
        if is_loop && extent == Extent::Expected {
            // Whoever chooses so often does so for one piece of data after the other: for all of them at once nothing else waits.
            self.no_sync(extent, setting);
        }
        if is_loop && extent == Extent::Ceiling {
            // Of what the host does in all turns that of one stays.
            let in_loop = self.loops_of_reads();
            self.shorten_gaps(
                |call, gap_ns, _| {
                    if in_loop[call as usize] { gap_ns / MIN_READS_OF_LOOP as i64 } else { gap_ns }
                },
            );
        }
        if is_loop || extent == Extent::Ceiling {
            // Where sizes are known, work on many pieces can be one launch.
            self.graph(extent, setting);
        }
    }

    /// The reads of a thread that tell the host how many elements were chosen, each with the calls around it.
    fn choices(&self, thread: &Range<usize>, setting: &Setting<'_>) -> Vec<(usize, Range<usize>)> {
        let reads = thread.clone().filter(|call| self.reads_scalar(*call as u32));
        let around = reads.map(|read| (read, self.selection(read, thread, setting)));
        let chooses = |call: usize| self.call_role(call, setting) == Some(Role::Selection);
        around.filter(|(_, selection)| selection.clone().any(chooses)).collect()
    }

    /// The loop over pieces of data that chooses elements for one piece after the other; absent where too few are chosen for one.
    pub(in super::super) fn piece_loop(&self, setting: &Setting<'_>) -> Option<PieceLoop> {
        let part = &self.model.part;
        let step_count = part.step_count as usize;
        let launches = |calls: &[Call]| calls.iter().filter(|row| row.class == ApiClass::Launch).count();
        let (mut choice_count, mut of_turns) = (0, Vec::new());
        let (mut with_product_count, mut with_value_count) = (0, 0);
        for thread in &part.threads {
            let reads: Vec<usize> = self.choices(thread, setting).into_iter().map(|(read, _)| read).collect();
            choice_count += reads.len();
            of_turns.extend(reads.windows(2).map(|pair| launches(&part.calls[pair[0]..pair[1]]) as i64));
            for pair in reads.windows(2) {
                let mut between = pair[0] + 1..pair[1];
                let is_product =
                    |call| matches!(self.call_role(call, setting), Some(Role::Product | Role::Fp32Product));
                with_product_count += usize::from(between.clone().any(is_product));
                with_value_count += usize::from(between.any(|call| self.reads_scalar(call as u32)));
            }
        }
        (step_count > 0 && choice_count >= MIN_READS_OF_LOOP * step_count).then(|| PieceLoop {
            choice_count: choice_count / step_count,
            choice_launch_count: median(of_turns.into_iter()),
            step_launch_count: launches(&part.calls) / step_count,
            with_product_count: with_product_count / step_count,
            with_value_count: with_value_count / step_count,
        })
    }

    /// The calls around a read-back that choose, read and wait.
    fn selection(&self, read: usize, thread: &Range<usize>, setting: &Setting<'_>) -> Range<usize> {
        let model = self.model;
        let belongs = |call: &usize| match self.call_role(*call, setting) {
            None => !matches!(model.part.calls[*call].class, ApiClass::Allocate | ApiClass::CopyBlocking),
            Some(role) => role == Role::Selection || *call == read,
        };
        let before = (thread.start..read).rev().take(MAX_SELECTION_CALL_COUNT).take_while(belongs).count();
        let after = (read + 1..thread.end).take(MAX_SELECTION_CALL_COUNT).take_while(belongs).count();
        read - before..read + 1 + after
    }

    /// What the one operation of a call tells by its name; absent of a call that asked for none.
    pub(super) fn call_role(&self, call: usize, setting: &Setting<'_>) -> Option<Role> {
        let row = &self.model.part.calls[call];
        let op = self.model.part.ops.get(row.first_op as usize).filter(|_| row.op_count > 0)?;
        Some(setting.role_of(op))
    }

    /// Nothing changes the layout around convolutions, and normalisation reads in order.
    pub(super) fn channels_last(&mut self, extent: Extent, setting: &Setting<'_>) {
        if !self.model.part.ops.iter().any(|op| setting.role_of(op) == Role::ConvolutionLayout) {
            return;
        }
        let left = if extent == Extent::Expected { ORDERED_NORMALIZATION_SHARE } else { 0.0 };
        self.set_runs(|_, op, run_ns| match setting.role_of(op) {
            Role::ConvolutionLayout => Some(0),
            Role::Normalization => Some((run_ns as f64 * left) as i64),
            // What else passes over memory has fewer, wider rows.
            _ if extent == Extent::Ceiling && setting.role_of(op) == Role::Elementwise => Some(run_ns / 2),
            _ => None,
        });
    }

    /// Without parameters sent out and gradients gathered by one process: GPUs do not wait for each other, and what sums gradients runs beside the backward pass.
    pub(super) fn process_per_gpu(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        if !setting.sends_parameters(&model.part) {
            return;
        }
        self.overlap_communication(extent);
        let is_moved = |op: &Op| setting.role_of(op) == Role::Broadcast || op.kind == OpKind::Copy && op.lane.is_none();
        self.drop_ops(is_moved);
        let is_gone = |call: usize| {
            let row = &model.part.calls[call];
            model.part.ops.get(row.first_op as usize).is_some_and(|op| row.op_count > 0 && is_moved(op))
        };
        let is_gone: Vec<bool> = (0..model.part.calls.len()).map(is_gone).collect();
        self.free_launches(&is_gone, extent, setting);
        self.host_aside(extent, setting);
        self.edges.retain(|edge| edge.why != Why::Order);
        for edge in &mut self.edges {
            if let (Why::Launch | Why::Stream, What::OpStart(_)) = (edge.why, model.what[edge.to as usize]) {
                let usual = if edge.why == Why::Launch { setting.launch_ns } else { setting.spacing_ns };
                edge.lag_ns = edge.lag_ns.min(usual);
            }
        }
    }
}

/// What of the run of a kernel its data take.
pub(super) fn data_ns(run_ns: i64) -> i64 {
    (run_ns - KERNEL_LATENCY_NS).max((run_ns as f64 * LEAST_DATA_SHARE) as i64)
}

/// Chains of element-wise kernels, each with the places where the same few come again and again.
fn elementwise_rows(model: &Model, loops: Loops, is_wait: &[bool], setting: &Setting<'_>) -> Vec<ElementwiseRows> {
    let chains = elementwise_chains(model, loops, is_wait, setting).into_iter();
    let with_rows = chains.map(|chain| {
        let rows = repeats(&chain, &model.part, setting);
        (chain, rows)
    });
    with_rows.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Element-wise kernels of one step that follow one another in a stream, each asked for by a call.
fn elementwise_chains(model: &Model, loops: Loops, is_wait: &[bool], setting: &Setting<'_>) -> Vec<Vec<u32>> {
    let part = &model.part;
    let of_role = |role| chains_of(model, is_wait, |op| setting.role_of(op) == role && loops.hold(part, op));
    // A copy of a tensor, or what clears one, is a pass over it as well, and so is what works through a list of few.
    let is_pass = |op: &Op| is_pass(op) || setting.role_of(op) == Role::Elementwise || setting.is_of_few_tensors(op);
    let mut chains = chains_of(model, is_wait, |op| is_pass(op) && loops.hold(part, op));
    // One sum for each tensor is a norm, or the like: nothing comes between them.
    chains.append(&mut of_role(Role::Reduction));
    chains
}

/// Operations of one step that follow one another in a stream, where they fit, each asked for by a call. What waits go with stands
/// between none.
fn chains_of(model: &Model, is_wait: &[bool], fits: impl Fn(&Op) -> bool) -> Vec<Vec<u32>> {
    let part = &model.part;
    let mut chains: Vec<Vec<u32>> = Vec::new();
    for ops in model.by_stream() {
        let mut chain: Vec<u32> = Vec::new();
        for op in ops.iter().copied() {
            let row = &part.ops[op as usize];
            if is_wait.get(row.call as usize) == Some(&true) {
                continue;
            }
            let fits = row.call != NONE && fits(row);
            let joins = chain.last().is_none_or(|last| part.ops[*last as usize].step == row.step);
            if !(fits && joins) {
                chains.push(std::mem::take(&mut chain));
            }
            if fits {
                chain.push(op);
            }
        }
        chains.push(chain);
    }
    chains.retain(|chain| chain.len() >= MIN_REPEAT_COUNT);
    chains
}

/// Where the same few kernels come again and again. Copies alone are no kernels.
fn repeats(chain: &[u32], part: &Part, setting: &Setting<'_>) -> Vec<Row> {
    let names: Vec<u32> = chain.iter().map(|op| setting.name_of(&part.ops[*op as usize])).collect();
    let mut rows = rows(&names, MAX_PERIOD, MIN_REPEAT_COUNT);
    rows.retain(|row| names[row.places()].iter().any(|name| *name != NONE));
    rows
}
