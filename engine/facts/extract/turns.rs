//! Work of different streams that takes turns though it could run side by side, by what keeps it apart.

use foldhash::HashMap;

use super::kinds::{DeviceWaits, split};
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Op, OpKind};
use crate::timeline::columns::Direction;
use crate::timeline::interval::Interval;
use crate::timeline::occupancy::MAX_KERNELS_AT_ONCE;
use crate::timeline::{NONE, StreamKind, Timeline, Times};

/// What keeps the work of two streams from running at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// An operation of the legacy default stream between them.
    LegacyStream,
    /// The host waited for the first before it asked for the second.
    HostWait,
    /// The second stream was made to wait for an event.
    Event,
    /// Nothing that was recorded.
    Unknown,
}

/// Turns of one cause.
#[derive(Debug, Clone, Copy, Default)]
struct Turns {
    count: i64,
    /// What is won when they run at the same time.
    ns: i64,
    /// For how long the device is idle between them, and before a row that follows another of the same cause.
    idle_ns: i64,
    /// The row of turns that wins most, if there is one.
    longest: Option<Interval>,
    longest_won_ns: i64,
}

impl Turns {
    fn add(&mut self, more: Self) {
        self.count += more.count;
        self.ns = self.ns.saturating_add(more.ns);
        self.idle_ns = self.idle_ns.saturating_add(more.idle_ns);
        if more.longest_won_ns > self.longest_won_ns {
            (self.longest, self.longest_won_ns) = (more.longest, more.longest_won_ns);
        }
    }
}

/// What could run beside others, and what it leaves free: a copy, or kernels of one stream that follow one another.
#[derive(Debug, Clone, Copy)]
struct Part {
    first: Op,
    stream: u32,
    run: Run,
    /// The same without its last operation, where it has several.
    shorter: Option<Run>,
}

/// How far operations of one stream go on.
#[derive(Debug, Clone, Copy)]
struct Run {
    last: Op,
    /// How long they take, summed.
    len_ns: i64,
    /// What they take of the device: the most that one of them does.
    use_of: Use,
}

/// What an operation takes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The blocks of a kernel: an SM each, at most.
    Blocks(i64),
    /// A copy between host and device: its direction of the link.
    Link(Direction),
}

impl Part {
    /// Of an operation that may run beside others: a kernel of known width, or a copy between host and device.
    fn of(timeline: &Timeline, op: Op) -> Option<Self> {
        let stream = op.stream(timeline);
        let use_of = match op.kind {
            OpKind::Kernel => {
                Use::Blocks(Some(timeline.geometry_of(op.index)?.grid_blocks).filter(|blocks| *blocks > 0)?)
            }
            OpKind::Copy => match timeline.copies.direction.get(op.index as usize)? {
                way @ (Direction::HostToDevice | Direction::DeviceToHost) => Use::Link(*way),
                _ => return None,
            },
            _ => return None,
        };
        let run = Run { last: op, len_ns: op.interval().len_ns(), use_of };
        Some(Self { first: op, stream, run, shorter: None })
    }

    fn blocks(self) -> i64 {
        match self.run.use_of {
            Use::Blocks(blocks) => blocks,
            Use::Link(_) => 0,
        }
    }

    /// Both as one, where they are kernels of one stream.
    fn followed_by(self, next: Self) -> Option<Self> {
        let (Use::Blocks(own), Use::Blocks(blocks)) = (self.run.use_of, next.run.use_of) else { return None };
        let len_ns = self.run.len_ns.saturating_add(next.run.len_ns);
        let run = Run { last: next.run.last, len_ns, use_of: Use::Blocks(own.max(blocks)) };
        (self.stream == next.stream).then_some(Self { run, shorter: Some(self.run), ..self })
    }
}

/// Calls that keep streams apart, of each process of a device.
struct Calls<'all> {
    of_each: Vec<OfProcess<'all>>,
}

/// Those of one process, or of any where these were not told apart: no other one's keep its streams apart.
struct OfProcess<'all> {
    process: Option<u32>,
    waits: Starts<'all>,
    event_waits: Starts<'all>,
}

