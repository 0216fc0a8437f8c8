//! Reads the event tables in parallel: each is cut by row id into chunks of a fixed size, so that the result does not
//! depend on how many threads took part.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::aggregate::TableReader;
use super::budget::{Budget, Tally};
use super::callchains;
use super::database::{self, Schema};
use super::pages::{Pages, Unread};
use super::rows::Table;
use crate::parallel::Threads;
use crate::source::Progress;
use crate::timeline::builder::{Chunk, Limits};

/// Rows of a chunk: enough that a chunk costs far more than starting it, few enough to spread a table over threads.
const CHUNK_ROWS: i64 = 1 << 17;
/// Row ids of a hostile file can be far apart; no table is cut into more chunks than this.
const MAX_CHUNKS: i64 = 4_096;
/// Chunks of their turn that wait to be joined with the others: they are memory.
const MAX_WAITING: usize = 2;
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(50);

/// How to scan.
pub(super) struct Options<'a> {
    pub(super) threads: Threads,
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

/// Reads every event table that is there, and hands on each chunk in the order of tables and row ids. Returns how many
/// rows lie beyond the limit.
pub(super) fn scan(
    path: &Path,
    db: &Connection,
    schema: &Schema,
    options: &Options<'_>,
    mut take: impl FnMut(&mut Chunk),
) -> rusqlite::Result<u64> {
    let Plan { jobs, total, beyond } = plan(db, schema, options.limits)?;
    let next = AtomicUsize::new(0);
    let (sender, chunks) = mpsc::sync_channel(MAX_WAITING);
    // Shared, so that it does not matter how many threads there are.
    let budget = Budget::of(path);
    let used = Used::default();
    let take = |mut chunk: Chunk| {
        take(&mut chunk);
        used.give(chunk);
    };
    let work = |sender: SyncSender<(usize, rusqlite::Result<Chunk>)>| {
        let mut worker = match Worker::open(path, schema, options, (&budget, &used)) {
            Ok(worker) => worker,
            Err(error) => {
                _ = sender.send((0, Err(error)));
                return;
            }
        };
        let next_job = || jobs.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed));
        while let Some((index, job)) = next_job() {
            // Nobody listens any more when something went wrong elsewhere.
            if sender.send((index, worker.read(job))).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..options.threads.at_most(jobs.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        hand_on(chunks, take, || options.progress.rows(budget.rows_done(), total))
    })?;
    Ok(beyond)
}

/// Chunks that were taken, to be filled again.
#[derive(Debug, Default)]
struct Used(Mutex<Vec<Chunk>>);

impl Used {
    fn give(&self, chunk: Chunk) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_WAITING {
            all.push(chunk);
        }
    }

    fn get(&self) -> Chunk {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }
}

/// Reads stretches on one thread.
struct Worker<'a> {
    schema: &'a Schema,
    options: &'a Options<'a>,
    budget: &'a Budget,
    used: &'a Used,
    /// Absent where the file is not as exports are.
    pages: Option<Pages>,
    reader: TableReader,
    db: Connection,
}

impl<'a> Worker<'a> {
    fn open(
        path: &Path,
        schema: &'a Schema,
        options: &'a Options<'a>,
        (budget, used): (&'a Budget, &'a Used),
    ) -> rusqlite::Result<Self> {
        let db = database::open(path, budget)?;
        let reader = TableReader::new(&db, *options.limits, budget)?;
        Ok(Self { schema, options, budget, used, pages: Pages::open(path, budget.clone()), reader, db })
    }

    fn read(&mut self, job: &Job) -> rusqlite::Result<Chunk> {
        let Job { table, first, last } = *job;
        let also = callchains::condition(table, self.options.has_echoes);
        if also.is_empty()
            && let Some(chunk) = self.read_pages(job)?
        {
            return Ok(chunk);
        }
        self.check_order(job)?;
        let columns = self.schema.list(table.name(), table.columns());
        let row_id = self.schema.row_id(table.name());
        self.reader.read(&self.db, (table, row_id), &columns, (first, last), &also)
    }

    /// SQLite looks for rows by their ids, and leaves those out that it comes upon too late.
    ///
    /// # Errors
    /// When the ids of a stretch are not in order.
    fn check_order(&mut self, job: &Job) -> rusqlite::Result<()> {
        let Some((pages, root)) = self.pages.as_mut().zip(self.schema.tree(job.table.name())) else { return Ok(()) };
        match pages.look_at_ids(root, (job.first, job.last)) {
            Err(Unread::OutOfOrder) => Err(out_of_order(job.table)),
            Ok(()) | Err(Unread::NotPlain) => Ok(()),
        }
    }

    /// Reads a stretch without SQLite; `None` where something there is not plain.
    fn read_pages(&mut self, job: &Job) -> rusqlite::Result<Option<Chunk>> {
        let plain = self.schema.plain(job.table.name(), job.table.columns());
        let Some((pages, plain)) = self.pages.as_mut().zip(plain) else { return Ok(None) };
        let mut chunk = self.used.get().renewed(job.table.name(), *self.options.limits);
        let (mut tally, mut counted) = (Tally::default(), Ok(()));
        let taken = pages.rows(&plain, (job.first, job.last), |record| {
            job.table.read(record, &mut chunk);
            counted = tally.row(record.handed.get(), &chunk, self.budget);
            if counted.is_ok() { Ok(()) } else { Err(Unread::NotPlain) }
        });
        counted?;
        if let Err(unread) = taken {
            tally.undo(self.budget);
            return match unread {
                Unread::NotPlain => Ok(None),
                Unread::OutOfOrder => Err(out_of_order(job.table)),
            };
        }
        tally.tell(&chunk, self.budget)?;
        chunk.seal();
        Ok(Some(chunk))
    }
}

