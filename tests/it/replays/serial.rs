//! Work that is one long chain, from the launches to the wait of the host: what kernels lose, the step loses.

use std::fs;
use std::path::{Path, PathBuf};

use coldspot::analysis::Reading;
use coldspot::replay::Change;

use crate::support::temp;
use crate::support::trace::EventsOfA100;

/// Microseconds of a step, and of what the host does before it launches.
const STEP_US: f64 = 30_000.0;
const HOST_US: f64 = 10_000.0;
/// What TF32 on an A100 is expected to leave of a product in fp32: 8 times the peak, of which three quarters are reached.
const LEFT: f64 = 1.0 / 6.0;

/// A trace of steps on an A100. Kernels of two streams take turns by events; that of the second begins while the last blocks of
/// one of the first still run, long after its launch, and well after what it waited for.
struct Trace {
    events: EventsOfA100,
    correlation: u32,
}

impl Trace {
    fn new(product_us: f64, step_count: u32) -> Self {
        let mut trace = Self { events: EventsOfA100::default(), correlation: 0 };
        for step in 0..step_count {
            trace.step(step, f64::from(step) * STEP_US, product_us);
        }
        trace
    }

    /// A call, and its operation.
    fn ask(&mut self, call: (&str, f64, f64), category: &str, name: &str, stream: u32, on_gpu: (f64, f64)) {
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.events.event("cuda_runtime", call.0, 99, call.1, call.2, &args);
        let grid = r#""grid":[1080,1,1],"block":[256,1,1],"bytes":4"#;
        let args = format!(r#"{args},"device":0,"stream":{stream},{grid}"#);
        self.events.event(category, name, stream, on_gpu.0, on_gpu.1, &args);
    }

    fn step(&mut self, number: u32, begin: f64, product_us: f64) {
        let at = begin + HOST_US;
        let launch = |place: f64| ("cudaLaunchKernel", at + 8.0 * place, 4.0);
        self.events.event("user_annotation", &format!("ProfilerStep#{number}"), 99, begin, STEP_US - 1.0, "");
        self.ask(launch(0.0), "kernel", "ampere_sgemm_128x64_nn", 7, (at + 6.0, product_us));
        let end = at + 7.0 + product_us;
        self.ask(launch(1.0), "kernel", "relu_kernel", 7, (end, 2_000.0));
        self.ask(launch(2.0), "kernel", "filter_kernel", 13, (end + 1_990.0, 1_000.0));
        self.ask(launch(3.0), "kernel", "pool_kernel", 7, (end + 2_993.0, 3_000.0));
        let end = end + 5_994.0;
        self.ask(("cudaMemcpyAsync", at + 40.0, 4.0), "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 7, (end, 2.0));
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        let from = at + 46.0;
        self.events.event("cuda_runtime", "cudaStreamSynchronize", 99, from, end + 6.0 - from, &args);
        // What the host does after that lasts as long whatever the wait took.
        let rest = begin + STEP_US - 20.0;
        self.events.event("cpu_op", "aten::add", 99, end + 7.0, rest - end - 7.0, "");
    }

    fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join("serial.json");
        fs::write(&path, self.events.text()).unwrap();
        path
    }
}

#[test]
fn a_step_loses_what_its_kernels_lose_where_all_of_it_is_one_chain() {
    let folder = temp::folder();
    for product_us in [1_000.0, 4_000.0, 9_000.0] {
        let report = Trace::new(product_us, 6).write(folder.path());
        let answers = Reading::default().what_if(&report, &[Change::LowerPrecision]).unwrap();
        let predicted = answers[0].outcome.as_ref().unwrap_or_else(|none| panic!("{}", none.id()));
        let lost_us = predicted.together.expected_ns as f64 / 1_000.0;
        let sure_us = product_us * (1.0 - LEFT);
        assert!((lost_us - sure_us).abs() <= 0.02 * sure_us, "{product_us}: {lost_us}, not {sure_us}");
        assert!(predicted.together.ceiling_ns >= predicted.together.expected_ns);
    }
}
