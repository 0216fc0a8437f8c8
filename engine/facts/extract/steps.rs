//! Facts of steps: how many, how long, and what each holds.

use std::ops::Range;

use foldhash::HashMap;

use super::followed::Followed;
use super::phases::are_marked;
use super::stats::median;
use super::{Context, DeviceContext, DevicePart, Parents};
use crate::facts::{Entity, EntityKind};
use crate::ledger::{Account, OpKind, callers};
use crate::steps::{Certainty, Phases, Step, Steps, without_numbers};
use crate::timeline::Timeline;
use crate::timeline::interval::Interval;
use crate::timeline::near::Near;
use crate::timeline::union::Union;

/// Steps that get an entity of their own: all of a short run, the slowest ones of a long run.
const MAX_REPORTED: usize = 200;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, parents: &Parents<'_>, part: &mut DevicePart) {
    let Some(steps) = device.told.steps.as_ref().filter(|steps| are_told(steps)) else { return };
    part.device.set_some("step_name", Some(steps.name.as_str()).filter(|name| !name.is_empty()));
    part.device.set_some("step_full_name", full_name(context, &steps.name));
    part.device.set("step_told_by", steps.told_by.id());
    part.device.set("step_certainty", steps.certainty.id());
    part.device.set("step_count", steps.steps.len() as i64);
    part.device.set("step_median_ns", steps.median_ns());
    if !are_marked(steps) {
        part.device.set_some("step_mean_ns", mean_ns(device, steady(device)));
        return;
    }
    of_threads(context, device, &steps.name, &mut part.device);
    let steady = of_phases(device, Phases::of_steps(device.window(), steps), steps.steps.len(), &mut part.device);
    of_behind(device, &steps.steps, &steady, &mut part.device);
    of_slow(device, steady.len(), &mut part.device);
    let numbers = Numbers::new(context, device, steps);
    of_slowest(&numbers, &steps.steps, steady.clone(), &mut part.device);
    part.entities.extend(entities(context.timeline, device, parents, (&steps.steps, &numbers), steady.start));
}

/// How many ranges of the name of steps all threads enter that launch work of the device: steps are told of one of them.
fn of_threads(context: &Context<'_>, device: &DeviceContext, name: &str, facts: &mut Entity) {
    // Of most programs one thread launches all.
    if device.passed(context).threads.len() < 2 {
        return;
    }
    let timeline = context.timeline;
    let launching = callers::launch_counts(timeline, &device.ops);
    if launching.len() < 2 || name.is_empty() {
        return;
    }
    let is_step: Vec<bool> = context.plain_names().called(&without_numbers(name)).collect();
    let window = device.window();
    let counts = timeline.ranges.threads.iter().filter(|ranges| launching.contains_key(&ranges.thread)).map(|ranges| {
        let of_steps = ranges.labelled(&is_step);
        of_steps.filter(|times| times.start < window.end && times.end > window.start).count() as i64
    });
    let counts: Vec<i64> = counts.filter(|count| *count > 0).collect();
    if counts.len() >= 2 {
        facts.set("step_thread_count", counts.len() as i64);
        facts.set("step_all_count", counts.into_iter().fold(0, i64::saturating_add));
    }
}

/// Whether they are steps of the program, and not merely something that repeats, such as one kernel.
fn are_told(steps: &Steps) -> bool {
    steps.certainty > Certainty::Low && (are_marked(steps) || holds_several(steps))
}

/// The steps of the steady state, however sure they are: what repeats has a price, whatever it is called.
pub(super) fn steady(device: &DeviceContext) -> &[Step] {
    device.told.steps.as_ref().map_or(&[], |steps| Phases::steady_of(device.window(), steps))
}

/// Whether launches alone tell what repeats.
pub(super) fn are_rounds(device: &DeviceContext) -> bool {
    device.told.steps.as_ref().is_some_and(|steps| !are_marked(steps))
}

/// Whether most steps hold more than one launch.
fn holds_several(steps: &Steps) -> bool {
    median_of(&steps.steps, |step| i64::from(step.launch_count)).is_some_and(|count| count > 1)
}

