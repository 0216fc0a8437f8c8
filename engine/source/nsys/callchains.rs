//! Call stacks of API calls, of reports that were captured with them (`--cudabacktrace`, `--python-backtrace`): the line in
//! the program's own code that each call came from. Reports without stacks cost one look at the list of tables.

use std::path::Path;

use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

use super::database::{Cells, Schema};
use super::frames::{self, MAX_BYTES};
use super::info::has_rows;
use super::rows::Table;
use crate::timeline::builder::Limits;
use crate::timeline::{CallLocations, SourceLocation, Timeline};

const CHAINS: &str = "CUDA_CALLCHAINS";
/// The class of rows that repeat a call to hang its stack on: they begin before it and have its thread and correlation id.
const ECHO: i64 = 67;
/// Rows that are looked at to find out whether a report has such.
const SAMPLE_ROWS: u64 = 10_000;

/// The thread and correlation id of an API call.
type CallKey = (i64, i64);

/// The source locations of a report's API calls.
#[derive(Default)]
pub(super) struct Located {
    pub(super) locations: CallLocations,
    /// Rows of stacks beyond the limit.
    pub(super) beyond: u64,
}

/// Whether the table of API calls holds rows that repeat another call. They are no calls: reading them would count twice.
pub(super) fn has_echoes(db: &Connection, schema: &Schema) -> rusqlite::Result<bool> {
    let api = Table::Api.name();
    if !schema.has_column(api, "eventClass") || !has_rows(db, schema, CHAINS)? {
        return Ok(false);
    }
    let sql = schema.select(api, &["globalTid", "correlationId"]);
    let mut echoes: FxHashSet<CallKey> = FxHashSet::default();
    each(db, &format!("{sql} WHERE \"eventClass\" = {ECHO}"), SAMPLE_ROWS, |cells| {
        echoes.extend(cells.int(0).zip(cells.int(1)));
    })?;
    if echoes.is_empty() {
        return Ok(false);
    }
    let mut statement = db.prepare(&format!("{sql} WHERE \"eventClass\" IS NOT {ECHO}"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        if cells.int(0).zip(cells.int(1)).is_some_and(|key| echoes.contains(&key)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The condition that leaves them out, for a table that has them.
pub(super) fn condition(table: Table, has_echoes: bool) -> String {
    if has_echoes && table == Table::Api { format!(" AND \"eventClass\" IS NOT {ECHO}") } else { String::new() }
}

/// The source locations of a timeline's API calls. `root` is the project's folder.
pub(super) fn locations(
    db: &Connection,
    schema: &Schema,
    timeline: &Timeline,
    root: Option<&Path>,
    limits: &Limits,
) -> rusqlite::Result<Located> {
    if !has_rows(db, schema, CHAINS)? || !schema.has("StringIds") {
        return Ok(Located::default());
    }
    let (list, frames) = frames(db, schema, root, limits)?;
    if frames.is_empty() {
        return Ok(Located::default());
    }
    let chains = chains(db, schema, &frames, limits)?;
    let beyond = schema.count(db, CHAINS)?.saturating_sub(limits.rows);
    let calls = calls(db, schema, &chains, limits)?;
    let starts = starts(db, schema, &calls, limits)?;
    let of_call =
        timeline.api.times.iter().zip(&timeline.api.thread).zip(0_u32..).filter_map(|((times, thread), call)| {
            let thread = timeline.threads.get(*thread as usize)?;
            Some((call, *starts.get(&(thread.id, times.start))?))
        });
    let of_call = of_call.collect();
    Ok(Located { locations: CallLocations::new(list, of_call), beyond })
}

/// All source locations that strings of the report name, and which string names which.
fn frames(
    db: &Connection,
    schema: &Schema,
    root: Option<&Path>,
    limits: &Limits,
) -> rusqlite::Result<(Vec<SourceLocation>, FxHashMap<i64, u32>)> {
    let mut list: Vec<SourceLocation> = Vec::new();
    let mut indices: FxHashMap<SourceLocation, u32> = FxHashMap::default();
    let mut frames = FxHashMap::default();
    each(db, &schema.select("StringIds", &["id", "value"]), limits.rows, |cells| {
        let (Some(id), Some(text)) = (cells.int(0), cells.text(1)) else { return };
        let is_long = text.len() > MAX_BYTES.min(limits.name_bytes);
        if is_long || list.len() >= limits.names {
            return;
        }
        if let Some(location) = frames::location(text, root) {
            let number = *indices.entry(location.clone()).or_insert_with(|| {
                list.push(location);
                (list.len() - 1) as u32
            });
            frames.insert(id, number);
        }
    })?;
    Ok((list, frames))
}

/// The source location of each chain's innermost frame that has one.
fn chains(
    db: &Connection,
    schema: &Schema,
    frames: &FxHashMap<i64, u32>,
    limits: &Limits,
) -> rusqlite::Result<FxHashMap<i64, u32>> {
    let mut innermost: FxHashMap<i64, (i64, u32)> = FxHashMap::default();
    each(db, &schema.select(CHAINS, &["id", "stackDepth", "symbol", "module"]), limits.rows, |cells| {
        let named = |column: usize| cells.int(column).and_then(|string| frames.get(&string));
        let (Some(id), Some(depth), Some(location)) = (cells.int(0), cells.int(1), named(2).or_else(|| named(3)))
        else {
            return;
        };
        let known = innermost.entry(id).or_insert((depth, *location));
        if depth < known.0 {
            *known = (depth, *location);
        }
    })?;
    Ok(innermost.into_iter().map(|(id, (_, location))| (id, location)).collect())
}

/// The source locations of calls by thread and correlation id, which a call shares with the row that holds its stack.
fn calls(
    db: &Connection,
    schema: &Schema,
    chains: &FxHashMap<i64, u32>,
    limits: &Limits,
) -> rusqlite::Result<FxHashMap<CallKey, u32>> {
    let mut calls = FxHashMap::default();
    let sql = schema.select(Table::Api.name(), &["globalTid", "correlationId", "callchainId"]);
    each(db, &sql, limits.rows, |cells| {
        let key = cells.int(0).zip(cells.int(1));
        let location = cells.int(2).and_then(|chain| chains.get(&chain));
        calls.extend(key.zip(location.copied()));
    })?;
    Ok(calls)
}

/// The same by thread and start, which a timeline knows its calls by.
fn starts(
    db: &Connection,
    schema: &Schema,
    calls: &FxHashMap<CallKey, u32>,
    limits: &Limits,
) -> rusqlite::Result<FxHashMap<(i64, i64), u32>> {
    let mut starts = FxHashMap::default();
    let sql = schema.select(Table::Api.name(), &["globalTid", "correlationId", "start"]);
    each(db, &sql, limits.rows, |cells| {
        let (Some(thread), Some(correlation), Some(start)) = (cells.int(0), cells.int(1), cells.int(2)) else { return };
        if let Some(location) = calls.get(&(thread, correlation)) {
            starts.insert((thread, start), *location);
        }
    })?;
    Ok(starts)
}

/// Hands over the rows of a statement, up to a number.
pub(super) fn each(db: &Connection, sql: &str, most: u64, mut take: impl FnMut(&Cells<'_>)) -> rusqlite::Result<()> {
    let mut statement = db.prepare(&format!("{sql} LIMIT ?1"))?;
    let mut rows = statement.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        take(&Cells(row));
    }
    Ok(())
}
