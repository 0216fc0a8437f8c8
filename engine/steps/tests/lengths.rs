//! Rounds that their lengths tell apart.

use super::*;

#[test]
fn launches_of_one_kernel_that_take_turns_at_lengths_make_one_round() {
    let turns = |lengths_ns: &[i64], count: usize| {
        let mut program = Program::new();
        for _ in 0..count {
            lengths_ns.iter().for_each(|length_ns| program.kernel("particles", *length_ns));
            program.pause(50);
        }
        program.told().map(|steps| (steps.steps.len(), steps.steps[0].device.len_ns()))
    };
    let (count, length_ns) = turns(&[900, 1_400, 500, 2_200], 12).unwrap();
    assert!((11..=12).contains(&count) && (5_000..5_100).contains(&length_ns), "{count} of {length_ns}");
    // Equally long ones are rounds of their own.
    assert!(turns(&[900, 910, 905, 890], 12).unwrap().0 >= 47);
    // Too few turns tell nothing.
    assert!(turns(&[900, 1_400, 500, 2_200], 3).is_none_or(|(count, _)| count > 3));
}

/// Rounds of a copy and a kernel of these lengths.
fn rounds(lengths_ns: &[i64]) -> Option<Steps> {
    let mut program = Program::new();
    for length_ns in lengths_ns {
        program.copy(length_ns / 4);
        program.kernel("solve", *length_ns);
    }
    program.told()
}

#[test]
fn one_thing_in_many_sizes_is_no_repetition() {
    let sweep = |first_ns: i64| [first_ns, 200, 400, 800, 1_600, 1_600, 1_600, 3_200];
    assert_eq!(rounds(&sweep(100)), None);
    // The largest is less than eight times the smallest.
    assert!(rounds(&sweep(100).map(|ns| ns.max(401))).is_some());
    // Most are alike.
    assert!(rounds(&[100, 1_600, 1_600, 1_600, 1_600, 1_600, 1_600, 3_200]).is_some());
}

#[test]
fn a_warm_up_is_no_step_where_something_repeats_after_it() {
    let forward = |program: &mut Program| program.within("Forward", |program| program.train(3));
    let warm_up = |program: &mut Program, count: usize| {
        for number in 0..count {
            program.within(&format!("Warm-up Step {number}"), |program| {
                program.within("Forward", |program| program.train(6));
                program.train(6);
            });
        }
    };
    let mut program = Program::new();
    warm_up(&mut program, 5);
    (0..10).for_each(|_| forward(&mut program));
    let found = program.told().unwrap();
    assert_eq!((found.name.as_str(), found.steps.len(), found.certainty), ("Forward", 10, Certainty::High));
    // Two more times are no loop, and without anything after it the warm-up is all there is.
    let mut program = Program::new();
    warm_up(&mut program, 5);
    (0..2).for_each(|_| forward(&mut program));
    assert_eq!(program.told().unwrap().name, "Warm-up Step #");
    // Another range that is a step by its name comes first.
    let mut program = Program::new();
    warm_up(&mut program, 12);
    for number in 0..4 {
        program.within(&format!("step {number}"), |program| program.train(6));
    }
    assert_eq!(program.told().unwrap().name, "step #");
}

#[test]
fn the_last_of_steps_that_overlap_ends_no_sooner_than_the_host_leaves_it() {
    let last_ns = |waits: bool| {
        let mut program = Program::new();
        for number in 0..6 {
            program.within("step", |program| {
                program.kernel("work", 1_000);
                // A copy goes on while the next step computes.
                let device_ns = program.device_ns;
                program.copy(500);
                program.device_ns = device_ns;
                if waits && number == 5 {
                    program.pause(500);
                }
            });
        }
        lengths(&program.told().unwrap().steps)[5]
    };
    assert_eq!([false, true].map(last_ns), [1_000, 1_500]);
}
