//! Each thread that has idle stretches to explain is walked once, for all devices.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::activity::Did;
use super::after_waits::WaitInRange;
use super::ahead::Waited;
use super::cursor::Cursor;
use super::host::Calls;
use super::host_rows;
use super::idle::IdleReading;
use super::in_sums::InSums;
use super::of_thread::{OfThread, tell_threads};
use super::queries::Queries;
use super::question::Question;
use super::reading::{Drained, RangeIdle, TimeSum};
use super::stretches::Unread;
use super::walk_parts;
use crate::limits::{max_call_names, max_waits_in_ranges};
use crate::parallel::{self, Threads};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, ThreadRanges, Timeline};

/// Batches of threads: threads can be hundreds of thousands, and those of a batch are put together at once.
const MAX_BATCHES: usize = 1024;
/// Bytes that the readings of batches may take that are walked, or wait for those before them: one that takes more is walked alone.
const MAX_WALKED_BYTES: usize = 64 << 20;
/// What a label, a name of a call, a place, and a wait within a range take of the reading of a thread, for each device that it is asked about: in their sums
/// by account, by what they drained, and in what finds them.
const LABEL_BYTES: usize = size_of::<RangeIdle>() + 32;
const NAME_BYTES: usize = size_of::<TimeSum>() + size_of::<Drained>() + 128;
const PLACE_BYTES: usize = 128;
const WAIT_BYTES: usize = 2 * (size_of::<WaitInRange>() + size_of::<i64>());

/// A device whose idle time is to be read.
pub(crate) struct IdleDevice<'all> {
    /// Its idle stretches.
    pub(crate) unread: Unread,
    /// Its stretches of short kernels.
    pub(crate) storms: &'all Union,
    /// Its steps that are slower than the others.
    pub(crate) slow_steps: &'all Union,
    /// Where loops over loaders of data end and begin anew.
    pub(crate) restarts: &'all Union,
    /// All that repeats: its rounds.
    pub(crate) rounds: &'all Union,
    /// The thread that launches most of its operations.
    pub(crate) main_thread: Option<u32>,
}

/// Reads the idle stretches of all devices.
pub(crate) fn read(
    timeline: &Timeline,
    calls: &Calls,
    mut devices: Vec<IdleDevice<'_>>,
    threads: Threads,
) -> Vec<IdleReading> {
    let readings = devices.iter_mut().map(|device| std::mem::take(&mut device.unread.reading));
    let mut readings: Vec<IdleReading> = readings.collect();
    let mut of_threads = Vec::new();
    walk_all(timeline, calls, &devices, threads, |batch| {
        for (device, part) in batch.parts {
            if let Some(reading) = readings.get_mut(device) {
                reading.merge(part);
            }
        }
        of_threads.extend(batch.threads);
    });
    let windows = devices.iter().map(|device| device.main_thread.map(|_| device.unread.window));
    tell_threads(&mut readings, windows, of_threads);
    readings
}

/// What some threads say.
#[derive(Default)]
struct Batch {
    /// By device.
    parts: BTreeMap<usize, IdleReading>,
    threads: Vec<OfThread>,
}

