//! What reading a database may cost, in proportion to its file: pages of a hostile file can refer to each other, so that a
//! few megabytes stand for rows without end, or for rows that are each as long as the file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::limits::{
    MAX_CELL_BYTES, MAX_READING_TIME, MAX_TEXT_ANYWAY_BYTES, MAX_TEXT_PER_FILE, MIN_READ_BYTES_PER_SECOND,
};

/// Steps of SQLite's machine between two looks at the budget: few, since one step can read a text of many megabytes.
const STEPS: i32 = 2_000;
/// Steps that may be taken for each byte of the file, and in any case. A row takes a step or two for each of
/// its columns, and at least a byte for each.
const STEPS_PER_BYTE: u64 = 20;
const STEPS_ANYWAY: u64 = 20_000_000;
/// A cell of a small file may be this long in any case.
const CELL_ANYWAY: u64 = 1 << 20;

/// What all connections that share it may take.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    /// In units of [`STEPS`].
    steps: Arc<AtomicU64>,
    text_bytes: Arc<AtomicU64>,
    until: Option<Instant>,
    file_bytes: u64,
}

/// The file asks for more than its size explains.
#[derive(Debug, thiserror::Error)]
#[error("its texts are longer than the whole file: pages or texts of it stand for many rows")]
struct TooMuchText;

impl Budget {
    /// In proportion to a file; time runs from now on.
    pub(super) fn of(path: &Path) -> Self {
        let file_bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        let steps = file_bytes.saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS_ANYWAY);
        let text_bytes = file_bytes.saturating_mul(MAX_TEXT_PER_FILE).saturating_add(MAX_TEXT_ANYWAY_BYTES);
        let time = MAX_READING_TIME + Duration::from_secs(file_bytes / MIN_READ_BYTES_PER_SECOND);
        Self {
            steps: Arc::new(AtomicU64::new(steps / STEPS as u64)),
            text_bytes: Arc::new(AtomicU64::new(text_bytes)),
            until: Instant::now().checked_add(time),
            file_bytes,
        }
    }

    /// Stops a connection's statements when nothing is left.
    pub(super) fn bound(&self, db: &mut Connection) -> rusqlite::Result<()> {
        let (left, until) = (Arc::clone(&self.steps), self.until);
        let is_over = move || !take(&left, 1) || until.is_some_and(|until| Instant::now() > until);
        db.progress_handler(STEPS, Some(is_over))
    }

    /// Counts bytes of texts that SQLite has handed over.
    ///
    /// # Errors
    /// When nothing is left.
    pub(super) fn hand_over(&self, bytes: u64) -> rusqlite::Result<()> {
        if bytes == 0 || take(&self.text_bytes, bytes) {
            return Ok(());
        }
        Err(rusqlite::Error::UserFunctionError(Box::new(TooMuchText)))
    }

    /// The longest cell that the file can hold.
    pub(super) fn cell_bytes(&self) -> i32 {
        i32::try_from(self.file_bytes.max(CELL_ANYWAY)).unwrap_or(i32::MAX).min(MAX_CELL_BYTES)
    }
}

fn take(left: &AtomicU64, amount: u64) -> bool {
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount)).is_ok()
}
