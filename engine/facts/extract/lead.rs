//! Facts of the time in which a step has begun on the host, and its first GPU operation has not: it lies before the window.

use std::cmp::Reverse;

use super::projection::{STEP, told_name};
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, ThreadRanges, Timeline};

/// A range that holds a smaller part of it does not tell what it is.
const MIN_SHARE: f64 = 0.5;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    first_batch(context, device, facts);
    let labels = &timeline.ranges.labels;
    let is_step: Vec<bool> = labels.iter().map(|label| timeline.name(label.name).starts_with(STEP)).collect();
    // Where steps repeat, what comes before the first of them is no part of the others.
    let is_one = !device.told.is_phase() && device.told.sure_steps().is_none();
    let found = is_one.then(|| find(timeline, device, &is_step)).flatten();
    facts.set("step_lead_ns", found.map_or(0, |(_, lead)| lead.len_ns()));
    let Some((ranges, lead)) = found else { return };
    let holds = |(times, label): (Interval, &u32)| {
        let ns = times.overlap_ns(lead);
        let is_told = is_step.get(*label as usize) == Some(&false) && ns as f64 >= MIN_SHARE * lead.len_ns() as f64;
        is_told.then_some((ns, *label))
    };
    // Of what holds most of it the innermost: the shortest.
    let told =
        ranges.times.iter().zip(&ranges.label).filter_map(holds).min_by_key(|(ns, label)| (*ns, Reverse(*label)));
    if let Some((ns, label)) = told.filter(|_| lead.len_ns() > 0) {
        facts.set("step_lead_range", told_name(timeline, label));
        facts.set("step_lead_range_ns", ns);
    }
}

/// A range that takes this part of the longest of its kind takes about as long.
const ABOUT_AS_LONG: f64 = 0.5;

/// In how many steps, two at least, a range that may hold the longest stretch of idle time takes about as long at once, wherever the window
/// begins; where steps are judged one by one, that says nothing new.
pub(super) fn steps_with(timeline: &Timeline, device: &DeviceContext, is_of: impl Fn(u32) -> bool) -> Option<i64> {
    if device.told.sure_steps().is_some() {
        return None;
    }
    let stretch_ns = device.tally.longest_stretch?.len_ns();
    let labels = &timeline.ranges.labels;
    let is_step: Vec<bool> = labels.iter().map(|label| timeline.name(label.name).starts_with(STEP)).collect();
    let count_of = |ranges: &ThreadRanges| {
        let rows = || ranges.times.iter().zip(&ranges.label);
        let steps: Vec<Interval> = ranges.labelled(&is_step).collect();
        let mut longest_ns = vec![0_i64; steps.len()];
        for (times, _) in rows().filter(|(_, label)| is_of(**label)) {
            // Steps come in order, and none lies in another.
            let index = steps.partition_point(|step| step.start <= times.start);
            if let Some(longest) = index.checked_sub(1).and_then(|index| longest_ns.get_mut(index)) {
                *longest = (*longest).max(times.len_ns());
            }
        }
        let most_ns = longest_ns.iter().copied().max().unwrap_or(0);
        if (most_ns as f64) < ABOUT_AS_LONG * stretch_ns as f64 {
            return 0;
        }
        let is_as_long = |ns: &&i64| **ns > 0 && **ns as f64 >= ABOUT_AS_LONG * most_ns as f64;
        longest_ns.iter().filter(is_as_long).count() as i64
    };
    let is_own = |ranges: &&ThreadRanges| device.is_of(timeline.process_of(ranges.thread));
    let threads = timeline.ranges.threads.iter().filter(|ranges| ranges.thread != NONE);
    threads.filter(is_own).map(count_of).max().filter(|count| *count >= 2)
}

/// How long the program waited for batches of data before all GPU work: no window holds that.
fn first_batch(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let Some(first_op) = device.ops.all_ops().next().map(|op| op.interval().start) else { return };
    let is_loading = context.timeline.loading_labels();
    if !is_loading.contains(&true) {
        facts.set("first_batch_ns", 0_i64);
        return;
    }
    let loads = |label: u32| is_loading.get(label as usize).copied().unwrap_or(false);
    let mut longest: Option<(i64, u32)> = None;
    let mut most_ns = 0;
    for ranges in &timeline.ranges.threads {
        if !device.is_of(timeline.process_of(ranges.thread)) {
            continue;
        }
        let before = ranges.times.iter().zip(&ranges.label).take_while(|(times, _)| times.start < first_op);
        let loading: Vec<(Interval, u32)> = before
            .filter(|(_, label)| loads(**label))
            .map(|(times, label)| (Interval::new(times.start, times.end.min(first_op)), *label))
            .collect();
        // Threads that fetch ahead do so at once: the program waits as long as one of them.
        most_ns = most_ns.max(Union::of(loading.iter().map(|(times, _)| *times)).len_ns());
        longest = longest.max(loading.into_iter().map(|(times, label)| (times.len_ns(), label)).max());
    }
    facts.set("first_batch_ns", most_ns);
    facts.set_some("first_batch_range", longest.map(|(_, label)| told_name(timeline, label)));
}

/// The step that holds the first GPU operation: the ranges of its thread, and from its begin to that operation.
fn find<'all>(
    timeline: &'all Timeline,
    device: &DeviceContext,
    is_step: &[bool],
) -> Option<(&'all ThreadRanges, Interval)> {
    if !is_step.contains(&true) {
        return None;
    }
    let first_op = device.window().start;
    // A narrowed window may begin in the middle of a step.
    if device.ops.all_ops().next().is_none_or(|op| op.interval().start != first_op) {
        return None;
    }
    let is_own = |thread: u32| thread != NONE && device.is_of(timeline.process_of(thread));
    let lead = |ranges: &'all ThreadRanges| {
        let rows = ranges.times.iter().zip(&ranges.label);
        let mut steps = rows.filter(|(_, label)| is_step.get(**label as usize) == Some(&true));
        let (step, _) = steps.find(|(step, _)| step.start <= first_op && step.end > first_op)?;
        Some((ranges, Interval::new(step.start, first_op)))
    };
    let own = timeline.ranges.threads.iter().filter(|ranges| is_own(ranges.thread));
    own.filter_map(lead).max_by_key(|(_, lead)| lead.len_ns())
}
