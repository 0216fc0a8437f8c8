//! What fusing a chain of element-wise kernels wins where copies lie between them.

use std::fs;

use coldspot::analysis::Reading;
use coldspot::replay::{Change, Gain};

use crate::support::temp;
use crate::support::trace::EventsOfA100;

const STEP_COUNT: u32 = 6;
/// Element-wise kernels of a step before its copies; one follows them.
const KERNEL_COUNT: u32 = 6;
const KERNEL_US: f64 = 10.0;
const PRODUCT_US: f64 = 1_000.0;

/// A trace of steps on an A100: element-wise kernels, copies, one such kernel, a product, and a wait for all.
#[derive(Default)]
struct Trace {
    events: EventsOfA100,
    correlation: u32,
    host_us: f64,
    gpu_us: f64,
}

impl Trace {
    fn of(copy: &str, copy_count: u32, copy_us: f64) -> Self {
        Self::with_sum(copy, (copy_count, copy_us), None)
    }

    /// With a sum before the last kernels, and a kernel that works on it.
    fn with_sum(copy: &str, (copy_count, copy_us): (u32, f64), sum_of: Option<&str>) -> Self {
        let mut trace = Self::default();
        for step in 0..STEP_COUNT {
            let begin = trace.host_us;
            trace.gpu_us = begin + 10.0;
            let elementwise = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >";
            (0..KERNEL_COUNT).for_each(|_| trace.ask("kernel", elementwise, KERNEL_US));
            (0..copy_count).for_each(|_| trace.ask("gpu_memcpy", copy, copy_us));
            if let Some(category) = sum_of {
                trace.ask("kernel", "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float> >", KERNEL_US);
                trace.ask(category, elementwise, KERNEL_US);
                (0..2).for_each(|_| trace.ask("kernel", elementwise, KERNEL_US));
            }
            trace.ask("kernel", elementwise, KERNEL_US);
            trace.ask("kernel", "ampere_fp16_s16816gemm_fp16_128x64_nn", PRODUCT_US);
            trace.finish(step, begin);
        }
        trace
    }

    /// Waits for all of a step.
    fn finish(&mut self, step: u32, begin: f64) {
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        let wait_us = self.gpu_us - self.host_us + 5.0;
        self.events.event("cuda_runtime", "cudaDeviceSynchronize", 99, self.host_us, wait_us, &args);
        self.host_us = self.gpu_us + 20.0;
        let length = self.host_us - begin - 1.0;
        self.events.event("user_annotation", &format!("ProfilerStep#{step}"), 99, begin, length, "");
    }

    fn ask(&mut self, category: &str, name: &str, length: f64) {
        let work = match category {
            "kernel" => r#""grid":[4096,1,1],"block":[256,1,1]"#,
            "value" => r#""grid":[1,1,1],"block":[32,1,1]"#,
            _ => r#""bytes":1048576"#,
        };
        let (category, call) = match category {
            "gpu_memcpy" => (category, "cudaMemcpyAsync"),
            _ => ("kernel", "cudaLaunchKernel"),
        };
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.events.event("cuda_runtime", call, 99, self.host_us, 4.0, &args);
        self.host_us += 6.0;
        self.events.event(category, name, 7, self.gpu_us, length, &format!(r#"{args},"device":0,"stream":7,{work}"#));
        self.gpu_us += length + 1.0;
    }

    /// What fusing wins of a step.
    fn fused(&self) -> Gain {
        let folder = temp::folder();
        let path = folder.path().join("chain.json");
        fs::write(&path, self.events.text()).unwrap();
        let answers = Reading::default().what_if(&path, &[Change::Fuse]).unwrap();
        answers[0].outcome.as_ref().unwrap_or_else(|none| panic!("{}", none.id())).together
    }
}

/// What all element-wise kernels of a step take, with the gaps between them.
const KERNELS_NS: i64 = (KERNEL_COUNT as i64 + 1) * 11_000;

#[test]
fn copies_between_gpus_are_no_part_of_a_chain() {
    let gain = Trace::of("Memcpy PtoP (Device -> Device)", 10, KERNEL_US).fused();
    assert!(gain.expected_ns > 0, "{gain:?}");
    assert!(gain.ceiling_ns <= KERNELS_NS, "{gain:?}");
}

#[test]
fn copies_longer_than_the_kernels_of_a_chain_are_not_won_by_fusing_it() {
    let gain = Trace::of("Memcpy DtoD (Device -> Device)", 10, 100.0).fused();
    assert!(gain.expected_ns > 0, "{gain:?}");
    assert!(gain.ceiling_ns <= KERNELS_NS, "{gain:?}");
}

#[test]
fn copies_that_are_most_of_a_chain_win_no_more_than_its_kernels() {
    let few = Trace::of("Memcpy DtoD (Device -> Device)", 2, KERNEL_US).fused();
    let none = Trace::of("Memcpy DtoD (Device -> Device)", 0, KERNEL_US).fused();
    assert!(few.expected_ns - none.expected_ns >= 2 * 10_000, "{few:?}, {none:?}");
    let many = Trace::of("Memcpy DtoD (Device -> Device)", 60, KERNEL_US).fused();
    assert!(many.expected_ns - none.expected_ns <= KERNELS_NS, "{many:?}, {none:?}");
}

/// A trace of steps of products, each with an addition and a function of each element behind it.
fn pairs(layers: u32, second: &str) -> Gain {
    let mut trace = Trace::default();
    for step in 0..STEP_COUNT {
        let begin = trace.host_us;
        trace.gpu_us = begin + 10.0;
        for _ in 0..layers {
            trace.ask("kernel", "ampere_fp16_s16816gemm_fp16_128x64_nn", PRODUCT_US);
            let kernel = |functor: &str| {
                format!("void at::native::vectorized_elementwise_kernel<4, at::native::{functor}<float> >")
            };
            trace.ask("kernel", &kernel("CUDAFunctor_add"), 80.0);
            trace.ask("kernel", &kernel(second), 40.0);
        }
        trace.finish(step, begin);
    }
    trace.fused()
}

#[test]
fn two_kernels_that_come_again_are_fused_where_the_second_is_a_function() {
    let gain = pairs(5, "launch_clamp_scalar");
    assert!((195_000..230_000).contains(&gain.expected_ns), "the shorter of each pair: {gain:?}");
    assert!(gain.ceiling_ns >= 5 * 115_000, "at best the product does both: {gain:?}");
    assert_eq!(pairs(5, "CUDAFunctor_add").expected_ns, 0);
}

#[test]
fn what_needs_a_sum_of_all_is_another_pass() {
    let of = |sum_of| Trace::with_sum("", (0, 0.0), Some(sum_of)).fused();
    let (of_rows, of_all) = (of("kernel"), of("value"));
    // One kernel more stays of each pass.
    let kernel_ns = (KERNEL_US * 1_000.0) as i64;
    assert!(of_rows.expected_ns - of_all.expected_ns >= kernel_ns, "{of_rows:?} {of_all:?}");
    assert!(of_all.expected_ns > 0 && of_all.ceiling_ns >= of_rows.expected_ns, "{of_rows:?} {of_all:?}");
}
