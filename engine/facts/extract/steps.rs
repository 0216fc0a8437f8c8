//! Steps: what a program does over and over, told from ranges that repeat.
//!
//! A sequence of kernels that repeats is not taken for a step: as often as not it is a layer of a model.

use std::collections::BTreeMap;

use foldhash::HashMap;

use super::stats::median;
use super::{Context, DeviceContext, DevicePart, Parents};
use crate::facts::{Entity, EntityKind};
use crate::ledger::OpKind;
use crate::timeline::columns::{Label, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::{ThreadRanges, Timeline};

/// Fewer steps than this show no repetition.
const MIN_STEPS: usize = 3;
/// More are no steps of a program but its inner loops.
const MAX_STEPS: usize = 10_000;
/// Names that are looked at as steps; each costs a walk over the operations.
const MAX_TRIED: usize = 50;
/// Steps that cover a smaller part of the window than this are not what the program does.
const COVERED_SHARE: f64 = 0.5;
/// Leading steps longer than this many medians are warm-up.
const WARM_UP_FACTOR: f64 = 1.5;
/// Steps that get an entity of their own: all of a short run, the slowest ones of a long run.
const MAX_REPORTED: usize = 200;

/// The steps of one device: each begins where the one before ends.
#[derive(Debug)]
struct Steps {
    name: String,
    intervals: Vec<Interval>,
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, part: &mut DevicePart) {
    let Some(steps) = from_ranges(context, device) else { return };
    let Some(median) = median_of(&steps.intervals, |step| step.len_ns()) else { return };
    let is_long = |step: &&Interval| step.len_ns() as f64 > WARM_UP_FACTOR * median as f64;
    let warm_up_count = steps.intervals.iter().take_while(is_long).count();
    part.device.set("step_name", steps.name.as_str());
    part.device.set("step_count", steps.intervals.len() as i64);
    part.device.set("step_median_ns", median);
    of_warm_up(device, &steps.intervals, warm_up_count, &mut part.device);
    of_slowest(&steps.intervals, warm_up_count, median, &mut part.device);
    part.entities.extend(entities(context.timeline, device, parents, &steps, warm_up_count));
}

/// The steps of the steady state, on the device; none where nothing repeats.
pub(super) fn steady(context: &Context<'_>, device: &DeviceContext) -> Vec<Interval> {
    let Some(steps) = from_ranges(context, device) else { return Vec::new() };
    let Some(median) = median_of(&steps.intervals, |step| step.len_ns()) else { return Vec::new() };
    let is_long = |step: &&Interval| step.len_ns() as f64 > WARM_UP_FACTOR * median as f64;
    let warm_up_count = steps.intervals.iter().take_while(is_long).count();
    steps.intervals[warm_up_count..].to_vec()
}

/// The middle one of the numbers of some things; `None` of nothing.
fn median_of<T>(all: &[T], number: impl Fn(&T) -> i64) -> Option<i64> {
    median(&mut all.iter().map(number).collect::<Vec<_>>())
}

/// What comes before the steady state, and the steady state as a whole.
fn of_warm_up(device: &DeviceContext, steps: &[Interval], warm_up_count: usize, facts: &mut Entity) {
    let steady = &steps[warm_up_count..];
    facts.set("warm_up_step_count", warm_up_count as i64);
    facts.set("warm_up_ns", steady.first().map_or(0, |first| first.start - device.window().start));
    let (Some(first), Some(last)) = (steady.first(), steady.last()) else { return };
    let whole = Interval::new(first.start, last.end);
    facts.set("steady_start_ns", whole.start);
    facts.set("steady_ns", whole.len_ns());
    facts.set("steady_idle_ns", whole.len_ns() - device.busy_within(whole));
    facts.set("steady_kernel_busy_ns", device.tally.kernels_run.overlap_ns(whole));
}

/// The slowest step of the steady state; of several, the first.
fn of_slowest(steps: &[Interval], warm_up_count: usize, median: i64, facts: &mut Entity) {
    let steady = &steps[warm_up_count..];
    let numbered = (warm_up_count as i64 + 1..).zip(steady);
    let Some((number, slowest)) = numbered.max_by_key(|(number, step)| (step.len_ns(), -*number)) else { return };
    facts.set("step_slowest_ns", slowest.len_ns());
    facts.set("step_slowest_number", number);
    facts.set("step_slowest_start_ns", slowest.start);
    facts.set("step_excess_ns", steady.iter().map(|step| (step.len_ns() - median).max(0)).sum::<i64>());
}

/// What one step holds.
#[derive(Debug, Clone, Copy)]
struct Content {
    step: Interval,
    busy_ns: i64,
    kernel_ns: i64,
    kernel_count: i64,
    copy_bytes: i64,
}

impl Content {
    fn new(timeline: &Timeline, device: &DeviceContext, step: Interval) -> Self {
        let (mut kernel_count, mut copy_bytes) = (0, 0_i64);
        for op in device.ops.begun_in(timeline, step) {
            kernel_count += i64::from(op.kind.is_kernel());
            if op.kind == OpKind::Copy {
                copy_bytes = copy_bytes.saturating_add(timeline.copies.bytes[op.index as usize]);
            }
        }
        let kernel_ns = device.tally.kernels_run.overlap_ns(step);
        Self { step, busy_ns: device.busy_within(step), kernel_ns, kernel_count, copy_bytes }
    }

    const fn idle_ns(&self) -> i64 {
        self.step.len_ns() - self.busy_ns
    }
}

fn entities(
    timeline: &Timeline,
    device: &DeviceContext,
    parents: &Parents<'_>,
    steps: &Steps,
    warm_up_count: usize,
) -> Vec<Entity> {
    let all: Vec<Content> = steps.intervals.iter().map(|step| Content::new(timeline, device, *step)).collect();
    let kernel_median = median_of(&all, |content| content.kernel_ns);
    let idle_median = median_of(&all, Content::idle_ns);
    let count_median = median_of(&all, |content| content.kernel_count);
    let mut shown: Vec<(usize, &Content)> = all.iter().enumerate().collect();
    shown.sort_by_key(|(index, content)| (-content.step.len_ns(), *index));
    shown.truncate(MAX_REPORTED);
    shown.sort_by_key(|(index, _)| *index);
    let entity_of = |(index, content): (usize, &Content)| {
        let number = index as i64 + 1;
        let mut entity = Entity::new(EntityKind::Step, parents.key_of(&format!("step{number}")), parents.of_device());
        entity.set("number", number);
        entity.set("is_warm_up", index < warm_up_count);
        entity.set("start_ns", content.step.start);
        entity.set("duration_ns", content.step.len_ns());
        entity.set("kernel_busy_ns", content.kernel_ns);
        entity.set_some("kernel_busy_median_ns", kernel_median);
        entity.set("other_busy_ns", content.busy_ns - content.kernel_ns);
        entity.set("idle_ns", content.idle_ns());
        entity.set_some("idle_median_ns", idle_median);
        entity.set("kernel_count", content.kernel_count);
        entity.set_some("kernel_median_count", count_median);
        entity.set("copy_bytes", content.copy_bytes);
        entity
    };
    shown.into_iter().map(entity_of).collect()
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

/// The rank of a name that does not sound like a step, and of one that is an operator of a framework.
const NOT_CALLED_STEP: usize = 2;
const OPERATOR: usize = 3;
/// How much of the time ranges cover that are steps by their name, and those that are steps by nothing else.
const NAMED_SHARE: f64 = 0.5;
const UNNAMED_SHARE: f64 = 0.8;

/// Ranges of the launching thread that repeat, do not nest in each other, and cover the window: those named like a
/// step, else those that nothing encloses and that follow each other closely. Operators of a framework (`aten::mul`) are no steps.
fn from_ranges(context: &Context<'_>, device: &DeviceContext) -> Option<Steps> {
    let timeline = context.timeline;
    let main = device.main_thread?;
    let own = timeline.ranges.of_thread(main).and_then(|ranges| of_thread(timeline, device, ranges));
    own.or_else(|| {
        // In training another thread launches most, that of the backward pass; what the framework annotates as steps
        // are steps of both.
        let process = timeline.process_of(main);
        let others = timeline.ranges.threads.iter().filter(|ranges| ranges.thread != main);
        let mut others = others.filter(|ranges| timeline.process_of(ranges.thread) == process);
        others.find_map(|ranges| of_thread(timeline, device, &annotated_steps(timeline, ranges)))
    })
}

/// The ranges of a thread that the framework annotated and that are called steps.
fn annotated_steps(timeline: &Timeline, ranges: &ThreadRanges) -> ThreadRanges {
    let labels = &timeline.ranges.labels;
    let is_step = |label: &Label| label.kind == RangeKind::Annotation && rank(timeline.name(label.name)).0 == 0;
    let is_step: Vec<bool> = labels.iter().map(is_step).collect();
    let rows = || ranges.times.iter().zip(&ranges.label).filter(|(_, label)| is_step[**label as usize]);
    ThreadRanges {
        thread: ranges.thread,
        times: rows().map(|(times, _)| times).collect(),
        label: rows().map(|(_, label)| *label).collect(),
    }
}

fn of_thread(timeline: &Timeline, device: &DeviceContext, ranges: &ThreadRanges) -> Option<Steps> {
    let mut names: HashMap<u32, (usize, String)> = HashMap::default();
    let mut candidates: BTreeMap<(usize, String), Vec<Interval>> = BTreeMap::new();
    let mut outermost_end = i64::MIN;
    for (interval, label) in ranges.times.iter().zip(&ranges.label) {
        let is_outermost = interval.start >= outermost_end;
        outermost_end = outermost_end.max(interval.end);
        let labels = &timeline.ranges.labels;
        let key = names.entry(*label).or_insert_with(|| rank(timeline.name(labels[*label as usize].name)));
        if key.0 == OPERATOR || (key.0 == NOT_CALLED_STEP && !is_outermost) {
            continue;
        }
        let list = candidates.entry(key.clone()).or_default();
        if list.len() <= MAX_STEPS {
            list.push(interval);
        }
    }
    let steps = candidates.into_iter().filter(|((rank, _), list)| are_steps(*rank, list));
    steps.take(MAX_TRIED).find_map(|((_, name), list)| {
        let intervals = on_device(timeline, device, &list);
        covers(device, &intervals).then_some(Steps { name, intervals })
    })
}

/// Whether ranges of one name, with the rank of the name, are the rounds of a loop.
fn are_steps(rank: usize, ranges: &[Interval]) -> bool {
    let is_flat = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
    let share = if rank < NOT_CALLED_STEP { NAMED_SHARE } else { UNNAMED_SHARE };
    (MIN_STEPS..=MAX_STEPS).contains(&ranges.len()) && is_flat && is_dense(ranges, share)
}

/// Whether ranges cover at least a share of the time from the first to the last, as the rounds of a loop do.
fn is_dense(ranges: &[Interval], share: f64) -> bool {
    let whole = Interval::new(ranges.first().map_or(0, |first| first.start), ranges.last().map_or(0, |last| last.end));
    let inside: i64 = ranges.iter().map(|range| range.len_ns()).sum();
    inside as f64 >= share * whole.len_ns() as f64
}

/// How much a name sounds like a step (less is more), and the name without its numbers.
fn rank(name: &str) -> (usize, String) {
    let plain = without_numbers(name);
    let words = words(&plain);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let rank = if plain.contains("::") {
        OPERATOR
    } else if has(&["step", "iter", "iteration"]) {
        0
    } else if words.last().is_some_and(|last| ["batch", "epoch"].contains(&last.as_str())) {
        // A batch norm is none.
        1
    } else {
        NOT_CALLED_STEP
    };
    (rank, plain)
}

/// The words of a name, in lower case: `ProfilerStep#`, `train_step` and `step # of #` all have `step`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_lower = false;
    for character in name.chars() {
        if !character.is_ascii_alphabetic() || (character.is_ascii_uppercase() && before_is_lower) {
            words.push(String::new());
        }
        before_is_lower = character.is_ascii_lowercase();
        if let (true, Some(word)) = (character.is_ascii_alphabetic(), words.last_mut()) {
            word.push(character.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// From the first operation that one range launched to the first that the next one launched.
fn on_device(timeline: &Timeline, device: &DeviceContext, ranges: &[Interval]) -> Vec<Interval> {
    let mut first: Vec<Option<i64>> = vec![None; ranges.len()];
    let mut last_end = i64::MIN;
    for op in device.ops.in_window(timeline) {
        let Some(call) = op.call(timeline) else { continue };
        let launched = timeline.api.times.start(call as usize);
        let index = ranges.partition_point(|range| range.end <= launched);
        if ranges.get(index).is_some_and(|range| range.start <= launched) {
            let first = &mut first[index];
            *first = Some(first.map_or(op.start, |first| first.min(op.start)));
            last_end = last_end.max(op.end);
        }
    }
    let window = device.window();
    let mut steps = intervals(first.into_iter().flatten().filter(|first| *first >= window.start).collect(), last_end);
    // One that the window cuts is no whole step.
    steps.retain(|step| step.end <= window.end);
    steps
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
    steps.len() >= MIN_STEPS && covered as f64 >= COVERED_SHARE * device.window().len_ns() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_by_whole_words() {
        for (name, expected) in [
            ("ProfilerStep#7", 0),
            ("train_step", 0),
            ("Iteration 12", 0),
            ("step 3 of 90", 0),
            ("batch 4", 1),
            ("BatchNorm2d", NOT_CALLED_STEP),
            ("batchnorm0", NOT_CALLED_STEP),
            ("log writer", NOT_CALLED_STEP),
            ("aten::step", OPERATOR),
        ] {
            assert_eq!(rank(name).0, expected, "{name}");
        }
    }

    #[test]
    fn numbers_are_no_part_of_a_step_name() {
        assert_eq!(without_numbers("ProfilerStep#17"), "ProfilerStep#");
        assert_eq!(without_numbers("step 3 of 90"), "step # of #");
    }
}
