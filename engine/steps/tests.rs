//! Steps of timelines that are written down as scripts.

mod before;
mod lengths;
mod optimizer;
mod warm_up;

use super::*;
use crate::ledger::DeviceOps;
use crate::timeline::Geometry;
use crate::timeline::builder::ThreadKey;
use crate::timeline::builder::{
    Builder, CallEvent, Chunk, KernelKey, LabelKey, Limits, OpEvent, RangeEvent, StreamKey,
};
use crate::timeline::columns::{Direction, HostMemory, RangeKind};
use crate::timeline::interval::Interval;

/// The steps of a device.
fn find_in(timeline: &Timeline, ops: &DeviceOps, wanted: Option<&str>) -> Option<Steps> {
    find(timeline, &Marks::new(timeline), &Launches::new(timeline, ops)?, wanted)
}

const HOST: ThreadKey = ThreadKey { process: 7, id: 1 };

/// A program that launches, and a device that runs what was launched as soon as it can.
struct Program {
    builder: Builder,
    chunk: Chunk,
    host_ns: i64,
    device_ns: i64,
    launches: u32,
}

impl Program {
    fn new() -> Self {
        let builder = Builder::new(Limits::default());
        let chunk = builder.chunk("events");
        Self { builder, chunk, host_ns: 0, device_ns: 0, launches: 0 }
    }

    fn op(&mut self, api: &str, length_ns: i64) -> OpEvent {
        self.launches += 1;
        let name = self.chunk.text(api.as_bytes()).unwrap();
        let call = CallEvent { start: self.host_ns, end: self.host_ns + 5, thread: Some(HOST), name };
        self.chunk.api_call(&call, Some(self.launches), None);
        self.host_ns += 10;
        let start = self.device_ns.max(self.host_ns);
        self.device_ns = start + length_ns;
        let stream = StreamKey { process: Some(7), device: 0, context: 0, stream: 7 };
        OpEvent { start, end: self.device_ns, stream, correlation: Some(self.launches) }
    }

    fn kernel(&mut self, name: &str, length_ns: i64) {
        let op = self.op("cudaLaunchKernel", length_ns);
        let name = self.chunk.text(name.as_bytes()).unwrap();
        let geometry = Geometry { grid_blocks: 8, block_threads: 64, registers: 0, shared_memory_bytes: 0 };
        self.chunk.kernel(&op, KernelKey { name, full_name: name, geometry });
    }

    fn copy(&mut self, length_ns: i64) {
        let op = self.op("cudaMemcpyAsync", length_ns);
        self.chunk.copy(&op, 1 << 20, Direction::HostToDevice, HostMemory::Pinned);
    }

    /// A value that is read back.
    fn value(&mut self) {
        let op = self.op("cudaMemcpyAsync", 1);
        self.chunk.copy(&op, 4, Direction::DeviceToHost, HostMemory::Pinned);
    }

    fn calls(&mut self, api: &str) {
        let name = self.chunk.text(api.as_bytes()).unwrap();
        self.chunk.api_call(
            &CallEvent { start: self.host_ns, end: self.host_ns + 5, thread: Some(HOST), name },
            None,
            None,
        );
        self.host_ns += 10;
    }

    /// Host code, for which the device is waited for.
    fn pause(&mut self, length_ns: i64) {
        self.host_ns = self.host_ns.max(self.device_ns) + length_ns;
    }

    fn within(&mut self, range: &str, body: impl FnOnce(&mut Self)) {
        let start = self.host_ns;
        body(self);
        let name = self.chunk.text(range.as_bytes()).unwrap();
        let label = LabelKey { kind: RangeKind::Nvtx, domain: 0, name };
        self.chunk.range(&RangeEvent { start, end: Some(self.host_ns), thread: Some(HOST), label });
        self.host_ns += 1;
    }

    /// A step of a network of `layers` layers.
    fn train(&mut self, layers: usize) {
        self.kernel("embed", 50);
        for _ in 0..layers {
            self.kernel("gemm", 100);
            self.kernel("norm", 20);
        }
        self.kernel("adam", 80);
    }

