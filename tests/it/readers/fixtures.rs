//! The fixtures are what they claim to be: kept reports match their scenarios, and the independent reckoning matches
//! numbers that were computed elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row};

use crate::support::independent::{DeviceNumbers, reckon};
use crate::support::{KEPT, SchemaVersion, damage, fixture, fixtures, sample_reports, scenario, scenario_names, temp};

/// Every row of every table, with the statement that made the table. Values as text, since some are not even UTF-8.
fn rows(path: &Path) -> BTreeMap<String, Vec<String>> {
    let db = Connection::open(path).unwrap();
    let mut tables = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap);
    let tables: Vec<(String, String)> = tables.collect();
    let read = |(name, sql): (String, String)| {
        let mut statement = db.prepare(&format!("SELECT * FROM {name} ORDER BY rowid")).unwrap();
        let width = statement.column_count();
        let one = |row: &Row| (0..width).map(|i| row.get_ref(i).map(|value| format!("{value:?} "))).collect();
        let rows = statement.query_map([], one).unwrap().map(Result::unwrap).collect();
        (sql, rows)
    };
    tables.into_iter().map(read).collect()
}

/// `COLDSPOT_UPDATE_FIXTURES=1 cargo test --test it fixtures` writes the kept reports anew.
#[test]
fn kept_reports_are_what_their_scenarios_make() {
    let update = std::env::var_os("COLDSPOT_UPDATE_FIXTURES").is_some();
    for (stem, name, version) in KEPT {
        let kept = fixtures().join(format!("{stem}.sqlite"));
        if update {
            scenario(name).write(version, &kept);
        }
        assert!(kept.is_file(), "{stem}.sqlite is not there: COLDSPOT_UPDATE_FIXTURES=1 cargo test --test it fixtures");
        let size = kept.metadata().unwrap().len();
        assert!(size < 300 * 1024, "{stem}.sqlite has {size} bytes: a kept fixture is small");
        let same = rows(&kept) == rows(&fixture(name, version));
        assert!(
            same,
            "{stem}.sqlite differs from its scenario: COLDSPOT_UPDATE_FIXTURES=1 cargo test --test it fixtures"
        );
    }
}

#[test]
fn every_scenario_makes_a_report_in_every_version() {
    for name in scenario_names() {
        for version in SchemaVersion::ALL {
            let report = fixture(&name, version);
            let tables = rows(&report);
            assert!(!tables.is_empty(), "{name} {version:?}");
            assert!(tables.values().all(|rows| !rows.is_empty()), "{name} {version:?}: no table is empty");
            for numbers in reckon(&report).values() {
                assert_eq!(numbers.dropped_count, 0, "{name} {version:?}");
                let exposed = numbers.exposed_copy_ns + numbers.exposed_migration_ns + numbers.exposed_memset_ns;
                assert_eq!(
                    numbers.kernel_union_ns + exposed + numbers.idle_ns,
                    numbers.window_ns,
                    "{name} {version:?}"
                );
            }
        }
    }
}

fn first_device(name: &str) -> DeviceNumbers {
    reckon(&fixture(name, SchemaVersion::Nsys2025)).remove(&0).unwrap()
}

fn share(part_ns: i64, numbers: &DeviceNumbers) -> f64 {
    part_ns as f64 / numbers.window_ns as f64
}

#[test]
fn fewer_launches_of_the_same_work_leave_less_idle_time() {
    let (tiny, fused) = (first_device("tiny-kernels"), first_device("fused-kernels"));
    assert_eq!(tiny.kernel_count * 14, fused.kernel_count * 50);
    assert!(share(tiny.idle_ns, &tiny) > 0.4, "{tiny:?}");
    assert!(share(fused.idle_ns, &fused) < 0.15, "{fused:?}");
}

#[test]
fn pinned_copies_move_the_same_bytes_in_less_time() {
    let (pageable, pinned) = (first_device("pageable-copies"), first_device("pinned-copies"));
    assert_eq!(pageable.copy_bytes, pinned.copy_bytes);
    assert_eq!((pageable.pageable_count, pinned.pageable_count), (pageable.copy_count, 0));
    assert!(pageable.exposed_copy_ns > 3 * pinned.exposed_copy_ns, "{pageable:?} {pinned:?}");
}

