//! Facts of a device: what it is, the ledger of its window, and how it was used.

use super::FactType::{Bool, Choice, Float, Int, Text};
use super::{Fact, fact, mark, once, same, span, work};
use crate::timeline::Capability::{CudaApi, CudaTrace, DeviceInfo, GpuMetrics, Nvtx, OsRuntime, PageFaults, Report};

pub(super) const ALL: &[&[Fact]] = &[
    IDENTITY,
    LEDGER,
    EXPOSED_COPY,
    IDLE_ACTIVITY,
    IDLE_TRIGGER,
    IDLE_DETAIL,
    COUNTS,
    COPIES,
    STORMS,
    COMPUTE_USE,
    USE,
    STREAMS,
    STEPS,
    METRICS,
];

const IDENTITY: &[Fact] = &[
    fact("name", Text, DeviceInfo, "The product name of the GPU."),
    mark(
        "number",
        Int,
        Report,
        "The number that the report gives the GPU: its own id where the export maps CUDA ordinals to GPUs, else the CUDA ordinal.",
    ),
    same("sm_count", Int, DeviceInfo, "Streaming multiprocessors."),
    mark("compute_major", Int, DeviceInfo, "Compute capability, the part before the point."),
    mark("compute_minor", Int, DeviceInfo, "Compute capability, the part after the point."),
    fact("memory_bandwidth_gbps", Float, DeviceInfo, "Peak bandwidth of device memory."),
    same("total_memory_bytes", Int, DeviceInfo, "Size of device memory."),
    same("process_count", Int, Report, "Processes that ran work on this GPU."),
];

/// The accounts of the window, in order of precedence: a moment belongs to the first that holds. They sum to the window.
pub(super) const LEDGER: &[Fact] = &[
    span(
        "window_ns",
        Int,
        CudaTrace,
        "The time that is accounted for: from the first to the last GPU operation, or what --window or --range leaves of it.",
    ),
    work(
        "compute_ns",
        Int,
        CudaTrace,
        "At least one kernel that is not communication, or one graph launch whose kernels are hidden, runs.",
    ),
    work(
        "exposed_communication_ns",
        Int,
        CudaTrace,
        "Only communication kernels (such as NCCL's) run, perhaps beside copies.",
    ),
    work("exposed_copy_ns", Int, CudaTrace, "No kernel runs, but a copy does."),
    work("exposed_migration_ns", Int, CudaTrace, "Only unified-memory migrations run, perhaps beside memsets."),
    work("exposed_memset_ns", Int, CudaTrace, "Only memsets run."),
    span("idle_ns", Int, CudaTrace, "Nothing runs."),
];

const EXPOSED_COPY: &[Fact] = &[
    mark("window_start_ns", Int, CudaTrace, "When the window begins, since the start of the capture."),
    mark("window_end_ns", Int, CudaTrace, "When the window ends, since the start of the capture."),
    work("busy_ns", Int, CudaTrace, "The window without its idle time."),
    work(
        "exposed_copy_h2d_pageable_ns",
        Int,
        CudaTrace,
        "Part of exposed_copy_ns: host to device, pageable host memory. When several copies run, the one that began first owns the moment.",
    ),
    work("exposed_copy_h2d_pinned_ns", Int, CudaTrace, "Part of exposed_copy_ns: host to device, pinned host memory."),
    work(
        "exposed_copy_d2h_pageable_ns",
        Int,
        CudaTrace,
        "Part of exposed_copy_ns: device to host, pageable host memory.",
    ),
    work("exposed_copy_d2h_pinned_ns", Int, CudaTrace, "Part of exposed_copy_ns: device to host, pinned host memory."),
    work("exposed_copy_device_ns", Int, CudaTrace, "Part of exposed_copy_ns: within the device or between devices."),
    work(
        "exposed_copy_other_ns",
        Int,
        CudaTrace,
        "Part of exposed_copy_ns: every other direction or memory kind, managed and unknown among them.",
    ),
];

