//! Facts of the groups of events on a device: streams, kernels, copies, waits and annotations.

use super::FactType::{Bool, Choice, Float, Int, Text};
use super::{Fact, fact};
use crate::timeline::Capability::{CudaApi, CudaTrace, DeviceInfo, Nvtx, Report};

pub(super) const STREAM: &[Fact] = &[
    fact("number", Int, Report, "The stream id of the report, unique in its context."),
    fact(
        "kind",
        Choice(&["default", "blocking", "non_blocking", "unknown"]),
        Report,
        "The legacy default stream, a created stream that waits for it, or one that does not.",
    ),
    fact("kernel_count", Int, CudaTrace, "Kernels and graph launches."),
    fact("copy_count", Int, CudaTrace, "Copies."),
    fact("busy_ns", Int, CudaTrace, "Time in which at least one operation of this stream runs."),
    fact("kernel_ns", Int, CudaTrace, "Time in which at least one kernel of this stream runs."),
];

pub(super) const KERNEL: &[Fact] = &[
    fact("name", Text, CudaTrace, "The short name: function without template arguments and parameters."),
    fact("full_name", Text, CudaTrace, "The demangled name of the launch that took longest."),
    fact("launch_count", Int, CudaTrace, "Launches."),
    fact("sum_ns", Int, CudaTrace, "Durations, summed."),
    fact(
        "alone_ns",
        Int,
        CudaTrace,
        "Compute time (or communication time) that this kernel owns: when several kernels run, the one that began first owns the moment. Over all kernels and graph launches these sum to compute_ns and exposed_communication_ns.",
    ),
    fact("mean_ns", Int, CudaTrace, "Mean duration."),
    fact("median_ns", Int, CudaTrace, "Median duration."),
    fact("min_ns", Int, CudaTrace, "Shortest duration."),
    fact("max_ns", Int, CudaTrace, "Longest duration."),
    fact("first_start_ns", Int, CudaTrace, "When the first launch begins to run."),
    fact("longest_start_ns", Int, CudaTrace, "When the longest launch begins to run."),
    fact("is_communication", Bool, CudaTrace, "Whether the name is that of a communication kernel, such as NCCL's."),
    fact("stream_count", Int, CudaTrace, "Streams that it ran on."),
    fact(
        "grid_block_count",
        Int,
        CudaTrace,
        "Blocks of the grid that most of its time was spent with; absent when the export does not tell.",
    ),
    fact("block_thread_count", Int, CudaTrace, "Threads of a block in that launch geometry."),
    fact("register_count", Int, CudaTrace, "Registers a thread in that geometry."),
    fact("shared_memory_bytes", Int, CudaTrace, "Shared memory a block in that geometry, static and dynamic."),
    fact(
        "underfilled_ns",
        Int,
        DeviceInfo,
        "Time that it owns (as for alone_ns) in which the kernels that run have fewer blocks together than the device has multiprocessors.",
    ),
    fact("unused_sm_ns", Int, DeviceInfo, "The same, weighted by the multiprocessors without a block."),
    fact(
        "waves",
        Float,
        DeviceInfo,
        "Blocks of that geometry, divided by the blocks that the device can hold at once.",
    ),
    fact("blocks_per_sm_count", Int, DeviceInfo, "Blocks of that geometry that one multiprocessor can hold."),
    fact(
        "theoretical_occupancy_share",
        Float,
        DeviceInfo,
        "Warps that registers, shared memory and block size allow on a multiprocessor, against its limit.",
    ),
    fact(
        "occupancy_limiter",
        Choice(&["registers", "shared_memory", "block_size", "blocks", "none"]),
        DeviceInfo,
        "What keeps theoretical occupancy under 1.",
    ),
    fact("faulting_ns", Int, CudaTrace, "Time in which unified-memory migrations run under it."),
    fact(
        "precision",
        Choice(&["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"]),
        CudaTrace,
        "The precision that a matrix kernel's name gives away; absent when it does not.",
    ),
    fact("is_matrix_product", Bool, CudaTrace, "Whether the name is that of a matrix product."),
    fact("is_transpose", Bool, CudaTrace, "Whether the name is that of a layout transpose."),
    fact("is_elementwise", Bool, CudaTrace, "Whether the name is that of an element-wise kernel."),
];

const DIRECTIONS: &[&str] =
    &["host_to_device", "device_to_host", "device_to_device", "peer", "host_to_host", "unknown"];
const HOST_MEMORY: &[&str] = &["pageable", "pinned", "managed", "none", "unknown"];

