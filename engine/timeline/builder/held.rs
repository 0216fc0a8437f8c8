//! What a builder holds: a small file can stand for many events, and for many things that events refer to.

use super::Builder;
use crate::limits::MAX_RANGE_LABEL_COUNT;

/// Bytes that one of each takes until its review is written, measured on recordings of nothing else, where columns grow.
const OPERATION_BYTES: u64 = 160;
const HOST_EVENT_BYTES: u64 = 40;
const KERNEL_BYTES: u64 = 440;
const NAME_BYTES: u64 = 150;
const LABEL_BYTES: u64 = 110;
/// What each device keeps of a label: its idle times and counts, while facts are made of them.
const LABEL_OF_DEVICE_BYTES: u64 = 450;
const STREAM_BYTES: u64 = 300;
const THREAD_BYTES: u64 = 440;
/// A kernel's text stands for its name, its full name and its function.
const BYTES_OF_A_TEXT_BYTE: u64 = 3;

impl Builder {
    /// Bytes of memory that what was taken in needs until its review is written, about, and rather too many.
    pub fn held_bytes(&self) -> u64 {
        let timeline = &self.timeline;
        let operations = [
            &timeline.kernels.ops,
            &timeline.graphs.ops,
            &timeline.copies.ops,
            &timeline.memsets.ops,
            &timeline.migrations.ops,
        ];
        let operation_count: usize = operations.iter().map(|ops| ops.stream.len()).sum();
        let range_count: usize = self.ranges.values().map(|ranges| ranges.label.len()).sum();
        let host_event_count = range_count
            + timeline.api.name.len()
            + timeline.os_calls.name.len()
            + timeline.overheads.name.len()
            + timeline.thread_states.thread.len()
            + self.scheduler.thread.len();
        let label_count = self.labels.list().len().min(MAX_RANGE_LABEL_COUNT / self.actors.device_count().max(1));
        let parts = [
            (label_count * self.actors.device_count(), LABEL_OF_DEVICE_BYTES),
            (operation_count, OPERATION_BYTES),
            (host_event_count, HOST_EVENT_BYTES),
            (self.kernels.list().len(), KERNEL_BYTES),
            (self.texts.len(), NAME_BYTES),
            (self.texts.byte_count(), BYTES_OF_A_TEXT_BYTE),
            (self.labels.list().len() + self.domains.len(), LABEL_BYTES),
            (self.actors.streams().len(), STREAM_BYTES),
            (self.actors.threads().len(), THREAD_BYTES),
        ];
        parts.into_iter().map(|(count, bytes)| count as u64 * bytes).fold(0, u64::saturating_add)
    }
}
