//! Pages of Nsight Compute, made by hand.

use std::fmt::Write;
use std::path::Path;

use super::mutate::Random;
use super::mutate_text;

const IDENTITY: &str = r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC""#;

/// A metric of the page `raw`: its name, its unit, its value.
pub type Metric = (&'static str, &'static str, &'static str);

/// What a transpose whose stores are not coalesced measures on an H200, shortened.
pub const TRANSPOSE: &[Metric] = &[
    ("device__attribute_display_name", "", "NVIDIA H200"),
    ("gpu__time_duration.sum", "ms", "1.055328"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "6.0"),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", "80.366583"),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", "12.344287"),
    ("l1tex__throughput.avg.pct_of_peak_sustained_active", "%", "49.906426"),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", "%", "80.366583"),
    ("dram__bytes_read.sum", "Mbyte", "323.357696"),
    ("dram__bytes_write.sum", "Mbyte", "303.506176"),
    ("dram__bytes.sum.per_second", "Gbyte/s", "593.99909"),
    ("lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum", "sector", "1,000"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "%", "81.41"),
    ("sm__maximum_warps_per_active_cycle_pct", "%", "75.0"),
    ("launch__occupancy_limit_blocks", "block", "32"),
    ("launch__occupancy_limit_registers", "block", "6"),
    ("launch__occupancy_limit_shared_mem", "block", "32"),
    ("launch__occupancy_limit_warps", "block", "8"),
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", "%", "1.48"),
    ("launch__waves_per_multiprocessor", "", "62.06"),
    ("launch__registers_per_thread", "register/thread", "20"),
    ("launch__shared_mem_per_block_static", "byte/block", "0"),
    ("launch__shared_mem_per_block_dynamic", "Kbyte/block", "1.024"),
    ("device__attribute_multiprocessor_count", "", "132"),
    ("l1tex__t_sector_hit_rate.pct", "%", "74.398833"),
    ("lts__t_sector_hit_rate.pct", "%", "87.572528"),
    ("memory_l2_theoretical_sectors_global", "sectors", "75,497,472"),
    ("memory_l2_theoretical_sectors_global_ideal", "sectors", "16777216"),
    ("memory_l1_wavefronts_shared", "sectors", "100"),
    ("memory_l1_wavefronts_shared_ideal", "sectors", "75"),
    ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed", "%", "2.5"),
    ("memory_l2_theoretical_sectors_local", "sectors", "0"),
    ("derived__local_spilling_requests", "", "0"),
    ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%", "0"),
    ("sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active", "%", "0"),
    ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", "%", "0.287925"),
    ("sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active", "%", "0.67"),
    ("device__attribute_single_to_double_precision_perf_ratio", "", "2"),
    ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", "inst/cycle", "2"),
    ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed", "inst/cycle", "2"),
    ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", "inst/cycle", "6"),
    ("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", "inst/cycle", "16,000.0"),
    ("smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed", "inst/cycle", "0"),
    ("smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed", "inst/cycle", "0"),
    ("smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed", "inst/cycle", "800"),
    ("sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", "inst/cycle", "8,000.0"),
    ("smsp__cycles_elapsed.avg.per_second", "Ghz", "2"),
    ("sm__cycles_active.avg", "cycle", "2,000,000"),
    ("sm__cycles_elapsed.max", "cycle", "2,500,000"),
    ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "byte/sector", "32"),
    ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", "byte/sector", "4"),
    ("smsp__thread_inst_executed_per_inst_executed.ratio", "", "32"),
    ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", "", "24"),
    ("smsp__average_warp_latency_per_inst_issued.ratio", "cycle", "875.71"),
    ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "inst", "607.3"),
    ("smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "inst", "250"),
    ("smsp__average_warps_issue_stalled_drain_per_issue_active.ratio", "inst", "0"),
    ("smsp__average_warps_issue_stalled_tex_throttle_per_issue_active.ratio", "inst", "0"),
    ("smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio", "inst", "8"),
    ("smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio", "inst", "0.7571"),
];

