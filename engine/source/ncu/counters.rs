//! Which columns and rows of a report are which counter.

use super::number::Kind;
use crate::timeline::Counter;

/// The metrics of the page `raw`, by their names. Of several for one counter the first that is there counts.
pub(super) const METRICS: &[(&str, Counter)] = &[
    ("gpu__time_duration.sum", Counter::Duration),
    ("gpu__time_duration.avg", Counter::Duration),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", Counter::Compute),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", Counter::Memory),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", Counter::Dram),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", Counter::Dram),
    ("l1tex__throughput.avg.pct_of_peak_sustained_elapsed", Counter::L1),
    ("l1tex__throughput.avg.pct_of_peak_sustained_active", Counter::L1),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", Counter::L2),
    ("dram__bytes_read.sum", Counter::DramReadBytes),
    ("dram__bytes_write.sum", Counter::DramWrittenBytes),
    ("dram__bytes.sum.per_second", Counter::DramBytesPerSecond),
    ("lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum", Counter::HostSectors),
    ("lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss.sum", Counter::HostSectors),
    ("lts__throughput.max.pct_of_peak_sustained_elapsed", Counter::BusiestSlice),
    ("lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed", Counter::BusiestSliceAtomics),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", Counter::AtomicRequests),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", Counter::ReductionRequests),
    ("lts__cycles_active.max", Counter::BusiestSliceCycles),
    ("lts__cycles_active.avg", Counter::SliceCycles),
    ("lts__cycles_elapsed.max", Counter::SliceElapsedCycles),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", Counter::AchievedOccupancy),
    ("sm__maximum_warps_per_active_cycle_pct", Counter::TheoreticalOccupancy),
    ("launch__occupancy_limit_blocks", Counter::BlocksBySlots),
    ("launch__occupancy_limit_registers", Counter::BlocksByRegisters),
    ("launch__occupancy_limit_shared_mem", Counter::BlocksBySharedMemory),
    ("launch__occupancy_limit_warps", Counter::BlocksByWarps),
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", Counter::Issue),
    ("launch__waves_per_multiprocessor", Counter::Waves),
    ("launch__registers_per_thread", Counter::Registers),
    ("launch__shared_mem_per_block_static", Counter::StaticSharedBytes),
    ("launch__shared_mem_per_block_dynamic", Counter::DynamicSharedBytes),
    ("device__attribute_multiprocessor_count", Counter::SmCount),
    ("launch__sm_count", Counter::SmCount),
    ("device__attribute_single_to_double_precision_perf_ratio", Counter::Fp32ToFp64),
    ("l1tex__t_sector_hit_rate.pct", Counter::L1Hits),
    ("lts__t_sector_hit_rate.pct", Counter::L2Hits),
    ("memory_l2_theoretical_sectors_global", Counter::GlobalSectors),
    ("memory_l2_theoretical_sectors_global_ideal", Counter::IdealGlobalSectors),
    ("memory_l1_wavefronts_shared", Counter::SharedWavefronts),
    ("memory_l1_wavefronts_shared_ideal", Counter::IdealSharedWavefronts),
    ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed", Counter::SharedPipe),
    ("memory_l2_theoretical_sectors_local", Counter::LocalSectors),
    ("derived__local_spilling_requests", Counter::SpillRequests),
    ("sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active", Counter::Fp64Pipe),
    ("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active", Counter::Fp64Pipe),
    ("sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed", Counter::Fp64Pipe),
    ("sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed", Counter::Fp64Pipe),
    ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", Counter::FmaPipe),
    ("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", Counter::FmaPipe),
    ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", Counter::FmaPipe),
    ("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed", Counter::FmaPipe),
    ("sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active", Counter::AluPipe),
    ("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", Counter::AluPipe),
    ("sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed", Counter::AluPipe),
    ("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed", Counter::AluPipe),
    ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", Counter::XuPipe),
    ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed", Counter::XuPipe),
    ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", Counter::LsuPipe),
    ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed", Counter::LsuPipe),
    ("sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_active", Counter::AduPipe),
    ("sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_elapsed", Counter::AduPipe),
    ("idc__request_cycles_active.avg.pct_of_peak_sustained_elapsed", Counter::ConstantCache),
    ("idc__requests.sum", Counter::ConstantRequests),
    ("l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed", Counter::LoadStoreRequests),
    ("smsp__inst_executed.sum", Counter::Instructions),
    ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", Counter::Fp32Adds),
    ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed", Counter::Fp32Multiplies),
    ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", Counter::Fp32MultiplyAdds),
    ("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", Counter::PeakFp32MultiplyAdds),
    ("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed", Counter::Fp64Adds),
    ("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed", Counter::Fp64Multiplies),
    ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed", Counter::Fp64MultiplyAdds),
    ("sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", Counter::PeakFp64MultiplyAdds),
    ("smsp__cycles_elapsed.avg.per_second", Counter::SmClock),
    ("sm__cycles_active.avg", Counter::SmActiveCycles),
    ("gpc__cycles_elapsed.max", Counter::ElapsedCycles),
    ("sm__cycles_elapsed.max", Counter::ElapsedCycles),
    ("smsp__cycles_elapsed.max", Counter::ElapsedCycles),
    ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", Counter::LoadedBytesPerSector),
    ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", Counter::StoredBytesPerSector),
    ("smsp__thread_inst_executed_per_inst_executed.ratio", Counter::ActiveThreads),
    ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", Counter::EnabledThreads),
    ("smsp__average_warp_latency_per_inst_issued.ratio", Counter::WarpLatency),
];

