//! Facts of the run about what could not be used of a report, and what lies beyond the limits.

use super::FactType::Int;
use super::Scaling::{Extensive, Intensive, OneTime};
use super::{Fact, fact};
use crate::timeline::Capability::Report;

pub(super) const LEFT_OUT: &[Fact] = &[
    fact(
        "dropped_event_count",
        Int,
        Report,
        Extensive,
        "Rows that could not be used: reversed or lost times, ids that refer to nothing, values of the wrong type.",
    ),
    fact("unread_row_count", Int, Report, Extensive, "Rows beyond the limit of rows of a table; absent when none."),
    fact(
        "untimed_launch_count",
        Int,
        Report,
        Extensive,
        "Launches that Nsight Compute profiled, and whose page does not tell how long they took, or not in a number that can be: their time is in no sum. Absent when none.",
    ),
    fact(
        "uncounted_launch_count",
        Int,
        Report,
        Extensive,
        "Launches of which Nsight Compute was asked for counters of the hardware, and has none to print: the GPU's counters could not be read. Absent when none.",
    ),
    fact(
        "truncated_name_count",
        Int,
        Report,
        OneTime,
        "Names longer than the limit, whose end was cut off; absent when none.",
    ),
    fact(
        "merged_name_count",
        Int,
        Report,
        Extensive,
        "Mentions of names beyond the limit of different names, taken for one; absent when none.",
    ),
    fact(
        "merged_thread_count",
        Int,
        Report,
        Extensive,
        "Mentions of threads and streams beyond the limits, taken for no thread or for another stream; absent when none.",
    ),
    fact(
        "omitted_entity_count",
        Int,
        Report,
        OneTime,
        "Processes beyond the first thousand, which have no facts; absent when none.",
    ),
    fact(
        "omitted_device_count",
        Int,
        Report,
        Intensive,
        "GPUs beyond the limit of GPUs, which are left out with all that ran on them; absent when none.",
    ),
];
