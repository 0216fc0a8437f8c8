//! Calls that do something else than their name says: copies that stage, first uses that load code.

use foldhash::{HashMap, HashSet};

use super::activity::Activity;
use super::queued;
use crate::timeline::api::{ApiClass, MemoryCall, instantiates_graph, is_graph_launch, memory_call};
use crate::timeline::columns::{Direction, HostMemory};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId, Timeline};

/// A kernel's first launch that takes longer than this loads code.
const SLOW_FIRST_LAUNCH_NS: i64 = 100_000;

/// A call that sets something small up and takes longer than this, and so many times as long as the others of its name, loads
/// code.
const SLOW_SETUP_NS: i64 = 1_000_000;
/// How many times as long.
const SLOW_SETUP_FACTOR: i64 = 20;

/// A free that takes longer than this, among the first few of a process, waits for CUDA or a library to be set up.
const SLOW_FIRST_FREE_NS: i64 = 10_000_000;
/// So few are the first.
const FIRST_FREE_COUNT: usize = 4;

/// Sets what calls do that their name does not say; `class` holds the class of each name.
pub(super) fn mark(timeline: &Timeline, class: &[ApiClass], activity: &mut [Activity]) {
    mark_copies(timeline, activity);
    mark_first_launches(timeline, class, activity);
    mark_first_graph_launches(timeline, class, activity);
    mark_slow_setup(timeline, class, activity);
    mark_first_frees(timeline, class, activity);
}

/// A copy call stages pageable memory whatever its name; one within the device blocks no host, whatever its name.
fn mark_copies(timeline: &Timeline, activity: &mut [Activity]) {
    let copies = &timeline.copies;
    for ((call, memory), direction) in copies.ops.call.iter().zip(&copies.host_memory).zip(&copies.direction) {
        let Some(activity) = activity.get_mut(*call as usize) else { continue };
        if !matches!(*activity, Activity::Launch | Activity::CopyCall) {
            continue;
        }
        match (memory, direction) {
            (HostMemory::Pageable, _) => *activity = Activity::CopyCall,
            (_, Direction::DeviceToDevice) => *activity = Activity::Launch,
            _ => {}
        }
    }
}

fn mark_first_launches(timeline: &Timeline, class: &[ApiClass], activity: &mut [Activity]) {
    let mut first: HashMap<(u32, NameId), u32> = HashMap::default();
    let times_of = |call: u32| timeline.api.times.get(call as usize);
    let start_of = |call: u32| times_of(call).map_or(i64::MAX, |call| call.start);
    let kernels = &timeline.kernels;
    let launches = (0..).zip(class).filter(|(_, class)| **class == ApiClass::Launch).map(|(name, _)| name);
    let graphs: HashSet<NameId> = launches.filter(|name| is_graph_launch(timeline.name(*name))).collect();
    // By what is launched: the process that launched it last, and when some launch of it there began. Few are earlier.
    let mut known: Vec<Option<(u32, i64)>> = vec![None; kernels.shapes.len()];
    for ((call, stream), shape) in kernels.ops.call.iter().zip(&kernels.ops.stream).zip(&kernels.shape) {
        // The launch of a graph takes its time for each of the many kernels in it, whenever it is.
        let is_graph = || timeline.api.name.get(*call as usize).is_some_and(|name| graphs.contains(name));
        if *call == NONE || is_graph() {
            continue;
        }
        let process = timeline.streams.get(*stream as usize).map_or(NONE, |stream| stream.process);
        let start = start_of(*call);
        let known = known.get_mut(*shape as usize);
        if known.as_ref().is_some_and(|known| known.is_some_and(|(of, earlier)| of == process && earlier <= start)) {
            continue;
        }
        if let Some(known) = known {
            *known = Some((process, start));
        }
        let full_name = kernels.shapes.get(*shape as usize).map_or(NONE, |shape| shape.full_name);
        let earliest = first.entry((process, full_name)).or_insert(*call);
        if start < start_of(*earliest) {
            *earliest = *call;
        }
    }
    let is_slow = |call: &u32| times_of(*call).map_or(0, Interval::len_ns) > SLOW_FIRST_LAUNCH_NS;
    let slow: HashSet<u32> = first.into_values().filter(is_slow).collect();
    let far_ahead = queued::far_ahead(timeline, &slow);
    for call in slow.difference(&far_ahead) {
        if let Some(activity @ Activity::Launch) = activity.get_mut(*call as usize) {
            *activity = Activity::Load;
        }
    }
}

