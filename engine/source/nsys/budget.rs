//! What reading a database may cost, in proportion to its file: pages of a hostile file can refer to each other, so that a
//! few megabytes stand for rows without end, or for rows that are each as long as the file.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use rusqlite::Connection;

use crate::limits::{
    MAX_CELL_BYTES, MAX_KEY_BYTES_ANYWAY, MAX_KEY_BYTES_PER_BYTE, MAX_READING_TIME, MAX_TABLE_PAGE_BYTES_ANYWAY,
    MAX_TABLE_PAGE_BYTES_PER_BYTE, MAX_TEXT_ANYWAY_BYTES, MAX_TEXT_PER_FILE, MIN_EVENT_BYTES,
    MIN_READ_BYTES_PER_SECOND, MIN_ROW_BYTES, ROWS_ANYWAY,
};
use crate::timeline::builder::Chunk;

/// Steps of SQLite's machine between two looks at the clock: few, since one step can go through the whole file.
const STEPS: i32 = 100;
/// Looks at the clock between two looks at the budget, unless this much time has passed.
const LOOKS: u64 = 200;
const LONG: Duration = Duration::from_millis(20);
/// Steps that may be taken for each byte of the file, and in any case. A row takes a step or two for each of
/// its columns, and at least a byte for each.
const STEPS_PER_BYTE: u64 = 20;
const STEPS_ANYWAY: u64 = 20_000_000;
/// Bytes that a kernel, a stream or a thread takes of memory, about.
const KEY_BYTES: u64 = 250;
/// Rows, and bytes of texts, that are counted at once.
const ROWS_AT_ONCE: u64 = 1 << 14;
const TEXT_BYTES_AT_ONCE: u64 = 1 << 16;
/// A cell of a small file may be this long in any case.
const CELL_ANYWAY: u64 = 1 << 20;

/// What all connections that share it may take.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    /// In units of [`STEPS`].
    steps: Arc<AtomicU64>,
    text_bytes: Arc<AtomicU64>,
    events: Arc<AtomicU64>,
    page_bytes: Arc<AtomicU64>,
    key_bytes: Arc<AtomicU64>,
    /// Of processor time, of all threads together: a slow disk takes none, and other programs take none of it.
    nanoseconds: Arc<AtomicU64>,
    /// Rows of events that were read, for who tells progress.
    done: Arc<AtomicU64>,
    file_bytes: u64,
}

/// The file asks for more than its size explains.
#[derive(Debug, thiserror::Error)]
enum TooMuch {
    #[error("its texts are longer than the whole file: pages or texts of it stand for many rows")]
    Text,
    #[error("it names more kernels, streams and threads than a file of its size explains")]
    Keys,
    #[error("it has more rows than a file of its size can hold: pages or values of it stand for many rows")]
    Rows,
}

impl From<TooMuch> for rusqlite::Error {
    fn from(error: TooMuch) -> Self {
        Self::UserFunctionError(Box::new(error))
    }
}

impl Budget {
    /// In proportion to a file.
    pub(super) fn of(path: &Path) -> Self {
        let file_bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        let bytes = |of_each: u64, anyway: u64| file_bytes.saturating_mul(of_each).saturating_add(anyway);
        let time = MAX_READING_TIME.as_nanos() as f64 + file_bytes as f64 / MIN_READ_BYTES_PER_SECOND as f64 * 1e9;
        let shared = |amount| Arc::new(AtomicU64::new(amount));
        Self {
            steps: shared(bytes(STEPS_PER_BYTE, STEPS_ANYWAY) / STEPS as u64),
            text_bytes: shared(bytes(MAX_TEXT_PER_FILE, MAX_TEXT_ANYWAY_BYTES)),
            page_bytes: shared(bytes(MAX_TABLE_PAGE_BYTES_PER_BYTE, MAX_TABLE_PAGE_BYTES_ANYWAY)),
            key_bytes: shared(bytes(MAX_KEY_BYTES_PER_BYTE, MAX_KEY_BYTES_ANYWAY)),
            events: shared(file_bytes / MIN_EVENT_BYTES + ROWS_ANYWAY),
            nanoseconds: shared(time as u64),
            done: shared(0),
            file_bytes,
        }
    }

    /// Stops a connection's statements when nothing is left. Called on the thread that then uses it.
    pub(super) fn bound(&self, db: &mut Connection) -> rusqlite::Result<()> {
        let mut meter = Meter::new(self.clone());
        db.progress_handler(STEPS, Some(move || meter.is_over()))
    }

