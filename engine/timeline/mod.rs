//! The event model that every reader fills, through the [`builder`], and every fact is extracted from.
//!
//! Events are columns, one vector a field, so that a million kernels cost a few dozen bytes each. Names, threads, streams
//! and launch geometries are interned: a column holds their indices in the tables of [`Timeline`]. Times are nanoseconds
//! since the start of the capture and may be negative.

pub mod api;
pub mod builder;
pub mod capability;
pub mod capture;
pub mod columns;
pub mod details;
mod frames;
pub mod interval;
pub mod kernel_profiles;
pub mod link;
mod loading;
pub mod locations;
pub mod modules;
pub mod names;
pub(crate) mod near;
pub(crate) mod occupancy;
pub(crate) mod open;
pub mod output;
mod peaks;
pub mod peers;
pub mod samples;
pub mod times;
pub mod union;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use capability::Capability;
pub use capture::{
    CompilerRun, Dropped, GpuVendor, LostLaunches, Notice, NoticeKind, NoticeLevel, Reached, Source, Surroundings,
};
pub use columns::{ApiCalls, Copies, GpuOps, Graphs, Kernels, Memsets, Migrations, OsCalls, Overheads, Ranges};
pub use columns::{KernelShape, ThreadRanges, ThreadState, ThreadStates};
pub use frames::{FrameTraits, TraitsOfFrames};
pub use kernel_profiles::{Counter, Counters, KernelProfile, KernelProfiles, Page};
pub use loading::{ACCUMULATE_GRAD, Loading, OPTIMIZER_STEP, ZERO_GRAD};
pub use locations::{CallLocations, LocationCursor, SourceLocation};
use names::Told;
pub use names::{NameId, Names};
pub use peaks::{TensorRatios, tensor_ratios};
pub use samples::{CpuSamples, StackedCalls};
pub use times::Times;

/// No such index: the event refers to nothing.
pub const NONE: u32 = u32::MAX;

/// One recording, as its reader understood it.
#[derive(Debug, Default)]
pub struct Timeline {
    /// What the file is and who wrote it.
    pub source: Source,
    /// Every string that a column refers to.
    pub names: Names,
    /// Processes that called CUDA, ran GPU work or marked ranges, in the order of their keys in the recording.
    pub processes: Vec<Process>,
    /// Threads that called CUDA, the OS runtime, or marked ranges.
    pub threads: Vec<Thread>,
    /// GPUs that ran at least one operation, ordered by number.
    pub devices: Vec<Device>,
    /// Streams that ran at least one operation.
    pub streams: Vec<Stream>,
    /// The GPUs of which it is not known which process launched their work.
    pub unknown_launchers: UnknownLaunchers,
    /// Launch geometries of kernels.
    pub geometries: Vec<Geometry>,
    /// Kernels.
    pub kernels: Kernels,
    /// Graph launches recorded as a whole.
    pub graphs: Graphs,
    /// Copies, unified-memory migrations not among them.
    pub copies: Copies,
    /// Memsets.
    pub memsets: Memsets,
    /// Unified-memory migrations.
    pub migrations: Migrations,
    /// CUDA API calls of the host, runtime and driver.
    pub api: ApiCalls,
    /// Where in the code API calls were made.
    pub call_locations: CallLocations,
    /// What a framework's profiler says of the work beside its times.
    pub details: details::Details,
    /// OS runtime calls.
    pub os_calls: OsCalls,
    /// When threads did not run, by the scheduler's record.
    pub thread_states: ThreadStates,
    /// The profiler's and CUDA's own overhead on the host.
    pub overheads: Overheads,
    /// What the program or its framework marked.
    pub ranges: Ranges,
    /// Sampled GPU metrics.
    pub metrics: Vec<MetricSeries>,
    /// GPU page faults of unified memory, by device.
    pub page_faults: Vec<PageFaults>,
    /// What the profiler said of its own capture.
    pub notices: Vec<Notice>,
    /// Events that could not be used, and why.
    pub dropped: Vec<Dropped>,
    /// What was left out because a limit was reached.
    pub reached: Reached,
    /// How many rows of host threads may be read for each GPU, over all GPUs.
    pub host_row_limit: u64,
    /// Whether it is certain which GPU each operation ran on.
    pub device_identity_known: bool,
    /// Whether operations without a call were asked for by calls that the recording lacks, as where its window begins after
    /// them: what the host did before such an operation is not known then, and is not guessed.
    pub lacks_calls: bool,
    /// Whether the recording says of no call what it returned.
    pub lacks_return_codes: bool,
    /// Whether the report holds samples of CPU call stacks, of any thread.
    pub has_cpu_samples: bool,
    /// Those of threads that call CUDA; where no call was recorded, of all threads.
    pub cpu_samples: CpuSamples,
    /// Calls of the OS by threads that call CUDA, with their stacks.
    pub os_stacks: StackedCalls,
    /// The machine, and how the program ended.
    pub surroundings: Surroundings,
    /// Which labels are those of ranges that fetch data, once somebody asked.
    pub loading: Loading,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub pid: i64,
    /// What tells it from another process of the same id, such as its virtual machine; unused where ids are unique.
    pub label: String,
    /// The executable's name without its folder, where the report lists processes.
    pub name: Option<String>,
}

