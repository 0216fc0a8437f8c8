//! Facts of streams, and of how a device's streams were used together.

use std::collections::BTreeSet;

use super::{Context, DeviceContext, Parents};
use crate::facts::{EntityKind, Facts};
use crate::ledger::OpKind;
use crate::timeline::api::creates_stream;
use crate::timeline::union::RunningLength;
use crate::timeline::{StreamKind, Timeline};

#[derive(Debug, Default, Clone)]
struct Use {
    kernel_count: i64,
    copy_count: i64,
    all: RunningLength,
    kernels: RunningLength,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, facts: &mut Facts) {
    let timeline = context.timeline;
    let streams = uses(timeline, device);
    let mut shown: Vec<(i64, u32)> = streams.iter().map(|(place, stream)| (stream.all.len_ns(), *place)).collect();
    shown.sort_unstable_by_key(|(busy_ns, place)| (std::cmp::Reverse(*busy_ns), *place));
    super::keep(&mut shown, context.most_entities(), facts.get_mut(parents.device));
    let shown: BTreeSet<u32> = shown.into_iter().map(|(_, place)| place).collect();
    let (mut used, mut blocking, mut with_kernels, mut created_known) = (0, 0, 0, false);
    let (mut kernel_ns, mut default_kernel_ns, mut is_known) = (0_i64, 0_i64, false);
    let prefix = facts.get(parents.device).key.clone();
    for (place, stream) in streams {
        let known = timeline.streams[place as usize];
        let is_used = stream.kernel_count + stream.copy_count > 0;
        used += i64::from(is_used);
        blocking += i64::from(is_used && known.kind == StreamKind::Blocking);
        let kernels_run = stream.kernels.len_ns();
        kernel_ns = kernel_ns.saturating_add(kernels_run);
        is_known |= known.kind != StreamKind::Unknown;
        created_known |= matches!(known.kind, StreamKind::Blocking | StreamKind::NonBlocking);
        if known.kind == StreamKind::Default {
            default_kernel_ns = default_kernel_ns.saturating_add(kernels_run);
        }
        with_kernels += i64::from(stream.kernel_count > 0);
        if !shown.contains(&place) {
            continue;
        }
        let pid = timeline.processes.get(known.process as usize).map_or(0, |process| process.pid);
        let key = format!("{prefix}/{pid}/{}/{}", known.context, known.number);
        let id = facts.add(EntityKind::Stream, key, &parents.with_process(known.process));
        let entity = facts.get_mut(id);
        entity.set("number", known.number);
        entity.set("kind", kind_name(known.kind));
        entity.set("kernel_count", stream.kernel_count);
        entity.set("copy_count", stream.copy_count);
        entity.set("busy_ns", stream.all.len_ns());
        entity.set("kernel_ns", kernels_run);
    }
    let entity = facts.get_mut(parents.device);
    entity.set("stream_active_count", used);
    entity.set("stream_used_count", with_kernels);
    entity.set_some("blocking_stream_count", created_known.then_some(blocking));
    if is_known && kernel_ns > 0 {
        entity.set("default_stream_kernel_share", default_kernel_ns as f64 / kernel_ns as f64);
    }
    entity.set("concurrent_ns", device.tally.concurrent_ns);
    entity.set("kernel_concurrent_ns", device.tally.kernel_concurrent_ns);
    if !timeline.api.is_empty() {
        entity.set("stream_created_count", created(context, device));
    }
}

/// What each stream ran, by its place.
fn uses(timeline: &Timeline, device: &DeviceContext) -> Vec<(u32, Use)> {
    let mut streams: Vec<Option<Use>> = vec![None; timeline.streams.len()];
    for op in device.ops.in_window(timeline).filter(|op| op.kind != OpKind::Migration) {
        let Some(stream) = streams.get_mut(op.stream(timeline) as usize) else { continue };
        let stream = stream.get_or_insert_default();
        let part = op.interval().clip(device.window());
        stream.all.push(part);
        if op.kind.is_kernel() {
            stream.kernel_count += 1;
            stream.kernels.push(part);
        }
        stream.copy_count += i64::from(op.kind == OpKind::Copy);
    }
    (0..).zip(streams).filter_map(|(place, stream)| Some((place, stream?))).collect()
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
    let calls = device.processes.iter().flat_map(|process| context.calls_of(*process, None));
    calls.filter(|call| creates_stream(timeline.name(timeline.api.name[*call as usize]))).count() as i64
}
