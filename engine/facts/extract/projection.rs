//! Which ranges launched the work of a device: its time is counted for every range that was open on the launching thread.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::{Context, DeviceContext};
use crate::ledger::OpKind;
use crate::limits::MAX_OPEN_RANGE_COUNT;
use crate::text::folded::numbers_folded;
use crate::timeline::columns::RangeKind;
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// A range is told when at least this part of the time lies in it.
pub(super) const MIN_SHARE: f64 = 0.5;

/// Labels whose names differ in numbers only, or in what a framework works on, as one.
pub(super) struct Folded {
    /// The index of each label's group.
    group_of: Vec<u32>,
    /// The name of each group: that of its only label, or with `#` for the numbers.
    names: Vec<String>,
}

impl Folded {
    pub(super) fn new(timeline: &Timeline) -> Self {
        let mut known: HashMap<String, u32> = HashMap::default();
        // A name may have a label in each of many domains.
        let mut of_name: HashMap<(NameId, bool), u32> = HashMap::default();
        let (mut group_of, mut names): (Vec<u32>, Vec<String>) = (Vec::new(), Vec::new());
        for label in 0..timeline.ranges.labels.len() as u32 {
            let key = timeline
                .ranges
                .labels
                .get(label as usize)
                .map(|label| (label.name, label.kind == RangeKind::PythonFrame));
            if let Some(group) = key.and_then(|key| of_name.get(&key)) {
                group_of.push(*group);
                continue;
            }
            let name = told_name(timeline, label);
            let folded = numbers_folded(without_object(name).as_deref().unwrap_or(name));
            let group = *known.entry(folded.clone()).or_insert_with(|| {
                names.push(name.to_owned());
                (names.len() - 1) as u32
            });
            if let Some(known) = names.get_mut(group as usize).filter(|known| *known != name) {
                *known = folded;
            }
            of_name.extend(key.map(|key| (key, group)));
            group_of.push(group);
        }
        Self { group_of, names }
    }

    pub(super) fn group_of(&self, label: u32) -> Option<u32> {
        self.group_of.get(label as usize).copied()
    }

    pub(super) fn name(&self, group: u32) -> &str {
        self.names.get(group as usize).map_or("", |name| name)
    }
}

/// The name of a framework's function without what it works on: `FSDP::pre_forward (encoder.layer.3)`.
fn without_object(name: &str) -> Option<String> {
    let (function, object) = name.split_once(" (")?;
    (function.contains("::") && !function.contains(' ') && object.ends_with(')')).then(|| format!("{function} (…)"))
}

/// What a range is called where it is told of: of a function of Python the folders of its file are left out, they are private, and
/// of a built-in one where its object lay in memory.
pub(super) fn told_name(timeline: &Timeline, label: u32) -> &str {
    let Some(label) = timeline.ranges.labels.get(label as usize) else { return "" };
    let name = timeline.name(label.name);
    let is_frame = label.kind == RangeKind::PythonFrame;
    if let Some(object) = name.find(" object at 0x").filter(|_| is_frame) {
        return name.get(..object).unwrap_or(name).trim_start_matches('<');
    }
    // `/folders/file.py(12): function`; folders may have brackets of their own.
    let place = name.find("): ").and_then(|end| name.get(..end)?.rfind('(')).unwrap_or(name.len());
    let folders = name.get(..place).and_then(|path| path.rfind(['/', '\\'])).map_or(0, |end| end + 1);
    if is_frame { name.get(folders..).unwrap_or(name) } else { name }
}

/// Time in the ranges of a group.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InGroup {
    /// In them, or in what lies in them.
    pub(super) all_ns: i64,
    /// Where no other range lies further inside.
    pub(super) innermost_ns: i64,
}

/// The group that is told of a time: that where half of it lies with no other further inside; else the smallest that at least
/// half of it lies in, the stack walked up from where most of it lies.
pub(super) fn telling(groups: &BTreeMap<u32, InGroup>, whole_ns: i64) -> Option<(u32, i64)> {
    let holds_half = |in_group: &InGroup| in_group.all_ns as f64 >= MIN_SHARE * whole_ns as f64;
    let candidates = groups.iter().filter(|(_, in_group)| in_group.all_ns > 0 && holds_half(in_group));
    let is_innermost = |in_group: &InGroup| in_group.innermost_ns as f64 >= MIN_SHARE * whole_ns as f64;
    let order = |(group, in_group): &(&u32, &InGroup)| {
        (!is_innermost(in_group), in_group.all_ns, -in_group.innermost_ns, **group)
    };
    let smallest = candidates.min_by_key(order)?;
    Some((*smallest.0, smallest.1.all_ns.min(whole_ns)))
}

/// What the work that ranges launched took.
#[derive(Debug, Default)]
pub(super) struct Projection {
    /// By process and label: the sum of the time of operations launched in them.
    pub(super) sum_ns: HashMap<(u32, u32), i64>,
    /// Exposed copies by group of labels.
    pub(super) exposed_copies: BTreeMap<u32, InGroup>,
    /// Exposed copies in all, those that no range launched among them.
    pub(super) exposed_copy_ns: i64,
}

