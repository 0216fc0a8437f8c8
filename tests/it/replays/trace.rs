//! A program of an A100 that is written by hand, call by call, for replays.

use std::fs;

use coldspot::analysis::Reading;
use coldspot::replay::{Change, Gain};

use crate::support::cli::{Printed, coldspot};
use crate::support::temp;
use crate::support::trace::EventsOfA100;

pub(super) const STEP_COUNT: u32 = 6;
pub(super) const KERNEL_US: f64 = 100.0;
/// A call, and from its begin to that of its operation.
pub(super) const CALL_US: f64 = 4.0;
pub(super) const LAUNCH_US: f64 = 6.0;

/// A trace of an A100: each call follows the one before.
#[derive(Default)]
pub(crate) struct Trace {
    pub(super) events: EventsOfA100,
    correlation: u32,
    pub(super) host_us: f64,
    pub(super) gpu_us: f64,
}

impl Trace {
    /// Of steps that are alike.
    pub(super) fn of_steps(make: impl FnMut(&mut Self)) -> Self {
        Self::of_count(STEP_COUNT, make)
    }

    /// Of so many steps that are alike.
    pub(super) fn of_count(step_count: u32, mut make: impl FnMut(&mut Self)) -> Self {
        let mut trace = Self::default();
        for step in 0..step_count {
            let begin = trace.host_us;
            make(&mut trace);
            trace.step(step, begin);
        }
        trace
    }

    /// Marks what is made as the step of an optimizer, by these names.
    pub(super) fn optimizer(&mut self, names: &[&str], make: impl FnOnce(&mut Self)) {
        let begin = self.host_us;
        make(self);
        for name in names {
            self.events.event("user_annotation", name, 99, begin, self.host_us - begin, "");
        }
    }

    pub(super) fn call(&mut self, name: &str, length: f64) -> String {
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.events.event("cuda_runtime", name, 99, self.host_us, length, &args);
        args
    }

    /// A call and its operation, which begins when the call has reached the device and what is before it has ended.
    pub(super) fn ask(&mut self, call: &str, category: &str, name: &str, stream: u32, length: f64) {
        self.ask_of(1080, call, category, name, stream, length);
    }

    /// The same of a kernel with so many blocks.
    pub(super) fn ask_of(&mut self, blocks: u32, call: &str, category: &str, name: &str, stream: u32, length: f64) {
        let args = self.call(call, CALL_US);
        let start = self.gpu_us.max(self.host_us + LAUNCH_US);
        // Copies at 10 GB/s.
        let bytes = (length * 10_000.0) as u64;
        let work = format!(r#""grid":[{blocks},1,1],"block":[256,1,1],"bytes":{bytes}"#);
        let args = format!(r#"{args},"device":0,"stream":{stream},{work}"#);
        self.events.event(category, name, stream, start, length, &args);
        self.host_us += CALL_US + 1.0;
        self.gpu_us = start + length + 1.0;
    }

    /// A kernel that the host launched without a call that was recorded.
    pub(super) fn unlinked(&mut self, name: &str, length: f64) {
        let start = self.gpu_us.max(self.host_us + LAUNCH_US);
        let args = r#""device":0,"stream":7,"grid":[1080,1,1],"block":[256,1,1]"#;
        self.events.event("kernel", name, 7, start, length, args);
        self.host_us += CALL_US + 1.0;
        self.gpu_us = start + length + 1.0;
    }

    pub(super) fn launch(&mut self, name: &str, length: f64) {
        self.ask("cudaLaunchKernel", "kernel", name, 7, length);
    }

    pub(super) fn copy(&mut self, name: &str, length: f64) {
        self.ask("cudaMemcpyAsync", "gpu_memcpy", name, 7, length);
    }

    /// The host waits for all.
    pub(super) fn wait(&mut self) {
        let until = self.gpu_us + 4.0;
        let length = (until - self.host_us).max(1.0);
        self.call("cudaStreamSynchronize", length);
        self.host_us += length + 1.0;
    }

    /// The step that began at a moment.
    pub(super) fn step(&mut self, number: u32, begin: f64) {
        self.events.event("user_annotation", &format!("ProfilerStep#{number}"), 99, begin, self.host_us - begin, "");
        self.host_us += 1.0;
    }

    pub(crate) fn write(&self) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = temp::folder();
        let path = folder.path().join("host.json");
        fs::write(&path, self.events.text()).unwrap();
        (folder, path)
    }

    /// A number that only the GPU has.
    pub(super) fn fact(&self, name: &str) -> f64 {
        let facts = self.facts();
        let (_, rest) = facts.split_once(&format!(r#""{name}":"#)).expect("the fact");
        rest.chars().take_while(|letter| "0123456789.".contains(*letter)).collect::<String>().parse().unwrap()
    }

    /// All of them, as JSON.
    pub(super) fn facts(&self) -> String {
        let (_folder, path) = self.write();
        coldspot(&["facts", &path.to_string_lossy(), "--format", "json"]).success().json().to_string()
    }

    /// What a change wins of a step, and the step.
    pub(super) fn gain(&self, change: Change) -> (Gain, i64) {
        self.gain_of(&[change])
    }

    pub(super) fn gain_of(&self, changes: &[Change]) -> (Gain, i64) {
        let (_folder, path) = self.write();
        let answers = Reading::default().what_if(&path, changes).unwrap();
        let predicted = answers[0].outcome.as_ref().unwrap_or_else(|none| panic!("{}", none.id()));
        (predicted.together, predicted.step_ns)
    }
}

pub(super) const TO_HOST: &str = "Memcpy DtoH (Device -> Pinned)";
