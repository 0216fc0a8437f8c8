//! Turns raw places into the timeline's own, when every row has been read: names from the table of strings, threads and
//! streams in the order of their keys, and for each GPU operation the call that asked for it.

use std::sync::Arc;

use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

use super::assemble::{Assembly, OTHER_NAME, RawName, intern};
use super::database::{Cells, Schema};
use super::identity::Identity;
use super::info::Info;
use super::join::Join;
use super::rows::ScheduleRows;
use crate::source::{Limits, Reached};
use crate::timeline::api::normal_name;
use crate::timeline::columns::{GpuOps, KernelShape, Kernels, Label, OffCpu, OverheadKind, ThreadRanges};
use crate::timeline::interval::Interval;
use crate::timeline::{Dropped, Geometry, NONE, NameId, Names, Timeline, Times};

/// Labels of annotations, with their domains, that are told apart, times the number of devices.
const MOST_LABELS: usize = 1_000_000;

/// The timeline of all rows.
pub(super) fn resolve(db: &Connection, schema: &Schema, info: Info, raw: Assembly) -> rusqlite::Result<Timeline> {
    let mut raw = raw;
    raw.seal();
    let strings = Strings::read(db, schema, &mut raw)?;
    let identity = Identity::of(raw.threads.list(), raw.streams.list(), &info);
    let threads: Vec<u32> = raw.threads.list().iter().map(|key| identity.thread(*key)).collect();
    let streams: Vec<Option<u32>> = raw.streams.list().iter().map(|key| identity.stream(*key)).collect();
    let names = raw.resolve_names(&strings);
    let timeline = &mut raw.timeline;
    timeline.source = info.source;
    timeline.notices = info.notices;
    timeline.device_identity_known = identity.devices_known;
    (timeline.processes, timeline.threads) = (identity.processes, identity.threads);
    (timeline.devices, timeline.streams) = (identity.devices, identity.streams);
    raw.resolve_host(&names, &threads);
    raw.resolve_ops(&streams);
    raw.resolve_ranges(&names, &threads);
    Ok(raw.finish())
}

/// The strings that rows refer to by id, and no others: call chains can have millions.
struct Strings(FxHashMap<i64, Box<str>>);

impl Strings {
    fn read(db: &Connection, schema: &Schema, raw: &mut Assembly) -> rusqlite::Result<Self> {
        let id = |name: &RawName| match name {
            RawName::Id(id) | RawName::ApiId(id) => Some(*id),
            _ => None,
        };
        let of_kernels = raw.kernels.list().iter().flat_map(|key| [key.name, key.full_name]).flatten();
        let wanted: FxHashSet<i64> = raw.names.list().iter().filter_map(id).chain(of_kernels).collect();
        let mut strings = FxHashMap::default();
        if !schema.has("StringIds") || wanted.is_empty() {
            return Ok(Self(strings));
        }
        let mut statement = db.prepare(&schema.select("StringIds", &["id", "value"]))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells = Cells(row);
            if let Some(id) = cells.int(0).filter(|id| wanted.contains(id))
                && let Some(text) = cells.text(1)
            {
                let (text, is_cut) = raw.limits.cut(text);
                raw.reached.cut_name_count += u64::from(is_cut);
                strings.insert(id, text.into());
            }
        }
        Ok(Self(strings))
    }

    fn get(&self, id: Option<i64>) -> &str {
        id.and_then(|id| self.0.get(&id)).map_or("", |text| text)
    }
}

impl Assembly {
    /// The timeline's place of each raw name, and what kernels launched.
    fn resolve_names(&mut self, strings: &Strings) -> Vec<NameId> {
        let Self { names, texts, kernels, timeline, limits, reached, .. } = self;
        let mut resolver = Resolver { names: &mut timeline.names, limits, reached };
        // Those of kernels first: where there are too many names, they tell most.
        let mut geometries: FxHashMap<Geometry, u32> = FxHashMap::default();
        for key in kernels.list() {
            let geometry = *geometries.entry(key.geometry).or_insert_with(|| {
                timeline.geometries.push(key.geometry);
                (timeline.geometries.len() - 1) as u32
            });
            let name = resolver.place(strings.get(key.name));
            let full_name = resolver.place(strings.get(key.full_name));
            timeline.kernels.shapes.push(KernelShape { name, full_name, geometry });
        }
        let place = |name: &RawName| match name {
            RawName::Id(id) => resolver.place(strings.get(Some(*id))),
            RawName::ApiId(id) => resolver.place(normal_name(strings.get(Some(*id)))),
            RawName::Text(place) if texts.get(*place) == OTHER_NAME => resolver.names.intern(OTHER_NAME),
            RawName::Text(place) => texts.shared(*place).map_or(NONE, |text| resolver.place(Arc::clone(text))),
            RawName::Missing => resolver.place(""),
        };
        let places = names.list().iter().map(place).collect();
        *texts = Names::default();
        places
    }

