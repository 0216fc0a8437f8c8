//! The calls of each process by name and by what they do, but for short ones that only launch: every device asks how many of a kind lie
//! in its window, and how long they take there or beside its work. That is told by where they begin and end, whatever their number.

use std::sync::OnceLock;

use foldhash::HashMap;

use super::followed::Followed;
use super::os_waits::LONG_CALL_NS;
use super::sleeps::Sleeps;
use super::{Context, DeviceContext};
use crate::ledger::Activity;
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Times};

/// Calls of one process that have one name and do one thing.
pub(super) struct Kind {
    pub(super) name: NameId,
    pub(super) activity: Activity,
    pub(super) class: ApiClass,
    pub(super) calls: Spans,
    /// Those of them that wait for a device while the thread sleeps in the operating system.
    pub(super) slept: Spans,
}

impl Kind {
    /// Whether these wait for a device.
    pub(super) const fn waits(&self) -> bool {
        matches!(self.class, ApiClass::Wait(_))
    }
}

/// So many calls share a sum of those before them.
const BLOCK: usize = 64;
/// Calls that are so many times the parts of a union are not held against it one by one, but each part against them.
const MANY_TIMES: usize = 64;

/// What some calls add up to.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    moments: i128,
    lengths: i128,
}

/// Calls in the order of their begins, or of their ends.
#[derive(Debug)]
struct Ordered {
    moment: fn(Interval) -> i64,
    calls: Vec<u32>,
    /// Of all before each block.
    sums: Vec<Sums>,
}

impl Ordered {
    fn new(times: &Times, mut calls: Vec<u32>, moment: fn(Interval) -> i64) -> Self {
        let at = |call: u32| times.at(call as usize);
        // Those of each thread are in order, or nearly: this sort makes use of that.
        calls.sort_by_key(|call| moment(at(*call)));
        calls.shrink_to_fit();
        let mut sums = vec![Sums::default()];
        for block in calls.chunks_exact(BLOCK) {
            let before = sums.last().copied().unwrap_or_default();
            sums.push(block.iter().fold(before, |sums, call| sums.and(moment, at(*call))));
        }
        Self { moment, calls, sums }
    }

    /// How many come before a moment.
    fn count(&self, times: &Times, moment: i64) -> usize {
        self.calls.partition_point(|call| (self.moment)(times.at(*call as usize)) < moment)
    }

    /// What so many of the first add up to.
    fn sums(&self, times: &Times, count: usize) -> Sums {
        let block = count / BLOCK;
        let rest = self.calls.get(block * BLOCK..count).unwrap_or_default();
        let before = self.sums.get(block).copied().unwrap_or_default();
        rest.iter().fold(before, |sums, call| sums.and(self.moment, times.at(*call as usize)))
    }
}

impl Sums {
    fn and(self, moment: fn(Interval) -> i64, call: Interval) -> Self {
        Self { moments: self.moments + i128::from(moment(call)), lengths: self.lengths + i128::from(call.len_ns()) }
    }
}

/// When calls begin and end. None ends before it begins.
#[derive(Debug)]
pub(super) struct Spans {
    starts: Ordered,
    ends: Ordered,
}

impl Spans {
    /// Of calls in any order.
    fn new(times: &Times, calls: Vec<u32>) -> Self {
        let starts = Ordered::new(times, calls, |call| call.start);
        let ends = Ordered::new(times, starts.calls.clone(), |call| call.end);
        Self { starts, ends }
    }

    /// All, by start.
    pub(super) fn all(&self) -> &[u32] {
        &self.starts.calls
    }

    /// Those of a window, by start.
    pub(super) fn within<'all>(&'all self, times: &'all Times, window: Interval) -> impl Iterator<Item = u32> + 'all {
        within(times, self.all(), window)
    }

    /// How many of them lie in a window.
    pub(super) fn count(&self, times: &Times, window: Interval) -> i64 {
        if window.len_ns() == 0 {
            return self.within(times, window).count() as i64;
        }
        let [begun, ended] = self.edges(times, window);
        begun as i64 - ended as i64
    }

    /// How long those of a window take, inside and outside of it.
    pub(super) fn whole_ns(&self, times: &Times, window: Interval) -> i64 {
        if window.len_ns() == 0 {
            let within = self.within(times, window).map(|call| times.at(call as usize).len_ns());
            return within.fold(0, i64::saturating_add);
        }
        let [begun, ended] = self.edges(times, window);
        clamped(self.starts.sums(times, begun).lengths - self.ends.sums(times, ended).lengths)
    }

