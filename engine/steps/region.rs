//! The part of a recording that the program itself marks with `cudaProfilerStart` and `cudaProfilerStop`.

use super::launches::{Launches, process_of};
use super::step::{Certainty, MIN_STEP_COUNT, Steps, ToldBy};
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// Regions hold at least this share of the work between the first and the last.
const INSIDE_SHARE: f64 = 0.8;

/// Regions that repeat are steps.
pub(super) fn find(timeline: &Timeline, launches: &Launches) -> Option<Steps> {
    let regions = regions(timeline, launches.process);
    let (first, last) = (regions.first()?, regions.last()?);
    let inside = launches.work_in_all_ns(&regions);
    let between = launches.work_ns(Interval::new(first.start, last.end));
    let whole = launches.all_work_ns().max(1);
    if regions.len() < MIN_STEP_COUNT || (inside as f64) < INSIDE_SHARE * between as f64 || 2 * inside < whole {
        return None;
    }
    let steps = Steps::of_hosts(launches, ToldBy::ProfilerCalls, regions);
    (steps.len() >= MIN_STEP_COUNT).then(|| Steps {
        name: "cudaProfilerStart".to_owned(),
        told_by: ToldBy::ProfilerCalls,
        certainty: Certainty::Medium,
        thread: NONE,
        process: launches.process,
        steps,
        work_share: inside as f64 / whole as f64,
        warm_from: None,
    })
}

/// From each start of the profiler to the next stop, in time order; to the end where none follows.
pub(super) fn regions(timeline: &Timeline, process: u32) -> Vec<Interval> {
    let names = |names: [&str; 2]| names.map(|name| timeline.names.find(name).unwrap_or(NONE));
    let starts = names(["cudaProfilerStart", "cuProfilerStart"]);
    let stops = names(["cudaProfilerStop", "cuProfilerStop"]);
    if starts == [NONE; 2] {
        return Vec::new();
    }
    // Among a million calls there are a few of them.
    let [one, other] = starts;
    let [stop, other_stop] = stops;
    let is_mark = |name: u32| name == one || name == other || name == stop || name == other_stop;
    let calls = timeline.api.name.iter().enumerate().filter(|(_, name)| **name != NONE && is_mark(**name));
    let of = |call: usize| timeline.api.thread.get(call).map_or(NONE, |thread| process_of(timeline, *thread));
    let own = calls.filter(|(call, _)| of(*call) == process);
    let mark = |(call, name): (usize, &u32)| {
        let times = timeline.api.times.at(call);
        if starts.contains(name) { (times.end, true) } else { (times.start, false) }
    };
    let mut marks: Vec<(i64, bool)> = own.map(mark).collect();
    marks.sort_unstable();
    let mut regions: Vec<Interval> = Vec::new();
    let mut open: Option<i64> = None;
    for (at, is_start) in marks {
        match (is_start, open) {
            (true, None) => open = Some(at),
            (false, Some(start)) => {
                regions.push(Interval::new(start, at));
                open = None;
            }
            _ => {}
        }
    }
    regions.extend(open.map(|start| Interval::new(start, i64::MAX)));
    regions
}
