//! Rounds of calls: the same few calls, over and over, on the thread that launches most work of a device.

use std::ops::Range;

use foldhash::HashSet;

use super::stats::main_count;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::text::cut;
use crate::timeline::NameId;
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;

/// Calls that are looked at, the first of the window: a loop shows in them.
const MAX_CALL_COUNT: usize = 200_000;
/// Rounds of more calls are steps of a program, not a loop around a launch.
const MAX_ROUND: usize = 24;
/// Rounds of fewer calls are hardly more than a launch.
const MIN_ROUND: usize = 3;
/// Fewer rounds are no habit.
const ENOUGH: usize = 50;
/// The part of the calls that must be like the one a round before.
const LIKE_SHARE: f64 = 0.9;

/// What calls that take memory from a pool begin with.
const POOL_CALLS: [&str; 4] =
    ["cudaMallocAsync", "cudaMallocFromPoolAsync", "cuMemAllocAsync", "cuMemAllocFromPoolAsync"];
/// Calls of the driver that only ask what a kernel is called, as at each launch under a profiler: no part of a program's loop.
const NAME_CALLS: [&str; 2] = ["cuKernelGetName", "cuFuncGetName"];
/// Names of calls are short; a report may hold others.
pub(super) const MAX_LISTED_BYTES: usize = 600;

/// The calls of one round, in order.
struct Round {
    names: Vec<NameId>,
    /// Where the rounds begin and end among all calls.
    span: Range<usize>,
    /// How many there are: other calls may lie between them.
    count: usize,
}

impl Round {
    /// The shortest round that most calls repeat.
    fn find(names: &[NameId]) -> Option<Self> {
        let length = (1..=MAX_ROUND).find(|length| Self::is_length(names, *length))?;
        if length < MIN_ROUND {
            return None;
        }
        // Set-up may repeat a call as well: a round is what is repeated in the middle.
        let (middle, end) = (names.len() / 2, names.len().checked_sub(2 * length)?);
        let repeats = |at: &usize| names[*at..*at + length] == names[*at + length..*at + 2 * length];
        let at = (middle.min(end)..=end).take(MAX_ROUND * MAX_ROUND).find(repeats)?;
        let round = &names[at..at + length];
        let first = names.windows(length).position(|calls| calls == round)?;
        let last = names.windows(length).rposition(|calls| calls == round)?;
        let span = first..last + length;
        let (mut at, mut count) = (first, 0);
        while at < span.end {
            let is_round = names.get(at..at + length) == Some(round);
            count += usize::from(is_round);
            at += if is_round { length } else { 1 };
        }
        Some(Self { names: round.to_vec(), span, count })
    }

    fn is_length(names: &[NameId], length: usize) -> bool {
        let pairs = names.len().saturating_sub(length);
        pairs >= length * ENOUGH && like(names, length) as f64 >= LIKE_SHARE * pairs as f64
    }

    /// Begun where memory is allocated, or else where something is copied.
    fn begin(&mut self, class: impl Fn(NameId) -> ApiClass, is_free: impl Fn(NameId) -> bool) {
        let allocates = |name: NameId| class(name) == ApiClass::Allocate && !is_free(name);
        let copies = |name: NameId| matches!(class(name), ApiClass::CopyAsync | ApiClass::CopyBlocking);
        let length = self.names.len();
        let begins = |first: &dyn Fn(NameId) -> bool| {
            (0..length).find(|at| first(self.names[*at]) && !first(self.names[(at + length - 1) % length]))
        };
        if let Some(first) = begins(&allocates).or_else(|| begins(&copies)) {
            self.names.rotate_left(first);
        }
    }
}

/// How many calls have the same name as the one a round later.
fn like(names: &[NameId], length: usize) -> usize {
    names.iter().zip(names.iter().skip(length)).filter(|(this, later)| this == later).count()
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let Some(thread) = device.main_thread else { return };
    let window = device.window();
    let calls = context.calls.of_thread(thread).iter().copied();
    let calls = calls.filter(|call| timeline.api.times.at(*call as usize).overlap_ns(window) > 0);
    let asking = context.called(|name| NAME_CALLS.iter().any(|call| name.starts_with(call)));
    let calls = calls.filter(|call| !asking.contains(&timeline.api.name[*call as usize]));
    let calls: Vec<u32> = calls.take(MAX_CALL_COUNT).collect();
    let names: Vec<NameId> = calls.iter().map(|call| timeline.api.name[*call as usize]).collect();
    let Some(mut round) = Round::find(&names) else { return };
    let class = |name: NameId| context.calls.class.get(name as usize).copied().unwrap_or(ApiClass::Other);
    let is_free = |name: NameId| timeline.name(name).contains("Free");
    round.begin(class, is_free);
    let count_of =
        |counts: &dyn Fn(ApiClass) -> bool| round.names.iter().filter(|name| counts(class(**name))).count() as i64;
    facts.set("call_round_count", round.count as i64);
    facts.set("call_round_call_count", round.names.len() as i64);
    facts.set("call_round_calls", listed(&round.names, |name| timeline.name(name)));
    facts.set("call_round_launch_count", count_of(&|class| class == ApiClass::Launch));
    facts.set("call_round_allocation_count", count_of(&|class| class == ApiClass::Allocate));
    facts.set("call_round_wait_count", count_of(&|class| matches!(class, ApiClass::Wait(_) | ApiClass::CopyBlocking)));
    facts.set("call_round_free_count", round.names.iter().filter(|name| is_free(**name)).count() as i64);
    let all = || calls[round.span.clone()].iter().map(|call| timeline.api.times.at(*call as usize));
    let named = || names[round.span.clone()].iter().copied().zip(all().map(|call| call.overlap_ns(window)));
    set_time(&round, named, |name| timeline.name(name), facts);
    let of_round: HashSet<NameId> = round.names.iter().copied().collect();
    let own = || names[round.span.clone()].iter().zip(all()).filter(|(name, _)| of_round.contains(*name));
    facts.set("call_round_call_idle_ns", idle_within(own().map(|(_, call)| call.clip(window)), device));
    let sets_up = own().filter(|(name, _)| class(**name) == ApiClass::Init);
    facts.set("call_round_init_idle_ns", idle_within(sets_up.map(|(_, call)| call.clip(window)), device));
    let whole = all().reduce(Interval::hull);
    if let Some(whole) = whole.map(|whole| whole.clip(window)) {
        facts.set("call_round_idle_ns", whole.len_ns() - device.busy_within(whole));
        facts.set("call_round_ns", whole.len_ns());
        facts.set("call_round_start_ns", whole.start);
    }
}