/// A graph's first launch that takes so many times as long as later ones uploads it.
const SLOW_GRAPH_FACTOR: i64 = 2;

/// The first launch of a graph uploads it to the device: that belongs to building it. Which graph a launch is of is not recorded, so of
/// the launches of a thread the next after an instantiation counts.
fn mark_first_graph_launches(timeline: &Timeline, class: &[ApiClass], activity: &mut [Activity]) {
    let api = &timeline.api;
    let of_graphs = |(name, class): (NameId, &ApiClass)| match class {
        ApiClass::Launch if is_graph_launch(timeline.name(name)) => Some((name, true)),
        ApiClass::Init if instantiates_graph(timeline.name(name)) => Some((name, false)),
        _ => None,
    };
    let names: HashMap<NameId, bool> = (0_u32..).zip(class).filter_map(of_graphs).collect();
    if !names.values().any(|is_launch| !is_launch) {
        return;
    }
    let mut calls: Vec<(u32, i64, u32, bool)> = Vec::new();
    for ((name, thread), call) in api.name.iter().zip(&api.thread).zip(0_u32..) {
        if let Some(is_launch) = names.get(name) {
            calls.push((*thread, api.times.start(call as usize), call, *is_launch));
        }
    }
    calls.sort_unstable();
    let length_ns = |call: u32| api.times.get(call as usize).map_or(0, Interval::len_ns);
    let is_first = |pair: &[(u32, i64, u32, bool)]| pair[0].0 == pair[1].0 && !pair[0].3 && pair[1].3;
    let first: HashSet<u32> = calls.windows(2).filter(|pair| is_first(pair)).map(|pair| pair[1].2).collect();
    let later = calls.iter().filter(|(_, _, call, is_launch)| *is_launch && !first.contains(call));
    let mut later: Vec<i64> = later.map(|(_, _, call, _)| length_ns(*call)).collect();
    later.sort_unstable();
    let usual_ns = later.get(later.len() / 2).copied().unwrap_or(0);
    for call in first {
        if length_ns(call) > SLOW_FIRST_LAUNCH_NS.max(SLOW_GRAPH_FACTOR * usual_ns)
            && let Some(activity @ Activity::Launch) = activity.get_mut(call as usize)
        {
            *activity = Activity::Init;
        }
    }
}

/// The calls of one API in one process.
#[derive(Debug, Clone, Copy, Default)]
struct OfName {
    count: i64,
    sum_ns: i64,
    longest_ns: i64,
    longest: u32,
    /// The longest of the others.
    second_ns: i64,
}

