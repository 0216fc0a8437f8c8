//! Facts of element-wise kernels that follow one another and pass over the same memory.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::by_index::ByIndex;
use super::kernel_names::Traits;
use super::optimizer::Following;
use super::{Context, DeviceContext, operators};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::replay::Role;
use crate::replay::chains::{Link, MIN_PASS_NS, each_chain};
use crate::timeline::columns::{Direction, KernelShape};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

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
    /// By the names of the kernels of each form.
    forms: HashMap<Vec<u32>, Form>,
    /// The names of the last one.
    names: Vec<u32>,
    /// What each of the names holds.
    marks: HashMap<u32, Marks>,
}

/// Chains of the same kernels.
#[derive(Debug)]
struct Form {
    /// How long they run beyond the longest kernel of each.
    spare_ns: i64,
    count: i64,
    /// What the names of any of the kernels hold.
    marks: Marks,
}

impl Form {
    fn new(timeline: &Timeline, names: &[u32], known: &mut HashMap<u32, Marks>) -> Self {
        let marks = names.iter().map(|name| *known.entry(*name).or_insert_with(|| Marks::of(timeline.name(*name))));
        Self { spare_ns: 0, count: 0, marks: marks.fold(Marks::default(), Marks::or) }
    }
}

/// What the name of a kernel holds that tells a layer.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    is_reciprocal_root: bool,
    is_exponential: bool,
}

impl Marks {
    fn of(name: &str) -> Self {
        let is_exponential = name.contains("exp_kernel") || name.contains("cupy_exp_");
        Self { is_reciprocal_root: name.contains("rsqrt"), is_exponential }
    }

    const fn or(self, other: Self) -> Self {
        Self {
            is_reciprocal_root: self.is_reciprocal_root || other.is_reciprocal_root,
            is_exponential: self.is_exponential || other.is_exponential,
        }
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let is_of_role = |name: u32| context.traits.get(name as usize).is_some_and(|told| told.role == Role::Elementwise);
    let (mut sums, mut chained) = (Sums::default(), Vec::new());
    // Each chain begins with such a kernel.
    if context.traits.iter().any(|traits| traits.is_elementwise)
        && device.passed(context).launch_count(context.timeline, is_of_role) > 0
    {
        for (_, stream) in streams(context, device).iter() {
            each_chain(&stream.links, true, |chain| {
                sums.add(context.timeline, &stream.links, chain);
                chained.extend(stream.ops.iter().flat_map(|ops| chain.iter().filter_map(|place| ops.get(*place))));
            });
        }
    }
    sums.set(context, facts);
    let named = operators::main_of(context.timeline, device, chained.into_iter());
    let named: Vec<&str> = named.into_iter().map(|name| context.timeline.name(name)).collect();
    facts.set_some("chain_operators", (!named.is_empty()).then(|| named.join(", ")));
}

/// The operations of one stream, as far as they matter to chains: of a row of those that end one, the first and the last.
#[derive(Default)]
struct Stream {
    links: Vec<Link>,
    /// What each of them is of, where operators were recorded: nothing else asks for it.
    ops: Option<Vec<Op>>,
    is_ended: bool,
    /// The last of such a row behind the first.
    last: Option<Op>,
}

impl Stream {
    fn push(&mut self, link: Link, op: Op) {
        self.links.push(link);
        if let Some(ops) = &mut self.ops {
            ops.push(op);
        }
    }
}

/// By stream.
fn streams(context: &Context<'_>, device: &DeviceContext) -> ByIndex<Stream> {
    let timeline = context.timeline;
    let links = Links::new(context, device);
    let mut parameters = context.parameter_work().follow();
    let holds_operators = timeline.ranges.hold_operators();
    let new = |stream: u32| {
        let most = device.passed(context).stream(stream).count;
        Stream {
            links: Vec::with_capacity(most),
            ops: holds_operators.then(|| Vec::with_capacity(most)),
            ..Stream::default()
        }
    };
    let mut streams: ByIndex<Stream> = ByIndex::default();
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let index = op.stream(timeline);
        let stream = streams.of(index, || new(index));
        let link = links.of(op);
        let may_join = matches!(link.role, Role::Elementwise | Role::LoopingElementwise | Role::Join | Role::Reduction);
        if link.is_pass || may_join && !parameters.launched(timeline, op) {
            if let Some(last) = stream.last.take() {
                stream.push(links.launched(&mut parameters, last), last);
            }
            stream.push(link, op);
            stream.is_ended = false;
        } else if stream.is_ended {
            stream.last = Some(op);
        } else {
            stream.push(links.launched(&mut parameters, op), op);
            stream.is_ended = true;
        }
    }
    for stream in streams.iter_mut() {
        if let Some(last) = stream.last.take() {
            stream.push(links.launched(&mut parameters, last), last);
        }
    }
    streams
}

/// Makes links of operations.
struct Links<'all> {
    timeline: &'all Timeline,
    window: Interval,
    /// Of kernels, by their shape.
    of_shapes: Vec<Link>,
    other: Link,
}

