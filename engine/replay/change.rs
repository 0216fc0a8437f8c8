//! The changes: what a fix does to the model, each small and named.

use foldhash::HashMap;

use super::model::{Edge, Play, What, Why};
use super::record::{Op, TO_DEVICE, TO_HOST};
use super::{Role, gains::Setting};
use crate::ledger::OpKind;
use crate::timeline::NONE;
use crate::timeline::api::ApiClass;

/// How much of it a change is taken to win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// What a plain fix brings.
    Expected,
    /// Everything that it could bring.
    Ceiling,
}

macro_rules! changes {
    ($($change:ident $id:literal $fact:literal $help:literal)+) => {
        /// A change of the recorded program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Change {
            $(#[doc = $help] $change,)+
        }

        impl Change {
            /// Every change, in the order in which they are made.
            pub const ALL: &'static [Self] = &[$(Self::$change,)+];

            /// Its name on the command line.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$change => $id,)+ }
            }

            /// The fact of what a plain fix brings.
            pub const fn expected_fact(self) -> &'static str {
                match self { $(Self::$change => concat!($fact, "_expected_gain_ns"),)+ }
            }

            /// The fact of everything that it could bring.
            pub const fn ceiling_fact(self) -> &'static str {
                match self { $(Self::$change => concat!($fact, "_ceiling_gain_ns"),)+ }
            }

            /// What the first of them means.
            pub const fn expected_meaning(self) -> &'static str {
                match self { $(Self::$change => concat!($help, " What that is expected to gain of replay_step_ns, a step."),)+ }
            }

            /// What the second means.
            pub const fn ceiling_meaning(self) -> &'static str {
                match self { $(Self::$change => concat!($help, " The most that it could gain of replay_step_ns, a step."),)+ }
            }

            /// What is changed, in one sentence.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$change => $help,)+ }
            }
        }
    };
}

changes! {
    LowerPrecision "lower-precision" "lower_precision" "Matrix products in fp32 run on tensor cores: TF32 is expected, bf16 is the ceiling."
    FullGrid "full-grid" "full_grid" "Kernels with fewer blocks than the GPU has SMs fill it."
    Fuse "fuse" "fuse" "Chains of element-wise kernels become one pass over memory."
    BatchCopies "batch-copies" "batch_copies" "Small copies in a row become one, packed by the host."
    PinCopies "pin-copies" "pin_copies" "Pageable host memory is pinned: copies run at the rate of the link and their calls return at once."
    CacheAllocations "cache-allocations" "cache_allocations" "Memory is allocated once: calls that allocate and free take no time and wait for nothing."
    NoSync "no-sync" "no_sync" "The host waits for nothing, and reads single values back only now and then."
    HostAside "host-aside" "host_aside" "Host code between calls goes to other threads."
    NoBlocking "no-blocking" "no_blocking" "The threads that launch never wait in the operating system."
    Graph "graph" "graph" "The calls of a step become one launch of a CUDA graph."
    NonBlockingStreams "non-blocking-streams" "non_blocking_streams" "No stream waits for the legacy default stream."
    SpreadStreams "spread-streams" "spread_streams" "Small kernels of one step run in streams of their own, as far as they fit together."
    OverlapCopies "overlap-copies" "overlap_copies" "Copies between host and device run beside the work of other steps, with two buffers."
    OverlapCommunication "overlap-communication" "overlap_communication" "Communication runs beside compute, which it slows."
    SteadySteps "steady-steps" "steady_steps" "Every step takes as long as the median step."
}

impl Change {
    /// The changes that a rule advises; none of a rule whose advice cannot be played.
    pub fn of_rule(rule: &str) -> &'static [Self] {
        RULES.iter().find(|(id, _)| *id == rule).map_or(&[], |(_, changes)| changes)
    }

    /// The ids of rules whose advice can be played.
    pub fn rules() -> impl Iterator<Item = &'static str> {
        RULES.iter().map(|(id, _)| *id)
    }
}

/// What built-in rules advise.
const RULES: &[(&str, &[Change])] = &[
    ("pageable-copy", &[Change::PinCopies]),
    ("fp32-matmul", &[Change::LowerPrecision]),
    ("launch-bound", &[Change::Graph]),
    ("sync-gap", &[Change::NoSync]),
];

