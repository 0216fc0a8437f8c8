//! A review, as JSON and templates have it.

use serde::Serialize;

use super::finding::{Finding, Subject};
use super::ignores::{Ignored, StaleIgnore};
use super::{Gate, Text, texts};
use crate::findings;
use crate::gates;
use crate::report::ReviewReport;

const SCHEMA: &str = "coldspot.review/1";

#[derive(Serialize)]
pub(in crate::render) struct ReviewView<'a> {
    schema: &'static str,
    coldspot: &'static str,
    report: &'a str,
    verdict: Text,
    pub(in crate::render) devices: Vec<Device<'a>>,
    findings: Vec<Finding<'a>>,
    suppressed: Vec<Suppressed<'a>>,
    ignored: Vec<Ignored<'a>>,
    stale_ignores: Vec<StaleIgnore<'a>>,
    rules_off: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<Known<'a>>,
    kernels_alone: bool,
    unjudged: Vec<Unjudged<'a>>,
    errors: Vec<Failure<'a>>,
    altered: Vec<Text>,
    capture: Vec<Text>,
    counts: Counts,
    gates: Vec<Gate<'a>>,
    gates_needing_base: Vec<BaseGate<'a>>,
}

#[derive(Serialize)]
pub(in crate::render) struct Device<'a> {
    id: &'a str,
    label: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_start_ns: Option<i64>,
    pub(in crate::render) window_ns: i64,
    busy_ns: i64,
    compute_ns: i64,
    recoverable_ns: i64,
    pub(in crate::render) parts: Vec<Part>,
    pub(in crate::render) idle_began: Vec<Part>,
    kernels: Vec<Kernel<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Steps>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain_step: Option<GainStep>,
    #[serde(skip_serializing_if = "Option::is_none")]
    together: Option<Together<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Phase<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    products: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    work_ranges: Option<Text>,
    scores: Vec<Score<'a>>,
}

#[derive(Serialize)]
struct Kernel<'a> {
    id: &'a str,
    name: Text,
    attributed_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_ns: Option<i64>,
    share: f64,
    launch_count: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    median_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occupancy_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occupancy_limiter: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Profile<'a>>,
}

#[derive(Serialize)]
struct Profile<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compute_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    occupancy_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stall_reason: Option<&'a str>,
}

#[derive(Serialize)]
struct GainStep {
    step_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_step_ns: Option<i64>,
    count: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    of_count: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covered_share: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_of_graph_kernels: bool,
}

#[derive(Serialize)]
struct Together<'a> {
    rules: &'a [String],
    without: &'a [String],
    changes: Vec<&'static str>,
    unit: &'static str,
    step_ns: i64,
    expected_ns: i64,
    expected_share: f64,
    ceiling_ns: i64,
    ceiling_share: f64,
}

impl<'a> Together<'a> {
    fn new(together: &'a findings::Together) -> Self {
        Self {
            rules: &together.rules,
            without: &together.without,
            changes: together.changes.iter().map(|change| change.id()).collect(),
            unit: together.unit.name(),
            step_ns: together.step_ns,
            expected_ns: together.expected_ns,
            expected_share: together.expected_share(),
            ceiling_ns: together.ceiling_ns,
            ceiling_share: together.ceiling_share(),
        }
    }
}

#[derive(Serialize)]
struct Steps {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Text>,
    told_by: &'static str,
    count: i64,
    median_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    slowest_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slowest_number: Option<i64>,
    warm_up_count: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    of_threads: Option<StepsOfThreads>,
}

#[derive(Serialize)]
struct StepsOfThreads {
    thread_count: i64,
    count: i64,
    each_ns: i64,
}

#[derive(Serialize)]
struct Phase<'a> {
    judged: &'a str,
    name: &'a str,
    whole_ns: i64,
    before: Vec<Before<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before_host: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tear_down_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tear_down_from_steps_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tear_down_kernel: Option<Text>,
}

#[derive(Serialize)]
struct Before<'a> {
    name: &'a str,
    duration_ns: i64,
    parts: Vec<Part>,
}

#[derive(Serialize, Clone)]
pub(in crate::render) struct Part {
    pub(in crate::render) account: &'static str,
    pub(in crate::render) of: &'static str,
    pub(in crate::render) label: String,
    pub(in crate::render) ns: i64,
    pub(in crate::render) share: f64,
}

#[derive(Serialize)]
struct Score<'a> {
    id: &'a str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meets: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    why: &'a str,
}

