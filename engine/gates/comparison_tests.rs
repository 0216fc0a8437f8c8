//! Gates of comparisons that nothing decides stay open.

use super::{Budgets, Conditions, FailOn, GateOutcome, Gates, Slower, Threshold};
use crate::compare::samples::{self, Asked, Steps};
use crate::compare::{Comparison, Outcome, Run, Sides, State, Terms, compare};
use crate::facts::EntityKind;
use crate::rules::outcome::Severity;

/// A run of one kernel that fills a window of milliseconds, with a finding where it is asked for.
fn run(ms: i64, has_finding: bool) -> Run {
    let (mut sample, id) = samples::of_one_kernel(ms * 1_000_000);
    if has_finding {
        let rule = sample.rule("rule", "A title", EntityKind::Run);
        sample.rules[rule].severity = Some(Severity::Medium);
        sample.find(rule, id, None, "It is so.");
    }
    let review = sample.review();
    Run { name: "run".to_owned(), facts: sample.facts, review }
}

fn outcome(comparison: &Comparison, base: &[Run], head: &[Run], fail_on: FailOn) -> (GateOutcome, bool) {
    let conditions = Conditions { fail_on, budgets: Budgets::default(), allow_unknown: false, on_other_work: false };
    let gates = Gates::of_comparison(comparison, Sides { base, head }, &conditions);
    (gates.gates[0].outcome, gates.ends_run())
}

#[test]
fn runs_that_do_not_tell_pass_no_gate_on_the_verdict() {
    let slower = FailOn { findings: Threshold::Never, slower: Some(Slower::Verdict) };
    let of = |base: &[i64], head: &[i64]| {
        let [base, head] = [base, head].map(|all| all.iter().map(|ms| run(*ms, false)).collect::<Vec<_>>());
        let comparison = compare(&base, &head, Terms::default()).unwrap();
        (comparison.outcome, outcome(&comparison, &base, &head, slower))
    };
    let undecided = GateOutcome::Undecided { is_over: true };
    assert_eq!(of(&[1_000, 1_020], &[3_000, 9_000]), (Outcome::NoChange, (undecided, true)));
    assert_eq!(of(&[1_000, 1_020], &[1_010, 1_030]), (Outcome::NoChange, (GateOutcome::Passed, false)));
    assert_eq!(of(&[3_000, 9_000], &[1_000, 1_020]), (Outcome::NoChange, (GateOutcome::Passed, false)));
    assert_eq!(of(&[1_000], &[2_000]), (Outcome::Slower, (GateOutcome::Failed, true)));
}

#[test]
fn a_finding_of_which_nothing_tells_what_became_of_it_leaves_the_gate_open() {
    let fail_on = FailOn { findings: Threshold::At(Severity::Low), slower: None };
    let (base, head) = ([run(1_000, true)], [run(1_000, true)]);
    let mut comparison = compare(&base, &head, Terms::default()).unwrap();
    assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Passed, false));
    comparison.findings[0].state = State::Unclear;
    assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Unknown, true));
    comparison.findings[0].is_settled = true;
    assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Passed, false));
    comparison.findings[0].is_settled = false;
    comparison.findings[0].is_in_head = false;
    assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Passed, false));
}

/// A faster head may uncover findings; but nothing tells whether it is faster that lacks what the base was recorded with.
#[test]
fn a_new_finding_opens_no_gate_that_is_open_without_it() {
    for severity in [Severity::Low, Severity::High] {
        let fail_on = FailOn { findings: Threshold::At(severity), slower: None };
        let (base, head) = ([run(2_000, false)], [run(1_000, true)]);
        let mut comparison = compare(&base, &head, Terms::default()).unwrap();
        assert_eq!((comparison.outcome, comparison.findings[0].state), (Outcome::Faster, State::New));
        assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Passed, false));
        comparison.lacking.head.events.push("calls of the operating system");
        assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Unknown, true));
    }
}

/// What a pause parts from the steady state is timed by nothing: no limit of time passes that it would break.
#[test]
fn steps_behind_a_pause_leave_the_gates_of_time_open() {
    let even = |count: usize| Steps { ms: vec![10; count], pause: (0, 0), steady: 0..count };
    let slower_behind = |behind_ms: i64, pause_ms: i64| {
        let ms = [vec![10; 160], vec![behind_ms; 140]].concat();
        Steps { ms, pause: (160, pause_ms), steady: 0..160 }
    };
    let mut budgets = Budgets::default();
    ["step_time=+5%", "window_time=+5%", "step_time<=12ms"].iter().for_each(|text| budgets.add_pair(text).unwrap());
    let fail_on = FailOn { findings: Threshold::Never, slower: Some(Slower::By(0.03)) };
    let conditions = Conditions { fail_on, budgets, allow_unknown: false, on_other_work: false };
    let outcomes = |base: &Steps, head: &Steps| {
        let [base, head] = [base, head].map(|steps| [steps.run(Asked::Steady)]);
        let comparison = compare(&base, &head, Terms::default()).unwrap();
        let gates = Gates::of_comparison(&comparison, Sides { base: &base, head: &head }, &conditions);
        gates.gates.iter().map(|gate| gate.outcome).collect::<Vec<_>>()
    };
    use GateOutcome::{Passed, Unknown};
    let passed = [Passed; 4];
    assert_eq!(outcomes(&even(300), &slower_behind(30, 100)), [Unknown; 4]);
    assert_eq!(outcomes(&even(300), &slower_behind(10, 5_000)), [Unknown; 4], "a stall");
    assert_eq!(outcomes(&even(300), &slower_behind(10, 40)), passed);
    assert_eq!(outcomes(&slower_behind(11, 40), &slower_behind(11, 40)), passed);
    assert_eq!(outcomes(&slower_behind(30, 100), &even(300)), passed);
}

