//! Facts of what of a recording lies outside of the work of all devices: how long that is, and what the thread that launches a
//! device's work does there.

use std::cmp::Reverse;
use std::sync::PoisonError;

use foldhash::HashSet;

use super::projection::told_name;
use super::spent::{MOST_ASKING, Sampled, Spent, asks_only, pin_set_up_ns};
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Activity;
use crate::ledger::compiling::compiler_of;
use crate::text::paths::without_folders;
use crate::timeline::api::{ApiClass, MemoryCall, memory_call};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline, modules};

/// A shorter first call of CUDA sets up little: a context takes tens of milliseconds.
const LEAST_SET_UP_NS: i64 = 30_000_000;
/// Work that holds the GPU for less before the window is little.
const LEAST_QUEUED_NS: i64 = 50_000_000;
/// A range that holds a smaller part of it does not tell what it is.
const MIN_RANGE_SHARE: f64 = 0.5;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    // What a damaged file lacks may be work of the device.
    if context.timeline.source.is_damaged {
        return;
    }
    if let Some(pause) = device.told.pause {
        facts.set("pause_ns", pause.times.len_ns());
        facts.set("pause_start_ns", pause.times.start);
        facts.set("is_pause_before_record", pause.is_before_record);
    }
    if let Some(pages) = device.told.last_pages {
        facts.set("last_pages_ns", pages.times.len_ns());
        facts.set("last_pages_migration_count", pages.count);
        facts.set("last_pages_migration_sum_ns", pages.moved_ns);
    }
    // One device may work for a moment, and another all the time.
    let windows = context.devices.iter().map(|device| device.told.whole(device.window()));
    let Some(window) = windows.reduce(Interval::hull) else {
        return;
    };
    let Some(all) = context.recorded else { return };
    let sides = [Interval::new(all.start, window.start), Interval::new(window.end, all.end)];
    facts.set("outside_before_ns", sides[0].len_ns().max(0));
    facts.set("outside_after_ns", sides[1].len_ns().max(0));
    queued(context.timeline, device, sides[0], facts);
    let Some(main) = device.main_thread.filter(|_| device.knows_host) else { return };
    let teller = teller(context, device, main, sides);
    facts.set("is_outside_of_first_caller", teller != main);
    let main = teller;
    let spent = Spent::of(context, main, &sides);
    activities(context.timeline, &spent, facts);
    let pins_ns = spent.pins_ns(context.timeline) - pin_set_up_ns(context, main, &sides);
    facts.set("outside_pin_ns", pins_ns.max(0));
    let absent_ns = absent_ns(context, main, &spent);
    facts.set("outside_absent_ns", absent_ns);
    facts.set("outside_unknown_ns", spent.unknown_ns() - absent_ns);
    let pause = device.told.pause.map_or(Interval::default(), |pause| pause.times);
    facts.set("outside_untraced_ns", untraced_ns(context.timeline, &spent, pause));
    sets_up(context, main, sides, facts);
    // Each thread has many ranges, and tells of several devices.
    let mut known = context.once.outside_ranges.lock().unwrap_or_else(PoisonError::into_inner);
    let range = || main_range(context.timeline, main, window, sides, &spent.profiler);
    if let Some((ns, label)) = *known.entry(main).or_insert_with(range) {
        facts.set("outside_range", told_name(context.timeline, label));
        facts.set("outside_range_ns", ns);
    }
    drop(known);
    if !context.timeline.cpu_samples.is_empty() {
        sampled(spent.sampled(context.timeline, main), facts);
    }
}

/// How long the first work had been launched before it begins, where that is most of what lies before it.
fn queued(timeline: &Timeline, device: &DeviceContext, before: Interval, facts: &mut Entity) {
    let first = device.ops.in_window().next().filter(|op| op.start == before.end);
    let call = first.and_then(|op| op.call(timeline)).and_then(|call| timeline.api.times.get(call as usize));
    let queued_ns = call.map_or(0, |call| before.end - call.end.max(before.start));
    facts.set_some(
        "outside_queued_ns",
        (queued_ns.saturating_mul(2) >= before.len_ns() && queued_ns > LEAST_QUEUED_NS).then_some(queued_ns),
    );
}

/// The thread that tells what the program did there: the one that launches most work, or, where most of the time was not recorded
/// of that one, as before a thread begins that a framework launches from, the one that called CUDA first.
pub(super) fn teller(context: &Context<'_>, device: &DeviceContext, main: u32, sides: [Interval; 2]) -> u32 {
    let timeline = context.timeline;
    let process = timeline.process_of(main);
    let threads = context.threads.get(process as usize).into_iter().flatten().copied();
    let first_call = |thread: &u32| {
        let first = context.calls.of_thread(*thread).first()?;
        Some((timeline.api.times.at(*first as usize).start, *thread))
    };
    let Some((_, first)) = threads.filter_map(|thread| first_call(&thread)).min() else { return main };
    if first == main || !device.is_of(process) {
        return main;
    }
    let outside_ns = sides.iter().map(|side| side.len_ns().max(0)).fold(0, i64::saturating_add);
    let main_lacks_ns = unknown_ns(context, main, sides);
    let is_first = main_lacks_ns.saturating_mul(2) >= outside_ns && unknown_ns(context, first, sides) < main_lacks_ns;
    if is_first { first } else { main }
}

