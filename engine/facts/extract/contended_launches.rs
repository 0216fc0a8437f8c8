//! Threads that contend for the driver: while one of them launches, others do so as well, and each waits for those before it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashSet;

use super::locked_turns::{LOCKS, left_ns};
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Activity, OpKind, callers};
use crate::replay::{Change, spread};
use crate::text::paths::without_folders;
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::{Follower, Union};
use crate::timeline::{NameId, Timeline};

/// Fewer launches beside which no other thread launches do not tell what one takes by itself.
const LEAST_LONE_COUNT: usize = 20;
/// Threads that launch a smaller part of what the busiest one launches are no matter.
const LEAST_OF_MOST: f64 = 0.05;
/// Kernels of one name that are this part of all could be one kernel.
const ONE_KERNEL_SHARE: f64 = 0.9;

/// A launch: when, its thread, and the call.
type Launch = (Interval, u32, NameId);

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let calling = |thread: &u32| !context.calls.of_thread(*thread).is_empty();
    if (0..timeline.threads.len() as u32).filter(calling).nth(1).is_none() {
        return;
    }
    let mut of_processes: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let counts = callers::launch_counts(timeline, &device.ops);
    let most = counts.values().copied().max().unwrap_or(0) as f64;
    for (thread, _) in counts.into_iter().filter(|(_, count)| *count as f64 >= LEAST_OF_MOST * most) {
        of_processes.entry(timeline.process_of(thread)).or_default().push(thread);
    }
    // Each process has a driver of its own.
    let most = of_processes.into_values().max_by_key(|threads| (threads.len(), Reverse(threads.first().copied())));
    let Some(threads) = most.filter(|threads| threads.len() > 1) else { return };
    facts.set("launching_thread_count", threads.len() as i64);
    let launches = launches(context, device, &threads);
    let is_contended = contended(&launches);
    let both = || launches.iter().zip(&is_contended);
    let own: Vec<Launch> = both().filter(|(_, is_contended)| **is_contended).map(|(launch, _)| *launch).collect();
    let lone: Vec<i128> =
        both().filter(|(_, is_contended)| !**is_contended).map(|(own, _)| i128::from(own.0.len_ns())).collect();
    let mean_ns = lone.iter().sum::<i128>() / lone.len().max(1) as i128;
    set(context, device, (&threads, &own), facts);
    if lone.len() >= LEAST_LONE_COUNT && !own.is_empty() && mean_ns > 0 {
        facts.set("lone_launch_mean_ns", mean_ns as i64);
    }
}

/// The launches of work of the device that some threads make in the window, by start. A launch that waits for room in a full queue waits
/// for the device.
fn launches(context: &Context<'_>, device: &DeviceContext, threads: &[u32]) -> Vec<Launch> {
    let (timeline, window) = (context.timeline, device.window());
    let is_own: HashSet<u32> = device.ops.all_ops().filter_map(|op| op.call(timeline)).collect();
    let mut launches = Vec::new();
    for thread in threads {
        let calls = context.calls.of_thread(*thread).iter();
        let calls = calls.filter(|call| {
            let is_full = context.calls.activity.get(**call as usize) == Some(&Activity::QueueFull);
            !is_full && is_own.contains(call) && context.calls.class_of(timeline, **call) == ApiClass::Launch
        });
        let times = |call: u32| timeline.api.times.at(call as usize).clip(window);
        let own = calls.map(|call| (times(*call), *thread, timeline.api.name[*call as usize]));
        launches.extend(own.filter(|(times, ..)| times.len_ns() > 0));
    }
    launches.sort_unstable_by_key(|(times, thread, _)| (times.start, *thread));
    launches
}

/// Whether each of some launches, by start, lies beside one of another thread.
fn contended(launches: &[Launch]) -> Vec<bool> {
    let mut is_contended = vec![false; launches.len()];
    // Those that lay beside none so far, of one thread: its next is none of another, and the next of another leaves none of them.
    let mut open: Vec<usize> = Vec::new();
    // The latest end, with its thread, and the latest of any other.
    let (mut latest, mut other) = ((i64::MIN, u32::MAX), i64::MIN);
    for (index, (times, thread, _)) in launches.iter().enumerate() {
        let end_of_others = if latest.1 == *thread { other } else { latest.0 };
        is_contended[index] = end_of_others > times.start;
        if open.first().is_some_and(|first| launches[*first].1 != *thread) {
            for before in open.drain(..) {
                is_contended[before] = launches[before].0.end > times.start;
            }
        }
        if !is_contended[index] {
            open.push(index);
        }
        if latest.1 == *thread {
            latest.0 = latest.0.max(times.end);
        } else if times.end > latest.0 {
            other = latest.0;
            latest = (times.end, *thread);
        } else {
            other = other.max(times.end);
        }
    }
    is_contended
}

