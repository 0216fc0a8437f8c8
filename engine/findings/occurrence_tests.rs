//! What occurs once, and chains of causes, of samples made by hand.

use super::*;
use crate::findings::samples::Sample;

#[test]
fn what_one_step_has_once_comes_again_with_the_next() {
    let is_once = |account: &str, set: &dyn Fn(&mut Sample, EntityId, EntityId)| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("compute_ns", 500_000_000)]);
        let facts = sample.facts.get_mut(device);
        facts.set("repeat_count", 20_i64);
        for account in ["idle_host", "idle_load", "exposed_copy"] {
            facts.set(&format!("{account}_once_count"), 1_i64);
        }
        set(&mut sample, run, device);
        let rule = sample.rule("waits", "The device waits", EntityKind::Device);
        sample.find(rule, device, Some((account, 300_000_000)), "a wait");
        sample.review().findings[0].once
    };
    assert!(is_once("idle_host", &|_, _, _| {}));
    let begins_midway =
        |sample: &mut Sample, run: EntityId, _: EntityId| sample.facts.get_mut(run).set("is_begin_chosen", true);
    let is_region = |sample: &mut Sample, _: EntityId, device: EntityId| {
        sample.facts.get_mut(device).set("is_profiled_region", true)
    };
    for (account, still) in [("idle_host", false), ("exposed_copy", false), ("idle_load", true)] {
        assert_eq!((is_once(account, &begins_midway), is_once(account, &is_region)), (still, still), "{account}");
    }
    assert!(is_once("idle_host", &|sample, run, device| {
        begins_midway(sample, run, device);
        sample.facts.get_mut(device).set("step_count", 20_i64);
    }));
}

#[test]
fn a_part_of_an_account_is_not_once_by_the_pieces_of_another_part() {
    let is_once = |claimed_ns: i64| {
        let mut sample = Sample::default();
        let run = sample.run();
        let copies = [("compute_ns", 500_000_000), ("exposed_copy_ns", 400_000_000)];
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &copies);
        let facts = sample.facts.get_mut(device);
        facts.set("repeat_count", 20_i64);
        facts.set("exposed_copy_once_count", 2_i64);
        facts.set("exposed_copy_once_ns", 300_000_000_i64);
        let rule = sample.rule("copies", "Copies run alone", EntityKind::Device);
        sample.find(rule, device, Some(("exposed_copy", claimed_ns)), "copies");
        sample.review().findings[0].once
    };
    assert!(!is_once(100_000_000) && is_once(100_000_001) && is_once(400_000_000));
}

#[test]
fn what_a_rule_tells_to_come_again_is_not_once() {
    let is_once = |comes_again: bool| {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("idle_load_ns", 400_000_000)]);
        let rule = sample.rule("module-loading", "Code is loaded", EntityKind::Device);
        sample.rules[rule].once = true;
        sample.find(rule, device, Some(("idle_load", 400_000_000)), "code is loaded");
        if let Some(Outcome::Finding(found)) = sample.judgements.last_mut().map(|judgement| &mut judgement.outcome)
            && let Some(estimate) = &mut found.estimate
        {
            estimate.comes_again = comes_again;
        }
        sample.review().findings[0].once
    };
    assert!(is_once(false) && !is_once(true));
}

#[test]
fn a_chain_of_causes_has_an_end() {
    assert_eq!(along(0, |index| (index < 3).then_some(index + 1)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(along(0, |index| Some(index + 1)).count(), MAX_CHAIN_LENGTH);
    assert_eq!(along(0, |index| Some((index + 1) % 3)).count(), MAX_CHAIN_LENGTH, "a circle");
}
