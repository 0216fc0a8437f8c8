//! Facts of attention that is written out: a softmax between two matrix products, where one kernel could do all.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashSet;

use super::by_index::ByIndex;
use super::tally::kernel_name;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::replay::Role;
use crate::replay::attention::{WrittenOut, is_of_heads, written_out};
use crate::timeline::NameId;
use crate::timeline::columns::{Direction, KernelShape};

/// What all of it adds up to on one device.
#[derive(Default)]
struct Sums {
    count: i64,
    between_ns: i64,
    tensor_copy_ns: i64,
    device_copy_ns: i64,
    of_products_ns: i64,
    /// How long each softmax ran.
    softmax_ns: BTreeMap<NameId, i64>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let is_of_role = |name: NameId| context.traits.get(name as usize).is_some_and(|told| told.role == Role::Softmax);
    let mut sums = Sums::default();
    if device.passed(context).launch_count(context.timeline, is_of_role) > 0 {
        let roles: Vec<Role> = context.timeline.kernels.shapes.iter().map(|shape| role_of(context, *shape)).collect();
        let mut streams: ByIndex<Stretch> = ByIndex::default();
        for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
            let stretch = streams.of(op.stream(context.timeline), Stretch::default);
            stretch.push(context, op, role(context, &roles, op), &mut sums);
        }
        streams.iter_mut().for_each(|stretch| stretch.close(context, &mut sums));
    }
    facts.set("written_attention_count", sums.count);
    if sums.count == 0 {
        return;
    }
    facts.set("written_attention_ns", sums.between_ns);
    facts.set("written_attention_tensor_copy_ns", sums.tensor_copy_ns);
    facts.set("written_attention_device_copy_ns", sums.device_copy_ns);
    facts.set("written_attention_product_ns", sums.of_products_ns);
    let timeline = context.timeline;
    // A name that the softmax of a loss goes by as well tells less.
    let is_softmax = |name: NameId| context.traits.get(name as usize).is_some_and(|told| told.role == Role::Softmax);
    let others = timeline.kernels.shapes.iter().filter(|shape| !is_softmax(shape.full_name));
    let others: HashSet<NameId> = others.map(|shape| shape.name).collect();
    let weight = |(name, ns): &(&NameId, &i64)| (!others.contains(*name), **ns, Reverse(timeline.name(**name)));
    let main = sums.softmax_ns.iter().max_by_key(weight);
    facts.set_some("written_attention_kernel", main.map(|(name, _)| timeline.name(*name)));
}

/// What the kernels of a shape do.
fn role_of(context: &Context<'_>, shape: KernelShape) -> Role {
    context.traits.get(shape.full_name as usize).map_or(Role::Compute, |traits| traits.role)
}

/// What an operation does, where that of each kernel shape is known.
fn role(context: &Context<'_>, roles: &[Role], op: Op) -> Role {
    match op.kind {
        OpKind::Kernel => {
            let shape = context.timeline.kernels.shape.get(op.index as usize);
            shape.and_then(|shape| roles.get(*shape as usize)).copied().unwrap_or(Role::Compute)
        }
        OpKind::Memset => Role::Elementwise,
        OpKind::Copy if is_on_device(context, op) => Role::Elementwise,
        _ => Role::Compute,
    }
}

/// Operations of a stream, from a product on, between two that are no part of attention.
#[derive(Default)]
struct Stretch {
    ops: Vec<Op>,
    roles: Vec<Role>,
}

impl Stretch {
    fn push(&mut self, context: &Context<'_>, op: Op, role: Role, sums: &mut Sums) {
        let is_product = matches!(role, Role::Product | Role::Fp32Product);
        if !is_product && !matches!(role, Role::Softmax | Role::Elementwise | Role::Gather) {
            self.close(context, sums);
        } else if is_product || !self.ops.is_empty() {
            self.ops.push(op);
            self.roles.push(role);
        }
    }

    fn close(&mut self, context: &Context<'_>, sums: &mut Sums) {
        if self.roles.contains(&Role::Softmax) {
            let op = |place: usize| self.ops.get(place);
            let may_be_of_heads =
                |place: usize| op(place).is_none_or(|op| is_of_heads(context.timeline, op.interval()) != Some(false));
            let is_memset = |place: usize| op(place).is_some_and(|op| op.kind == OpKind::Memset);
            for found in written_out(&self.roles, may_be_of_heads, is_memset) {
                sums.add(context, &self.ops, found);
            }
        }
        self.ops.clear();
        self.roles.clear();
    }
}

fn is_on_device(context: &Context<'_>, op: Op) -> bool {
    op.kind == OpKind::Copy
        && context.timeline.copies.direction.get(op.index as usize) == Some(&Direction::DeviceToDevice)
}

impl Sums {
    fn add(&mut self, context: &Context<'_>, ops: &[Op], found: WrittenOut) {
        let between = ops.get(found.between()).unwrap_or_default();
        self.count += 1;
        self.between_ns += between.iter().map(|op| op.end - op.start).sum::<i64>();
        let kernels = between.iter().filter(|op| op.kind == OpKind::Kernel);
        let between_ns: Vec<i64> = kernels.map(|op| op.end - op.start).collect();
        let pass_ns = WrittenOut::shortest_pass_ns(&between_ns);
        for op in found.products().filter_map(|place| ops.get(place)) {
            self.of_products_ns += WrittenOut::won_of_product_ns(op.end - op.start, pass_ns);
        }
        for op in between {
            let length_ns = op.end - op.start;
            self.device_copy_ns += if is_on_device(context, *op) { length_ns } else { 0 };
            let (Some(name), Some(traits)) = (kernel_name(context.timeline, *op), context.traits_of(*op)) else {
                continue;
            };
            if traits.role == Role::Softmax {
                *self.softmax_ns.entry(name).or_default() += length_ns;
            }
            self.tensor_copy_ns += if traits.is_tensor_copy { length_ns } else { 0 };
        }
    }
}
