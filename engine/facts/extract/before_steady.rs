//! Facts of what the host does between a device's first operation and its steady state.

use super::outside::teller;
use super::spent::Spent;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::compiling::compiler_of;
use crate::text::paths::without_folders;
use crate::timeline::interval::Interval;

/// What takes the time of `before`, on the thread that tells most of it. The GPU works while the host waits for it.
pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, before: Interval, facts: &mut Entity) {
    let Some(main) = device.main_thread.filter(|_| device.knows_host && before.len_ns() > 0) else { return };
    let timeline = context.timeline;
    let thread = teller(context, device, main, [before, Interval::new(before.end, before.end)]);
    let spent = Spent::of(context, thread, &[before]);
    facts.set("before_steady_host_ns", spent.host_ns());
    let compiled = spent.compiled(timeline);
    if let Some((name, ns)) = compiled {
        facts.set("before_steady_compile_ns", ns);
        facts.set("before_steady_compile_by", compiler_of(name));
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
