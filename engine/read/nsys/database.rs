//! Opens a SQLite export as hostile input, and tells which tables and columns it has.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::read::ReadError;

/// The ordinary tables of a database with their columns. Views are left out: an export has none, and one could run
/// anything in place of a table.
#[derive(Debug, Default)]
pub(super) struct Schema {
    tables: BTreeMap<String, Vec<String>>,
}

impl Schema {
    /// Probes a database.
    pub(super) fn probe(db: &Connection) -> rusqlite::Result<Self> {
        let mut names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
        let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut tables = BTreeMap::new();
        for name in names {
            let mut columns = db.prepare("SELECT name FROM pragma_table_info(?1)")?;
            let columns = columns.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?;
            tables.insert(name, columns);
        }
        Ok(Self { tables })
    }

    /// Whether a table is there. One without rows counts.
    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether a table has a column.
    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|columns| columns.iter().any(|known| known == column))
    }

    /// Whether any table's name is one that Nsight Systems writes.
    pub(super) fn is_nsys(&self) -> bool {
        const MARKS: [&str; 7] = [
            "StringIds",
            "META_DATA_EXPORT",
            "EXPORT_META_DATA",
            "TARGET_INFO_GPU",
            "TARGET_INFO_SYSTEM_ENV",
            "NVTX_EVENTS",
            "ANALYSIS_DETAILS",
        ];
        self.tables.keys().any(|table| MARKS.contains(&table.as_str()) || table.starts_with("CUPTI_ACTIVITY_KIND_"))
    }

    /// A SELECT of these columns in this order; a column that the table lacks is NULL.
    pub(super) fn select(&self, table: &str, columns: &[&str]) -> String {
        let wanted: Vec<String> = columns
            .iter()
            .map(|column| if self.has_column(table, column) { format!("\"{column}\"") } else { "NULL".to_owned() })
            .collect();
        format!("SELECT {} FROM \"{table}\"", wanted.join(", "))
    }
}

/// The cells of one row, read without conversion: a cell of another type than asked for is absent.
pub(super) struct Cells<'row>(pub(super) &'row Row<'row>);

impl<'row> Cells<'row> {
    /// A whole number.
    pub(super) fn int(&self, column: usize) -> Option<i64> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// A string; bytes that are no UTF-8 are absent.
    pub(super) fn text(&self, column: usize) -> Option<&'row str> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Text(bytes)) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

/// Opens the database for reading: never written, never waiting for another program's lock, nothing in its schema run.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(uri(path), flags)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    // One pass over each table gains nothing from a large page cache.
    db.execute_batch(
        "PRAGMA cell_size_check = ON; PRAGMA cache_size = -2000; PRAGMA mmap_size = 0; PRAGMA query_only = ON;",
    )?;
    Ok(db)
}

/// The path as SQLite takes it with options; every byte that could end the path is escaped.
fn uri(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let escaped: String = absolute
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    format!("file://{escaped}?mode=ro&immutable=1")
}

/// Refuses a database that is shorter than its header says: SQLite would read it up to the cut without a word.
pub(super) fn check_length(path: &Path) -> Result<(), ReadError> {
    let open_error = |source| ReadError::Open { path: path.display().to_string(), source };
    let mut header = [0_u8; 100];
    let mut file = File::open(path).map_err(open_error)?;
    let actual = file.metadata().map_err(open_error)?.len();
    let damaged = |detail: String| ReadError::Damaged { path: path.display().to_string(), detail };
    file.read_exact(&mut header).map_err(|_| damaged(format!("only {actual} bytes long")))?;
    let page_size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    let page_count = u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]));
    // The page count holds only where the writer kept the two change counters equal.
    let count_is_valid = header[24..28] == header[92..96];
    let expected = page_size * page_count;
    if count_is_valid && expected > actual {
        return Err(damaged(format!("{actual} bytes long, {expected} by its own header: it was cut off")));
    }
    Ok(())
}
