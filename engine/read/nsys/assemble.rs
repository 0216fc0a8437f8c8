//! Joins the chunks of all tables into one timeline: local places become places of the timeline's tables.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

use super::database::{Cells, Schema};
use super::identity::Identity;
use super::info::Info;
use super::join::Join;
use super::keys::{KernelKey, Keys, NameKey};
use super::rows::nvtx::NvtxRows;
use super::rows::{HostRows, OpRows, ScheduleRows, Sink};
use super::scan::{Chunk, Scanned};
use crate::read::{Limits, Reached};
use crate::timeline::api::normal_name;
use crate::timeline::columns::{GpuOps, KernelShape, Label, OverheadKind, ThreadRanges};
use crate::timeline::interval::Interval;
use crate::timeline::{Dropped, Geometry, NONE, NameId, PageFaults, Timeline, Times};

/// Stands for the names beyond the limit.
const OTHER_NAME: &str = "(another name)";

/// Joins everything. Chunks are used up one by one, so that only one exists beside the timeline.
pub(super) fn assemble(
    db: &Connection,
    schema: &Schema,
    info: Info,
    scanned: Scanned,
    limits: &Limits,
) -> rusqlite::Result<Timeline> {
    let Scanned { chunks, beyond } = scanned;
    let mut reached = Reached { row_count: beyond, ..Reached::default() };
    let strings = strings(db, schema, &chunks, limits, &mut reached)?;
    let identity = Identity::of(&chunks, &info);
    let mut assembly = Assembly { strings, most_names: limits.names, ..Assembly::new(identity) };
    assembly.timeline.reached = reached;
    assembly.timeline.source = info.source;
    assembly.timeline.notices = info.notices;
    for chunk in chunks {
        assembly.take(chunk);
    }
    Ok(assembly.finish())
}

/// The strings that rows refer to by id, and no others: call chains can have millions.
fn strings(
    db: &Connection,
    schema: &Schema,
    chunks: &[Chunk],
    limits: &Limits,
    reached: &mut Reached,
) -> rusqlite::Result<FxHashMap<i64, Box<str>>> {
    let names = chunks.iter().flat_map(|chunk| chunk.keys.names.list());
    let ids = names.filter_map(|key| if let NameKey::Id(id) = key { Some(*id) } else { None });
    let kernels = chunks.iter().flat_map(|chunk| chunk.keys.kernels.list());
    let wanted: FxHashSet<i64> = ids.chain(kernels.flat_map(|key| [key.name, key.full_name]).flatten()).collect();
    let mut strings = FxHashMap::default();
    if !schema.has("StringIds") || wanted.is_empty() {
        return Ok(strings);
    }
    let mut statement = db.prepare(&schema.select("StringIds", &["id", "value"]))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        if let (Some(id), Some(text)) = (cells.int(0), cells.text(1))
            && wanted.contains(&id)
        {
            let (text, is_cut) = limits.cut(text);
            reached.cut_name_count += u64::from(is_cut);
            strings.insert(id, text.into());
        }
    }
    Ok(strings)
}

/// GPU page faults of unified memory, by device.
pub(super) fn page_faults(db: &Connection, schema: &Schema, timeline: &Timeline) -> rusqlite::Result<Vec<PageFaults>> {
    const TABLE: &str = "CUDA_UM_GPU_PAGE_FAULT_EVENTS";
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    if !schema.has(TABLE) {
        return Ok(Vec::new());
    }
    // Rows name the CUDA ordinal of their process. By process and ordinal, or by the ordinal alone.
    let mut used: FxHashMap<(Option<i64>, i64), u32> = FxHashMap::default();
    for stream in &timeline.streams {
        let process = timeline.processes.get(stream.process as usize).map(|process| process.key);
        used.entry((process, stream.ordinal)).or_insert(stream.device);
        used.entry((None, stream.ordinal)).or_insert(stream.device);
    }
    let mut statement = db.prepare(&schema.select(TABLE, &["globalPid", "deviceId", "numberOfPageFaults"]))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        let process = cells.int(0).map(|key| key >> 24);
        let device = cells.int(1).and_then(|ordinal| used.get(&(process, ordinal)));
        if let Some(device) = device {
            let count = counts.entry(*device).or_default();
            *count = count.saturating_add(cells.int(2).unwrap_or(0).clamp(0, i64::from(u32::MAX)));
        }
    }
    Ok(counts.into_iter().map(|(device, count)| PageFaults { device, count }).collect())
}

