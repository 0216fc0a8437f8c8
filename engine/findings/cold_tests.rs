//! A pass that does everything for the first time is told as one.

use super::samples::Sample;
use crate::facts::EntityKind;

#[test]
fn a_cold_start_leads_where_first_uses_take_most() {
    let review = |is_cold: bool, loading_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let accounts = [("compute_ns", 100_000_000), ("idle_load_ns", loading_ns)];
        let device = sample.device(run, 0, "NVIDIA A100", 1_000_000_000, &accounts);
        sample.facts.get_mut(device).set("is_cold_pass", is_cold);
        let products = sample.rule("fp32-matmul", "Products in fp32", EntityKind::Device);
        sample.find(products, device, Some(("compute", 80_000_000)), "products");
        let loading = sample.rule("module-loading", "The GPU waits while code is loaded", EntityKind::Device);
        sample.rules[loading].once = true;
        sample.find(loading, device, Some(("idle_load", loading_ns)), "loading");
        let review = sample.review();
        (review.verdict.plain(), review.findings[0].rule.clone())
    };
    let (verdict, first) = review(true, 600_000_000);
    assert!(verdict.contains("this capture is a cold start: the GPU waits while code is loaded"), "{verdict}");
    assert!(verdict.ends_with("What may last: products in fp32 (up to 80 ms, 8 %)."), "{verdict}");
    assert_eq!(first, "module-loading");
    assert_eq!(review(true, 199_000_000).1, "fp32-matmul");
    assert_eq!(review(false, 600_000_000).1, "fp32-matmul");
}

#[test]
fn what_one_pass_holds_beside_its_first_uses_may_last() {
    let review = |account: &str, ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let accounts = [("compute_ns", 10_000_000), ("idle_load_ns", 600_000_000), (account, ns)];
        let device = sample.device(run, 0, "NVIDIA A100", 1_000_000_000, &accounts);
        sample.facts.get_mut(device).set("is_cold_pass", true);
        for (id, title, account, ns) in [
            ("module-loading", "The GPU waits while code is loaded", "idle_load_ns", 600_000_000),
            ("other", "The GPU waits for something else", account, ns),
        ] {
            let rule = sample.rule(id, title, EntityKind::Device);
            sample.rules[rule].once = true;
            sample.find(rule, device, Some((account.trim_end_matches("_ns"), ns)), id);
        }
        sample.review().verdict.plain()
    };
    let of_host = review("idle_host_ns", 50_000_000);
    let expected =
        "Seen once here, though it may come in every pass: the GPU waits for something else (up to 50 ms, 5 %).";
    assert!(of_host.ends_with(expected), "{of_host}");
    for (account, ns) in [("idle_host_ns", 9_000_000), ("idle_init_ns", 50_000_000)] {
        let verdict = review(account, ns);
        assert!(verdict.ends_with("(up to 600 ms, 60 %)."), "{verdict}");
    }
}

#[test]
fn work_that_comes_once_leads_where_no_steps_repeat() {
    let first = |account: &'static str, ns: i64, step_count: Option<i64>| {
        let mut sample = Sample::default();
        let run = sample.run();
        let accounts = [("compute_ns", 100_000_000), (account, ns), ("idle_sync_ns", 70_000_000)];
        let device = sample.device(run, 0, "NVIDIA A100", 1_000_000_000, &accounts);
        sample.facts.get_mut(device).set_some("step_count", step_count);
        let waits = sample.rule("scalar-readback", "Small results are read back", EntityKind::Device);
        sample.find(waits, device, Some(("idle_sync", 70_000_000)), "results");
        let once = sample.rule("once", "The GPU does something once", EntityKind::Device);
        sample.rules[once].once = true;
        sample.find(once, device, Some((account.trim_end_matches("_ns"), ns)), "once");
        sample.review().findings[0].rule.clone()
    };
    assert_eq!(first("exposed_memset_ns", 600_000_000, None), "once");
    assert_eq!(first("exposed_memset_ns", 600_000_000, Some(8)), "scalar-readback", "steps repeat");
    assert_eq!(first("exposed_memset_ns", 199_000_000, None), "scalar-readback", "no large part");
    assert_eq!(first("idle_host_ns", 600_000_000, None), "scalar-readback", "no work of the device");
}
