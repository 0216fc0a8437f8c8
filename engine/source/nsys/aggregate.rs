//! Hands the rows of a table over inside SQLite, as the arguments of an aggregate function: SQLite then neither stops at
//! each row nor checks and locks at each cell, and a row costs about half.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, ffi};

use super::budget::{Budget, Tally};
use super::cells::Arguments;
use super::rows::Table;
use crate::timeline::builder::{Chunk, Limits};

/// The name of the function. Only the statement of this module calls it: nothing in a file can.
const NAME: &str = "coldspot_take";

/// What was read of one stretch of a table.
#[derive(Debug)]
struct Part {
    table: Table,
    chunk: Chunk,
    /// Rows that may still come.
    left: u64,
    tally: Tally,
}

/// Where a connection leaves what it reads.
pub(super) struct TableReader {
    limits: Limits,
    slot: Slot,
}

/// Holds what is read while SQLite runs the function.
type Slot = Arc<Mutex<Option<Part>>>;

/// The function.
struct Take {
    slot: Slot,
    budget: Budget,
}

impl TableReader {
    /// Gives a connection the function.
    pub(super) fn new(db: &Connection, limits: Limits, budget: &Budget) -> rusqlite::Result<Self> {
        let slot = Slot::default();
        let take = Take { slot: Arc::clone(&slot), budget: budget.clone() };
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
        db.create_aggregate_function(NAME, -1, flags, take)?;
        Ok(Self { limits, slot })
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
        let left = last.abs_diff(first).saturating_add(1);
        self.put(Some(Part { table, chunk: Chunk::new(table.name(), self.limits), left, tally: Tally::default() }))?;
        let sql = format!("SELECT {NAME}({columns}) FROM \"{}\" WHERE {row_id} BETWEEN ?1 AND ?2{also}", table.name());
        db.query_row(&sql, [first, last], |_| Ok(()))?;
        let mut chunk = self.put(None)?.ok_or_else(lost)?.chunk;
        chunk.seal();
        Ok(chunk)
    }

    fn put(&self, part: Option<Part>) -> rusqlite::Result<Option<Part>> {
        Ok(std::mem::replace(&mut *self.slot.lock().map_err(|_| lost())?, part))
    }
}

/// Never seen: SQLite calls the function on the thread that asks.
const fn lost() -> rusqlite::Error {
    rusqlite::Error::UnwindingPanic
}

impl Aggregate<Part, Option<i64>> for Take {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Part> {
        self.slot.lock().ok().and_then(|mut slot| slot.take()).ok_or_else(lost)
    }

    fn step(&self, row: &mut Context<'_>, part: &mut Part) -> rusqlite::Result<()> {
        // Pages that refer to each other in a circle bring more rows than there are row ids.
        let Some(left) = part.left.checked_sub(1) else {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), None));
        };
        part.left = left;
        let cells = Arguments { row, handed: Cell::new(0) };
        part.table.read(&cells, &mut part.chunk);
        part.tally.row(cells.handed.get(), &part.chunk, &self.budget)
    }

    fn finalize(&self, _: &mut Context<'_>, part: Option<Part>) -> rusqlite::Result<Option<i64>> {
        if let (Some(mut part), Ok(mut slot)) = (part, self.slot.lock()) {
            part.tally.tell(&part.chunk, &self.budget)?;
            *slot = Some(part);
        }
        Ok(None)
    }
}