#[derive(Debug, Default)]
struct Assembly {
    timeline: Timeline,
    identity: Identity,
    strings: FxHashMap<i64, Box<str>>,
    most_names: usize,
    geometries: FxHashMap<Geometry, u32>,
    shapes: FxHashMap<KernelShape, u32>,
    labels: FxHashMap<Label, u32>,
    /// By place of the thread, those of no thread last.
    ranges: BTreeMap<u32, ThreadRanges>,
    api_correlations: Vec<u32>,
    failed_calls: FxHashMap<NameId, u64>,
    schedule: Vec<ScheduleRows>,
    dropped: BTreeMap<(&'static str, &'static str), u64>,
}

/// The timeline's places for the local places of one chunk.
struct Places {
    names: Vec<NameId>,
    threads: Vec<u32>,
    /// `None` for a stream whose device is not known.
    streams: Vec<Option<u32>>,
    shapes: Vec<u32>,
    labels: Vec<u32>,
}

fn at(places: &[u32], local: u32) -> u32 {
    places.get(local as usize).copied().unwrap_or(NONE)
}

impl Assembly {
    fn new(identity: Identity) -> Self {
        Self { identity, ..Self::default() }
    }

    fn places(&mut self, keys: &Keys, are_api_names: bool) -> Places {
        let names: Vec<NameId> = keys
            .names
            .list()
            .iter()
            .map(|key| match key {
                NameKey::Id(id) => self.string(Some(*id), are_api_names),
                NameKey::Text(place) => {
                    self.intern(keys.texts.get(*place as usize).map_or("", |text| text), are_api_names)
                }
                NameKey::Missing => self.string(None, are_api_names),
            })
            .collect();
        let shapes = keys.kernels.list().iter().map(|key| self.shape(*key)).collect();
        let timeline = &mut self.timeline;
        let labels = keys.labels.list().iter().map(|(domain, name)| {
            let label = Label { name: at(&names, *name), domain: *domain };
            *self.labels.entry(label).or_insert_with(|| {
                timeline.ranges.labels.push(label);
                (timeline.ranges.labels.len() - 1) as u32
            })
        });
        let labels = labels.collect();
        let threads = keys.threads.list().iter().map(|key| self.identity.thread(*key)).collect();
        let streams = keys.streams.list().iter().map(|key| self.identity.stream(*key)).collect();
        Places { names, threads, streams, shapes, labels }
    }

    /// The timeline's place of a string of the table of strings.
    fn string(&mut self, id: Option<i64>, is_api_name: bool) -> NameId {
        let strings = std::mem::take(&mut self.strings);
        let place = self.intern(id.and_then(|id| strings.get(&id)).map_or("", |text| text), is_api_name);
        self.strings = strings;
        place
    }

    fn intern(&mut self, text: &str, is_api_name: bool) -> NameId {
        let text = if is_api_name { normal_name(text) } else { text };
        let names = &mut self.timeline.names;
        if names.len() < self.most_names {
            return names.intern(text);
        }
        names.find(text).unwrap_or_else(|| {
            self.timeline.reached.merged_name_count += 1;
            names.intern(OTHER_NAME)
        })
    }

