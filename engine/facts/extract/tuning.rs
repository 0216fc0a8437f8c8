//! Facts of convolutions that try kernels before they run (autotuning): cuDNN launches each that could do, waits for it, and keeps the
//! fastest for inputs of the same sizes.

use foldhash::{HashMap, HashSet};

use super::{Context, DeviceContext, steps};
use crate::facts::Entity;
use crate::ledger::OpKind;
use crate::steps::Step;
use crate::text::cut;
use crate::timeline::api::ApiClass;
use crate::timeline::columns::{Label, RangeKind};
use crate::timeline::details::CONVOLUTIONS;
use crate::timeline::interval::Interval;
use crate::timeline::union::Union;
use crate::timeline::{NONE, NameId, ThreadRanges, Timeline};

/// What those have in their names that compute gradients.
const BACKWARD: &str = "backward";
/// The name of an operator is no longer; its arguments may follow.
const MAX_OPERATOR_BYTES: usize = 100;
/// A convolution waits for nothing; one that tries kernels waits for each, and launches several, of which two differ at least.
const LEAST_WAIT_COUNT: usize = 3;
const LEAST_KERNEL_COUNT: usize = 3;
const LEAST_NAME_COUNT: usize = 2;

/// A convolution that waits for the device as often as one that tries kernels does.
#[derive(Debug)]
struct Convolution {
    operator: Interval,
    /// From its begin to the end of its last wait: then it runs with the fastest.
    trials: Interval,
    kernel_count: usize,
    names: HashSet<NameId>,
}

impl Convolution {
    fn is_tuned(&self) -> bool {
        self.kernel_count >= LEAST_KERNEL_COUNT && self.names.len() >= LEAST_NAME_COUNT
    }
}

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let timeline = context.timeline;
    let labels = timeline.ranges.labels.iter();
    let is_own = |label: &Label| label.kind != RangeKind::PythonFrame && is_convolution(timeline.name(label.name));
    let labels: Vec<bool> = labels.map(is_own).collect();
    if !labels.contains(&true) {
        return;
    }
    let threads = timeline.ranges.threads.iter();
    let own = threads.filter(|ranges| device.is_of(timeline.process_of(ranges.thread)));
    let operators = || own.clone().flat_map(|ranges| of_thread(ranges, &labels, device.window()));
    let is_backward = |label: u32| {
        let label = timeline.ranges.labels.get(label as usize);
        label.is_some_and(|label| cut::to_bytes(timeline.name(label.name), MAX_OPERATOR_BYTES).contains(BACKWARD))
    };
    facts.set("convolution_count", operators().count() as i64);
    let mut tuned: HashMap<u32, Vec<Convolution>> = HashMap::default();
    for ranges in own.clone() {
        let waiting = of_thread(ranges, &labels, device.window());
        let waiting = waiting.filter_map(|(operator, _)| waiting_in(context, ranges.thread, operator));
        tuned.insert(ranges.thread, waiting.collect());
    }
    add_kernels(timeline, device, &mut tuned);
    let tuned: Vec<Convolution> = tuned.into_values().flatten().filter(Convolution::is_tuned).collect();
    facts.set("tuned_convolution_count", tuned.len() as i64);
    let Some(last_end) = tuned.iter().map(|convolution| convolution.trials.end).max() else { return };
    set(timeline, device, &tuned, facts);
    let later = operators().filter(|(operator, _)| operator.start >= last_end).count();
    facts.set("untuned_later_convolution_count", later as i64);
    if marked_steps(device).is_empty() {
        let is_tuned: HashSet<Interval> = tuned.iter().map(|convolution| convolution.operator).collect();
        let all = operators().map(|(times, label)| Directed { times, is_backward: is_backward(label) });
        let passes = passes(all.collect(), |operator| is_tuned.contains(&operator));
        facts.set("convolution_pass_count", passes.len() as i64);
        facts.set("tuned_pass_count", passes.iter().filter(|pass| pass.forward && pass.backward).count() as i64);
    }
    let of_label = device.idle().ranges.iter().filter(|((_, label), _)| labels.get(*label as usize) == Some(&true));
    let host_ns = of_label.map(|(_, idle)| idle.host_ns).fold(0, i64::saturating_add);
    facts.set_some("idle_tuning_host_ns", facts.int("idle_tuning_ns").map(|idle_ns| idle_ns.min(host_ns)));
}

/// The steps of the steady state, where ranges tell them: rounds that launches tell may be those of the trials themselves.
fn marked_steps(device: &DeviceContext) -> &[Step] {
    if steps::are_rounds(device) { &[] } else { steps::steady(device) }
}

/// Whether a range of this name is an operator that convolves; behind the name its arguments may follow.
fn is_convolution(name: &str) -> bool {
    CONVOLUTIONS.iter().any(|begin| name.starts_with(begin))
}

/// The convolutions of a thread in the window, those within others left out.
fn of_thread<'all>(
    ranges: &'all ThreadRanges,
    labels: &'all [bool],
    window: Interval,
) -> impl Iterator<Item = (Interval, u32)> + 'all {
    let mut until = i64::MIN;
    let own = ranges.times.iter().zip(&ranges.label).filter(move |(operator, label)| {
        let is_outer = labels.get(**label as usize) == Some(&true) && operator.start >= until;
        until = if is_outer { operator.end } else { until };
        is_outer && operator.overlap_ns(window) > 0
    });
    own.map(|(operator, label)| (operator, *label))
}

/// A convolution, forward or backward.
#[derive(Debug, Clone, Copy)]
struct Directed {
    times: Interval,
    is_backward: bool,
}

/// Which convolutions of a pass, forward and then backward, try kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Pass {
    forward: bool,
    backward: bool,
}

