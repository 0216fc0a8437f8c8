//! Facts of the run and of its processes.

use super::FactType::{Bool, Choice, Int, Text};
use super::{Fact, fact, once, same, span, work};
use crate::source::FORMAT_IDS;
use crate::timeline::Capability::{CudaApi, CudaTrace, Report};

pub(super) const RUN: &[Fact] = &[
    fact("format", Choice(&FORMAT_IDS), Report, "The format of the report."),
    fact(
        "product_version",
        Text,
        Report,
        "The version of the profiler that wrote the export; exporters before 2022 do not say.",
    ),
    fact("schema_version", Text, Report, "The version of the export's schema; exporters before 2022 do not say."),
    span("duration_ns", Int, Report, "From the first to the last event of any kind."),
    same("device_count", Int, Report, "GPUs that ran at least one operation."),
    work("device_compute_max_ns", Int, CudaTrace, "The largest compute_ns of all GPUs; absent when no GPU ran work."),
    work("device_compute_min_ns", Int, CudaTrace, "The smallest compute_ns of all GPUs; absent when no GPU ran work."),
    same("process_count", Int, Report, "Processes that called CUDA or ran work on a GPU."),
    work(
        "gpu_op_count",
        Int,
        Report,
        "Operations recorded on all GPUs: kernels, graph launches, copies, memsets and migrations.",
    ),
    work("kernel_count", Int, Report, "Kernels recorded on all GPUs."),
    work("api_call_count", Int, Report, "CUDA API calls recorded; 0 where the capture holds none."),
    work("range_count", Int, Report, "Annotations recorded that have a duration."),
    work("os_call_count", Int, Report, "OS runtime calls recorded."),
    work("metric_sample_count", Int, Report, "Samples of GPU metrics recorded."),
    fact(
        "cpu_samples_captured",
        Bool,
        Report,
        "Whether the report holds samples of call stacks of the CPU, which coldspot does not read.",
    ),
    fact("is_narrowed", Bool, Report, "Whether the user narrowed the window to a time span or an annotation."),
    work("launch_call_count", Int, CudaApi, "CUDA API calls that launch a kernel or a graph."),
    fact(
        "cuda_trace_requested",
        Bool,
        Report,
        "Whether the capture was set to record CUDA; exporters before 2023 do not say.",
    ),
    work(
        "api_error_count",
        Int,
        CudaApi,
        "CUDA API calls that returned an error; 'not ready' answers of polling calls do not count.",
    ),
    fact("api_error_call", Text, CudaApi, "The API that failed most often; absent when none failed."),
    work("graph_launch_count", Int, Report, "CUDA graph launches recorded as a whole, with their kernels hidden."),
    fact(
        "framework",
        Choice(&["pytorch", "jax", "tensorflow", "cupy", "numba", "julia", "openacc", "openmp", "cuda"]),
        Report,
        "The framework that kernel names, annotations and API use point to; 'cuda' when nothing points elsewhere.",
    ),
    fact("framework_evidence", Text, Report, "The name that gave the framework away; absent for plain CUDA."),
    work(
        "dropped_event_count",
        Int,
        Report,
        "Rows that could not be used: reversed or lost times, ids that refer to nothing, values of the wrong type.",
    ),
    work("unread_row_count", Int, Report, "Rows beyond the limit of rows of a table; absent when none."),
    once("cut_name_count", Int, Report, "Names longer than the limit, whose end was cut off; absent when none."),
    work(
        "merged_name_count",
        Int,
        Report,
        "Mentions of names beyond the limit of different names, taken for one; absent when none.",
    ),
    once("left_out_count", Int, Report, "Processes beyond the first thousand, which have no facts; absent when none."),
    fact("lost_event_notice", Text, Report, "The profiler's own words when it says that events may be missing."),
    fact(
        "driver_notice",
        Text,
        Report,
        "The profiler's own words when it says that the driver or device is not supported.",
    ),
    fact("capture_notice", Text, Report, "The profiler's gravest other warning about the capture of CUDA."),
    fact(
        "device_identity_known",
        Bool,
        Report,
        "Whether it is certain which physical GPU each operation ran on; false when several processes use one CUDA ordinal and the export does not map ordinals to GPUs.",
    ),
];

pub(super) const PROCESS: &[Fact] = &[
    fact("pid", Int, Report, "The process id."),
    fact(
        "name",
        Text,
        Report,
        "The name of the executable, without its folder; absent when the export does not list processes.",
    ),
    fact("api_call_count", Int, CudaApi, "CUDA API calls."),
    fact("launch_call_count", Int, CudaApi, "Calls that launch a kernel or a graph."),
    fact("launch_call_ns", Int, CudaApi, "Time inside calls that launch, summed over threads."),
    fact("sync_call_ns", Int, CudaApi, "Time inside blocking waits, summed over threads."),
    fact("query_call_count", Int, CudaApi, "Calls that poll a stream or an event."),
    fact("allocate_call_count", Int, CudaApi, "Calls that allocate, free or register memory."),
    fact(
        "allocate_call_ns",
        Int,
        CudaApi,
        "Time inside calls that allocate, free or register memory, summed over threads.",
    ),
    fact("thread_count", Int, CudaApi, "Threads that called CUDA."),
];
