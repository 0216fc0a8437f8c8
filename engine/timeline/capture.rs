//! What a recording is, and what is known to be wrong with it: the profiler's own notices, rows that could not be used,
//! and limits that were reached.

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
    /// Whose GPUs were recorded, where the recording says.
    pub gpu_vendor: Option<GpuVendor>,
    /// Whether the profiler was asked to record CUDA, where the recording says.
    pub cuda_requested: Option<bool>,
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
}

/// A kind of error that a program's output can tell of.
#[derive(Debug)]
pub struct OutputError {
    /// Words that stand in the output then.
    pub words: &'static str,
    /// What is said of it.
    pub kind: &'static str,
}

const fn error(words: &'static str, kind: &'static str) -> OutputError {
    OutputError { words, kind }
}

/// The kinds of errors that are looked for in a program's output, the most telling first. Nothing else is taken from it.
pub const OUTPUT_ERRORS: [OutputError; 34] = [
    error("CUDA out of memory", "out of GPU memory"),
    error("CUDA_ERROR_OUT_OF_MEMORY", "out of GPU memory"),
    error("cudaErrorMemoryAllocation", "out of GPU memory"),
    error("no CUDA-capable device", "no CUDA-capable device"),
    error("CUDA_ERROR_NO_DEVICE", "no CUDA-capable device"),
    error("CUDA driver version is insufficient", "a driver too old for this CUDA"),
    error("no kernel image is available", "no kernel image for this GPU"),
    error("PTX was compiled with an unsupported toolchain", "PTX that this driver cannot compile"),
    error("device-side assert", "a device-side assert"),
    error("illegal memory access", "an illegal memory access on the GPU"),
    error("misaligned address", "a misaligned address on the GPU"),
    error("unspecified launch failure", "a launch failure"),
    error("CUDA error", "a CUDA error"),
    error("CUDA Error", "a CUDA error"),
    error("cudaError", "a CUDA error"),
    error("KeyboardInterrupt", "KeyboardInterrupt"),
    error("Segmentation fault", "a segmentation fault"),
    error("SIGSEGV", "a segmentation fault"),
    error("SIGABRT", "an abort"),
    error("Aborted (core dumped)", "an abort"),
    error("Bus error", "a bus error"),
    error("ModuleNotFoundError", "ModuleNotFoundError"),
    error("ImportError", "ImportError"),
    error("FileNotFoundError", "FileNotFoundError"),
    error("error while loading shared libraries", "a shared library that was not found"),
    error("terminate called after throwing", "an uncaught C++ exception"),
    error("panicked at", "a Rust panic"),
    error("ERROR: LoadError", "a Julia error"),
    error("RuntimeError", "RuntimeError"),
    error("ValueError", "ValueError"),
    error("TypeError", "TypeError"),
    error("Traceback (most recent call last)", "a Python exception"),
    error("No such file or directory", "a file that was not found"),
    error("command not found", "a command that was not found"),
];

/// Each kind once.
pub const OUTPUT_ERROR_KINDS: [&str; 27] = {
    let mut kinds = [""; 27];
    let (mut index, mut count) = (0, 0);
    // Errors of one kind stand together.
    while index < OUTPUT_ERRORS.len() {
        let kind = OUTPUT_ERRORS[index].kind;
        if index == 0 || !is_same(kind, OUTPUT_ERRORS[index - 1].kind) {
            kinds[count] = kind;
            count += 1;
        }
        index += 1;
    }
    kinds
};

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// What is known of the machine and of how the program ended, beside events.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// Whether the program ran in Windows Subsystem for Linux, for certain.
    pub is_wsl: bool,
    /// Programs that ran on the machine meanwhile, as far as the recording lists them; without folders.
    pub program_names: Vec<String>,
    /// Names of threads of the recorded processes.
    pub thread_names: Vec<String>,
    /// The kind of error that the program's output tells of.
    pub output_error: Option<&'static str>,
    /// Whether records came that the driver hands over in the buffers that also hold kernels and copies.
    pub has_device_records: bool,
}