    /// Whether what this thread has used of the processors, since any budget was last told, is left.
    pub(super) fn take_time(&self) -> bool {
        let now = processor_time();
        let spent = now.saturating_sub(TOLD.replace(now));
        let is_left = take(&self.nanoseconds, spent.as_nanos() as u64);
        if !is_left {
            // What is over stays so, however little is asked for next.
            self.nanoseconds.store(0, Ordering::Relaxed);
        }
        is_left && self.nanoseconds.load(Ordering::Relaxed) > 0
    }

    /// Whether these bytes of pages may be read without SQLite, which has a budget of its own.
    pub(super) fn take_pages(&self, bytes: usize) -> bool {
        take(&self.page_bytes, bytes as u64)
    }

    /// Counts rows of events.
    fn count_events(&self, rows: u64) -> rusqlite::Result<()> {
        if take(&self.events, rows) { Ok(()) } else { Err(TooMuch::Rows.into()) }
    }

    /// Counts different kernels, streams and threads.
    fn count_keys(&self, keys: u64) -> rusqlite::Result<()> {
        if take(&self.key_bytes, keys.saturating_mul(KEY_BYTES)) { Ok(()) } else { Err(TooMuch::Keys.into()) }
    }

    /// Rows of events that were read so far.
    pub(super) fn rows_done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Tells whether a table can have as many rows, of which that many were read.
    ///
    /// # Errors
    /// When it cannot.
    pub(super) fn check_rows(&self, rows: u64) -> rusqlite::Result<()> {
        let most = self.file_bytes / MIN_ROW_BYTES + ROWS_ANYWAY;
        if rows <= most { Ok(()) } else { Err(TooMuch::Rows.into()) }
    }

    /// Counts bytes of texts that SQLite has handed over.
    ///
    /// # Errors
    /// When nothing is left.
    pub(super) fn hand_over(&self, bytes: u64) -> rusqlite::Result<()> {
        if bytes == 0 || take(&self.text_bytes, bytes) {
            return Ok(());
        }
        Err(TooMuch::Text.into())
    }

    /// The longest cell that the file can hold.
    pub(super) fn cell_bytes(&self) -> i32 {
        i32::try_from(self.file_bytes.max(CELL_ANYWAY)).unwrap_or(i32::MAX).min(MAX_CELL_BYTES)
    }
}

/// What was read of one stretch of a table, and what of it the budget was not told of yet.
#[derive(Debug, Default)]
pub(super) struct Tally {
    rows: u64,
    told_rows: u64,
    text_bytes: u64,
    told_text_bytes: u64,
    told_keys: u64,
}

impl Tally {
    /// Counts a row, of which that many bytes of texts were looked at.
    ///
    /// # Errors
    /// When nothing is left.
    pub(super) fn row(&mut self, text_bytes: u64, chunk: &Chunk, budget: &Budget) -> rusqlite::Result<()> {
        self.rows += 1;
        self.text_bytes += text_bytes;
        if self.text_bytes >= TEXT_BYTES_AT_ONCE {
            let bytes = std::mem::take(&mut self.text_bytes);
            self.told_text_bytes += bytes;
            budget.hand_over(bytes)?;
        }
        if self.rows.is_multiple_of(ROWS_AT_ONCE) { self.tell(chunk, budget) } else { Ok(()) }
    }

    /// Tells the budget of all rows, and of what they refer to.
    ///
    /// # Errors
    /// When nothing is left.
    pub(super) fn tell(&mut self, chunk: &Chunk, budget: &Budget) -> rusqlite::Result<()> {
        let rows = self.rows - self.told_rows;
        self.told_rows = self.rows;
        budget.done.fetch_add(rows, Ordering::Relaxed);
        budget.count_events(rows)?;
        let keys = chunk.key_count() as u64;
        budget.count_keys(keys - std::mem::replace(&mut self.told_keys, keys))
    }

    /// What was read is thrown away, to be read again.
    pub(super) fn undo(self, budget: &Budget) {
        budget.done.fetch_sub(self.told_rows, Ordering::Relaxed);
        budget.text_bytes.fetch_add(self.told_text_bytes, Ordering::Relaxed);
        budget.events.fetch_add(self.told_rows, Ordering::Relaxed);
        budget.key_bytes.fetch_add(self.told_keys * KEY_BYTES, Ordering::Relaxed);
    }
}

fn take(left: &AtomicU64, amount: u64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)).is_ok()
}

