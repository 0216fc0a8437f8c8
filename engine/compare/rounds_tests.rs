//! The steps of a run: which of them are timed, and what is said of the others.

use super::rounds::{Rounds, warm_up};
use super::samples::{Asked, Steps};
use super::{Outcome, Run, Terms, WarmUp, compare};
use crate::facts::EntityKind;

const MS: i64 = 1_000_000;

/// So many steps of 10 ms, a pause, and as many of another length.
fn with_pause(before: usize, pause_ms: i64, behind: usize, ms: i64) -> Steps {
    let all = [vec![10; before], vec![ms; behind]].concat();
    Steps { ms: all, pause: (before, pause_ms), steady: 0..before }
}

fn even(count: usize) -> Run {
    Steps { ms: vec![10; count], pause: (0, 0), steady: 0..count }.run(Asked::Whole)
}

fn mean_ns(run: &Run) -> Option<i64> {
    Rounds::of(&run.facts).map(|rounds| rounds.mean_ns)
}

#[test]
fn the_mean_is_of_the_steps_whose_time_it_divides() {
    for (before, behind) in [(160, 140), (85, 15)] {
        let steps = with_pause(before, 100, behind, 30);
        assert_eq!(mean_ns(&steps.run(Asked::Whole)), Some(10 * MS), "{before}");
        let other = steps.run_without(Asked::Whole, "steady_step_count");
        // Of a file that does not say how many they are, the steps that are told do, where they are all.
        assert_eq!(mean_ns(&other), (before + behind <= 200).then_some(10 * MS), "{before}");
    }
    // What no file of coldspot says: fewer steps take the time of all.
    let mut run = even(300);
    let device = run.facts.devices()[0].0;
    run.facts.get_mut(device).set("steady_ns", 400 * MS);
    assert_eq!(mean_ns(&run), None);
}

#[test]
fn steps_behind_a_pause_are_told_where_they_change_the_verdict() {
    for asked in [Asked::Whole, Asked::Steady] {
        let head = with_pause(85, 5_000, 15, 10).run(asked);
        let base = Steps { ms: vec![10; 100], pause: (0, 0), steady: 0..100 }.run(Asked::Whole);
        let comparison = compare(std::slice::from_ref(&base), std::slice::from_ref(&head), Terms::default()).unwrap();
        let words = comparison.verdict.plain();
        if asked == Asked::Whole {
            assert_eq!(comparison.outcome, Outcome::NoChange, "{words}");
            let told = "Steps behind a pause do not count: 15 of 100 steps in the head, none in the base. With them and the \
                        pause a step takes 60 ms after 10 ms.";
            assert!(words.contains(told), "{words}");
        }
        let rounds = Rounds::of(&head.facts).unwrap();
        assert_eq!((rounds.behind.count, rounds.behind.of, rounds.behind.mean_with_ns), (15, 100, 60 * MS));
        let same = compare(std::slice::from_ref(&head), std::slice::from_ref(&head), Terms::default())
            .unwrap()
            .verdict
            .plain();
        assert!(!same.contains("behind a pause"), "{same}");
    }
}

#[test]
fn warm_up_is_all_of_it_and_not_only_what_is_told() {
    let ms = [vec![6; 900], vec![2; 1_100]].concat();
    let steps = Steps { ms, pause: (900, 100), steady: 900..2_000 };
    for asked in [Asked::Whole, Asked::Steady] {
        let WarmUp { count, ns, of } = warm_up(&steps.run(asked).facts);
        assert_eq!((count, ns, of), (900, 5_500 * MS, 2_000));
    }
    // A file that somebody wrote: the steady state begins before the set-up ends.
    let mut run = steps.run(Asked::Steady);
    let device = run.facts.devices()[0].0;
    run.facts.get_mut(device).set("set_up_ns", i64::MAX);
    assert_eq!(warm_up(&run.facts).ns, 0);
}

#[test]
fn where_one_gpu_tells_no_steps_the_slowest_is_not_known() {
    let mut run = even(40);
    assert_eq!(mean_ns(&run), Some(10 * MS));
    let id = run.facts.of_kind(EntityKind::Run).next().unwrap().0;
    let other = run.facts.add(EntityKind::Device, "gpu1", &[id]);
    run.facts.get_mut(other).set("number", 1_i64);
    assert_eq!(mean_ns(&run), Some(10 * MS), "it ran nothing");
    run.facts.get_mut(other).set("window_ns", 400 * MS);
    assert_eq!(mean_ns(&run), None);
}