/// The one call of an API that takes far longer than all others loads what they find loaded.
fn mark_slow_setup(timeline: &Timeline, class: &[ApiClass], activity: &mut [Activity]) {
    let class_of = |name: NameId| class.get(name as usize).copied().unwrap_or(ApiClass::Other);
    let mut of_names: HashMap<(u32, NameId), OfName> = HashMap::default();
    let api = &timeline.api;
    for ((name, thread), call) in api.name.iter().zip(&api.thread).zip(0..) {
        if !matches!(class_of(*name), ApiClass::Init | ApiClass::Allocate) {
            continue;
        }
        let ns = api.times.get(call as usize).map_or(0, Interval::len_ns);
        let of_name = of_names.entry((timeline.process_of(*thread), *name)).or_default();
        of_name.count += 1;
        of_name.sum_ns = of_name.sum_ns.saturating_add(ns);
        if ns > of_name.longest_ns {
            of_name.second_ns = of_name.longest_ns;
            (of_name.longest_ns, of_name.longest) = (ns, call);
        } else {
            of_name.second_ns = of_name.second_ns.max(ns);
        }
    }
    for ((_, name), of_name) in of_names {
        let others_ns = (of_name.sum_ns - of_name.longest_ns) / (of_name.count - 1).max(1);
        // One that takes more than half as long found nothing loaded either: then both do what they are called for.
        let is_only = of_name.second_ns <= of_name.longest_ns / 2;
        let is_far_longer = of_name.longest_ns >= SLOW_SETUP_NS && of_name.longest_ns / SLOW_SETUP_FACTOR >= others_ns;
        let can_load = loads_lazily(timeline.name(name), class_of(name), of_name.count);
        if let Some(activity) =
            activity.get_mut(of_name.longest as usize).filter(|_| is_far_longer && is_only && can_load)
        {
            *activity = Activity::Load;
        }
    }
}

/// The first frees of a process, while most of its work lies ahead: nothing much was allocated that they could free. Libraries call
/// `cudaFree` to have CUDA set up.
fn mark_first_frees(timeline: &Timeline, class: &[ApiClass], activity: &mut [Activity]) {
    let api = &timeline.api;
    let is_free = |name: NameId| memory_call(timeline.name(name)) == MemoryCall::DeviceFree;
    let frees: HashSet<NameId> = (0_u32..)
        .zip(class)
        .filter(|(_, class)| **class == ApiClass::Allocate)
        .map(|(name, _)| name)
        .filter(|name| is_free(*name))
        .collect();
    if frees.is_empty() {
        return;
    }
    let mut of_process: HashMap<u32, Vec<(i64, u32)>> = HashMap::default();
    for ((name, thread), call) in api.name.iter().zip(&api.thread).zip(0..) {
        if frees.contains(name) {
            of_process.entry(timeline.process_of(*thread)).or_default().push((api.times.start(call as usize), call));
        }
    }
    let is_slow = |call: u32| api.times.get(call as usize).is_some_and(|call| call.len_ns() >= SLOW_FIRST_FREE_NS);
    of_process.retain(|_, frees| {
        frees.sort_unstable();
        frees.iter().take(FIRST_FREE_COUNT).any(|(_, call)| is_slow(*call))
    });
    // Few recordings have such frees: only then all launches are looked at.
    if of_process.is_empty() {
        return;
    }
    let mut launches: HashMap<u32, Vec<i64>> = of_process.keys().map(|process| (*process, Vec::new())).collect();
    let is_launch = |name: &NameId| class.get(*name as usize) == Some(&ApiClass::Launch);
    for ((name, thread), call) in api.name.iter().zip(&api.thread).zip(0_usize..) {
        if let Some(starts) = launches.get_mut(&timeline.process_of(*thread)).filter(|_| is_launch(name)) {
            starts.push(api.times.start(call));
        }
    }
    for (process, frees) in of_process {
        let starts = launches.remove(&process).unwrap_or_default();
        // Where slow ones go on, they free what was allocated; after the last launch of its own a process does as it ends.
        let last_launch = starts.iter().copied().max().unwrap_or(i64::MIN);
        let slow = || frees.iter().filter(|(_, call)| is_slow(*call));
        if slow().filter(|(start, _)| *start < last_launch).count() > FIRST_FREE_COUNT {
            continue;
        }
        for (start, call) in frees.iter().take(FIRST_FREE_COUNT).filter(|(_, call)| is_slow(*call)) {
            let before = starts.iter().filter(|launch| *launch < start).count();
            if let Some(activity) = activity.get_mut(*call as usize).filter(|_| 2 * before < starts.len()) {
                *activity = Activity::Load;
            }
        }
    }
}

