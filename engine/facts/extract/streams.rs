//! Facts of streams, and of how a device's streams were used together.

use std::collections::{BTreeMap, BTreeSet};

use super::by_index::ByIndex;
use super::once::Passed;
use super::{Context, DeviceContext, DevicePart, Parents};
use crate::facts::{Entity, EntityKind};
use crate::ledger::OpKind;
use crate::timeline::api::creates_stream;
use crate::timeline::union::RunningLength;
use crate::timeline::{Stream, StreamKind, Timeline};

/// What a stream ran.
#[derive(Debug, Default, Clone)]
struct Use {
    kernel_count: i64,
    copy_count: i64,
    memset_count: i64,
    all: RunningLength,
    kernels: RunningLength,
}

impl Use {
    /// Whether it ran more than memsets.
    const fn is_active(&self) -> bool {
        self.kernel_count + self.copy_count > 0
    }
}

/// What the streams of a device add up to.
#[derive(Debug, Default)]
struct Totals {
    active_count: i64,
    active_created_count: i64,
    with_kernels_count: i64,
    active_blocking_count: i64,
    /// Whether the kind of any created stream is known.
    knows_created: bool,
    /// Whether the kind of any stream is known.
    knows_kinds: bool,
    kernel_ns: i64,
    default_kernel_ns: i64,
    default_copy_count: i64,
    default_memset_count: i64,
}

impl Totals {
    fn add(&mut self, kind: StreamKind, used: &Use) {
        let kernel_ns = used.kernels.len_ns();
        self.active_count += i64::from(used.is_active());
        self.active_created_count += i64::from(used.is_active() && kind != StreamKind::Default);
        self.with_kernels_count += i64::from(used.kernel_count > 0);
        self.active_blocking_count += i64::from(used.is_active() && kind == StreamKind::Blocking);
        self.knows_created |= matches!(kind, StreamKind::Blocking | StreamKind::NonBlocking);
        self.knows_kinds |= kind != StreamKind::Unknown;
        self.kernel_ns = self.kernel_ns.saturating_add(kernel_ns);
        if kind == StreamKind::Default {
            self.default_kernel_ns = self.default_kernel_ns.saturating_add(kernel_ns);
            self.default_copy_count += used.copy_count;
            self.default_memset_count += used.memset_count;
        }
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, part: &mut DevicePart) {
    let timeline = context.timeline;
    let streams = uses(timeline, device);
    let mut shown: Vec<(i64, u32)> = streams.iter().map(|(stream, used)| (used.all.len_ns(), *stream)).collect();
    shown.sort_unstable_by_key(|(busy_ns, stream)| (std::cmp::Reverse(*busy_ns), *stream));
    part.keep(&mut shown, context.max_entities());
    let shown: BTreeSet<u32> = shown.into_iter().map(|(_, stream)| stream).collect();
    let mut totals = Totals::default();
    for (index, used) in streams {
        let stream = timeline.streams[index as usize];
        totals.add(stream.kind, &used);
        if shown.contains(&index) {
            part.entities.push(entity(context, parents, stream, &used));
        }
    }
    of_device(context, device, &totals, &mut part.device);
}

fn entity(context: &Context<'_>, parents: &Parents<'_>, stream: Stream, used: &Use) -> Entity {
    let key = parents.key_of(&format!("{}/{}/{}", context.pid_of(stream.process), stream.context, stream.number));
    let mut entity = Entity::new(EntityKind::Stream, key, parents.of_process(stream.process));
    entity.set("number", stream.number);
    entity.set("kind", kind_name(stream.kind));
    entity.set("kernel_count", used.kernel_count);
    entity.set("copy_count", used.copy_count);
    entity.set("busy_ns", used.all.len_ns());
    entity.set("kernel_busy_ns", used.kernels.len_ns());
    entity
}

fn of_device(context: &Context<'_>, device: &DeviceContext, totals: &Totals, facts: &mut Entity) {
    facts.set("active_stream_count", totals.active_count);
    facts.set("active_created_stream_count", totals.active_created_count);
    facts.set("kernel_stream_count", totals.with_kernels_count);
    facts.set_some("thread_stream_count", of_one_thread(device.passed(context)));
    facts.set_some("blocking_stream_count", totals.knows_created.then_some(totals.active_blocking_count));
    if totals.knows_kinds && totals.kernel_ns > 0 {
        facts.set("default_stream_kernel_share", totals.default_kernel_ns as f64 / totals.kernel_ns as f64);
        facts.set("default_stream_copy_count", totals.default_copy_count);
        facts.set("default_stream_memset_count", totals.default_memset_count);
    }
    facts.set("concurrent_stream_ns", device.tally.concurrent_ns);
    facts.set("concurrent_kernel_ns", device.tally.kernel_concurrent_ns);
    if !context.timeline.api.is_empty() {
        facts.set("created_stream_count", created(context, device));
    }
}

/// The most streams that one thread is the first to launch kernels to; `None` where no thread is known.
fn of_one_thread(passed: &Passed) -> Option<i64> {
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    let computing = passed.streams.iter().filter(|(_, stream)| stream.has_compute);
    for thread in computing.filter_map(|(_, stream)| stream.first_thread) {
        *counts.entry(thread).or_default() += 1;
    }
    counts.into_values().max()
}

/// What each stream ran, by its index.
fn uses(timeline: &Timeline, device: &DeviceContext) -> Vec<(u32, Use)> {
    let mut streams: ByIndex<Use> = ByIndex::default();
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let index = op.stream(timeline);
        if index as usize >= timeline.streams.len() {
            continue;
        }
        let stream = streams.of(index, Use::default);
        let part = op.interval().clip(device.window());
        stream.all.push(part);
        if op.kind.is_kernel() {
            stream.kernel_count += 1;
            stream.kernels.push(part);
        }
        stream.copy_count += i64::from(op.kind == OpKind::Copy);
        stream.memset_count += i64::from(op.kind == OpKind::Memset);
    }
    let mut streams = streams.into_list();
    streams.sort_unstable_by_key(|(index, _)| *index);
    streams
}

const fn kind_name(kind: StreamKind) -> &'static str {
    match kind {
        StreamKind::Default => "default",
        StreamKind::Blocking => "blocking",
        StreamKind::NonBlocking => "non_blocking",
        StreamKind::Unknown => "unknown",
    }
}

fn created(context: &Context<'_>, device: &DeviceContext) -> i64 {
    let timeline = context.timeline;
    if !context.is_any_called(creates_stream) {
        return 0;
    }
    let calls = device.processes.iter().flat_map(|process| context.calls_of(*process, None));
    calls.filter(|call| creates_stream(timeline.name(timeline.api.name[*call as usize]))).count() as i64
}