#[derive(Serialize)]
struct Suppressed<'a> {
    rule: &'a str,
    by: &'a str,
    subject: Subject<'a>,
    summary: Text,
}

#[derive(Serialize)]
struct Known<'a> {
    findings: Vec<KnownFinding<'a>>,
    stale: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grown: Vec<GrownFinding<'a>>,
}

#[derive(Serialize)]
struct GrownFinding<'a> {
    title: &'a str,
    subject: Text,
    share: [f64; 2],
}

#[derive(Serialize)]
struct KnownFinding<'a> {
    rule: &'a str,
    title: &'a str,
    severity: &'static str,
    entity_count: usize,
    subjects: Vec<Text>,
}

#[derive(Serialize)]
struct BaseGate<'a> {
    name: &'a str,
    limit: &'a str,
}

#[derive(Serialize)]
struct Unjudged<'a> {
    rules: Vec<UnjudgedRule<'a>>,
    missing: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<&'a str>,
    needs_timeline: bool,
}

#[derive(Serialize)]
struct UnjudgedRule<'a> {
    id: &'a str,
    title: &'a str,
    unknown_count: usize,
    asked_count: usize,
}

#[derive(Serialize)]
pub(super) struct Failure<'a> {
    rule: &'a str,
    own: bool,
    what: &'static str,
    message: &'a str,
    entity_count: usize,
}

#[derive(Serialize)]
struct Counts {
    rules: usize,
    rules_judged: usize,
    findings: usize,
    passes: usize,
    not_applicable: usize,
    unknown: usize,
    failed: usize,
    ignored: usize,
}

impl<'a> ReviewView<'a> {
    pub(in crate::render) fn new(report: &'a ReviewReport) -> Self {
        let review = &report.review;
        let findings::Counts {
            rules, rules_judged, findings, passes, not_applicable, unknown, failed, ignored, ..
        } = review.counts;
        Self {
            schema: SCHEMA,
            coldspot: env!("CARGO_PKG_VERSION"),
            report: &report.name,
            verdict: (&review.verdict).into(),
            devices: review.devices.iter().map(Device::new).collect(),
            findings: review.findings.iter().map(Finding::new).collect(),
            suppressed: review.suppressed.iter().map(Suppressed::new).collect(),
            ignored: review.ignored.iter().map(Ignored::new).collect(),
            stale_ignores: review.stale_ignores.iter().map(StaleIgnore::new).collect(),
            rules_off: &review.rules_off,
            known: review.known.as_ref().map(Known::new),
            kernels_alone: review.is_of_kernels_alone,
            unjudged: review.unjudged.iter().map(Unjudged::new).collect(),
            errors: review.errors.iter().map(Failure::new).collect(),
            altered: texts(&review.altered),
            capture: texts(&review.capture),
            counts: Counts { rules, rules_judged, findings, passes, not_applicable, unknown, failed, ignored },
            gates: super::gates(&report.gates),
            gates_needing_base: report.gates.needing_base.iter().map(BaseGate::new).collect(),
        }
    }
}

impl<'a> Device<'a> {
    fn new(device: &'a findings::DeviceReview) -> Self {
        let score = |score: &'a findings::Score| Score {
            id: &score.id,
            title: &score.title,
            share: score.share,
            at_least: score.is_floor.then_some(score.target),
            at_most: (!score.is_floor).then_some(score.target),
            meets: score.meets,
            source: score.source.as_deref(),
            why: &score.why,
        };
        Self {
            id: &device.key,
            label: (&device.label).into(),
            window_start_ns: device.window_start_ns,
            window_ns: device.window_ns,
            busy_ns: device.busy_ns,
            compute_ns: device.compute_ns,
            recoverable_ns: device.recoverable_ns,
            parts: device.parts.iter().map(Part::new).collect(),
            idle_began: device.triggers.iter().map(Part::new).collect(),
            kernels: device.kernels.iter().map(Kernel::new).collect(),
            steps: device.steps.as_ref().map(Steps::new),
            gain_step: device.gain_step.map(|step| GainStep {
                step_ns: step.step_ns,
                recorded_step_ns: step.recorded_step_ns,
                count: step.count,
                of_count: step.of_count,
                covered_share: step.covered_share,
                is_of_graph_kernels: step.is_of_graph_kernels,
            }),
            together: device.together.as_ref().map(Together::new),
            phase: device.phase.as_ref().map(Phase::new),
            outside: device.outside.as_ref().map(Text::from),
            products: device.products.as_ref().map(Text::from),
            work_ranges: device.work_ranges.as_ref().map(Text::from),
            scores: device.scores.iter().map(score).collect(),
        }
    }
}

