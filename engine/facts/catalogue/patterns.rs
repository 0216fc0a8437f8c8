//! Facts of a device: patterns in what it ran and in what the host called for it.

use super::FactType::{Float, Int, Text};
use super::Scaling::{Extensive, ExtensiveWithGaps, Incomparable, Intensive, OneTime};
use super::{Fact, fact};
use crate::timeline::Capability::{CudaApi, CudaTrace, Nvtx};

/// Work that is cut too fine.
pub(super) const FINE_WORK: &[Fact] = &[
    fact("small_upload_count", Int, CudaTrace, Extensive, "Copies to the device of at most 64 KiB."),
    fact(
        "fine_work_count",
        Int,
        CudaTrace,
        Extensive,
        "Operations in rows of at least 20 short ones, none further than 50 us from the one before: kernels and memsets of at most 10 us, and copies of at most 64 KiB, one in five of them or more between host and device, or half of them or more within the device.",
    ),
    fact("fine_work_ns", Int, CudaTrace, Extensive, "Length of those rows together."),
    fact("fine_work_idle_ns", Int, CudaTrace, Extensive, "Time in them in which nothing runs."),
    fact("fine_kernel_count", Int, CudaTrace, Extensive, "Kernels in them."),
    fact(
        "fine_copy_count",
        Int,
        CudaTrace,
        Extensive,
        "Copies between host and device in them; those within the device too in rows that are mostly these.",
    ),
    fact("fine_copy_bytes", Int, CudaTrace, Extensive, "Bytes of those copies."),
    fact("fine_device_copy_count", Int, CudaTrace, Extensive, "Of them those that stay within the device."),
    fact(
        "fine_device_copy_bytes",
        Int,
        CudaTrace,
        Extensive,
        "Bytes of the copies in them that stay within the device.",
    ),
    fact("fine_copy_exposed_ns", Int, CudaTrace, Extensive, "Time in which those copies run and no kernel does."),
    fact("fine_device_copy_exposed_ns", Int, CudaTrace, Extensive, "The same of those that stay within the device."),
    fact("fine_copy_median_bytes", Int, CudaTrace, Intensive, "The median size of those copies; absent without any."),
    fact("fine_work_longest_ns", Int, CudaTrace, OneTime, "The longest row; absent without any."),
    fact("fine_work_longest_start_ns", Int, CudaTrace, Incomparable, "When it begins; absent without any."),
];

/// Matrix products that a loop launches one by one.
pub(super) const PRODUCT_ROWS: &[Fact] = &[
    fact(
        "product_row_kernel_count",
        Int,
        CudaTrace,
        Extensive,
        "Kernels in rows in which the same one to eight kernels come at least 16 times in a stream, one turn right behind the other, a matrix product among them, those of PyTorch's backward pass left out; absent, as all facts of these rows, without any.",
    ),
    fact("product_row_repeat_count", Int, CudaTrace, Intensive, "How often they come in the longest of these rows."),
    fact("product_row_period_count", Int, CudaTrace, Intensive, "Kernels of one turn of it."),
    fact(
        "same_turn_count",
        Int,
        CudaTrace,
        Extensive,
        "Turns in rows in which the same nine or more kernels, each with the same grid, come at least eight times in a stream, one turn right behind the other; of turns of several lengths those that hold most kernels. Absent without any.",
    ),
    fact("same_turn_kernel_count", Int, CudaTrace, Intensive, "Kernels of one of these turns; absent without any."),
    fact(
        "optimizer_turn_count",
        Int,
        Nvtx,
        Extensive,
        "The same among the kernels that steps of optimizers launch, each row within one step; absent without any.",
    ),
    fact("optimizer_turn_kernel_count", Int, Nvtx, Intensive, "Kernels of one of these turns; absent without any."),
    fact(
        "optimizer_turn_product_count",
        Int,
        Nvtx,
        Intensive,
        "Matrix products among them; absent without any such turn.",
    ),
];

/// Sorts of libraries.
pub(super) const SORTS: &[Fact] = &[
    fact(
        "sort_kernel_launch_count",
        Int,
        CudaTrace,
        Extensive,
        "Launches of kernels of sorts, by the names that CUB (which Thrust, CuPy and cuDF call) and PyTorch give them; absent, as the time, without any.",
    ),
    fact(
        "random_number_kernel_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time that kernels own with which cuRAND makes the numbers of a generator (`gen_sequenced`), as attributed_ns of kernels. Absent without any.",
    ),
    fact("sort_kernel_ns", Int, CudaTrace, Extensive, "Time that they own, as attributed_ns of kernels."),
    fact(
        "sort_operator",
        Text,
        Nvtx,
        Incomparable,
        "The operator that launches most of these kernels, where it is known to sort; of such operators within each other the outermost.",
    ),
    fact("sort_operator_launch_count", Int, Nvtx, Extensive, "Operations of the GPU that it launches."),
    fact(
        "sort_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time of all that this operator launches, each by itself, without what fills the gradient of a whole table; where none is known, sort_kernel_ns.",
    ),
    fact(
        "sort_kernel_round_share",
        Float,
        CudaTrace,
        Intensive,
        "The part of the median of the rounds that repeat in which they run; absent where nothing repeats.",
    ),
];