/// The error where pages of a table do not fit each other.
fn out_of_order(table: Table) -> rusqlite::Error {
    rusqlite::Error::UserFunctionError(format!("the rows of {} are not in order", table.name()).into())
}

/// Hands on all that is sent, in order, up to the first error in that order, and tells progress. What comes early waits.
fn hand_on<T>(
    sent: Receiver<(usize, rusqlite::Result<T>)>,
    mut take: impl FnMut(T),
    tell: impl Fn(),
) -> rusqlite::Result<()> {
    let mut early: BTreeMap<usize, rusqlite::Result<T>> = BTreeMap::new();
    let mut next = 0;
    loop {
        match sent.recv_timeout(TELL_EVERY) {
            Ok((index, part)) => _ = early.insert(index, part),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        while let Some(part) = early.remove(&next) {
            take(part?);
            next += 1;
        }
        tell();
    }
}

/// The chunks to read, and how many rows there are about.
fn plan(db: &Connection, schema: &Schema, limits: &Limits) -> rusqlite::Result<Plan> {
    let mut plan = Plan::default();
    for table in Table::ALL.into_iter().filter(|table| schema.has(table.name())) {
        let Some((low, mut high)) = schema.row_id_ends(db, table.name())? else { continue };
        let whole_until = high;
        if let Some((last, beyond)) = last_within(db, schema, (table, (low, high)), limits)? {
            high = last;
            plan.beyond += beyond;
            if last < low {
                continue;
            }
        }
        let is_whole = whole_until == high;
        let span = i128::from(high) - i128::from(low) + 1;
        let step = i64::try_from(span / i128::from(MAX_CHUNKS) + 1).unwrap_or(i64::MAX).max(CHUNK_ROWS);
        let mut first = low;
        let begun = plan.jobs.len();
        loop {
            let last = first.saturating_add(step - 1).min(high);
            plan.jobs.push(Job { table, first, last });
            if last >= high {
                break;
            }
            first = last + 1;
        }
        // SQLite looked at the two ends alone, which may be damaged: no row lies beside the stretches.
        if let [job, ..] = &mut plan.jobs[begun..] {
            job.first = i64::MIN;
        }
        if let Some(job) = plan.jobs.last_mut().filter(|_| is_whole) {
            job.last = i64::MAX;
        }
        plan.total = plan.total.saturating_add(u64::try_from(span).unwrap_or(u64::MAX));
    }
    Ok(plan)
}

/// The row id before the first row beyond the limit, and how many lie beyond, of a table whose row ids lie between two; `None` where none
/// does.
fn last_within(
    db: &Connection,
    schema: &Schema,
    (table, ends): (Table, (i64, i64)),
    limits: &Limits,
) -> rusqlite::Result<Option<(i64, u64)>> {
    let (name, row_id) = (table.name(), schema.row_id(table.name()));
    let beyond = schema.beyond_of(db, (name, ends), limits.rows)?;
    if beyond == 0 {
        return Ok(None);
    }
    let sql = format!("SELECT {row_id} FROM \"{name}\" ORDER BY {row_id} LIMIT 1 OFFSET ?1");
    let rows = i64::try_from(limits.rows).unwrap_or(i64::MAX);
    let first_beyond: Option<i64> = db.query_row(&sql, [rows], |row| row.get(0)).optional()?;
    Ok(first_beyond.map(|first| (first.saturating_sub(1), beyond)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::builder::Builder;

    /// More rows than are counted at once, then one that goes on on another page, and some more.
    #[test]
    fn rows_of_a_stretch_that_is_left_to_sqlite_in_its_middle_count_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let db = Connection::open(file.path()).unwrap();
        db.execute_batch(
            "CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, eventType INT, text TEXT);
             WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 40000)
             INSERT INTO NVTX_EVENTS
             SELECT n * 10, n * 10 + 5, 1, 59, CASE n WHEN 30000 THEN hex(zeroblob(9000)) ELSE 'range' END FROM c;",
        )
        .unwrap();
        let (limits, budget) = (Limits::default(), Budget::of(file.path()));
        let schema = Schema::probe(&database::open(file.path(), &budget).unwrap(), budget.clone()).unwrap();
        let options = Options { threads: Threads::new(Some(1)), limits: &limits, progress: &(), has_echoes: false };
        let used = Used::default();
        let mut worker = Worker::open(file.path(), &schema, &options, (&budget, &used)).unwrap();
        let read = |worker: &mut Worker<'_>, first, last| {
            let mut builder = Builder::new(limits);
            let job = Job { table: Table::Nvtx, first, last };
            let is_plain = worker.read_pages(&job).unwrap().is_some();
            let done = budget.rows_done();
            let mut chunk = worker.read(&job).unwrap();
            builder.take_out_of(&mut chunk);
            // What is read next stands where this did.
            used.give(chunk);
            (is_plain, builder.finish().ranges.len(), budget.rows_done() - done)
        };
        assert_eq!(read(&mut worker, 1, 20_000), (true, 20_000, 20_000));
        let done = budget.rows_done();
        assert_eq!(read(&mut worker, 1, 40_000), (false, 40_000, 40_000));
        assert_eq!(budget.rows_done() - done, 40_000);
    }
}
