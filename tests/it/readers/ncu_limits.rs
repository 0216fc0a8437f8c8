//! Pages of Nsight Compute: what a kernel is limited by that no average over the GPU shows.

use coldspot::facts::{EntityKind, Facts};

use super::ncu::{facts, limit, number};
use crate::support::formats::Printer;
use crate::support::kernels::{Metric, details, raw};

/// What the page `raw` holds of a kernel whose threads all count in few places.
const COUNTING: &[Metric] = &[
    ("gpu__time_duration.sum", "ms", "17.474592"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "0.408868"),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%", "1.455378"),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", "0.083308"),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", "%", "1.455379"),
    ("lts__throughput.max.pct_of_peak_sustained_elapsed", "%", "85.22768"),
    ("lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed", "%", "85.22767"),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "", "2,097,152"),
    ("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "", "48"),
    ("lts__cycles_active.max", "cycle", "29,000,000"),
    ("lts__cycles_active.avg", "cycle", "2,900,000"),
    ("lts__cycles_elapsed.max", "cycle", "29,000,000"),
];

/// Its page.
pub fn with_atomics() -> String {
    raw(&[("count_classes(const unsigned char *, unsigned int *)", "(1056, 1, 1)", "(256, 1, 1)", COUNTING)])
}

fn review(facts: &Facts) -> String {
    Printer::new().markdown(facts, "kernels.csv").unwrap()
}

/// Where the one text stands once, the other instead.
fn changed(page: &str, from: &str, to: &str) -> String {
    assert_eq!(page.matches(from).count(), 1, "{from}");
    page.replace(from, to)
}

#[test]
fn atomics_on_few_addresses_are_the_limit_of_a_slice() {
    let facts = facts(with_atomics());
    let numbers = ["atomic_request_count", "busiest_slice_active_share", "slice_active_share"];
    assert_eq!(numbers.map(|name| number(&facts, name)), [Some(2_097_200.0), Some(1.0), Some(0.1)]);
    let near = |name: &str, value: f64| (number(&facts, name).unwrap() / value - 1.0).abs() < 1e-9;
    assert!(near("busiest_slice_throughput_share", 0.852_276_8) && near("busiest_slice_atomic_share", 0.852_276_7));
    assert_eq!(limit(&facts).as_deref(), Some("l2_slice"));
    let text = review(&facts);
    assert!(text.contains("Atomics on few addresses limit a kernel (`contended-atomics`)"), "{text}");
    assert!(text.contains("high confidence") && text.contains("its atomics, 2,097,200 in all, go to few"), "{text}");
    assert!(!text.contains("kernel-latency-bound") && !text.contains("neither is the limit"), "{text}");
    // All slices have as much to do, or none has.
    for (from, to) in [("1.455379", "40"), ("85.2276", "58.2276")] {
        assert_eq!(limit(&self::facts(with_atomics().replace(from, to))).as_deref(), Some("latency"), "{to}");
    }
    // The unit for atomics alone was counted.
    let alone = changed(&with_atomics(), "lts__throughput.max", "lts__another.max");
    assert_eq!(limit(&self::facts(alone)).as_deref(), Some("l2_slice"));
}

/// What the rule on uneven work says of some part of the GPU, by how much and with which estimate.
fn uneven(page: &str, part: &str, percent: &str, estimate: &str) -> String {
    let text = format!(
        "One or more {part} have a much higher number of active cycles than the average number of active cycles. Maximum instance value is {percent}% above the average, while the minimum instance value is 25.33% below the average."
    );
    let page = changed(page, "LaunchConfiguration", "WorkloadImbalance");
    changed(&page, "\"Blocks.\",\"global\",\"12.5\"", &format!("\"{text}\",\"global\",\"{estimate}\""))
}

/// The page `details` of a kernel whose threads count in few places.
fn counting_details() -> String {
    let stall = "8253.2 cycles being stalled waiting for a scoreboard dependency on a L1TEX (local, global) operation";
    let page = details().replace("\"80.37\"", "\"1.46\"");
    let page = changed(&page, "607.3 cycles being stalled waiting for sibling warps at a CTA barrier", stall);
    let page = changed(&page, "\"12.34\"", "\"0.08\"");
    changed(&page, "average of 875.7 cycles", "average of 9371.0 cycles")
}

