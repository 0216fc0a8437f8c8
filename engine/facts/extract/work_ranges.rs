//! Facts of the program's own ranges that launch most of what a device does.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::DeviceContext;
use super::compiled::is_of_compiled;
use super::projection::{Folded, Projection};
use crate::facts::Entity;
use crate::timeline::Timeline;
use crate::timeline::columns::RangeKind;

/// The facts of each of them: its name, its part of the device's work, how often it came, and its part of the device's time.
const NAMES: [[&str; 4]; 2] = [
    ["work_range", "work_range_share", "work_range_count", "work_range_span_ns"],
    ["work_second_range", "work_second_range_share", "work_second_range_count", "work_second_range_span_ns"],
];

/// What ranges of one name add up to.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    launched_ns: i64,
    idle_ns: i64,
    count: i64,
}

impl Sums {
    /// What they launched, and the idle time of the device in them.
    const fn span_ns(self) -> i64 {
        self.launched_ns.saturating_add(self.idle_ns)
    }
}

/// The two ranges that launched most, that which takes more of the device's time first, of those that the program put there itself and that come more than once; `counts`
/// says how often each label came, and how long the device was idle in it, `is_whole` which groups hold all that the device does.
pub(super) fn extract(
    (timeline, device): (&Timeline, &DeviceContext),
    (projection, folded): (&Projection, &Folded),
    counts: impl Iterator<Item = (u32, (i64, i64))>,
    is_whole: impl Fn(u32) -> bool,
    facts: &mut Entity,
) {
    let is_own = |label: u32| {
        let known = timeline.ranges.labels.get(label as usize);
        known.is_some_and(|known| {
            matches!(known.kind, RangeKind::Annotation | RangeKind::Nvtx)
                && known.domain == 0
                && !is_of_compiled(timeline.name(known.name))
                && !timeline.name(known.name).contains("::")
        })
    };
    let group_of = |label: u32| folded.group_of(label).filter(|group| is_own(label) && !is_whole(*group));
    let mut groups: BTreeMap<u32, Sums> = BTreeMap::new();
    for ((_, label), sum_ns) in &projection.sum_ns {
        if let Some(group) = group_of(*label) {
            let sums = groups.entry(group).or_default();
            sums.launched_ns = sums.launched_ns.saturating_add(*sum_ns);
        }
    }
    for (label, (count, idle_ns)) in counts {
        if let Some(sums) = group_of(label).and_then(|group| groups.get_mut(&group)) {
            sums.count += count;
            sums.idle_ns = sums.idle_ns.saturating_add(idle_ns);
        }
    }
    let all_ns = device.ops.in_window().map(|op| op.end - op.start).fold(0_i64, i64::saturating_add);
    let is_told = |sums: &Sums| sums.launched_ns > 0 && sums.count > 1 && all_ns > 0;
    let told = groups.into_iter().filter(|(_, sums)| is_told(sums));
    let mut most: Vec<(Sums, &str)> = told.map(|(group, sums)| (sums, folded.name(group))).collect();
    most.sort_unstable_by_key(|(sums, name)| Reverse((sums.launched_ns, sums.count, *name)));
    most.truncate(NAMES.len());
    most.sort_by_key(|(sums, _)| Reverse(sums.span_ns()));
    for ((sums, name), [name_fact, share_fact, count_fact, span_fact]) in most.into_iter().zip(NAMES) {
        facts.set(name_fact, name);
        facts.set(share_fact, (sums.launched_ns as f64 / all_ns as f64).min(1.0));
        facts.set(count_fact, sums.count);
        facts.set(span_fact, sums.span_ns());
    }
}
