//! Idle time, read twice: by what the launching thread was doing at each moment, and by where it was when the device ran dry.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::host::{Activity, Calls};
use super::ops::{DeviceOps, OpKind, OpRef};
use crate::parallel;
use crate::timeline::interval::{Interval, Union};
use crate::timeline::{NONE, NameId, Timeline};

/// Batches of threads that are walked side by side.
const MOST_BATCHES: usize = 256;
/// Up to this much of the time between a launch and its start is the ordinary distance of two operations.
pub const SPACING_NS: i64 = 5_000;

/// A stretch of idle time of one device.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// When.
    pub interval: Interval,
    /// The operation that ends it; `None` at the end of the window when none follows.
    pub next: Option<OpRef>,
    /// An operation that ended when it began; `None` at the beginning of the window.
    pub previous: Option<OpRef>,
}

/// Where the launching thread was when the device ran dry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// The next operation had been launched already.
    Queued,
    /// In a blocking wait.
    Sync,
    /// In a copy call that stages or blocks.
    Copy,
    /// Managing memory.
    Allocate,
    /// Launching.
    Launch,
    /// Anywhere else.
    Elsewhere,
    /// The capture does not tell.
    Unknown,
}

impl Trigger {
    /// How many there are.
    pub const COUNT: usize = 7;

    const fn of(activity: Activity) -> Self {
        match activity {
            Activity::Spacing | Activity::Queue => Self::Queued,
            Activity::Sync => Self::Sync,
            Activity::CopyCall => Self::Copy,
            Activity::Allocate => Self::Allocate,
            Activity::Launch | Activity::QueueFull => Self::Launch,
            Activity::Unknown => Self::Unknown,
            Activity::Profiler
            | Activity::Load
            | Activity::Query
            | Activity::Init
            | Activity::Blocked
            | Activity::OffCpu
            | Activity::Host => Self::Elsewhere,
        }
    }
}

/// A piece of idle time in which the launching thread did one thing.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// When.
    pub interval: Interval,
    /// What the thread did.
    pub activity: Activity,
    /// The thread.
    pub thread: u32,
    /// Where the thread was when the device ran dry.
    pub trigger: Trigger,
    /// The call that it was in then, or [`NONE`].
    pub trigger_name: NameId,
}

impl Piece {
    /// Whether another piece is the same thing, later.
    fn goes_on_in(&self, next: &Self) -> bool {
        let of = |piece: &Self| (piece.activity, piece.thread, piece.trigger, piece.trigger_name);
        self.interval.end == next.interval.start && of(self) == of(next)
    }
}

/// Time spent in calls of one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Named {
    /// Together.
    pub sum_ns: i64,
    /// In how many pieces or stretches.
    pub count: i64,
    /// The longest.
    pub longest_ns: i64,
    /// When the longest begins.
    pub longest_start_ns: i64,
    /// The piece that was added last, which the next may go on.
    last: Interval,
}

impl Named {
    /// Adds a piece, which may go on where the last one ended.
    fn add(&mut self, interval: Interval) {
        self.sum_ns += interval.len_ns();
        if self.count > 0 && self.last.end == interval.start {
            self.last.end = interval.end;
        } else {
            self.count += 1;
            self.last = interval;
        }
        if self.last.len_ns() > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (self.last.len_ns(), self.last.start);
        }
    }

    fn merge(&mut self, other: Self) {
        self.sum_ns += other.sum_ns;
        self.count += other.count;
        if other.longest_ns > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (other.longest_ns, other.longest_start_ns);
        }
    }
}

/// Idle time that a wait drained the device into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// The stretches.
    pub stretches: Named,
    /// The part of them in host code, the OS, loading, memory management or set-up: what had to be done anyway.
    pub host_ns: i64,
    /// The part of them still inside the wait.
    pub tail_ns: i64,
}

