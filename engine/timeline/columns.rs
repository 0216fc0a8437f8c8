//! The columns of each kind of event. The vectors of one kind have the same length.

use super::names::NameId;

/// What every operation of a GPU has.
#[derive(Debug, Default)]
pub struct GpuOps {
    /// When it begins to run, nanoseconds since the start of the capture.
    pub start: Vec<i64>,
    /// When it ends; never before it begins.
    pub end: Vec<i64>,
    /// The place of its stream.
    pub stream: Vec<u32>,
    /// The place of the API call that asked for it, or [`super::NONE`].
    pub call: Vec<u32>,
}

impl GpuOps {
    /// How many operations.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }
}

/// Kernels.
#[derive(Debug, Default)]
pub struct Kernels {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
    /// The short name.
    pub name: Vec<NameId>,
    /// The demangled name.
    pub full_name: Vec<NameId>,
    /// The place of the launch geometry.
    pub geometry: Vec<u32>,
}

/// Graph launches recorded as a whole.
#[derive(Debug, Default)]
pub struct Graphs {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
}

/// Where the bytes of a copy go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// To the device.
    HostToDevice,
    /// To the host.
    DeviceToHost,
    /// Within one device.
    DeviceToDevice,
    /// Between devices.
    Peer,
    /// Within the host.
    HostToHost,
    /// The report does not say.
    Unknown,
}

/// The host memory that a copy touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostMemory {
    /// Pageable: the driver stages it.
    Pageable,
    /// Page-locked.
    Pinned,
    /// Unified memory.
    Managed,
    /// The copy touches no host memory.
    None,
    /// The report does not say.
    Unknown,
}

/// Copies.
#[derive(Debug, Default)]
pub struct Copies {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
    /// Bytes.
    pub bytes: Vec<i64>,
    /// Where they go.
    pub direction: Vec<Direction>,
    /// The host memory that they come from or go to.
    pub host_memory: Vec<HostMemory>,
}

/// Memsets.
#[derive(Debug, Default)]
pub struct Memsets {
    /// When, where, and asked for by which call.
    pub ops: GpuOps,
    /// Bytes.
    pub bytes: Vec<i64>,
}

/// Why memory migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationCause {
    /// The report does not say.
    Unknown,
    /// The program asked: a prefetch.
    Prefetch,
    /// A page fault.
    Fault,
    /// The driver guessed: a speculative prefetch or access counters.
    Speculative,
    /// Room was needed.
    Eviction,
}

/// Unified-memory migrations.
#[derive(Debug, Default)]
pub struct Migrations {
    /// When and where. They are asked for by no call.
    pub ops: GpuOps,
    /// Bytes.
    pub bytes: Vec<i64>,
    /// Where they go.
    pub direction: Vec<Direction>,
    /// Why.
    pub cause: Vec<MigrationCause>,
}

/// CUDA API calls, in time order on each thread.
#[derive(Debug, Default)]
pub struct ApiCalls {
    /// When the call begins.
    pub start: Vec<i64>,
    /// When it returns.
    pub end: Vec<i64>,
    /// The name without version suffix.
    pub name: Vec<NameId>,
    /// The place of the calling thread, or [`super::NONE`].
    pub thread: Vec<u32>,
    /// How many calls of each API returned an error, most first.
    pub errors: Vec<(NameId, u64)>,
}

impl ApiCalls {
    /// How many calls.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }
}

/// OS runtime calls.
#[derive(Debug, Default)]
pub struct OsCalls {
    /// When the call begins.
    pub start: Vec<i64>,
    /// When it returns.
    pub end: Vec<i64>,
    /// The name.
    pub name: Vec<NameId>,
    /// The place of the calling thread.
    pub thread: Vec<u32>,
}

/// Stretches in which a thread was off the CPU.
#[derive(Debug, Default)]
pub struct OffCpu {
    /// When the thread left the CPU.
    pub start: Vec<i64>,
    /// When it came back.
    pub end: Vec<i64>,
    /// The place of the thread.
    pub thread: Vec<u32>,
}

/// What an overhead row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverheadKind {
    /// The profiler's own work.
    Profiler,
    /// Loading of code: JIT, modules, lazily loaded functions, shared libraries.
    Load,
    /// The launch queue was full.
    QueueFull,
}

/// Overhead on the host.
#[derive(Debug, Default)]
pub struct Overheads {
    /// When it begins.
    pub start: Vec<i64>,
    /// When it ends.
    pub end: Vec<i64>,
    /// What it stands for.
    pub kind: Vec<OverheadKind>,
    /// The report's name for it.
    pub name: Vec<NameId>,
    /// The place of the thread; [`super::NONE`] when all threads of the capture are meant.
    pub thread: Vec<u32>,
}

/// Annotations that have a duration.
#[derive(Debug, Default)]
pub struct Ranges {
    /// When it was entered.
    pub start: Vec<i64>,
    /// When it was left; the end of the capture for one that was not.
    pub end: Vec<i64>,
    /// The place of its label in `labels`.
    pub label: Vec<u32>,
    /// The place of the thread that entered it.
    pub thread: Vec<u32>,
    /// Text and NVTX domain of the annotations.
    pub labels: Vec<Label>,
    /// Names of NVTX domains: process, domain, name.
    pub domains: Vec<(u32, i64, NameId)>,
}

impl Ranges {
    /// How many annotations.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// The name of a label's domain in one process; `None` for the default domain.
    pub fn domain_name(&self, process: u32, label: u32) -> Option<NameId> {
        let domain = self.labels.get(label as usize)?.domain;
        self.domains.iter().find(|known| known.0 == process && known.1 == domain).map(|known| known.2)
    }
}

/// What an annotation is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label {
    /// Its text, without the numbers that a framework appends.
    pub name: NameId,
    /// Its NVTX domain in its process; 0 is the default domain.
    pub domain: i64,
}
