//! Facts of values that the host reads back one at a time: tiny copies to the host that it waits for.

use foldhash::HashSet;

use super::{Context, DeviceContext, operators, source_lines};
use crate::facts::Entity;
use crate::ledger::accounts::SourceFacts;
use crate::ledger::idle::Copies;
use crate::ledger::{Activity, Op, OpKind};
use crate::timeline::Timeline;
use crate::timeline::api::ApiClass;
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::union::Follower;

/// A value or a few of them read back are at most this long: the wait costs more than the bytes.
const READBACK_BYTES: i64 = 16 << 10;
/// So many operations from a checking kernel on, that one included, are part of the check.
const CHECKED_COUNT: usize = 4;
/// A wait that begins this soon after a copy call waits for that copy.
const SOON_NS: i64 = 50_000;

/// The facts of the line that reads most of them back.
const SOURCE: SourceFacts = SourceFacts {
    place: "scalar_readback_source",
    share: "scalar_readback_source_share",
    is_in_project: "is_scalar_readback_source_in_project",
};

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    if !device.knows_host || timeline.api.is_empty() {
        return;
    }
    let (mut first, mut least_bytes) = (None, None::<i64>);
    // All copies of a graph have one call, and the host waits for them once.
    let (mut readbacks, mut waits) = (HashSet::default(), HashSet::default());
    let fetched = fetched(timeline, device);
    let (mut kernels, mut exposed_pinned_ns) = (Follower::new(&device.tally.kernels_run), 0_i64);
    let mut last = 0;
    for op in unchecked_copies(timeline, device) {
        let index = op.index as usize;
        let is_tiny = timeline.copies.bytes[index] <= READBACK_BYTES
            && timeline.copies.direction[index] == Direction::DeviceToHost;
        if !is_tiny || fetched.contains(&op.index) {
            continue;
        }
        let own = op.call(timeline).map(|call| waits_of(context, call, &mut last)).unwrap_or_default();
        if !own.is_empty() {
            first = first.or(Some(op.start));
            let bytes = timeline.copies.bytes[index];
            least_bytes = Some(least_bytes.map_or(bytes, |least| least.min(bytes)));
            readbacks.insert(op.index);
            waits.extend(own);
            if timeline.copies.host_memory[index] == HostMemory::Pinned {
                let part = op.interval().clip(device.window());
                exposed_pinned_ns = exposed_pinned_ns.saturating_add(part.len_ns() - kernels.overlap_ns(part));
            }
        }
    }
    set_origin(timeline, &readbacks, facts);
    let is_beside = |copies: Copies| [copies.before, copies.after].into_iter().any(|copy| readbacks.contains(&copy));
    let idle = device.idle();
    let beside = idle.beside_copies.iter().filter(|stretch| is_beside(stretch.copies));
    let beside = beside.map(|stretch| stretch.idle_ns);
    let (idle_ns, longest_ns) = (beside.clone().sum::<i64>(), beside.max().unwrap_or(0));
    let won = idle.won_beside_copies.iter().filter(|stretch| is_beside(stretch.copies));
    let won_ns = won.map(|stretch| stretch.won_ns).sum::<i64>();
    facts.set("scalar_readback_count", readbacks.len() as i64);
    facts.set_some("scalar_readback_least_bytes", least_bytes);
    facts.set("scalar_readback_exposed_pinned_ns", exposed_pinned_ns);
    let all_ns = all_waits_ns(context, device);
    if all_ns > 0 {
        let own = waits.iter().filter(|call| is_of_device(timeline, device, **call));
        let lengths = own.map(|call| timeline.api.times.at(*call as usize).len_ns());
        let own_ns = lengths.fold(0, i64::saturating_add);
        facts.set("scalar_readback_wait_share", own_ns as f64 / all_ns as f64);
    }
    let told = idle.host_beside_copies.iter().filter(|stretch| is_beside(stretch.copies));
    let other_causes_ns = told.map(|stretch| stretch.other_causes_ns).sum::<i64>();
    facts.set("scalar_readback_idle_ns", idle_ns - other_causes_ns);
    facts.set("scalar_readback_other_causes_ns", other_causes_ns);
    facts.set("scalar_readback_longest_ns", longest_ns);
    facts.set_some("scalar_readback_run_ahead_ns", device.overlap_ceiling().map(|ceiling| ceiling.min(won_ns)));
    facts.set_some("scalar_readback_first_start_ns", first);
}

