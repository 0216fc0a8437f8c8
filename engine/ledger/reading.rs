//! What reading idle time adds up: pieces, and sums of them.

use foldhash::HashMap;

use super::accounts::Account;
use super::after_waits::AfterWaits;
use crate::timeline::interval::Interval;
use crate::timeline::union::Follower;
use crate::timeline::{NONE, NameId};

/// A piece of idle time in which the launching thread did one thing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// When.
    pub(super) interval: Interval,
    /// The account of what the thread did.
    pub(super) activity: Account,
    /// The account of where the thread was when the device went idle.
    pub(super) trigger: Account,
    /// The call that it was in then, or [`crate::timeline::NONE`].
    pub(super) trigger_name: NameId,
}

/// Pieces of time, or stretches, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeSum {
    /// Together.
    pub sum_ns: i64,
    /// In how many pieces or stretches.
    pub count: i64,
    /// The longest; of parts that lie apart, the longest of these.
    pub longest_ns: i64,
    /// When that begins.
    pub longest_start_ns: i64,
    /// The piece that was added last, which the next may continue.
    last: Interval,
    /// The part of it that was added last, with those right before it.
    part: Interval,
    /// The longest of those before it, the longest first.
    top: [LongPiece; LONG_PIECE_COUNT],
}

/// One of the longest pieces, by its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct LongPiece {
    length_ns: i64,
    start_ns: i64,
}

impl From<Interval> for LongPiece {
    fn from(piece: Interval) -> Self {
        Self { length_ns: piece.len_ns(), start_ns: piece.start }
    }
}

/// So many pieces that grow from one to the next are those of work on one size after the other.
const LONG_PIECE_COUNT: usize = 6;
/// How much a size costs of the next larger one: sizes that are tried one after the other double, or nearly so.
const OF_NEXT_SIZE: std::ops::RangeInclusive<f64> = 0.25..=0.8;

/// Pieces and distances of what comes again and again are alike to this share of the largest of them.
const LIKE_SHARE: f64 = 0.75;

/// Pieces of time, at most, that hold what occurs once.
pub const MAX_ONCE_PIECE_COUNT: usize = 3;
/// Stands for as many pieces as there are before the work that repeats.
pub const START_UP_PIECES: i64 = 4;
/// Stands for as many pieces as there are in a recording in which all is done for the first time.
pub const COLD_PIECES: i64 = 5;

