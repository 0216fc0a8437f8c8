//! The language of scenario files, as written. `fixtures/README.md` explains it with examples.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The stream that every sample of the real tool calls the default one.
pub const DEFAULT_STREAM: i64 = 7;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What the timeline shows, and what a review should say of it.
    pub about: String,
    /// The ids of all built-in rules that find something in it. Every file of `fixtures/scenarios` has it.
    pub expect: Option<Vec<String>>,
    /// Durations of kernels and host code vary by this share, the same way in every run.
    #[serde(default)]
    pub jitter: f64,
    /// The process that wrote the report is also in the list of all processes of the machine.
    #[serde(default = "one_gpu")]
    pub gpu: Vec<Gpu>,
    #[serde(default = "one_process")]
    pub process: Vec<Process>,
    #[serde(default)]
    pub kernel: BTreeMap<String, Kernel>,
    #[serde(default)]
    pub thread: Vec<Thread>,
    #[serde(default)]
    pub exact: Vec<Exact>,
    #[serde(default)]
    pub row: Vec<Row>,
    #[serde(default)]
    pub metric: Vec<Metric>,
    #[serde(default)]
    pub diagnostic: Vec<Diagnostic>,
}

/// An accelerator; what is left out is an A100's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gpu {
    pub id: i64,
    pub name: String,
    /// Whether it shares its memory with the CPU.
    pub integrated: bool,
    pub chip: String,
    pub sm_count: i64,
    pub compute: [i64; 2],
    pub memory_gib: i64,
    pub bandwidth_gb_per_s: f64,
    pub clock_mhz: i64,
    pub warps_per_sm: i64,
    pub blocks_per_sm: i64,
    pub shared_per_sm: i64,
    pub copy_engines: i64,
}

impl Default for Gpu {
    fn default() -> Self {
        Self {
            id: 0,
            name: "NVIDIA A100-SXM4-80GB".into(),
            integrated: false,
            chip: "GA100".into(),
            sm_count: 108,
            compute: [8, 0],
            memory_gib: 80,
            bandwidth_gb_per_s: 2039.0,
            clock_mhz: 1410,
            warps_per_sm: 64,
            blocks_per_sm: 32,
            shared_per_sm: 167_936,
            copy_engines: 3,
        }
    }
}

fn one_gpu() -> Vec<Gpu> {
    vec![Gpu::default()]
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub pid: i64,
    pub name: String,
    /// CUDA ordinal `n` of this process is the GPU with id `gpus[n]`.
    #[serde(default = "first_gpu")]
    pub gpus: Vec<i64>,
    /// Streams that were created; those that were used are added.
    #[serde(default)]
    pub streams: Vec<i64>,
    /// Whether created streams wait for the legacy default stream, and it for them.
    #[serde(default)]
    pub blocking: bool,
}

fn first_gpu() -> Vec<i64> {
    vec![0]
}

fn one_process() -> Vec<Process> {
    vec![Process { pid: 4242, name: "trainer".into(), gpus: first_gpu(), streams: Vec::new(), blocking: false }]
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thread {
    /// Index into the processes.
    #[serde(default)]
    pub process: usize,
    /// The CUDA ordinal that it launches on.
    #[serde(default)]
    pub device: i64,
    #[serde(default = "main_thread")]
    pub name: String,
    #[serde(default)]
    pub start_us: f64,
    pub script: Vec<Step>,
}

fn main_thread() -> String {
    "main".into()
}

/// The shape of a kernel, under the short name that launches use.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The long, demangled name; the short name when left out.
    pub name: Option<String>,
    pub run_us: f64,
    pub grid: [i64; 3],
    pub block: [i64; 3],
    #[serde(default = "registers")]
    pub registers: i64,
    #[serde(default)]
    pub shared_bytes: i64,
    /// The local memory that its context holds while it runs.
    #[serde(default)]
    pub local_total_bytes: i64,
}

fn registers() -> i64 {
    32
}

