//! Facts of annotations: how long, how often, and how much idle time of a device they explain.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::{Context, DeviceContext, Parents};
use crate::facts::{EntityKind, Facts};
use crate::ledger::Activity;
use crate::ledger::idle::Piece;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, Timeline};

/// Annotations reported for one device and process, by host time and by idle time each: a recording can have a hundred
/// thousand names, and a reader looks at the ones that matter.
const MOST_BY_TIME: usize = 100;

/// Annotations of one thread that may be open at once; those that are entered beyond it explain no idle time. Each
/// moment is booked under all that are open.
const DEEPEST: usize = 200;

/// What one annotation text of one process adds up to on one device.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: i64,
    sum_ns: i64,
    longest_ns: i64,
    longest_start_ns: i64,
    first_start_ns: Option<i64>,
    idle_ns: i64,
    host_ns: i64,
    innermost_host_ns: i64,
    innermost_idle_ns: i64,
    innermost_blocked_ns: i64,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, facts: &mut Facts) {
    let timeline = context.timeline;
    if timeline.ranges.is_empty() {
        return;
    }
    let (sums, too_deep) = sums(timeline, device);
    let entity = facts.get_mut(parents.device);
    entity.set_some("too_deep_range_count", Some(too_deep).filter(|count| *count > 0));
    let most = |of: fn(&Sums) -> i64| {
        let best = sums.iter().max_by_key(|(key, sums)| (of(sums), std::cmp::Reverse(**key)));
        best.map(|((_, label), sums)| (name(timeline, *label), of(sums))).filter(|(_, ns)| *ns > 0)
    };
    if let Some((range, ns)) = most(|sums| sums.innermost_host_ns) {
        entity.set("idle_host_range", range);
        entity.set("idle_host_range_ns", ns);
    }
    if let Some((range, ns)) = most(|sums| sums.innermost_blocked_ns) {
        entity.set("idle_blocked_range", range);
        entity.set("idle_blocked_range_ns", ns);
    }
    let prefix = facts.get(parents.device).key.clone();
    let most = (context.most_entities() / device.processes.len().max(1)).clamp(1, MOST_BY_TIME);
    for process in device.processes.iter().take(context.most_entities()) {
        let mut of_process: Vec<(u32, Sums)> =
            sums.range((*process, 0)..=(*process, NONE)).map(|((_, label), sums)| (*label, *sums)).collect();
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
            entity.set("idle_ns", sums.idle_ns);
            entity.set("host_ns", sums.host_ns);
            entity.set("innermost_host_ns", sums.innermost_host_ns);
            entity.set("innermost_idle_ns", sums.innermost_idle_ns);
        }
    }
}

fn name(timeline: &Timeline, label: u32) -> &str {
    timeline.ranges.labels.get(label as usize).map_or("", |label| timeline.name(label.name))
}

/// The labels with most host time and most idle time, in the order of their names.
fn keep_most(timeline: &Timeline, labels: &mut Vec<(u32, Sums)>, most: usize) {
    let mut kept = BTreeSet::new();
    for rank in [(|sums: &Sums| sums.sum_ns) as fn(&Sums) -> i64, |sums| sums.idle_ns] {
        labels.sort_by(|a, b| rank(&b.1).cmp(&rank(&a.1)).then_with(|| name(timeline, a.0).cmp(name(timeline, b.0))));
        kept.extend(labels.iter().take(most).map(|(label, _)| *label));
    }
    labels.retain(|(label, _)| kept.contains(label));
    labels.sort_by(|a, b| name(timeline, a.0).cmp(name(timeline, b.0)));
}

/// By process and label; and how many annotations lie too deep to be told of idle time.
fn sums(timeline: &Timeline, device: &DeviceContext) -> (BTreeMap<(u32, u32), Sums>, i64) {
    let ranges = &timeline.ranges;
    let window = device.window();
    let mut sums: FxHashMap<(u32, u32), Sums> = FxHashMap::default();
    let rows = ranges.start.iter().zip(&ranges.end).zip(ranges.label.iter().zip(&ranges.thread));
    for ((start, end), (label, thread)) in rows {
        let part = Interval::new(*start, *end).clip(window);
        if part.start > part.end || (part.len_ns() == 0 && start != end) {
            continue;
        }
        let sums = sums.entry((timeline.process_of(*thread), *label)).or_default();
        sums.count += 1;
        sums.sum_ns = sums.sum_ns.saturating_add(part.len_ns());
        sums.first_start_ns = Some(sums.first_start_ns.map_or(*start, |first| first.min(*start)));
        if part.len_ns() > sums.longest_ns {
            (sums.longest_ns, sums.longest_start_ns) = (part.len_ns(), *start);
        }
    }
    let too_deep = attribute(timeline, &device.idle.pieces, |piece, innermost, open| {
        let length = piece.interval.len_ns();
        let is_host = piece.activity == Activity::Host;
        let process = timeline.process_of(piece.thread);
        if innermost != NONE {
            let sums = sums.entry((process, ranges.label[innermost as usize])).or_default();
            sums.innermost_idle_ns += length;
            sums.innermost_host_ns += if is_host { length } else { 0 };
            sums.innermost_blocked_ns += if piece.activity == Activity::Blocked { length } else { 0 };
        }
        for label in open {
            let sums = sums.entry((process, *label)).or_default();
            sums.idle_ns += length;
            sums.host_ns += if is_host { length } else { 0 };
        }
    });
    (sums.into_iter().collect(), too_deep)
}

