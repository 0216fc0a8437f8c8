//! Facts of a recording without work of a GPU: what the CPU did, and which call of CUDA took most time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use super::profile::{is_profiler, is_system};
use super::projection::told_name;
use super::spent::{Sampled, asks_only};
use crate::facts::Entity;
use crate::text::paths::{file_name, without_folders};
use crate::timeline::columns::{OverheadKind, RangeKind};
use crate::timeline::interval::Interval;
use crate::timeline::peers::is_openmp;
use crate::timeline::union::Union;
use crate::timeline::{NameId, Timeline};

/// With as many operations a GPU did work, of which there is more to say.
const FEW_OPERATIONS: usize = 10;

pub(super) fn extract(timeline: &Timeline, facts: &mut Entity) {
    let is_any = !timeline.kernels.ops.is_empty() || !timeline.graphs.ops.is_empty();
    if is_any || timeline.gpu_op_count() >= FEW_OPERATIONS {
        return;
    }
    called(timeline, facts);
    operated(timeline, facts);
    ranged(timeline, facts);
    versions(timeline, facts);
    if timeline.cpu_samples.is_empty() {
        return;
    }
    let samples = samples_of_program(timeline);
    facts.set("cpu_sample_count", samples.len() as i64);
    let Sampled { function, caller, module, .. } = Sampled::of(timeline, &samples, None);
    if let Some((function, share)) = function {
        facts.set("cpu_function", function);
        facts.set("cpu_function_share", share);
    }
    facts.set_some("cpu_function_caller", caller);
    if let Some((module, share)) = module {
        facts.set("cpu_module", module);
        facts.set("cpu_module_share", share);
    }
}

/// The versions of CUDA, where the driver is of a later major one than the runtime: the PyTorch Profiler records with the CUPTI that comes
/// with the runtime.
fn versions(timeline: &Timeline, facts: &mut Entity) {
    let Some((runtime, driver)) = timeline.source.cuda_versions else { return };
    let told = |version: i64| format!("{}.{}", version / 1_000, version % 1_000 / 10);
    if runtime > 0 && driver / 1_000 > runtime / 1_000 {
        facts.set("older_cuda_runtime", told(runtime));
        facts.set("newer_cuda_driver", told(driver));
    }
}

/// The samples of all threads but for those in which the profiler works: threads of the program begin in it as well. Nor those in a
/// runtime of OpenMP, in which threads wait for work and for each other.
fn samples_of_program(timeline: &Timeline) -> Vec<u32> {
    let all = &timeline.cpu_samples;
    let files = all.frames.iter().map(|frame| (is_profiler(timeline, *frame), is_system(timeline, *frame)));
    let files: Vec<(bool, bool)> = files.collect();
    let is_of_program = |sample: &u32| {
        let stack = all.stack(*sample as usize).iter();
        let mut files = stack.map(|frame| files.get(*frame as usize).copied().unwrap_or_default());
        let first = files.find(|(is_profiler, is_system)| *is_profiler || !is_system);
        let waits = all.stack(*sample as usize).first().and_then(|frame| all.frames.get(*frame as usize));
        let waits = waits.is_some_and(|frame| is_openmp(file_name(timeline.name(frame.module))));
        !waits && first.is_none_or(|(is_profiler, _)| !is_profiler)
    };
    (0..all.time_ns.len() as u32).filter(is_of_program).collect()
}

/// The call of CUDA that takes most time, on all threads together.
fn called(timeline: &Timeline, facts: &mut Entity) {
    let api = &timeline.api;
    let profiled = profiled(timeline);
    let mut calls: HashMap<NameId, (i64, i64)> = HashMap::default();
    for ((times, name), thread) in api.times.iter().zip(&api.name).zip(&api.thread) {
        let (sum_ns, count) = calls.entry(*name).or_default();
        let of_profiler_ns = profiled.get(thread).map_or(0, |profiled| profiled.overlap_ns(times));
        *sum_ns = sum_ns.saturating_add(times.len_ns() - of_profiler_ns);
        *count += 1;
    }
    let most = calls.into_iter().max_by_key(|(name, (sum_ns, _))| (*sum_ns, Reverse(timeline.name(*name))));
    if let Some((name, (sum_ns, count))) = most {
        facts.set_some("main_api_call_first_ns", first_ns(timeline, name));
        facts.set("main_api_call", without_folders(timeline.name(name)));
        facts.set("main_api_call_ns", sum_ns);
        facts.set("main_api_call_count", count);
    }
}

/// When the profiler itself works on each thread.
fn profiled(timeline: &Timeline) -> HashMap<u32, Union> {
    let overheads = &timeline.overheads;
    let mut of_threads: HashMap<u32, Vec<Interval>> = HashMap::default();
    for ((times, kind), thread) in overheads.times.iter().zip(&overheads.kind).zip(&overheads.thread) {
        if *kind == OverheadKind::Profiler {
            of_threads.entry(*thread).or_default().push(times);
        }
    }
    of_threads.into_iter().map(|(thread, times)| (thread, Union::of(times))).collect()
}

