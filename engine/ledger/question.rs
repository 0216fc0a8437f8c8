//! What threads are asked about the idle time of devices.

use super::queries::Queries;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;

/// What one thread has to explain of one device.
#[derive(Clone, Copy)]
pub(super) struct Question<'all> {
    pub(super) thread: u32,
    /// The index of the device among those asked about.
    pub(super) device: usize,
    /// The stretches of short kernels of the device.
    pub(super) storms: &'all Union,
    /// Its slow steps.
    pub(super) slow_steps: &'all Union,
    /// Where loops over loaders begin anew.
    pub(super) restarts: &'all Union,
    /// Its rounds.
    pub(super) rounds: &'all Union,
    /// By label, whether its ranges are steps of an optimizer.
    pub(super) is_optimizer: &'all [bool],
    pub(super) queries: &'all [Queries],
    /// Of those, what begins then is asked.
    pub(super) asked: Interval,
    /// By block of ranges of the thread, when the last of them ends; empty where each is looked at.
    pub(super) last_ends: &'all [i64],
    /// The window: waits count within it.
    pub(super) window: Interval,
    /// The begin of that, before the work that repeats.
    pub(super) start_up: Interval,
}

impl Question<'_> {
    /// From the begin of the window to the end of what is asked: up to there waits can win something.
    pub(super) fn hull(&self) -> Interval {
        let last = self.queries.last().and_then(Queries::last_host);
        last.map_or(self.window, |last| self.window.hull(last))
    }
}