    fn steps(self, wanted: Option<&str>) -> (Timeline, DeviceOps, Option<Steps>) {
        let Self { mut builder, chunk, .. } = self;
        builder.take(chunk);
        let timeline = builder.finish();
        let ops = DeviceOps::all(&timeline, &[]).remove(0);
        let steps = find_in(&timeline, &ops, wanted);
        (timeline, ops, steps)
    }

    fn told(self) -> Option<Steps> {
        self.steps(None).2
    }
}

#[test]
fn steps_are_found_after_a_long_set_up_and_in_any_numbering() {
    let mut program = Program::new();
    program.kernel("fill", 10);
    program.pause(10_000_000);
    for number in 0..10 {
        program.within(&format!("step {number} of 10"), |program| {
            for layer in 0..4 {
                program.within(&format!("layer {layer}"), |program| program.kernel("gemm", 100));
            }
        });
    }
    let (_, ops, steps) = program.steps(None);
    let steps = steps.unwrap();
    assert_eq!((steps.name.as_str(), steps.steps.len(), steps.certainty), ("step # of #", 10, Certainty::High));
    let phases = Phases::of_steps(ops.window, &steps).unwrap();
    assert!(phases.set_up.len_ns() > 10_000_000 && phases.steady.len_ns() < 10_000, "{phases:?}");
    assert_eq!(phases.warm_up.len_ns() + phases.set_up.len_ns() + phases.steady.len_ns(), ops.window.len_ns());
}

#[test]
fn what_is_counted_anew_in_something_that_repeats_is_no_step() {
    let mut program = Program::new();
    for _ in 0..5 {
        for part in 0..4 {
            program.within(&format!("part{part}"), |program| program.kernel("gemm", 100));
        }
    }
    let told = program.told();
    assert!(told.is_none_or(|steps| steps.told_by == ToldBy::Launches), "part# cannot be a step");
}

#[test]
fn a_pause_parts_the_warm_up_from_the_loop() {
    let mut program = Program::new();
    for _ in 0..4 {
        program.within("step", |program| program.train(3));
    }
    program.pause(1_000_000);
    for _ in 0..12 {
        program.within("step", |program| program.train(3));
    }
    let (_, ops, steps) = program.steps(None);
    let phases = Phases::of_steps(ops.window, &steps.unwrap()).unwrap();
    assert_eq!(phases.steady_steps, 4..16);
    assert!(phases.warm_up.len_ns() > 1_000_000);
}

#[test]
fn what_steps_wait_for_again_and_again_is_theirs() {
    let mut program = Program::new();
    for _ in 0..12 {
        program.within("step", |program| program.train(3));
        program.pause(100_000);
    }
    let (_, ops, steps) = program.steps(None);
    let phases = Phases::of_steps(ops.window, &steps.unwrap()).unwrap();
    assert_eq!(phases.steady_steps, 0..12);
    assert!(phases.steady.len_ns() > 11 * 100_000);
}

#[test]
fn launches_tell_steps_where_no_range_does() {
    let mut program = Program::new();
    for _ in 0..3 {
        program.kernel("fill", 5);
    }
    for _ in 0..20 {
        program.train(6);
    }
    let steps = program.told().unwrap();
    assert_eq!((steps.told_by, steps.certainty, steps.name.as_str()), (ToldBy::Launches, Certainty::Medium, "embed"));
    assert_eq!(steps.steps.len(), 20);
    assert!(steps.steps.iter().all(|step| step.launch_count == 14), "{:?}", steps.steps);
}

#[test]
fn a_value_read_back_now_and_then_makes_no_round_another_one() {
    let mut program = Program::new();
    for round in 1..=200 {
        ["apply", "norm", "scale"].iter().for_each(|kernel| program.kernel(kernel, 40));
        (0..if round % 20 == 0 { 2 } else { 1 }).for_each(|_| program.value());
    }
    let found = program.told().unwrap();
    assert_eq!((&*found.name, found.told_by, found.certainty), ("apply", ToldBy::Launches, Certainty::Medium));
    assert_eq!(found.steps.len(), 200);
}