#[test]
fn an_overlapped_pipeline_exposes_less_of_its_copies() {
    let (serial, overlapped) = (first_device("pipeline-serial"), first_device("pipeline-overlapped"));
    assert_eq!((serial.copy_bytes, serial.kernel_count), (overlapped.copy_bytes, overlapped.kernel_count));
    assert!(share(serial.exposed_copy_ns, &serial) > 0.3, "{serial:?}");
    assert!(share(overlapped.exposed_copy_ns, &overlapped) < 0.1, "{overlapped:?}");
    assert_eq!((serial.kernel_stream_count, overlapped.kernel_stream_count), (1, 1));
}

#[test]
fn a_busy_device_stays_busy_under_long_waits() {
    let numbers = first_device("busy-under-waits");
    assert!(share(numbers.idle_ns, &numbers) < 0.01, "{numbers:?}");
}

#[test]
fn two_processes_with_the_same_ordinal_and_correlation_ids_are_two_devices() {
    let report = fixture("shared-correlation-ids", SchemaVersion::Nsys2025);
    assert_eq!(reckon(&report).into_keys().collect::<Vec<_>>(), [0, 1]);
    let sql = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL a JOIN CUPTI_ACTIVITY_KIND_KERNEL b
        ON a.correlationId = b.correlationId AND a.globalPid < b.globalPid";
    let shared: i64 = Connection::open(&report).unwrap().query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(shared > 10, "{shared}");
}

#[test]
fn exact_events_keep_their_times() {
    let text = r#"
        about = "one kernel, one copy beside it, one memset after a pause"
        kernel.k = { run_us = 0, grid = [1, 1, 1], block = [32, 1, 1] }
        exact = [
            { what = "kernel", name = "k", start_ns = 100, end_ns = 200 },
            { what = "h2d_pinned", start_ns = 150, end_ns = 260, bytes = 7 },
            { what = "memset", start_ns = 300, end_ns = 310, bytes = 4 },
            { what = "memset", start_ns = 400, end_ns = 390 },
        ]
    "#;
    let folder = temp::folder();
    let path = folder.path().join("exact.sqlite");
    crate::support::Scenario::parse(text).write(SchemaVersion::Nsys2021, &path);
    let numbers = reckon(&path).remove(&0).unwrap();
    let expected = DeviceNumbers {
        window_start_ns: 100,
        window_end_ns: 310,
        window_ns: 210,
        idle_ns: 40,
        kernel_count: 1,
        kernel_sum_ns: 100,
        kernel_union_ns: 100,
        copy_count: 1,
        copy_bytes: 7,
        copy_sum_ns: 110,
        copy_union_ns: 110,
        exposed_copy_ns: 60,
        memset_count: 1,
        memset_bytes: 4,
        memset_sum_ns: 10,
        memset_union_ns: 10,
        exposed_memset_ns: 10,
        kernel_stream_count: 1,
        dropped_count: 1,
        ..DeviceNumbers::default()
    };
    assert_eq!(numbers, expected);
}

#[test]
fn the_machine_queues_waits_and_blocks() {
    let text = r#"
        about = "two queued kernels, a wait, a blocking copy"
        kernel.k = { run_us = 10, grid = [1, 1, 1], block = [32, 1, 1] }
        [[thread]]
        script = [
            { launch = { kernel = "k", api_us = 4 } },
            { launch = { kernel = "k", api_us = 4 } },
            { sync = { api = "cudaStreamSynchronize", tail_us = 3 } },
            { memcpy = { dir = "h2d", bytes = 1000, gb_per_s = 1, api_us = 4 } },
        ]
    "#;
    let recording = crate::support::Scenario::parse(text).recording;
    // The first kernel starts 2.5 us after its call of 4 us, the second 0.8 us after the first; the wait ends 3 us after
    // that. The copy starts 2.5 us after 4 us in its call, takes 0.9 us and a byte per ns, and holds the call 2 us more.
    let ops: Vec<_> = recording.ops.iter().map(|op| (op.start_ns - 1_000_000, op.end_ns - 1_000_000)).collect();
    assert_eq!(ops, [(6_500, 16_500), (17_300, 27_300), (36_800, 38_700)]);
    let calls: Vec<_> =
        recording.calls.iter().map(|call| (call.start_ns - 1_000_000, call.end_ns - 1_000_000)).collect();
    assert_eq!(calls, [(0, 4_000), (4_000, 8_000), (8_000, 30_300), (30_300, 40_700)]);
    assert_eq!(recording.waits.len(), 1);
}