/// Takes what the threads say, by device, in parts: those of each batch as soon as those before it are taken.
fn walk_all(
    timeline: &Timeline,
    calls: &Calls,
    devices: &[IdleDevice<'_>],
    threads: Threads,
    take: impl FnMut(Batch) + Send,
) {
    let is_optimizer = timeline.optimizer_labels();
    let mut questions = questions(devices, is_optimizer);
    questions.sort_by_key(|question| (question.thread, question.device));
    let by_thread: Vec<_> = questions.chunk_by(|a, b| a.thread == b.thread).collect();
    let asked = || by_thread.iter().filter_map(|questions| questions.first()).map(|question| question.thread);
    let each = calls.threads_each(asked(), threads);
    let batches: Vec<_> = by_thread.chunks(by_thread.len().div_ceil(MAX_BATCHES).max(1)).collect();
    let most_devices = host_rows::most_devices(timeline, calls, devices.len(), asked());
    let weight = |batch: &&[&[Question<'_>]]| weight(timeline, calls, batch);
    let walk = |batch: &&[&[Question<'_>]]| walk_batch(timeline, (calls, most_devices), batch, each);
    parallel::in_order(threads, &batches, (MAX_WALKED_BYTES, weight), walk, take);
}

/// Walks some threads, and puts together what they say of each device.
fn walk_batch(timeline: &Timeline, calls: (&Calls, usize), batch: &[&[Question<'_>]], threads: Threads) -> Batch {
    let mut all = Batch::default();
    for questions in batch {
        let (parts, of_thread) = walk(timeline, calls, questions, threads);
        for (device, part) in parts {
            match all.parts.entry(device) {
                Entry::Vacant(vacant) => _ = vacant.insert(part),
                Entry::Occupied(mut known) => known.get_mut().merge(part),
            }
        }
        let tells = !of_thread.waits.is_empty() || !of_thread.loads.is_empty();
        all.threads.extend(Some(of_thread).filter(|_| tells));
    }
    all
}

/// Bytes that the readings of some threads take at most.
fn weight(timeline: &Timeline, calls: &Calls, batch: &[&[Question<'_>]]) -> usize {
    batch.iter().map(|questions| thread_weight(timeline, calls, questions)).fold(0, usize::saturating_add)
}

/// The same of one thread.
fn thread_weight(timeline: &Timeline, calls: &Calls, questions: &[Question<'_>]) -> usize {
    let Some(thread) = questions.first().map(|question| question.thread) else { return 0 };
    let rows = |ranges: Option<&ThreadRanges>| ranges.map_or(0, |ranges| ranges.times.len());
    let labels = rows(timeline.ranges.of_thread(thread)).min(timeline.ranges.labels.len());
    let names = calls.row_count(thread).min(max_call_names(timeline.devices.len())).min(timeline.names.len());
    let places = rows(timeline.call_locations.of_thread(thread));
    let waits = rows(timeline.ranges.of_thread(thread)).min(max_waits_in_ranges(timeline.devices.len()));
    let of_ranges = labels * LABEL_BYTES + waits * WAIT_BYTES;
    let bytes = size_of::<IdleReading>() + of_ranges + names * NAME_BYTES + places * PLACE_BYTES;
    bytes.saturating_mul(questions.len())
}

/// What every thread is asked. Flat: threads can be hundreds of thousands.
fn questions<'all>(devices: &'all [IdleDevice<'_>], is_optimizer: &'all [bool]) -> Vec<Question<'all>> {
    let mut questions = Vec::new();
    for (device, IdleDevice { unread, storms, slow_steps, restarts, rounds, main_thread }) in devices.iter().enumerate()
    {
        let Unread { window, start_up, .. } = *unread;
        let asked = |thread, queries: &'all [Queries]| Question {
            thread,
            device,
            storms,
            slow_steps,
            restarts,
            rounds,
            is_optimizer,
            queries,
            asked: Interval::EVER,
            last_ends: &[],
            window,
            start_up,
        };
        questions.extend(unread.queries.iter().map(|(thread, queries)| asked(*thread, queries)));
        let silent = main_thread.filter(|main| !unread.queries.contains_key(main));
        questions.extend(silent.map(|thread| asked(thread, &[])));
    }
    questions
}

/// Lays a thread out once for all questions to it, which come by device. Each piece of what it did is read for so many devices.
fn walk(
    timeline: &Timeline,
    (calls, most_devices): (&Calls, usize),
    questions: &[Question<'_>],
    threads: Threads,
) -> (Vec<(usize, IdleReading)>, OfThread) {
    let devices = questions.iter().map(|question| question.device).collect();
    let mut of_thread = OfThread { devices, ..OfThread::default() };
    let Some(thread) = questions.first().map(|question| question.thread) else { return (Vec::new(), of_thread) };
    let Some(hull) = questions.iter().map(Question::hull).reduce(Interval::hull) else {
        return (Vec::new(), of_thread);
    };
    if let Some((reading, read)) = walk_in_parts(timeline, calls, questions, hull, threads) {
        return (vec![reading], OfThread { devices: of_thread.devices, ..read });
    }
    let loading = located_loading(timeline, thread);
    let asked = questions.iter().map(|question| question.queries);
    let is_in_sums = host_rows::in_sums(timeline, (calls, most_devices), thread, asked);
    let of = |in_sums: bool| {
        let chosen = questions.iter().zip(&is_in_sums).filter(move |(_, is_in_sums)| **is_in_sums == in_sums);
        chosen.map(|(question, _)| Cursor::new(timeline, question, &loading, in_sums)).collect::<Vec<_>>()
    };
    let (mut cursors, mut in_sums) = (of(false), InSums::new(of(true)));
    let mut waited = Waited::default();
    calls.lay_out_once(timeline, thread, hull, |time, activity, name| {
        of_thread.add(time, activity);
        waited.add(activity, name, time);
        let did = Did { time, activity, name, is_named: name != NONE };
        // Most threads have to explain few moments of few devices.
        cursors.iter_mut().filter(|cursor| cursor.asks_by(time.end)).for_each(|cursor| cursor.visit(&waited, did));
        in_sums.take(&waited, did);
    });
    let parts = cursors.into_iter().chain(in_sums.finish(&waited)).map(|cursor| {
        let (device, reading, _) = cursor.finish(&waited);
        (device, reading)
    });
    (parts.collect(), of_thread)
}

/// The same for a single device in parts, where the thread was laid out before and is long; `None` where it is not.
fn walk_in_parts(
    timeline: &Timeline,
    calls: &Calls,
    questions: &[Question<'_>],
    hull: Interval,
    threads: Threads,
) -> Option<((usize, IdleReading), OfThread)> {
    let [question] = questions else { return None };
    let laid_out = calls.known(question.thread)?;
    // Where it was in the code is read from the begin on.
    if timeline.call_locations.of_thread(question.thread).is_some() {
        return None;
    }
    let part_bytes = thread_weight(timeline, calls, questions);
    let read = walk_parts::read(timeline, (laid_out, hull), question, part_bytes, threads);
    read.map(|(reading, of_thread)| ((question.device, reading), of_thread))
}

/// When a thread fetches data; nothing where no stacks tell where in the program's own code it is.
fn located_loading(timeline: &Timeline, thread: u32) -> Union {
    let known = timeline.call_locations.of_thread(thread).and_then(|_| timeline.ranges.of_thread(thread));
    let Some(ranges) = known else { return Union::default() };
    Union::of(ranges.labelled(timeline.loading_labels()))
}