/// Read-backs of at most so many bytes are single values.
const MAX_SCALAR_BYTES: i64 = 4_096;
/// Copies of at most so many bytes are small: they take longer to begin than to move.
const MAX_SMALL_COPY_BYTES: i64 = 64 << 10;
/// So many in a row, at least.
const MIN_BATCH_COUNT: usize = 4;
/// At what rate a host packs small pieces, bytes a nanosecond. Measured on the machine of docs/gains.md.
const PACKING_RATE: f64 = 14.0;
/// What a copy takes beside its bytes.
const COPY_LATENCY_NS: i64 = 1_500;
/// An asynchronous call.
const ASYNC_CALL_NS: i64 = 4_000;
/// Between two kernels of a graph. Measured on the machine of docs/gains.md.
const GRAPH_SPACING_NS: i64 = 60;
/// The launch of a graph.
const GRAPH_LAUNCH_NS: i64 = 8_000;
/// Kernels that are shorter can vanish in others.
const SMALL_KERNEL_NS: i64 = 10_000;
/// The least that a kernel takes.
const LEAST_KERNEL_NS: i64 = 2_000;
/// A kernel with few blocks that is shorter than this is no concern.
const MIN_NARROW_NS: i64 = 20_000;
/// Of the time of exposed communication, what overlapping it costs the compute beside it. Measured on the machine of docs/gains.md.
const OVERLAP_COST_SHARE: f64 = 0.55;
/// Of the ratio of peaks, what matrix products reach on tensor cores.
const TENSOR_EFFICIENCY: f64 = 0.75;

