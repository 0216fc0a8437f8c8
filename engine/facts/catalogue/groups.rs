//! Facts of the groups of events on a device: streams, copies, waits and ranges.

use super::FactType::{Bool, Choice, Float, Int, Text};
use super::Scaling::{Extensive, ExtensiveWithGaps, Incomparable, Intensive, OneTime};
use super::{Fact, accounts, fact};
use crate::ledger::Breakdown;
use crate::timeline::Capability::{CudaApi, CudaTrace, Nvtx, OsRuntime, Report};

pub(super) const STREAM: &[Fact] = &[
    fact("number", Int, Report, Incomparable, "The stream id of the report, unique in its context."),
    fact(
        "kind",
        Choice(&["default", "blocking", "non_blocking", "unknown"]),
        Report,
        Incomparable,
        "The legacy default stream, a created stream that waits for it, or one that does not.",
    ),
    fact("kernel_count", Int, CudaTrace, Extensive, "Kernels and graph launches."),
    fact("copy_count", Int, CudaTrace, Extensive, "Copies."),
    fact("busy_ns", Int, CudaTrace, Extensive, "Time in which at least one operation of this stream runs."),
    fact(
        "kernel_busy_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time in which at least one kernel of this stream runs. Against other streams, how evenly work is spread.",
    ),
];

const DIRECTIONS: &[&str] =
    &["host_to_device", "device_to_host", "device_to_device", "peer", "host_to_host", "unknown"];
const HOST_MEMORY: &[&str] = &["pageable", "pinned", "managed", "none", "unknown"];

pub(super) const COPY_GROUP: &[Fact] = &[
    fact("name", Text, CudaTrace, Incomparable, "A short description: direction, host memory and API."),
    fact("direction", Choice(DIRECTIONS), CudaTrace, Incomparable, "Where the bytes go."),
    fact(
        "host_memory",
        Choice(HOST_MEMORY),
        CudaTrace,
        Incomparable,
        "The kind of host memory; 'none' for copies within or between devices.",
    ),
    fact(
        "is_pageable",
        Bool,
        CudaTrace,
        Incomparable,
        "Whether the host memory is pageable; absent where the report does not tell its kind.",
    ),
    fact(
        "api",
        Text,
        CudaApi,
        Incomparable,
        "The API that asked for the copies; absent when their calls are not in the report.",
    ),
    fact(
        "is_blocking_call",
        Bool,
        CudaApi,
        Incomparable,
        "Whether the API blocks by its definition (no Async in its name). Copies of pageable memory wait whatever it says.",
    ),
    fact("count", Int, CudaTrace, Extensive, "Copies."),
    fact("bytes", Int, CudaTrace, Extensive, "Bytes."),
    fact("sum_ns", Int, CudaTrace, Extensive, "Durations, summed."),
    fact("busy_ns", Int, CudaTrace, Extensive, "Time in which at least one of them runs."),
    fact(
        "exposed_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time of the exposed-copy account that they own: no kernel runs, and of the copies that run one of these began first.",
    ),
    fact(
        "overlapped_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time in which one of them and a kernel run. Beside exposed_ns, how well they hide.",
    ),
    fact("call_ns", Int, CudaApi, Extensive, "Host time inside their calls, clipped to the window."),
    fact("call_idle_ns", Int, CudaApi, ExtensiveWithGaps, "The part of call_ns in which the device runs nothing."),
    fact(
        "call_longest_ns",
        Int,
        CudaApi,
        OneTime,
        "The longest of their calls. One far longer than its copy waited for earlier work.",
    ),
    fact(
        "achieved_gb_per_s",
        Float,
        CudaTrace,
        Intensive,
        "Bytes over the time in which at least one of them runs, also outside the window.",
    ),
    fact(
        "other_way_exposed_ns",
        Int,
        CudaTrace,
        Extensive,
        "How long copies between the same kinds of memory run alone that go the other way, whatever API asked for them. Absent where there are none.",
    ),
    fact(
        "other_way_gb_per_s",
        Float,
        CudaTrace,
        Intensive,
        "The rate of those, whole copies over the time that any of them runs. Absent with that.",
    ),
    fact(
        "pinned_gb_per_s",
        Float,
        CudaTrace,
        Intensive,
        "The rate that pinned copies of 1 MB and more of the same direction reach on this device, those of rows (`cudaMemcpy2D`) left out; absent when they move less than 10 MB.",
    ),
    fact("median_bytes", Int, CudaTrace, Intensive, "The median size of a copy."),
    fact(
        "largest_bytes",
        Int,
        CudaTrace,
        Intensive,
        "The size of the largest copy. Beside median_bytes, how even sizes are.",
    ),
    fact(
        "before_first_kernel_count",
        Int,
        CudaTrace,
        OneTime,
        "How many of them begin before the first kernel; absent without kernels.",
    ),
    fact(
        "before_first_kernel_bytes",
        Int,
        CudaTrace,
        OneTime,
        "Bytes of the copies that begin before the first kernel or graph launch of the window; absent when none runs in it.",
    ),
    fact("small_count", Int, CudaTrace, Extensive, "Copies of at most 64 KiB."),
    fact(
        "small_sum_ns",
        Int,
        CudaTrace,
        Extensive,
        "Durations of those, summed. The most that packing them together can save on the device.",
    ),
    fact(
        "same_size_count",
        Int,
        CudaTrace,
        Extensive,
        "Copies that have the commonest size. Copies of one size can share a buffer that is allocated once.",
    ),
    fact("same_size_bytes", Int, CudaTrace, Intensive, "The commonest size. How large such a buffer has to be."),
    fact("first_start_ns", Int, CudaTrace, Incomparable, "When the first of them begins."),
    fact("last_start_ns", Int, CudaTrace, Incomparable, "When the last of them begins."),
    fact("longest_ns", Int, CudaTrace, OneTime, "The longest of them."),
    fact("longest_start_ns", Int, CudaTrace, Incomparable, "When the longest of them begins."),
    fact(
        "stream_count",
        Int,
        CudaTrace,
        Intensive,
        "Streams that they ran on. Those on one stream cannot overlap each other.",
    ),
];

