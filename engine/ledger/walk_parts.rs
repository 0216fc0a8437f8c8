//! A thread read in parts, side by side, for a device: a part begins between two idle stretches, so that nothing goes on in it but what is
//! told when it is put behind the part before it.

use super::activity::Did;
use super::ahead::Waited;
use super::cursor::Cursor;
use super::idle::IdleReading;
use super::laid_out::LaidOut;
use super::of_thread::OfThread;
use super::open_ranges::last_ends;
use super::queries::{count_within, pauses_from};
use super::question::Question;
use super::wins::{EndedInPart, Wins};
use crate::parallel::{self, Threads};
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, Timeline};

/// Stretches of what a thread did that a part has, about, where there is a pause to begin the next in.
const PART_STRETCHES: usize = if cfg!(test) { 5 } else { 1 << 16 };
/// Pauses that are looked at for one to begin a part in.
const FEW_PAUSES: usize = 64;
/// Bytes that the readings of parts may take that are read, or wait for those before them: one that takes more is read alone.
const MAX_PART_BYTES: usize = 16 << 20;

/// A part of what a thread is asked.
#[derive(Debug)]
struct Asked {
    /// When it is read.
    within: Interval,
    /// What begins then is asked: what begins before the first part, or behind the last, is asked as well.
    asked: Interval,
}

/// The parts of an interval in which a thread is read: each but the first begins with something that the thread does, between two
/// idle stretches.
fn parts(laid_out: &LaidOut, question: &Question<'_>, within: Interval) -> Vec<Asked> {
    let cut = |near: i64| {
        let begun = |pause: Interval| laid_out.first_begun_from(pause.start).filter(|moment| *moment <= pause.end);
        pauses_from(question.queries, near).take(FEW_PAUSES).find_map(begun)
    };
    let is_inside = |moment: &i64| within.start < *moment && *moment < within.end;
    let near = laid_out.begins_of_few(PART_STRETCHES).filter(is_inside);
    let mut cuts: Vec<i64> = near.filter_map(cut).filter(is_inside).collect();
    cuts.dedup();
    let starts = || [i64::MIN].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([i64::MAX]);
    let asked = starts().zip(ends).map(|(start, end)| Interval::new(start, end));
    asked.map(|asked| Asked { within: asked.clip(within), asked }).collect()
}

/// What a part says.
struct Part {
    reading: IdleReading,
    wins: Vec<EndedInPart>,
    waited: Waited,
    of_thread: OfThread,
}

/// Reads a thread in parts for one device, over an interval. `part_bytes` is what the reading of a part takes at most, beside the stretches
/// that may win something. What it says is what is said of it as a whole, but that of more waits in ranges than are kept others may be
/// let go. `None` where it has no parts, or its ranges are too deep for that.
pub(super) fn read(
    timeline: &Timeline,
    (laid_out, within): (&LaidOut, Interval),
    question: &Question<'_>,
    part_bytes: usize,
    threads: Threads,
) -> Option<(IdleReading, OfThread)> {
    let parts = parts(laid_out, question, within);
    if parts.len() < 2 {
        return None;
    }
    let last_ends = match timeline.ranges.of_thread(question.thread) {
        Some(ranges) => last_ends(ranges, timeline.devices.len())?,
        None => Vec::new(),
    };
    let question = Question { last_ends: &last_ends, ..*question };
    let process = timeline.process_of(question.thread);
    let (mut reading, mut of_thread) = (IdleReading::default(), OfThread::default());
    let (mut wins, mut waited) = (Wins::default(), Waited::default());
    let read = |part: &Asked| {
        let question = Question { asked: part.asked, ..question };
        read_part(timeline, laid_out, &question, part.within)
    };
    let weight = |part: &Asked| {
        let stretch_count = count_within(question.queries, part.asked);
        part_bytes.saturating_add(stretch_count.saturating_mul(size_of::<EndedInPart>()))
    };
    parallel::in_order(threads, &parts, (MAX_PART_BYTES, weight), read, |part| {
        reading.append(part.reading);
        wins.take_part(&mut reading, process, &waited, part.wins);
        waited.append(part.waited);
        of_thread.append(part.of_thread);
    });
    Some((reading, of_thread))
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
