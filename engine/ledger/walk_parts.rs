//! A thread read in parts, side by side, for a device: a part begins between two idle stretches, so that nothing goes on in it but what is
//! told when it is put behind the part before it.

use super::activity::Did;
use super::ahead::Waited;
use super::cursor::Cursor;
use super::idle::IdleReading;
use super::laid_out::LaidOut;
use super::of_thread::OfThread;
use super::open_ranges::last_ends;
use super::queries::pauses_from;
use super::question::Question;
use super::wins::{EndedInPart, Wins};
use crate::parallel::{self, Threads};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, Timeline};

/// Stretches of what a thread did that a part has, at most, where there is a pause to begin the next in.
const PART_STRETCHES: usize = if cfg!(test) { 5 } else { 1 << 16 };
/// Pauses that are looked at for one to begin a part in.
const FEW_PAUSES: usize = 64;
/// Bytes that the readings of parts may take that are read, or wait for those before them.
const MAX_PART_BYTES: usize = 16 << 20;

/// The parts of an interval in which a thread is read: each but the first begins with something that the thread does, between two
/// idle stretches.
pub(super) fn parts(laid_out: &LaidOut, question: &Question<'_>, within: Interval) -> Vec<Interval> {
    let cut = |near: i64| {
        let begun = |pause: Interval| laid_out.first_begun_from(pause.start).filter(|moment| *moment <= pause.end);
        pauses_from(question.queries, near).take(FEW_PAUSES).find_map(begun)
    };
    let near = laid_out.begins_of_few(PART_STRETCHES).filter(|near| within.start < *near && *near < within.end);
    let mut cuts: Vec<i64> = near.filter_map(cut).filter(|cut| within.start < *cut && *cut < within.end).collect();
    cuts.dedup();
    let bounds: Vec<i64> = [within.start].into_iter().chain(cuts).chain([within.end]).collect();
    bounds.windows(2).map(|bounds| Interval::new(bounds[0], bounds[1])).collect()
}

/// What a part says.
struct Part {
    reading: IdleReading,
    wins: Vec<EndedInPart>,
    waited: Waited,
    of_thread: OfThread,
}

/// Reads a thread in parts, whose readings take so many bytes each at most; what it says is the same as if it was read in one.
pub(super) fn read(
    timeline: &Timeline,
    laid_out: &LaidOut,
    question: &Question<'_>,
    (parts, part_bytes): (&[Interval], usize),
    threads: Threads,
) -> (IdleReading, OfThread) {
    let last_ends = timeline.ranges.of_thread(question.thread).map(last_ends).unwrap_or_default();
    let question = Question { last_ends: &last_ends, ..*question };
    let process = timeline.process_of(question.thread);
    let (mut reading, mut of_thread) = (IdleReading::default(), OfThread::default());
    let (mut wins, mut waited) = (Wins::default(), Waited::default());
    let read = |within: &Interval| {
        let is_first = parts.first() == Some(within);
        let is_last = parts.last() == Some(within);
        let start = if is_first { i64::MIN } else { within.start };
        let asked = Interval::new(start, if is_last { i64::MAX } else { within.end });
        read_part(timeline, laid_out, &Question { asked, ..question }, *within)
    };
    parallel::in_order(threads, parts, (MAX_PART_BYTES, |_: &Interval| part_bytes), read, |part| {
        reading.append(part.reading);
        wins.take_part(&mut reading, process, &waited, part.wins);
        waited.append(part.waited);
        of_thread.append(part.of_thread);
    });
    (reading, of_thread)
}

fn read_part(timeline: &Timeline, laid_out: &LaidOut, question: &Question<'_>, within: Interval) -> Part {
    let nothing = Union::default();
    let mut cursor = Cursor::new(timeline, question, &nothing, false).of_part();
    let (mut waited, mut of_thread) = (Waited::default(), OfThread::default());
    laid_out.visit(within, |time, activity, name| {
        of_thread.add(time, activity);
        waited.add(activity, name, time);
        if cursor.asks_by(time.end) {
            cursor.visit(&waited, Did { time, activity, name, is_named: name != NONE });
        }
    });
    let (_, reading, wins) = cursor.finish(&waited);
    Part { reading, wins, waited, of_thread }
}
