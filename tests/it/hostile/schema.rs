//! Databases whose schema is the attack: reading them runs nothing of it, and ends.

use std::path::{Path, PathBuf};

use coldspot::source::{Limits, ReadError, ReadOptions};
use coldspot::timeline::Timeline;
use rusqlite::Connection;

use crate::support::analysis::{timeline, try_timeline};
use crate::support::{damage, temp, watch};

const KERNEL: &str = "CUPTI_ACTIVITY_KIND_KERNEL";

/// A healthy report after some SQL.
fn read_after(sql: &str) -> Result<Timeline, ReadError> {
    let folder = temp::folder();
    let path = damage::healthy(folder.path(), "report.sqlite");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    read_to_the_end(&path, ReadOptions::default())
}

fn read_to_the_end(path: &Path, options: ReadOptions) -> Result<Timeline, ReadError> {
    let path = path.to_owned();
    watch::ends(move || try_timeline(&path, &options))
}

/// The message of a report that must be refused.
fn refused(sql: &str) -> String {
    match read_after(sql) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("read in spite of: {sql}"),
    }
}

/// SQL that puts a table of other making in the place of the kernels, with their rows.
fn kernels_as(columns: &str, end: &str) -> String {
    format!(
        "ALTER TABLE {KERNEL} RENAME TO old; CREATE TABLE {KERNEL} ({columns}) {end};
         INSERT INTO {KERNEL} (id, start, \"end\") SELECT rowid, start, \"end\" FROM old; DROP TABLE old;"
    )
}

/// The same, but the schema is changed afterwards, so that writing computes nothing.
fn kernels_said_to_be(columns: &str) -> String {
    format!(
        "{} PRAGMA writable_schema = ON;
         UPDATE sqlite_master SET sql = 'CREATE TABLE {KERNEL} ({columns})' WHERE name = '{KERNEL}';
         PRAGMA writable_schema = OFF;",
        kernels_as("id INTEGER, start INTEGER, \"end\" INTEGER", "")
    )
}

/// Ends the statement with an error where it is run.
const FORBIDDEN: &str = "abs(-9223372036854775807 - length(1))";

#[test]
fn what_is_no_ordinary_table_is_refused_by_name() {
    let drop = format!("DROP TABLE {KERNEL};");
    for make in [
        format!("{drop} CREATE VIEW {KERNEL} AS SELECT 1 AS start, 2 AS \"end\";"),
        format!("{drop} CREATE VIRTUAL TABLE {KERNEL} USING fts5(start, \"end\");"),
        format!("{drop} CREATE VIRTUAL TABLE {KERNEL} USING rtree(id, start, \"end\");"),
        kernels_as("id INTEGER PRIMARY KEY, start INTEGER, \"end\" INTEGER", "WITHOUT ROWID"),
        kernels_as("id INTEGER, start INTEGER, \"end\" INTEGER, rowid TEXT, _rowid_ TEXT, oid TEXT", ""),
        "DROP TABLE StringIds; CREATE VIEW StringIds AS SELECT 1 AS id, 'x' AS value;".to_owned(),
    ] {
        let message = refused(&make);
        assert!(message.contains("ordinary table"), "{make}: {message}");
    }
}

#[test]
fn the_forbidden_expression_is_noticed_where_it_is_run() {
    let db = Connection::open_in_memory().unwrap();
    let run = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0));
    assert!(run(&format!("SELECT {FORBIDDEN}")).unwrap_err().to_string().contains("overflow"));
}

