//! Facts of the processes of a run.

use super::FactType::{Int, Text};
use super::Scaling::{Extensive, Incomparable, Intensive};
use super::{Fact, fact};
use crate::timeline::Capability::{CudaApi, Report};

pub(super) const PROCESS: &[Fact] = &[
    fact("pid", Int, Report, Incomparable, "The process id."),
    fact(
        "name",
        Text,
        Report,
        Incomparable,
        "The name of the executable, without its folder; absent when the export does not list processes.",
    ),
    fact("api_call_count", Int, CudaApi, Extensive, "CUDA API calls."),
    fact(
        "launch_call_count",
        Int,
        CudaApi,
        Extensive,
        "Calls that launch a kernel or a graph. Against other processes, how evenly work is spread.",
    ),
    fact(
        "launch_call_ns",
        Int,
        CudaApi,
        Extensive,
        "Time inside calls that launch, summed over threads. What launching costs the host, busy device or not.",
    ),
    fact(
        "sync_call_ns",
        Int,
        CudaApi,
        Extensive,
        "Time inside blocking waits, summed over threads. What waiting costs the host, busy device or not.",
    ),
    fact(
        "query_call_count",
        Int,
        CudaApi,
        Extensive,
        "Calls that poll a stream or an event. What polling there is, busy device or not.",
    ),
    fact(
        "allocate_call_count",
        Int,
        CudaApi,
        Extensive,
        "Calls that allocate, free or register memory. What there is of it, busy device or not.",
    ),
    fact(
        "allocate_call_ns",
        Int,
        CudaApi,
        Extensive,
        "Time inside calls that allocate, free or register memory, summed over threads. What it costs the host, busy device or not.",
    ),
    fact("thread_count", Int, CudaApi, Intensive, "Threads that called CUDA. With more than one, calls may contend."),
];
