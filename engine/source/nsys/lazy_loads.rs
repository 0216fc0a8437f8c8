//! Lazy loading, which exporters file under the profiler's overhead without a name.

use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashSet};

use crate::timeline::api::{ApiClass, classify};
use crate::timeline::columns::OverheadKind;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline};

/// The name of a row whose kind the exporter does not know. CUPTI tells of lazy loading since CUDA 11.7 (kinds 6 and 7 of its overhead).
const NAMELESS: &str = "Unknown";

/// How exporters that know such rows call them.
const NAME: &str = "Lazy Function Loading";
/// What the profiler does for itself takes microseconds: a row of so many is none of that.
const LEAST_LOAD_NS: i64 = 100_000;

/// The code of a kernel is loaded in its first launch, and that of a module in the call that asks for it: such a row within one of these
/// is that. So is a long one in no recorded call behind the first of its thread: libraries call the driver, of which not all is recorded.
/// Others, of microseconds as a rule, stay the profiler's own.
pub(super) fn tell(timeline: &mut Timeline) {
    let Some(nameless) = timeline.names.find(NAMELESS) else { return };
    let overheads = &timeline.overheads;
    let is_nameless = |row: &usize| {
        overheads.kind.get(*row) == Some(&OverheadKind::Profiler) && overheads.name.get(*row) == Some(&nameless)
    };
    let rows: Vec<usize> = (0..overheads.kind.len()).filter(is_nameless).collect();
    if rows.is_empty() {
        return;
    }
    let loading = loading_calls(timeline);
    let times_of = |row: &usize| overheads.times.get(*row);
    let long = rows.iter().filter(|row| times_of(row).is_some_and(|times| times.len_ns() >= LEAST_LOAD_NS));
    let called = called(timeline, &long.filter_map(|row| overheads.thread.get(*row).copied()).collect());
    let name = timeline.names.intern(NAME);
    for row in rows {
        let (Some(thread), Some(times)) = (timeline.overheads.thread.get(row), timeline.overheads.times.get(row))
        else {
            continue;
        };
        let is_within = |calls: &Union| times.len_ns() > 0 && calls.overlap_ns(times) == times.len_ns();
        let is_beside = |calls: &Union| {
            let is_later = calls.parts().next().is_some_and(|first| first.end <= times.start);
            times.len_ns() >= LEAST_LOAD_NS && is_later && calls.overlap_ns(times) == 0
        };
        if loading.get(thread).is_some_and(is_within) || called.get(thread).is_some_and(is_beside) {
            timeline.overheads.kind[row] = OverheadKind::Load;
            timeline.overheads.name[row] = name;
        }
    }
}

/// When each of some threads is in a call.
fn called(timeline: &Timeline, threads: &HashSet<u32>) -> HashMap<u32, Union> {
    let mut calls: HashMap<u32, Vec<Interval>> = HashMap::default();
    let is_asked = |thread: &u32| *thread != NONE && threads.contains(thread);
    for (times, thread) in timeline.api.times.iter().zip(&timeline.api.thread).filter(|(_, thread)| is_asked(thread)) {
        calls.entry(*thread).or_default().push(times);
    }
    calls.into_iter().map(|(thread, calls)| (thread, Union::of(calls))).collect()
}

