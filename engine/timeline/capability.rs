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
