//! What a thread is in at a moment: calls and stretches that have begun and not ended.

use std::cmp::Reverse;

use super::activity::Activity;
use super::first::FirstOf;
use crate::timeline::NameId;
use crate::timeline::interval::Interval;

/// The calls and stretches that a thread is in.
#[derive(Default)]
pub(super) struct Inside {
    /// By activity when each began and ends, and its name; the innermost on top. Ended ones are dropped when they come to the top.
    by_activity: [FirstOf<(i64, Reverse<i64>, NameId)>; Activity::COUNT],
    /// Of each activity a bit, in order of precedence: whether its queue holds anything.
    activities: u16,
    ends: FirstOf<Reverse<i64>>,
}

impl Inside {
    /// Whether it is in nothing that it has not left.
    pub(super) const fn is_empty(&self) -> bool {
        self.ends.peek().is_none()
    }

    /// When the first of them ends; `i64::MAX` when there is none.
    pub(super) fn next_end(&self) -> i64 {
        self.ends.peek().map_or(i64::MAX, |Reverse(end)| *end)
    }

    /// A bit of each activity that it may be in.
    pub(super) const fn activities(&self) -> u16 {
        self.activities
    }

    /// Enters one; of no length there is nothing to be in.
    pub(super) fn enter(&mut self, Interval { start, end }: Interval, activity: Activity, name: NameId, now: i64) {
        if end > start {
            let of_activity = &mut self.by_activity[activity as usize];
            of_activity.drop_while(|(_, Reverse(end), _)| *end <= now);
            of_activity.push((start, Reverse(end), name));
            self.activities |= 1 << activity as u32;
            self.ends.push(Reverse(end));
        }
    }

    /// Leaves those that have ended.
    pub(super) fn leave(&mut self, now: i64) {
        self.ends.drop_while(|Reverse(end)| *end <= now);
    }

    /// The name of the innermost call or stretch of an activity, or [`NONE`](crate::timeline::NONE) where it has none; `None` where
    /// the thread is in none.
    pub(super) fn innermost(&mut self, activity: Activity, now: i64) -> Option<NameId> {
        let index = activity as usize;
        if self.activities & 1 << index == 0 {
            return None;
        }
        let of_activity = &mut self.by_activity[index];
        of_activity.drop_while(|(_, Reverse(end), _)| *end <= now);
        let name = of_activity.peek().map(|(_, _, name)| *name);
        if name.is_none() {
            self.activities &= !(1 << index);
        }
        name
    }
}