/// The metrics of units that compute, against all cycles of the kernel: what they leave is not theirs. Several of one generation are
/// there at once.
const ARITHMETIC: &[&str] = &[
    "sm__pipe_fma_cycles_active",
    "sm__pipe_alu_cycles_active",
    "sm__pipe_fp64_cycles_active",
    "sm__pipe_tensor_cycles_active",
    "sm__pipe_tensor_op_hmma_cycles_active",
    "sm__pipe_tensor_op_imma_cycles_active",
    "sm__pipe_tensor_op_dmma_cycles_active",
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active",
    "sm__inst_executed_pipe_xu",
];
const OF_ALL_CYCLES: &str = ".avg.pct_of_peak_sustained_elapsed";

/// The metrics of the tensor cores: generations and data types have their own, and what one leaves out another counts.
pub(super) const TENSOR_METRICS: &[&str] = &[
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_op_imma_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active",
];

/// The stall reasons, as the metrics `smsp__average_warps_issue_stalled_*_per_issue_active.ratio` name them.
pub(super) const STALLS: &[(&str, Counter)] = &[
    ("long_scoreboard", Counter::StallLongScoreboard),
    ("short_scoreboard", Counter::StallShortScoreboard),
    ("lg_throttle", Counter::StallLgThrottle),
    ("mio_throttle", Counter::StallMioThrottle),
    ("tex_throttle", Counter::StallTexThrottle),
    ("math_pipe_throttle", Counter::StallMathPipe),
    ("barrier", Counter::StallBarrier),
    ("membar", Counter::StallMembar),
    ("wait", Counter::StallWait),
    ("drain", Counter::StallDrain),
    ("no_instruction", Counter::StallNoInstruction),
    ("branch_resolving", Counter::StallBranch),
    ("dispatch_stall", Counter::StallDispatch),
    ("imc_miss", Counter::StallImcMiss),
    ("sleeping", Counter::StallSleeping),
    ("not_selected", Counter::StallNotSelected),
    ("gmma", Counter::StallGmma),
];

/// How the rule `CPIStall` puts each reason.
pub(super) const STALL_PHRASES: &[(&str, Counter)] = &[
    ("scoreboard dependency on a L1TEX", Counter::StallLongScoreboard),
    ("scoreboard dependency on an L1TEX", Counter::StallLongScoreboard),
    ("scoreboard dependency on a MIO", Counter::StallShortScoreboard),
    ("scoreboard dependency on an MIO", Counter::StallShortScoreboard),
    ("local and global (LG) memory operations to be not full", Counter::StallLgThrottle),
    ("MIO (memory input/output) instruction queue to be not full", Counter::StallMioThrottle),
    ("texture operations to be not full", Counter::StallTexThrottle),
    ("execution pipe to be available", Counter::StallMathPipe),
    ("sibling warps at a CTA barrier", Counter::StallBarrier),
    ("on a memory barrier", Counter::StallMembar),
    ("fixed latency execution dependency", Counter::StallWait),
    ("after an EXIT instruction", Counter::StallDrain),
    ("selected to fetch an instruction", Counter::StallNoInstruction),
    ("branch target to be computed", Counter::StallBranch),
    ("on a dispatch stall", Counter::StallDispatch),
    ("immediate constant cache (IMC) miss", Counter::StallImcMiss),
    ("yielded or sleep state", Counter::StallSleeping),
    ("micro scheduler to select the warp", Counter::StallNotSelected),
];