/// One thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// Its process.
    pub process: u32,
    /// What tells it from others of its process in the recording.
    pub id: i64,
}

/// One physical GPU, as far as the report can tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Device {
    /// Its number in the report.
    pub number: i64,
    /// Its properties; absent when the report has no table of GPUs.
    pub properties: Option<DeviceProperties>,
}

/// What a GPU is. A limit that the report leaves out is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceProperties {
    /// The product name.
    pub name: Option<String>,
    /// Streaming multiprocessors (SMs).
    pub sm_count: Option<i64>,
    /// Compute capability.
    pub compute_capability: Option<(i64, i64)>,
    /// Peak bandwidth of device memory, bytes a second.
    pub memory_bandwidth: Option<i64>,
    /// Size of device memory.
    pub total_memory_bytes: Option<i64>,
    /// Warps that an SM can hold.
    pub max_warps_per_sm: Option<i64>,
    /// Blocks that an SM can hold.
    pub max_blocks_per_sm: Option<i64>,
    /// Registers of an SM.
    pub registers_per_sm: Option<i64>,
    /// Shared memory of an SM.
    pub shared_memory_per_sm_bytes: Option<i64>,
    /// Engines that copy between host and device beside kernels. With one, copies of both directions take turns.
    pub copy_engine_count: Option<i64>,
    /// Whether it shares its memory with the CPU, as the GPUs of Jetson boards do.
    pub is_integrated: Option<bool>,
    /// Whether it is a part of a GPU (MIG).
    pub is_partition: bool,
}

/// How a stream relates to the legacy default stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StreamKind {
    /// The legacy default stream itself.
    Default,
    /// A stream that waits for the default stream, and it for this one.
    Blocking,
    /// A stream that does not.
    NonBlocking,
    /// The report does not say.
    #[default]
    Unknown,
}

/// One stream of one process on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Its process; [`NONE`] when the report does not name one.
    pub process: u32,
    /// Its device.
    pub device: u32,
    /// The CUDA context that it belongs to.
    pub context: i64,
    /// Its number in the report.
    pub number: i64,
    /// How it relates to the default stream.
    pub kind: StreamKind,
}

/// The shape of a kernel launch. Zero stands for "the report does not say".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Geometry {
    /// Blocks of the grid.
    pub grid_blocks: i64,
    /// Threads of a block.
    pub block_threads: i64,
    /// Registers a thread.
    pub registers: i64,
    /// Shared memory a block, static and dynamic.
    pub shared_memory_bytes: i64,
}

/// A metric that facts are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// SMs with at least one warp resident, percent.
    SmActive,
    /// Issue slots used, percent.
    SmIssue,
    /// Tensor pipe active, percent.
    TensorActive,
    /// Any engine active, percent.
    GrActive,
    /// Device memory read, percent of peak.
    DramRead,
    /// Device memory written, percent of peak.
    DramWrite,
    /// PCIe received by the device, percent of peak.
    PcieRx,
    /// PCIe sent by the device, percent of peak.
    PcieTx,
    /// Clock of the graphics cluster, MHz.
    GpcClock,
}

/// The samples of one metric of one GPU, in time order.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSeries {
    /// The GPU's number in the report.
    pub gpu: i64,
    /// What was sampled.
    pub metric: Metric,
    /// When, nanoseconds since the start of the capture.
    pub time_ns: Vec<i64>,
    /// The values, in the metric's unit.
    pub value: Vec<f32>,
}

/// The devices of a recording that does not tell which of several processes launched their work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownLaunchers {
    /// The processes that may have launched the work of such a device, by its index.
    pub of_devices: BTreeMap<u32, Vec<u32>>,
    /// The processes of the recording that make calls; none without such a device.
    pub calling_process_count: usize,
}

