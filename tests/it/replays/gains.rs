//! What changes were predicted to gain, against what they gained on a real GPU. The recordings and the times of the programs
//! without a profiler are among the sample reports; a few recordings, cut to some steps, are kept here.
//! `COLDSPOT_UPDATE_GAINS=1` writes `docs/gains.md` anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use coldspot::replay::Change;

use super::predicted::Predicted;
use crate::support::cli::{Printed, coldspot};
use crate::support::sample_reports;

/// A recording, the change that its flaw asks for, and the variants of the program that have it.
struct Pair {
    report: &'static str,
    flaw: &'static str,
    change: Change,
    fixes: &'static [&'static str],
}

const fn pair(report: &'static str, flaw: &'static str, change: Change, fixes: &'static [&'static str]) -> Pair {
    Pair { report, flaw, change, fixes }
}

/// The first of `fixes` is the plain one, which the expected gain is held against; the ceiling holds for all.
const PAIRS: &[Pair] = &[
    pair("nsys/01_pageable_h2d.bad.cu12.sqlite", "pageable copies", Change::PinCopies, &["fixed", "overlap"]),
    pair("nsys/01_pageable_h2d.bad.metrics.sqlite", "pageable copies", Change::PinCopies, &["fixed", "overlap"]),
    pair("nsys/03_tiny_kernels.bad.cu12.sqlite", "tiny kernels", Change::Graph, &["graph", "fused14"]),
    pair("nsys/03_tiny_kernels.bad.metrics.sqlite", "tiny kernels", Change::Graph, &["graph", "fused14"]),
    pair("nsys/05_copy_compute_copy.bad.cu12.sqlite", "one stream", Change::OverlapCopies, &["fixed", "fixed3"]),
    pair("nsys/07_small_copies.bad.cu12.sqlite", "copies of 4 kB", Change::BatchCopies, &["fixed"]),
    pair("nsys/09_flag_each_iter.bad.cu12.sqlite", "a value read back", Change::NoSync, &["fixed"]),
    pair("nsys/12_legacy_stream.bad.cu12.sqlite", "legacy stream", Change::NonBlockingStreams, &["fixed"]),
    pair("nsys/14_dataloader.bad.sqlite", "data loading", Change::HostAside, &["fixed"]),
    pair("kineto/14_dataloader.bad.json.gz", "data loading", Change::HostAside, &["fixed"]),
    pair("nsys/15_precision.bad.sqlite", "fp32 products", Change::LowerPrecision, &["tf32", "bf16"]),
    pair("kineto/15_precision.bad.json.gz", "fp32 products", Change::LowerPrecision, &["tf32", "bf16"]),
    pair("nsys/18_cpu_copies.bad.sqlite", "pageable copies", Change::PinCopies, &["fixed"]),
    pair("kineto/18_cpu_copies.bad.json.gz", "pageable copies", Change::PinCopies, &["fixed"]),
    pair("nsys/19_small_infer.bad.sqlite", "launches", Change::Graph, &["graph"]),
    pair("kineto/19_small_infer.bad.json.gz", "launches", Change::Graph, &["graph"]),
    pair("kineto/21_healthy_train.item.json.gz", "none (control)", Change::NoSync, &["healthy"]),
    pair("nsys/22_empty_cache.bad.sqlite", "allocations", Change::CacheAllocations, &["fixed"]),
    pair("kineto/22_empty_cache.bad.json.gz", "allocations", Change::CacheAllocations, &["fixed"]),
    pair("nsys/24_allreduce.manual.sqlite", "communication", Change::OverlapCommunication, &["ddp"]),
    pair("kineto/24_allreduce.manual.rank0.json.gz", "communication", Change::OverlapCommunication, &["ddp"]),
    pair("kineto/24_allreduce.flat.rank0.json.gz", "communication", Change::OverlapCommunication, &["ddp"]),
    pair("nsys/29_hidden_pageable.bad.cu12.sqlite", "none (control)", Change::PinCopies, &["fixed"]),
];