/// The time within calls, by start, in which the device runs nothing; what lies within another call counts once.
pub(super) fn idle_within(calls: impl Iterator<Item = Interval>, device: &DeviceContext) -> i64 {
    let (mut idle_ns, mut until) = (0_i64, i64::MIN);
    for call in calls {
        let rest = Interval::new(call.start.max(until), call.end);
        if rest.start < rest.end {
            // The first launch of a kernel loads its code: that is no part of a round.
            let loading_ns = device.idle().loads.overlap_ns(rest);
            idle_ns = idle_ns.saturating_add((rest.len_ns() - device.busy_within(rest) - loading_ns).max(0));
            until = rest.end;
        }
    }
    idle_ns
}

/// The time in the calls of the rounds, and which of them takes the most. Others may stand between the rounds.
fn set_time<'names, I: Iterator<Item = (NameId, i64)>>(
    round: &Round,
    calls: impl Fn() -> I,
    text: impl Fn(NameId) -> &'names str,
    facts: &mut Entity,
) {
    let mut names = round.names.clone();
    names.sort_unstable();
    names.dedup();
    let of = |name: NameId| calls().filter(move |(of, _)| *of == name).map(|(_, ns)| ns);
    let mut times: Vec<(i64, NameId)> = names.into_iter().map(|name| (0, name)).collect();
    for (name, ns) in calls() {
        if let Ok(place) = times.binary_search_by_key(&name, |(_, known)| *known) {
            times[place].0 = times[place].0.saturating_add(ns);
        }
    }
    facts.set("call_round_call_ns", times.iter().map(|(ns, _)| *ns).fold(0_i64, i64::saturating_add));
    set_pool(times.iter().map(|(_, name)| *name), &calls, &text, facts);
    let Some((most_ns, most)) = times.into_iter().max() else { return };
    let lengths: Vec<i64> = of(most).collect();
    facts.set("call_round_longest_call", text(most));
    facts.set("call_round_longest_call_ns", most_ns);
    facts.set("call_round_longest_call_count", lengths.len() as i64);
    facts.set("call_round_longest_call_main_count", main_count(lengths));
}

/// Of the calls that take memory from a pool, how few hold most of the time: these ask the driver.
fn set_pool<'names, I: Iterator<Item = (NameId, i64)>>(
    names: impl Iterator<Item = NameId>,
    calls: impl Fn() -> I,
    text: impl Fn(NameId) -> &'names str,
    facts: &mut Entity,
) {
    let of_pool: Vec<NameId> =
        names.filter(|name| POOL_CALLS.iter().any(|call| text(*name).starts_with(call))).collect();
    let lengths: Vec<i64> = calls().filter(|(name, _)| of_pool.contains(name)).map(|(_, ns)| ns).collect();
    if lengths.is_empty() {
        return;
    }
    let sum_ns = lengths.iter().copied().fold(0_i64, i64::saturating_add);
    facts.set("call_round_pool_call_count", lengths.len() as i64);
    facts.set("call_round_pool_call_ns", sum_ns);
    facts.set("call_round_pool_call_main_count", main_count(lengths));
}

/// `cudaMalloc, 2 cudaMemcpy, cudaLaunchKernel, cudaFree`.
fn listed<'names>(names: &[NameId], text: impl Fn(NameId) -> &'names str) -> String {
    let runs = names.chunk_by(|a, b| a == b);
    let runs = runs.map(|run| match run {
        [one] => text(*one).to_owned(),
        several => format!("{} {}", several.len(), text(several[0])),
    });
    cut::to_bytes(&runs.collect::<Vec<_>>().join(", "), MAX_LISTED_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_between_rounds_are_no_rounds() {
        let mut names = [1, 2, 3].repeat(40);
        names.extend([7, 8, 9, 9, 9, 8]);
        names.extend([1, 2, 3].repeat(40));
        assert_eq!(Round::find(&names).map(|round| round.count), Some(80));
    }

    #[test]
    fn rounds_are_found_between_set_up_and_end() {
        let mut names = vec![90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 91, 92, 91];
        names.extend([1, 2, 2, 3, 4].repeat(60));
        names.push(93);
        let round = Round::find(&names).expect("repeats");
        let mut sorted = round.names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 2, 3, 4]);
        assert_eq!((round.count, round.span), (59, 17..312));
        assert_eq!(listed(&[1, 2, 2, 3], |name| ["", "a", "b", "c"][name as usize]), "a, 2 b, c");
    }

    #[test]
    fn what_hardly_repeats_has_no_rounds() {
        let varied: Vec<u32> = (0..500_u32).map(|index| index * index % 97).collect();
        assert!(Round::find(&varied).is_none());
        assert!(Round::find(&[1, 2, 3].repeat(20)).is_none());
        assert!(Round::find(&[1].repeat(900)).is_none() && Round::find(&[1, 2].repeat(900)).is_none());
        assert!(Round::find(&[]).is_none());
    }
}
