//! Half-open intervals `[start, end)` of nanoseconds.

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Interval {
    /// Its first nanosecond.
    pub start: i64,
    /// The first nanosecond after it.
    pub end: i64,
}

impl Interval {
    /// All time.
    pub const EVER: Self = Self::new(i64::MIN, i64::MAX);

    /// An interval; one that ends before it starts has no length.
    #[inline]
    pub const fn new(start: i64, end: i64) -> Self {
        Self { start, end }
    }

    /// Its length in nanoseconds.
    #[inline]
    pub const fn len_ns(self) -> i64 {
        let length = self.end.saturating_sub(self.start);
        if length > 0 { length } else { 0 }
    }

    /// The part of it that lies in another.
    #[inline]
    pub fn clip(self, other: Self) -> Self {
        Self { start: self.start.max(other.start), end: self.end.min(other.end) }
    }

    /// From the first begin to the last end of the two.
    #[inline]
    pub fn hull(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// How long the two overlap.
    #[inline]
    pub fn overlap_ns(self, other: Self) -> i64 {
        self.clip(other).len_ns()
    }
}
