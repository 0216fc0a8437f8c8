//! Copies to the host that are followed by copies of as many bytes to another GPU: what may go from GPU to GPU through the host.

use std::collections::VecDeque;

use foldhash::HashMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::Timeline;
use crate::timeline::columns::Direction;

/// Smaller copies are arguments and results.
const LEAST_BYTES: i64 = 64 << 10;
/// Copies to the host of one size that wait for one to a device.
const MOST_WAITING: usize = 64;
/// A copy that begins later after the other has ended than this need not have waited for it.
const MOST_APART_NS: i64 = 100_000;
/// So many calls between both are looked at.
const MOST_BETWEEN: usize = 8;

/// A copy between host and device.
#[derive(Clone, Copy)]
struct Copy {
    start: i64,
    end: i64,
    device: u32,
    bytes: i64,
    is_to_host: bool,
    call: Option<u32>,
    process: u32,
}

/// By index of the device, how many of its copies to the host are followed so, and how many bytes these are.
pub(super) type ByDevice = HashMap<u32, (i64, i64)>;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if context.devices.len() < 2 {
        return;
    }
    let Some((count, bytes)) = context.staged_copies().get(&device.ops.device) else { return };
    facts.set("staged_copy_count", *count);
    facts.set("staged_copy_bytes", *bytes);
}

/// Those of the windows of all devices.
pub(super) fn by_device(context: &Context<'_>) -> ByDevice {
    let timeline = context.timeline;
    let mut copies: Vec<Copy> = context.devices.iter().flat_map(|device| copies_of(timeline, device)).collect();
    copies.sort_by_key(|copy| (copy.start, copy.end));
    let mut waiting: HashMap<(u32, i64), VecDeque<Copy>> = HashMap::default();
    let mut found = ByDevice::default();
    for copy in copies {
        let of_size = waiting.entry((copy.process, copy.bytes)).or_default();
        if copy.is_to_host {
            of_size.push_back(copy);
            if of_size.len() > MOST_WAITING {
                of_size.pop_front();
            }
            continue;
        }
        let is_source = |from: &Copy| {
            from.device != copy.device && from.end <= copy.start && copy.start - from.end <= MOST_APART_NS
        };
        let Some(place) = of_size.iter().rposition(is_source) else { continue };
        // One that was not followed by any is older than what was.
        let from = of_size.drain(..=place).next_back();
        let Some(from) = from.filter(|from| is_ordered(context, *from, copy)) else { continue };
        let (count, bytes) = found.entry(from.device).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(from.bytes);
    }
    found
}

fn copies_of(timeline: &Timeline, device: &DeviceContext) -> Vec<Copy> {
    let all = &timeline.copies;
    let copies = device.ops.copies_in_window().filter_map(|op| {
        let index = op.index as usize;
        let is_to_host = match all.direction.get(index)? {
            Direction::DeviceToHost => true,
            Direction::HostToDevice => false,
            _ => return None,
        };
        let bytes = all.bytes.get(index).copied().filter(|bytes| *bytes >= LEAST_BYTES)?;
        let (call, process) = (op.call(timeline), timeline.process_of_stream(op.stream(timeline)));
        Some(Copy { start: op.start, end: op.end, device: device.ops.device, bytes, is_to_host, call, process })
    });
    copies.collect()
}

/// Whether one thread asked for both, and, right before the second, made its stream wait for an event.
fn is_ordered(context: &Context<'_>, from: Copy, to: Copy) -> bool {
    let timeline = context.timeline;
    let (Some(from), Some(to)) = (from.call, to.call) else { return false };
    let thread = timeline.api.thread[to as usize];
    if timeline.api.thread[from as usize] != thread {
        return false;
    }
    let (first, second) = (timeline.api.times.at(from as usize), timeline.api.times.at(to as usize));
    let calls = context.calls.of_thread(thread);
    let start = |call: u32| timeline.api.times.start(call as usize);
    let before = calls.partition_point(|call| start(*call) < second.start);
    let between = calls[..before].iter().rev().take_while(|call| start(**call) > first.start);
    let names = between.map(|call| timeline.name(timeline.api.name[*call as usize]));
    names
        .take(MOST_BETWEEN)
        .find(|name| !name.contains("SetDevice"))
        .is_some_and(|name| name.contains("StreamWaitEvent"))
}