/// The page `raw`, of kernels with their grid and block.
pub fn raw(kernels: &[(&str, &str, &str, &[Metric])]) -> String {
    let metrics = kernels.first().map_or(&[][..], |kernel| kernel.3);
    let mut page = IDENTITY.to_owned();
    let quoted = |page: &mut String, cells: &mut dyn Iterator<Item = &str>| {
        for cell in cells {
            write!(page, ",\"{}\"", cell.replace('"', "\"\"")).unwrap();
        }
        page.push('\n');
    };
    quoted(&mut page, &mut metrics.iter().map(|metric| metric.0));
    page.push_str(r#""","","","","","","","","","","""#);
    quoted(&mut page, &mut metrics.iter().map(|metric| metric.1));
    for (id, (name, grid, block, metrics)) in kernels.iter().enumerate() {
        write!(page, "\"{id}\",\"3670\",\"app\",\"127.0.0.1\"").unwrap();
        let own = [*name, "1", "13", block, grid, "0", "9.0"];
        quoted(&mut page, &mut own.into_iter().chain(metrics.iter().map(|metric| metric.2)));
    }
    page
}

/// As many kernels as rows, on more GPUs than there are.
pub fn on_gpus(path: &Path, rows: i64) {
    let mut page = format!("{IDENTITY},\"gpu__time_duration.sum\"\n");
    page.push_str(&"\"\",".repeat(11));
    page.push_str("\"ns\"\n");
    for row in 0..rows * 3 {
        let name = format!("k{row}<{}>(int)", "a::<".repeat(100));
        let size = "(32, 1, 1)";
        writeln!(
            page,
            "\"{row}\",\"5\",\"p\",\"h\",\"{name}\",\"1\",\"7\",\"{size}\",\"{size}\",\"{}\",\"9.0\",\"1000\"",
            row % 64
        )
        .unwrap();
    }
    std::fs::write(path, page).unwrap();
}

/// One kernel whose stores are not coalesced.
pub fn transpose() -> String {
    raw(&[("transpose_naive(const float *, float *, int)", "(256, 256, 1)", "(32, 8, 1)", TRANSPOSE)])
}

/// The same on the page `details`, of which no counter of the hardware could be read.
pub fn uncounted() -> String {
    let page = details();
    let lines = page.lines().map(|line| match line.split_once("\"GPU Speed Of Light Throughput\",\"") {
        Some((identity, rest)) => {
            let name = rest.split('"').next().unwrap();
            format!("{identity}\"GPU Speed Of Light Throughput\",\"{name}\",\"\",\"n/a\",\n")
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// A row of the page `details`: of a number, or of a rule.
fn detail(page: &mut String, cells: &str) {
    let identity = r#""0","3670","app","127.0.0.1","transpose_naive(const float *, float *, int)","1","13","(32, 8, 1)","(256, 256, 1)","0","9.0""#;
    writeln!(page, "{identity},{cells}").unwrap();
}

/// The same kernel on the page `details`, behind lines of a log.
pub fn details() -> String {
    let mut page = "==PROF== Connected to process 3670\nwarm-up done\n".to_owned();
    writeln!(page, "{IDENTITY},\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\",\"Estimated Speedup\"").unwrap();
    for (section, name, unit, value) in [
        ("GPU Speed Of Light Throughput", "Duration", "ms", "1.06"),
        ("GPU Speed Of Light Throughput", "Memory Throughput", "%", "80.37"),
        ("GPU Speed Of Light Throughput", "Compute (SM) Throughput", "%", "6.00"),
        ("GPU Speed Of Light Throughput", "DRAM Throughput", "%", "12.34"),
        ("GPU Speed Of Light Throughput", "L2 Cache Throughput", "%", "80.37"),
        ("Memory Workload Analysis", "Memory Throughput", "Gbyte/s", "594.00"),
        ("Memory Workload Analysis", "L2 Hit Rate", "", "n/a"),
    ] {
        detail(&mut page, &format!("\"{section}\",\"{name}\",\"{unit}\",\"{value}\","));
    }
    for (rule, kind, text, scope, estimate) in [
        ("HighPipeUtilization", "OPT", "All pipelines are idle.", "local", "99.33"),
        ("MemoryCacheAccessPattern", "OPT", "The pattern for local loads is not optimal.", "global", "90"),
        ("MemoryCacheAccessPattern", "OPT", "The pattern for global stores is not optimal.", "global", "43.33"),
        (
            "UncoalescedGlobalAccess",
            "OPT",
            "It has accesses resulting in a total of 58720256 excessive sectors (78% of the total 75497472 sectors).",
            "global",
            "62.5",
        ),
        ("SharedMemoryConflicts", "OPT", "Conflicts.", "global", "5"),
        ("ThreadDivergence", "OPT", "Branches.", "global", "2.5"),
        (
            "CPIStall",
            "OPT",
            "On average, each warp of this workload spends 607.3 cycles being stalled waiting for sibling warps at a CTA barrier. This stall type represents about 69.4% of the total average of 875.7 cycles between issuing two instructions.",
            "global",
            "19.63",
        ),
        ("AchievedOccupancy", "OPT", "Warps.", "global", "18.5"),
        ("LaunchConfiguration", "OPT", "Blocks.", "global", "12.5"),
        (
            "SOLFPRoofline",
            "INF",
            "The ratio of peak float (FP32) to double (FP64) performance on this device is 64:1. The workload achieved 18% of this device's FP32 peak performance and 3% of its FP64 peak performance.",
            "global",
            "25",
        ),
        ("HighPipeUtilization", "OPT", "FP64 is the highest-utilized pipeline (76.3%) based on active cycles.", "", ""),
    ] {
        detail(&mut page, &format!("\"S\",\"\",\"\",\"\",\"{rule}\",\"{kind}\",\"{text}\",\"{scope}\",\"{estimate}\""));
    }
    page
}

/// A page of a seed, changed, and what was done.
pub fn mutant(seed: u64) -> (Vec<u8>, String) {
    let mut random = Random::new(seed);
    let mut bytes = random.pick(&[transpose(), details()]).clone().into_bytes();
    let done = mutate_text::change(&mut bytes, &mut random);
    (bytes, done)
}

/// A header and a row of units of as many columns as a row may have bytes, without a name or a unit.
pub fn wide_units(path: &Path, rows: i64) {
    let empty = ",".repeat((rows * 200).min(4_190_000) as usize);
    let launch = r#""0","1","p","h","k","1","7","(128, 1, 1)","(100, 1, 1)","0","8.0""#;
    std::fs::write(path, format!("{IDENTITY}{empty}\n,,,,,,,,,,{empty}\n{launch}\n")).unwrap();
}