/// What more the host does in slow steps than in others while the device is idle, by what it does.
fn of_slow(device: &DeviceContext, steady_count: usize, facts: &mut Entity) {
    const GROWTH: [(&str, Account); 5] = [
        ("step_slow_host_ns", Account::IdleHost),
        ("step_slow_blocked_ns", Account::IdleBlocked),
        ("step_slow_allocate_ns", Account::IdleAllocate),
        ("step_slow_load_ns", Account::IdleLoad),
        ("step_slow_compile_ns", Account::IdleCompile),
    ];
    let slow_count = device.told.slow_step_count;
    facts.set("step_slow_count", slow_count as i64);
    if slow_count == 0 || !device.knows_host {
        return;
    }
    let other_count = steady_count.saturating_sub(slow_count).max(1) as f64;
    for (fact, account) in GROWTH {
        let in_slow_ns = device.idle().in_slow_steps[account];
        let usual_ns = (device.account_ns(account) - in_slow_ns) as f64 / other_count;
        facts.set(fact, (in_slow_ns - (slow_count as f64 * usual_ns) as i64).max(0));
    }
}

/// The middle one of the numbers of some things; `None` of nothing.
fn median_of<T>(all: &[T], number: impl Fn(&T) -> i64) -> Option<i64> {
    median(&mut all.iter().map(number).collect::<Vec<_>>())
}

/// What comes before the steady state, and the steady state as a whole. Returns the indices of its steps.
fn of_phases(device: &DeviceContext, phases: Option<Phases>, step_count: usize, facts: &mut Entity) -> Range<usize> {
    let Some(phases) = phases else {
        facts.set("warm_up_step_count", step_count as i64);
        return step_count..step_count;
    };
    let whole = phases.steady;
    facts.set("warm_up_step_count", phases.steady_steps.start as i64);
    facts.set("warm_up_ns", whole.start - device.window().start);
    facts.set("warm_up_steps_ns", phases.warm_up.len_ns());
    facts.set("steady_step_count", phases.steady_steps.len() as i64);
    facts.set("steady_start_ns", whole.start);
    facts.set("steady_ns", whole.len_ns());
    facts.set("steady_idle_ns", whole.len_ns() - device.busy_within(whole));
    facts.set("steady_kernel_busy_ns", device.tally.kernels_run.overlap_ns(whole));
    phases.steady_steps
}

/// The steps behind the steady state, which are timed by nothing else. Of a phase before it all that follows is behind.
fn of_behind(device: &DeviceContext, steps: &[Step], steady: &Range<usize>, facts: &mut Entity) {
    if let Some((count, _)) = device.told.later {
        facts.set("later_step_count", count as i64);
    }
    let Some(last) = steady.end.checked_sub(1).and_then(|last| steps.get(last)).filter(|_| !steady.is_empty()) else {
        return;
    };
    let within = steps.last().map(|last| last.device.end).filter(|_| !device.told.is_phase());
    if let Some(end) = device.told.later.map(|(_, end)| end).or(within) {
        facts.set("after_steady_ns", (end - last.device.end).max(0));
    }
}

/// On average, from the start of the first to the end of the last, which lacks the idle time before a next one. A last one that
/// the capture cuts tells nothing.
fn mean_ns(device: &DeviceContext, steps: &[Step]) -> Option<i64> {
    const WHOLE_SHARE: f64 = 0.98;
    let (first, last) = steps.first().zip(steps.last()).filter(|_| steps.len() > 1)?;
    let count = i64::try_from(steps.len()).ok()?;
    let usual = median_of(steps, |step| i64::from(step.launch_count))?;
    if f64::from(last.launch_count) < WHOLE_SHARE * usual as f64 {
        return Some((last.device.start - first.device.start) / (count - 1));
    }
    let idle_ns = |step: &Step| step.device.len_ns() - device.busy_within(step.device);
    let length_ns = median_of(steps, |step| step.device.len_ns())? - last.device.len_ns();
    let missing_ns = (median_of(steps, idle_ns)? - idle_ns(last)).min(length_ns).max(0);
    Some((last.device.end - first.device.start + missing_ns) / count)
}

/// The slowest step of the steady state; of several, the first.
fn of_slowest(numbers: &Numbers, steps: &[Step], steady: Range<usize>, facts: &mut Entity) {
    let median = median_of(steps, |step| step.device.len_ns()).unwrap_or(0);
    let numbered = steady.clone().map(|index| numbers.of(index)).zip(&steps[steady.clone()]);
    let slowest = numbered.max_by_key(|(number, step)| (step.device.len_ns(), -*number));
    let Some((number, slowest)) = slowest else { return };
    facts.set("step_slowest_ns", slowest.device.len_ns());
    facts.set("step_slowest_number", number);
    facts.set("step_slowest_start_ns", slowest.device.start);
    let steady = &steps[steady];
    let excess_ns = steady.iter().map(|step| (step.device.len_ns() - median).max(0));
    facts.set("step_excess_ns", excess_ns.sum::<i64>());
    facts.set("step_overlap_ns", overlap_ns(steady.iter().map(|step| step.device)));
}

