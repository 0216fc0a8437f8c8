//! Who moves the work of the host on results to the device wins the copies of these results as well. Where that is most of what there
//! is to win, what makes the copies faster comes before it: it is less to change, and wins its part alone.

use super::{Finding, raise};
use crate::facts::Facts;
use crate::ledger::Account;
use crate::replay::Change;
use crate::rules::outcome::Severity;

/// Of what a host that is out of the way wins beside its own code, what copies win where they explain it.
const OF_REST_SHARE: f64 = 0.5;

/// Raises what findings about copies are ranked by to more than what host code of the same device is, where they win more than that
/// code takes.
pub(super) fn rank(facts: &Facts, findings: &mut [(Option<i64>, Finding)]) {
    let hosts = findings.iter().filter(|(_, finding)| finding.repeated_change() == Some(Change::HostAside));
    let hosts: Vec<(_, i64, i64)> = hosts
        .filter_map(|(ranked_ns, finding)| {
            let device = finding.subject.device.as_ref()?.entity;
            let held_ns = facts.get(device).int(Account::IdleHost.fact())?;
            ranked_ns.filter(|ns| *ns > held_ns).map(|ns| (device, ns, held_ns))
        })
        .collect();
    let is_copy = |finding: &Finding| {
        matches!(finding.repeated_change(), Some(Change::PinCopies | Change::BatchCopies))
            && finding.severity > Severity::Info
    };
    for (own_ns, finding) in findings.iter_mut().filter(|(_, finding)| is_copy(finding)) {
        let Some((device, own)) = finding.subject.device.as_ref().map(|device| device.entity).zip(own_ns.as_mut())
        else {
            continue;
        };
        let explains = |(of, ns, held_ns): &&(_, i64, i64)| {
            *of == device && *own > *held_ns && *own as f64 >= OF_REST_SHARE * (ns - held_ns) as f64
        };
        if let Some((_, ns, _)) = hosts.iter().find(explains) {
            raise(own, *ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::EntityKind;
    use crate::findings::samples::Sample;
    use crate::rules::outcome::{Judgement, Outcome, Replayed};

    /// The rules in the order of the findings, where the host's own code takes so much of a second, and a host that is out of the way
    /// and pinned copies win so much of a step of 100 ms.
    fn order(held_ns: i64, aside_ns: i64, pinned_ns: i64) -> Vec<String> {
        let mut sample = Sample::default();
        let run = sample.run();
        let accounts = [("exposed_copy_ns", 400_000_000), ("compute_ns", 600_000_000 - held_ns)];
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &accounts);
        for (id, change, account, expected_ns) in [
            ("host-bound", Change::HostAside, "idle_host", aside_ns),
            ("pageable-copy", Change::PinCopies, "exposed_copy", pinned_ns),
        ] {
            let rule = sample.rule(id, "The GPU waits", EntityKind::Device);
            sample.find(rule, device, Some((account, 100_000_000)), "it waits");
            let Some(Judgement { outcome: Outcome::Finding(found), .. }) = sample.judgements.last_mut() else {
                panic!()
            };
            let replayed = Replayed { change, step_ns: 100_000_000, expected_ns, ceiling_ns: expected_ns };
            found.estimate.as_mut().unwrap().replayed = Some(replayed);
        }
        sample.review().findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn copies_come_first_that_are_most_of_what_goes_with_host_code() {
        // Of 580 ms of the second, 200 ms are host code; the copies win 380 ms alone.
        assert_eq!(order(200_000_000, 58_000_000, 38_000_000), ["pageable-copy", "host-bound"]);
        // They win no more than the host code takes; less than half of the rest; and host code holds all.
        assert_eq!(order(200_000_000, 58_000_000, 20_000_000), ["host-bound", "pageable-copy"]);
        assert_eq!(order(100_000_000, 58_000_000, 22_000_000), ["host-bound", "pageable-copy"]);
        assert_eq!(order(580_000_000, 58_000_000, 38_000_000), ["host-bound", "pageable-copy"]);
    }
}
