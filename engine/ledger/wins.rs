//! What the stretches of a device that a thread explains win from its waits before them. They are taken in order: where the thread is read
//! in parts, once what is before a part is known.

use super::accounts::Account;
use super::ahead::{Done, InWaits, Lead, Waited};
use super::idle::{Copies, IdleReading, WonBesideCopies};
use super::sparing;
use crate::timeline::NameId;

/// A stretch that has been read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) trigger: (Account, NameId),
    /// How long it is, as far as the host could have shortened it.
    pub(super) of_host_ns: i64,
    /// What the thread did in it.
    pub(super) done: Done,
    pub(super) copies: Copies,
}

/// One of a part, with how long the thread waited in that part up to it: in what it began in, and in what it waited in last.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedInPart {
    ended: Ended,
    in_trigger: Option<InWaits>,
    in_last: Option<InWaits>,
}

impl Ended {
    /// Whether it can win anything.
    fn may_win(&self, in_trigger: Option<InWaits>) -> bool {
        in_trigger.is_some() || self.done.launch_ns() > 0
    }
}

/// What stretches win that are read one after the other.
#[derive(Debug, Default)]
pub(super) struct Wins {
    lead: Lead,
    /// Those of a part, where what is before it is not known.
    in_part: Option<Vec<EndedInPart>>,
}

impl Wins {
    /// Of a part, which is taken later.
    pub(super) fn of_part() -> Self {
        Self { in_part: Some(Vec::new()), ..Self::default() }
    }

    /// Books what a stretch of a process wins, or keeps it for later.
    pub(super) fn take(&mut self, reading: &mut IdleReading, process: u32, waited: &Waited, ended: Ended) {
        let in_trigger = waited.in_trigger(ended.trigger);
        match &mut self.in_part {
            Some(in_part) if ended.may_win(in_trigger) => {
                sparing::push(in_part, EndedInPart { ended, in_trigger, in_last: waited.in_last() });
            }
            Some(_) => {}
            None => self.book((reading, process), ended, in_trigger, || waited.in_last()),
        }
    }

    /// Books what the stretches of the next part win, after what the thread waited before that.
    pub(super) fn take_part(
        &mut self,
        reading: &mut IdleReading,
        process: u32,
        before: &Waited,
        part: Vec<EndedInPart>,
    ) {
        for EndedInPart { ended, in_trigger, in_last } in part {
            let in_trigger = in_trigger.map(|own| own.after(before));
            let last = || in_last.map_or_else(|| before.in_last(), |own| Some(own.after(before)));
            self.book((reading, process), ended, in_trigger, last);
        }
    }

    /// What was kept for later.
    pub(super) fn into_part(self) -> Vec<EndedInPart> {
        self.in_part.unwrap_or_default()
    }

    fn book(
        &mut self,
        (reading, process): (&mut IdleReading, u32),
        ended: Ended,
        in_trigger: Option<InWaits>,
        in_last: impl FnOnce() -> Option<InWaits>,
    ) {
        let won = self.lead.win(in_trigger, ended.of_host_ns, ended.done);
        reading.win(process, ended.trigger, won);
        if won.sum_ns == 0
            && let Some(last) = in_last()
        {
            reading.win(process, last.waits, self.lead.win_launches(last, ended.done.launch_ns()));
        }
        if ended.copies.is_any() && won.sum_ns > 0 {
            let won = WonBesideCopies { copies: ended.copies, won_ns: won.sum_ns };
            sparing::push(&mut reading.won_beside_copies, won);
        }
    }
}
