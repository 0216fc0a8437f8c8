//! A CUDA graph ends at each wait of the host. Where a step waits again and again, what takes the waits out comes before what
//! records the launches between them as a graph: the larger gain cannot be had first.

use super::{Finding, raise};
use crate::facts::Facts;
use crate::replay::Change;
use crate::rules::outcome::Severity;

/// So many waits between launches of a step are more than the one at its end, wherever a step is taken to end.
const LEAST_WAITS_A_STEP: i64 = 2;
/// Waits whose end is expected to win less than this of a step, or at most less than that, are left where they are.
const LEAST_EXPECTED_SHARE: f64 = 0.05;
const LEAST_CEILING_SHARE: f64 = 0.15;

/// Raises what findings about waits are ranked by to no less than the gain of launches as a graph on the same device.
pub(super) fn rank(facts: &Facts, findings: &mut [(Option<i64>, Finding)]) {
    let graphs: Vec<(_, i64)> = findings
        .iter()
        .filter(|(_, finding)| finding.repeated_change() == Some(Change::Graph))
        .filter_map(|(ranked_ns, finding)| Some((finding.subject.device.as_ref()?.entity, (*ranked_ns)?)))
        .collect();
    for (own_ns, finding) in findings.iter_mut().filter(|(_, finding)| is_wait_that_matters(finding)) {
        let Some(device) = finding.subject.device.as_ref().map(|device| device.entity) else { continue };
        let waits = facts.get(device).int("replay_inner_wait_count").unwrap_or(0);
        let of_graph = graphs.iter().filter(|(of, _)| *of == device).map(|(_, ns)| *ns).max();
        if let (Some(own), Some(graph)) = (own_ns.as_mut(), of_graph.filter(|_| waits >= LEAST_WAITS_A_STEP)) {
            raise(own, graph);
        }
    }
}

/// Whether what a finding advises ends waits of the host within a step, and that is worth doing.
fn is_wait_that_matters(finding: &Finding) -> bool {
    let ends_waits = matches!(finding.repeated_change(), Some(Change::NoSync | Change::PinCopies));
    let Some(gain) = finding.gain.as_ref().filter(|_| ends_waits && finding.severity > Severity::Info) else {
        return false;
    };
    gain.weighing_share() >= LEAST_EXPECTED_SHARE || gain.share >= LEAST_CEILING_SHARE
}