/// Idle time by what the thread that ended each stretch was doing at each moment of it. They sum to the idle time.
pub(super) const IDLE_ACTIVITY: &[Fact] = &[
    span(
        "idle_spacing_ns",
        Int,
        CudaApi,
        "The launch had returned and the device had not started: up to 5 us of each stretch, the ordinary distance of two operations.",
    ),
    span(
        "idle_queue_ns",
        Int,
        CudaApi,
        "The launch had returned and the device had not started, beyond those 5 us: a dependency on another stream or device, another process, latency.",
    ),
    span("idle_profiler_ns", Int, CudaApi, "The profiler's own overhead."),
    once(
        "idle_load_ns",
        Int,
        CudaApi,
        "Module load, lazy loading, JIT, loading of libraries, or a kernel's first launch that takes over 100 us.",
    ),
    span(
        "idle_sync_ns",
        Int,
        CudaApi,
        "Still inside a blocking wait although the device had run dry: the tail of the wait.",
    ),
    span("idle_query_ns", Int, CudaApi, "Polling a stream or an event."),
    span("idle_copy_call_ns", Int, CudaApi, "Inside a copy call that stages pageable memory or blocks."),
    span("idle_allocate_ns", Int, CudaApi, "Allocation, free, registration of memory, pool trimming."),
    once("idle_init_ns", Int, CudaApi, "Set-up of contexts, streams, events, devices and libraries."),
    span(
        "idle_launch_ns",
        Int,
        CudaApi,
        "Inside a launch or another asynchronous call, or in host code between two API calls less than 50 us apart: the host cannot feed the device.",
    ),
    span(
        "idle_blocked_ns",
        Int,
        CudaApi,
        "In an OS call that waits or does I/O, or off the CPU by the scheduler's record.",
    ),
    span("idle_host_ns", Int, CudaApi, "Host code: no CUDA call, no recorded OS call."),
    once("idle_unknown_ns", Int, CudaApi, "The capture does not say what the host was doing."),
];

/// Idle time by where that thread was when the device ran dry. They sum to the idle time.
pub(super) const IDLE_TRIGGER: &[Fact] = &[
    span(
        "dry_queued_ns",
        Int,
        CudaApi,
        "Stretches whose next operation had been launched already when the device ran dry.",
    ),
    span("dry_in_sync_ns", Int, CudaApi, "Stretches that began while the thread was in a blocking wait."),
    span(
        "dry_in_copy_ns",
        Int,
        CudaApi,
        "Stretches that began while the thread was in a copy call that stages pageable memory or blocks.",
    ),
    span(
        "dry_in_allocate_ns",
        Int,
        CudaApi,
        "Stretches that began while the thread was allocating, freeing or registering memory.",
    ),
    span(
        "dry_in_launch_ns",
        Int,
        CudaApi,
        "Stretches that began while the thread was in a launch, another asynchronous call, or between two API calls less than 50 us apart.",
    ),
    span(
        "dry_elsewhere_ns",
        Int,
        CudaApi,
        "Stretches that began anywhere else: host code, the OS, loading, polling, the profiler.",
    ),
    once("dry_unknown_ns", Int, CudaApi, "Stretches whose thread the capture does not tell."),
];

const IDLE_DETAIL: &[Fact] = &[
    work("idle_stretch_count", Int, CudaTrace, "Stretches of idle time."),
    once("idle_longest_ns", Int, CudaTrace, "The longest stretch of idle time; absent when the device is never idle."),
    mark("idle_longest_start_ns", Int, CudaTrace, "When the longest stretch of idle time begins."),
    once(
        "idle_guessed_ns",
        Int,
        CudaApi,
        "Idle time whose ending operation has no API call in the report, read on the process's busiest API thread instead.",
    ),
    once(
        "left_out_count",
        Int,
        Report,
        "Kernels, streams and groups of copies beyond the limit, which have no facts of their own; absent when none.",
    ),
    work(
        "too_deep_range_count",
        Int,
        Nvtx,
        "Annotations entered while 200 were open on their thread, which explain no idle time; absent when none.",
    ),
    once("idle_host_guessed_ns", Int, CudaApi, "The part of idle_guessed_ns in which that thread ran host code."),
    mark("idle_load_longest_start_ns", Int, CudaApi, "When the longest idle stretch in loading begins."),
    fact("idle_load_call", Text, CudaApi, "The call or overhead that takes the largest part of the loading time."),
    fact("idle_allocate_call", Text, CudaApi, "The API that takes the largest part of the allocation time."),
    work(
        "idle_allocate_call_count",
        Int,
        CudaApi,
        "Calls that allocate, free or register memory during which the device was idle, at least in part.",
    ),
    mark("idle_allocate_longest_start_ns", Int, CudaApi, "When the longest idle stretch in allocation begins."),
    fact("idle_init_call", Text, CudaApi, "The API that takes the largest part of the set-up time."),
    fact("idle_launch_call", Text, CudaApi, "The API that takes the largest part of the launch time."),
    fact("idle_query_call", Text, CudaApi, "The API that takes the largest part of the polling time."),
    fact("idle_copy_call", Text, CudaApi, "The copy API that takes the largest part of that time."),
    fact("idle_blocked_call", Text, OsRuntime, "The OS call that takes the largest part of the blocked time."),
    span("idle_blocked_call_ns", Int, OsRuntime, "How much of the blocked time was spent in that call."),
    mark("idle_blocked_longest_start_ns", Int, CudaApi, "When the longest idle stretch in an OS call begins."),
    fact(
        "idle_blocked_range",
        Text,
        Nvtx,
        "The annotation, innermost, that takes the largest part of the blocked time; absent outside annotations.",
    ),
    span("idle_blocked_range_ns", Int, Nvtx, "How much of the blocked time fell into that annotation."),
    mark("idle_launch_longest_start_ns", Int, CudaApi, "When the longest idle stretch in launching begins."),
    fact("idle_host_range", Text, Nvtx, "The annotation, innermost, that takes the largest part of the host code."),
    span("idle_host_range_ns", Int, Nvtx, "How much of the host code ran in that annotation."),
    once("idle_host_longest_ns", Int, CudaApi, "The longest single piece of host code that the device was idle for."),
    mark("idle_host_longest_start_ns", Int, CudaApi, "When the longest idle stretch in host code begins."),
    fact(
        "idle_host_os_captured",
        Bool,
        CudaApi,
        "Whether OS runtime calls were captured: if not, host code may hide waits in the OS.",
    ),
    span(
        "host_work_ns",
        Int,
        CudaApi,
        "The window without the time that the thread which launches most of this device's work spends in blocking waits, blocking copies and a full launch queue.",
    ),
    span(
        "overlap_ceiling_ns",
        Int,
        CudaApi,
        "The most that overlap can win: the window without the larger of host_work_ns and the device's busy time.",
    ),
    once("once_ns", Int, CudaApi, "Idle time in loading and set-up, most of which occurs once."),
];

