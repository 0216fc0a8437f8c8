//! Calls that allocate, free and register memory: of which kind those are that a device is idle for, and how many.

use super::by_index::ByIndex;
use super::followed::Followed;
use super::stats::main_count;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::MAX_ONCE_PIECE_COUNT;
use crate::ledger::{Account, Activity};
use crate::timeline::api::{ApiClass, MemoryCall, memory_call};

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let (api, window) = (&timeline.api, device.window());
    let mut idle: Vec<i64> = Vec::new();
    let mut counts = [0_i64; MemoryCall::COUNT];
    let mut busy = Followed::new(&device.tally.busy);
    // Calls come by the million, under a few names.
    let mut kinds: ByIndex<MemoryCall> = ByIndex::default();
    let allocating = device.call_kinds(context).filter(|(_, kind)| kind.activity == Activity::Allocate);
    for call in allocating.flat_map(|(_, kind)| kind.calls.within(&api.times, window)) {
        let inside = api.times.at(call as usize).clip(window);
        let idle_ns = inside.len_ns() - busy.overlap_ns(inside);
        if idle_ns > 0 {
            idle.push(idle_ns);
        }
        let name = api.name[call as usize];
        counts[*kinds.of(name, || memory_call(timeline.name(name))) as usize] += 1;
    }
    facts.set("idle_allocate_call_count", idle.len() as i64);
    facts.set("idle_allocate_main_count", main_count(idle));
    facts.set("allocator_retry_count", retries(context, device));
    facts.set("device_allocation_count", counts[MemoryCall::DeviceAllocate as usize]);
    facts.set("device_free_count", counts[MemoryCall::DeviceFree as usize]);
    let mut by_kind = [0_i64; MemoryCall::COUNT];
    for ((_, name), sum) in device.idle().calls.iter().filter(|((account, _), _)| *account == Account::IdleAllocate) {
        by_kind[memory_call(timeline.name(*name)) as usize] += sum.sum_ns;
    }
    // What page-locks memory and what undoes that are one habit.
    let pinning_ns = by_kind[MemoryCall::HostPin as usize] + by_kind[MemoryCall::HostUnpin as usize];
    by_kind[MemoryCall::HostPin as usize] = pinning_ns;
    let main = MemoryCall::ALL.into_iter().max_by_key(|kind| (by_kind[*kind as usize], std::cmp::Reverse(*kind)));
    if let Some(main) = main.filter(|main| by_kind[*main as usize] > 0) {
        facts.set("idle_allocate_kind", main.id());
        facts.set("idle_allocate_kind_ns", by_kind[main as usize]);
    }
}

/// Whether a thread takes memory again and again after it gave some back: that is no set-up, however few rounds were recorded.
pub(super) fn is_taken_anew(context: &Context<'_>, device: &DeviceContext) -> bool {
    let timeline = context.timeline;
    let mut threads = device.processes.iter().flat_map(|process| context.threads_of(*process));
    let mut gives: ByIndex<Option<bool>> = ByIndex::default();
    threads.any(|thread| {
        let calls = context.calls.of_thread(*thread).iter().map(|call| *call as usize);
        let own = calls.filter(|call| {
            let is_inside = timeline.api.times.at(*call).overlap_ns(device.window()) > 0;
            is_inside && context.calls.activity.get(*call) == Some(&Activity::Allocate)
        });
        let gives = own.filter_map(|call| {
            let name = *timeline.api.name.get(call)?;
            *gives.of(name, || gives_back(timeline.name(name)))
        });
        turns(gives) > MAX_ONCE_PIECE_COUNT
    })
}