/// How much of it was not recorded of a thread.
fn unknown_ns(context: &Context<'_>, thread: u32, sides: [Interval; 2]) -> i64 {
    let mut unknown_ns = 0_i64;
    for side in sides.into_iter().filter(|side| side.len_ns() > 0) {
        context.calls.lay_out(context.timeline, thread, side, |part, activity, _| {
            if activity == Activity::Unknown {
                unknown_ns = unknown_ns.saturating_add(part.len_ns());
            }
        });
    }
    unknown_ns
}

/// How much of what was not recorded of the thread is the start and the end of the profiler: in a trace that holds the operators of
/// its threads, all but what lies in a pause of the devices. There the profiler was at work, and the thread called nothing that it records.
fn untraced_ns(timeline: &Timeline, spent: &Spent, pause: Interval) -> i64 {
    if !timeline.ranges.hold_operators() {
        return 0;
    }
    let beside_ns = |part: &Interval| part.len_ns() - part.overlap_ns(pause);
    spent.unknown.iter().map(beside_ns).fold(0, i64::saturating_add)
}

/// How much of what was not recorded of the thread lies before its process began, or after that had exited: as behind a launcher.
fn absent_ns(context: &Context<'_>, thread: u32, spent: &Spent) -> i64 {
    let process = context.timeline.process_of(thread) as usize;
    let Some(life) = context.lives().get(process).copied().flatten() else { return 0 };
    spent.unknown.iter().map(|part| part.len_ns() - part.overlap_ns(life)).fold(0, i64::saturating_add)
}

/// How long the thread is in host code, in calls of the OS, and in which call of CUDA the longest.
fn activities(timeline: &Timeline, spent: &Spent, facts: &mut Entity) {
    facts.set("outside_host_ns", spent.host_ns());
    facts.set("outside_profiler_ns", spent.profiler.len_ns());
    facts.set("outside_cuda_init_ns", spent.starts_ns);
    facts.set("outside_off_cpu_ns", spent.off_cpu_ns);
    facts.set("outside_loading_ns", spent.loading_ns);
    if let Some((name, ns)) = spent.blocked(timeline) {
        facts.set("outside_blocked_call", without_folders(name));
        facts.set("outside_blocked_call_ns", ns);
    }
    let compiled = spent.compiled(timeline);
    facts.set("outside_compile_ns", compiled.map_or(0, |(_, ns)| ns));
    if let Some((name, _)) = compiled {
        facts.set("outside_compile_evidence", without_folders(name));
        facts.set("outside_compile_by", compiler_of(name));
    }
    let called = spent.called(timeline, true);
    if let Some((name, ns)) = called.into_iter().chain(compiled).max_by_key(|(_, ns)| *ns) {
        facts.set("outside_call", without_folders(name));
        facts.set("outside_call_ns", ns);
        if let Some((second, ns)) = spent.called_beside(timeline, name) {
            facts.set("outside_second_call", without_folders(second));
            facts.set("outside_second_call_ns", ns);
        }
    }
}

/// Whether the call of CUDA that takes most there sets CUDA up: it is the first of its process, or frees before anything is allocated.
fn sets_up(context: &Context<'_>, main: u32, sides: [Interval; 2], facts: &mut Entity) {
    let told = facts.int("outside_call_ns").zip(facts.text("outside_call"));
    let Some((sum_ns, name)) = told else { return };
    let first_ns = first_call_ns(context, main, sides, name);
    let set_up_ns = first_ns.map(|ns| ns.max(idle_free_ns(context, main, sides[0], name)));
    let launch_ns = first_launch_ns(context, main, sides, name);
    facts.set_some("does_outside_call_set_up", set_up_ns.map(|ns| ns >= LEAST_SET_UP_NS && 2 * ns >= sum_ns));
    facts.set("does_outside_call_load", launch_ns >= LEAST_SET_UP_NS && 2 * launch_ns >= sum_ns);
}

/// How long calls of a name that frees take before the process has allocated anything: nothing is to be freed, and what takes time is
/// CUDA being set up, as once more for a library that brings a runtime of its own.
fn idle_free_ns(context: &Context<'_>, main: u32, before: Interval, name: &str) -> i64 {
    if memory_call(name) != MemoryCall::DeviceFree {
        return 0;
    }
    let timeline = context.timeline;
    let times = |call: &u32| timeline.api.times.at(*call as usize);
    let allocating = context.called(|own| {
        let kind = memory_call(&without_folders(own));
        matches!(kind, MemoryCall::HostPin | MemoryCall::DeviceAllocate | MemoryCall::Managed | MemoryCall::Pool)
    });
    let freeing = context.called(|own| without_folders(own) == name);
    let is_of = |names: &HashSet<NameId>, call: &u32| {
        timeline.api.name.get(*call as usize).is_some_and(|own| names.contains(own))
    };
    let first_of = |thread: &u32| {
        let mut calls = context.calls.of_thread(*thread).iter().take_while(|call| times(call).start < before.end);
        calls.find(|call| is_of(&allocating, call)).map(|call| times(call).start)
    };
    let threads = context.threads_of(timeline.process_of(main)).iter();
    let allocated_at = threads.filter_map(first_of).min().unwrap_or(before.end);
    let calls = context.calls.of_thread(main).iter().take_while(|call| times(call).start < allocated_at);
    calls.filter(|call| is_of(&freeing, call)).map(|call| times(call).overlap_ns(before)).sum()
}