#[test]
fn expressions_of_a_schema_are_never_run() {
    for (columns, has_kernels) in [
        (format!("id INTEGER, start INTEGER, \"end\" INTEGER, x AS ({FORBIDDEN}), y AS ({FORBIDDEN})"), true),
        (format!("id INTEGER, start INTEGER, \"end\" INTEGER, rowid AS ({FORBIDDEN})"), true),
        (
            format!(
                "id INTEGER, start INTEGER, \"end\" INTEGER, \"deviceId\" AS ({FORBIDDEN}), streamId AS ({FORBIDDEN})"
            ),
            true,
        ),
        (format!("id INTEGER, start INTEGER, \"end\" INTEGER, CHECK (start > 0 OR {FORBIDDEN} > 0)"), true),
        (
            format!(
                "id INTEGER, start INTEGER, \"end\" INTEGER, x DEFAULT 1, y INTEGER CHECK (y IS NULL OR {FORBIDDEN})"
            ),
            true,
        ),
    ] {
        let timeline = read_after(&kernels_said_to_be(&columns)).unwrap();
        assert_eq!(!timeline.kernels.ops.is_empty(), has_kernels, "{columns}");
    }
    // A generated column in place of one that is needed is not there.
    let sql = format!(
        "{} SELECT 1;",
        kernels_said_to_be(&format!("id INTEGER, start AS ({FORBIDDEN}), \"end\" AS ({FORBIDDEN})"))
    );
    let timeline = read_after(&sql).unwrap();
    assert!(timeline.kernels.ops.is_empty() && timeline.dropped.iter().any(|dropped| dropped.events == KERNEL));
}

#[test]
fn indexes_triggers_and_other_tables_run_nothing() {
    let cascade = format!(
        "CREATE INDEX forbidden ON {KERNEL} (start) WHERE start < 0 AND {FORBIDDEN} > 0;
         CREATE TRIGGER t AFTER INSERT ON {KERNEL} BEGIN SELECT {FORBIDDEN}; END;
         CREATE VIEW other AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;
         CREATE VIRTUAL TABLE search USING fts5(a);
         CREATE TABLE parent (x REFERENCES other (x));"
    );
    assert!(!read_after(&cascade).unwrap().kernels.ops.is_empty());
}

#[test]
fn a_schema_that_lies_is_damage() {
    for lie in [
        "type = 'table' WHERE name = 'v'",
        "sql = 'CREATE VIEW v AS SELECT load_extension(''/tmp/x'')', type = 'table' WHERE name = 'OSRT_API'",
        "rootpage = 1 WHERE name = 'StringIds'",
        "rootpage = 999999 WHERE name = 'StringIds'",
        "sql = 'CREATE TABLE' WHERE name = 'StringIds'",
        "name = char(27) || '[31m' || char(10) || '::error::x' WHERE name = 'StringIds'",
    ] {
        let sql = format!(
            "CREATE VIEW v AS SELECT 1; CREATE TABLE OSRT_API (x); PRAGMA writable_schema = ON; UPDATE sqlite_master SET {lie};"
        );
        // An honest answer is possible only where the lie is about something that is not read.
        if let Ok(timeline) = read_after(&sql) {
            assert!(timeline.names.is_empty() || !timeline.kernels.ops.is_empty(), "{lie}");
        }
    }
    let columns = (0..1_500).map(|number| format!("c{number}")).collect::<Vec<_>>().join(", ");
    assert!(refused(&format!("DROP TABLE {KERNEL}; CREATE TABLE {KERNEL} ({columns});")).contains("too many columns"));
}

