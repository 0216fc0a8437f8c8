//! Facts of matrices that operators of PyTorch factorise one by one.

use std::collections::BTreeMap;

use foldhash::HashSet;

use super::optimizer::{OptimizerSteps, Step};
use super::{Context, DeviceContext, operators};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::columns::RangeKind;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// Operators that factorise a matrix, or each of a batch of them at once.
const FACTORISING: [&str; 13] = [
    "aten::cholesky",
    "aten::inverse",
    "aten::linalg_cholesky",
    "aten::linalg_cholesky_ex",
    "aten::linalg_det",
    "aten::linalg_inv",
    "aten::linalg_inv_ex",
    "aten::linalg_lu",
    "aten::linalg_lu_factor",
    "aten::linalg_lu_factor_ex",
    "aten::linalg_slogdet",
    "aten::linalg_solve",
    "aten::linalg_solve_ex",
];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let labels = timeline.ranges.labels.iter();
    let is_own: Vec<bool> = labels
        .map(|label| label.kind == RangeKind::Operator && FACTORISING.contains(&timeline.name(label.name)))
        .collect();
    if !is_own.contains(&true) {
        return;
    }
    let all = OptimizerSteps::new(timeline, &is_own);
    let mut following = all.follow();
    let (mut launching, mut busy, mut kernel_ns): (HashSet<Step>, Vec<Interval>, i64) = Default::default();
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let Some(call) = following.step_of(timeline, op) else { continue };
        let part = op.interval().clip(device.window());
        launching.insert(call);
        busy.push(part);
        kernel_ns = kernel_ns.saturating_add(if op.kind.is_kernel() { part.len_ns() } else { 0 });
    }
    let launching = &launching;
    let calls = all.of_threads().flat_map(|(thread, times)| {
        (0..).zip(times.iter()).filter(move |(index, _)| launching.contains(&(thread, *index)))
    });
    let calls: Vec<Interval> = calls.map(|(_, call)| call).collect();
    let Some(operator) = most_called(timeline, &is_own, &calls) else { return };
    let within = calls.iter().map(|call| call.clip(device.window()));
    facts.set("factorization_operator", timeline.name(operator));
    facts.set("factorization_count", calls.len() as i64);
    facts.set("factorization_kernel_ns", kernel_ns);
    facts.set("factorization_ns", Union::of(within.chain(busy)).len_ns());
}

/// What most of some ranges are called, by when they begin and end.
fn most_called(timeline: &Timeline, is_own: &[bool], calls: &[Interval]) -> Option<NameId> {
    let known: HashSet<(i64, i64)> = calls.iter().map(|call| (call.start, call.end)).collect();
    let mut counts: BTreeMap<NameId, usize> = BTreeMap::new();
    for ranges in &timeline.ranges.threads {
        for (range, label) in ranges.times.iter().zip(&ranges.label) {
            if is_own.get(*label as usize) == Some(&true) && known.contains(&(range.start, range.end)) {
                *counts.entry(timeline.ranges.labels[*label as usize].name).or_default() += 1;
            }
        }
    }
    operators::most(timeline, counts).map(|(name, _)| name)
}
