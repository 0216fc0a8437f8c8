//! Programs that compile and ran as processes of their own, as CPU samples of a tree of processes show them: whoever waits for one of
//! them compiles, whichever call it waits in.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::database::Schema;
use super::ids::process_key;
use super::info::has_rows;
use super::samples::{CHAINS, EVENTS};
use crate::text::paths::file_name;
use crate::timeline::builder::{ABSURD_NS, Limits};
use crate::timeline::interval::Interval;
use crate::timeline::names::Names;
use crate::timeline::{CompilerRun, NameId, Timeline, modules};

/// Processes and samples that are kept: far more than a build has.
const MAX_PROCESSES: usize = 10_000;
const MAX_SAMPLES: usize = 1_000_000;
/// Runs that are told, the longest.
const MAX_RUNS: usize = 256;
/// The table of processes and what they are called.
const PROCESSES: &str = "PROCESSES";
/// The part of a key that is the process id.
const PID_MASK: i64 = 0xff_ffff;

/// By process when it was seen, and which of the programs it runs.
type Processes = BTreeMap<i64, (Interval, Option<NameId>)>;

/// When each ran: from its first to its last sample, in order of the begins.
pub(super) fn read(
    db: &Connection,
    schema: &Schema,
    timeline: &mut Timeline,
    limits: &Limits,
) -> rusqlite::Result<Vec<CompilerRun>> {
    if !has_rows(db, schema, CHAINS)? || !has_rows(db, schema, EVENTS)? {
        return Ok(Vec::new());
    }
    let programs = programs(db, schema, timeline, limits)?;
    let named = named_processes(db, schema, timeline, limits)?;
    if programs.is_empty() && named.is_empty() {
        return Ok(Vec::new());
    }
    let chains = (CHAINS, ["id", "module"].as_slice());
    let (of_stack, _) = schema.collect(db, chains, limits.rows, |of_stack: &mut BTreeMap<i64, NameId>, cells| {
        let program = cells.int(1).and_then(|module| programs.get(&module));
        if let (Some(id), Some(program)) = (cells.int(0), program)
            && of_stack.len() < MAX_SAMPLES
        {
            of_stack.insert(id, *program);
        }
    })?;
    let events = (EVENTS, ["id", "start", "globalTid"].as_slice());
    let (processes, _) = schema.collect(db, events, limits.rows, |processes: &mut Processes, cells| {
        let (Some(id), Some(at), Some(thread)) = (cells.int(0), cells.int(1), cells.int(2)) else { return };
        let process = process_key(thread);
        let has_room = processes.len() < MAX_PROCESSES || processes.contains_key(&process);
        if !(-ABSURD_NS..=ABSURD_NS).contains(&at) || !has_room {
            return;
        }
        let (times, program) = processes.entry(process).or_insert((Interval::new(at, at), None));
        *times = Interval::new(times.start.min(at), times.end.max(at));
        *program = program.or(of_stack.get(&id).copied());
    })?;
    let run = |(process, (times, program)): (i64, (Interval, Option<NameId>))| {
        // One that is seldom on a CPU, or in the system's kernel, has no sample in its own file.
        let program = program.or(named.get(&process).copied());
        program.map(|program| CompilerRun { times, pid: process & PID_MASK, program })
    };
    let mut runs: Vec<CompilerRun> = processes.into_iter().filter_map(run).collect();
    runs.sort_by_key(|run| -run.times.len_ns());
    runs.truncate(MAX_RUNS);
    runs.sort_by_key(|run| (run.times.start, run.pid));
    Ok(runs)
}

/// Adds the name of something, where it is such a program's and there is room for it.
fn add(found: &mut BTreeMap<i64, NameId>, names: &mut Names, limits: &Limits, (id, name): (i64, &str)) {
    let has_room = found.len() < MAX_PROCESSES && (names.len() < limits.names || names.find(name).is_some());
    if modules::is_compiler_program(name) && has_room {
        found.insert(id, names.intern(name.to_owned()));
    }
}

/// Such programs by their processes, where the report names these.
fn named_processes(
    db: &Connection,
    schema: &Schema,
    timeline: &mut Timeline,
    limits: &Limits,
) -> rusqlite::Result<BTreeMap<i64, NameId>> {
    let mut found = BTreeMap::new();
    if !schema.has_column(PROCESSES, "globalPid") || !schema.has_column(PROCESSES, "name") {
        return Ok(found);
    }
    let names = &mut timeline.names;
    schema.each(db, &schema.select(PROCESSES, &["globalPid", "name"]), limits.rows, |cells| {
        let (Some(id), Some(name)) = (cells.int(0), cells.text(1)) else { return };
        add(&mut found, names, limits, (process_key(id), name));
    })?;
    Ok(found)
}

/// Files of such programs, by the ids that stacks name them with.
fn programs(
    db: &Connection,
    schema: &Schema,
    timeline: &mut Timeline,
    limits: &Limits,
) -> rusqlite::Result<BTreeMap<i64, NameId>> {
    let mut found = BTreeMap::new();
    let names = &mut timeline.names;
    schema.each(db, &schema.select("StringIds", &["id", "value"]), limits.rows, |cells| {
        let (Some(id), Some(text)) = (cells.int(0), cells.text(1)) else { return };
        add(&mut found, names, limits, (id, file_name(text)));
    })?;
    Ok(found)
}
