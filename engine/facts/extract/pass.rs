//! The pass over the operations of a device that adds up what they tell and finds when it is idle.

use foldhash::HashMap;

use super::launch_shapes::LaunchShapes;
use super::processes;
use super::storms::Storms;
use super::tally::{Measure, Tally};
use crate::ledger::{Calls, DeviceOps, InOperators, Stretches, Unread, callers, sweep};
use crate::parallel::{self, Threads};
use crate::timeline::Timeline;

/// What each pass over the operations of a device is made with.
pub(super) struct PassWork<'all> {
    pub(super) timeline: &'all Timeline,
    pub(super) calls: &'all Calls,
    pub(super) launch_shapes: &'all LaunchShapes,
    /// The busiest thread of each process.
    pub(super) busiest: &'all HashMap<u32, u32>,
    pub(super) in_operators: &'all InOperators<'all>,
    pub(super) threads: Threads,
}

/// What a pass over the operations of a device gives, beside its idle stretches.
pub(super) struct DevicePass {
    pub(super) tally: Tally,
    pub(super) storms: Storms,
    /// The thread that launches most of its operations.
    pub(super) main_thread: Option<u32>,
    /// Indices of the processes that ran work on it, in order.
    pub(super) processes: Vec<u32>,
}

impl DevicePass {
    pub(super) fn new(work: &PassWork<'_>, ops: &DeviceOps) -> (Unread, Self) {
        let PassWork { timeline, calls, launch_shapes, busiest, in_operators, threads } = *work;
        let measure = Measure::new(timeline, launch_shapes, ops);
        let tally_part = |part| {
            let mut stretches = Stretches::new(timeline, busiest, in_operators);
            (measure.part(part, |stretch| stretches.add(stretch)), stretches)
        };
        let (parts, (storms, main_thread, processes)) = parallel::both(
            threads,
            || parallel::map(threads, sweep::parts(ops), tally_part),
            || {
                let main_thread = callers::main_thread(timeline, ops);
                // It is asked next.
                main_thread.inspect(|thread| calls.keep(timeline, *thread, threads));
                (Storms::find(timeline, ops), main_thread, processes::of(timeline, ops))
            },
        );
        let (tallies, stretches): (Vec<Tally>, Vec<Stretches<'_>>) = parts.into_iter().unzip();
        let (unread, tally) =
            parallel::both(threads, || Unread::of(ops, stretches), || measure.whole(ops, tallies, threads));
        (unread, Self { tally, storms, main_thread, processes })
    }
}
