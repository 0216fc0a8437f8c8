//! What becomes of findings when the time, the work, or both change.

use super::{Basis, Comparison, Run, Sides, State, Terms, compare};
use crate::facts::EntityKind;
use crate::findings::Baseline;
use crate::findings::samples::Sample;
use crate::rules::outcome::Severity;

/// What a finding costs for each round of work, or once.
struct Cost {
    rule: &'static str,
    ns: i64,
    is_once: bool,
}

const PER_ROUND: Cost = Cost { rule: "sync-gap", ns: 200_000_000, is_once: false };
const ONCE: Cost = Cost { rule: "module-loading", ns: 300_000_000, is_once: true };

/// A run of so many rounds of one second each, stretched; what occurs once is not repeated.
fn run(rounds: i64, stretch: f64, costs: &[Cost]) -> Run {
    let scaled = |ns: i64| (ns as f64 * stretch) as i64;
    let mut sample = Sample::default();
    let id = sample.run();
    let once_ns: i64 = costs.iter().filter(|cost| cost.is_once).map(|cost| cost.ns).sum();
    let window_ns = scaled(1_000_000_000 * rounds + once_ns);
    let accounts = [("compute_ns", scaled(400_000_000 * rounds))];
    let device = sample.device(id, 0, "A100", window_ns, &accounts);
    let kernel = sample.facts.add(EntityKind::Kernel, "gpu0/k", &[device, id]);
    let entity = sample.facts.get_mut(kernel);
    entity.set("name", "k");
    entity.set("launch_count", 1_000 * rounds);
    entity.set("mean_ns", scaled(400_000));
    entity.set("sum_ns", scaled(400_000_000 * rounds));
    for cost in costs {
        let rule = sample.rule(cost.rule, cost.rule, EntityKind::Device);
        sample.rules[rule].once = cost.is_once;
        let times = if cost.is_once { 1 } else { rounds };
        sample.find(rule, device, Some(("idle", scaled(cost.ns * times))), "it waits");
    }
    let review = sample.review();
    Run { name: "run".to_owned(), facts: sample.facts, review }
}

fn compared(base: Run, head: Run) -> Comparison {
    compare(&[base], &[head], Terms::default()).unwrap()
}

fn states(comparison: &Comparison) -> Vec<(&str, State)> {
    let mut states: Vec<_> = comparison.findings.iter().map(|finding| (finding.rule.as_str(), finding.state)).collect();
    states.sort_unstable();
    states
}

#[test]
fn twice_as_long_for_the_same_work_is_worse_although_the_shares_are_the_same() {
    let there = compared(run(1, 1.0, &[PER_ROUND, ONCE]), run(1, 2.0, &[PER_ROUND, ONCE]));
    assert_eq!(states(&there), [("module-loading", State::Worse), ("sync-gap", State::Worse)]);
    for finding in &there.findings {
        let Sides { base, head } = finding.share.unwrap();
        assert!((base - head).abs() < 1e-9, "{finding:?}");
    }
    let back = compared(run(1, 2.0, &[PER_ROUND, ONCE]), run(1, 1.0, &[PER_ROUND, ONCE]));
    assert_eq!(states(&back), [("module-loading", State::Better), ("sync-gap", State::Better)]);
}

#[test]
fn twice_the_work_is_not_worse_nor_better() {
    for (base, head) in [(1, 2), (2, 1), (1, 10)] {
        let comparison = compared(run(base, 1.0, &[PER_ROUND, ONCE]), run(head, 1.0, &[PER_ROUND, ONCE]));
        assert_eq!(comparison.work.basis, Basis::Unit { count: Sides { base, head } });
        assert_eq!(states(&comparison), [("module-loading", State::Unchanged), ("sync-gap", State::Unchanged)]);
        let loading = comparison.findings.iter().find(|finding| finding.rule == "module-loading").unwrap();
        assert_eq!(loading.gain.unwrap().head.median, ONCE.ns, "the whole of what occurs once");
    }
}

#[test]
fn twice_the_work_at_half_the_speed_is_worse() {
    let comparison = compared(run(1, 1.0, &[PER_ROUND]), run(2, 2.0, &[PER_ROUND]));
    assert_eq!(states(&comparison), [("sync-gap", State::Worse)]);
}

#[test]
fn what_others_uncover_is_not_new_and_what_they_cover_is_not_gone() {
    let unclear = [("sync-gap", State::Unclear)];
    assert_eq!(states(&compared(run(1, 1.0, &[]), run(1, 1.0, &[PER_ROUND]))), unclear);
    let there = compared(run(1, 2.0, &[]), run(1, 1.0, &[PER_ROUND]));
    assert_eq!(states(&there), unclear);
    assert!(there.findings[0].because.as_deref().unwrap().starts_with("uncovered"), "{:?}", there.findings[0].because);
    let back = compared(run(1, 1.0, &[PER_ROUND]), run(1, 2.0, &[]));
    assert_eq!(states(&back), unclear);
    assert!(back.findings[0].because.as_deref().unwrap().starts_with("covered"), "{:?}", back.findings[0].because);
}

#[test]
fn what_occurs_once_does_not_come_or_go_with_the_amount_of_work() {
    let unclear = [("module-loading", State::Unclear)];
    assert_eq!(states(&compared(run(1, 1.0, &[ONCE]), run(4, 1.0, &[]))), unclear);
    assert_eq!(states(&compared(run(4, 1.0, &[]), run(1, 1.0, &[ONCE]))), unclear);
    // In the side that did more it would weigh less: it did come.
    assert_eq!(states(&compared(run(1, 1.0, &[]), run(4, 1.0, &[ONCE]))), [("module-loading", State::New)]);
    assert_eq!(states(&compared(run(4, 1.0, &[ONCE]), run(1, 1.0, &[]))), [("module-loading", State::Gone)]);
    assert_eq!(states(&compared(run(1, 1.0, &[ONCE]), run(1, 1.0, &[]))), [("module-loading", State::Gone)]);
}