/// When the calls of a list that lie in the window begin, by time: those that begin before it, and the others, which most GPUs share.
struct Starts<'all> {
    times: &'all Times,
    early: Vec<i64>,
    rest: &'all [u32],
}

impl<'all> Starts<'all> {
    fn new(times: &'all Times, calls: &'all [u32], window: Interval) -> Self {
        let (early, rest) = split(times, calls, window);
        Self { times, early: early.map(|call| times.start(call as usize)).collect(), rest }
    }

    /// Whether any of them begins between two moments.
    fn any(&self, from: i64, to: i64) -> bool {
        let next = self.early.partition_point(|start| *start <= from);
        let next_of_rest = self.rest.partition_point(|call| self.times.start(*call as usize) <= from);
        let first = self.rest.get(next_of_rest).map(|call| self.times.start(*call as usize));
        self.early.get(next).copied().into_iter().chain(first).any(|start| start < to)
    }
}

impl<'all> Calls<'all> {
    fn new(timeline: &'all Timeline, device: &DeviceContext, waits: &'all DeviceWaits<'all>) -> Self {
        let starts = |calls: &'all [u32]| Starts::new(&timeline.api.times, calls, device.window());
        let of_each = waits.of_each().map(|(process, waits)| OfProcess {
            process,
            waits: starts(&waits.for_device),
            event_waits: starts(&waits.of_streams),
        });
        Self { of_each: of_each.collect() }
    }

    /// What keeps one part behind another; `legacy` where an operation of the legacy default stream lies between them, with the call of
    /// a copy of that stream to the device.
    fn cause(&self, timeline: &Timeline, (last, part): (Part, Part), legacy: Option<Option<Interval>>) -> Cause {
        let (of_last, op) = (last.run.last, part.first);
        // A kernel that waits for a copy most likely needs it.
        let are_kernels = [last, part].iter().all(|part| matches!(part.run.use_of, Use::Blocks(_)));
        if are_of_processes(timeline, last, part) {
            return Cause::Unknown;
        }
        let waits = [last, part].map(|part| kind(timeline, part.stream) != Some(StreamKind::NonBlocking));
        // Or the host could ask for it only after it had waited for the other, in a copy of the default stream.
        let waited = |call: Interval| call.start < of_last.end && of_last.end <= call.end;
        let is_late =
            |upload: Option<Interval>| was_asked_for_before(timeline, op, of_last.end) || upload.is_some_and(waited);
        match legacy.is_some_and(|upload| waits == [true; 2] && is_late(upload)) {
            true => Cause::LegacyStream,
            false if are_kernels => self.between(timeline, of_last, op),
            false => Cause::Unknown,
        }
    }

    /// What stands between the calls that asked for two operations of one process.
    fn between(&self, timeline: &Timeline, first: Op, second: Op) -> Cause {
        let at = |op: Op| op.call(timeline).map(|call| timeline.api.times.start(call as usize));
        let (Some(from), Some(to)) = (at(first), at(second)) else { return Cause::Unknown };
        let process = timeline.process_of_stream(second.stream(timeline));
        let is_own = |own: &&OfProcess<'_>| own.process.is_none_or(|of| of == process) || process == NONE;
        let own = || self.of_each.iter().filter(is_own);
        if own().any(|own| own.waits.any(from, to)) {
            return Cause::HostWait;
        }
        if own().any(|own| own.event_waits.any(from, to)) { Cause::Event } else { Cause::Unknown }
    }
}

/// Operations of different streams, one after the other, for all of which the device has room at the same time.
#[derive(Default)]
struct Group {
    parts: Vec<Part>,
    /// What kept each from the one before; `None` as long as there is but one.
    cause: Option<Cause>,
    /// For how long the device was idle between them, and before the first where it waits for another row in the same way.
    idle_ns: i64,
}

