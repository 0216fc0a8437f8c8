//! Rows from pages against the same rows from SQLite.

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};

use super::super::budget::Budget;
use super::super::cells::Cells;
use super::super::database::{self, Schema};
use super::*;

const TABLE: &str = "NVTX_EVENTS";
const COLUMNS: [&str; 4] = ["start", "text", "lacking", "textId"];

/// What is read of a row: two whole numbers, and a text.
type Read = (Option<i64>, Option<Vec<u8>>, Option<i64>);

fn created(path: &Path, page_bytes: usize, columns: &str) -> Connection {
    let db = Connection::open(path).unwrap();
    let create = format!("PRAGMA page_size = {page_bytes}; CREATE TABLE {TABLE} ({columns});");
    db.execute_batch(&create).unwrap();
    db
}

fn plain(path: &Path) -> Option<PlainTable> {
    let budget = Budget::of(path);
    let db = database::open(path, &budget).unwrap();
    Schema::probe(&db, budget).ok()?.plain(TABLE, &COLUMNS)
}

fn from_pages(path: &Path, table: &PlainTable, ends: (i64, i64)) -> Result<Vec<Read>, NotPlain> {
    let mut rows = Vec::new();
    Pages::open(path, Budget::of(path)).ok_or(NotPlain)?.rows(table, ends, |record| {
        assert_eq!(record.int(2), None);
        rows.push((record.int(0), record.bytes(1).map(<[u8]>::to_vec), record.int(3)));
        Ok(())
    })?;
    Ok(rows)
}

fn from_sqlite(path: &Path, (first, last): (i64, i64)) -> Vec<Read> {
    let db = Connection::open(path).unwrap();
    let sql = format!("SELECT start, text, textId FROM {TABLE} WHERE rowid BETWEEN ?1 AND ?2");
    let int = |value: ValueRef<'_>| if let ValueRef::Integer(value) = value { Some(value) } else { None };
    let text = |value: ValueRef<'_>| if let ValueRef::Text(bytes) = value { Some(bytes.to_vec()) } else { None };
    let mut statement = db.prepare(&sql).unwrap();
    let rows = statement
        .query_map([first, last], |row| Ok((int(row.get_ref(0)?), text(row.get_ref(1)?), int(row.get_ref(2)?))));
    rows.unwrap().map(Result::unwrap).collect()
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => any::<i64>().prop_map(Value::Integer),
        3 => (-300..300_i64).prop_map(Value::Integer),
        1 => (0..64_u32, any::<bool>()).prop_map(|(bit, less)| Value::Integer((1_i64 << bit).wrapping_sub(less.into()))),
        1 => any::<f64>().prop_map(Value::Real),
        1 => Just(Value::Null),
        2 => "[a-zé]{0,40}".prop_map(Value::Text),
        1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Value::Blob),
    ]
}

/// Rows with ids of their own, some of which are deleted again.
fn rows() -> impl Strategy<Value = Vec<(i64, [Value; 3], bool)>> {
    let id = prop_oneof![4 => 0..2_000_i64, 1 => any::<i64>()];
    let row = (id, [value(), value(), value()], proptest::bool::weighted(0.2));
    proptest::collection::vec(row, 0..300)
}

fn filled(path: &Path, page_bytes: usize, rows: Vec<(i64, [Value; 3], bool)>) {
    let db = created(path, page_bytes, "start INT, other TEXT, text TEXT, textId INTEGER");
    db.execute_batch("BEGIN").unwrap();
    let insert = format!("INSERT OR IGNORE INTO {TABLE} (rowid, start, text, textId) VALUES (?1, ?2, ?3, ?4)");
    let mut insert = db.prepare(&insert).unwrap();
    let mut deleted = Vec::new();
    for (id, [start, text, text_id], is_deleted) in rows {
        insert.execute((id, start, text, text_id)).unwrap();
        deleted.extend(is_deleted.then_some(id));
    }
    for id in deleted {
        db.execute(&format!("DELETE FROM {TABLE} WHERE rowid = ?1"), [id]).unwrap();
    }
    db.execute_batch("COMMIT").unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn rows_are_those_that_sqlite_reads(
        rows in rows(),
        page_bytes in prop_oneof![Just(512_usize), Just(4_096), Just(65_536)],
        ends in prop_oneof![Just((i64::MIN, i64::MAX)), (0..2_000_i64, 0..2_000_i64)],
    ) {
        let file = tempfile::NamedTempFile::new().unwrap();
        filled(file.path(), page_bytes, rows);
        let table = plain(file.path()).unwrap();
        if ends.0 <= ends.1 {
            prop_assert_eq!(from_pages(file.path(), &table, ends), Ok(from_sqlite(file.path(), ends)));
        }
    }

    #[test]
    fn of_a_damaged_file_no_row_is_read_twice(
        rows in rows(),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let file = tempfile::NamedTempFile::new().unwrap();
        filled(file.path(), 512, rows);
        let table = plain(file.path()).unwrap();
        let mut bytes = std::fs::read(file.path()).unwrap();
        for (at, byte) in flips {
            // The header stays.
            let at = at.index(bytes.len());
            bytes[at.max(100)] = byte;
        }
        std::fs::write(file.path(), &bytes).unwrap();
        if let Ok(rows) = from_pages(file.path(), &table, (i64::MIN, i64::MAX)) {
            prop_assert!(2 * rows.len() <= bytes.len(), "{}", rows.len());
        }
    }
}