impl TimeSum {
    /// Adds a piece, which may begin where the last one ended.
    pub(super) fn add(&mut self, interval: Interval) {
        self.sum_ns += interval.len_ns();
        if self.count > 0 && self.last.end == interval.start {
            self.last.end = interval.end;
        } else {
            self.begin(interval);
        }
        if self.last.len_ns() > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (self.last.len_ns(), self.last.start);
        }
    }

    /// Adds a piece of what the last one belongs to, or of something else.
    pub fn add_part(&mut self, interval: Interval, is_same: bool) {
        self.sum_ns += interval.len_ns();
        if is_same && self.count > 0 {
            self.last.end += interval.len_ns();
        } else {
            self.begin(interval);
        }
        let goes_on = is_same && self.count > 0 && self.part.end == interval.start;
        self.part = if goes_on { Interval::new(self.part.start, interval.end) } else { interval };
        if self.part.len_ns() > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (self.part.len_ns(), self.part.start);
        }
    }

    /// Adds a part of a whole: the parts of one are a piece.
    pub(super) fn add_of(&mut self, whole: Interval, part: Interval) {
        if part.len_ns() > 0 {
            self.add_part(part, self.last.start >= whole.start);
        }
    }

    fn begin(&mut self, interval: Interval) {
        keep(&mut self.top, self.last.into());
        self.count += 1;
        self.last = interval;
    }

    /// The longest pieces, the longest first; 0 where there are not as many.
    pub fn longest_pieces_ns(&self) -> [i64; MAX_ONCE_PIECE_COUNT] {
        let top = self.top();
        std::array::from_fn(|index| top[index].length_ns)
    }

    /// Whether the longest pieces grow, or shrink, from one to the next, as those of work on one size after the other do: each comes
    /// once, and all of them come with any size.
    pub fn is_of_sizes(&self) -> bool {
        let top = self.top();
        let next = || top.iter().zip(top.iter().skip(1));
        let is_next = |(larger, smaller): (&LongPiece, &LongPiece)| {
            larger.length_ns > 0 && OF_NEXT_SIZE.contains(&(smaller.length_ns as f64 / larger.length_ns as f64))
        };
        let grow = next().all(|(larger, smaller)| larger.start_ns > smaller.start_ns);
        let shrink = next().all(|(larger, smaller)| larger.start_ns < smaller.start_ns);
        (grow || shrink) && next().all(is_next)
    }

    /// Whether the longest pieces, as many as hold what occurs once at most, come again and again: they are alike and as far from each
    /// other, and a window has no room for one more before or behind them.
    pub fn is_evenly_spaced(&self, window: Interval) -> bool {
        let mut longest: [LongPiece; MAX_ONCE_PIECE_COUNT] = std::array::from_fn(|index| self.top()[index]);
        let [most, .., least] = longest;
        longest.sort_unstable_by_key(|piece| piece.start_ns);
        let [first, second, third] = longest;
        let distances =
            [second.start_ns.saturating_sub(first.start_ns), third.start_ns.saturating_sub(second.start_ns)];
        let (shorter, longer) = (distances[0].min(distances[1]) as f64, distances[0].max(distances[1]) as f64);
        let room = [first.start_ns.saturating_sub(window.start), window.end.saturating_sub(third.start_ns)];
        least.length_ns as f64 >= LIKE_SHARE * most.length_ns as f64
            && least.length_ns > 0
            && shorter >= LIKE_SHARE * longer
            && room.iter().all(|room| LIKE_SHARE * *room as f64 <= longer)
    }

    /// The longest pieces with the last one, the longest first.
    fn top(&self) -> [LongPiece; LONG_PIECE_COUNT] {
        let mut top = self.top;
        keep(&mut top, self.last.into());
        top
    }

    /// Takes in pieces that none of these goes on in.
    pub fn merge(&mut self, other: Self) {
        self.sum_ns += other.sum_ns;
        self.count += other.count;
        other.top().into_iter().for_each(|piece| keep(&mut self.top, piece));
        if other.longest_ns > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (other.longest_ns, other.longest_start_ns);
        }
    }
}

/// Keeps the longest, the longest first.
fn keep<T: Ord, const COUNT: usize>(top: &mut [T; COUNT], piece: T) {
    // Most are shorter than all that are kept.
    if top.last().is_none_or(|shortest| piece <= *shortest) {
        return;
    }
    let place = top.iter().position(|known| piece > *known);
    if let Some(place) = place {
        top[place..].rotate_right(1);
        top[place] = piece;
    }
}

/// Host code that the device is idle for, by whether it lies in the rounds that repeat. A piece that lies in both counts in each for
/// its part, and is the longest of neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostAndRounds {
    /// Within rounds.
    pub within: TimeSum,
    /// Outside of them.
    pub outside: TimeSum,
    /// The part of it in pieces that lie in both.
    pub across_ns: [i64; 2],
    /// Launching within rounds.
    pub launch_ns: i64,
    /// How much of it the pauses between rounds hold that hold most, the most first, without the first and the last of them.
    pauses_ns: [i64; MAX_ONCE_PIECE_COUNT],
    /// The pause that the first piece lies in, where that is not the last as well: what was read before may lie in that too.
    first_pause: Option<Pause>,
    /// The pause that the last piece lies in.
    last_pause: Option<Pause>,
}

/// A pause between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pause {
    /// Before which round.
    before: usize,
    /// How much host code it holds.
    held_ns: i64,
}

impl HostAndRounds {
    /// Adds a piece to what the rounds tell.
    pub(super) fn add(&mut self, piece: Interval, rounds: &mut Follower<'_>) {
        let within_ns = rounds.overlap_ns(piece);
        let outside_ns = piece.len_ns() - within_ns;
        if outside_ns > 0 {
            self.add_to_pause(Pause { before: rounds.gap_of(piece), held_ns: outside_ns });
        }
        match (within_ns, outside_ns) {
            (_, 0) => self.within.add(piece),
            (0, _) => self.outside.add(piece),
            _ => {
                self.across_ns[0] += within_ns;
                self.across_ns[1] += outside_ns;
            }
        }
    }

