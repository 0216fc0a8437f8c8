//! What judging takes, and what it gives, of reports and rules without end.

use super::super::library::tests::load;
use super::tests::{RULE, library, report};
use super::*;
use crate::text::effort;

#[test]
fn thousands_of_entities_take_no_time() {
    let (mut facts, run, device, _) = report();
    for number in 0..5000 {
        let id = facts.add(EntityKind::SyncGroup, number.to_string(), &[device, run]);
        for name in ["idle_after_ns", "call_ns", "call_count"] {
            facts.get_mut(id).set(name, 5);
        }
        facts.get_mut(id).set("waits_for", "stream");
        facts.get_mut(id).set("api", "a");
    }
    let library = library();
    let judgements = effort::at_most(20, || evaluate(&library, &facts, &Params::default()));
    let order: Vec<_> = judgements.iter().map(|judgement| (judgement.rule, judgement.entity)).collect();
    assert!(order.is_sorted());
    // The one finding, and one that stands for all that pass.
    let counts: Vec<_> =
        judgements.iter().map(|judgement| (judgement.outcome.name(), judgement.entity_count)).collect();
    assert_eq!(counts, [("finding", 1), ("pass", 5000)]);
}

#[test]
fn entities_that_a_rule_says_the_same_of_are_told_by_one() {
    let (mut facts, run, device, _) = report();
    for number in 0..9 {
        let id = facts.add(EntityKind::SyncGroup, number.to_string(), &[device, run]);
        let entity = facts.get_mut(id);
        entity.set("waits_for", if number % 3 == 0 { "device" } else { "stream" });
        entity.set("idle_after_ns", 100);
        if number % 3 == 1 {
            entity.set("api", "a");
            entity.set("call_ns", 0);
            entity.set("call_count", 1);
        }
    }
    let judgements = evaluate(&library(), &facts, &Params::default());
    let counts: Vec<_> =
        judgements.iter().map(|judgement| (judgement.outcome.name(), judgement.entity_count)).collect();
    assert_eq!(counts, [("finding", 1), ("not_applicable", 3), ("failed", 3), ("unknown", 3)]);
}

#[test]
fn findings_of_all_rules_have_an_end() {
    let (mut facts, run, _, _) = report();
    for number in 0..MAX_FINDING_OF_RULE_IN_ALL_COUNT {
        let device = facts.add(EntityKind::Device, format!("d{number}"), &[run]);
        let id = facts.add(EntityKind::SyncGroup, number.to_string(), &[device, run]);
        for (name, number) in [("idle_after_ns", 100), ("call_ns", 100), ("call_count", 2)] {
            facts.get_mut(id).set(name, number);
        }
        facts.get_mut(id).set("waits_for", "stream");
        facts.get_mut(id).set("api", "a");
    }
    let rules: Vec<(String, String)> = (0..20)
        .map(|number| {
            (format!("rules/sync/late-{number}.toml"), RULE.replace("\"late\"", &format!("\"late-{number}\"")))
        })
        .collect();
    let rules: Vec<(&str, &str)> = rules.iter().map(|(name, rule)| (name.as_str(), rule.as_str())).collect();
    let judgements = evaluate(&load(&rules).unwrap(), &facts, &Params::default());
    assert_eq!(judgements.len(), MAX_FINDING_COUNT + 1);
    let last = judgements.last().map(|judgement| &judgement.outcome);
    assert!(matches!(last, Some(Outcome::Failed { message }) if super::super::is_spent(message)), "{last:?}");
}

#[test]
fn texts_of_all_findings_share_one_bound() {
    let (mut facts, run, device, _) = report();
    let text = "x".repeat(crate::limits::MAX_RULE_TEXT_BYTES);
    let rule = RULE.replace("Wait *less*.", &text).replace("verify = \"Look.\"", &format!("verify = \"{text}\""));
    let whens = format!("[[when]]\nexpr = \"sync_group.call_count > 0\"\nsays = \"{text}\"\n").repeat(20);
    let rule = rule.replace("[estimate]", &format!("{whens}[estimate]"));
    let library = load(&[("rules/sync/late.toml", rule.as_str())]).unwrap();
    for number in 0..300 {
        let id = facts.add(EntityKind::SyncGroup, number.to_string(), &[device, run]);
        for (name, number) in [("idle_after_ns", 100), ("call_ns", 100), ("call_count", 2)] {
            facts.get_mut(id).set(name, number);
        }
        facts.get_mut(id).set("waits_for", "stream");
        facts.get_mut(id).set("api", "a".repeat(8_000));
    }
    facts.get_mut(device).set("window_ns", 1_000);
    let (all, most) = (evaluate(&library, &facts, &Params::default()), MAX_FINDING_OF_RULE_COUNT);
    assert!(all.len() <= most, "{}", all.len());
    let is_printed = |judgement: &&Judgement| matches!(judgement.outcome, Outcome::Finding(_));
    let bytes = |judgement: &Judgement| match &judgement.outcome {
        Outcome::Finding(found) => found.evidence.iter().map(|sentence| sentence.plain().len()).sum(),
        _ => 0,
    };
    assert!(all.iter().filter(is_printed).map(bytes).sum::<usize>() <= MAX_PRINTED_BYTES);
}