    /// How many begin before a window ends, and how many end by when it begins.
    fn edges(&self, times: &Times, window: Interval) -> [usize; 2] {
        [self.starts.count(times, window.end), self.ends.count(times, window.start.saturating_add(1))]
    }

    /// How long they take inside of an interval, one beside the other.
    pub(super) fn inside_ns(&self, times: &Times, interval: Interval) -> i64 {
        clamped(self.inside(times, interval))
    }

    /// How long they take inside of a window while a device runs something.
    pub(super) fn beside_ns(&self, times: &Times, window: Interval, busy: &Union) -> i64 {
        if self.all().len() / MANY_TIMES <= busy.parts().len() {
            let mut busy = Followed::new(busy);
            let beside = self.within(times, window).map(|call| busy.overlap_ns(times.at(call as usize).clip(window)));
            return beside.fold(0, i64::saturating_add);
        }
        clamped(busy.parts().map(|part| self.inside(times, part.clip(window))).sum())
    }

    fn inside(&self, times: &Times, interval: Interval) -> i128 {
        if interval.len_ns() == 0 { 0 } else { self.before(times, interval.end) - self.before(times, interval.start) }
    }

    /// Nanoseconds that all of them take before a moment.
    fn before(&self, times: &Times, moment: i64) -> i128 {
        let (begun, ended) = (self.starts.count(times, moment), self.ends.count(times, moment));
        let moments = self.starts.sums(times, begun).moments - self.ends.sums(times, ended).moments;
        (begun as i128 - ended as i128) * i128::from(moment) - moments
    }

    /// How many of them end in stretches one after the other, from the first to the last moment of each.
    pub(super) fn ended_count(&self, times: &Times, stretches: impl Iterator<Item = [i64; 2]>) -> i64 {
        let (calls, mut near) = (&self.ends.calls, [Near::default(); 2]);
        let end = |place: usize| calls.get(place).map_or(i64::MAX, |call| times.end(*call as usize));
        let counts = stretches.map(|[first, last]| {
            let before = near[0].partition_point(calls.len(), |place| end(place) < first);
            let all = near[1].partition_point(calls.len(), |place| end(place) <= last);
            all.saturating_sub(before) as i64
        });
        counts.sum()
    }
}

fn clamped(ns: i128) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Of calls by start those of a window.
fn within<'all>(times: &'all Times, calls: &'all [u32], window: Interval) -> impl Iterator<Item = u32> + 'all {
    let (early, rest) = split(times, calls, window);
    early.chain(rest.iter().copied())
}

/// Those that begin before it, of which each is looked at, and the others.
pub(super) fn split<'all>(
    times: &'all Times,
    calls: &'all [u32],
    window: Interval,
) -> (impl Iterator<Item = u32> + 'all, &'all [u32]) {
    let begun = |moment: i64| calls.partition_point(|call| times.start(*call as usize) < moment);
    let end = begun(window.end);
    let first = begun(window.start.saturating_add(1)).min(end);
    let (early, rest) = (calls.get(..first).unwrap_or_default(), calls.get(first..end).unwrap_or_default());
    (early.iter().copied().filter(move |call| times.end(*call as usize) > window.start), rest)
}

/// The calls of one process.
pub(super) struct OfProcess {
    pub(super) kinds: Vec<Kind>,
    waits: OnceLock<Waits>,
}

impl OfProcess {
    fn new(context: &Context<'_>, process: u32) -> Self {
        let timeline = context.timeline;
        let mut calls: HashMap<(NameId, Activity), Vec<u32>> = HashMap::default();
        let (mut last, mut of_last) = (None, Vec::new());
        for call in context.calls_of(process, None) {
            let Some(activity) = context.calls.activity.get(call as usize).copied() else { continue };
            let is_launch = activity == Activity::Launch && context.calls.class_of(timeline, call) == ApiClass::Launch;
            if is_launch && timeline.api.times.at(call as usize).len_ns() < LONG_CALL_NS {
                continue;
            }
            let kind = (timeline.api.name[call as usize], activity);
            if last != Some(kind) {
                // Calls of one kind mostly follow each other.
                if let Some(last) = last.replace(kind) {
                    calls.insert(last, of_last);
                }
                of_last = calls.remove(&kind).unwrap_or_default();
            }
            of_last.push(call);
        }
        calls.extend(last.map(|last| (last, of_last)));
        let mut sleeps = Sleeps::new(context);
        let kinds = calls.into_iter().map(|(kind, calls)| Kind::new(context, kind, calls, &mut sleeps));
        let mut kinds: Vec<Kind> = kinds.collect();
        kinds.sort_unstable_by_key(|kind| (kind.name, kind.activity));
        Self { kinds, waits: OnceLock::new() }
    }
}

