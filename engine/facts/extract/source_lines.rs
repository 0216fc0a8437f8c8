//! The line of code that most of a kernel, of copies or of waits comes from, of reports with call stacks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};

use super::syncs::Wait;
use super::tally::{CopyKey, copy_key, kernel_name};
use super::{Context, DeviceContext, DevicePart};
use crate::facts::Entity;
use crate::ledger::accounts::SourceFacts;
use crate::ledger::reading::RangeIdle;
use crate::ledger::{Account, OpKind};
use crate::timeline::columns::RangeKind;
use crate::timeline::interval::Interval;
use crate::timeline::{NameId, SourceLocation, Timeline};

/// A line with a smaller part of the time is not where it comes from.
const MIN_SHARE: f64 = 0.5;
/// A second line is told with a part as large as this.
const MIN_SECOND_SHARE: f64 = 0.2;

/// A function that holds this part of the window at once encloses it, and one in it that holds this part of an account tells more.
const ENCLOSING_SHARE: f64 = 0.9;
const DEEPER_SHARE: f64 = 0.6;

/// The entities of a device that come from calls: the index of each among the entities.
pub(super) struct Groups {
    pub(super) kernels: HashMap<NameId, usize>,
    pub(super) copies: HashMap<CopyKey, usize>,
    pub(super) waits: HashMap<Wait, usize>,
}

/// Time by source location; `None` for calls whose stack does not tell.
#[derive(Debug, Default)]
struct Times(HashMap<Option<u32>, i128>);

/// The line of code that the host was in for most of each account of idle time; of host code and of blocked time what fetches data is
/// left out.
pub(super) fn of_idle(timeline: &Timeline, device: &DeviceContext, facts: &mut Entity) {
    for account in Account::all().filter(|account| account.has_source()) {
        let lines = device.idle().sources.range((account, 0)..=(account, u32::MAX));
        let lines: Vec<(u32, i64)> = lines.map(|((_, location), ns)| (*location, *ns)).collect();
        let whole_ns = device.account_ns(account).saturating_sub(device.idle().in_loading[account]);
        main_of((timeline, device), account, (&lines, whole_ns), account.source(), facts);
        if account == Account::IdleHost {
            second_of(timeline, (lines, whole_ns), facts);
        }
    }
}

/// Beside the line that most host code lies in, the next one, where it holds much as well.
fn second_of(timeline: &Timeline, (mut lines, whole_ns): (Vec<(u32, i64)>, i64), facts: &mut Entity) {
    lines.sort_unstable_by_key(|(location, ns)| (Reverse(*ns), *location));
    let place = |nth: usize| lines.get(nth).and_then(|(location, _)| timeline.call_locations.get(*location));
    let is_first_told = place(0).is_some_and(|first| facts.text("idle_host_source") == Some(&first.to_string()));
    let Some((second, (_, ns))) = place(1).zip(lines.get(1)).filter(|_| is_first_told) else { return };
    let share = *ns as f64 / whole_ns.max(1) as f64;
    if share >= MIN_SECOND_SHARE {
        facts.set("idle_host_second_source", second.to_string());
        facts.set("idle_host_second_source_share", share.min(1.0));
    }
}

/// The same of what fetches data, under names of its own.
pub(super) fn of_loading(
    timeline: &Timeline,
    device: &DeviceContext,
    whole_ns: i64,
    names: SourceFacts,
    facts: &mut Entity,
) {
    let lines: Vec<(u32, i64)> = device.idle().loading_sources.iter().map(|(line, ns)| (*line, *ns)).collect();
    main_of((timeline, device), Account::IdleHost, (&lines, whole_ns), names, facts);
}

fn main_of(
    (timeline, device): (&Timeline, &DeviceContext),
    account: Account,
    (lines, whole_ns): (&[(u32, i64)], i64),
    names: SourceFacts,
    facts: &mut Entity,
) {
    let share = |ns: i64| (ns as f64 / whole_ns.max(1) as f64).min(1.0);
    let most = lines.iter().max_by_key(|(location, ns)| (*ns, Reverse(*location)));
    let most = most.map(|(location, ns)| (*location, share(*ns))).filter(|(_, share)| *share >= MIN_SHARE);
    let Some((location, _)) = most else {
        return set_function(timeline, (lines, share), names, facts);
    };
    // What encloses all that is done says less than the function in it that does most.
    if !encloses(timeline, device, location) || !is_told_deeper(timeline, device, account) {
        set_place(timeline, names, most, facts);
    }
}

/// Where no line holds most of a time, its function may.
fn set_function(
    timeline: &Timeline,
    (lines, share): (&[(u32, i64)], impl Fn(i64) -> f64),
    names: SourceFacts,
    facts: &mut Entity,
) {
    let mut functions: BTreeMap<(&str, &str, bool), i64> = BTreeMap::new();
    for (location, ns) in lines {
        let location = timeline.call_locations.get(*location);
        if let Some((location, function)) = location.and_then(|known| Some((known, known.function.as_deref()?))) {
            let sum = functions.entry((&location.file, function, location.is_in_project)).or_default();
            *sum = sum.saturating_add(*ns);
        }
    }
    let most = functions.into_iter().max_by_key(|(function, ns)| (*ns, Reverse(*function)));
    let Some(((file, function, is_in_project), ns)) = most.filter(|(_, ns)| share(*ns) >= MIN_SHARE) else { return };
    let (file, function) = (file.to_owned(), Some(function.to_owned()));
    facts.set(names.place, SourceLocation { file, line: None, function, is_in_project }.to_string());
    facts.set(names.share, share(ns));
    facts.set(names.is_in_project, is_in_project);
}

