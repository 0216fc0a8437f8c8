//! Makes a timeline of what a reader hands in: events in any order, with the recording's own numbers and names.
//!
//! A reader fills [`Chunk`]s, on as many threads as it likes, and the builder joins them while others are still being
//! filled, so that only a few exist beside the timeline. Until all are there, columns hold indices in tables of the
//! recording's own keys; [`Builder::finish`] turns these into the timeline's own.

mod actors;
mod chunk;
mod held;
mod inventory;
mod join;
mod keys;
mod launchers;
mod limits;
mod names;
mod ops;
mod ranges;
#[cfg(test)]
mod tests;
mod threads;

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

pub(crate) use chunk::ABSURD_NS;
pub use chunk::{CallEvent, Chunk, MigrationEvent, OpEvent, RangeEvent, Reason};
pub use inventory::StreamInfo;
pub use keys::{KernelKey, LabelKey, NameKey, StreamKey, TextKey, ThreadKey};
pub use limits::Limits;
pub(crate) use ops::OPS_OF_UNKNOWN_DEVICE;

use self::actors::Actors;
use self::inventory::Inventory;
use self::keys::{Intern, Keys};
use self::names::{Interner, RawKernel, RawName, Strings};
use self::ranges::RawLabel;
use self::threads::SchedulerRows;
use super::columns::{ApiError, GpuOps, ThreadRanges};
use super::{DeviceProperties, Dropped, NONE, NameId, Names, Process, Timeline};
use crate::parallel::{self, Threads};
use crate::text::mangled::Demangler;

/// All that was handed in so far.
#[derive(Debug, Default)]
pub struct Builder {
    limits: Limits,
    /// Its columns hold raw indices; `call` of GPU operations holds the correlation id.
    timeline: Timeline,
    names: Intern<RawName>,
    texts: Names,
    strings: Strings,
    actors: Actors,
    kernels: Intern<RawKernel>,
    labels: Intern<RawLabel>,
    /// By raw thread, those of no thread last.
    ranges: BTreeMap<u32, ThreadRanges>,
    /// Raw thread, NVTX domain and name.
    domains: Vec<(u32, i64, RawName)>,
    api_correlations: Vec<u32>,
    /// The index of each call of the OS that has a call stack, with the id of that.
    os_call_stacks: Vec<(u32, i64)>,
    /// By raw name and error.
    failed_calls: HashMap<(u32, u16), (u64, i64)>,
    scheduler: SchedulerRows,
    /// By events and reason.
    dropped: BTreeMap<(&'static str, Reason), u64>,
    inventory: Inventory,
}

/// The raw indices of what one chunk refers to.
struct RawIndices {
    api_names: Vec<u32>,
    names: Vec<u32>,
    threads: Vec<u32>,
    streams: Vec<u32>,
    kernels: Vec<u32>,
    labels: Vec<u32>,
}

fn at(indices: &[u32], raw: u32) -> u32 {
    indices.get(raw as usize).copied().unwrap_or(NONE)
}

fn all_at<'all>(indices: &'all [u32], raw: &'all [u32]) -> impl Iterator<Item = u32> + 'all {
    raw.iter().map(|raw| at(indices, *raw))
}

fn map(column: &mut [u32], indices: &[u32]) {
    column.iter_mut().for_each(|raw| *raw = at(indices, *raw));
}

impl Builder {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// An empty chunk under the builder's limits. `events` is what its events are called where some are dropped.
    pub fn chunk(&self, events: &'static str) -> Chunk {
        Chunk::new(events, self.limits)
    }

    /// Takes a chunk in. The order of chunks is the order of events that nothing else orders.
    pub fn take(&mut self, mut chunk: Chunk) {
        self.take_out_of(&mut chunk);
    }

    /// The same of one whose memory is used again.
    pub(crate) fn take_out_of(&mut self, chunk: &mut Chunk) {
        chunk.seal();
        self.timeline.reached.cut_name_count += chunk.keys.cut_name_count;
        for (reason, count) in &chunk.dropped {
            *self.dropped.entry((chunk.events, reason)).or_default() += count;
        }
        let raw = self.raw_indices(&chunk.keys);
        self.take_ops(chunk, &raw);
        self.take_host(chunk, &raw);
        chunk.ranges.append_to(&mut self.ranges, &raw.threads, &raw.labels);
        for (thread, domain, name) in &chunk.domains {
            let name = self.raw_name(*name, &chunk.keys, false);
            self.domains.push((at(&raw.threads, *thread), *domain, name));
        }
    }

