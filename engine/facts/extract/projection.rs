//! Which ranges launched the work of a device: its time is counted for every range that was open on the launching thread.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use foldhash::HashMap;

use super::{Context, DeviceContext};
use crate::ledger::OpKind;
use crate::limits::max_open_ranges;
use crate::text::folded::numbers_folded;
use crate::timeline::columns::{Direction, RangeKind};
use crate::timeline::open::Open;
use crate::timeline::union::Follower;
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// A range is told when at least this part of the time lies in it.
pub(super) const MIN_SHARE: f64 = 0.5;

/// How the profiler of PyTorch begins the names of steps.
pub(super) const STEP: &str = "ProfilerStep";
/// What autograd calls the backward pass of a copy from one device to another: of `.to()`, and of `copy_`.
pub(super) const COPY_BACKWARDS: [&str; 2] = ["ToCopyBackward", "CopyBackwards"];

/// Labels whose names differ in numbers only, or in what a framework works on, as one.
pub(super) struct Folded {
    /// The index of each label's group.
    group_of: Vec<u32>,
    /// The name of each group: that of its only label, or with `#` for the numbers.
    names: Vec<String>,
}

impl Context<'_> {
    /// The labels of ranges, told apart as readers tell them, once for all devices.
    pub(super) fn folded(&self) -> &Folded {
        self.folded.get_or_init(|| Folded::new(self.timeline))
    }
}

