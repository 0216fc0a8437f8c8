//! Small files that stand for much: each takes the number of rows that an ordinary heavy report has, and is as large as its
//! class needs to be felt.

use std::path::Path;

use rusqlite::Connection;

use super::btree::{Cell, share_overflow};
use super::heavy::{KERNELS, LAUNCHES, TID, write};
use super::temp;

type Make = fn(&Path, i64);

pub const CASES: &[(&str, Make)] = &[
    ("colliding-threads", colliding_threads),
    ("colliding-strings", colliding_strings),
    ("shared-texts", shared_texts),
    ("shared-strings", shared_strings),
    ("shared-capture", shared_capture),
    ("late-columns", late_columns),
    ("default-texts", default_texts),
    ("default-strings", default_strings),
    ("default-rows", default_rows),
    ("default-frames", default_frames),
    ("colons", colons),
    ("wide-json", wide_json),
    ("many-tables", many_tables),
    ("no-length", no_length),
    ("facts-kernels", facts_kernels),
    ("facts-ranges", facts_ranges),
    ("facts-zeros", facts_zeros),
    ("facts-gpus", facts_gpus),
];

/// The inverse of what a well-known hash without a seed multiplies by: all of these keys would fall into one bucket.
pub const INVERSE: i64 = {
    let factor = 0xF135_7AEA_2E62_A9C5_u64;
    let mut inverse = factor;
    let mut round = 0;
    while round < 6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse)));
        round += 1;
    }
    inverse as i64
};

/// A report with kernels, in pages as small as they can be.
fn base(path: &Path, sql: &str) -> Connection {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA page_size = 512;").unwrap();
    drop(db);
    write(path, 20, &[KERNELS, LAUNCHES]);
    let db = Connection::open(path).unwrap();
    db.execute_batch(&format!("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {sql}")).unwrap();
    db
}

fn colliding_threads(path: &Path, rows: i64) {
    let db = base(path, "CREATE TABLE SCHED_EVENTS (start, globalTid, isSchedIn); BEGIN;");
    let mut insert = db.prepare("INSERT INTO SCHED_EVENTS VALUES (5, ?1, 0)").unwrap();
    (1..=rows * 20).for_each(|id| _ = insert.execute([INVERSE.wrapping_mul(id)]).unwrap());
    db.execute_batch("COMMIT").unwrap();
}

fn colliding_strings(path: &Path, rows: i64) {
    let db = base(path, "BEGIN;");
    let mut insert = db.prepare("INSERT INTO NVTX_EVENTS VALUES (?1, ?1 + 9, ?2, 59, NULL, ?3, 0)").unwrap();
    for id in 1..=rows * 20 {
        insert.execute([id * 10, TID, INVERSE.wrapping_mul(id)]).unwrap();
    }
    db.execute_batch("COMMIT").unwrap();
}

fn shared_texts(path: &Path, rows: i64) {
    drop(base(path, ""));
    let row = |id| vec![Cell::Int(5), Cell::Int(9), Cell::Int(TID), Cell::Int(59), Cell::Long(format!("{id:06}"))];
    share_overflow(path, "NVTX_EVENTS", rows * 20, 128, row);
}

fn shared_strings(path: &Path, rows: i64) {
    drop(base(path, ""));
    // The rows are too short for a number before the text: the id is the row's.
    let sql = "DROP TABLE StringIds; CREATE TABLE StringIds (value TEXT, id INTEGER PRIMARY KEY);";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
    share_overflow(path, "StringIds", rows * 20, 4_000, |id| vec![Cell::Long(format!("{id:08}"))]);
}

fn shared_capture(path: &Path, rows: i64) {
    drop(base(path, "CREATE TABLE META_DATA_CAPTURE (value TEXT, name TEXT DEFAULT 'CAPTURE_EVENT_TYPE')"));
    share_overflow(path, "META_DATA_CAPTURE", rows * 10, 4_000, |id| vec![Cell::Long(format!("{id:08}"))]);
}

/// Numbers behind a text that nobody asks for: SQLite goes through all its pages to reach them.
fn late_columns(path: &Path, rows: i64) {
    drop(base(path, ""));
    let sql = "CREATE TABLE OSRT_API (start, hidden, end, globalTid, nameId)";
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
    let row = |_| vec![Cell::Int(5), Cell::Long("x".into()), Cell::Late, Cell::Late, Cell::Late];
    share_overflow(path, "OSRT_API", rows * 20, 4_000, row);
}

/// A table of rows that hold nothing; what is in them is the default of columns that were added afterwards.
fn defaults(path: &Path, table: &str, first: &str, rows: i64, text: &str, others: &str) {
    let sql = format!(
        "DROP TABLE {table}; CREATE TABLE {table} ({first});
         WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {rows}) INSERT INTO {table} SELECT n FROM c;
         ALTER TABLE {table} ADD COLUMN {text}; {others}"
    );
    base(path, "").execute_batch(&sql).unwrap();
}

fn default_texts(path: &Path, rows: i64) {
    let text = format!("text TEXT DEFAULT '{}'", "x".repeat(500_000));
    let others = format!(
        "ALTER TABLE NVTX_EVENTS ADD COLUMN eventType DEFAULT 60; ALTER TABLE NVTX_EVENTS ADD COLUMN end DEFAULT 900000;
         ALTER TABLE NVTX_EVENTS ADD COLUMN globalTid DEFAULT {TID};"
    );
    defaults(path, "NVTX_EVENTS", "start", rows * 50, &text, &others);
}

