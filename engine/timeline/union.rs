//! Unions of intervals: what any of them covers.

use super::interval::Interval;
use super::times::Times;

/// Disjoint intervals with gaps between them, in time order.
#[derive(Debug, Clone, Default)]
pub struct Union {
    parts: Times,
    /// The length of all parts before each block of parts.
    before: Vec<i64>,
    /// The length of all parts but the last.
    closed_ns: i64,
}

/// Parts of a block: as many are added up at most for each end of what is asked for.
const BLOCK: usize = 16;
/// Parts that are looked at one by one before all are searched.
const NEAR: usize = 8;
/// From so many times as many parts on, each of the fewer is looked for among the others.
const MANY_TIMES: usize = 32;

impl Union {
    /// The union of any intervals; those without length vanish.
    pub fn of(intervals: impl IntoIterator<Item = Interval>) -> Self {
        let mut all: Vec<Interval> = intervals.into_iter().filter(|part| part.len_ns() > 0).collect();
        if !all.is_sorted_by_key(|part| part.start) {
            all.sort_unstable();
        }
        let mut union = Self::default();
        // What touches is one part before it is kept.
        let mut parts = all.into_iter();
        let Some(mut open) = parts.next() else { return union };
        for part in parts {
            if part.start <= open.end {
                open.end = open.end.max(part.end);
            } else {
                union.push(std::mem::replace(&mut open, part));
            }
        }
        union.push(open);
        union
    }

    /// Adds an interval that does not start before the last one added.
    pub fn push(&mut self, part: Interval) {
        if part.len_ns() == 0 {
            return;
        }
        match self.parts.last() {
            Some(last) if part.start <= last.end => {
                if part.end > last.end {
                    self.parts.lengthen_last(part.end);
                }
            }
            last => {
                self.closed_ns += last.map_or(0, Interval::len_ns);
                if self.parts.len().is_multiple_of(BLOCK) {
                    self.before.push(self.closed_ns);
                }
                self.parts.push(part);
            }
        }
    }

    /// Makes room for so many more parts.
    pub fn reserve(&mut self, count: usize) {
        self.parts.reserve(count);
        self.before.reserve(count / BLOCK + 1);
    }

    /// Adds another whose first part does not start before the last one of this.
    pub fn append(&mut self, other: Self) {
        let Some(last) = self.parts.last() else {
            *self = other;
            return;
        };
        let mut parts = other.parts().peekable();
        while let Some(part) = parts.next_if(|part| part.start <= last.end) {
            self.push(part);
        }
        // The rest have gaps before them.
        self.parts.reserve(parts.len());
        let mut last_ns = self.parts.last().map_or(0, Interval::len_ns);
        for part in parts {
            self.closed_ns += last_ns;
            if self.parts.len().is_multiple_of(BLOCK) {
                self.before.push(self.closed_ns);
            }
            self.parts.push(part);
            last_ns = part.len_ns();
        }
    }

    /// Its length in nanoseconds.
    pub fn len_ns(&self) -> i64 {
        self.closed_ns + self.parts.last().map_or(0, Interval::len_ns)
    }

