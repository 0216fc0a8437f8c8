//! What a trace says about itself, beside the events.

use super::cursor::{Cursor, Fault, Value};
use super::number::integer;

/// What stands beside the events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    /// Nanoseconds since 1970 at the time 0 of the events; absent in old traces, whose times are since 1970 themselves.
    pub(super) base_ns: Option<i64>,
    /// GPUs of the machine, also those without work.
    pub(super) devices: Vec<DeviceProperties>,
    /// The job of several processes that this one belongs to.
    pub(super) distributed: Option<Distributed>,
    /// CUDA's runtime, as 12040 for 12.4.
    pub(super) cuda_runtime_version: Option<i64>,
    /// The highest CUDA version that the driver knows.
    pub(super) cuda_driver_version: Option<i64>,
    /// HIP's runtime.
    pub(super) hip_runtime_version: Option<i64>,
    /// Whether stacks were recorded.
    pub(super) with_stack: Option<bool>,
    /// Whether shapes of inputs were recorded.
    pub(super) record_shapes: Option<bool>,
    /// Whether memory was recorded.
    pub(super) profile_memory: Option<bool>,
    /// Whether modules were recorded.
    pub(super) with_modules: Option<bool>,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DeviceProperties {
    /// Its number within the process.
    pub(super) id: i64,
    /// Its name; may be empty.
    pub(super) name: String,
    /// Bytes of its memory.
    pub(super) memory_bytes: Option<i64>,
    /// Compute capability, before the point; AMD's architecture likewise.
    pub(super) compute_major: Option<i64>,
    /// Compute capability, after the point.
    pub(super) compute_minor: Option<i64>,
    /// SMs, or compute units.
    pub(super) sm_count: Option<i64>,
    /// Threads of a warp.
    pub(super) warp_size: Option<i64>,
    /// Threads that one SM holds.
    pub(super) max_threads_per_sm: Option<i64>,
    /// Registers of one SM.
    pub(super) registers_per_sm: Option<i64>,
    /// Bytes of shared memory of one SM.
    pub(super) shared_memory_per_sm: Option<i64>,
}

/// A job of several processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Distributed {
    /// `nccl`, `gloo` and the like.
    pub(super) backend: Option<String>,
    /// The number of this process.
    pub(super) rank: Option<i64>,
    /// Processes of the job.
    pub(super) world_size: Option<i64>,
    /// Version of NCCL.
    pub(super) nccl_version: Option<String>,
    /// Groups of processes.
    pub(super) groups: Vec<ProcessGroup>,
}

/// A group of processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProcessGroup {
    /// Its name, a number in most traces.
    pub(super) name: Option<String>,
    /// What it is for.
    pub(super) description: Option<String>,
    /// Its size.
    pub(super) size: Option<i64>,
    /// Its ranks.
    pub(super) ranks: Vec<i64>,
}

impl Metadata {
    /// Takes a member of the document. What cannot be read is left out.
    pub(super) fn set(&mut self, key: &[u8], value: Value<'_>) {
        let int = || integer(value.digits());
        match key {
            b"baseTimeNanoseconds" => self.base_ns = int(),
            b"deviceProperties" | b"computeProperties" => self.devices = list(value, DeviceProperties::set),
            b"distributedInfo" => self.distributed = object(value, Distributed::set),
            b"cuda_runtime_version" => self.cuda_runtime_version = int(),
            b"cuda_driver_version" => self.cuda_driver_version = int(),
            b"hip_runtime_version" => self.hip_runtime_version = int(),
            b"with_stack" => self.with_stack = flag(value),
            b"record_shapes" => self.record_shapes = flag(value),
            b"profile_memory" => self.profile_memory = flag(value),
            b"with_modules" => self.with_modules = flag(value),
            _ => {}
        }
    }

    /// Adds what another part of the document says; what was said first holds.
    pub(super) fn merge(&mut self, other: Self) {
        self.base_ns = self.base_ns.or(other.base_ns);
        if self.devices.is_empty() {
            self.devices = other.devices;
        }
        self.distributed = self.distributed.take().or(other.distributed);
        self.cuda_runtime_version = self.cuda_runtime_version.or(other.cuda_runtime_version);
        self.cuda_driver_version = self.cuda_driver_version.or(other.cuda_driver_version);
        self.hip_runtime_version = self.hip_runtime_version.or(other.hip_runtime_version);
        self.with_stack = self.with_stack.or(other.with_stack);
        self.record_shapes = self.record_shapes.or(other.record_shapes);
        self.profile_memory = self.profile_memory.or(other.profile_memory);
        self.with_modules = self.with_modules.or(other.with_modules);
    }
}

impl DeviceProperties {
    fn set(&mut self, key: &[u8], value: Value<'_>) {
        let int = || integer(value.digits());
        match key {
            b"id" => self.id = int().unwrap_or(-1),
            b"name" => self.name = words(value).unwrap_or_default(),
            b"totalGlobalMem" => self.memory_bytes = int(),
            b"computeMajor" => self.compute_major = int(),
            b"computeMinor" => self.compute_minor = int(),
            b"numSms" => self.sm_count = int(),
            b"warpSize" => self.warp_size = int(),
            b"maxThreadsPerMultiprocessor" => self.max_threads_per_sm = int(),
            b"regsPerMultiprocessor" => self.registers_per_sm = int(),
            b"sharedMemPerMultiprocessor" | b"maxSharedMemoryPerMultiProcessor" => self.shared_memory_per_sm = int(),
            _ => {}
        }
    }
}

