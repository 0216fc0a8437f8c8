//! What is held against what: the same GPUs, the same part of a run, all kernels, the slowest device of each side.

use super::{Basis, Comparison, Outcome, Run, Terms, compare};
use crate::facts::{EntityKind, FactValue, Facts};
use crate::findings::samples::Sample;

/// A run on GPUs, each of a name and a window in milliseconds, which one kernel fills.
fn run(gpus: &[(&str, i64)]) -> Run {
    with(gpus, |_| {})
}

fn with(gpus: &[(&str, i64)], change: impl Fn(&mut Facts)) -> Run {
    let mut sample = Sample::default();
    let id = sample.run();
    for (number, (name, ms)) in (0..).zip(gpus) {
        let window_ns = ms * 1_000_000;
        let device = sample.device(id, number, name, window_ns, &[("compute_ns", window_ns)]);
        sample.facts.get_mut(device).set("kernel_count", 1_000);
        sample.facts.get_mut(device).set("kernel_sum_ns", window_ns);
        let kernel = sample.facts.add(EntityKind::Kernel, format!("gpu{number}/k"), &[device, id]);
        let entity = sample.facts.get_mut(kernel);
        entity.set("name", "k");
        entity.set("launch_count", 1_000_i64);
        entity.set("sum_ns", window_ns);
    }
    change(&mut sample.facts);
    let review = sample.review();
    Run { name: "run".to_owned(), facts: sample.facts, review }
}

fn each_device(facts: &mut Facts, values: &[(&str, FactValue)]) {
    let devices: Vec<_> = facts.of_kind(EntityKind::Device).map(|(id, _)| id).collect();
    for id in devices {
        values.iter().for_each(|(name, value)| facts.get_mut(id).set(name, value.clone()));
    }
}

fn compared(base: Run, head: Run) -> Comparison {
    compare(&[base], &[head], Terms::default()).unwrap()
}

fn refused(base: Run, head: Run) -> String {
    let comparison = compared(base, head);
    assert_eq!(comparison.outcome, Outcome::NotComparable);
    comparison.verdict.plain()
}

#[test]
fn the_slowest_gpu_of_each_side_is_timed_whichever_it_is() {
    let comparison = compared(run(&[("A100", 100), ("A100", 50)]), run(&[("A100", 60), ("A100", 99)]));
    assert_eq!(comparison.outcome, Outcome::NoChange, "{}", comparison.verdict.plain());
    let window = comparison.slowest_window().unwrap();
    assert_eq!((window.base.median, window.head.median), (100_000_000, 99_000_000));
    let words = comparison.verdict.plain();
    assert!(words.contains("the window of the slowest GPU takes 99 ms after 100 ms"), "{words}");
}

#[test]
fn gpus_are_told_apart_by_name_and_a_nameless_one_may_be_any() {
    let of = |base: &[&str], head: &[&str]| {
        let run = |names: &[&str]| run(&names.iter().map(|name| (*name, 10)).collect::<Vec<_>>());
        compared(run(base), run(head))
    };
    for (base, head, words) in [
        (&["A100", "A100"][..], &["A100", "H100"][..], "the base ran on A100, the head on H100"),
        (&["A100", ""], &["H100", "H100"], "the base ran on A100, the head on H100"),
        (
            &["A100", "H100"],
            &["H100", "A100"],
            "the GPUs of the head stand in another order: in the place of A100 it has H100",
        ),
    ] {
        let comparison = of(base, head);
        let verdict = comparison.verdict.plain();
        assert!(comparison.outcome == Outcome::NotComparable && verdict.contains(words), "{verdict}");
    }
    for (base, head, whose) in [
        (&["A100"], &[""], "the head does not name every GPU"),
        (&[""], &["A100"], "the base does not name every GPU"),
        (&[""], &[""], "neither side names every GPU"),
    ] {
        let comparison = of(base, head);
        let notes: Vec<String> = comparison.work.notes.iter().map(|note| note.plain()).collect();
        let told = format!("{whose}: whether both sides ran on the same cannot be told");
        assert!(notes.contains(&told) && comparison.work.basis.is_comparable(), "{notes:?}");
    }
    assert!(of(&["A100"], &["A100"]).work.notes.is_empty());
}

#[test]
fn each_run_of_a_side_is_looked_at_for_its_gpu() {
    let [base, other] = ["A100", "H100"].map(|name| run(&[(name, 10)]));
    let comparison = compare(&[base.clone(), base.clone()], &[base.clone(), other.clone()], Terms::default()).unwrap();
    assert!(comparison.verdict.plain().contains("the base ran on A100, the head on H100"));
    let nameless = run(&[("", 10)]);
    let comparison = compare(&[base, other], &[nameless], Terms::default()).unwrap();
    let words = comparison.verdict.plain();
    assert!(words.contains("the runs of the base ran on other GPUs: A100 and H100"), "{words}");
}

