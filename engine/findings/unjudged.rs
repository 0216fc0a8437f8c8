//! What could not be judged, and what to capture so that it can.

use std::collections::{BTreeMap, BTreeSet};

use super::devices::is_of_other_accelerator;
use super::is_of_kernels_alone;
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
    /// What a capture must hold for that, and the report's does not; empty where that was captured.
    pub needs: Vec<Capability>,
    /// What to capture; absent when that was captured and the report still does not tell.
    pub capture: Option<String>,
    /// Whether they judge a recording of the program in time, where the report holds single kernels: no report of its kind
    /// can ever feed them.
    pub needs_timeline: bool,
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
    /// Those of which it could say whether it holds.
    pub judged_count: usize,
}

/// Rules that want the same: how many entities each could not be judged for, and the facts they lack.
#[derive(Default)]
struct Group {
    unknown: BTreeMap<usize, usize>,
    missing: BTreeSet<String>,
    needs: BTreeSet<Capability>,
}

pub(super) fn unjudged(facts: &Facts, rules: &[RuleInfo], judgements: &[&Judgement]) -> Vec<Unjudged> {
    // No capture for GPUs tells more of another accelerator.
    if is_of_other_accelerator(facts) {
        return Vec::new();
    }
    let (mut asked, mut judged) = (vec![0usize; rules.len()], vec![0usize; rules.len()]);
    // What many entities lack alike is looked at once.
    let mut lacks: BTreeMap<(usize, &[String]), usize> = BTreeMap::new();
    for judgement in judgements {
        asked[judgement.rule] += judgement.entity_count;
        if matches!(judgement.outcome, Outcome::Finding(_) | Outcome::Pass) {
            judged[judgement.rule] += judgement.entity_count;
        }
        if let Outcome::Unknown { missing } = &judgement.outcome {
            *lacks.entry((judgement.rule, missing)).or_default() += judgement.entity_count;
        }
    }
    let mut groups: BTreeMap<(Option<String>, bool), Group> = BTreeMap::new();
    for ((rule, missing), count) in lacks {
        let needs_timeline = is_of_kernels_alone(facts) && missing.iter().any(|name| is_of_timeline(name));
        let (capture, needs) = match needs_timeline {
            true => (source::how_to_capture(None, &TIMELINE).map(|command| command.to_string()), TIMELINE.to_vec()),
            false => (option(facts, &rules[rule], missing), wanted(facts, missing)),
        };
        let group = groups.entry((capture, needs_timeline)).or_default();
        *group.unknown.entry(rule).or_default() += count;
        group.missing.extend(missing.iter().cloned());
        group.needs.extend(needs);
    }
    let mut out: Vec<Unjudged> = groups
        .into_iter()
        .map(|((capture, needs_timeline), Group { unknown, missing, needs })| {
            let mut rules: Vec<UnjudgedRule> = unknown
                .into_iter()
                .map(|(rule, unknown_count)| UnjudgedRule {
                    id: rules[rule].id.clone(),
                    title: rules[rule].title.clone(),
                    unknown_count,
                    asked_count: asked[rule],
                    judged_count: judged[rule],
                })
                .collect();
            rules.sort_by(|a, b| a.id.cmp(&b.id));
            let (missing, needs) = (missing.into_iter().collect(), needs.into_iter().collect());
            Unjudged { rules, missing, needs, capture, needs_timeline }
        })
        .collect();
    // What a reader can do something about comes first, and there what decides most.
    out.sort_by_key(|group| (group.needs_timeline, group.capture.is_none(), std::cmp::Reverse(group.rules.len())));
    out
}

fn is_of_timeline(full_name: &str) -> bool {
    let Some((kind, name)) = full_name.split_once('.') else { return false };
    let kind = EntityKind::from_name(kind);
    let fact = kind.and_then(|kind| Some((kind, catalogue::find(kind, name)?)));
    fact.is_some_and(|(kind, fact)| !catalogue::is_of_kernel_profiles(kind, fact))
}

/// What a recording of the program in time should hold.
const TIMELINE: [Capability; 3] = [Capability::CudaTrace, Capability::Nvtx, Capability::OsRuntime];

/// What a capture must hold for these facts, and the report's does not.
fn wanted(facts: &Facts, missing: &[String]) -> Vec<Capability> {
    let is_wanted = |name: &String| {
        let needs = match is_of_kernels_alone(facts) {
            // Durations are counters too where there is nothing else.
            true => Capability::KernelProfile,
            false => needs(name)?,
        };
        let is_there = match needs {
            Capability::KernelProfile => is_known(facts, name),
            needs => is_captured(facts, needs),
        };
        (!is_there).then_some(needs)
    };
    missing.iter().filter_map(is_wanted).collect()
}

/// What to capture for these facts: nothing, when the capture holds what they come from.
fn option(facts: &Facts, rule: &RuleInfo, missing: &[String]) -> Option<String> {
    let wanted = wanted(facts, missing);
    if wanted.is_empty() && missing.iter().any(|name| needs(name).is_some()) {
        return None;
    }
    let is_of_kernels = !wanted.is_empty() && wanted.iter().all(|needs| *needs == Capability::KernelProfile);
    // Of counters that could not be read, no page holds more.
    let is_there_more = facts.run().is_some_and(|run| run.get("uncounted_launch_count").is_none());
    if is_of_kernels && is_there_more && profile_page(facts) == Some("details") {
        return Some(source::PRINT_ALL_COUNTERS.to_owned());
    }
    let format = facts.run().and_then(|run| run.text("format"));
    let own = rule.collect.clone().filter(|collect| source::is_capture_of(format, collect));
    own.or_else(|| source::how_to_capture(format, &wanted).map(|command| command.to_string()))
}

/// Which page of Nsight Compute the report is.
pub(super) fn profile_page(facts: &Facts) -> Option<&str> {
    facts.run()?.text("profile_page")
}

/// Whether any entity has this fact: sections of counters are collected or not for all kernels alike.
fn is_known(facts: &Facts, full_name: &str) -> bool {
    let Some((kind, name)) = full_name.split_once('.') else { return false };
    let kind = EntityKind::from_name(kind);
    kind.is_some_and(|kind| facts.of_kind(kind).any(|(_, entity)| entity.get(name).is_some()))
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
        // Where it was asked for and holds none, asking again does not help.
        Capability::CudaApi => {
            let requested = run.and_then(|run| run.get("cuda_trace_requested")) == Some(&FactValue::Bool(true));
            requested || counts("api_call_count")
        }
        Capability::Nvtx => counts("range_count"),
        Capability::OsRuntime => counts("os_call_count"),
        Capability::GpuMetrics => counts("metric_sample_count"),
        Capability::CpuSamples => run.and_then(|run| run.get("cpu_samples_captured")) == Some(&FactValue::Bool(true)),
        Capability::GraphKernels
        | Capability::PageFaults
        | Capability::CallStacks
        | Capability::KernelProfile
        | Capability::TensorShapes
        | Capability::AllocatorMemory
        | Capability::CollectiveSizes => false,
    }
}
