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

fn from_pages(path: &Path, table: &PlainTable, ends: (i64, i64)) -> Result<Vec<Read>, Unread> {
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

/// SQLite leaves bytes that are too few for a cell where it put a smaller one, and where the cells begin once that is deleted too.
#[test]
fn bytes_that_are_too_few_for_a_cell_may_lie_before_the_first() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let db = created(file.path(), 4_096, "start INT, text TEXT, textId INTEGER");
    let insert = |id: i64, length: usize| {
        let text = "x".repeat(length);
        db.execute(&format!("INSERT INTO {TABLE} (rowid, start, text) VALUES (?1, 7, ?2)"), (id, text)).unwrap();
    };
    let delete = |id: i64| db.execute(&format!("DELETE FROM {TABLE} WHERE rowid = ?1"), [id]).unwrap();
    for id in [1, 2, 3] {
        insert(id, 20);
    }
    delete(2);
    insert(4, 18);
    delete(3);
    delete(4);
    let page = std::fs::read(file.path()).unwrap();
    let all = (i64::MIN, i64::MAX);
    let table = plain(file.path()).unwrap();
    let begin = 4_096 * (table.root as usize - 1);
    assert_eq!(page[begin + FRAGMENTS], 2, "SQLite has done so");
    assert_eq!(from_pages(file.path(), &table, all), Ok(from_sqlite(file.path(), all)));
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
    // A key stands for the row id, or in the row as others do.
    let declared = [
        "INTEGER PRIMARY KEY",
        "INTEGER PRIMARY KEY DESC",
        "INT PRIMARY KEY",
        "INT, UNIQUE (textId), PRIMARY KEY (start, textId)",
    ];
    for declared in declared {
        let columns = format!("text TEXT, textId INT, start {declared}");
        assert_eq!(read(&columns, insert), Some(Ok(vec![(Some(5), None, None)])), "{columns}");
    }
    for columns in [
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
    assert_eq!(read(&|bytes| bytes.copy_within(first_cell..first_cell + 4, second_cell)), Err(OutOfOrder));
    assert_eq!(read(&|bytes| bytes[first_cell + 3] = table.root as u8), Err(OutOfOrder));
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

/// Rows with ids from 1 on, in pages of 512 bytes: the table, and the bytes of the file.
fn small_pages(file: &Path, row_count: i64) -> (PlainTable, Vec<u8>) {
    let rows = (1..=row_count).map(|id| (id, [Value::Integer(id), Value::Null, Value::Null], false)).collect();
    filled(file, 512, rows);
    (plain(file).unwrap(), std::fs::read(file).unwrap())
}

/// How many rows are read of changed bytes.
fn count(file: &Path, bytes: &[u8], table: &PlainTable, ends: (i64, i64)) -> Result<usize, Unread> {
    std::fs::write(file, bytes).unwrap();
    from_pages(file, table, ends).map(|rows| rows.len())
}

#[test]
fn a_tree_that_is_deeper_than_any_is_left_to_sqlite() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (table, whole) = small_pages(file.path(), 3);
    let leaf = (table.root as usize - 1) * 512;
    assert_eq!(whole[leaf], LEAF);
    let read = |depth: usize| {
        let mut bytes = whole.clone();
        let first_new = bytes.len() as u32 / 512 + 1;
        let new = (0..depth as u32).map(|page| first_new + page);
        // The root and each new page but the last name the next one alone; the last is what the root was.
        let mut interior = [0; 512];
        interior[0] = INTERIOR;
        interior[FIRST_CELL..FIRST_CELL + 2].copy_from_slice(&512_u16.to_be_bytes());
        for (page, next) in std::iter::once(table.root).chain(new.clone()).zip(new) {
            interior[RIGHT_MOST..RIGHT_MOST + 4].copy_from_slice(&next.to_be_bytes());
            bytes.resize(bytes.len().max(page as usize * 512), 0);
            bytes[(page as usize - 1) * 512..][..512].copy_from_slice(&interior);
        }
        bytes.extend_from_slice(&whole[leaf..leaf + 512]);
        count(file.path(), &bytes, &table, (i64::MIN, i64::MAX))
    };
    assert_eq!((read(1), read(MAX_DEPTH), read(MAX_DEPTH + 1)), (Ok(3), Ok(3), Err(NotPlain)));
}

#[test]
fn bytes_that_pages_reserve_hold_nothing_of_a_row() {
    const RESERVED: usize = 40;
    let file = tempfile::NamedTempFile::new().unwrap();
    let all = (i64::MIN, i64::MAX);
    let read = |text_bytes: usize| {
        filled(
            file.path(),
            4_096,
            vec![(1, [Value::Integer(7), Value::Text("x".repeat(text_bytes)), Value::Null], false)],
        );
        let table = plain(file.path()).unwrap();
        let mut bytes = std::fs::read(file.path()).unwrap();
        bytes[20] = RESERVED as u8;
        for (page, header) in bytes.chunks_mut(4_096).zip([100, 0]) {
            let cells = usize::from(u16::from_be_bytes([page[header + 3], page[header + 4]]));
            let places = (0..cells).map(|cell| header + LEAF_HEADER + 2 * cell).chain([header + 5]);
            for at in places {
                let place = u16::from_be_bytes([page[at], page[at + 1]]) - RESERVED as u16;
                page[at..at + 2].copy_from_slice(&place.to_be_bytes());
            }
            let behind = header + LEAF_HEADER + 2 * cells;
            page.copy_within(behind + RESERVED.., behind);
            page[4_096 - RESERVED..].fill(0);
        }
        std::fs::write(file.path(), bytes).unwrap();
        let rows = from_pages(file.path(), &table, all);
        std::fs::remove_file(file.path()).unwrap();
        rows.map(|rows| rows.into_iter().map(|(start, text, _)| (start, text.unwrap().len())).collect::<Vec<_>>())
    };
    // The row has a header of six bytes, and a number of one byte, beside its text.
    let most = 4_096 - RESERVED - LEAST_REST - 7;
    for text_bytes in [most - 100, most] {
        assert_eq!(read(text_bytes), Ok(vec![(Some(7), text_bytes)]));
    }
    assert_eq!(read(most + 1), Err(NotPlain));
}

#[test]
fn rows_that_share_their_bytes_are_left_to_sqlite() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (table, whole) = small_pages(file.path(), 1);
    let none_wanted = PlainTable { root: table.root, places: vec![None; COLUMNS.len()], row_id: None };
    let leaf = (table.root as usize - 1) * 512;
    let read = |rows: u8| {
        let mut bytes = whole.clone();
        let page = &mut bytes[leaf..leaf + 512];
        page[3..5].copy_from_slice(&u16::from(rows).to_be_bytes());
        page[FIRST_CELL..FIRST_CELL + 2].copy_from_slice(&300_u16.to_be_bytes());
        for row in 0..rows {
            // Each is of a hundred bytes, which begin with those of the next.
            let (listed, at) = (LEAF_HEADER + 2 * usize::from(row), 300 + 2 * usize::from(row));
            page[listed..listed + 2].copy_from_slice(&(at as u16).to_be_bytes());
            page[at..at + 3].copy_from_slice(&[100, row + 1, 100]);
        }
        count(file.path(), &bytes, &none_wanted, (i64::MIN, i64::MAX))
    };
    // A page of 512 bytes holds five of them, if not apart.
    assert_eq!((read(5), read(6)), (Ok(5), Err(NotPlain)));
}

