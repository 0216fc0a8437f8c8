//! Goes through a document piece by piece, and finds its way again behind what is broken.

use super::cursor::{Cursor, Fault};
use super::event::Sink;
use super::metadata::Metadata;
use super::problems::{Problem, Problems};
use super::record::Record;
use crate::limits::MAX_TRACE_ITEM_BYTES;

/// After something broken, the next event is looked for from its start on, unless it is larger than this: else a hostile
/// file could have its bytes read over and over.
const LOOK_BACK: usize = 64 << 10;
/// Bytes that may be read again, beyond as many as were read on: broken events that lie in each other would each be.
const MAX_DEBT: usize = 1 << 20;
/// Bytes that stay when a piece ends while the next event is looked for: it may start in them.
const OVERLAP: usize = 512;
/// The key under which the events stand.
const EVENTS: &[u8] = b"traceEvents";
/// Keys that events start with. Only an event that is looked for must start with one.
const FIRST_KEYS: [&[u8]; 7] = [b"ph", b"name", b"cat", b"ts", b"pid", b"args", b"bp"];
/// Keys of the document at which reading can go on after something broken.
const LANDMARKS: [&[u8]; 6] =
    [EVENTS, b"distributedInfo", b"deviceProperties", b"baseTimeNanoseconds", b"traceName", b"displayTimeUnit"];

/// Which bytes the keys of a document that are looked for begin with: in a file of quotes, each may begin one.
const BEGINS_LANDMARK: [bool; 256] = {
    let (mut begins, mut index) = ([false; 256], 0);
    while index < LANDMARKS.len() {
        begins[LANDMARKS[index][0] as usize] = true;
        index += 1;
    }
    begins
};

/// Where in the document one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before it.
    Start,
    /// Among the members of the object that it is.
    Top,
    /// Between two events.
    Events,
    /// After it.
    Done,
}

/// How the way was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Within an event: it is one that is missing, whatever stands there.
    InEvent,
    /// At something that begins no event: it may be a line of a log.
    Elsewhere,
}

/// Where in the document one is, and whether the way was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    place: Place,
    lost: Option<Lost>,
    /// Bytes that were read again, less those that were read on since.
    debt: usize,
}

impl State {
    /// Before the document.
    pub(super) const START: Self = Self { place: Place::Start, lost: None, debt: 0 };
    /// Between two events.
    pub(super) const EVENTS: Self = Self { place: Place::Events, lost: None, debt: 0 };

    /// Whether the document has been read to its end.
    pub(super) fn is_done(self) -> bool {
        self.place == Place::Done
    }

    /// Whether one is behind the list of events, or before it: among the other members of the document.
    pub(super) fn is_at_top(self) -> bool {
        self.place == Place::Top
    }

    /// Whether one is between two whole events.
    pub(super) fn is_between_events(self) -> bool {
        self.place == Place::Events && self.lost.is_none()
    }
}

/// What was found in a piece beside the events.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) metadata: Metadata,
    pub(super) problems: Problems,
    /// Whether a list of events began.
    pub(super) has_list: bool,
    /// Whether the document is a list, not an object.
    pub(super) is_bare: bool,
    /// Whether a document came to its end.
    pub(super) has_ended: bool,
    /// Objects in the list.
    pub(super) seen_count: u64,
    /// Events with a duration that were handed on.
    pub(super) event_count: u64,
    /// Bytes that were read for nothing: of broken events, each time that they were read.
    vain_bytes: u64,
    /// Bytes of the pieces, those that come again in the next one too.
    piece_bytes: u64,
    /// Bytes among the events in which there were some that cannot be read.
    skipped_bytes: u64,
    /// Events of which nothing is known.
    unknown_count: u64,
    /// Operations of GPUs, and how many of them are written in a way that is not read.
    gpu_op_count: u64,
    unread_gpu_op_count: u64,
    /// Operations of GPUs that were left out, whatever was wrong with them.
    unusable_gpu_op_count: u64,
    /// Whether something stands behind the document that is neither text nor padding.
    pub(super) has_more_behind: bool,
}

/// What of a trace could not be read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Unread {
    /// About so much of its events, as a share.
    Events(f64),
    /// So much of its work on GPUs, as a share.
    GpuWork(f64),
}

/// No event is shorter: so much between two of them is none.
const LEAST_EVENT_BYTES: usize = 64;
/// Where less could not be read, it hardly shows.
const LEAST_UNREAD_SHARE: f64 = 0.01;
/// Fewer events that cannot be read are slips of the one who wrote them, not a part that is missing.
const LEAST_UNREAD_COUNT: f64 = 3.0;

