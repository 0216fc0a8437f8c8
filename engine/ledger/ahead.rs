//! How far ahead the host would be without its waits, and what each idle stretch can win from that.
//!
//! The stretches of a thread are taken in order. Without its waits the thread would be ahead by the time that it spent in them
//! so far; a stretch wins no more than that, and what it wins is spent: the device is then that much ahead too.

use std::collections::BTreeMap;

use super::accounts::Account;
use super::activity::Activity;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId};

/// The waits that could be taken out together: those in one call, or all copy calls that block.
type Waits = (Account, NameId);

fn waits_of(trigger: Account, name: NameId) -> Option<Waits> {
    match trigger {
        Account::AfterSync => Some((trigger, name)),
        Account::AfterCopy => Some((trigger, NONE)),
        _ => None,
    }
}

/// The time that a thread spent in waits so far: the same for all devices.
#[derive(Debug, Default)]
pub(super) struct Waited {
    sums_ns: BTreeMap<Waits, i64>,
    /// The last that it waited in.
    last: Option<Waits>,
}

/// What of that the stretches of a device have won.
#[derive(Debug, Default)]
pub(super) struct Lead {
    won_ns: BTreeMap<Waits, i64>,
}

/// What a stretch can win.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Won {
    /// Together.
    pub(super) sum_ns: i64,
    /// The part of that in which the thread launched.
    pub(super) launch_ns: i64,
}

/// What a thread did in a stretch, as far as it has been read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    launch_ns: i64,
    /// In loading, memory management, set-up and printing, and what the profiler cost: not the matter of a wait before.
    other_causes_ns: i64,
}

impl Done {
    pub(super) const fn launch_ns(self) -> i64 {
        self.launch_ns
    }

    /// Adds a piece of the stretch.
    pub(super) fn add(&mut self, piece: Interval, activity: Activity) {
        match activity.account() {
            Account::IdleLaunch => self.launch_ns += piece.len_ns(),
            Account::IdleCompile
            | Account::IdleLoad
            | Account::IdleAllocate
            | Account::IdleInit
            | Account::IdlePrint
            | Account::IdleProfiler => {
                self.other_causes_ns += piece.len_ns();
            }
            _ => {}
        }
    }
}

impl Waited {
    /// Adds what a thread did for a while.
    pub(super) fn add(&mut self, activity: Activity, name: NameId, time: Interval) {
        if let Some(waits) = waits_of(activity.trigger(), name) {
            *self.sums_ns.entry(waits).or_default() += time.len_ns();
            self.last = Some(waits);
        }
    }
}

impl Lead {
    /// What a stretch that began in a wait can win; that is spent.
    pub(super) fn win(
        &mut self,
        waited: &Waited,
        (trigger, name): (Account, NameId),
        stretch: Interval,
        done: Done,
    ) -> Won {
        let waits = waits_of(trigger, name);
        let Some((waits, waited_ns)) = waits.and_then(|waits| Some((waits, *waited.sums_ns.get(&waits)?))) else {
            return Won::default();
        };
        let won_ns = self.won_ns.entry(waits).or_default();
        let most = stretch.len_ns() - done.other_causes_ns;
        let sum_ns = most.min(waited_ns - *won_ns).max(0);
        *won_ns += sum_ns;
        let part = if sum_ns < most { sum_ns as f64 / most as f64 } else { 1.0 };
        Won { sum_ns, launch_ns: (done.launch_ns as f64 * part) as i64 }
    }
}

impl Lead {
    /// What launching in a stretch that began in no wait can win from the last wait before it: the host lost its lead there, and
    /// has not caught up. That is spent; with the waits that it is won from.
    pub(super) fn win_launches(&mut self, waited: &Waited, launch_ns: i64) -> Option<((Account, NameId), Won)> {
        let waits = waited.last?;
        let waited_ns = *waited.sums_ns.get(&waits)?;
        let before_ns = self.won_ns.entry(waits).or_default();
        let won_ns = launch_ns.min(waited_ns - *before_ns);
        *before_ns += won_ns;
        (won_ns > 0).then_some((waits, Won { sum_ns: won_ns, launch_ns: won_ns }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: (Account, NameId) = (Account::AfterSync, 3);

    #[test]
    fn a_stretch_wins_no_more_than_the_waits_before_it_have_left() {
        let (mut waited, mut lead) = (Waited::default(), Lead::default());
        waited.add(Activity::Sync, 3, Interval::new(0, 100));
        waited.add(Activity::Sync, 4, Interval::new(100, 5_000));
        let launching = |ns: i64| {
            let mut done = Done::default();
            done.add(Interval::new(0, ns), Activity::Launch);
            done
        };
        assert_eq!(lead.win(&waited, SYNC, Interval::new(100, 170), launching(30)), Won { sum_ns: 70, launch_ns: 30 });
        assert_eq!(lead.win(&waited, SYNC, Interval::new(500, 600), launching(50)), Won { sum_ns: 30, launch_ns: 15 });
        assert_eq!(lead.win(&waited, SYNC, Interval::new(700, 800), launching(50)), Won::default());
        waited.add(Activity::Sync, 3, Interval::new(900, 910));
        assert_eq!(lead.win(&waited, SYNC, Interval::new(910, 990), Done::default()), Won { sum_ns: 10, launch_ns: 0 });
    }

    #[test]
    fn launches_after_a_wait_are_late_until_its_length_is_spent() {
        let (mut waited, mut lead) = (Waited::default(), Lead::default());
        assert_eq!(lead.win_launches(&waited, 50), None);
        waited.add(Activity::Sync, 3, Interval::new(0, 100));
        waited.add(Activity::Launch, 5, Interval::new(100, 110));
        assert_eq!(lead.win_launches(&waited, 70), Some((SYNC, Won { sum_ns: 70, launch_ns: 70 })));
        assert_eq!(lead.win_launches(&waited, 70), Some((SYNC, Won { sum_ns: 30, launch_ns: 30 })));
        assert_eq!(lead.win_launches(&waited, 70), None);
    }

    #[test]
    fn loading_and_memory_in_a_stretch_are_not_the_matter_of_the_wait() {
        let (mut waited, mut lead) = (Waited::default(), Lead::default());
        waited.add(Activity::Sync, 3, Interval::new(0, 1_000));
        let mut done = Done::default();
        done.add(Interval::new(1_000, 1_800), Activity::Load);
        done.add(Interval::new(1_800, 1_900), Activity::Allocate);
        done.add(Interval::new(1_900, 2_000), Activity::Host);
        assert_eq!(lead.win(&waited, SYNC, Interval::new(1_000, 2_000), done), Won { sum_ns: 100, launch_ns: 0 });
    }

    #[test]
    fn all_blocking_copy_calls_count_together_and_nothing_else_does() {
        let (mut waited, mut lead) = (Waited::default(), Lead::default());
        waited.add(Activity::CopyCall, 7, Interval::new(0, 40));
        waited.add(Activity::CopyCall, 8, Interval::new(50, 60));
        waited.add(Activity::Host, NONE, Interval::new(60, 900));
        let mut won = |trigger| lead.win(&waited, trigger, Interval::new(1_000, 2_000), Done::default()).sum_ns;
        assert_eq!(won((Account::AfterOther, NONE)), 0);
        assert_eq!(won((Account::AfterCopy, 7)), 50);
    }
}