/// Recordings that are kept, with the times of a step without a profiler that were measured, in milliseconds: of the program
/// and of its fixes.
const KEPT: &[(&str, Change, f64, &[f64])] = &[
    ("01_pageable_h2d.bad.cu12.sqlite", Change::PinCopies, 2.3949, &[1.2713, 0.6518]),
    ("03_tiny_kernels.bad.cu12.sqlite", Change::Graph, 0.5554, &[0.2156, 0.1659]),
    ("05_copy_compute_copy.bad.cu12.sqlite", Change::OverlapCopies, 1.0147, &[0.5216, 0.3755]),
    ("09_flag_each_iter.bad.cu12.sqlite", Change::NoSync, 0.0271, &[0.0154]),
    ("12_legacy_stream.bad.cu12.sqlite", Change::NonBlockingStreams, 0.6969, &[0.3575]),
    ("29_hidden_pageable.bad.cu12.sqlite", Change::PinCopies, 2.9004, &[2.8981]),
];

/// A recording made to see whether what was learned from the others holds, with the times of a step without a profiler, in
/// milliseconds: of the program, and with its flaw mended.
struct Again {
    report: &'static str,
    flaw: &'static str,
    change: Change,
    base_ms: f64,
    fixed_ms: f64,
}

const fn again(report: &'static str, flaw: &'static str, change: Change, base_ms: f64, fixed_ms: f64) -> Again {
    Again { report, flaw, change, base_ms, fixed_ms }
}

