//! How large the schema of a database is, before SQLite reads it: it parses all of it for each thread, and what it then keeps is many
//! times as large. The statistics of `ANALYZE` belong to it: SQLite reads them whole as it opens a file, and heeds no limit meanwhile.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::cells::Cells;
use super::damaged;
use super::record::{Layouts, Record, varint};
use crate::limits::MAX_SCHEMA_BYTES;
use crate::source::ReadError;

/// The header of the file, which stands before the page that the schema begins with.
const FILE_HEADER: usize = 100;
/// What begins the names of tables that SQLite keeps statistics in.
const STATISTICS: &[u8] = b"sqlite_stat";
/// The kinds of pages of a table, and of one that is kept as an index.
const LEAF: u8 = 13;
const INTERIOR: u8 = 5;
const INDEX_LEAF: u8 = 10;
const INDEX_INTERIOR: u8 = 2;
/// Bytes before the list of cells, of pages without and with others below.
const LEAF_HEADER: usize = 8;
const INTERIOR_HEADER: usize = 12;
/// Bytes of the number of a page, with which a cell begins that has one below.
const CHILD: usize = 4;
/// Where a page above others names the one behind all its cells.
const RIGHT_MOST: usize = 8;
/// A row of a schema, or of statistics, has more.
const LEAST_ROW_BYTES: u64 = 16;
/// A smaller page holds nothing of a schema.
const LEAST_PAGE_BYTES: u64 = 512;

/// Refuses a database with a schema that no export has.
///
/// # Errors
/// When the schema is too large.
pub(super) fn check(path: &Path) -> Result<(), ReadError> {
    let Some(mut pages) = Pages::open(path) else { return Ok(()) };
    // Where a page is broken SQLite stops as well.
    pages.add(1, 0);
    // Statistics name no others.
    for root in std::mem::take(&mut pages.statistics) {
        if pages.schema_bytes > MAX_SCHEMA_BYTES {
            break;
        }
        pages.add(root, 0);
    }
    if pages.schema_bytes <= MAX_SCHEMA_BYTES {
        return Ok(());
    }
    Err(damaged(
        path,
        format!("by its own pages its schema is larger than {} MiB, which no export's is", MAX_SCHEMA_BYTES >> 20),
    ))
}

/// The pages of the table of the schema, and of statistics.
struct Pages {
    file: File,
    page_bytes: u64,
    schema_bytes: u64,
    /// Where tables of statistics begin.
    statistics: Vec<u32>,
    /// Of the rows that were looked at for these.
    layouts: Layouts,
}

impl Pages {
    fn open(path: &Path) -> Option<Self> {
        let mut file = crate::files::open(path).ok()?;
        let mut header = [0_u8; FILE_HEADER];
        file.read_exact(&mut header).ok()?;
        let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            size => u64::from(size),
        };
        let mut layouts = Layouts::default();
        layouts.clear();
        (page_bytes >= LEAST_PAGE_BYTES).then(|| Self {
            file,
            page_bytes,
            schema_bytes: 0,
            statistics: Vec::new(),
            layouts,
        })
    }

    /// Adds what the rows below a page hold, until that is too much. A page counts as well, so that they end where they name each
    /// other in a circle.
    fn add(&mut self, page: u32, depth: usize) -> Option<()> {
        const MAX_DEPTH: usize = 20;
        self.schema_bytes += LEAST_PAGE_BYTES / 2;
        let mut bytes = vec![0_u8; usize::try_from(self.page_bytes).ok()?];
        let at = u64::from(page.checked_sub(1)?) * self.page_bytes;
        self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(&mut bytes)).ok()?;
        let header = if page == 1 { FILE_HEADER } else { 0 };
        let kind = *bytes.get(header)?;
        let number = |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
        let child = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        let has_below = matches!(kind, INTERIOR | INDEX_INTERIOR);
        let has_rows = matches!(kind, LEAF | INDEX_LEAF | INDEX_INTERIOR);
        if !has_below && !has_rows || depth >= MAX_DEPTH {
            return None;
        }
        let cells = header + if has_below { INTERIOR_HEADER } else { LEAF_HEADER };
        for index in 0..number(header + 3)? {
            if self.schema_bytes > MAX_SCHEMA_BYTES {
                return None;
            }
            let cell = number(cells + 2 * index)?;
            if has_rows {
                let (row_bytes, row) = varint(&bytes, cell + if has_below { CHILD } else { 0 })?;
                // A row that says it is empty costs what reading it does.
                self.schema_bytes = self.schema_bytes.saturating_add(row_bytes.max(LEAST_ROW_BYTES));
                if kind == LEAF {
                    let (_, row) = varint(&bytes, row)?;
                    self.statistics.extend(bytes.get(row..).and_then(|row| root_of_statistics(row, &mut self.layouts)));
                }
            }
            if has_below {
                self.add(child(cell)?, depth + 1)?;
            }
        }
        if has_below && self.schema_bytes <= MAX_SCHEMA_BYTES {
            self.add(child(header + RIGHT_MOST)?, depth + 1)?;
        }
        Some(())
    }
}