/// When each thread is in the first launch of a kernel of its process, or in a call that loads a module.
fn loading_calls(timeline: &Timeline) -> HashMap<u32, Union> {
    let (api, kernels) = (&timeline.api, &timeline.kernels);
    let mut firsts: HashMap<(u32, NameId), (u32, Interval)> = HashMap::default();
    // By name, a launch that was looked at: later ones of the same thread are no first ones.
    let mut known: Vec<(u32, i64)> = vec![(NONE, i64::MAX); timeline.names.len()];
    for (kernel, call) in (0_u32..).zip(&kernels.ops.call) {
        let call = *call as usize;
        let (Some(thread), Some(times)) = (api.thread.get(call), api.times.get(call)) else { continue };
        let name = kernels.shape_of(kernel).full_name;
        if *thread == NONE {
            continue;
        }
        if let Some((last, start)) = known.get_mut(name as usize) {
            if last == thread && *start <= times.start {
                continue;
            }
            (*last, *start) = (*thread, times.start);
        }
        match firsts.entry((timeline.process_of(*thread), name)) {
            Entry::Vacant(entry) => drop(entry.insert((*thread, times))),
            Entry::Occupied(mut entry) if times.start < entry.get().1.start => drop(entry.insert((*thread, times))),
            Entry::Occupied(_) => {}
        }
    }
    let mut is_load = Told::new(&timeline.names, |name| classify(name) == ApiClass::Load);
    let mut calls: HashMap<u32, Vec<Interval>> = HashMap::default();
    for (thread, times) in firsts.into_values() {
        calls.entry(thread).or_default().push(times);
    }
    for ((times, thread), name) in api.times.iter().zip(&api.thread).zip(&api.name) {
        if *thread != NONE && is_load.of(*name) {
            calls.entry(*thread).or_default().push(times);
        }
    }
    calls.into_iter().map(|(thread, calls)| (thread, Union::of(calls))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Geometry;
    use crate::timeline::builder::{Builder, CallEvent, KernelKey, Limits, NameKey, OpEvent, StreamKey, ThreadKey};

    /// Two launches of one kernel, and a row of overhead at each time.
    fn kinds(rows: &[(i64, i64)]) -> Vec<OverheadKind> {
        let mut builder = Builder::new(Limits::default());
        let mut chunk = builder.chunk("events");
        let thread = Some(ThreadKey { process: 7, id: 7 });
        let kernel = chunk.text(b"solve").unwrap_or(NameKey::of_id(None));
        let launch = chunk.text(b"cudaLaunchKernel_v7000").unwrap_or(NameKey::of_id(None));
        let nameless = chunk.text(NAMELESS.as_bytes()).unwrap_or(NameKey::of_id(None));
        for (id, start) in [(1, 100), (2, 300)] {
            chunk.api_call(&CallEvent { start, end: start + 100, thread, name: launch }, Some(id), None);
            let stream = StreamKey { process: Some(7), device: 0, context: 0, stream: 7 };
            let op = OpEvent { start: start + 120, end: start + 130, stream, correlation: Some(id) };
            let geometry = Geometry { grid_blocks: 8, block_threads: 64, registers: 0, shared_memory_bytes: 0 };
            chunk.kernel(&op, KernelKey { name: kernel, full_name: kernel, geometry });
        }
        for (start, end) in rows {
            chunk.overhead(&CallEvent { start: *start, end: *end, thread, name: nameless }, OverheadKind::Profiler);
        }
        builder.take(chunk);
        let mut timeline = builder.finish();
        tell(&mut timeline);
        let rows = timeline.overheads.name.iter().zip(&timeline.overheads.kind);
        assert!(rows.into_iter().all(|(name, kind)| (timeline.name(*name) == NAME) == (*kind == OverheadKind::Load)));
        timeline.overheads.kind.clone()
    }

    #[test]
    fn what_has_no_name_in_a_first_launch_is_lazy_loading() {
        use OverheadKind::{Load, Profiler};
        // In the first launch; in part beside it; in a later one; in no call.
        assert_eq!(kinds(&[(110, 190), (190, 210), (310, 390), (500, 510)]), [Load, Profiler, Profiler, Profiler]);
        // Long, and in no call: behind the first one, before it, and across one.
        let (long, longer) = (LEAST_LOAD_NS, LEAST_LOAD_NS + 600);
        let rows = [(500, 500 + long), (500, 499 + long), (-longer, -600), (250, 250 + long)];
        assert_eq!(kinds(&rows), [Load, Profiler, Profiler, Profiler]);
    }
}