    fn resolve_host(&mut self, names: &[NameId], threads: &[u32]) {
        let timeline = &mut self.timeline;
        for column in [&mut timeline.api.name, &mut timeline.os_calls.name, &mut timeline.overheads.name] {
            map(column, names);
        }
        for column in [
            &mut timeline.api.thread,
            &mut timeline.os_calls.thread,
            &mut timeline.overheads.thread,
            &mut self.schedule.thread,
        ] {
            map(column, threads);
        }
        let overheads = &mut timeline.overheads;
        let of_profiler = overheads.kind.iter_mut().zip(&overheads.name).take(self.profiler_overhead_count);
        of_profiler.for_each(|(kind, name)| *kind = profiler_kind(timeline.names.get(*name)));
        let lost = bound_overheads(timeline);
        if lost > 0 {
            self.dropped.insert(("PROFILER_OVERHEAD", "name no thread, and there are too many threads for them"), lost);
        }
        timeline.off_cpu = off_cpu(std::mem::take(&mut self.schedule));
        let mut failed: FxHashMap<NameId, u64> = FxHashMap::default();
        for (name, count) in &self.failed_calls {
            *failed.entry(at(names, *name)).or_default() += count;
        }
        let names = &timeline.names;
        timeline.api.errors = failed.into_iter().collect();
        timeline.api.errors.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| names.get(a.0).cmp(names.get(b.0))));
    }

    /// Drops the operations whose device is not known, and finds the call of each of the others.
    fn resolve_ops(&mut self, streams: &[Option<u32>]) {
        let timeline = &mut self.timeline;
        let (kernels, graphs, copies) = (&mut timeline.kernels, &mut timeline.graphs, &mut timeline.copies);
        let (memsets, migrations) = (&mut timeline.memsets, &mut timeline.migrations);
        let of_kernels = keep_known(&mut kernels.ops, streams);
        of_kernels.apply(&mut kernels.shape);
        if of_kernels.lost() > 0 {
            forget_unused(kernels);
        }
        let of_graphs = keep_known(&mut graphs.ops, streams);
        let of_copies = keep_known(&mut copies.ops, streams);
        of_copies.apply(&mut copies.bytes);
        of_copies.apply(&mut copies.direction);
        of_copies.apply(&mut copies.host_memory);
        let of_memsets = keep_known(&mut memsets.ops, streams);
        of_memsets.apply(&mut memsets.bytes);
        let of_migrations = keep_known(&mut migrations.ops, streams);
        of_migrations.apply(&mut migrations.bytes);
        of_migrations.apply(&mut migrations.direction);
        of_migrations.apply(&mut migrations.cause);
        for (table, lost) in [
            ("CUPTI_ACTIVITY_KIND_KERNEL", of_kernels.lost()),
            ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", of_graphs.lost()),
            ("CUPTI_ACTIVITY_KIND_MEMCPY", of_copies.lost() + of_migrations.lost()),
            ("CUPTI_ACTIVITY_KIND_MEMSET", of_memsets.lost()),
        ] {
            if lost > 0 {
                self.dropped.insert((table, "on a device that the report does not name"), lost);
            }
        }
        let correlations = std::mem::take(&mut self.api_correlations);
        let join = Join::new(&timeline.threads, timeline.processes.len(), &timeline.api.thread, &correlations);
        for ops in [&mut kernels.ops, &mut graphs.ops, &mut copies.ops, &mut memsets.ops] {
            for (call, stream) in ops.call.iter_mut().zip(&ops.stream) {
                let process = timeline.streams.get(*stream as usize).map_or(NONE, |stream| stream.process);
                *call = if *call == NONE { NONE } else { join.find(process, *call) };
            }
        }
        migrations.ops.call.fill(NONE);
    }

    fn resolve_ranges(&mut self, names: &[NameId], threads: &[u32]) {
        let timeline = &mut self.timeline;
        let mut known: FxHashMap<Label, u32> = FxHashMap::default();
        // Each device tells each of them apart.
        let most = (MOST_LABELS / timeline.devices.len().max(1)).min(self.limits.names);
        let (reached, timeline_names) = (&mut self.reached, &mut timeline.names);
        let place = |(domain, name): &(i64, u32)| {
            let mut label = Label { name: at(names, *name), domain: *domain };
            if known.len() >= most && !known.contains_key(&label) {
                reached.merged_name_count += 1;
                label = Label { name: timeline_names.intern(OTHER_NAME), domain: 0 };
            }
            *known.entry(label).or_insert_with(|| {
                timeline.ranges.labels.push(label);
                (timeline.ranges.labels.len() - 1) as u32
            })
        };
        let labels: Vec<u32> = self.labels.list().iter().map(place).collect();
        let is_changed = labels.iter().zip(0..).any(|(label, raw)| *label != raw);
        let has_open = self.ranges.values().any(|ranges| ranges.times.has_open());
        let end = if has_open { last_moment(timeline, self.ranges.values()) } else { 0 };
        let mut all: Vec<ThreadRanges> = std::mem::take(&mut self.ranges)
            .into_iter()
            .map(|(thread, mut ranges)| {
                ranges.thread = at(threads, thread);
                ranges.times.close(end);
                if is_changed {
                    map(&mut ranges.label, &labels);
                }
                ranges.sort();
                ranges
            })
            .collect();
        all.sort_by_key(|ranges| ranges.thread);
        timeline.ranges.threads = all;
        for (thread, domain, name) in &self.domains {
            let process = timeline.process_of(at(threads, *thread));
            timeline.ranges.domains.push((process, *domain, at(names, *name)));
        }
        // The first name of a domain counts.
        timeline.ranges.domains.sort_by_key(|(process, domain, _)| (*process, *domain));
        timeline.ranges.domains.dedup_by_key(|(process, domain, _)| (*process, *domain));
    }

    fn finish(self) -> Timeline {
        let mut timeline = self.timeline;
        timeline.reached = self.reached;
        let dropped = self.dropped.into_iter();
        timeline.dropped = dropped.map(|((table, reason), count)| Dropped { table, reason, count }).collect();
        timeline
    }
}