/// Whether one stay in a line holds nearly all of the window.
fn encloses(timeline: &Timeline, device: &DeviceContext, location: u32) -> bool {
    let least_ns = ENCLOSING_SHARE * device.window().len_ns() as f64;
    let threads = timeline.ranges.threads.iter().map(|ranges| ranges.thread);
    let stays = threads.filter_map(|thread| timeline.call_locations.of_thread(thread));
    let mut long = stays.flat_map(|ranges| ranges.times.iter().zip(&ranges.label));
    long.any(|(times, label)| *label == location && times.clip(device.window()).len_ns() as f64 >= least_ns)
}

/// Whether a function or an operator that does not enclose the window as well holds most of an account.
fn is_told_deeper(timeline: &Timeline, device: &DeviceContext, account: Account) -> bool {
    let idle_ns = |idle: &RangeIdle| match account {
        Account::IdleHost => idle.host_ns,
        Account::IdleBlocked => idle.blocked_ns,
        Account::IdleLaunch => idle.launch_ns,
        _ => 0,
    };
    let is_function = |label: u32| {
        let kind = timeline.ranges.labels.get(label as usize).map(|label| label.kind);
        matches!(kind, Some(RangeKind::PythonFrame | RangeKind::Operator))
    };
    let least_ns = DEEPER_SHARE * device.account_ns(account).max(1) as f64;
    let ranges = device.idle().ranges.iter();
    let holding = ranges.filter(|((_, label), idle)| idle_ns(idle) as f64 >= least_ns && is_function(*label));
    let mut holding: HashSet<u32> = holding.map(|((_, label), _)| label).collect();
    let long_ns = ENCLOSING_SHARE * device.window().len_ns() as f64;
    for ranges in &timeline.ranges.threads {
        for (times, label) in ranges.times.iter().zip(&ranges.label) {
            if times.len_ns() as f64 >= long_ns {
                holding.remove(label);
            }
        }
    }
    !holding.is_empty()
}

/// Sets the facts of a line of code and its share.
pub(super) fn set_place(timeline: &Timeline, names: SourceFacts, most: Option<(u32, f64)>, facts: &mut Entity) {
    let Some((location, share)) = most else { return };
    let Some(location) = timeline.call_locations.get(location) else { return };
    facts.set(names.place, location.to_string());
    facts.set(names.share, share);
    facts.set(names.is_in_project, location.is_in_project);
}

/// The location that most of some calls were made at, with its share.
pub(super) fn of_calls(timeline: &Timeline, calls: impl Iterator<Item = u32>) -> Option<(u32, f64)> {
    let mut times = Times::default();
    for call in calls {
        times.add(timeline.call_locations.of_call(call), Interval::new(0, 1));
    }
    times.main()
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, groups: &Groups, part: &mut DevicePart) {
    if context.timeline.call_locations.is_empty() {
        return;
    }
    let mut times: HashMap<usize, Times> = HashMap::default();
    of_ops(context, device, groups, &mut times);
    of_waits(context, device, groups, &mut times);
    for (entity, times) in times {
        if let Some((location, share)) = times.main() {
            set(context, location, share, &mut part.entities[entity]);
        }
    }
}

fn of_ops(context: &Context<'_>, device: &DeviceContext, groups: &Groups, times: &mut HashMap<usize, Times>) {
    let timeline = context.timeline;
    for op in device.ops.in_window() {
        let entity = match kernel_name(timeline, op) {
            Some(name) => groups.kernels.get(&name),
            None if op.kind == OpKind::Copy => groups.copies.get(&copy_key(timeline, op)),
            None => None,
        };
        let Some(entity) = entity else { continue };
        let location = op.call(timeline).and_then(|call| timeline.call_locations.of_call(call));
        times.entry(*entity).or_default().add(location, op.interval().clip(device.window()));
    }
}

fn of_waits(context: &Context<'_>, device: &DeviceContext, groups: &Groups, times: &mut HashMap<usize, Times>) {
    let (timeline, window) = (context.timeline, device.window());
    for (process, kind) in device.call_kinds(context).filter(|(_, kind)| kind.waits()) {
        let Some(entity) = groups.waits.get(&(process, kind.name)) else { continue };
        let times = times.entry(*entity).or_default();
        for call in kind.calls.within(&timeline.api.times, window) {
            let inside = timeline.api.times.at(call as usize).clip(window);
            times.add(timeline.call_locations.of_call(call), inside);
        }
    }
}

impl Times {
    fn add(&mut self, location: Option<u32>, interval: Interval) {
        *self.0.entry(location).or_default() += i128::from(interval.len_ns());
    }

    /// The location that most of the time comes from, with its share of all of it.
    fn main(&self) -> Option<(u32, f64)> {
        let whole: i128 = self.0.values().sum();
        let located = self.0.iter().filter_map(|(location, time)| Some(((*location)?, *time)));
        let (location, time) = located.max_by_key(|(location, time)| (*time, Reverse(*location)))?;
        let share = time as f64 / whole as f64;
        (whole > 0 && share >= MIN_SHARE).then_some((location, share))
    }
}

fn set(context: &Context<'_>, location: u32, share: f64, entity: &mut Entity) {
    let Some(location) = context.timeline.call_locations.get(location) else { return };
    entity.set("source_file", location.file.as_str());
    entity.set_some("source_line", location.line.map(i64::from));
    entity.set_some("source_function", location.function.as_deref());
    entity.set("source_share", share);
    entity.set("is_source_in_project", location.is_in_project);
}