impl Distributed {
    fn set(&mut self, key: &[u8], value: Value<'_>) {
        match key {
            b"backend" => self.backend = words(value),
            b"rank" => self.rank = integer(value.digits()),
            b"world_size" => self.world_size = integer(value.digits()),
            b"nccl_version" => self.nccl_version = words(value),
            b"pg_config" => self.groups = list(value, ProcessGroup::set),
            _ => {}
        }
    }
}

impl ProcessGroup {
    fn set(&mut self, key: &[u8], value: Value<'_>) {
        match key {
            b"pg_name" => self.name = words(value),
            b"pg_desc" => self.description = words(value),
            b"pg_size" => self.size = integer(value.digits()),
            b"ranks" => self.ranks = numbers(value),
            _ => {}
        }
    }
}

/// Numbers of a list, or of a list that is written as a string.
fn numbers(value: Value<'_>) -> Vec<i64> {
    let text = value.string().map(|text| text.raw());
    let Some(raw) = text.or(value.nested()) else { return Vec::new() };
    let parts = raw.split(|byte| matches!(byte, b',' | b'[' | b']'));
    parts.filter_map(|part| integer(part.trim_ascii())).collect()
}

/// A string or a number as it is written.
fn words(value: Value<'_>) -> Option<String> {
    let text = value.string().map(|text| text.to_str().into_owned());
    text.or_else(|| Some(String::from_utf8_lossy(value.word()?).into_owned()))
}

fn flag(value: Value<'_>) -> Option<bool> {
    match value.digits() {
        b"1" | b"true" | b"True" => Some(true),
        b"0" | b"false" | b"False" => Some(false),
        _ => None,
    }
}

fn object<T: Default>(value: Value<'_>, set: fn(&mut T, &[u8], Value<'_>)) -> Option<T> {
    let raw = value.nested()?;
    let fill = |out: &mut T| -> Result<(), Fault> {
        let mut cursor = Cursor::new(raw, 0);
        cursor.expect(b'{')?;
        while let Some(key) = cursor.key()? {
            set(out, key, cursor.value()?);
        }
        Ok(())
    };
    let mut out = T::default();
    // What comes before something odd counts.
    _ = fill(&mut out);
    Some(out)
}

/// Items of one list of metadata: GPUs of a machine, groups of processes. Each takes far more than the three bytes that an empty one
/// is written in.
const MAX_LIST_ITEM_COUNT: usize = 4_096;

fn list<T: Default>(value: Value<'_>, set: fn(&mut T, &[u8], Value<'_>)) -> Vec<T> {
    let Some(raw) = value.nested() else { return Vec::new() };
    let mut cursor = Cursor::new(raw, 0);
    let mut out = Vec::new();
    if cursor.expect(b'[').is_ok() {
        while out.len() < MAX_LIST_ITEM_COUNT
            && let Ok(Some(item)) = cursor.item()
        {
            out.extend(object(item, set));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_nothing_has_an_end() {
        let json = format!("[{}{{}}] ,", "{},".repeat(2 * MAX_LIST_ITEM_COUNT));
        let mut metadata = Metadata::default();
        metadata.set(b"deviceProperties", Cursor::new(json.as_bytes(), 0).value().unwrap());
        assert_eq!(metadata.devices.len(), MAX_LIST_ITEM_COUNT);
    }

    #[test]
    fn metadata_comes_in_several_spellings() {
        let mut metadata = Metadata::default();
        let mut set = |key: &str, json: &str| {
            metadata.set(key.as_bytes(), Cursor::new(format!("{json} ,").as_bytes(), 0).value().unwrap());
        };
        set("baseTimeNanoseconds", "\"1751410836000000000\"");
        set(
            "deviceProperties",
            r#"[{"id": 0, "name": "A", "numSms": "108", "computeMajor": 8}, {"id": 1, "x": N/A}, 3]"#,
        );
        set(
            "distributedInfo",
            r#"{"rank": "3", "world_size": 8, "pg_config": [{"pg_name": "0", "ranks": "[0, 1,2]"},
            {"pg_name": 1, "ranks": [3, 4]}]}"#,
        );
        set("with_stack", "1");
        set("record_shapes", "\"N/A\"");
        assert_eq!(metadata.base_ns, Some(1_751_410_836_000_000_000));
        assert_eq!(metadata.devices.iter().map(|device| device.sm_count).collect::<Vec<_>>(), [Some(108), None]);
        let distributed = metadata.distributed.unwrap();
        assert_eq!((distributed.rank, distributed.world_size), (Some(3), Some(8)));
        assert_eq!(distributed.groups[0].ranks, [0, 1, 2]);
        assert_eq!(distributed.groups[1].name.as_deref(), Some("1"));
        assert_eq!((metadata.with_stack, metadata.record_shapes), (Some(true), None));
    }
}
