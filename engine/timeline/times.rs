//! A column of intervals at half the size of two columns of times: recordings have them by the ten million.

use super::interval::Interval;

/// Rows of a block. Each row holds its distance from the base of its block.
const BLOCK: usize = 32;
/// Words of a block: its base, and a word for each row.
const BLOCK_WORDS: usize = BLOCK + 1;
/// Bits of a length: a quarter of a second. What lasts longer is rare in any recording.
const LENGTH_BITS: u32 = 28;
/// The length of a row that does not fit.
const FAR: u64 = (1 << LENGTH_BITS) - 1;
/// Half of the distances that fit: half a minute. What begins further away from its neighbours is rare as well.
const REACH: i64 = 1 << (63 - LENGTH_BITS);

/// Intervals by index, each exact to the nanosecond. One that is long, or begins far away from the first of its block, is
/// kept apart and costs more.
#[derive(Debug, Default, Clone)]
pub struct Times {
    /// Block by block: the first start less [`REACH`], then the distance from that and the length of each row in one word.
    words: Vec<u64>,
    len: usize,
    /// Mostly there are none.
    far: Option<Box<Far>>,
}

/// The intervals that do not fit.
#[derive(Debug, Default, Clone)]
struct Far {
    /// By index.
    list: Vec<(usize, Interval)>,
    /// Whether the list holds all intervals, since so many do not fit.
    is_whole: bool,
    /// How many do not fit.
    count: usize,
}

/// At least so many, and one in so many, have to be far for the list to hold all.
const MANY: usize = 64;
const MUCH: usize = 8;
/// Where it is no more than one in so many later on, as after a begin of long calls, the list holds those alone again.
const LITTLE: usize = 4 * MUCH;

/// The index of the base of a row's block.
const fn base_of(index: usize) -> usize {
    index / BLOCK * BLOCK_WORDS
}

/// The word of a row in a block of that base; `None` where it does not fit.
#[inline]
fn word_of(base: i64, interval: Interval) -> Option<u64> {
    let (offset, length) = (interval.start.abs_diff(base), interval.end.abs_diff(interval.start));
    let is_forward = base <= interval.start && interval.start <= interval.end;
    let fits = is_forward && length < FAR && offset >> (u64::BITS - LENGTH_BITS) == 0;
    fits.then_some(offset << LENGTH_BITS | length)
}