/// Pages of which each refers many times to the next: a scan of the whole would not end before the sun.
fn endless_pages(folder: &Path, table: &str) -> PathBuf {
    let path = damage::healthy(folder, "endless.sqlite");
    let root: u32 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_master WHERE name = ?1", [table], |row| row.get(0))
        .unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let pages = bytes.len() / size;
    let root_at = (root as usize - 1) * size;
    let mut leaf = bytes[root_at..root_at + size].to_vec();
    // The last child of an interior page, until there is none.
    while leaf[0] == 5 {
        let child = u32::from_be_bytes(leaf[8..12].try_into().unwrap()) as usize - 1;
        leaf = bytes[child * size..(child + 1) * size].to_vec();
    }
    const LEVELS: usize = 8;
    let interior = |next: usize| {
        let mut page = vec![0_u8; size];
        let cells = (size - 40) / 2;
        page[0] = 5;
        page[3..5].copy_from_slice(&(cells as u16).to_be_bytes());
        page[5..7].copy_from_slice(&((size - 8) as u16).to_be_bytes());
        page[8..12].copy_from_slice(&(next as u32).to_be_bytes());
        // Every cell is the same one: the next page, row id 1.
        (0..cells).for_each(|cell| {
            page[12 + 2 * cell..14 + 2 * cell].copy_from_slice(&((size - 8) as u16).to_be_bytes());
        });
        page[size - 8..size - 4].copy_from_slice(&(next as u32).to_be_bytes());
        page[size - 4] = 1;
        page
    };
    bytes[root_at..root_at + size].copy_from_slice(&interior(pages + 1));
    for level in 1..LEVELS {
        bytes.extend(interior(pages + level + 1));
    }
    bytes.extend(leaf);
    let count = (bytes.len() / size) as u32;
    bytes[28..32].copy_from_slice(&count.to_be_bytes());
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn pages_that_refer_to_each_other_end_in_damage() {
    let folder = temp::folder();
    for table in [KERNEL, "CUPTI_ACTIVITY_KIND_RUNTIME", "StringIds", "META_DATA_CAPTURE"] {
        let path = endless_pages(folder.path(), table);
        // Rows beyond the limit are counted, and threads share one budget.
        for (rows, threads) in [(u64::MAX, 2), (1, 2), (1, 1)] {
            let limits = Limits { rows: rows.min(Limits::default().rows), ..Limits::default() };
            let options = ReadOptions { limits, threads: Some(threads), ..ReadOptions::default() };
            match read_to_the_end(&path, options) {
                Err(ReadError::Damaged { .. }) => {}
                other => panic!("{table}: {:?}", other.map(|timeline| timeline.gpu_op_count())),
            }
        }
    }
}

#[test]
fn a_row_that_is_dropped_names_no_kernel() {
    let unknown_device = format!(
        "INSERT INTO StringIds VALUES (900001, 'phantom_gemm');
         INSERT INTO {KERNEL} SELECT * FROM {KERNEL} LIMIT 1;
         UPDATE {KERNEL} SET deviceId = 2147483647, contextId = 99, demangledName = 900001, globalPid = 77 << 24
         WHERE rowid = (SELECT max(rowid) FROM {KERNEL});"
    );
    let timeline = read_after(&unknown_device).unwrap();
    assert_eq!(timeline.dropped.iter().map(|dropped| dropped.count).sum::<u64>(), 1);
    let names = timeline.kernels.shapes.iter().map(|shape| timeline.name(shape.full_name));
    assert!(names.clone().any(|name| !name.is_empty()) && !names.clone().any(|name| name.contains("phantom")));
}

#[test]
fn limits_cut_and_say_so() {
    let folder = temp::folder();
    let path = damage::healthy(folder.path(), "report.sqlite");
    let all = timeline(&path);
    assert_eq!(all.reached, coldspot::timeline::Reached::default());
    let with = |limits| try_timeline(&path, &ReadOptions { limits, ..ReadOptions::default() }).unwrap();
    let few = with(Limits { rows: 7, ..Limits::default() });
    assert_eq!((few.kernels.ops.len(), few.api.len()), (all.kernels.ops.len().min(7), 7));
    assert!(few.reached.row_count >= (all.api.len() - 7) as u64);
    let short = with(Limits { name_bytes: 4, ..Limits::default() });
    assert!(short.reached.cut_name_count > 0 && short.names.iter().all(|(_, name)| name.len() <= 4));
    let merged = with(Limits { names: 2, ..Limits::default() });
    assert!(merged.reached.merged_name_count > 0 && merged.names.len() == 3);
    assert_eq!(merged.kernels.ops.len(), all.kernels.ops.len());
    // Names of kernels go first: they say what is communication.
    let kernel = |timeline: &Timeline| timeline.name(timeline.kernels.shape_of(0).name).to_owned();
    assert_eq!(kernel(&merged), kernel(&all));
}