    /// The timeline's place of what a kernel row launched.
    fn shape(&mut self, key: KernelKey) -> u32 {
        let (name, full_name) = (self.string(key.name, false), self.string(key.full_name, false));
        let timeline = &mut self.timeline;
        let geometry = *self.geometries.entry(key.geometry).or_insert_with(|| {
            timeline.geometries.push(key.geometry);
            (timeline.geometries.len() - 1) as u32
        });
        let shape = KernelShape { name, full_name, geometry };
        *self.shapes.entry(shape).or_insert_with(|| {
            timeline.kernels.shapes.push(shape);
            (timeline.kernels.shapes.len() - 1) as u32
        })
    }

    fn take(&mut self, chunk: Chunk) {
        let table = chunk.table.name();
        self.timeline.reached.cut_name_count += chunk.cut_name_count;
        for (reason, count) in &chunk.dropped {
            *self.dropped.entry((table, reason)).or_default() += count;
        }
        let places = self.places(&chunk.keys, matches!(chunk.rows, Sink::Api(_)));
        match chunk.rows {
            Sink::Kernels(rows) => {
                let kept = self.ops(table, &rows.ops, &places, |timeline| &mut timeline.kernels.ops);
                let columns = &mut self.timeline.kernels;
                columns.shape.extend(kept.of(&rows.shape).map(|shape| at(&places.shapes, *shape)));
            }
            Sink::Graphs(rows) => {
                self.ops(table, &rows, &places, |timeline| &mut timeline.graphs.ops);
            }
            Sink::Copies(rows) => {
                let kept = self.ops(table, &rows.ops, &places, |timeline| &mut timeline.copies.ops);
                let columns = &mut self.timeline.copies;
                columns.bytes.extend(kept.of(&rows.bytes));
                columns.direction.extend(kept.of(&rows.direction));
                columns.host_memory.extend(kept.of(&rows.host_memory));
                let rows = rows.migrations;
                let kept = self.ops(table, &rows.ops, &places, |timeline| &mut timeline.migrations.ops);
                let columns = &mut self.timeline.migrations;
                columns.bytes.extend(kept.of(&rows.bytes));
                columns.direction.extend(kept.of(&rows.direction));
                columns.cause.extend(kept.of(&rows.cause));
            }
            Sink::Memsets(rows) => {
                let kept = self.ops(table, &rows.ops, &places, |timeline| &mut timeline.memsets.ops);
                self.timeline.memsets.bytes.extend(kept.of(&rows.bytes));
            }
            Sink::Schedule(mut rows) => {
                rows.thread.iter_mut().for_each(|thread| *thread = at(&places.threads, *thread));
                self.schedule.push(rows);
            }
            host => self.take_host(host, &places),
        }
    }

    fn take_host(&mut self, rows: Sink, places: &Places) {
        let threads = |rows: &HostRows| rows.thread.iter().map(|thread| at(&places.threads, *thread)).collect();
        let names = |rows: &HostRows| rows.name.iter().map(|name| at(&places.names, *name)).collect::<Vec<_>>();
        match rows {
            Sink::Api(rows) => {
                let columns = &mut self.timeline.api;
                columns.thread.extend::<Vec<u32>>(threads(&rows.calls));
                columns.name.extend(names(&rows.calls));
                columns.times.extend(rows.calls.times.iter());
                self.api_correlations.extend(rows.correlation);
                for name in rows.failed {
                    *self.failed_calls.entry(at(&places.names, name)).or_default() += 1;
                }
            }
            Sink::OsCalls(rows) => {
                let columns = &mut self.timeline.os_calls;
                columns.thread.extend::<Vec<u32>>(threads(&rows));
                columns.name.extend(names(&rows));
                columns.times.extend(rows.times.iter());
            }
            Sink::ProfilerOverheads(rows) => {
                let kinds: Vec<_> =
                    names(&rows).into_iter().map(|name| profiler_kind(self.timeline.name(name))).collect();
                self.overheads(&rows, kinds, threads(&rows), names(&rows));
            }
            Sink::CudaOverheads(rows, kinds) => self.overheads(&rows, kinds, threads(&rows), names(&rows)),
            Sink::Nvtx(rows) => self.take_ranges(&rows, places),
            _ => {}
        }
    }

