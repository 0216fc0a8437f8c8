//! Opens a SQLite export as hostile input, and tells which tables and columns it has.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::budget::Budget;
use super::cells;
use super::pages::PlainTable;
use super::rows::Table;
use crate::limits::{MAX_COLUMN_COUNT, MAX_SCHEMA_ENTRY_BYTES, MAX_SQLITE_BYTES, MAX_SQLITE_BYTES_OF_A_THREAD};
use crate::source::ReadError;

/// The ordinary tables of a database that may be read, and what stands instead of one.
#[derive(Debug)]
pub(super) struct Schema {
    tables: BTreeMap<String, Shape>,
    disguised: Option<String>,
    /// Whether any table is one that only Nsight Systems writes.
    is_nsys: bool,
    budget: Budget,
}

/// An ordinary table.
#[derive(Debug)]
struct Shape {
    columns: Vec<String>,
    /// The word for its row id: a column may hide the usual one.
    row_id: &'static str,
    /// The page that it begins with.
    tree: Option<u32>,
    /// The same; absent where a row does not hold its columns as they were declared.
    root: Option<u32>,
    /// The column that stands for the row id.
    key: Option<String>,
    /// Columns whose whole numbers SQLite turns into others when it reads them.
    converted: Vec<String>,
}

/// Beginnings of the names of tables that only Nsight Systems writes.
const BEGINNINGS: [&str; 11] = [
    "CUPTI_ACTIVITY_KIND_",
    "NVTX_EVENTS",
    "OSRT_API",
    "SCHED_EVENTS",
    "PROFILER_OVERHEAD",
    "GPU_METRICS",
    "TARGET_INFO_",
    "META_DATA_",
    "EXPORT_META_DATA",
    "ANALYSIS_DETAILS",
    "DIAGNOSTIC_EVENT",
];
/// The tables that are read, beside those of events.
const OTHERS: [&str; 25] = [
    "COMPOSITE_EVENTS",
    "CUDA_CALLCHAINS",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "DIAGNOSTIC_EVENT",
    "EXPORT_META_DATA",
    "GENERIC_EVENTS",
    "GPU_METRICS",
    "META_DATA_CAPTURE",
    "META_DATA_EXPORT",
    "OSRT_CALLCHAINS",
    "PROCESSES",
    "ProcessStreams",
    "SAMPLING_CALLCHAINS",
    "StringIds",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
    "TARGET_INFO_CUDA_DEVICE",
    "TARGET_INFO_CUDA_GPU",
    "TARGET_INFO_CUDA_NULL_STREAM",
    "TARGET_INFO_CUDA_STREAM",
    "TARGET_INFO_GPU",
    "TARGET_INFO_GPU_METRICS",
    "TARGET_INFO_SYSTEM_ENV",
    "ThreadNames",
];
/// The words for a row id, the usual one first.
const ROW_IDS: [&str; 3] = ["rowid", "_rowid_", "oid"];

fn is_nsys_name(table: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| table.starts_with(beginning))
}

fn is_read(table: &str) -> bool {
    OTHERS.contains(&table) || Table::ALL.iter().any(|event| event.name() == table)
}

impl Schema {
    /// Probes a database. Views, virtual tables and tables without row ids are never touched, nor are tables that are not
    /// read: each of them could run something, or cost anything.
    pub(super) fn probe(db: &Connection, budget: Budget) -> rusqlite::Result<Self> {
        let mut schema = Self { tables: BTreeMap::new(), disguised: None, is_nsys: false, budget };
        let mut entries =
            db.prepare("SELECT type, name, sql, rootpage FROM sqlite_master WHERE type IN ('table', 'view')")?;
        let mut entries = entries.query([])?;
        while let Some(entry) = entries.next()? {
            let cells = Cells::of(entry);
            let (Some(kind), Some(name), Some(sql)) = (cells.text(0), cells.text(1), cells.text(2)) else { continue };
            schema.budget.hand_over(cells.handed())?;
            let is_plain = kind == "table" && is_plain(sql);
            let is_nsys = is_nsys_name(name);
            schema.is_nsys |= is_plain && is_nsys;
            if !is_read(name) {
                if is_nsys && !is_plain {
                    schema.disguised = schema.disguised.or_else(|| Some(disguise(kind, name)));
                }
                continue;
            }
            let root = cells.int(3).and_then(|root| u32::try_from(root).ok());
            match if is_plain { shape(db, name, root)? } else { None } {
                Some(shape) => {
                    schema.tables.insert(name.to_owned(), shape);
                }
                None => schema.disguised = schema.disguised.or_else(|| Some(disguise(kind, name))),
            }
        }
        Ok(schema)
    }

