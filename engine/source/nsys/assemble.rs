//! Joins chunks into the columns of a timeline while others are still being read, so that only a few exist beside it.
//!
//! Until all are there, columns hold places in tables of raw keys, in the order in which keys were first seen;
//! [`super::resolve`] turns these into the timeline's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::keys::{Intern, KernelKey, Keys, NameKey, StreamKey};
use super::rows::nvtx::NvtxRows;
use super::rows::{HostRows, OpRows, ScheduleRows, Sink};
use super::take::Chunk;
use crate::source::{Limits, Reached};
use crate::timeline::columns::{GpuOps, OverheadKind, ThreadRanges};
use crate::timeline::{NONE, NameId, Names, Timeline};

/// Stands for the names beyond the limit.
pub(super) const OTHER_NAME: &str = "(another name)";

/// A name of the report, before the table of strings is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RawName {
    /// An id of the table of strings.
    Id(i64),
    /// The same, for a call of an API: these lose their suffixes.
    ApiId(i64),
    /// A place in [`Assembly::texts`].
    Text(NameId),
    /// The report gives none.
    Missing,
}

/// All that was read so far.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// Its columns hold raw places; `call` of GPU operations holds the correlation id.
    pub(super) timeline: Timeline,
    pub(super) names: Intern<RawName>,
    pub(super) texts: Names,
    pub(super) threads: Intern<i64>,
    pub(super) streams: Intern<StreamKey>,
    pub(super) kernels: Intern<KernelKey>,
    /// NVTX domain and raw name.
    pub(super) labels: Intern<(i64, u32)>,
    /// By raw thread, those of no thread last.
    pub(super) ranges: BTreeMap<u32, ThreadRanges>,
    /// Raw thread, NVTX domain and raw name.
    pub(super) domains: Vec<(u32, i64, u32)>,
    pub(super) api_correlations: Vec<u32>,
    /// By raw name.
    pub(super) failed_calls: FxHashMap<u32, u64>,
    pub(super) schedule: ScheduleRows,
    /// Rows of overheads that the profiler filed; those of CUDA follow.
    pub(super) profiler_overhead_count: usize,
    /// By table and reason.
    pub(super) dropped: BTreeMap<(&'static str, &'static str), u64>,
    pub(super) reached: Reached,
    pub(super) limits: Limits,
}

/// The raw places of what one chunk refers to.
struct Places {
    names: Vec<u32>,
    threads: Vec<u32>,
    streams: Vec<u32>,
    kernels: Vec<u32>,
    labels: Vec<u32>,
}

fn at(places: &[u32], local: u32) -> u32 {
    places.get(local as usize).copied().unwrap_or(NONE)
}

fn all_at<'all>(places: &'all [u32], locals: &'all [u32]) -> impl Iterator<Item = u32> + 'all {
    locals.iter().map(|local| at(places, *local))
}

impl Assembly {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes a chunk in; they come in the order of tables and row ids.
    pub(super) fn take(&mut self, chunk: Chunk) {
        self.reached.cut_name_count += chunk.cut_name_count;
        for (reason, count) in &chunk.dropped {
            *self.dropped.entry((chunk.table.name(), reason)).or_default() += count;
        }
        let places = self.places(&chunk.keys, matches!(chunk.rows, Sink::Api(_)));
        let timeline = &mut self.timeline;
        match chunk.rows {
            Sink::Kernels(rows) => {
                append(&mut timeline.kernels.ops, &rows.ops, &places);
                timeline.kernels.shape.extend(all_at(&places.kernels, &rows.shape));
            }
            Sink::Graphs(rows) => append(&mut timeline.graphs.ops, &rows, &places),
            Sink::Copies(rows) => {
                let columns = &mut timeline.copies;
                append(&mut columns.ops, &rows.ops, &places);
                columns.bytes.extend(rows.bytes);
                columns.direction.extend(rows.direction);
                columns.host_memory.extend(rows.host_memory);
                let (columns, rows) = (&mut timeline.migrations, rows.migrations);
                append(&mut columns.ops, &rows.ops, &places);
                columns.bytes.extend(rows.bytes);
                columns.direction.extend(rows.direction);
                columns.cause.extend(rows.cause);
            }
            Sink::Memsets(rows) => {
                append(&mut timeline.memsets.ops, &rows.ops, &places);
                timeline.memsets.bytes.extend(rows.bytes);
            }
            Sink::Schedule(rows) => {
                self.schedule.thread.extend(all_at(&places.threads, &rows.thread));
                self.schedule.at.extend(rows.at);
                self.schedule.is_in.extend(rows.is_in);
            }
            host => self.take_host(host, &places),
        }
    }

