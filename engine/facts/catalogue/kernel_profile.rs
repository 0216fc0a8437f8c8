//! Facts of a launch shape that a profiler of single kernels measured: of its longest profiled launch.

use super::FactType::{Choice, Float, Int};
use super::Scaling::{Incomparable, Intensive};
use super::{EntityKind, Fact, fact};
use crate::timeline::Capability::KernelProfile;

/// What warps wait for, in the words of Nsight Compute's stall reasons.
pub(in crate::facts) const STALL_REASONS: [&str; 17] = [
    "long_scoreboard",
    "short_scoreboard",
    "lg_throttle",
    "mio_throttle",
    "tex_throttle",
    "math_pipe_throttle",
    "barrier",
    "membar",
    "wait",
    "drain",
    "no_instruction",
    "branch_resolving",
    "dispatch_stall",
    "imc_miss",
    "sleeping",
    "not_selected",
    "gmma",
];

/// Facts that kernels profiled one by one have too, beside those that no other recording gives: of these, launches of the profiler are
/// the whole window.
pub(super) const ALONE: &[(EntityKind, &[&str])] = &[
    (
        EntityKind::Run,
        &[
            "format",
            "framework",
            "device_count",
            "dropped_event_count",
            "unread_row_count",
            "untimed_launch_count",
            "uncounted_launch_count",
            "unusable_gpu_row_count",
            "lacks_gpu_work",
            "is_file_damaged",
            "lost_event_notice",
            "truncated_name_count",
            "omitted_entity_count",
            "omitted_device_count",
        ],
    ),
    (
        EntityKind::Device,
        &[
            "number",
            "name",
            "sm_count",
            "compute_major",
            "compute_minor",
            "half_peak_ratio",
            "tf32_peak_ratio",
            "window_ns",
            "busy_ns",
            "compute_ns",
            "idle_ns",
            "kernel_count",
        ],
    ),
    (
        EntityKind::Kernel,
        &[
            "name",
            "full_name",
            "function",
            "launch_count",
            "sum_ns",
            "attributed_ns",
            "is_communication",
            "is_matrix_product",
            "is_tensor_copy",
            "is_transpose",
            "is_elementwise",
            "precision",
        ],
    ),
    (
        EntityKind::LaunchShape,
        &[
            "name",
            "launch_count",
            "sum_ns",
            "attributed_ns",
            "grid_block_count",
            "block_thread_count",
            "theoretical_occupancy_share",
            "occupancy_limiter",
            "waves_per_sm",
            "register_count",
            "shared_memory_bytes",
        ],
    ),
];

const fn share(name: &'static str, meaning: &'static str) -> Fact {
    fact(name, Float, KernelProfile, Intensive, meaning)
}

const fn count(name: &'static str, meaning: &'static str) -> Fact {
    fact(name, Int, KernelProfile, Intensive, meaning)
}

