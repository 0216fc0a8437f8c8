//! The threads and streams that the events of all chunks refer to, up to the limits: each has tables of its own.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::keys::{Intern, StreamKey, ThreadKey};
use crate::limits::{MAX_DEVICE_COUNT, MAX_STREAM_COUNT, MAX_THREAD_COUNT};
use crate::timeline::{NONE, Reached};

/// Interns them in the order in which they are first seen.
#[derive(Debug, Default)]
pub(super) struct Actors {
    threads: Intern<ThreadKey>,
    streams: Intern<StreamKey>,
    /// What the processes call the devices of the streams, up to as many devices as are told apart.
    devices: BTreeSet<i64>,
    /// The first stream of a process on what it calls a device; empty until there are too many.
    first_streams: HashMap<(Option<i64>, i64), u32>,
}

impl Actors {
    /// The index of a thread; what one beyond the limit does is told of no thread.
    pub(super) fn thread(&mut self, key: ThreadKey, reached: &mut Reached) -> u32 {
        self.threads.index_within(key, MAX_THREAD_COUNT).unwrap_or_else(|| {
            reached.merged_thread_count += 1;
            NONE
        })
    }

    /// The index of a stream. One beyond the limit is taken for the first of its process on the device; where there is none,
    /// its operations are dropped.
    pub(super) fn stream(&mut self, key: StreamKey, reached: &mut Reached) -> u32 {
        if let Some(index) = self.streams.index_within(key, MAX_STREAM_COUNT) {
            if self.devices.len() < MAX_DEVICE_COUNT {
                self.devices.insert(key.device);
            }
            return index;
        }
        reached.merged_thread_count += 1;
        if self.first_streams.is_empty() {
            for (first, index) in self.streams.list().iter().zip(0..) {
                self.first_streams.entry((first.process, first.device)).or_insert(index);
            }
        }
        self.first_streams.get(&(key.process, key.device)).copied().unwrap_or(NONE)
    }

    /// The threads, by index.
    pub(super) fn threads(&self) -> &[ThreadKey] {
        self.threads.list()
    }

    /// The streams, by index.
    pub(super) fn streams(&self) -> &[StreamKey] {
        self.streams.list()
    }

    /// How many devices there are, as far as they are told apart.
    pub(super) fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// Ends interning.
    pub(super) fn seal(&mut self) {
        self.threads.seal();
        self.streams.seal();
        self.first_streams = HashMap::default();
    }
}