const AGAIN: &[Again] = &[
    again("sync_layers.sqlite", "a wait after each kernel", Change::NoSync, 0.2205, 0.1258),
    again("branches.sqlite", "independent kernels of 20 blocks", Change::FullGrid, 0.7834, 0.1570),
    again("malloc_step.sqlite", "allocations", Change::CacheAllocations, 0.8774, 0.6696),
    again("four_blocks.sqlite", "a kernel of 4 blocks", Change::FullGrid, 3.5594, 1.8987),
    again("host_between.sqlite", "host work after a wait", Change::HostAside, 11.6016, 10.0975),
    again("results_back.sqlite", "pageable results", Change::PinCopies, 4.2086, 2.5463),
    again("upload_chain.sqlite", "one stream", Change::OverlapCopies, 3.4406, 2.5242),
    again("v_alloc.sqlite", "allocations", Change::CacheAllocations, 0.4732, 0.2493),
    again("v_inputs.sqlite", "pageable inputs", Change::PinCopies, 2.6221, 1.4649),
    again("v_reduce.sqlite", "a kernel of one block", Change::FullGrid, 6.3960, 1.9133),
    again("v_ring.sqlite", "one stream", Change::OverlapCopies, 0.8666, 0.3693),
    again("sync_layer.bad.json.gz", "a wait after each layer", Change::NoSync, 0.8647, 0.4904),
    again("nonzero.bad.json.gz", "rows chosen by a mask", Change::FixedShapes, 1.0105, 0.3963),
    again("from_lists.bad.json.gz", "120 small inputs", Change::BatchCopies, 2.0147, 0.1110),
    again("pageable_in.bad.json.gz", "a pageable input", Change::PinCopies, 1.7211, 0.6467),
    again("pointwise.bad.json.gz", "element-wise chain", Change::Fuse, 1.0125, 0.0945),
    again("decode.bad.json.gz", "launches", Change::Graph, 1.4070, 0.2615),
    again("emptying.bad.json.gz", "allocations", Change::CacheAllocations, 5.1345, 2.2855),
    again("layout.bad.json.gz", "channels first", Change::ChannelsLast, 15.8891, 7.1632),
    again("adam_only.bad.json.gz", "an optimizer by parameter", Change::ForEach, 6.9181, 0.4466),
    again("adam_only.bad.json.gz", "an optimizer by parameter", Change::FuseOptimizer, 6.9181, 0.4466),
    again("loader.bad.json.gz", "data loading", Change::LoadAhead, 16.7178, 4.2626),
    again("dp.bad.rank0.json.gz", "DataParallel", Change::ProcessPerGpu, 9.2012, 5.5247),
    again("reduce.bad.rank0.json.gz", "communication", Change::OverlapCommunication, 6.9020, 6.3774),
    again("v_norm.bad.json.gz", "element-wise chain with sums", Change::Fuse, 0.8057, 0.0985),
    again("v_results.bad.json.gz", "pageable results", Change::PinCopies, 1.9991, 0.6402),
    again("v_fp32.bad.json.gz", "fp32 products", Change::LowerPrecision, 26.9507, 5.4873),
    again("v_item.bad.json.gz", "none (control)", Change::NoSync, 21.0615, 20.6166),
    again("w_flags.sqlite", "24 small results read back", Change::NoSync, 2.5385, 2.2297),
    again("w_workspace.sqlite", "allocations around each kernel", Change::CacheAllocations, 1.8692, 1.2083),
    again("w_default.sqlite", "legacy stream", Change::NonBlockingStreams, 0.5815, 0.2080),
    again("w_mixed.sqlite", "tiny kernels, copies and memsets", Change::Graph, 0.2765, 0.1573),
    again("w_stages.sqlite", "waits between stages", Change::OverlapCopies, 1.8978, 0.9818),
    again("w_weights.sqlite", "weights sent in each step", Change::OverlapCopies, 4.3468, 3.1266),
    again("u_tiles.sqlite", "pieces of a step in one stream", Change::OverlapCopies, 2.3854, 1.3467),
    again("u_scratch.sqlite", "allocations in each step", Change::CacheAllocations, 2.9770, 1.8877),
    again("u_frames.sqlite", "pageable results", Change::PinCopies, 3.6271, 2.3763),
    again("u_histo.sqlite", "a kernel of few blocks", Change::FullGrid, 1.3299, 0.6769),
    again("w_hooks.bad.json.gz", "32 results read back", Change::NoSync, 3.185, 2.207),
    again("w_unpinned.bad.json.gz", "pageable inputs", Change::PinCopies, 9.077, 2.750),
    again("w_gelu.bad.json.gz", "element-wise chains", Change::Fuse, 7.167, 3.610),
    again("w_empty.bad.json.gz", "allocations", Change::CacheAllocations, 24.647, 11.500),
    again("x_attention.bad.json.gz", "attention written out", Change::FuseAttention, 4.7735, 1.4056),
    again("x_eager.bad.json.gz", "element-wise chains with sums", Change::Fuse, 2.5187, 0.3123),
    again("x_classes.bad.json.gz", "40 counts read back", Change::NoSync, 1.6665, 0.0886),
    again("x_bmm.bad.json.gz", "200 small products", Change::Graph, 5.1730, 0.0337),
    again("x_save.bad.json.gz", "state saved in each step", Change::HostAside, 7.8768, 1.6597),
    again("x_numpy.bad.json.gz", "NumPy between two networks", Change::HostAside, 6.1394, 0.4188),
    again("x_uint8.bad.json.gz", "inputs made by the CPU", Change::HostAside, 10.1116, 1.8331),
    again("x_fp64.bad.json.gz", "double precision", Change::SinglePrecision, 1.2543, 0.1601),
    again("y_scan.sqlite", "sums made by the host between kernels", Change::HostAside, 1.1860, 0.8744),
    again("y_pool.sqlite", "a pool that gives memory back", Change::CacheAllocations, 2.5348, 2.1413),
    again("y_metrics.bad.json.gz", "counts made by the host of results", Change::HostAside, 10.6331, 2.7687),
    again("y_rope.bad.json.gz", "norms and rotations in many passes", Change::Fuse, 2.7803, 1.5533),
];

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/replays/kept")
}