/// Whole bytes that an object of the list counts for, however short it is, and that a byte counts for that is read for nothing.
const WORK_OF_AN_OBJECT: u64 = 64;
const WORK_OF_A_VAIN_BYTE: u64 = 3;

impl Found {
    pub(super) fn merge(&mut self, other: Self) {
        self.metadata.merge(other.metadata);
        self.problems.merge(&other.problems);
        self.has_list |= other.has_list;
        self.is_bare |= other.is_bare;
        self.has_ended |= other.has_ended;
        self.seen_count += other.seen_count;
        self.event_count += other.event_count;
        self.vain_bytes += other.vain_bytes;
        self.piece_bytes += other.piece_bytes;
        self.skipped_bytes += other.skipped_bytes;
        self.gpu_op_count += other.gpu_op_count;
        self.unknown_count += other.unknown_count;
        self.unread_gpu_op_count += other.unread_gpu_op_count;
        self.unusable_gpu_op_count += other.unusable_gpu_op_count;
        self.has_more_behind |= other.has_more_behind;
    }

    /// What could not be read, where that matters. Events that were read and are of no use, such as one that ends before it
    /// starts, are no damage of the file.
    pub(super) fn unread(&self) -> Option<Unread> {
        let share = |part: f64, whole: f64| {
            Some(part / whole).filter(|share| part >= LEAST_UNREAD_COUNT && *share > LEAST_UNREAD_SHARE)
        };
        let read_bytes = self.piece_bytes.saturating_sub(self.skipped_bytes);
        let read_count = self.seen_count.saturating_sub(self.unknown_count) as f64;
        let bytes_an_event = (read_bytes as f64 / read_count.max(1.0)).max(LEAST_EVENT_BYTES as f64);
        let count = (self.skipped_bytes as f64 / bytes_an_event).max(self.unknown_count as f64);
        let of_events = share(count, count + read_count).map(Unread::Events);
        of_events.or_else(|| share(self.unread_gpu_op_count as f64, self.gpu_op_count as f64).map(Unread::GpuWork))
    }

    /// Events that were left out and are work of GPUs, or may be, as nothing of them can be read.
    pub(super) const fn unusable(&self) -> u64 {
        let Self { problems, unusable_gpu_op_count, .. } = self;
        let unread = problems.count(Problem::Broken) + problems.count(Problem::TooLarge);
        *unusable_gpu_op_count + unread + problems.count(Problem::Nested)
    }

    /// What reading took, in bytes of an ordinary trace.
    pub(super) const fn work_bytes(&self) -> u64 {
        self.piece_bytes + self.vain_bytes * WORK_OF_A_VAIN_BYTE + self.seen_count * WORK_OF_AN_OBJECT
    }
}

/// Why a step fails, and where what is there stops to make sense.
#[derive(Debug, Clone, Copy)]
struct Failure {
    fault: Fault,
    at: usize,
}

impl Failure {
    const fn of(fault: Fault, cursor: &Cursor<'_>) -> Self {
        Self { fault, at: cursor.at() }
    }
}

/// One piece of the document.
struct Piece<'a, S> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the document ends with it.
    is_last: bool,
    state: State,
    /// A time within the recording, if it is known.
    origin: Option<i64>,
    found: Found,
    /// The event that was read last.
    record: Record<'a>,
    sink: &'a mut S,
}

/// Reads a piece from a state on. Returns the state at its end, how many bytes were used — the others belong to something
/// that is not whole yet — and what was found.
pub(super) fn read_piece<S: Sink>(
    bytes: &[u8],
    (state, is_last): (State, bool),
    origin: Option<i64>,
    sink: &mut S,
) -> (State, usize, Found) {
    let (found, record) = (Found::default(), Record::default());
    let mut piece = Piece { bytes, at: 0, is_last, state, origin, found, record, sink };
    loop {
        if let Some(lost) = piece.state.lost
            && !piece.find_way(lost)
        {
            break;
        }
        if !piece.skip_space() {
            break;
        }
        let before = piece.at;
        let step = match piece.state.place {
            Place::Start => piece.start(),
            Place::Top => piece.member(),
            Place::Events => piece.event(),
            // Nothing belongs here, but a document may seem to end where it is broken.
            Place::Done => Err(Failure { fault: Fault::Syntax, at: piece.at }),
        };
        match step {
            Ok(()) => {}
            Err(Failure { fault: Fault::End, .. }) if !piece.is_at_broken_end() => break,
            Err(failure) => piece.lose_way(failure),
        }
        piece.state.debt = piece.state.debt.saturating_sub(piece.at - before);
    }
    piece.found.piece_bytes = bytes.len() as u64;
    (piece.state, piece.at, piece.found)
}

