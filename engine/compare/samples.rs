//! Runs made by hand, for tests of comparisons and of what holds them against limits.

use super::Run;
use crate::facts::{EntityId, EntityKind};
use crate::findings::samples::Sample;

/// A run of one kernel that fills the window; and its id.
pub(crate) fn of_one_kernel(window_ns: i64) -> (Sample, EntityId) {
    let mut sample = Sample::default();
    let run = sample.run();
    let device = sample.device(run, 0, "A100", window_ns, &[("compute_ns", window_ns)]);
    let kernel = sample.facts.add(EntityKind::Kernel, "gpu0/k", &[device, run]);
    let entity = sample.facts.get_mut(kernel);
    entity.set("name", "k");
    entity.set("launch_count", 1_000_i64);
    entity.set("sum_ns", window_ns);
    (sample, run)
}

/// What a recording is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Whole,
    Steady,
}

/// Steps in milliseconds, and a pause before one of them; those of a range are the steady state.
pub(crate) struct Steps {
    pub(crate) ms: Vec<i64>,
    pub(crate) pause: (usize, i64),
    pub(crate) steady: std::ops::Range<usize>,
}

impl Steps {
    /// The run as a reader tells it: of many steps the 200 longest, one by one.
    pub(crate) fn run(&self, asked: Asked) -> Run {
        self.run_without(asked, "")
    }

    /// The same from a file that lacks a fact of the device.
    pub(crate) fn run_without(&self, asked: Asked, lacking: &str) -> Run {
        const NS: i64 = 1_000_000;
        let mut starts = Vec::new();
        let mut now = 0;
        for (index, ms) in self.ms.iter().enumerate() {
            now += if index == self.pause.0 { self.pause.1 * NS } else { 0 };
            starts.push(now);
            now += ms * NS;
        }
        let end = |index: usize| starts[index] + self.ms[index] * NS;
        let (first, last) = (self.steady.start, self.steady.end - 1);
        let (start_ns, steady_ns) = (starts[first], end(last) - starts[first]);
        let is_whole = asked == Asked::Whole;
        let window_ns = if is_whole { now } else { steady_ns };
        let (mut sample, run) = of_one_kernel(window_ns);
        let device = sample.facts.devices()[0].0;
        let kernel = sample.facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).next();
        let mut shown: Vec<usize> = if is_whole { (0..self.ms.len()).collect() } else { self.steady.clone().collect() };
        let count = shown.len() as i64;
        if let Some(kernel) = kernel {
            sample.facts.get_mut(kernel).set("launch_count", 5 * count);
        }
        shown.sort_by_key(|index| -self.ms[*index]);
        let median_ns = self.ms[shown[shown.len() / 2]] * NS;
        shown.truncate(200);
        shown.sort_unstable();
        let entity = sample.facts.get_mut(device);
        entity.set("step_name", "step");
        let warm_up = if is_whole { self.steady.start as i64 } else { 0 };
        let later = (self.ms.len() - self.steady.end) as i64;
        let told = [
            ("step_count", count),
            ("step_median_ns", median_ns),
            ("warm_up_step_count", warm_up),
            ("warm_up_steps_ns", if is_whole { start_ns } else { 0 }),
            ("steady_start_ns", start_ns),
            ("steady_ns", steady_ns),
            ("steady_step_count", self.steady.len() as i64),
            ("after_steady_ns", now - end(last)),
        ];
        told.into_iter().filter(|(name, _)| *name != lacking).for_each(|(name, value)| entity.set(name, value));
        if !is_whole {
            entity.set("phase", "steady");
            for (name, value) in [
                ("whole_window_ns", now),
                ("set_up_ns", 0),
                ("before_steady_ns", start_ns),
                ("earlier_step_count", self.steady.start as i64),
                ("later_step_count", later),
            ] {
                entity.set(name, value);
            }
        }
        for index in shown {
            let step = sample.facts.add(EntityKind::Step, format!("gpu0/step{index}"), &[device, run]);
            let step = sample.facts.get_mut(step);
            step.set("is_warm_up", index < self.steady.start);
            step.set("start_ns", starts[index]);
            step.set("duration_ns", self.ms[index] * NS);
        }
        let review = sample.review();
        Run { name: "run".to_owned(), facts: sample.facts, review }
    }
}
