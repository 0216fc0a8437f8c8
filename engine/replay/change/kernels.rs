//! Changes of kernels: how long they run, and what they wait for.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::super::Role;
use super::super::attention::{WrittenOut, is_of_heads, written_out};
use super::super::chains::{Link, PAIR_COUNT, each_chain};
use super::super::model::{Play, What, Why};
use super::super::record::Op;
use super::super::setting::Setting;
use super::Extent;
use crate::ledger::OpKind;
use crate::timeline::NONE;
use crate::timeline::interval::Interval;

/// The least that a kernel takes.
const LEAST_KERNEL_NS: i64 = 2_000;
/// A kernel with few blocks that is shorter than this is no concern.
const MIN_NARROW_NS: i64 = 20_000;
/// A kernel during which more of the device is filled than this many times its own share runs beside others.
const ALONE_RATIO: f64 = 1.2;
/// So many launches of one kernel in a row whose lengths differ by so much are pieces of work of unlike size.
const MIN_UNLIKE_COUNT: usize = 3;
const UNLIKE_RATIO: f64 = 1.5;
/// A kernel with a last wave that fills a part of the device has so many waves at least.
const LEAST_WAVES: f64 = 2.0;
/// Of the SMs that a larger grid brings, what they win.
const GRID_EFFICIENCY: f64 = 0.9;
/// Of the time of exposed communication, what overlapping it costs the compute beside it. Measured on the machine of docs/gains.md.
const OVERLAP_COST_SHARE: f64 = 0.55;
/// Of a product of attention, what writing or reading the matrix is expected to take at most: the rest it computes.
const MATRIX_SHARE: f64 = 0.5;

/// So many operations beside the products of attention may copy what they work on: queries, keys and values, and their gradients.
const MAX_COPIES_BESIDE: usize = 6;

impl<'model> Play<'model> {
    pub(super) fn non_blocking_streams(&mut self, extent: Extent, setting: &Setting<'_>) {
        self.edges.retain(|edge| edge.why != Why::Legacy);
        self.take_turns(extent, setting);
    }

    pub(super) fn unordered_streams(&mut self, extent: Extent, setting: &Setting<'_>) {
        self.edges.retain(|edge| edge.why != Why::Order);
        self.take_turns(extent, setting);
    }

    /// Of a kernel whose blocks all last equally long, the last wave takes as long as one that fills the device; at best there is no
    /// last wave.
    pub(super) fn even_grid(&mut self, extent: Extent, setting: &Setting<'_>) {
        let last_wave = if extent == Extent::Expected { 1.0 } else { 1.0 / LEAST_WAVES };
        self.set_runs(|_, op, run_ns| {
            // The tiles of a matrix product are a library's choice, and so is how many tensors a launch of an optimizer takes.
            let is_library =
                matches!(setting.role_of(op), Role::Product | Role::Fp32Product) || setting.is_of_many_tensors(op);
            let share = setting.filled_waves_share(op).filter(|_| !is_library && run_ns >= MIN_NARROW_NS)?;
            Some((run_ns as f64 * share.min(last_wave)) as i64)
        });
    }

    /// Kernels that do not wait for each other share the device as far as they fit: each SM runs blocks of one of them, where
    /// they are not too short to matter; at best as many threads as it has room for.
    fn take_turns(&mut self, extent: Extent, setting: &Setting<'_>) {
        let share = |op: &Op| match extent {
            Extent::Expected if op.end - op.start < MIN_NARROW_NS => setting.thread_share_of(op),
            Extent::Expected => setting.share_of(op),
            Extent::Ceiling => setting.thread_share_of(op),
        };
        self.shares = self.model.part.ops.iter().map(share).collect::<Vec<f32>>().into();
    }

