//! The shape of a review outside of coldspot: what JSON holds and templates see. `docs/json.md` documents it; a change
//! that breaks readers needs a new [`SCHEMA`]. What is absent is left out, never null.

use serde::Serialize;

use crate::facts::EntityKind;
use crate::findings::{self, Review, Stale};
use crate::rules::outcome::{Confidence, Severity};
use crate::text::spans::Sentence;

pub(super) const SCHEMA: &str = "coldspot.review/1";

#[derive(Serialize)]
pub(super) struct View<'a> {
    schema: &'static str,
    coldspot: &'static str,
    report: &'a str,
    verdict: &'a Sentence,
    pub(super) devices: Vec<Device<'a>>,
    findings: Vec<Finding<'a>>,
    suppressed: Vec<Suppressed<'a>>,
    ignored: Vec<Ignored<'a>>,
    stale_ignores: Vec<StaleIgnore<'a>>,
    rules_off: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<&'a findings::Known>,
    unjudged: Vec<Unjudged<'a>>,
    errors: Vec<Failure<'a>>,
    capture: &'a [Sentence],
    counts: Counts,
    gates: &'a [findings::Gate],
    gates_needing_base: &'a [findings::BaseGate],
}

#[derive(Serialize)]
pub(super) struct Device<'a> {
    id: &'a str,
    label: &'a Sentence,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_start_ns: Option<i64>,
    pub(super) window_ns: i64,
    busy_ns: i64,
    compute_ns: i64,
    recoverable_ns: i64,
    pub(super) parts: Vec<Part>,
    pub(super) idle_began: Vec<Part>,
    scores: Vec<Score<'a>>,
}

#[derive(Serialize, Clone)]
pub(super) struct Part {
    pub(super) account: &'static str,
    pub(super) of: &'static str,
    pub(super) label: String,
    pub(super) ns: i64,
    pub(super) share: f64,
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
struct Finding<'a> {
    rule: &'a str,
    title: &'a str,
    category: &'a str,
    severity: Severity,
    once: bool,
    experimental: bool,
    subject: Subject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<Gain<'a>>,
    confidence: Confidence,
    because: &'a [String],
    summary: &'a Sentence,
    evidence: &'a [Sentence],
    advice: &'a Sentence,
    verify: &'a Sentence,
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<&'a Sentence>,
    references: Vec<Reference<'a>>,
    also: Vec<Also<'a>>,
    symptoms: Vec<Self>,
}

#[derive(Serialize)]
struct Subject<'a> {
    kind: EntityKind,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    label: &'a Sentence,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a findings::Place>,
}

#[derive(Serialize)]
struct Gain<'a> {
    recoverable_ns: i64,
    window_ns: i64,
    share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    speedup_ceiling: Option<f64>,
    account: &'a str,
    basis: &'a str,
}

#[derive(Serialize)]
struct Reference<'a> {
    url: &'a str,
    supports: &'a str,
}

#[derive(Serialize)]
struct Also<'a> {
    subject: Subject<'a>,
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<Gain<'a>>,
    summary: &'a Sentence,
}

#[derive(Serialize)]
struct Suppressed<'a> {
    rule: &'a str,
    by: &'a str,
    subject: Subject<'a>,
    summary: &'a Sentence,
}

#[derive(Serialize)]
struct Ignored<'a> {
    rule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<&'a str>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<&'a str>,
    findings: Vec<IgnoredFinding<'a>>,
}

#[derive(Serialize)]
struct IgnoredFinding<'a> {
    rule: &'a str,
    title: &'a str,
    severity: Severity,
    subject: Subject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<Gain<'a>>,
    summary: &'a Sentence,
}

#[derive(Serialize)]
struct StaleIgnore<'a> {
    rule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<&'a str>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<&'a str>,
    why: Stale,
}

#[derive(Serialize)]
struct Unjudged<'a> {
    rules: Vec<UnjudgedRule<'a>>,
    missing: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<&'a str>,
}

#[derive(Serialize)]
struct UnjudgedRule<'a> {
    id: &'a str,
    title: &'a str,
    unknown_count: usize,
    asked_count: usize,
}

#[derive(Serialize)]
struct Failure<'a> {
    rule: &'a str,
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

