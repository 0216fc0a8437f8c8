//! Facts of a device's idle time, beside its accounts.

use super::stats::median;
use super::{Context, DeviceContext, allocations, culprits, source_lines};
use crate::facts::Entity;
use crate::ledger::{Account, Activity, OpKind};
use crate::text::paths::without_folders;
use crate::timeline::Timeline;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    facts.set("idle_stretch_count", device.tally.stretch_count);
    if let Some(longest) = device.tally.longest_stretch {
        facts.set("idle_longest_ns", longest.len_ns());
        facts.set("idle_longest_start_ns", longest.start);
    }
    if !device.knows_host {
        return;
    }
    facts.set("idle_uncorrelated_ns", device.idle.guessed_ns);
    facts.set("idle_host_uncorrelated_ns", device.idle.guessed_host_ns);
    details(context.timeline, device, facts);
    facts.set_some("host_work_ns", device.idle.host_work_ns);
    facts.set_some("overlap_ceiling_ns", device.overlap_ceiling());
    host_calls(context, device, facts);
    allocations::extract(context, device, facts);
    culprits::extract(context.timeline, device, facts);
    culprits::called_outside(context, device, facts);
    source_lines::of_idle(context.timeline, device, facts);
    let mut launches = launch_durations(context, device);
    facts.set_some("launch_call_median_ns", median(&mut launches));
}

fn details(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    const CALLS: [(&str, Account); 7] = [
        ("idle_load_call", Account::IdleLoad),
        ("idle_allocate_call", Account::IdleAllocate),
        ("idle_init_call", Account::IdleInit),
        ("idle_launch_call", Account::IdleLaunch),
        ("idle_query_call", Account::IdleQuery),
        ("idle_copy_call", Account::IdleCopyCall),
        ("idle_blocked_call", Account::IdleBlocked),
    ];
    let idle = &device.idle;
    for (fact, activity) in CALLS {
        facts.set_some(fact, idle.main_call(timeline, activity).map(|(call, _)| without_folders(timeline.name(call))));
    }
    facts.set_some("idle_blocked_call_ns", idle.main_call(timeline, Account::IdleBlocked).map(|(_, sum)| sum.sum_ns));
    facts.set("os_runtime_captured", !timeline.os_calls.times.is_empty());
    let one_time = [Account::IdleCompile, Account::IdleLoad, Account::IdleInit];
    facts.set("one_time_idle_ns", one_time.into_iter().map(|account| device.account_ns(account)).sum::<i64>());
}

/// The host's side of blocking copies, and calls that make work wait for other work, over all threads of the processes on this device.
fn host_calls(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (api, window) = (&context.timeline.api, device.window());
    let names = &context.timeline.names;
    let of_calls = |call: &str| ["cuda", "cu", "hip"].map(|api| names.find(&format!("{api}{call}")));
    let (stream_waits, host_functions) = (of_calls("StreamWaitEvent"), of_calls("LaunchHostFunc"));
    let graphics = of_calls("GraphicsMapResources");
    let (mut copy_call_ns, mut stream_wait_count, mut host_function_count, mut graphics_count) = (0_i64, 0, 0, 0);
    for call in device.processes.iter().flat_map(|process| context.calls_of(*process, Some(window))) {
        let inside = api.times.at(call as usize).clip(window);
        if context.calls.activity.get(call as usize) == Some(&Activity::CopyCall) {
            copy_call_ns = copy_call_ns.saturating_add(inside.len_ns());
        }
        let name = api.name.get(call as usize).copied();
        stream_wait_count += i64::from(stream_waits.contains(&name));
        host_function_count += i64::from(host_functions.contains(&name));
        graphics_count += i64::from(name.is_some() && graphics.contains(&name));
    }
    facts.set("stream_wait_call_count", stream_wait_count);
    facts.set("host_function_call_count", host_function_count);
    facts.set("graphics_map_call_count", graphics_count);
    facts.set("blocking_copy_call_ns", copy_call_ns);
}

/// How long each call that launched a kernel of this device took.
fn launch_durations(context: &Context<'_>, device: &DeviceContext) -> Vec<i64> {
    let timeline = context.timeline;
    let kernels = device.ops.in_window(timeline).filter(|op| matches!(op.kind, OpKind::Kernel | OpKind::Communication));
    let mut calls: Vec<u32> = kernels.filter_map(|op| op.call(timeline)).collect();
    // The kernels of a graph share the call that launched it.
    calls.sort_unstable();
    calls.dedup();
    calls.into_iter().map(|call| timeline.api.times.at(call as usize).len_ns()).collect()
}