/// A run of one second with copies whose time never changes, and so much idle time that goes with them; where that is told.
fn with_beside(copies_ns: i64, beside_ns: i64, is_found: bool) -> Run {
    let mut sample = Sample::default();
    let id = sample.run();
    let accounts = [("compute_ns", 500_000_000 - beside_ns), ("exposed_copy_ns", copies_ns)];
    let device = sample.device(id, 0, "A100", 1_000_000_000, &accounts);
    let rule = sample.rule("round-trip-copies", "Round trips", EntityKind::Device);
    if is_found {
        sample.find_beside(rule, device, ("exposed_copy", copies_ns), beside_ns);
    }
    let review = sample.review();
    Run { name: "run".to_owned(), facts: sample.facts, review }
}

#[test]
fn a_finding_is_worse_where_only_what_goes_with_its_claim_grew() {
    let terms = || Terms { same_work: true, ..Terms::default() };
    let told = |base: Run, head: Run| compare(&[base], &[head], terms()).unwrap();
    let state =
        |base, head| states(&told(with_beside(100_000_000, base, true), with_beside(100_000_000, head, true)))[0].1;
    assert_eq!(state(50_000_000, 150_000_000), State::Worse);
    assert_eq!(state(150_000_000, 50_000_000), State::Better);
    assert_eq!(state(150_000_000, 150_000_000), State::Unchanged);
    // Where one side does not have it, what went with it there is not known.
    let new = told(with_beside(100_000_000, 50_000_000, false), with_beside(100_000_000, 150_000_000, true));
    assert_eq!((new.findings[0].state, new.findings[0].is_settled), (State::Unclear, false));
}

/// A run with a finding that gains nothing, of this severity.
fn noted(severity: Severity) -> Run {
    let mut run = Sample::default();
    let id = run.run();
    let device = run.device(id, 0, "A100", 1_000_000_000, &[("compute_ns", 900_000_000)]);
    let rule = run.rule("late-start", "Late", EntityKind::Device);
    run.rules[rule].severity = Some(severity);
    run.find(rule, device, None, "It begins late");
    let review = run.review();
    Run { name: "run".to_owned(), facts: run.facts, review }
}

#[test]
fn without_a_gain_what_is_graver_is_worse_and_no_baseline_knows_it() {
    let state = |base: Severity, head: Severity| {
        let comparison =
            compare(&[noted(base)], &[noted(head)], Terms { same_work: true, ..Terms::default() }).unwrap();
        comparison.findings[0].state
    };
    assert_eq!(state(Severity::Medium, Severity::High), State::Worse);
    assert_eq!(state(Severity::High, Severity::Medium), State::Better);
    assert_eq!(state(Severity::High, Severity::High), State::Unchanged);
    let baseline = Baseline::of(&noted(Severity::Medium).review);
    let known = |severity: Severity| {
        let review = noted(severity).review;
        let told =
            review.observations().iter().map(|seen| (seen.fingerprint.to_owned(), None, seen.severity)).next().unwrap();
        baseline.knows([(told.0.as_str(), told.1, told.2)])[0]
    };
    assert_eq!((known(Severity::High), known(Severity::Medium), known(Severity::Low)), (false, true, true));
}

#[test]
fn what_the_project_says_of_a_severity_holds_for_each_entity() {
    let mut sample = Sample::default();
    let run = sample.run();
    let rule = sample.rule("small-copies", "Copies", EntityKind::Device);
    sample.rules[rule].set_severity = Some(Severity::High);
    for number in 0..2 {
        let device = sample.device(run, number, "A100", 1_000_000_000, &[("exposed_copy_ns", 20_000_000)]);
        sample.find(rule, device, Some(("exposed_copy", 15_000_000)), "it copies");
    }
    let review = sample.review();
    let severities: Vec<Severity> = review.observations().iter().map(|seen| seen.severity).collect();
    assert_eq!(severities, [Severity::High; 2]);
}

#[test]
fn what_a_rule_finds_beyond_what_is_told_is_neither_new_nor_gone() {
    // Of so many kernels each is found, from a first one on.
    let of = |first: usize, count: usize| {
        let mut sample = Sample::default();
        let id = sample.run();
        let device = sample.device(id, 0, "A100", 1_000_000_000, &[("compute_ns", 1_000_000_000)]);
        let rule = sample.rule("tiny-kernels", "A title", EntityKind::Kernel);
        sample.rules[rule].severity = Some(Severity::Medium);
        for number in first..first + count {
            let kernel = sample.facts.add(EntityKind::Kernel, format!("gpu0/k{number}"), &[device, id]);
            let entity = sample.facts.get_mut(kernel);
            entity.set("name", format!("k{number}"));
            entity.set("launch_count", 10_i64);
            entity.set("sum_ns", 1_000_000_i64);
            sample.find(rule, kernel, None, "it is tiny");
        }
        let review = sample.review();
        Run { name: "run".to_owned(), facts: sample.facts, review }
    };
    let beyond = |all: usize| {
        let comparison = compare(&[of(0, all)], &[of(1, all)], Terms { same_work: true, ..Terms::default() }).unwrap();
        let because = comparison.findings.iter().filter_map(|finding| finding.because.as_deref());
        because.filter(|because| because.contains("finds more on the other side than is told")).count()
    };
    let most = crate::limits::MAX_FINDING_OF_RULE_COUNT;
    assert_eq!((beyond(most - 1), beyond(most)), (0, 2));
}
