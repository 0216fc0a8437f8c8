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

const NS_PER_MS: i64 = 1_000_000;

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
        let is_whole = asked == Asked::Whole;
        let shown = if is_whole { 0..self.ms.len() } else { self.steady.clone() };
        let steady_ns = self.end_ns(self.steady.end - 1) - self.start_ns(self.steady.start);
        let (mut sample, run) = of_one_kernel(if is_whole { self.end_ns(self.ms.len() - 1) } else { steady_ns });
        let device = sample.facts.devices()[0].0;
        let kernel = sample.facts.of_kind(EntityKind::Kernel).map(|(id, _)| id).next();
        if let Some(kernel) = kernel {
            sample.facts.get_mut(kernel).set("launch_count", 5 * shown.len() as i64);
        }
        let mut longest: Vec<usize> = shown.collect();
        longest.sort_by_key(|index| -self.ms[*index]);
        let entity = sample.facts.get_mut(device);
        entity.set("step_name", "step");
        entity.set("step_count", longest.len() as i64);
        entity.set("step_median_ns", self.ms[longest[longest.len() / 2]] * NS_PER_MS);
        for (name, value) in self.phases(asked).into_iter().filter(|(name, _)| *name != lacking) {
            entity.set(name, value);
        }
        if !is_whole {
            entity.set("phase", "steady");
        }
        longest.truncate(200);
        longest.sort_unstable();
        for index in longest {
            let step = sample.facts.add(EntityKind::Step, format!("gpu0/step{index}"), &[device, run]);
            let step = sample.facts.get_mut(step);
            step.set("is_warm_up", index < self.steady.start);
            step.set("start_ns", self.start_ns(index));
            step.set("duration_ns", self.ms[index] * NS_PER_MS);
        }
        let review = sample.review();
        Run { name: "run".to_owned(), facts: sample.facts, review }
    }

    /// When a step begins.
    fn start_ns(&self, index: usize) -> i64 {
        let pause_ms = if index >= self.pause.0 { self.pause.1 } else { 0 };
        (self.ms[..index].iter().sum::<i64>() + pause_ms) * NS_PER_MS
    }

    fn end_ns(&self, index: usize) -> i64 {
        self.start_ns(index) + self.ms[index] * NS_PER_MS
    }

    /// What is told of the steady state, and of what lies beside it.
    fn phases(&self, asked: Asked) -> Vec<(&'static str, i64)> {
        let is_whole = asked == Asked::Whole;
        let (first, last) = (self.steady.start, self.steady.end - 1);
        let (start_ns, end_ns, whole_ns) = (self.start_ns(first), self.end_ns(last), self.end_ns(self.ms.len() - 1));
        let mut told = vec![
            ("warm_up_step_count", if is_whole { first as i64 } else { 0 }),
            ("warm_up_steps_ns", if is_whole { start_ns } else { 0 }),
            ("steady_start_ns", start_ns),
            ("steady_ns", end_ns - start_ns),
            ("steady_step_count", self.steady.len() as i64),
            ("after_steady_ns", whole_ns - end_ns),
        ];
        if !is_whole {
            told.extend([
                ("whole_window_ns", whole_ns),
                ("set_up_ns", 0),
                ("before_steady_ns", start_ns),
                ("earlier_step_count", first as i64),
                ("later_step_count", (self.ms.len() - self.steady.end) as i64),
            ]);
        }
        told
    }
}