    fn take_ranges(&mut self, rows: &NvtxRows, places: &Places) {
        let mut first = 0;
        for run in rows.thread.chunk_by(|a, b| a == b) {
            let rows_of_run = first..first + run.len();
            first += run.len();
            let thread = run.first().map_or(NONE, |thread| at(&places.threads, *thread));
            let ranges = self.ranges.entry(thread).or_default();
            ranges.times.extend(rows_of_run.clone().map(|row| rows.times.at(row)));
            ranges.label.extend(rows_of_run.map(|row| at(&places.labels, rows.label[row])));
        }
        for (thread, domain, name) in &rows.domains {
            let thread = at(&places.threads, *thread);
            let process = self.identity.threads.get(thread as usize).map_or(NONE, |thread| thread.process);
            self.timeline.ranges.domains.push((process, *domain, at(&places.names, *name)));
        }
    }

    fn overheads(&mut self, rows: &HostRows, kinds: Vec<OverheadKind>, threads: Vec<u32>, names: Vec<NameId>) {
        let columns = &mut self.timeline.overheads;
        columns.times.extend(rows.times.iter());
        columns.kind.extend(kinds);
        columns.thread.extend(threads);
        columns.name.extend(names);
    }

    /// Appends what all GPU rows have; `call` holds the correlation id until the API calls are known.
    fn ops(
        &mut self,
        table: &'static str,
        rows: &OpRows,
        places: &Places,
        columns: impl Fn(&mut Timeline) -> &mut GpuOps,
    ) -> Kept {
        let streams: Vec<Option<u32>> =
            rows.stream.iter().map(|stream| places.streams.get(*stream as usize).copied().flatten()).collect();
        let kept = Kept(streams.iter().map(Option::is_some).collect());
        let lost = kept.0.iter().filter(|kept| !**kept).count() as u64;
        if lost > 0 {
            *self.dropped.entry((table, "on a device that the report does not name")).or_default() += lost;
        }
        let columns = columns(&mut self.timeline);
        columns.times.extend(rows.times.iter().zip(&kept.0).filter(|(_, kept)| **kept).map(|(times, _)| times));
        columns.stream.extend(streams.into_iter().flatten());
        columns.call.extend(kept.of(&rows.correlation));
        kept
    }

    fn finish(mut self) -> Timeline {
        let identity = std::mem::take(&mut self.identity);
        let timeline = &mut self.timeline;
        timeline.device_identity_known = identity.devices_known;
        (timeline.processes, timeline.threads) = (identity.processes, identity.threads);
        (timeline.devices, timeline.streams) = (identity.devices, identity.streams);
        let join = Join::new(&timeline.threads, timeline.processes.len(), &timeline.api.thread, &self.api_correlations);
        let streams = &timeline.streams;
        for ops in
            [&mut timeline.kernels.ops, &mut timeline.graphs.ops, &mut timeline.copies.ops, &mut timeline.memsets.ops]
        {
            for (call, stream) in ops.call.iter_mut().zip(&ops.stream) {
                let process = streams.get(*stream as usize).map_or(NONE, |stream| stream.process);
                *call = if *call == NONE { NONE } else { join.find(process, *call) };
            }
        }
        timeline.migrations.ops.call.fill(NONE);
        off_cpu(timeline, std::mem::take(&mut self.schedule));
        let lost = bound_overheads(timeline);
        if lost > 0 {
            self.dropped.insert(("PROFILER_OVERHEAD", "name no thread, and there are too many threads for them"), lost);
        }
        timeline.ranges.threads = close_ranges(timeline, std::mem::take(&mut self.ranges));
        timeline.api.errors = self.failed_calls.into_iter().collect();
        let names = &timeline.names;
        timeline.api.errors.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| names.get(a.0).cmp(names.get(b.0))));
        timeline.dropped =
            self.dropped.into_iter().map(|((table, reason), count)| Dropped { table, reason, count }).collect();
        self.timeline
    }
}

