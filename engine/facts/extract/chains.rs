//! Facts of element-wise kernels that follow one another and pass over the same memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::kernel_names::Traits;
use super::optimizer::OptimizerSteps;
use super::tally::kernel_name;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::replay::Role;
use crate::replay::chains::{Link, MIN_PASS_NS, chains};
use crate::timeline::NONE;
use crate::timeline::columns::Direction;

/// Of a chain so many kernels are named.
const MAX_NAMED_COUNT: usize = 6;

/// So many copies of operands may lie between a chain and the product that goes with it.
const MAX_BETWEEN_COUNT: usize = 2;

/// What the names of a chain's kernels tell of the layer that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// Mean, and the reciprocal of a square root.
    Normalization,
    /// A softmax between two matrix products: attention.
    Attention,
    Other,
}

/// What all chains of one device add up to.
#[derive(Debug, Default)]
struct Sums {
    count: i64,
    kernel_count: i64,
    reduction_count: i64,
    ns: i64,
    spare_ns: i64,
    normalization_ns: i64,
    attention_ns: i64,
    /// How much each form of chain has beyond its longest kernel, and how often it comes.
    forms: BTreeMap<Vec<u32>, (i64, i64)>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let mut by_stream: BTreeMap<u32, Vec<Op>> = BTreeMap::new();
    if context.traits.iter().any(|traits| traits.is_elementwise) {
        for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
            by_stream.entry(op.stream(context.timeline)).or_default().push(op);
        }
    }
    let optimizer = OptimizerSteps::of(context.timeline);
    let mut sums = Sums::default();
    for ops in by_stream.values() {
        let links: Vec<Link> = ops.iter().map(|op| link(context, device, &optimizer, *op)).collect();
        for chain in chains(&links, true) {
            sums.add(context, &links, &chain);
        }
    }
    sums.set(context, facts);
}

fn link(context: &Context<'_>, device: &DeviceContext, optimizer: &OptimizerSteps, op: Op) -> Link {
    let timeline = context.timeline;
    let name = kernel_name(timeline, op);
    let Traits { role, is_activation, .. } = context.traits_of(op).unwrap_or_default();
    let blocks = if op.kind == OpKind::Kernel { timeline.geometry_of(op.index) } else { None };
    let is_within_device = || timeline.copies.direction.get(op.index as usize) == Some(&Direction::DeviceToDevice);
    Link {
        role: if optimizer.launched(timeline, op) { Role::Compute } else { role },
        name: name.unwrap_or(NONE),
        is_activation,
        blocks: blocks.map_or(0, |geometry| geometry.grid_blocks),
        run_ns: op.interval().clip(device.window()).len_ns(),
        step: 0,
        is_pass: op.kind == OpKind::Memset || op.kind == OpKind::Copy && is_within_device(),
    }
}

impl Sums {
    fn add(&mut self, context: &Context<'_>, links: &[Link], chain: &[usize]) {
        let of_chain = || chain.iter().filter_map(|place| links.get(*place));
        let kernels = || of_chain().filter(|link| link.name != NONE);
        let longest_ns = of_chain().map(|link| link.run_ns).max().unwrap_or(0);
        let ns = of_chain().map(|link| link.run_ns).fold(0, i64::saturating_add);
        if kernels().count() < 2 {
            return;
        }
        self.count += 1;
        self.kernel_count += kernels().count() as i64;
        self.reduction_count += kernels().filter(|link| link.role == Role::Reduction).count() as i64;
        self.ns = self.ns.saturating_add(ns);
        // Short kernels take what launching them takes.
        if longest_ns >= MIN_PASS_NS {
            self.spare_ns = self.spare_ns.saturating_add(ns - longest_ns);
        }
        match layer(context, links, chain) {
            Layer::Normalization => self.normalization_ns += ns,
            Layer::Attention => self.attention_ns += ns,
            Layer::Other => {}
        }
        let form = self.forms.entry(kernels().map(|link| link.name).collect()).or_default();
        *form = (form.0.saturating_add(ns - longest_ns), form.1 + 1);
    }

    fn set(&self, context: &Context<'_>, facts: &mut Entity) {
        facts.set("chain_count", self.count);
        let timeline = context.timeline;
        let names = |form: &[u32]| form.iter().map(|name| timeline.name(*name)).collect::<Vec<_>>();
        let main = self.forms.iter().max_by_key(|(form, (ns, _))| (*ns, Reverse(names(form))));
        let Some((form, (_, repeat_count))) = main else { return };
        facts.set("chain_kernel_count", self.kernel_count);
        facts.set("chain_reduction_count", self.reduction_count);
        facts.set("chain_sum_ns", self.ns);
        facts.set("chain_spare_ns", self.spare_ns);
        facts.set("chain_normalization_ns", self.normalization_ns);
        facts.set("chain_attention_ns", self.attention_ns);
        let mut told = names(form);
        if told.len() > MAX_NAMED_COUNT {
            told.truncate(MAX_NAMED_COUNT);
            told.push("…");
        }
        facts.set("chain_kernels", told.join(", "));
        facts.set("chain_kernels_repeat_count", *repeat_count);
    }
}

/// What layer a chain is, by names.
fn layer(context: &Context<'_>, links: &[Link], chain: &[usize]) -> Layer {
    let name = |place: &usize| {
        links.get(*place).filter(|link| link.name != NONE).map_or("", |link| context.timeline.name(link.name))
    };
    let names = |part: &str| chain.iter().any(|place| name(place).contains(part));
    let is_reduction = |place: &&usize| links.get(**place).is_some_and(|link| link.role == Role::Reduction);
    let reduction_count = chain.iter().filter(is_reduction).count();
    if names("rsqrt") && reduction_count > 0 {
        return Layer::Normalization;
    }
    let first = chain.first().copied().unwrap_or(0);
    let after = chain.last().map_or(0, |last| last + 1);
    let is_softmax = (names("exp_kernel") || names("cupy_exp_")) && reduction_count >= 2;
    let before = links.get(..first).unwrap_or_default().iter().rev();
    let after = links.get(after..).unwrap_or_default().iter();
    if is_softmax && is_product_near(before) && is_product_near(after) { Layer::Attention } else { Layer::Other }
}

/// Whether a matrix product comes first, but for a copy or two of its operands.
fn is_product_near<'all>(links: impl Iterator<Item = &'all Link>) -> bool {
    let mut near = links.take(MAX_BETWEEN_COUNT + 1).skip_while(|link| link.is_pass || link.role == Role::Elementwise);
    near.next().is_some_and(|link| matches!(link.role, Role::Product | Role::Fp32Product))
}
