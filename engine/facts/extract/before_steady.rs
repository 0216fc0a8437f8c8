//! Facts of what the host does between a device's first operation and its steady state: host code and compiling by the device's
//! accounts, as the phases tell them, and what names them by the thread that tells most of it.

use super::outside::teller;
use super::spent::Spent;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Account;
use crate::ledger::compiling::compiler_of;
use crate::text::paths::without_folders;
use crate::timeline::interval::Interval;

/// What takes the time of `before`, on the thread that tells most of it. The GPU works while the host waits for it.
pub(super) fn extract(
    context: &Context<'_>,
    device: &DeviceContext,
    before: Interval,
    account_ns: impl Fn(Account) -> i64,
    facts: &mut Entity,
) {
    let Some(main) = device.main_thread.filter(|_| device.knows_host && before.len_ns() > 0) else { return };
    let timeline = context.timeline;
    let thread = teller(context, device, main, [before, Interval::new(before.end, before.end)]);
    let spent = Spent::of(context, thread, &[before]);
    facts.set("before_steady_host_ns", account_ns(Account::IdleHost));
    let compile_ns = account_ns(Account::IdleCompile);
    if compile_ns > 0 {
        facts.set("before_steady_compile_ns", compile_ns);
        facts.set_some("before_steady_compile_by", spent.compiled(timeline).map(|(name, _)| compiler_of(name)));
    }
    if let Some((name, ns)) = spent.called(timeline, false) {
        facts.set("before_steady_call", without_folders(name));
        facts.set("before_steady_call_ns", ns);
    }
    let sampled = spent.sampled(timeline, thread);
    if let Some((function, share)) = sampled.function {
        facts.set("before_steady_function", function);
        facts.set("before_steady_function_share", share);
    }
    facts.set_some("before_steady_function_caller", sampled.caller);
}