#[test]
fn layers_alone_are_not_surely_steps() {
    let mut program = Program::new();
    for _ in 0..40 {
        program.kernel("gemm", 100);
        program.kernel("norm", 20);
    }
    assert_eq!(program.told().unwrap().certainty, Certainty::Low);
}

#[test]
fn one_program_after_the_other_makes_no_round_that_holds_another() {
    let mut program = Program::new();
    let variants: [(usize, &[&str]); 4] = [
        (100, &["distances", "sort"]),
        (100, &["texture", "sort"]),
        (100, &["norm", "gemm", "add", "sort"]),
        (9, &["distances", "sort"]),
    ];
    for (count, kernels) in variants {
        (0..count).for_each(|_| kernels.iter().for_each(|kernel| program.kernel(kernel, 400)));
    }
    let longest = |steps: Steps| steps.steps.iter().map(|step| step.host.len_ns()).max();
    assert!(program.told().and_then(longest).is_none_or(|longest_ns| longest_ns < 100));
}

#[test]
fn copies_alone_are_no_steps() {
    let mut program = Program::new();
    (0..100).for_each(|_| program.copy(500));
    program.kernel("gemm", 10);
    assert_eq!(program.told(), None);
}

#[test]
fn the_user_may_name_the_step() {
    let mut program = Program::new();
    for number in 0..6 {
        program.within("step", |program| {
            program.within(&format!("half{number}"), |program| program.kernel("a", 100));
            program.within("rest", |program| program.kernel("b", 100));
        });
    }
    let (timeline, ops, steps) = program.steps(Some("half0"));
    assert_eq!(steps.unwrap().name, "half#");
    assert_eq!(find_in(&timeline, &ops, Some("third")), None);
    assert_eq!(find_in(&timeline, &ops, None).unwrap().name, "step");
}

#[test]
fn the_programs_own_region_is_the_steady_state() {
    let mut program = Program::new();
    program.kernel("fill", 10);
    program.pause(5_000);
    program.calls("cudaProfilerStart");
    program.kernel("a", 1_000);
    program.kernel("b", 1_000);
    program.calls("cudaProfilerStop");
    program.kernel("c", 10);
    let (timeline, ops, steps) = program.steps(None);
    assert_eq!(steps, None);
    let phases = Phases::of_region(&timeline, &Launches::new(&timeline, &ops).unwrap()).unwrap();
    assert!(phases.set_up.len_ns() > 5_000 && phases.tear_down.len_ns() > 0);
    assert!((2_000..3_000).contains(&phases.steady.len_ns()));
}

#[test]
fn a_step_that_the_recording_cuts_is_left_out() {
    let mut program = Program::new();
    for _ in 0..6 {
        program.within("step", |program| program.train(6));
    }
    program.within("step", |program| program.kernel("embed", 50));
    assert_eq!(program.told().unwrap().steps.len(), 6);
}

#[test]
fn steps_that_overlap_are_paced_by_their_kernels() {
    let mut program = Program::new();
    let mut copied_ns = 0;
    for _ in 0..10 {
        program.within("step", |program| {
            // Copies follow each other closely, whatever kernels do.
            let device_ns = std::mem::replace(&mut program.device_ns, copied_ns);
            program.copy(300);
            copied_ns = program.device_ns;
            program.device_ns = device_ns.max(copied_ns);
            program.kernel("work", 1_000);
        });
    }
    assert_eq!(program.told().unwrap().median_ns(), 1_000);
}

/// The steps of a loop that loads for so long before each, when the device has done the one before, and launches 2 µs of work.
fn loading(loads_ns: [i64; 5]) -> (DeviceOps, Vec<Step>) {
    let mut program = Program::new();
    for (number, load_ns) in loads_ns.into_iter().enumerate() {
        program.within(&format!("step {number}"), |program| {
            program.pause(load_ns);
            program.kernel("a", 1_000);
            program.kernel("b", 1_000);
        });
    }
    let (_, ops, steps) = program.steps(None);
    (ops, steps.unwrap().steps)
}

