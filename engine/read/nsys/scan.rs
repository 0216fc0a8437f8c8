//! Reads the event tables in parallel: each is cut by row id into chunks of a fixed size, so that the result does not
//! depend on how many threads took part.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rusqlite::{Connection, OptionalExtension, ffi};

use super::callchains;
use super::database::{self, Cells, Schema};
use super::keys::Keys;
use super::rows::{Reason, Sink, Table};
use crate::read::{Limits, Progress};

/// Rows of a chunk: enough that a chunk costs far more than starting it, few enough to spread a table over threads.
const CHUNK_ROWS: i64 = 1 << 17;
/// Row ids of a hostile file can be far apart; no table is cut into more chunks than this.
const MAX_CHUNKS: i64 = 4_096;
/// How often progress is told.
const TELL_EVERY: u64 = 1 << 14;

/// How to scan.
pub(super) struct Options<'a> {
    pub(super) threads: usize,
    pub(super) limits: &'a Limits,
    pub(super) progress: &'a dyn Progress,
    /// Whether rows of API calls that repeat another are left out.
    pub(super) has_echoes: bool,
}

/// What is to be read.
#[derive(Debug, Default)]
struct Plan {
    jobs: Vec<Job>,
    /// Rows, about.
    total: u64,
    /// Rows beyond the limit.
    beyond: u64,
}

/// One stretch of row ids of one table, both ends in it.
#[derive(Debug, Clone, Copy)]
struct Job {
    table: Table,
    first: i64,
    last: i64,
}

/// What was read of one stretch.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) table: Table,
    pub(super) rows: Sink,
    pub(super) keys: Keys,
    pub(super) dropped: BTreeMap<Reason, u64>,
    /// Names that were cut.
    pub(super) cut_name_count: u64,
}

/// What was read of all event tables.
pub(super) struct Scanned {
    pub(super) chunks: Vec<Chunk>,
    /// Rows beyond the limit.
    pub(super) beyond: u64,
}

/// Reads every event table that is there; chunks come in the order of tables and row ids.
pub(super) fn scan(path: &Path, db: &Connection, schema: &Schema, options: &Options<'_>) -> rusqlite::Result<Scanned> {
    let Plan { jobs, total, beyond } = plan(db, schema, options.limits)?;
    let next = AtomicUsize::new(0);
    let done = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let results: Mutex<Vec<(usize, rusqlite::Result<Chunk>)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    let work = |connection: rusqlite::Result<Connection>| {
        let mut connection = Some(connection);
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return };
            let chunk = match connection.take() {
                Some(Ok(open)) => {
                    let chunk = read(&open, schema, *job, options, |rows| {
                        options.progress.rows(done.fetch_add(rows, Ordering::Relaxed) + rows, total);
                    });
                    connection = Some(Ok(open));
                    chunk
                }
                Some(Err(error)) => Err(error),
                None => return,
            };
            failed.fetch_or(chunk.is_err(), Ordering::Relaxed);
            if let Ok(mut results) = results.lock() {
                results.push((index, chunk));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| work(database::open(path)));
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_unstable_by_key(|(index, _)| *index);
    let chunks = results.into_iter().map(|(_, chunk)| chunk).collect::<Result<_, _>>()?;
    Ok(Scanned { chunks, beyond })
}

/// The chunks to read, and how many rows there are about.
fn plan(db: &Connection, schema: &Schema, limits: &Limits) -> rusqlite::Result<Plan> {
    let mut plan = Plan::default();
    for table in Table::ALL.into_iter().filter(|table| schema.has(table.name())) {
        // Asked for together, they would cost a scan of the table.
        let end = |which: &str| {
            let sql = format!("SELECT {which}({}) FROM \"{}\"", schema.row_id(table.name()), table.name());
            db.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0))
        };
        let ends = (end("min")?, end("max")?);
        let (Some(low), Some(mut high)) = ends else { continue };
        if i128::from(high) - i128::from(low) >= i128::from(limits.rows)
            && let Some((last, beyond)) = last_within(db, schema, table, limits)?
        {
            high = last;
            plan.beyond += beyond;
            if last < low {
                continue;
            }
        }
        let span = i128::from(high) - i128::from(low) + 1;
        let step = i64::try_from(span / i128::from(MAX_CHUNKS) + 1).unwrap_or(i64::MAX).max(CHUNK_ROWS);
        let mut first = low;
        loop {
            let last = first.saturating_add(step - 1).min(high);
            plan.jobs.push(Job { table, first, last });
            if last >= high {
                break;
            }
            first = last + 1;
        }
        plan.total = plan.total.saturating_add(u64::try_from(span).unwrap_or(u64::MAX));
    }
    Ok(plan)
}

/// The row id before the first row beyond the limit, and how many lie beyond; `None` where none does.
fn last_within(
    db: &Connection,
    schema: &Schema,
    table: Table,
    limits: &Limits,
) -> rusqlite::Result<Option<(i64, u64)>> {
    let (name, row_id) = (table.name(), schema.row_id(table.name()));
    let count: i64 = db.query_row(&format!("SELECT count(*) FROM \"{name}\""), [], |row| row.get(0))?;
    let beyond = u64::try_from(count).unwrap_or(0).saturating_sub(limits.rows);
    if beyond == 0 {
        return Ok(None);
    }
    let sql = format!("SELECT {row_id} FROM \"{name}\" ORDER BY {row_id} LIMIT 1 OFFSET ?1");
    let rows = i64::try_from(limits.rows).unwrap_or(i64::MAX);
    let first_beyond: Option<i64> = db.query_row(&sql, [rows], |row| row.get(0)).optional()?;
    Ok(first_beyond.map(|first| (first.saturating_sub(1), beyond)))
}

fn read(
    db: &Connection,
    schema: &Schema,
    job: Job,
    options: &Options<'_>,
    tell: impl Fn(u64),
) -> rusqlite::Result<Chunk> {
    let mut chunk = Chunk {
        table: job.table,
        rows: job.table.sink(),
        keys: Keys::new(*options.limits),
        dropped: BTreeMap::new(),
        cut_name_count: 0,
    };
    let row_id = schema.row_id(job.table.name());
    let sql = schema.select(job.table.name(), job.table.columns())
        + &format!(" WHERE {row_id} BETWEEN ?1 AND ?2")
        + &callchains::condition(job.table, options.has_echoes);
    // Pages that refer to each other in a circle bring more rows than there are row ids.
    let mut left = job.last.saturating_sub(job.first).saturating_add(1);
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query([job.first, job.last])?;
    let mut untold = 0;
    while let Some(row) = rows.next()? {
        if let Err(reason) = chunk.rows.push(&Cells(row), &mut chunk.keys) {
            *chunk.dropped.entry(reason).or_default() += 1;
        }
        left -= 1;
        if left < 0 {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None));
        }
        untold += 1;
        if untold == TELL_EVERY {
            tell(untold);
            untold = 0;
        }
    }
    tell(untold);
    chunk.cut_name_count = chunk.keys.seal();
    Ok(chunk)
}

/// Steps through every event table on one thread and looks at every cell that `scan` takes.
pub(super) fn floor(db: &Connection, schema: &Schema) -> rusqlite::Result<u64> {
    let mut cells = 0_u64;
    for table in Table::ALL.into_iter().filter(|table| schema.has(table.name())) {
        let mut statement = db.prepare(&schema.select(table.name(), table.columns()))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..table.columns().len() {
                let cell = row.get_ref(column)?;
                cells += u64::from(std::hint::black_box(cell) != rusqlite::types::ValueRef::Null);
            }
        }
    }
    Ok(cells)
}