#[test]
fn gains_of_other_recordings_hold() {
    let rows: Vec<(&Again, Predicted)> =
        AGAIN.iter().map(|again| (again, Predicted::of(&kept().join(again.report), again.change))).collect();
    let gain = |again: &Again| 1.0 - again.fixed_ms / again.base_ms;
    for (again, predicted) in &rows {
        println!("{}: {predicted:?}, measured {}", again.report, gain(again));
        assert!(predicted.holds(gain(again)), "{}: {predicted:?}", again.report);
    }
    let near = rows.iter().filter(|(again, predicted)| predicted.is_near(gain(again))).count();
    assert!(near * 4 >= rows.len() * 3, "{near} of {}", rows.len());
}

/// Results that are read one after the other are made at once; what the host does with results the device does, and then they
/// need not be copied; what the CPU made is sent from pinned memory; what only reads results hands nothing over.
#[test]
fn work_of_the_host_goes_with_what_it_is_there_for() {
    for name in ["x_classes", "x_save", "x_numpy", "x_uint8", "x_fp64", "y_scan", "y_pool", "y_metrics", "y_rope"] {
        let again = AGAIN.iter().find(|again| again.report.starts_with(name)).unwrap();
        let predicted = Predicted::of(&kept().join(again.report), again.change);
        assert!(predicted.is_near(1.0 - again.fixed_ms / again.base_ms), "{name}: {predicted:?}");
    }
}

/// Host code that sends far more than came back has a state of its own: it may move at best.
#[test]
fn what_has_a_state_of_its_own_is_not_expected_to_move() {
    let predicted = Predicted::of(&kept().join("y_rl.bad.json.gz"), Change::HostAside);
    assert!(predicted.expected < 0.2 && predicted.ceiling > 0.5, "{predicted:?}");
}

/// What recording costs follows from what launches are recorded to take: a slow host pays more.
#[test]
fn steps_without_the_profiler_are_as_long_as_those_measured() {
    for (name, most) in [("decode", 0.25), ("adam_only", 0.05), ("emptying", 0.05), ("x_classes", 0.05), ("x_bmm", 0.1)]
    {
        let again = AGAIN.iter().find(|again| again.report.starts_with(name)).unwrap();
        let predicted = Predicted::of(&kept().join(again.report), again.change);
        assert!((predicted.step_ms / again.base_ms - 1.0).abs() <= most, "{name}: {predicted:?}");
    }
}

/// What another finding explains of a gain is not expected of it as well; alone it could win all of it.
#[test]
fn the_most_that_a_change_wins_is_told_in_full_beside_what_explains_it() {
    for (name, rule, change) in
        [("x_save.bad.json.gz", "host-bound", Change::HostAside), ("x_bmm.bad.json.gz", "launch-bound", Change::Graph)]
    {
        let path = kept().join(name);
        let review = coldspot(&["review", &path.to_string_lossy(), "--format", "json"]).success().json();
        let finding = review["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule).unwrap();
        let (told, played) = (finding["gain"]["share"].as_f64().unwrap(), Predicted::of(&path, change).ceiling);
        assert!((told - played).abs() < 1e-3, "{name}: {told} of {played}");
    }
}

#[test]
fn what_changes_win_together_is_what_whatif_says_of_them() {
    let report = kept().join("emptying.bad.json.gz").to_string_lossy().into_owned();
    let review = coldspot(&["review", &report, "--format", "json"]).success().json();
    let told = &review["devices"][0]["together"];
    let changes: Vec<&str> =
        told["changes"].as_array().unwrap().iter().map(|change| change.as_str().unwrap()).collect();
    assert_eq!(changes, ["cache-allocations", "host-aside", "graph"]);
    let alone = |finding: &serde_json::Value| finding["gain"]["expected_share"].as_f64().unwrap_or(0.0);
    let all: Vec<f64> = review["findings"].as_array().unwrap().iter().map(alone).collect();
    let together = told["expected_share"].as_f64().unwrap();
    assert!(all.iter().all(|alone| *alone <= together), "{together} of {all:?}");
    let mut arguments = vec!["whatif".to_owned(), report.clone(), "--format".to_owned(), "json".to_owned()];
    arguments.extend(changes.iter().map(|change| format!("--{change}")));
    let played = coldspot(&arguments).success().json();
    let played = &played["devices"][0]["together"];
    assert_eq!(played["expected_gain_ns"], told["expected_ns"]);
    assert_eq!(played["ceiling_gain_ns"], told["ceiling_ns"]);
    let text = coldspot(&["review", &report, "--format", "text"]).success().out();
    let line = text.lines().find(|line| line.starts_with("Together: about")).expect("a line");
    assert!(line.contains("at most"), "{line}");
    let one = kept().join("v_reduce.sqlite").to_string_lossy().into_owned();
    let review = coldspot(&["review", &one, "--format", "json"]).success().json();
    assert!(review["devices"][0]["together"].is_null(), "of one change nothing more is told");
}

/// A profiler keeps the environment of what it records with the recording.
#[test]
fn kept_recordings_tell_nothing_of_the_machine_that_they_were_made_on() {
    for entry in std::fs::read_dir(kept()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(4).any(|four| four == b"PWD="), "{}", path.display());
    }
}