/// Where the first event seems to start.
pub(super) fn first_event(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'{', bytes).find(|at| is_event_start(&bytes[*at..]))
}

/// Where the last event seems to start, of those that follow another.
pub(super) fn last_event(bytes: &[u8]) -> Option<usize> {
    let follows = |at: usize| bytes[..at].trim_ascii_end().ends_with(b",");
    memchr::memrchr_iter(b'{', bytes).find(|at| is_event_start(&bytes[*at..]) && follows(*at))
}

fn is_event_start(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"{").is_some_and(|rest| starts_with_key(rest.trim_ascii_start(), &FIRST_KEYS))
}

/// Whether a key comes first, of those given.
fn starts_with_key(bytes: &[u8], keys: &[&[u8]]) -> bool {
    let Some(rest) = bytes.strip_prefix(b"\"") else { return false };
    let behind = keys.iter().find_map(|key| rest.strip_prefix(*key)?.strip_prefix(b"\""));
    behind.is_some_and(|behind| behind.trim_ascii_start().starts_with(b":"))
}

/// The first place at which to go on, and what is there.
fn landmark(bytes: &[u8]) -> Option<(usize, Place)> {
    memchr::memchr2_iter(b'{', b'"', bytes).find_map(|at| {
        let rest = &bytes[at..];
        if rest[0] == b'{' {
            return is_event_start(rest).then_some((at, Place::Events));
        }
        let may_be = rest.get(1).is_some_and(|first| BEGINS_LANDMARK[usize::from(*first)]);
        (may_be && starts_with_key(rest, &LANDMARKS)).then_some((at, Place::Top))
    })
}

/// Whether it is text; a character may be cut at either end.
fn is_text(bytes: &[u8]) -> bool {
    let begin = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    let rest = bytes.get(begin..).unwrap_or_default();
    let is_utf8 = std::str::from_utf8(rest).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !rest.contains(&0)
}

impl<'a, S: Sink> Piece<'a, S> {
    /// Whether what ends with the piece will never be whole.
    fn is_at_broken_end(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.len() >= MAX_TRACE_ITEM_BYTES || (self.is_last && !rest.trim_ascii().is_empty())
    }

    /// Steps over white space; returns whether anything comes then.
    fn skip_space(&mut self) -> bool {
        let mut cursor = Cursor::new(self.bytes, self.at);
        let has_more = cursor.peek().is_ok();
        self.at = cursor.at();
        has_more
    }

    fn start(&mut self) -> Result<(), Failure> {
        let mark: &[u8] = b"\xef\xbb\xbf";
        if self.bytes.starts_with(mark) && self.at == 0 {
            self.at = mark.len();
        }
        let mut cursor = Cursor::new(self.bytes, self.at);
        let first = cursor.peek().map_err(|fault| Failure::of(fault, &cursor))?;
        self.state.place = match first {
            b'{' => Place::Top,
            b'[' => {
                (self.found.has_list, self.found.is_bare) = (true, true);
                Place::Events
            }
            _ => return Err(Failure::of(Fault::Syntax, &cursor)),
        };
        self.at = cursor.at() + 1;
        Ok(())
    }

    fn member(&mut self) -> Result<(), Failure> {
        let mut cursor = Cursor::new(self.bytes, self.at);
        self.state.place = self.one_member(&mut cursor).map_err(|fault| Failure::of(fault, &cursor))?;
        self.found.has_ended |= self.state.is_done();
        self.at = cursor.at();
        Ok(())
    }

    /// Takes a member of the document; returns where one is then.
    fn one_member(&mut self, cursor: &mut Cursor<'a>) -> Result<Place, Fault> {
        let Some(key) = cursor.key()? else { return Ok(Place::Done) };
        if key == EVENTS && cursor.peek()? == b'[' {
            cursor.expect(b'[')?;
            self.found.has_list = true;
            return Ok(Place::Events);
        }
        let value = cursor.value()?;
        self.found.metadata.set(key, value);
        Ok(Place::Top)
    }

    /// Takes an event, or the end of the list.
    fn event(&mut self) -> Result<(), Failure> {
        let mut cursor = Cursor::new(self.bytes, self.at);
        let next = cursor.peek_beyond_commas();
        self.at = cursor.at();
        match next.map_err(|fault| Failure::of(fault, &cursor))? {
            b'{' => {}
            b']' => {
                self.at += 1;
                self.state.place = Place::Top;
                return Ok(());
            }
            _ => return Err(Failure::of(Fault::Syntax, &cursor)),
        }
        match self.record.read(&mut cursor) {
            Ok(()) => {
                self.at = cursor.at();
                self.take();
                Ok(())
            }
            Err(Fault::Syntax) if self.state.debt > MAX_DEBT => Err(Failure::of(Fault::Syntax, &cursor)),
            Err(Fault::Syntax) => self.mend(cursor.at()),
            Err(Fault::End) => Err(Failure::of(Fault::End, &cursor)),
        }
    }

