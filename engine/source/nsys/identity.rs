//! Who is who in a report: processes, threads, streams, and the physical GPU behind each process's CUDA ordinals.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::info::Info;
use super::keys::StreamKey;
use crate::timeline::{Device, NONE, Process, Stream, StreamKind, Thread};

/// What graphs that begin on the host carry as their ordinal.
const NO_ORDINAL: i64 = i32::MAX as i64;

/// More GPUs than this no machine has; operations on further ones are dropped.
const MOST_DEVICES: usize = 128;

/// Places for everything that rows refer to. Tables are sorted by key, so that they do not depend on
/// the order in which chunks were read.
#[derive(Debug, Default)]
pub(super) struct Identity {
    pub(super) processes: Vec<Process>,
    pub(super) threads: Vec<Thread>,
    pub(super) devices: Vec<Device>,
    pub(super) streams: Vec<Stream>,
    /// Whether it is certain which GPU each operation ran on.
    pub(super) devices_known: bool,
    thread_places: FxHashMap<i64, u32>,
    stream_places: FxHashMap<StreamKey, u32>,
}

const fn pid(process_key: i64) -> i64 {
    process_key & 0xFF_FFFF
}

impl Identity {
    pub(super) fn of(thread_keys: &[i64], stream_keys: &[StreamKey], info: &Info) -> Self {
        let thread_keys: BTreeSet<i64> = thread_keys.iter().copied().collect();
        let stream_keys: BTreeSet<StreamKey> = stream_keys.iter().copied().collect();
        let process_keys: BTreeSet<i64> =
            thread_keys.iter().map(|key| key >> 24).chain(stream_keys.iter().filter_map(|key| key.process)).collect();
        let process_place: BTreeMap<i64, u32> = process_keys.iter().copied().zip(0..).collect();
        let mut identity = Self {
            processes: process_keys
                .iter()
                .map(|key| Process { key: *key, pid: pid(*key), name: info.process_names.get(key).cloned() })
                .collect(),
            threads: thread_keys
                .iter()
                .map(|key| Thread { process: process_place.get(&(key >> 24)).copied().unwrap_or(NONE), key: *key })
                .collect(),
            thread_places: thread_keys.into_iter().zip(0..).collect(),
            ..Self::default()
        };
        identity.place_streams(&stream_keys, &process_place, info);
        identity
    }

    /// The place of a thread.
    pub(super) fn thread(&self, key: i64) -> u32 {
        self.thread_places.get(&key).copied().unwrap_or(NONE)
    }

    /// The place of a stream; `None` when its device is not known.
    pub(super) fn stream(&self, key: StreamKey) -> Option<u32> {
        self.stream_places.get(&key).copied()
    }

    fn place_streams(&mut self, keys: &BTreeSet<StreamKey>, processes: &BTreeMap<i64, u32>, info: &Info) {
        let known = Known::new(keys, info);
        let mut numbers: Vec<(StreamKey, Number)> =
            keys.iter().filter_map(|key| Some((*key, known.number(*key)?))).collect();
        let mut device_numbers: BTreeSet<i64> = numbers.iter().map(|(_, number)| number.value).collect();
        if let Some(beyond) = device_numbers.iter().nth(MOST_DEVICES).copied() {
            device_numbers.split_off(&beyond);
            numbers.retain(|(_, number)| number.value < beyond);
        }
        self.devices = device_numbers.iter().map(|number| device(*number, info)).collect();
        self.devices_known = are_known(&numbers, info);
        let places: BTreeMap<i64, u32> = device_numbers.into_iter().zip(0..).collect();
        for (key, number) in numbers {
            let process = key.process.and_then(|process| processes.get(&process)).copied().unwrap_or(NONE);
            let kind = kind(key, info);
            let Some(device) = places.get(&number.value).copied() else { continue };
            self.stream_places.insert(key, self.streams.len() as u32);
            self.streams.push(Stream {
                process,
                device,
                ordinal: key.ordinal,
                context: key.context,
                number: key.stream,
                kind,
            });
        }
    }
}

/// A device number, and whether the report maps the process's ordinal to it.
#[derive(Debug, Clone, Copy)]
struct Number {
    value: i64,
    is_mapped: bool,
}

/// What numbers are told from.
struct Known<'info> {
    info: &'info Info,
    /// The GPU that has an ordinal.
    gpus: FxHashMap<i64, i64>,
    /// The only ordinal that a process uses; `None` where it uses several.
    only: FxHashMap<Option<i64>, Option<i64>>,
}

impl<'info> Known<'info> {
    fn new(keys: &BTreeSet<StreamKey>, info: &'info Info) -> Self {
        let mut gpus = FxHashMap::default();
        for gpu in &info.gpus {
            if let Some(ordinal) = gpu.ordinal {
                gpus.entry(ordinal).or_insert(gpu.id);
            }
        }
        let mut only = FxHashMap::default();
        for key in keys.iter().filter(|key| key.ordinal != NO_ORDINAL) {
            let known = only.entry(key.process).or_insert(Some(key.ordinal));
            *known = known.filter(|ordinal| *ordinal == key.ordinal);
        }
        Self { info, gpus, only }
    }

    fn number(&self, key: StreamKey) -> Option<Number> {
        let ordinal = if key.ordinal == NO_ORDINAL { self.hidden_ordinal(key)? } else { key.ordinal };
        let mapped = key.process.and_then(|process| self.info.ordinals.get(&(pid(process), ordinal)).copied());
        if let Some(value) = mapped {
            return Some(Number { value, is_mapped: true });
        }
        Some(Number { value: self.gpus.get(&ordinal).copied().unwrap_or(ordinal), is_mapped: false })
    }

    /// The ordinal of a graph that begins on the host: that of its context, or the only one its process uses.
    fn hidden_ordinal(&self, key: StreamKey) -> Option<i64> {
        let of_context = key.process.and_then(|process| self.info.contexts.get(&(pid(process), key.context)).copied());
        of_context.or_else(|| self.only.get(&key.process).copied().flatten())
    }
}

/// Ordinals are certain where they are mapped, where there is one GPU, or where each is used by one process only.
fn are_known(numbers: &[(StreamKey, Number)], info: &Info) -> bool {
    let mut users: BTreeMap<i64, BTreeSet<Option<i64>>> = BTreeMap::new();
    for (key, number) in numbers.iter().filter(|(_, number)| !number.is_mapped) {
        users.entry(number.value).or_default().insert(key.process);
    }
    info.gpus.len() == 1 || users.values().all(|processes| processes.len() == 1)
}

fn device(number: i64, info: &Info) -> Device {
    Device { number, properties: info.gpus.iter().find(|gpu| gpu.id == number).map(|gpu| gpu.properties.clone()) }
}

fn kind(key: StreamKey, info: &Info) -> StreamKind {
    let Some(process) = key.process.map(pid) else { return StreamKind::Unknown };
    if info.default_streams.get(&(process, key.context)) == Some(&key.stream) {
        return StreamKind::Default;
    }
    info.streams.get(&(process, key.context, key.stream)).copied().unwrap_or_default()
}
