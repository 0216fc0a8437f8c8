//! Call stacks of API calls, of reports that were captured with them (`--cudabacktrace`, `--python-backtrace`): the line in
//! the program's own code that each call came from, or the function, where frames name no lines. Reports without stacks cost one look at the list of tables.

use std::collections::BTreeMap;
use std::path::Path;

use foldhash::{HashMap, HashSet};
use rusqlite::Connection;

use super::database::{Cells, Schema};
use super::frames::{self, MAX_BYTES, Rank};
use super::info::has_rows;
use super::rows::Table;
use super::whose_stack::{CallKey, Innermost, NamedCall, NamedCalls, Row, chains_of_calls};
use crate::limits::MAX_CALL_FRAME_COUNT;
use crate::source::own_code::Project;
use crate::timeline::builder::Limits;
use crate::timeline::{CallLocations, NONE, SourceLocation, ThreadRanges, Timeline};

const CHAINS: &str = "CUDA_CALLCHAINS";
/// The class of rows that repeat a call to hang its stack on: they begin before it and have its thread and correlation id.
const ECHO: i64 = 67;
/// Rows that are looked at to find out whether a report has such.
const SAMPLE_ROWS: u64 = 10_000;

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
    let mut echoes: HashSet<CallKey> = HashSet::default();
    schema.each(db, &format!("{sql} WHERE \"eventClass\" = {ECHO}"), SAMPLE_ROWS, |cells| {
        echoes.extend(cells.int(0).zip(cells.int(1)));
    })?;
    if echoes.is_empty() {
        return Ok(false);
    }
    let mut is_repeated = false;
    schema.each(db, &format!("{sql} WHERE \"eventClass\" IS NOT {ECHO}"), u64::MAX, |cells| {
        is_repeated |= cells.int(0).zip(cells.int(1)).is_some_and(|key| echoes.contains(&key));
    })?;
    Ok(is_repeated)
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
    let mut frames = Frames::read(db, schema, root, limits)?;
    let beyond = frames.beyond + schema.beyond(db, CHAINS, limits.rows)?;
    if frames.list.is_empty() {
        return Ok(Located { beyond, ..Located::default() });
    }
    let chains = Chains::read(db, schema, &frames, limits)?;
    let rows = rows(db, schema, (&chains, &mut frames.calls), limits)?;
    let mut calls = chains_of_calls(rows, |chain| chains.get(chain).map(|chain| chain.named));
    calls.retain(|row| chains.location(row.chain).is_some());
    calls.sort_unstable_by_key(|row| (row.key, row.start));
    let starts = starts(db, schema, &calls, &chains, limits)?;
    drop((calls, chains));
    let (mut of_call, mut threads) = (HashMap::default(), BTreeMap::new());
    for (call, (times, thread)) in (0_u32..).zip(timeline.api.times.iter().zip(&timeline.api.thread)) {
        let id = timeline.threads.get(*thread as usize).map(|thread| thread.id);
        if let Some(location) = id.and_then(|id| starts.location((id, times.start))) {
            of_call.insert(call, location);
            let ranges =
                threads.entry(*thread).or_insert_with(|| ThreadRanges { thread: *thread, ..Default::default() });
            ranges.times.push(times);
            ranges.label.push(location);
        }
    }
    let mut threads: Vec<ThreadRanges> = threads.into_values().collect();
    threads.iter_mut().for_each(ThreadRanges::sort);
    Ok(Located { locations: CallLocations::new(frames.list, of_call).with_threads(threads), beyond })
}

/// What a row of a stack holds: the ids of the function's name, where it has one, and of its file.
type FrameKey = (Option<i64>, Option<i64>);

const ROW: [&str; 5] = ["id", "stackDepth", "symbol", "module", "unresolved"];

/// The function and the file that a row names.
fn key(cells: &Cells<'_>) -> FrameKey {
    let is_named = cells.int(4).unwrap_or(0) == 0;
    (cells.int(2).filter(|_| is_named), cells.int(3))
}

