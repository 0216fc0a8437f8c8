//! What threads do at other times than the idle stretches of devices as well: how long one of them works, and when code is loaded.

use super::activity::Activity;
use super::idle::IdleReading;
use crate::timeline::interval::Interval;
use crate::timeline::union::{RunningLength, Union};

/// What the threads that were asked about a device do, whatever it does meanwhile.
pub(super) fn tell_threads(
    readings: &mut [IdleReading],
    windows: impl Iterator<Item = Option<Interval>>,
    mut threads: Vec<OfThread>,
) {
    // By start, each with its thread: each device leaves out those of others, and none puts them in order again.
    let own_waits = (0_u32..)
        .zip(&mut threads)
        .flat_map(|(own, thread)| std::mem::take(&mut thread.waits).into_iter().map(move |wait| (wait, own)));
    let mut waits: Vec<(Interval, u32)> = own_waits.collect();
    waits.sort_by_key(|(wait, _)| wait.start);
    let mut kept = MAX_KEPT_LOADS;
    for (device, (reading, window)) in readings.iter_mut().zip(windows).enumerate() {
        let is_own = |thread: &&OfThread| thread.devices.binary_search(&device).is_ok();
        let own = || threads.iter().filter(is_own);
        let loads = || own().flat_map(|thread| thread.loads.iter().copied());
        let count = loads().count();
        if let Some(left) = kept.checked_sub(count) {
            kept = left;
            reading.loads = Union::of(loads());
        }
        reading.host_work_ns = window.map(|window| {
            let is_asked: Vec<bool> = threads.iter().map(|thread| is_own(&thread)).collect();
            let of_device = waits.iter().filter(|(_, own)| is_asked.get(*own as usize) == Some(&true));
            let mut waited = RunningLength::default();
            of_device
                .map(|(wait, _)| wait.clip(window))
                .filter(|wait| wait.len_ns() > 0)
                .for_each(|wait| waited.push(wait));
            window.len_ns() - waited.len_ns()
        });
    }
}

/// Pieces of time in which code is loaded that are kept for all devices together; those of further devices count as none.
const MAX_KEPT_LOADS: usize = 1 << 20;

/// What a thread does at other times than the idle stretches as well: kept once for all devices that it is asked about.
#[derive(Default)]
pub(super) struct OfThread {
    /// The indices of those devices, in order.
    pub(super) devices: Vec<usize>,
    /// When it merely waits for the device, in time order.
    pub(super) waits: Vec<Interval>,
    /// When it loads code.
    pub(super) loads: Vec<Interval>,
}

impl OfThread {
    /// Takes in what it did after that.
    pub(super) fn append(&mut self, later: Self) {
        later.waits.into_iter().for_each(|wait| add(&mut self.waits, wait));
        later.loads.into_iter().for_each(|load| add(&mut self.loads, load));
    }

    pub(super) fn add(&mut self, time: Interval, activity: Activity) {
        let list = if activity.waits_for_device() {
            &mut self.waits
        } else if activity == Activity::Load {
            &mut self.loads
        } else {
            return;
        };
        add(list, time);
    }
}

/// Adds the next time, which may go on with the last.
fn add(times: &mut Vec<Interval>, next: Interval) {
    match times.last_mut() {
        Some(last) if last.end == next.start => last.end = next.end,
        _ if next.len_ns() > 0 => times.push(next),
        _ => {}
    }
}
