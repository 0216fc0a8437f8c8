//! Facts of values that the host reads back one at a time: tiny copies to the host that it waits for.

use foldhash::HashSet;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Activity, OpKind};
use crate::timeline::api::ApiClass;
use crate::timeline::columns::Direction;

/// A value read back is at most this long.
const READBACK_BYTES: i64 = 64;
/// A wait that begins this soon after a copy call waits for that copy.
const SOON_NS: i64 = 50_000;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if !device.knows_host || timeline.api.is_empty() {
        return;
    }
    let mut first = None;
    let mut readbacks = HashSet::default();
    for op in device.ops.in_window(timeline).filter(|op| op.kind == OpKind::Copy) {
        let index = op.index as usize;
        let is_tiny = timeline.copies.bytes[index] <= READBACK_BYTES
            && timeline.copies.direction[index] == Direction::DeviceToHost;
        if is_tiny && op.call(timeline).is_some_and(|call| is_waited_for(context, call)) {
            first = first.or(Some(op.start));
            readbacks.insert(op.index);
        }
    }
    let stretches = device.idle.after_copies.iter().filter(|stretch| readbacks.contains(&stretch.copy));
    facts.set("scalar_readback_count", readbacks.len() as i64);
    facts.set("scalar_readback_idle_ns", stretches.map(|stretch| stretch.idle_ns).sum::<i64>());
    facts.set_some("scalar_readback_first_start_ns", first);
}

/// Whether the host waits for what a copy call asked for: the call blocks, or the thread's next call is a wait.
fn is_waited_for(context: &Context<'_>, call: u32) -> bool {
    let timeline = context.timeline;
    if context.calls.activity.get(call as usize) == Some(&Activity::CopyCall) {
        return true;
    }
    let calls = context.calls.of_thread(timeline.api.thread[call as usize]);
    let start = |call: u32| timeline.api.times.start(call as usize);
    let end = timeline.api.times.end(call as usize);
    let after = calls.partition_point(|other| (start(*other), *other) <= (start(call), call));
    let next = calls[after..].iter().take(3).copied().find(|next| start(*next) >= end);
    next.is_some_and(|next| {
        matches!(context.calls.class_of(timeline, next), ApiClass::Wait(_)) && start(next) - end < SOON_NS
    })
}
