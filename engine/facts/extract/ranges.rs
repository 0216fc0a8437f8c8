//! Facts of ranges: how long, how often, and how much idle time of a device they explain.

mod held;
mod in_process;
mod loader_starts;
mod order;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashSet;

use super::projection::{COPY_BACKWARDS, Folded, InGroup, Projection, STEP, telling, told_name};
use super::{
    Context, DeviceContext, DevicePart, Parents, called_in_range, copying_range, cpu_operators, lead, library_call,
    made_again, source_lines, work_ranges,
};
use crate::facts::{Entity, EntityKind};
use crate::ledger::Account;
use crate::ledger::accounts::SourceFacts;
use crate::ledger::reading::RangeIdle;
use crate::text::paths;
use crate::timeline::Timeline;
use crate::timeline::columns::RangeKind;
use crate::timeline::interval::Interval;
use crate::timeline::peers::is_mpi_call;
pub(super) use loader_starts::{Fetched, most_fetched};
pub(super) use order::{NameOrder, PlainNames};

/// Ranges reported for one device and process, by host time and by idle time each: a recording can have a hundred thousand
/// names, and a reader looks at the ones that matter.
const MAX_BY_TIME: usize = 100;

/// So many groups of single threads are put together by process before there are more.
const MANY_GROUPS: usize = 1 << 16;

/// Ranges that frameworks put around the program's model: what is in them tells more.
const WRAPPERS: [&str; 7] = [
    "DistributedDataParallel.forward",
    "DataParallel.forward",
    "FullyShardedDataParallel.forward",
    "nn.Module: DistributedDataParallel",
    "nn.Module: DataParallel",
    "nn.Module: FullyShardedDataParallel",
    "nn.Module: OptimizedModule",
];

/// What the ranges of one label add up to on one device.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: i64,
    sum_ns: i64,
    longest_ns: i64,
    longest_start_ns: i64,
    first_start_ns: Option<i64>,
    idle: RangeIdle,
}

/// How many ranges there are of one label, and how long they take: a recording may have half a million labels, so that what is told of
/// them later has no room here.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    count: i64,
    sum_ns: i64,
    longest_ns: i64,
    longest_start_ns: i64,
    first_start_ns: i64,
}

/// The ranges of one label in one process.
#[derive(Debug, Clone, Copy)]
struct Group {
    process: u32,
    label: u32,
    sums: Sums,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, part: &mut DevicePart) {
    let timeline = context.timeline;
    if timeline.ranges.is_empty() {
        part.device.set("data_loading_count", 0_i64);
        return;
    }
    let groups = groups(timeline, device);
    let folded = context.folded();
    let projection = Projection::new(context, device, folded);
    let told =
        Told { groups: &groups, folded, projection: &projection, all_holding: all_holding(device, &groups, folded) };
    of_device(context, device, &told, &mut part.device);
    // Those with most of one time may be others than those with most of the other.
    let max_by_time = context.max_entities() / 2;
    let most = (max_by_time / device.processes.len().max(1)).clamp(1, MAX_BY_TIME);
    let (mut told_count, mut keys) = (0, HashSet::default());
    for process in device.processes.iter().take(max_by_time) {
        let of_process = context.range_names().keep_most(timeline, of_process(&groups, *process), most);
        told_count += of_process.len();
        part.entities.extend(of_process.iter().map(|group| {
            let mut entity = entity(context, parents, group, &mut keys);
            let launched_ns = projection.sum_ns.get(&(group.process, group.label));
            entity.set("launched_sum_ns", launched_ns.copied().unwrap_or(0));
            entity
        }));
    }
    let all_count: usize = device.processes.iter().map(|process| of_process(&groups, *process).len()).sum();
    part.device.set("omitted_range_count", all_count.saturating_sub(told_count) as i64);
}

