//! Facts of how well a device was used: SMs, streams, sampled metrics.

use super::FactType::{Choice, Float, Int, Text};
use super::Scaling::{Extensive, Incomparable, Intensive, OneTime};
use super::{Fact, fact};
use crate::timeline::Capability::{CudaApi, CudaTrace, DeviceInfo, GpuMetrics};

pub(super) const USE: &[Fact] = &[
    fact(
        "underfilled_kernel",
        Text,
        DeviceInfo,
        Incomparable,
        "The kernel that most of underfilled_ns goes to; absent when there is none.",
    ),
    fact("underfilled_kernel_ns", Int, DeviceInfo, Extensive, "How much of underfilled_ns goes to that kernel."),
    fact(
        "sm_active_share",
        Float,
        CudaTrace,
        Intensive,
        "The part of the device's SMs that had work while kernels ran: sampled where GPU metrics were captured, else derived from grids. Where no sample's period falls on kernels alone, as they are short, it is what the samples of the window hold by the part of it in which kernels run.",
    ),
    fact(
        "sm_active_source",
        Choice(&["sampled", "derived"]),
        CudaTrace,
        Incomparable,
        "Where sm_active_share comes from.",
    ),
    fact(
        "derived_sm_active_share",
        Float,
        DeviceInfo,
        Intensive,
        "Derived from launch geometry: over compute time, the part of SMs that can have a block, tails of the last wave taken off. Absent when the kernels whose grid is known run for less than half of the time, as when most are hidden in graphs. sm_active_share is this where nothing was sampled.",
    ),
    fact(
        "narrow_loss_ns",
        Int,
        DeviceInfo,
        Extensive,
        "What filling the device could win of launches with fewer blocks than it has SMs, if nothing runs beside them: the sum of one_block_loss_ns and small_grid_loss_ns, without kernels whose launches of many blocks take at least 80 % of the median of those of few.",
    ),
    fact(
        "tail_effect_sm_ns",
        Int,
        DeviceInfo,
        Extensive,
        "Derived: compute time times the share of the SMs left empty by the last wave of grids that do fill the device.",
    ),
    fact(
        "theoretical_occupancy_share",
        Float,
        DeviceInfo,
        Intensive,
        "Warps that registers, shared memory and block size allow on an SM, against its limit, weighted by kernel time. The kernels have their own; this one is for budgets.",
    ),
    fact(
        "single_warp_kernel_ns",
        Int,
        CudaTrace,
        Extensive,
        "Time of kernels launched with a single block of at most 32 threads. Serial code that runs on the device.",
    ),
];

pub(super) const STREAMS: &[Fact] = &[
    fact("active_stream_count", Int, CudaTrace, Intensive, "Streams that ran kernels, copies or graphs."),
    fact(
        "active_created_stream_count",
        Int,
        CudaTrace,
        Intensive,
        "The same without default streams, which nobody creates.",
    ),
    fact("kernel_stream_count", Int, CudaTrace, Intensive, "Streams that ran kernels or graphs."),
    fact(
        "thread_stream_count",
        Int,
        CudaApi,
        Intensive,
        "The most streams that one thread is the first to launch kernels or graphs to; absent where no thread is known.",
    ),
    fact(
        "created_stream_count",
        Int,
        CudaApi,
        OneTime,
        "Calls that created a stream in the processes of this device, as far as the capture saw them.",
    ),
    fact(
        "default_stream_kernel_share",
        Float,
        CudaTrace,
        Intensive,
        "The part of kernel time on the legacy default stream; absent when the export does not tell which stream that is.",
    ),
    fact("default_stream_copy_count", Int, CudaTrace, Extensive, "Copies on that stream; absent as that part is."),
    fact("default_stream_memset_count", Int, CudaTrace, Extensive, "Memsets on that stream; absent as that part is."),
    fact(
        "blocking_stream_count",
        Int,
        CudaTrace,
        Intensive,
        "Created streams that wait for the legacy default stream, and it for them, and that ran kernels, copies or graphs; absent when the export does not tell the kinds of streams.",
    ),
    fact("concurrent_stream_ns", Int, CudaTrace, Extensive, "Time in which operations of two or more streams run."),
    fact("concurrent_kernel_ns", Int, CudaTrace, Extensive, "Time in which kernels of two or more streams run."),
];

pub(super) const METRICS: &[Fact] = &[
    fact(
        "sampled_sm_active_share",
        Float,
        GpuMetrics,
        Intensive,
        "SMs Active, averaged over the samples whose whole period falls on time in which kernels run; absent when those are fewer than 10. sm_active_share is this where it is there.",
    ),
    fact(
        "sampled_sm_active_window_share",
        Float,
        GpuMetrics,
        Intensive,
        "SMs Active, averaged over all samples in the window.",
    ),
    fact(
        "unrecorded_busy_ns",
        Int,
        GpuMetrics,
        Extensive,
        "How much longer than busy_ns SMs are active in the window, by at least 20 samples: so long, at least, the GPU does work that is not in the report.",
    ),
    fact(
        "sampled_sm_issue_share",
        Float,
        GpuMetrics,
        Intensive,
        "SM Issue, averaged over the samples whose whole period falls on time in which kernels run. Low beside a high sampled_sm_active_share, it says that warps wait.",
    ),
    fact(
        "sampled_tensor_active_share",
        Float,
        GpuMetrics,
        Intensive,
        "Tensor Active, averaged over the samples whose whole period falls on time in which kernels run. Low in matrix kernels, it says that tensor cores wait.",
    ),
    fact(
        "sampled_gr_active_window_share",
        Float,
        GpuMetrics,
        Intensive,
        "GR Active, averaged over all samples in the window. To check busy_ns against, which is traced.",
    ),
    fact(
        "sampled_dram_share",
        Float,
        GpuMetrics,
        Intensive,
        "DRAM bandwidth, read and write together, averaged over the samples whose whole period falls on time in which kernels run.",
    ),
    fact(
        "sampled_pcie_rx_share",
        Float,
        GpuMetrics,
        Intensive,
        "PCIe RX throughput, averaged over all samples in the window.",
    ),
    fact(
        "sampled_pcie_tx_share",
        Float,
        GpuMetrics,
        Intensive,
        "PCIe TX throughput, averaged over all samples in the window.",
    ),
    fact(
        "sampled_clock_mean_mhz",
        Float,
        GpuMetrics,
        Intensive,
        "GPC clock, averaged over the samples whose whole period falls on time in which kernels run.",
    ),
    fact("sampled_clock_max_mhz", Float, GpuMetrics, Intensive, "The highest GPC clock of those samples."),
    fact("metric_sample_count", Int, GpuMetrics, Extensive, "Samples of SMs Active in the window."),
];
