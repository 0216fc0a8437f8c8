//! What could not be judged, and what to capture so that it can.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::catalogue::{self, EntityKind};
use crate::facts::{FactValue, Facts};
use crate::rules::RuleInfo;
use crate::rules::outcome::{Judgement, Outcome};
use crate::source;
use crate::timeline::Capability;

/// Rules that want the same of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// The rules, by id.
    pub rules: Vec<UnjudgedRule>,
    /// The absent facts, with their full names.
    pub missing: Vec<String>,
    /// What to capture; absent when that was captured and the report still does not tell.
    pub capture: Option<String>,
}

/// A rule that could not be judged for some entities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnjudgedRule {
    /// The rule's id.
    pub id: String,
    /// The rule's title.
    pub title: String,
    /// Entities that it could not be judged for.
    pub unknown_count: usize,
    /// Entities that it was asked about.
    pub asked_count: usize,
}

/// Rules that want the same: how many entities each could not be judged for, and the facts they lack.
#[derive(Default)]
struct Group {
    unknown: BTreeMap<usize, usize>,
    missing: BTreeSet<String>,
}

pub(super) fn unjudged(facts: &Facts, rules: &[RuleInfo], judgements: &[&Judgement]) -> Vec<Unjudged> {
    let mut asked = vec![0usize; rules.len()];
    let mut groups: BTreeMap<Option<String>, Group> = BTreeMap::new();
    for judgement in judgements {
        asked[judgement.rule] += 1;
        if let Outcome::Unknown { missing } = &judgement.outcome {
            let group = groups.entry(option(facts, &rules[judgement.rule], missing)).or_default();
            *group.unknown.entry(judgement.rule).or_default() += 1;
            group.missing.extend(missing.iter().cloned());
        }
    }
    let mut out: Vec<Unjudged> = groups
        .into_iter()
        .map(|(capture, Group { unknown, missing })| {
            let mut rules: Vec<UnjudgedRule> = unknown
                .into_iter()
                .map(|(rule, unknown_count)| UnjudgedRule {
                    id: rules[rule].id.clone(),
                    title: rules[rule].title.clone(),
                    unknown_count,
                    asked_count: asked[rule],
                })
                .collect();
            rules.sort_by(|a, b| a.id.cmp(&b.id));
            Unjudged { rules, missing: missing.into_iter().collect(), capture }
        })
        .collect();
    // What a reader can do something about comes first, and there what decides most.
    out.sort_by_key(|group| (group.capture.is_none(), std::cmp::Reverse(group.rules.len())));
    out
}

/// What to capture for these facts: nothing, when the capture holds what they come from.
fn option(facts: &Facts, rule: &RuleInfo, missing: &[String]) -> Option<String> {
    let needs: Vec<Capability> = missing.iter().filter_map(|name| needs(name)).collect();
    let wanted: Vec<Capability> = needs.iter().copied().filter(|needs| !is_captured(facts, *needs)).collect();
    if wanted.is_empty() && !needs.is_empty() {
        return None;
    }
    let format = facts.run().and_then(|run| run.text("format"));
    let own = rule.collect.clone().filter(|collect| source::is_capture_of(format, collect));
    own.or_else(|| source::how_to_capture(format, &wanted).map(|command| command.to_string()))
}

fn needs(full_name: &str) -> Option<Capability> {
    let (kind, name) = full_name.split_once('.')?;
    Some(catalogue::find(EntityKind::from_name(kind)?, name)?.needs)
}

/// Whether the report shows that this was captured: then a fact is absent for another reason, and the advice to capture
/// it again would be wrong.
fn is_captured(facts: &Facts, needs: Capability) -> bool {
    let run = facts.run();
    let counts = |name: &str| run.and_then(|run| run.int(name)).is_some_and(|count| count > 0);
    match needs {
        Capability::Report => true,
        Capability::CudaTrace | Capability::DeviceInfo => counts("gpu_op_count"),
        Capability::CudaApi => counts("api_call_count"),
        Capability::Nvtx => counts("range_count"),
        Capability::OsRuntime => counts("os_call_count"),
        Capability::GpuMetrics => counts("metric_sample_count"),
        Capability::CpuSamples => run.and_then(|run| run.get("cpu_samples_captured")) == Some(&FactValue::Bool(true)),
        Capability::KernelProfile => {
            facts.of_kind(EntityKind::LaunchShape).any(|(_, shape)| shape.int("profiled_launch_count").is_some())
        }
        Capability::GraphKernels
        | Capability::PageFaults
        | Capability::CallStacks
        | Capability::TensorShapes
        | Capability::AllocatorMemory
        | Capability::CollectiveSizes => false,
    }
}