    fn add_to_pause(&mut self, part: Pause) {
        match &mut self.last_pause {
            Some(last) if last.before == part.before => last.held_ns += part.held_ns,
            _ => self.begin_pause(part),
        }
    }

    fn begin_pause(&mut self, pause: Pause) {
        let Some(ended) = self.last_pause.replace(pause) else { return };
        match self.first_pause {
            Some(_) => keep(&mut self.pauses_ns, ended.held_ns),
            None => self.first_pause = Some(ended),
        }
    }

    /// How much of it the pauses hold that hold most, the most first; 0 where there are not as many. One that several threads are read in
    /// counts as several.
    pub fn longest_pauses_ns(&self) -> [i64; MAX_ONCE_PIECE_COUNT] {
        let mut pauses_ns = self.pauses_ns;
        let open = [self.first_pause, self.last_pause].into_iter().flatten();
        open.for_each(|pause| keep(&mut pauses_ns, pause.held_ns));
        pauses_ns
    }

    /// All of it that lies in rounds.
    pub const fn within_ns(&self) -> i64 {
        self.within.sum_ns + self.across_ns[0]
    }

    /// All of it that lies outside of them.
    pub const fn outside_ns(&self) -> i64 {
        self.outside.sum_ns + self.across_ns[1]
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.within.merge(other.within);
        self.outside.merge(other.outside);
        self.across_ns[0] += other.across_ns[0];
        self.across_ns[1] += other.across_ns[1];
        self.launch_ns += other.launch_ns;
        other.longest_pauses_ns().into_iter().for_each(|held_ns| keep(&mut self.pauses_ns, held_ns));
    }

    /// Takes in what the same thread did after that.
    pub(super) fn append(&mut self, mut later: Self) {
        if let Some(first) = later.first_pause.take().or_else(|| later.last_pause.take()) {
            self.add_to_pause(first);
        }
        if let Some(last) = later.last_pause.take() {
            self.begin_pause(last);
        }
        self.merge(later);
    }
}

/// Idle time whose stretches began in one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// The stretches.
    pub stretches: TimeSum,
    /// The part of them in host code and the OS: what had to be done anyway.
    pub host_ns: i64,
    /// The part of them in calls that load code, manage memory or set up: causes of their own.
    pub calls_ns: i64,
    /// What they can win from the waits before them, taken in order.
    pub run_ahead_ns: i64,
    /// The part of them still inside a wait.
    pub sync_ns: i64,
    /// The part of them after the launch of what ended them had returned, where that started late: the device had run dry.
    pub late_start_ns: i64,
}

impl Drained {
    pub(super) fn merge(&mut self, other: Self) {
        self.stretches.merge(other.stretches);
        self.host_ns += other.host_ns;
        self.calls_ns += other.calls_ns;
        self.run_ahead_ns += other.run_ahead_ns;
        self.sync_ns += other.sync_ns;
        self.late_start_ns += other.late_start_ns;
    }
}

/// Idle time that lies in ranges of one label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RangeIdle {
    /// In them, each moment once.
    pub idle_ns: i64,
    /// The host code in it.
    pub host_ns: i64,
    /// The time blocked in the OS in it.
    pub blocked_ns: i64,
    /// The launching in it.
    pub launch_ns: i64,
    /// The waiting for the device in it, and for copies.
    pub waits_ns: i64,
    /// Where no other range lies further inside.
    pub innermost_idle_ns: i64,
    /// The host code in that.
    pub innermost_host_ns: i64,
    /// The time blocked in the OS in that.
    pub innermost_blocked_ns: i64,
    /// The launching in that.
    pub innermost_launch_ns: i64,
}

impl RangeIdle {
    pub(crate) const fn merge(&mut self, other: Self) {
        self.idle_ns += other.idle_ns;
        self.host_ns += other.host_ns;
        self.blocked_ns += other.blocked_ns;
        self.launch_ns += other.launch_ns;
        self.waits_ns += other.waits_ns;
        self.innermost_idle_ns += other.innermost_idle_ns;
        self.innermost_host_ns += other.innermost_host_ns;
        self.innermost_blocked_ns += other.innermost_blocked_ns;
        self.innermost_launch_ns += other.innermost_launch_ns;
    }
}

