//! Ranges: flat in the order of the recording first, by thread and in time order in the end.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::Intern;
use super::names::{LabelNames, OTHER_NAME, RawName};
use super::{Builder, at, map};
use crate::limits::MAX_RANGE_LABEL_COUNT;
use crate::timeline::columns::{Label, RangeKind, ThreadRanges};
use crate::timeline::interval::Interval;
use crate::timeline::peers::is_named_as_mpi;
use crate::timeline::{NONE, NameId, Timeline, Times};

/// What a profiler calls the NVTX domain of the calls of MPI that it traces.
const MPI_DOMAIN: &str = "MPI";
/// Threads whose rows keep their memory from chunk to chunk.
const MAX_KEPT_THREADS: usize = 4;

/// The ranges of a chunk.
#[derive(Debug, Default)]
pub(super) struct RangeRows {
    /// By the chunk's index of their thread.
    by_thread: Vec<ThreadRows>,
    of_none: ThreadRows,
}

/// The ranges of one thread, in the order in which they came.
#[derive(Debug, Default)]
struct ThreadRows {
    /// One that was never left ends at `i64::MAX`.
    times: Times,
    label: Vec<u32>,
}

/// What a range is called, before names are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawLabel {
    pub(super) kind: RangeKind,
    pub(super) domain: i64,
    pub(super) name: RawName,
}

impl RangeRows {
    /// Adds a range of a thread, or of [`NONE`].
    pub(super) fn push(&mut self, thread: u32, times: Interval, label: u32) {
        let index = thread as usize;
        if thread != NONE && index >= self.by_thread.len() {
            self.by_thread.resize_with(index + 1, ThreadRows::default);
        }
        let rows = self.by_thread.get_mut(index).unwrap_or(&mut self.of_none);
        rows.times.push(times);
        rows.label.push(label);
    }

    /// Takes all of them away. Memory stays where few threads have it: further ones would keep as much again.
    pub(super) fn clear(&mut self) {
        if self.by_thread.len() > MAX_KEPT_THREADS {
            self.by_thread = Vec::new();
        }
        for rows in self.by_thread.iter_mut().chain([&mut self.of_none]) {
            rows.times.clear();
            rows.label.clear();
        }
    }

    /// Appends the rows to those of their threads.
    pub(super) fn append_to(&self, ranges: &mut BTreeMap<u32, ThreadRanges>, threads: &[u32], labels: &[u32]) {
        let rows = (0_u32..).zip(&self.by_thread).chain([(NONE, &self.of_none)]);
        for (thread, rows) in rows.filter(|(_, rows)| !rows.label.is_empty()) {
            let ranges = ranges.entry(at(threads, thread)).or_default();
            ranges.times.append(&rows.times);
            ranges.label.extend(rows.label.iter().map(|label| at(labels, *label)));
        }
    }
}

/// The ranges of all threads, before they are in order.
pub(super) struct Unordered {
    by_raw_thread: BTreeMap<u32, ThreadRanges>,
    /// The timeline's index of each raw label; absent where all are the same.
    labels: Option<Vec<u32>>,
}

impl Unordered {
    /// Those of each thread in order; one that was never left holds all that begin after it.
    pub(super) fn in_order(self, threads: &[u32]) -> Vec<ThreadRanges> {
        let mut all: Vec<ThreadRanges> = Vec::with_capacity(self.by_raw_thread.len());
        for (thread, mut ranges) in self.by_raw_thread {
            ranges.thread = at(threads, thread);
            if let Some(labels) = &self.labels {
                map(&mut ranges.label, labels);
            }
            ranges.sort();
            all.push(ranges);
        }
        all.sort_by_key(|ranges| ranges.thread);
        all
    }
}

impl Builder {
    /// Takes the ranges out, and resolves their labels and domains.
    pub(super) fn resolve_ranges(&mut self, names: &LabelNames, threads: &[u32]) -> Unordered {
        let of_mpi = self.domains_of_mpi(&names.domains);
        let labels = self.resolve_labels(&names.labels, &of_mpi);
        let is_changed = labels.iter().zip(0..).any(|(label, raw)| *label != raw);
        let timeline = &mut self.timeline;
        for ((thread, domain, _), name) in self.domains.iter().zip(&names.domains) {
            let process = timeline.process_of(at(threads, *thread));
            timeline.ranges.domains.push((process, *domain, *name));
        }
        // The first name of a domain counts.
        timeline.ranges.domains.sort_by_key(|(process, domain, _)| (*process, *domain));
        timeline.ranges.domains.dedup_by_key(|(process, domain, _)| (*process, *domain));
        let labels = is_changed.then_some(labels);
        Unordered { by_raw_thread: std::mem::take(&mut self.ranges), labels }
    }

    /// The NVTX domains in which the profiler itself writes the calls of MPI that it traces, as it did before they had tables of their own.
    fn domains_of_mpi(&self, names: &[NameId]) -> BTreeSet<i64> {
        let domains = self.domains.iter().map(|(_, domain, _)| *domain).zip(names);
        domains.filter(|(_, name)| self.timeline.name(**name) == MPI_DOMAIN).map(|(domain, _)| domain).collect()
    }