#[test]
fn gains_of_kept_recordings_hold() {
    let folder = kept();
    for (name, change, base, fixes) in KEPT {
        let predicted = Predicted::of(&folder.join(name), *change);
        let gain = |fixed: &f64| 1.0 - fixed / base;
        println!("{name}: {predicted:?}, measured {:?}", fixes.iter().map(gain).collect::<Vec<_>>());
        assert!(fixes.iter().all(|fixed| predicted.holds(gain(fixed))), "{name}: {predicted:?}");
        assert!(predicted.is_near(gain(&fixes[0])), "{name}: {predicted:?}");
    }
}

/// Median times of a step without a profiler, in milliseconds, by case and variant.
fn measured(folder: &Path) -> BTreeMap<(String, String), f64> {
    let text = std::fs::read_to_string(folder.join("TABLE.tsv")).unwrap();
    let mut rows = text.lines();
    let head: Vec<&str> = rows.next().unwrap().split('\t').collect();
    let column = |name: &str| head.iter().position(|known| *known == name).unwrap();
    let (case, variant, build) = (column("case"), column("variant"), column("build"));
    let step = column("ms_per_step_unprofiled_median");
    let rows = rows.map(|row| row.split('\t').collect::<Vec<_>>()).filter(|row| row[build] != "cu13");
    rows.map(|row| ((row[case].to_owned(), row[variant].to_owned()), row[step].parse().unwrap())).collect()
}

struct Row {
    pair: &'static Pair,
    predicted: Predicted,
    base_ms: f64,
    gains: Vec<f64>,
}

fn rows(folder: &Path) -> Vec<Row> {
    let times = measured(folder);
    let row = |pair: &'static Pair| {
        let (_, file) = pair.report.split_once('/').unwrap();
        let mut words = file.split('.');
        let (case, variant) = (words.next().unwrap(), words.next().unwrap());
        let time = |variant: &str| times[&(case.to_owned(), variant.to_owned())];
        let base_ms = time(variant);
        let gains = pair.fixes.iter().map(|fix| 1.0 - time(fix) / base_ms).collect();
        Row { pair, predicted: Predicted::of(&folder.join(pair.report), pair.change), base_ms, gains }
    };
    PAIRS.iter().map(row).collect()
}