impl UnknownLaunchers {
    /// Whether a process may have launched work of one of them.
    pub(crate) fn may_be(&self, process: u32) -> bool {
        self.of_devices.values().any(|processes| processes.contains(&process))
    }
}

/// GPU page faults of unified memory on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFaults {
    /// The index of the device in [`Timeline::devices`].
    pub device: u32,
    /// How many.
    pub count: i64,
}

impl Timeline {
    /// The process that a thread belongs to.
    pub fn process_of(&self, thread: u32) -> u32 {
        self.threads.get(thread as usize).map_or(NONE, |thread| thread.process)
    }

    /// The process that a stream belongs to.
    pub fn process_of_stream(&self, stream: u32) -> u32 {
        self.streams.get(stream as usize).map_or(NONE, |stream| stream.process)
    }

    /// What the short name of each kernel shape tells, by the index of the shape. Each name is looked at once: a long one may have a hundred
    /// thousand shapes.
    pub(crate) fn tell_shapes<T: Copy>(&self, tell: fn(&str) -> T) -> Vec<T> {
        let mut told = Told::new(&self.names, tell);
        self.kernels.shapes.iter().map(|shape| told.of(shape.name)).collect()
    }

    /// The processes that make calls, in order.
    pub(crate) fn calling_processes(&self) -> Vec<u32> {
        let mut is_calling = vec![false; self.processes.len()];
        for thread in &self.api.thread {
            if let Some(is_calling) = is_calling.get_mut(self.process_of(*thread) as usize) {
                *is_calling = true;
            }
        }
        (0_u32..).zip(is_calling).filter(|(_, is_calling)| *is_calling).map(|(process, _)| process).collect()
    }

    /// What was launched as the kernel at an index, by its geometry.
    pub fn geometry_of(&self, kernel: u32) -> Option<Geometry> {
        self.geometries.get(self.kernels.shape_of(kernel).geometry as usize).copied()
    }

    /// The name at an index.
    pub fn name(&self, id: NameId) -> &str {
        self.names.get(id)
    }

    /// The same, shared with whoever keeps it. Empty for an index that no name has.
    pub(crate) fn shared_name(&self, id: NameId) -> Arc<str> {
        self.names.shared(id).cloned().unwrap_or_default()
    }

    /// When GPU operations ran and calls were made: what a recording is as long as, ranges left out.
    pub(crate) const fn op_and_call_times(&self) -> [&Times; 7] {
        [
            &self.kernels.ops.times,
            &self.graphs.ops.times,
            &self.copies.ops.times,
            &self.memsets.ops.times,
            &self.migrations.ops.times,
            &self.api.times,
            &self.os_calls.times,
        ]
    }

    /// Counts time from the earliest event on. `first_ns` is when the first one begins of those that have no row here, and of others.
    pub(crate) fn begin_at_zero(&mut self, first_ns: Option<i64>) {
        let columns = [
            &mut self.kernels.ops.times,
            &mut self.graphs.ops.times,
            &mut self.copies.ops.times,
            &mut self.memsets.ops.times,
            &mut self.migrations.ops.times,
            &mut self.api.times,
            &mut self.os_calls.times,
            &mut self.overheads.times,
            &mut self.thread_states.times,
        ];
        let ranges = self.ranges.threads.iter_mut().chain(self.call_locations.threads_mut());
        let ranges = ranges.map(|thread| &mut thread.times);
        let mut columns: Vec<&mut Times> = columns.into_iter().chain(ranges).collect();
        let first = columns.iter().flat_map(|times| times.iter()).map(|times| times.start).chain(first_ns).min();
        if let Some(first) = first.filter(|first| *first != 0) {
            columns.iter_mut().for_each(|times| times.move_back(first));
            self.details.move_back(first);
        }
    }

    /// Whether so many operations of GPUs that cannot be used are too many to judge the rest as if they were not there: one of a
    /// hundred.
    pub(crate) fn is_much_unusable(&self, count: u64) -> bool {
        let all = count.saturating_add(self.gpu_op_count() as u64);
        count > 0 && count.saturating_mul(100) >= all
    }

    /// Operations of every GPU.
    pub fn gpu_op_count(&self) -> usize {
        self.kernels.ops.len()
            + self.graphs.ops.len()
            + self.copies.ops.len()
            + self.memsets.ops.len()
            + self.migrations.ops.len()
    }
}
