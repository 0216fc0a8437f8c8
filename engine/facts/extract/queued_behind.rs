//! Small kernels that wait for the blocks of another stream's large kernel although nothing of their own stream is left, while the host
//! waits for them: a stream of higher priority would let them begin as the first of these blocks leave.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::kinds::DeviceWaits;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::api::{ApiClass, WaitsFor};
use crate::timeline::interval::Interval;
use crate::timeline::occupancy::theoretical;
use crate::timeline::{DeviceProperties, NONE, NameId, StreamKind, Timeline};

/// A shorter wait is what a launch takes.
const LEAST_WAIT_NS: i64 = 20_000;
/// Blocks of a kernel of fewer waves leave at about the same time.
const LEAST_WAVES: f64 = 2.0;
/// The other begins as the last blocks run: within the time of so many waves before the end.
const LAST_WAVES: f64 = 2.0;
/// A wait for the device returns so soon after what it waited for.
const RETURN_NS: i64 = 50_000;
/// Kernels with many blocks that run at once, of which each is looked at.
const MOST_LARGE: usize = 16;

/// A kernel of more blocks than fit at once.
#[derive(Clone, Copy)]
struct Large {
    op: Op,
    stream: u32,
    process: u32,
    /// How long its last blocks run.
    last_ns: i64,
}

/// A kernel that waited for the blocks of another.
struct Waited {
    /// From when nothing of its own stream kept it to when it began.
    time: Interval,
    stream: u32,
    small: NameId,
    large: Large,
    /// The call in which the host waited meanwhile.
    call: Interval,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let Some(properties) = device.properties(timeline) else { return };
    let own = |stream: &u32| timeline.streams.get(*stream as usize).is_some_and(|own| own.kind != StreamKind::Default);
    if device.passed(context).streams.iter().filter(|(stream, _)| own(stream)).nth(1).is_none() {
        return;
    }
    let mut all = waited(context, device, properties);
    let ends = StreamEnds::new(timeline, device, &all);
    // What the host waited for ended with the small kernel's stream, after the large one.
    all.retain(|waited| {
        let end = ends.before(waited.stream, waited.call.start);
        end.is_some_and(|end| {
            end > waited.large.op.end && (end..=end.saturating_add(RETURN_NS)).contains(&waited.call.end)
        })
    });
    set(timeline, &all, facts);
}

fn set(timeline: &Timeline, all: &[Waited], facts: &mut Entity) {
    let Some(longest) = all.iter().max_by_key(|waited| (waited.time.len_ns(), Reverse(waited.time.start))) else {
        return;
    };
    let mut pairs: BTreeMap<(NameId, NameId), i64> = BTreeMap::new();
    for waited in all {
        let pair = (waited.small, timeline.kernels.shape_of(waited.large.op.index).name);
        let sum_ns = pairs.entry(pair).or_default();
        *sum_ns = sum_ns.saturating_add(waited.time.len_ns());
    }
    facts.set("queued_behind_count", all.len() as i64);
    facts.set("queued_behind_ns", pairs.values().copied().fold(0, i64::saturating_add));
    if let Some(((small, large), _)) = pairs.into_iter().max_by_key(|(pair, ns)| (*ns, Reverse(*pair))) {
        facts.set("queued_behind_kernel", timeline.name(small));
        facts.set("queued_behind_large_kernel", timeline.name(large));
    }
    facts.set("queued_behind_longest_ns", longest.time.len_ns());
    facts.set("queued_behind_longest_start_ns", longest.time.start);
}

