//! Host code in short pieces between calls of one function of the OS: what a loop over small reads or writes does beside them.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::{Account, Activity};
use crate::timeline::NameId;
use crate::timeline::interval::Interval;
use crate::timeline::union::Follower;

/// Longer pieces are work of their own.
const SHORT_NS: i64 = 20_000;

/// Of the function that the thread which launches most waits in for longest.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    if !device.knows_host {
        return;
    }
    let (count, idle_ns) = pieces(context, device);
    facts.set("idle_host_between_os_calls_ns", idle_ns.min(device.account_ns(Account::IdleHost)));
    facts.set_some("idle_host_between_os_calls_count", (idle_ns > 0).then_some(count));
}

/// How many pieces there are, and for how long the device is idle in them.
fn pieces(context: &Context<'_>, device: &DeviceContext) -> (i64, i64) {
    let timeline = context.timeline;
    let of = device.idle().main_call(timeline, Account::IdleBlocked).map(|(name, _)| name);
    let has_host_code = device.account_ns(Account::IdleHost) > 0;
    let (Some(of), Some(thread)) = (of, device.main_thread.filter(|_| has_host_code)) else { return (0, 0) };
    let mut busy = Follower::new(&device.tally.busy);
    let (mut count, mut idle_ns) = (0_i64, 0_i64);
    // The call that ended last, and the host's code that follows it without a break.
    let (mut last, mut piece): (Option<NameId>, Interval) = (None, Interval::default());
    context.calls.lay_out(timeline, thread, device.window(), |part, activity, name| match activity {
        Activity::Host if last.is_some() => piece.end = part.end,
        Activity::Blocked => {
            if last == Some(of) && name == of && (1..=SHORT_NS).contains(&piece.len_ns()) {
                count += 1;
                idle_ns += piece.len_ns() - busy.overlap_ns(piece);
            }
            (last, piece) = (Some(name), Interval::new(part.end, part.end));
        }
        _ => last = None,
    });
    (count, idle_ns)
}
