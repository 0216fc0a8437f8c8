//! Waits in which the host prints what kernels wrote with `printf`: the driver keeps that in a buffer, and writes it to the standard output
//! when the host waits.

use super::activity::Activity;
use crate::timeline::api::ApiClass;
use crate::timeline::names::Told;
use crate::timeline::near::Near;
use crate::timeline::{NameId, Timeline};

/// Calls that write what was printed. A program makes none within a wait for the device.
const FLUSHES: [&str; 4] = ["fflush", "fwrite", "fputs", "puts"];

/// Marks the waits within which their thread flushes a file; of each thread its calls, and those of the OS, by start.
pub(super) fn mark(
    timeline: &Timeline,
    (calls, os_calls): (&[Vec<u32>], &[Vec<u32>]),
    class: &[ApiClass],
    activity: &mut [Activity],
) {
    if !FLUSHES.iter().any(|name| timeline.names.find(name).is_some()) {
        return;
    }
    let mut flushes = Told::new(&timeline.names, |name| FLUSHES.contains(&name));
    let is_wait = |name: NameId| matches!(class.get(name as usize), Some(ApiClass::Wait(_)));
    let (api, os) = (&timeline.api, &timeline.os_calls);
    for (own, rows) in calls.iter().zip(os_calls) {
        let mut near = Near::default();
        for row in rows.iter().filter(|row| flushes.of(os.name[**row as usize])) {
            let flush = os.times.at(*row as usize);
            let begun = near.partition_point(own.len(), |at| api.times.start(own[at] as usize) <= flush.start);
            let Some(call) = begun.checked_sub(1).map(|last| own[last] as usize) else { continue };
            if api.times.end(call) >= flush.end
                && is_wait(api.name[call])
                && let Some(activity) = activity.get_mut(call)
            {
                *activity = Activity::Print;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::code_waits::host::{named, os_call};
    use super::*;
    use crate::ledger::host::Calls;
    use crate::timeline::interval::Interval;

    #[test]
    fn a_wait_prints_where_its_thread_flushes_within_it() {
        let mut timeline = Timeline::default();
        timeline.threads.extend([crate::timeline::Thread { process: 0, id: 7 }; 2]);
        for (name, thread, start_ms) in [
            ("cudaStreamSynchronize", 0, 0),
            ("cudaLaunchKernel", 0, 100),
            ("cudaStreamSynchronize", 0, 200),
            ("cudaStreamSynchronize", 1, 0),
        ] {
            let name = named(&mut timeline, name);
            timeline.api.times.push(Interval::new(start_ms * 1_000_000, (start_ms + 100) * 1_000_000));
            timeline.api.name.push(name);
            timeline.api.thread.push(thread);
        }
        os_call(&mut timeline, "fflush", 0, 90, 95);
        os_call(&mut timeline, "fflush", 0, 120, 130);
        os_call(&mut timeline, "fflush", 0, 290, 310);
        os_call(&mut timeline, "poll", 1, 10, 90);
        let calls = Calls::new(&timeline);
        assert_eq!(calls.activity, [Activity::Print, Activity::Launch, Activity::Sync, Activity::Sync]);
    }
}
