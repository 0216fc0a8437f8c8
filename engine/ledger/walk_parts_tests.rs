//! What idle time is read in parts is what is read in one.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;

use super::activity::Did;
use super::ahead::Waited;
use super::cursor::Cursor;
use super::idle::{Copies, IdleReading};
use super::layout_tests::nested;
use super::of_thread::OfThread;
use super::queries::{Guess, Queries, Query};
use super::question::Question;
use super::walk_parts::read;
use super::{Calls, TimeSum};
use crate::parallel::Threads;
use crate::timeline::interval::Interval;
use crate::timeline::samples::CpuSamples;
use crate::timeline::union::Union;
use crate::timeline::{NONE, StackedCalls, ThreadRanges, Timeline};

const WINDOW: Interval = Interval::new(0, 5_000_000);

/// Stretches one after the other, in two lists: of each how far it begins behind the last, how long it is, how much of it is not the host's, and
/// whether the thread is guessed.
fn queries(stretches: &[(i64, i64, i64, u8)]) -> Vec<Queries> {
    let mut lists = vec![Queries::default(), Queries::default()];
    let mut now = 0;
    for (index, (apart, length, late, kind)) in stretches.iter().enumerate() {
        let start = now + apart * 700;
        now = start + length * 1_900;
        let stretch = Interval::new(start, now);
        let host = Interval::new(start, (now - late * 800).max(start));
        let guess = [Some(Guess::Migration), Some(Guess::Unrecorded)].get(usize::from(*kind)).copied().flatten();
        let copies = if kind % 5 == 4 { Copies { before: index as u32, after: NONE } } else { Copies::default() };
        lists[usize::from(index * 3 > stretches.len())].push(Query { stretch, host, guess, copies });
    }
    lists
}

/// Samples of the thread, and of another, all along, and stacks of every other call of the OS of it.
fn sample(timeline: &mut Timeline) {
    let mut samples = CpuSamples::new(Vec::new());
    for (thread, step) in [(0, 1_300), (1, 9_000)] {
        (0..WINDOW.end / step).for_each(|index| samples.push(thread, index * step, std::iter::empty()));
    }
    let mut stacked = StackedCalls { samples: CpuSamples::new(Vec::new()), end_ns: Vec::new() };
    let of_thread = timeline.os_calls.times.iter().zip(&timeline.os_calls.thread).filter(|(_, thread)| **thread == 0);
    for (call, _) in of_thread.step_by(2) {
        stacked.samples.push(0, call.start, std::iter::empty());
        stacked.end_ns.push(call.end);
    }
    (timeline.cpu_samples, timeline.os_stacks) = (samples, stacked);
}

fn every(start: i64, step: i64, length: i64) -> Union {
    Union::of((0..60).map(|index| start + index * step).map(|start| Interval::new(start, start + length)))
}

/// What a sum tells.
fn told(sum: &TimeSum) -> String {
    let longest = (sum.longest_ns, sum.longest_start_ns, sum.longest_pieces_ns());
    format!("{} {} {longest:?} {} {}", sum.sum_ns, sum.count, sum.is_of_sizes(), sum.is_evenly_spaced(WINDOW))
}