/// Which range most of a device's host code lies in, and what in that.
fn in_host_code(context: &Context<'_>, device: &DeviceContext, told: &Told<'_>, facts: &mut Entity) {
    let timeline = context.timeline;
    let of_host = |idle: &RangeIdle| InGroup { all_ns: idle.host_ns, innermost_ns: idle.innermost_host_ns };
    // What fetches data has facts of its own, as calls of MPI have.
    let left_out: BTreeSet<u32> = loading_groups(context, told).into_iter().chain(mpi_groups(timeline, told)).collect();
    let Some((range, ns)) = main_range(told, (device.account_ns(Account::IdleHost), of_host), &left_out) else {
        return;
    };
    facts.set("idle_host_range", told.folded.name(range));
    facts.set("idle_host_range_ns", ns);
    let own = told.groups.iter().filter(|group| told.folded.group_of(group.label) == Some(range));
    let own_ns = own.map(|group| group.sums.idle.innermost_host_ns).fold(0, i64::saturating_add);
    facts.set("idle_host_range_own_ns", own_ns.min(ns));
    made_again::extract(timeline, device, told.folded, range, facts);
    // One operator calls another; what is in a mark or a function of the program's tells what it is about.
    let held = told.is_marked(range).then(|| held::of_group(timeline, device, told, (range, ns), &left_out));
    if let Some(held) = held.flatten() {
        facts.set("idle_host_held_range", told.folded.name(held.group));
        facts.set("idle_host_held_range_ns", held.ns);
        facts.set("idle_host_held_range_count", held.count);
    }
    let is_of_range = |label: u32| told.folded.group_of(label) == Some(range);
    facts.set_some("idle_host_range_step_count", lead::steps_with(timeline, device, is_of_range));
}

/// Which ranges most of a device's idle time, and of its exposed copies, lies in.
fn of_device(context: &Context<'_>, device: &DeviceContext, told: &Told<'_>, facts: &mut Entity) {
    let timeline = context.timeline;
    facts.set_some("too_deep_range_count", Some(device.idle().too_deep_count).filter(|count| *count > 0));
    let of_blocked = |idle: &RangeIdle| InGroup { all_ns: idle.blocked_ns, innermost_ns: idle.innermost_blocked_ns };
    in_host_code(context, device, told, facts);
    held::of_broadcasts(timeline, told, facts);
    held::of_zeroed_gradients(timeline, told, facts);
    facts.set_some("idle_host_operator_ns", in_operators(timeline, device));
    cpu_operators::extract(context, device, facts);
    let in_ranges =
        told.groups.iter().map(|group| (group.label, told.folded.group_of(group.label), group.sums.idle.host_ns));
    if let Some((range, ns)) = library_call::find(timeline, in_ranges, device.account_ns(Account::IdleHost)) {
        facts.set("idle_host_library_call", told.folded.name(range));
        facts.set("idle_host_library_call_ns", ns);
    }
    if let Some((range, ns)) = main_range(told, (device.account_ns(Account::IdleBlocked), of_blocked), &BTreeSet::new())
    {
        facts.set("idle_blocked_range", told.folded.name(range));
        facts.set("idle_blocked_range_ns", ns);
    }
    let counts = told.groups.iter().map(|group| (group.label, (group.sums.count, group.sums.idle.idle_ns)));
    let is_whole = |group: u32| told.all_holding.contains(&group);
    work_ranges::extract((timeline, device), (told.projection, told.folded), counts, is_whole, facts);
    loading(context, device, told, facts);
    launching(context.timeline, device, told, facts);
    let projection = told.projection;
    let is_marked = |group: &u32| told.is_marked(*group);
    let copies = projection.exposed_copies.iter().filter(|(group, _)| !told.all_holding.contains(group));
    let copies: &BTreeMap<u32, InGroup> = &copies.map(|(group, sum)| (*group, *sum)).collect();
    let marked = copies.iter().filter(|(group, _)| is_marked(group)).map(|(group, sum)| (*group, *sum)).collect();
    let whole_ns = projection.exposed_copy_ns;
    if let Some((range, ns)) = telling(&marked, whole_ns).or_else(|| telling(copies, whole_ns)) {
        facts.set("exposed_copy_range", told.folded.name(range));
        facts.set("exposed_copy_range_ns", ns);
        copying_range::extract(timeline, device, told.folded, range, facts);
        if let Some(range_ns) = facts.int("copying_range_ns") {
            let of_range = told.groups.iter().filter(|group| told.folded.group_of(group.label) == Some(range));
            let host_ns = of_range.map(|group| group.sums.idle.host_ns).fold(0, i64::saturating_add);
            facts.set("copying_range_host_ns", host_ns.min(device.account_ns(Account::IdleHost)).min(range_ns));
        }
    }
    if !copies.is_empty() {
        facts.set("exposed_gradient_copy_ns", gradient_copies_ns(told));
    }
}