const COUNTS: &[Fact] = &[
    work("kernel_count", Int, CudaTrace, "Kernels."),
    work("kernel_sum_ns", Int, CudaTrace, "Durations of the kernels, summed: kernels that overlap count twice."),
    work("kernel_union_ns", Int, CudaTrace, "Time in which at least one kernel or graph launch runs."),
    same("kernel_median_ns", Int, CudaTrace, "The median duration of a kernel; absent without kernels."),
    work("communication_count", Int, CudaTrace, "Communication kernels."),
    work("communication_sum_ns", Int, CudaTrace, "Durations of communication kernels, summed."),
    work("graph_launch_count", Int, CudaTrace, "Graph launches recorded as a whole."),
    work("graph_union_ns", Int, CudaTrace, "Time in which at least one such graph launch runs."),
    work("copy_count", Int, CudaTrace, "Copies, unified-memory migrations not among them."),
    work("copy_bytes", Int, CudaTrace, "Bytes copied."),
    work("copy_sum_ns", Int, CudaTrace, "Durations of the copies, summed."),
    work("pageable_copy_count", Int, CudaTrace, "Copies from or to pageable host memory."),
    work("pageable_copy_bytes", Int, CudaTrace, "Bytes of those copies."),
    work("memset_count", Int, CudaTrace, "Memsets."),
    work("memset_bytes", Int, CudaTrace, "Bytes set."),
    work("memset_sum_ns", Int, CudaTrace, "Durations of the memsets, summed."),
    work("migration_count", Int, CudaTrace, "Unified-memory migrations."),
    work("migration_bytes", Int, CudaTrace, "Bytes migrated."),
    work("migration_sum_ns", Int, CudaTrace, "Durations of the migrations, summed."),
    work("migration_h2d_bytes", Int, CudaTrace, "Bytes migrated to the device."),
    work("migration_d2h_bytes", Int, CudaTrace, "Bytes migrated to the host."),
    fact(
        "migration_fault_share",
        Float,
        CudaTrace,
        "The part of migrated bytes whose recorded cause is a page fault; absent when no migration has a cause.",
    ),
    mark("migration_first_start_ns", Int, CudaTrace, "When the first migration begins; absent without migrations."),
    work("page_fault_count", Int, PageFaults, "GPU page faults."),
];

