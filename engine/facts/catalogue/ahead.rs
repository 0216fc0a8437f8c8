//! Facts of how far the host runs ahead of a device, and what keeps it from that.

use super::FactType::{Float, Int, Text};
use super::Scaling::{Extensive, ExtensiveWithGaps, Incomparable, Intensive};
use super::{Fact, fact};
use crate::timeline::Capability::{CudaApi, Nvtx};

pub(super) const AHEAD: &[Fact] = &[
    fact(
        "sync_run_ahead_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "What running ahead of blocking waits could have won: the sum of run_ahead_ns over the waits, at most overlap_ceiling_ns.",
    ),
    fact(
        "blocking_copy_run_ahead_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "What running ahead of copy calls that block could have won. Each idle stretch that began in one wins no more than such calls of the same thread before it took and earlier stretches left. At most overlap_ceiling_ns.",
    ),
    fact(
        "idle_host_after_sync_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of idle_host_ns in stretches that began while the launching thread was in a blocking wait.",
    ),
    fact(
        "idle_host_after_copy_call_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of idle_host_ns in stretches that began while the launching thread was in a copy call that blocks.",
    ),
    fact(
        "launch_bound_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of idle_launch_ns that no wait explains: without the blocking waits before it the host would not have launched in time either, and it was neither polling nor waiting in the OS when the device went idle.",
    ),
    fact(
        "late_host_busy_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "Busy time before idle time whose end is launched by a call that returns after it began, since the idle time of that kind before it, where no thread is meanwhile in a call that waits, asks, copies, allocates or loads, in a launch that may wait for room in the queue, or in a wait for another process: kernels that end sooner there start nothing sooner. Absent with unified memory, where the device runs functions of the host or writes for it, and where calls of the processes are not known.",
    ),
    fact(
        "late_start_count",
        Int,
        CudaApi,
        Extensive,
        "Kernels that begin later after their launch returned than is ordinary (5 us, on AMD GPUs 20 us), of those that were launched on a device that had run dry, where four of five of these do so: the driver hands launches over late, or the device takes long to dispatch them. Absent elsewhere.",
    ),
    fact(
        "late_start_usual_ns",
        Int,
        CudaApi,
        Intensive,
        "How late the middle one of them is; absent with their count.",
    ),
    fact(
        "late_start_spread_share",
        Float,
        CudaApi,
        Intensive,
        "How far the middle eight tenths of them lie apart, as a share of that: where it is next to nothing, they wait for something that always takes as long. Absent with their count.",
    ),
    fact(
        "graph_even_gap_count",
        Int,
        CudaApi,
        Extensive,
        "Gaps of 50 us or more before operations of graphs that had been launched when the gap began, and that are of one length at that place of the graph, within a twentieth, four times or more. Absent without any.",
    ),
    fact(
        "graph_even_gap_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "How long they are together: no wait is so even, but work that the profiler does not record is.",
    ),
    fact(
        "dispatch_usual_ns",
        Int,
        CudaApi,
        Intensive,
        "How long after its launch and after the work before it the middle kernel begins, of all that begin on an idle device later than is ordinary (5 us, on AMD GPUs 20 us), where four of five that find it idle do so. Absent elsewhere.",
    ),
    fact(
        "dispatch_even_ns",
        Int,
        CudaApi,
        Extensive,
        "Idle time before those that are no more than three times as late as that, without what is ordinary; absent with it.",
    ),
    fact(
        "late_start_range",
        Text,
        Nvtx,
        Incomparable,
        "The innermost range that launches those that at least half of this idle time lies before; absent when none does.",
    ),
    fact(
        "idle_launch_stretch_count",
        Int,
        CudaApi,
        Extensive,
        "The stretches of idle time that idle_launch_ns is a part of.",
    ),
    fact(
        "host_call_ns",
        Int,
        CudaApi,
        Extensive,
        "The time of the window that the thread which launches most of this device's work spends inside CUDA calls: not in waits and polls, and of calls that copy or free only the part in which the device is idle.",
    ),
    fact("host_call_longest", Text, CudaApi, Incomparable, "The API that takes the most of that time."),
    fact(
        "launch_to_start_median_ns",
        Int,
        CudaApi,
        Intensive,
        "The median time from the begin of a call to the start of the operation that it asked for: how far the host is ahead. Of the first operation of each call.",
    ),
];