impl Group {
    /// The row that begins with what waits for the last of this one.
    fn next_row(&self, cause: Cause, idle_ns: i64) -> Self {
        let goes_on = cause != Cause::Unknown && self.cause == Some(cause);
        Self { idle_ns: if goes_on { idle_ns } else { 0 }, ..Self::default() }
    }

    /// Whether an operation that begins after all of these would fit beside them, and is kept apart for the same reason.
    fn takes(&self, part: Part, cause: Cause, sm_count: i64) -> bool {
        let blocks = self.parts.iter().map(|part| part.blocks()).fold(part.blocks(), i64::saturating_add);
        let is_apart = |other: &Part| other.stream != part.stream && other.run.last.end <= part.first.start;
        let shares_link =
            |other: &Part| matches!(other.run.use_of, Use::Link(_)) && other.run.use_of == part.run.use_of;
        blocks <= sm_count
            && self.parts.len() < MAX_KERNELS_AT_ONCE
            && self.parts.iter().all(|other| is_apart(other) && !shares_link(other))
            && self.cause.is_none_or(|known| known == cause)
    }

    /// Whether its last part goes on with a kernel of the same stream, and all still fit.
    fn goes_on(&mut self, part: Part, sm_count: i64) -> bool {
        let Some((last, others)) = self.parts.split_last_mut() else { return false };
        let Some(longer) = last.followed_by(part) else { return false };
        let fits = others.iter().map(|other| other.blocks()).fold(longer.blocks(), i64::saturating_add) <= sm_count;
        if fits {
            *last = longer;
        }
        fits
    }

    /// Takes off what runs beside an operation that begins.
    fn cut_at(&mut self, start: i64) {
        let Some(last) = self.parts.pop_if(|last| last.run.last.end > start) else { return };
        self.parts.extend(last.shorter.map(|run| Part { run, shorter: None, ..last }));
    }

    /// What is won when all run at the same time.
    fn turns(&self) -> Turns {
        let (Some(first), Some(last)) = (self.parts.first(), self.parts.last()) else { return Turns::default() };
        let lengths = || self.parts.iter().map(|part| part.run.len_ns);
        // What lies between them is told apart: the host may have been late.
        let ns = lengths().fold(0, i64::saturating_add) - lengths().max().unwrap_or(0);
        let row = Interval { start: first.first.start, end: last.run.last.end };
        let count = self.parts.len() as i64 - 1;
        Turns { count, ns, idle_ns: self.idle_ns, longest: Some(row), longest_won_ns: ns }
    }
}

/// Turns by what causes them.
#[derive(Default)]
struct ByCause {
    legacy: Turns,
    host: Turns,
    event: Turns,
}

impl ByCause {
    fn add(&mut self, group: &Group) {
        let turns = match group.cause {
            Some(Cause::LegacyStream) => &mut self.legacy,
            Some(Cause::HostWait) => &mut self.host,
            Some(Cause::Event) => &mut self.event,
            Some(Cause::Unknown) | None => return,
        };
        turns.add(group.turns());
    }

    fn set(self, facts: &mut Entity) {
        facts.set("host_wait_turn_idle_ns", self.host.idle_ns);
        for (name, turns) in [("legacy_stream", self.legacy), ("host_wait", self.host), ("event", self.event)] {
            facts.set(&format!("{name}_turn_count"), turns.count);
            facts.set(&format!("{name}_turn_ns"), turns.ns);
            if let Some(longest) = turns.longest {
                facts.set(&format!("{name}_turn_longest_ns"), longest.len_ns());
                facts.set(&format!("{name}_turn_longest_start_ns"), longest.start);
            }
        }
    }
}

/// Operations of the legacy default stream of each process since the last of another stream: when, by order, with the call of a copy of
/// that stream to the device.
#[derive(Default)]
struct Legacy {
    of_each: HashMap<u32, (usize, Option<Interval>)>,
    since: usize,
}