#[test]
fn gains_of_sample_recordings_hold() {
    let Some(folder) = sample_reports().map(|folder| folder.join("gains")).filter(|folder| folder.exists()) else {
        return;
    };
    let rows = rows(&folder);
    let broken: Vec<&str> = rows
        .iter()
        .filter(|row| !row.gains.iter().all(|gain| row.predicted.holds(*gain)))
        .map(|row| row.pair.report)
        .collect();
    let near = rows.iter().filter(|row| row.predicted.is_near(row.gains[0])).count();
    println!("{near} of {} expected gains are near; ceilings broken: {broken:?}", rows.len());
    let page = page(&rows);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/gains.md");
    if std::env::var_os("COLDSPOT_UPDATE_GAINS").is_some() {
        std::fs::write(path, page).unwrap();
    } else {
        let kept = std::fs::read_to_string(path).unwrap();
        assert_eq!(kept, page, "docs/gains.md is not what replays say now: COLDSPOT_UPDATE_GAINS=1 writes it");
    }
    assert!(broken.is_empty(), "{broken:?}");
    assert!(near * 10 >= rows.len() * 8, "{near} of {}", rows.len());
}

const HEAD: &str = "# Predicted and measured gains

What `coldspot whatif` predicts of a recording of a program with one flaw, against what the same program gained on the GPU when
the flaw was mended. `cargo test --test it -- replays::gains` holds the two against each other where the recordings are there,
and writes this page with `COLDSPOT_UPDATE_GAINS=1`.

- Machine: one and two NVIDIA H200 (132 SMs, PCIe 5.0) of one host, driver 13.0, 2026-11-21. C++ built by nvcc 12.4, PyTorch 2.11;
  recorded with Nsight Systems 2024.2.3 (`nsys`) and torch.profiler (`kineto`).
- *Measured*: the median of five loops after a warm-up, timed **without a profiler**. Differences under 10 % between runs of
  host-bound programs are noise: the step of `22_empty_cache` took 5.8 ms in one process and 6.5 ms in another.
- *Step*: as recorded, and as estimated without the profiler, which slows what the host does.
- *Expected* is held against the first of the measured gains, which is the plain fix; *at most* against all of them.

| recording | flaw | change | step measured | recorded | without profiler | expected | at most | measured | near |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
";

fn page(rows: &[Row]) -> String {
    let mut page = HEAD.to_owned();
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    for Row { pair, predicted, base_ms, gains } in rows {
        let named = pair.fixes.iter().zip(gains).map(|(fix, gain)| format!("{} ({fix})", percent(*gain)));
        let near = if predicted.is_near(gains[0]) { "yes" } else { "no" };
        writeln!(
            page,
            "| {} | {} | `{}` | {base_ms:.4} ms | {:.4} ms | {:.4} ms | {} | {} | {} | {near} |",
            pair.report.replace(".sqlite", "").replace(".json.gz", ""),
            pair.flaw,
            pair.change.id(),
            predicted.recorded_ms,
            predicted.step_ms,
            percent(predicted.expected),
            percent(predicted.ceiling),
            named.collect::<Vec<_>>().join(", ")
        )
        .unwrap();
    }
    let near = rows.iter().filter(|row| row.predicted.is_near(row.gains[0])).count();
    writeln!(
        page,
        "\n{near} of {} expected gains are within 20 % of the measured one (or both are under 5 %); no measured gain is more than 3 points \
         above its ceiling.\n",
        rows.len()
    )
    .unwrap();
    page += AGAIN_HEAD;
    let mut near = 0;
    for Again { report, flaw, change, base_ms, fixed_ms } in AGAIN {
        let (predicted, gain) = (Predicted::of(&kept().join(report), *change), 1.0 - fixed_ms / base_ms);
        let is_near = predicted.is_near(gain);
        near += usize::from(is_near);
        writeln!(
            page,
            "| {} | {flaw} | `{}` | {base_ms:.4} ms | {:.4} ms | {:.4} ms | {} | {} | {} | {} |",
            report.replace(".sqlite", " (nsys)").replace(".json.gz", " (kineto)"),
            change.id(),
            predicted.recorded_ms,
            predicted.step_ms,
            percent(predicted.expected),
            percent(predicted.ceiling),
            percent(gain),
            if is_near { "yes" } else { "no" }
        )
        .unwrap();
    }
    writeln!(
        page,
        "\n{near} of {} expected gains are near; no measured gain is more than 3 points above its ceiling.\n",
        AGAIN.len()
    )
    .unwrap();
    page + TAIL
}

