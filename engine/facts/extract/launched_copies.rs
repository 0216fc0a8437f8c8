//! What launches the copies within a device, or from one device to another: functions that PyTorch compiled, and its operators.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::compiled::is_of_compiled;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::columns::{Direction, RangeKind};
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// An operator that launches a smaller part of the copies is not told.
const MIN_SHARE: f64 = 0.5;

/// The range in which DistributedDataParallel copies what was reduced out of its buckets, into gradients.
const FROM_BUCKETS: &str = "torch.distributed.ddp.reducer::copy_bucket_to_grad";

/// Copies by what launched them, nanoseconds.
#[derive(Default)]
struct Launched {
    all_ns: i64,
    compiled_ns: i64,
    from_buckets_ns: i64,
    /// By the operator that lies in no other.
    operators: BTreeMap<NameId, i64>,
}

/// What the labels of ranges stand for.
struct Labels<'all> {
    timeline: &'all Timeline,
    is_operator: Vec<bool>,
    is_compiled: Vec<bool>,
    /// The range in which gradients are copied out of buckets; [`NONE`] where there is none.
    from_buckets: NameId,
}

impl Labels<'_> {
    fn is_from_buckets(&self, label: u32) -> bool {
        let label = self.timeline.ranges.labels.get(label as usize).filter(|_| self.from_buckets != NONE);
        label.is_some_and(|label| label.name == self.from_buckets)
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let all = timeline.ranges.labels.iter();
    let is_operator: Vec<bool> = all
        .clone()
        .map(|label| label.kind == RangeKind::Operator && timeline.name(label.name).starts_with("aten::"))
        .collect();
    if !is_operator.contains(&true) {
        return;
    }
    let is_compiled = all.map(|label| is_of_compiled(timeline.name(label.name))).collect();
    let from_buckets = timeline.names.find(FROM_BUCKETS).unwrap_or(NONE);
    let labels = Labels { timeline, is_operator, is_compiled, from_buckets };
    let mut launched = Launched::default();
    let mut copies = copies(timeline, device);
    for ranges in timeline.ranges.threads.iter().filter(|ranges| ranges.thread != NONE) {
        if let Some(copies) = copies.remove(&ranges.thread) {
            launched.add(&labels, ranges, &copies);
        }
    }
    launched.all_ns += copies.values().flatten().map(|(_, ns)| *ns).sum::<i64>();
    if launched.all_ns <= 0 {
        return;
    }
    let share = |ns: i64| ns as f64 / launched.all_ns as f64;
    facts.set("device_copy_compiled_share", share(launched.compiled_ns));
    facts.set("device_copy_from_buckets_share", share(launched.from_buckets_ns));
    let most = launched.operators.iter().max_by_key(|(name, ns)| (**ns, Reverse(timeline.name(**name))));
    if let Some((name, ns)) = most.filter(|(_, ns)| share(**ns) >= MIN_SHARE) {
        facts.set("device_copy_operator", timeline.name(*name));
        facts.set("device_copy_operator_share", share(*ns));
    }
}

/// When each thread asked for such copies of the window, in order, and how long these take.
fn copies(timeline: &Timeline, device: &DeviceContext) -> HashMap<u32, Vec<(i64, i64)>> {
    let mut copies: HashMap<u32, Vec<(i64, i64)>> = HashMap::default();
    for op in device.ops.copies_in_window() {
        let direction = timeline.copies.direction.get(op.index as usize);
        let call = op.call(timeline).map(|call| call as usize);
        let thread = call.and_then(|call| timeline.api.thread.get(call));
        if let Some((thread, call)) = thread.zip(call)
            && matches!(direction, Some(Direction::DeviceToDevice | Direction::Peer))
        {
            let ns = op.interval().clip(device.window()).len_ns();
            copies.entry(*thread).or_default().push((timeline.api.times.start(call), ns));
        }
    }
    copies.values_mut().for_each(|of_thread| of_thread.sort_unstable());
    copies
}

impl Launched {
    /// Adds what a thread asked for.
    fn add(&mut self, labels: &Labels<'_>, ranges: &ThreadRanges, copies: &[(i64, i64)]) {
        let mut ranges = ranges.times.iter().zip(&ranges.label).peekable();
        let (mut compiled_until, mut buckets_until, mut operator) = (i64::MIN, i64::MIN, (i64::MIN, NONE));
        for (at, ns) in copies {
            while let Some((range, label)) = ranges.next_if(|(range, _)| range.start <= *at) {
                if labels.is_from_buckets(*label) {
                    buckets_until = buckets_until.max(range.end);
                } else if labels.is_compiled.get(*label as usize) == Some(&true) {
                    compiled_until = compiled_until.max(range.end);
                } else if range.start >= operator.0 && labels.is_operator.get(*label as usize) == Some(&true) {
                    let label = labels.timeline.ranges.labels.get(*label as usize);
                    operator = (range.end, label.map_or(NONE, |label| label.name));
                }
            }
            self.all_ns = self.all_ns.saturating_add(*ns);
            if compiled_until > *at {
                self.compiled_ns = self.compiled_ns.saturating_add(*ns);
            }
            if buckets_until > *at {
                self.from_buckets_ns = self.from_buckets_ns.saturating_add(*ns);
            }
            if operator.0 > *at {
                let of_operator = self.operators.entry(operator.1).or_default();
                *of_operator = of_operator.saturating_add(*ns);
            }
        }
    }
}
