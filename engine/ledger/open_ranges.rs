//! Which ranges of a thread were open while a device was idle, told in the same walk that tells what the thread did.

use super::accounts::Account;
use super::after_waits::AfterWaits;
use super::reading::{Piece, RangeIdle, RangeReading};
use crate::limits::{max_open_ranges, max_waits_in_ranges};
use crate::timeline::interval::Interval;
use crate::timeline::open::Open;
use crate::timeline::{NONE, ThreadRanges};

/// Ranges of a block: where all of one have ended, none of them is looked at.
const RANGES_OF_BLOCK: usize = if cfg!(test) { 4 } else { 256 };

/// Of the ranges of a thread, while so many devices are idle, for each block of them when the last ends; `None` where more may be open at
/// once than are kept: which are let go depends on all that came before.
pub(super) fn last_ends(ranges: &ThreadRanges, device_count: usize) -> Option<Vec<i64>> {
    let most_open = max_open_ranges(device_count);
    let mut last_ends = Vec::with_capacity(ranges.times.len().div_ceil(RANGES_OF_BLOCK));
    // Ends of those that are open. One that ends before a range further in stays with it: there may be fewer.
    let mut open: Vec<i64> = Vec::new();
    for (index, range) in ranges.times.iter().enumerate() {
        while open.pop_if(|end| *end <= range.start).is_some() {}
        open.push(range.end);
        if open.len() > most_open {
            return None;
        }
        match last_ends.last_mut().filter(|_| !index.is_multiple_of(RANGES_OF_BLOCK)) {
            Some(last_end) => *last_end = range.end.max(*last_end),
            None => last_ends.push(range.end),
        }
    }
    Some(last_ends)
}

/// What is known of a range that is open.
#[derive(Debug, Clone, Copy)]
struct Known {
    label: u32,
    /// The sums when its label was opened; `None` where a range further out has the same label.
    since: Option<Totals>,
    /// Idle time where it was the innermost. It is added to that of its label when the range is left, and not piece by piece.
    innermost: Totals,
}

/// Idle time so far.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    idle_ns: i64,
    host_ns: i64,
    blocked_ns: i64,
    launch_ns: i64,
    waits_ns: i64,
}

impl Totals {
    fn add(&mut self, activity: Account, length_ns: i64) {
        self.idle_ns += length_ns;
        match activity {
            Account::IdleHost => self.host_ns += length_ns,
            Account::IdleBlocked => self.blocked_ns += length_ns,
            Account::IdleLaunch => self.launch_ns += length_ns,
            Account::IdleSync | Account::IdleQuery | Account::IdleCopyCall => self.waits_ns += length_ns,
            _ => {}
        }
    }

    /// What loads code, or takes memory for the first time, left out.
    const fn of_host_ns(self) -> i64 {
        self.host_ns + self.launch_ns + self.waits_ns
    }
}

/// The ranges of one thread that are open at a moment, and the idle time of one device in each.
#[derive(Debug)]
pub(super) struct OpenRanges<'timeline> {
    ranges: &'timeline ThreadRanges,
    /// By block of so many of them, when the last of these ends; empty where each is looked at.
    last_ends: &'timeline [i64],
    next: usize,
    /// When the next range is entered; `i64::MAX` when none is left.
    next_start: i64,
    /// How many may be open at once.
    most_open: usize,
    open: Open<Known>,
    /// By label, whether its ranges are steps of an optimizer: they may lie in each other under several names.
    is_optimizer: &'timeline [bool],
    /// The sums when the outermost of the steps that are open was.
    since_optimizer: Option<Totals>,
    totals: Totals,
    reading: RangeReading,
}

impl<'timeline> OpenRanges<'timeline> {
    /// Of a thread, while so many devices are idle.
    pub(super) fn new(ranges: &'timeline ThreadRanges, is_optimizer: &'timeline [bool], device_count: usize) -> Self {
        Self {
            ranges,
            last_ends: &[],
            most_open: max_open_ranges(device_count),
            next: 0,
            next_start: ranges.times.get(0).map_or(i64::MAX, |first| first.start),
            open: Open::new(),
            is_optimizer,
            since_optimizer: None,
            totals: Totals::default(),
            reading: RangeReading {
                after_waits: AfterWaits::of(max_waits_in_ranges(device_count)),
                ..RangeReading::default()
            },
        }
    }

    /// The same, where it is known for each block of ranges when the last of them ends.
    pub(super) fn with_last_ends(self, last_ends: &'timeline [i64]) -> Self {
        Self { last_ends, ..self }
    }

    /// Books a piece of idle time. Pieces come in time order.
    pub(super) fn take(&mut self, piece: &Piece) {
        let mut now = piece.interval.start;
        while now < piece.interval.end {
            self.advance(now);
            let until = self.next_edge().min(piece.interval.end);
            self.book(piece, until - now);
            now = until;
        }
    }

