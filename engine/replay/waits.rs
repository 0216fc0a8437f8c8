//! Waits within a step: a CUDA graph of it ends at each of them.

use super::model::Model;
use super::record::Call;
use crate::ledger::OpKind;
use crate::timeline::api::ApiClass;

/// How often the host waits between launches of one step, in the mean: the wait at the end of a step, or at its begin, is no such
/// one. Waits with no launch between them are one.
pub(super) fn inner_wait_count(model: &Model) -> f64 {
    let mut count = 0_u32;
    for thread in &model.part.threads {
        let (mut step, mut has_launched, mut waits) = (None, false, false);
        for row in &model.part.calls[thread.clone()] {
            if waits_for_device(model, row) {
                waits |= has_launched;
                continue;
            }
            let op = model.part.ops.get(row.first_op as usize).filter(|_| row.op_count > 0);
            let Some(op) = op.filter(|op| op.kind != OpKind::Copy) else { continue };
            let is_same = step.replace(op.step) == Some(op.step);
            count += u32::from(waits && is_same);
            (has_launched, waits) = (true, false);
        }
    }
    f64::from(count) / f64::from(model.part.step_count.max(1))
}

fn waits_for_device(model: &Model, row: &Call) -> bool {
    let op = model.part.ops.get(row.first_op as usize).filter(|_| row.op_count > 0);
    match row.class {
        ApiClass::Wait(_) | ApiClass::CopyBlocking => true,
        ApiClass::CopyAsync => op.is_some_and(|op| op.is_pageable && op.end <= row.end),
        _ => false,
    }
}