/// Which rows of a chunk stay.
struct Kept(Vec<bool>);

impl Kept {
    fn of<'rows, T>(&'rows self, column: &'rows [T]) -> impl Iterator<Item = &'rows T> {
        column.iter().zip(&self.0).filter(|(_, kept)| **kept).map(|(value, _)| value)
    }
}

/// The profiler files the loading of shared libraries under its overhead; the library would have been loaded without it.
fn profiler_kind(name: &str) -> OverheadKind {
    if name.starts_with("dlopen") || name.starts_with("dlclose") { OverheadKind::Load } else { OverheadKind::Profiler }
}

/// An overhead that names no thread is laid out on each, so that many of them beside many threads would never end.
/// Returns how many are left out.
fn bound_overheads(timeline: &mut Timeline) -> u64 {
    const MOST: usize = 4_000_000;
    let columns = &mut timeline.overheads;
    let kept = MOST / timeline.threads.len().max(1);
    let unnamed = columns.thread.iter().filter(|thread| **thread == NONE).count();
    if unnamed <= kept {
        return 0;
    }
    let mut seen = 0;
    let stays: Vec<bool> = columns
        .thread
        .iter()
        .map(|thread| {
            seen += usize::from(*thread == NONE);
            *thread != NONE || seen <= kept
        })
        .collect();
    let stays = Kept(stays);
    columns.times = columns.times.iter().zip(&stays.0).filter(|(_, stays)| **stays).map(|(times, _)| times).collect();
    columns.kind = stays.of(&columns.kind).copied().collect();
    columns.name = stays.of(&columns.name).copied().collect();
    columns.thread = stays.of(&columns.thread).copied().collect();
    (unnamed - kept) as u64
}

/// Pairs the moments in which a thread left the CPU with those in which it came back.
fn off_cpu(timeline: &mut Timeline, chunks: Vec<ScheduleRows>) {
    let mut moments: Vec<(u32, i64, bool)> = chunks
        .into_iter()
        .flat_map(|rows| rows.thread.into_iter().zip(rows.at).zip(rows.is_in))
        .map(|((thread, at), is_in)| (thread, at, is_in))
        .filter(|(thread, _, _)| *thread != NONE)
        .collect();
    moments.sort_unstable();
    for pair in moments.windows(2) {
        let [(thread, left, false), (same, back, true)] = pair else { continue };
        if thread == same && left < back {
            timeline.off_cpu.thread.push(*thread);
            timeline.off_cpu.times.push(Interval::new(*left, *back));
        }
    }
}

/// A range that was never left lasts until the last event of its capture.
fn close_ranges(timeline: &Timeline, ranges: BTreeMap<u32, ThreadRanges>) -> Vec<ThreadRanges> {
    let columns = [
        &timeline.kernels.ops.times,
        &timeline.graphs.ops.times,
        &timeline.copies.ops.times,
        &timeline.memsets.ops.times,
        &timeline.migrations.ops.times,
        &timeline.api.times,
        &timeline.os_calls.times,
    ];
    let ends = columns.into_iter().flat_map(Times::iter).map(|times| times.end);
    let of_range = |range: Interval| if range.end == i64::MAX { range.start } else { range.end };
    let left = ranges.values().flat_map(|ranges| ranges.times.iter()).map(of_range);
    let last = ends.max().max(left.max()).unwrap_or(0);
    let close = |(thread, mut ranges): (u32, ThreadRanges)| {
        ranges.thread = thread;
        ranges.times.close(last);
        ranges.sort();
        ranges
    };
    ranges.into_iter().map(close).collect()
}