#[test]
fn what_is_unusual_is_left_to_sqlite() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let all = (i64::MIN, i64::MAX);
    let read = |columns: &str, change: &str| {
        std::fs::remove_file(file.path()).unwrap();
        let db = created(file.path(), 4_096, columns);
        db.execute_batch(change).unwrap();
        plain(file.path()).map(|table| from_pages(file.path(), &table, all))
    };
    let insert = "INSERT INTO NVTX_EVENTS (start) VALUES (5);";
    assert_eq!(read("start INT, text TEXT, textId INT", insert), Some(Ok(vec![(Some(5), None, None)])));
    for columns in [
        "start INTEGER PRIMARY KEY, text TEXT, textId INT",
        "start INT, text TEXT, textId REAL",
        "start INT, text TEXT, textId INT AS (start + 1)",
        "start INT, text TEXT, textId INT AS (start + 1) STORED",
    ] {
        assert_eq!(read(columns, insert), None, "{columns}");
    }
    for change in [
        "INSERT INTO NVTX_EVENTS (start) VALUES (5); ALTER TABLE NVTX_EVENTS ADD COLUMN textId INT DEFAULT 7;",
        "INSERT INTO NVTX_EVENTS (text) VALUES (hex(zeroblob(5000)));",
    ] {
        assert_eq!(read("start INT, text TEXT", change), Some(Err(NotPlain)), "{change}");
    }
    let utf16 = "PRAGMA encoding = 'UTF-16le';";
    std::fs::remove_file(file.path()).unwrap();
    Connection::open(file.path()).unwrap().execute_batch(&format!("{utf16} CREATE TABLE t (a)")).unwrap();
    assert!(Pages::open(file.path(), Budget::of(file.path())).is_none());
}

#[test]
fn pages_that_are_listed_twice_or_hold_nothing_are_left_to_sqlite() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let rows = (1..=400).map(|id| (id, [Value::Integer(id), Value::Null, Value::Null], false)).collect();
    filled(file.path(), 512, rows);
    let table = plain(file.path()).unwrap();
    let whole = std::fs::read(file.path()).unwrap();
    let root = (table.root as usize - 1) * 512;
    let first_cell = root + usize::from(u16::from_be_bytes([whole[root + 12], whole[root + 13]]));
    let second_cell = root + usize::from(u16::from_be_bytes([whole[root + 14], whole[root + 15]]));
    let read = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        std::fs::write(file.path(), &bytes).unwrap();
        from_pages(file.path(), &table, (i64::MIN, i64::MAX)).map(|rows| rows.len())
    };
    assert_eq!(whole[root], INTERIOR);
    assert_eq!(read(&|_| {}), Ok(400));
    // The second page below is the first once more; the root is below itself; a page has no rows; one lies beyond the file.
    assert_eq!(read(&|bytes| bytes.copy_within(first_cell..first_cell + 4, second_cell)), Err(NotPlain));
    assert_eq!(read(&|bytes| bytes[first_cell + 3] = table.root as u8), Err(NotPlain));
    let leaf = (usize::from(whole[first_cell + 3]) - 1) * 512;
    assert_eq!(read(&|bytes| bytes[leaf + 3..leaf + 5].fill(0)), Err(NotPlain));
    assert_eq!(read(&|bytes| bytes[second_cell] = 1), Err(NotPlain));
}

#[test]
fn pages_that_are_passed_over_and_over_are_left_to_sqlite() {
    let file = tempfile::NamedTempFile::new().unwrap();
    filled(file.path(), 65_536, vec![(1, [Value::Integer(1), Value::Null, Value::Null], false)]);
    let table = plain(file.path()).unwrap();
    let mut pages = Pages::open(file.path(), Budget::of(file.path())).unwrap();
    let mut times = 0;
    while pages.rows(&table, (2, 3), |_| Ok(())).is_ok() {
        times += 1;
        assert!(times < 10_000, "it never ends");
    }
    assert!(times > 200, "{times} stretches of an honest file");
}