#[test]
fn ids_that_are_not_as_the_pages_above_say_are_damage() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (table, whole) = small_pages(file.path(), 400);
    let at = |page: usize, index: usize| {
        page + usize::from(u16::from_be_bytes([whole[page + index], whole[page + index + 1]]))
    };
    let root = (table.root as usize - 1) * 512;
    let cells = usize::from(u16::from_be_bytes([whole[root + 3], whole[root + 4]]));
    let page = |number: u8| (usize::from(number) - 1) * 512;
    // Its cell is the number of the page below and then the largest id there, in two bytes.
    let middle = at(root, INTERIOR_HEADER + 2 * (cells / 2));
    let last_leaf = page(whole[root + RIGHT_MOST + 3]);
    let rows = usize::from(u16::from_be_bytes([whole[last_leaf + 3], whole[last_leaf + 4]]));
    // A row is its length, its id in two bytes, and what it holds.
    let last_id = at(last_leaf, LEAF_HEADER + 2 * (rows - 1)) + 1;
    let middle_id = at(page(whole[middle + 3]), LEAF_HEADER + 4) + 1;
    assert_eq!(whole[last_id..last_id + 2], [0x83, 16], "the id of the last row: 3 * 128 + 16");
    let read = |at: usize, high: u8, ends: (i64, i64)| {
        let mut bytes = whole.clone();
        assert!(bytes[at] >= 0x80, "a number of two bytes");
        bytes[at] = high;
        let taken = count(file.path(), &bytes, &table, ends);
        let looked = Pages::open(file.path(), Budget::of(file.path())).unwrap().look_at_ids(table.root, ends);
        assert_eq!(looked.err(), taken.err());
        taken
    };
    let all = (i64::MIN, i64::MAX);
    assert_eq!(read(last_id, 0x83, all), Ok(400));
    assert_eq!(read(last_id, 0x81, all), Err(OutOfOrder), "the last id is smaller than those before it");
    assert_eq!(read(middle + 4, 0x87, all), Err(OutOfOrder), "a page says more than the one after it");
    assert_eq!(read(middle_id, 0x87, all), Err(OutOfOrder), "an id is larger than the page above says");
    // A page that lists fewer rows than it has.
    let mut bytes = whole.clone();
    bytes[last_leaf + 4] -= 1;
    assert_eq!(count(file.path(), &bytes, &table, all), Err(OutOfOrder));
    // Nor where the stretch ends before it.
    assert_eq!(read(middle_id, 0x87, (1, 210)), Err(OutOfOrder));
}

#[test]
fn pages_take_of_the_time_that_reading_may_take() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (table, _) = small_pages(file.path(), 400);
    let budget = Budget::of(file.path());
    let mut pages = Pages::open(file.path(), budget.clone()).unwrap();
    let mut read = || pages.rows(&table, (i64::MIN, i64::MAX), |_| Ok(()));
    assert_eq!(read(), Ok(()));
    budget.spend_time();
    let times = (0..LOOK_BYTES / 512).take_while(|_| read().is_ok()).count();
    assert!(times > 0 && times < LOOK_BYTES / 512, "{times}");
}