/// A faster head may have uncovered what is new; that it failed it did not uncover.
#[test]
fn a_head_that_failed_passes_by_no_time() {
    let fail_on = FailOn { findings: Threshold::At(Severity::Low), slower: None };
    let (base, mut head) = ([run(2_000, false)], [run(1_000, true)]);
    let mut comparison = compare(&base, &head, Terms::default()).unwrap();
    comparison.findings[0].tells_of_failure = true;
    assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Failed, true));
    // Whatever else is not known of it.
    let id = head[0].facts.of_kind(EntityKind::Run).next().unwrap().0;
    head[0].facts.get_mut(id).set("kernel_error_call", "cudaDeviceSynchronize");
    assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Failed, true));
    comparison.findings.clear();
    assert_eq!(outcome(&comparison, &base, &head, fail_on), (GateOutcome::Unknown, true));
}

#[test]
fn what_comes_behind_the_last_step_passes_no_gate_of_time_where_it_grew() {
    let mut budgets = Budgets::default();
    ["step_time=+5%", "run.kernel_count=+5%"].iter().for_each(|text| budgets.add_pair(text).unwrap());
    let fail_on = FailOn { findings: Threshold::Never, slower: Some(Slower::Verdict) };
    let conditions = Conditions { fail_on, budgets, allow_unknown: false, on_other_work: false };
    let of = |asked: Asked, tail_ms: i64| {
        let mut run = Steps { ms: vec![10; 40], pause: (0, 0), steady: 0..40 }.run(asked);
        let (device, id) = (run.facts.devices()[0].0, run.facts.of_kind(EntityKind::Run).next().unwrap().0);
        run.facts.get_mut(device).set("tear_down_ns", tail_ms * 1_000_000);
        run.facts.get_mut(device).set("whole_window_ns", (400 + tail_ms) * 1_000_000);
        run.facts.get_mut(id).set("kernel_count", 200_i64);
        run
    };
    let outcomes = |base: Run, head: Run| {
        let (base, head) = ([base], [head]);
        let comparison = compare(&base, &head, Terms::default()).unwrap();
        let gates = Gates::of_comparison(&comparison, Sides { base: &base, head: &head }, &conditions);
        let outcomes: Vec<GateOutcome> = gates.gates.iter().map(|gate| gate.outcome).collect();
        (outcomes, comparison.verdict.plain())
    };
    use GateOutcome::{Passed, Unknown};
    let (grown, words) = outcomes(of(Asked::Steady, 3), of(Asked::Steady, 400));
    assert_eq!(grown, [Unknown; 3]);
    assert!(words.contains("What comes behind the last step that counts takes 400 ms after 3 ms."), "{words}");
    // Counts of the whole recording are not of the steps of a phase.
    assert_eq!(outcomes(of(Asked::Steady, 400), of(Asked::Steady, 3)).0, [Passed, Passed, Unknown]);
    assert_eq!(outcomes(of(Asked::Whole, 3), of(Asked::Whole, 3)).0, [Passed; 3]);
}

#[test]
fn what_is_computed_before_the_first_step_passes_no_gate_where_it_grew() {
    let fail_on = FailOn { findings: Threshold::Never, slower: Some(Slower::Verdict) };
    let of = |lead_ms: i64| {
        let mut run = Steps { ms: vec![10; 40], pause: (0, 0), steady: 0..40 }.run(Asked::Steady);
        let device = run.facts.devices()[0].0;
        run.facts.get_mut(device).set("compute_ns", 400_000_000_i64);
        let phase = run.facts.add(EntityKind::Phase, "gpu0/set-up", &[device]);
        run.facts.get_mut(phase).set("compute_ns", lead_ms * 1_000_000);
        run
    };
    let said = |base: i64, head: i64| {
        let (base, head) = ([of(base)], [of(head)]);
        let comparison = compare(&base, &head, Terms::default()).unwrap();
        (outcome(&comparison, &base, &head, fail_on).0, comparison.verdict.plain())
    };
    let (outcome, words) = said(3, 300);
    assert_eq!(outcome, GateOutcome::Unknown);
    assert!(words.contains("Before the steps that count the GPU computes for 300 ms after 3 ms."), "{words}");
    // Less of it, as much, or a little more is start-up.
    for (base, head) in [(300, 3), (300, 300), (3, 90)] {
        assert_eq!(said(base, head).0, GateOutcome::Passed, "{base} {head}");
    }
}
