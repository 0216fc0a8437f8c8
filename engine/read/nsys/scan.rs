//! Reads the event tables in parallel: each is cut by row id into chunks of a fixed size, so that the result does not
//! depend on how many threads took part.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rusqlite::Connection;

use super::database::{self, Cells, Schema};
use super::keys::Keys;
use super::rows::{Reason, Sink, Table};
use crate::read::Progress;

/// Rows of a chunk: enough that a chunk costs far more than starting it, few enough to spread a table over threads.
const CHUNK_ROWS: i64 = 1 << 17;
/// Row ids of a hostile file can be far apart; no table is cut into more chunks than this.
const MAX_CHUNKS: i64 = 4_096;
/// How often progress is told.
const TELL_EVERY: u64 = 1 << 14;

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
}

/// Reads every event table that is there; chunks come in the order of tables and row ids.
pub(super) fn scan(
    path: &Path,
    db: &Connection,
    schema: &Schema,
    threads: usize,
    progress: &dyn Progress,
) -> rusqlite::Result<Vec<Chunk>> {
    let (jobs, total) = plan(db, schema)?;
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
                    let chunk = read(&open, schema, *job, &done, total, progress);
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
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| work(database::open(path)));
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, chunk)| chunk).collect()
}

/// The chunks to read, and how many rows there are about.
fn plan(db: &Connection, schema: &Schema) -> rusqlite::Result<(Vec<Job>, u64)> {
    let mut jobs = Vec::new();
    let mut total = 0_u64;
    for table in Table::ALL.into_iter().filter(|table| schema.has(table.name())) {
        // Asked for together, they would cost a scan of the table.
        let end = |which: &str| {
            let sql = format!("SELECT {which}(rowid) FROM \"{}\"", table.name());
            db.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0))
        };
        let ends = (end("min")?, end("max")?);
        let (Some(low), Some(high)) = ends else { continue };
        let span = i128::from(high) - i128::from(low) + 1;
        let step = i64::try_from(span / i128::from(MAX_CHUNKS) + 1).unwrap_or(i64::MAX).max(CHUNK_ROWS);
        let mut first = low;
        loop {
            let last = first.saturating_add(step - 1).min(high);
            jobs.push(Job { table, first, last });
            if last >= high {
                break;
            }
            first = last + 1;
        }
        total = total.saturating_add(u64::try_from(span).unwrap_or(u64::MAX));
    }
    Ok((jobs, total))
}

fn read(
    db: &Connection,
    schema: &Schema,
    job: Job,
    done: &AtomicU64,
    total: u64,
    progress: &dyn Progress,
) -> rusqlite::Result<Chunk> {
    let mut chunk = Chunk { table: job.table, rows: job.table.sink(), keys: Keys::default(), dropped: BTreeMap::new() };
    let sql = schema.select(job.table.name(), job.table.columns()) + " WHERE rowid BETWEEN ?1 AND ?2";
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query([job.first, job.last])?;
    let mut untold = 0;
    while let Some(row) = rows.next()? {
        if let Err(reason) = chunk.rows.push(&Cells(row), &mut chunk.keys) {
            *chunk.dropped.entry(reason).or_default() += 1;
        }
        untold += 1;
        if untold == TELL_EVERY {
            progress.rows(done.fetch_add(untold, Ordering::Relaxed) + untold, total);
            untold = 0;
        }
    }
    progress.rows(done.fetch_add(untold, Ordering::Relaxed) + untold, total);
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