const AGAIN_HEAD: &str = "## Recorded again

Other programs with other flaws and sizes, on machines of the same kind (NVIDIA H200, driver 13.0, 2026-11-21 and 22; C++ built by nvcc
13.0 and recorded with Nsight Systems 2023.4.4, PyTorch 2.11 with torch.profiler), to see whether what was learned above holds. They
were reviewed before anything was changed for them, eight times:

| programs with a flaw | reviewed | flaw first | ceiling holds | expected within 20 % |
| --- | --- | ---: | ---: | ---: |
| 30 | before anything was changed for them | 20 | 18 | 14 |
| the same | after they were learned from | 26 | 27 | 22 |
| 13 others (`v_`) | before anything was changed for them | 12 | 12 | 9 |
| the same | after they were learned from | 13 | 13 | 11 |
| 23 others (`w_`) | before anything was changed for them | 16 | 15 | 10 |
| the same | after they were learned from | 20 | 21 | 16 |
| 24 others (`u_`, and 15 of PyTorch) | before anything was changed for them | 16 | 15 | 10 |
| the same | after they were learned from | 17 | 18 | 11 |
| 29 others (`x_`, and 15 of PyTorch) | before anything was changed for them | 26 | 22 | 16 |
| the same | after they were learned from | 28 | 27 | 24 |
| 30 others (`c_`, and 18 of PyTorch) | in the middle of the changes for the set above, none made for them | 22 | 21 | 16 |
| the same | after they were learned from | 23 | 25 | 21 |
| 12 others (6 of PyTorch) | before anything was changed for them | 10 | 10 | 8 |
| 12 others (6 of PyTorch) | after changes for the 12 above, none made for them | 11 | 10 | 9 |
| 13 others (6 of PyTorch, on one and two NVIDIA H100) | before anything was changed for them | 12 | 12 | 8 |
| the same | after they were learned from | 12 | 12 | 9 |

Three of the sets have a slow host. Of the last but two, gains are those of the finding that names the flaw; in three of its programs another cause that is told first
wins more, as CUDA graphs timed afterwards show, and one of its three controls (kernels of a library with a few blocks too few, at most 6.7 %) was not
quiet before they were learned from. Of the set before it, one program (a kernel that reads memory out of order) is promised no
number; the fixes of four others compute in another way (`bincount`, one product in place of masks, one batched product, `nn.LSTM`); of its
three controls two stay quiet, and the third, which copies for 10 % of its step beside nothing, is told so. In the one before that
the work of the host takes 5 to 20 % longer or shorter from process to process: the fixes of four of its programs
gained less than 5 % in at least one of three or four runs of five loops each. Its three controls stay under 5 %.

16 more were meant to have no flaw. Twelve stay quiet, one of which lost its kernels and is told so; in four others, which the host or element-wise kernels slow down, the review says
so, where what was mended had gained nothing (`micro`, `v_mask`, `v_resnet`, `w_metrics`). The machine of the `w_` programs has a slower
host: where a layer is short, launching takes longer there than the flaw, and comes first (`w_masks`, `w_nchw`, `w_timers`). What had to come
first was written down before the reviews; of the `w_` programs two count in the second row by a cause that was accepted afterwards (`w_workspace`, `w_poll`), and
`w_metrics`, meant to have a flaw, gained 0.5 % and counts as having none.

The table says what replays say now, of recordings that are small enough to be kept in
`tests/it/replays/kept`.

| recording | flaw | change | step measured | recorded | without profiler | expected | at most | measured | near |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
";