#[test]
fn a_whole_run_is_not_held_against_a_steady_state() {
    let steady = |whole_ms: i64| {
        with(&[("A100", 10)], |facts| {
            each_device(facts, &[("phase", "steady".into()), ("whole_window_ns", (whole_ms * 1_000_000).into())]);
        })
    };
    let whole = || run(&[("A100", 36)]);
    let words = "of the base the whole is measured, of the head the steady state: measure the same part of both";
    assert!(refused(whole(), steady(36)).contains(words));
    assert!(refused(steady(36), whole()).contains("of the base the steady state is measured, of the head the whole"));
    // Per step everything but its time would hold what comes before the steps, or not.
    let stepped = |mut run: Run| {
        let steps = [("step_count", 10), ("step_median_ns", 1_000_000), ("steady_ns", 10_000_000)];
        each_device(&mut run.facts, &steps.map(|(name, value)| (name, value.into())));
        each_device(&mut run.facts, &[("step_name", "step".into())]);
        run
    };
    assert!(refused(stepped(whole()), stepped(steady(36))).contains(words));
    assert_eq!(compared(stepped(whole()), stepped(whole())).outcome, Outcome::NoChange);
    let asked = |window_ms: i64, more: &[(&str, i64)]| {
        let of = |facts: &mut Facts| {
            let run = facts.of_kind(EntityKind::Run).map(|(id, _)| id).next().unwrap();
            facts.get_mut(run).set("asked_phase", "steady");
            let more: Vec<_> = more.iter().map(|(name, ms)| (*name, (ms * 1_000_000).into())).collect();
            each_device(facts, &more);
        };
        with(&[("A100", window_ms)], of)
    };
    let cut = asked(10, &[("last_pages_ns", 5)]);
    assert!(refused(run(&[("A100", 16)]), cut).contains("of the head the window without its ends"));
    // Both are asked for what repeats, and one holds next to nothing else, or nothing that is cut off.
    let shorter_set_up = compared(steady(36), asked(10, &[("steady_ns", 10)]));
    assert_eq!(shorter_set_up.work.basis, Basis::Run);
    assert_eq!(compared(asked(10, &[("last_pages_ns", 5)]), asked(10, &[])).work.basis, Basis::Run);
    assert!(refused(steady(36), asked(10, &[("steady_ns", 9)])).contains("of the head the whole"));
    // What repeats from end to end is the whole.
    assert_eq!(compared(run(&[("A100", 10)]), steady(10)).work.basis, Basis::Run);
    assert_eq!(compared(steady(36), steady(30)).work.basis, Basis::Run);
    // Steps are the same in both, but all else is of the window.
    let mut stepping = [steps(10, 10), steps(10, 10)];
    each_device(&mut stepping[1].facts, &[("phase", "steady".into()), ("whole_window_ns", 90_000_000_000.into())]);
    let [whole, steady] = stepping;
    assert!(refused(whole, steady).contains(words));
}

#[test]
fn kernels_that_are_not_told_one_by_one_are_work_too() {
    // Of each only one kernel is told, in half of the time.
    let of = |launches: i64| {
        with(&[("A100", 100)], |facts| {
            each_device(
                facts,
                &[
                    ("omitted_entity_count", 500.into()),
                    ("kernel_count", launches.into()),
                    ("kernel_sum_ns", (launches * 100_000).into()),
                ],
            );
        })
    };
    let same = compared(of(6_000), of(6_000));
    assert_eq!((&same.work.basis, same.work.launch_count.base), (&Basis::Run, 6_000));
    let mut other = of(6_000);
    let kernel = other.facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).next().unwrap();
    other.facts.get_mut(kernel).set("name", "j");
    let chance = compared(of(6_000), other);
    assert_eq!((&chance.work.basis, chance.work.replaced.len()), (&Basis::Run, 0));
    let notes: Vec<String> = chance.work.notes.iter().map(|note| note.plain()).collect();
    assert!(notes.iter().any(|told| told.contains("not told one by one")), "{notes:?}");
    assert!(refused(of(6_000), of(2_000)).contains("4,000 (67 %) fewer kernels (2,000 against 6,000)"));
    let other = refused(of(6_000), run(&[("A100", 100)]));
    assert!(!other.contains('\0') && other.contains("fewer kernels (1,000 against 6,000)"), "{other}");
    // Which of them are told is chance.
    let mut renamed = of(6_000);
    let ids: Vec<_> = renamed.facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).collect();
    renamed.facts.get_mut(ids[0]).set("name", "another");
    let comparison = compared(of(6_000), renamed);
    assert_eq!((&comparison.work.basis, comparison.work.replaced.len()), (&Basis::Run, 0));
    let notes: Vec<String> = comparison.work.notes.iter().map(|note| note.plain()).collect();
    assert!(notes.iter().any(|note| note.contains("only their number is compared")), "{notes:?}");
}