#[test]
fn damaged_reports_are_damaged() {
    let folder = temp::folder();
    let healthy = rows(&damage::healthy(folder.path(), "healthy.sqlite"));
    for path in damage::all_strange_reports(folder.path()) {
        // The endless view cannot be read to its end; it is checked by its kind.
        let kind = "SELECT count(*) FROM sqlite_schema WHERE type = 'view'";
        let views: i64 = Connection::open(&path).unwrap().query_row(kind, [], |row| row.get(0)).unwrap();
        assert!(views == 1 || rows(&path) != healthy, "{} equals the healthy report", path.display());
    }
    let seems_whole = |path: &PathBuf| {
        let db = Connection::open(path).unwrap();
        let check = db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
        let count = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        check == Ok("ok".into()) && count != Ok(0)
    };
    // SQLite fills a cut last page with zeros, so that a lost last byte may go unnoticed; every other cut is seen.
    let unnoticed = damage::truncations(folder.path()).into_iter().filter(seems_whole);
    let whole = folder.path().join("whole.sqlite").metadata().unwrap().len();
    let lengths: Vec<_> = unnoticed.map(|path| path.metadata().unwrap().len()).collect();
    assert!(lengths.iter().all(|length| *length == whole - 1), "{lengths:?}");
}

/// The names that the reference numbers use for what is reckoned here.
fn by_reference_name(numbers: &DeviceNumbers) -> BTreeMap<&'static str, i64> {
    BTreeMap::from([
        ("copy_bytes", numbers.copy_bytes),
        ("copy_count", numbers.copy_count),
        ("exposed_copy_ns", numbers.exposed_copy_ns),
        ("exposed_memset_ns", numbers.exposed_memset_ns),
        ("exposed_uvm_ns", numbers.exposed_migration_ns),
        ("idle_ns", numbers.idle_ns),
        ("kernel_count", numbers.kernel_count),
        ("kernel_sum_ns", numbers.kernel_sum_ns),
        ("kernel_union_ns", numbers.kernel_union_ns),
        ("memset_count", numbers.memset_count),
        ("pageable_bytes", numbers.pageable_bytes),
        ("pageable_count", numbers.pageable_count),
        ("streams", numbers.kernel_stream_count),
        ("uvm_copy_count", numbers.migration_count),
        ("window_ns", numbers.window_ns),
    ])
}

#[test]
fn the_independent_reckoning_agrees_with_reference_numbers() {
    let Some(folder) = sample_reports() else { return };
    type Reference = BTreeMap<String, BTreeMap<String, BTreeMap<String, i64>>>;
    let text = std::fs::read_to_string(folder.join("nsys-expected.json")).unwrap();
    let reference: Reference = serde_json::from_str(&text).unwrap();
    assert!(!reference.is_empty());
    for (file, devices) in reference {
        let reckoned = reckon(&folder.join("nsys").join(&file));
        let reckoned: BTreeMap<String, _> =
            reckoned.iter().map(|(id, n)| (id.to_string(), by_reference_name(n))).collect();
        let expected: BTreeMap<String, BTreeMap<&str, i64>> = devices
            .iter()
            .map(|(id, numbers)| (id.clone(), numbers.iter().map(|(name, value)| (name.as_str(), *value)).collect()))
            .collect();
        assert_eq!(reckoned, expected, "{file}");
    }
}
