//! What threads do between calls and in them.

use proptest::prelude::*;

use super::{Activity, Calls};
use crate::parallel::Threads;
use crate::timeline::columns::OverheadKind;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId, Timeline};

const NAMES: [&str; 4] = ["cudaLaunchKernel", "cudaDeviceSynchronize", "cudaStreamQuery", "cudaMalloc"];

/// A thread with some calls; with rows of no length, which tell nothing, at the begin of each where `is_cut`.
fn timeline(rows: &[(i64, i64, usize)], is_cut: bool) -> Timeline {
    let mut timeline =
        Timeline { threads: vec![crate::timeline::Thread { process: NONE, id: 1 }], ..Timeline::default() };
    let mut start = 0;
    for (apart, length, name) in rows {
        start += 2_000 * apart;
        let name = timeline.names.intern(NAMES[*name]);
        timeline.api.name.push(name);
        timeline.api.thread.push(0);
        timeline.api.times.push(Interval::new(start, start + 3_000 * length));
        if is_cut {
            timeline.overheads.times.push(Interval::new(start, start));
            timeline.overheads.thread.push(0);
            timeline.overheads.kind.push(OverheadKind::Profiler);
            timeline.overheads.name.push(NONE);
        }
    }
    timeline
}

/// What the thread does, stretch by stretch.
fn laid_out(timeline: &Timeline, within: Interval) -> Vec<(Interval, Activity, NameId)> {
    let mut all: Vec<(Interval, Activity, NameId)> = Vec::new();
    Calls::new(timeline).lay_out_once(timeline, 0, within, |part, activity, name| match all.last_mut() {
        Some((last, known, of)) if last.end == part.start && (*known, *of) == (activity, name) => last.end = part.end,
        _ => all.push((part, activity, name)),
    });
    all
}

proptest! {
    #[test]
    fn calls_that_stand_alone_are_laid_out_as_those_are_that_do_not(
        rows in proptest::collection::vec((0..40_i64, 0..20_i64, 0..NAMES.len()), 0..40),
        (from, length) in (-50_000..500_000_i64, 0..1_000_000_i64),
    ) {
        let within = Interval::new(from, from + length);
        prop_assert_eq!(laid_out(&timeline(&rows, false), within), laid_out(&timeline(&rows, true), within));
    }
}

/// Calls of a thread one after the other and in each other, every other one of the OS; after some it is off the CPU, in others it or every
/// thread pays for the profiler. The scheduler tells of it for a while.
pub(super) fn nested(rows: &[(i64, i64, usize)]) -> Timeline {
    let mut timeline = timeline(&[], false);
    let (mut start, mut states) = (0, Vec::new());
    for (index, (apart, length, name)) in rows.iter().enumerate() {
        start += 2_000 * apart;
        let call = Interval::new(start, start + 3_000 * length);
        let name = timeline.names.intern(NAMES[*name]);
        let (names, threads, times) = if index % 2 == 0 {
            (&mut timeline.api.name, &mut timeline.api.thread, &mut timeline.api.times)
        } else {
            (&mut timeline.os_calls.name, &mut timeline.os_calls.thread, &mut timeline.os_calls.times)
        };
        names.push(name);
        threads.push(0);
        times.push(call);
        if index % 7 >= 5 {
            timeline.overheads.times.push(Interval::new(call.start, call.start + 700 * length));
            timeline.overheads.thread.push(if index % 7 == 5 { 0 } else { NONE });
            timeline.overheads.kind.push(OverheadKind::Profiler);
            timeline.overheads.name.push(NONE);
        }
        states.extend((index % 5 == 4).then_some(Interval::new(call.end, call.end + 1_500 * apart)));
    }
    for state in states {
        timeline.thread_states.thread.push(0);
        timeline.thread_states.times.push(state);
    }
    let scheduled = Interval::new(-7_000, start / 2);
    timeline.thread_states.scheduled.extend((rows.len() % 3 == 1).then_some((0, scheduled)));
    timeline
}

proptest! {
    #[test]
    fn a_thread_laid_out_in_parts_is_laid_out_as_in_one(
        rows in proptest::collection::vec((0..40_i64, 0..30_i64, 0..NAMES.len()), 0..60),
        long in proptest::collection::vec((0..60_usize, 20..400_i64), 0..3),
        (from, length) in (-50_000..500_000_i64, 0..3_000_000_i64),
        threads in 1..4_usize,
    ) {
        let mut rows = rows;
        for (index, length) in long {
            rows.get_mut(index).into_iter().for_each(|row| row.1 = length);
        }
        let (timeline, within) = (nested(&rows), Interval::new(from, from + length));
        let calls = Calls::new(&timeline);
        let (mut in_one, mut in_parts) = (Vec::new(), Vec::new());
        calls.lay_out_once(&timeline, 0, within, |part, activity, name| in_one.push((part, activity, name)));
        calls.keep(&timeline, 0, Threads::new(Some(threads)));
        calls.lay_out(&timeline, 0, within, |part, activity, name| in_parts.push((part, activity, name)));
        prop_assert_eq!(in_one, in_parts);
    }
}

#[test]
fn what_follows_right_behind_a_call_that_brings_code_is_loading() {
    let of = |names: [&str; 2], apart_ns: i64| {
        let mut timeline =
            Timeline { threads: vec![crate::timeline::Thread { process: NONE, id: 1 }], ..Timeline::default() };
        for (name, start) in names.into_iter().zip([0, 10_000 + apart_ns]) {
            let name = timeline.names.intern(name);
            timeline.api.name.push(name);
            timeline.api.thread.push(0);
            timeline.api.times.push(Interval::new(start, start + 10_000));
        }
        laid_out(&timeline, Interval::new(10_000, 10_000 + apart_ns))[0].1
    };
    assert_eq!(of(["cuModuleLoadData", "cudaLaunchKernel"], 10_000), Activity::Load);
    assert_eq!(of(["cuModuleLoadData", "cudaLaunchKernel"], 50_000), Activity::Host);
    assert_eq!(of(["cuModuleUnload", "cudaLaunchKernel"], 10_000), Activity::Launch);
    assert_eq!(of(["cuModuleUnload", "cuModuleLoadData"], 10_000), Activity::Load);
    assert_eq!(of(["cuModuleGetFunction", "cudaLaunchKernel"], 10_000), Activity::Launch);
}
