//! Writes a recording as the SQLite file that `nsys export` would make of it, in the schema of an old or a new version.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::CANARY;
use super::language::{DEFAULT_STREAM, Metric, Script};
use super::recording::{Call, OffCpu, Op, OpKind, Recording, Wait, WaitKind};
use super::simulate::tid_of;

/// The exporter whose schema is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaVersion {
    /// No metadata, no constants, no table of processes; metrics as JSON.
    Nsys2021,
    /// Schema 3.24.0, of Nsight Systems 2025.5.2.
    Nsys2025,
}

impl SchemaVersion {
    pub const ALL: [Self; 2] = [Self::Nsys2021, Self::Nsys2025];

    fn tables(self) -> &'static str {
        match self {
            Self::Nsys2021 => include_str!("schema/2021.sql"),
            Self::Nsys2025 => include_str!("schema/2025.sql"),
        }
    }
}

const NONE_U32: i64 = 0xFFFF_FFFF;
/// The machine's number, in the upper bits of every process and thread id.
const VM: i64 = 1 << 48;

pub(super) fn write(script: &Script, recording: &Recording, version: SchemaVersion, path: &Path) {
    let mut exporter = Exporter::create(script, version, path);
    exporter.machine();
    exporter.metadata(recording);
    exporter.streams(recording);
    recording.ops.iter().enumerate().for_each(|(index, op)| exporter.op(index as i64, op));
    recording.calls.iter().for_each(|call| exporter.call(call));
    recording.os_calls.iter().for_each(|call| exporter.os_call(call));
    recording.waits.iter().for_each(|wait| exporter.wait(wait));
    exporter.ranges(recording);
    exporter.overheads(recording);
    exporter.samples(recording);
    recording.off_cpu.iter().for_each(|off| exporter.off_cpu(off));
    script.metric.iter().enumerate().for_each(|(index, metric)| exporter.metric(index as i64, metric, recording));
    exporter.raw_rows();
    exporter.finish();
}

struct Exporter<'a> {
    db: Connection,
    script: &'a Script,
    version: SchemaVersion,
    columns: HashMap<String, HashSet<String>>,
    strings: HashMap<String, i64>,
    chains: i64,
}

type Columns<'a> = Vec<(&'a str, Value)>;

/// `columns!{ start: 5, name: "x" }`, values of any type that SQLite has.
macro_rules! columns {
    ($($name:ident: $value:expr),* $(,)?) => { vec![$((stringify!($name), Value::from($value))),*] };
}

impl<'a> Exporter<'a> {
    fn create(script: &'a Script, version: SchemaVersion, path: &Path) -> Self {
        let db = Connection::open(path).expect("the folder exists");
        db.execute_batch("PRAGMA page_size = 1024; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;").unwrap();
        db.execute_batch(&format!("BEGIN; {}", version.tables())).unwrap();
        let columns = {
            let sql = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'";
            let mut statement = db.prepare(sql).unwrap();
            let pairs = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            let mut columns: HashMap<String, HashSet<String>> = HashMap::new();
            pairs.map(Result::unwrap).for_each(|(table, column): (String, _)| {
                columns.entry(table).or_default().insert(column);
            });
            columns
        };
        Self { db, script, version, columns, strings: HashMap::new(), chains: 0 }
    }