/// Sets the line, and the operator, that most of them come from.
fn set_origin(timeline: &Timeline, readbacks: &HashSet<u32>, facts: &mut Entity) {
    let calls = readbacks.iter().map(|copy| timeline.copies.ops.call[*copy as usize]);
    source_lines::set_place(timeline, SOURCE, source_lines::of_calls(timeline, calls.clone()), facts);
    if let Some((operator, count)) = operators::outermost_of(timeline, calls) {
        facts.set("scalar_readback_operator", timeline.name(operator));
        facts.set("scalar_readback_operator_share", count as f64 / readbacks.len().max(1) as f64);
    }
}

/// More calls that copy to the host than these with no kernel between fetch or save what was computed: nothing could be launched ahead
/// there. All copies of a graph are of one call.
const FETCH_COUNT: usize = 8;

/// The copies to the host that come in such a run.
fn fetched(timeline: &Timeline, device: &DeviceContext) -> HashSet<u32> {
    let (mut fetched, mut run) = (HashSet::default(), Vec::new());
    if device.ops.copies_in_window().nth(FETCH_COUNT).is_none() {
        return fetched;
    }
    for op in device.ops.in_window() {
        let is_to_host = || timeline.copies.direction[op.index as usize] == Direction::DeviceToHost;
        match op.kind {
            OpKind::Copy if is_to_host() => run.push((op.index, op.call(timeline))),
            OpKind::Kernel | OpKind::Graph | OpKind::Communication => end_run(&mut run, &mut fetched),
            _ => {}
        }
    }
    end_run(&mut run, &mut fetched);
    fetched
}

fn end_run(run: &mut Vec<(u32, Option<u32>)>, fetched: &mut HashSet<u32>) {
    let calls = run.chunk_by(|(_, one), (_, next)| one.is_some() && one == next);
    if calls.count() > FETCH_COUNT {
        fetched.extend(run.iter().map(|(index, _)| *index));
    }
    run.clear();
}

/// The copies but for those behind a kernel that checks.
fn unchecked_copies(timeline: &Timeline, device: &DeviceContext) -> Vec<Op> {
    let checkers = checkers(timeline);
    if !checkers.contains(&true) {
        return device.ops.copies_in_window().collect();
    }
    let mut since_checker = CHECKED_COUNT;
    let mut copies = Vec::new();
    for op in device.ops.in_window() {
        since_checker = if is_checker(timeline, &checkers, op) { 0 } else { since_checker.saturating_add(1) };
        if op.kind == OpKind::Copy && since_checker >= CHECKED_COUNT {
            copies.push(op);
        }
    }
    copies
}

/// By index of the name, whether kernels of that name look for what another kernel wrote beside its buffers, as TensorFlow and
/// XLA do when they try which algorithm is fastest. What is read back behind them is no value of the program.
fn checkers(timeline: &Timeline) -> Vec<bool> {
    let mut is_checker = vec![None; timeline.names.len()];
    for shape in &timeline.kernels.shapes {
        if let Some(is_checker) = is_checker.get_mut(shape.name as usize) {
            is_checker.get_or_insert_with(|| timeline.name(shape.name).contains("redzone_checker"));
        }
    }
    is_checker.into_iter().map(|is_checker| is_checker.unwrap_or(false)).collect()
}

fn is_checker(timeline: &Timeline, checkers: &[bool], op: Op) -> bool {
    let name = (op.kind == OpKind::Kernel).then(|| timeline.kernels.shape_of(op.index).name);
    name.and_then(|name| checkers.get(name as usize)).copied().unwrap_or(false)
}