/// Matrices that are factorised.
pub(super) const FACTORIZATIONS: &[Fact] = &[
    fact(
        "factorization_operator",
        Text,
        Nvtx,
        Incomparable,
        "The operator of PyTorch that factorises matrices, such as `aten::linalg_inv` or `aten::linalg_cholesky`, called most often of those whose work this device does; of such operators within each other the outermost. Absent, as the facts of it, without any.",
    ),
    fact("factorization_count", Int, Nvtx, Extensive, "Calls of such operators that launch work of the window."),
    fact("factorization_kernel_ns", Int, Nvtx, Extensive, "Time of the kernels that they launch, each by itself."),
    fact(
        "factorization_ns",
        Int,
        Nvtx,
        Extensive,
        "Time of the window in which the host is in such a call, or something runs that one launched: a union.",
    ),
];

/// The program's own ranges by what they launch.
pub(super) const WORK_RANGES: &[Fact] = &[
    fact(
        "work_range",
        Text,
        Nvtx,
        Incomparable,
        "Of the two of the program's own ranges that launched most of what the device does, however deep, and came more than once, the one that takes more of its time, its idle time in it among that; steps and what holds all are left out. Absent without any.",
    ),
    fact("work_range_share", Float, Nvtx, Intensive, "Its part of the durations of all operations."),
    fact("work_range_count", Int, Nvtx, Extensive, "How often it came."),
    fact(
        "work_range_span_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Durations of what it launched, and the device's idle time in it, summed.",
    ),
    fact("work_second_range", Text, Nvtx, Incomparable, "The other one; one may lie in the other."),
    fact("work_second_range_share", Float, Nvtx, Intensive, "Its part of the durations of all operations."),
    fact("work_second_range_count", Int, Nvtx, Extensive, "How often it came."),
    fact(
        "work_second_range_span_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Durations of what it launched, and the device's idle time in it, summed.",
    ),
];

/// Chains of element-wise kernels.
pub(super) const CHAINS: &[Fact] = &[
    fact(
        "chain_count",
        Int,
        CudaTrace,
        Extensive,
        "How often element-wise kernels follow one another in a stream on grids of one size: three or more, or two that come again where the second is a function of each element; with sums of rows, copies and memsets between them. Kernels that an optimizer launches are none.",
    ),
    fact(
        "chain_kernel_count",
        Int,
        CudaTrace,
        Extensive,
        "Kernels in these chains; absent, as what follows, without any.",
    ),
    fact("chain_reduction_count", Int, CudaTrace, Extensive, "Those of them that sum up rows, or find their largest."),
    fact("chain_sum_ns", Int, CudaTrace, Extensive, "How long all operations of these chains run."),
    fact(
        "chain_spare_ns",
        Int,
        CudaTrace,
        Extensive,
        "The same without the longest of each chain, of chains in which that takes 10 us or more.",
    ),
    fact(
        "chain_normalization_ns",
        Int,
        CudaTrace,
        Extensive,
        "What of chain_sum_ns chains take that are normalizations by their names: sums of rows, and the reciprocal of a square root.",
    ),
    fact(
        "chain_attention_ns",
        Int,
        CudaTrace,
        Extensive,
        "What of it chains take that lie between two matrix products, with exponentials and two reductions of rows among them: attention.",
    ),
    fact(
        "chain_kernels",
        Text,
        CudaTrace,
        Incomparable,
        "The kernels of the chain with most of chain_spare_ns, in their order.",
    ),
    fact(
        "chain_operators",
        Text,
        Nvtx,
        Incomparable,
        "The innermost operators of a framework that launch the most of all chains, by time, the first the most: as few as hold 80 % of it, at most five. Absent without operators, and where they hold less than 60 %.",
    ),
    fact("chain_kernels_repeat_count", Int, CudaTrace, Extensive, "How often that one comes."),
];

