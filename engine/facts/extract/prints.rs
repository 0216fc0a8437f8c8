//! Facts of waits in which the host prints what kernels wrote.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Activity;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, api) = (context.timeline, &context.timeline.api);
    let rows = context.calls.activity.iter().enumerate().filter(|(_, activity)| **activity == Activity::Print);
    let own = rows.filter(|(call, _)| api.thread.get(*call).is_some_and(|of| device.is_of(timeline.process_of(*of))));
    let waits = own.map(|(call, _)| api.times.at(call).clip(device.window()));
    let waits: Vec<Interval> = waits.filter(|wait| wait.len_ns() > 0).collect();
    if waits.is_empty() {
        return;
    }
    facts.set("print_wait_count", waits.len() as i64);
    facts.set("print_wait_compute_ns", Union::of(waits).common_ns(&device.tally.kernels_run));
}