fn default_strings(path: &Path, rows: i64) {
    let text = format!("value TEXT DEFAULT '{}'", "x".repeat(60_000));
    defaults(path, "StringIds", "id INTEGER PRIMARY KEY", rows * 50, &text, "");
    let sql = format!("INSERT INTO NVTX_EVENTS SELECT 5, 9, {TID}, 60, NULL, id, 0 FROM StringIds");
    Connection::open(path).unwrap().execute_batch(&sql).unwrap();
}

/// Calls of as many threads as rows, of which nothing but the thread stands anywhere.
fn default_rows(path: &Path, rows: i64) {
    let others = "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN end DEFAULT 900; ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN nameId DEFAULT 2";
    let first = "globalTid INTEGER PRIMARY KEY";
    defaults(path, "CUPTI_ACTIVITY_KIND_RUNTIME", first, rows * 25, "start DEFAULT 5", others);
}

const CHAINS: &str =
    "CREATE TABLE CUDA_CALLCHAINS (id, stackDepth, symbol, module); INSERT INTO CUDA_CALLCHAINS VALUES (1, 0, 1, 1);";

fn default_frames(path: &Path, rows: i64) {
    let text = format!("value TEXT DEFAULT '{}'", "1:".repeat(2_047));
    defaults(path, "StringIds", "id INTEGER PRIMARY KEY", rows * 25, &text, CHAINS);
}

/// Texts that are nothing but colons, or nothing but files.
fn colons(path: &Path, rows: i64) {
    let db = base(path, CHAINS);
    for (id, text) in (100..100 + rows / 2).zip(["1:".repeat(2_045), "a.py:x".repeat(682)].iter().cycle()) {
        db.execute("INSERT INTO StringIds VALUES (?1, ?2)", (id, format!("{text}{id}"))).unwrap();
    }
}

fn wide_json(path: &Path, rows: i64) {
    let db = base(path, "CREATE TABLE GENERIC_EVENTS (timestamp, typeId, data)");
    let text = format!("{{\"SMs Active\": [{}0]}}", "0,".repeat(rows as usize * 2_000));
    db.execute("INSERT INTO GENERIC_EVENTS VALUES (5, 1, ?1)", [text]).unwrap();
}

fn many_tables(path: &Path, rows: i64) {
    let sql = format!(
        "PRAGMA writable_schema = ON;
         WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {})
         INSERT INTO sqlite_master SELECT 'table', 'CUPTI_ACTIVITY_KIND_X' || n, 'CUPTI_ACTIVITY_KIND_X' || n, 2,
             'CREATE TABLE CUPTI_ACTIVITY_KIND_X' || n || '(a)' FROM c;",
        (rows * 10).min(40_000)
    );
    base(path, &sql);
}

/// One kernel that ends when it starts.
fn no_length(path: &Path, _: i64) {
    base(
        path,
        "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid > 1; UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start",
    );
}

/// The facts of a report, with the entities of one kind many times.
fn facts(path: &Path, kind: &str, count: i64, change: impl Fn(i64, &mut serde_json::Value)) {
    let folder = temp::folder();
    let report = folder.path().join("report.sqlite");
    write(&report, 20, &[KERNELS, LAUNCHES, "NVTX_EVENTS n * 100000 - 9000, n * 100000, TID, 59, 'r', NULL, 0"]);
    let timeline = super::analysis::timeline(&report);
    let facts = coldspot::facts::extract(&timeline, &coldspot::ledger::Scope::All).unwrap();
    let mut file: serde_json::Value =
        serde_json::from_str(&coldspot::render::facts::facts_json(&facts).unwrap()).unwrap();
    let first = file[kind][0].clone();
    let all = (0..count).map(|number| {
        let mut entity = first.clone();
        entity["id"] = format!("gpu0/{number}").into();
        change(number, &mut entity);
        entity
    });
    file[kind] = all.collect();
    std::fs::write(path, file.to_string()).unwrap();
}

/// Kernels of which every rule says something.
fn facts_kernels(path: &Path, rows: i64) {
    facts(path, "kernels", rows.min(8_000), |number, kernel| {
        kernel["name"] = format!("k{number}").into();
        for (name, value) in [("block_thread_count", 33), ("grid_block_count", 20), ("launch_count", 9)] {
            kernel[name] = value.into();
        }
        for name in ["sum_ns", "attributed_ns", "underfilled_ns", "unused_sm_ns", "faulting_ns"] {
            kernel[name] = (900_000 - number).into();
        }
        kernel["theoretical_occupancy_share"] = 0.1.into();
        kernel["waves_per_sm"] = 1.05.into();
        kernel["is_transpose"] = true.into();
    });
}

fn facts_ranges(path: &Path, rows: i64) {
    facts(path, "ranges", rows.min(49_000), |number, range| {
        range["name"] = format!("r{number}").into();
        range["idle_host_ns"] = 900_000.into();
    });
}

fn facts_zeros(path: &Path, rows: i64) {
    let zeros = "0,".repeat(rows as usize * 5_000);
    std::fs::write(path, format!("{{\"schema\": \"coldspot.facts/1\", \"runs\": [{zeros}0]}}")).unwrap();
}

fn facts_gpus(path: &Path, rows: i64) {
    facts(path, "devices", rows.min(9_000), |number, device| {
        device["number"] = number.into();
    });
}