/// What a reading tells, in order.
fn tells(mut reading: IdleReading) -> Vec<String> {
    fn each<K: Ord + Debug, V: Debug>(all: impl Iterator<Item = (K, V)>) -> String {
        format!("{:?}", all.collect::<BTreeMap<K, V>>())
    }
    let mut all = Vec::new();
    all.extend(reading.sums.iter_mut().map(|(account, sum)| format!("{account:?} {}", told(sum))));
    all.extend(reading.in_stretches.iter_mut().map(|(account, sum)| format!("{account:?} {}", told(sum))));
    all.extend(reading.calls.iter().map(|(call, sum)| format!("{call:?} {}", told(sum))));
    all.extend(reading.drained.iter().map(|(key, drained)| {
        let of_host = (drained.host_ns, drained.calls_ns, drained.run_ahead_ns, drained.sync_ns, drained.late_start_ns);
        format!("{key:?} {} {of_host:?}", told(&drained.stretches))
    }));
    let rounds = reading.host_and_rounds;
    all.push(format!("{} {} {:?}", told(&rounds.within), told(&rounds.outside), rounds.longest_pauses_ns()));
    all.push(format!("{:?} {} {:?}", rounds.across_ns, rounds.launch_ns, reading.host_run.longest()));
    all.push(each(reading.ranges.iter()));
    all.push(each(reading.after_waits.iter()));
    all.extend(reading.samples.iter_mut().map(|(account, samples)| format!("{account:?} {samples:?}")));
    for by_account in [&reading.in_start_up, &reading.in_slow_steps, &reading.in_restarts] {
        all.push(format!("{by_account:?}"));
    }
    all.push(format!("{:?} {:?}", reading.host_before_loads, reading.host_beside_copies));
    all.push(format!("{:?} {:?}", reading.won_beside_copies, reading.stacked_ns));
    let after = [reading.host_after_sync_ns, reading.blocked_after_sync_ns, reading.load_after_sync_ns];
    let counts = [reading.too_deep_count, reading.summed_count, reading.optimizer_ns, reading.host_before_load_ns];
    let sums =
        [reading.guessed_host_ns, reading.storm_launch_ns, reading.storm_after_sync_ns, reading.waited_launch_ns];
    all.push(format!("{after:?} {counts:?} {sums:?} {}", reading.queued_migration_ns));
    all
}

fn in_one(timeline: &Timeline, calls: &Calls, question: &Question<'_>) -> (IdleReading, OfThread) {
    let nothing = Union::default();
    let mut cursor = Cursor::new(timeline, question, &nothing, false);
    let (mut waited, mut of_thread) = (Waited::default(), OfThread::default());
    calls.lay_out_once(timeline, 0, question.hull(), |time, activity, name| {
        of_thread.add(time, activity);
        waited.add(activity, name, time);
        if cursor.asks_by(time.end) {
            cursor.visit(&waited, Did { time, activity, name, is_named: name != NONE });
        }
    });
    (cursor.finish(&waited).1, of_thread)
}

proptest! {
    #[test]
    fn idle_time_read_in_parts_is_read_as_in_one(
        rows in proptest::collection::vec((0..20_i64, 0..12_i64, 0..4_usize), 0..120),
        stretches in proptest::collection::vec((0..30_i64, 0..25_i64, 0..70_i64, 0..12_u8), 0..80),
        ranges in proptest::collection::vec((0..2_000_i64, 0..400_i64, 0..4_u32), 0..40),
        threads in 1..4_usize,
    ) {
        let mut timeline = nested(&rows);
        let mut of_thread = ThreadRanges { thread: 0, ..ThreadRanges::default() };
        for (start, length, label) in ranges {
            of_thread.times.push(Interval::new(start * 1_000, (start + length) * 1_000));
            of_thread.label.push(label);
        }
        of_thread.sort();
        timeline.ranges.threads.push(of_thread);
        sample(&mut timeline);
        let (storms, slow_steps, restarts) = (every(9_000, 40_000, 15_000), every(0, 200_000, 70_000), every(50_000, 333_000, 9_000));
        let (rounds, queries) = (every(20_000, 100_000, 60_000), queries(&stretches));
        let question = Question {
            thread: 0,
            device: 0,
            storms: &storms,
            slow_steps: &slow_steps,
            restarts: &restarts,
            rounds: &rounds,
            is_optimizer: &[false, true, true, false],
            queries: &queries,
            asked: Interval::EVER,
            last_ends: &[],
            window: WINDOW,
            start_up: Interval::new(0, 90_000),
        };
        let (once, kept) = (Calls::new(&timeline), Calls::new(&timeline));
        kept.keep(&timeline, 0, Threads::new(Some(1)));
        let laid_out = kept.known(0).unwrap();
        let (one, of_one) = in_one(&timeline, &once, &question);
        let read = read(&timeline, (laid_out, question.hull()), &question, 1, Threads::new(Some(threads)));
        let Some((all, of_all)) = read else { return Ok(()) };
        prop_assert_eq!(tells(one), tells(all));
        prop_assert_eq!((of_one.waits, of_one.loads), (of_all.waits, of_all.loads));
    }
}
