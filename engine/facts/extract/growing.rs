//! Facts of tensors that grow piece by piece: each time all that is there is copied, to append a little; and of matrix products that
//! are computed anew for all rows of such a tensor.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashSet};

use super::DeviceContext;
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

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
    let mut first_start: Option<i64> = None;
    let (mut known, mut sizes): (HashSet<i64>, HashSet<i64>) = Default::default();
    // With those that a growth begins with: where another follows, they come after the first append that is known to be one.
    let mut all_sizes: HashSet<i64> = HashSet::default();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let Some(of) = joined.of(op.interval()) else { continue };
        let (largest, elements) = (of.largest_element_count, of.element_count);
        let is_appended = largest < elements && (elements - largest) as f64 <= MOST_APPENDED_SHARE * largest as f64;
        if is_appended {
            all_sizes.extend([largest, elements]);
        }
        if is_appended && known.contains(&largest) {
            let ns = op.interval().clip(device.window()).len_ns();
            count += 1;
            first_start.get_or_insert(op.start);
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
        products(timeline, device, (&sizes, &all_sizes, first_start.unwrap_or(0)), facts);
    }
}

/// A product is of a growing tensor where those of one weight, no batch of others, have as many rows as the tensor at each of its sizes,
/// or for all of them one part of its elements. A cache of keys and values grows as well, but what is multiplied with a weight does not.
fn products(
    timeline: &Timeline,
    device: &DeviceContext,
    (sizes, all_sizes, since): (&HashSet<i64>, &HashSet<i64>, i64),
    facts: &mut Entity,
) {
    let known = &timeline.details.products;
    let kernels = device.ops.in_window().filter(|op| op.kind == OpKind::Kernel && op.start >= since);
    let of_op = |op: &Op| known.of(op.interval()).filter(|of| of.batch == 1 && of.m > 1 && of.n > 1);
    let found: Vec<_> = kernels.filter_map(|op| Some((op.end, of_op(&op)?))).collect();
    let mut weights: HashMap<(i64, i64), BTreeSet<i64>> = HashMap::default();
    for (_, of) in &found {
        weights.entry((of.n, of.k)).or_default().insert(of.m);
    }
    let ends = [sizes.iter().min(), sizes.iter().max()];
    weights.retain(|_, rows| {
        // What is appended first or last need not be multiplied any more.
        let widths = ends.into_iter().zip([rows.first(), rows.last()]).filter_map(|(size, rows)| Some(size? / rows?));
        let is_of =
            |width: i64| rows.iter().all(|rows| rows.checked_mul(width).is_some_and(|size| all_sizes.contains(&size)));
        rows.len() >= MIN_SIZE_COUNT && widths.into_iter().any(is_of)
    });
    let grown = found.iter().filter(|(_, of)| weights.contains_key(&(of.n, of.k)));
    let (count, end) = grown.fold((0_i64, since), |(count, latest), (end, _)| (count + 1, latest.max(*end)));
    facts.set("grown_product_count", count);
    if count > 0 {
        let span = Interval::new(since, end).clip(device.window());
        facts.set("grown_product_span_busy_ns", device.tally.busy.overlap_ns(span));
    }
}
