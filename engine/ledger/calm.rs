//! Parts of an idle stretch in which nothing begins or ends that what the thread did is held against: host code that makes short
//! calls of the OS by the million is added up there, and held against all that once.

use super::accounts::Account;
use super::activity::{Activity, Did};
use crate::timeline::interval::Interval;

/// To find when the next thing begins or ends costs about as much as to hold so many pieces against all things.
const FEW_PIECES: u32 = 4;
/// After a part with fewer pieces none is looked for while so many are read.
const PIECES_WITHOUT: u32 = 16;

/// The part that is read, or was read last.
#[derive(Debug, Default)]
pub(super) struct Calm {
    part: Interval,
    host_ns: i64,
    blocked_ns: i64,
    /// How many pieces were added up in it.
    pieces: u32,
    /// How many pieces are left to be read before the next is looked for.
    without: u32,
}

impl Calm {
    /// Whether it holds what the thread did, which is to be added up. What ends with it is not held: the query may end there too.
    pub(super) fn holds(&self, did: Did) -> bool {
        let Interval { start, end } = self.part;
        let is_added_up = matches!(did.activity, Activity::Host | Activity::Blocked | Activity::OffCpu);
        is_added_up && start <= did.time.start && did.time.end < end
    }

    /// Whether a next one is to be looked for, after a piece up to a moment that this one did not hold.
    pub(super) const fn is_next_worth_while(&mut self, now: i64) -> bool {
        if now < self.part.end {
            return false;
        }
        if self.without == 0 {
            return true;
        }
        self.without -= 1;
        false
    }

    /// Begins the next one.
    pub(super) fn begin(&mut self, part: Interval) {
        let held_few = self.part.len_ns() > 0 && self.pieces < FEW_PIECES;
        (self.without, self.pieces) = (if held_few { PIECES_WITHOUT } else { 0 }, 0);
        self.part = part;
    }

    /// Adds a piece of it.
    pub(super) fn add(&mut self, activity: Account, length_ns: i64) {
        self.pieces = self.pieces.saturating_add(1);
        let sum_ns = if activity == Account::IdleHost { &mut self.host_ns } else { &mut self.blocked_ns };
        *sum_ns += length_ns;
    }

    /// What was added up until a moment, once, as if each were one piece from its begin on.
    pub(super) fn take_sums(&mut self, now: i64) -> impl Iterator<Item = (Account, Interval)> + use<> {
        let start = std::mem::replace(&mut self.part.start, now);
        let sums = [(Account::IdleHost, &mut self.host_ns), (Account::IdleBlocked, &mut self.blocked_ns)];
        let sums = sums.map(|(activity, sum_ns)| (activity, std::mem::take(sum_ns)));
        sums.into_iter()
            .filter(|(_, sum_ns)| *sum_ns > 0)
            .map(move |(activity, sum_ns)| (activity, Interval::new(start, start + sum_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::NONE;

    fn did(start: i64, end: i64, activity: Activity) -> Did {
        Did { time: Interval::new(start, end), activity, name: NONE, is_named: false }
    }

    #[test]
    fn host_code_and_calls_of_the_os_before_the_edge_are_held() {
        let mut calm = Calm::default();
        assert!(!calm.holds(did(0, 1, Activity::Host)), "none was found yet");
        calm.begin(Interval::new(10, 100));
        assert!(calm.holds(did(10, 20, Activity::Host)) && calm.holds(did(20, 99, Activity::Blocked)));
        assert!(calm.holds(did(20, 99, Activity::OffCpu)) && !calm.holds(did(20, 99, Activity::Launch)));
        assert!(!calm.holds(did(9, 20, Activity::Host)) && !calm.holds(did(20, 100, Activity::Host)));
    }

    #[test]
    fn what_is_added_up_is_told_once_for_each_kind() {
        let mut calm = Calm::default();
        calm.begin(Interval::new(10, 100));
        for (activity, length_ns) in [(Account::IdleHost, 5), (Account::IdleBlocked, 7), (Account::IdleHost, 6)] {
            calm.add(activity, length_ns);
        }
        let sums: Vec<_> = calm.take_sums(40).collect();
        assert_eq!(sums, [(Account::IdleHost, Interval::new(10, 21)), (Account::IdleBlocked, Interval::new(10, 17))]);
        assert_eq!(calm.take_sums(41).count(), 0);
        assert!(!calm.holds(did(40, 50, Activity::Host)) && calm.holds(did(41, 50, Activity::Host)));
    }

    #[test]
    fn where_parts_hold_few_pieces_none_is_looked_for_for_a_while() {
        let mut calm = Calm::default();
        assert!(calm.is_next_worth_while(10));
        calm.begin(Interval::new(10, 20));
        assert!(!calm.is_next_worth_while(19) && calm.is_next_worth_while(20));
        calm.begin(Interval::new(20, 30));
        let looked = (0..=PIECES_WITHOUT).filter(|_| calm.is_next_worth_while(30)).count();
        assert_eq!(looked, 1, "the last one");
        calm.begin(Interval::new(30, 40));
        (0..FEW_PIECES).for_each(|_| calm.add(Account::IdleHost, 1));
        calm.begin(Interval::new(40, 50));
        assert!(calm.is_next_worth_while(50));
    }
}
