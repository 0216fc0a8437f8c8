//! Whether two sides did the same work, weighed by time.

use super::{Basis, Comparison, Outcome, Replaced, Run, Sides, Terms, compare};
use crate::facts::EntityKind;
use crate::findings::samples::Sample;

/// A kernel: name, launches, time of a launch in microseconds, blocks, and where its first launch stands.
type Kernel = (&'static str, i64, i64, i64, i64);

const GEMM: Kernel = ("gemm", 1_000, 800, 4_096, 1);
const NORM: Kernel = ("norm", 2_000, 90, 512, 2);
const COPY: Kernel = ("copy", 1_000, 15, 128, 3);
const TINY: Kernel = ("tiny", 300, 3, 1, 4);

fn run(kernels: &[Kernel]) -> Run {
    let mut sample = Sample::default();
    let id = sample.run();
    let window_ns = kernels.iter().map(|(_, count, us, _, _)| count * us * 1_000).sum();
    let device = sample.device(id, 0, "A100", window_ns, &[("compute_ns", window_ns)]);
    let launches: i64 = kernels.iter().map(|(_, count, ..)| count).sum();
    sample.facts.get_mut(device).set("kernel_count", launches);
    for (name, count, us, blocks, first) in kernels {
        let kernel = sample.facts.add(EntityKind::Kernel, format!("gpu0/{name}"), &[device, id]);
        let entity = sample.facts.get_mut(kernel);
        entity.set("name", *name);
        entity.set("launch_count", *count);
        entity.set("sum_ns", count * us * 1_000);
        entity.set("grid_block_count", *blocks);
        entity.set("block_thread_count", 256_i64);
        entity.set("first_launch_number", *first);
        entity.set("mean_launch_number", launches / 2 + first);
    }
    let review = sample.review();
    Run { name: "run".to_owned(), facts: sample.facts, review }
}

fn times(kernels: &[Kernel], share: f64) -> Vec<Kernel> {
    let count = |count: i64| (count as f64 * share).round() as i64;
    kernels.iter().map(|(name, all, us, blocks, first)| (*name, count(*all), *us, *blocks, *first)).collect()
}

fn compared(base: &[Kernel], head: &[Kernel]) -> Comparison {
    compare(&[run(base)], &[run(head)], Terms::default()).unwrap()
}

const ALL: [Kernel; 4] = [GEMM, NORM, COPY, TINY];

#[test]
fn kernels_of_little_time_are_a_difference_and_no_refusal() {
    let comparison = compared(&ALL, &[GEMM, NORM, COPY]);
    assert_eq!((&comparison.work.basis, comparison.outcome), (&Basis::Run, Outcome::NoChange));
    let differences: Vec<String> = comparison.work.differences.iter().map(|words| words.plain()).collect();
    assert!(differences.iter().any(|words| words == "only the base launches tiny"), "{differences:?}");
}

#[test]
fn a_kernel_in_the_place_of_another_replaces_it() {
    let new: Kernel = ("gemm_tf32", 1_000, 320, 4_096, 1);
    let comparison = compared(&ALL, &[new, NORM, COPY, TINY]);
    assert_eq!(comparison.work.replaced, [Replaced { old: "gemm".to_owned(), new: "gemm_tf32".to_owned() }]);
    assert_eq!((&comparison.work.basis, comparison.outcome), (&Basis::Run, Outcome::Faster));
    let cause = comparison.causes[0].plain();
    assert!(cause.contains("gemm_tf32 in place of gemm, 480 µs (60 %) faster a call"), "{cause}");
    // Elsewhere in the sequence, as often or on the same grid alone, it is another kernel.
    for other in [("x", 1_000, 800, 4_096, 900), ("x", 700, 800, 4_096, 1), ("x", 1_000, 800, 77, 1)] {
        let comparison = compared(&ALL, &[other, NORM, COPY, TINY]);
        assert_eq!((comparison.work.replaced.len(), comparison.outcome), (0, Outcome::NotComparable), "{other:?}");
    }
}

#[test]
fn repetitions_are_compared_one_by_one() {
    let comparison = compared(&ALL, &times(&ALL, 0.7));
    assert_eq!(comparison.work.basis, Basis::Unit { count: Sides { base: 10, head: 7 } });
    assert_eq!(comparison.outcome, Outcome::NoChange, "{}", comparison.verdict.plain());
    let doubled = compared(&ALL, &times(&ALL, 2.0));
    assert_eq!(doubled.work.basis, Basis::Unit { count: Sides { base: 1, head: 2 } });
}

#[test]
fn other_work_is_refused_unless_the_caller_says_that_it_is_the_same() {
    let other = [GEMM, ("norm", 1_300, 90, 512, 2), ("copy", 800, 15, 128, 3), ("y", 2_900, 100, 9, 1_500)];
    let base = [("gemm", 940, 800, 4_096, 1), NORM, COPY];
    let refused = compared(&base, &other);
    assert_eq!(refused.outcome, Outcome::NotComparable);
    assert!(refused.verdict.plain().contains("say so with --same-work"), "{}", refused.verdict.plain());
    let terms = Terms { same_work: true, ..Terms::default() };
    let said = compare(&[run(&base)], &[run(&other)], terms).unwrap();
    assert_eq!(said.outcome, Outcome::Slower);
}

#[test]
fn all_kernels_by_one_factor_are_clocks() {
    let slower: Vec<Kernel> =
        ALL.iter().map(|(name, count, us, blocks, first)| (*name, *count, us * 10, *blocks, *first)).collect();
    let base: Vec<Kernel> =
        ALL.iter().map(|(name, count, us, blocks, first)| (*name, *count, us * 9, *blocks, *first)).collect();
    let comparison = compared(&base, &slower);
    assert!(
        comparison.causes[0].plain().starts_with("calls of all kernels take about 11 % longer"),
        "{:?}",
        comparison.causes
    );
}

#[test]
fn a_slow_step_is_no_clock_although_all_kernels_are_slow_in_it() {
    let run = |mean: i64, median: i64| {
        let mut run = run(&[("a", 1_000, mean, 512, 1), ("b", 1_000, mean, 512, 2), ("c", 1_000, mean, 512, 3)]);
        let kernels: Vec<_> = run.facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).collect();
        kernels.iter().for_each(|id| run.facts.get_mut(*id).set("median_ns", median * 1_000));
        run
    };
    let causes = |median: i64| {
        let comparison = compare(&[run(100, 100)], &[run(198, median)], Terms::default()).unwrap();
        comparison.causes.iter().any(|cause| cause.plain().contains("calls of all kernels"))
    };
    assert_eq!((causes(100), causes(198), causes(90)), (false, true, false));
}

