//! Steps: what a program does over and over, told from annotations that repeat.
//!
//! A sequence of kernels that repeats is not taken for a step: as often as not it is a layer of a model.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Context, DeviceContext, Parents, device};
use crate::facts::{EntityKind, Facts};
use crate::ledger::OpKind;
use crate::ledger::idle::main_thread;
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;

/// Fewer steps than this show no repetition.
const FEWEST: usize = 3;
/// More are no steps of a program but its inner loops.
const MOST: usize = 10_000;
/// Steps that cover a smaller part of the window than this are not what the program does.
const COVERED_SHARE: f64 = 0.5;
/// Leading steps longer than this many medians are warm-up.
const WARM_UP_FACTOR: f64 = 1.5;
/// Steps that get an entity of their own: all of a short run, the slowest ones of a long run.
const REPORTED: usize = 200;

/// The steps of one device: each begins where the one before ends.
#[derive(Debug)]
struct Steps {
    name: String,
    intervals: Vec<Interval>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, facts: &mut Facts) {
    let Some(steps) = from_ranges(context, device) else { return };
    let mut lengths: Vec<i64> = steps.intervals.iter().map(|step| step.len_ns()).collect();
    let Some(median) = device::median(&mut lengths) else { return };
    let is_long = |step: &&Interval| step.len_ns() as f64 > WARM_UP_FACTOR * median as f64;
    let warm_up = steps.intervals.iter().take_while(is_long).count();
    let steady = &steps.intervals[warm_up..];
    let entity = facts.get_mut(parents.device);
    entity.set("step_name", steps.name.as_str());
    entity.set("step_count", steps.intervals.len() as i64);
    entity.set("step_median_ns", median);
    entity.set("warm_up_step_count", warm_up as i64);
    entity.set("warm_up_ns", steady.first().map_or(0, |first| first.start - device.window().start));
    if let (Some(first), Some(last)) = (steady.first(), steady.last()) {
        let whole = Interval::new(first.start, last.end);
        entity.set("steady_start_ns", whole.start);
        entity.set("steady_ns", whole.len_ns());
        entity.set("steady_idle_ns", whole.len_ns() - device.tally.busy.overlap_ns(whole));
        entity.set("steady_kernel_ns", device.tally.kernels_run.overlap_ns(whole));
    }
    if let Some((number, slowest)) =
        (warm_up..).zip(steady).max_by_key(|(number, step)| (step.len_ns(), -(*number as i64)))
    {
        entity.set("step_slowest_ns", slowest.len_ns());
        entity.set("step_slowest_number", number as i64 + 1);
        entity.set("step_slowest_start_ns", slowest.start);
        entity.set("step_excess_ns", steady.iter().map(|step| (step.len_ns() - median).max(0)).sum::<i64>());
    }
    entities(context.timeline, device, parents, &steps, warm_up, facts);
}

fn entities(
    timeline: &Timeline,
    device: &DeviceContext,
    parents: &Parents<'_>,
    steps: &Steps,
    warm_up: usize,
    facts: &mut Facts,
) {
    let mut shown: Vec<(usize, Interval)> = steps.intervals.iter().copied().enumerate().collect();
    shown.sort_by_key(|(number, step)| (-step.len_ns(), *number));
    shown.truncate(REPORTED);
    shown.sort_by_key(|(number, _)| *number);
    let prefix = facts.get(parents.device).key.clone();
    let mut median = Medians::default();
    let mut ids = Vec::new();
    for (number, step) in shown {
        let busy = device.tally.busy.overlap_ns(step);
        let kernels = device.tally.kernels_run.overlap_ns(step);
        let first = device.ops.ops.partition_point(|op| op.start < step.start);
        let inside = device.ops.ops[first..].iter().take_while(|op| op.start < step.end);
        let (mut kernel_count, mut copy_bytes) = (0, 0_i64);
        for op in inside {
            kernel_count += i64::from(op.kind.is_kernel());
            if op.kind == OpKind::Copy {
                copy_bytes = copy_bytes.saturating_add(timeline.copies.bytes[op.index as usize]);
            }
        }
        let id = facts.add(EntityKind::Step, format!("{prefix}/step{}", number + 1), &[parents.device, parents.run]);
        let entity = facts.get_mut(id);
        entity.set("number", number as i64 + 1);
        entity.set("is_warm_up", number < warm_up);
        entity.set("start_ns", step.start);
        entity.set("duration_ns", step.len_ns());
        entity.set("kernel_ns", kernels);
        entity.set("other_busy_ns", busy - kernels);
        entity.set("idle_ns", step.len_ns() - busy);
        entity.set("kernel_count", kernel_count);
        entity.set("copy_bytes", copy_bytes);
        median.push(kernels, step.len_ns() - busy, kernel_count);
        ids.push(id);
    }
    let (kernel_ns, idle_ns, kernel_count) = median.get();
    for id in ids {
        let entity = facts.get_mut(id);
        entity.set_some("kernel_median_ns", kernel_ns);
        entity.set_some("idle_median_ns", idle_ns);
        entity.set_some("kernel_median_count", kernel_count);
    }
}

#[derive(Debug, Default)]
struct Medians(Vec<i64>, Vec<i64>, Vec<i64>);

