//! Facts of the run about calls that failed.

use super::FactType::{Bool, Choice, Int, Text};
use super::Scaling::{Extensive, Incomparable};
use super::{Fact, fact};
use crate::timeline::Capability::{CudaApi, Nvtx};
use crate::timeline::api::{FAILURE_TEXTS, Failure};

pub(super) const FAILURES: &[Fact] = &[
    fact(
        "api_error_count",
        Int,
        CudaApi,
        Extensive,
        "CUDA API calls that returned an error; 'not ready' answers of polling calls do not count, nor errors that end all that a context does (kernel_error_call), nor what calls after the last work of a program are told of a context that is gone. Absent in traces of the PyTorch Profiler, which do not say what calls return.",
    ),
    fact("api_error_call", Text, CudaApi, Incomparable, "The API that failed most often; absent when none failed."),
    fact("api_error_call_count", Int, CudaApi, Extensive, "How often it failed with the error that it returned most."),
    fact(
        "api_error_name",
        Text,
        CudaApi,
        Incomparable,
        "What CUDA calls that error, such as 'out of memory'; absent for an error that seldom occurs.",
    ),
    fact(
        "failed_launch_start_ns",
        Int,
        CudaApi,
        Incomparable,
        "When the first call began that should launch work and returned an error; absent where none did.",
    ),
    fact(
        "kernel_before_failed_launch",
        Text,
        CudaApi,
        Incomparable,
        "The kernel that the thread of that call had launched last; absent where there is none.",
    ),
    fact(
        "failed_launch_range",
        Text,
        Nvtx,
        Incomparable,
        "The innermost range that it lies in; absent where none does.",
    ),
    fact(
        "refused_call",
        Text,
        CudaApi,
        Incomparable,
        "The API that only makes other work faster, such as `cudaMemPrefetchAsync`, and failed most often; absent when none failed.",
    ),
    fact("refused_call_count", Int, CudaApi, Extensive, "How often it failed with the error that it returned most."),
    fact("refused_call_error", Text, CudaApi, Incomparable, "What CUDA calls that error."),
    fact(
        "kernel_error_call",
        Text,
        CudaApi,
        Incomparable,
        "The API that was the first to return an error which ends all that a context does, as where a kernel accessed an illegal address; absent where none did.",
    ),
    fact("kernel_error_name", Text, CudaApi, Incomparable, "What CUDA calls that error."),
    fact("kernel_error_start_ns", Int, CudaApi, Incomparable, "When that call began."),
    fact(
        "succeeds_after_kernel_error",
        Bool,
        CudaApi,
        Incomparable,
        "Whether calls that need a context succeed after that call returned: another context works on, of another GPU or process, or after a reset.",
    ),
    fact("kernel_failure", Choice(&FAILURE_TEXTS), CudaApi, Incomparable, "What that error says, in a sentence."),
    fact("kernel_failure_kind", Choice(&Failure::NAMES), CudaApi, Incomparable, "Of which kind that is."),
    fact(
        "out_of_memory_count",
        Int,
        CudaApi,
        Extensive,
        "CUDA API calls that returned 'out of memory'; absent when none did.",
    ),
];