    fn take_host(&mut self, rows: Sink, places: &Places) {
        match rows {
            Sink::Api(rows) => {
                let columns = &mut self.timeline.api;
                columns.thread.extend(all_at(&places.threads, &rows.calls.thread));
                columns.name.extend(all_at(&places.names, &rows.calls.name));
                columns.times.extend(rows.calls.times.iter());
                self.api_correlations.extend(rows.correlation);
                for name in rows.failed {
                    *self.failed_calls.entry(at(&places.names, name)).or_default() += 1;
                }
            }
            Sink::OsCalls(rows) => {
                let columns = &mut self.timeline.os_calls;
                columns.thread.extend(all_at(&places.threads, &rows.thread));
                columns.name.extend(all_at(&places.names, &rows.name));
                columns.times.extend(rows.times.iter());
            }
            Sink::ProfilerOverheads(rows) => {
                self.profiler_overhead_count += rows.times.len();
                self.overheads(&rows, std::iter::repeat_n(OverheadKind::Profiler, rows.times.len()), places);
            }
            Sink::CudaOverheads(rows, kinds) => self.overheads(&rows, kinds.into_iter(), places),
            Sink::Nvtx(rows) => self.take_ranges(&rows, places),
            _ => {}
        }
    }

    fn overheads(&mut self, rows: &HostRows, kinds: impl Iterator<Item = OverheadKind>, places: &Places) {
        let columns = &mut self.timeline.overheads;
        columns.times.extend(rows.times.iter());
        columns.kind.extend(kinds);
        columns.thread.extend(all_at(&places.threads, &rows.thread));
        columns.name.extend(all_at(&places.names, &rows.name));
    }

    fn take_ranges(&mut self, rows: &NvtxRows, places: &Places) {
        let mut first = 0;
        for run in rows.thread.chunk_by(|a, b| a == b) {
            let rows_of_run = first..first + run.len();
            first += run.len();
            let thread = run.first().map_or(NONE, |thread| at(&places.threads, *thread));
            let ranges = self.ranges.entry(thread).or_default();
            ranges.times.extend(rows_of_run.clone().map(|row| rows.times.at(row)));
            ranges.label.extend(all_at(&places.labels, &rows.label[rows_of_run]));
        }
        let raw = |(thread, domain, name): &(u32, i64, u32)| {
            (at(&places.threads, *thread), *domain, at(&places.names, *name))
        };
        self.domains.extend(rows.domains.iter().map(raw));
    }

    /// Ends taking chunks in.
    pub(super) fn seal(&mut self) {
        self.names.seal();
        self.threads.seal();
        self.streams.seal();
        self.kernels.seal();
        self.labels.seal();
    }

    fn places(&mut self, keys: &Keys, are_api_names: bool) -> Places {
        let names: Vec<u32> = keys.names.list().iter().map(|key| self.name(*key, keys, are_api_names)).collect();
        let labels = keys.labels.list().iter().map(|(domain, name)| self.labels.place((*domain, at(&names, *name))));
        Places {
            labels: labels.collect(),
            names,
            threads: keys.threads.list().iter().map(|key| self.threads.place(*key)).collect(),
            streams: keys.streams.list().iter().map(|key| self.streams.place(*key)).collect(),
            kernels: keys.kernels.list().iter().map(|key| self.kernels.place(*key)).collect(),
        }
    }

    fn name(&mut self, key: NameKey, keys: &Keys, is_api_name: bool) -> u32 {
        let raw = match key {
            NameKey::Id(id) if is_api_name => RawName::ApiId(id),
            NameKey::Id(id) => RawName::Id(id),
            NameKey::Text(place) => match keys.texts.get(place as usize) {
                Some(text) => RawName::Text(intern(&mut self.texts, Arc::clone(text), &self.limits, &mut self.reached)),
                None => RawName::Missing,
            },
            NameKey::Missing => RawName::Missing,
        };
        self.names.place(raw)
    }
}

/// The place of a name; those beyond the limit share one.
pub(super) fn intern(
    names: &mut Names,
    text: impl AsRef<str> + Into<Arc<str>>,
    limits: &Limits,
    reached: &mut Reached,
) -> NameId {
    if names.len() < limits.names {
        return names.intern(text);
    }
    names.find(text.as_ref()).unwrap_or_else(|| {
        reached.merged_name_count += 1;
        names.intern(OTHER_NAME)
    })
}

fn append(columns: &mut GpuOps, rows: &OpRows, places: &Places) {
    columns.times.extend(rows.times.iter());
    columns.stream.extend(all_at(&places.streams, &rows.stream));
    columns.call.extend(&rows.correlation);
}