/// Sums by label: as large as there are labels that were met, which a recording may have a hundred thousand of, for each device.
#[derive(Debug, Default)]
pub(super) struct ByLabel {
    places: HashMap<u32, u32>,
    sums: Vec<(u32, RangeIdle)>,
}

impl ByLabel {
    /// Adds to the sums of a label.
    pub(super) fn merge(&mut self, label: u32, idle: RangeIdle) {
        let next = self.sums.len() as u32;
        let place = *self.places.entry(label).or_insert(next);
        match self.sums.get_mut(place as usize) {
            Some((_, sums)) => sums.merge(idle),
            None => self.sums.push((label, idle)),
        }
    }

    /// The sums of a label that was met.
    #[cfg(test)]
    pub(super) fn get(&self, label: u32) -> Option<&RangeIdle> {
        self.places.get(&label).and_then(|place| self.sums.get(*place as usize)).map(|(_, idle)| idle)
    }

    /// Each label that was met, with its sums.
    pub(super) fn into_sums(self) -> Vec<(u32, RangeIdle)> {
        self.sums
    }
}

/// Idle time by process and label.
#[derive(Debug, Default)]
pub struct RangeSums {
    /// Each key once.
    all: Vec<((u32, u32), RangeIdle)>,
    /// By label, where the first key of that stands. Empty as long as all come of one thread: mostly no other has any.
    places: Vec<u32>,
    /// The same of further keys: as a rule a label is of one process.
    more_places: HashMap<(u32, u32), u32>,
}

impl RangeSums {
    /// Adds sums, of which each key stands once.
    pub(super) fn extend(&mut self, more: impl Iterator<Item = ((u32, u32), RangeIdle)>) {
        if self.all.is_empty() {
            self.all.extend(more);
            return;
        }
        if self.places.is_empty() {
            for (key, place) in self.all.iter().map(|(key, _)| *key).zip(0..) {
                place_of(&self.all, (&mut self.places, &mut self.more_places), key, place);
            }
        }
        for (key, idle) in more {
            let next = self.all.len() as u32;
            let place = place_of(&self.all, (&mut self.places, &mut self.more_places), key, next);
            match self.all.get_mut(place as usize) {
                Some((_, sums)) => sums.merge(idle),
                None => self.all.push((key, idle)),
            }
        }
    }

    /// Takes in those of another reading.
    pub(super) fn merge(&mut self, other: Self) {
        if self.all.is_empty() {
            *self = other;
        } else {
            self.extend(other.all.into_iter());
        }
    }

    /// The sums, by process and label.
    pub fn iter(&self) -> impl Iterator<Item = ((u32, u32), &RangeIdle)> {
        self.all.iter().map(|(key, idle)| (*key, idle))
    }
}

/// Where a key stands; one that stands nowhere stands next.
fn place_of(
    all: &[((u32, u32), RangeIdle)],
    (places, more_places): (&mut Vec<u32>, &mut HashMap<(u32, u32), u32>),
    key: (u32, u32),
    next: u32,
) -> u32 {
    let label = key.1 as usize;
    if label >= places.len() {
        places.resize(label + 1, NONE);
    }
    let first = &mut places[label];
    if *first == NONE {
        *first = next;
    }
    // The one that stands next is not there yet.
    let is_own = *first == next || all.get(*first as usize).is_some_and(|(known, _)| *known == key);
    if is_own { *first } else { *more_places.entry(key).or_insert(next) }
}

/// What the ranges of one thread explain of the idle time of one device.
#[derive(Debug, Default)]
pub(super) struct RangeReading {
    /// By label.
    pub(super) idle: ByLabel,
    /// Idle time at the end of waits that the device went idle in, of no process.
    pub(super) after_waits: AfterWaits,
    /// Host code, launching and waits in steps of an optimizer, each moment once however they lie in each other.
    pub(super) optimizer_ns: i64,
    /// Ranges that explain nothing because too many were open.
    pub(super) too_deep_count: i64,
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
