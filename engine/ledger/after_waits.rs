//! Idle time at the end of waits, by wait and by the range that it lies in. Asked for is the range that most of a wait's time lies in:
//! so of more pairs than any program has those with least time are told of no range.

use std::cmp::Reverse;

use foldhash::HashMap;

use crate::timeline::{NONE, NameId};

/// A process, a call that waits, and the label of the innermost range or [`NONE`].
pub type WaitInRange = (u32, NameId, u32);

/// Sums by wait and range.
#[derive(Debug, Default)]
pub struct AfterWaits {
    sums: HashMap<WaitInRange, i64>,
    /// How many pairs with a range may be kept.
    most: usize,
    /// How many there may be before those with least time are looked for again.
    room: usize,
}

impl AfterWaits {
    /// With room for so many pairs.
    pub(super) fn of(most: usize) -> Self {
        Self { most, room: most, ..Self::default() }
    }

    /// Adds time.
    pub(super) fn add(&mut self, key: WaitInRange, ns: i64) {
        *self.sums.entry(key).or_default() += ns;
        if self.sums.len() > self.room {
            self.drop_least();
        }
    }

    /// Takes in others: with as much room as they have.
    pub(super) fn merge(&mut self, others: Self) {
        self.merge_as(|key| key, others);
    }

    /// Takes in those of a thread, which are of no process yet.
    pub(super) fn merge_of(&mut self, process: u32, others: Self) {
        self.merge_as(|(_, call, label)| (process, call, label), others);
    }

    fn merge_as(&mut self, key: impl Fn(WaitInRange) -> WaitInRange, others: Self) {
        self.most = self.most.max(others.most);
        self.room = self.room.max(others.most);
        // All at once, so that their order is no matter.
        for (of, ns) in others.sums {
            *self.sums.entry(key(of)).or_default() += ns;
        }
        if self.sums.len() > self.room {
            self.drop_least();
        }
    }

    /// Lets go of the half with least time: what they had stays as time in no range.
    fn drop_least(&mut self) {
        let all = self.sums.drain();
        let (mut within, without): (Vec<_>, Vec<_>) = all.partition(|((_, _, label), _)| *label != NONE);
        let kept_count = within.len().min(self.most / 2);
        if kept_count < within.len() {
            // Of as much time the first by their keys: their order in the map is another in each run.
            within.select_nth_unstable_by_key(kept_count, |(key, ns)| (Reverse(*ns), *key));
        }
        let least = within.split_off(kept_count);
        let least = least.into_iter().map(|((process, call, _), ns)| ((process, call, NONE), ns));
        self.sums.extend(without);
        for (key, ns) in least {
            *self.sums.entry(key).or_default() += ns;
        }
        self.room = self.most + self.sums.len();
        self.sums.extend(within);
    }

    /// The sums, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (&WaitInRange, &i64)> {
        self.sums.iter()
    }

    /// The sum of a wait and a range.
    #[cfg(test)]
    pub(super) fn get(&self, key: &WaitInRange) -> Option<i64> {
        self.sums.get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_more_pairs_than_there_is_room_for_those_with_most_time_stay() {
        let mut sums = AfterWaits::of(100);
        for round in 0..50 {
            sums.add((NONE, 7, 3), 40);
            (0..40).for_each(|label| sums.add((NONE, 7, 1_000 + round * 40 + label), 1));
        }
        assert!(sums.sums.len() <= 101);
        assert_eq!(sums.get(&(NONE, 7, 3)), Some(2_000));
        assert_eq!(sums.iter().map(|(_, ns)| ns).sum::<i64>(), 4_000, "no time is lost");
        let mut all = AfterWaits::default();
        (0..10_u32).for_each(|process| {
            let mut of_thread = AfterWaits::of(100);
            (0..90).for_each(|label| of_thread.add((NONE, 7, label), i64::from(label)));
            all.merge_of(process, of_thread);
        });
        assert!(all.sums.len() <= 110);
        assert_eq!(all.iter().map(|(_, ns)| ns).sum::<i64>(), 10 * 89 * 90 / 2);
    }
}