/// The pipelines, as the rule `HighPipeUtilization` names the busiest.
pub(super) const PIPES: &[(&str, Counter)] = &[
    ("FMA ", Counter::FmaPipe),
    ("FP64 ", Counter::Fp64Pipe),
    ("ALU ", Counter::AluPipe),
    ("XU ", Counter::XuPipe),
    ("LSU ", Counter::LsuPipe),
    ("ADU ", Counter::AduPipe),
    ("Tensor ", Counter::TensorPipe),
];

/// The rows of the page `details`, by the title of their section and their own.
pub(super) const DETAILS: &[(&str, &str, Counter)] = &[
    ("GPU Speed Of Light Throughput", "Duration", Counter::Duration),
    ("GPU Speed Of Light Throughput", "Compute (SM) Throughput", Counter::Compute),
    ("GPU Speed Of Light Throughput", "SM [%]", Counter::Compute),
    ("GPU Speed Of Light Throughput", "Memory [%]", Counter::Memory),
    ("GPU Speed Of Light Throughput", "Elapsed Cycles", Counter::ElapsedCycles),
    ("GPU Speed Of Light Throughput", "SM Active Cycles", Counter::SmActiveCycles),
    ("GPU Speed Of Light Throughput", "SM Frequency", Counter::SmClock),
    ("GPU Speed Of Light Throughput", "Memory Throughput", Counter::Memory),
    ("GPU Speed Of Light Throughput", "DRAM Throughput", Counter::Dram),
    ("GPU Speed Of Light Throughput", "L1/TEX Cache Throughput", Counter::L1),
    ("GPU Speed Of Light Throughput", "L2 Cache Throughput", Counter::L2),
    ("GPU Speed Of Light Throughput", "SOL FB", Counter::Dram),
    ("GPU Speed Of Light Throughput", "SOL TEX", Counter::L1),
    ("GPU Speed Of Light Throughput", "SOL L2", Counter::L2),
    ("Memory Workload Analysis", "Memory Throughput", Counter::DramBytesPerSecond),
    ("Memory Workload Analysis", "L1/TEX Hit Rate", Counter::L1Hits),
    ("Memory Workload Analysis", "L2 Hit Rate", Counter::L2Hits),
    ("Memory Workload Analysis", "Local Memory Spilling Requests", Counter::SpillRequests),
    ("Scheduler Statistics", "One or More Eligible", Counter::Issue),
    ("Warp State Statistics", "Warp Cycles Per Issued Instruction", Counter::WarpLatency),
    ("Warp State Statistics", "Avg. Active Threads Per Warp", Counter::ActiveThreads),
    ("Warp State Statistics", "Avg. Not Predicated Off Threads Per Warp", Counter::EnabledThreads),
    ("Launch Statistics", "Registers Per Thread", Counter::Registers),
    ("Launch Statistics", "Static Shared Memory Per Block", Counter::StaticSharedBytes),
    ("Launch Statistics", "Dynamic Shared Memory Per Block", Counter::DynamicSharedBytes),
    ("Launch Statistics", "# SMs", Counter::SmCount),
    ("Launch Statistics", "Waves Per SM", Counter::Waves),
    ("Occupancy", "Block Limit SM", Counter::BlocksBySlots),
    ("Occupancy", "Block Limit Registers", Counter::BlocksByRegisters),
    ("Occupancy", "Block Limit Shared Mem", Counter::BlocksBySharedMemory),
    ("Occupancy", "Block Limit Warps", Counter::BlocksByWarps),
    ("Occupancy", "Theoretical Occupancy", Counter::TheoreticalOccupancy),
    ("Occupancy", "Achieved Occupancy", Counter::AchievedOccupancy),
];

