//! Threads that take turns at a device because they hold a lock around its work: one of them gets the lock when another has waited for
//! what it had launched, and launches then.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::widths::share_of_warps;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{OpKind, callers};
use crate::text::paths::without_folders;
use crate::timeline::api::ApiClass;
use crate::timeline::columns::{Direction, KernelShape};
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::near::Near;
use crate::timeline::{DeviceProperties, Geometry, NameId, Timeline};

/// Calls of the OS that ask for a lock.
pub(super) const LOCKS: [&str; 4] =
    ["pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_rwlock_wrlock", "pthread_spin_lock"];
/// The thread that waited for the device lets the lock go within this time, and the one that gets it calls CUDA within it.
const HANDOVER_NS: i64 = 100_000;
/// Waits that end so close together are few: so many are looked at before one of another thread.
const NEAR: usize = 8;
/// Warps that an SM holds, of GPUs whose number is not known.
const WARPS_PER_SM: i64 = 64;

/// The turns of one device.
#[derive(Debug, Default)]
struct Turns {
    count: i64,
    /// By thread, for how long it was in calls that such turns begin with.
    waits_ns: BTreeMap<u32, i64>,
    /// By name of the call.
    names: BTreeMap<NameId, i64>,
    /// The longest, of several the one that was recorded first: by its length and its index.
    longest: Option<((i64, Reverse<u32>), Interval)>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let locks = context.locks();
    if locks.is_empty() {
        return;
    }
    let threads: Vec<u32> = callers::launch_counts(timeline, &device.ops).into_keys().collect();
    if threads.len() < 2 {
        return;
    }
    let waits = context.device_waits(&threads);
    let (mut turns, mut near) = (Turns::default(), Near::default());
    let all = &timeline.os_calls;
    for row in locks {
        let (lock, thread, name) = (all.times.at(*row as usize), all.thread[*row as usize], all.name[*row as usize]);
        let part = lock.clip(device.window());
        let is_asked = part.len_ns() > 0 && threads.binary_search(&thread).is_ok();
        if is_asked && is_handed_over(&waits, lock, thread, &mut near) {
            turns.count += 1;
            for sum_ns in [turns.waits_ns.entry(thread).or_default(), turns.names.entry(name).or_default()] {
                *sum_ns = sum_ns.saturating_add(part.len_ns());
            }
            let longest = ((part.len_ns(), Reverse(*row)), part);
            turns.longest = turns.longest.filter(|known| known.0 >= longest.0).or(Some(longest));
        }
    }
    set(timeline, device, &turns, facts);
}

fn set(timeline: &Timeline, device: &DeviceContext, turns: &Turns, facts: &mut Entity) {
    let (Some((_, longest)), Some((name, _))) = (turns.longest, turns.names.iter().max_by_key(|(_, ns)| **ns)) else {
        return;
    };
    facts.set("locked_turn_count", turns.count);
    facts.set("locked_turn_thread_count", turns.waits_ns.len() as i64);
    facts.set("locked_turn_call", without_folders(timeline.name(*name)));
    facts.set("locked_turn_wait_ns", turns.waits_ns.values().copied().fold(0, i64::saturating_add));
    facts.set("locked_turn_longest_ns", longest.len_ns());
    facts.set("locked_turn_longest_start_ns", longest.start);
    facts.set("locked_turn_won_ns", won_ns(timeline, device, turns));
}

/// What is won at best without them: the thread that waited least still takes the rest of its time, and the device what its warps and its
/// link take.
fn won_ns(timeline: &Timeline, device: &DeviceContext, turns: &Turns) -> i64 {
    let least_wait_ns = turns.waits_ns.values().copied().min().unwrap_or(0);
    least_wait_ns.min(device.window().len_ns() - left_ns(timeline, device)).max(0)
}

