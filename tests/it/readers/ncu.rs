//! Pages of Nsight Compute, from the file to the review.

use coldspot::analysis::{Part, Reading};
use coldspot::facts::{Entity, EntityKind, Facts};

use crate::support::formats::Printer;
use crate::support::kernels::{TRANSPOSE, details, raw, transpose, uncounted};
use crate::support::{Scenario, SchemaVersion, sample_reports, temp};

fn try_facts(text: impl AsRef<[u8]>) -> Result<Facts, String> {
    let folder = temp::folder();
    let path = folder.path().join("kernels.csv");
    std::fs::write(&path, text).unwrap();
    Reading::default().facts(&path).map_err(|error| error.to_string())
}

pub fn facts(text: impl AsRef<[u8]>) -> Facts {
    try_facts(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A fact of the first launch shape.
pub(super) fn number(facts: &Facts, name: &str) -> Option<f64> {
    facts.of_kind(EntityKind::LaunchShape).next().and_then(|(_, shape)| shape.number(name))
}

pub(super) fn run(facts: &Facts, name: &str) -> Option<i64> {
    facts.run().and_then(|run| run.int(name))
}

#[test]
fn the_raw_page_is_read_with_its_units() {
    let facts = facts(transpose());
    assert_eq!(number(&facts, "profiled_ns"), Some(1_055_328.0));
    assert_eq!(number(&facts, "sum_ns"), Some(1_055_328.0));
    assert_eq!(number(&facts, "grid_block_count"), Some(65_536.0));
    assert_eq!(number(&facts, "block_thread_count"), Some(256.0));
    assert_eq!(number(&facts, "dram_bytes"), Some(626_863_872.0));
    assert_eq!(number(&facts, "shared_memory_bytes"), Some(1_024.0));
    assert_eq!(number(&facts, "excess_sector_count"), Some(58_720_256.0));
    assert_eq!(number(&facts, "host_memory_bytes"), Some(32_000.0));
    assert_eq!(number(&facts, "shared_pipe_share"), Some(0.025));
    assert_eq!(
        (number(&facts, "active_thread_share"), number(&facts, "enabled_thread_share")),
        (Some(1.0), Some(0.75))
    );
    assert_eq!(number(&facts, "sm_active_share"), Some(0.8));
    assert_eq!(number(&facts, "fp32_peak_share"), Some(0.0005));
    assert_eq!(number(&facts, "fp64_peak_share"), Some(0.1));
    // 0.67 % of the cycles in which an SM has a warp, which are four fifths of all.
    assert!((number(&facts, "arithmetic_pipe_share").unwrap() - 0.00536).abs() < 1e-9);
    // 16 and 1,600 operations a cycle, at 2 GHz, for 594 GB/s; the ridge at 2 × 16,000 a cycle for what 12.3 % are of.
    let near = |name: &str, value: f64| (number(&facts, name).unwrap() / value - 1.0).abs() < 1e-3;
    assert!(near("flop_per_dram_byte", 5.441) && near("ridge_flop_per_byte", 13.30));
    let (_, kernel) = facts.of_kind(EntityKind::LaunchShape).next().unwrap();
    assert_eq!(kernel.text("limit"), Some("l2_cache"));
    assert_eq!(kernel.text("stall_reason"), Some("long_scoreboard"));
    // 8 and 0.7571 of 875.71 cycles.
    assert!((number(&facts, "branch_stall_share").unwrap() - 0.01).abs() < 1e-4);
    assert_eq!(kernel.text("occupancy_limiter"), Some("registers"));
    let (_, device) = facts.devices()[0];
    assert_eq!(
        (device.name(), device.int("sm_count"), device.int("compute_major")),
        ("NVIDIA H200", Some(132), Some(9))
    );
    assert_eq!((device.int("window_ns"), device.int("compute_ns")), (Some(1_055_328), Some(1_055_328)));
}

/// A page whose kernels read constants at different places, and ask for no shared memory, which is called the limit beside the blocks.
pub fn with_constants() -> String {
    let more = |(row, line): (usize, &str)| {
        let columns = match row {
            0 => {
                "\"idc__request_cycles_active.avg.pct_of_peak_sustained_elapsed\",\"idc__requests.sum\",\"smsp__inst_executed.sum\",\"sm__inst_executed_pipe_adu.avg.pct_of_peak_sustained_active\""
            }
            1 => "\"%\",\"\",\"inst\",\"%\"",
            _ => "\"72\",\"135,000,000\",\"34000000\",\"99\"",
        };
        format!("{line},{columns}\n")
    };
    transpose().lines().enumerate().map(more).collect()
}

#[test]
fn reads_of_constants_are_told() {
    let facts = facts(with_constants());
    let numbers = ["constant_cache_share", "constant_request_count", "instruction_count", "busiest_pipe_share"];
    assert_eq!(numbers.map(|name| number(&facts, name)), [Some(0.72), Some(135e6), Some(34e6), Some(0.99)]);
    let shape = facts.of_kind(EntityKind::LaunchShape).next().unwrap().1;
    assert_eq!(shape.text("busiest_pipe"), Some("adu"));
}

pub(super) fn limit(facts: &Facts) -> Option<String> {
    facts.of_kind(EntityKind::LaunchShape).next().and_then(|(_, shape)| shape.text("limit")).map(str::to_owned)
}

/// What the page `raw` of old versions holds of a kernel that loads and stores much: pipelines against all cycles.
const LOADING: &[(&str, &str, &str)] = &[
    ("gpu__time_duration.sum", "us", "400"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "64.832938"),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", "64.832938"),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", "8.0"),
    ("l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed", "%", "64.832938"),
    ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed", "%", "64.832938"),
    ("sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", "5.5"),
    ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", "20.0"),
    ("sm__cycles_active.avg", "cycle", "4"),
    ("sm__cycles_elapsed.max", "cycle", "5"),
];

#[test]
fn one_counter_in_both_throughputs_is_loads_and_stores() {
    let page = raw(&[("blocked(int)", "(64, 1, 1)", "(512, 1, 1)", LOADING)]);
    let facts = self::facts(&page);
    assert_eq!(limit(&facts).as_deref(), Some("load_store"));
    // Nothing of what is counted against all cycles is taken for what is counted against those with a warp.
    assert_eq!(["arithmetic_pipe_share", "work_floor_share"].map(|name| number(&facts, name)), [Some(0.2); 2]);
    let review = Printer::new().markdown(&facts, "kernels.csv").unwrap();
    assert!(review.contains("Up to 320 µs, 80 % of the window"), "{review}");
    let requests = "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed";
    let apart = page.replace(requests, "another").replace("\"64.832938\",\"8.0\"", "\"64.9\",\"8.0\"");
    assert_eq!(limit(&self::facts(apart)).as_deref(), Some("balanced"));
    // As the page `details` has it: without that counter, where only the unit of the L1 cache is as busy.
    let row = |name: &str, value: &str| format!("\"GPU Speed Of Light Throughput\",\"{name}\",\"%\",\"{value}\",\n");
    let with_l1 = |l1: &str| {
        let page = details().replace("\"80.37\"", "\"62.00\"").replace("\"6.00\"", "\"62.00\"");
        let page = page.replace("L2 Cache Throughput", "L1/TEX Cache Throughput");
        let told = row("L1/TEX Cache Throughput", "62.00");
        assert!(page.contains(&told), "{page}");
        page.replace(&told, &row("L1/TEX Cache Throughput", l1))
    };
    assert_eq!(limit(&self::facts(with_l1("70.00"))).as_deref(), Some("load_store"));
    assert_eq!(limit(&self::facts(with_l1("50.00"))).as_deref(), Some("balanced"));
}

#[test]
fn counters_that_were_asked_for_and_not_got_are_not_to_be_printed_again() {
    let facts = facts(uncounted());
    assert_eq!(run(&facts, "uncounted_launch_count"), Some(1));
    let review = Printer::new().markdown(&facts, "kernels.csv").unwrap();
    assert!(review.contains("asked for the GPU's counters and got none"), "{review}");
    assert!(!review.contains("--page raw"), "{review}");
    let one = self::facts(details().replace("\"ms\",\"1.06\"", "\"ms\",\"n/a\""));
    assert_eq!(run(&one, "uncounted_launch_count"), None, "others are there");
}

#[test]
fn all_of_a_page_is_its_steady_state_and_it_has_no_other_part() {
    let folder = temp::folder();
    let path = folder.path().join("kernels.csv");
    std::fs::write(&path, transpose()).unwrap();
    let of = |part| Reading { part, ..Reading::default() }.facts(&path).map_err(|error| error.to_string());
    let whole = of(None).unwrap().len();
    for (name, part) in Part::ALL {
        match of(Some(part)) {
            Ok(facts) => assert!(["steady", "whole"].contains(&name) && facts.len() == whole, "{name}"),
            Err(error) => assert!(error.contains(&format!("shows no phase '{name}'")), "{error}"),
        }
    }
    let error = Reading { step: Some("step".to_owned()), ..Reading::default() }.facts(&path).unwrap_err().to_string();
    assert!(error.contains("has no window and no steps"), "{error}");
}

#[test]
fn the_details_page_is_read_with_its_rules() {
    let facts = facts(details());
    assert_eq!(number(&facts, "profiled_ns"), Some(1_060_000.0));
    assert_eq!(number(&facts, "global_sector_count"), Some(75_497_472.0));
    assert_eq!(number(&facts, "excess_sector_count"), Some(58_720_256.0));
    assert_eq!(number(&facts, "uncoalesced_estimate_share"), Some(0.625), "the largest, and none of local memory");
    assert_eq!(number(&facts, "l2_hit_share"), None);
    assert_eq!(number(&facts, "latency_estimate_share"), Some(0.1963), "overlapping estimates are never added");
    assert_eq!(number(&facts, "fp32_to_fp64_peak_ratio"), Some(64.0));
    assert_eq!(number(&facts, "fp64_peak_share"), Some(0.03));
    let (_, shape) = facts.of_kind(EntityKind::LaunchShape).next().unwrap();
    assert_eq!((shape.text("stall_reason"), shape.text("busiest_pipe")), (Some("barrier"), Some("fp64")));
    assert_eq!(facts.run().unwrap().text("profile_page"), Some("details"));
    assert_eq!(run(&facts, "dropped_event_count"), Some(0));
}

#[test]
fn launches_of_one_kernel_are_one_and_the_longest_tells() {
    const SHORT: &[(&str, &str, &str)] =
        &[("gpu__time_duration.sum", "us", "100"), ("lts__t_sector_hit_rate.pct", "%", "10")];
    const LONG: &[(&str, &str, &str)] =
        &[("gpu__time_duration.sum", "us", "300"), ("lts__t_sector_hit_rate.pct", "%", "20")];
    let facts = facts(raw(&[
        ("k(int)", "(4, 1, 1)", "(32, 1, 1)", SHORT),
        ("k(int)", "(4, 1, 1)", "(32, 1, 1)", LONG),
        ("k(int)", "(8, 1, 1)", "(32, 1, 1)", SHORT),
    ]));
    assert_eq!(facts.of_kind(EntityKind::LaunchShape).count(), 2);
    assert_eq!(facts.of_kind(EntityKind::Kernel).count(), 1);
    assert_eq!(number(&facts, "profiled_launch_count"), Some(2.0));
    assert_eq!((number(&facts, "sum_ns"), number(&facts, "profiled_ns")), (Some(400_000.0), Some(300_000.0)));
    assert_eq!(number(&facts, "l2_hit_share"), Some(0.2));
}

#[test]
fn an_uncoalesced_kernel_is_called_so_first() {
    let printer = Printer::new();
    for page in [transpose(), details()] {
        let text = printer.markdown(&facts(page), "kernels.csv").unwrap();
        assert!(text.contains("### 1. Uncoalesced access"), "{text}");
    }
    let better: Vec<_> = TRANSPOSE
        .iter()
        .map(|metric| match metric.0 {
            "memory_l2_theoretical_sectors_global" => (metric.0, metric.1, "16777216"),
            _ => *metric,
        })
        .collect();
    let page = raw(&[("transpose_tiled(const float *, float *, int)", "(256, 256, 1)", "(32, 8, 1)", &better)]);
    assert!(!printer.markdown(&facts(page), "kernels.csv").unwrap().contains("Uncoalesced"));
}

#[test]
fn a_page_explains_the_kernel_of_a_recording_with_its_name_and_shape() {
    const TIME: &[(&str, &str, &str)] = &[("gpu__time_duration.sum", "us", "100")];
    let fixture = crate::support::fixture("training-step", crate::support::SchemaVersion::Nsys2025);
    let alone = Reading::default().facts(&fixture).unwrap();
    let kernel = alone.of_kind(EntityKind::LaunchShape).next().unwrap().1.clone();
    let name = kernel.name();
    let (grid, block) = (kernel.int("grid_block_count").unwrap(), kernel.int("block_thread_count").unwrap());
    let folder = temp::folder();
    let path = folder.path().join("kernels.csv");
    let (major, minor) =
        alone.devices()[0].1.int("compute_major").zip(alone.devices()[0].1.int("compute_minor")).unwrap();
    let own = format!("{major}.{minor}");
    let joined = |name: &str, grid: i64, capability: &str| {
        let page = raw(&[(name, &format!("({grid}, 1, 1)"), &format!("({block}, 1, 1)"), TIME)]);
        std::fs::write(&path, page.replace("\"9.0\"", &format!("\"{capability}\""))).unwrap();
        let reading = Reading { profiles: vec![path.clone()], ..Reading::default() };
        let facts = reading.facts(&fixture).unwrap();
        facts.of_kind(EntityKind::LaunchShape).filter(|(_, shape)| shape.int("profiled_ns") == Some(100_000)).count()
    };
    assert_eq!(joined(name, grid, &own), 1);
    assert_eq!(joined(name, grid + 1, &own), 0, "another grid");
    assert_eq!(joined("another(int)", grid, &own), 0, "another name");
    assert_eq!(joined(name, grid, "1.0"), 0, "another GPU");
    for written in [format!("void ns::{name}<(int)4>(const float *)"), format!("_Z{}{name}PKf", name.len())] {
        assert_eq!(joined(&written, grid, &own), 1, "{written}");
    }
}

#[test]
fn of_several_instances_of_a_template_the_recorded_one_tells() {
    const SHORT: &[(&str, &str, &str)] = &[("gpu__time_duration.sum", "us", "100")];
    const LONG: &[(&str, &str, &str)] = &[("gpu__time_duration.sum", "us", "900")];
    let folder = temp::folder();
    let page = raw(&[
        ("void gemm<(int)64, (bool)1>(const float *)", "(8, 1, 1)", "(64, 1, 1)", SHORT),
        ("void gemm<(int)128, (bool)0>(const float *)", "(8, 1, 1)", "(64, 1, 1)", LONG),
    ]);
    let path = folder.path().join("kernels.csv");
    std::fs::write(&path, page).unwrap();
    let recorded = |name: &str| {
        let report = folder.path().join("run.sqlite");
        let _ = std::fs::remove_file(&report);
        let text = format!(
            "about = \"One kernel.\"\n[[gpu]]\nid = 0\n[kernel]\n\
             \"{name}\" = {{ run_us = 10, grid = [8, 1, 1], block = [64, 1, 1] }}\n\
             [[exact]]\nwhat = \"kernel\"\nname = \"{name}\"\nstart_ns = 1000\nend_ns = 11000\ncorrelation = 1\n"
        );
        Scenario::parse(&text).write(SchemaVersion::Nsys2025, &report);
        let reading = Reading { profiles: vec![path.clone()], ..Reading::default() };
        reading.facts(&report).unwrap()
    };
    // The page tells no compute capability that the scenario's GPU has not.
    let page = std::fs::read_to_string(&path).unwrap().replace("\"9.0\"", "\"\"");
    std::fs::write(&path, page).unwrap();
    let of = |name: &str| number(&recorded(name), "profiled_ns");
    assert_eq!(of("gemm<64, true>(float const*)"), Some(100_000.0));
    assert_eq!(of("gemm<128, false>(float const*)"), Some(900_000.0));
    assert_eq!(of("gemm<256, false>(float const*)"), Some(900_000.0), "the longest");
    let other = recorded("softmax(float*)");
    assert_eq!(run(&other, "joined_profile_count"), Some(0));
    let review = Printer::new().markdown(&other, "run.sqlite").unwrap();
    assert!(review.contains("nothing of its report is used"), "{review}");
}

#[test]
fn several_runs_in_a_file_are_all_read() {
    let twice = transpose() + "done\n==PROF== Disconnected\n" + &transpose();
    assert_eq!(number(&facts(&twice), "profiled_launch_count"), Some(2.0));
    assert_eq!(run(&facts(&twice), "dropped_event_count"), Some(0));
    // Columns of the second run stand elsewhere.
    let less: Vec<_> = TRANSPOSE.iter().copied().filter(|metric| !metric.0.starts_with("dram__")).collect();
    let other = raw(&[("another(int)", "(4, 1, 1)", "(32, 1, 1)", &less)]);
    let both = facts(transpose() + &other);
    let hits = |facts: &Facts| {
        let shapes = facts.of_kind(EntityKind::LaunchShape);
        shapes.filter_map(|(_, shape)| shape.number("l2_hit_share")).map(|share| share.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(hits(&both), ["0.87572528", "0.87572528"]);
}

#[test]
fn numbers_that_can_be_read_in_two_ways_are_not_read() {
    for (number, other) in [("80.366583", "80,366583"), ("1.055328", "1.055.328")] {
        let error = try_facts(transpose().replace(number, other)).unwrap_err();
        assert!(error.contains("comma before decimals") && error.contains("LC_ALL=C ncu --import"), "{error}");
    }
    for none in ["n/a", "(!) n/a", "nan", "inf", "-1.5", "", "1,05,5", "1e999"] {
        let facts = facts(transpose().replace("80.366583", none));
        assert_eq!(number(&facts, "memory_throughput_share"), None, "{none}");
        assert_eq!(number(&facts, "limit"), None);
        assert_eq!(number(&facts, "compute_throughput_share"), Some(0.06));
    }
}

#[test]
fn a_quotation_mark_that_nothing_closes_is_no_silence() {
    let broken = transpose().replacen("\"0\",", "\"step 1\n\"0\",", 1)
        + &transpose().lines().last().unwrap().replace("\"0\",", "\"1\",");
    let dropped = try_facts(&broken).map(|facts| run(&facts, "dropped_event_count"));
    assert!(!matches!(dropped, Ok(Some(0))), "{dropped:?}");
}

#[test]
fn a_page_without_times_says_so_and_what_to_print() {
    let none: Vec<_> = TRANSPOSE.iter().copied().filter(|metric| !metric.0.contains("time_duration")).collect();
    let page = raw(&[("k(int)", "(256, 1, 1)", "(32, 1, 1)", &none)]);
    let review = Printer::new().markdown(&facts(page), "kernels.csv").unwrap();
    assert!(review.contains("1 profiled launch of 1 kernel, without how long they took"), "{review}");
    assert!(review.contains("capture with `ncu --set full -o kernels`"), "{review}");
}

#[test]
fn what_is_broken_is_counted_and_what_is_no_page_is_refused() {
    let page = details();
    let cut = page[..page.find("594.00").unwrap()].to_owned();
    let facts = facts(cut);
    assert_eq!(number(&facts, "compute_throughput_share"), Some(0.06));
    let between = transpose().replacen("\"0\",", "step 1 of 2\n\"0\",", 1);
    assert_eq!(run(&self::facts(between), "dropped_event_count"), Some(0), "a line of the program is no row");
    let broken = transpose().replace("(256, 256, 1)", "(x)") + transpose().lines().last().unwrap();
    assert_eq!(run(&self::facts(broken), "dropped_event_count"), Some(1));
    let header = transpose().lines().next().unwrap().to_owned();
    for (text, words) in [
        (header.clone(), "without a kernel"),
        ("==PROF== Disconnected\n".to_owned(), "no table of kernels"),
        ("[1] app@host\n  k (1, 1, 1)x(32, 1, 1), Context 1, Stream 7\n    Section: Occupancy\n".to_owned(), "as text"),
        ("NVR\0rest".to_owned(), "ncu --import"),
        (format!("{header}\n\"{}", "x".repeat(5 << 20)), "no end"),
    ] {
        let error = try_facts(text).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn damage_never_panics_and_names_are_text_in_every_format() {
    let printer = Printer::new();
    for page in [transpose(), details()] {
        for at in (0..page.len()).step_by(97) {
            let _ = try_facts(&page.as_bytes()[..at]);
            let mut bytes = page.clone().into_bytes();
            bytes[at] = [b'"', b',', b'\n', 0xff, b'9'][at % 5];
            if let Ok(facts) = try_facts(&bytes) {
                printer.print(&facts, "kernels.csv").unwrap();
            }
        }
    }
    let name = "k<script>alert(1)</script>|`x`\u{1b}[31m @all ::error::(int)";
    let facts = facts(raw(&[(name, "(256, 256, 1)", "(32, 8, 1)", TRANSPOSE)]));
    for (format, text) in printer.print(&facts, "kernels.csv").unwrap() {
        assert!(!text.contains('\u{1b}'), "{format}");
        assert!(
            format.starts_with("facts")
                || format.contains("json")
                || format.contains("sarif")
                || !text.contains("<script>"),
            "{format}"
        );
    }
}

#[test]
fn recorded_transposes_differ_in_what_is_said() {
    let Some(folder) = sample_reports() else { return };
    let printer = Printer::new();
    for page in ["raw", "details"] {
        let review = |which: &str| {
            let path = folder.join(format!("gains/ncu/27_transpose.{which}.{page}.csv"));
            printer.markdown(&Reading::default().facts(&path).unwrap(), "kernels.csv").unwrap()
        };
        assert!(review("bad").contains("### 1. Uncoalesced access"), "{page}");
        assert!(!review("fixed").contains("Uncoalesced"), "{page}");
    }
}

#[test]
fn the_details_page_of_older_versions_has_sizes_in_rows() {
    let launch = |id: u64, ns: u64, grid: u64| {
        let row = |section: &str, name: &str, unit: &str, value: &str| {
            format!(
                "\"{id}\",\"7\",\"cfd\",\"127.0.0.1\",\"flux(int)\",\"2021-Jun-03 10:00:00\",\"1\",\"7\",\"{section}\",\"{name}\",\"{unit}\",\"{value}\"\n"
            )
        };
        [
            row("GPU Speed Of Light", "SOL FB", "%", "46.47"),
            row("GPU Speed Of Light", "Duration", "nsecond", &ns.to_string()),
            row("GPU Speed Of Light", "SM [%]", "%", "22.48"),
            row("Launch Statistics", "Block Size", "", "192"),
            row("Launch Statistics", "Grid Size", "", &format!("{grid}")),
            row("Launch Statistics", "Registers Per Thread", "register/thread", "20"),
            row("Occupancy", "Achieved Occupancy", "%", "48.00"),
        ]
        .concat()
    };
    let header = "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Kernel Time\",\"Context\",\"Stream\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
    let facts = facts(format!("{header}{}{}{}", launch(0, 8_992, 506), launch(1, 9_008, 506), launch(2, 100, 1_012)));
    let sizes = |facts: &Facts| {
        let shapes = facts.of_kind(EntityKind::LaunchShape);
        let size =
            |shape: &Entity| (shape.int("grid_block_count"), shape.int("block_thread_count"), shape.int("sum_ns"));
        let mut sizes: Vec<_> = shapes.map(|(_, shape)| size(shape)).collect();
        sizes.sort_unstable();
        sizes
    };
    // A page without that section does not say how large a launch is.
    let lacking = launch(0, 8_992, 506).replace("Launch Statistics", "Memory");
    assert_eq!(sizes(&self::facts(format!("{header}{lacking}"))), [(None, None, Some(8_992))]);
    let shapes = sizes(&facts);
    assert_eq!(shapes, [(Some(506), Some(192), Some(18_000)), (Some(1_012), Some(192), Some(100))]);
    assert_eq!(number(&facts, "achieved_occupancy_share"), Some(0.48));
}
