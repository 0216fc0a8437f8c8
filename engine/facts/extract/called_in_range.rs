//! The operator that a range of the host's calls again and again, for one piece of data after the other, where that is no layer of a model:
//! layers need what the one before them made, pieces may go side by side.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::DeviceContext;
use super::product_casts::PRODUCTS;
use super::projection::Folded;
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::timeline::columns::RangeKind;
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// Operators of layers beside the products.
const NORMALIZATIONS: [&str; 5] =
    ["aten::batch_norm", "aten::layer_norm", "aten::group_norm", "aten::instance_norm", "aten::rms_norm"];
/// What comes once in a range is no row.
const MIN_COUNT: i64 = 2;
/// What comes for at least this part of the times goes with each.
const WITH_EACH_SHARE: f64 = 0.5;

/// What the ranges of a group hold.
#[derive(Default)]
struct Held {
    range_count: i64,
    /// Operators that launch kernels and lie in no other: how often they come, and how long they take.
    operators: BTreeMap<NameId, (i64, i64)>,
}

/// Of a range by its group.
pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, folded: &Folded, group: u32, facts: &mut Entity) {
    let labels = &timeline.ranges.labels;
    let is_operator: Vec<bool> = labels.iter().map(|label| label.kind == RangeKind::Operator).collect();
    if !is_operator.contains(&true) {
        return;
    }
    let launches = launches(timeline, device);
    let mut held = Held::default();
    for ranges in timeline.ranges.threads.iter().filter(|ranges| ranges.thread != NONE) {
        let Some(launches) = launches.get(&ranges.thread) else { continue };
        held.add(timeline, (ranges, launches), &is_operator, |label| folded.group_of(label) == Some(group));
    }
    let most = held.operators.iter().max_by_key(|(name, times)| (**times, Reverse(**name)));
    let Some((name, (count, _))) = most.filter(|(_, (count, _))| *count >= MIN_COUNT * held.range_count.max(1)) else {
        return;
    };
    let is_layer = |name: &NameId| {
        let name = timeline.name(*name);
        PRODUCTS.contains(&name) || NORMALIZATIONS.contains(&name)
    };
    let of_layers = held.operators.iter().filter(|(name, _)| is_layer(name)).map(|(_, (count, _))| *count);
    if (of_layers.max().unwrap_or(0) as f64) < WITH_EACH_SHARE * *count as f64 {
        facts.set("idle_launch_range_operator", timeline.name(*name));
        facts.set("idle_launch_range_operator_count", count / held.range_count.max(1));
    }
}

/// When each thread launches kernels of the window, in order.
fn launches(timeline: &Timeline, device: &DeviceContext) -> HashMap<u32, Vec<i64>> {
    let mut launches: HashMap<u32, Vec<i64>> = HashMap::default();
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let call = op.call(timeline).map(|call| call as usize);
        let thread = call.and_then(|call| timeline.api.thread.get(call));
        if let Some((thread, call)) = thread.zip(call) {
            launches.entry(*thread).or_default().push(timeline.api.times.start(call));
        }
    }
    launches.values_mut().for_each(|starts| starts.sort_unstable());
    launches
}

impl Held {
    /// Adds the ranges of a thread that begin among its launches.
    fn add(
        &mut self,
        timeline: &Timeline,
        (ranges, launches): (&ThreadRanges, &[i64]),
        is_operator: &[bool],
        is_of_group: impl Fn(u32) -> bool,
    ) {
        let (mut range_until, mut operator_until, mut next) = (i64::MIN, i64::MIN, 0);
        for (range, label) in ranges.times.iter().zip(&ranges.label) {
            while launches.get(next).is_some_and(|start| *start < range.start) {
                next += 1;
            }
            let holds_launch = launches.get(next).is_some_and(|start| *start < range.end);
            if range.start >= range_until && holds_launch && is_of_group(*label) {
                range_until = range.end;
                self.range_count += 1;
            } else if range.start < range_until
                && range.start >= operator_until
                && is_operator.get(*label as usize) == Some(&true)
            {
                operator_until = range.end;
                let name = timeline.ranges.labels.get(*label as usize).map_or(NONE, |label| label.name);
                if holds_launch {
                    let (count, ns) = self.operators.entry(name).or_default();
                    (*count, *ns) = (*count + 1, ns.saturating_add(range.len_ns()));
                }
            }
        }
    }
}