/// How much longer some intervals are together than the time that they take.
fn overlap_ns(all: impl Iterator<Item = Interval> + Clone) -> i64 {
    all.clone().map(|part| part.len_ns()).sum::<i64>() - Union::of(all).len_ns()
}

/// What steps are called by: the number in the name of each range, as `ProfilerStep#7` has one; else they are counted from 1.
#[derive(Debug)]
struct Numbers {
    own: Option<Vec<i64>>,
    earlier_count: usize,
}

impl Numbers {
    fn new(context: &Context<'_>, device: &DeviceContext, steps: &Steps) -> Self {
        let mut of_labels = OfLabels::new(context, &steps.name);
        let mut near = Near::default();
        let number = |step: &Step| own_number(context.timeline, steps, *step, (&mut of_labels, &mut near));
        let own: Option<Vec<i64>> = steps.steps.iter().map(number).collect();
        // Numbers that begin anew tell no step from another.
        let own = own.filter(|own| own.len() > 1 && own.windows(2).all(|pair| pair[0] < pair[1]));
        Self { own, earlier_count: device.told.earlier_step_count }
    }

    fn of(&self, index: usize) -> i64 {
        let own = self.own.as_ref().and_then(|own| own.get(index)).copied();
        own.unwrap_or((self.earlier_count + index) as i64 + 1)
    }
}

/// The one name that all ranges have which are called so but for their numbers; `None` where these vary.
fn full_name<'all>(context: &Context<'all>, plain: &str) -> Option<&'all str> {
    let timeline = context.timeline;
    // One without a number is its own.
    plain.contains('#').then_some(())?;
    let called = timeline.ranges.labels.iter().zip(context.plain_names().called(plain));
    let mut names = called.filter(|(_, is_so)| *is_so).map(|(label, _)| label.name);
    let first = names.next()?;
    names.all(|name| name == first).then(|| timeline.name(first))
}

/// The numbers in the names of labels that are called as steps are, each read once.
struct OfLabels {
    is_step: Vec<bool>,
    known: HashMap<u32, Option<i64>>,
}

impl OfLabels {
    fn new(context: &Context<'_>, plain: &str) -> Self {
        // Where the recording itself numbers steps, no name is asked.
        let is_asked = context.timeline.details.step_numbers.is_empty();
        let is_step = if is_asked { context.plain_names().called(plain).collect() } else { Vec::new() };
        Self { is_step, known: HashMap::default() }
    }

    fn of(&mut self, timeline: &Timeline, label: u32) -> Option<i64> {
        let name =
            timeline.ranges.labels.get(label as usize).filter(|_| self.is_step.get(label as usize) == Some(&true))?;
        *self.known.entry(label).or_insert_with(|| only_number(timeline.name(name.name)))
    }
}

/// The number in the name of the range that tells a step.
fn own_number(
    timeline: &Timeline,
    steps: &Steps,
    step: Step,
    (of_labels, near): (&mut OfLabels, &mut Near),
) -> Option<i64> {
    if !timeline.details.step_numbers.is_empty() {
        return timeline.details.step_numbers.of(step.host);
    }
    let ranges = timeline.ranges.of_thread(steps.thread)?;
    let first = near.partition_point(ranges.times.len(), |index| ranges.times.start(index) < step.host.start);
    let mut begun = (first..ranges.times.len()).take_while(|index| ranges.times.at(*index).start == step.host.start);
    begun.find_map(|index| of_labels.of(timeline, ranges.label.get(index).copied()?))
}

/// The number that a name holds, where it holds one.
fn only_number(name: &str) -> Option<i64> {
    let mut numbers = name.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let number = numbers.next()?.parse().ok()?;
    numbers.next().is_none().then_some(number)
}

/// What one step holds.
#[derive(Debug, Clone, Copy)]
struct Content {
    step: Interval,
    busy_ns: i64,
    kernel_ns: i64,
    compute_ns: i64,
    kernel_count: i64,
    copy_bytes: i64,
    launch_call_ns: Option<i64>,
}