    /// The intervals that it is made of.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = Interval> + ExactSizeIterator + '_ {
        self.parts.iter()
    }

    /// How long one interval overlaps it.
    pub fn overlap_ns(&self, with: Interval) -> i64 {
        self.overlap_from(self.parts.partition_point(0, |part| part.end <= with.start), with)
    }

    /// The same, where the first part that ends after the interval begins is known.
    fn overlap_from(&self, first: usize, with: Interval) -> i64 {
        match self.parts.get(first) {
            Some(part) if part.start < with.end && with.end <= part.end => part.overlap_ns(with),
            Some(part) if part.start < with.end && with.start < with.end => {
                let last = self.last_before(first, with.end);
                let ends = if last == first { 0 } else { (with.start - part.start).max(0) };
                self.between(first, last) - ends + self.parts.at(last).overlap_ns(with)
            }
            _ => 0,
        }
    }

    /// The last part that begins before a moment, which the one at `first` does. Mostly it is near.
    fn last_before(&self, first: usize, moment: i64) -> usize {
        let is_before = |part: Interval| part.start < moment;
        let near = (first + 1..self.parts.len()).take(NEAR).find(|index| !is_before(self.parts.at(*index)));
        near.unwrap_or_else(|| self.parts.partition_point(first, is_before)) - 1
    }

    /// The length of all parts from one to before another.
    fn between(&self, first: usize, last: usize) -> i64 {
        if last - first < BLOCK {
            return (first..last).map(|index| self.parts.at(index).len_ns()).sum();
        }
        self.before(last) - self.before(first)
    }

    /// The length of all parts before one.
    fn before(&self, index: usize) -> i64 {
        let block = index / BLOCK;
        let inside = (block * BLOCK..index).map(|index| self.parts.at(index).len_ns());
        self.before.get(block).copied().unwrap_or(0) + inside.sum::<i64>()
    }

    /// How long the two overlap.
    pub fn common_ns(&self, other: &Self) -> i64 {
        let (few, many) = if self.parts.len() < other.parts.len() { (self, other) } else { (other, self) };
        if few.parts.len() < many.parts.len() / MANY_TIMES {
            return few.parts().map(|part| many.overlap_ns(part)).sum();
        }
        let (mut left, mut right, mut total) = (0, 0, 0);
        while let (Some(a), Some(b)) = (self.parts.get(left), other.parts.get(right)) {
            total += a.overlap_ns(b);
            if a.end < b.end {
                left += 1;
            } else {
                right += 1;
            }
        }
        total
    }
}

/// Tells how long intervals overlap a union, of intervals that come in order of their starts.
#[derive(Debug)]
pub struct Follower<'union> {
    union: &'union Union,
    next: usize,
    /// The part, or from where the last interval began the rest of the gap, that it began in: mostly the next lies in that as well.
    around: Interval,
    is_part: bool,
}

impl<'union> Follower<'union> {
    /// Follows a union from its beginning.
    pub const fn new(union: &'union Union) -> Self {
        Self { union, next: 0, around: Interval::new(0, 0), is_part: false }
    }

    /// Follows it from a moment on.
    pub fn from(union: &'union Union, moment: i64) -> Self {
        let next = union.parts.partition_point(0, |part| part.end <= moment);
        Self { next, ..Self::new(union) }
    }

    /// How long an interval overlaps the union; it does not start before the last one asked about.
    #[inline]
    pub fn overlap_ns(&mut self, with: Interval) -> i64 {
        // Many unions are empty, and many intervals lie behind the last part.
        if self.next >= self.union.parts.len() {
            return 0;
        }
        if self.around.start <= with.start && with.end <= self.around.end {
            return if self.is_part { with.len_ns() } else { 0 };
        }
        self.advance(with.start);
        self.union.overlap_from(self.next, with)
    }

    /// When after a moment, which is not before the last one asked about, a part begins or ends; the end of time after the last one.
    pub fn next_edge(&mut self, moment: i64) -> i64 {
        if self.next >= self.union.parts.len() {
            return i64::MAX;
        }
        self.advance(moment);
        self.around.end
    }

    fn advance(&mut self, moment: i64) {
        while self.union.parts.get(self.next).is_some_and(|part| part.end <= moment) {
            self.next += 1;
        }
        let next = self.union.parts.get(self.next);
        self.is_part = next.is_some_and(|part| part.start <= moment);
        self.around = match next {
            Some(part) if self.is_part => part,
            Some(part) => Interval::new(moment, part.start),
            None => Interval::new(moment, i64::MAX),
        };
    }

