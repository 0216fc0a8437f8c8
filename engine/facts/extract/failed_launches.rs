//! Calls that should launch work and returned an error: what they ask for never ran, so that only what lies beside them tells what it was.

use super::Context;
use super::projection::told_name;
use crate::facts::Entity;
use crate::timeline::Timeline;
use crate::timeline::api::ApiClass;
use crate::timeline::columns::ApiError;

/// Launches that returned an error, and launched nothing.
pub(super) fn count(context: &Context<'_>) -> i64 {
    let launches = context.timeline.api.errors.iter().filter(|error| is_launch(context, error));
    launches.map(|error| error.count as i64).sum()
}

fn is_launch(context: &Context<'_>, error: &ApiError) -> bool {
    context.calls.class.get(error.call as usize) == Some(&ApiClass::Launch)
}

/// Tells of errors where the first of them lies.
pub(super) fn extract(context: &Context<'_>, errors: &[&ApiError], facts: &mut Entity) {
    let timeline = context.timeline;
    let launches = errors.iter().filter(|error| is_launch(context, error));
    let Some(first) = launches.min_by_key(|error| (error.first_ns, timeline.name(error.call))) else { return };
    facts.set("failed_launch_start_ns", first.first_ns);
    let mut rows = timeline.api.times.iter().zip(&timeline.api.name).zip(&timeline.api.thread);
    let row = rows.find(|((times, name), _)| times.start == first.first_ns && **name == first.call);
    let Some((_, thread)) = row else { return };
    facts.set_some("kernel_before_failed_launch", kernel_before(context, *thread, first.first_ns));
    facts.set_some("failed_launch_range", range_at(timeline, *thread, first.first_ns));
}

/// The kernel that a thread launched last before a moment.
fn kernel_before<'all>(context: &Context<'all>, thread: u32, moment: i64) -> Option<&'all str> {
    let timeline = context.timeline;
    let start_of = |call: u32| timeline.api.times.at(call as usize).start;
    let is_of_thread = |call: u32| timeline.api.thread.get(call as usize) == Some(&thread) && start_of(call) < moment;
    let launched = (0_u32..).zip(&timeline.kernels.ops.call).filter(|(_, call)| is_of_thread(**call));
    let (kernel, _) = launched.max_by_key(|(kernel, call)| (start_of(**call), *kernel))?;
    Some(timeline.name(timeline.kernels.shape_of(kernel).name))
}

/// The innermost range that a moment of a thread lies in.
fn range_at(timeline: &Timeline, thread: u32, moment: i64) -> Option<&str> {
    let ranges = timeline.ranges.threads.iter().find(|ranges| ranges.thread == thread)?;
    let holding =
        ranges.times.iter().zip(&ranges.label).filter(|(times, _)| times.start <= moment && moment < times.end);
    let (_, label) = holding.max_by_key(|(times, _)| times.start)?;
    Some(told_name(timeline, *label)).filter(|name| !name.is_empty())
}
