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
    let inside: i64 = regions.iter().map(|region| launches.work_ns(*region)).sum();
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
    })
}

/// From each start of the profiler to the next stop, in time order; to the end where none follows.
pub(super) fn regions(timeline: &Timeline, process: u32) -> Vec<Interval> {
    let is_called = |names: [&str; 2]| names.map(|name| timeline.names.find(name));
    let (starts, stops) =
        (is_called(["cudaProfilerStart", "cuProfilerStart"]), is_called(["cudaProfilerStop", "cuProfilerStop"]));
    if starts == [None; 2] {
        return Vec::new();
    }
    let mut marks = Vec::new();
    for (index, name) in timeline.api.name.iter().enumerate() {
        let (is_start, is_stop) = (starts.contains(&Some(*name)), stops.contains(&Some(*name)));
        let of = || timeline.api.thread.get(index).map_or(NONE, |thread| process_of(timeline, *thread));
        if (is_start || is_stop) && of() == process {
            let call = timeline.api.times.at(index);
            marks.push(if is_start { (call.end, true) } else { (call.start, false) });
        }
    }
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