#[test]
fn all_rules_of_a_run_share_one_budget() {
    // A step counts for more where it may look at a long text.
    let long = "sync_group.api != 'b' and ".repeat(30);
    let heavy = RULE.replace("expr = \"sync_group.idle", &format!("expr = \"{long}sync_group.idle"));
    let rules = [("rules/sync/late.toml", heavy.as_str())];
    let library = load(&rules).unwrap();
    let (mut facts, ..) = report();
    let device = facts.of_kind(EntityKind::Device).next().unwrap().0;
    let run = facts.of_kind(EntityKind::Run).next().unwrap().0;
    for index in 0..6_000 {
        let group = facts.add(EntityKind::SyncGroup, format!("g{index}"), &[device, run]);
        let entity = facts.get_mut(group);
        entity.set("waits_for", "stream");
        entity.set("api", "a".repeat(65_536));
        entity.set("idle_after_ns", 1);
        entity.set("call_ns", 100);
        entity.set("call_count", 2);
    }
    let judgements = evaluate(&library, &facts, &Params::default());
    assert!(judgements.len() < 6_000, "{}", judgements.len());
    let last = judgements.last().map(|judgement| &judgement.outcome);
    assert!(matches!(last, Some(Outcome::Failed { message }) if super::super::is_spent(message)), "{last:?}");
    assert!(matches!(judgements[0].outcome, Outcome::Finding(_)));
}

#[test]
fn facts_that_are_missing_are_charged_for() {
    let library = library();
    let spent_without = |count: usize| {
        let (mut facts, run, device, _) = report();
        let group = facts.add(EntityKind::SyncGroup, "other", &[device, run]);
        facts.get_mut(group).set("waits_for", "stream");
        for name in ["api", "idle_after_ns", "call_ns", "call_count"].into_iter().skip(count) {
            facts.get_mut(group).set(name, 100);
        }
        let budget = Budget::default();
        let outcome = evaluate_one(&library, &library.rules()[0], (&facts, group), &Params::default(), &budget);
        assert!(matches!(outcome, Outcome::Unknown { missing } if missing.len() == count));
        budget.spent()
    };
    assert_eq!(spent_without(4) - spent_without(1), 3 * STEPS_OF_MISSING as u64);
}

#[test]
fn a_rule_has_so_many_findings_on_a_device_and_no_more() {
    let (mut facts, run, device, _) = report();
    let other = facts.add(EntityKind::Device, "other", &[run]);
    facts.get_mut(other).set("idle_after_sync_ns", 1_000);
    for device in [device, other] {
        for number in 0..MAX_FINDING_OF_RULE_COUNT + 100 {
            let id = facts.add(EntityKind::SyncGroup, format!("{device:?} {number}"), &[device, run]);
            for (name, number) in [("idle_after_ns", 100), ("call_ns", 100), ("call_count", 2)] {
                facts.get_mut(id).set(name, number);
            }
            facts.get_mut(id).set("waits_for", "stream");
            facts.get_mut(id).set("api", "a");
        }
    }
    let judgements = evaluate(&library(), &facts, &Params::default());
    let found = |device| {
        let is_of_device = |judgement: &&Judgement| facts.related(judgement.entity, EntityKind::Device) == Some(device);
        let findings = judgements.iter().filter(|judgement| matches!(judgement.outcome, Outcome::Finding(_)));
        findings.filter(is_of_device).count()
    };
    assert_eq!([found(device), found(other)], [MAX_FINDING_OF_RULE_COUNT; 2]);
    assert_eq!(judgements.len(), 2 * MAX_FINDING_OF_RULE_COUNT);
}
