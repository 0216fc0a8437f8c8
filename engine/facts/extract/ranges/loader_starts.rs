//! Where a loop over a loader of data ends and begins anew, as at each epoch: worker processes that are not kept start there.

use super::super::stats::median;
use super::super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
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

/// How long the median batch takes, how often the loop begins anew, and how long what is fetched there takes: what ends the loop, and
/// the first batches of the next.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let is_own = |ranges: &&ThreadRanges| ranges.thread != NONE && device.is_of(timeline.process_of(ranges.thread));
    let all = timeline.ranges.threads.iter().filter(is_own).map(|ranges| fetched(context, ranges));
    let Some(fetched) = all.max_by_key(|fetched| fetched.times.len()) else { return };
    let within = |fetch: &Interval| fetch.clip(device.window()).len_ns();
    let mut lengths: Vec<i64> = fetched.times.iter().map(within).filter(|ns| *ns > 0).collect();
    facts.set_some("data_loading_median_ns", median(&mut lengths));
    let Some(usual) = median(&mut fetched.calls.clone()).filter(|usual| *usual >= LEAST_CALLS) else { return };
    let ends_loop: Vec<bool> =
        fetched.calls.iter().map(|calls| (*calls as f64) < FEW_CALLS_SHARE * usual as f64).collect();
    // Behind the last one the recording ends, and nobody saw the first begin.
    let ends = |index: usize| index + 1 < ends_loop.len() && ends_loop[index];
    let begins_loop = |index: usize| index > 0 && ends(index - 1);
    let is_there =
        |index: usize| ends(index) || (0..FIRST_BATCHES).any(|back| index >= back && begins_loop(index - back));
    let (mut count, mut there_ns) = (0, 0_i64);
    for (index, fetch) in fetched.times.iter().enumerate() {
        let ns = within(fetch);
        count += i64::from(ns > 0 && begins_loop(index));
        there_ns = there_ns.saturating_add(if is_there(index) { ns } else { 0 });
    }
    facts.set("data_loading_new_loop_count", count);
    facts.set("data_loading_new_loop_ns", there_ns);
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
