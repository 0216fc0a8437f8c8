//! Turns of a loop within a step: many kernels that are launched again and again in one order, each with the same grid, as one item after
//! the other is worked on; and those of an optimizer, which works on one parameter after the other.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::by_index::ByIndex;
use super::optimizer::Step;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::steps::rows::{Row, rows_of};
use crate::timeline::NONE;

/// Fewer turns one behind the other are no series of items.
const MIN_TURN_COUNT: usize = 8;
/// Turns of fewer kernels are those of other facts.
const MIN_KERNEL_COUNT: usize = 9;
/// A kernel that comes once in each turn comes after as many others nearly each time: between two rows it does not.
const EVEN_SHARE: f64 = 0.75;
/// So many lengths of turns are looked for, those that most kernels speak for.
const MOST_LENGTHS: usize = 8;

/// The kernels of one stream, by their shapes, in pieces that no turn reaches across.
#[derive(Debug, Default)]
struct Launched {
    pieces: Vec<Vec<u32>>,
    /// What the last piece is of.
    last_step: Option<Step>,
}

impl Launched {
    /// What was launched in a step follows what was launched in it before; another one begins a piece.
    fn push(&mut self, step: Option<Step>, shape: u32) {
        if self.pieces.is_empty() || self.last_step != step {
            self.pieces.push(Vec::new());
            self.last_step = step;
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(shape);
        }
    }
}

/// Turns of one length.
#[derive(Debug, Clone, Copy)]
struct Turns {
    /// Kernels of one.
    kernel_count: usize,
    turn_count: usize,
    /// Of one, those that are matrix products.
    product_count: usize,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let mut steps = context.optimizer_steps().follow();
    let (mut of_all, mut of_optimizer): (ByIndex<Launched>, ByIndex<Launched>) = Default::default();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let shape = shape_of(context, op);
        let stream = op.stream(context.timeline);
        of_all.of(stream, Launched::default).push(None, shape);
        // A whole step of the optimizer, which is as the one before it, is no turn.
        if let Some(step) = steps.step_of(context.timeline, op) {
            of_optimizer.of(stream, Launched::default).push(Some(step), shape);
        }
    }
    if let Some(turns) = longest(context, of_all) {
        facts.set("same_turn_count", turns.turn_count as i64);
        facts.set("same_turn_kernel_count", turns.kernel_count as i64);
    }
    if let Some(turns) = longest(context, of_optimizer) {
        facts.set("optimizer_turn_count", turns.turn_count as i64);
        facts.set("optimizer_turn_kernel_count", turns.kernel_count as i64);
        facts.set("optimizer_turn_product_count", turns.product_count as i64);
    }
}

fn shape_of(context: &Context<'_>, op: Op) -> u32 {
    context.timeline.kernels.shape.get(op.index as usize).copied().unwrap_or(NONE)
}

/// The turns that hold most kernels of a stream.
fn longest(context: &Context<'_>, streams: ByIndex<Launched>) -> Option<Turns> {
    let of_stream = |(stream, launched): (u32, Launched)| {
        let lengths = lengths(&launched.pieces);
        let found = lengths.into_iter().filter_map(|length| turns_of(context, &launched.pieces, length));
        // Two turns are no longer turn.
        let best = found.max_by_key(|turns| (turns.kernel_count * turns.turn_count, Reverse(turns.kernel_count)))?;
        Some((best, Reverse(stream)))
    };
    let all = streams.into_list().into_iter().filter_map(of_stream);
    all.max_by_key(|(turns, stream)| (turns.kernel_count * turns.turn_count, *stream)).map(|(turns, _)| turns)
}

/// The turns of one length.
fn turns_of(context: &Context<'_>, pieces: &[Vec<u32>], length: usize) -> Option<Turns> {
    let (mut turn_count, mut turn): (usize, Option<&[u32]>) = (0, None);
    for piece in pieces {
        let rows: Vec<Row> = rows_of(piece, length, MIN_TURN_COUNT);
        turn_count += rows.iter().map(|row| row.count).sum::<usize>();
        turn = turn.or_else(|| piece.get(rows.first()?.first..)?.get(..length));
    }
    let product_count = turn?.iter().filter(|shape| is_product(context, **shape)).count();
    Some(Turns { kernel_count: length, turn_count, product_count })
}

fn is_product(context: &Context<'_>, shape: u32) -> bool {
    let name = context.timeline.kernels.shapes.get(shape as usize).map(|shape| shape.name);
    name.and_then(|name| context.traits.get(name as usize)).is_some_and(|traits| traits.is_matrix_product)
}

/// When a kernel comes back within a piece.
#[derive(Debug, Default)]
struct Returns {
    /// In which piece it came last, and at which place there.
    last: Option<(usize, usize)>,
    /// How many places later it came each time.
    apart: Vec<u32>,
}

impl Returns {
    fn push(&mut self, piece: usize, place: usize) {
        let last = self.last.replace((piece, place)).filter(|(of, _)| *of == piece);
        self.apart.extend(last.map(|(_, before)| (place - before) as u32));
    }
}

/// After how many others kernels come back that do so evenly, by how many of them speak for it.
fn lengths(pieces: &[Vec<u32>]) -> Vec<usize> {
    let mut all: ByIndex<Returns> = ByIndex::default();
    for (number, piece) in pieces.iter().enumerate() {
        for (place, shape) in piece.iter().enumerate().filter(|(_, shape)| **shape != NONE) {
            all.of(*shape, Returns::default).push(number, place);
        }
    }
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, Returns { mut apart, .. }) in all.into_list() {
        if apart.len() + 1 < MIN_TURN_COUNT {
            continue;
        }
        let middle = apart.len() / 2;
        let usual = *apart.select_nth_unstable(middle).1;
        let count = apart.iter().filter(|distance| **distance == usual).count();
        let usual = usual as usize;
        if usual >= MIN_KERNEL_COUNT && count as f64 >= EVEN_SHARE * apart.len() as f64 {
            *votes.entry(usual).or_default() += 1;
        }
    }
    let mut lengths: Vec<(usize, usize)> = votes.into_iter().collect();
    lengths.sort_by_key(|(length, count)| (Reverse(*count), *length));
    lengths.into_iter().map(|(length, _)| length).take(MOST_LENGTHS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_as_long_as_what_comes_once_in_each() {
        // Ten kernels, of which the first comes three times, and something else behind twenty turns.
        let turn = [1, 2, 1, 3, 4, 5, 1, 6, 7, 8];
        let mut step = turn.repeat(20);
        step.extend([9, 9, 9]);
        let shapes = step.repeat(3);
        assert_eq!(lengths(std::slice::from_ref(&shapes)), [10]);
        let counts: Vec<usize> = rows_of(&shapes, 10, MIN_TURN_COUNT).iter().map(|row| row.count).collect();
        assert_eq!(counts, [20, 20, 20]);
    }

    #[test]
    fn short_turns_and_few_of_them_are_none() {
        let step: Vec<u32> = (0..20).collect();
        assert!(lengths(&[[1, 2, 3, 4].repeat(50)]).is_empty());
        assert!(lengths(&[step.repeat(7)]).is_empty());
        assert_eq!(lengths(&[step.repeat(8)]), [20]);
        assert!(lengths(&[]).is_empty() && lengths(&[vec![NONE; 100]]).is_empty());
    }

    #[test]
    fn pieces_that_are_alike_are_no_turns() {
        let step: Vec<u32> = (0..20).collect();
        assert!(lengths(&vec![step.clone(); 50]).is_empty());
        assert_eq!(lengths(&vec![step.repeat(8); 50]), [20]);
    }
}
