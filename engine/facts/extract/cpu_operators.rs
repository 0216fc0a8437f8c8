//! Operators of a framework that launch nothing, in the host code that a device waits for: they work on tensors of the host.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::ledger::Account;
use crate::timeline::columns::RangeKind;
use crate::timeline::union::Follower;
use crate::timeline::{NONE, NameId, ThreadRanges};

/// A shorter one hands out memory, or tells another shape of a tensor: that is dispatch. A profiler takes some of it.
const WORKING_NS: i64 = 20_000;
/// Operators of PyTorch that work on numbers begin so; so do those that give another view of a tensor, or memory without numbers in it,
/// wherever it lies: these by their whole names.
pub(super) const OPERATOR: &str = "aten::";
const VIEWS: [&str; 45] = [
    "view",
    "view_as",
    "view_as_real",
    "view_as_complex",
    "flatten",
    "unflatten",
    "unflatten_dense_tensors",
    "split",
    "split_with_sizes",
    "chunk",
    "unbind",
    "narrow",
    "select",
    "slice",
    "as_strided",
    "as_strided_",
    "reshape",
    "_reshape_alias",
    "expand",
    "expand_as",
    "permute",
    "transpose",
    "transpose_",
    "t",
    "t_",
    "numpy_T",
    "detach",
    "detach_",
    "alias",
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "resize_",
    "record_stream",
    "lift_fresh",
    "squeeze",
    "squeeze_",
    "unsqueeze",
    "unsqueeze_",
    "movedim",
    "diagonal",
    "unfold",
    "set_",
    "is_pinned",
];
/// The second is told where it takes this part of what the first does.
const SECOND_SHARE: f64 = 0.3;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let labels = &timeline.ranges.labels;
    let is_operator: Vec<bool> = labels.iter().map(|label| label.kind == RangeKind::Operator).collect();
    if !device.knows_host || !is_operator.contains(&true) {
        return;
    }
    let mut by_name: BTreeMap<NameId, i64> = BTreeMap::new();
    let is_own = |thread: u32| thread != NONE && device.is_of(timeline.process_of(thread));
    for ranges in timeline.ranges.threads.iter().filter(|ranges| is_own(ranges.thread)) {
        for (label, ns) in of_thread(context, device, ranges, &is_operator) {
            let name = labels.get(label as usize).map_or(NONE, |label| label.name);
            if works_on_numbers(timeline.name(name)) {
                *by_name.entry(name).or_default() += ns;
            }
        }
    }
    let all_ns = by_name.values().fold(0_i64, |sum, ns| sum.saturating_add(*ns));
    // Other threads may be in operators while the one that launches does something else.
    let most_ns = device.account_ns(Account::IdleHost);
    facts.set("idle_host_cpu_operator_ns", all_ns.min(most_ns));
    let mut most: Vec<(i64, &str)> = by_name.iter().map(|(name, ns)| (*ns, timeline.name(*name))).collect();
    most.sort_by_key(|(ns, name)| (Reverse(*ns), *name));
    let Some((first_ns, first)) = most.first().filter(|(ns, _)| *ns > 0) else { return };
    facts.set("idle_host_first_cpu_operator", *first);
    facts.set("idle_host_first_cpu_operator_ns", most_ns.min(*first_ns));
    if let Some((ns, name)) = most.get(1).filter(|(ns, _)| *ns as f64 >= SECOND_SHARE * *first_ns as f64) {
        facts.set("idle_host_second_cpu_operator", *name);
        facts.set("idle_host_second_cpu_operator_ns", most_ns.min(*ns));
    }
}

/// Whether an operator does more than to give another view of a tensor, which may lie on the device.
fn works_on_numbers(name: &str) -> bool {
    let own = name.strip_prefix(OPERATOR);
    own.is_some_and(|own| !VIEWS.contains(&own))
}

/// The idle time in each outermost operator of a thread that holds no call and lies between two that are further apart than launching
/// takes, by label. What fetches data is left out.
fn of_thread(
    context: &Context<'_>,
    device: &DeviceContext,
    ranges: &ThreadRanges,
    is_operator: &[bool],
) -> Vec<(u32, i64)> {
    let (times, calls) = (&context.timeline.api.times, context.calls.of_thread(ranges.thread));
    let (is_loading, gap_ns) = (context.timeline.loading_labels(), context.calls.launch_gap_ns(ranges.thread));
    let code = context.calls.code_of(ranges.thread);
    let (mut busy, mut code) = (Follower::new(&device.tally.busy), Follower::new(&code));
    let mut found = Vec::new();
    let (mut next, mut called_until, mut told_until) = (0, i64::MIN, i64::MIN);
    for (range, label) in ranges.times.iter().zip(&ranges.label) {
        while let Some(call) =
            calls.get(next).map(|call| times.at(*call as usize)).filter(|call| call.start < range.start)
        {
            called_until = called_until.max(call.end);
            next += 1;
        }
        if range.start < told_until {
            continue;
        }
        if is_loading.get(*label as usize) == Some(&true) {
            told_until = range.end;
            continue;
        }
        let Some(call) = calls.get(next).map(|call| times.at(*call as usize)) else { break };
        let is_between = range.start >= called_until && range.end <= call.start;
        let is_apart = called_until > i64::MIN && call.start - called_until >= gap_ns;
        if is_operator.get(*label as usize) == Some(&true) && is_between && is_apart {
            told_until = range.end;
            let part = range.clip(device.window());
            // While code is compiled operators run on tensors without numbers.
            let compiles = code.overlap_ns(range) > 0;
            if range.len_ns() >= WORKING_NS && part.len_ns() > 0 && !compiles {
                found.push((*label, part.len_ns() - busy.overlap_ns(part)));
            }
        }
    }
    found
}