/// The idle time of one device, read both ways.
#[derive(Debug, Default)]
pub struct IdleReading {
    /// By activity; sums to the idle time.
    pub activity: [Named; Activity::COUNT],
    /// By activity and call.
    pub calls: BTreeMap<(Activity, NameId), Named>,
    /// By trigger; sums to the idle time.
    pub trigger: [i64; Trigger::COUNT],
    /// By trigger and the call that the thread was in: process, trigger, call.
    pub drained: BTreeMap<(u32, Trigger, NameId), Drained>,
    /// Idle time read on a thread that was only guessed.
    pub guessed_ns: i64,
    /// The host code in it.
    pub guessed_host_ns: i64,
    /// Launching within the storms of short kernels.
    pub storm_launch_ns: i64,
    storms: Arc<Union>,
    /// The pieces on threads that wrote annotations, in time order on each thread.
    pub pieces: Vec<Piece>,
}

/// A stretch to be read on a thread.
#[derive(Debug, Clone, Copy)]
struct Query {
    /// The stretch.
    stretch: Interval,
    /// The launch had returned from here on: the thread has to explain what is before.
    returned: i64,
    /// Whether the thread is only guessed: the operation that ends the stretch has no call.
    is_guess: bool,
}

impl Query {
    /// The part of the stretch that the thread has to explain.
    const fn host(self) -> Interval {
        Interval::new(self.stretch.start, self.returned)
    }
}

/// Reads the idle stretches of all devices; `storms` are each device's stretches of short kernels, `keeps_pieces` says of
/// which threads pieces are wanted.
pub fn read(
    timeline: &Timeline,
    calls: &Calls,
    stretches: &[&[Stretch]],
    storms: &[Arc<Union>],
    keeps_pieces: impl Fn(u32) -> bool + Sync,
) -> Vec<IdleReading> {
    let busiest = calls.busiest_threads(timeline);
    let mut readings: Vec<IdleReading> =
        storms.iter().map(|storms| IdleReading { storms: Arc::clone(storms), ..IdleReading::default() }).collect();
    let mut by_thread: BTreeMap<u32, Vec<(usize, Vec<Query>)>> = BTreeMap::new();
    for (device, (reading, stretches)) in readings.iter_mut().zip(stretches).enumerate() {
        for stretch in *stretches {
            if let Some((thread, query)) = place(timeline, &busiest, *stretch, reading) {
                let of_thread = by_thread.entry(thread).or_default();
                match of_thread.last_mut() {
                    Some((last, queries)) if *last == device => queries.push(query),
                    _ => of_thread.push((device, vec![query])),
                }
            }
        }
    }
    let by_thread: Vec<_> = by_thread.into_iter().collect();
    // Threads can be hundreds of thousands: those of a batch are put together at once.
    let batches: Vec<_> = by_thread.chunks(by_thread.len().div_ceil(MOST_BATCHES).max(1)).collect();
    let walked = parallel::map(&batches, |batch| {
        let mut parts: BTreeMap<usize, IdleReading> = BTreeMap::new();
        for (thread, queries) in *batch {
            for (device, part) in walk(timeline, calls, *thread, queries, storms, keeps_pieces(*thread)) {
                match parts.entry(device) {
                    Entry::Vacant(vacant) => _ = vacant.insert(part),
                    Entry::Occupied(mut known) => known.get_mut().merge(part),
                }
            }
        }
        parts
    });
    for (device, part) in walked.into_iter().flatten() {
        if let Some(reading) = readings.get_mut(device) {
            reading.merge(part);
        }
    }
    readings
}