impl Kind {
    fn new(
        context: &Context<'_>,
        (name, activity): (NameId, Activity),
        calls: Vec<u32>,
        sleeps: &mut Sleeps<'_>,
    ) -> Self {
        let class = context.calls.class.get(name as usize).copied().unwrap_or(ApiClass::Other);
        let times = &context.timeline.api.times;
        let is_wait = matches!(class, ApiClass::Wait(_));
        let slept = calls.iter().copied().filter(|call| is_wait && sleeps.lie_in(*call)).collect();
        Self { name, activity, class, calls: Spans::new(times, calls), slept: Spans::new(times, slept) }
    }
}

/// The calls of processes in which the host may wait, each list by start.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Those that wait for a device.
    pub(super) for_device: Vec<u32>,
    /// Those that make a stream wait for an event.
    pub(super) of_streams: Vec<u32>,
    /// Those that wait, or may do so, for whatever it is.
    for_any: Vec<u32>,
    /// When the last of those ends up to each of these.
    until: Vec<i64>,
    /// Those that ask for work, and may wait until there is room for it.
    pub(super) for_room: Vec<u32>,
}

impl Waits {
    fn new<'all>(context: &Context<'_>, kinds: impl Iterator<Item = &'all Kind>) -> Self {
        let (timeline, times) = (context.timeline, &context.timeline.api.times);
        let mut waits = Self::default();
        for kind in kinds {
            let asks = matches!(kind.class, ApiClass::Launch | ApiClass::Memset | ApiClass::Init | ApiClass::Other);
            let all = kind.calls.all();
            let longer_than = |least: i64| {
                let is_longer = move |call: &u32| times.at(*call as usize).len_ns() > least;
                all.iter().copied().filter(is_longer)
            };
            if kind.waits() {
                waits.for_device.extend(all);
            } else if timeline.name(kind.name).ends_with("StreamWaitEvent") {
                waits.of_streams.extend(all);
            }
            if asks {
                waits.for_room.extend(longer_than(LONG_CALL_NS - 1));
            } else {
                waits.for_any.extend(longer_than(0));
            }
        }
        let start = |call: &u32| times.start(*call as usize);
        for list in [&mut waits.for_device, &mut waits.of_streams, &mut waits.for_any, &mut waits.for_room] {
            // Those of each kind are in order: this sort makes use of that.
            list.sort_by_key(start);
            list.shrink_to_fit();
        }
        let mut until = i64::MIN;
        let ends = waits.for_any.iter().map(|call| {
            until = until.max(times.end(*call as usize));
            until
        });
        waits.until = ends.collect();
        waits
    }

    /// Whether any that may wait lies in a time; those that are asked about one after the other lie near each other.
    pub(super) fn overlap(&self, times: &Times, time: Interval, near: &mut Near) -> bool {
        let is_begun =
            |place: usize| self.for_any.get(place).is_some_and(|call| times.start(*call as usize) < time.end);
        let begun = near.partition_point(self.for_any.len(), is_begun);
        let until = begun.checked_sub(1).and_then(|last| self.until.get(last));
        time.len_ns() > 0 && until.is_some_and(|until| *until > time.start)
    }
}

/// The calls of a device that wait: of each of its processes, or, where these are many, of all of them together.
pub(super) enum DeviceWaits<'all> {
    OfEach(Vec<(u32, &'all Waits)>),
    OfAll(Box<Waits>),
}

/// More processes are not asked one by one.
const MANY_PROCESSES: usize = 8;

impl DeviceWaits<'_> {
    pub(super) fn lists(&self) -> impl Iterator<Item = &Waits> {
        self.of_each().map(|(_, waits)| waits)
    }

    /// Those of each process; without the process where there are too many to tell them apart.
    pub(super) fn of_each(&self) -> impl Iterator<Item = (Option<u32>, &Waits)> {
        let (each, all) = match self {
            Self::OfEach(each) => (each.as_slice(), None),
            Self::OfAll(all) => (&[][..], Some(&**all)),
        };
        let all = all.map(|waits| (None, waits));
        each.iter().map(|(process, waits)| (Some(*process), *waits)).chain(all)
    }
}