/// How long the first call of the process takes there, where it has that name and could set CUDA up; `None` where another thread makes it.
fn first_call_ns(context: &Context<'_>, main: u32, sides: [Interval; 2], name: &str) -> Option<i64> {
    let timeline = context.timeline;
    let threads = context.threads_of(timeline.process_of(main)).iter();
    let name_of = |call: u32| own_name(timeline, call);
    let is_of_program = |call: &&u32| name_of(**call).is_none_or(|own| own == name || !asks_only(&own));
    let firsts = threads.filter_map(|thread| {
        let call = context.calls.of_thread(*thread).iter().take(MOST_ASKING).find(is_of_program)?;
        Some((*call, *thread))
    });
    let times = |call: u32| timeline.api.times.at(call as usize);
    let first = firsts.min_by_key(|(call, _)| times(*call).start);
    let (call, _) = first.filter(|(_, thread)| *thread == main)?;
    let own_ns: i64 = sides.iter().map(|side| times(call).overlap_ns(*side)).sum();
    let is_named = name_of(call).as_deref() == Some(name);
    // What waits or copies takes its own time. So does what locks pages, and how much of it is that nothing tells.
    let class = context.calls.class_of(timeline, call);
    let sets_up = !matches!(class, ApiClass::Wait(_) | ApiClass::CopyBlocking | ApiClass::CopyAsync);
    Some(if sets_up && is_named { own_ns } else { 0 })
}

/// What a call is called, without the folders of a library.
fn own_name(timeline: &Timeline, call: u32) -> Option<String> {
    timeline.api.name.get(call as usize).map(|own| without_folders(timeline.name(*own)))
}

/// How long the first launch of the thread takes there, where it has that name: what was not loaded yet is loaded in it.
fn first_launch_ns(context: &Context<'_>, main: u32, sides: [Interval; 2], name: &str) -> i64 {
    let timeline = context.timeline;
    let calls = context.calls.of_thread(main).iter().copied();
    let launches = calls.take(MOST_ASKING).find(|call| context.calls.class_of(timeline, *call) == ApiClass::Launch);
    let named = launches.filter(|call| own_name(timeline, *call).as_deref() == Some(name));
    let times = named.map(|call| timeline.api.times.at(call as usize));
    times.map_or(0, |times| sides.iter().map(|side| times.overlap_ns(*side)).sum())
}

/// The innermost range of the thread that holds half of it, and none of the devices' work; what the profiler takes counts on neither side.
fn main_range(
    timeline: &Timeline,
    main: u32,
    window: Interval,
    sides: [Interval; 2],
    profiler: &Union,
) -> Option<(i64, u32)> {
    let own = timeline.ranges.of_thread(main)?;
    let own_ns = |part: Interval| (part.len_ns() - profiler.overlap_ns(part)).max(0);
    let outside_ns = sides.iter().map(|side| own_ns(*side)).fold(0, i64::saturating_add);
    let holds = |(times, label): (Interval, &u32)| {
        let ns = sides.iter().map(|side| own_ns(times.clip(*side))).fold(0, i64::saturating_add);
        let is_told = ns > 0 && ns as f64 >= MIN_RANGE_SHARE * outside_ns as f64 && times.overlap_ns(window) == 0;
        is_told.then_some((ns, *label))
    };
    // By start: those that begin within the devices' work are none.
    let before = own.times.partition_point(0, |times| times.start < window.start);
    let after = own.times.partition_point(before, |times| times.start < window.end);
    let beside = (0..before).chain(after..own.times.len()).map(|index| (own.times.at(index), &own.label[index]));
    beside.filter_map(holds).min_by_key(|(ns, label)| (*ns, Reverse(*label)))
}

/// Where the host code of the thread that tells of it lies.
fn sampled(sampled: Sampled, facts: &mut Entity) {
    facts.set("outside_sample_count", sampled.count as i64);
    if let Some((function, share)) = sampled.function {
        facts.set("outside_function", function);
        facts.set("outside_function_share", share);
    }
    facts.set_some("outside_function_caller", sampled.caller);
    if let Some((file, share)) = sampled.module {
        facts.set("is_outside_module_program", modules::is_program(&file));
        facts.set("outside_module", file);
        facts.set("outside_module_share", share);
    }
}
