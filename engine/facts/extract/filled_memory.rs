//! Memory that the framework fills as soon as it has it, which nothing but deterministic algorithms asks of it.

use super::DeviceContext;
use crate::facts::Entity;
use crate::timeline::columns::RangeKind;
use crate::timeline::{NONE, ThreadRanges, Timeline};

/// Operators that hand out memory with nothing in it.
const EMPTY: [&str; 3] = ["aten::empty", "aten::empty_like", "aten::empty_strided"];
const FILL: &str = "aten::fill_";

/// What an operator is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Empty,
    Fill,
    Other,
}

pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    let labels = timeline.ranges.labels.iter();
    let kinds: Vec<Kind> = labels
        .map(|label| match timeline.name(label.name) {
            _ if label.kind != RangeKind::Operator => Kind::Other,
            FILL => Kind::Fill,
            name if EMPTY.contains(&name) => Kind::Empty,
            _ => Kind::Other,
        })
        .collect();
    if !kinds.contains(&Kind::Fill) || !kinds.contains(&Kind::Empty) {
        return;
    }
    let is_own = |thread: u32| thread != NONE && device.is_of(timeline.process_of(thread));
    let own = timeline.ranges.threads.iter().filter(|ranges| is_own(ranges.thread));
    let count = own.map(|ranges| filled(ranges, &kinds, device)).fold(0, i64::saturating_add);
    facts.set("filled_memory_count", count);
}

/// How many operators of a thread fill within one that hands out memory.
fn filled(ranges: &ThreadRanges, kinds: &[Kind], device: &DeviceContext) -> i64 {
    let (mut count, mut empty_until) = (0, i64::MIN);
    for (range, label) in ranges.times.iter().zip(&ranges.label) {
        match kinds.get(*label as usize) {
            Some(Kind::Empty) => empty_until = empty_until.max(range.end),
            Some(Kind::Fill) if range.end <= empty_until && device.window().overlap_ns(range) > 0 => count += 1,
            _ => {}
        }
    }
    count
}