#[test]
fn a_kernel_of_the_name_that_is_kept_for_the_others_is_one_of_its_own() {
    let of = |name: &'static str| {
        let mut run = run(&[("A100", 100)]);
        let kernel = run.facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).next().unwrap();
        run.facts.get_mut(kernel).set("name", name);
        run
    };
    let told = refused(of("\0"), of("k"));
    assert!(told.contains("the same number of kernels, but other ones"), "{told}");
}

/// A run of steps with a mean and a median.
fn steps(mean_ms: i64, median_ms: i64) -> Run {
    with(&[("A100", 10_000)], |facts| {
        each_device(
            facts,
            &[
                ("step_name", "step".into()),
                ("step_count", 100.into()),
                ("step_median_ns", (median_ms * 1_000_000).into()),
                ("steady_ns", (mean_ms * 100_000_000).into()),
            ],
        );
    })
}

#[test]
fn the_middle_step_decides_nothing_against_the_average() {
    let comparison = compared(steps(1_000, 1_000), steps(1_046, 940));
    assert_eq!(comparison.outcome, Outcome::NoChange, "{}", comparison.verdict.plain());
    assert_eq!(comparison.time.as_ref().map(|time| time.told().difference), Some(46_000_000));
    assert!(comparison.verdict.plain().contains("The median step takes 940 ms after 1 s"));
    let faster = compared(steps(1_000, 1_000), steps(996, 940));
    let words = faster.verdict.plain();
    assert!(faster.outcome == Outcome::Faster && words.contains("Faster: the median step takes 940 ms"), "{words}");
    assert!(words.contains("On average a step takes 996 ms after 1 s, which is within the noise."), "{words}");
    assert_eq!(compared(steps(1_000, 1_000), steps(996, 1_060)).outcome, Outcome::NoChange);
}

#[test]
fn steps_before_those_that_are_timed_are_told_where_one_side_loses_more() {
    let warm = |ns: i64| {
        let mut run = steps(10, 10);
        let ids: Vec<_> = run.facts.of_kind(EntityKind::Device).map(|(id, _)| id).collect();
        let device = run.facts.get_mut(ids[0]);
        [("set_up_ns", 5), ("before_steady_ns", 5 + ns), ("earlier_step_count", 3)]
            .iter()
            .for_each(|(name, value)| device.set(name, *value));
        run
    };
    let words = |base: i64, head: i64| compared(warm(base), warm(head)).verdict.plain();
    let more = words(30_000_000, 900_000_000);
    assert!(more.contains("Warm-up, which does not count, takes 900 ms in 3 steps after 30 ms in 3 steps."), "{more}");
    assert!(!words(30_000_000, 40_000_000).contains("Warm-up"));
}

#[test]
fn rounds_that_launches_tell_take_their_mean() {
    let rounds = |mean_ms: i64| {
        with(&[("A100", 1_000)], |facts| {
            each_device(
                facts,
                &[
                    ("step_name", "k".into()),
                    ("step_count", 60.into()),
                    ("step_median_ns", 10_000_000.into()),
                    ("step_mean_ns", (mean_ms * 1_000_000).into()),
                ],
            );
        })
    };
    let comparison = compared(rounds(10), rounds(27));
    assert_eq!(comparison.outcome, Outcome::Slower, "{}", comparison.verdict.plain());
    assert_eq!(comparison.time.map(|time| time.change.head.median), Some(27_000_000));
}

#[test]
fn amounts_of_a_step_are_told_with_their_fractions() {
    let of = |launches: i64| {
        let mut run = steps(10, 10);
        let ids: Vec<_> = run.facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).collect();
        run.facts.get_mut(ids[0]).set("launch_count", launches);
        run
    };
    let comparison = compared(of(400), of(390));
    let words: Vec<String> = comparison.work.differences.iter().map(|words| words.plain()).collect();
    assert!(words.contains(&"2.5 % fewer kernels are launched per step: 3.90 against 4".to_owned()), "{words:?}");
}

#[test]
fn where_one_gpu_tells_no_mean_no_other_is_timed() {
    let of = |means: [Option<i64>; 2]| {
        let mut run = run(&[("A100", 1_000), ("A100", 900)]);
        let ids: Vec<_> = run.facts.of_kind(EntityKind::Device).map(|(id, _)| id).collect();
        for (id, mean_ns) in ids.into_iter().zip(means) {
            let device = run.facts.get_mut(id);
            device.set("step_median_ns", 10_000_000);
            device.set("step_count", 60);
            device.set_some("step_mean_ns", mean_ns);
        }
        super::Rounds::of(&run.facts).map(|rounds| rounds.mean_ns)
    };
    assert_eq!(of([Some(11_000_000), Some(27_000_000)]), Some(27_000_000));
    assert_eq!(of([Some(11_000_000), None]), None);
}

