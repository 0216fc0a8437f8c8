//! Facts of a device that a framework's profiler tells: its optimizer, its collectives, its memory.

use super::FactType::{Float, Int, Text};
use super::Scaling::{Extensive, ExtensiveWithGaps, Incomparable, Intensive};
use super::{Fact, fact};
use crate::timeline::Capability::{AllocatorMemory, CollectiveSizes, Nvtx};

pub(super) const TORCH: &[Fact] = &[
    fact(
        "optimizer_step_count",
        Int,
        Nvtx,
        Extensive,
        "Steps of optimizers, by the ranges `Optimizer.step#` of PyTorch; absent, as all facts of optimizers, where none launches a kernel.",
    ),
    fact("optimizer_name", Text, Nvtx, Incomparable, "The first optimizer, as PyTorch calls its class."),
    fact("optimizer_kernel_count", Int, Nvtx, Extensive, "Kernels that are launched in these steps."),
    fact(
        "optimizer_joint_kernel_count",
        Int,
        Nvtx,
        Extensive,
        "Those of them that update many parameters at once, by their names.",
    ),
    fact("optimizer_kernel_sum_ns", Int, Nvtx, Extensive, "Durations of all these kernels, summed."),
    fact(
        "idle_optimizer_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Idle time of the device while the launching thread is in a step of an optimizer.",
    ),
    fact(
        "collective_count",
        Int,
        CollectiveSizes,
        Extensive,
        "Communication kernels whose size is known; absent, as all facts of collectives, where none is.",
    ),
    fact("collective_name", Text, CollectiveSizes, Incomparable, "The collective that takes most of the time."),
    fact(
        "collective_bytes",
        Int,
        CollectiveSizes,
        Extensive,
        "Bytes of the larger of input and output of a rank, all of them together.",
    ),
    fact("collective_group_count", Int, CollectiveSizes, Intensive, "Ranks of the largest group."),
    fact(
        "collective_bus_gb_per_s",
        Float,
        CollectiveSizes,
        Intensive,
        "Bus bandwidth, as the tests of NCCL count it, of collectives of 1 MiB and more, over the time of their kernels: the wait for late ranks is in it.",
    ),
    fact(
        "collective_best_bus_gb_per_s",
        Float,
        CollectiveSizes,
        Intensive,
        "The same, had each taken as long as the shortest of its kind and size: what the links can do.",
    ),
    fact(
        "collective_uneven_ns",
        Int,
        CollectiveSizes,
        Extensive,
        "What collectives take longer than the shortest of their kind and size, of kinds that occur 5 times: time in which they wait for other ranks, or share the device and the links.",
    ),
    fact(
        "memory_reserved_peak_bytes",
        Int,
        AllocatorMemory,
        Intensive,
        "The most memory that the framework's allocator held of this device in the recording.",
    ),
    fact("memory_allocated_peak_bytes", Int, AllocatorMemory, Intensive, "The most of it that was in use."),
];