    fn take_ops(&mut self, chunk: &Chunk, raw: &RawIndices) {
        let Timeline { kernels, graphs, copies, memsets, migrations, .. } = &mut self.timeline;
        append(&mut kernels.ops, &chunk.kernels.ops, raw);
        kernels.shape.extend(all_at(&raw.kernels, &chunk.kernels.shape));
        kernels.local_memory_kib.extend(&chunk.kernels.local_memory_kib);
        append(&mut graphs.ops, &chunk.graphs.ops, raw);
        append(&mut copies.ops, &chunk.copies.ops, raw);
        copies.bytes.extend(&chunk.copies.bytes);
        copies.direction.extend(&chunk.copies.direction);
        copies.host_memory.extend(&chunk.copies.host_memory);
        append(&mut memsets.ops, &chunk.memsets.ops, raw);
        memsets.bytes.extend(&chunk.memsets.bytes);
        append(&mut migrations.ops, &chunk.migrations.ops, raw);
        migrations.bytes.extend(&chunk.migrations.bytes);
        migrations.direction.extend(&chunk.migrations.direction);
        migrations.cause.extend(&chunk.migrations.cause);
        migrations.address.extend(&chunk.migrations.address);
    }

    fn take_host(&mut self, chunk: &Chunk, raw: &RawIndices) {
        let Timeline { api, os_calls, overheads, thread_states, .. } = &mut self.timeline;
        api.times.append(&chunk.api.times);
        api.thread.extend(all_at(&raw.threads, &chunk.api.thread));
        api.name.extend(all_at(&raw.api_names, &chunk.api.name));
        self.api_correlations.extend(&chunk.api_correlations);
        for error in &chunk.api.errors {
            let key = (at(&raw.api_names, error.call), error.code);
            add_failed(&mut self.failed_calls, key, (error.count, error.first_ns));
        }
        let before = os_calls.name.len() as u32;
        self.os_call_stacks.extend(chunk.os_call_stacks.iter().map(|(call, stack)| (before + call, *stack)));
        os_calls.times.append(&chunk.os_calls.times);
        os_calls.thread.extend(all_at(&raw.threads, &chunk.os_calls.thread));
        os_calls.name.extend(all_at(&raw.names, &chunk.os_calls.name));
        overheads.times.append(&chunk.overheads.times);
        overheads.thread.extend(all_at(&raw.threads, &chunk.overheads.thread));
        overheads.name.extend(all_at(&raw.names, &chunk.overheads.name));
        overheads.kind.extend(&chunk.overheads.kind);
        thread_states.times.append(&chunk.thread_states.times);
        thread_states.thread.extend(all_at(&raw.threads, &chunk.thread_states.thread));
        thread_states.state.extend(&chunk.thread_states.state);
        self.scheduler.at.extend(&chunk.scheduler.at);
        self.scheduler.thread.extend(all_at(&raw.threads, &chunk.scheduler.thread));
        self.scheduler.is_on.extend(&chunk.scheduler.is_on);
    }

    fn raw_indices(&mut self, keys: &Keys) -> RawIndices {
        let reached = &mut self.timeline.reached;
        let mut raw = RawIndices {
            api_names: Vec::with_capacity(keys.api_names.list().len()),
            names: Vec::with_capacity(keys.names.list().len()),
            threads: keys.threads.list().iter().map(|key| self.actors.thread(*key, reached)).collect(),
            streams: keys.streams.list().iter().map(|key| self.actors.stream(*key, reached)).collect(),
            kernels: Vec::with_capacity(keys.kernels.list().len()),
            labels: Vec::with_capacity(keys.labels.list().len()),
        };
        for key in keys.api_names.list() {
            let name = self.raw_name(*key, keys, true);
            raw.api_names.push(self.names.index(name));
        }
        for key in keys.names.list() {
            let name = self.raw_name(*key, keys, false);
            raw.names.push(self.names.index(name));
        }
        for key in keys.kernels.list() {
            let name = self.raw_name(key.name, keys, false);
            let full_name = self.raw_name(key.full_name, keys, false);
            raw.kernels.push(self.kernels.index(RawKernel { name, full_name, geometry: key.geometry }));
        }
        for key in keys.labels.list() {
            let name = self.raw_name(key.name, keys, false);
            raw.labels.push(self.labels.index(RawLabel { kind: key.kind, domain: key.domain, name }));
        }
        raw
    }

    fn raw_name(&mut self, key: NameKey, keys: &Keys, is_api_name: bool) -> RawName {
        let Self { texts, limits, timeline, .. } = self;
        let mut texts =
            Interner { names: texts, limits, reached: &mut timeline.reached, demangler: Demangler::default() };
        RawName::of(key, keys, is_api_name, &mut texts)
    }

    /// The processes that events name.
    pub fn process_keys(&self) -> BTreeSet<i64> {
        let of_streams = self.actors.streams().iter().filter_map(|key| key.process);
        self.actors.threads().iter().map(|key| key.process).chain(of_streams).collect()
    }