    /// Hands every row of a SELECT over, up to `most`, under the budget.
    pub(super) fn each(
        &self,
        db: &Connection,
        sql: &str,
        most: u64,
        mut take: impl FnMut(&Cells<'_>),
    ) -> rusqlite::Result<()> {
        let mut statement = db.prepare(&format!("{sql} LIMIT ?1"))?;
        let mut rows = statement.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            self.budget.check_rows(count)?;
            let cells = Cells::of(row);
            take(&cells);
            self.budget.hand_over(cells.handed())?;
        }
        Ok(())
    }

    /// What reading may cost.
    pub(super) const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Whether a table is there. One without rows counts.
    pub(super) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Whether a table has a column.
    pub(super) fn has_column(&self, table: &str, column: &str) -> bool {
        self.tables.get(table).is_some_and(|shape| shape.columns.iter().any(|known| known == column))
    }

    /// Whether any table is one that only Nsight Systems writes.
    pub(super) const fn is_nsys(&self) -> bool {
        self.is_nsys
    }

    /// What stands under the name of a table that is read and is none, in words.
    pub(super) fn disguised(&self) -> Option<&str> {
        self.disguised.as_deref()
    }

    /// The word for the row id of a table.
    pub(super) fn row_id(&self, table: &str) -> &'static str {
        self.tables.get(table).map_or(ROW_IDS[0], |shape| shape.row_id)
    }

    /// The page that the tree of a table begins with.
    pub(super) fn tree(&self, table: &str) -> Option<u32> {
        self.tables.get(table)?.tree
    }

    /// Where the rows of a table and these columns of them stand in the file, if they can be read from there.
    pub(super) fn plain(&self, table: &str, columns: &[&str]) -> Option<PlainTable> {
        let Shape { columns: known, root, key, converted, .. } = self.tables.get(table)?;
        let is_converted = |column: &&str| converted.iter().any(|converted| converted == column);
        let is_key = |column: &&str| key.as_deref() == Some(*column);
        let place = |column: &&str| known.iter().position(|known| known == column).filter(|_| !is_key(column));
        let root = root.filter(|_| !columns.iter().any(is_converted))?;
        let row_id = columns.iter().position(is_key);
        Some(PlainTable { root, places: columns.iter().map(place).collect(), row_id })
    }

    /// How many rows a table has, within the budget: without a condition the count would be a single step of SQLite's
    /// machine, however long it takes.
    pub(super) fn count(&self, db: &Connection, table: &str) -> rusqlite::Result<u64> {
        let sql = format!("SELECT count(*) FROM \"{table}\" WHERE {} >= ?1", self.row_id(table));
        let count: i64 = db.query_row(&sql, [i64::MIN], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// The least and the largest row id of a table; `None` where it has no rows.
    pub(super) fn row_id_ends(&self, db: &Connection, table: &str) -> rusqlite::Result<Option<(i64, i64)>> {
        let row_id = self.row_id(table);
        // Asked for together, they would cost a scan of the table.
        let end = |which: &str| {
            let sql = format!("SELECT {which}({row_id}) FROM \"{table}\"");
            db.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0))
        };
        Ok(end("min")?.zip(end("max")?))
    }

    /// How many rows of a table lie beyond so many.
    pub(super) fn beyond(&self, db: &Connection, table: &str, most: u64) -> rusqlite::Result<u64> {
        let Some(ends) = self.row_id_ends(db, table)? else { return Ok(0) };
        self.beyond_of(db, (table, ends), most)
    }

    /// The same of one whose row ids lie between two: rows are counted only where these leave room for so many.
    pub(super) fn beyond_of(
        &self,
        db: &Connection,
        (table, (low, high)): (&str, (i64, i64)),
        most: u64,
    ) -> rusqlite::Result<u64> {
        let has_room = i128::from(high) - i128::from(low) >= i128::from(most);
        if has_room { Ok(self.count(db, table)?.saturating_sub(most)) } else { Ok(0) }
    }

    /// A SELECT of these columns in this order; a column that the table lacks is NULL.
    pub(super) fn select(&self, table: &str, columns: &[&str]) -> String {
        format!("SELECT {} FROM \"{table}\"", self.list(table, columns))
    }

    /// These columns in this order, as a SELECT takes them; one that the table lacks is NULL.
    pub(super) fn list(&self, table: &str, columns: &[&str]) -> String {
        let wanted: Vec<String> = columns
            .iter()
            .map(|column| if self.has_column(table, column) { format!("\"{column}\"") } else { "NULL".to_owned() })
            .collect();
        wanted.join(", ")
    }
}