fn lengths(steps: &[Step]) -> Vec<i64> {
    steps.iter().map(|step| step.device.len_ns()).collect()
}

#[test]
fn what_a_device_waits_for_is_of_the_step_that_it_waits_for() {
    let (ops, steps) = loading([10_000, 10_000, 30_000, 10_000, 10_000]);
    // The first launch takes 10 ns until its kernel begins.
    assert_eq!(lengths(&steps), [12_010, 12_010, 32_010, 12_010, 12_010]);
    assert!(steps[0].device.start < ops.window.start, "the first one waits before the window begins");
    assert!(steps.windows(2).all(|pair| pair[0].device.end == pair[1].device.start), "steps leave nothing out");
}

#[test]
fn what_comes_before_the_first_operation_of_a_recording_makes_no_step_long() {
    let (ops, steps) = loading([500_000, 10_000, 10_000, 10_000, 10_000]);
    assert_eq!(steps[0].device.start, ops.window.start);
    assert_eq!(lengths(&steps), [2_000, 12_010, 12_010, 12_010, 12_010]);
}

#[test]
fn a_device_that_is_behind_begins_a_step_when_it_has_done_the_one_before() {
    let mut program = Program::new();
    for number in 0..5 {
        program.within(&format!("step {number}"), |program| program.kernel("a", 1_000));
    }
    let (_, ops, steps) = program.steps(None);
    let steps = steps.unwrap().steps;
    assert_eq!(lengths(&steps)[1..], [1_000; 4]);
    assert_eq!(steps[4].device.end, ops.window.end);
}

/// A request of which four parts are alike, and `encoder_ns` of other work before them.
fn request(encoder_ns: i64) -> Option<Steps> {
    let mut program = Program::new();
    program.within("model_inference", |program| {
        program.kernel("encoder", encoder_ns);
        for _ in 0..4 {
            program.within("denoise", |program| program.train(3));
        }
        program.kernel("decoder", 50);
    });
    program.told()
}

#[test]
fn what_repeats_within_one_request_is_a_part_of_it() {
    assert_eq!(request(1_000), None);
    // One range around a loop and hardly anything else says what the loop is for.
    assert_eq!(request(10).unwrap().certainty, Certainty::Medium);
}

#[test]
fn what_lies_close_to_rounds_that_may_be_layers_stays_with_them() {
    let mut program = Program::new();
    program.kernel("load", 10);
    program.pause(1_000_000);
    program.kernel("embed", 900);
    for _ in 0..6 {
        program.kernel("gemm", 1_000);
        program.kernel("norm", 100);
    }
    program.kernel("head", 700);
    program.pause(2_000_000);
    program.kernel("save", 10);
    let (_, ops, steps) = program.steps(None);
    let phases = Phases::of_steps(ops.window, &steps.unwrap()).unwrap();
    let wider = phases.clone().with_neighbours(&ops);
    let added = phases.steady.start - wider.steady.start;
    assert!((900..1_000).contains(&added), "{phases:?} {wider:?}");
    let lengths = |of: &Phases| Phase::ALL.map(|phase| of.of(phase).len_ns());
    assert_eq!(lengths(&wider).iter().sum::<i64>(), ops.window.len_ns());
    assert!(lengths(&wider)[0] > 1_000_000 && lengths(&wider)[3] > 2_000_000, "{wider:?}");
    assert!(wider.steady.end >= phases.steady.end + 700, "{phases:?} {wider:?}");
}

#[test]
fn what_comes_after_steps_was_launched_by_them_or_not() {
    let mut program = Program::new();
    for _ in 0..4 {
        program.within("step", |program| program.train(3));
    }
    let steps_end = program.host_ns;
    let device_end = program.device_ns;
    program.pause(100_000);
    program.train(3);
    let (timeline, ops, _) = program.steps(None);
    let launches = Launches::new(&timeline, &ops).unwrap();
    assert_eq!(launches.share_launched_before(device_end, steps_end), Some(0.0));
    assert_eq!(launches.share_launched_before(0, steps_end), Some(0.8));
    assert_eq!(launches.share_launched_before(i64::MAX, steps_end), None);
}