/// Cuts pieces of idle time at the edges of the annotations of their thread, and calls `visit` for each part with the
/// innermost annotation (its place, or [`NONE`]) and the labels of all that enclose it, each once. Returns how many
/// annotations were left out because too many were open.
pub(super) fn attribute(timeline: &Timeline, pieces: &[Piece], mut visit: impl FnMut(&Piece, u32, &[u32])) -> i64 {
    let mut by_thread: BTreeMap<u32, Vec<&Piece>> = BTreeMap::new();
    for piece in pieces {
        by_thread.entry(piece.thread).or_default().push(piece);
    }
    let mut ranges: BTreeMap<u32, Vec<u32>> = by_thread.keys().map(|thread| (*thread, Vec::new())).collect();
    for (place, thread) in (0_u32..).zip(&timeline.ranges.thread) {
        if let Some(list) = ranges.get_mut(thread) {
            list.push(place);
        }
    }
    let mut too_deep = 0;
    for (thread, pieces) in by_thread {
        let mut places = ranges.remove(&thread).unwrap_or_default();
        let key = |place: &u32| {
            (timeline.ranges.start[*place as usize], std::cmp::Reverse(timeline.ranges.end[*place as usize]))
        };
        if !places.is_sorted_by_key(key) {
            places.sort_by_key(key);
        }
        let mut nest = Nest { timeline, places: &places, next: 0, open: Vec::new(), labels: Vec::new(), too_deep: 0 };
        nest.cut(&pieces, &mut visit);
        too_deep += nest.too_deep;
    }
    too_deep
}

/// The annotations of one thread that are open at a moment.
struct Nest<'timeline> {
    timeline: &'timeline Timeline,
    /// By start, outer ones first.
    places: &'timeline [u32],
    next: usize,
    /// Open ones in the order in which they were entered.
    open: Vec<u32>,
    labels: Vec<u32>,
    too_deep: i64,
}

impl Nest<'_> {
    fn cut(&mut self, pieces: &[&Piece], visit: &mut impl FnMut(&Piece, u32, &[u32])) {
        for piece in pieces {
            let mut now = piece.interval.start;
            while now < piece.interval.end {
                self.advance(now);
                let until = self.next_edge(now).min(piece.interval.end);
                let part = Piece { interval: Interval::new(now, until), ..**piece };
                visit(&part, self.open.last().copied().unwrap_or(NONE), &self.labels);
                now = until;
            }
        }
    }

    /// Opens and closes annotations up to a moment.
    fn advance(&mut self, now: i64) {
        let ranges = &self.timeline.ranges;
        let before = (self.next, self.open.len());
        while let Some(place) = self.places.get(self.next).copied().filter(|place| ranges.start[*place as usize] <= now)
        {
            self.next += 1;
            if ranges.end[place as usize] <= now {
                continue;
            }
            if self.open.len() >= DEEPEST {
                self.open.retain(|place| ranges.end[*place as usize] > now);
            }
            match self.open.len() {
                DEEPEST.. => self.too_deep += 1,
                _ => self.open.push(place),
            }
        }
        self.open.retain(|place| ranges.end[*place as usize] > now);
        if before != (self.next, self.open.len()) {
            self.labels = self.open.iter().map(|place| ranges.label[*place as usize]).collect();
            self.labels.sort_unstable();
            self.labels.dedup();
        }
    }

    fn next_edge(&self, now: i64) -> i64 {
        let ranges = &self.timeline.ranges;
        let next_start = self.places.get(self.next).map(|place| ranges.start[*place as usize]);
        let ends = self.open.iter().map(|place| ranges.end[*place as usize]);
        ends.chain(next_start).filter(|edge| *edge > now).min().unwrap_or(i64::MAX)
    }
}