/// The frames that say who made a call.
#[derive(Default)]
struct Frames {
    list: Vec<SourceLocation>,
    told: HashMap<FrameKey, (Rank, u32)>,
    /// The frames that are calls of CUDA.
    in_call: HashMap<FrameKey, NamedCall>,
    calls: NamedCalls,
    /// Rows with frames beyond the limit.
    beyond: u64,
}

impl Frames {
    fn read(db: &Connection, schema: &Schema, root: Option<&Path>, limits: &Limits) -> rusqlite::Result<Self> {
        let (mut keys, mut frames): (HashSet<FrameKey>, Self) = Default::default();
        let most = limits.names.min(MAX_CALL_FRAME_COUNT);
        schema.each(db, &schema.select(CHAINS, &ROW), limits.rows, |cells| {
            if keys.len() < most {
                keys.insert(key(cells));
            } else {
                frames.beyond += u64::from(!keys.contains(&key(cells)));
            }
        })?;
        let wanted = keys.iter().flat_map(|(symbol, module)| [*symbol, *module]).flatten().collect();
        let texts = texts(db, schema, &wanted, limits)?;
        let mut keys: Vec<FrameKey> = keys.into_iter().collect();
        keys.sort_unstable();
        let project = root.map(Project::new);
        let mut indices: HashMap<SourceLocation, u32> = HashMap::default();
        for key in keys {
            let text = |id: Option<i64>| id.and_then(|id| texts.get(&id)).map(String::as_str);
            let (symbol, module) = (text(key.0), text(key.1));
            if let Some(call) = symbol.and_then(|symbol| frames.calls.of(symbol)) {
                frames.in_call.insert(key, call);
            }
            let line = [symbol, module].into_iter().flatten().find_map(|text| frames::location(text, project.as_ref()));
            let function = || frames::function(symbol?, module?);
            let Some((rank, location)) = line.map(|line| (Rank::Line, line)).or_else(function) else { continue };
            let index = *indices.entry(location.clone()).or_insert_with(|| {
                frames.list.push(location);
                (frames.list.len() - 1) as u32
            });
            frames.told.insert(key, (rank, index));
        }
        Ok(frames)
    }
}

/// The texts of some ids.
fn texts(
    db: &Connection,
    schema: &Schema,
    wanted: &HashSet<i64>,
    limits: &Limits,
) -> rusqlite::Result<HashMap<i64, String>> {
    let mut texts = HashMap::default();
    schema.each(db, &schema.select("StringIds", &["id", "value"]), limits.rows, |cells| {
        let Some(id) = cells.int(0).filter(|id| wanted.contains(id)) else { return };
        let Some(text) = cells.text(1).filter(|text| text.len() <= MAX_BYTES.min(limits.name_bytes)) else { return };
        texts.insert(id, text.to_owned());
    })?;
    Ok(texts)
}

/// What a stack tells. There may be one for each call.
#[derive(Debug, Clone, Copy)]
struct Chain {
    id: i64,
    /// Where in the program's own code it was taken: the frame that says most, the innermost of several.
    best: Option<(Rank, u32, u32)>,
    /// The call of CUDA that it was taken in.
    named: Innermost,
}

impl Chain {
    fn merge(&mut self, other: Self) {
        self.best = self.best.into_iter().chain(other.best).min();
        self.named.merge(other.named);
    }
}

/// The stacks that tell anything, by id.
#[derive(Default)]
struct Chains(Vec<Chain>);

impl Chains {
    fn read(db: &Connection, schema: &Schema, frames: &Frames, limits: &Limits) -> rusqlite::Result<Self> {
        let mut all: Vec<Chain> = Vec::new();
        schema.each(db, &schema.select(CHAINS, &ROW), limits.rows, |cells| {
            let (Some(id), Some(depth)) = (cells.int(0), cells.int(1)) else { return };
            let depth = u32::try_from(depth.max(0)).unwrap_or(u32::MAX);
            let key = key(cells);
            let (call, told) = (frames.in_call.get(&key), frames.told.get(&key));
            if call.is_none() && told.is_none() {
                return;
            }
            let mut chain =
                Chain { id, best: told.map(|(rank, location)| (*rank, depth, *location)), named: Innermost::default() };
            call.into_iter().for_each(|call| chain.named.add(depth, *call));
            // The rows of a stack mostly stand together.
            match all.last_mut().filter(|last| last.id == id) {
                Some(last) => last.merge(chain),
                None => all.push(chain),
            }
        })?;
        if !all.is_sorted_by(|one, next| one.id < next.id) {
            all.sort_by_key(|chain| chain.id);
            all.dedup_by(|next, known| {
                let is_same = next.id == known.id;
                if is_same {
                    known.merge(*next);
                }
                is_same
            });
        }
        Ok(Self(all))
    }