pub(super) const LAUNCH_SHAPE: &[Fact] = &[
    fact(
        "profiled_launch_count",
        Int,
        KernelProfile,
        Incomparable,
        "Launches with this name, grid and block that Nsight Compute profiled. With this, the numbers of the longest of them are there as far as they were collected.",
    ),
    fact(
        "profiled_ns",
        Int,
        KernelProfile,
        Incomparable,
        "How long that launch took under Nsight Compute: alone on the GPU, with fixed clocks and empty caches.",
    ),
    share("compute_throughput_share", "Throughput of the SMs, against their peak (speed of light)."),
    share("memory_throughput_share", "Throughput of the busiest part of the memory system, against its peak."),
    share("dram_throughput_share", "Throughput of device memory, against its peak."),
    share("l1_throughput_share", "Throughput of the L1 and texture cache, against its peak."),
    share("l2_throughput_share", "Throughput of the L2 cache, against its peak."),
    share(
        "busiest_slice_throughput_share",
        "Throughput of the slice of the L2 cache that is used most, against its peak: each address belongs to one slice. Absent where it was not collected, as on the page `details`.",
    ),
    share(
        "busiest_slice_atomic_share",
        "The part of the kernel's time in which the atomic unit of a slice of the L2 cache takes in work: of the slice where it is most. Absent where it was not collected, as on the page `details`.",
    ),
    share(
        "busiest_slice_active_share",
        "The part of the kernel's time in which the busiest slice of the L2 cache has work under way. On the page `details` it is known only where Nsight Compute finds the slices uneven.",
    ),
    share("slice_active_share", "The same, averaged over all slices."),
    count(
        "atomic_request_count",
        "Instructions of its warps that are atomics on global memory, whether their result is used or not. Absent where they were not collected, as on the page `details`.",
    ),
    count("dram_bytes", "Bytes that device memory read and wrote."),
    fact("dram_gb_per_s", Float, KernelProfile, Intensive, "The same over the time of the launch."),
    count(
        "host_memory_bytes",
        "Bytes of the host's memory that its accesses moved over the link: what the L2 cache did not hold.",
    ),
    fact("host_memory_gb_per_s", Float, KernelProfile, Intensive, "The same over the time of the launch."),
    share("achieved_occupancy_share", "Warps that were resident, of those that an SM can hold."),
    share("issue_share", "Cycles in which a scheduler issued an instruction; with few, warps wait."),
    fact(
        "stall_reason",
        Choice(&STALL_REASONS),
        KernelProfile,
        Incomparable,
        "What warps waited for longest, by Nsight Compute's name of the reason.",
    ),
    share("stall_share", "The part of the time between two instructions of a warp that it waited for that."),
    share(
        "memory_stall_share",
        "The part of it that warps waited for memory: global, local and texture memory, and the queues before it.",
    ),
    share(
        "branch_stall_share",
        "The part of it that warps waited for their next instruction to be fetched or for a branch, as they do at each branch that they take; absent where it was not collected.",
    ),
    fact(
        "limit",
        Choice(&[
            "compute",
            "device_memory",
            "l2_cache",
            "l2_slice",
            "l1_cache",
            "load_store",
            "host_memory",
            "latency",
            "balanced",
        ]),
        KernelProfile,
        Incomparable,
        "The part of the GPU that it uses most; latency where it uses neither the SMs nor memory at 60 % of their peak, and the host's memory where it waits for memory then and moves more of that than of device memory. Balanced where it uses SMs and memory alike, and neither at 80 %: then none of them is the limit. Instructions that load and store (load_store) where they are what both throughputs count: these are one counter then, and neither arithmetic nor data that is moved is at that share. A slice of the L2 cache (l2_slice) where it uses neither at 60 %, which are averages, and a slice is at that alone, at three times the average or more; where that was not collected, if warps wait for longer than memory takes by itself while device memory is hardly used, and either a slice is active nearly all the time or L2 holds what they ask for.",
    ),
    fact(
        "busiest_pipe",
        Choice(&["tensor", "fp64", "fma", "alu", "xu", "lsu", "adu"]),
        KernelProfile,
        Incomparable,
        "The pipeline of the SMs that it uses most: tensor cores, fp64, multiply-adds of fp32 and integers (fma), other arithmetic and logic (alu), transcendental functions and conversions (xu), memory instructions (lsu), addresses that differ within a warp, such as those of indexed constants, jumps and barriers (adu).",
    ),
    share("busiest_pipe_share", "How much of what that pipeline can do it uses."),
    share(
        "arithmetic_pipe_share",
        "The part of the kernel's time in which the busiest of the pipelines that compute was active: any but those of memory instructions and of addresses. Where pipelines were not collected, its arithmetic in fp32 or fp64 against the peak rate, which is no more.",
    ),
    share(
        "work_floor_share",
        "The part of its time that its work would still take at the least if nothing were waited for: its arithmetic at full speed, or its traffic of device memory, whichever takes longer. Where one of them was not collected, the other alone, so that it may be more; absent without both.",
    ),
    share(
        "data_floor_share",
        "The part of its time that it would still take at the least without integers, logic, special functions and conversions: its traffic of device memory, its arithmetic in fp32 or fp64, or its tensor cores, whichever takes longest at full speed. Absent where device memory or the rate of fp32 was not collected.",
    ),
    fact(
        "tensor_evidence",
        Choice(&["counter", "name"]),
        KernelProfile,
        Incomparable,
        "What tells whether it uses tensor cores: their counter, or else the precision that the kernel's name gives away. Absent where neither does.",
    ),
    share("constant_cache_share", "Cycles in which the cache of indexed constants answers, of all."),
    count(
        "constant_request_count",
        "What that cache is asked for: for each instruction that reads a constant, one request for each place at which threads of the warp read.",
    ),
    count("instruction_count", "Instructions that its warps execute."),
    share("sm_active_share", "The part of the kernel's time in which an SM has a warp at all, averaged over all SMs."),
    share("fp32_peak_share", "Its arithmetic in fp32, against the peak rate; without tensor cores."),
    share("fp64_peak_share", "The same in fp64."),
    fact(
        "flop_per_dram_byte",
        Float,
        KernelProfile,
        Intensive,
        "Operations in fp32 and fp64 for each byte that device memory moves: its arithmetic intensity. Those of tensor cores are not in it.",
    ),
    fact(
        "ridge_flop_per_byte",
        Float,
        KernelProfile,
        Intensive,
        "The arithmetic intensity from which on the peak rate of fp32, no longer device memory, is the roof.",
    ),
    fact(
        "fp32_to_fp64_peak_ratio",
        Float,
        KernelProfile,
        Intensive,
        "How many times the peak rate of fp64 that of fp32 is on this GPU: 2 on data center GPUs, 32 or 64 on most others.",
    ),
    fact(
        "loaded_bytes_per_sector",
        Float,
        KernelProfile,
        Intensive,
        "Bytes of each sector of 32 that loads of global memory ask for: 32 where neighbouring threads read neighbouring addresses.",
    ),
    fact("stored_bytes_per_sector", Float, KernelProfile, Intensive, "The same of stores."),
    share("l1_hit_share", "Requests that the L1 cache answered."),
    share("l2_hit_share", "Requests that the L2 cache answered."),
    count("global_sector_count", "Sectors of 32 bytes that its accesses of global memory moved between L1 and L2."),
    count(
        "excess_sector_count",
        "How many of them would not have been there, had the threads of each warp accessed neighbouring addresses.",
    ),
    share("excess_sector_share", "The same as a part of all."),
    share(
        "coalesced_floor_share",
        "The part of its time that it would still take at the least if all accesses were coalesced: its arithmetic at full speed, or its traffic of device memory, of which what is beyond the sectors that are needed is left out.",
    ),
    count("shared_wavefront_count", "Passes that its accesses of shared memory took."),
    count(
        "excess_wavefront_count",
        "How many of them would not have been there without conflicts between threads over banks.",
    ),
    share("excess_wavefront_share", "The same as a part of all."),
    share(
        "shared_pipe_share",
        "How much of what the pipeline of shared memory can carry in the kernel's time its passes are.",
    ),
    count(
        "local_sector_count",
        "Sectors of 32 bytes that its accesses of local memory moved: registers that did not fit, or arrays of a thread.",
    ),
    share("local_sector_share", "The same as a part of the sectors of local and global memory."),
    count("spill_request_count", "Requests for registers that did not fit and went to local memory."),
    share("tensor_pipe_share", "Cycles in which the tensor cores were active."),
    share("fp64_pipe_share", "Cycles in which the fp64 units were active."),
    share("fma_pipe_share", "Cycles in which the fp32 multiply-add units were active."),
    share(
        "active_thread_share",
        "Threads of a warp that take part in an instruction, on average: the others wait for their branch, or have ended. Where only those that no predicate switches off were counted, they are it.",
    ),
    share("enabled_thread_share", "Threads of a warp that take part and that no predicate switches off, on average."),
    share(
        "uncoalesced_estimate_share",
        "What Nsight Compute's own rules take uncoalesced accesses to cost of the kernel's time: the largest of their estimates for the whole kernel, since they overlap.",
    ),
    share("bank_conflict_estimate_share", "The same of conflicts in shared memory."),
    share("divergence_estimate_share", "The same of divergent warps."),
    share("latency_estimate_share", "The same of warps that wait, whatever they wait for, and of too few of them."),
    share(
        "idle_sm_estimate_share",
        "The same of SMs without work: too few blocks, a partial wave, blocks of unequal length.",
    ),
    share("fp64_estimate_share", "The same of arithmetic in fp64 that fp32 could do."),
];
