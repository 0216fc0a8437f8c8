//! Facts of a device: what a framework's compiler made.

use super::FactType::{Int, Text};
use super::Scaling::{Extensive, ExtensiveWithGaps, Incomparable, Intensive};
use super::{Fact, fact};
use crate::timeline::Capability::{CallStacks, Nvtx};

/// What `torch.compile` made, and what runs beside it.
pub(super) const COMPILED: &[Fact] = &[
    fact(
        "compiled_region_count",
        Int,
        Nvtx,
        Extensive,
        "How often code of `torch.compile` is entered within the steps of the steady state, by the ranges `Torch-Compiled Region`; in the whole recording where no steps are known. Without any, the other facts of them are absent.",
    ),
    fact(
        "recompiled_version_count",
        Int,
        Nvtx,
        Extensive,
        "Versions of one function that run as compiled beside the one that was compiled first, of the function with the most, in the whole recording, by the numbers of `Torch-Compiled Region: 0/3`; absent without any.",
    ),
    fact(
        "compiled_graph_count",
        Int,
        Nvtx,
        Extensive,
        "How often a graph that `torch.compile` made runs, forward or backward, in the whole recording, by the ranges `## Call CompiledFxGraph`, or `CompiledFunction` and its backward in older releases; absent without any.",
    ),
    fact(
        "compiled_function_count",
        Int,
        Nvtx,
        Intensive,
        "Different functions of the program, or parts of one between graph breaks, that were compiled, of those that are entered.",
    ),
    fact(
        "recompiled_function_count",
        Int,
        Nvtx,
        Intensive,
        "Those of them that are entered as they were compiled a second time or later.",
    ),
    fact(
        "graph_break_run_count",
        Int,
        Nvtx,
        Extensive,
        "How often compiled code is left there for another piece of compiled code, which it enters before it ends: behind a graph break.",
    ),
    fact(
        "idle_between_compiled_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Idle time of the device between two compiled graphs, forward or backward, that one thread runs in one step, while no other thread runs one.",
    ),
    fact(
        "compiled_lookup_count",
        Int,
        Nvtx,
        Extensive,
        "How often `torch.compile` looks for compiled code that fits, within the steps of the steady state.",
    ),
    fact(
        "eager_lookup_count",
        Int,
        Nvtx,
        Extensive,
        "How often it then runs the function in eager mode; absent where it looks for none.",
    ),
    fact(
        "graph_break_count",
        Int,
        CallStacks,
        Intensive,
        "Lines at which `torch.compile` leaves compiled code, by the functions in which it goes on behind them (`torch_dynamo_resume_in_…`); absent without any.",
    ),
    fact(
        "graph_break_place",
        Text,
        CallStacks,
        Incomparable,
        "The first of these lines by file and number, as `layers.py:118 (forward)`.",
    ),
];
