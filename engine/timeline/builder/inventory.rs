//! Who is who: processes, threads, streams, and the physical GPU behind the number that a process calls it by.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashSet};

use super::keys::{StreamKey, ThreadKey};
use crate::limits::MAX_DEVICE_COUNT;
use crate::timeline::{Device, DeviceProperties, NONE, PageFaults, Process, Stream, StreamKind, Thread, Timeline};

/// What a recording says of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamInfo {
    /// The number of the physical GPU that it is on, among those of all processes; without one its operations are dropped.
    pub device: Option<i64>,
    /// Whether the recording says that number; else it is the one that the process calls the GPU by, which another process
    /// may call another GPU by.
    pub is_device_certain: bool,
    /// How it relates to the default stream.
    pub kind: StreamKind,
}

/// What a recording says of what its events refer to. What it says nothing of goes by its numbers in the events.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) processes: BTreeMap<i64, Process>,
    pub(super) devices: BTreeMap<i64, DeviceProperties>,
    pub(super) streams: HashMap<StreamKey, StreamInfo>,
    /// GPU page faults by process, if it is named, and by what it calls the device.
    pub(super) page_faults: BTreeMap<(Option<i64>, i64), i64>,
}

/// The timeline's indices of what events refer to. Its tables are sorted by key, so that they do not depend on the order in
/// which events came.
#[derive(Debug, Default)]
pub(super) struct Indices {
    threads: HashMap<ThreadKey, u32>,
    streams: HashMap<StreamKey, u32>,
    /// Streams of GPUs beyond the limit.
    beyond: HashSet<StreamKey>,
}

/// Where the operations of a stream go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    /// To the stream of this index.
    At(u32),
    /// Nowhere: its device is not known.
    Unknown,
    /// Nowhere: its device is beyond the limit.
    Beyond,
}

impl Indices {
    /// The index of each thread.
    pub(super) fn of_threads(&self, keys: &[ThreadKey]) -> Vec<u32> {
        keys.iter().map(|key| self.threads.get(key).copied().unwrap_or(NONE)).collect()
    }

    /// Where each stream went.
    pub(super) fn of_streams(&self, keys: &[StreamKey]) -> Vec<Placed> {
        let without = |key| if self.beyond.contains(key) { Placed::Beyond } else { Placed::Unknown };
        keys.iter().map(|key| self.streams.get(key).map_or_else(|| without(key), |index| Placed::At(*index))).collect()
    }
}

impl Inventory {
    fn process(&self, key: i64) -> Process {
        let unknown = || Process { pid: key, label: String::new(), name: None };
        self.processes.get(&key).cloned().unwrap_or_else(unknown)
    }

    fn stream(&self, key: StreamKey) -> StreamInfo {
        let unknown = || StreamInfo { device: Some(key.device), is_device_certain: false, kind: StreamKind::default() };
        self.streams.get(&key).copied().unwrap_or_else(unknown)
    }

    /// Fills the timeline's tables.
    pub(super) fn fill(&self, timeline: &mut Timeline, threads: &[ThreadKey], streams: &[StreamKey]) -> Indices {
        let threads: BTreeSet<ThreadKey> = threads.iter().copied().collect();
        let streams: BTreeSet<StreamKey> = streams.iter().copied().collect();
        let of_threads = threads.iter().map(|key| key.process);
        let processes: BTreeSet<i64> = of_threads.chain(streams.iter().filter_map(|key| key.process)).collect();
        timeline.processes = processes.iter().map(|key| self.process(*key)).collect();
        let process_indices: HashMap<i64, u32> = processes.into_iter().zip(0..).collect();
        let process = |key: i64| process_indices.get(&key).copied().unwrap_or(NONE);
        timeline.threads = threads.iter().map(|key| Thread { process: process(key.process), id: key.id }).collect();
        let mut indices = Indices { threads: threads.into_iter().zip(0..).collect(), ..Indices::default() };
        let on_devices = self.fill_devices(timeline, &streams, &mut indices.beyond);
        for (key, device, kind) in on_devices {
            indices.streams.insert(key, timeline.streams.len() as u32);
            let process = key.process.map_or(NONE, process);
            timeline.streams.push(Stream { process, device, context: key.context, number: key.stream, kind });
        }
        timeline.page_faults = self.page_faults_by_device(timeline, &indices);
        indices
    }

    /// Fills the table of devices, and with the streams of those beyond the limit what is to hold these; returns the streams whose
    /// device is known, with its index.
    fn fill_devices(
        &self,
        timeline: &mut Timeline,
        keys: &BTreeSet<StreamKey>,
        left_out: &mut HashSet<StreamKey>,
    ) -> Vec<(StreamKey, u32, StreamKind)> {
        let infos = keys.iter().map(|key| (*key, self.stream(*key)));
        let mut known: Vec<(StreamKey, i64, StreamInfo)> =
            infos.filter_map(|(key, info)| Some((key, info.device?, info))).collect();
        let mut numbers: BTreeSet<i64> = known.iter().map(|(_, number, _)| *number).collect();
        if let Some(beyond) = numbers.iter().nth(MAX_DEVICE_COUNT).copied() {
            timeline.reached.device_count = numbers.split_off(&beyond).len() as u64;
            let streams = known.iter().filter(|(_, number, _)| *number >= beyond);
            left_out.extend(streams.map(|(key, _, _)| *key));
            known.retain(|(_, number, _)| *number < beyond);
        }
        let device = |number: &i64| Device { number: *number, properties: self.devices.get(number).cloned() };
        timeline.devices = numbers.iter().map(device).collect();
        timeline.device_identity_known = self.devices.len() == 1 || is_each_of_one_process(&known);
        let indices: HashMap<i64, u32> = numbers.into_iter().zip(0..).collect();
        let index = |number: i64| indices.get(&number).copied();
        known.into_iter().filter_map(|(key, number, info)| Some((key, index(number)?, info.kind))).collect()
    }

    /// Faults name the device as their process does: looked up by process and number, or by the number alone.
    fn page_faults_by_device(&self, timeline: &Timeline, indices: &Indices) -> Vec<PageFaults> {
        let mut devices: HashMap<(Option<i64>, i64), u32> = HashMap::default();
        let mut streams: Vec<(&StreamKey, &u32)> = indices.streams.iter().collect();
        streams.sort_unstable();
        for (key, stream) in streams {
            let Some(stream) = timeline.streams.get(*stream as usize) else { continue };
            devices.entry((key.process, key.device)).or_insert(stream.device);
            devices.entry((None, key.device)).or_insert(stream.device);
        }
        let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
        for (key, count) in &self.page_faults {
            if let Some(device) = devices.get(key) {
                let sum = counts.entry(*device).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        counts.into_iter().map(|(device, count)| PageFaults { device, count }).collect()
    }
}

/// Numbers that the recording does not say are certain where each is used by one process only.
fn is_each_of_one_process(streams: &[(StreamKey, i64, StreamInfo)]) -> bool {
    let mut users: BTreeMap<i64, BTreeSet<Option<i64>>> = BTreeMap::new();
    for (key, number, _) in streams.iter().filter(|(_, _, info)| !info.is_device_certain) {
        users.entry(*number).or_default().insert(key.process);
    }
    users.values().all(|processes| processes.len() == 1)
}