impl Times {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.words.reserve(count + count / BLOCK + 1);
    }

    /// Adds one at the end.
    #[inline]
    pub fn push(&mut self, interval: Interval) {
        let index = self.len;
        self.len += 1;
        if index.is_multiple_of(BLOCK) {
            self.words.push(interval.start.saturating_sub(REACH).cast_unsigned());
        }
        let base = self.words[base_of(index)].cast_signed();
        match word_of(base, interval) {
            Some(word) if self.far.as_ref().is_none_or(|far| !far.is_whole) => self.words.push(word),
            word => {
                self.words.push(FAR);
                self.push_far(index, interval, word.is_some());
            }
        }
    }

    #[cold]
    fn push_far(&mut self, index: usize, interval: Interval, fits: bool) {
        let far = self.far.get_or_insert_default();
        far.list.push((index, interval));
        far.count += usize::from(!fits);
        let (is_whole, count) = (far.is_whole, far.count);
        if !is_whole && count >= MANY && count * MUCH > self.len {
            let list = self.iter().enumerate().collect();
            self.far = Some(Box::new(Far { list, is_whole: true, count }));
        } else if is_whole && count * LITTLE < self.len {
            self.keep_far_alone();
        }
    }

    /// Keeps in the list those alone that do not fit.
    fn keep_far_alone(&mut self) {
        let Some(far) = self.far.take() else { return };
        let mut list = Vec::new();
        for (index, interval) in far.list {
            let block = base_of(index);
            match word_of(self.words[block].cast_signed(), interval) {
                Some(word) => self.words[block + 1 + index % BLOCK] = word,
                None => list.push((index, interval)),
            }
        }
        let count = list.len();
        self.far = Some(Box::new(Far { list, is_whole: false, count }));
    }

    /// Adds all of another list at the end.
    pub(crate) fn append(&mut self, other: &Self) {
        let is_whole = |far: &Option<Box<Far>>| far.as_ref().is_some_and(|far| far.is_whole);
        if !self.len.is_multiple_of(BLOCK) || is_whole(&self.far) || is_whole(&other.far) {
            return self.extend(other.iter());
        }
        // Blocks begin where blocks begin: they are taken as they are.
        self.words.extend_from_slice(&other.words);
        if let Some(far) = &other.far {
            let moved = far.list.iter().map(|(index, interval)| (self.len + index, *interval));
            let own = self.far.get_or_insert_default();
            own.list.extend(moved);
            own.count += far.count;
        }
        self.len += other.len;
    }

    /// Takes all of them away; the memory stays.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        (self.len, self.far) = (0, None);
    }

    /// Takes the last one away.
    pub fn pop(&mut self) -> Option<Interval> {
        let index = self.len.checked_sub(1)?;
        let last = self.at(index);
        self.len = index;
        let fits = word_of(self.words[base_of(index)].cast_signed(), last).is_some();
        if let Some(far) = &mut self.far
            && far.list.pop_if(|(far, _)| *far == index).is_some()
        {
            far.count = far.count.saturating_sub(usize::from(!fits));
        }
        self.words.pop();
        if index.is_multiple_of(BLOCK) {
            self.words.pop();
        }
        Some(last)
    }

    /// Lets the last one end later.
    #[inline]
    pub(crate) fn lengthen_last(&mut self, end: i64) {
        let Some(last) = self.last() else { return };
        let longer = Interval::new(last.start, end);
        let base = self.words[base_of(self.len - 1)].cast_signed();
        match (self.words.last_mut(), word_of(base, longer)) {
            (Some(word), Some(longer)) if *word & FAR != FAR && self.far.is_none() => *word = longer,
            _ => {
                self.pop();
                self.push(longer);
            }
        }
    }

    /// The one at an index.
    ///
    /// # Panics
    /// When there are not that many, as a slice does.
    #[inline]
    pub fn at(&self, index: usize) -> Interval {
        let block = base_of(index);
        let word = self.words[block + 1 + index % BLOCK];
        if word & FAR == FAR {
            return self.far(index);
        }
        let start = self.words[block].cast_signed() + (word >> LENGTH_BITS).cast_signed();
        Interval { start, end: start + (word & FAR).cast_signed() }
    }

    /// When the one at an index begins.
    ///
    /// # Panics
    /// When there are not that many, as a slice does.
    #[inline]
    pub fn start(&self, index: usize) -> i64 {
        self.at(index).start
    }

    /// When the one at an index ends.
    ///
    /// # Panics
    /// When there are not that many, as a slice does.
    #[inline]
    pub fn end(&self, index: usize) -> i64 {
        self.at(index).end
    }

    /// The one at an index, if there are that many.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Interval> {
        (index < self.len()).then(|| self.at(index))
    }

    /// Moves all of them to earlier times; what never ended stays so.
    pub(crate) fn move_back(&mut self, by_ns: i64) {
        for base in self.words.iter_mut().step_by(BLOCK_WORDS) {
            *base = base.cast_signed().saturating_sub(by_ns).cast_unsigned();
        }
        for (_, interval) in self.far.iter_mut().flat_map(|far| &mut far.list) {
            interval.start = interval.start.saturating_sub(by_ns);
            if interval.end != i64::MAX {
                interval.end = interval.end.saturating_sub(by_ns);
            }
        }
    }

    /// The last one.
    pub fn last(&self) -> Option<Interval> {
        self.get(self.len().checked_sub(1)?)
    }

    /// All, in order of their indices.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Interval> + ExactSizeIterator + Clone + '_ {
        (0..self.len()).map(|index| self.at(index))
    }

    /// The first index from `from` on at which something does not hold; it has to hold for all before that and for none
    /// after it.
    pub fn partition_point(&self, from: usize, holds: impl Fn(Interval) -> bool) -> usize {
        let (mut low, mut high) = (from, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(self.at(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Whether any never ended.
    pub(crate) fn has_open(&self) -> bool {
        let far = self.far.iter().flat_map(|far| &far.list);
        far.map(|(_, interval)| interval.end).any(|end| end == i64::MAX)
    }

    /// Ends those that never ended (at `i64::MAX`), but none before it began.
    pub(crate) fn close(&mut self, end: i64) {
        let far = self.far.iter_mut().flat_map(|far| &mut far.list);
        for (_, interval) in far.filter(|(_, interval)| interval.end == i64::MAX) {
            interval.end = end.max(interval.start);
        }
    }

    #[cold]
    fn far(&self, index: usize) -> Interval {
        let Some(far) = &self.far else { return Interval::default() };
        let at = if far.is_whole { Ok(index) } else { far.list.binary_search_by_key(&index, |(far, _)| *far) };
        at.ok().and_then(|at| far.list.get(at)).map_or_else(Interval::default, |(_, interval)| *interval)
    }
}

impl Extend<Interval> for Times {
    fn extend<T: IntoIterator<Item = Interval>>(&mut self, intervals: T) {
        let intervals = intervals.into_iter();
        self.reserve(intervals.size_hint().0);
        intervals.for_each(|interval| self.push(interval));
    }
}

impl FromIterator<Interval> for Times {
    fn from_iter<T: IntoIterator<Item = Interval>>(intervals: T) -> Self {
        let mut times = Self::default();
        times.extend(intervals);
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moment() -> impl Strategy<Value = i64> {
        prop_oneof![
            0..1_000_i64,
            -10_000_000_000..10_000_000_000_i64,
            Just(i64::MAX),
            Just(i64::MIN),
            Just(REACH),
            Just(-REACH),
            Just(2 * REACH - 1),
            Just(FAR.cast_signed()),
            Just(FAR.cast_signed() - 1),
        ]
    }

    #[test]
    fn all_move_at_once() {
        let all = [(0, 5), (-7, 1 << 40), (1 << 50, i64::MAX), (3, 3)];
        let mut times: Times = all.into_iter().cycle().take(100).map(|(start, end)| Interval { start, end }).collect();
        times.move_back(-7);
        let moved = [(7, 12), (0, (1 << 40) + 7), ((1 << 50) + 7, i64::MAX), (10, 10)];
        let moved = moved.into_iter().cycle().take(100).map(|(start, end)| Interval { start, end });
        assert!(times.iter().eq(moved));
    }

    proptest! {
        #[test]
        fn every_interval_comes_back(pairs in proptest::collection::vec((moment(), moment()), 0..700), popped in 0..300_usize, later in moment()) {
            let mut all: Vec<Interval> = pairs.into_iter().map(|(start, end)| Interval { start, end }).collect();
            let mut times: Times = all.iter().copied().collect();
            for _ in 0..popped {
                prop_assert_eq!(times.pop(), all.pop());
            }
            if let Some(last) = all.last_mut() {
                last.end = later;
                times.lengthen_last(later);
            }
            times.push(Interval::new(5, 9));
            all.push(Interval::new(5, 9));
            prop_assert_eq!(times.iter().collect::<Vec<_>>(), all.clone());
            let mut twice: Times = all.iter().copied().take(all.len() / BLOCK * BLOCK).collect();
            all.truncate(twice.len());
            all.extend(times.iter());
            twice.append(&times);
            twice.push(Interval::new(7, 8));
            all.push(Interval::new(7, 8));
            prop_assert_eq!(twice.iter().collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn a_begin_of_long_calls_makes_those_behind_it_cost_no_more() {
        let long = |count: i64| (0..count).map(|start| Interval::new(start, start + (1 << 40)));
        let short = |count: i64| (0..count).map(|start| Interval::new(start, start + 5));
        let held = |times: &Times| times.far.as_ref().map_or((0, false), |far| (far.list.len(), far.is_whole));
        let all: Vec<Interval> = long(100).chain(short(5_000)).chain(long(3)).collect();
        let mut times: Times = long(100).collect();
        assert_eq!(held(&times), (100, true));
        times.extend(short(1_000));
        assert_eq!(held(&times), (1_100, true), "one in eleven");
        times.extend(short(4_000).map(|part| Interval::new(part.start + 1_000, part.end + 1_000)));
        times.extend(long(3));
        assert_eq!(held(&times), (103, false));
        assert!(times.iter().zip(&all).all(|(one, other)| one.len_ns() == other.len_ns()));
        let mut twice: Times = short(BLOCK as i64).collect();
        twice.append(&times);
        assert_eq!((held(&twice), twice.far.as_ref().map(|far| far.count)), ((103, false), Some(103)));
        while times.pop().is_some() {}
        assert_eq!((held(&times), times.far.as_ref().map(|far| far.count)), ((0, false), Some(0)));
    }

    #[test]
    fn what_is_cleared_begins_anew() {
        let mut times: Times = (0..70).map(|start| Interval::new(start, i64::MAX)).collect();
        times.clear();
        assert!(times.is_empty() && !times.has_open());
        times.push(Interval::new(1 << 50, (1 << 50) + 7));
        assert_eq!(times.iter().collect::<Vec<_>>(), [Interval::new(1 << 50, (1 << 50) + 7)]);
    }

    #[test]
    fn what_never_ended_ends_with_the_recording() {
        let mut times: Times =
            [Interval::new(1, i64::MAX), Interval::new(2, 3), Interval::new(9, i64::MAX)].into_iter().collect();
        times.close(7);
        assert_eq!(times.iter().collect::<Vec<_>>(), [Interval::new(1, 7), Interval::new(2, 3), Interval::new(9, 9)]);
    }

    #[test]
    fn the_point_of_a_partition_is_where_it_stops_to_hold() {
        let times: Times = (0..1_000).map(|start| Interval::new(start, start + 1)).collect();
        for wanted in [0, 1, 255, 256, 999, 1_000] {
            assert_eq!(times.partition_point(0, |part| part.start < wanted), wanted as usize);
        }
        assert_eq!(times.partition_point(7, |part| part.start < 3), 7);
    }
}
