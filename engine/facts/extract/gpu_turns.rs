//! GPUs of one process that take turns: what one was asked for early waits until another is done, as where a model is split over them
//! and one batch at a time goes through.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// With more GPUs each is not held against every other.
const MOST_DEVICES: usize = 16;
/// A shorter pause is what two operations lie apart.
const LEAST_TURN_NS: i64 = 20_000;

/// The turns of other GPUs.
#[derive(Default)]
struct Turns {
    count: i64,
    sum_ns: i64,
    longest: Option<Interval>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !(2..=MOST_DEVICES).contains(&context.devices.len()) {
        return;
    }
    let shares_process = |other: &&DeviceContext| other.processes.iter().any(|process| device.is_of(*process));
    let others = || {
        let others = context.devices.iter().filter(|other| other.ops.device != device.ops.device);
        others.filter(shares_process)
    };
    if others().next().is_none() {
        return;
    }
    let window = device.window();
    let parts = |of: &DeviceContext| of.tally.busy.parts().map(|part| part.clip(window)).collect::<Vec<_>>();
    let others_run = Union::of(others().flat_map(parts));
    let turns = turns(context, device, &others_run);
    facts.set("peer_busy_ns", others_run.len_ns());
    facts.set("peer_concurrent_ns", others_run.common_ns(&device.tally.busy));
    facts.set("peer_busiest_ns", others().map(|other| Union::of(parts(other)).len_ns()).max().unwrap_or(0));
    facts.set("peer_turn_count", turns.count);
    facts.set("peer_turn_ns", turns.sum_ns);
    if let Some(longest) = turns.longest {
        facts.set("peer_turn_longest_ns", longest.len_ns());
        facts.set("peer_turn_longest_start_ns", longest.start);
    }
}

/// How long a device stands still while others run, and what it does next has been asked for.
fn turns(context: &Context<'_>, device: &DeviceContext, others_run: &Union) -> Turns {
    let timeline = context.timeline;
    let mut turns = Turns::default();
    let mut until: Option<i64> = None;
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let asked = op.call(timeline).map(|call| timeline.api.times.end(call as usize));
        let since = until.zip(asked).map(|(until, asked)| until.max(asked));
        until = Some(until.map_or(op.end, |until| until.max(op.end)));
        let pause = since.map(|since| Interval::new(since, op.start.max(since)).clip(device.window()));
        let Some(pause) = pause.filter(|pause| pause.len_ns() >= LEAST_TURN_NS) else { continue };
        let others_ns = others_run.overlap_ns(pause);
        if 2 * others_ns < pause.len_ns() {
            continue;
        }
        turns.count += 1;
        turns.sum_ns = turns.sum_ns.saturating_add(others_ns);
        if turns.longest.is_none_or(|longest| longest.len_ns() < pause.len_ns()) {
            turns.longest = Some(pause);
        }
    }
    turns
}