const COPIES: &[Fact] = &[
    work("copy_union_ns", Int, CudaTrace, "Time in which at least one copy runs."),
    work("copy_overlapped_ns", Int, CudaTrace, "The part of copy_union_ns in which a kernel runs too."),
    fact("copy_overlapped_share", Float, CudaTrace, "The same as a share of copy_union_ns; absent without copies."),
    work("host_copy_union_ns", Int, CudaTrace, "Time in which at least one copy between host and device runs."),
    work("host_copy_overlapped_ns", Int, CudaTrace, "The part of it in which a kernel runs too."),
    work(
        "overlap_possible_ns",
        Int,
        CudaTrace,
        "How much of the exposed copies between host and device kernels could hide: the smaller of the exposed time and the compute time beside which no such copy runs.",
    ),
    fact(
        "pinned_h2d_gbps",
        Float,
        CudaTrace,
        "The rate of pinned copies to the device of 1 MB and more; absent when they move less than 10 MB.",
    ),
    fact(
        "pinned_d2h_gbps",
        Float,
        CudaTrace,
        "The rate of pinned copies to the host of 1 MB and more; absent when they move less than 10 MB.",
    ),
    work(
        "readback_count",
        Int,
        CudaApi,
        "Copies of at most 64 bytes to the host that a blocking wait or the copy call itself follows on the same thread: values read back one at a time.",
    ),
    span("readback_idle_ns", Int, CudaApi, "Idle time of stretches that began when such a copy had ended."),
    work(
        "blocking_copy_call_ns",
        Int,
        CudaApi,
        "Host time inside copy calls that stage pageable memory or block, summed over the threads of the processes on this device.",
    ),
    mark("readback_first_start_ns", Int, CudaApi, "When the first such copy begins; absent without them."),
];

const STORMS: &[Fact] = &[
    once(
        "storm_count",
        Int,
        CudaTrace,
        "Stretches of at least 20 kernels in a row, none over 10 us and none further than 50 us from the one before; only memsets and copies within the device as short as that come between them.",
    ),
    work("storm_ns", Int, CudaTrace, "Length of those stretches together."),
    work("storm_kernel_count", Int, CudaTrace, "Kernels in them."),
    work("storm_busy_ns", Int, CudaTrace, "Time in them in which a kernel runs."),
    work("storm_idle_ns", Int, CudaTrace, "Time in them in which nothing runs."),
    work(
        "storm_launch_idle_ns",
        Int,
        CudaApi,
        "The part of storm_idle_ns in which the host was launching (activity launch): launch-bound, not merely short.",
    ),
    fact("storm_launches_per_s", Float, CudaTrace, "Kernels a second in them; absent without storms."),
    same("storm_median_ns", Int, CudaTrace, "The median duration of a kernel in them; absent without storms."),
    once("storm_longest_ns", Int, CudaTrace, "The longest of them; absent without storms."),
    mark("storm_longest_start_ns", Int, CudaTrace, "When the longest of them begins; absent without storms."),
    fact("storm_kernel", Text, CudaTrace, "The kernel that is launched most often in them; absent without storms."),
    same("storm_kernel_name_count", Int, CudaTrace, "Different kernels in them; 0 without storms."),
    same(
        "launch_call_median_ns",
        Int,
        CudaApi,
        "The median time inside a call that launches a kernel, for kernels of this device.",
    ),
];

/// Parts of the compute account that do not use the whole device.
pub(super) const COMPUTE_USE: &[Fact] = &[
    work(
        "underfilled_ns",
        Int,
        DeviceInfo,
        "Compute time in which every kernel that runs has fewer blocks than the device has multiprocessors, and the kernels together too.",
    ),
    work(
        "unused_sm_ns",
        Int,
        DeviceInfo,
        "The same, weighted by the multiprocessors without a block: what is lost of the device.",
    ),
    work("faulting_ns", Int, CudaTrace, "Compute time in which unified-memory migrations run under the kernel."),
];

const USE: &[Fact] = &[
    fact(
        "underfilled_kernel",
        Text,
        DeviceInfo,
        "The kernel that most of underfilled_ns goes to; absent when there is none.",
    ),
    work("underfilled_kernel_ns", Int, DeviceInfo, "How much of underfilled_ns goes to that kernel."),
    fact(
        "sm_active_share",
        Float,
        CudaTrace,
        "The part of the device's multiprocessors that had work while kernels ran: sampled where GPU metrics were captured, else derived from grids.",
    ),
    fact("sm_active_source", Choice(&["sampled", "derived"]), CudaTrace, "Where sm_active_share comes from."),
    fact(
        "sm_filled_share",
        Float,
        DeviceInfo,
        "Derived from launch geometry: over compute time, the part of multiprocessors that can have a block, tails of the last wave taken off. Absent when the kernels whose grid is known run for less than half of the time, as when most are hidden in graphs.",
    ),
    work(
        "tail_sm_ns",
        Int,
        DeviceInfo,
        "Derived: compute time times the multiprocessors left empty by the last wave of grids that do fill the device.",
    ),
    fact(
        "theoretical_occupancy_share",
        Float,
        DeviceInfo,
        "Warps that registers, shared memory and block size allow on a multiprocessor, against its limit, weighted by kernel time.",
    ),
    work("one_thread_kernel_ns", Int, CudaTrace, "Time of kernels launched with a single block of at most 32 threads."),
];

