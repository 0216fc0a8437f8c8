//! How large the schema of a database is, before SQLite reads it: it parses all of it for each thread, and what it then keeps is many
//! times as large.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::damaged;
use super::record::varint;
use crate::limits::MAX_SCHEMA_BYTES;
use crate::source::ReadError;

/// The header of the file, which stands before the page that the schema begins with.
const FILE_HEADER: usize = 100;
/// The kinds of pages of a table, and where the cells of each begin to be listed.
const LEAF: (u8, usize) = (13, 8);
const INTERIOR: (u8, usize) = (5, 12);
/// Where a page above others names the one behind all its cells.
const RIGHT_MOST: usize = 8;
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
    if pages.schema_bytes <= MAX_SCHEMA_BYTES {
        return Ok(());
    }
    Err(damaged(
        path,
        format!("by its own pages its schema is larger than {} MiB, which no export's is", MAX_SCHEMA_BYTES >> 20),
    ))
}

/// The pages of the table of the schema.
struct Pages {
    file: File,
    page_bytes: u64,
    schema_bytes: u64,
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
        (page_bytes >= LEAST_PAGE_BYTES).then_some(Self { file, page_bytes, schema_bytes: 0 })
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
        let count = number(header + 3)?;
        for index in 0..count {
            if self.schema_bytes > MAX_SCHEMA_BYTES {
                return None;
            }
            if kind == LEAF.0 {
                let (row_bytes, _) = varint(&bytes, number(header + LEAF.1 + 2 * index)?)?;
                self.schema_bytes = self.schema_bytes.saturating_add(row_bytes);
            } else if kind == INTERIOR.0 && depth < MAX_DEPTH {
                let below = child(number(header + INTERIOR.1 + 2 * index)?)?;
                self.add(below, depth + 1)?;
            } else {
                return None;
            }
        }
        if kind == INTERIOR.0 && depth < MAX_DEPTH && self.schema_bytes <= MAX_SCHEMA_BYTES {
            self.add(child(header + RIGHT_MOST)?, depth + 1)?;
        }
        Some(())
    }
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

    #[test]
    fn a_schema_is_as_large_as_its_rows() {
        assert!(!refuses(0) && !refuses(3) && !refuses(600));
        assert!(refuses(1_100));
    }
}