/// The passes that convolutions make: one begins with each forward one behind a backward one. What is computed again for the backward
/// pass begins one as well, and tries nothing, as it has the sizes that were tried before.
fn passes(mut all: Vec<Directed>, is_tuned: impl Fn(Interval) -> bool) -> Vec<Pass> {
    all.sort_unstable_by_key(|convolution| (convolution.times.start, convolution.times.end));
    let mut passes: Vec<Pass> = Vec::new();
    let mut was_backward = true;
    for Directed { times, is_backward } in all {
        if was_backward && !is_backward || passes.is_empty() {
            passes.push(Pass::default());
        }
        was_backward = is_backward;
        if let Some(pass) = passes.last_mut() {
            let tried = if is_backward { &mut pass.backward } else { &mut pass.forward };
            *tried |= is_tuned(times);
        }
    }
    passes
}

/// An operator with its waits for the device, where these are as many as those of trials.
fn waiting_in(context: &Context<'_>, thread: u32, operator: Interval) -> Option<Convolution> {
    let (timeline, calls) = (context.timeline, context.calls.of_thread(thread));
    let start = |call: &u32| timeline.api.times.start(*call as usize);
    let first = calls.partition_point(|call| start(call) < operator.start);
    let own = calls[first..].iter().take_while(|call| start(call) < operator.end);
    let is_wait = |call: u32| matches!(context.calls.class_of(timeline, call), ApiClass::Wait(_));
    let waits = own.filter(|call| is_wait(**call) && is_of_cuda(timeline, **call));
    let ends = waits.map(|call| timeline.api.times.end(*call as usize));
    let (count, end) = ends.fold((0, i64::MIN), |(count, last), end| (count + 1, last.max(end)));
    let trials = Interval::new(operator.start, end.min(operator.end));
    (count >= LEAST_WAIT_COUNT).then(|| Convolution { operator, trials, kernel_count: 0, names: HashSet::default() })
}

/// What libraries of AMD try follows other options.
fn is_of_cuda(timeline: &Timeline, call: u32) -> bool {
    timeline.api.name.get(call as usize).is_some_and(|name| timeline.name(*name).starts_with("cu"))
}

/// Notes the kernels that are launched in trials.
fn add_kernels(timeline: &Timeline, device: &DeviceContext, waiting: &mut HashMap<u32, Vec<Convolution>>) {
    if waiting.values().all(Vec::is_empty) {
        return;
    }
    for op in device.ops.in_window().filter(|op| op.kind == OpKind::Kernel) {
        let Some(call) = op.call(timeline) else { continue };
        let thread = timeline.api.thread.get(call as usize).copied().unwrap_or(NONE);
        let Some(own) = waiting.get_mut(&thread) else { continue };
        let at = timeline.api.times.start(call as usize);
        let before = own.partition_point(|convolution| convolution.operator.start <= at);
        let last = before.checked_sub(1).and_then(|place| own.get_mut(place));
        if let Some(convolution) = last.filter(|convolution| at < convolution.trials.end) {
            convolution.kernel_count += 1;
            convolution.names.insert(timeline.kernels.shape_of(op.index).full_name);
        }
    }
}

fn set(timeline: &Timeline, device: &DeviceContext, tuned: &[Convolution], facts: &mut Entity) {
    let trials = || tuned.iter().map(|convolution| convolution.trials.clip(device.window()));
    let union = Union::of(trials());
    let steps = marked_steps(device);
    facts.set("tuning_kernel_count", tuned.iter().map(|convolution| convolution.kernel_count as i64).sum::<i64>());
    let tuned_count = steps.iter().filter(|step| union.overlap_ns(step.host) > 0).count() as i64;
    facts.set_some("tuned_step_count", (!steps.is_empty()).then_some(tuned_count));
    let busy_ns = union.common_ns(&device.tally.busy);
    facts.set("tuning_busy_ns", busy_ns);
    facts.set("idle_tuning_ns", union.len_ns() - busy_ns);
    if let Some(longest) = trials().max_by_key(|trials| (trials.len_ns(), -trials.start)) {
        facts.set("tuning_longest_ns", longest.len_ns());
        facts.set("tuning_longest_start_ns", longest.start);
    }
    let sizes = &timeline.details.convolution_sizes;
    let sizes: Option<HashSet<u64>> = tuned.iter().map(|convolution| sizes.of(convolution.operator)).collect();
    facts.set_some("tuned_size_count", sizes.map(|sizes| sizes.len() as i64));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_begins_with_the_first_forward_convolution_behind_a_backward_one() {
        // Forward and backward, where kernels are tried in capitals.
        let of = |marks: &str| {
            let all: Vec<Directed> = (0_i64..)
                .zip(marks.chars())
                .map(|(at, mark)| Directed {
                    times: Interval::new(at, at + 1),
                    is_backward: mark.eq_ignore_ascii_case(&'b'),
                })
                .collect();
            let tuned: Vec<bool> = marks.chars().map(|mark| mark.is_ascii_uppercase()).collect();
            let passes = passes(all.into_iter().rev().collect(), |times| tuned[times.start as usize]);
            (passes.len(), passes.iter().filter(|pass| pass.forward && pass.backward).count())
        };
        assert_eq!(of("FFBBFFBBFFBB"), (3, 3));
        assert_eq!(of("FFBBffbbffbb"), (3, 1));
        assert_eq!(of("FFFFfBBfBBfBB"), (3, 1), "what is computed again");
        assert_eq!(of("FFFF"), (1, 0));
        assert_eq!(of("BFB"), (2, 1));
        assert_eq!(of(""), (0, 0));
    }
}