/// How much of the host code lies in operators of a framework, with no range of another kind further inside; `None` where no operator
/// was recorded.
fn in_operators(timeline: &Timeline, device: &DeviceContext) -> Option<i64> {
    let is_operator =
        |label: u32| timeline.ranges.labels.get(label as usize).is_some_and(|label| label.kind == RangeKind::Operator);
    let has_operators = (0..timeline.ranges.labels.len() as u32).any(is_operator);
    let in_operators = device.idle().ranges.iter().filter(|((_, label), _)| is_operator(*label));
    has_operators.then(|| in_operators.map(|(_, idle)| idle.innermost_host_ns).fold(0, i64::saturating_add))
}

/// How long exposed copies to the host run that carry gradients. One such range may lie in another.
fn gradient_copies_ns(told: &Told<'_>) -> i64 {
    let copies = told.projection.gradient_copies.iter().filter(|(group, _)| !told.all_holding.contains(group));
    let of = |mark: &str| {
        let own = copies.clone().filter(|(group, _)| told.folded.name(**group).contains(mark));
        own.map(|(_, sum)| sum.all_ns).max().unwrap_or(0)
    };
    COPY_BACKWARDS.into_iter().map(of).fold(0, i64::saturating_add)
}

/// Which range holds half of the time that goes into launching.
fn launching(timeline: &Timeline, device: &DeviceContext, told: &Told<'_>, facts: &mut Entity) {
    let mut groups: BTreeMap<u32, InGroup> = BTreeMap::new();
    for group in told.groups.iter().filter(|group| group.sums.idle.launch_ns > 0) {
        let folded = told.folded.group_of(group.label).filter(|folded| !told.all_holding.contains(folded));
        // Whose method it is says less than the line that calls it.
        let Some(folded) = folded.filter(|folded| !told.folded.name(*folded).starts_with("built-in method ")) else {
            continue;
        };
        let sum = groups.entry(folded).or_default();
        sum.all_ns += group.sums.idle.launch_ns;
        sum.innermost_ns += group.sums.idle.innermost_launch_ns;
    }
    let marked =
        groups.iter().filter(|(group, _)| told.is_marked(**group)).map(|(group, sum)| (*group, *sum)).collect();
    let whole_ns = device.account_ns(Account::IdleLaunch);
    if let Some((range, ns)) = telling(&marked, whole_ns).or_else(|| telling(&groups, whole_ns)) {
        facts.set("idle_launch_range", told.folded.name(range));
        facts.set("idle_launch_range_ns", ns);
        called_in_range::extract(timeline, device, told.folded, range, facts);
    }
}

/// The facts of the line that fetches batches.
const LOADING_SOURCE: SourceFacts = SourceFacts {
    place: "data_loading_source",
    share: "data_loading_source_share",
    is_in_project: "is_data_loading_source_in_project",
};