/// Where the first call stands of which something does not hold that holds for all before it: looked for near the last one that was
/// asked for.
fn behind(calls: &[u32], last: usize, holds: impl Fn(u32) -> bool) -> usize {
    let does_not = |at: usize| calls.get(at).is_none_or(|call| !holds(*call));
    let from = if last > 0 && does_not(last - 1) { 0 } else { last };
    let mut reach = 1;
    while !does_not(from.saturating_add(reach)) {
        reach *= 2;
    }
    let until = from.saturating_add(reach).min(calls.len());
    from + calls[from.min(until)..until].partition_point(|call| holds(*call))
}

/// The calls in which the host waits for what a copy call asked for: that call, and a wait right before it, or the thread's next
/// one, a wait. Empty where it does not wait.
fn waits_of(context: &Context<'_>, call: u32, last: &mut usize) -> Vec<u32> {
    let timeline = context.timeline;
    let calls = context.calls.of_thread(timeline.api.thread[call as usize]);
    let start = |call: u32| timeline.api.times.start(call as usize);
    let end = |call: u32| timeline.api.times.end(call as usize);
    let waits = |call: &u32| matches!(context.calls.class_of(timeline, *call), ApiClass::Wait(_));
    let after = behind(calls, *last, |other| (start(other), other) <= (start(call), call));
    *last = after;
    if context.calls.activity.get(call as usize) == Some(&Activity::CopyCall) {
        // Whoever waits right before a copy that waits by itself waits for what it is to read.
        let before = after.checked_sub(2).and_then(|before| calls.get(before)).copied();
        let before = before.filter(waits).filter(|before| (0..SOON_NS).contains(&(start(call) - end(*before))));
        return before.into_iter().chain([call]).collect();
    }
    let next = calls[after..].iter().take(3).copied().find(|next| start(*next) >= end(call));
    next.filter(|next| waits(next) && start(*next) - end(call) < SOON_NS).into_iter().collect()
}

/// How long the waits of the host take, and the copy calls that hold it up.
fn all_waits_ns(context: &Context<'_>, device: &DeviceContext) -> i64 {
    let (times, window) = (&context.timeline.api.times, device.window());
    let kinds = device.call_kinds(context);
    let waits = kinds.filter(|(_, kind)| kind.waits() || kind.activity == Activity::CopyCall);
    waits.map(|(_, kind)| kind.calls.whole_ns(times, window)).fold(0, i64::saturating_add)
}

/// Whether a call is of a process that uses the device, and lies in its window.
fn is_of_device(timeline: &Timeline, device: &DeviceContext, call: u32) -> bool {
    let thread = timeline.api.thread.get(call as usize);
    let (times, window) = (timeline.api.times.at(call as usize), device.window());
    times.start < window.end
        && times.end > window.start
        && thread.is_some_and(|thread| device.is_of(timeline.process_of(*thread)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_wherever_the_last_one_was() {
        let calls: Vec<u32> = (0..50).collect();
        for wanted in 0..=50 {
            for last in 0..=50 {
                assert_eq!(behind(&calls, last, |call| call < wanted), wanted as usize);
            }
            assert_eq!(behind(&calls, 70, |call| call < wanted), wanted as usize);
        }
        assert_eq!(behind(&[], 3, |_| true), 0);
    }

    #[test]
    fn many_copies_in_a_row_are_fetched() {
        let fetched_by = |count: u32, call: fn(u32) -> Option<u32>| {
            let mut run: Vec<_> = (0..count).map(|index| (index, call(index))).collect();
            let mut fetched = HashSet::default();
            end_run(&mut run, &mut fetched);
            assert!(run.is_empty());
            fetched.len()
        };
        assert_eq!((fetched_by(8, Some), fetched_by(9, Some)), (0, 9));
        assert_eq!((fetched_by(9, |_| None), fetched_by(9, |_| Some(7))), (9, 0), "without calls, and of one");
    }
}
