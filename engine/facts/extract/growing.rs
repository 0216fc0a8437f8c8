//! Facts of tensors that grow piece by piece: each time all that is there is copied, to append a little.

use foldhash::HashSet;

use super::DeviceContext;
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::Timeline;

/// So many sizes that a tensor grows to are growth: two that are joined in turn come to one again and again.
const MIN_SIZE_COUNT: usize = 3;
/// What is appended is no more than this part of what is there.
const MOST_APPENDED_SHARE: f64 = 0.1;

/// A tensor grows where what was joined before is the largest of what is joined again.
pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let joined = &timeline.details.joined;
    if joined.is_empty() {
        return;
    }
    let (mut count, mut sum_ns, mut copied, mut all) = (0_i64, 0_i64, 0.0, 0.0);
    let (mut known, mut sizes): (HashSet<i64>, HashSet<i64>) = Default::default();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let Some(of) = joined.of(op.interval()) else { continue };
        let (largest, elements) = (of.largest_element_count, of.element_count);
        let is_appended = largest < elements && (elements - largest) as f64 <= MOST_APPENDED_SHARE * largest as f64;
        if is_appended && known.contains(&largest) {
            let ns = op.interval().clip(device.window()).len_ns();
            count += 1;
            sizes.insert(elements);
            sum_ns = sum_ns.saturating_add(ns);
            copied += largest as f64 * ns as f64;
            all += elements as f64 * ns as f64;
        }
        known.insert(elements);
    }
    let count = if sizes.len() >= MIN_SIZE_COUNT { count } else { 0 };
    facts.set("growing_join_count", count);
    if count > 0 {
        facts.set("growing_join_sum_ns", sum_ns);
        facts.set("growing_join_copied_share", if all > 0.0 { copied / all } else { 0.0 });
    }
}