thread_local! {
    /// What this thread has used of the processors, as far as a budget was told. Several of its connections, and what it reads
    /// without any, tell the same time once.
    static TOLD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Tells the budget what one connection takes.
struct Meter {
    budget: Budget,
    looks: u64,
    looked: Instant,
}

impl Meter {
    /// What the thread has used before is no part of it.
    fn new(budget: Budget) -> Self {
        TOLD.set(processor_time());
        Self { budget, looks: 0, looked: Instant::now() }
    }

    fn is_over(&mut self) -> bool {
        self.looks += 1;
        let now = Instant::now();
        if self.looks < LOOKS && now.duration_since(self.looked) < LONG {
            return false;
        }
        self.looked = now;
        let looks = std::mem::take(&mut self.looks);
        !take(&self.budget.steps, looks) || !self.budget.take_time()
    }
}

/// What this thread has used of the processors; what has passed, where the system does not tell.
fn processor_time() -> Duration {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    ThreadTime::try_now().map_or_else(|_| BEGIN.elapsed(), |time| time.as_duration())
}

#[cfg(test)]
impl Budget {
    /// Takes all of the time away.
    pub(super) fn spend_time(&self) {
        self.nanoseconds.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: &str = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c";

    /// The budget of a file of 24 KB.
    fn small() -> Budget {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(24_000).unwrap();
        Budget::of(file.path())
    }

    #[test]
    fn rows_follow_from_the_size_of_the_file() {
        let budget = small();
        assert!(budget.count_events(ROWS_ANYWAY + 1_000).is_ok());
        assert!(budget.clone().count_events(1).is_err());
        assert!(budget.count_keys(MAX_KEY_BYTES_ANYWAY / KEY_BYTES).is_ok());
        assert!(budget.count_keys(1_000).is_err());
        assert!(budget.check_rows(ROWS_ANYWAY + 2_000).is_ok());
        assert!(budget.check_rows(ROWS_ANYWAY + 2_001).is_err());
    }

    #[test]
    fn what_is_read_again_counts_once() {
        let budget = small();
        let (chunk, mut tally) = (Chunk::default(), Tally::default());
        let text_bytes = budget.text_bytes.load(Ordering::Relaxed);
        (0..20_000).for_each(|_| tally.row(10, &chunk, &budget).unwrap());
        assert!(budget.text_bytes.load(Ordering::Relaxed) < text_bytes);
        assert_eq!(budget.rows_done(), ROWS_AT_ONCE);
        tally.tell(&chunk, &budget).unwrap();
        assert_eq!(budget.rows_done(), 20_000);
        tally.undo(&budget);
        assert_eq!((budget.rows_done(), budget.text_bytes.load(Ordering::Relaxed)), (0, text_bytes));
        assert!(budget.count_events(ROWS_ANYWAY + 1_000).is_ok());
    }

    #[test]
    fn the_time_of_a_thread_counts_once_whoever_tells_it() {
        let budget = small();
        let mut meter = Meter::new(budget.clone());
        let whole = budget.nanoseconds.load(Ordering::Relaxed);
        let begin = processor_time();
        while processor_time().saturating_sub(begin) < Duration::from_millis(5) {}
        assert!(budget.take_time());
        meter.looks = LOOKS;
        assert!(!meter.is_over());
        let (told, used) = (whole - budget.nanoseconds.load(Ordering::Relaxed), processor_time().saturating_sub(begin));
        assert!(told >= 5_000_000 && u128::from(told) < used.as_nanos() + 2_000_000, "{told} of {used:?}");
        budget.nanoseconds.store(0, Ordering::Relaxed);
        assert!(!budget.take_time());
    }

    #[test]
    fn time_that_is_over_stays_over() {
        let budget = small();
        _ = budget.take_time();
        budget.nanoseconds.store(1_000_000, Ordering::Relaxed);
        let begin = processor_time();
        while processor_time().saturating_sub(begin) < Duration::from_millis(5) {}
        assert!(!budget.take_time(), "more than is left");
        assert_eq!(budget.nanoseconds.load(Ordering::Relaxed), 0);
        assert!(!budget.take_time());
    }

    #[test]
    fn statements_end_with_the_time_of_the_processors_and_with_the_steps() {
        for (steps, nanoseconds) in [(u64::MAX, 30_000_000), (1_000, u64::MAX)] {
            let budget = small();
            budget.steps.store(steps, Ordering::Relaxed);
            budget.nanoseconds.store(nanoseconds, Ordering::Relaxed);
            let mut db = Connection::open_in_memory().unwrap();
            budget.bound(&mut db).unwrap();
            let result = db.query_row(ENDLESS, [], |_| Ok(()));
            assert_eq!(result.unwrap_err().sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
        }
    }
}