/// The operator of a framework that holds most of the time in operators that lie in no other, on all threads together.
fn operated(timeline: &Timeline, facts: &mut Entity) {
    let labels = &timeline.ranges.labels;
    let mut operators: HashMap<NameId, (i64, i64)> = HashMap::default();
    for ranges in &timeline.ranges.threads {
        let mut until = i64::MIN;
        for (range, label) in ranges.times.iter().zip(&ranges.label) {
            let operator = labels.get(*label as usize).filter(|label| label.kind == RangeKind::Operator);
            if let Some(operator) = operator.filter(|_| range.start >= until) {
                until = range.end;
                let (sum_ns, count) = operators.entry(operator.name).or_default();
                *sum_ns = sum_ns.saturating_add(range.len_ns());
                *count += 1;
            }
        }
    }
    let most = operators.into_iter().max_by_key(|(name, (sum_ns, _))| (*sum_ns, Reverse(timeline.name(*name))));
    if let Some((name, (sum_ns, count))) = most {
        facts.set("main_operator", timeline.name(name));
        facts.set("main_operator_ns", sum_ns);
        facts.set("main_operator_count", count);
    }
}

/// The range of the program that holds most time itself, without ranges within it, on all threads together.
fn ranged(timeline: &Timeline, facts: &mut Entity) {
    let labels = &timeline.ranges.labels;
    let is_own = |label: &u32| {
        let label = labels.get(*label as usize);
        label.is_some_and(|label| matches!(label.kind, RangeKind::Nvtx | RangeKind::Annotation))
    };
    let mut sums: HashMap<NameId, (i64, i64, u32)> = HashMap::default();
    for ranges in &timeline.ranges.threads {
        // Those that are open, the outermost first, each with its name.
        let mut open: Vec<(i64, NameId)> = Vec::new();
        for (range, label) in ranges.times.iter().zip(&ranges.label).filter(|(_, label)| is_own(label)) {
            open.truncate(open.partition_point(|(end, _)| *end > range.start));
            let Some(name) = labels.get(*label as usize).map(|label| label.name) else { continue };
            if let Some((end, outer)) = open.last()
                && let Some((sum_ns, ..)) = sums.get_mut(outer)
            {
                *sum_ns = sum_ns.saturating_sub(range.end.min(*end) - range.start);
            }
            let (sum_ns, count, _) = sums.entry(name).or_insert((0, 0, *label));
            *sum_ns = sum_ns.saturating_add(range.len_ns());
            *count += 1;
            open.push((range.end, name));
        }
    }
    let most = sums.into_iter().max_by_key(|(name, (sum_ns, ..))| (*sum_ns, Reverse(timeline.name(*name))));
    if let Some((_, (sum_ns, count, label))) = most.filter(|(_, (sum_ns, ..))| *sum_ns > 0) {
        facts.set("main_range", told_name(timeline, label));
        facts.set("main_range_ns", sum_ns);
        facts.set("main_range_count", count);
    }
}

/// The time in the calls of that name that are the first of their process to need a context.
fn first_ns(timeline: &Timeline, main: NameId) -> Option<i64> {
    let api = &timeline.api;
    let mut firsts: BTreeMap<u32, (Interval, NameId)> = BTreeMap::new();
    for ((times, name), thread) in api.times.iter().zip(&api.name).zip(&api.thread) {
        if *name != main && asks_only(timeline.name(*name)) {
            continue;
        }
        let first = firsts.entry(timeline.process_of(*thread)).or_insert((times, *name));
        if times.start < first.0.start {
            *first = (times, *name);
        }
    }
    let firsts = firsts.into_values().filter(|(_, name)| *name == main);
    firsts.map(|(times, _)| times.len_ns()).reduce(i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{EntityKind, Facts};

    #[test]
    fn a_driver_of_a_later_major_version_is_told() {
        let of = |versions: Option<(i64, i64)>| {
            let mut timeline = Timeline::default();
            timeline.source.cuda_versions = versions;
            let mut facts = Facts::default();
            let run = facts.add(EntityKind::Run, "run", &[]);
            extract(&timeline, facts.get_mut(run));
            let text = |name: &str| facts.get(run).text(name).map(str::to_owned);
            text("older_cuda_runtime").zip(text("newer_cuda_driver"))
        };
        assert_eq!(of(Some((12_010, 13_000))), Some(("12.1".to_owned(), "13.0".to_owned())));
        assert_eq!((of(Some((12_010, 12_090))), of(Some((0, 13_000))), of(None)), (None, None, None));
    }
}