impl Content {
    /// Of one step after the other.
    fn all(timeline: &Timeline, device: &DeviceContext, steps: &[Step]) -> Vec<Self> {
        let unions = [&device.tally.busy, &device.tally.kernels_run, device.computing()];
        let [mut busy, mut kernels_run, mut computing] = unions.map(Followed::new);
        // Room for what the calls take that launch the kernels of a step.
        let mut lengths_ns = Vec::new();
        let mut first = 0;
        let of_step = |step: &Step| {
            let step = step.device;
            let (mut kernel_count, mut copy_bytes) = (0, 0_i64);
            lengths_ns.clear();
            for op in device.ops.begun_in_next(step, &mut first) {
                if op.kind.is_kernel() {
                    kernel_count += 1;
                    lengths_ns.extend(op.call(timeline).map(|call| timeline.api.times.at(call as usize).len_ns()));
                }
                if op.kind == OpKind::Copy {
                    copy_bytes = copy_bytes.saturating_add(timeline.copies.bytes[op.index as usize]);
                }
            }
            let (kernel_ns, launch_call_ns) = (kernels_run.overlap_ns(step), median(&mut lengths_ns));
            let (busy_ns, compute_ns) = (busy.overlap_ns(step), computing.overlap_ns(step));
            Self { step, busy_ns, kernel_ns, compute_ns, kernel_count, copy_bytes, launch_call_ns }
        };
        steps.iter().map(of_step).collect()
    }

    const fn idle_ns(&self) -> i64 {
        self.step.len_ns() - self.busy_ns
    }

    /// In which kernels of communication run and none computes.
    fn communication_ns(&self) -> i64 {
        (self.kernel_ns - self.compute_ns).max(0)
    }
}

fn entities(
    timeline: &Timeline,
    device: &DeviceContext,
    parents: &Parents<'_>,
    (steps, numbers): (&[Step], &Numbers),
    warm_up_count: usize,
) -> Vec<Entity> {
    let all = Content::all(timeline, device, steps);
    let kernel_median = median_of(&all, |content| content.kernel_ns);
    let communication_median = median_of(&all, Content::communication_ns);
    let idle_median = median_of(&all, Content::idle_ns);
    let count_median = median_of(&all, |content| content.kernel_count);
    let mut launch_calls: Vec<i64> = all.iter().filter_map(|content| content.launch_call_ns).collect();
    let launch_call_median = median(&mut launch_calls);
    let mut shown: Vec<(usize, &Content)> = all.iter().enumerate().collect();
    shown.sort_by_key(|(index, content)| (-content.step.len_ns(), *index));
    shown.truncate(MAX_REPORTED);
    shown.sort_by_key(|(index, _)| *index);
    let entity_of = |(index, content): (usize, &Content)| {
        let number = numbers.of(index);
        let mut entity = Entity::new(EntityKind::Step, parents.key_of(&format!("step{number}")), parents.of_device());
        entity.set("number", number);
        entity.set("is_warm_up", index < warm_up_count);
        entity.set("start_ns", content.step.start);
        entity.set("duration_ns", content.step.len_ns());
        entity.set("kernel_busy_ns", content.kernel_ns);
        entity.set_some("kernel_busy_median_ns", kernel_median);
        entity.set("communication_ns", content.communication_ns());
        entity.set_some("communication_median_ns", communication_median);
        entity.set("other_busy_ns", content.busy_ns - content.kernel_ns);
        entity.set("idle_ns", content.idle_ns());
        entity.set_some("idle_median_ns", idle_median);
        entity.set("kernel_count", content.kernel_count);
        entity.set_some("kernel_median_count", count_median);
        entity.set("copy_bytes", content.copy_bytes);
        entity.set_some("launch_call_ns", content.launch_call_ns);
        entity.set_some("launch_call_median_ns", content.launch_call_ns.and(launch_call_median));
        entity
    };
    shown.into_iter().map(entity_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_step_where_it_holds_one_number() {
        assert_eq!(only_number("ProfilerStep#7"), Some(7));
        assert_eq!(only_number("epoch 2 step 7"), None);
        assert_eq!(only_number("forward"), None);
        assert_eq!(only_number("step 99999999999999999999"), None);
    }

    #[test]
    fn steps_that_run_at_once_overlap() {
        let of = |parts: [(i64, i64); 3]| overlap_ns(parts.into_iter().map(|(start, end)| Interval::new(start, end)));
        assert_eq!(of([(0, 10), (10, 20), (25, 30)]), 0);
        assert_eq!(of([(0, 10), (4, 14), (12, 30)]), 8);
    }
}