/// How much of the idle time went into fetching the next batch of data, and whether the loop prepares it itself.
fn loading(context: &Context<'_>, device: &DeviceContext, told: &Told<'_>, facts: &mut Entity) {
    let (timeline, groups) = (context.timeline, told.groups);
    let of_loading = |group: &&Group| timeline.loading_labels().get(group.label as usize) == Some(&true);
    let mut all = Sums::default();
    let mut has_workers = Some(false);
    for group in groups.iter().filter(of_loading) {
        all.merge(group.sums);
        if has_workers != Some(true) {
            has_workers = timeline.has_loading_workers(group.label).filter(|has| *has || has_workers.is_some());
        }
    }
    let main = groups.iter().filter(of_loading).max_by_key(|group| (group.sums.idle.idle_ns, Reverse(group.label)));
    facts.set("data_loading_count", all.count);
    if all.count == 0 {
        return;
    }
    facts.set("data_loading_ns", all.sum_ns);
    facts.set("idle_data_loading_ns", all.idle.idle_ns);
    facts.set("idle_data_loading_host_ns", all.idle.host_ns);
    facts.set("idle_data_loading_blocked_ns", all.idle.blocked_ns);
    facts.set_some("data_loading_range", main.map(|group| told_name(timeline, group.label)));
    facts.set_some("is_data_loaded_in_process", in_process::tell(context, device, has_workers));
    facts.set("data_loading_longest_ns", all.longest_ns);
    facts.set("data_loading_longest_start_ns", all.longest_start_ns);
    loader_starts::extract(context, device, facts);
    held::of_loading(timeline, device, told, all.idle.idle_ns, facts);
    source_lines::of_loading(timeline, device, all.idle.idle_ns, LOADING_SOURCE, facts);
}

/// What the ranges of a device are told from.
struct Told<'all> {
    groups: &'all [Group],
    folded: &'all Folded,
    projection: &'all Projection,
    /// The groups that tell nothing, as everything lies in them.
    all_holding: BTreeSet<u32>,
}

impl Told<'_> {
    /// Whether a group is no mere operator: what the program marks says more than those of its framework.
    fn is_marked(&self, group: u32) -> bool {
        !self.folded.name(group).starts_with("aten::")
    }
}

/// The groups of ranges that hold the whole window, as the frames that begin a program do, or all that repeats: steps, and what is
/// entered once around them.
fn all_holding(device: &DeviceContext, groups: &[Group], folded: &Folded) -> BTreeSet<u32> {
    let window_ns = device.window().len_ns();
    let holds_window = groups.iter().filter(|group| group.sums.longest_ns >= window_ns);
    let mut holding: BTreeSet<u32> = holds_window.filter_map(|group| folded.group_of(group.label)).collect();
    // A step that the framework marks, or a wrapper, says nothing of what is in it.
    let is_wrapper = |name: &str| name.starts_with(STEP) || WRAPPERS.iter().any(|wrapper| name.starts_with(wrapper));
    let all = groups.iter().filter_map(|group| folded.group_of(group.label));
    holding.extend(all.filter(|group| is_wrapper(folded.name(*group))));
    let Some(steps) = device.told.sure_steps() else { return holding };
    let mut counts: BTreeMap<u32, i64> = BTreeMap::new();
    for group in groups {
        if let Some(folded) = folded.group_of(group.label) {
            *counts.entry(folded).or_default() += group.sums.count;
        }
    }
    counts
        .into_iter()
        .filter(|(group, count)| *count <= 1 || folded.name(*group) == steps.name)
        .map(|(group, _)| group)
        .chain(holding)
        .collect()
}

/// The groups of ranges that are calls of MPI which the profiler traced: these have facts of their own.
fn mpi_groups(timeline: &Timeline, told: &Told<'_>) -> BTreeSet<u32> {
    let labels = (0_u32..).zip(&timeline.ranges.labels);
    let mpi = labels.filter(|(_, label)| label.kind == RangeKind::Library && is_mpi_call(timeline.name(label.name)));
    mpi.filter_map(|(label, _)| told.folded.group_of(label)).collect()
}

/// The groups of ranges in which the loop fetches its next batch.
fn loading_groups(context: &Context<'_>, told: &Told<'_>) -> BTreeSet<u32> {
    let is_loading = context.timeline.loading_labels();
    let loading = (0_u32..).zip(is_loading).filter(|(_, is_loading)| **is_loading);
    loading.filter_map(|(label, _)| told.folded.group_of(label)).collect()
}

