//! Interval algebra over half-open intervals `[start, end)` of nanoseconds.

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Interval {
    /// Its first nanosecond.
    pub start: i64,
    /// The first nanosecond after it.
    pub end: i64,
}

impl Interval {
    /// An interval; one that ends before it starts has no length.
    pub const fn new(start: i64, end: i64) -> Self {
        Self { start, end }
    }

    /// Its length in nanoseconds.
    pub const fn len_ns(self) -> i64 {
        let length = self.end.saturating_sub(self.start);
        if length > 0 { length } else { 0 }
    }

    /// The part of it that lies in another.
    pub fn clip(self, other: Self) -> Self {
        Self { start: self.start.max(other.start), end: self.end.min(other.end) }
    }

    /// How long the two overlap.
    pub fn overlap_ns(self, other: Self) -> i64 {
        self.clip(other).len_ns()
    }
}

/// Disjoint intervals with gaps between them, in time order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Union {
    parts: Vec<Interval>,
    /// The length of all parts before each.
    before: Vec<i64>,
}

impl Union {
    /// The union of any intervals; those without length vanish.
    pub fn of(intervals: impl IntoIterator<Item = Interval>) -> Self {
        let mut all: Vec<Interval> = intervals.into_iter().filter(|part| part.len_ns() > 0).collect();
        if !all.is_sorted_by_key(|part| part.start) {
            all.sort_unstable();
        }
        let mut union = Self::default();
        all.into_iter().for_each(|part| union.push(part));
        union
    }

    /// Adds an interval that does not start before the last one added.
    pub fn push(&mut self, part: Interval) {
        match self.parts.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ if part.len_ns() > 0 => {
                self.before.push(self.len_ns());
                self.parts.push(part);
            }
            _ => {}
        }
    }

    /// Its length in nanoseconds.
    pub fn len_ns(&self) -> i64 {
        self.before.last().zip(self.parts.last()).map_or(0, |(before, last)| before + last.len_ns())
    }

    /// The intervals that it is made of.
    pub fn parts(&self) -> &[Interval] {
        &self.parts
    }

    /// How long one interval overlaps it.
    pub fn overlap_ns(&self, with: Interval) -> i64 {
        let first = self.parts.partition_point(|part| part.end <= with.start);
        match self.parts.get(first) {
            Some(part) if part.start < with.end && with.end <= part.end => part.overlap_ns(with),
            Some(part) if part.start < with.end && with.start < with.end => {
                let last = first + self.parts[first..].partition_point(|part| part.start < with.end) - 1;
                let ends = if last == first { 0 } else { (with.start - part.start).max(0) };
                self.before[last] - self.before[first] - ends + self.parts[last].overlap_ns(with)
            }
            _ => 0,
        }
    }

    /// How long the two overlap.
    pub fn common_ns(&self, other: &Self) -> i64 {
        let (mut left, mut right, mut total) = (0, 0, 0);
        while let (Some(a), Some(b)) = (self.parts.get(left), other.parts.get(right)) {
            total += a.overlap_ns(*b);
            if a.end < b.end {
                left += 1;
            } else {
                right += 1;
            }
        }
        total
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
            (0..200i64, -5..40i64).prop_map(|(start, length)| Interval::new(start, start + length)),
            0..30,
        )
    }

    fn covered(parts: &[Interval], moment: i64) -> bool {
        parts.iter().any(|part| part.start <= moment && moment < part.end)
    }

    proptest! {
        #[test]
        fn union_counts_each_nanosecond_once(parts in intervals()) {
            let union = Union::of(parts.clone());
            let counted = (0..250).filter(|moment| covered(&parts, *moment)).count();
            prop_assert_eq!(union.len_ns(), counted as i64);
            let mut sorted = parts.clone();
            sorted.sort_by_key(|part| part.start);
            let mut running = RunningLength::default();
            sorted.into_iter().for_each(|part| running.push(part));
            prop_assert_eq!(running.len_ns(), union.len_ns());
        }

        #[test]
        fn overlap_counts_common_nanoseconds(left in intervals(), right in intervals()) {
            let both = (0..250).filter(|moment| covered(&left, *moment) && covered(&right, *moment)).count() as i64;
            let (left, right) = (Union::of(left), Union::of(right));
            prop_assert_eq!(left.common_ns(&right), both);
            prop_assert_eq!(right.parts().iter().map(|part| left.overlap_ns(*part)).sum::<i64>(), both);
        }
    }
}
