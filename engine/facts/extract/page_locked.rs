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
    let copies = &timeline.copies;
    let rows = copies.host_memory.iter().zip(&copies.direction).zip(&copies.bytes);
    let (mut pinned_count, mut to_device_bytes) = (0, 0_i64);
    for (((memory, direction), bytes), stream) in rows.zip(&copies.ops.stream) {
        let (is_pinned, is_to_device) = (*memory == HostMemory::Pinned, *direction == Direction::HostToDevice);
        if (is_pinned || is_to_device) && of_device(*stream) == Some(device.ops.device) {
            pinned_count += i64::from(is_pinned);
            to_device_bytes = to_device_bytes.saturating_add(if is_to_device { *bytes } else { 0 });
        }
    }
    facts.set("page_locking_call_count", count);
    facts.set("pinned_copy_count", pinned_count);
    facts.set("copied_to_device_bytes", to_device_bytes);
}
