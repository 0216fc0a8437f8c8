//! The groups of a device's facts, which are extracted side by side.

use super::{
    Context, DeviceContext, DevicePart, Parents, accounts, ahead, attention, between_os_calls, call_rounds, cells,
    chains, collective_rows, collectives, communication, compiled, contended_launches, copies, device, factorizations,
    filled_memory, fine_work, gpu_turns, graph_gaps, growing, idle, kernel_tuning, kernels, late_gpus, late_host,
    late_starts, launched_copies, lead, locked_turns, metrics, nan_checks, operators, optimizer, pace, page_locked,
    phases, prints, process_turns, product_rows, products, queued_behind, random_numbers, ranges, readbacks,
    recomputed, reductions, replay, round_trips, same_turns, second_derivatives, sequence, set_up_rounds,
    shared_stream, sorts, source_lines, staged_copies, steps, streams, syncs, tuning, turns, uncalled_copies,
    uneven_gpus, unused_gradients,
};

/// Extracts a group of a device's facts.
pub(super) type Extract = fn(&Context<'_>, &DeviceContext, &Parents<'_>, &mut DevicePart);

/// Groups that do not depend on each other. Those that ask for no idle time come first, and then those that do so last.
pub(super) const GROUPS: [Extract; 7] =
    [facts_of_work, groups_of_events, replay::extract, facts_of_time, facts_of_host, ranges::extract, facts_of_steps];

/// What the device ran.
fn facts_of_work(context: &Context<'_>, device: &DeviceContext, _: &Parents<'_>, part: &mut DevicePart) {
    chains::extract(context, device, &mut part.device);
    fine_work::extract(context, device, &mut part.device);
    product_rows::extract(context, device, &mut part.device);
    turns::extract(context, device, &mut part.device);
    process_turns::extract(context, device, &mut part.device);
    attention::extract(context, device, &mut part.device);
    growing::extract(context.timeline, device, &mut part.device);
    filled_memory::extract(context.timeline, device, &mut part.device);
    sorts::extract(context, device, &mut part.device);
    factorizations::extract(context, device, &mut part.device);
    random_numbers::extract(context, device, &mut part.device);
    shared_stream::extract(context, device, &mut part.device);
    collectives::extract(context, device, &mut part.device);
    collective_rows::extract(context, device, &mut part.device);
    communication::extract(context, device, &mut part.device);
    late_gpus::extract(context, device, &mut part.device);
    uneven_gpus::extract(context, device, &mut part.device);
    compiled::extract(context, device, &mut part.device);
    launched_copies::extract(context, device, &mut part.device);
    cells::extract(context.timeline, device, &mut part.device);
    recomputed::extract(context.timeline, device, &mut part.device);
    nan_checks::extract(context.timeline, device, &mut part.device);
    second_derivatives::extract(context.timeline, device, &mut part.device);
    unused_gradients::extract(context, device, &mut part.device);
    reductions::extract(context, device, &mut part.device);
    same_turns::extract(context, device, &mut part.device);
    locked_turns::extract(context, device, &mut part.device);
    contended_launches::extract(context, device, &mut part.device);
    gpu_turns::extract(context, device, &mut part.device);
    staged_copies::extract(context, device, &mut part.device);
    queued_behind::extract(context, device, &mut part.device);
    uncalled_copies::extract(context, device, &mut part.device);
    page_locked::extract(context, device, &mut part.device);
    metrics::extract(context, device, &mut part.device);
}

/// Where its time went, idle time above all.
fn facts_of_time(context: &Context<'_>, device: &DeviceContext, _: &Parents<'_>, part: &mut DevicePart) {
    accounts::extract(context.timeline, device, &mut part.device);
    accounts::once(context, device, &mut part.device);
    accounts::places(context.timeline, device, &mut part.device);
    device::extract(context, device, &mut part.device);
    idle::extract(context, device, &mut part.device);
    ahead::extract(context, device, &mut part.device);
    late_starts::extract(context, device, &mut part.device);
}

/// What the host does around its work: calls that wait or come again, steps of an optimizer, code that is made.
fn facts_of_host(context: &Context<'_>, device: &DeviceContext, _: &Parents<'_>, part: &mut DevicePart) {
    graph_gaps::extract(context, device, &mut part.device);
    readbacks::extract(context, device, &mut part.device);
    prints::extract(context, device, &mut part.device);
    round_trips::extract(context, device, &mut part.device);
    call_rounds::extract(context, device, &mut part.device);
    set_up_rounds::extract(context, device, &mut part.device);
    between_os_calls::extract(context, device, &mut part.device);
    optimizer::extract(context, device, &mut part.device);
    tuning::extract(context, device, &mut part.device);
    kernel_tuning::extract(context, device, &mut part.device);
    lead::extract(context, device, &mut part.device);
}

fn groups_of_events(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, part: &mut DevicePart) {
    streams::extract(context, device, parents, part);
    let kernels = kernels::extract(context, device, parents, part);
    sequence::extract(context, device, &kernels, part);
    products::extract(context, device, &kernels, part);
    operators::extract(context, device, &kernels, part);
    late_host::extract(context, device, &kernels, part);
    let copies = copies::extract(context, device, parents, part);
    let waits = syncs::extract(context, device, parents, part);
    source_lines::extract(context, device, &source_lines::Groups { kernels, copies, waits }, part);
}

fn facts_of_steps(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, part: &mut DevicePart) {
    steps::extract(context, device, parents, part);
    pace::extract(device, &mut part.device);
    phases::extract(context, device, parents, part);
}