/// How often a thread takes memory, gives several pieces of it back and takes some again, with nothing launched, copied or set between:
/// so does an allocator that found no room, and nothing else does. Who frees what it needs no more has work before it needs more.
fn retries(context: &Context<'_>, device: &DeviceContext) -> i64 {
    let timeline = context.timeline;
    let mut of_names: ByIndex<Seen> = ByIndex::default();
    for (name, _) in context.api_names() {
        let class = context.calls.class.get(*name as usize).copied().unwrap_or(ApiClass::Other);
        of_names.of(*name, || seen(class, timeline.name(*name)));
    }
    if !of_names.iter().any(|(_, seen)| *seen == Seen::Gives) {
        return 0;
    }
    let threads = device.processes.iter().flat_map(|process| context.threads_of(*process));
    let count = threads.into_iter().map(|thread| {
        let calls = context.calls.of_thread(*thread).iter().map(|call| *call as usize);
        let told = calls.filter_map(|call| {
            let seen = *of_names.get(*timeline.api.name.get(call)?)?;
            (seen != Seen::Other).then_some((call, seen))
        });
        let inside = told.filter(|(call, _)| timeline.api.times.at(*call).overlap_ns(device.window()) > 0);
        retry_count(inside.map(|(_, seen)| seen))
    });
    count.sum()
}

fn seen(class: ApiClass, name: &str) -> Seen {
    match class {
        ApiClass::Allocate => match memory_call(name) {
            MemoryCall::DeviceAllocate => Seen::Takes,
            MemoryCall::DeviceFree => Seen::Gives,
            _ => Seen::Other,
        },
        ApiClass::Launch | ApiClass::CopyBlocking | ApiClass::CopyAsync | ApiClass::Memset => Seen::Work,
        _ => Seen::Other,
    }
}

/// What a call tells of an allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Takes,
    Gives,
    Work,
    Other,
}

/// Fewer pieces that are given back may be one that grows.
const RETRY_FREE_COUNT: usize = 2;

fn retry_count(calls: impl Iterator<Item = Seen>) -> i64 {
    let (mut count, mut freed) = (0, None);
    for call in calls {
        freed = match (call, freed) {
            (Seen::Takes, freed) => {
                count += i64::from(freed.is_some_and(|freed| freed >= RETRY_FREE_COUNT));
                Some(0)
            }
            (Seen::Gives, Some(freed)) => Some(freed + 1),
            (Seen::Gives | Seen::Work, _) => None,
            (Seen::Other, freed) => freed,
        };
    }
    count
}

/// Whether a call gives memory back; `None` of one that neither does so nor takes any.
fn gives_back(call: &str) -> Option<bool> {
    match memory_call(call) {
        MemoryCall::HostPin | MemoryCall::DeviceAllocate | MemoryCall::Managed => Some(false),
        MemoryCall::HostUnpin | MemoryCall::DeviceFree => Some(true),
        MemoryCall::Pool if call.contains("Free") => Some(true),
        MemoryCall::Pool if call.contains("Alloc") => Some(false),
        MemoryCall::Pool | MemoryCall::Other => None,
    }
}

/// How often memory is taken after some was given back.
fn turns(calls: impl Iterator<Item = bool>) -> usize {
    let (mut count, mut was_given) = (0, false);
    for gives in calls {
        count += usize::from(was_given && !gives);
        was_given = gives;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_given_back_before_more_is_taken_comes_in_turns() {
        let count = |calls: &[&str]| turns(calls.iter().filter_map(|call| gives_back(call)));
        assert_eq!(count(&["cudaMalloc", "cudaMalloc", "cudaFree", "cudaFree"]), 0);
        assert_eq!(count(&["cudaFree", "cudaMalloc", "cudaMalloc", "cudaFree", "cudaHostAlloc"]), 2);
        assert_eq!(count(&["cudaMallocAsync_v11020", "cudaFreeAsync_v11020", "cudaMallocAsync_v11020"]), 1);
        assert_eq!(count(&["cudaFree", "cudaMemPoolTrimTo", "cudaMalloc"]), 1);
    }

    #[test]
    fn an_allocator_that_found_no_room_gives_back_and_takes_again() {
        use Seen::{Gives, Other, Takes, Work};
        assert_eq!(retry_count([Takes, Other, Gives, Gives, Other, Takes, Takes].into_iter()), 1);
        assert_eq!(retry_count([Takes, Gives, Takes, Gives, Takes].into_iter()), 0);
        assert_eq!(retry_count([Takes, Work, Gives, Gives, Takes].into_iter()), 0);
        assert_eq!(retry_count([Takes, Gives, Gives, Work, Takes].into_iter()), 0);
        assert_eq!(retry_count([Gives, Gives, Takes].into_iter()), 0);
    }
}