const TAIL: &str = "## What is not predicted

- What only the inside of a kernel can tell, such as uncoalesced access: the review names the kernel to look inside.
- What another algorithm or a larger batch would bring.
- Which rank the others wait for, where the recording holds one of them.

## A step without the profiler

A profiler slows what the host does: recorded steps of the programs here take up to five times as long as those without it. What is
told of a host-bound step rests on what recording cost, which no recording holds. It is fitted to 29 PyTorch programs whose steps
recording made at least 8 % longer (of the sets above; programs of the last two sets run on a slow host), played again without it:

- A launch takes 2.5 µs without a profiler. What the median launch is recorded to take beyond that, *c*, is what recording a call
  costs on this host, at least 1.2 µs (tight loops of C++ under Nsight Systems) and at most 8 µs (the most that was seen: 7.8 µs).
  The median, as the fastest quarter of launches does not tell how slow a host is that stalls now and then. On a host that launches
  faster than the measured ones it is at most 0.4 of the recorded launch, and none is taken to be shorter than 1 µs.
- An operator of PyTorch costs 1.35 *c*, 0.95 *c* where its shapes are not recorded (two programs, one of
  them not among the 29), a function of Python (`with_stack`)
  0.125 *c*. Among them *c* is 1.2 to 7.8 µs, so an operator costs 1.6 to 10.6 µs. What `profile_memory` costs cannot be told from the
  one program that has it.
- No more than 75 % of the host code before a call is taken to be recording, and 85 % of what functions of Python are recorded in: of
  whole steps at most 74 % (17.6 for 4.5 ms) and 80 % (81.7 for 16.2 ms) were. Operators that fetch data cost 0.8 µs.
- Between two steps of the profiler (`ProfilerStep#`) it takes 6 to 137 µs; what is longer than 200 µs is not its own.

How far the told step is from the measured one, in the mean: 11 %, and 12 % for each program by constants fitted without it (22 of
29 within 15 %; 24 % and 14 of 29 by the constants before, most of them too long). Host time itself differs by up to 28 % between two
machines of one kind. With 0.6 and 1.5 times the cost (then at most 80 % of host code) the range that is told, from what a step
takes at least to what it takes at most, holds 23 of the 29. Furthest out are DataParallel, whose threads wait for each other (13.7 for 9.2 ms), and two token by token
decoders of cheap operators (1.7 for 2.5 and 1.1 for 1.4 ms).

## What the model takes from these measurements

Packing small pieces on the host (14 GB/s), the spacing of kernels in a graph (60 ns), what overlapped communication costs the
compute beside it (0.55 of the time that it is hidden); how much longer the same work may take in another run: of the host 28 %, as
between two machines of one kind, of allocating 60 % (52 % in one program), of copies from pageable memory 20 % (22 % in one program),
of the device 5 %; what stays of host code that other
threads do (15 %), what kernels of several streams win of the last wave of each other
(8 %), of normalisation with the channels last (60 %). Launches of one kernel and one grid whose lengths differ by half are taken
for unlike pieces of work: alike ones differ by less on a steady clock. The rest is taken from the recording itself: rates of pinned
copies where there are any, launch latencies, spacings, what waits waited for.

Where a change is expected to win a tenth of a step or more, the most that it could win counts what is mostly made with it as well: a graph
holds no waits, pinned copies run beside kernels, compiled code casts on the way, and a model in half precision moves half as much
between its products. `y_rl.bad` (kineto) is kept without a row: its host code acts on an environment with a state of its own, and no
change here stands for its fix; a test holds that it is not expected to move.

What stays at best: of a graph, and of waits that go, all kernels but those that make nothing but the values that are read, small ones
that pass over elements (they can become part of others), and small ones of a loop whose few kernels come again 16 times (one launch can do
all of them). Where values are read in a loop, what is launched elsewhere is launched as before.
";
