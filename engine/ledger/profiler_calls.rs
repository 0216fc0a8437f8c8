//! Calls that wait for the profiler: while it hands over what it recorded, on a thread of its own, calls of other threads stand still.

use foldhash::{HashMap, HashSet};

use super::activity::Activity;
use super::dispatch::median;
use crate::timeline::columns::OverheadKind;
use crate::timeline::interval::Interval;
use crate::timeline::names::Told;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, Timeline};

/// What the names of that work hold. What else it does on other threads is for these.
const HANDS_OVER: &str = "flush";
/// Pieces of its work that lie closer are one stretch, and a call that it held up returns no later than this behind one.
const NEAR_NS: i64 = 50_000;
/// Shorter calls are not looked at.
const LONG_CALL_NS: i64 = 50_000;
/// An asynchronous call that takes so many times as long as the median of its name was held up.
const MANY_TIMES: i64 = 10;

/// Marks asynchronous calls that begin and end with the profiler at work in their process, and take far longer than others of their
/// name; `by_thread` holds the calls of each thread.
pub(super) fn mark(timeline: &Timeline, by_thread: &[Vec<u32>], activity: &mut [Activity]) {
    let at_work = at_work(timeline, by_thread);
    if at_work.is_empty() {
        return;
    }
    let api = &timeline.api;
    let is_within = |(index, call): (usize, Interval)| {
        let may_be = call.len_ns() >= LONG_CALL_NS && activity.get(index) == Some(&Activity::Launch);
        let parts = may_be.then(|| at_work.get(&timeline.process_of(api.thread[index])))??;
        let begun = parts.partition_point(|part| part.start <= call.start);
        let part = parts.get(begun.checked_sub(1)?)?;
        (call.end <= part.end).then_some((index, call.len_ns()))
    };
    let within: Vec<(usize, i64)> = api.times.iter().enumerate().filter_map(is_within).collect();
    let usual_ns = usual_ns(timeline, within.iter().map(|(index, _)| api.name[*index]).collect());
    for (index, ns) in within {
        if usual_ns.get(&api.name[index]).is_some_and(|usual_ns| ns / MANY_TIMES > *usual_ns) {
            activity[index] = Activity::Profiler;
        }
    }
}

/// By process, when the profiler hands over on threads that call nothing, and so are its own.
fn at_work(timeline: &Timeline, by_thread: &[Vec<u32>]) -> HashMap<u32, Vec<Interval>> {
    let overheads = &timeline.overheads;
    let mut of_process: HashMap<u32, Vec<Interval>> = HashMap::default();
    let mut hands_over = Told::new(&timeline.names, |name| name.contains(HANDS_OVER));
    let rows = overheads.times.iter().zip(&overheads.kind).zip(&overheads.thread).zip(&overheads.name);
    for (((times, kind), thread), name) in rows {
        let is_own = *thread != NONE && by_thread.get(*thread as usize).is_none_or(Vec::is_empty);
        if is_own && *kind == OverheadKind::Profiler && hands_over.of(*name) {
            let part = Interval::new(times.start, times.end.saturating_add(NEAR_NS));
            of_process.entry(timeline.process_of(*thread)).or_default().push(part);
        }
    }
    of_process.into_iter().map(|(process, parts)| (process, Union::of(parts).parts().collect())).collect()
}

/// How long the median call of each of some names takes.
fn usual_ns(timeline: &Timeline, names: HashSet<NameId>) -> HashMap<NameId, i64> {
    let mut lengths: HashMap<NameId, Vec<i64>> = HashMap::default();
    if names.is_empty() {
        return HashMap::default();
    }
    for (name, call) in timeline.api.name.iter().zip(timeline.api.times.iter()) {
        if names.contains(name) {
            lengths.entry(*name).or_default().push(call.len_ns());
        }
    }
    lengths.into_iter().map(|(name, mut lengths)| (name, median(&mut lengths))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Process, Thread};

    #[test]
    fn a_call_that_stands_still_with_the_profiler_at_work_is_its_time() {
        let process = |pid| Process { pid, label: String::new(), name: None };
        let mut timeline = Timeline {
            processes: vec![process(1), process(2)],
            threads: vec![
                Thread { process: 0, id: 1 },
                Thread { process: 0, id: 2 },
                Thread { process: 1, id: 3 },
                Thread { process: 0, id: 4 },
            ],
            ..Timeline::default()
        };
        let mut by_thread = vec![Vec::new(); 4];
        let [launch, copy] = ["cudaLaunchKernel", "cudaMemcpyAsync"].map(|name| timeline.names.intern(name));
        let mut call = |thread: u32, name, start_us: i64, end_us: i64| {
            by_thread[thread as usize].push(timeline.api.name.len() as u32);
            timeline.api.name.push(name);
            timeline.api.thread.push(thread);
            timeline.api.times.push(Interval::new(start_us * 1_000, end_us * 1_000));
        };
        (0..20).for_each(|number| call(0, launch, number * 10, number * 10 + 5));
        call(0, copy, 900, 2_050);
        call(0, launch, 900, 2_050);
        call(0, launch, 1_100, 3_040);
        call(0, launch, 2_100, 3_060);
        call(2, launch, 1_100, 3_040);
        call(0, launch, 4_000, 4_055);
        call(3, launch, 6_100, 6_900);
        call(0, launch, 8_100, 8_900);
        let [flush, own] = ["CUPTI Buffer flush", "TLS allocation"].map(|name| timeline.names.intern(name));
        for (thread, name, start_us, end_us) in [
            (1, flush, 1_000, 2_000),
            (1, flush, 2_040, 3_000),
            (1, flush, 4_000, 5_000),
            (3, flush, 6_000, 7_000),
            (1, own, 8_000, 9_000),
        ] {
            timeline.overheads.times.push(Interval::new(start_us * 1_000, end_us * 1_000));
            timeline.overheads.kind.push(OverheadKind::Profiler);
            timeline.overheads.name.push(name);
            timeline.overheads.thread.push(thread);
        }
        let mut activity = vec![Activity::Launch; timeline.api.name.len()];
        mark(&timeline, &by_thread, &mut activity);
        let held_up: Vec<usize> = (0..activity.len()).filter(|call| activity[*call] == Activity::Profiler).collect();
        // The others begin earlier, end later, are of another process, take little, or lie beside what a thread that calls does itself.
        assert_eq!(held_up, [22, 25]);
        activity.fill(Activity::Sync);
        mark(&timeline, &by_thread, &mut activity);
        assert!(!activity.contains(&Activity::Profiler), "a wait may take any time");
    }
}
