//! What a recording may hold, or lack.

/// What a recording must hold for a fact to be there. How it is captured is each source's to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capability {
    /// Nothing in particular: any recording will do.
    Report,
    /// GPU operations.
    CudaTrace,
    /// CUDA API calls of the host.
    CudaApi,
    /// Ranges that the program or its framework marks.
    Nvtx,
    /// OS runtime calls.
    OsRuntime,
    /// The kernels of CUDA graphs, one by one.
    GraphKernels,
    /// Sampled GPU metrics.
    GpuMetrics,
    /// What the GPU is: its table of properties.
    DeviceInfo,
    /// Unified-memory page faults.
    PageFaults,
    /// Call stacks of API calls.
    CallStacks,
    /// Samples of CPU call stacks.
    CpuSamples,
    /// Counters of single kernels.
    KernelProfile,
    /// Sizes of tensors that the framework's operators work on.
    TensorShapes,
    /// What the framework's allocator holds.
    AllocatorMemory,
    /// What collectives move.
    CollectiveSizes,
}

impl Capability {
    /// What it is, for readers.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Report => "a recording",
            Self::CudaTrace => "GPU operations",
            Self::CudaApi => "CUDA API calls",
            Self::Nvtx => "ranges (NVTX) that mark steps and layers",
            Self::OsRuntime => "calls of the operating system",
            Self::GraphKernels => "the kernels of CUDA graphs, one by one",
            Self::GpuMetrics => "sampled metrics of the GPU",
            Self::DeviceInfo => "what the GPU is",
            Self::PageFaults => "page faults of unified memory",
            Self::CallStacks => "call stacks of API calls",
            Self::CpuSamples => "samples of what the CPU runs",
            Self::KernelProfile => "counters of single kernels",
            Self::TensorShapes => "sizes of tensors",
            Self::AllocatorMemory => "what the allocator of the framework holds",
            Self::CollectiveSizes => "sizes of collectives",
        }
    }
}
