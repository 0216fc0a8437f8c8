//! Facts of the replay: what would remain of a step without a cause.

use super::FactType::{Bool, Choice, Float, Int};
use super::Scaling::{Extensive, ExtensiveWithGaps, Incomparable, Intensive, OneTime};
use super::{Fact, fact};
use crate::replay::Change;
use crate::timeline::Capability::{CudaApi, CudaTrace};

pub(super) const REPLAY: &[Fact] = &[
    fact(
        "is_replayed",
        Bool,
        CudaTrace,
        Incomparable,
        "Whether the steady state is played again, so that gains of a step are told.",
    ),
    fact(
        "replay_refused",
        Choice(&["incomplete", "no_calls", "no_steps", "too_long", "unexplained"]),
        CudaApi,
        Incomparable,
        "Why the recording is not played again: a part of what ran is missing from it, it lacks the calls or repeats nothing, one step is too long, or something that it does not hold decided when work began. Absent where it is.",
    ),
    fact(
        "replay_step_ns",
        Int,
        CudaApi,
        Intensive,
        "A step of the part that is played again, in the mean, without what recording its calls costs. What changes could gain is told of it.",
    ),
    fact(
        "replay_least_step_ns",
        Int,
        CudaApi,
        Intensive,
        "The least that such a step takes without the profiler, where recording costs one and a half times what its launches tell.",
    ),
    fact(
        "replay_most_step_ns",
        Int,
        CudaApi,
        Intensive,
        "The most that such a step takes without the profiler, where recording costs 0.6 times what its launches tell; nothing, where operators on the CPU that run for long take longer than launching.",
    ),
    fact("replay_recorded_step_ns", Int, CudaApi, Intensive, "Such a step as recorded."),
    fact(
        "replay_step_count",
        Int,
        CudaApi,
        OneTime,
        "Steps that are played again: a representative part of the steady state.",
    ),
    fact(
        "replay_of_step_count",
        Int,
        CudaApi,
        Extensive,
        "Steps that there are of those: in the steady state; where launches tell them, in the window. Where steps of two kinds follow each other, of the kind that takes more time.",
    ),
    fact(
        "replay_covered_share",
        Float,
        CudaApi,
        Intensive,
        "The part of the window that steps take which are like those that are played again: of the steady state, or of rounds that launches tell, which may be a part of it only.",
    ),
    fact(
        "replay_alike_share",
        Float,
        CudaApi,
        Intensive,
        "What steps take of the time of all that are like those that are played again: where steps of another kind come before or behind them, or single ones take over three times what those around them take, each of which counts as one of those. Absent where that is all.",
    ),
    fact(
        "beside_rounds_kernel_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "How long kernels run beside the rounds that a sequence of launches tells: what those do not hold, a replay of rounds does not win. Absent where ranges tell steps.",
    ),
    fact(
        "replay_distance_share",
        Float,
        CudaApi,
        Intensive,
        "How far a step is from that recorded, in the mean, when it is played again without what the model does not explain.",
    ),
    fact(
        "lower_precision_halves_others",
        Bool,
        CudaApi,
        Incomparable,
        "Whether the most that matrix products in lower precision could gain counts that other kernels move half as much: so where those products take a tenth of the time of kernels.",
    ),
    fact(
        "host_aside_sends_ahead",
        Bool,
        CudaApi,
        Incomparable,
        "Whether what a step could gain without host code counts that copies run beside kernels, as who makes data ahead sends it ahead: so where most of that code makes what it sends from pinned memory.",
    ),
    fact(
        "replay_inner_wait_count",
        Int,
        CudaApi,
        Intensive,
        "How often the host waits for the device between launches of a step, in the mean, with launches before and after in that step. A CUDA graph ends at each such wait.",
    ),
    fact(
        "piece_choice_count",
        Int,
        CudaApi,
        Intensive,
        "How often in a step the host reads back how many elements kernels chose, as a loop over pieces of data makes it. A turn of that loop may choose several times. Absent where fewer than 16 of a step are.",
    ),
    fact(
        "piece_choice_launch_count",
        Int,
        CudaApi,
        Intensive,
        "Calls that launch from one such choice to the next, the median. Absent with that.",
    ),
    fact(
        "piece_step_launch_count",
        Int,
        CudaApi,
        Intensive,
        "Calls that launch in a step with such a loop, those beside it as well. Absent with that.",
    ),
    fact(
        "piece_with_product_count",
        Int,
        CudaApi,
        Intensive,
        "After how many such choices of a step a matrix product is launched before the next, in the mean. Absent with that.",
    ),
    fact(
        "piece_with_value_count",
        Int,
        CudaApi,
        Intensive,
        "After how many such choices of a step the host reads a single value back before the next, beside how many were chosen, in the mean. Absent with that.",
    ),
];

/// Two facts a change: what it is expected to win by itself, and the most, with what is mostly made with it. Differences that may be small: no sums over the work.
pub(super) const GAINS: &[Fact] = &{
    let mut facts = [fact("", Int, CudaApi, OneTime, ""); 2 * Change::ALL.len()];
    let mut index = 0;
    while index < Change::ALL.len() {
        let change = Change::ALL[index];
        facts[2 * index] = fact(change.expected_fact(), Int, CudaApi, OneTime, change.expected_meaning());
        facts[2 * index + 1] = fact(change.ceiling_fact(), Int, CudaApi, OneTime, change.ceiling_meaning());
        index += 1;
    }
    facts
};
