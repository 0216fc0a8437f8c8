//! Hands the rows of a table over inside SQLite, as the arguments of an aggregate function: SQLite then neither stops at
//! each row nor checks and locks at each cell, and a row costs about half.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ffi};

use super::keys::Keys;
use super::rows::{Reason, Sink, Table};
use crate::source::Limits;

/// The name of the function. Only the statement of this module calls it: nothing in a file can.
const NAME: &str = "coldspot_take";
/// How often progress is told.
const TELL_EVERY: u64 = 1 << 14;

/// The cells of one row, read without conversion: a cell of another type than asked for is absent.
pub(super) struct Cells<'row, 'context>(&'row Context<'context>);

impl Cells<'_, '_> {
    /// A whole number.
    pub(super) fn int(&self, column: usize) -> Option<i64> {
        match self.0.get_raw(column) {
            ValueRef::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The bytes of a string, which may be no UTF-8.
    pub(super) fn bytes(&self, column: usize) -> Option<&[u8]> {
        match self.0.get_raw(column) {
            ValueRef::Text(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// What was read of one stretch of a table.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) table: Table,
    pub(super) rows: Sink,
    pub(super) keys: Keys,
    pub(super) dropped: BTreeMap<Reason, u64>,
    /// Names that were cut.
    pub(super) cut_name_count: u64,
    /// Rows that may still come.
    left: u64,
    /// Rows that progress was not told of.
    untold: u64,
}

impl Chunk {
    fn new(table: Table, limits: Limits, most: u64) -> Self {
        let keys = Keys::new(limits);
        Self { table, rows: table.sink(), keys, dropped: BTreeMap::new(), cut_name_count: 0, left: most, untold: 0 }
    }

    /// Ends reading.
    fn seal(&mut self) {
        self.rows.seal();
        self.cut_name_count = self.keys.seal();
    }
}

/// Where a connection leaves what it reads.
pub(super) struct Taker {
    limits: Limits,
    place: Arc<Mutex<Option<Chunk>>>,
}

/// The function.
struct Take {
    place: Arc<Mutex<Option<Chunk>>>,
    done: Arc<AtomicU64>,
}

impl Taker {
    /// Gives a connection the function; `done` counts rows.
    pub(super) fn new(db: &Connection, limits: Limits, done: &Arc<AtomicU64>) -> rusqlite::Result<Self> {
        let place = Arc::new(Mutex::new(None));
        let take = Take { place: Arc::clone(&place), done: Arc::clone(done) };
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        db.create_aggregate_function(NAME, -1, flags, take)?;
        Ok(Self { limits, place })
    }

    /// Reads the rows of a table whose row ids lie from `first` to `last`; `columns` is what `SELECT` would take, `also` a
    /// further condition, if any.
    pub(super) fn read(
        &self,
        db: &Connection,
        (table, row_id): (Table, &str),
        columns: &str,
        (first, last): (i64, i64),
        also: &str,
    ) -> rusqlite::Result<Chunk> {
        let most = last.abs_diff(first).saturating_add(1);
        self.put(Some(Chunk::new(table, self.limits, most)))?;
        let sql = format!("SELECT {NAME}({columns}) FROM \"{}\" WHERE {row_id} BETWEEN ?1 AND ?2{also}", table.name());
        db.query_row(&sql, [first, last], |_| Ok(()))?;
        let mut chunk = self.put(None)?.ok_or_else(lost)?;
        chunk.seal();
        Ok(chunk)
    }

    fn put(&self, chunk: Option<Chunk>) -> rusqlite::Result<Option<Chunk>> {
        Ok(std::mem::replace(&mut *self.place.lock().map_err(|_| lost())?, chunk))
    }
}

/// Never seen: SQLite calls the function on the thread that asks.
const fn lost() -> rusqlite::Error {
    rusqlite::Error::UnwindingPanic
}

impl Aggregate<Chunk, Option<i64>> for Take {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Chunk> {
        self.place.lock().ok().and_then(|mut place| place.take()).ok_or_else(lost)
    }

    fn step(&self, row: &mut Context<'_>, chunk: &mut Chunk) -> rusqlite::Result<()> {
        // Pages that refer to each other in a circle bring more rows than there are row ids.
        let Some(left) = chunk.left.checked_sub(1) else {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None));
        };
        chunk.left = left;
        if let Err(reason) = chunk.rows.push(&Cells(row), &mut chunk.keys) {
            *chunk.dropped.entry(reason).or_default() += 1;
        }
        chunk.untold += 1;
        if chunk.untold == TELL_EVERY {
            self.done.fetch_add(std::mem::take(&mut chunk.untold), Ordering::Relaxed);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, chunk: Option<Chunk>) -> rusqlite::Result<Option<i64>> {
        if let (Some(chunk), Ok(mut place)) = (chunk, self.place.lock()) {
            self.done.fetch_add(chunk.untold, Ordering::Relaxed);
            *place = Some(chunk);
        }
        Ok(None)
    }
}
