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

/// What a thread fetched in the recording, outermost, in time order.
struct Fetched {
    times: Vec<Interval>,
    /// The calls that it made between each of them and the next; of the last one to the end.
    calls: Vec<i64>,
}

/// Where a loop over a loader ends and begins anew, as each thread sees it.
struct Turns {
    fetched: Vec<Interval>,
    /// Whether the loop ends with it.
    ends: Vec<bool>,
}

impl Turns {
    /// Of the thread that fetches most; `None` without any, or where nothing tells by.
    fn of(fetched: &Fetched) -> Option<Self> {
        let usual = median(&mut fetched.calls.clone()).filter(|usual| *usual >= LEAST_CALLS)?;
        let mut ends: Vec<bool> =
            fetched.calls.iter().map(|calls| (*calls as f64) < FEW_CALLS_SHARE * usual as f64).collect();
        // Behind the last one the recording ends, and nobody saw the first begin.
        if let Some(last) = ends.last_mut() {
            *last = false;
        }
        Some(Self { fetched: fetched.times.clone(), ends })
    }

    fn ends(&self, index: usize) -> bool {
        self.ends.get(index) == Some(&true)
    }

    fn begins(&self, index: usize) -> bool {
        index > 0 && self.ends(index - 1)
    }

    /// Whether a batch ends the loop or is one of the first behind that.
    fn is_there(&self, index: usize) -> bool {
        self.ends(index) || (0..FIRST_BATCHES).any(|back| index >= back && self.begins(index - back))
    }

    /// From the end of one loop to the first batch of the next, and the batches right behind it.
    fn restarts(&self) -> Union {
        let there = (0..self.fetched.len()).filter(|index| self.is_there(*index));
        let until_next = |index: usize| {
            let next = self.fetched.get(index + 1).filter(|_| self.ends(index));
            self.fetched[index].hull(next.copied().unwrap_or(self.fetched[index]))
        };
        Union::of(there.map(until_next))
    }
}

/// What the thread of a device fetched that fetches most.
fn most_fetched(context: &Context<'_>, device: &DeviceContext) -> Option<Fetched> {
    let timeline = context.timeline;
    if !timeline.loading_labels().contains(&true) {
        return None;
    }
    let is_own = |ranges: &&ThreadRanges| ranges.thread != NONE && device.is_of(timeline.process_of(ranges.thread));
    let all = timeline.ranges.threads.iter().filter(is_own).map(|ranges| fetched(context, ranges));
    all.max_by_key(|fetched| fetched.times.len())
}

/// Where loops over a loader end and begin anew; nothing where the loop makes its batches itself.
pub(in super::super) fn restarts(context: &Context<'_>, device: &DeviceContext) -> Union {
    let turns = most_fetched(context, device).and_then(|fetched| Turns::of(&fetched));
    turns.map_or_else(Union::default, |turns| turns.restarts())
}

/// How long the median batch takes, how often the loop begins anew, and how long what is fetched there takes: what ends the loop, and
/// the first batches of the next.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let Some(fetched) = most_fetched(context, device) else { return };
    let within = |fetch: &Interval| fetch.clip(device.window()).len_ns();
    let mut lengths: Vec<i64> = fetched.times.iter().map(within).filter(|ns| *ns > 0).collect();
    facts.set_some("data_loading_median_ns", median(&mut lengths));
    let Some(turns) = Turns::of(&fetched) else { return };
    let (mut count, mut there_ns) = (0, 0_i64);
    for (index, fetch) in turns.fetched.iter().enumerate() {
        let ns = within(fetch);
        count += i64::from(ns > 0 && turns.begins(index));
        there_ns = there_ns.saturating_add(if turns.is_there(index) { ns } else { 0 });
    }
    facts.set("data_loading_new_loop_count", count);
    facts.set("data_loading_new_loop_ns", there_ns);
    if count > 0 {
        let (restarts, idle) = (turns.restarts(), device.idle());
        let parts = restarts.parts().map(|part| part.clip(device.window())).filter(|part| part.len_ns() > 0);
        facts.set("loader_restart_idle_ns", parts.map(|part| part.len_ns() - device.busy_within(part)).sum::<i64>());
        facts.set("loader_restart_host_ns", idle.in_restarts[Account::IdleHost]);
        facts.set("loader_restart_blocked_ns", idle.in_restarts[Account::IdleBlocked]);
    }
}

fn fetched(context: &Context<'_>, ranges: &ThreadRanges) -> Fetched {
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
    Fetched { times, calls }
}
