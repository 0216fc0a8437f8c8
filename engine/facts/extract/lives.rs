//! From when to when the processes of a recording ran, as far as it tells.

use super::Context;
use super::torn_down::exits;
use crate::timeline::interval::Interval;

/// By process: from the first thing that was recorded of any of its threads on, to where the profiler noticed that it exits; without an
/// end where no such notice is. `None` where no calls of the OS were recorded of it: then it may have run long before.
pub(super) fn lives(context: &Context<'_>) -> Vec<Option<Interval>> {
    let timeline = context.timeline;
    let mut begins: Vec<Option<i64>> = context.threads.iter().map(|own| begin_ns(context, own)).collect();
    let mut ends: Vec<Option<i64>> = vec![None; begins.len()];
    for (times, thread) in timeline.overheads.times.iter().zip(&timeline.overheads.thread) {
        if let Some(Some(begin)) = begins.get_mut(timeline.process_of(*thread) as usize) {
            *begin = times.start.min(*begin);
        }
    }
    for (end, thread) in exits(timeline) {
        if let Some(own) = ends.get_mut(timeline.process_of(thread) as usize) {
            *own = Some(own.map_or(end, |known| known.max(end)));
        }
    }
    let life = |(begin, end): (Option<i64>, Option<i64>)| Some(Interval::new(begin?, end.unwrap_or(i64::MAX)));
    begins.into_iter().zip(ends).map(life).collect()
}

/// When the first thing begins that was recorded of some threads, where calls of the OS of them were.
fn begin_ns(context: &Context<'_>, threads: &[u32]) -> Option<i64> {
    let timeline = context.timeline;
    let of_thread = |thread: &u32| {
        let call = context.calls.of_thread(*thread).first().map(|call| timeline.api.times.at(*call as usize).start);
        let ranges = timeline.ranges.of_thread(*thread);
        let range = ranges.and_then(|ranges| ranges.times.get(0)).map(|range| range.start);
        let samples = &timeline.cpu_samples;
        let sample = samples.of_thread(*thread).next().and_then(|first| samples.time_ns.get(first)).copied();
        let scheduled = timeline.thread_states.scheduled.get(thread).map(|span| span.start);
        [call, range, sample, scheduled].into_iter().flatten().min()
    };
    let os_call = threads.iter().filter_map(|thread| context.calls.first_os_call(timeline, *thread)).min()?;
    threads.iter().filter_map(of_thread).min().map(|first| first.min(os_call)).or(Some(os_call))
}