/// Books what the launch had queued, and says what of the stretch a thread has to explain.
fn place(
    timeline: &Timeline,
    busiest: &FxHashMap<u32, u32>,
    stretch: Stretch,
    reading: &mut IdleReading,
) -> Option<(u32, Query)> {
    let whole = stretch.interval;
    let call = stretch.next.and_then(|op| op.call(timeline));
    if let Some(call) = call {
        let thread = timeline.api.thread.get(call as usize).copied().filter(|thread| *thread != NONE);
        let returned = timeline.api.end.get(call as usize).copied().unwrap_or(whole.end).clamp(whole.start, whole.end);
        let queued = Interval::new(returned, whole.end);
        let spacing = Interval::new(whole.end - queued.len_ns().min(SPACING_NS), whole.end);
        reading.book(Activity::Spacing, NONE, spacing);
        reading.book(Activity::Queue, NONE, Interval::new(queued.start, spacing.start));
        let host = Interval::new(whole.start, returned);
        if host.len_ns() == 0 {
            reading.trigger[Trigger::Queued as usize] += whole.len_ns();
            return None;
        }
        if let Some(thread) = thread {
            return Some((thread, Query { stretch: whole, returned, is_guess: false }));
        }
        reading.book(Activity::Unknown, NONE, host);
        reading.trigger[Trigger::Unknown as usize] += whole.len_ns();
        return None;
    }
    let process =
        stretch.next.map(|op| timeline.streams.get(op.stream(timeline) as usize).map_or(NONE, |stream| stream.process));
    let guess = process.and_then(|process| {
        let only = || (busiest.len() == 1).then(|| busiest.values().next()).flatten();
        busiest.get(&process).or_else(|| if process == NONE { only() } else { None }).copied()
    });
    if let Some(thread) = guess {
        reading.guessed_ns += whole.len_ns();
        return Some((thread, Query { stretch: whole, returned: whole.end, is_guess: true }));
    }
    reading.book(Activity::Unknown, NONE, whole);
    reading.trigger[Trigger::Unknown as usize] += whole.len_ns();
    None
}

impl IdleReading {
    fn book(&mut self, activity: Activity, name: NameId, interval: Interval) {
        if interval.len_ns() == 0 {
            return;
        }
        self.activity[activity as usize].add(interval);
        if activity == Activity::Launch {
            self.storm_launch_ns += self.storms.overlap_ns(interval);
        }
        if name != NONE {
            self.calls.entry((activity, name)).or_default().add(interval);
        }
    }

    /// The call that most time of an activity was spent in.
    pub fn main_call(&self, activity: Activity) -> Option<(NameId, Named)> {
        self.calls
            .iter()
            .filter(|((of, _), _)| *of == activity)
            .max_by_key(|((_, name), named)| (named.sum_ns, std::cmp::Reverse(*name)))
            .map(|((_, name), named)| (*name, *named))
    }

    /// Nanoseconds of one activity.
    pub fn activity_ns(&self, activity: Activity) -> i64 {
        self.activity[activity as usize].sum_ns
    }
}

/// How far a thread has been read for one device: the queries of a device follow each other in time.
struct Cursor<'queries> {
    device: usize,
    reading: IdleReading,
    queries: &'queries [Query],
    /// The trigger of the first query, once its first moment is known.
    trigger: Option<(Trigger, NameId)>,
}

impl Cursor<'_> {
    /// Leaves behind the queries that end before a moment.
    fn advance(&mut self, moment: i64) {
        while let [query, rest @ ..] = self.queries
            && query.returned <= moment
        {
            (self.queries, self.trigger) = (rest, None);
        }
    }
}

/// Lays the thread out once and hands what it did to every query that it overlaps.
fn walk(
    timeline: &Timeline,
    calls: &Calls,
    thread: u32,
    queries: &[(usize, Vec<Query>)],
    storms: &[Arc<Union>],
    keep: bool,
) -> Vec<(usize, IdleReading)> {
    let hosts = || queries.iter().flat_map(|(_, queries)| queries).map(|query| query.host());
    let (Some(first), Some(last)) = (hosts().map(|host| host.start).min(), hosts().map(|host| host.end).max()) else {
        return Vec::new();
    };
    let mut cursors: Vec<Cursor<'_>> = queries
        .iter()
        .map(|(device, queries)| Cursor {
            device: *device,
            reading: IdleReading { storms: storms.get(*device).cloned().unwrap_or_default(), ..IdleReading::default() },
            queries,
            trigger: None,
        })
        .collect();
    let process = timeline.process_of(thread);
    calls.lay_out(timeline, thread, Interval::new(first, last), |interval, activity, name| {
        for cursor in &mut cursors {
            cursor.advance(interval.start);
            while let [query, ..] = cursor.queries
                && query.stretch.start < interval.end
            {
                let part = query.host().clip(interval);
                let reading = &mut cursor.reading;
                let (trigger, trigger_name) =
                    *cursor.trigger.get_or_insert_with(|| reading.begin(process, query.stretch, activity, name));
                let piece = Piece { interval: part, activity, thread, trigger, trigger_name };
                reading.take(process, piece, name, keep);
                if query.is_guess && activity == Activity::Host {
                    reading.guessed_host_ns += part.len_ns();
                }
                if query.returned > interval.end {
                    break;
                }
                cursor.advance(query.returned);
            }
        }
    });
    cursors.into_iter().map(|cursor| (cursor.device, cursor.reading)).collect()
}