/// Places names under the limit.
struct Resolver<'all> {
    names: &'all mut Names,
    limits: &'all Limits,
    reached: &'all mut Reached,
}

impl Resolver<'_> {
    fn place(&mut self, text: impl AsRef<str> + Into<Arc<str>>) -> NameId {
        intern(self.names, text, self.limits, self.reached)
    }
}

fn at(places: &[u32], raw: u32) -> u32 {
    places.get(raw as usize).copied().unwrap_or(NONE)
}

fn map(column: &mut [u32], places: &[u32]) {
    column.iter_mut().for_each(|raw| *raw = at(places, *raw));
}

/// Which rows stay; all when `None`.
struct Kept(Option<Vec<bool>>);

impl Kept {
    fn apply<T>(&self, column: &mut Vec<T>) {
        if let Some(kept) = &self.0 {
            let mut kept = kept.iter();
            column.retain(|_| kept.next().copied().unwrap_or(false));
        }
    }

    fn apply_to_times(&self, times: &mut Times) {
        if let Some(kept) = &self.0 {
            *times = times.iter().zip(kept).filter(|(_, kept)| **kept).map(|(times, _)| times).collect();
        }
    }

    fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |kept| kept.iter().filter(|kept| !**kept).count() as u64)
    }
}

fn keep_known(ops: &mut GpuOps, streams: &[Option<u32>]) -> Kept {
    let place = |raw: &u32| streams.get(*raw as usize).copied().flatten();
    let is_known: Vec<bool> = ops.stream.iter().map(|raw| place(raw).is_some()).collect();
    let kept = Kept((!is_known.iter().all(|known| *known)).then_some(is_known));
    kept.apply_to_times(&mut ops.times);
    kept.apply(&mut ops.stream);
    kept.apply(&mut ops.call);
    ops.stream.iter_mut().for_each(|raw| *raw = place(raw).unwrap_or(NONE));
    kept
}

/// What only dropped rows launched is nobody's.
fn forget_unused(kernels: &mut Kernels) {
    let mut is_used = vec![false; kernels.shapes.len()];
    for shape in &kernels.shape {
        if let Some(is_used) = is_used.get_mut(*shape as usize) {
            *is_used = true;
        }
    }
    let unused = kernels.shapes.iter_mut().zip(is_used).filter(|(_, is_used)| !is_used);
    unused.for_each(|(shape, _)| *shape = KernelShape::default());
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
    let most = MOST / timeline.threads.len().max(1);
    let unnamed = columns.thread.iter().filter(|thread| **thread == NONE).count();
    if unnamed <= most {
        return 0;
    }
    let mut seen = 0;
    let stays = columns.thread.iter().map(|thread| {
        seen += usize::from(*thread == NONE);
        *thread != NONE || seen <= most
    });
    let stays = Kept(Some(stays.collect()));
    stays.apply_to_times(&mut columns.times);
    stays.apply(&mut columns.kind);
    stays.apply(&mut columns.name);
    stays.apply(&mut columns.thread);
    stays.lost()
}

/// Pairs the moments in which a thread left the CPU with those in which it came back.
fn off_cpu(rows: ScheduleRows) -> OffCpu {
    let moments = rows.thread.into_iter().zip(rows.at).zip(rows.is_in);
    let moments = moments.map(|((thread, at), is_in)| (thread, at, is_in));
    let mut moments: Vec<(u32, i64, bool)> = moments.filter(|(thread, _, _)| *thread != NONE).collect();
    moments.sort_unstable();
    let mut off_cpu = OffCpu::default();
    for pair in moments.windows(2) {
        let [(thread, left, false), (same, back, true)] = pair else { continue };
        if thread == same && left < back {
            off_cpu.thread.push(*thread);
            off_cpu.times.push(Interval::new(*left, *back));
        }
    }
    off_cpu
}

/// The last event of the capture: a range that was never left lasts until then.
fn last_moment<'all>(timeline: &Timeline, ranges: impl Iterator<Item = &'all ThreadRanges>) -> i64 {
    let columns = timeline.op_and_call_times();
    let ends = columns.into_iter().flat_map(Times::iter).map(|times| times.end);
    let of_range = |range: Interval| if range.end == i64::MAX { range.start } else { range.end };
    let left = ranges.flat_map(|ranges| ranges.times.iter()).map(of_range);
    ends.max().max(left.max()).unwrap_or(0)
}
