//! What threads wait for in the operating system is the same for all devices whose work they launch: it is found once, and is what one
//! finds who looks at each wait by itself.

use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::kinds::DeviceWaits;
use super::os_waits::{self, WaitsForOthers};
use super::*;
use crate::timeline::Geometry;
use crate::timeline::builder::{Builder, CallEvent, Chunk, KernelKey, Limits, OpEvent, StreamKey, ThreadKey};

/// Who, start, length.
type Call = (i64, i64, i64);

fn event(chunk: &mut Chunk, (thread, start, length): Call, name: &str) -> CallEvent {
    let name = chunk.text(name.as_bytes()).unwrap();
    // The last one is of another process.
    let thread = ThreadKey { process: 7 + thread / 4, id: thread };
    CallEvent { start, end: start + length, thread: Some(thread), name }
}

/// Threads that wait for locks, and launch on each of so many devices in turn.
fn recording(device_count: i64, launches: &[Call], waits: &[Call]) -> Timeline {
    let mut builder = Builder::new(Limits::default());
    let mut chunk = builder.chunk("events");
    let geometry = Geometry { grid_blocks: 8, block_threads: 64, registers: 0, shared_memory_bytes: 0 };
    let name = chunk.text(b"gemm").unwrap();
    for (number, call) in (0_u32..).zip(launches) {
        let call = event(&mut chunk, *call, "cudaLaunchKernel");
        chunk.api_call(&call, Some(number + 1), None);
        let process = call.thread.map(|thread| thread.process);
        let stream = StreamKey { process, device: i64::from(number) % device_count, context: 0, stream: 7 };
        let op = OpEvent { start: call.end, end: call.end + 500, stream, correlation: Some(number + 1) };
        chunk.kernel(&op, KernelKey { name, full_name: name, geometry });
    }
    for wait in waits {
        let wait = event(&mut chunk, *wait, "pthread_mutex_lock");
        chunk.os_call(&wait);
    }
    builder.take(chunk);
    builder.finish()
}

fn list(waits: &WaitsForOthers) -> Vec<Interval> {
    (0..).map_while(|index| waits.get(index).copied()).collect()
}

/// What of each wait is not from the first to the last call that other threads of its process begin within it.
fn one_by_one(context: &Context<'_>, launching: &[u32]) -> Vec<Interval> {
    let timeline = context.timeline;
    let os_calls = &timeline.os_calls;
    let mut found = Vec::new();
    for (wait, thread) in os_calls.times.iter().zip(&os_calls.thread) {
        if wait.len_ns() < os_waits::LONG_CALL_NS || context.calls.of_thread(*thread).is_empty() {
            continue;
        }
        let process = timeline.process_of(*thread);
        let others = launching.iter().filter(|other| *other != thread && timeline.process_of(**other) == process);
        let hulls = others.filter_map(|other| {
            let calls = context.calls.of_thread(*other).iter().map(|call| timeline.api.times.at(*call as usize));
            let inside: Vec<Interval> = calls.filter(|call| (wait.start..wait.end).contains(&call.start)).collect();
            Some((inside.first()?.start, inside.last()?.end.min(wait.end)))
        });
        let hulls: Vec<(i64, i64)> = hulls.collect();
        let first = hulls.iter().map(|hull| hull.0).min().unwrap_or(wait.end);
        let last = hulls.iter().map(|hull| hull.1).max().unwrap_or(wait.end);
        found.extend([Interval::new(wait.start, first), Interval::new(last, wait.end)]);
    }
    found.retain(|part| part.len_ns() > 0);
    found.sort_unstable();
    found
}

fn context(timeline: &Timeline) -> Context<'_> {
    Context::new(timeline, &Scope::All, &View::default(), Threads::new(Some(1))).ok().unwrap().0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn waits_but_for_what_other_threads_launch_are_those_found_one_by_one(
        launches in proptest::collection::vec((0..6_i64, 0..3_000_000_i64, 0..9_000_i64), 1..60),
        waits in proptest::collection::vec((0..6_i64, 0..3_000_000_i64, 0..900_000_i64), 0..60),
        launching in proptest::collection::btree_set(0..6_u32, 0..6),
    ) {
        let timeline = recording(2, &launches, &waits);
        let context = context(&timeline);
        let processes: Vec<u32> = (0..timeline.processes.len() as u32).collect();
        let launching: Vec<u32> = launching.into_iter().filter(|thread| (*thread as usize) < timeline.threads.len()).collect();
        let mut found = list(&os_waits::of(&context, &processes, &launching));
        prop_assert!(found.is_sorted_by_key(|wait| wait.start));
        found.sort_unstable();
        prop_assert_eq!(found, one_by_one(&context, &launching));
    }
}

#[test]
fn waits_are_found_once_for_all_devices_that_the_same_threads_launch_on() {
    let launches: Vec<Call> = (0..640).map(|number| (number / 32 % 4, number * 100_000, 5_000)).collect();
    let waits: Vec<Call> = (0..200).map(|number| (number % 4, number * 77_777 % 60_000_000, 60_000)).collect();
    let timeline = recording(32, &launches, &waits);
    let count = |facts: Facts, replays: &Replays<'_>| {
        let late = facts.devices().iter().filter(|(_, device)| device.int("late_host_busy_ns").is_some()).count();
        (late, replays.context.once.found_waits_count.load(Ordering::Relaxed))
    };
    let counts = extract_view_then(&timeline, &Scope::All, &View::default(), Some(2), count).unwrap();
    assert_eq!(counts, (32, 1));
}

#[test]
fn what_many_processes_wait_in_is_what_each_of_them_waits_in() {
    let launches: Vec<Call> =
        (0..400).map(|number| (number * 7 % 48, number * 30_000, 40_000 + number % 3 * 10_000)).collect();
    let timeline = recording(1, &launches, &[]);
    let context = context(&timeline);
    let device = &context.devices[0];
    let of_all = device.waits(&context);
    assert!(matches!(of_all, DeviceWaits::OfAll(_)) && device.processes.len() == 12);
    let times = &timeline.api.times;
    let start = |call: &u32| times.start(*call as usize);
    let together: Vec<u32> = of_all.lists().flat_map(|waits| &waits.for_room).copied().collect();
    assert!(together.is_sorted_by_key(start) && together.len() > 200);
    let kinds = device.call_kinds(&context).flat_map(|(_, kind)| kind.calls.all());
    let mut of_each: Vec<u32> =
        kinds.copied().filter(|call| times.at(*call as usize).len_ns() >= os_waits::LONG_CALL_NS).collect();
    of_each.sort_by_key(start);
    assert_eq!(together, of_each);
}
