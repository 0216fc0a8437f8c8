//! Steps that an optimizer's own ranges tell.

use super::*;

const ADAM: &str = "Optimizer.step#Adam.step";

/// A step of training that measures how good the network is behind the optimizer, where the device pauses.
fn train(program: &mut Program, optimizers: &[&str]) {
    for optimizer in optimizers {
        program.kernel("embed", 50);
        for _ in 0..4 {
            program.kernel("gemm", 100);
        }
        program.within(optimizer, |program| program.kernel("multi_tensor", 20));
    }
    program.kernel("argmax", 30);
    program.pause(100);
}

fn told(count: usize, optimizers: &[&str]) -> Steps {
    let mut program = Program::new();
    (0..count).for_each(|_| train(&mut program, optimizers));
    program.told().unwrap()
}

#[test]
fn a_step_ends_with_the_step_of_the_optimizer() {
    let steps = told(8, &[ADAM]);
    assert_eq!((steps.name.as_str(), steps.told_by, steps.certainty), (ADAM, ToldBy::Optimizer, Certainty::High));
    let counts: Vec<u32> = steps.steps.iter().map(|step| step.launch_count).collect();
    assert_eq!(counts, [6, 7, 7, 7, 7, 7, 7, 7], "what follows the last of them is of no step");
}

#[test]
fn networks_that_take_turns_make_one_step() {
    let steps = told(8, &[ADAM, ADAM]);
    assert_eq!((steps.told_by, steps.steps.len()), (ToldBy::Launches, 7));
    let steps = told(8, &[ADAM, "Optimizer.step#SGD.step"]);
    assert_eq!((steps.told_by, steps.steps.len()), (ToldBy::Launches, 7));
}

#[test]
fn a_few_steps_of_an_optimizer_are_no_steps() {
    let mut program = Program::new();
    (0..2).for_each(|_| train(&mut program, &[ADAM]));
    (0..20).for_each(|_| program.train(6));
    assert_eq!(program.told().map(|steps| steps.told_by), Some(ToldBy::Launches));
}