    /// Which gap of the union, counted from the one before its first part, the interval that was last asked about lies in, or runs into
    /// from a part.
    pub fn gap_of(&self, with: Interval) -> usize {
        let runs_into = self.union.parts.get(self.next).is_some_and(|part| part.start <= with.start);
        self.next + usize::from(runs_into)
    }
}

/// The length of a union of intervals that come in order of their starts, without keeping them.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunningLength {
    sum_ns: i64,
    end: Option<i64>,
}

impl RunningLength {
    /// Adds an interval that does not start before the last one added.
    pub fn push(&mut self, part: Interval) {
        let from = self.end.map_or(part.start, |end| end.max(part.start));
        self.sum_ns += Interval::new(from, part.end).len_ns();
        self.end = Some(from.max(part.end));
    }

    /// The length in nanoseconds.
    pub const fn len_ns(self) -> i64 {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn intervals() -> impl Strategy<Value = Vec<Interval>> {
        proptest::collection::vec(
            (0..4_000i64, -5..40i64).prop_map(|(start, length)| Interval::new(start, start + length)),
            0..300,
        )
    }

    /// Of each moment whether an interval covers it.
    fn covered(parts: &[Interval]) -> Vec<bool> {
        let mut moments = vec![false; 4_050];
        for part in parts.iter().filter(|part| part.len_ns() > 0) {
            moments[part.start as usize..part.end as usize].fill(true);
        }
        moments
    }

    proptest! {
        #[test]
        fn union_counts_each_nanosecond_once(parts in intervals()) {
            let union = Union::of(parts.clone());
            let counted = covered(&parts).into_iter().filter(|covered| *covered).count();
            prop_assert_eq!(union.len_ns(), counted as i64);
            let mut sorted = parts.clone();
            sorted.sort_by_key(|part| part.start);
            let mut running = RunningLength::default();
            sorted.iter().for_each(|part| running.push(*part));
            prop_assert_eq!(running.len_ns(), union.len_ns());
            let (first, second) = sorted.split_at(sorted.len() / 3);
            let mut appended = Union::of(first.iter().copied());
            appended.append(Union::of(second.iter().copied()));
            prop_assert_eq!(appended.parts().collect::<Vec<_>>(), union.parts().collect::<Vec<_>>());
            prop_assert_eq!((appended.len_ns(), appended.before), (union.len_ns(), union.before));
        }

        #[test]
        fn overlap_counts_common_nanoseconds(left in intervals(), right in intervals(), from in 0..4_000_i64, length in 0..4_000_i64) {
            let (of_left, of_right) = (covered(&left), covered(&right));
            let both = of_left.iter().zip(&of_right).filter(|(left, right)| **left && **right).count() as i64;
            let within = of_left.iter().skip(from as usize).take(length as usize).filter(|covered| **covered).count();
            let (left, right) = (Union::of(left), Union::of(right));
            prop_assert_eq!(left.common_ns(&right), both);
            prop_assert_eq!(right.parts().map(|part| left.overlap_ns(part)).sum::<i64>(), both);
            prop_assert_eq!(left.overlap_ns(Interval::new(from, from + length)), within as i64);
            let mut follower = Follower::new(&left);
            prop_assert_eq!(right.parts().map(|part| follower.overlap_ns(part)).sum::<i64>(), both);
        }

        #[test]
        fn a_follower_tells_of_any_intervals_in_order_what_a_search_does(parts in intervals(), mut asked in intervals()) {
            let union = Union::of(parts);
            asked.sort();
            let (mut follower, mut edges) = (Follower::new(&union), Follower::new(&union));
            for interval in asked {
                prop_assert_eq!(follower.overlap_ns(interval), union.overlap_ns(interval));
                let ends = union.parts().flat_map(|part| [part.start, part.end]);
                let next = ends.filter(|edge| *edge > interval.start).min().unwrap_or(i64::MAX);
                prop_assert_eq!(edges.next_edge(interval.start), next);
            }
        }
    }
}