impl<'a> Kernel<'a> {
    fn new(kernel: &'a findings::KernelWork) -> Self {
        Self {
            id: &kernel.key,
            name: (&kernel.name).into(),
            attributed_ns: kernel.attributed_ns,
            sum_ns: kernel.sum_ns,
            share: kernel.share,
            launch_count: kernel.launch_count,
            median_ns: kernel.median_ns,
            max_ns: kernel.max_ns,
            occupancy_share: kernel.occupancy.as_ref().map(|occupancy| occupancy.share),
            occupancy_limiter: kernel.occupancy.as_ref().map(|occupancy| occupancy.limiter.as_str()),
            profile: kernel.profile.as_ref().map(|profile| Profile {
                limit: profile.limit.as_deref(),
                compute_share: profile.compute_share,
                memory_share: profile.memory_share,
                occupancy_share: profile.occupancy_share,
                stall_reason: profile.stall_reason.as_deref(),
            }),
        }
    }
}

impl Part {
    fn new(part: &findings::Part) -> Self {
        let findings::Part { account, of, label, ns, share } = *part;
        Self { account, of, label: label.to_owned(), ns, share }
    }
}

impl<'a> Phase<'a> {
    fn new(phase: &'a findings::PhaseWork) -> Self {
        let before = |before: &'a findings::PhaseBefore| Before {
            name: &before.name,
            duration_ns: before.duration_ns,
            parts: before.parts.iter().map(Part::new).collect(),
        };
        Self {
            judged: &phase.judged,
            name: phase.name(),
            whole_ns: phase.whole_ns,
            before: phase.before.iter().map(before).collect(),
            before_host: phase.before_host.as_ref().map(Text::from),
            tear_down_ns: phase.tear_down_ns,
            tear_down_from_steps_share: phase.tear_down_from_steps_share,
            tear_down_kernel: phase.tear_down_kernel.as_ref().map(Text::from),
        }
    }
}

impl Steps {
    fn new(steps: &findings::StepWork) -> Self {
        Self {
            name: steps.name.as_ref().map(Into::into),
            told_by: if steps.is_by_launches { "launches" } else { "range" },
            count: steps.count,
            median_ns: steps.median_ns,
            slowest_ns: steps.slowest_ns,
            slowest_number: steps.slowest_number,
            warm_up_count: steps.warm_up_count,
            of_threads: steps.of_threads.map(|of| StepsOfThreads {
                thread_count: of.thread_count,
                count: of.count,
                each_ns: of.each_ns,
            }),
        }
    }
}

impl<'a> Suppressed<'a> {
    fn new(suppressed: &'a findings::Suppressed) -> Self {
        Self {
            rule: &suppressed.rule,
            by: &suppressed.by,
            subject: Subject::new(&suppressed.subject),
            summary: (&suppressed.summary).into(),
        }
    }
}

impl<'a> Known<'a> {
    fn new(known: &'a findings::Known) -> Self {
        let finding = |known: &'a findings::KnownFinding| KnownFinding {
            rule: &known.rule,
            title: &known.title,
            severity: known.severity.name(),
            entity_count: known.entity_count,
            subjects: texts(&known.subjects),
        };
        let grown = |grown: &'a findings::GrownFinding| GrownFinding {
            title: &grown.title,
            subject: (&grown.subject).into(),
            share: grown.share,
        };
        let grown = known.grown.iter().map(grown).collect();
        Self { findings: known.findings.iter().map(finding).collect(), stale: &known.stale, grown }
    }
}

impl<'a> BaseGate<'a> {
    fn new(gate: &'a gates::BaseGate) -> Self {
        Self { name: &gate.name, limit: &gate.limit }
    }
}

impl<'a> Unjudged<'a> {
    fn new(group: &'a findings::Unjudged) -> Self {
        let rule = |rule: &'a findings::UnjudgedRule| UnjudgedRule {
            id: &rule.id,
            title: &rule.title,
            unknown_count: rule.unknown_count,
            asked_count: rule.asked_count,
        };
        Self {
            rules: group.rules.iter().map(rule).collect(),
            missing: &group.missing,
            capture: group.capture.as_deref(),
            needs_timeline: group.needs_timeline,
        }
    }
}

impl<'a> Failure<'a> {
    pub(super) fn new(failure: &'a findings::RuleFailure) -> Self {
        let findings::RuleFailure { rule, message, entity_count, is_own } = failure;
        Self { rule, own: *is_own, what: failure.what(), message, entity_count: *entity_count }
    }
}
