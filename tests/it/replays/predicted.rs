//! What a change is predicted to gain, and when that holds.

use std::path::Path;

use coldspot::analysis::{Part, Reading};
use coldspot::replay::Change;
use coldspot::steps::Phase;

/// A measured gain is above the ceiling only by noise.
const CEILING_SLACK: f64 = 0.03;
/// An expected gain is near where it is within this part of the measured one, or within this of nothing.
const NEAR: f64 = 0.20;
const NOTHING: f64 = 0.05;

/// What a change is predicted to gain of a step: what is expected and the most, with the step without the profiler and as
/// recorded in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Predicted {
    pub expected: f64,
    pub ceiling: f64,
    pub step_ms: f64,
    pub recorded_ms: f64,
}

impl Predicted {
    pub fn of(report: &Path, change: Change) -> Self {
        let reading = Reading { part: Some(Part::Phase(Phase::Steady)), ..Reading::default() };
        let answers = reading.what_if(report, &[change]).unwrap_or_else(|error| panic!("{error}"));
        let first = answers.first().expect("a GPU");
        let predicted = first.outcome.as_ref().unwrap_or_else(|none| panic!("{}: {}", report.display(), none.id()));
        let share = |ns: i64| ns as f64 / predicted.step_ns as f64;
        Self {
            expected: share(predicted.together.expected_ns),
            ceiling: share(predicted.together.ceiling_ns),
            step_ms: predicted.step_ns as f64 / 1e6,
            recorded_ms: predicted.recorded_step_ns as f64 / 1e6,
        }
    }

    pub fn holds(self, measured: f64) -> bool {
        measured <= self.ceiling + CEILING_SLACK
    }

    pub fn is_near(self, measured: f64) -> bool {
        (self.expected - measured).abs() <= NEAR * measured || self.expected.max(measured) <= NOTHING
    }
}