/// SQLite itself refuses a schema whose entries do not have the type and name that they say; this tells virtual tables.
fn is_plain(sql: &str) -> bool {
    sql.strip_prefix("CREATE TABLE").is_some_and(|rest| rest.starts_with([' ', '"', '\'', '`', '[', '\n', '\r', '\t']))
}

/// `None` for a table without row ids. Generated columns are not listed, and so never computed.
fn shape(db: &Connection, name: &str, root: Option<u32>) -> rusqlite::Result<Option<Shape>> {
    let mut columns = db.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let columns: Vec<String> = columns.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?;
    // A generated column hides a row id too, so SQLite is asked: the name of a column that a word stands for. A key may be the row id and
    // stand nowhere else: that has its name then.
    let row_id = |word: &'static str| {
        let is_own = columns.iter().any(|column| column.eq_ignore_ascii_case(word));
        let hidden = "SELECT 1 FROM pragma_table_xinfo(?1) WHERE lower(name) = ?2";
        if is_own || db.prepare(hidden).and_then(|mut hidden| hidden.exists([name, word])) != Ok(false) {
            return None;
        }
        let ids = db.prepare(&format!("SELECT {word} FROM \"{name}\"")).ok()?;
        Some((word, ids.column_name(0).ok()?.to_owned()))
    };
    let Some((row_id, named)) = ROW_IDS.into_iter().find_map(row_id) else { return Ok(None) };
    let key = Some(named).filter(|named| columns.contains(named));
    // A computed column stands nowhere, or among the others.
    let mut odd = db.prepare("SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden <> 0")?;
    let tree = root;
    let root = if odd.exists([name])? { None } else { root };
    let mut converted = db.prepare(
        "SELECT name FROM pragma_table_info(?1) WHERE type LIKE '%REAL%' OR type LIKE '%FLOA%' OR type LIKE '%DOUB%'",
    )?;
    let converted = converted.query_map([name], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Some(Shape { columns, row_id, tree, root, key, converted }))
}

fn disguise(kind: &str, name: &str) -> String {
    match kind {
        "view" => format!("a view named {name}"),
        _ => format!("a virtual table, or one without row ids, named {name}"),
    }
}

/// The cells of one row, read without conversion: a cell of another type than asked for is absent.
pub(super) struct Cells<'row> {
    row: &'row Row<'row>,
    /// Bytes of texts that were looked at, wanted or not.
    handed: Cell<u64>,
}

impl<'row> Cells<'row> {
    const fn of(row: &'row Row<'row>) -> Self {
        Self { row, handed: Cell::new(0) }
    }

    fn handed(&self) -> u64 {
        self.handed.get()
    }