/// What a device takes at least, whatever runs beside what: the time that the warps of all kernels, or the link, are taken.
pub(super) fn left_ns(timeline: &Timeline, device: &DeviceContext) -> i64 {
    let shares = warp_shares(timeline, device.properties(timeline));
    let (mut kernels_ns, mut to_device_ns, mut to_host_ns) = (0.0, 0_i64, 0_i64);
    for op in device.ops.in_window() {
        let part_ns = op.interval().clip(device.window()).len_ns();
        match (op.kind, timeline.copies.direction.get(op.index as usize)) {
            (OpKind::Kernel, _) => {
                let shape = timeline.kernels.shape.get(op.index as usize);
                let share = shape.and_then(|shape| shares.get(*shape as usize)).copied();
                kernels_ns += part_ns as f64 * share.unwrap_or(1.0);
            }
            (OpKind::Graph, _) => kernels_ns += part_ns as f64,
            (OpKind::Copy, Some(Direction::HostToDevice)) => to_device_ns = to_device_ns.saturating_add(part_ns),
            (OpKind::Copy, Some(Direction::DeviceToHost)) => to_host_ns = to_host_ns.saturating_add(part_ns),
            _ => {}
        }
    }
    (kernels_ns as i64).max(to_device_ns).max(to_host_ns)
}

/// The part of the warps of a device that each kernel shape takes; all where it is not known.
pub(super) fn warp_shares(timeline: &Timeline, properties: Option<&DeviceProperties>) -> Vec<f64> {
    let per_sm = properties.and_then(|known| known.max_warps_per_sm).unwrap_or(WARPS_PER_SM);
    let sm_count = properties.and_then(|known| known.sm_count);
    let room = sm_count.map(|sms| sms.max(1).saturating_mul(per_sm.max(1)));
    let share = |shape: &KernelShape| {
        let geometry = timeline.geometries.get(shape.geometry as usize).filter(|known| known.grid_blocks > 0);
        let share = |(known, room): (&Geometry, i64)| share_of_warps(known.grid_blocks, known.block_threads, room);
        geometry.zip(room).map_or(1.0, share)
    };
    timeline.kernels.shapes.iter().map(share).collect()
}

/// When calls that wait for the device return, with their threads, in time order.
pub(super) fn waits(context: &Context<'_>) -> Vec<(i64, u32)> {
    let api = &context.timeline.api;
    let is_wait = |name: &NameId| {
        let class = context.calls.class.get(*name as usize);
        matches!(class, Some(ApiClass::Wait(_) | ApiClass::CopyBlocking))
    };
    let calls = api.times.iter().zip(&api.thread).zip(&api.name).filter(|(_, name)| is_wait(name));
    let mut waits: Vec<(i64, u32)> = calls.map(|((times, thread), _)| (times.end, *thread)).collect();
    waits.sort_unstable();
    waits
}

/// The calls of the OS that ask for a lock, and after which their thread calls CUDA right away, by when they return: whatever the device,
/// what is looked for beside each lies near what was beside the last one.
pub(super) fn locks(context: &Context<'_>) -> Vec<u32> {
    let timeline = context.timeline;
    let all = &timeline.os_calls;
    let mut is_lock = Told::new(&timeline.names, |name| LOCKS.contains(&name));
    let rows = (0_u32..).zip(&all.name).filter(|(_, name)| is_lock.of(**name));
    let mut locks: Vec<u32> = rows.map(|(row, _)| row).collect();
    let end = |row: u32| all.times.end(row as usize);
    locks.sort_by_key(|row| end(*row));
    let mut near: HashMap<u32, Near> = HashMap::default();
    locks.retain(|row| {
        let thread = all.thread[*row as usize];
        calls_next(context, thread, end(*row), near.entry(thread).or_default())
    });
    locks
}

/// Whether another thread's wait for the device ended while a lock was waited for, right before it was had.
fn is_handed_over(waits: &[(i64, u32)], lock: Interval, thread: u32, near: &mut Near) -> bool {
    let before = &waits[..near.partition_point(waits.len(), |index| waits[index].0 <= lock.end)];
    let since = lock.start.max(lock.end.saturating_sub(HANDOVER_NS));
    let near = before.iter().rev().take(NEAR).take_while(|(end, _)| *end > since);
    near.into_iter().any(|(_, of)| *of != thread)
}

/// Whether a thread calls CUDA right after a moment.
fn calls_next(context: &Context<'_>, thread: u32, moment: i64, near: &mut Near) -> bool {
    let (api, calls) = (&context.timeline.api, context.calls.of_thread(thread));
    let start = |call: u32| api.times.start(call as usize);
    let next = calls.get(near.partition_point(calls.len(), |index| start(calls[index]) < moment));
    next.is_some_and(|call| start(*call).saturating_sub(moment) <= HANDOVER_NS)
}
