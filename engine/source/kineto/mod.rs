//! PyTorch Profiler (Kineto) traces: JSON, also compressed with gzip or Zstandard.
//!
//! The file is read in blocks that end between two events. Threads turn blocks into events, and those into chunks of the
//! timeline, which are joined in the order of the file, whatever the number of threads. What is whole in a broken trace is
//! taken; what is not is counted.

mod args;
mod capture;
mod cursor;
mod describe;
mod details;
mod document;
#[allow(
    dead_code,
    reason = "a trace is read whole; the timeline has no columns yet for memory, shapes and collectives"
)]
mod event;
mod fill;
mod grids;
mod members;
#[allow(
    dead_code,
    reason = "a trace is read whole; the timeline has no columns yet for memory, shapes and collectives"
)]
mod metadata;
mod number;
mod numbering;
pub(super) mod open;
mod pids;
mod pipeline;
mod places;
mod problems;
mod recomputed;
mod record;
mod repeated_nodes;
#[cfg(test)]
mod tests;
mod text;
mod words;

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

use self::fill::{Part, Seen};
use self::numbering::Numbering;
use self::open::{Source, WHOLE, is_compressed};
use self::pids::Pids;
use self::pipeline::Summary;
use self::places::Places;
use self::problems::{Ending, Unreadable};
use super::format::{Format, Head, NearMiss, Reader};
use super::{Progress, ReadError, ReadOptions, Recording};
use crate::parallel::{self, Threads};
use crate::source::lost;
use crate::timeline::builder::Builder;

const RECORD: &str =
    "Record the program with torch.profiler.profile(), and write the trace with export_chrome_trace(\"trace.json.gz\")";
const RECORD_AGAIN: &str = "Let the program end before the file is copied, or record again";

/// A trace is JSON from the first byte to the last, or should be.
pub(super) const FORMAT: Format = Format {
    id: "kineto",
    name: "a trace of the PyTorch Profiler (.json, .json.gz, .json.zst)",
    profiler: "torch.profiler",
    hint: RECORD,
    reader,
    near_miss,
    capture: capture::command,
    script: capture::script,
};

/// Broken traces may begin with anything: lines of a log, or the middle of an event.
fn reader(head: &[u8]) -> Option<Reader> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let has = |key: &[u8]| memchr::memmem::find(head, key).is_some();
    // Behind lines of a log, what begins with a line of its own.
    let is_trace = matches!(text, [b'{' | b'[', ..])
        || is_compressed(head)
        || has(b"\"traceEvents\"")
        || has(b"\"ph\":")
        || has(b"\n{\n")
        || has(b"\n{\"");
    is_trace.then_some(read as Reader)
}

/// Files that PyTorch writes beside traces.
fn near_miss(head: Head<'_>) -> Option<NearMiss> {
    let is_pickle = head.bytes.starts_with(b"\x80") && matches!(head.extension, "pickle" | "pkl");
    if is_pickle {
        return Some(NearMiss {
            found: "is a pickle, such as a memory snapshot of PyTorch, and no trace",
            hint: RECORD,
        });
    }
    if head.bytes.starts_with(b"\xff\xfe") || head.bytes.starts_with(b"\xfe\xff") {
        return Some(NearMiss {
            found: "is text in UTF-16, as PowerShell writes what is redirected to a file; coldspot reads UTF-8",
            hint: "Convert it, such as with: iconv -f UTF-16 -t UTF-8",
        });
    }
    let is_archive = head.bytes.starts_with(b"PK") && matches!(head.extension, "pt" | "pth");
    is_archive.then_some(NearMiss { found: "is a file of torch.save(), and no trace", hint: RECORD })
}