    pub(super) fn spread_streams(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut added = Vec::new();
        let mut is_spread = vec![false; model.part.ops.len()];
        for ops in model.by_stream() {
            let mut group: Vec<u32> = Vec::new();
            let mut before: Option<u32> = None;
            for op in ops.iter().copied() {
                let share = setting.share_of(model.op(op));
                let is_small = share > 0.0 && share <= 0.5;
                let joins = group.first().is_some_and(|first| {
                    let (first, this) = (model.op(*first), model.op(op));
                    let is_same = setting.shape_of(first) == setting.shape_of(this);
                    first.step == this.step && (is_same || extent == Extent::Ceiling)
                });
                if !(group.is_empty() || is_small && joins) {
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
            self.add(from, to, setting.spacing_ns, Why::Stream);
        }
        self.take_turns(extent, setting);
    }

    pub(super) fn full_grid(&mut self, extent: Extent, setting: &Setting<'_>) {
        let filled = self.filled(setting);
        let beside = if extent == Extent::Expected { self.unlike_beside(setting) } else { HashMap::default() };
        self.set_runs(|index, op, run_ns| {
            let own = f64::from(setting.share_of(op));
            // Kernels that run at once share what is free.
            let share = filled.get(index as usize).copied().unwrap_or(0.0).max(own);
            // A library chose the grids of its matrix products, and who runs kernels beside each other filled the device in
            // another way: whether grids can be larger is not to be seen.
            let is_library = matches!(setting.role_of(op), Role::Product | Role::Fp32Product);
            let is_likely = !is_library && share <= ALONE_RATIO * own;
            let is_narrow = own > 0.0 && share < 1.0 && run_ns >= MIN_NARROW_NS;
            let (share, least) = match extent {
                Extent::Expected => ((share / GRID_EFFICIENCY).min(1.0), 2 * LEAST_KERNEL_NS),
                // An SM with few threads waits for memory: more blocks on each help as much as blocks on more of them.
                Extent::Ceiling if !is_library => {
                    (share.min(f64::from(setting.resident_share_of(op))), LEAST_KERNEL_NS)
                }
                Extent::Ceiling => (share, 0),
            };
            let is_widened = is_narrow && (is_likely || extent == Extent::Ceiling);
            let share = share.max(beside.get(&index).copied().unwrap_or(0.0));
            is_widened.then(|| ((run_ns as f64 * share) as i64).max(least))
        });
    }

    /// Of launches of one small kernel in a row whose lengths differ, what is left where they run beside each other, as a share of
    /// what they take in turn: they are unlike pieces of work, the longest of which the others wait for.
    fn unlike_beside(&self, setting: &Setting<'_>) -> HashMap<u32, f64> {
        let ops = &self.model.part.ops;
        let run_ns = |op: &u32| ops[*op as usize].end - ops[*op as usize].start;
        let key = |op: &u32| {
            let op = &ops[*op as usize];
            (op.step, Some((setting.name_of(op), setting.block_count(op))).filter(|_| op.call != NONE))
        };
        let mut shares = HashMap::default();
        for stream in self.model.by_stream() {
            for alike in
                stream.chunk_by(|one, next| key(one) == key(next)).filter(|alike| alike.len() >= MIN_UNLIKE_COUNT)
            {
                let longest = alike.iter().map(run_ns).max().unwrap_or(0);
                let shortest = alike.iter().map(run_ns).min().unwrap_or(0);
                let sum = alike.iter().map(run_ns).fold(0_i64, i64::saturating_add);
                let own = f64::from(setting.share_of(&ops[alike[0] as usize]));
                if longest as f64 >= UNLIKE_RATIO * shortest as f64 && sum > 0 && own > 0.0 {
                    let left = (longest as f64 / sum as f64).max(own);
                    shares.extend(alike.iter().map(|op| (*op, left)));
                }
            }
        }
        shares
    }

    /// Of each operation: what share of the SMs of its device had a block of any kernel while it ran, in the mean.
    fn filled(&self, setting: &Setting<'_>) -> Vec<f64> {
        let ops = &self.model.part.ops;
        let mut edges: HashMap<u32, Vec<(i64, f64)>> = HashMap::default();
        for op in ops {
            let share = f64::from(setting.share_of(op));
            if share > 0.0 && op.end > op.start {
                edges.entry(op.device).or_default().extend([(op.start, share), (op.end, -share)]);
            }
        }
        let sums: HashMap<u32, Filling> =
            edges.into_iter().map(|(device, edges)| (device, Filling::new(edges))).collect();
        ops.iter().map(|op| sums.get(&op.device).map_or(0.0, |filling| filling.mean(op.start, op.end))).collect()
    }

    pub(super) fn fuse(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let mut is_gone = vec![false; model.part.ops.len()];
        let mut run_of: HashMap<u32, i64> = HashMap::default();
        let mut has_pairs = false;
        for chain in self.chains(extent, setting) {
            if extent == Extent::Ceiling && chain.len() == PAIR_COUNT {
                // A bias and a function of each element the product before them does on its way.
                chain.iter().for_each(|op| is_gone[*op as usize] = true);
                has_pairs = true;
                continue;
            }
            let longest = chain.iter().map(|op| model.op(*op).end - model.op(*op).start).max().unwrap_or(0);
            // Kernels of a chain read what those before it wrote: one that does all needs not read it.
            let longest = match extent {
                Extent::Expected => longest,
                Extent::Ceiling if self.follows_product(&chain, setting) => longest / 3,
                Extent::Ceiling => longest * 2 / 3,
            };
            run_of.insert(chain[0], longest);
            chain[1..].iter().for_each(|op| is_gone[*op as usize] = true);
        }
        if extent == Extent::Ceiling && (has_pairs || !run_of.is_empty()) {
            self.fuse_with_products(&run_of, &mut is_gone, setting);
        }
        self.take_away(&is_gone, &run_of, setting);
    }

    /// Whether a chain without sums follows a product, whose kernel can do all of it with what it has made before it writes that: what
    /// else the chain reads stays.
    fn follows_product(&self, chain: &[u32], setting: &Setting<'_>) -> bool {
        let first = self.model.op(chain[0]);
        let before = self.model.part.ops[..chain[0] as usize].iter().rev().find(|op| op.stream == first.stream);
        let is_product = before.is_some_and(|op| matches!(setting.role_of(op), Role::Product | Role::Fp32Product));
        is_product && chain.iter().all(|op| setting.role_of(self.model.op(*op)) != Role::Reduction)
    }

    /// Whoever fuses chains may fuse what is element-wise elsewhere as well, with the product that makes or reads its data.
    fn fuse_with_products(&self, chains: &HashMap<u32, i64>, is_gone: &mut [bool], setting: &Setting<'_>) {
        let model = self.model;
        for (index, op) in (0_u32..).zip(&model.part.ops) {
            let is_of_optimizer = op.call != NONE && model.call(op.call).is_of_optimizer;
            let is_own = matches!(setting.role_of(op), Role::Elementwise | Role::Join) && !is_of_optimizer;
            is_gone[index as usize] |= is_own && !chains.contains_key(&index);
        }
    }

    /// The kernels between two products go, and what it takes the products to write and read the matrix: at best of those in plain
    /// fp32 and of those beside them too, and half of each.
    pub(super) fn fuse_attention(&mut self, extent: Extent, setting: &Setting<'_>) {
        let model = self.model;
        let most_share = if extent == Extent::Expected { MATRIX_SHARE } else { 1.0 };
        let run_ns = |op: u32| model.op(op).end - model.op(op).start;
        // Under a causal mask one kernel computes half of the matrix; no name tells what a mask is.
        let masked_ns = |op: u32| if extent == Extent::Expected { 0 } else { run_ns(op) / 2 };
        let mut is_gone = vec![false; model.part.ops.len()];
        let mut run_of: HashMap<u32, i64> = HashMap::default();
        for ops in model.by_stream() {
            let role = |op: &u32| match model.op(*op) {
                Op { kind: OpKind::Memset, .. } | Op { is_within_device: true, .. } => Role::Elementwise,
                op => setting.role_of(op),
            };
            let roles: Vec<Role> = ops.iter().map(role).collect();
            let interval = |op: u32| Interval::new(model.op(op).start, model.op(op).end);
            let is_of_heads = |place: usize| is_of_heads(setting.subject.timeline, interval(ops[place]));
            let is_memset = |place: usize| model.op(ops[place]).kind == OpKind::Memset;
            for found in written_out(&roles, |place| is_of_heads(place) != Some(false), is_memset) {
                let between = &ops[found.between()];
                between.iter().for_each(|op| is_gone[*op as usize] = true);
                if extent == Extent::Ceiling {
                    // What puts operands in order beside the products one kernel reads as they lie.
                    let beside =
                        found.products.0.saturating_sub(MAX_COPIES_BESIDE)..found.products.1 + 1 + MAX_COPIES_BESIDE;
                    let is_copy = |op: &&u32| model.op(**op).is_within_device || setting.is_tensor_copy(model.op(**op));
                    let copies = beside.filter_map(|place| ops.get(place)).filter(is_copy);
                    copies.for_each(|op| is_gone[*op as usize] = true);
                }
                let is_kernel = |op: &&u32| model.op(**op).kind == OpKind::Kernel;
                let between_ns: Vec<i64> = between.iter().filter(is_kernel).map(|op| run_ns(*op)).collect();
                let pass_ns = WrittenOut::shortest_pass_ns(&between_ns);
                for place in found.products() {
                    let product = ops[place];
                    // Those beside the two may be of the layer. Without tensor cores computing takes longer than the matrix.
                    let is_between = place == found.before || place == found.after;
                    let is_sure = is_between || is_of_heads(place) == Some(true);
                    if extent == Extent::Expected && !(is_sure && roles[place] == Role::Product) {
                        continue;
                    }
                    let won_ns = WrittenOut::won_of_product_ns(run_ns(product), pass_ns);
                    let won_ns = won_ns.min((run_ns(product) as f64 * most_share) as i64).max(masked_ns(product));
                    let left_ns = run_of.entry(product).or_insert_with(|| run_ns(product));
                    *left_ns = (*left_ns - won_ns).max(0);
                }
            }
        }
        self.take_away(&is_gone, &run_of, setting);
    }

    /// Kernels go, with the calls that launched them alone, and others run for so long.
    pub(super) fn take_away(&mut self, is_gone: &[bool], run_of: &HashMap<u32, i64>, setting: &Setting<'_>) {
        let model = self.model;
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

    /// The chains of element-wise kernels of each stream: the operations of each.
    fn chains(&self, extent: Extent, setting: &Setting<'_>) -> Vec<Vec<u32>> {
        let link = |op: &u32| {
            let row = self.model.op(*op);
            // What is done with one parameter after the other passes over no memory twice.
            let call = (row.call != NONE).then(|| self.model.call(row.call));
            let is_of_parameter = call.is_some_and(|call| call.is_of_optimizer || call.is_of_gradient);
            Link {
                role: if is_of_parameter { Role::Compute } else { setting.role_of(row) },
                name: setting.name_of(row),
                is_activation: setting.is_activation(row),
                blocks: setting.block_count(row),
                run_ns: row.end - row.start,
                step: row.step,
                is_pass: is_pass(row),
            }
        };
        let mut found = Vec::new();
        for ops in self.model.by_stream() {
            let links: Vec<Link> = ops.iter().map(link).collect();
            each_chain(&links, extent == Extent::Expected, |chain| {
                found.push(chain.iter().map(|place| ops[*place]).collect());
            });
        }
        found
    }

    /// What a plain fix hides, it hides beside what the device computes with no communication beside it: more than that is hidden
    /// nowhere. At best ranks come in time as well, and less is sent.
    pub(super) fn overlap_communication(&mut self, extent: Extent) {
        let exposed = self.model.exposed_communication();
        let hidden_shares = match extent {
            Extent::Ceiling => HashMap::default(),
            Extent::Expected => self.hidden_shares(&exposed),
        };
        self.set_runs(|op, of, run_ns| {
            let exposed_ns = exposed.get(&op).copied()?;
            let share = hidden_shares.get(&of.device).copied().unwrap_or(1.0);
            Some(run_ns - (share * exposed_ns as f64) as i64)
        });
    }

    /// By device: the share of exposed communication that can run beside computation, what that costs taken off.
    fn hidden_shares(&self, exposed: &HashMap<u32, i64>) -> HashMap<u32, f64> {
        let devices: BTreeSet<u32> = exposed.keys().map(|op| self.model.op(*op).device).collect();
        let share = |device: u32| {
            // However many of its kernels run at once.
            let exposed_ns = self.model.exposed_communication_ns(device, Interval::EVER);
            let room = self.model.compute_alone_ns(device) as f64 / exposed_ns.max(1) as f64;
            (device, (1.0 - OVERLAP_COST_SHARE).min(room))
        };
        devices.into_iter().map(share).collect()
    }
}

/// Whether an operation does what a kernel of one pass over memory could do as well.
pub(super) fn is_pass(op: &Op) -> bool {
    op.kind == OpKind::Memset || op.is_within_device
}

/// How full a device is over time.
struct Filling {
    /// Moments at which that changes, with the share that is filled from then on, and its integral up to then.
    parts: Vec<(i64, f64, f64)>,
}

impl Filling {
    /// From what begins and ends, and how much of the device it fills.
    fn new(mut edges: Vec<(i64, f64)>) -> Self {
        edges.sort_by_key(|(time, _)| *time);
        let mut parts: Vec<(i64, f64, f64)> = Vec::with_capacity(edges.len());
        let mut sum = 0.0;
        for (time, change) in edges {
            sum += change;
            match parts.last_mut().filter(|last| last.0 == time) {
                Some(last) => last.1 = f64::min(sum, 1.0),
                None => {
                    let integral = parts.last().map_or(0.0, |last| last.2 + last.1 * (time - last.0) as f64);
                    parts.push((time, f64::min(sum, 1.0), integral));
                }
            }
        }
        Self { parts }
    }

    fn integral(&self, time: i64) -> f64 {
        let before = self.parts.partition_point(|part| part.0 <= time).checked_sub(1);
        before.map_or(0.0, |index| self.parts[index].2 + self.parts[index].1 * (time - self.parts[index].0) as f64)
    }

    /// The mean from one moment to another.
    fn mean(&self, start: i64, end: i64) -> f64 {
        (self.integral(end) - self.integral(start)) / (end - start).max(1) as f64
    }
}