/// The innermost ranges, numbers folded, that hold at least half of a time; where none do, the innermost that hold half of what
/// those with most of it hold. Some are left out, as are those that tell nothing.
fn main_range(
    told: &Told<'_>,
    (whole_ns, time): (i64, fn(&RangeIdle) -> InGroup),
    left_out: &BTreeSet<u32>,
) -> Option<(u32, i64)> {
    let mut by_group: BTreeMap<u32, InGroup> = BTreeMap::new();
    for group in told.groups {
        let Some(folded) = told.folded.group_of(group.label) else { continue };
        if told.all_holding.contains(&folded) || left_out.contains(&folded) {
            continue;
        }
        let (sum, part) = (by_group.entry(folded).or_default(), time(&group.sums.idle));
        sum.all_ns += part.all_ns;
        sum.innermost_ns += part.innermost_ns;
    }
    telling(&by_group, whole_ns).or_else(|| {
        let most_ns = by_group.values().map(|sum| sum.all_ns).max()?;
        telling(&by_group, most_ns)
    })
}

fn entity(context: &Context<'_>, parents: &Parents<'_>, group: &Group, keys: &mut HashSet<String>) -> Entity {
    let (timeline, sums) = (context.timeline, &group.sums);
    let name = public_name(timeline, group.label);
    let domain = timeline.ranges.domain_name(group.process, group.label).map(|domain| timeline.name(domain));
    let in_domain = domain.map_or_else(String::new, |domain| format!("{domain}:"));
    let key = parents.key_of(&format!("{}/{in_domain}{name}", context.pid_of(group.process)));
    let mut entity = Entity::new(EntityKind::Range, own_key(key, keys), parents.of_process(group.process));
    let of_label = timeline.ranges.labels.get(group.label as usize);
    match name {
        Cow::Borrowed(_) => {
            entity.set("name", &of_label.map(|label| timeline.shared_name(label.name)).unwrap_or_default());
        }
        Cow::Owned(name) => entity.set("name", name),
    }
    entity.set_some("domain", domain);
    entity.set("count", sums.count);
    entity.set("sum_ns", sums.sum_ns);
    entity.set("longest_ns", sums.longest_ns);
    entity.set("longest_start_ns", sums.longest_start_ns);
    entity.set_some("first_start_ns", sums.first_start_ns);
    entity.set("idle_ns", sums.idle.idle_ns);
    entity.set("idle_host_ns", sums.idle.host_ns);
    entity.set("innermost_idle_host_ns", sums.idle.innermost_host_ns);
    entity.set("innermost_idle_ns", sums.idle.innermost_idle_ns);
    entity
}

/// The name that a facts file may hold: of a function of Python without the folders of its file, where they lead through the whole
/// machine; what the profiler has cut to the package's own folders stays.
fn public_name(timeline: &Timeline, label: u32) -> Cow<'_, str> {
    let name = name(timeline, label);
    let is_frame = timeline.ranges.labels.get(label as usize).is_some_and(|label| label.kind == RangeKind::PythonFrame);
    if is_frame && paths::is_path(name) { Cow::Owned(told_name(timeline, label).to_owned()) } else { name.into() }
}

/// The key, with a number where another range has it: an operator and a mark of the program may have one name, as may functions of
/// two files of one name.
fn own_key(key: String, keys: &mut HashSet<String>) -> String {
    let mut own = key.clone();
    for number in 2_usize.. {
        if keys.insert(own.clone()) {
            break;
        }
        own = format!("{key} [{number}]");
    }
    own
}

fn name(timeline: &Timeline, label: u32) -> &str {
    timeline.ranges.labels.get(label as usize).map_or("", |label| timeline.name(label.name))
}

/// By process and label.
fn groups(timeline: &Timeline, device: &DeviceContext) -> Vec<Group> {
    let mut groups = counted(timeline, device.window());
    let mut others: Vec<Group> = Vec::new();
    for ((process, label), idle) in device.idle().ranges.iter() {
        match groups.binary_search_by_key(&(process, label), |group| (group.process, group.label)) {
            Ok(place) => groups[place].sums.idle.merge(*idle),
            Err(_) => others.push(Group { process, label, sums: Sums { idle: *idle, ..Sums::default() } }),
        }
    }
    if !others.is_empty() {
        groups.append(&mut others);
        merge(&mut groups);
    }
    groups
}