/// Reads a trace.
///
/// # Errors
/// When the file cannot be opened, or nothing in it is an event of the PyTorch Profiler.
fn read(path: &Path, options: &ReadOptions, progress: &dyn Progress) -> Result<Recording, ReadError> {
    let unreadable = |problem| unreadable(path, problem);
    let mut source = Source::open(path).map_err(|error| unreadable(Unreadable::Io(error)))?;
    let position = source.progress();
    let (most_held_bytes, most_work_bytes) = (source.most_held_bytes(), source.most_work_bytes());
    let limits = options.limits;
    let threads = Threads::new(options.threads).at_most(source.most_threads());
    let mut builder = Builder::new(limits);
    let (mut count, mut seen, mut is_full, mut is_beyond_work) = (0_u64, Seen::default(), false, false);
    let (mut places, mut details, mut uncorrelated) = (Places::default(), details::Found::default(), Vec::new());
    let (mut first_ns, mut pids, mut numbering) = (None, Pids::default(), Numbering::default());
    let make = |frame| Part::new(limits, frame);
    let take = |part: Part, work_bytes| {
        seen.merge(part.seen);
        is_beyond_work = work_bytes > most_work_bytes;
        builder.skip_rows(part.beyond);
        if count.saturating_add(part.count) > limits.rows {
            builder.skip_rows(part.count);
            return if is_beyond_work { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        count += part.count;
        places.merge(part.places);
        details.merge(part.details);
        uncorrelated.extend(part.uncorrelated);
        pids.merge(part.pids);
        numbering.merge(part.numbering);
        first_ns = first_ns.into_iter().chain(part.first_ns).min();
        builder.take(part.chunk);
        progress.rows(count, count.saturating_mul(WHOLE) / position().max(1));
        let held_bytes = builder.held_bytes() + places.held_bytes() + details.held_bytes();
        is_full = held_bytes > most_held_bytes;
        if is_full || is_beyond_work { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut summary = pipeline::read(&mut source, threads, make, take).map_err(unreadable)?;
    if source.is_beyond_budget() || is_beyond_work {
        summary.ending = Ending::BeyondBudget;
    }
    if is_full {
        summary.ending = Ending::BeyondMemory;
    }
    describe::describe(&mut builder, &summary);
    let on = Threads::new(options.threads);
    let mut timeline = builder.finish_on(on);
    grids::count_blocks(&mut timeline);
    let locate = || (places.runs_again(&timeline), places.locate(&timeline, options.root.as_deref()));
    let (((recomputed, repeated_nodes), located), lost) =
        parallel::both(on, locate, || lost::launches(&timeline, uncorrelated));
    timeline.call_locations = located.unwrap_or_default();
    timeline.reached.merged_name_count += timeline.call_locations.bound(timeline.devices.len());
    details.describe(&mut timeline, &summary.metadata);
    timeline.details.recomputed = recomputed;
    timeline.details.repeated_nodes = repeated_nodes;
    pids.name(&mut timeline);
    describe::describe_capture(&mut timeline, &summary, seen, (lost, numbering.thinned()));
    timeline.begin_at_zero(first_ns);
    Ok(Recording::Timeline(Box::new(timeline)))
}

/// What a database of SQLite begins with.
const SQLITE: &[u8; 16] = b"SQLite format 3\0";

/// Whether a compressed file holds a database, which needs to be read at any place.
fn holds_database(path: &Path) -> bool {
    let mut first = [0_u8; SQLITE.len()];
    open::Source::open(path).is_ok_and(|mut source| source.read_exact(&mut first).is_ok()) && first == *SQLITE
}

/// The words for a file of which nothing can be taken.
fn unreadable(path: &Path, problem: Unreadable) -> ReadError {
    if matches!(problem, Unreadable::NotJson) && holds_database(path) {
        let found = "is a compressed export of Nsight Systems".to_owned();
        let hint = "Unpack it first (`gunzip` or `zstd -d`), and give the .sqlite file".to_owned();
        return ReadError::NotAReport { path: path.display().to_string(), found, hint };
    }
    let path = path.display().to_string();
    let found = match problem {
        Unreadable::Io(source) => return ReadError::Open { path, source },
        Unreadable::Damaged(why) => {
            let found = format!("is damaged, and holds nothing that can be read ({why})");
            return ReadError::NotAReport { path, found, hint: format!("{RECORD_AGAIN}. {RECORD}") };
        }
        Unreadable::Archive => {
            let found = "is an archive (tar), and no trace".to_owned();
            return ReadError::NotAReport { path, found, hint: "Unpack it, and give one of the traces in it".to_owned() };
        }
        Unreadable::Empty => "is empty".to_owned(),
        Unreadable::NotJson => "is no trace of the PyTorch Profiler: it is no JSON".to_owned(),
        Unreadable::NoEventList => "is JSON, but no trace of the PyTorch Profiler: it has no traceEvents".to_owned(),
        Unreadable::NoEvents { seen: 0, is_bare: false } => {
            "is a trace without events: nothing was recorded while it was made".to_owned()
        }
        Unreadable::NoEvents { seen: 0, is_bare: true } => {
            "is a list without events of the PyTorch Profiler (export_memory_timeline() writes such files, which are no traces)"
                .to_owned()
        }
        Unreadable::NoEvents { seen: 1, .. } => {
            "has one entry in its traceEvents, and that is no event of the PyTorch Profiler that can be read".to_owned()
        }
        Unreadable::NoEvents { seen, is_bare: true } => format!(
            "is a list of {seen} entries, none of them an event of the PyTorch Profiler (torch.profiler) that can be read; the \
             older torch.autograd.profiler wrote such lists"
        ),
        Unreadable::NoEvents { seen, .. } => format!(
            "has {seen} entries in its traceEvents, none of them an event of the PyTorch Profiler that can be read"
        ),
    };
    ReadError::NotAReport { path, found, hint: RECORD.to_owned() }
}