#[test]
fn work_that_makes_no_sense_may_have_taken_any_time() {
    let cut = with(&[("A100", 60)], |facts| {
        let run = facts.of_kind(EntityKind::Run).map(|(id, _)| id).next().unwrap();
        facts.get_mut(run).set("unusable_gpu_row_count", 1_i64);
    });
    assert!(refused(run(&[("A100", 100)]), cut).contains("work of the GPU of the head is missing"));
}

#[test]
fn what_did_not_run_or_was_not_read_takes_no_time() {
    let with_run = |facts_of_run: &[(&'static str, i64)]| {
        with(&[("A100", 60)], |facts| {
            let run = facts.of_kind(EntityKind::Run).map(|(id, _)| id).next().unwrap();
            let run = facts.get_mut(run);
            facts_of_run.iter().for_each(|(name, value)| run.set(name, *value));
            if facts_of_run.is_empty() {
                run.set("kernel_error_call", "cudaLaunchKernel");
            }
        })
    };
    let failed = [("launch_call_count", 150), ("failed_launch_count", 150)];
    for (head, words) in [
        (&[][..], "in the head a kernel failed"),
        (&[("unread_row_count", 3_000)], "in the head rows beyond a limit were not read"),
        (&[("launch_call_count", 330), ("lost_launch_count", 150)], "the base holds no work of 0 % of its launches"),
        (&failed, "in the head 50 % of the launches return an error"),
    ] {
        let told = refused(run(&[("A100", 100)]), with_run(head));
        assert!(told.contains(words), "{told}");
    }
    // Captures of a length that was asked for end alike.
    let cut = with_run(&[("launch_call_count", 330), ("lost_launch_count", 150)]);
    assert!(compared(cut.clone(), cut).work.basis.is_comparable());
    let few = with_run(&[("launch_call_count", 330), ("lost_launch_count", 3)]);
    assert!(compared(run(&[("A100", 60)]), few).work.basis.is_comparable());
    assert!(compared(with_run(&failed), with_run(&failed)).work.basis.is_comparable(), "libraries try what may fail");
}

#[test]
fn gpus_that_work_beside_the_steady_state_of_others_are_work_too() {
    let of = |ms: i64| {
        with(&[("A100", 400)], |facts| {
            let whole = [("phase", "steady".into()), ("whole_window_ns", 2_500_000_000_i64.into())];
            each_device(facts, &whole);
            each_device(facts, &[("left_out_devices_busy_ns", (ms * 1_000_000).into())]);
        })
    };
    let told = refused(of(200), of(2_000));
    assert!(told.contains("work for 2 s in the head, for 200 ms in the base"), "{told}");
    assert!(compared(of(200), of(205)).work.basis.is_comparable());
}

#[test]
fn kernels_in_graphs_that_are_recorded_as_a_whole_are_not_gone() {
    let of = |kernel: &'static str, graph_ms: i64| {
        with(&[("A100", 100)], |facts| {
            let graphs = [("graph_launch_count", graph_ms.into()), ("graph_busy_ns", (graph_ms * 1_000_000).into())];
            each_device(facts, &graphs);
            let id = facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).next().unwrap();
            facts.get_mut(id).set("name", kernel);
        })
    };
    let changes = |graph_ms: i64| {
        let terms = Terms { same_work: true, ..Terms::default() };
        let comparison = compare(&[of("a", 0)], &[of("b", graph_ms)], terms).unwrap();
        let names: Vec<String> = comparison.kernels.into_iter().map(|kernel| kernel.name).collect();
        (names, comparison.work.hides_kernels.head)
    };
    assert_eq!(changes(90), (vec!["b".to_owned()], true));
    assert_eq!(changes(0).0, ["a", "b"]);
}

#[test]
fn what_a_gpu_would_take_is_no_time_of_the_slowest_one() {
    // Compute and idle time of each GPU.
    let of = |gpus: [(i64, i64); 2]| {
        let windows = gpus.map(|(compute, idle)| ("A100", compute + idle));
        with(&windows, |facts| {
            let ids: Vec<_> = facts.of_kind(EntityKind::Device).map(|(id, _)| id).collect();
            for (id, (compute, idle)) in ids.into_iter().zip(gpus) {
                facts.get_mut(id).set("compute_ns", compute * 1_000_000);
                facts.get_mut(id).set("idle_ns", idle * 1_000_000);
            }
        })
    };
    let words = |other: i64| compared(of([(100, 0), (50, 0)]), of([(50, 10), (other, 0)])).verdict.plain();
    assert!(words(50).contains("It would be 50 % faster"), "{}", words(50));
    assert!(words(80).contains("Faster: ") && !words(80).contains("It would be"), "{}", words(80));
}