/// Kernels of few blocks that began as the last blocks of another stream's kernel ran, though they had been asked for long before, while
/// their thread waited for a stream or an event.
fn waited(context: &Context<'_>, device: &DeviceContext, properties: &DeviceProperties) -> Vec<Waited> {
    let timeline = context.timeline;
    let waits = device.waits(context);
    let mut large: Vec<Large> = Vec::new();
    let mut last: HashMap<u32, (i64, i64)> = HashMap::default();
    let mut found = Vec::new();
    for op in device.ops.in_window().filter(|op| op.kind != OpKind::Migration) {
        let stream = op.stream(timeline);
        let process = timeline.process_of_stream(stream);
        large.retain(|other| other.op.end > op.start);
        let call = op.call(timeline).map(|call| (call, timeline.api.times.at(call as usize)));
        let before = last.get(&stream).copied();
        if let (Some((row, call)), Some((until, asked)), Some(small)) = (call, before, small(timeline, properties, op))
        {
            let time = Interval::new(call.end.max(until).min(op.start), op.start);
            let is_behind = |other: &&Large| {
                let is_other = other.stream != stream && other.process == process;
                is_other
                    && other.op.start <= time.start
                    && other.op.end - op.start <= other.last_ns
                    // As the first blocks leave, a kernel of higher priority would begin as well.
                    && time.len_ns() >= other.last_ns
            };
            let is_ordered = || waits_for_event(timeline, &waits, process, (asked, call.start));
            // What orders the nodes of a graph is not recorded.
            let is_of_graph = || timeline.name(timeline.api.name[row as usize]).contains("GraphLaunch");
            let behind = large.iter().find(is_behind).filter(|_| time.len_ns() >= LEAST_WAIT_NS);
            let behind = behind.filter(|_| !is_of_graph() && !is_ordered());
            if let Some((large, call)) =
                behind.copied().zip(wait_at(context, timeline.api.thread[row as usize], op.start))
            {
                found.push(Waited { time, stream, small, large, call });
            }
        }
        let asked = call.map_or(i64::MIN, |(_, call)| call.start);
        let known = last.entry(stream).or_insert((op.end, asked));
        *known = (known.0.max(op.end), known.1.max(asked));
        if let Some(last_ns) = last_ns(timeline, properties, op).filter(|_| large.len() < MOST_LARGE) {
            large.push(Large { op, stream, process, last_ns });
        }
    }
    found
}

/// Whether a process makes a stream wait for an event between two moments.
fn waits_for_event(timeline: &Timeline, waits: &DeviceWaits<'_>, process: u32, (from, to): (i64, i64)) -> bool {
    let start = |call: &u32| timeline.api.times.start(*call as usize);
    let mut own = waits.of_each().filter(|(of, _)| process == NONE || of.is_none_or(|of| of == process));
    own.any(|(_, waits)| {
        let next = waits.of_streams.partition_point(|call| start(call) <= from);
        waits.of_streams.get(next).is_some_and(|call| start(call) < to)
    })
}

/// The name of a kernel that no more blocks than there are SMs belong to, and that no default stream holds.
fn small(timeline: &Timeline, properties: &DeviceProperties, op: Op) -> Option<NameId> {
    let is_default = timeline.streams.get(op.stream(timeline) as usize)?.kind == StreamKind::Default;
    if op.kind != OpKind::Kernel || is_default {
        return None;
    }
    let blocks = timeline.geometry_of(op.index)?.grid_blocks;
    (1..=properties.sm_count?).contains(&blocks).then(|| timeline.kernels.shape_of(op.index).name)
}

/// How long the last blocks of a kernel run at most, where they do not all fit on the device at once.
fn last_ns(timeline: &Timeline, properties: &DeviceProperties, op: Op) -> Option<i64> {
    if op.kind != OpKind::Kernel {
        return None;
    }
    let geometry = timeline.geometry_of(op.index)?;
    let wave = properties.sm_count?.saturating_mul(theoretical(properties, geometry)?.blocks_per_sm);
    let waves = geometry.grid_blocks as f64 / wave.max(1) as f64;
    (waves >= LEAST_WAVES).then(|| (op.interval().len_ns() as f64 / waves * LAST_WAVES) as i64)
}

/// The call of a thread that waits for a stream or an event at some moment.
fn wait_at(context: &Context<'_>, thread: u32, moment: i64) -> Option<Interval> {
    let timeline = context.timeline;
    let call = *context.calls.begun(timeline, thread, moment).last()?;
    let waits = matches!(context.calls.class_of(timeline, call), ApiClass::Wait(WaitsFor::Stream | WaitsFor::Event));
    Some(timeline.api.times.at(call as usize)).filter(|times| waits && times.end > moment)
}

/// When what was asked for of some streams ends.
struct StreamEnds(HashMap<u32, Vec<(i64, i64)>>);

impl StreamEnds {
    fn new(timeline: &Timeline, device: &DeviceContext, all: &[Waited]) -> Self {
        let mut ends: HashMap<u32, Vec<(i64, i64)>> = all.iter().map(|waited| (waited.stream, Vec::new())).collect();
        for op in device.ops.in_window().filter(|_| !all.is_empty()) {
            let Some(own) = ends.get_mut(&op.stream(timeline)) else { continue };
            let asked = op.call(timeline).map(|call| timeline.api.times.start(call as usize));
            own.extend(asked.map(|asked| (asked, op.end)));
        }
        ends.values_mut().for_each(|own| own.sort_unstable());
        Self(ends)
    }

    /// The end of the last operation of a stream that was asked for before some moment.
    fn before(&self, stream: u32, moment: i64) -> Option<i64> {
        let own = self.0.get(&stream)?;
        let place = own.partition_point(|(asked, _)| *asked < moment);
        own.get(place.checked_sub(1)?).map(|(_, end)| *end)
    }
}