/// Rounds of calls.
pub(super) const CALL_ROUNDS: &[Fact] = &[
    fact(
        "call_round_count",
        Int,
        CudaApi,
        Extensive,
        "How often the thread that launches most work repeats the same 3 to 24 calls; absent, as all facts of rounds, when it does not do so at least 50 times.",
    ),
    fact("call_round_call_count", Int, CudaApi, Intensive, "Calls of a round."),
    fact("call_round_calls", Text, CudaApi, Incomparable, "Their names, in order."),
    fact("call_round_launch_count", Int, CudaApi, Intensive, "Launches among them."),
    fact("call_round_allocation_count", Int, CudaApi, Intensive, "Calls among them that allocate or free memory."),
    fact("call_round_free_count", Int, CudaApi, Intensive, "Calls among them that free memory."),
    fact("call_round_wait_count", Int, CudaApi, Intensive, "Waits and blocking copies among them."),
    fact("call_round_call_ns", Int, CudaApi, Extensive, "Host time in these calls, all rounds together."),
    fact("call_round_longest_call", Text, CudaApi, Incomparable, "The API among them that takes the most of it."),
    fact("call_round_longest_call_ns", Int, CudaApi, Extensive, "Host time in its calls."),
    fact("call_round_longest_call_count", Int, CudaApi, Extensive, "Its calls, all rounds together."),
    fact(
        "call_round_longest_call_main_count",
        Int,
        CudaApi,
        Extensive,
        "How many of them, the longest first, hold nine tenths of that time.",
    ),
    fact(
        "call_round_pool_call_count",
        Int,
        CudaApi,
        Extensive,
        "Those among them that take memory from a pool (`cudaMallocAsync`), all rounds together; absent, as the other facts of these, without any.",
    ),
    fact("call_round_pool_call_ns", Int, CudaApi, Extensive, "Host time in these."),
    fact(
        "call_round_pool_call_main_count",
        Int,
        CudaApi,
        Extensive,
        "How many of them, the longest first, hold nine tenths of that time: these ask the driver, the pool gives the others what it holds.",
    ),
    fact("call_round_ns", Int, CudaApi, ExtensiveWithGaps, "From the first of them to the last."),
    fact(
        "call_round_call_idle_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "Time inside these calls in which the device runs nothing, loading of code left out.",
    ),
    fact(
        "call_round_init_idle_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of that in calls that set up: of streams, events, graphs, library handles.",
    ),
    fact("call_round_idle_ns", Int, CudaApi, ExtensiveWithGaps, "Time in between in which the device runs nothing."),
    fact("call_round_start_ns", Int, CudaApi, Incomparable, "When the first of them begins."),
    fact(
        "set_up_round_count",
        Int,
        CudaApi,
        Extensive,
        "Steps of the steady state in which the host makes or destroys streams, events, graphs or library handles, or else sets up; absent where fewer than nine tenths of them have such calls. Calls that only ask are none.",
    ),
    fact("set_up_round_call_count", Int, CudaApi, Extensive, "The calls in them that do so."),
    fact(
        "set_up_round_calls",
        Text,
        CudaApi,
        Incomparable,
        "Which calls those are, with how many a step has: `4 cudaStreamCreate, 4 cudaStreamDestroy`.",
    ),
    fact(
        "set_up_round_idle_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "Time inside these calls in which the device runs nothing, loading of code left out.",
    ),
];

/// Data that goes to the device and comes back.
pub(super) const ROUND_TRIPS: &[Fact] = &[
    fact(
        "round_trip_copy_count",
        Int,
        CudaTrace,
        Extensive,
        "Copies of 1 MB and more between pageable memory and the device, of sizes that go both ways at least three times.",
    ),
    fact("round_trip_bytes", Int, CudaTrace, Extensive, "Bytes of those copies."),
    fact("round_trip_exposed_ns", Int, CudaTrace, Extensive, "Time in which they run and no kernel does."),
    fact(
        "round_trip_idle_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "Idle time right before and right after these copies, where it is at most ten times as long as they are, in which the host waits, is in a copy call, launches what comes next, or runs code of its own: it works on what came back and goes there again; with round_trip_unknown_idle_ns.",
    ),
    fact(
        "round_trip_host_idle_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of round_trip_idle_ns in which the host runs code of its own, which is also a part of idle_host_ns.",
    ),
    fact(
        "round_trip_unknown_idle_ns",
        Int,
        CudaApi,
        ExtensiveWithGaps,
        "The part of round_trip_idle_ns of which the capture does not say what the host did, in stretches that are no longer than the copies beside them.",
    ),
    fact(
        "round_trip_size_bytes",
        Int,
        CudaTrace,
        Intensive,
        "The size that moves most of these bytes; absent without any.",
    ),
    fact("round_trip_size_count", Int, CudaTrace, Extensive, "How often it goes both ways; absent without any."),
    fact(
        "round_trip_first_start_ns",
        Int,
        CudaTrace,
        Incomparable,
        "When the first copy of that size begins; absent without any.",
    ),
    fact(
        "host_optimizer_step_count",
        Int,
        Nvtx,
        Extensive,
        "Steps of optimizers within the window, by the ranges `Optimizer.step#` of PyTorch or those that a program calls after such a step, where none of them launches anything on the device but copies: they work in the memory of the host. Absent without any.",
    ),
    fact("host_optimizer_name", Text, Nvtx, Incomparable, "The first of these optimizers, as PyTorch calls its class."),
    fact(
        "host_optimizer_idle_ns",
        Int,
        Nvtx,
        ExtensiveWithGaps,
        "Idle time of the device while the thread that launches is in one of them, and runs host code, launches copies or waits for these.",
    ),
];

/// Collectives that could be one.
pub(super) const COLLECTIVE_ROWS: &[Fact] = &[
    fact(
        "collective_row_count",
        Int,
        CudaTrace,
        Extensive,
        "Communication kernels that follow one another, 16 or more of them, with no more than one other kernel between two; absent without communication.",
    ),
    fact(
        "collective_row_idle_ns",
        Int,
        CudaTrace,
        ExtensiveWithGaps,
        "Time from the begin of the first of such a row to the end of its last in which the device runs nothing.",
    ),
    fact("collective_row_exposed_ns", Int, CudaTrace, Extensive, "Time in which they run and no other kernel does."),
];
