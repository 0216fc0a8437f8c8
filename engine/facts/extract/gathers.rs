//! What reads rows by an index and writes them one after the other: nothing is computed, all is copied.

use super::{Context, DeviceContext, operators};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::replay::gathers;
use crate::timeline::NameId;
use crate::timeline::columns::RangeKind;

/// Sets which operator of them takes the most of the window's time, and how long and in how many launches all of them copy.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let labels = &timeline.ranges.labels;
    let is_gather = |name: NameId| gathers(timeline.name(name)) == Some(true);
    if !labels.iter().any(|label| label.kind == RangeKind::Operator && is_gather(label.name)) {
        return;
    }
    let is_whole: Vec<bool> = labels.iter().map(|label| gathers(timeline.name(label.name)).is_some()).collect();
    // What only looks for what is chosen copies nothing of it.
    let copies = |op: &Op| context.traits_of(*op).is_none_or(|traits| !traits.marks.searches);
    let kernels = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel && copies(op));
    let launched = operators::by_operator(timeline, device, kernels, &is_whole);
    let gathered: Vec<_> = launched.into_iter().filter(|(name, of)| of.ns > 0 && is_gather(*name)).collect();
    // Of equals the first by name.
    let main = gathered.iter().min_by_key(|(name, of)| (-of.ns, timeline.name(*name)));
    if let Some((name, _)) = main {
        facts.set("gather_operator", timeline.name(*name));
        facts.set("gather_launch_count", gathered.iter().map(|(_, of)| of.count).sum::<i64>());
        facts.set("gather_ns", gathered.iter().map(|(_, of)| of.ns).fold(0, i64::saturating_add));
    }
}