impl Projection {
    pub(super) fn new(context: &Context<'_>, device: &DeviceContext, folded: &Folded) -> Self {
        let timeline = context.timeline;
        let mut launched: Vec<Launched> = Vec::new();
        let mut projection = Self::default();
        for op in device.ops.in_window() {
            let part = op.interval().clip(device.window());
            let is_copy = op.kind == OpKind::Copy;
            let exposed_ns = if is_copy { part.len_ns() - device.tally.kernels_run.overlap_ns(part) } else { 0 };
            projection.exposed_copy_ns += exposed_ns;
            let Some(call) = op.call(timeline) else { continue };
            let thread = timeline.api.thread.get(call as usize).copied().unwrap_or(NONE);
            if thread != NONE {
                let at = timeline.api.times.start(call as usize);
                launched.push(Launched { thread, at, ns: part.len_ns(), exposed_ns });
            }
        }
        launched.sort_unstable_by_key(|launched| (launched.thread, launched.at));
        // By label, of the thread that is looked at: they are met again and again.
        let mut sums = vec![0_i64; folded.group_of.len()];
        for of_thread in launched.chunk_by(|a, b| a.thread == b.thread) {
            let thread = of_thread.first().map_or(NONE, |first| first.thread);
            if let Some(ranges) = timeline.ranges.of_thread(thread) {
                let process = timeline.process_of(thread);
                projection.of_thread(process, (ranges, of_thread), folded, &mut sums);
            }
        }
        projection
    }

    fn of_thread(
        &mut self,
        process: u32,
        (ranges, launched): (&ThreadRanges, &[Launched]),
        folded: &Folded,
        sums: &mut [i64],
    ) {
        let mut walk = OpenRanges::of(ranges);
        let mut met: Vec<u32> = Vec::new();
        for work in launched {
            let open = walk.at(work.at, Some);
            for (depth, (_, label)) in open.iter().enumerate() {
                let is_again = open[depth + 1..].iter().any(|(_, other)| other == label);
                if let Some(sum) = sums.get_mut(*label as usize).filter(|_| !is_again) {
                    if *sum == 0 {
                        met.push(*label);
                    }
                    *sum = sum.saturating_add(work.ns);
                }
            }
            if work.exposed_ns > 0 {
                self.book_exposed(open, work.exposed_ns, folded);
            }
        }
        for label in met {
            let sum = self.sum_ns.entry((process, label)).or_default();
            *sum = sum.saturating_add(std::mem::take(&mut sums[label as usize]));
        }
    }

    /// Counts an exposed copy for each group that is open, once.
    fn book_exposed(&mut self, open: &[(i64, u32)], exposed_ns: i64, folded: &Folded) {
        for (depth, (_, label)) in open.iter().enumerate() {
            let further_in = &open[depth + 1..];
            let Some(group) = folded.group_of(*label) else { continue };
            let is_again = further_in.iter().any(|(_, other)| folded.group_of(*other) == Some(group));
            let in_group = self.exposed_copies.entry(group).or_default();
            in_group.all_ns += if is_again { 0 } else { exposed_ns };
            in_group.innermost_ns += if further_in.is_empty() { exposed_ns } else { 0 };
        }
    }
}

/// The ranges of a thread that are open at one moment after the other.
pub(super) struct OpenRanges<'timeline> {
    ranges: &'timeline ThreadRanges,
    next: usize,
    /// When each ends, and what stands for it, the outermost first.
    open: Vec<(i64, u32)>,
}

impl<'timeline> OpenRanges<'timeline> {
    pub(super) fn of(ranges: &'timeline ThreadRanges) -> Self {
        Self { ranges, next: 0, open: Vec::new() }
    }

    /// Those open at a moment, no earlier than the one before; of a label only where `key` says what stands for it.
    pub(super) fn at(&mut self, at: i64, key: impl Fn(u32) -> Option<u32>) -> &[(i64, u32)] {
        self.open.retain(|(end, _)| *end > at);
        while self.next < self.ranges.times.len() && self.ranges.times.start(self.next) <= at {
            let end = self.ranges.times.at(self.next).end;
            if end > at
                && self.open.len() < MAX_OPEN_RANGE_COUNT
                && let Some(key) = key(self.ranges.label[self.next])
            {
                self.open.push((end, key));
            }
            self.next += 1;
        }
        &self.open
    }
}

/// An operation by the call that launched it.
struct Launched {
    thread: u32,
    at: i64,
    ns: i64,
    exposed_ns: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_group_with_half_of_the_time_is_told() {
        let group = |all_ns, innermost_ns| InGroup { all_ns, innermost_ns };
        let of = |groups: &[(u32, InGroup)]| telling(&groups.iter().copied().collect(), 100);
        assert_eq!(of(&[(0, group(100, 0)), (1, group(60, 10)), (2, group(40, 40))]), Some((1, 60)));
        assert_eq!(of(&[(0, group(49, 49)), (1, group(40, 40))]), None);
        // A loop that holds half of the time, and in it and before it what holds nearly all of it.
        assert_eq!(of(&[(0, group(52, 0)), (1, group(95, 95))]), Some((1, 95)));
        assert_eq!(of(&[]), None);
    }
}
