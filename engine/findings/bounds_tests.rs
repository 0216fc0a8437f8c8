//! What bounds a gain, and what comes first for it.

use super::samples::Sample;
use crate::facts::EntityKind;
use crate::replay::Change;
use crate::rules::FactRef;
use crate::rules::outcome::{Outcome, Replayed, Severity};

#[test]
fn a_function_that_the_gpu_waits_for_comes_before_how_much_longer_the_run_is() {
    let first = |ns: i64, culprit: Option<&str>| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "Tesla V100", 20_000_000, &[("compute_ns", 2_000_000)]);
        sample.facts.get_mut(device).set_some("idle_host_culprit", culprit);
        let waits = sample.rule("host-bound", "The GPU waits for host code", EntityKind::Device);
        let culprit = FactRef { kind: EntityKind::Device, name: "idle_host_culprit" };
        sample.rules[waits].ranking.culprit = Some(culprit);
        sample.find(waits, device, Some(("idle_host", ns)), "host code");
        let outside = sample.rule("short-gpu-window", "Most of the run lies outside", EntityKind::Device);
        sample.rules[outside].severity = Some(Severity::Medium);
        sample.find(outside, device, None, "outside");
        sample.review().findings.remove(0).rule
    };
    assert_eq!(first(10_000_000, Some("move_buffer")), "host-bound");
    assert_eq!(first(9_900_000, Some("move_buffer")), "short-gpu-window");
    assert_eq!(first(10_000_000, None), "short-gpu-window");
}

#[test]
fn kernels_that_the_host_is_late_behind_gain_nothing_where_nothing_is_played() {
    let gain = |account: &str, late_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let facts = [("busy_ns", 600_000_000), ("late_host_busy_ns", late_ns), ("compute_ns", 600_000_000)];
        let device = sample.device(run, 0, "Tesla T4", 1_000_000_000, &facts);
        let rule = sample.rule("fp32-matmul", "Products in fp32", EntityKind::Device);
        sample.find(rule, device, Some((account, 300_000_000)), "fp32");
        sample.review().findings.remove(0).gain.unwrap().recoverable_ns
    };
    assert_eq!(gain("compute", 550_000_000), 50_000_000);
    assert_eq!(gain("compute", 200_000_000), 300_000_000);
    assert_eq!(gain("idle_launch", 550_000_000), 300_000_000);
}

#[test]
fn what_lies_in_one_step_is_not_told_as_if_each_had_it() {
    let told = |slow_count: i64, in_slow_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let facts = [("compute_ns", 800_000_000), ("idle_allocate_ns", 100_000_000), ("step_count", 3)];
        let device = sample.device(run, 0, "Tesla V100", 1_000_000_000, &facts);
        let slow = [("step_slow_count", slow_count), ("step_slow_allocate_ns", in_slow_ns), ("step_slowest_number", 5)];
        slow.into_iter().for_each(|(fact, value)| sample.facts.get_mut(device).set(fact, value));
        let rule = sample.rule("allocation-stalls", "Memory is allocated", EntityKind::Device);
        sample.find(rule, device, Some(("idle_allocate", 100_000_000)), "allocations");
        let Outcome::Finding(found) = &mut sample.judgements[0].outcome else { panic!() };
        let (change, step_ns, expected_ns, ceiling_ns) = (Change::CacheAllocations, 1_000_000, 80_000, 90_000);
        found.estimate.as_mut().unwrap().replayed = Some(Replayed { change, step_ns, expected_ns, ceiling_ns });
        sample.review().findings.remove(0).gain.unwrap().words()
    };
    let words = told(1, 90_000_000);
    assert!(words.contains("at most 9 % of a ") && words.ends_with("s (number 5)"), "{words}");
    assert!(words.contains(", nearly all of it in 1 of 3 "), "{words}");
    assert!(!told(1, 89_000_000).contains("number") && !told(2, 100_000_000).contains("number"));
}

#[test]
fn what_wins_idle_time_alone_is_expected_to_win_no_more_than_there_is() {
    let told = |change: Change| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "Tesla V100", 1_000_000_000, &[("compute_ns", 800_000_000)]);
        sample.facts.get_mut(device).set("idle_ns", 200_000_000);
        let rule = sample.rule("sync-gap", "The host waits", EntityKind::Device);
        sample.find(rule, device, Some(("idle_after_sync", 150_000_000)), "waits");
        let Outcome::Finding(found) = &mut sample.judgements[0].outcome else { panic!() };
        let (step_ns, expected_ns, ceiling_ns) = (1_000_000, 250_000, 300_000);
        found.estimate.as_mut().unwrap().replayed = Some(Replayed { change, step_ns, expected_ns, ceiling_ns });
        sample.review().findings.remove(0).gain.unwrap().words()
    };
    assert_eq!(told(Change::NoSync), "about 20 %, at most 30 % of a round", "and the pause behind the last round");
    assert_eq!(told(Change::BatchCopies), "about 25 %, at most 30 % of a round");
}
