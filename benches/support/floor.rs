//! What SQLite itself costs: every column that reading takes, of every event table, on one thread, keeping nothing.

use std::path::Path;

use coldspot::source::nsys_event_tables;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// The number of cells that hold something.
pub(crate) fn scan(report: &Path) -> rusqlite::Result<u64> {
    let db = Connection::open_with_flags(report, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // As reading sets them: one pass over each table gains nothing from a large page cache.
    db.execute_batch("PRAGMA cell_size_check = ON; PRAGMA cache_size = -2000; PRAGMA mmap_size = 0;")?;
    let mut cells = 0;
    for (table, columns) in nsys_event_tables() {
        cells += scan_table(&db, table, columns)?;
    }
    Ok(cells)
}

fn scan_table(db: &Connection, table: &str, columns: &[&str]) -> rusqlite::Result<u64> {
    let mut known = db.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let known: Vec<String> = known.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if known.is_empty() {
        return Ok(0);
    }
    // One that the table lacks is NULL, as in reading.
    let column =
        |name: &&str| if known.iter().any(|known| known == name) { format!("\"{name}\"") } else { "NULL".to_owned() };
    let list: Vec<String> = columns.iter().map(column).collect();
    let mut statement = db.prepare(&format!("SELECT {} FROM \"{table}\"", list.join(", ")))?;
    let mut rows = statement.query([])?;
    let mut cells = 0;
    while let Some(row) = rows.next()? {
        for column in 0..columns.len() {
            cells += u64::from(std::hint::black_box(row.get_ref(column)?) != ValueRef::Null);
        }
    }
    Ok(cells)
}