    /// The calls of the OS that have call stacks, by their indices in the timeline, each with the id of its stack: handed over once.
    pub(crate) fn take_os_call_stacks(&mut self) -> Vec<(u32, i64)> {
        std::mem::take(&mut self.os_call_stacks)
    }

    /// The streams that events name.
    pub fn stream_keys(&self) -> BTreeSet<StreamKey> {
        self.actors.streams().iter().copied().collect()
    }

    /// Says what a process is; one that is never described has its key for an id.
    pub fn describe_process(&mut self, key: i64, process: Process) {
        self.inventory.processes.insert(key, process);
    }

    /// Says what the GPU of a number is, among those of all processes. What is said first counts.
    pub fn describe_device(&mut self, number: i64, properties: DeviceProperties) {
        self.inventory.devices.entry(number).or_insert(properties);
    }

    /// Says where a stream is; one that is never described is on the GPU that its events name.
    pub fn describe_stream(&mut self, key: StreamKey, stream: StreamInfo) {
        self.inventory.streams.insert(key, stream);
    }

    /// Counts GPU page faults of unified memory on a device as its process calls it; on one that ran nothing they are lost.
    pub fn page_faults(&mut self, process: Option<i64>, device: i64, count: i64) {
        let sum = self.inventory.page_faults.entry((process, device)).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Counts events that the reader could not use, for a reason.
    pub fn drop_events(&mut self, events: &'static str, reason: Reason, count: u64) {
        *self.dropped.entry((events, reason)).or_default() += count;
    }

    /// Counts rows that the reader did not read because of a limit.
    pub fn skip_rows(&mut self, count: u64) {
        self.timeline.reached.row_count += count;
    }

    /// The timeline of all that was handed in.
    pub fn finish(self) -> Timeline {
        self.finish_on(Threads::new(Some(1)))
    }

    /// The same on several threads; the timeline does not depend on their number.
    pub(crate) fn finish_on(mut self, on: Threads) -> Timeline {
        self.seal();
        self.timeline.host_row_limit = self.limits.host_rows;
        let indices = self.inventory.fill(&mut self.timeline, self.actors.threads(), self.actors.streams());
        let threads = indices.of_threads(self.actors.threads());
        let streams = indices.of_streams(self.actors.streams());
        let (names, of_ranges) = self.resolve_names();
        let ranges = self.resolve_ranges(&of_ranges, &threads);
        let resolve = || {
            self.resolve_host(&names, &threads);
            self.resolve_ops(&streams, on);
        };
        let (in_order, ()) = parallel::both(on, || ranges.in_order(&threads), resolve);
        self.timeline.ranges.threads = in_order;
        ranges::bound(&mut self.timeline);
        ranges::close(&mut self.timeline);
        let dropped = self.dropped.into_iter();
        self.timeline.dropped = dropped.map(|((events, reason), count)| Dropped { events, reason, count }).collect();
        self.timeline
    }

    fn seal(&mut self) {
        self.names.seal();
        self.actors.seal();
        self.kernels.seal();
        self.labels.seal();
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
            &mut timeline.thread_states.thread,
            &mut self.scheduler.thread,
        ] {
            map(column, threads);
        }
        let lost = threads::bound_overheads(timeline);
        if lost > 0 {
            self.dropped.insert(("overheads", "name no thread, and there are too many threads for them"), lost);
        }
        std::mem::take(&mut self.scheduler).pair_into(&mut timeline.thread_states);
        let mut failed: HashMap<(NameId, u16), (u64, i64)> = HashMap::default();
        for ((name, code), calls) in &self.failed_calls {
            add_failed(&mut failed, (at(names, *name), *code), *calls);
        }
        let names = &timeline.names;
        let errors = failed.into_iter();
        timeline.api.errors =
            errors.map(|((call, code), (count, first_ns))| ApiError { call, code, count, first_ns }).collect();
        timeline.api.errors.sort_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| (names.get(a.call), a.code).cmp(&(names.get(b.call), b.code)))
        });
    }
}

/// Adds calls that failed alike: how many, and when the first of them began.
fn add_failed(failed: &mut HashMap<(u32, u16), (u64, i64)>, key: (u32, u16), (count, first_ns): (u64, i64)) {
    let (sum, first) = failed.entry(key).or_insert((0, first_ns));
    *sum = sum.saturating_add(count);
    *first = first_ns.min(*first);
}

fn append(columns: &mut GpuOps, rows: &GpuOps, raw: &RawIndices) {
    columns.times.append(&rows.times);
    columns.stream.extend(all_at(&raw.streams, &rows.stream));
    columns.call.extend(&rows.call);
}