impl IdleReading {
    /// Takes in what was read on another thread.
    fn merge(&mut self, other: Self) {
        self.activity.iter_mut().zip(other.activity).for_each(|(own, other)| own.merge(other));
        self.trigger.iter_mut().zip(other.trigger).for_each(|(own, other)| *own += other);
        for (key, named) in other.calls {
            self.calls.entry(key).or_default().merge(named);
        }
        for (key, drained) in other.drained {
            let own = self.drained.entry(key).or_default();
            own.stretches.merge(drained.stretches);
            own.host_ns += drained.host_ns;
            own.tail_ns += drained.tail_ns;
        }
        self.guessed_ns += other.guessed_ns;
        self.guessed_host_ns += other.guessed_host_ns;
        self.storm_launch_ns += other.storm_launch_ns;
        self.pieces.extend(other.pieces);
    }

    /// Books a stretch under what the thread was doing when it began.
    fn begin(&mut self, process: u32, stretch: Interval, activity: Activity, name: NameId) -> (Trigger, NameId) {
        let trigger = Trigger::of(activity);
        self.trigger[trigger as usize] += stretch.len_ns();
        self.drained.entry((process, trigger, name)).or_default().stretches.add(stretch);
        (trigger, name)
    }

    /// Books a piece under what the thread was doing in it.
    fn take(&mut self, process: u32, piece: Piece, name: NameId, keep: bool) {
        let piece = Piece { activity: piece.activity.account(), ..piece };
        self.book(piece.activity, name, piece.interval);
        let drained = self.drained.entry((process, piece.trigger, piece.trigger_name)).or_default();
        match piece.activity {
            Activity::Sync => drained.tail_ns += piece.interval.len_ns(),
            Activity::Host | Activity::Blocked | Activity::Load | Activity::Allocate | Activity::Init => {
                drained.host_ns += piece.interval.len_ns();
            }
            _ => {}
        }
        if !keep {
            return;
        }
        match self.pieces.last_mut() {
            Some(last) if last.goes_on_in(&piece) => last.interval.end = piece.interval.end,
            _ => self.pieces.push(piece),
        }
    }
}

/// The thread that launches most operations of a device; of several, the first.
pub fn main_thread(timeline: &Timeline, device: &DeviceOps) -> Option<u32> {
    let mut launches: BTreeMap<u32, usize> = BTreeMap::new();
    for op in device.in_window().filter(|op| op.kind != OpKind::Migration) {
        let thread = op.call(timeline).and_then(|call| timeline.api.thread.get(call as usize)).copied();
        if let Some(thread) = thread.filter(|thread| *thread != NONE) {
            *launches.entry(thread).or_default() += 1;
        }
    }
    launches.into_iter().max_by_key(|(thread, count)| (*count, std::cmp::Reverse(*thread))).map(|(thread, _)| thread)
}

/// The time of a window in which a thread does not merely wait for the device.
pub fn host_work_ns(timeline: &Timeline, calls: &Calls, thread: u32, window: Interval) -> i64 {
    let mut waiting = 0;
    calls.lay_out(timeline, thread, window, |interval, activity, _| {
        if activity.waits_for_device() {
            waiting += interval.len_ns();
        }
    });
    window.len_ns() - waiting
}