pub(super) const SYNC_GROUP: &[Fact] = &[
    fact("api", Text, CudaApi, Incomparable, "The API that waits, without version suffix."),
    fact("waits_for", Choice(&["stream", "event", "device"]), CudaApi, Incomparable, "What the call waits for."),
    fact("call_count", Int, CudaApi, Extensive, "Calls in the window."),
    fact("call_ns", Int, CudaApi, Extensive, "Host time inside the calls, summed over threads."),
    fact(
        "call_busy_ns",
        Int,
        CudaApi,
        Extensive,
        "The part of it in which this device was busy: the wait cost nothing here.",
    ),
    fact(
        "read_after_count",
        Int,
        CudaApi,
        Extensive,
        "Calls that return less than 200 us before unified memory begins to move to the host: the code after them reads what the device wrote.",
    ),
    fact(
        "slept_count",
        Int,
        OsRuntime,
        Extensive,
        "Calls in which the thread sleeps in the operating system (`sem_wait`, `poll`, `pthread_cond_wait`): it does not spin, and the driver has to wake it. Absent where no calls of the operating system were recorded.",
    ),
    fact(
        "return_latency_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of idle_after_ns in which the launching thread was inside a wait: as a rule this one, which had not returned yet.",
    ),
    fact(
        "idle_after_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "Idle time of the stretches that began while the launching thread was in this wait, and that end in work which a call launched.",
    ),
    fact("idle_after_stretch_count", Int, CudaApi, Extensive, "Those stretches."),
    fact(
        "idle_after_host_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of idle_after_ns that host code and the OS took: what had to be done anyway.",
    ),
    fact(
        "idle_after_other_call_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of idle_after_ns inside calls that load code, manage memory or set up: causes of their own.",
    ),
    fact(
        "idle_after_late_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of idle_after_ns after the launch of what ended the stretch had returned, in stretches that this takes more than 50 us of: work that was launched on a device which had run dry, and started late. No part of run_ahead_ns.",
    ),
    fact(
        "run_ahead_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "What running ahead could have won. Without the waits the host would be earlier by the time spent in them: each of those stretches, without idle_after_other_call_ns, wins no more than the waits of the same thread before it took and earlier stretches left. At most the device's overlap_ceiling_ns.",
    ),
    fact("idle_after_longest_ns", Int, CudaApi, OneTime, "The longest of those stretches; absent without them."),
    fact(
        "idle_after_longest_start_ns",
        Int,
        CudaApi,
        Incomparable,
        "When the longest of those stretches begins; absent without them.",
    ),
    fact(
        "range",
        Text,
        Nvtx,
        Incomparable,
        "The innermost range that at least half of the idle time in these waits lies in; absent when none does.",
    ),
];

