//! What an export says of processes, threads, streams, and of the physical GPU behind each process's CUDA ordinals.

use std::collections::BTreeSet;

use foldhash::HashMap;

use super::info::Info;
use crate::timeline::builder::{Builder, StreamInfo, StreamKey};
use crate::timeline::{Process, StreamKind};

/// What graphs that begin on the host carry as their ordinal.
const NO_ORDINAL: i64 = i32::MAX as i64;

const fn pid(process_key: i64) -> i64 {
    process_key & 0xFF_FFFF
}

/// Tells the builder all of it.
pub(super) fn describe(builder: &mut Builder, info: &Info) {
    for key in builder.process_keys() {
        let name = info.process_names.get(&key).cloned();
        builder.describe_process(key, Process { pid: pid(key), label: (key >> 24).to_string(), name });
    }
    for gpu in &info.gpus {
        builder.describe_device(gpu.id, gpu.properties.clone());
    }
    let streams = builder.stream_keys();
    let known = Known::new(&streams, info);
    for key in streams.iter().copied() {
        let number = known.number(key);
        let stream = StreamInfo {
            device: number.map(|number| number.value),
            is_device_certain: number.is_some_and(|number| number.is_mapped),
            kind: kind(key, info),
        };
        builder.describe_stream(key, stream);
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
    gpus: HashMap<i64, i64>,
    /// The only ordinal that a process uses; `None` where it uses several.
    only: HashMap<Option<i64>, Option<i64>>,
}

impl<'info> Known<'info> {
    fn new(keys: &BTreeSet<StreamKey>, info: &'info Info) -> Self {
        let mut gpus = HashMap::default();
        for gpu in &info.gpus {
            if let Some(ordinal) = gpu.ordinal {
                gpus.entry(ordinal).or_insert(gpu.id);
            }
        }
        let mut only = HashMap::default();
        for key in keys.iter().filter(|key| key.device != NO_ORDINAL) {
            let known = only.entry(key.process).or_insert(Some(key.device));
            *known = known.filter(|ordinal| *ordinal == key.device);
        }
        Self { info, gpus, only }
    }

    fn number(&self, key: StreamKey) -> Option<Number> {
        let ordinal = if key.device == NO_ORDINAL { self.hidden_ordinal(key)? } else { key.device };
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

fn kind(key: StreamKey, info: &Info) -> StreamKind {
    let Some(process) = key.process.map(pid) else { return StreamKind::Unknown };
    if info.default_streams.get(&(process, key.context)) == Some(&key.stream) {
        return StreamKind::Default;
    }
    info.streams.get(&(process, key.context, key.stream)).copied().unwrap_or_default()
}