    /// The index of a stack; [`NONE`] of one that tells nothing.
    fn index(&self, id: i64) -> u32 {
        self.0.binary_search_by_key(&id, |chain| chain.id).map_or(NONE, |index| index as u32)
    }

    fn get(&self, index: u32) -> Option<&Chain> {
        self.0.get(index as usize)
    }

    fn location(&self, index: u32) -> Option<u32> {
        self.get(index)?.best.map(|(_, _, location)| location)
    }
}

/// The rows that stacks hang on: by thread and correlation id, which a call shares with the row that holds its stack.
fn rows(
    db: &Connection,
    schema: &Schema,
    (chains, calls): (&Chains, &mut NamedCalls),
    limits: &Limits,
) -> rusqlite::Result<Vec<Row>> {
    let (mut rows, mut names) = (Vec::new(), Vec::new());
    let mut indices: HashMap<i64, u32> = HashMap::default();
    let columns = ["globalTid", "correlationId", "callchainId", "start", "nameId"];
    let sql = schema.select(Table::Api.name(), &columns);
    schema.each(db, &sql, limits.rows, |cells| {
        let (Some(thread), Some(correlation), Some(chain)) = (cells.int(0), cells.int(1), cells.int(2)) else { return };
        let start = cells.int(3).unwrap_or(0);
        rows.push(Row { key: (thread, correlation), start, call: None, chain: chains.index(chain) });
        let next = indices.len() as u32;
        let index = cells.int(4).and_then(|name| match indices.get(&name) {
            Some(index) => Some(*index),
            None if indices.len() < limits.names => Some(*indices.entry(name).or_insert(next)),
            None => None,
        });
        names.push(index.unwrap_or(NONE));
    })?;
    let texts = texts(db, schema, &indices.keys().copied().collect(), limits)?;
    let mut named = vec![None; indices.len()];
    for (id, index) in indices {
        named[index as usize] = texts.get(&id).and_then(|text| calls.of(text));
    }
    for (row, name) in rows.iter_mut().zip(names) {
        row.call = named.get(name as usize).copied().flatten();
    }
    Ok(rows)
}

/// Where calls come from, by thread and start, which a timeline knows them by.
struct Starts(Vec<((i64, i64), u32)>);

impl Starts {
    /// Of several calls that began at once the last one's.
    fn location(&self, call: (i64, i64)) -> Option<u32> {
        let behind = self.0.partition_point(|(known, _)| *known <= call);
        let (known, location) = self.0.get(behind.checked_sub(1)?)?;
        (*known == call).then_some(*location)
    }
}

/// `calls` are those with stacks, by key.
fn starts(
    db: &Connection,
    schema: &Schema,
    calls: &[Row],
    chains: &Chains,
    limits: &Limits,
) -> rusqlite::Result<Starts> {
    let mut starts = Vec::new();
    let sql = schema.select(Table::Api.name(), &["globalTid", "correlationId", "start"]);
    schema.each(db, &sql, limits.rows, |cells| {
        let (Some(thread), Some(correlation), Some(start)) = (cells.int(0), cells.int(1), cells.int(2)) else { return };
        let key = (thread, correlation);
        let behind = calls.partition_point(|row| row.key <= key);
        let call = behind.checked_sub(1).and_then(|index| calls.get(index)).filter(|row| row.key == key);
        if let Some(location) = call.and_then(|row| chains.location(row.chain)) {
            starts.push(((thread, start), location));
        }
    })?;
    starts.sort_unstable();
    Ok(Starts(starts))
}
