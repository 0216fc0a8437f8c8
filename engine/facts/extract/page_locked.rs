//! Memory of the host whose pages are locked, and whether anything is copied from or to it: kernels may work on it where it lies.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::api::{MemoryCall, memory_call};
use crate::timeline::columns::{Direction, HostMemory};

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let locks = |name: &str| memory_call(name) == MemoryCall::HostPin;
    let count = context.api_names().iter().filter(|(name, _)| locks(timeline.name(*name))).map(|(_, count)| *count);
    let count = count.fold(0, i64::saturating_add);
    if count == 0 {
        return;
    }
    let of_device = |stream: u32| timeline.streams.get(stream as usize).map(|stream| stream.device);
    let copies = timeline.copies.ops.stream.iter().zip(&timeline.copies.host_memory);
    let pinned = copies
        .filter(|(stream, memory)| **memory == HostMemory::Pinned && of_device(**stream) == Some(device.ops.device));
    facts.set("page_locking_call_count", count);
    facts.set("pinned_copy_count", pinned.count() as i64);
    let copies = timeline.copies.ops.stream.iter().zip(&timeline.copies.bytes).zip(&timeline.copies.direction);
    let to_device = copies.filter(|((stream, _), direction)| {
        **direction == Direction::HostToDevice && of_device(**stream) == Some(device.ops.device)
    });
    let bytes = to_device.map(|((_, bytes), _)| *bytes).fold(0, i64::saturating_add);
    facts.set("copied_to_device_bytes", bytes);
}
