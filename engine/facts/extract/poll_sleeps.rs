//! Sleeps between two questions to the device: a loop that asks whether it is done, sleeps, and asks again.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Account, sleeps};
use crate::text::paths::without_folders;
use crate::timeline::NameId;
use crate::timeline::api::ApiClass;
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;

/// Which event a call asks for is not recorded: the thread asks last before the sleep, and next behind it, and calls nothing else of CUDA
/// between the two.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (timeline, window) = (context.timeline, device.window());
    let Some(main) = device.main_thread else { return };
    let sleeps = sleeps(timeline);
    let is_query = |name: NameId| context.calls.class.get(name as usize) == Some(&ApiClass::Query);
    if sleeps.is_empty() || !context.api_names().iter().any(|(name, _)| is_query(*name)) {
        return;
    }
    let mut near = Near::default();
    let all = &timeline.os_calls;
    let (mut count, mut idle_ns, mut question) = (0_i64, 0_i64, None);
    for ((times, thread), name) in all.times.iter().zip(&all.thread).zip(&all.name) {
        let part: Interval = times.clip(window);
        if *thread != main || part.len_ns() == 0 || !sleeps.contains(name) {
            continue;
        }
        if let Some(asks) = asked_around(context, main, times, &mut near) {
            count += 1;
            idle_ns = idle_ns.saturating_add(part.len_ns() - device.busy_within(part));
            question = Some(asks);
        }
    }
    if let Some(question) = question {
        facts.set("idle_poll_sleep_count", count);
        facts.set("idle_poll_sleep_ns", idle_ns.min(device.account_ns(Account::IdleBlocked)));
        facts.set("idle_poll_sleep_call", without_folders(timeline.name(question)));
    }
}

/// The call that asks behind a sleep, where the one before the sleep asks as well.
fn asked_around(context: &Context<'_>, thread: u32, sleep: Interval, near: &mut Near) -> Option<NameId> {
    let (api, calls) = (&context.timeline.api, context.calls.of_thread(thread));
    let asked = |index: usize| {
        let call = *calls.get(index)? as usize;
        let is_apart = api.times.get(call)?.clip(sleep).len_ns() == 0;
        let name = *api.name.get(call)?;
        let class = context.calls.class.get(name as usize);
        (is_apart && class == Some(&ApiClass::Query)).then_some(name)
    };
    // They are in the order of their starts.
    let behind = near.partition_point(calls.len(), |index| api.times.start(calls[index] as usize) < sleep.start);
    asked(behind.checked_sub(1)?).and(asked(behind))
}
