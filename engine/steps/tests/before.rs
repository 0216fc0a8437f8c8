//! What comes before the work that repeats: set-up, warm-up, and trials of libraries.

use super::*;

/// What comes before rounds that may be layers: kernels with pauses between them.
fn lead(count: usize, pause_ns: i64) -> i64 {
    let mut program = Program::new();
    for _ in 0..count {
        program.kernel("load", 10);
        program.pause(pause_ns);
    }
    for _ in 0..6 {
        program.kernel("gemm", 1_000);
        program.kernel("norm", 100);
    }
    let (_, ops, steps) = program.steps(None);
    let phases = Phases::of_steps(ops.window, &steps.unwrap()).unwrap();
    phases.steady.start - phases.clone().with_neighbours(&ops).steady.start
}

#[test]
fn many_pauses_part_rounds_from_what_comes_before_them_as_a_long_one_does() {
    // Of a steady state of about 6,600: two pauses of a sixth of it are little, four are much, in whatever order they come.
    assert!((2_000..2_500).contains(&lead(2, 1_100)), "{}", lead(2, 1_100));
    assert!((2_000..3_500).contains(&lead(8, 1_100)), "{}", lead(8, 1_100));
}

#[test]
fn kernels_that_a_library_tries_come_before_the_work() {
    let start_up_of = |checked: usize, worked: usize| {
        let mut program = Program::new();
        for _ in 0..checked {
            program.kernel("gemm", 100);
            program.kernel("xla::redzone_checker", 10);
        }
        let tried_ns = program.device_ns;
        for _ in 0..worked {
            program.kernel("gemm", 100);
            program.kernel("norm", 50);
        }
        let (timeline, ops, _) = program.steps(None);
        (start_up(&timeline, &Marks::new(&timeline), &ops, None).map(|part| part.end), tried_ns)
    };
    let (end, tried_ns) = start_up_of(10, 40);
    assert_eq!(end, Some(tried_ns));
    assert_eq!(start_up_of(40, 10).0, None, "most of the work is trials");
    assert_eq!(start_up_of(0, 40).0, None);
}

#[test]
fn ranges_in_which_kernels_are_tuned_come_before_the_work() {
    let mut program = Program::new();
    program.within("CachingAutotuner.benchmark_all_configs (dynamo_timed)", |program| {
        for _ in 0..30 {
            program.kernel("triton_", 10);
        }
        program.host_ns = program.device_ns;
    });
    let tuned_ns = program.host_ns - 1;
    for _ in 0..100 {
        program.kernel("triton_", 100);
    }
    let (timeline, ops, _) = program.steps(None);
    let end = start_up(&timeline, &Marks::new(&timeline), &ops, None).map(|part| part.end);
    assert_eq!(end, Some(tuned_ns));
}