/// Whether a call that takes long can only be loading. A large allocation, a large graph and the set-up of a device take
/// long by themselves; a stream, an event or a free does not.
fn loads_lazily(name: &str, class: ApiClass, count: i64) -> bool {
    let stem = name.trim_start_matches("cuda").trim_start_matches("cu").trim_start_matches("hip");
    match class {
        ApiClass::Allocate => count > 1 && memory_call(name) == MemoryCall::DeviceFree,
        _ => {
            ["StreamCreate", "EventCreate", "Occupancy"].iter().any(|begin| stem.starts_with(begin))
                || (count > 1 && ["GetDevice", "DeviceGet"].iter().any(|begin| stem.starts_with(begin)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Process, Thread};

    #[test]
    fn the_frees_in_which_a_process_ends_are_told_by_its_own_launches() {
        let process = |pid| Process { pid, label: String::new(), name: None };
        let mut timeline = Timeline {
            processes: vec![process(1), process(2)],
            threads: vec![Thread { process: 0, id: 1 }, Thread { process: 1, id: 2 }],
            ..Timeline::default()
        };
        let mut class = Vec::new();
        let mut call = |thread, name, start_ms: i64, length_ms: i64| {
            let of_name = if name == "cudaFree" { ApiClass::Allocate } else { ApiClass::Launch };
            let name = timeline.names.intern(name);
            class.resize(class.len().max(name as usize + 1), of_name);
            timeline.api.name.push(name);
            timeline.api.thread.push(thread);
            timeline.api.times.push(Interval::new(start_ms * 1_000_000, (start_ms + length_ms) * 1_000_000));
        };
        call(0, "cudaFree", 0, 50);
        (100..110).for_each(|start_ms| call(0, "cudaLaunchKernel", start_ms, 1));
        (0..4).for_each(|number| call(0, "cudaFree", 200 + 20 * number, 20));
        (300..310).for_each(|start_ms| call(1, "cudaLaunchKernel", start_ms, 1));
        let mut activity = vec![Activity::Allocate; timeline.api.name.len()];
        mark_first_frees(&timeline, &class, &mut activity);
        let loading: Vec<usize> = (0..activity.len()).filter(|call| activity[*call] == Activity::Load).collect();
        assert_eq!(loading, [0], "the first sets CUDA up, the last ones come as the process ends");
    }

    #[test]
    fn a_graph_is_built_until_its_first_launch_has_uploaded_it() {
        let mut timeline = Timeline::default();
        let mut class = Vec::new();
        for (name, length_us) in
            [("cudaGraphInstantiate", 200), ("cudaGraphLaunch", 150), ("cudaGraphLaunch", 10), ("cudaGraphLaunch", 12)]
        {
            let of_name = if name == "cudaGraphLaunch" { ApiClass::Launch } else { ApiClass::Init };
            let start = timeline.api.times.len() as i64 * 1_000_000;
            let name = timeline.names.intern(name);
            class.resize(class.len().max(name as usize + 1), of_name);
            timeline.api.name.push(name);
            timeline.api.thread.push(0);
            timeline.api.times.push(Interval::new(start, start + length_us * 1_000));
        }
        let all = [Activity::Init, Activity::Launch, Activity::Launch, Activity::Launch];
        let mut activity = all.to_vec();
        mark_first_graph_launches(&timeline, &class, &mut activity);
        assert_eq!(activity, [Activity::Init, Activity::Init, Activity::Launch, Activity::Launch]);
        // A graph that takes as long to launch each time is not uploaded.
        timeline.api.times = [0, 1, 2, 3].iter().map(|start| Interval::new(*start, start + 150_000)).collect();
        let mut activity = all.to_vec();
        mark_first_graph_launches(&timeline, &class, &mut activity);
        assert_eq!(activity, all);
    }
}
