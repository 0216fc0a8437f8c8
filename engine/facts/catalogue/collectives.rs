//! Facts of a device that a framework's profiler tells: its collectives, and the memory of its allocator.

use super::FactType::{Float, Int, Text};
use super::Scaling::{Extensive, Incomparable, Intensive};
use super::{Fact, fact};
use crate::timeline::Capability::{AllocatorMemory, CollectiveSizes};

pub(super) const COLLECTIVES: &[Fact] = &[
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
        "The same of kinds that occur twice or more among several ranks, what one rank sends another left out, had each taken as long as the shortest of its kind and size: what the links can do. Absent where these are fewer than 5.",
    ),
    fact(
        "collective_uneven_ns",
        Int,
        CollectiveSizes,
        Extensive,
        "What collectives take longer than the shortest of their kind and size, of kinds that occur 5 times: time in which they wait for other ranks, or share the device and the links.",
    ),
    fact(
        "collective_late_ns",
        Int,
        CollectiveSizes,
        Extensive,
        "The same of collectives beside which no other kernel runs, against the shortest of those: what looks like waiting for ranks that come late.",
    ),
    fact(
        "small_collective_median_ns",
        Int,
        CollectiveSizes,
        Intensive,
        "The median time of those called collective_name that send at most one of 16 bytes of the large ones beside them, nothing computed beside either: where it is near that of the large ones, bytes do not decide how long they take. Absent, as all facts of small and large collectives, where these or large ones of one size, of 1 MiB and more, are fewer than 5.",
    ),
    fact("small_collective_bytes", Int, CollectiveSizes, Intensive, "The bytes of the largest of the small ones."),
    fact(
        "large_collective_median_ns",
        Int,
        CollectiveSizes,
        Intensive,
        "The median time of the large ones of the one size that takes the most time.",
    ),
    fact("large_collective_bytes", Int, CollectiveSizes, Intensive, "The bytes of one of these."),
    fact(
        "tiny_collective_wait_ns",
        Int,
        CollectiveSizes,
        Extensive,
        "Time of collectives of at most 64 KiB that take a millisecond or more with next to nothing computed beside them, of kinds that do not occur 5 times: they wait for late ranks. Absent, as all facts of tiny collectives, where none takes so long.",
    ),
    fact("tiny_collective_longest_ns", Int, CollectiveSizes, Intensive, "The longest of all of them."),
    fact("tiny_collective_bytes", Int, CollectiveSizes, Intensive, "The bytes of that one."),
    fact("tiny_collective_name", Text, CollectiveSizes, Incomparable, "The name of that one."),
    fact(
        "memory_reserved_peak_bytes",
        Int,
        AllocatorMemory,
        Intensive,
        "The most memory that the framework's allocator held of this device in the recording.",
    ),
    fact("memory_allocated_peak_bytes", Int, AllocatorMemory, Intensive, "The most of it that was in use."),
];
