//! Host code within the rounds that repeat and outside of them: a gain that is told of a round is no gain of what lies beside.

use super::DeviceContext;
use super::peers::PeerWaits;
use super::phases::are_marked;
use super::spent::Sampled;
use crate::facts::Entity;
use crate::ledger::Account;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// Where rounds hold this share of the host code that the device is idle for, what is true of all of it is true of them.
const NEARLY_ALL: f64 = 0.9;
/// What a few pauses hold this share of lies in them, and does not come again with the rounds.
const ONCE_SHARE: f64 = 0.8;

/// Whether launches tell rounds, and much of the host code that the device is idle for lies outside of them.
pub(super) fn is_partial(device: &DeviceContext) -> bool {
    let is_of_launches = device.told.steps.as_ref().is_some_and(|steps| !are_marked(steps));
    let (within_ns, all_ns) = (device.idle().host_and_rounds.within_ns(), device.account_ns(Account::IdleHost));
    is_of_launches && device.told.rounds.len_ns() > 0 && (within_ns as f64) < NEARLY_ALL * all_ns as f64
}

/// The fact of launching within rounds, where launches tell them.
pub(super) fn launching(device: &DeviceContext, facts: &mut Entity) {
    if device.told.steps.as_ref().is_some_and(|steps| !are_marked(steps)) && device.told.rounds.len_ns() > 0 {
        facts.set("round_launch_ns", device.idle().host_and_rounds.launch_ns);
    }
}

/// Whether a sample of the CPU was taken in a round.
pub(super) fn is_within(timeline: &Timeline, device: &DeviceContext, sample: u32) -> bool {
    let time = timeline.cpu_samples.time_ns.get(sample as usize);
    let instant = |time: &i64| Interval::new(*time, time.saturating_add(1));
    time.is_some_and(|time| device.told.rounds.overlap_ns(instant(time)) > 0)
}

/// The facts of host code within rounds, and of what lies in a few pauses beside them.
pub(super) fn extract(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    if !is_partial(device) {
        return;
    }
    let host = &device.idle().host_and_rounds;
    facts.set("round_host_ns", host.within_ns());
    let has_pieces = device.idle().summed_count == 0;
    if host.within.count > 0 && has_pieces {
        facts.set("round_host_longest_ns", host.within.longest_ns);
        facts.set("round_host_longest_start_ns", host.within.longest_start_ns);
    }
    // What a few pauses hold, by their host code: one that is long while the device works is no pause of the host.
    let longest_ns: i64 = host.longest_pauses_ns().into_iter().sum();
    if host.outside.count == 0 || (longest_ns as f64) < ONCE_SHARE * host.outside_ns() as f64 {
        return;
    }
    let samples = device.idle().samples[Account::IdleHost].iter().copied();
    let outside = samples.filter(|sample| !is_within(timeline, device, *sample)).map(|sample| (sample, 1)).collect();
    // Waits for other ranks are no code of that function.
    let (waits, rest) = PeerWaits::split(timeline, &timeline.cpu_samples, outside);
    let own: Vec<u32> = rest.into_iter().map(|(sample, _)| sample).collect();
    let own_share = own.len() as f64 / (own.len() as f64 + waits.weight() as f64).max(1.0);
    let is_sampled = own.len() as i64 + waits.weight() > 0;
    let own_ns = if is_sampled { (host.outside_ns() as f64 * own_share) as i64 } else { host.outside_ns() };
    if own_ns == 0 {
        return;
    }
    facts.set("beside_rounds_host_ns", own_ns);
    if has_pieces {
        facts.set("beside_rounds_longest_ns", host.outside.longest_ns);
        facts.set("beside_rounds_longest_start_ns", host.outside.longest_start_ns);
    }
    let sampled = Sampled::of(timeline, &own, Some(own_ns));
    facts.set("beside_rounds_sample_count", sampled.count as i64);
    if let Some((function, share)) = sampled.function {
        facts.set("beside_rounds_function", function);
        facts.set("beside_rounds_function_share", share);
    }
}
