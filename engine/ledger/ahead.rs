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
pub(super) type Waits = (Account, NameId);

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

    /// Adds what it did after that.
    pub(super) fn append(&mut self, later: Self) {
        for (waits, ns) in later.sums_ns {
            *self.sums_ns.entry(waits).or_default() += ns;
        }
        self.last = later.last.or(self.last);
    }

    /// How long it spent in the waits that a stretch began in; `None` of one that began in none.
    pub(super) fn in_trigger(&self, (trigger, name): (Account, NameId)) -> Option<InWaits> {
        waits_of(trigger, name).map(|waits| self.in_waits(waits))
    }

    /// How long it spent in the waits that it waited in last.
    pub(super) fn in_last(&self) -> Option<InWaits> {
        self.last.map(|waits| self.in_waits(waits))
    }

    fn in_waits(&self, waits: Waits) -> InWaits {
        InWaits { waits, ns: self.sums_ns.get(&waits).copied().unwrap_or(0) }
    }
}

/// How long a thread spent in some waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct InWaits {
    pub(super) waits: Waits,
    ns: i64,
}

impl InWaits {
    /// The same with what it spent in them before.
    pub(super) fn after(self, before: &Waited) -> Self {
        Self { ns: self.ns + before.in_waits(self.waits).ns, ..self }
    }
}

impl Lead {
    /// What a stretch that began in a wait can win; that is spent.
    pub(super) fn win(&mut self, waited: Option<InWaits>, stretch_ns: i64, done: Done) -> Won {
        let Some(InWaits { waits, ns }) = waited else { return Won::default() };
        let won_ns = self.won_ns.entry(waits).or_default();
        let most = stretch_ns - done.other_causes_ns;
        let sum_ns = most.min(ns - *won_ns).max(0);
        *won_ns += sum_ns;
        let part = if sum_ns < most { sum_ns as f64 / most as f64 } else { 1.0 };
        Won { sum_ns, launch_ns: (done.launch_ns as f64 * part) as i64 }
    }

    /// What launching in a stretch that began in no wait can win from the last wait before it: the host lost its lead there, and
    /// has not caught up. That is spent.
    pub(super) fn win_launches(&mut self, last: InWaits, launch_ns: i64) -> Won {
        let before_ns = self.won_ns.entry(last.waits).or_default();
        let won_ns = launch_ns.min(last.ns - *before_ns).max(0);
        *before_ns += won_ns;
        Won { sum_ns: won_ns, launch_ns: won_ns }
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
        assert_eq!(lead.win(waited.in_trigger(SYNC), 70, launching(30)), Won { sum_ns: 70, launch_ns: 30 });
        assert_eq!(lead.win(waited.in_trigger(SYNC), 100, launching(50)), Won { sum_ns: 30, launch_ns: 15 });
        assert_eq!(lead.win(waited.in_trigger(SYNC), 100, launching(50)), Won::default());
        waited.add(Activity::Sync, 3, Interval::new(900, 910));
        assert_eq!(lead.win(waited.in_trigger(SYNC), 80, Done::default()), Won { sum_ns: 10, launch_ns: 0 });
    }

    #[test]
    fn launches_after_a_wait_are_late_until_its_length_is_spent() {
        let (mut waited, mut lead) = (Waited::default(), Lead::default());
        assert!(waited.in_last().is_none());
        let mut won = |waited: &Waited, launch_ns| {
            let last = waited.in_last().unwrap();
            (last.waits, lead.win_launches(last, launch_ns))
        };
        waited.add(Activity::Sync, 3, Interval::new(0, 100));
        waited.add(Activity::Launch, 5, Interval::new(100, 110));
        assert_eq!(won(&waited, 70), (SYNC, Won { sum_ns: 70, launch_ns: 70 }));
        assert_eq!(won(&waited, 70), (SYNC, Won { sum_ns: 30, launch_ns: 30 }));
        assert_eq!(won(&waited, 70), (SYNC, Won::default()));
    }

    #[test]
    fn what_was_waited_in_parts_is_what_was_waited_in_one() {
        let waits =
            [(Activity::Sync, 3, 100), (Activity::CopyCall, 7, 40), (Activity::Host, NONE, 5), (Activity::Sync, 3, 9)];
        for cut in 0..=waits.len() {
            let of = |part: &[(Activity, NameId, i64)]| {
                let mut waited = Waited::default();
                part.iter().for_each(|(activity, name, ns)| waited.add(*activity, *name, Interval::new(0, *ns)));
                waited
            };
            let (mut before, later) = (of(&waits[..cut]), of(&waits[cut..]));
            let own = later.in_trigger(SYNC).unwrap();
            assert_eq!(own.after(&before).ns, 109, "{cut}");
            before.append(later);
            assert_eq!((before.in_waits(SYNC).ns, before.in_last().unwrap().waits), (109, SYNC), "{cut}");
        }
    }

    #[test]
    fn loading_and_memory_in_a_stretch_are_not_the_matter_of_the_wait() {
        let (mut waited, mut lead) = (Waited::default(), Lead::default());
        waited.add(Activity::Sync, 3, Interval::new(0, 1_000));
        let mut done = Done::default();
        done.add(Interval::new(1_000, 1_800), Activity::Load);
        done.add(Interval::new(1_800, 1_900), Activity::Allocate);
        done.add(Interval::new(1_900, 2_000), Activity::Host);
        assert_eq!(lead.win(waited.in_trigger(SYNC), 1_000, done), Won { sum_ns: 100, launch_ns: 0 });
    }

    #[test]
    fn all_blocking_copy_calls_count_together_and_nothing_else_does() {
        let (mut waited, mut lead) = (Waited::default(), Lead::default());
        waited.add(Activity::CopyCall, 7, Interval::new(0, 40));
        waited.add(Activity::CopyCall, 8, Interval::new(50, 60));
        waited.add(Activity::Host, NONE, Interval::new(60, 900));
        let mut won = |trigger| lead.win(waited.in_trigger(trigger), 1_000, Done::default()).sum_ns;
        assert_eq!(won((Account::AfterOther, NONE)), 0);
        assert_eq!(won((Account::AfterCopy, 7)), 50);
    }
}