impl Legacy {
    fn add(&mut self, timeline: &Timeline, op: Op, order: usize) {
        let upload = upload_call(timeline, op);
        let process = timeline.process_of_stream(op.stream(timeline));
        let known = self.of_each.entry(process).or_insert((order, None));
        let before = known.1.filter(|_| known.0 >= self.since);
        *known = (order, upload.or(before));
    }

    /// Those of the process of a stream, if there were any.
    fn of(&self, timeline: &Timeline, stream: u32) -> Option<Option<Interval>> {
        let known = self.of_each.get(&timeline.process_of_stream(stream));
        known.filter(|(order, _)| *order >= self.since).map(|(_, upload)| *upload)
    }
}

/// Whether two parts are known to be of different processes: no wait of a thread keeps these apart.
fn are_of_processes(timeline: &Timeline, first: Part, second: Part) -> bool {
    let [first, second] = [first, second].map(|part| timeline.process_of_stream(part.stream));
    first != second && first != NONE && second != NONE
}

/// Whether the call that asked for an operation came before a moment; so where it was not recorded.
fn was_asked_for_before(timeline: &Timeline, op: Op, moment: i64) -> bool {
    op.call(timeline).is_none_or(|call| timeline.api.times.start(call as usize) < moment)
}

/// The call of a copy to the device: such a copy needs no result of others, so that what its call waits for it waits for in vain.
fn upload_call(timeline: &Timeline, op: Op) -> Option<Interval> {
    let is_upload =
        op.kind == OpKind::Copy && timeline.copies.direction.get(op.index as usize) == Some(&Direction::HostToDevice);
    op.call(timeline).filter(|_| is_upload).map(|call| timeline.api.times.at(call as usize))
}

/// Whether two streams beside the default one have work: else there is none that could take turns.
fn has_several_streams(context: &Context<'_>, device: &DeviceContext) -> bool {
    let streams = device.passed(context).streams.iter();
    streams.filter(|(stream, _)| kind(context.timeline, *stream) != Some(StreamKind::Default)).nth(1).is_some()
}

fn kind(timeline: &Timeline, stream: u32) -> Option<StreamKind> {
    timeline.streams.get(stream as usize).map(|stream| stream.kind)
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let Some(sm_count) = device.properties(timeline).and_then(|known| known.sm_count) else { return };
    let mut turns = ByCause::default();
    if !has_several_streams(context, device) {
        return turns.set(facts);
    }
    let waits = device.waits(context);
    let calls = Calls::new(timeline, device, &waits);
    let mut group = Group::default();
    let (mut legacy, mut busy_until) = (Legacy::default(), i64::MIN);
    let mut all_until = i64::MAX;
    for (order, op) in device.ops.in_window().filter(|op| op.kind != OpKind::Migration).enumerate() {
        let idle_ns = op.start.saturating_sub(all_until).max(0);
        all_until = op.end.max(if all_until == i64::MAX { op.end } else { all_until });
        if kind(timeline, op.stream(timeline)) == Some(StreamKind::Default) {
            legacy.add(timeline, op, order);
            continue;
        }
        // What runs beside something else takes no turns.
        let is_beside = op.start < busy_until;
        if is_beside {
            group.cut_at(op.start);
            turns.add(&std::mem::take(&mut group));
        }
        busy_until = busy_until.max(op.end);
        let Some(part) = Part::of(timeline, op).filter(|_| !is_beside) else { continue };
        let last = group.parts.last().copied();
        let own_legacy = legacy.of(timeline, part.stream);
        let cause = last.map_or(Cause::Unknown, |last| calls.cause(timeline, (last, part), own_legacy));
        // What the host asks for after it has waited may need what it waited for.
        let is_of_run = cause != Cause::HostWait && group.goes_on(part, sm_count);
        if !is_of_run {
            if last.is_some() && group.takes(part, cause, sm_count) {
                group.cause = Some(cause);
                group.idle_ns += idle_ns;
            } else {
                turns.add(&group);
                group = group.next_row(cause, idle_ns);
            }
            group.parts.push(part);
        }
        legacy.since = order;
    }
    turns.add(&group);
    turns.set(facts);
}
