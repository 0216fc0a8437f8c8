//! Facts of the program's own ranges that launch most of what a device does.

use std::collections::BTreeMap;

use super::DeviceContext;
use super::projection::{Folded, Projection};
use crate::facts::Entity;
use crate::timeline::Timeline;
use crate::timeline::columns::RangeKind;

/// The facts of each of them: its name, its part of the device's work, and how often it came.
const NAMES: [[&str; 3]; 2] = [
    ["work_range", "work_range_share", "work_range_count"],
    ["work_second_range", "work_second_range_share", "work_second_range_count"],
];

/// The two ranges that launched most, of those that the program put there itself and that come more than once; `counts` says how often
/// each label came, `is_whole` which groups hold all that the device does.
pub(super) fn extract(
    (timeline, device): (&Timeline, &DeviceContext),
    (projection, folded): (&Projection, &Folded),
    counts: impl Iterator<Item = (u32, i64)>,
    is_whole: impl Fn(u32) -> bool,
    facts: &mut Entity,
) {
    let is_own = |label: u32| {
        let known = timeline.ranges.labels.get(label as usize);
        known.is_some_and(|known| {
            matches!(known.kind, RangeKind::Annotation | RangeKind::Nvtx)
                && known.domain == 0
                && !timeline.name(known.name).contains("::")
        })
    };
    let group_of = |label: u32| folded.group_of(label).filter(|group| is_own(label) && !is_whole(*group));
    let mut groups: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    for ((_, label), sum_ns) in &projection.sum_ns {
        if let Some(group) = group_of(*label) {
            let (ns, _) = groups.entry(group).or_default();
            *ns = ns.saturating_add(*sum_ns);
        }
    }
    for (label, count) in counts {
        if let Some((_, known)) = group_of(label).and_then(|group| groups.get_mut(&group)) {
            *known += count;
        }
    }
    let all_ns = device.ops.in_window().map(|op| op.end - op.start).fold(0_i64, i64::saturating_add);
    let mut most: Vec<(i64, i64, &str)> = groups
        .into_iter()
        .filter(|(_, (ns, count))| *ns > 0 && *count > 1 && all_ns > 0)
        .map(|(group, (ns, count))| (ns, count, folded.name(group)))
        .collect();
    most.sort_unstable_by(|one, other| other.cmp(one));
    for ((ns, count, name), [name_fact, share_fact, count_fact]) in most.into_iter().zip(NAMES) {
        facts.set(name_fact, name);
        facts.set(share_fact, (ns as f64 / all_ns as f64).min(1.0));
        facts.set(count_fact, count);
    }
}