impl Folded {
    fn new(timeline: &Timeline) -> Self {
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

    /// Of each group, whether it carries gradients from one device to another; empty where none does.
    fn carrying_gradients(&self) -> Vec<bool> {
        let carries = |name: &String| COPY_BACKWARDS.iter().any(|mark| name.contains(mark));
        let all: Vec<bool> = self.names.iter().map(carries).collect();
        if all.contains(&true) { all } else { Vec::new() }
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

impl InGroup {
    pub(super) fn add(&mut self, other: Self) {
        self.all_ns = self.all_ns.saturating_add(other.all_ns);
        self.innermost_ns = self.innermost_ns.saturating_add(other.innermost_ns);
    }
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
    /// Those of them to the host, in the groups that carry gradients from one device to another.
    pub(super) gradient_copies: BTreeMap<u32, InGroup>,
    /// Exposed copies in all, those that no range launched among them.
    pub(super) exposed_copy_ns: i64,
}

impl Projection {
    pub(super) fn new(context: &Context<'_>, device: &DeviceContext, folded: &Folded) -> Self {
        let timeline = context.timeline;
        let mut projection = Self::default();
        let mut kernels = Follower::new(&device.tally.kernels_run);
        // How long what each call asked for takes; `None` of calls that asked for nothing here.
        let mut of_calls: Vec<Option<NonZeroU64>> = vec![None; timeline.api.len()];
        let mut exposed: Vec<Exposed> = Vec::new();
        for op in device.ops.in_window() {
            let part = op.interval().clip(device.window());
            let is_copy = op.kind == OpKind::Copy;
            let exposed_ns = if is_copy { part.len_ns() - kernels.overlap_ns(part) } else { 0 };
            projection.exposed_copy_ns += exposed_ns;
            let Some(call) = op.call(timeline) else { continue };
            if let Some(of_call) = of_calls.get_mut(call as usize) {
                let before = of_call.map_or(1, NonZeroU64::get);
                *of_call = NonZeroU64::new(before.saturating_add(part.len_ns().unsigned_abs()));
            }
            if exposed_ns > 0 {
                let thread = timeline.api.thread.get(call as usize).copied().unwrap_or(NONE);
                let at = timeline.api.times.start(call as usize);
                let is_to_host = timeline.copies.direction.get(op.index as usize) == Some(&Direction::DeviceToHost);
                exposed.push(Exposed { thread, at, ns: exposed_ns, is_to_host });
            }
        }
        exposed.sort_unstable_by_key(|exposed| (exposed.thread, exposed.at));
        let (gradients, device_count) = (folded.carrying_gradients(), timeline.devices.len());
        for ranges in timeline.ranges.threads.iter().filter(|ranges| ranges.thread != NONE) {
            let process = timeline.process_of(ranges.thread);
            projection.of_thread(context, (process, ranges), &of_calls);
            let first = exposed.partition_point(|exposed| exposed.thread < ranges.thread);
            let last = exposed.partition_point(|exposed| exposed.thread <= ranges.thread);
            let exposed = exposed.get(first..last).unwrap_or_default();
            projection.copies_of_thread((ranges, exposed), folded, device_count);
            projection.gradients_of_thread((ranges, exposed), folded, &gradients, device_count);
        }
        projection
    }

    /// Adds what a thread launched, in the order of its calls.
    fn of_thread(
        &mut self,
        context: &Context<'_>,
        (process, ranges): (u32, &ThreadRanges),
        of_calls: &[Option<NonZeroU64>],
    ) {
        let mut labels = OpenRanges::of(ranges, context.timeline.devices.len(), Some);
        for call in context.calls.of_thread(ranges.thread) {
            if let Some(ns) = of_calls.get(*call as usize).copied().flatten() {
                let at = context.timeline.api.times.start(*call as usize);
                labels.book(at, i64::try_from(ns.get() - 1).unwrap_or(i64::MAX));
            }
        }
        for (label, sum) in labels.finish() {
            let of_label = self.sum_ns.entry((process, label)).or_default();
            *of_label = of_label.saturating_add(sum.all_ns);
        }
    }

    /// Adds its exposed copies.
    fn copies_of_thread(
        &mut self,
        (ranges, exposed): (&ThreadRanges, &[Exposed]),
        folded: &Folded,
        device_count: usize,
    ) {
        if exposed.is_empty() {
            return;
        }
        let mut groups = OpenRanges::of(ranges, device_count, |label| folded.group_of(label));
        exposed.iter().for_each(|copy| groups.book(copy.at, copy.ns));
        for (group, sum) in groups.finish() {
            self.exposed_copies.entry(group).or_default().add(sum);
        }
    }

    /// Copies to the host, in the groups that `gradients` marks.
    fn gradients_of_thread(
        &mut self,
        (ranges, exposed): (&ThreadRanges, &[Exposed]),
        folded: &Folded,
        gradients: &[bool],
        device_count: usize,
    ) {
        if gradients.is_empty() {
            return;
        }
        let carries = |group: &u32| gradients.get(*group as usize).copied().unwrap_or(false);
        let mut groups = OpenRanges::of(ranges, device_count, |label| folded.group_of(label).filter(carries));
        for copy in exposed.iter().filter(|copy| copy.is_to_host) {
            groups.book(copy.at, copy.ns);
        }
        for (group, sum) in groups.finish() {
            self.gradient_copies.entry(group).or_default().add(sum);
        }
    }
}

/// The ranges of a thread that are open at one moment after the other, and the time that is booked while they are.
pub(super) struct OpenRanges<'timeline, Key> {
    ranges: &'timeline ThreadRanges,
    /// What stands for a label; nothing where it does not count.
    key: Key,
    next: usize,
    open: Open<Booked>,
    /// How many of them have each key.
    open_of: HashMap<u32, u32>,
    /// All that was booked, in a range or not.
    booked_ns: i64,
    sums: HashMap<u32, InGroup>,
    most_open: usize,
}

/// A range that is open.
struct Booked {
    key: u32,
    /// What was booked when its key was opened; `None` where a range further out has the same key.
    since_ns: Option<i64>,
    /// What was booked where it was the innermost.
    innermost_ns: i64,
}

impl<'timeline, Key: Fn(u32) -> Option<u32>> OpenRanges<'timeline, Key> {
    /// Of a thread of a recording of so many devices.
    pub(super) fn of(ranges: &'timeline ThreadRanges, device_count: usize, key: Key) -> Self {
        let (open, open_of, sums) = (Open::new(), HashMap::default(), HashMap::default());
        let most_open = max_open_ranges(device_count);
        Self { ranges, key, next: 0, open, open_of, booked_ns: 0, sums, most_open }
    }

    /// Books a time for every key that is open at a moment, no earlier than the one before.
    pub(super) fn book(&mut self, at: i64, ns: i64) {
        self.close(at);
        self.enter(at);
        self.booked_ns = self.booked_ns.saturating_add(ns);
        if let Some(innermost) = self.open.last_mut() {
            innermost.innermost_ns = innermost.innermost_ns.saturating_add(ns);
        }
    }

    /// What was booked, by key.
    pub(super) fn finish(mut self) -> HashMap<u32, InGroup> {
        self.close(i64::MAX);
        self.sums
    }

    fn enter(&mut self, at: i64) {
        while let Some(range) = self.ranges.times.get(self.next).filter(|range| range.start <= at) {
            let label = self.ranges.label[self.next];
            self.next += 1;
            if range.end <= at || self.open.len() >= self.most_open {
                continue;
            }
            let Some(key) = (self.key)(label) else { continue };
            let count = self.open_of.entry(key).or_default();
            *count += 1;
            let since_ns = (*count == 1).then_some(self.booked_ns);
            self.open.push(range.end, Booked { key, since_ns, innermost_ns: 0 });
        }
    }

    /// Closes what ends by a moment.
    fn close(&mut self, at: i64) {
        while let Some(ended) = self.open.pop_ended(at) {
            self.settle(&ended);
        }
    }

    /// Adds up what was booked since the key of a range was opened, unless it still is.
    fn settle(&mut self, ended: &Booked) {
        let mut sum = InGroup { all_ns: 0, innermost_ns: ended.innermost_ns };
        let left = self.open_of.get_mut(&ended.key).map_or(0, |count| {
            *count = count.saturating_sub(1);
            *count
        });
        if let Some(since_ns) = ended.since_ns {
            let mut still = self.open.iter_mut().filter(|_| left > 0);
            match still.find(|still| still.key == ended.key) {
                // Opened further in, and ends later.
                Some(still) => still.since_ns = Some(since_ns),
                None => sum.all_ns = self.booked_ns - since_ns,
            }
        }
        if sum.all_ns > 0 || sum.innermost_ns > 0 {
            self.sums.entry(ended.key).or_default().add(sum);
        }
    }
}

/// A copy, as far as it is exposed, by the call that asked for it.
struct Exposed {
    thread: u32,
    at: i64,
    ns: i64,
    /// Whether it is one from a device to the host.
    is_to_host: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::interval::Interval;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn time_is_booked_once_for_each_key_that_is_open(
            all in proptest::collection::vec((0..100_i64, 0..60_i64, 0..6_u32), 0..25),
            works in proptest::collection::vec((0..180_i64, 0..9_i64), 0..25),
        ) {
            let mut ranges = ThreadRanges { thread: 0, ..ThreadRanges::default() };
            for (start, length, label) in &all {
                ranges.times.push(Interval::new(*start, start + length));
                ranges.label.push(*label);
            }
            ranges.sort();
            let mut works = works;
            works.sort_unstable();
            // Of the labels two have one key, and one has none.
            let key = |label: u32| (label > 0).then_some(label / 2);
            let mut walk = OpenRanges::of(&ranges, 1, key);
            works.iter().for_each(|(at, ns)| walk.book(*at, *ns));
            let sums = walk.finish();
            for wanted in 0..4 {
                let mut expected = (0, 0);
                for (at, ns) in &works {
                    let is_open = |range: &Interval| range.start <= *at && *at < range.end;
                    let open = ranges.times.iter().zip(&ranges.label).filter(|(range, _)| is_open(range));
                    let open: Vec<u32> = open.filter_map(|(_, label)| key(*label)).collect();
                    expected.0 += if open.contains(&wanted) { *ns } else { 0 };
                    expected.1 += if open.last() == Some(&wanted) { *ns } else { 0 };
                }
                let sum = sums.get(&wanted).copied().unwrap_or_default();
                prop_assert_eq!((sum.all_ns, sum.innermost_ns), expected);
            }
        }
    }

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