    /// Inserts what of the row this version has: tables and columns that it does not know are left out.
    fn row(&self, table: &str, row: Columns) {
        let Some(known) = self.columns.get(table) else { return };
        let row: Columns = row.into_iter().filter(|(column, _)| known.contains(*column)).collect();
        let names: Vec<_> = row.iter().map(|(column, _)| *column).collect();
        let marks = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", "));
        let mut statement = self.db.prepare(&sql).unwrap();
        statement.execute(params_from_iter(row.into_iter().map(|(_, value)| value))).unwrap();
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(id) = self.strings.get(text) {
            return *id;
        }
        let id = self.strings.len() as i64;
        self.strings.insert(text.to_string(), id);
        self.row("StringIds", columns! { id: id, value: text.to_string() });
        id
    }

    fn global_pid(&self, process: usize) -> i64 {
        VM | self.script.process[process].pid << 24
    }

    fn global_tid(&self, process: usize, tid: i64) -> i64 {
        self.global_pid(process) | tid
    }

    fn machine(&mut self) {
        let gpus = &self.script.gpu;
        for gpu in gpus {
            let mut row = columns! {
                vmId: VM, id: gpu.id, name: gpu.name.clone(), busLocation: format!("0000:{:02X}:00.0", 0x17 + gpu.id),
                isDiscrete: i64::from(!gpu.integrated), l2CacheSize: 41_943_040, totalMemory: gpu.memory_gib << 30,
                memoryBandwidth: (gpu.bandwidth_gb_per_s * 1e9) as i64, clockRate: gpu.clock_mhz * 1_000_000,
                smCount: gpu.sm_count, pwGpuId: NONE_U32, uuid: format!("00000000-0000-0000-0000-{:012}", gpu.id),
                luid: -1, chipName: gpu.chip.clone(), cuDevice: gpu.id, revision: 161, nodeMask: 0,
            };
            row.extend(columns! {
                constantMemory: 65_536, maxIPC: 4, maxRegistersPerBlock: 65_536, maxShmemPerBlock: 49_152,
                maxShmemPerBlockOptin: gpu.shared_per_sm - 1024, maxShmemPerSm: gpu.shared_per_sm,
                maxRegistersPerSm: 65_536, threadsPerWarp: 32, asyncEngines: gpu.copy_engines, maxWarpsPerSm: gpu.warps_per_sm,
                maxBlocksPerSm: gpu.blocks_per_sm, maxThreadsPerBlock: 1024, maxBlockDimX: 1024, maxBlockDimY: 1024,
                maxBlockDimZ: 64, maxGridDimX: 2_147_483_647, maxGridDimY: 65_535, maxGridDimZ: 65_535,
                computeMajor: gpu.compute[0], computeMinor: gpu.compute[1], smMajor: gpu.compute[0],
                smMinor: gpu.compute[1],
            });
            self.row("TARGET_INFO_GPU", row);
        }
        for (process, about) in self.script.process.iter().enumerate() {
            let global_pid = self.global_pid(process);
            self.row("PROCESSES", columns! { globalPid: global_pid, pid: about.pid, name: about.name.clone() });
            for (ordinal, gpu) in about.gpus.iter().enumerate() {
                let row = columns! { gpuId: *gpu, cudaId: ordinal as i64, pid: about.pid };
                self.row("TARGET_INFO_CUDA_DEVICE", row);
            }
        }
        // The table lists every process of the machine.
        self.row("PROCESSES", columns! { globalPid: VM | 1 << 24, pid: 1, name: "init".to_string() });
        for (index, thread) in self.script.thread.iter().enumerate() {
            let global_tid = self.global_tid(thread.process, tid_of(self.script, index));
            let name_id = self.string(&thread.name);
            self.row("ThreadNames", columns! { nameId: name_id, priority: 20, globalTid: global_tid });
        }
    }

    fn metadata(&mut self, recording: &Recording) {
        let name_value = |name: &str, value: &str| columns! { name: name.to_string(), value: value.to_string() };
        let export = [
            ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
            ("EXPORT_PRODUCT_VERSION", "2025.5.2.0"),
            ("EXPORT_SCHEMA_VERSION", "3.24.0"),
            ("EXPORT_SCHEMA_VERSION_MAJOR", "3"),
            ("EXPORT_SCHEMA_VERSION_MINOR", "24"),
            ("EXPORT_SCHEMA_VERSION_MICRO", "0"),
        ];
        export.iter().for_each(|(name, value)| self.row("META_DATA_EXPORT", name_value(name, value)));
        let capture = [
            ("CAPTURE_EVENT_TYPE", "OSRuntime"),
            ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
            ("CAPTURE_EVENT_TYPE", "Cuda"),
            ("OS_RUNTIME_OPTIONS:DURATION_THRESHOLD_NS", "1000"),
            ("PROCESS_0:COLLECT_CUDA_TRACE", "true"),
            ("PROCESS_0:COLLECT_GPU_MEMORY_USAGE", "false"),
            ("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"),
            ("PROCESS_0:ENVIRONMENT_VARIABLE", CANARY),
            ("COMMAND", CANARY),
        ];
        capture.iter().for_each(|(name, value)| self.row("META_DATA_CAPTURE", name_value(name, value)));
        let environment =
            [("DeviceEnvironment", 900, CANARY), ("NvDriverVersion", 205, "580.82.07"), ("CpuCores", 1, "32")];
        for (name, number, value) in environment {
            let (state, name, value) = (String::new(), name.to_string(), value.to_string());
            let row = columns! { globalVid: VM, devStateName: state, name: name, nameEnum: number, value: value };
            self.row("TARGET_INFO_SYSTEM_ENV", row);
        }
        let start = columns! {
            utcEpochNs: 1_760_000_000_000_000_000_i64,
            utcTime: "2025-10-09T08:53:20".to_string(),
            localTime: "2025-10-09T08:53:20".to_string(),
        };
        self.row("TARGET_INFO_SESSION_START_TIME", start);
        let stop_ns = recording.end_ns() + 1_000_000;
        let details = columns! { globalVid: VM, duration: stop_ns, startTime: 0, stopTime: stop_ns };
        self.row("ANALYSIS_DETAILS", details);
        let (file, content) = (self.string("stdout.log"), self.string(CANARY));
        let output = columns! { globalPid: self.global_pid(0), filenameId: file, contentId: content };
        self.row("ProcessStreams", output);
        for event in &self.script.diagnostic {
            let (timestamp, text) = ((event.at_us * 1000.0) as i64, event.text.clone());
            let severity = event.severity as i64;
            let row = columns! { timestamp: timestamp, timestampType: 1, source: 1, severity: severity, text: text };
            self.row("DIAGNOSTIC_EVENT", row);
        }
    }

    /// Contexts, and the streams that were used or only created. A process has context 1 on each of its devices.
    fn streams(&mut self, recording: &Recording) {
        for (process, about) in self.script.process.iter().enumerate() {
            let used = recording.ops.iter().filter(|op| op.process == process && op.stream != 0).map(|op| op.stream);
            let streams: BTreeSet<i64> = used.chain(about.streams.iter().copied()).collect();
            if streams.is_empty() {
                continue;
            }
            for device in 0..about.gpus.len() as i64 {
                let ids = columns! { hwId: 0, vmId: 1, processId: about.pid, deviceId: device, contextId: 1 };
                let null_stream = [ids.clone(), columns! { streamId: DEFAULT_STREAM }].concat();
                self.row("TARGET_INFO_CUDA_NULL_STREAM", null_stream);
                let context = [ids, columns! { nullStreamId: DEFAULT_STREAM, isGreenContext: 0 }].concat();
                self.row("TARGET_INFO_CUDA_CONTEXT_INFO", context);
            }
            for stream in streams {
                let flag = match stream {
                    DEFAULT_STREAM => 3,
                    _ if about.blocking => 1,
                    _ => 2,
                };
                let ids = columns! { streamId: stream, hwId: 0, vmId: 1, processId: about.pid, contextId: 1 };
                self.row("TARGET_INFO_CUDA_STREAM", [ids, columns! { priority: 0, flag: flag }].concat());
            }
        }
    }

    fn op(&mut self, index: i64, op: &Op) {
        let mut row = columns! {
            start: op.start_ns, end: op.end_ns, deviceId: op.device, contextId: 1, greenContextId: 0,
            streamId: op.stream, correlationId: op.correlation, globalPid: self.global_pid(op.process),
        };
        let table = match &op.kind {
            OpKind::Kernel { short, long, grid, block, registers, shared_bytes, local_total_bytes } => {
                let (short, long) = (self.string(short), self.string(long));
                row.extend(columns! {
                    demangledName: long, shortName: short, mangledName: long, launchType: 1, cacheConfig: 1,
                    registersPerThread: *registers, gridX: grid[0], gridY: grid[1], gridZ: grid[2], blockX: block[0],
                    blockY: block[1], blockZ: block[2], staticSharedMemory: 0, dynamicSharedMemory: *shared_bytes,
                    localMemoryPerThread: 0, localMemoryTotal: *local_total_bytes, gridId: index + 1, sharedMemoryExecuted: *shared_bytes,
                    sharedMemoryLimitConfig: 0, qmdBulkReleaseDone: 0, qmdPreexitDone: 0, qmdLastCtaDone: 0,
                    clusterX: 0, clusterY: 0, clusterZ: 0,
                });
                "CUPTI_ACTIVITY_KIND_KERNEL"
            }
            OpKind::Graph => {
                row.extend(columns! { graphId: 4, graphExecId: 5 });
                "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
            }
            OpKind::Copy { bytes, kind, source, target, cause, address } => {
                let (cause, address) = (*cause, *address);
                row.extend(columns! {
                    bytes: *bytes, copyKind: *kind, srcKind: *source, dstKind: *target, migrationCause: cause, virtualAddress: address,
                    copyCount: 1,
                });
                "CUPTI_ACTIVITY_KIND_MEMCPY"
            }
            OpKind::Memset { bytes } => {
                row.extend(columns! { value: 0, bytes: *bytes, memKind: 2 });
                "CUPTI_ACTIVITY_KIND_MEMSET"
            }
        };
        self.row(table, row);
    }

    fn call(&mut self, call: &Call) {
        let name_id = self.string(&call.name);
        let event_class = i64::from(!call.name.starts_with("cuda"));
        let row = columns! {
            start: call.start_ns, end: call.end_ns, eventClass: event_class,
            globalTid: self.global_tid(call.process, call.tid), correlationId: call.correlation, nameId: name_id,
            returnValue: call.result,
        };
        if call.stack.is_empty() {
            return self.row("CUPTI_ACTIVITY_KIND_RUNTIME", row);
        }
        let chain = self.chain("CUDA_CALLCHAINS", &call.stack);
        let stack = columns! { callchainId: chain };
        match self.version {
            SchemaVersion::Nsys2021 => self.row("CUPTI_ACTIVITY_KIND_RUNTIME", [row, stack].concat()),
            // A second row, a little longer and under the plain name, bears the stack.
            SchemaVersion::Nsys2025 => {
                self.row("CUPTI_ACTIVITY_KIND_RUNTIME", row);
                let plain = call.name.split("_v").next().unwrap_or_default();
                let name_id = self.string(plain);
                let echo = columns! {
                    start: call.start_ns - 1, end: call.end_ns + 1, eventClass: 67,
                    globalTid: self.global_tid(call.process, call.tid), correlationId: call.correlation,
                    nameId: name_id, returnValue: 0,
                };
                self.row("CUPTI_ACTIVITY_KIND_RUNTIME", [echo, stack].concat());
            }
        }
    }

    /// Every call has a chain of its own, as in real reports; returns its number. A frame may name its file: `function @ file`.
    fn chain(&mut self, table: &str, stack: &[String]) -> i64 {
        self.chains += 1;
        for (depth, frame) in stack.iter().enumerate() {
            let (function, file) = frame.split_once(" @ ").unwrap_or((frame, "/usr/bin/python3.12"));
            let (symbol, module) = (self.string(function), self.string(file));
            let row = columns! {
                id: self.chains, symbol: symbol, module: module, unresolved: 0, originalIP: 0x40_0000 + depth as i64,
                stackDepth: depth as i64,
            };
            self.row(table, row);
        }
        self.chains
    }

    fn samples(&mut self, recording: &Recording) {
        for (id, sample) in (1_i64..).zip(&recording.samples) {
            let row = columns! {
                id: id, start: sample.at_ns, cpu: 0, threadState: 1, globalTid: self.global_tid(sample.process, sample.tid),
                cpuCycles: 1,
            };
            self.row("COMPOSITE_EVENTS", row);
            for (depth, frame) in sample.stack.iter().enumerate() {
                let (function, module) = frame.split_once(" @ ").expect("frames of samples are: function @ module");
                let row = columns! {
                    id: id, symbol: self.string(function), module: self.string(module),
                    unresolved: i64::from(function.starts_with("0x")), originalIP: 0x50_0000 + depth as i64, unwindMethod: 0,
                    stackDepth: depth as i64,
                };
                self.row("SAMPLING_CALLCHAINS", row);
            }
        }
    }

    fn os_call(&mut self, call: &Call) {
        let name_id = self.string(&call.name);
        let chain = if call.stack.is_empty() { 0 } else { self.chain("OSRT_CALLCHAINS", &call.stack) };
        let row = columns! {
            start: call.start_ns, end: call.end_ns, eventClass: 27, globalTid: self.global_tid(call.process, call.tid),
            correlationId: call.correlation, nameId: name_id, returnValue: 0, nestingLevel: 0, callchainId: chain,
            argumentsId: 0,
        };
        self.row("OSRT_API", row);
    }

    fn off_cpu(&self, off: &OffCpu) {
        for (at_ns, is_on) in [(off.start_ns, 0), (off.end_ns, 1)] {
            let row = columns! {
                start: at_ns, cpu: 0, isSchedIn: is_on, globalTid: self.global_tid(off.process, off.tid), threadState: 0,
                threadBlock: 0,
            };
            self.row("SCHED_EVENTS", row);
        }
    }

    /// The number of a kind of wait changed with the exporter; that of each version is what its files hold.
    fn wait(&mut self, wait: &Wait) {
        let number = match (self.version, wait.kind) {
            (SchemaVersion::Nsys2021, WaitKind::Device) | (SchemaVersion::Nsys2025, WaitKind::Event) => 1,
            (SchemaVersion::Nsys2021, WaitKind::Event) | (SchemaVersion::Nsys2025, WaitKind::Stream) => 2,
            (SchemaVersion::Nsys2021, WaitKind::Stream) | (SchemaVersion::Nsys2025, WaitKind::StreamOnEvent) => 3,
            (_, WaitKind::Device | WaitKind::StreamOnEvent) => 4,
        };
        let is_event = matches!(wait.kind, WaitKind::Event | WaitKind::StreamOnEvent);
        let row = columns! {
            start: wait.start_ns, end: wait.end_ns, deviceId: wait.device, contextId: 1, greenContextId: 0,
            streamId: if wait.kind == WaitKind::Device { NONE_U32 } else { wait.stream },
            correlationId: wait.correlation, globalPid: self.global_pid(wait.process), syncType: number,
            eventId: if is_event { 2 } else { NONE_U32 },
        };
        self.row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", row);
    }

    /// Text is inline or, for registered strings, by id. Domains are numbered per process, the default one is 0.
    fn ranges(&mut self, recording: &Recording) {
        let mut domains: BTreeMap<(usize, &str), i64> = BTreeMap::new();
        for range in &recording.ranges {
            let global_tid = self.global_tid(range.process, range.tid);
            let mut domain_id = 0;
            if let Some(domain) = &range.domain {
                let next = 1 + domains.keys().filter(|(process, _)| *process == range.process).count() as i64;
                domain_id = *domains.entry((range.process, domain)).or_insert(next);
                if domain_id == next {
                    let made = columns! { start: 500_000, eventType: 75, globalTid: global_tid, domainId: next };
                    self.row("NVTX_EVENTS", [made, columns! { text: domain.clone() }].concat());
                }
            }
            let text_id = range.registered.then(|| self.string(&range.text));
            let text = (!range.registered).then(|| range.text.clone());
            let row = columns! {
                start: range.start_ns, end: range.end_ns, eventType: if range.mark { 34 } else { 59 }, text: text,
                globalTid: global_tid, textId: text_id, domainId: domain_id,
            };
            self.row("NVTX_EVENTS", row);
        }
    }

    fn overheads(&mut self, recording: &Recording) {
        for overhead in &recording.overheads {
            let name_id = self.string(&overhead.name);
            let mut row = columns! {
                start: overhead.start_ns, end: overhead.end_ns, nameId: name_id,
                globalTid: self.global_tid(overhead.process, overhead.tid),
                correlationId: overhead.correlation, overheadType: overhead.driver_type.unwrap_or(3),
            };
            let table = match overhead.driver_type {
                Some(_) => "CUPTI_ACTIVITY_KIND_OVERHEAD",
                None => "PROFILER_OVERHEAD",
            };
            row.extend(columns! { eventClass: 103, returnValue: 0 });
            self.row(table, row);
        }
        for fault in &recording.faults {
            let row = columns! {
                start: fault.start_ns, end: fault.end_ns, globalPid: self.global_pid(fault.process),
                deviceId: fault.device, address: 0x7F00_0000_0000_i64, numberOfPageFaults: fault.pages,
                faultAccessType: 2,
            };
            self.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", row);
        }
    }

    /// New exporters have a table of integers, old ones a JSON object with texts for each sample.
    fn metric(&mut self, metric_id: i64, metric: &Metric, recording: &Recording) {
        let type_id = (VM | 0x0A << 40) | metric.gpu;
        let name = metric.name.clone();
        let about = columns! {
            typeId: type_id, sourceId: type_id, typeName: "GPU Metrics".to_string(), metricId: metric_id, metricName: name,
        };
        self.row("TARGET_INFO_GPU_METRICS", about);
        // JSON types are one row for a GPU, whatever the number of metrics.
        if metric_id == 0 {
            let data = "{\"Name\":\"GPU Metrics\"}".to_string();
            self.row("GENERIC_EVENT_TYPES", columns! { typeId: type_id, sourceId: type_id, data: data });
        }
        let ordinal_of = |process: usize| self.script.process[process].gpus.iter().position(|id| *id == metric.gpu);
        let on_gpu = |op: &&Op| ordinal_of(op.process).is_some_and(|ordinal| ordinal as i64 == op.device);
        let kernels: Vec<_> = recording
            .ops
            .iter()
            .filter(|op| matches!(op.kind, OpKind::Kernel { .. } | OpKind::Graph))
            .filter(on_gpu)
            .map(|op| op.start_ns..op.end_ns)
            .collect();
        for at_ns in (0..recording.end_ns()).step_by((metric.period_us * 1000.0) as usize) {
            let value = if kernels.iter().any(|run| run.contains(&at_ns)) { metric.busy } else { metric.idle };
            let row = columns! { timestamp: at_ns, typeId: type_id, metricId: metric_id, value: value };
            self.row("GPU_METRICS", row);
            let data = serde_json::json!({ &metric.name: value.to_string() }).to_string();
            let row = columns! { rawTimestamp: at_ns, timestamp: at_ns, typeId: type_id, data: data };
            self.row("GENERIC_EVENTS", row);
        }
    }

    fn raw_rows(&mut self) {
        for row in &self.script.row {
            let mut values = Vec::new();
            for (column, value) in &row.columns {
                let value = match value {
                    toml::Value::Integer(number) => Value::from(*number),
                    toml::Value::String(text) => match text.strip_prefix('@') {
                        Some(text) => Value::from(self.string(text)),
                        None => Value::from(text.clone()),
                    },
                    other => panic!("{}.{column}: {other} is neither integer nor text", row.table),
                };
                values.push((column.as_str(), value));
            }
            self.row(&row.table, values);
        }
    }

    /// Drops what stayed empty, as the exporter makes tables only when they have rows.
    fn finish(self) {
        for table in self.columns.keys() {
            let empty = format!("SELECT NOT EXISTS (SELECT 1 FROM {table})");
            if self.db.query_row(&empty, [], |row| row.get(0)).unwrap() {
                self.db.execute_batch(&format!("DROP TABLE {table}")).unwrap();
            }
        }
        self.db.execute_batch("COMMIT; VACUUM;").unwrap();
    }
}