fn set(context: &Context<'_>, device: &DeviceContext, (threads, own): (&[u32], &[Launch]), facts: &mut Entity) {
    let timeline = context.timeline;
    let mut names: BTreeMap<NameId, i64> = BTreeMap::new();
    for (times, _, name) in own {
        let sum_ns = names.entry(*name).or_default();
        *sum_ns = sum_ns.saturating_add(times.len_ns());
    }
    let Some(name) = names.iter().max_by_key(|(_, ns)| **ns).map(|(name, _)| *name) else { return };
    let longest = own.iter().max_by_key(|(times, ..)| (times.len_ns(), Reverse(times.start)));
    facts.set("contended_launch_count", own.len() as i64);
    let sum_ns = names.into_values().fold(0, i64::saturating_add);
    facts.set("contended_launch_ns", sum_ns);
    facts.set("contended_launch_call", without_folders(timeline.name(name)));
    facts.set_some("contended_launch_longest_ns", longest.map(|(times, ..)| times.len_ns()));
    facts.set_some("contended_launch_longest_start_ns", longest.map(|(times, ..)| times.start));
    // Nobody wins more than a thread is in them, which may be longer in another run.
    let in_launches_ns = spread(&[Change::Graph]) * sum_ns as f64 / threads.len().max(1) as f64;
    facts.set("contended_launch_won_ns", won_ns(timeline, device).min(in_launches_ns as i64));
    let (locks, lock) = locks_of(context, threads);
    if let Some(lock) = lock {
        let mut locks: BTreeMap<u32, Follower<'_>> =
            locks.iter().map(|(thread, locks)| (*thread, Follower::new(locks))).collect();
        let in_lock = own.iter().filter_map(|(times, thread, _)| Some(locks.get_mut(thread)?.overlap_ns(*times)));
        facts.set("contended_launch_lock_ns", in_lock.fold(0, i64::saturating_add));
        facts.set("contended_launch_lock_call", without_folders(timeline.name(lock)));
    }
}

/// When threads ask for locks, and the call in which they do so for longest.
fn locks_of(context: &Context<'_>, threads: &[u32]) -> (BTreeMap<u32, Union>, Option<NameId>) {
    let (timeline, all) = (context.timeline, &context.timeline.os_calls);
    let mut is_lock = Told::new(&timeline.names, |name| LOCKS.contains(&name));
    let mut names: BTreeMap<NameId, i64> = BTreeMap::new();
    let mut locks = BTreeMap::new();
    for thread in threads {
        let mut own = Vec::new();
        for row in context.calls.os_of_thread(*thread) {
            let name = all.name[*row as usize];
            if is_lock.of(name) {
                let times = all.times.at(*row as usize);
                let sum_ns = names.entry(name).or_default();
                *sum_ns = sum_ns.saturating_add(times.len_ns());
                own.push(times);
            }
        }
        locks.insert(*thread, Union::of(own));
    }
    (locks, names.into_iter().max_by_key(|(_, ns)| *ns).map(|(name, _)| name))
}

/// What is won at best when nothing contends: the device still takes what its warps and its link take, and unless nearly all kernels are
/// one, which could be one grid, what the longest of its streams does.
fn won_ns(timeline: &Timeline, device: &DeviceContext) -> i64 {
    let mut streams: BTreeMap<u32, i64> = BTreeMap::new();
    let mut names: BTreeMap<NameId, usize> = BTreeMap::new();
    for op in device.ops.in_window() {
        let sum_ns = streams.entry(op.stream(timeline)).or_default();
        *sum_ns = sum_ns.saturating_add(op.interval().clip(device.window()).len_ns());
        if op.kind == OpKind::Kernel {
            *names.entry(timeline.kernels.shape_of(op.index).name).or_default() += 1;
        }
    }
    let (most, all) = (names.values().copied().max().unwrap_or(0), names.values().sum::<usize>());
    let is_one = most as f64 >= ONE_KERNEL_SHARE * all as f64;
    let in_order_ns = if is_one { 0 } else { streams.into_values().max().unwrap_or(0) };
    (device.window().len_ns() - left_ns(timeline, device).max(in_order_ns)).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_contend_with_those_of_other_threads_that_they_lie_beside() {
        let of = |launches: &[(i64, i64, u32)]| {
            let launches: Vec<Launch> =
                launches.iter().map(|(start, end, thread)| (Interval::new(*start, *end), *thread, 0)).collect();
            contended(&launches)
        };
        assert_eq!(of(&[(0, 10, 1), (10, 20, 2), (20, 30, 1)]), [false, false, false]);
        assert_eq!(of(&[(0, 11, 1), (10, 20, 2), (20, 30, 1)]), [true, true, false]);
        // One that lasts lies beside each that begins meanwhile, of another thread.
        assert_eq!(of(&[(0, 100, 1), (10, 20, 2), (30, 40, 2), (50, 60, 3)]), [true; 4]);
        assert_eq!(of(&[(0, 100, 1), (10, 20, 1), (30, 40, 1)]), [false; 3]);
        assert_eq!(of(&[(0, 100, 1), (10, 20, 1), (90, 95, 2)]), [true, false, true]);
    }
}