    /// The timeline's index of each raw label. Those beyond the limit share one.
    fn resolve_labels(&mut self, names: &[NameId], of_mpi: &BTreeSet<i64>) -> Vec<u32> {
        let timeline = &mut self.timeline;
        let mut known: Intern<Label> = Intern::default();
        // Each device tells each of them apart.
        let most = (MAX_RANGE_LABEL_COUNT / timeline.devices.len().max(1)).min(self.limits.names);
        let mut indices = Vec::with_capacity(names.len());
        for (raw, name) in self.labels.list().iter().zip(names) {
            let is_mpi = of_mpi.contains(&raw.domain) && is_named_as_mpi(timeline.name(*name));
            let mut label = match raw.kind {
                RangeKind::Nvtx if is_mpi => Label { kind: RangeKind::Library, name: *name, domain: 0 },
                kind => Label { kind, name: *name, domain: raw.domain },
            };
            if known.list().len() >= most && !known.has(label) {
                timeline.reached.merged_name_count += 1;
                label = Label { kind: RangeKind::default(), name: timeline.names.intern(OTHER_NAME), domain: 0 };
            }
            indices.push(known.index(label));
        }
        timeline.ranges.labels = known.into_list();
        indices
    }
}

/// Holds the different ranges of all processes to the limit: each device tells each of them apart. Those beyond it share one label.
pub(super) fn bound(timeline: &mut Timeline) {
    bound_to(timeline, MAX_RANGE_LABEL_COUNT / timeline.devices.len().max(1));
}

fn bound_to(timeline: &mut Timeline, most: usize) {
    let label_count = timeline.ranges.labels.len();
    let processes = timeline.ranges.threads.iter().map(|ranges| timeline.process_of(ranges.thread));
    let mut threads: Vec<(u32, usize)> = processes.zip(0..).collect();
    threads.sort_unstable();
    let process_count = threads.chunk_by(|one, next| one.0 == next.0).count();
    if label_count.saturating_mul(process_count) <= most {
        return;
    }
    let other = other_label(timeline);
    let Timeline { ranges, reached, .. } = timeline;
    // Of each label the last process that was seen to have it, and whether it is told apart there.
    let mut seen: Vec<Option<(u32, bool)>> = vec![None; label_count];
    let mut count = 0;
    for (process, thread) in threads {
        let Some(of_thread) = ranges.threads.get_mut(thread) else { continue };
        for label in &mut of_thread.label {
            let Some(seen) = seen.get_mut(*label as usize) else { continue };
            if seen.is_none_or(|(of, _)| of != process) {
                count += 1;
                reached.merged_name_count += u64::from(count > most);
                *seen = Some((process, count <= most));
            }
            if seen.is_some_and(|(_, is_told)| !is_told) {
                *label = other;
            }
        }
    }
}

/// The label that stands for those beyond the limit.
fn other_label(timeline: &mut Timeline) -> u32 {
    let label = Label { kind: RangeKind::default(), name: timeline.names.intern(OTHER_NAME), domain: 0 };
    let labels = &mut timeline.ranges.labels;
    let known = labels.iter().position(|known| *known == label).unwrap_or_else(|| {
        labels.push(label);
        labels.len() - 1
    });
    known as u32
}

/// Ends ranges that were never left.
pub(super) fn close(timeline: &mut Timeline) {
    if timeline.ranges.threads.iter().any(|ranges| ranges.times.has_open()) {
        let end = last_moment(timeline);
        timeline.ranges.threads.iter_mut().for_each(|ranges| ranges.times.close(end));
    }
}

/// The last event of the recording: a range that was never left lasts until then.
fn last_moment(timeline: &Timeline) -> i64 {
    let columns = timeline.op_and_call_times();
    let ends = columns.into_iter().flat_map(Times::iter).map(|times| times.end);
    let of_range = |range: Interval| if range.end == i64::MAX { range.start } else { range.end };
    let left = timeline.ranges.threads.iter().flat_map(|ranges| ranges.times.iter()).map(of_range);
    ends.max().max(left.max()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Thread;

    #[test]
    fn ranges_of_many_processes_are_as_many_as_those_of_one() {
        let mut timeline = Timeline::default();
        let label = |name| Label { kind: RangeKind::default(), name, domain: 0 };
        timeline.ranges.labels = (0..3).map(|name| label(timeline.names.intern(format!("range {name}")))).collect();
        for (process, labels) in [(1, [0, 1, 0]), (0, [2, 2, 0]), (1, [1, 2, 1])] {
            let thread = timeline.threads.len() as u32;
            timeline.threads.push(Thread { process, id: i64::from(thread) });
            let times = (0..3).map(|start| Interval::new(start, start + 1)).collect();
            timeline.ranges.threads.push(ThreadRanges { thread, times, label: labels.to_vec() });
        }
        let labels =
            |timeline: &Timeline| timeline.ranges.threads.iter().map(|ranges| ranges.label.clone()).collect::<Vec<_>>();
        let all = labels(&timeline);
        bound_to(&mut timeline, 6);
        assert_eq!((labels(&timeline), timeline.reached.merged_name_count), (all, 0));
        // Two of the first process, and the first of the other one.
        bound_to(&mut timeline, 3);
        assert_eq!(labels(&timeline), [[0, 3, 0], [2, 2, 0], [3, 3, 3]]);
        assert_eq!(timeline.reached.merged_name_count, 2);
        assert_eq!(timeline.name(timeline.ranges.labels[3].name), OTHER_NAME);
    }
}