#[test]
fn uneven_slices_and_a_queue_tell_of_them_where_they_are_not_counted() {
    let page = uneven(&counting_details(), "L2 Slices", "89.01", "9.785");
    let facts = facts(&page);
    let near = |name: &str, value: f64| (number(&facts, name).unwrap() - value).abs() < 1e-3;
    // The estimate is the average slice's activity, times what it lacks of the busiest one's.
    assert!(near("slice_active_share", 0.1099) && near("busiest_slice_active_share", 1.0));
    assert_eq!((limit(&facts).as_deref(), number(&facts, "idle_sm_estimate_share")), (Some("l2_slice"), None));
    let text = review(&facts);
    assert!(text.contains("(`contended-atomics`)") && text.contains("accesses stand in a queue"), "{text}");
    // No longer than memory takes by itself; a busy memory; slices that are seldom active.
    for (from, to) in [
        ("average of 9371.0 cycles", "average of 1999.0 cycles"),
        ("\"0.08\"", "\"10.5\""),
        ("\"9.785\"", "\"4.9\""),
        ("a scoreboard dependency on a L1TEX (local, global) operation", "sibling warps at a CTA barrier"),
    ] {
        assert_eq!(limit(&self::facts(changed(&page, from, to))).as_deref(), Some("latency"), "{to}");
    }
    // Where that says nothing, memory that hardly does anything, of which L2 holds what is asked for.
    let even = counting_details();
    assert_eq!(limit(&self::facts(&even)).as_deref(), Some("latency"));
    for (hits, told) in [("99.98", "l2_slice"), ("89.9", "latency")] {
        let page = changed(&even, "\"L2 Hit Rate\",\"\",\"n/a\"", &format!("\"L2 Hit Rate\",\"%\",\"{hits}\""));
        assert_eq!(limit(&self::facts(&page)).as_deref(), Some(told), "{hits}");
        let busy = page.replace("\"1.46\"", "\"10.5\"");
        assert_eq!(limit(&self::facts(busy)).as_deref(), Some("latency"), "{hits}");
    }
    let of_sms = self::facts(uneven(&counting_details(), "SMs", "25.00", "20"));
    assert_eq!(number(&of_sms, "idle_sm_estimate_share"), Some(0.2));
    assert_eq!((limit(&of_sms).as_deref(), number(&of_sms, "slice_active_share")), (Some("latency"), None));
}

fn pipe(facts: &Facts) -> Option<String> {
    facts.of_kind(EntityKind::LaunchShape).next().and_then(|(_, shape)| shape.text("busiest_pipe")).map(str::to_owned)
}

#[test]
fn fp64_in_a_shared_pipeline_is_told_beside_fp32() {
    let own = "FP64 is the highest-utilized pipeline (76.3%) based on active cycles.";
    let shared = "Shared is the highest-utilized pipeline (36.7%) based on elapsed cycles in the workload. It is the logical sum of several other pipelines. It executes 64-bit floating point and tensor operations. It's dominated by its FP64 sub-pipeline.";
    let page = changed(&details(), own, shared).replace("\"80.37\"", "\"4.70\"").replace("\"6.00\"", "\"63.58\"");
    let page = changed(&changed(&page, "is 64:1", "is 2:1"), "achieved 18% of", "achieved 6% of");
    let page = changed(&page, "and 3% of its FP64", "and 33% of its FP64");
    let facts = facts(&page);
    assert_eq!(pipe(&facts).as_deref(), Some("fp64"));
    assert!((number(&facts, "busiest_pipe_share").unwrap() - 0.367).abs() < 1e-9);
    let text = review(&facts);
    assert!(text.contains("(`stray-fp64`)") && text.contains("33 % of the peak rate of fp64"), "{text}");
    let tensor = self::facts(changed(&page, "by its FP64 sub", "by its Tensor (FP) sub"));
    assert_eq!(pipe(&tensor).as_deref(), Some("tensor"));
}

#[test]
fn integers_may_be_left_out_up_to_what_data_takes() {
    let own = "FP64 is the highest-utilized pipeline (76.3%) based on active cycles.";
    let page = changed(&details(), own, "ALU is the highest-utilized pipeline (61.7%) based on elapsed cycles.");
    let page = page.replace("\"80.37\"", "\"29.72\"").replace("\"6.00\"", "\"75.77\"");
    let page = changed(&page, "achieved 18% of", "achieved  close to 0% of");
    let page = changed(&page, "and 3% of its FP64", "and 0% of its FP64");
    let facts = facts(&page);
    let numbers = ["fp32_peak_share", "data_floor_share", "arithmetic_pipe_share"];
    assert_eq!(numbers.map(|name| number(&facts, name)), [Some(0.0), Some(0.1234), Some(0.617)]);
    let text = review(&facts);
    assert!(text.contains("(`avoidable-arithmetic`)") && text.contains("88 % of the window"), "{text}");
    // Arithmetic that stays is a bound as well.
    let more = self::facts(changed(&page, "and 0% of its FP64", "and 50% of its FP64"));
    assert_eq!(number(&more, "data_floor_share"), Some(0.5));
}

#[test]
fn whether_tensor_cores_are_idle_is_not_told_where_nothing_tells() {
    let evidence = |name: &str, more: &[Metric]| {
        let metrics = [COUNTING, more].concat();
        let facts = facts(raw(&[(name, "(64, 1, 1)", "(256, 1, 1)", &metrics)]));
        let shape = facts.of_kind(EntityKind::LaunchShape).next().unwrap().1;
        let json = Printer::new().json(&facts, "kernels.csv").unwrap();
        (shape.text("tensor_evidence").map(str::to_owned), json.contains("\"idle-tensor-cores\""))
    };
    let busy = ("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", "80");
    let tensor = |share| ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "%", share);
    assert_eq!(evidence("my_gemm(float *)", &[busy]), (None, true));
    assert_eq!(evidence("add(float *)", &[busy]), (None, false), "no product");
    assert_eq!(evidence("ampere_sgemm_128x64_nn(float *)", &[busy]).0.as_deref(), Some("name"));
    assert_eq!(evidence("my_gemm(float *)", &[busy, tensor("80")]), (Some("counter".to_owned()), false));
}
