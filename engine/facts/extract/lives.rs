//! From when to when the processes of a recording ran, as far as it tells.

use super::Context;
use super::spent::first_call_or_range_ns;
use super::torn_down::exits;
use crate::timeline::interval::Interval;

/// By process: from the first thing that was recorded of any of its threads on, to where the profiler noticed that it exits; without an
/// end where no such notice is. `None` where no calls of the OS were recorded of it: then it may have run long before.
pub(super) fn lives(context: &Context<'_>) -> Vec<Option<Interval>> {
    let timeline = context.timeline;
    let mut begins: Vec<Option<i64>> = context.threads.iter().map(|own| begin_ns(context, own)).collect();
    for (times, thread) in timeline.overheads.times.iter().zip(&timeline.overheads.thread) {
        if let Some(Some(begin)) = begins.get_mut(timeline.process_of(*thread) as usize) {
            *begin = times.start.min(*begin);
        }
    }
    let ends = exits(timeline);
    let end_ns = |process: u32| ends.get(&process).copied().unwrap_or(i64::MAX);
    begins.into_iter().zip(0..).map(|(begin, process)| Some(Interval::new(begin?, end_ns(process)))).collect()
}

/// When the first thing begins that was recorded of some threads, where calls of the OS of them were.
fn begin_ns(context: &Context<'_>, threads: &[u32]) -> Option<i64> {
    let timeline = context.timeline;
    let of_thread = |thread: &u32| {
        let os_call = context.calls.first_os_call(timeline, *thread);
        let samples = &timeline.cpu_samples;
        let sample = samples.of_thread(*thread).next().and_then(|first| samples.time_ns.get(first)).copied();
        let scheduled = timeline.thread_states.scheduled.get(thread).map(|span| span.start);
        [first_call_or_range_ns(context, *thread), os_call, sample, scheduled].into_iter().flatten().min()
    };
    let has_os_calls = threads.iter().any(|thread| context.calls.first_os_call(timeline, *thread).is_some());
    threads.iter().filter_map(of_thread).min().filter(|_| has_os_calls)
}
