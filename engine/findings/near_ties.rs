//! What is measured and has a name comes before what an experimental rule expects of a change, where the two are about as much: that
//! estimate is no surer than by a quarter, and who has a name knows where to begin.

use super::{Finding, raise};
use crate::facts::{Entity, Facts};
use crate::rules::outcome::{Confidence, Severity};

/// Two gains are about as much where the larger is no more times the other.
const NEAR_RATIO: f64 = 1.25;
/// The range of the host's code has a name where it holds this part of it.
const NAMED_SHARE: f64 = 0.5;

/// Raises what host code with a name is ranked by above experimental findings of the same device that win about as much.
pub(super) fn rank(facts: &Facts, findings: &mut [(Option<i64>, Finding)]) {
    let experimental: Vec<(_, i64)> = findings
        .iter()
        .filter(|(_, finding)| finding.is_experimental && !finding.once && finding.confidence < Confidence::High)
        .filter_map(|(ranked_ns, finding)| Some((finding.subject.device.as_ref()?.entity, (*ranked_ns)?)))
        .collect();
    let is_of_host = |finding: &Finding| {
        finding.ranking.culprit.is_some()
            && !finding.once
            && finding.severity > Severity::Info
            && finding.confidence > Confidence::Low
    };
    for (own_ns, finding) in findings.iter_mut().filter(|(_, finding)| is_of_host(finding)) {
        let Some((device, own)) = finding.subject.device.as_ref().map(|device| device.entity).zip(own_ns.as_mut())
        else {
            continue;
        };
        if !is_named(facts.get(device)) {
            continue;
        }
        let is_near = |ns: i64| ns > *own && ns as f64 <= NEAR_RATIO * *own as f64;
        let near = experimental.iter().filter(|(of, ns)| *of == device && is_near(*ns)).map(|(_, ns)| *ns).max();
        if let Some(near) = near {
            raise(own, near);
        }
    }
}

/// Whether a function or a range is known that most of the host's code is of.
fn is_named(device: &Entity) -> bool {
    let held_ns = device.int("idle_host_ns").unwrap_or(0) as f64;
    let is_most = |ns: &str| device.int(ns).is_some_and(|ns| ns as f64 >= NAMED_SHARE * held_ns);
    device.text("idle_host_culprit").is_some()
        || device.text("idle_host_range").is_some() && is_most("idle_host_range_ns")
        || device.text("idle_host_library_call").is_some() && is_most("idle_host_library_call_ns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;
    use crate::findings::samples::Sample;
    use crate::replay::Change;
    use crate::rules::outcome::{Judgement, Outcome, Replayed};
    use crate::rules::{FactRef, Status};

    /// The rules in the order of the findings, where chains win so much of a step of 100 ms and host code 20 ms, most of it in a range.
    fn order(chains_ns: i64, range_ns: i64, status: Status) -> Vec<String> {
        let mut sample = Sample::default();
        let run = sample.run();
        let accounts = [("compute_ns", 600_000_000), ("idle_host_ns", 200_000_000)];
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &accounts);
        sample.facts.get_mut(device).set("idle_host_range", "check_output");
        sample.facts.get_mut(device).set("idle_host_range_ns", range_ns);
        for (id, change, account, expected_ns) in [
            ("host-bound", Change::HostAside, "idle_host", 20_000_000),
            ("elementwise-chain", Change::Fuse, "compute", chains_ns),
        ] {
            let rule = sample.rule(id, "The GPU waits", EntityKind::Device);
            if id == "elementwise-chain" {
                sample.rules[rule].status = status;
            } else {
                let culprit = FactRef { kind: EntityKind::Device, name: "idle_host_culprit" };
                sample.rules[rule].ranking.culprit = Some(culprit);
            }
            sample.find(rule, device, Some((account, 100_000_000)), "it waits");
            let Some(Judgement { outcome: Outcome::Finding(found), .. }) = sample.judgements.last_mut() else {
                panic!()
            };
            found.confidence = Confidence::Medium;
            let replayed = Replayed { change, step_ns: 100_000_000, expected_ns, ceiling_ns: expected_ns };
            found.estimate.as_mut().unwrap().replayed = Some(replayed);
        }
        sample.review().findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn host_code_with_a_name_comes_before_an_experimental_rule_that_expects_about_as_much() {
        let (host, chains) = ("host-bound", "elementwise-chain");
        assert_eq!(order(25_000_000, 100_000_000, Status::Experimental), [host, chains]);
        assert_eq!(order(25_100_000, 100_000_000, Status::Experimental), [chains, host]);
        assert_eq!(order(25_000_000, 99_000_000, Status::Experimental), [chains, host], "no name");
        assert_eq!(order(25_000_000, 100_000_000, Status::Stable), [chains, host], "no experimental rule");
    }
}
