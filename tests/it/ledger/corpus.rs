//! Facts of reports against independent computations: of the scenarios always, of the optional folder of sample reports
//! where it is there. `COLDSPOT_CORPUS=required` makes its absence a failure. Where the folder is there, every test must
//! have compared something.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coldspot::facts::{Entity, EntityKind, Facts};
use coldspot::source::ReadOptions;

use crate::support::analysis::{facts, facts_of, timeline, try_timeline};
use crate::support::independent::reckon;
use crate::support::{SchemaVersion, fixture, sample_reports, scenario_names};

fn reports() -> Vec<PathBuf> {
    let Some(folder) = sample_reports() else { return Vec::new() };
    let mut reports: Vec<PathBuf> =
        std::fs::read_dir(folder.join("nsys")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!reports.is_empty(), "{} holds no report", folder.display());
    reports.sort();
    reports
}

/// Holds the reports against something, one at a time: `compare` says whether there was something to hold one against.
fn each_report(mut compare: impl FnMut(&Path) -> bool) {
    let reports = reports();
    let compared = reports.iter().filter(|path| compare(path)).count();
    println!("{compared} of {} sample reports compared", reports.len());
    assert!(compared > 0 || reports.is_empty(), "no sample report was compared with anything");
}

fn check_against_independent(path: &Path) {
    let facts = facts(path);
    let devices: BTreeMap<i64, &Entity> =
        facts.of_kind(EntityKind::Device).map(|(_, device)| (device.int("number").unwrap(), device)).collect();
    let expected = reckon(path);
    assert_eq!(devices.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{}", path.display());
    for (number, expected) in expected {
        let int = |name: &str| devices[&number].int(name);
        for (name, value) in [
            ("window_ns", expected.window_ns),
            ("window_start_ns", expected.window_start_ns),
            ("idle_ns", expected.idle_ns),
            ("kernel_count", expected.kernel_count),
            ("kernel_sum_ns", expected.kernel_sum_ns),
            ("kernel_busy_ns", expected.kernel_union_ns),
            ("graph_launch_count", expected.graph_launch_count),
            ("copy_count", expected.copy_count),
            ("copy_bytes", expected.copy_bytes),
            ("copy_sum_ns", expected.copy_sum_ns),
            ("copy_busy_ns", expected.copy_union_ns),
            ("exposed_copy_ns", expected.exposed_copy_ns),
            ("pageable_copy_count", expected.pageable_count),
            ("pageable_copy_bytes", expected.pageable_bytes),
            ("migration_count", expected.migration_count),
            ("migration_bytes", expected.migration_bytes),
            ("exposed_migration_ns", expected.exposed_migration_ns),
            ("memset_count", expected.memset_count),
            ("memset_bytes", expected.memset_bytes),
            ("memset_sum_ns", expected.memset_sum_ns),
            ("exposed_memset_ns", expected.exposed_memset_ns),
            ("kernel_stream_count", expected.kernel_stream_count),
        ] {
            assert_eq!(int(name), Some(value), "{}: device {number}: {name}", path.display());
        }
    }
}

#[test]
fn sample_reports_agree_with_an_independent_computation() {
    each_report(|path| {
        check_against_independent(path);
        true
    });
}

#[test]
fn fixtures_agree_with_an_independent_computation() {
    for name in scenario_names() {
        for version in SchemaVersion::ALL {
            check_against_independent(&fixture(&name, version));
        }
    }
}

/// Rows of a CSV that `nsys stats` wrote, by the name in the last column: total and count.
fn nvidia(report: &Path, table: &str, total: usize, count: usize) -> Option<BTreeMap<String, (i64, i64)>> {
    let stem = report.file_stem()?.to_str()?;
    let text = std::fs::read_to_string(sample_reports()?.join("expected").join(format!("{stem}.{table}.csv"))).ok()?;
    let rows = text.lines().skip(1).filter(|line| !line.is_empty()).map(|line| {
        // Nine columns; the last, a name, may hold commas and quotes.
        let fields: Vec<&str> = line.splitn(9, ',').collect();
        let name = fields[8].trim_matches('"').replace("\"\"", "\"");
        (name, (fields[total].parse().unwrap(), fields[count].parse().unwrap()))
    });
    Some(rows.collect())
}

#[test]
fn api_calls_agree_with_the_sums_of_the_profiler_itself() {
    each_report(|path| {
        let Some(expected) = nvidia(path, "cuda_api_sum", 1, 2) else { return false };
        let timeline = timeline(path);
        let mut sums: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (place, name) in timeline.api.name.iter().enumerate() {
            let sum = sums.entry(timeline.name(*name).to_owned()).or_default();
            *sum = (sum.0 + timeline.api.times.at(place).len_ns(), sum.1 + 1);
        }
        let mut normalised: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (name, (total, count)) in expected {
            let sum = normalised.entry(coldspot::timeline::api::normal_name(&name).to_owned()).or_default();
            *sum = (sum.0 + total, sum.1 + count);
        }
        assert_eq!(sums, normalised, "{}", path.display());
        true
    });
}

#[test]
fn kernels_agree_with_the_sums_of_the_profiler_itself() {
    each_report(|path| {
        let Some(expected) = nvidia(path, "cuda_gpu_kern_sum", 1, 2) else { return false };
        let facts = facts(path);
        let total =
            |name: &str| facts.of_kind(EntityKind::Kernel).filter_map(|(_, kernel)| kernel.int(name)).sum::<i64>();
        assert_eq!(total("sum_ns"), expected.values().map(|row| row.0).sum::<i64>(), "{}", path.display());
        assert_eq!(total("launch_count"), expected.values().map(|row| row.1).sum::<i64>(), "{}", path.display());
        true
    });
}

/// Facts that an exporter may say more or less of: its own version, and what it did not know.
fn comparable(facts: &Facts) -> BTreeMap<String, BTreeMap<&'static str, String>> {
    let says_more = ["product_version", "schema_version", "cuda_trace_requested"];
    let of = |entity: &Entity| {
        entity
            .facts()
            .filter(|(name, _)| !says_more.contains(name))
            .map(|(name, value)| (name, format!("{value:?}")))
            .collect()
    };
    facts.iter().map(|(_, entity)| (format!("{} {}", entity.kind.name(), entity.key), of(entity))).collect()
}

#[test]
fn one_recording_through_two_exporters_gives_the_same_facts() {
    each_report(|old| {
        let stem = old.to_str().and_then(|path| path.strip_suffix(".x22.sqlite"));
        let Some(new) = stem.map(|stem| PathBuf::from(format!("{stem}.x23.sqlite"))).filter(|new| new.exists()) else {
            return false;
        };
        assert_eq!(comparable(&facts(old)), comparable(&facts(&new)), "{}", old.display());
        true
    });
}

#[test]
fn facts_do_not_depend_on_the_number_of_threads() {
    let mut paths = reports();
    let kept = fixture("training-step", SchemaVersion::Nsys2025);
    paths.push(kept.to_path_buf());
    for path in paths {
        let with = |threads| {
            let options = ReadOptions { threads: Some(threads), ..ReadOptions::default() };
            facts_of(&try_timeline(&path, &options).unwrap())
        };
        assert_eq!(with(1), with(3), "{}", path.display());
    }
}
