//! Facts of the copies of a device.

use super::FactType::{Bool, Float, Int, Text};
use super::Scaling::{Extensive, ExtensiveWithGaps, Incomparable, Intensive};
use super::{Fact, fact};
use crate::timeline::Capability::{CallStacks, CudaApi, CudaTrace, Nvtx};

pub(super) const COPIES: &[Fact] = &[
    fact(
        "exposed_copy_range",
        Text,
        Nvtx,
        Incomparable,
        "The innermost range, numbers folded, that launched copies which make up at least half of those during which no kernel ran; absent where none does.",
    ),
    fact("exposed_copy_range_ns", Int, Nvtx, Extensive, "How long those copies ran while no kernel did."),
    fact(
        "copy_busy_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time in which at least one copy runs. To check against other tools, which sum durations.",
    ),
    fact(
        "copy_overlapped_ns",
        Int,
        CudaTrace,
        Extensive,
        "The part of copy_busy_ns in which a kernel runs too. Copies within the device are among them; host_copy_overlapped_ns is what the scorecard reads.",
    ),
    fact(
        "copy_overlapped_share",
        Float,
        CudaTrace,
        Intensive,
        "The same as a share of copy_busy_ns; absent without copies. For budgets.",
    ),
    fact(
        "host_copy_busy_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time in which at least one copy between host and device runs.",
    ),
    fact("host_copy_overlapped_ns", Int, CudaTrace, Extensive, "The part of it in which a kernel runs too."),
    fact(
        "overlappable_copy_ns",
        Int,
        CudaTrace,
        Extensive,
        "How much of the exposed copies between host and device kernels could hide: of each direction the smaller of the exposed time and the compute time beside which no copy of that direction runs.",
    ),
    fact(
        "both_ways_copy_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time in which copies to the device and to the host run at once.",
    ),
    fact(
        "pipelined_copy_ns",
        Int,
        CudaTrace,
        Extensive,
        "What is won when exposed copies to the device, those to the host, and the compute time beside which no such copy runs, all run at once: the three together without the longest. At least overlappable_copy_ns.",
    ),
    fact(
        "pinned_h2d_gb_per_s",
        Float,
        CudaTrace,
        Intensive,
        "The rate of pinned copies to the device of 1 MB and more; absent when they move less than 10 MB.",
    ),
    fact(
        "pinned_d2h_gb_per_s",
        Float,
        CudaTrace,
        Intensive,
        "The rate of pinned copies to the host of 1 MB and more; absent when they move less than 10 MB.",
    ),
    fact(
        "scalar_readback_count",
        Int,
        CudaApi,
        Extensive,
        "Copies of at most 16 KiB to the host that a blocking wait or the copy call itself follows on the same thread: small results read back one at a time. Without those by which a library checks the kernels that it tries.",
    ),
    fact(
        "scalar_readback_wait_share",
        Float,
        CudaApi,
        Intensive,
        "The part of the time that the host spends in waits and in copy calls that hold it up which is for such copies; absent where it spends none.",
    ),
    fact(
        "scalar_readback_idle_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "Idle time of stretches that end in such a copy, or began when one had ended.",
    ),
    fact(
        "scalar_readback_run_ahead_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "What those stretches could have won, had the host not waited for such copies: no more than the waits before them took and earlier stretches left, and at most overlap_ceiling_ns.",
    ),
    fact(
        "blocking_copy_call_ns",
        Int,
        CudaApi,
        Extensive,
        "Host time inside copy calls that stage pageable memory or block, summed over the threads of the processes on this device.",
    ),
    fact(
        "scalar_readback_first_start_ns",
        Int,
        CudaApi,
        Incomparable,
        "When the first such copy begins; absent without them.",
    ),
    fact(
        "scalar_readback_source",
        Text,
        CallStacks,
        Incomparable,
        "The line of the program's own code that most such copies come from, as `train.py:118 (train_step)`: with Python frames, the line at which the function begins. Absent when no line has half of them.",
    ),
    fact("scalar_readback_source_share", Float, CallStacks, Intensive, "The part of them that comes from that line."),
    fact(
        "is_scalar_readback_source_in_project",
        Bool,
        CallStacks,
        Incomparable,
        "Whether that file lies below the project's folder.",
    ),
];