#[test]
fn what_is_launched_once_before_many_rounds_hides_none_of_them() {
    let rounds = |set_up: &[&str], count: usize| {
        let mut program = Program::new();
        set_up.iter().for_each(|name| program.kernel(name, 1_000_000));
        for _ in 0..count {
            program.kernel("gradients", 300);
            program.kernel("weights", 20);
            program.pause(500);
        }
        program.told().map_or(0, |steps| steps.steps.len())
    };
    assert_eq!(rounds(&["fill"], 51), 51);
    assert_eq!(rounds(&["fill"], 50), 0, "fewer rounds, which are small beside it");
    assert_eq!(rounds(&["fill", "fill"], 51), 0, "it comes again");
}

#[test]
fn one_thing_in_many_sizes_is_no_step() {
    let of = |range: &str, sizes: &[i64]| {
        let mut program = Program::new();
        for size in sizes {
            program.within(&format!("{range} {size}"), |program| {
                program.kernel("gemm", *size);
                program.kernel("check", 1);
            });
            program.pause(10);
        }
        program.told().map(|steps| steps.told_by)
    };
    let sizes = [100, 200, 400, 800, 1_600, 3_200];
    assert_eq!(of("size", &sizes), None);
    assert_eq!(of("step", &sizes), Some(ToldBy::Range), "the program says so");
    assert_eq!(of("size", &[100, 110, 101, 95, 102, 105]), Some(ToldBy::Range));
}

#[test]
fn the_last_round_is_one_though_nothing_follows_it() {
    let mut program = Program::new();
    for round in 0..8 {
        ["apply", "norm", "scale", "sum"].iter().for_each(|kernel| program.kernel(kernel, 40));
        if round < 7 {
            program.value();
        }
        program.pause(30);
    }
    let steps = program.told().expect("rounds");
    assert_eq!((steps.told_by, steps.steps.len()), (ToldBy::Launches, 8));
}

#[test]
fn the_last_round_is_one_though_it_leaves_out_what_comes_between_two() {
    // The heavy kernel runs ten times, the little ones behind it nine times.
    let count = |last_ns: i64| {
        let mut program = Program::new();
        for round in 0..10 {
            program.kernel("solve", if round == 9 { last_ns } else { 90_000 });
            for name in ["norm", "scale", "shift"].iter().filter(|_| round < 9) {
                program.kernel(name, 100);
            }
        }
        program.told().map(|steps| steps.steps.len())
    };
    assert_eq!(count(90_000), Some(10));
    // Half of one is none.
    assert_eq!(count(45_000), Some(9));
}

#[test]
fn a_steady_state_moves_to_when_others_are_in_theirs() {
    let mut program = Program::new();
    for step in 0..10 {
        program.within(&format!("step {step}"), |program| program.train(2));
    }
    let (_, ops, steps) = program.steps(None);
    let steps = steps.expect("steps");
    let own = Phases::of_steps(ops.window, &steps).expect("phases");
    let to = Interval::new(steps.steps[4].device.start, steps.steps[8].device.end);
    let moved = own.moved_to(ops.window, to, (&steps.steps, Certainty::High)).expect("work");
    assert_eq!((moved.steady, moved.steady_steps), (to, 4..9));
    let later = Interval::new(ops.window.end + 1, ops.window.end + 2);
    assert_eq!(own.moved_to(ops.window, later, (&steps.steps, Certainty::High)), None);
}

#[test]
fn between_two_middle_ones_the_median_is_their_mean() {
    let of = |durations: &[i64]| super::median_ns(&mut durations.to_vec());
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[7]), Some(7));
    assert_eq!(of(&[8, 2]), Some(5));
    assert_eq!(of(&[9, 1, 5]), Some(5));
    assert_eq!(of(&[1, 100, 2, 200]), Some(51));
}
