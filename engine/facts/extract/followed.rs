//! How long calls, steps and other intervals overlap a union, where they mostly come in order.

use crate::timeline::interval::Interval;
use crate::timeline::union::{Follower, Union};

/// Follows a union as [`Follower`] does, and anew from its beginning where an interval begins before the last one: as those of the next
/// thread do.
#[derive(Debug)]
pub(super) struct Followed<'union> {
    union: &'union Union,
    follower: Follower<'union>,
    last_start: i64,
    /// How often it began anew.
    break_count: usize,
}

/// So often it is cheaper to begin anew than to search.
const MAX_BREAKS: usize = 64;

impl<'union> Followed<'union> {
    pub(super) const fn new(union: &'union Union) -> Self {
        Self { union, follower: Follower::new(union), last_start: i64::MIN, break_count: 0 }
    }

    /// How long an interval overlaps the union.
    pub(super) fn overlap_ns(&mut self, with: Interval) -> i64 {
        if self.break_count > MAX_BREAKS {
            return self.union.overlap_ns(with);
        }
        if with.start < self.last_start {
            self.follower = Follower::new(self.union);
            self.break_count += 1;
        }
        self.last_start = with.start;
        self.follower.overlap_ns(with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_any_order_is_found() {
        let union = Union::of([Interval::new(0, 10), Interval::new(20, 30), Interval::new(50, 60)]);
        let mut followed = Followed::new(&union);
        for round in 0..100 {
            for (start, end) in [(25, 55), (round % 10, 22), (5, 100), (59, 70)] {
                let part = Interval::new(start, end);
                assert_eq!(followed.overlap_ns(part), union.overlap_ns(part));
            }
        }
        assert!(followed.break_count > MAX_BREAKS);
    }
}