pub(super) const RANGE: &[Fact] = &[
    fact(
        "name",
        Text,
        Nvtx,
        Incomparable,
        "The range's text; numbers that a framework appends to each one are cut off.",
    ),
    fact("domain", Text, Nvtx, Incomparable, "The NVTX domain; absent for the default domain."),
    fact("count", Int, Nvtx, Extensive, "How often it was entered in the window."),
    fact("sum_ns", Int, Nvtx, Extensive, "Host time from begin to end, summed, clipped to the window."),
    fact(
        "launched_sum_ns",
        Int,
        Nvtx,
        Extensive,
        "Time of the GPU operations that were launched in it, however deep, summed: the range as the GPU sees it.",
    ),
    fact(
        "idle_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Idle time of the device while the launching thread was in it, however deep.",
    ),
    fact(
        "idle_host_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Idle time with the launching thread in host code in it, however deep. For own rules about a range.",
    ),
    fact(
        "innermost_idle_host_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Idle time with the launching thread in host code and this the innermost range. The device's idle_host_range is the range with most of it.",
    ),
    fact(
        "innermost_idle_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Idle time of the device with this the innermost range of the launching thread. Over all ranges of a thread these add up, which idle_ns does not.",
    ),
    fact(
        "first_start_ns",
        Int,
        Nvtx,
        Incomparable,
        "When it was first entered. For readers and scripts: where to look.",
    ),
    fact("longest_ns", Int, Nvtx, OneTime, "The longest time in it. Beside sum_ns and count, how even rounds are."),
    fact("longest_start_ns", Int, Nvtx, Incomparable, "When that one begins. For readers and scripts: where to look."),
];

pub(super) const STEP: &[Fact] = &[
    fact(
        "number",
        Int,
        Nvtx,
        Incomparable,
        "Which step it is: the number in the name of its range, where the range of each step has one and they grow; else counted from 1.",
    ),
    fact(
        "launch_call_ns",
        Int,
        CudaApi,
        Intensive,
        "The median length of the calls that launch its kernels; absent where none is known.",
    ),
    fact("launch_call_median_ns", Int, CudaApi, Intensive, "The median of that over all steps; absent with it."),
    fact(
        "is_warm_up",
        Bool,
        Nvtx,
        Incomparable,
        "Whether it is one of the leading steps that take over 1.5 times the median.",
    ),
    fact(
        "start_ns",
        Int,
        Nvtx,
        Incomparable,
        "When it begins: where the host enters it and the GPU has done what came before; with its first GPU operation where launches tell steps.",
    ),
    fact("duration_ns", Int, Nvtx, Intensive, "Until the next step begins."),
    fact("kernel_busy_ns", Int, Nvtx, Intensive, "Time in it in which a kernel or graph launch runs."),
    fact("kernel_busy_median_ns", Int, Nvtx, Intensive, "The same, median of the steps."),
    fact(
        "communication_ns",
        Int,
        Nvtx,
        Intensive,
        "What of that no kernel computes in: kernels of communication alone, which move data or wait for other ranks.",
    ),
    fact("communication_median_ns", Int, Nvtx, Intensive, "The same, median of the steps."),
    fact(
        "other_busy_ns",
        Int,
        Nvtx,
        Intensive,
        "Time in it in which only copies, memsets or migrations run. With kernel_busy_ns and idle_ns it is duration_ns.",
    ),
    fact("idle_ns", Int, Nvtx, Intensive, "Time in it in which nothing runs."),
    fact("idle_median_ns", Int, Nvtx, Intensive, "The same, median of the steps."),
    fact("kernel_count", Int, Nvtx, Intensive, "Kernels and graph launches that begin in it."),
    fact("kernel_median_count", Int, Nvtx, Intensive, "The same, median of the steps."),
    fact("copy_bytes", Int, Nvtx, Intensive, "Bytes of the copies that begin in it."),
];

pub(super) const PHASE: &[&[Fact]] =
    &[PHASE_ITSELF, accounts::of(Some(Breakdown::Operation)), accounts::of(Some(Breakdown::Activity))];

const PHASE_ITSELF: &[Fact] = &[
    fact("name", Choice(&["set-up", "warm-up"]), CudaTrace, Incomparable, "Which phase it is."),
    fact("start_ns", Int, CudaTrace, Incomparable, "When it begins."),
    fact("duration_ns", Int, CudaTrace, OneTime, "How long it lasts."),
];