impl<'a> View<'a> {
    /// `report` is the name of the file that was reviewed.
    pub(super) fn new(review: &'a Review, report: &'a str) -> Self {
        let findings::Counts { rules, rules_judged, findings, passes, not_applicable, unknown, failed, ignored } =
            review.counts;
        Self {
            schema: SCHEMA,
            coldspot: env!("CARGO_PKG_VERSION"),
            report,
            verdict: &review.verdict,
            devices: review.devices.iter().map(Device::new).collect(),
            findings: review.findings.iter().map(Finding::new).collect(),
            suppressed: review.suppressed.iter().map(Suppressed::new).collect(),
            ignored: review.ignored.iter().map(Ignored::new).collect(),
            stale_ignores: review.stale_ignores.iter().map(StaleIgnore::new).collect(),
            rules_off: &review.rules_off,
            known: review.known.as_ref(),
            unjudged: review.unjudged.iter().map(Unjudged::new).collect(),
            errors: review.errors.iter().map(Failure::new).collect(),
            capture: &review.capture,
            counts: Counts { rules, rules_judged, findings, passes, not_applicable, unknown, failed, ignored },
            gates: &review.gates,
            gates_needing_base: &review.gates_needing_base,
        }
    }
}

impl<'a> Device<'a> {
    fn new(device: &'a findings::DeviceReview) -> Self {
        let parts = |parts: &[findings::Part]| {
            let part = |p: &findings::Part| Part {
                account: p.account,
                of: p.of,
                label: p.label.to_owned(),
                ns: p.ns,
                share: p.share,
            };
            parts.iter().map(part).collect()
        };
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
            label: &device.label,
            window_start_ns: device.window_start_ns,
            window_ns: device.window_ns,
            busy_ns: device.busy_ns,
            compute_ns: device.compute_ns,
            recoverable_ns: device.recoverable_ns,
            parts: parts(&device.parts),
            idle_began: parts(&device.triggers),
            scores: device.scores.iter().map(score).collect(),
        }
    }
}

impl<'a> Finding<'a> {
    fn new(finding: &'a findings::Finding) -> Self {
        let also = |also: &'a findings::Also| Also {
            subject: Subject::new(&also.subject),
            severity: also.severity,
            gain: also.gain.as_ref().map(Gain::new),
            summary: &also.summary,
        };
        let reference = |r: &'a findings::Reference| Reference { url: &r.url, supports: &r.supports };
        Self {
            rule: &finding.rule,
            title: &finding.title,
            category: &finding.category,
            severity: finding.severity,
            once: finding.once,
            experimental: finding.is_experimental,
            subject: Subject::new(&finding.subject),
            gain: finding.gain.as_ref().map(Gain::new),
            confidence: finding.confidence,
            because: &finding.because,
            summary: &finding.summary,
            evidence: &finding.evidence,
            advice: &finding.advice,
            verify: &finding.verify,
            look: finding.look.as_ref(),
            references: finding.references.iter().map(reference).collect(),
            also: finding.also.iter().map(also).collect(),
            symptoms: finding.symptoms.iter().map(Self::new).collect(),
        }
    }
}

impl<'a> Subject<'a> {
    fn new(subject: &'a findings::Subject) -> Self {
        Self {
            kind: subject.kind,
            id: &subject.key,
            device: subject.device.as_deref(),
            label: &subject.label,
            source: subject.place.as_ref(),
        }
    }
}

impl<'a> Gain<'a> {
    fn new(gain: &'a findings::Gain) -> Self {
        Self {
            recoverable_ns: gain.recoverable_ns,
            window_ns: gain.window_ns,
            share: gain.share,
            speedup_ceiling: gain.speedup_ceiling,
            account: &gain.account,
            basis: &gain.basis,
        }
    }
}

impl<'a> Suppressed<'a> {
    fn new(suppressed: &'a findings::Suppressed) -> Self {
        Self {
            rule: &suppressed.rule,
            by: &suppressed.by,
            subject: Subject::new(&suppressed.subject),
            summary: &suppressed.summary,
        }
    }
}

impl<'a> Ignored<'a> {
    fn new(ignored: &'a findings::Ignored) -> Self {
        let finding = |finding: &'a findings::IgnoredFinding| IgnoredFinding {
            rule: &finding.rule,
            title: &finding.title,
            severity: finding.severity,
            subject: Subject::new(&finding.subject),
            gain: finding.gain.as_ref().map(Gain::new),
            summary: &finding.summary,
        };
        Self {
            rule: &ignored.rule,
            entity: ignored.entity.as_deref(),
            reason: &ignored.reason,
            until: ignored.until.as_deref(),
            findings: ignored.findings.iter().map(finding).collect(),
        }
    }
}

impl<'a> StaleIgnore<'a> {
    fn new(stale: &'a findings::StaleIgnore) -> Self {
        Self {
            rule: &stale.rule,
            entity: stale.entity.as_deref(),
            reason: &stale.reason,
            until: stale.until.as_deref(),
            why: stale.why,
        }
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
        }
    }
}

impl<'a> Failure<'a> {
    fn new(failure: &'a findings::RuleFailure) -> Self {
        Self { rule: &failure.rule, message: &failure.message, entity_count: failure.entity_count }
    }
}