    fn get(&self, column: usize) -> Option<ValueRef<'row>> {
        let value = self.row.get_ref(column).ok();
        if let Some(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = value {
            self.handed.set(self.handed.get() + bytes.len() as u64);
        }
        value
    }

    /// A whole number.
    pub(super) fn int(&self, column: usize) -> Option<i64> {
        match self.get(column) {
            Some(ValueRef::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// A string; bytes that are no UTF-8 are absent.
    pub(super) fn text(&self, column: usize) -> Option<&'row str> {
        std::str::from_utf8(self.bytes(column)?).ok()
    }

    fn bytes(&self, column: usize) -> Option<&'row [u8]> {
        match self.get(column) {
            Some(ValueRef::Text(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

impl cells::Cells for Cells<'_> {
    fn int(&self, column: usize) -> Option<i64> {
        Self::int(self, column)
    }

    fn bytes(&self, column: usize) -> Option<&[u8]> {
        Self::bytes(self, column)
    }
}

/// Opens the database for reading: never written, never waiting for another program's lock, nothing in its schema run.
pub(super) fn open(path: &Path, budget: &Budget) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(uri(path), flags)?;
    for (limit, value) in LIMITS {
        db.set_limit(limit, value)?;
    }
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, budget.cell_bytes())?;
    budget.bound(&mut db)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // One pass over each table gains nothing from a large page cache.
    db.execute_batch(
        "PRAGMA cell_size_check = ON; PRAGMA cache_size = -2000; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA query_only = ON;",
    )?;
    // Of the whole process, and never raised again: connections of many threads need more.
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get) as u64;
    let most = MAX_SQLITE_BYTES + threads * MAX_SQLITE_BYTES_OF_A_THREAD;
    db.query_row(&format!("PRAGMA hard_heap_limit = {most}"), [], |_| Ok(()))?;
    Ok(db)
}

/// What SQLite may be asked for: above what an export needs, far below its own limits.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, MAX_SCHEMA_ENTRY_BYTES),
    (Limit::SQLITE_LIMIT_COLUMN, MAX_COLUMN_COUNT),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 10),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 20),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

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

/// What SQLite keeps beside a database while it is written, and what is left there where its writer was killed.
const BESIDE: [&str; 2] = ["-journal", "-wal"];

/// Refuses a database that is not whole: that is shorter than its header says, which SQLite would read up to the cut without a
/// word, or of which a part lies in a file beside it, which is not read.
pub(super) fn check_whole(path: &Path) -> Result<(), ReadError> {
    check_length(path)?;
    // Who writes to it keeps them beside the file itself, by whatever name it is read here.
    let itself = std::fs::canonicalize(path).ok().filter(|itself| itself != path);
    for path in [Some(path), itself.as_deref()].into_iter().flatten() {
        for ending in BESIDE {
            let mut beside = path.as_os_str().to_owned();
            beside.push(ending);
            let beside = Path::new(&beside);
            if holds_a_part(beside) {
                let name = beside.file_name().unwrap_or_default().display().to_string();
                return Err(super::damaged(
                    path,
                    format!("{name} beside it holds a part of it: it is still written, or its writer was killed"),
                ));
            }
        }
    }
    Ok(())
}

/// Whether a file that SQLite keeps beside a database may hold a part of it. One that is done with is empty, or begins with a zero; of
/// one that cannot be read nothing is known.
fn holds_a_part(beside: &Path) -> bool {
    let mut first = [0_u8];
    match crate::files::open(beside) {
        Ok(mut file) => file.read_exact(&mut first).is_ok() && first != [0],
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            !std::fs::metadata(beside).is_ok_and(|file| file.len() == 0)
        }
        Err(_) => false,
    }
}

fn check_length(path: &Path) -> Result<(), ReadError> {
    let open_error = |source| ReadError::Open { path: path.display().to_string(), source };
    let mut header = [0_u8; 100];
    let mut file = crate::files::open(path).map_err(open_error)?;
    let actual = file.metadata().map_err(open_error)?.len();
    let damaged = |detail: String| super::damaged(path, detail);
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
