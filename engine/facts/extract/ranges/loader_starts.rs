//! Where a loop over a loader of data ends and begins anew, as at each epoch: worker processes that are not kept start there.

use super::super::stats::median;
use super::super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Account;
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::union::Union;
use crate::timeline::{NONE, ThreadRanges};

/// Between two batches of one loop the thread makes at least this part of the calls that it usually makes: those of a validation do
/// less than those of training.
const FEW_CALLS_SHARE: f64 = 0.2;
/// With fewer calls a batch there is nothing to tell by.
const LEAST_CALLS: i64 = 8;
/// So many batches are late where workers have just started: each makes its first.
const FIRST_BATCHES: usize = 3;

/// What one thread fetches.
#[derive(Debug)]
pub(in super::super) struct Fetched {
    pub(super) thread: u32,
    pub(super) times: Vec<Interval>,
    /// Whether a loop over a loader ends with each, and begins anew behind it; `None` where nothing tells.
    ends: Option<Vec<bool>>,
}

impl Fetched {
    fn ends(&self, index: usize) -> bool {
        self.ends.as_ref().and_then(|ends| ends.get(index)) == Some(&true)
    }

    fn begins(&self, index: usize) -> bool {
        index > 0 && self.ends(index - 1)
    }

    /// Whether a batch ends the loop or is one of the first behind that.
    fn is_there(&self, index: usize) -> bool {
        self.ends(index) || (0..FIRST_BATCHES).any(|back| index >= back && self.begins(index - back))
    }

    /// From the end of one loop to the first batch of the next, and the batches right behind it.
    pub(in super::super) fn restarts(&self) -> Union {
        let there = (0..self.times.len()).filter(|index| self.is_there(*index));
        let until_next = |index: usize| {
            let next = self.times.get(index + 1).filter(|_| self.ends(index));
            self.times[index].hull(next.copied().unwrap_or(self.times[index]))
        };
        Union::of(there.map(until_next))
    }
}

/// With which batches a loop ends, by how many calls the thread makes behind each.
fn loop_ends(calls: &[i64]) -> Option<Vec<bool>> {
    let usual = median(&mut calls.to_vec()).filter(|usual| *usual >= LEAST_CALLS)?;
    let mut ends: Vec<bool> = calls.iter().map(|calls| (*calls as f64) < FEW_CALLS_SHARE * usual as f64).collect();
    // Behind the last one the recording ends, and nobody saw the first begin.
    if let Some(last) = ends.last_mut() {
        *last = false;
    }
    Some(ends)
}

/// What the thread of a device fetches that fetches most.
pub(in super::super) fn most_fetched(context: &Context<'_>, device: &DeviceContext) -> Option<Fetched> {
    let timeline = context.timeline;
    if !timeline.loading_labels().contains(&true) {
        return None;
    }
    let is_own = |ranges: &&ThreadRanges| ranges.thread != NONE && device.is_of(timeline.process_of(ranges.thread));
    let all = timeline.ranges.threads.iter().filter(is_own);
    let all = all.map(|ranges| (ranges.thread, fetched(context, ranges)));
    let (thread, (times, calls)) = all.max_by_key(|(_, (times, _))| times.len())?;
    Some(Fetched { thread, times, ends: loop_ends(&calls) })
}

/// How long the median batch takes, how often the loop begins anew, and how long what is fetched there takes: what ends the loop, and
/// the first batches of the next.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let Some(fetched) = device.fetched(context) else { return };
    let within = |fetch: &Interval| fetch.clip(device.window()).len_ns();
    let mut lengths: Vec<i64> = fetched.times.iter().map(within).filter(|ns| *ns > 0).collect();
    facts.set_some("data_loading_median_ns", median(&mut lengths));
    let first = fetched.times.iter().map(|fetch| fetch.clip(device.window())).find(|part| part.len_ns() > 0);
    let idle_ns = |part: Interval| part.len_ns() - device.busy_within(part);
    let most_ns = facts.int("idle_data_loading_ns").unwrap_or(0);
    facts.set_some("data_loading_first_idle_ns", first.map(|part| idle_ns(part).min(most_ns)));
    if fetched.ends.is_none() {
        return;
    }
    let (mut count, mut there_ns) = (0, 0_i64);
    for (index, fetch) in fetched.times.iter().enumerate() {
        let ns = within(fetch);
        count += i64::from(ns > 0 && fetched.begins(index));
        there_ns = there_ns.saturating_add(if fetched.is_there(index) { ns } else { 0 });
    }
    facts.set("data_loading_new_loop_count", count);
    facts.set("data_loading_new_loop_ns", there_ns);
    if count > 0 {
        let (restarts, idle) = (fetched.restarts(), device.idle());
        let parts = restarts.parts().map(|part| part.clip(device.window())).filter(|part| part.len_ns() > 0);
        facts.set("loader_restart_idle_ns", parts.map(idle_ns).sum::<i64>());
        facts.set("loader_restart_host_ns", idle.in_restarts[Account::IdleHost]);
        facts.set("loader_restart_blocked_ns", idle.in_restarts[Account::IdleBlocked]);
    }
}

/// When a thread fetches, and how many calls it makes behind each until the next.
fn fetched(context: &Context<'_>, ranges: &ThreadRanges) -> (Vec<Interval>, Vec<i64>) {
    let is_loading = context.timeline.loading_labels();
    let (mut times, mut until): (Vec<Interval>, i64) = (Vec::new(), i64::MIN);
    for (range, label) in ranges.times.iter().zip(&ranges.label) {
        if range.start >= until && is_loading.get(*label as usize) == Some(&true) {
            until = range.end;
            times.push(range);
        }
    }
    let calls = context.calls.of_thread(ranges.thread);
    let start = |index: usize| context.timeline.api.times.start(calls[index] as usize);
    let mut near = Near::default();
    let mut begun = |moment: i64| near.partition_point(calls.len(), |index| start(index) < moment) as i64;
    let ends: Vec<i64> = times.iter().map(|fetch| begun(fetch.end)).collect();
    let nexts = times.iter().skip(1).map(|next| begun(next.start)).chain([calls.len() as i64]);
    let calls = ends.into_iter().zip(nexts).map(|(end, next)| next - end).collect();
    (times, calls)
}