#[test]
fn the_same_work_in_more_steps_is_not_compared_by_step() {
    let of = |us: i64, steps: i64| {
        let kernels: Vec<Kernel> =
            ALL.iter().map(|(name, count, _, blocks, first)| (*name, *count, us, *blocks, *first)).collect();
        in_steps(&kernels, steps)
    };
    let halved = compare(&[of(12, 60)], &[of(18, 120)], Terms::default()).unwrap();
    assert_eq!((&halved.work.basis, halved.outcome), (&Basis::Run, Outcome::Slower), "{}", halved.verdict.plain());
    assert!(halved.verdict.plain().contains("a step is not the same on both"), "{}", halved.verdict.plain());
    let as_often = compare(&[of(12, 60)], &[of(18, 60)], Terms::default()).unwrap();
    assert!(matches!(as_often.work.basis, Basis::Step { .. }));
    // Who launches all twice in as many steps does twice the work in each.
    let twice: Vec<Kernel> =
        ALL.iter().map(|(name, count, _, blocks, first)| (*name, 2 * count, 12, *blocks, *first)).collect();
    for terms in [Terms::default(), Terms { same_work: true, ..Terms::default() }] {
        let twice = compare(&[of(12, 60)], &[in_steps(&twice, 60)], terms).unwrap();
        assert!(matches!(twice.work.basis, Basis::Step { .. }), "{}", twice.verdict.plain());
        assert_eq!((twice.outcome, twice.work.other_steps), (Outcome::Slower, None), "{}", twice.verdict.plain());
        assert!((twice.time.unwrap().change.share.unwrap() - 1.0).abs() < 0.05);
    }
}

/// A run of these kernels whose window is marked as so many steps of one length.
fn in_steps(kernels: &[Kernel], steps: i64) -> Run {
    let mut run = run(kernels);
    let (device, window_ns) =
        run.facts.devices().first().map(|(id, gpu)| (*id, gpu.int("window_ns").unwrap())).unwrap();
    let device = run.facts.get_mut(device);
    device.set("step_name", "step");
    let facts = [("step_count", steps), ("step_median_ns", window_ns / steps), ("steady_ns", window_ns)];
    facts.iter().for_each(|(name, value)| device.set(name, *value));
    run
}

#[test]
fn ranges_that_are_not_told_are_neither_new_nor_gone() {
    let of = |name: &str, omitted: i64| {
        let mut run = run(&ALL);
        let (device, id) = (run.facts.devices()[0].0, run.facts.of_kind(EntityKind::Run).next().unwrap().0);
        run.facts.get_mut(device).set("omitted_range_count", omitted);
        let range = run.facts.add(EntityKind::Range, format!("process1/{name}"), &[id]);
        let range = run.facts.get_mut(range);
        range.set("name", name);
        [("count", 10_i64), ("sum_ns", 900_000_000)].iter().for_each(|(fact, value)| range.set(fact, *value));
        run
    };
    let changed =
        |omitted: i64| compare(&[of("a", omitted)], &[of("b", omitted)], Terms::default()).unwrap().ranges.len();
    assert_eq!((changed(0), changed(199)), (2, 0));
}