/// Where the table of a row of the schema begins, if it is one of statistics.
fn root_of_statistics(row: &[u8], layouts: &mut Layouts) -> Option<u32> {
    // Type, name, table, root and statement; the statement may go on elsewhere.
    let fields = layouts.of(row, &[Some(1), Some(3)], 4)?;
    let record = Record { row, fields, handed: Cell::new(0), row_id: None };
    // In UTF-16 zeros lie between the letters.
    let name: Vec<u8> = record.bytes(0)?.iter().copied().filter(|byte| *byte != 0).take(STATISTICS.len()).collect();
    let root = record.int(1).filter(|_| name.eq_ignore_ascii_case(STATISTICS))?;
    u32::try_from(root).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database with so many tables, each with a statement of about a kilobyte.
    fn refuses(tables: usize) -> bool {
        let file = tempfile::NamedTempFile::new().unwrap();
        let db = rusqlite::Connection::open(file.path()).unwrap();
        let columns: Vec<String> = (0..100).map(|column| format!("column{column}")).collect();
        db.execute_batch("BEGIN").unwrap();
        for table in 0..tables {
            db.execute_batch(&format!("CREATE TABLE t{table} ({})", columns.join(", "))).unwrap();
        }
        db.execute_batch("COMMIT").unwrap();
        drop(db);
        check(file.path()).is_err()
    }

    /// A database after `ANALYZE`, with a row of statistics of so many bytes.
    fn refuses_statistics(bytes: usize, encoding: &str) -> bool {
        let file = tempfile::NamedTempFile::new().unwrap();
        let db = rusqlite::Connection::open(file.path()).unwrap();
        db.execute_batch(&format!("PRAGMA encoding = '{encoding}'; CREATE TABLE t (x); CREATE INDEX i ON t (x);"))
            .unwrap();
        db.execute_batch("INSERT INTO t VALUES (1), (2); ANALYZE").unwrap();
        assert_eq!(db.query_row("SELECT count(*) FROM sqlite_stat1", [], |row| row.get(0)), Ok(1));
        db.execute("INSERT INTO sqlite_stat1 VALUES ('t', 'i', ?1)", ["1 ".repeat(bytes / 2)]).unwrap();
        drop(db);
        check(file.path()).is_err()
    }

    #[test]
    fn statistics_belong_to_the_schema() {
        for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
            assert!(!refuses_statistics(2, encoding));
            assert!(refuses_statistics(2 << 20, encoding));
        }
    }

    #[test]
    fn a_schema_is_as_large_as_its_rows() {
        assert!(!refuses(0) && !refuses(3) && !refuses(600));
        assert!(refuses(1_100));
    }
}
