//! Facts of what the host does between a device's first operation and its steady state.

use std::cmp::Reverse;

use foldhash::HashMap;

use super::culprits::MIN_SAMPLE_COUNT;
use super::outside::{MIN_PERCENT, host_samples, teller};
use super::profile::{Profile, Weighed, is_plumbing};
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Activity;
use crate::text::paths::without_folders;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId, Timeline};

/// What takes the time of `before`, on the thread that tells most of it.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, before: Interval, facts: &mut Entity) {
    let Some(main) = device.main_thread.filter(|_| device.knows_host && before.len_ns() > 0) else { return };
    let timeline = context.timeline;
    let thread = teller(context, device, main, [before, Interval::new(before.end, before.end)]);
    let mut host: Vec<Interval> = Vec::new();
    let mut called: HashMap<NameId, i64> = HashMap::default();
    context.calls.lay_out(timeline, thread, before, |part, activity, name| match activity {
        Activity::Host => host.push(part),
        Activity::Unknown | Activity::Profiler | Activity::OffCpu | Activity::Blocked => {}
        // The GPU works meanwhile.
        _ if activity.waits_for_device() => {}
        _ => {
            let sum = called.entry(name).or_default();
            *sum = sum.saturating_add(part.len_ns());
        }
    });
    facts.set("before_steady_host_ns", host.iter().map(|part| part.len_ns()).fold(0, i64::saturating_add));
    let named = called.into_iter().filter(|(name, _)| *name != NONE);
    if let Some((name, ns)) = named.max_by_key(|(name, ns)| (*ns, Reverse(timeline.name(*name)))) {
        facts.set("before_steady_call", without_folders(timeline.name(name)));
        facts.set("before_steady_call_ns", ns);
    }
    if let Some((function, share)) = function_of(timeline, thread, &host) {
        facts.set("before_steady_function", function);
        facts.set("before_steady_function_share", share);
    }
}

/// The function that most of host code lies in, with its share of the samples.
fn function_of(timeline: &Timeline, thread: u32, host: &[Interval]) -> Option<(String, f64)> {
    let all = &timeline.cpu_samples;
    let samples = host_samples(timeline, thread, host);
    if samples.len() < MIN_SAMPLE_COUNT {
        return None;
    }
    let profile = Profile::new(timeline, all, Weighed::samples(&samples)).with_least_percent(MIN_PERCENT);
    let function = profile.deepest(|frame| !is_plumbing(timeline, frame))?;
    Some((profile.name(function), profile.share(function)))
}
