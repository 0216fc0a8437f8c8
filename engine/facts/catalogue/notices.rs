//! Facts of the run about what the profiler says of its own capture.

use super::FactType::Text;
use super::Scaling::Incomparable;
use super::{Fact, fact};
use crate::timeline::Capability::Report;

pub(super) const NOTICES: &[Fact] = &[
    fact(
        "lost_event_notice",
        Text,
        Report,
        Incomparable,
        "The profiler's own words when it says that events may be missing; of a trace of the PyTorch Profiler or a page of Nsight Compute what shows that.",
    ),
    fact(
        "driver_notice",
        Text,
        Report,
        Incomparable,
        "The profiler's own words when it says that the driver or device is not supported.",
    ),
    fact(
        "capture_notice",
        Text,
        Report,
        Incomparable,
        "The profiler's gravest other warning about the capture of CUDA.",
    ),
    fact(
        "older_cuda_runtime",
        Text,
        Report,
        Incomparable,
        "The version of CUDA's runtime in a recording without kernels, where the driver is of a later major version. The PyTorch Profiler records with the library (CUPTI) that comes with the runtime, which may not know such a driver.",
    ),
    fact("newer_cuda_driver", Text, Report, Incomparable, "The newest version of CUDA that this driver knows."),
    fact(
        "unified_memory_notice",
        Text,
        Report,
        Incomparable,
        "The profiler's own words when it says that it could not record unified memory.",
    ),
];