    /// Closes all that is open.
    pub(super) fn finish(mut self) -> RangeReading {
        self.close(i64::MAX);
        self.reading
    }

    /// When after a moment, which no piece lies before any more, the next range is entered or left.
    pub(super) fn edge_after(&mut self, now: i64) -> i64 {
        self.advance(now);
        self.next_edge()
    }

    /// Books some idle time of the kind of a piece, where no range is entered or left since the last one began.
    pub(super) fn book(&mut self, piece: &Piece, length_ns: i64) {
        self.totals.add(piece.activity, length_ns);
        let innermost = self.open.last_mut().map_or(NONE, |open| {
            open.innermost.add(piece.activity, length_ns);
            open.label
        });
        if piece.trigger == Account::AfterSync && piece.activity == Account::IdleSync {
            self.reading.after_waits.add((NONE, piece.trigger_name, innermost), length_ns);
        }
    }

    /// Opens and closes ranges up to a moment.
    fn advance(&mut self, now: i64) {
        while self.next_start <= now {
            let block =
                self.last_ends.get(self.next / RANGES_OF_BLOCK).filter(|_| self.next.is_multiple_of(RANGES_OF_BLOCK));
            if block.is_some_and(|last_end| *last_end <= now) {
                self.next += RANGES_OF_BLOCK;
                self.next_start = self.ranges.times.get(self.next).map_or(i64::MAX, |next| next.start);
                continue;
            }
            let (range, label) = (self.ranges.times.at(self.next), self.ranges.label[self.next]);
            self.next += 1;
            self.next_start = self.ranges.times.get(self.next).map_or(i64::MAX, |next| next.start);
            if range.end > now {
                self.enter(range, label, now);
            }
        }
        self.close(now);
    }

    fn enter(&mut self, range: Interval, label: u32, now: i64) {
        if self.open.len() >= self.most_open {
            self.close(now);
        }
        if self.open.len() >= self.most_open {
            self.reading.too_deep_count += 1;
            return;
        }
        // One that ends by now is open no more, though it was not closed yet.
        let is_first = !self.open.iter().any(|(end, open)| open.label == label && end > now);
        let since = is_first.then_some(self.totals);
        self.open.push(range.end, Known { label, since, innermost: Totals::default() });
        if self.is_step(label) {
            self.since_optimizer.get_or_insert(self.totals);
        }
    }

    /// Closes what ends by a moment.
    fn close(&mut self, now: i64) {
        while let Some(ended) = self.open.pop_ended(now) {
            self.settle(ended);
        }
    }

    /// Adds up the idle time where a range was the innermost, and what passed since its label was opened, unless it still is.
    fn settle(&mut self, ended: Known) {
        let Totals { idle_ns, host_ns, blocked_ns, launch_ns, .. } = ended.innermost;
        let mut sums = RangeIdle {
            innermost_idle_ns: idle_ns,
            innermost_host_ns: host_ns,
            innermost_blocked_ns: blocked_ns,
            innermost_launch_ns: launch_ns,
            ..RangeIdle::default()
        };
        if let Some(since) = ended.since {
            // Opened further in, and ends later.
            if let Some(still) = self.open.iter_mut().find(|still| still.label == ended.label) {
                still.since = Some(since);
            } else {
                sums.idle_ns = self.totals.idle_ns - since.idle_ns;
                sums.host_ns = self.totals.host_ns - since.host_ns;
                sums.blocked_ns = self.totals.blocked_ns - since.blocked_ns;
                sums.launch_ns = self.totals.launch_ns - since.launch_ns;
                sums.waits_ns = self.totals.waits_ns - since.waits_ns;
            }
        }
        if self.is_step(ended.label)
            && !self.open.iter().any(|(_, open)| self.is_step(open.label))
            && let Some(since) = self.since_optimizer.take()
        {
            self.reading.optimizer_ns += self.totals.of_host_ns() - since.of_host_ns();
        }
        if sums.idle_ns > 0 || sums.innermost_idle_ns > 0 {
            self.reading.idle.merge(ended.label, sums);
        }
    }

    fn is_step(&self, label: u32) -> bool {
        self.is_optimizer.get(label as usize) == Some(&true)
    }

