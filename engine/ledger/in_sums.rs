//! Devices for which what a thread did is added up between the moments at which anything of theirs begins or ends, and not read piece by
//! piece: a few million pieces for each of dozens of devices would take longer than all else.

use super::activity::{Activity, Did};
use super::ahead::Waited;
use super::cursor::Cursor;
use crate::timeline::NONE;
use crate::timeline::interval::Interval;

/// How long a thread did what.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    /// By activity.
    ns: [i64; Activity::COUNT],
    /// What of launching lies in calls.
    in_launches_ns: i64,
}

impl Totals {
    fn add(&mut self, did: Did) {
        let is_in_launch = did.activity == Activity::Launch && did.is_named;
        let sum = if is_in_launch { &mut self.in_launches_ns } else { &mut self.ns[did.activity as usize] };
        *sum = sum.saturating_add(did.time.len_ns());
    }

    /// What was added since: for how long what was done, and whether in calls.
    fn since(&self, before: &Self) -> impl Iterator<Item = (i64, Activity, bool)> {
        let by_activity = Activity::ALL.into_iter().zip(self.ns.into_iter().zip(before.ns));
        let sums = by_activity.map(|(activity, (now, before))| (now - before, activity, false));
        let in_launches = (self.in_launches_ns - before.in_launches_ns, Activity::Launch, true);
        sums.chain([in_launches]).filter(|(ns, _, _)| *ns > 0)
    }
}

/// One device.
struct Device<'all> {
    cursor: Cursor<'all>,
    /// Up to when it was handed what the thread did, and what that had done by then.
    from: i64,
    before: Totals,
    /// When the next thing of it begins or ends.
    until: i64,
}

impl Device<'_> {
    /// Hands it what the thread did since: each activity as one piece, since where each lies within is the same to it.
    fn hand_over(&mut self, waited: &Waited, so_far: &Totals) {
        let before = self.before;
        for (ns, activity, is_named) in so_far.since(&before) {
            let time = Interval::new(self.from, self.from.saturating_add(ns));
            self.visit(waited, Did { time, activity, name: NONE, is_named });
        }
    }

    fn visit(&mut self, waited: &Waited, did: Did) {
        if self.cursor.asks_by(did.time.end) {
            self.cursor.visit(waited, did);
        }
    }
}

/// All of them that ask the same thread.
pub(super) struct InSums<'all> {
    devices: Vec<Device<'all>>,
    so_far: Totals,
    /// When the next thing of any of them begins or ends.
    until: i64,
}

impl<'all> InSums<'all> {
    pub(super) fn new(cursors: Vec<Cursor<'all>>) -> Self {
        let until = if cursors.is_empty() { i64::MAX } else { i64::MIN };
        let device = |cursor| Device { cursor, from: i64::MIN, before: Totals::default(), until };
        Self { devices: cursors.into_iter().map(device).collect(), so_far: Totals::default(), until }
    }

    /// Takes what the thread did next.
    pub(super) fn take(&mut self, waited: &Waited, did: Did) {
        if self.until <= did.time.end {
            self.pass_edges(waited, did);
        } else if !self.devices.is_empty() {
            self.so_far.add(did);
        }
    }

    /// Hands that to the devices of which anything begins or ends meanwhile, after what was done before.
    fn pass_edges(&mut self, waited: &Waited, did: Did) {
        let before = self.so_far;
        self.so_far.add(did);
        self.until = i64::MAX;
        for device in &mut self.devices {
            if device.until <= did.time.end {
                device.hand_over(waited, &before);
                device.visit(waited, did);
                (device.from, device.before) = (did.time.end, self.so_far);
                device.until = device.cursor.next_edge(did.time.end);
            }
            self.until = self.until.min(device.until);
        }
    }

    /// Hands over what is left.
    pub(super) fn finish(self, waited: &Waited) -> Vec<Cursor<'all>> {
        let Self { mut devices, so_far, .. } = self;
        devices.iter_mut().for_each(|device| device.hand_over(waited, &so_far));
        devices.into_iter().map(|device| device.cursor).collect()
    }
}
