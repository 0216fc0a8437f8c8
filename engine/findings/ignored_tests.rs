//! What is accepted is kept apart, and counted.

use super::samples::{healthy, policy, two_gpus};
use super::*;
use crate::facts::EntityKind;
use crate::rules::Relation;
use crate::rules::outcome::Severity;
use crate::text::glob::Glob;

fn ignore(rule: &str, entity: Option<&str>) -> Policy {
    let entity = entity.map(Glob::new);
    let ignore = Ignore { rule: rule.to_owned(), entity, reason: "known".to_owned(), until: None, is_expired: false };
    Policy { ignores: vec![ignore], ..Policy::default() }
}

fn shown(review: &Review) -> Vec<&str> {
    review.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

#[test]
fn an_ignored_finding_goes_with_what_it_explains_and_is_counted() {
    let review = two_gpus().review_under(&policy());
    // The copies of the other GPU are not meant: they stay, without the symptom of the first one's.
    assert_eq!(shown(&review), ["sync-gap", "pageable-copy", "launch-bound"]);
    assert!(review.findings.iter().all(|finding| finding.symptoms.is_empty() && finding.also.is_empty()));
    let [ignored] = review.ignored.as_slice() else { panic!("{:?}", review.ignored) };
    let rules: Vec<&str> = ignored.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["pageable-copy", "copy-bound"]);
    assert_eq!(ignored.findings[0].severity, Severity::High);
    assert_eq!((review.counts.ignored, review.counts.findings), (2, two_gpus().review().counts.findings));
    assert_eq!(review.rules_off, ["tiny"]);
}

#[test]
fn an_ignored_finding_fails_nothing_and_is_no_gain() {
    let (before, after) = (two_gpus().review(), two_gpus().review_under(&policy()));
    assert_eq!((before.worst(), after.worst()), (Some(Severity::High), Some(Severity::Medium)));
    assert_eq!(after.devices[0].recoverable_ns, 900_000_000 + 12_000_000);
    assert!(after.verdict.plain().contains("most to gain: the device goes idle in waits"), "{}", after.verdict.plain());
}

#[test]
fn ignores_that_do_nothing_say_why() {
    let review = two_gpus().review_under(&policy());
    let stale: Vec<(&str, Stale)> = review.stale_ignores.iter().map(|stale| (stale.rule.as_str(), stale.why)).collect();
    assert_eq!(stale, [("sync-gap", Stale::Expired), ("launch-bound", Stale::MatchesNothing)]);
}

#[test]
fn a_symptom_may_be_ignored_alone() {
    let review = two_gpus().review_under(&ignore("copy-bound", None));
    assert_eq!(shown(&review)[0], "pageable-copy");
    assert!(review.findings[0].symptoms.is_empty());
    assert_eq!(review.counts.ignored, 1);
}

#[test]
fn what_an_ignored_finding_makes_pointless_stays_so_and_an_ignore_of_it_is_not_stale() {
    let mut sample = two_gpus();
    sample.rules[2].suppressed_by =
        vec![Relation { rule: "pageable-copy".to_owned(), on: vec![EntityKind::Device], shares: None }];
    let review = sample.review_under(&ignore("pageable-copy", None));
    assert_eq!(shown(&review), ["launch-bound"]);
    assert_eq!(review.suppressed.len(), 1);
    let review = sample.review_under(&ignore("sync-gap", None));
    assert_eq!((review.stale_ignores.len(), review.counts.ignored), (0, 0));
}

#[test]
fn a_device_is_not_called_healthy_over_ignored_findings() {
    let mut sample = healthy();
    let device = sample.facts.of_kind(EntityKind::Device).next().unwrap().0;
    sample.judgements.remove(0);
    sample.find(0, device, Some(("compute", 9_000_000_000)), "waits");
    let verdict = sample.review_under(&ignore("sync-gap", None)).verdict.plain();
    let end = "no rule found anything else that could gain 1 % of it (2 rules evaluated, of which 1 could not be judged fully; 1 finding is ignored).";
    assert!(verdict.ends_with(end), "{verdict}");
}