    /// When the next range is entered or left.
    fn next_edge(&self) -> i64 {
        self.next_start.min(self.open.first_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Start, length, label.
    type Range = (i64, i64, u32);

    fn ranges(all: &[Range]) -> ThreadRanges {
        let mut ranges = ThreadRanges { thread: 0, ..ThreadRanges::default() };
        for (start, length, label) in all {
            ranges.times.push(Interval::new(*start, start + length));
            ranges.label.push(*label);
        }
        ranges.sort();
        ranges
    }

    fn piece(start: i64, end: i64, activity: Account) -> Piece {
        let interval = Interval::new(start, end);
        Piece { interval, activity, trigger: Account::AfterSync, trigger_name: 7 }
    }

    /// Of the four labels.
    const IS_OPTIMIZER: [bool; 4] = [false, true, true, false];

    proptest! {
        #[test]
        fn idle_time_is_booked_moment_by_moment(
            all in proptest::collection::vec((0..100_i64, 0..60_i64, 0..4_u32), 0..25),
            cuts in proptest::collection::btree_set(0..180_i64, 2..14),
        ) {
            let ranges = ranges(&all);
            let cuts: Vec<i64> = cuts.into_iter().collect();
            let activities = [Account::IdleHost, Account::IdleSync, Account::IdleBlocked, Account::IdleLaunch];
            let pieces: Vec<Piece> = cuts.windows(2).zip(activities.iter().cycle()).filter(|(pair, _)| pair[0] % 3 > 0)
                .map(|(pair, activity)| piece(pair[0], pair[1], *activity)).collect();
            let mut open = OpenRanges::new(&ranges, &IS_OPTIMIZER, 1);
            pieces.iter().for_each(|piece| open.take(piece));
            let reading = open.finish();
            // Of each moment of idle time what the thread did, and the labels that were open, the innermost last.
            let moments: Vec<(Account, Vec<u32>)> = pieces.iter().flat_map(|piece| {
                let open = |now: i64| {
                    let is_open = |range: &Interval| range.start <= now && now < range.end;
                    ranges.times.iter().zip(&ranges.label).filter(|(range, _)| is_open(range)).map(|(_, label)| *label).collect()
                };
                (piece.interval.start..piece.interval.end).map(|now| (piece.activity, open(now))).collect::<Vec<_>>()
            }).collect();
            let in_step = moments.iter().filter(|(did, open)| {
                *did != Account::IdleBlocked && open.iter().any(|label| IS_OPTIMIZER[*label as usize])
            });
            prop_assert_eq!(reading.optimizer_ns, in_step.count() as i64);
            for label in 0..4 {
                let count = |is_inner: bool, activity: Option<Account>| {
                    let fits = |(did, open): &&(Account, Vec<u32>)| {
                        activity.is_none_or(|activity| activity == *did)
                            && if is_inner { open.last() == Some(&label) } else { open.contains(&label) }
                    };
                    moments.iter().filter(fits).count() as i64
                };
                let expected = RangeIdle {
                    idle_ns: count(false, None),
                    host_ns: count(false, Some(Account::IdleHost)),
                    blocked_ns: count(false, Some(Account::IdleBlocked)),
                    launch_ns: count(false, Some(Account::IdleLaunch)),
                    waits_ns: count(false, Some(Account::IdleSync)),
                    innermost_idle_ns: count(true, None),
                    innermost_host_ns: count(true, Some(Account::IdleHost)),
                    innermost_blocked_ns: count(true, Some(Account::IdleBlocked)),
                    innermost_launch_ns: count(true, Some(Account::IdleLaunch)),
                };
                prop_assert_eq!(reading.idle.get(label).copied().unwrap_or_default(), expected);
                let tail = reading.after_waits.get(&(NONE, 7, label)).unwrap_or(0);
                prop_assert_eq!(tail, count(true, Some(Account::IdleSync)));
            }
        }
    }

    #[test]
    fn of_ranges_that_are_too_deep_no_part_is_read() {
        let most = max_open_ranges(1);
        let in_each_other =
            |count: usize| ranges(&(0..count as i64).map(|depth| (depth, 1_000, 0)).collect::<Vec<_>>());
        assert_eq!(last_ends(&in_each_other(most), 1).map(|ends| ends.len()), Some(most.div_ceil(RANGES_OF_BLOCK)));
        assert_eq!(last_ends(&in_each_other(most + 1), 1), None);
        let one_after_the_other = ranges(&(0..1_000).map(|index| (10 * index, 10 + index % 3, 0)).collect::<Vec<_>>());
        let ends = last_ends(&one_after_the_other, 1).unwrap();
        let blocks = one_after_the_other.times.iter().collect::<Vec<_>>();
        let expected = blocks.chunks(RANGES_OF_BLOCK).map(|block| block.iter().map(|range| range.end).max().unwrap());
        assert_eq!(ends, expected.collect::<Vec<_>>());
    }

    #[test]
    fn ranges_too_deep_are_counted_and_explain_nothing() {
        let all: Vec<Range> = (0..300).map(|depth| (depth, 1_000, u32::from(depth >= 250))).collect();
        let ranges = ranges(&all);
        let mut open = OpenRanges::new(&ranges, &IS_OPTIMIZER, 1);
        open.take(&piece(400, 500, Account::IdleHost));
        let reading = open.finish();
        assert_eq!((reading.too_deep_count, reading.idle.get(1)), (100, None));
        assert_eq!(reading.idle.get(0).unwrap().idle_ns, 100);
    }
}
