//! What a program calls warm-up, and what comes behind it.

use super::*;

/// Steps of which some wait for input, behind a warm-up that is marked or not, with a kernel that is new in them or not.
fn steady_steps(warm_up: &str, first_kernel: &str, slow: &[i32]) -> std::ops::Range<usize> {
    let mut program = Program::new();
    program.within(warm_up, |program| {
        for _ in 0..4 {
            program.within("step", |program| program.train(3));
        }
    });
    program.pause(20_000);
    for number in 0..12 {
        program.within("step", |program| {
            let first = if number == 0 { first_kernel } else { "embed" };
            program.pause(if slow.contains(&number) { 2_000 } else { 0 });
            program.kernel(first, 50);
            program.train(3);
        });
    }
    let (_, ops, steps) = program.steps(None);
    Phases::of_steps(ops.window, &steps.unwrap()).unwrap().steady_steps
}

#[test]
fn slow_steps_behind_a_marked_warm_up_are_no_warm_up() {
    let slow = [0, 1, 7];
    assert_eq!(steady_steps("warmup", "embed", &slow), 4..16);
    assert_eq!(steady_steps("before", "embed", &slow), 6..16, "nothing says that it warms up");
    assert_eq!(steady_steps("warmup", "conv", &slow), 6..16, "one launches what had not run");
    assert_eq!(steady_steps("warmup", "embed", &[0, 1]), 6..16, "they fill a pipeline");
}

/// The pass that is measured, of two ranges with so many layers each.
fn measured(ranges: [&str; 2], layers: [usize; 2]) -> Option<(i64, i64)> {
    let mut program = Program::new();
    let mut began = 0;
    for (range, layers) in ranges.into_iter().zip(layers) {
        program.pause(1_000);
        // The outer range of two that are called the same clears caches as well.
        program.within(range, |program| {
            program.pause(500);
            began = program.host_ns;
            program.within(range, |program| {
                program.pause(500);
                for layer in 0..layers {
                    program.kernel(&format!("layer{layer}"), 100);
                }
            });
        });
    }
    let (timeline, ops, _) = program.steps(None);
    let launches = Launches::new(&timeline, &ops).unwrap();
    let phases = Phases::of_measured(&timeline, &Marks::new(&timeline), &launches)?;
    assert_eq!((phases.steady.end, phases.certainty), (ops.window.end, Certainty::Low));
    Some((phases.steady.start, began))
}

#[test]
fn a_pass_that_is_measured_behind_its_warm_up_is_what_is_judged() {
    let (start, began) = measured(["alexnet|warmup|forward", "alexnet|measure|forward"], [8, 8]).unwrap();
    assert_eq!(start, began, "with what the device waits for in it");
    assert!(measured(["alexnet|warmup|forward", "alexnet|measure|forward"], [20, 8]).is_none(), "it launches far less");
    assert!(measured(["alexnet|warmup|forward", "vgg|measure|forward"], [8, 8]).is_none(), "another network");
    assert!(measured(["alexnet|first|forward", "alexnet|measure|forward"], [8, 8]).is_none());
    assert!(measured(["warmup", "measure"], [8, 8]).is_none(), "they share no word");
}
