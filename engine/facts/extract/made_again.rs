//! Tensors that a range of the host's makes of nothing but numbers, again and again, and that then go to the device: what it makes once
//! would do.

use std::collections::BTreeSet;

use super::DeviceContext;
use super::projection::Folded;
use crate::facts::Entity;
use crate::timeline::columns::{Direction, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// Operators that make a tensor of numbers and sizes. Those of random numbers make another each time.
const FACTORIES: [&str; 11] = [
    "aten::full",
    "aten::ones",
    "aten::zeros",
    "aten::arange",
    "aten::eye",
    "aten::linspace",
    "aten::logspace",
    "aten::range",
    "aten::scalar_tensor",
    "aten::tril_indices",
    "aten::triu_indices",
];
/// What may work on such a tensor, or is called by the operators above.
const ON_MADE: [&str; 22] = [
    "aten::triu",
    "aten::triu_",
    "aten::tril",
    "aten::tril_",
    "aten::fill_",
    "aten::zero_",
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::resize_",
    "aten::to",
    "aten::_to_copy",
    "aten::copy_",
    "aten::contiguous",
    "aten::clone",
    "aten::view",
    "aten::reshape",
    "aten::unsqueeze",
    "aten::expand",
    "aten::transpose",
    "aten::t",
    "aten::as_strided",
];
/// Of these, what changes the numbers is told with the factories.
const TOLD: [&str; 4] = ["aten::triu", "aten::triu_", "aten::tril", "aten::tril_"];
/// Fewer times show no habit.
const MIN_COUNT: usize = 3;

/// Of a range by its group.
pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, folded: &Folded, group: u32, facts: &mut Entity) {
    let (mut made, mut sizes, mut count) = (Made::default(), BTreeSet::new(), 0);
    let mut asked: Option<Vec<Asked>> = None;
    let is_own = |thread: u32| thread != NONE && device.is_of(timeline.process_of(thread));
    for ranges in timeline.ranges.threads.iter().filter(|ranges| is_own(ranges.thread)) {
        let times = instances(timeline, ranges, (folded, group), device.window(), &mut made);
        if made.is_other {
            return;
        }
        if times.is_empty() {
            continue;
        }
        let asked = asked.get_or_insert_with(|| asked_for(timeline, device.window()));
        let copied = first_copies(of_thread(asked, ranges.thread), &times);
        count += copied.len();
        sizes.extend(copied);
    }
    let (Some(bytes), true) = (sizes.first().filter(|_| sizes.len() == 1), made.has_factory) else { return };
    if count >= MIN_COUNT {
        let names: Vec<&str> = made.told.iter().map(|name| timeline.name(*name)).collect();
        facts.set("idle_host_range_made_by", names.join(", "));
        facts.set("idle_host_range_made_bytes", *bytes);
        facts.set("idle_host_range_made_count", count as i64);
    }
}

/// What the operators of a range do.
#[derive(Default)]
struct Made {
    has_factory: bool,
    /// Whether one of them works on something else.
    is_other: bool,
    told: BTreeSet<NameId>,
}

/// When the ranges of the group are open that begin in the window, each with its operators looked at.
fn instances(
    timeline: &Timeline,
    ranges: &ThreadRanges,
    (folded, group): (&Folded, u32),
    window: Interval,
    made: &mut Made,
) -> Vec<Interval> {
    let mut times: Vec<Interval> = Vec::new();
    for (range, label) in ranges.times.iter().zip(&ranges.label) {
        let is_within = times.last().is_some_and(|last| range.start < last.end);
        if !is_within && folded.group_of(*label) == Some(group) && window.overlap_ns(range) > 0 {
            times.push(range);
        } else if !is_within {
            continue;
        }
        let label = timeline.ranges.labels.get(*label as usize);
        let Some(label) = label.filter(|label| label.kind == RangeKind::Operator) else { continue };
        let name = timeline.name(label.name);
        let is_factory = FACTORIES.contains(&name);
        made.has_factory |= is_factory;
        made.is_other |= !is_factory && !ON_MADE.contains(&name);
        if is_factory || TOLD.contains(&name) {
            made.told.insert(label.name);
        }
        if made.is_other {
            break;
        }
    }
    times
}

/// A copy to the device, by the call that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    thread: u32,
    at: i64,
    bytes: i64,
}

/// The copies to the device that are asked for in the window, by thread and time.
fn asked_for(timeline: &Timeline, window: Interval) -> Vec<Asked> {
    let (api, copies) = (&timeline.api, &timeline.copies);
    let rows = copies.ops.call.iter().zip(&copies.bytes).zip(&copies.direction);
    let rows = rows.filter(|(_, direction)| **direction == Direction::HostToDevice);
    let of_row = |((call, bytes), _): ((&u32, &i64), &Direction)| {
        let times = api.times.get(*call as usize).filter(|times| window.overlap_ns(*times) > 0)?;
        Some(Asked { thread: *api.thread.get(*call as usize)?, at: times.start, bytes: *bytes })
    };
    let mut asked: Vec<Asked> = rows.filter_map(of_row).collect();
    asked.sort_unstable();
    asked
}

/// Those of one thread.
fn of_thread(asked: &[Asked], thread: u32) -> &[Asked] {
    let first = asked.partition_point(|asked| asked.thread < thread);
    let rest = &asked[first..];
    &rest[..rest.partition_point(|asked| asked.thread == thread)]
}

/// The size of the first copy to the device that a thread asks for behind the begin of each time, before the next begins.
fn first_copies(asked: &[Asked], times: &[Interval]) -> Vec<i64> {
    let nexts = times.iter().skip(1).map(|next| next.start).chain([i64::MAX]);
    let first = |(range, next): (&Interval, i64)| {
        let copy = asked.get(asked.partition_point(|asked| asked.at < range.start));
        copy.filter(|copy| copy.at < next).map(|copy| copy.bytes)
    };
    times.iter().zip(nexts).filter_map(first).collect()
}