pub(super) const COPY_GROUP: &[Fact] = &[
    fact("name", Text, CudaTrace, "A short description: direction, host memory and API."),
    fact("direction", Choice(DIRECTIONS), CudaTrace, "Where the bytes go."),
    fact(
        "host_memory",
        Choice(HOST_MEMORY),
        CudaTrace,
        "The kind of host memory; 'none' for copies within or between devices.",
    ),
    fact("api", Text, CudaApi, "The API that asked for the copies; absent when their calls are not in the report."),
    fact("is_blocking_call", Bool, CudaApi, "Whether the API blocks by its definition (no Async in its name)."),
    fact("count", Int, CudaTrace, "Copies."),
    fact("bytes", Int, CudaTrace, "Bytes."),
    fact("sum_ns", Int, CudaTrace, "Durations, summed."),
    fact("busy_ns", Int, CudaTrace, "Time in which at least one of them runs."),
    fact(
        "exposed_ns",
        Int,
        CudaTrace,
        "Time of the exposed-copy account that they own: no kernel runs, and of the copies that run one of these began first.",
    ),
    fact("overlapped_ns", Int, CudaTrace, "Time in which one of them and a kernel run."),
    fact("call_ns", Int, CudaApi, "Host time inside their calls, clipped to the window."),
    fact("call_idle_ns", Int, CudaApi, "The part of call_ns in which the device runs nothing."),
    fact("call_longest_ns", Int, CudaApi, "The longest of their calls."),
    fact(
        "achieved_gbps",
        Float,
        CudaTrace,
        "Bytes over the time in which at least one of them runs, also outside the window.",
    ),
    fact(
        "pinned_gbps",
        Float,
        CudaTrace,
        "The rate that pinned copies of the same direction reach on this device; absent when they move less than 10 MB.",
    ),
    fact("median_bytes", Int, CudaTrace, "The median size of a copy."),
    fact("largest_bytes", Int, CudaTrace, "The size of the largest copy."),
    fact(
        "before_kernels_bytes",
        Int,
        CudaTrace,
        "Bytes of the copies that begin before the first kernel or graph launch of the window; absent when none runs in it.",
    ),
    fact("small_count", Int, CudaTrace, "Copies of at most 64 KiB."),
    fact("small_sum_ns", Int, CudaTrace, "Durations of those, summed."),
    fact("same_size_count", Int, CudaTrace, "Copies that have the commonest size."),
    fact("same_size_bytes", Int, CudaTrace, "The commonest size."),
    fact("first_start_ns", Int, CudaTrace, "When the first of them begins."),
    fact("longest_ns", Int, CudaTrace, "The longest of them."),
    fact("longest_start_ns", Int, CudaTrace, "When the longest of them begins."),
    fact("stream_count", Int, CudaTrace, "Streams that they ran on."),
];

pub(super) const SYNC_GROUP: &[Fact] = &[
    fact("api", Text, CudaApi, "The API that waits, without version suffix."),
    fact("waits_for", Choice(&["stream", "event", "device"]), CudaApi, "What the call waits for."),
    fact("call_count", Int, CudaApi, "Calls in the window."),
    fact("call_ns", Int, CudaApi, "Host time inside the calls, summed over threads."),
    fact("call_busy_ns", Int, CudaApi, "The part of it in which this device was busy: the wait cost nothing here."),
    fact(
        "tail_ns",
        Int,
        CudaApi,
        "The part of dry_ns in which the launching thread was inside a wait: as a rule this one, which had not returned yet.",
    ),
    fact("dry_ns", Int, CudaApi, "Idle time of the stretches that began while the launching thread was in this wait."),
    fact("dry_stretch_count", Int, CudaApi, "Those stretches."),
    fact(
        "dry_host_ns",
        Int,
        CudaApi,
        "The part of dry_ns that host code, the OS, loading, allocation and set-up took: what had to be done anyway.",
    ),
    fact(
        "run_ahead_ns",
        Int,
        CudaApi,
        "What running ahead could have won: the smallest of dry_ns, call_ns (without the waits the host would be that much earlier, and no more) and the device's overlap_ceiling_ns.",
    ),
    fact("longest_dry_ns", Int, CudaApi, "The longest of those stretches; absent without them."),
    fact("longest_dry_start_ns", Int, CudaApi, "When the longest of those stretches begins; absent without them."),
    fact(
        "range",
        Text,
        Nvtx,
        "The innermost annotation that at least half of the idle time in these waits lies in; absent when none does.",
    ),
];

pub(super) const RANGE: &[Fact] = &[
    fact("name", Text, Nvtx, "The annotation's text; numbers that a framework appends to each one are cut off."),
    fact("domain", Text, Nvtx, "The NVTX domain; absent for the default domain."),
    fact("count", Int, Nvtx, "How often it was entered in the window."),
    fact("sum_ns", Int, Nvtx, "Host time from begin to end, summed, clipped to the window."),
    fact("idle_ns", Int, Nvtx, "Idle time of the device while the launching thread was in it, however deep."),
    fact("host_ns", Int, Nvtx, "Idle time with the launching thread in host code in it, however deep."),
    fact(
        "innermost_host_ns",
        Int,
        Nvtx,
        "Idle time with the launching thread in host code and this the innermost annotation.",
    ),
    fact(
        "innermost_idle_ns",
        Int,
        Nvtx,
        "Idle time of the device with this the innermost annotation of the launching thread.",
    ),
    fact("first_start_ns", Int, Nvtx, "When it was first entered."),
    fact("longest_ns", Int, Nvtx, "The longest time in it."),
    fact("longest_start_ns", Int, Nvtx, "When that one begins."),
];

pub(super) const STEP: &[Fact] = &[
    fact("number", Int, Nvtx, "Which step it is, counted from 1."),
    fact("is_warm_up", Bool, Nvtx, "Whether it is one of the leading steps that take over 1.5 times the median."),
    fact("start_ns", Int, Nvtx, "When its first GPU operation begins."),
    fact("duration_ns", Int, Nvtx, "Until the next step begins."),
    fact("kernel_ns", Int, Nvtx, "Time in it in which a kernel or graph launch runs."),
    fact("kernel_median_ns", Int, Nvtx, "The same, median of the steps."),
    fact("other_busy_ns", Int, Nvtx, "Time in it in which only copies, memsets or migrations run."),
    fact("idle_ns", Int, Nvtx, "Time in it in which nothing runs."),
    fact("idle_median_ns", Int, Nvtx, "The same, median of the steps."),
    fact("kernel_count", Int, Nvtx, "Kernels and graph launches that begin in it."),
    fact("kernel_median_count", Int, Nvtx, "The same, median of the steps."),
    fact("copy_bytes", Int, Nvtx, "Bytes of the copies that begin in it."),
];