/// How often they are and how long they take in a window, each process and label once, in the order of both.
fn counted(timeline: &Timeline, window: Interval) -> Vec<Group> {
    let (mut groups, mut most): (Vec<Group>, usize) = (Vec::new(), MANY_GROUPS);
    // By label, of the process that is looked at; labels are met again and again.
    let mut of_process: Vec<Counted> = vec![Counted::default(); timeline.ranges.labels.len()];
    let mut met = Vec::new();
    let mut threads = timeline.ranges.threads.iter().peekable();
    while let Some(ranges) = threads.next() {
        for (times, label) in ranges.times.iter().zip(&ranges.label) {
            let part = times.clip(window);
            if part.start > part.end || (part.len_ns() == 0 && times.start != times.end) {
                continue;
            }
            let Some(sums) = of_process.get_mut(*label as usize) else { continue };
            if sums.count == 0 {
                met.push(*label);
            }
            sums.add(times.start, part.len_ns());
        }
        let process = timeline.process_of(ranges.thread);
        if threads.peek().is_some_and(|next| timeline.process_of(next.thread) == process) {
            continue;
        }
        // A process may have nearly all there are: of these no more is held than they take.
        groups.reserve_exact(if groups.is_empty() { met.len() } else { 0 });
        for label in met.drain(..) {
            groups.push(Group { process, label, sums: std::mem::take(&mut of_process[label as usize]).into() });
        }
        if groups.len() > most {
            merge(&mut groups);
            most = MANY_GROUPS.max(2 * groups.len());
        }
    }
    drop(of_process);
    merge(&mut groups);
    groups
}

/// Puts those of one label and process together, in the order of both.
fn merge(groups: &mut Vec<Group>) {
    groups.sort_unstable_by_key(|group| (group.process, group.label));
    groups.dedup_by(|next, known| {
        let is_same = (next.process, next.label) == (known.process, known.label);
        if is_same {
            known.sums.merge(next.sums);
        }
        is_same
    });
}

/// The part of sorted groups that is a process's.
fn of_process(groups: &[Group], process: u32) -> &[Group] {
    let first = groups.partition_point(|group| group.process < process);
    let last = groups.partition_point(|group| group.process <= process);
    &groups[first..last]
}

/// The longer of two ranges, by their lengths and starts: of ranges of one length the first, and none without length.
const fn longer(known: (i64, i64), (ns, start_ns): (i64, i64)) -> (i64, i64) {
    let is_longer = ns > known.0 || (ns == known.0 && start_ns < known.1);
    if is_longer && ns > 0 { (ns, start_ns) } else { known }
}

impl Counted {
    /// Adds a range; those of several threads come in any order.
    fn add(&mut self, start_ns: i64, part_ns: i64) {
        self.first_start_ns = if self.count == 0 { start_ns } else { self.first_start_ns.min(start_ns) };
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(part_ns);
        (self.longest_ns, self.longest_start_ns) =
            longer((self.longest_ns, self.longest_start_ns), (part_ns, start_ns));
    }
}

impl From<Counted> for Sums {
    fn from(counted: Counted) -> Self {
        let Counted { count, sum_ns, longest_ns, longest_start_ns, first_start_ns } = counted;
        let first_start_ns = (count > 0).then_some(first_start_ns);
        Self { count, sum_ns, longest_ns, longest_start_ns, first_start_ns, idle: RangeIdle::default() }
    }
}

impl Sums {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.idle.merge(other.idle);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.first_start_ns = self.first_start_ns.into_iter().chain(other.first_start_ns).min();
        (self.longest_ns, self.longest_start_ns) =
            longer((self.longest_ns, self.longest_start_ns), (other.longest_ns, other.longest_start_ns));
    }
}