impl DeviceContext {
    /// The kinds of calls of its processes, each with the process.
    pub(super) fn call_kinds<'all>(
        &'all self,
        context: &'all Context<'_>,
    ) -> impl Iterator<Item = (u32, &'all Kind)> + 'all {
        let of_process = |process: &u32| context.call_kinds().get(*process as usize);
        let known = self.processes.iter().filter_map(move |process| Some((*process, of_process(process)?)));
        known.flat_map(|(process, of_process)| of_process.kinds.iter().map(move |kind| (process, kind)))
    }

    /// Their calls that wait.
    pub(super) fn waits<'all>(&self, context: &'all Context<'_>) -> DeviceWaits<'all> {
        let of_process = |process: &u32| context.call_kinds().get(*process as usize);
        let known = self.processes.iter().filter_map(|process| Some((*process, of_process(process)?)));
        if self.processes.len() > MANY_PROCESSES {
            let kinds = known.flat_map(|(_, process)| &process.kinds);
            return DeviceWaits::OfAll(Box::new(Waits::new(context, kinds)));
        }
        let waits = |process: &'all OfProcess| process.waits.get_or_init(|| Waits::new(context, process.kinds.iter()));
        DeviceWaits::OfEach(known.map(|(process, kinds)| (process, waits(kinds))).collect())
    }
}

/// By process.
pub(super) fn by_process(context: &Context<'_>) -> Vec<OfProcess> {
    (0..context.timeline.processes.len() as u32).map(|process| OfProcess::new(context, process)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Start, length.
    type Call = (i64, i64);

    fn intervals(all: &[Call]) -> Vec<Interval> {
        all.iter().map(|(start, length)| Interval::new(*start, start + length)).collect()
    }

    proptest! {
        #[test]
        fn what_calls_add_up_to_is_what_one_finds_who_looks_at_each(
            all in proptest::collection::vec((0..60_i64, 0..30_i64), 0..300),
            (start, length) in (0..70_i64, 0..40_i64),
            busy in proptest::collection::vec((0..80_i64, 0..5_i64), 0..4),
            stretches in proptest::collection::vec((1..6_i64, 0..6_i64), 0..9),
        ) {
            let all = intervals(&all);
            let times: Times = all.iter().copied().collect();
            let spans = Spans::new(&times, (0..all.len() as u32).collect());
            let window = Interval::new(start, start + length);
            let is_within = |call: &&Interval| call.start < window.end && call.end > window.start;
            let within: Vec<Interval> = all.iter().filter(is_within).copied().collect();
            let sum = |ns: &dyn Fn(&Interval) -> i64| within.iter().map(ns).sum::<i64>();
            let mut found: Vec<u32> = spans.within(&times, window).collect();
            prop_assert!(found.is_sorted_by_key(|call| all[*call as usize].start));
            found.sort_unstable();
            let expected: Vec<u32> = (0_u32..).zip(&all).filter(|(_, call)| is_within(call)).map(|(call, _)| call).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(spans.count(&times, window), within.len() as i64);
            prop_assert_eq!(spans.whole_ns(&times, window), sum(&|call| call.len_ns()));
            prop_assert_eq!(spans.inside_ns(&times, window), sum(&|call| call.overlap_ns(window)));
            let busy = Union::of(intervals(&busy));
            prop_assert_eq!(spans.beside_ns(&times, window, &busy), sum(&|call| busy.overlap_ns(call.clip(window))));
            let mut last = -1;
            let stretches: Vec<[i64; 2]> = stretches.into_iter().map(|(distance, length)| {
                let first = last + distance;
                last = first + length;
                [first, last]
            }).collect();
            let ends = |[first, last]: &[i64; 2]| all.iter().filter(|call| (*first..=*last).contains(&call.end)).count();
            prop_assert_eq!(spans.ended_count(&times, stretches.iter().copied()), stretches.iter().map(ends).sum::<usize>() as i64);
        }
    }

    #[test]
    fn times_out_of_all_proportion_do_not_wrap() {
        let far = i64::MAX / 4;
        let times: Times = [(0, far), (0, far), (-far, 3 * far), (5, 1)]
            .map(|(start, length)| Interval::new(start, start + length))
            .into_iter()
            .collect();
        let spans = Spans::new(&times, (0..4).collect());
        let window = Interval::new(-far, far);
        assert_eq!((spans.count(&times, window), spans.inside_ns(&times, window)), (4, 4 * far + 1));
        assert_eq!(spans.whole_ns(&times, window), i64::MAX);
    }
}