/// What a thread does next.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    Repeat {
        times: usize,
        /// The number of the first iteration.
        #[serde(default)]
        from: usize,
        r#do: Vec<Self>,
    },
    Range {
        name: String,
        domain: Option<String>,
        #[serde(default)]
        registered: bool,
        r#do: Vec<Self>,
    },
    /// Steps whose calls have this stack, the innermost frame first.
    From {
        stack: Vec<String>,
        r#do: Vec<Self>,
    },
    /// Steps during which the thread is sampled every so often with this stack, the innermost frame first: `function @ module`.
    Sampled {
        every_us: f64,
        stack: Vec<String>,
        r#do: Vec<Self>,
    },
    Mark {
        text: String,
    },
    Host {
        us: f64,
        range: Option<String>,
    },
    Call {
        api: String,
        us: f64,
        #[serde(default)]
        result: i64,
    },
    Os {
        call: String,
        us: f64,
    },
    /// The thread is off the CPU, by the scheduler's record.
    Off {
        us: f64,
    },
    Profiler {
        name: String,
        us: f64,
    },
    Launch(Launch),
    Graph {
        run_us: f64,
        #[serde(default = "api_us")]
        api_us: f64,
        #[serde(default = "stream")]
        stream: i64,
    },
    Memcpy(Memcpy),
    Memset {
        bytes: i64,
        gb_per_s: f64,
        #[serde(default = "stream")]
        stream: i64,
    },
    Sync {
        api: String,
        stream: Option<i64>,
        #[serde(default = "tail_us")]
        tail_us: f64,
    },
    WaitFor {
        stream: i64,
        on: i64,
    },
    Migrate {
        to: Side,
        bytes: i64,
        gb_per_s: f64,
        /// Whether room was needed; else a page fault is the cause.
        #[serde(default)]
        evicts: bool,
        /// Whether the program asks for it in advance.
        #[serde(default)]
        prefetches: bool,
        /// Whether the driver moves most of each block with the page that is touched.
        #[serde(default)]
        speculates: bool,
        /// Where the memory begins.
        address: Option<i64>,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    pub kernel: String,
    pub run_us: Option<f64>,
    pub grid: Option<[i64; 3]>,
    #[serde(default = "api_us")]
    pub api_us: f64,
    #[serde(default = "stream")]
    pub stream: i64,
    /// Lazy loading of the kernel's code, inside the call.
    #[serde(default)]
    pub load_us: f64,
    /// Unified-memory pages that move to the device while the kernel runs.
    pub faults: Option<Faults>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    pub count: i64,
    pub bytes: i64,
    pub gb_per_s: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memcpy {
    pub dir: Direction,
    #[serde(default)]
    pub host: HostMemory,
    pub bytes: i64,
    pub gb_per_s: f64,
    #[serde(default = "stream")]
    pub stream: i64,
    /// `cudaMemcpyAsync` where left out. `cudaMemcpy` blocks; so does any copy with pageable memory.
    #[serde(default = "memcpy_async")]
    pub api: String,
    #[serde(default = "api_us")]
    pub api_us: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    H2d,
    D2h,
    D2d,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostMemory {
    #[default]
    Pageable,
    Pinned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Host,
    Device,
}

fn api_us() -> f64 {
    4.0
}
fn tail_us() -> f64 {
    3.0
}
fn stream() -> i64 {
    DEFAULT_STREAM
}
fn memcpy_async() -> String {
    "cudaMemcpyAsync".into()
}

/// One event at exact times; nothing is simulated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exact {
    pub what: ExactKind,
    /// Kernel (as in `[kernel.…]`), API, OS call or range.
    #[serde(default)]
    pub name: String,
    pub start_ns: i64,
    /// Absent for a range that never ends.
    pub end_ns: Option<i64>,
    #[serde(default)]
    pub process: usize,
    #[serde(default)]
    pub device: i64,
    #[serde(default = "stream")]
    pub stream: i64,
    pub correlation: Option<i64>,
    #[serde(default)]
    pub bytes: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExactKind {
    Kernel,
    H2dPageable,
    H2dPinned,
    D2hPageable,
    D2hPinned,
    Memset,
    Call,
    Os,
    Range,
}

/// A row of any table, as it is; a text that starts with `@` becomes its id in the table of strings.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub table: String,
    pub columns: BTreeMap<String, toml::Value>,
}

/// A sampled metric: one value while a kernel runs on the GPU, another while none does.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    pub name: String,
    #[serde(default)]
    pub gpu: i64,
    pub period_us: f64,
    pub busy: i64,
    pub idle: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnostic {
    pub severity: Severity,
    pub text: String,
    #[serde(default)]
    pub at_us: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info = 1,
    Warning = 2,
    Error = 3,
}