const STREAMS: &[Fact] = &[
    same("stream_active_count", Int, CudaTrace, "Streams that ran kernels, copies or graphs."),
    same("stream_used_count", Int, CudaTrace, "Streams that ran kernels or graphs."),
    once(
        "stream_created_count",
        Int,
        CudaApi,
        "Calls that created a stream in the processes of this device, as far as the capture saw them.",
    ),
    fact(
        "default_stream_kernel_share",
        Float,
        CudaTrace,
        "The part of kernel time on the legacy default stream; absent when the export does not tell which stream that is.",
    ),
    same(
        "blocking_stream_count",
        Int,
        CudaTrace,
        "Created streams that wait for the legacy default stream, and it for them, and that ran kernels, copies or graphs; absent when the export does not tell the kinds of streams.",
    ),
    work("concurrent_ns", Int, CudaTrace, "Time in which operations of two or more streams run."),
    work("kernel_concurrent_ns", Int, CudaTrace, "Time in which kernels of two or more streams run."),
];

const STEPS: &[Fact] = &[
    fact(
        "step_name",
        Text,
        Nvtx,
        "The annotation that repeats, without its numbers; absent, like all facts of steps, when none does.",
    ),
    work("step_count", Int, Nvtx, "Steps in the window."),
    same("step_median_ns", Int, Nvtx, "Median length of a step, from its first GPU operation to that of the next."),
    once("step_slowest_ns", Int, Nvtx, "Length of the slowest step that is not warm-up."),
    mark("step_slowest_number", Int, Nvtx, "Which one that is, counted from 1."),
    mark("step_slowest_start_ns", Int, Nvtx, "When it begins."),
    span("step_excess_ns", Int, Nvtx, "What all steps that are not warm-up take beyond the median."),
    once("warm_up_step_count", Int, Nvtx, "Leading steps that take over 1.5 times the median."),
    once("warm_up_ns", Int, Nvtx, "From the start of the window to the first step that is not warm-up."),
    mark("steady_start_ns", Int, Nvtx, "When that step begins."),
    span("steady_ns", Int, Nvtx, "From there to the end of the last step."),
    span("steady_idle_ns", Int, Nvtx, "Time of the steady steps in which nothing runs."),
    work("steady_kernel_ns", Int, Nvtx, "Time of the steady steps in which a kernel or graph launch runs."),
];

const METRICS: &[Fact] = &[
    fact(
        "sampled_sm_active_share",
        Float,
        GpuMetrics,
        "SMs Active, averaged over the samples whose whole period falls on time in which kernels run; absent when those are fewer than 10.",
    ),
    fact("sampled_sm_active_window_share", Float, GpuMetrics, "SMs Active, averaged over all samples in the window."),
    fact(
        "sampled_sm_issue_share",
        Float,
        GpuMetrics,
        "SM Issue, averaged over the samples whose whole period falls on time in which kernels run.",
    ),
    fact(
        "sampled_tensor_active_share",
        Float,
        GpuMetrics,
        "Tensor Active, averaged over the samples whose whole period falls on time in which kernels run.",
    ),
    fact("sampled_gr_active_window_share", Float, GpuMetrics, "GR Active, averaged over all samples in the window."),
    fact(
        "sampled_dram_share",
        Float,
        GpuMetrics,
        "DRAM bandwidth, read and write together, averaged over the samples whose whole period falls on time in which kernels run.",
    ),
    fact("sampled_pcie_rx_share", Float, GpuMetrics, "PCIe RX throughput, averaged over all samples in the window."),
    fact("sampled_pcie_tx_share", Float, GpuMetrics, "PCIe TX throughput, averaged over all samples in the window."),
    fact(
        "sampled_clock_mean_mhz",
        Float,
        GpuMetrics,
        "GPC clock, averaged over the samples whose whole period falls on time in which kernels run.",
    ),
    fact("sampled_clock_max_mhz", Float, GpuMetrics, "The highest GPC clock of those samples."),
    work("sample_count", Int, GpuMetrics, "Samples of SMs Active in the window."),
];