impl Medians {
    fn push(&mut self, kernel_ns: i64, idle_ns: i64, kernel_count: i64) {
        self.0.push(kernel_ns);
        self.1.push(idle_ns);
        self.2.push(kernel_count);
    }

    fn get(mut self) -> (Option<i64>, Option<i64>, Option<i64>) {
        (device::median(&mut self.0), device::median(&mut self.1), device::median(&mut self.2))
    }
}

/// A text with its numbers taken out: `ProfilerStep#7` and `step 12 of 90` are told by what stays.
fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if !character.is_ascii_digit() {
            plain.push(character);
        } else if !plain.ends_with('#') {
            plain.push('#');
        }
    }
    plain
}

/// Words that programs call their steps by, the most telling first.
const STEP_WORDS: [&str; 5] = ["profilerstep", "step", "iter", "batch", "epoch"];

/// Annotations of the launching thread that repeat, do not nest in each other, and cover the window: those named like a
/// step, else those that nothing encloses and that follow each other closely. Operators that a framework annotates (`aten::mul`) are no steps.
fn from_ranges(context: &Context<'_>, device: &DeviceContext) -> Option<Steps> {
    let timeline = context.timeline;
    let ranges = &timeline.ranges;
    let thread = main_thread(timeline, &device.ops)?;
    let mut places: Vec<usize> = (0..ranges.len()).filter(|place| ranges.thread[*place] == thread).collect();
    places.sort_by_key(|place| (ranges.start[*place], std::cmp::Reverse(ranges.end[*place])));
    let mut names: FxHashMap<u32, (usize, String)> = FxHashMap::default();
    let mut candidates: BTreeMap<(usize, String), Vec<Interval>> = BTreeMap::new();
    let mut outermost_end = i64::MIN;
    for place in places {
        let interval = Interval::new(ranges.start[place], ranges.end[place]);
        let is_outermost = interval.start >= outermost_end;
        outermost_end = outermost_end.max(interval.end);
        let label = ranges.label[place];
        let key = names.entry(label).or_insert_with(|| rank(timeline.name(ranges.labels[label as usize].name)));
        if key.0 > STEP_WORDS.len() || (key.0 == STEP_WORDS.len() && !is_outermost) {
            continue;
        }
        let list = candidates.entry(key.clone()).or_default();
        if list.len() <= MOST {
            list.push(interval);
        }
    }
    candidates.into_iter().filter(|(_, list)| (FEWEST..=MOST).contains(&list.len())).find_map(|((rank, name), list)| {
        let is_flat = list.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let is_step = is_flat && (rank < STEP_WORDS.len() || is_dense(&list));
        let intervals = is_step.then(|| on_device(timeline, device, &list))?;
        covers(device, &intervals).then_some(Steps { name, intervals })
    })
}

/// Whether annotations follow each other closely, as the rounds of a loop do.
fn is_dense(ranges: &[Interval]) -> bool {
    const SHARE: f64 = 0.8;
    let whole = Interval::new(ranges.first().map_or(0, |first| first.start), ranges.last().map_or(0, |last| last.end));
    let inside: i64 = ranges.iter().map(|range| range.len_ns()).sum();
    inside as f64 >= SHARE * whole.len_ns() as f64
}

/// How much a name sounds like a step (less is more), and the name without its numbers.
fn rank(name: &str) -> (usize, String) {
    let plain = without_numbers(name);
    let lower = plain.to_ascii_lowercase();
    let rank = STEP_WORDS.iter().position(|word| lower.contains(word)).unwrap_or(STEP_WORDS.len());
    (if plain.contains("::") { STEP_WORDS.len() + 1 } else { rank }, plain)
}

/// From the first operation that one annotation launched to the first that the next one launched.
fn on_device(timeline: &Timeline, device: &DeviceContext, ranges: &[Interval]) -> Vec<Interval> {
    let mut first: Vec<Option<i64>> = vec![None; ranges.len()];
    let mut last_end = i64::MIN;
    for op in device.ops.in_window() {
        let Some(call) = op.call(timeline) else { continue };
        let launched = timeline.api.start[call as usize];
        let place = ranges.partition_point(|range| range.end <= launched);
        if ranges.get(place).is_some_and(|range| range.start <= launched) {
            let first = &mut first[place];
            *first = Some(first.map_or(op.start, |first| first.min(op.start)));
            last_end = last_end.max(op.end);
        }
    }
    intervals(first.into_iter().flatten().collect(), last_end)
}

/// Steps that begin at these moments and end where the next begins.
fn intervals(mut begins: Vec<i64>, end: i64) -> Vec<Interval> {
    begins.sort_unstable();
    begins.dedup();
    let ends = begins.iter().skip(1).copied().chain([end]);
    begins
        .iter()
        .copied()
        .zip(ends)
        .map(|(start, end)| Interval::new(start, end))
        .filter(|step| step.len_ns() > 0)
        .collect()
}

fn covers(device: &DeviceContext, steps: &[Interval]) -> bool {
    let covered: i64 = steps.iter().map(|step| step.clip(device.window()).len_ns()).sum();
    steps.len() >= FEWEST && covered as f64 >= COVERED_SHARE * device.window().len_ns() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_no_part_of_a_step_name() {
        assert_eq!(without_numbers("ProfilerStep#17"), "ProfilerStep#");
        assert_eq!(without_numbers("step 3 of 90"), "step # of #");
    }
}
