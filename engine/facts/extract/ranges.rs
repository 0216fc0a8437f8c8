//! Facts of annotations: how long, how often, and how much idle time of a device they explain.

use std::collections::BTreeSet;

use super::{Context, DeviceContext, Parents};
use crate::facts::{EntityKind, Facts};
use crate::ledger::annotation::RangeIdle;
use crate::timeline::Timeline;

/// Annotations reported for one device and process, by host time and by idle time each: a recording can have a hundred
/// thousand names, and a reader looks at the ones that matter.
const MOST_BY_TIME: usize = 100;

/// What one annotation text of one process adds up to on one device.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: i64,
    sum_ns: i64,
    longest_ns: i64,
    longest_start_ns: i64,
    first_start_ns: Option<i64>,
    idle: RangeIdle,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, facts: &mut Facts) {
    let timeline = context.timeline;
    if timeline.ranges.is_empty() {
        return;
    }
    let sums = sums(timeline, device);
    let entity = facts.get_mut(parents.device);
    entity.set_some("too_deep_range_count", Some(device.idle.too_deep_count).filter(|count| *count > 0));
    let most = |of: fn(&Sums) -> i64| {
        let best = sums.iter().max_by_key(|(key, sums)| (of(sums), std::cmp::Reverse(*key)));
        best.map(|((_, label), sums)| (name(timeline, *label), of(sums))).filter(|(_, ns)| *ns > 0)
    };
    if let Some((range, ns)) = most(|sums| sums.idle.innermost_host_ns) {
        entity.set("idle_host_range", range);
        entity.set("idle_host_range_ns", ns);
    }
    if let Some((range, ns)) = most(|sums| sums.idle.innermost_blocked_ns) {
        entity.set("idle_blocked_range", range);
        entity.set("idle_blocked_range_ns", ns);
    }
    let prefix = facts.get(parents.device).key.clone();
    let most = (context.most_entities() / device.processes.len().max(1)).clamp(1, MOST_BY_TIME);
    for process in device.processes.iter().take(context.most_entities()) {
        let mut of_process: Vec<(u32, Sums)> =
            of_process(&sums, *process).iter().map(|((_, label), sums)| (*label, *sums)).collect();
        keep_most(timeline, &mut of_process, most);
        let pid = timeline.processes.get(*process as usize).map_or(0, |process| process.pid);
        for (label, sums) in of_process {
            let domain = timeline.ranges.domain_name(*process, label).map(|domain| timeline.name(domain));
            let key = format!(
                "{prefix}/{pid}/{}{}",
                domain.map(|domain| format!("{domain}:")).unwrap_or_default(),
                name(timeline, label)
            );
            let id = facts.add(EntityKind::Range, key, &parents.with_process(*process));
            let entity = facts.get_mut(id);
            entity.set("name", name(timeline, label));
            entity.set_some("domain", domain);
            entity.set("count", sums.count);
            entity.set("sum_ns", sums.sum_ns);
            entity.set("longest_ns", sums.longest_ns);
            entity.set("longest_start_ns", sums.longest_start_ns);
            entity.set_some("first_start_ns", sums.first_start_ns);
            entity.set("idle_ns", sums.idle.idle_ns);
            entity.set("host_ns", sums.idle.host_ns);
            entity.set("innermost_host_ns", sums.idle.innermost_host_ns);
            entity.set("innermost_idle_ns", sums.idle.innermost_idle_ns);
        }
    }
}

fn name(timeline: &Timeline, label: u32) -> &str {
    timeline.ranges.labels.get(label as usize).map_or("", |label| timeline.name(label.name))
}

/// The labels with most host time and most idle time, in the order of their names.
fn keep_most(timeline: &Timeline, labels: &mut Vec<(u32, Sums)>, most: usize) {
    let mut kept = BTreeSet::new();
    for rank in [(|sums: &Sums| sums.sum_ns) as fn(&Sums) -> i64, |sums| sums.idle.idle_ns] {
        labels.sort_by(|a, b| rank(&b.1).cmp(&rank(&a.1)).then_with(|| name(timeline, a.0).cmp(name(timeline, b.0))));
        kept.extend(labels.iter().take(most).map(|(label, _)| *label));
    }
    labels.retain(|(label, _)| kept.contains(label));
    labels.sort_by(|a, b| name(timeline, a.0).cmp(name(timeline, b.0)));
}

/// By process and label.
fn sums(timeline: &Timeline, device: &DeviceContext) -> Vec<((u32, u32), Sums)> {
    let window = device.window();
    let mut sums: Vec<((u32, u32), Sums)> = Vec::new();
    // By label, of the thread that is looked at; labels are met again and again.
    let mut of_thread: Vec<Sums> = vec![Sums::default(); timeline.ranges.labels.len()];
    let mut met = Vec::new();
    for ranges in &timeline.ranges.threads {
        for (times, label) in ranges.times.iter().zip(&ranges.label) {
            let part = times.clip(window);
            if part.start > part.end || (part.len_ns() == 0 && times.start != times.end) {
                continue;
            }
            let Some(sums) = of_thread.get_mut(*label as usize) else { continue };
            if sums.count == 0 {
                met.push(*label);
            }
            sums.add(times.start, part.len_ns());
        }
        let process = timeline.process_of(ranges.thread);
        for label in met.drain(..) {
            sums.push(((process, label), std::mem::take(&mut of_thread[label as usize])));
        }
    }
    sums.extend(device.idle.ranges.iter().map(|(key, idle)| (*key, Sums { idle: *idle, ..Sums::default() })));
    sums.sort_by_key(|(key, _)| *key);
    sums.dedup_by(|next, known| {
        let is_same = next.0 == known.0;
        if is_same {
            known.1.merge(next.1);
        }
        is_same
    });
    sums
}

/// The part of sorted sums that is a process's.
fn of_process(sums: &[((u32, u32), Sums)], process: u32) -> &[((u32, u32), Sums)] {
    let first = sums.partition_point(|((known, _), _)| *known < process);
    let last = sums.partition_point(|((known, _), _)| *known <= process);
    &sums[first..last]
}

impl Sums {
    /// Adds an annotation; they come by start.
    fn add(&mut self, start_ns: i64, part_ns: i64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(part_ns);
        self.first_start_ns = self.first_start_ns.or(Some(start_ns));
        if part_ns > self.longest_ns {
            (self.longest_ns, self.longest_start_ns) = (part_ns, start_ns);
        }
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.idle.merge(other.idle);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.first_start_ns = self.first_start_ns.into_iter().chain(other.first_start_ns).min();
        let is_longer = other.longest_ns > self.longest_ns
            || (other.longest_ns == self.longest_ns && other.longest_start_ns < self.longest_start_ns);
        if is_longer && other.longest_ns > 0 {
            (self.longest_ns, self.longest_start_ns) = (other.longest_ns, other.longest_start_ns);
        }
    }
}