impl<'all> Links<'all> {
    fn new(context: &Context<'all>, device: &DeviceContext) -> Self {
        let timeline = context.timeline;
        let Traits { role, is_activation, .. } = Traits::default();
        let other = Link { role, name: NONE, is_activation, blocks: 0, run_ns: 0, step: 0, is_pass: false };
        let of_shape = |shape: &KernelShape| {
            let Traits { role, is_activation, .. } =
                context.traits.get(shape.full_name as usize).copied().unwrap_or_default();
            let blocks = timeline.geometries.get(shape.geometry as usize).map_or(0, |geometry| geometry.grid_blocks);
            Link { role, name: shape.name, is_activation, blocks, ..other }
        };
        let of_shapes = timeline.kernels.shapes.iter().map(of_shape).collect();
        Self { timeline, window: device.window(), of_shapes, other }
    }

    /// Of an operation that is not done with one parameter after the other.
    fn of(&self, op: Op) -> Link {
        let is_kernel = matches!(op.kind, OpKind::Kernel | OpKind::Communication);
        let shape = self.timeline.kernels.shape.get(op.index as usize).filter(|_| is_kernel);
        let known = shape.and_then(|shape| self.of_shapes.get(*shape as usize)).unwrap_or(&self.other);
        let direction = || self.timeline.copies.direction.get(op.index as usize);
        Link {
            blocks: if op.kind == OpKind::Kernel { known.blocks } else { 0 },
            run_ns: op.interval().clip(self.window).len_ns(),
            is_pass: op.kind == OpKind::Memset
                || op.kind == OpKind::Copy && direction() == Some(&Direction::DeviceToDevice),
            ..*known
        }
    }

    /// Of any operation.
    fn launched(&self, parameters: &mut Following<'_>, op: Op) -> Link {
        let link = self.of(op);
        if parameters.launched(self.timeline, op) { Link { role: Role::Compute, ..link } } else { link }
    }
}

impl Sums {
    fn add(&mut self, timeline: &Timeline, links: &[Link], chain: &[usize]) {
        let (mut ns, mut longest_ns, mut reduction_count, mut kernel_reduction_count) = (0_i64, 0, 0, 0);
        self.names.clear();
        for link in chain.iter().filter_map(|place| links.get(*place)) {
            ns = ns.saturating_add(link.run_ns);
            longest_ns = longest_ns.max(link.run_ns);
            let is_reduction = link.role == Role::Reduction;
            reduction_count += i64::from(is_reduction);
            if link.name != NONE {
                kernel_reduction_count += i64::from(is_reduction);
                self.names.push(link.name);
            }
        }
        if self.names.len() < 2 {
            return;
        }
        self.count += 1;
        self.kernel_count += self.names.len() as i64;
        self.reduction_count += kernel_reduction_count;
        self.ns = self.ns.saturating_add(ns);
        // Short kernels take what launching them takes.
        if longest_ns >= MIN_PASS_NS {
            self.spare_ns = self.spare_ns.saturating_add(ns - longest_ns);
        }
        // Steps repeat: nearly all forms are known.
        let form = match self.forms.get_mut(&self.names) {
            Some(known) => known,
            None => {
                let form = Form::new(timeline, &self.names, &mut self.marks);
                self.forms.entry(self.names.clone()).or_insert(form)
            }
        };
        form.spare_ns = form.spare_ns.saturating_add(ns - longest_ns);
        form.count += 1;
        match layer((links, chain), form.marks, reduction_count) {
            Layer::Normalization => self.normalization_ns += ns,
            Layer::Attention => self.attention_ns += ns,
            Layer::Other => {}
        }
    }

    fn set(&self, context: &Context<'_>, facts: &mut Entity) {
        facts.set("chain_count", self.count);
        let timeline = context.timeline;
        let names = |form: &[u32]| form.iter().map(|name| timeline.name(*name)).collect::<Vec<_>>();
        let main = self.forms.iter().max_by_key(|(form, of)| (of.spare_ns, Reverse(names(form))));
        let Some((form, Form { count: repeat_count, .. })) = main else { return };
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

/// What layer a chain is, by what the names of its kernels hold.
fn layer((links, chain): (&[Link], &[usize]), marks: Marks, reduction_count: i64) -> Layer {
    if marks.is_reciprocal_root && reduction_count > 0 {
        return Layer::Normalization;
    }
    if !marks.is_exponential || reduction_count < 2 {
        return Layer::Other;
    }
    let first = chain.first().copied().unwrap_or(0);
    let after = chain.last().map_or(0, |last| last + 1);
    let before = links.get(..first).unwrap_or_default().iter().rev();
    let after = links.get(after..).unwrap_or_default().iter();
    if is_product_near(before) && is_product_near(after) { Layer::Attention } else { Layer::Other }
}

/// Whether a matrix product comes first, but for a copy or two of its operands.
fn is_product_near<'all>(links: impl Iterator<Item = &'all Link>) -> bool {
    let mut near = links.take(MAX_BETWEEN_COUNT + 1).skip_while(|link| link.is_pass || link.role == Role::Elementwise);
    near.next().is_some_and(|link| matches!(link.role, Role::Product | Role::Fp32Product))
}
