//! Facts of a device's idle time.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::idle::Trigger;
use crate::ledger::{Account, Activity, OpKind};
use crate::text::paths::without_folders;
use crate::timeline::Timeline;

const ACTIVITIES: [(&str, Activity); 13] = [
    ("idle_spacing_ns", Activity::Spacing),
    ("idle_queue_ns", Activity::Queue),
    ("idle_profiler_ns", Activity::Profiler),
    ("idle_load_ns", Activity::Load),
    ("idle_sync_ns", Activity::Sync),
    ("idle_query_ns", Activity::Query),
    ("idle_copy_call_ns", Activity::CopyCall),
    ("idle_allocate_ns", Activity::Allocate),
    ("idle_init_ns", Activity::Init),
    ("idle_launch_ns", Activity::Launch),
    ("idle_blocked_ns", Activity::Blocked),
    ("idle_host_ns", Activity::Host),
    ("idle_unknown_ns", Activity::Unknown),
];

const TRIGGERS: [(&str, Trigger); 7] = [
    ("dry_queued_ns", Trigger::Queued),
    ("dry_in_sync_ns", Trigger::Sync),
    ("dry_in_copy_ns", Trigger::Copy),
    ("dry_in_allocate_ns", Trigger::Allocate),
    ("dry_in_launch_ns", Trigger::Launch),
    ("dry_elsewhere_ns", Trigger::Elsewhere),
    ("dry_unknown_ns", Trigger::Unknown),
];

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    facts.set("idle_stretch_count", device.tally.stretch_count);
    if let Some(longest) = device.tally.longest_stretch {
        facts.set("idle_longest_ns", longest.len_ns());
        facts.set("idle_longest_start_ns", longest.start);
    }
    // Without the calls of its processes nothing is known of the host: then only the unknown has a number.
    let is_known = context.knows_host_of(device);
    for (name, activity) in ACTIVITIES.into_iter().filter(|(_, activity)| is_known || *activity == Activity::Unknown) {
        facts.set(name, device.idle.activity_ns(activity));
    }
    for (name, trigger) in TRIGGERS.into_iter().filter(|(_, trigger)| is_known || *trigger == Trigger::Unknown) {
        facts.set(name, device.idle.trigger[trigger as usize]);
    }
    let timeline = context.timeline;
    if !is_known {
        return;
    }
    facts.set("idle_guessed_ns", device.idle.guessed_ns);
    facts.set("idle_host_guessed_ns", device.idle.guessed_host_ns);
    details(timeline, device, facts);
    // What overlap could win: had the host run ahead, the window would still be the larger of the host's and the device's
    // work.
    facts.set_some("host_work_ns", device.idle.host_work_ns);
    facts.set_some("overlap_ceiling_ns", overlap_ceiling(context, device));
    host_calls(context, device, facts);
    super::device::readbacks(context, device, facts);
    let mut launches = launch_durations(context, device);
    facts.set_some("launch_call_median_ns", super::device::median(&mut launches));
}

fn details(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    const CALLS: [(&str, Activity); 7] = [
        ("idle_load_call", Activity::Load),
        ("idle_allocate_call", Activity::Allocate),
        ("idle_init_call", Activity::Init),
        ("idle_launch_call", Activity::Launch),
        ("idle_query_call", Activity::Query),
        ("idle_copy_call", Activity::CopyCall),
        ("idle_blocked_call", Activity::Blocked),
    ];
    let idle = &device.idle;
    for (name, activity) in CALLS {
        facts.set_some(name, idle.main_call(timeline, activity).map(|(call, _)| without_folders(timeline.name(call))));
    }
    facts.set_some("idle_blocked_call_ns", idle.main_call(timeline, Activity::Blocked).map(|(_, named)| named.sum_ns));
    let longest = |activity: Activity| Some(idle.activity[activity as usize]).filter(|named| named.sum_ns > 0);
    facts.set_some("idle_load_longest_start_ns", longest(Activity::Load).map(|named| named.longest_start_ns));
    facts.set_some("idle_allocate_longest_start_ns", longest(Activity::Allocate).map(|named| named.longest_start_ns));
    facts.set_some("idle_blocked_longest_start_ns", longest(Activity::Blocked).map(|named| named.longest_start_ns));
    facts.set_some("idle_launch_longest_start_ns", longest(Activity::Launch).map(|named| named.longest_start_ns));
    facts.set_some("idle_host_longest_ns", longest(Activity::Host).map(|named| named.longest_ns));
    facts.set_some("idle_host_longest_start_ns", longest(Activity::Host).map(|named| named.longest_start_ns));
    facts.set("idle_host_os_captured", !timeline.os_calls.times.is_empty());
    facts.set("once_ns", idle.activity_ns(Activity::Load) + idle.activity_ns(Activity::Init));
}

/// What overlap could win, where the host is known.
pub(super) fn overlap_ceiling(context: &Context<'_>, device: &DeviceContext) -> Option<i64> {
    let host_work = device.idle.host_work_ns.filter(|_| context.knows_host_of(device))?;
    let window = device.window();
    let busy = window.len_ns() - device.tally.accounts[Account::Idle as usize];
    Some(window.len_ns() - host_work.max(busy))
}

/// The host's side of allocations and blocking copies, over all threads of the processes on this device.
fn host_calls(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let (api, window) = (&context.timeline.api, device.window());
    let (mut allocations, mut copy_call_ns) = (0, 0_i64);
    for call in device.processes.iter().flat_map(|process| context.calls_of(*process, Some(window))) {
        let inside = api.times.at(call as usize).clip(window);
        match context.calls.activity.get(call as usize) {
            Some(Activity::Allocate) => {
                allocations += i64::from(super::device::busy_within(device, inside) < inside.len_ns());
            }
            Some(Activity::CopyCall) => copy_call_ns = copy_call_ns.saturating_add(inside.len_ns()),
            _ => {}
        }
    }
    facts.set("idle_allocate_call_count", allocations);
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