/// The profiler's own rules whose estimates are for the whole kernel. Those that are for a part of the GPU are not read.
pub(super) const ESTIMATES: &[(&str, Counter)] = &[
    ("UncoalescedGlobalAccess", Counter::UncoalescedEstimate),
    ("MemoryCacheAccessPattern", Counter::UncoalescedEstimate),
    ("SharedMemoryConflicts", Counter::SharedEstimate),
    ("UncoalescedSharedAccess", Counter::SharedEstimate),
    ("ThreadDivergence", Counter::DivergenceEstimate),
    ("CPIStall", Counter::LatencyEstimate),
    ("IssueSlotUtilization", Counter::LatencyEstimate),
    ("AchievedOccupancy", Counter::LatencyEstimate),
    ("TheoreticalOccupancy", Counter::LatencyEstimate),
    ("LaunchConfiguration", Counter::IdleSmEstimate),
    ("WorkloadImbalance", Counter::IdleSmEstimate),
    ("SOLFPRoofline", Counter::Fp64Estimate),
];

/// The rules whose texts hold how many sectors or wavefronts there were, and how many of them too many.
pub(super) const EXCESSES: &[(&str, Counter, Counter)] = &[
    ("UncoalescedGlobalAccess", Counter::GlobalSectors, Counter::ExcessGlobalSectors),
    ("UncoalescedSharedAccess", Counter::SharedWavefronts, Counter::ExcessSharedWavefronts),
];

/// What a counter is of: what is counted needs no unit.
pub(super) const fn kind(counter: Counter) -> Kind {
    match counter {
        Counter::Duration => Kind::Time,
        Counter::SmClock => Kind::Clock,
        Counter::DramReadBytes
        | Counter::DramWrittenBytes
        | Counter::DramBytesPerSecond
        | Counter::StaticSharedBytes
        | Counter::DynamicSharedBytes => Kind::Bytes,
        Counter::Compute
        | Counter::Memory
        | Counter::Dram
        | Counter::L1
        | Counter::L2
        | Counter::BusiestSlice
        | Counter::BusiestSliceAtomics
        | Counter::AchievedOccupancy
        | Counter::TheoreticalOccupancy
        | Counter::Issue
        | Counter::SharedPipe
        | Counter::L1Hits
        | Counter::L2Hits
        | Counter::TensorPipe
        | Counter::Fp64Pipe
        | Counter::FmaPipe
        | Counter::AluPipe
        | Counter::XuPipe
        | Counter::LsuPipe
        | Counter::AduPipe
        | Counter::ArithmeticPipes
        | Counter::LoadStoreRequests
        | Counter::ConstantCache => Kind::Share,
        _ => Kind::Count,
    }
}

/// The counters of a column of the page `raw`.
pub(super) fn of_column(name: &str) -> impl Iterator<Item = Counter> {
    let is_arithmetic = name.strip_suffix(OF_ALL_CYCLES).is_some_and(|metric| ARITHMETIC.contains(&metric));
    of_metric(name).into_iter().chain(is_arithmetic.then_some(Counter::ArithmeticPipes))
}

fn of_metric(name: &str) -> Option<Counter> {
    let stall = name.strip_prefix("smsp__average_warps_issue_stalled_");
    match stall.and_then(|rest| rest.strip_suffix("_per_issue_active.ratio")) {
        Some(reason) => STALLS.iter().find(|(known, _)| *known == reason).map(|(_, counter)| *counter),
        None if TENSOR_METRICS.contains(&name) => Some(Counter::TensorPipe),
        None => METRICS.iter().find(|(known, _)| *known == name).map(|(_, counter)| *counter),
    }
}

/// What versions before 2021 call the section of throughput.
const OLD_THROUGHPUT: &str = "GPU Speed Of Light";
const THROUGHPUT: &str = "GPU Speed Of Light Throughput";

/// The counter of a row of the page `details`.
pub(super) fn of_row(section: &str, name: &str) -> Option<Counter> {
    let section = if section == OLD_THROUGHPUT { THROUGHPUT } else { section };
    DETAILS.iter().find(|(title, known, _)| *title == section && *known == name).map(|(_, _, counter)| *counter)
}