    /// Reads an event again whose strings may hold quotes of their own. `broken_at` is where it makes no sense otherwise.
    fn mend(&mut self, broken_at: usize) -> Result<(), Failure> {
        let end = self.bytes.len().min(self.at + LOOK_BACK);
        let mut cursor = Cursor::with_stray_quotes(&self.bytes[..end], self.at);
        let read = self.record.read(&mut cursor);
        // A string that runs on into the next event would swallow it.
        let is_sane = |end: usize| self.bytes.get(broken_at..end).is_some_and(|rest| first_event(rest).is_none());
        match read {
            Ok(()) if is_sane(cursor.at()) => {
                self.at = cursor.at();
                self.found.problems.mended_count += 1;
                self.take();
                Ok(())
            }
            // More of it may come.
            Err(Fault::End) if end == self.bytes.len() && !self.is_last => Err(Failure { fault: Fault::End, at: end }),
            _ => {
                self.state.debt += cursor.at() - self.at;
                self.found.vain_bytes += (cursor.at() - self.at) as u64;
                Err(Failure { fault: Fault::Syntax, at: broken_at })
            }
        }
    }

    /// Takes the event that was read last.
    fn take(&mut self) {
        let Self { found, record, .. } = self;
        found.seen_count += 1;
        let is_gpu_op = u64::from(record.is_gpu_op());
        found.gpu_op_count += is_gpu_op;
        match record.event(self.origin) {
            Ok(Some(event)) => {
                found.event_count += u64::from(record.has_duration());
                self.sink.event(&event);
            }
            Ok(None) => {}
            Err(problem) => {
                found.problems.add(problem);
                found.unknown_count += u64::from(problem == Problem::NoKind);
                found.unusable_gpu_op_count += is_gpu_op;
                found.unread_gpu_op_count += if problem.is_of_form() { is_gpu_op } else { 0 };
            }
        }
    }

    /// Something is broken here.
    fn lose_way(&mut self, failure: Failure) {
        let is_event = self.state.place == Place::Events && self.bytes.get(self.at) == Some(&b'{');
        self.found.seen_count += u64::from(is_event);
        self.found.unknown_count += u64::from(is_event);
        self.found.problems.add(match failure.fault {
            Fault::End if self.is_last => Problem::CutOff,
            Fault::End => Problem::TooLarge,
            Fault::Syntax if is_event || self.state.place == Place::Top => Problem::Broken,
            Fault::Syntax => Problem::Stray,
        });
        let distance = failure.at.saturating_sub(self.at);
        self.found.vain_bytes += distance as u64;
        if distance <= LOOK_BACK && self.state.debt <= MAX_DEBT {
            self.at += 1;
            self.state.debt += distance;
        } else {
            self.at = failure.at;
        }
        self.state.lost = Some(if is_event { Lost::InEvent } else { Lost::Elsewhere });
    }

    /// Notes that no event was found in so many bytes. Before the events and behind them there is none, and text that begins
    /// none, such as lines of a log, holds none.
    fn skip(&mut self, bytes: usize, lost: Lost) {
        let skipped = self.bytes.get(self.at..self.at + bytes).unwrap_or_default();
        if bytes >= LEAST_EVENT_BYTES
            && self.state.place == Place::Events
            && (lost == Lost::InEvent || !is_text(skipped))
        {
            self.found.skipped_bytes += bytes as u64;
        }
        let is_padding = || skipped.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace());
        self.found.has_more_behind |=
            bytes >= LEAST_EVENT_BYTES && self.state.place == Place::Done && !is_text(skipped) && !is_padding();
    }

    /// Looks for a place at which to go on; returns whether there is one.
    fn find_way(&mut self, lost: Lost) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((distance, place)) = landmark(rest) else {
            let keep = if self.is_last { 0 } else { OVERLAP.min(rest.len()) };
            self.found.vain_bytes += rest.len() as u64;
            self.skip(rest.len() - keep, lost);
            self.at = self.bytes.len() - keep;
            return false;
        };
        self.found.vain_bytes += distance as u64;
        self.skip(distance, lost);
        self.at += distance;
        self.found.has_list |= place == Place::Events;
        self.state = State { place, lost: None, ..self.state };
        true
    }
}
