//! Host code in short pieces between calls of one function of the OS: what a loop over small reads or writes does beside them.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Account;
use crate::ledger::between_calls::BetweenCalls;
use crate::timeline::union::Follower;

/// Of the function that the thread which launches most waits in for longest.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !device.knows_host {
        return;
    }
    let (count, idle_ns) = device.between_os_calls(context);
    facts.set("idle_host_between_os_calls_ns", idle_ns.min(device.account_ns(Account::IdleHost)));
    facts.set_some("idle_host_between_os_calls_count", (idle_ns > 0).then_some(count));
}

/// How long the device is idle in them, nanoseconds.
pub(super) fn idle_ns(context: &Context<'_>, device: &DeviceContext) -> i64 {
    if device.knows_host { device.between_os_calls(context).1.min(device.account_ns(Account::IdleHost)) } else { 0 }
}

/// How many pieces there are, and for how long the device is idle in them.
pub(super) fn pieces(context: &Context<'_>, device: &DeviceContext) -> (i64, i64) {
    let timeline = context.timeline;
    let of = device.idle().main_call(timeline, Account::IdleBlocked).map(|(name, _)| name);
    let has_host_code = device.account_ns(Account::IdleHost) > 0;
    let (Some(of), Some(thread)) = (of, device.main_thread.filter(|_| has_host_code)) else { return (0, 0) };
    let mut busy = Follower::new(&device.tally.busy);
    let mut between = BetweenCalls::default();
    let (mut count, mut idle_ns) = (0_i64, 0_i64);
    context.calls.lay_out(timeline, thread, device.window(), |part, activity, name| {
        if let Some(piece) = between.next(part, activity, name).filter(|_| name == of) {
            count += 1;
            idle_ns += piece.len_ns() - busy.overlap_ns(piece);
        }
    });
    (count, idle_ns)
}
