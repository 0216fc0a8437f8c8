//! Facts of what of a recording lies outside of the work of all devices.

use super::FactType::{Bool, Choice, Float, Int, Text};
use super::Scaling::{Extensive, Incomparable, Intensive, OneTime};
use super::{Fact, fact};
use crate::ledger::compiling::COMPILERS;
use crate::timeline::Capability::{CpuSamples, CudaApi, CudaTrace, Nvtx, OsRuntime};

pub(super) const OUTSIDE: &[Fact] = &[
    fact(
        "outside_before_ns",
        Int,
        CudaTrace,
        OneTime,
        "From the first event of any kind to the first operation of any device in its whole window; where a pause parts the window from other work, that lies here or after it.",
    ),
    fact(
        "outside_after_ns",
        Int,
        CudaTrace,
        OneTime,
        "From the last operation of any device in its whole window to the last event of any kind.",
    ),
    fact(
        "pause_ns",
        Int,
        CudaTrace,
        OneTime,
        "A pause of all devices that takes 99 % of the time or more: the side of it that holds more work is the window. Or half of it or more, where nothing of the host was recorded before: what comes behind it is the window.",
    ),
    fact("pause_start_ns", Int, CudaTrace, Incomparable, "When that begins."),
    fact(
        "is_pause_before_record",
        Bool,
        CudaTrace,
        Incomparable,
        "Whether nothing of any thread of the host was recorded before its end.",
    ),
    fact(
        "is_outside_of_first_caller",
        Bool,
        CudaApi,
        Incomparable,
        "Whether what is told of the launching thread there is told of the thread that called CUDA first, as most of that time was not recorded of the launching one.",
    ),
    fact(
        "outside_host_ns",
        Int,
        CudaApi,
        OneTime,
        "How long the launching thread runs host code before the first operation of any device in its whole window, and after the last of all: in no recorded call.",
    ),
    fact(
        "outside_profiler_ns",
        Int,
        CudaApi,
        OneTime,
        "How long the profiler holds that thread up there, as by its own set-up.",
    ),
    fact(
        "outside_unknown_ns",
        Int,
        CudaApi,
        OneTime,
        "The time there before the first thing that was recorded of it, and after the last.",
    ),
    fact(
        "outside_off_cpu_ns",
        Int,
        CudaApi,
        OneTime,
        "How long that thread is off the CPU there, by the scheduler's record, in no call that was recorded.",
    ),
    fact(
        "outside_blocked_call",
        Text,
        OsRuntime,
        Incomparable,
        "The OS call that the launching thread spends most time in there, those of drivers and within CUDA APIs not among them.",
    ),
    fact("outside_blocked_call_ns", Int, OsRuntime, OneTime, "The time in it."),
    fact(
        "outside_call",
        Text,
        CudaApi,
        Incomparable,
        "The CUDA API, or what else sets CUDA up, loads or compiles code, that the launching thread spends most time in there.",
    ),
    fact("outside_call_ns", Int, CudaApi, OneTime, "The time in it."),
    fact(
        "outside_compile_ns",
        Int,
        CudaApi,
        OneTime,
        "How long the launching thread compiles there, whatever it calls meanwhile.",
    ),
    fact(
        "outside_compile_evidence",
        Text,
        CudaApi,
        Incomparable,
        "What gives most of that away: a file, a function, a range or a call. Where it takes longer than each call, it is the outside_call.",
    ),
    fact("outside_compile_by", Choice(&COMPILERS), CudaApi, Incomparable, "Who compiles, told from that."),
    fact(
        "outside_range",
        Text,
        Nvtx,
        Incomparable,
        "The innermost range of that thread that holds at least half of the time there, and none of the window.",
    ),
    fact("outside_range_ns", Int, Nvtx, OneTime, "How much of it."),
    fact("outside_sample_count", Int, CpuSamples, Extensive, "Samples of the launching thread in that host code."),
    fact(
        "outside_function",
        Text,
        CpuSamples,
        Incomparable,
        "The deepest function that at least 25 % of those samples lie in, or in what it calls, not of the system, of CUDA or of an interpreter; of the system where no file tells more.",
    ),
    fact("outside_function_share", Float, CpuSamples, Intensive, "The part of those samples in it."),
    fact(
        "outside_module",
        Text,
        CpuSamples,
        Incomparable,
        "The deepest file that at least 60 % of those samples lie in, or in what it calls: where no function is told, or where one of less than 40 % is and the file is the program itself.",
    ),
    fact("outside_module_share", Float, CpuSamples, Intensive, "The part of those samples in it."),
    fact(
        "is_outside_module_program",
        Bool,
        CpuSamples,
        Incomparable,
        "Whether that file is the program itself, not a library.",
    ),
];