impl Play<'_> {
    /// Makes a change, as far as it goes.
    pub(super) fn apply(&mut self, change: Change, extent: Extent, setting: &Setting<'_>) {
        match change {
            Change::LowerPrecision => self.lower_precision(extent, setting),
            Change::FullGrid => self.full_grid(extent, setting),
            Change::Fuse => self.fuse(extent, setting),
            Change::BatchCopies => self.batch_copies(extent, setting),
            Change::PinCopies => self.pin_copies(extent, setting),
            Change::CacheAllocations => self.cache_allocations(),
            Change::NoSync => self.no_sync(extent),
            Change::HostAside => self.host_aside(setting),
            Change::NoBlocking => self.no_blocking(),
            Change::Graph => self.graph(extent, setting),
            Change::NonBlockingStreams => self.non_blocking_streams(setting),
            Change::SpreadStreams => self.spread_streams(extent, setting),
            Change::OverlapCopies => self.overlap_copies(extent, setting),
            Change::OverlapCommunication => self.overlap_communication(extent),
            // Not a change of the model: the lengths of steps say it.
            Change::SteadySteps => {}
        }
        self.sort();
    }

    /// Sets how long operations run: `None` leaves one as it is.
    fn set_runs(&mut self, run: impl Fn(u32, &Op, i64) -> Option<i64>) {
        let model = self.model;
        for edge in self.edges.iter_mut().filter(|edge| edge.why == Why::Run) {
            let What::OpStart(op) = model.what[edge.from as usize] else { continue };
            if let Some(ns) = run(op, model.op(op), edge.lag_ns) {
                edge.lag_ns = ns.clamp(0, edge.lag_ns);
            }
        }
    }

    /// The call that an edge leads to the return of.
    fn returning(&self, edge: &Edge) -> Option<u32> {
        match self.model.what[edge.to as usize] {
            What::CallEnd(call) => Some(call),
            _ => None,
        }
    }

    /// The operation that an edge leads to the start of.
    fn starting(&self, edge: &Edge) -> Option<u32> {
        match self.model.what[edge.to as usize] {
            What::OpStart(op) => Some(op),
            _ => None,
        }
    }

    /// Makes calls take a time of their own at most, and wait for nothing.
    fn free_calls(&mut self, own: impl Fn(u32) -> Option<i64>) {
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain_mut(|edge| {
            let Some(own_ns) = self.returning(edge).and_then(&own) else { return true };
            edge.lag_ns = edge.lag_ns.min(own_ns);
            edge.why == Why::Call
        });
        self.edges = edges;
    }

    /// Makes operations take no time and wait for no launch.
    fn drop_ops(&mut self, is_dropped: impl Fn(&Op) -> bool) {
        self.set_runs(|_, op, _| is_dropped(op).then_some(0));
        let mut edges = std::mem::take(&mut self.edges);
        for edge in &mut edges {
            if self.starting(edge).is_some_and(|op| is_dropped(self.model.op(op))) {
                edge.lag_ns = 0;
            }
        }
        self.edges = edges;
    }

    /// Whether a call reads a single value back, and waits for it.
    fn reads_scalar(&self, call: u32) -> bool {
        let row = self.model.call(call);
        let op = self.model.part.ops.get(row.first_op as usize);
        let is_copy = matches!(row.class, ApiClass::CopyBlocking | ApiClass::CopyAsync);
        is_copy && row.op_count == 1 && op.is_some_and(is_scalar_readback)
    }

    fn no_sync(&mut self, _: Extent) {
        let model = self.model;
        let is_wait = |call: u32| matches!(model.call(call).class, ApiClass::Wait(_) | ApiClass::Query);
        let reads: Vec<bool> = (0..model.part.calls.len() as u32).map(|call| self.reads_scalar(call)).collect();
        self.free_calls(|call| (is_wait(call) || reads[call as usize]).then_some(0));
        self.drop_ops(is_scalar_readback);
    }

    fn cache_allocations(&mut self) {
        let model = self.model;
        self.free_calls(|call| (model.call(call).class == ApiClass::Allocate).then_some(0));
    }

    /// Host code between calls, less than what is launching.
    fn host_aside(&mut self, setting: &Setting<'_>) {
        self.shorten_gaps(|gap_ns, blocked_ns| {
            let host_ns = gap_ns - blocked_ns;
            if host_ns >= setting.launch_gap_ns { blocked_ns } else { gap_ns }
        });
    }

    fn no_blocking(&mut self) {
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

    fn pin_copies(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let pinned = |op: &Op, run_ns: i64| {
            let rate = setting.pinned_rate(op.lane);
            run_ns.min((op.bytes as f64 / rate) as i64 + COPY_LATENCY_NS)
        };
        self.set_runs(|_, op, run_ns| op.is_pageable.then(|| pinned(op, run_ns)));
        let pageable = |call: u32| {
            let row = model.call(call);
            model.part.ops.get(row.first_op as usize).filter(|op| row.op_count > 0 && op.is_pageable)
        };
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain_mut(|edge| {
            if let Some(op) = self.starting(edge).filter(|op| model.op(*op).is_pageable) {
                if edge.why == Why::Launch && model.op(op).is_pageable {
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
        if extent == Extent::Ceiling {
            // Pinned memory lets copies run beside kernels as well.
            self.overlap(usize::MAX, setting);
        }
    }

    fn batch_copies(&mut self, extent: Extent, setting: &Setting<'_>) {
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
            let is_small = row.lane.is_some() && row.bytes <= MAX_SMALL_COPY_BYTES && row.call != NONE;
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
    fn merge_copies(
        &mut self,
        bytes_of: &HashMap<u32, i64>,
        is_later: &[bool],
        extent: Extent,
        setting: &Setting<'_>,
    ) {
        let model = self.model;
        let is_gone = |call: u32| {
            let row = model.call(call);
            row.op_count == 1 && is_later.get(row.first_op as usize) == Some(&true)
        };
        for edge in &mut self.edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Run, What::OpEnd(op)) => {
                    if let Some(bytes) = bytes_of.get(&op) {
                        let rate = setting.pinned_rate(model.op(op).lane);
                        edge.lag_ns = (*bytes as f64 / rate) as i64 + COPY_LATENCY_NS;
                    } else if is_later[op as usize] {
                        edge.lag_ns = 0;
                    }
                }
                (_, What::OpStart(op)) if is_later[op as usize] => edge.lag_ns = 0,
                (Why::Call | Why::Sync | Why::Queue, What::CallEnd(call)) if is_gone(call) => edge.lag_ns = 0,
                (Why::Program, What::CallStart(call)) if is_gone(call) => edge.lag_ns = 0,
                (Why::Program, What::CallStart(call)) if extent == Extent::Expected => {
                    let packed = bytes_of.get(&model.call(call).first_op).filter(|_| model.call(call).op_count > 0);
                    edge.lag_ns += packed.map_or(0, |bytes| (*bytes as f64 / PACKING_RATE) as i64);
                }
                _ => {}
            }
        }
    }

    fn graph(&mut self, extent: Extent, setting: &Setting<'_>) {
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
                (Why::Program | Why::HandOver, What::CallStart(call)) if is_captured(call) => {
                    if edge.lag_ns < setting.launch_gap_ns {
                        edge.lag_ns = 0;
                    }
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

    fn non_blocking_streams(&mut self, setting: &Setting<'_>) {
        self.edges.retain(|edge| edge.why != Why::Legacy);
        self.take_turns(setting);
    }

    /// Kernels that do not wait for each other share the device as far as they fit.
    fn take_turns(&mut self, setting: &Setting<'_>) {
        self.turns.kernels = true;
        self.shares = self.model.part.ops.iter().map(|op| setting.share_of(op)).collect();
    }

    fn spread_streams(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut added = Vec::new();
        let mut is_spread = vec![false; model.part.ops.len()];
        for ops in by_stream(&model.part.ops) {
            let mut group: Vec<u32> = Vec::new();
            let mut before: Option<u32> = None;
            for op in ops {
                let share = setting.share_of(model.op(op));
                let is_small = share > 0.0 && share <= 0.5;
                let joins = group.first().is_some_and(|first| {
                    let (first, this) = (model.op(*first), model.op(op));
                    let is_same = setting.shape_of(first) == setting.shape_of(this);
                    first.step == this.step && (is_same || extent == Extent::Ceiling)
                });
                if !group.is_empty() && !(is_small && joins) {
                    // What comes after the group waits for all of it.
                    for member in &group {
                        added.push((model.op_events[*member as usize].1, op));
                    }
                    before = group.last().copied();
                    group.clear();
                }
                if is_small {
                    is_spread[op as usize] = !group.is_empty();
                    if let (Some(before), false) = (before, group.is_empty()) {
                        added.push((model.op_events[before as usize].1, op));
                    }
                    group.push(op);
                } else {
                    before = Some(op);
                }
            }
        }
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain(|edge| {
            let is_turn = matches!(edge.why, Why::Stream | Why::Order);
            !(is_turn && self.starting(edge).is_some_and(|op| is_spread[op as usize]))
        });
        self.edges = edges;
        for (from, op) in added {
            let to = model.op_events[op as usize].0;
            self.edges.push(Edge { from, to, lag_ns: setting.spacing_ns, why: Why::Stream });
        }
        self.take_turns(setting);
    }

    fn full_grid(&mut self, extent: Extent, setting: &Setting<'_>) {
        self.set_runs(|_, op, run_ns| {
            let share = f64::from(setting.share_of(op));
            let is_narrow = share > 0.0 && share < 1.0 && run_ns >= MIN_NARROW_NS;
            let least = if extent == Extent::Expected { 2 * LEAST_KERNEL_NS } else { 0 };
            is_narrow.then(|| ((run_ns as f64 * share) as i64).max(least))
        });
    }

    fn lower_precision(&mut self, extent: Extent, setting: &Setting<'_>) {
        let Some((tf32, half)) = setting.tensor_ratios() else { return };
        let factor = match extent {
            Extent::Expected => (tf32.unwrap_or(half) * TENSOR_EFFICIENCY).max(1.0),
            Extent::Ceiling => half.max(tf32.unwrap_or(0.0)),
        };
        self.set_runs(|_, op, run_ns| {
            let is_product = setting.role_of(op) == Role::Fp32Product;
            is_product.then(|| (run_ns as f64 / factor) as i64)
        });
    }

    fn fuse(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut is_gone = vec![false; model.part.ops.len()];
        let mut run_of: HashMap<u32, i64> = HashMap::default();
        for ops in by_stream(&model.part.ops) {
            let mut chain: Vec<u32> = Vec::new();
            for op in ops.into_iter().map(Some).chain([None]) {
                let joins = op.is_some_and(|op| {
                    let row = model.op(op);
                    setting.role_of(row) == Role::Elementwise
                        && chain.first().is_none_or(|first| model.op(*first).step == row.step)
                });
                if !joins {
                    if chain.len() > 1 {
                        let longest = chain.iter().map(|op| model.op(*op).end - model.op(*op).start).max().unwrap_or(0);
                        let longest = if extent == Extent::Ceiling { longest * 2 / 3 } else { longest };
                        run_of.insert(chain[0], longest);
                        chain[1..].iter().for_each(|op| is_gone[*op as usize] = true);
                    }
                    chain.clear();
                }
                chain.extend(op.filter(|op| setting.role_of(model.op(*op)) == Role::Elementwise));
            }
        }
        for edge in &mut self.edges {
            match (edge.why, model.what[edge.to as usize]) {
                (Why::Run, What::OpEnd(op)) if is_gone[op as usize] => edge.lag_ns = 0,
                (Why::Run, What::OpEnd(op)) => edge.lag_ns = run_of.get(&op).copied().unwrap_or(edge.lag_ns),
                (_, What::OpStart(op)) if is_gone[op as usize] => edge.lag_ns = 0,
                (Why::Call | Why::Queue, What::CallEnd(call)) => {
                    let row = model.call(call);
                    if row.op_count == 1 && is_gone.get(row.first_op as usize) == Some(&true) {
                        edge.lag_ns = 0;
                    }
                }
                (Why::Program, What::CallStart(call)) => {
                    let row = model.call(call);
                    let is_gone = row.op_count == 1 && is_gone.get(row.first_op as usize) == Some(&true);
                    if is_gone && edge.lag_ns < setting.launch_gap_ns {
                        edge.lag_ns = 0;
                    }
                }
                _ => {}
            }
        }
    }

    fn overlap_communication(&mut self, extent: Extent) {
        let exposed = self.model.exposed_communication();
        let cost = if extent == Extent::Expected { OVERLAP_COST_SHARE } else { 0.0 };
        self.set_runs(|op, _, run_ns| {
            let exposed_ns = exposed.get(&op).copied()?;
            Some(run_ns - ((1.0 - cost) * exposed_ns as f64) as i64)
        });
    }

    fn overlap_copies(&mut self, extent: Extent, setting: &Setting<'_>) {
        self.overlap(if extent == Extent::Expected { 2 } else { usize::MAX }, setting);
    }

    /// Copies leave the order of their stream: data goes from copies to the kernels after them and from kernels to the copies
    /// after them, and so many steps share the buffers.
    fn overlap(&mut self, buffer_count: usize, setting: &Setting<'_>) {
        let model = self.model;
        self.turns.copies = true;
        let mut edges = std::mem::take(&mut self.edges);
        edges.retain(|edge| {
            let of_stream = matches!(edge.why, Why::Stream | Why::Order | Why::Legacy);
            let touches = |event: u32| match model.what[event as usize] {
                What::OpStart(op) | What::OpEnd(op) => model.op(op).lane.is_some(),
                _ => false,
            };
            let waits = edge.why == Why::Sync && self.returning(edge).is_some();
            !(of_stream && (touches(edge.from) || touches(edge.to)) || waits)
        });
        self.edges = edges;
        let spacing = setting.spacing_ns;
        for ops in by_stream(&model.part.ops) {
            let (mut kernel, mut arrived): (Option<u32>, Vec<u32>) = (None, Vec::new());
            let (mut crossed, mut last_copy) = (false, None::<u32>);
            for op in ops {
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
                        last_copy = Some(op);
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
            let _ = last_copy;
        }
        self.share_buffers(buffer_count);
    }

    /// The first copies of a step wait for what was done with their buffers.
    fn share_buffers(&mut self, buffer_count: usize) {
        let model = self.model;
        let step_count = model.part.step_count as usize;
        if buffer_count >= step_count {
            return;
        }
        let mut lasts: Vec<Vec<u32>> = vec![Vec::new(); step_count];
        for ops in by_stream(&model.part.ops) {
            let mut last: HashMap<(u32, bool), u32> = HashMap::default();
            for op in ops {
                let row = model.op(op);
                last.insert((row.step, row.lane.is_some()), op);
            }
            for ((step, _), op) in last {
                if let Some(lasts) = lasts.get_mut(step as usize).filter(|lasts| lasts.len() < 16) {
                    lasts.push(op);
                }
            }
        }
        for (op, row) in (0_u32..).zip(&model.part.ops) {
            if row.lane != Some(TO_DEVICE) || row.call == NONE || (row.step as usize) < buffer_count {
                continue;
            }
            for last in &lasts[row.step as usize - buffer_count] {
                self.add(model.op_events[*last as usize].1, model.op_events[op as usize].0, 0, Why::Buffer);
            }
        }
    }

    fn add(&mut self, from: u32, to: u32, lag_ns: i64, why: Why) {
        self.edges.push(Edge { from, to, lag_ns, why });
    }
}

fn is_scalar_readback(op: &Op) -> bool {
    op.lane == Some(TO_HOST) && op.bytes <= MAX_SCALAR_BYTES
}

/// The operations of each stream, in order.
fn by_stream(ops: &[Op]) -> Vec<Vec<u32>> {
    let mut index_of: HashMap<u32, usize> = HashMap::default();
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for (op, row) in (0_u32..).zip(ops) {
        let index = *index_of.entry(row.stream).or_insert_with(|| {
            lists.push(Vec::new());
            lists.len() - 1
        });
        lists[index].push(op);
    }
    lists
}
