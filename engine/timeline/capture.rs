//! What a recording is, and what is known to be wrong with it: the profiler's own notices, rows that could not be used,
//! and limits that were reached.

use super::NameId;
use super::interval::Interval;
use super::output::{OutputError, OutputPlace};

/// What a recording is.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Source {
    /// The id of its format, as the table of formats has it; absent for a timeline that no reader made.
    pub format: Option<&'static str>,
    /// The version of the profiler that wrote it, where it says.
    pub product_version: Option<String>,
    /// The version of the file's schema, where it says.
    pub schema_version: Option<String>,
    /// The framework that was recorded, where the profiler is one of its own.
    pub framework: Option<&'static str>,
    /// What the profiler was told to record beside the events, each of which costs time, by its own names.
    pub costly_options: Vec<&'static str>,
    /// GPUs that the recording lists, also those without work; absent where it lists none.
    pub listed_gpu_count: Option<i64>,
    /// Whose GPUs were recorded, where the recording says.
    pub gpu_vendor: Option<GpuVendor>,
    /// The version of CUDA's runtime that was recorded, as 12040 for 12.4, and the newest that the driver knows, where the recording says.
    pub cuda_versions: Option<(i64, i64)>,
    /// Whether the profiler was asked to record CUDA, where the recording says.
    pub cuda_requested: Option<bool>,
    /// The kind of an accelerator that was recorded and is no GPU: what it did, its waits included, stands as kernels.
    pub other_accelerator: Option<&'static str>,
    /// Kernels of which metrics were recorded in place of when they ran; absent where there are none.
    pub kernel_metric_count: Option<i64>,
    /// Launches without the work that they started; absent where there are none, and where nobody looked.
    pub lost_launches: Option<LostLaunches>,
    /// Rows of GPU operations that make no sense and were left out, in a file of rows; absent where there are none.
    pub unusable_gpu_row_count: Option<i64>,
    /// Calls that copied, of a recording that holds other work of a GPU and not one copy; absent where there are none.
    pub unrecorded_copy_count: Option<i64>,
    /// Whether work of a GPU is missing amid what was recorded, so that idle time may be such work; absent where nobody looked.
    pub lacks_gpu_work: Option<bool>,
    /// Whether a part of the file is missing or cannot be read: whatever was in it looks like idle time.
    pub is_damaged: bool,
    /// How many operators ran, by their numbers, of a trace that was thinned out; absent of all others.
    pub numbered_operator_count: Option<i64>,
    /// Whether its list of events has no end, as the format allows: it may go on.
    pub has_open_end: bool,
}

/// Launches of a recording that holds what other calls started, but not what these did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostLaunches {
    /// How many.
    pub count: i64,
    /// Launches in all.
    pub launch_count: i64,
    /// Whether launches are left out of processes that may have launched work of a GPU that is not known to be theirs.
    pub is_of_some: bool,
    /// How many of them come before calls whose work is there.
    pub amid_count: i64,
    /// Whether these are so many that idle time may be theirs.
    pub is_amid: bool,
}

/// Who made the GPUs of a recording: what they take to start work, and the tools for them, differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuVendor {
    /// They are called through CUDA.
    Nvidia,
    /// They are called through HIP.
    Amd,
    /// Neither: an accelerator of another maker.
    Other,
}

impl GpuVendor {
    /// The names of all of them.
    pub const IDS: [&str; 3] = [Self::Nvidia.id(), Self::Amd.id(), Self::Other.id()];

    /// Its name in facts.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Nvidia => "nvidia",
            Self::Amd => "amd",
            Self::Other => "other",
        }
    }
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeLevel {
    /// For information.
    Info,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeKind {
    /// Events may be missing.
    EventsLost,
    /// The driver or the device is not supported.
    Driver,
    /// Something else about the recording of CUDA went wrong.
    Capture,
    /// Unified memory was not recorded.
    UnifiedMemory,
}

/// Something that the profiler said of its own recording. One that is about several things is there once for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is about.
    pub kind: NoticeKind,
    /// How grave.
    pub level: NoticeLevel,
    /// The profiler's words. The text is hostile.
    pub text: String,
}

/// Events that were left out, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// Which events: a table of the report, or a kind.
    pub events: &'static str,
    /// Why.
    pub reason: &'static str,
    /// How many.
    pub count: u64,
}

/// What was left out because a limit was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// Rows that were not read.
    pub row_count: u64,
    /// Names that were cut.
    pub cut_name_count: u64,
    /// Mentions of names that were taken for one.
    pub merged_name_count: u64,
    /// Mentions of threads that were taken for none, and of streams that were taken for others.
    pub merged_thread_count: u64,
    /// GPUs that were left out, with all that ran on them.
    pub device_count: u64,
}

/// A process that compiles: another waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompilerRun {
    /// From the first to the last sample of it.
    pub times: Interval,
    /// Its process id.
    pub pid: i64,
    /// The file of the program.
    pub program: NameId,
}

/// What is known of the machine and of how the program ended, beside events.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether the program ran in Windows Subsystem for Linux, for certain.
    pub is_wsl: bool,
    /// Whether the recording says that the program ran in Linux, and in no Subsystem of Windows.
    pub is_linux_host: bool,
    /// Whether the profiler began to record while the program ran: after a delay, at a call or at a range.
    pub is_begin_chosen: bool,
    /// Programs that ran on the machine meanwhile, as far as the recording lists them; without folders.
    pub program_names: Vec<String>,
    /// When programs that compile ran as processes of their own, by CPU samples; in order of their begins.
    pub compiler_runs: Vec<CompilerRun>,
    /// Names of threads of the recorded processes.
    pub thread_names: Vec<String>,
    /// What the program's output tells of an error.
    pub output_error: Option<OutputError>,
    /// Where in the source it is, as far as the output says.
    pub output_place: Option<OutputPlace>,
    /// Whether records came that the driver hands over in the buffers that also hold kernels and copies.
    pub has_device_records: bool,
}
