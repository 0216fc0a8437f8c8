//! A finding, as JSON and templates have it.

use serde::Serialize;

use super::{Source, Text, texts};
use crate::findings;

#[derive(Serialize)]
pub(super) struct Finding<'a> {
    rule: &'a str,
    title: &'a str,
    headline: Text,
    category: &'a str,
    severity: &'static str,
    once: bool,
    brief: bool,
    experimental: bool,
    subject: Subject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<Gain<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_gain: Option<Gain<'a>>,
    together: bool,
    confidence: &'static str,
    because: &'a [String],
    summary: Text,
    evidence: Vec<Text>,
    advice: Text,
    verify: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<Text>,
    references: Vec<Reference<'a>>,
    also: Vec<Also<'a>>,
    symptoms: Vec<Self>,
}

#[derive(Serialize)]
pub(super) struct Subject<'a> {
    kind: &'static str,
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<&'a str>,
    label: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source<'a>>,
}

#[derive(Serialize)]
pub(super) struct Gain<'a> {
    recoverable_ns: i64,
    window_ns: i64,
    share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    speedup_ceiling: Option<f64>,
    account: &'a str,
    basis: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covered_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_step_number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond_share: Option<f64>,
}

#[derive(Serialize)]
struct Reference<'a> {
    url: &'a str,
    supports: &'a str,
}

#[derive(Serialize)]
struct Also<'a> {
    subject: Subject<'a>,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<Gain<'a>>,
    summary: Text,
}

impl<'a> Finding<'a> {
    pub(super) fn new(finding: &'a findings::Finding) -> Self {
        let also = |also: &'a findings::Also| Also {
            subject: Subject::new(&also.subject),
            severity: also.severity.name(),
            gain: also.gain.as_ref().map(Gain::new),
            summary: (&also.summary).into(),
        };
        let reference = |r: &'a crate::rules::Reference| Reference { url: &r.url, supports: &r.supports };
        Self {
            rule: &finding.rule,
            title: &finding.title,
            headline: (&finding.headline).into(),
            category: &finding.category,
            severity: finding.severity.name(),
            once: finding.once,
            brief: finding.is_brief,
            experimental: finding.is_experimental,
            subject: Subject::new(&finding.subject),
            gain: finding.gain.as_ref().map(Gain::new),
            own_gain: finding.own_gain.as_ref().map(Gain::new),
            together: finding.is_together,
            confidence: finding.confidence.name(),
            because: &finding.because,
            summary: (&finding.summary).into(),
            evidence: texts(&finding.evidence),
            advice: (&finding.advice).into(),
            verify: (&finding.verify).into(),
            look: finding.look.as_ref().map(Text::from),
            references: finding.references.iter().map(reference).collect(),
            also: finding.also.iter().map(also).collect(),
            symptoms: finding.symptoms.iter().map(Self::new).collect(),
        }
    }
}

impl<'a> Subject<'a> {
    pub(super) fn new(subject: &'a findings::Subject) -> Self {
        Self {
            kind: subject.kind.name(),
            id: &subject.key,
            device: subject.device.as_ref().map(|device| device.key.as_str()),
            gpu: subject.gpu_among_others(),
            label: (&subject.label).into(),
            source: subject.source.as_ref().map(Source::from),
        }
    }
}

impl<'a> Gain<'a> {
    pub(super) fn new(gain: &'a findings::Gain) -> Self {
        Self {
            recoverable_ns: gain.recoverable_ns,
            window_ns: gain.window_ns,
            share: gain.share,
            speedup_ceiling: gain.speedup_ceiling,
            account: &gain.account,
            basis: &gain.basis,
            unit: gain.replayed.map(|replayed| replayed.unit.name()),
            step_ns: gain.replayed.map(|replayed| replayed.step_ns),
            expected_ns: gain.replayed.map(|replayed| replayed.expected_ns),
            expected_share: gain.replayed.map(|replayed| replayed.expected_share),
            covered_share: gain.replayed.map(|replayed| replayed.covered_share).filter(|share| *share < 1.0),
            only_step_number: gain.replayed.and_then(|replayed| Some(replayed.only_step?.0)),
            shared_ns: gain.shared_ns,
            beyond_ns: gain.replayed.and_then(|replayed| replayed.beyond_ns),
            beyond_share: gain.replayed.and_then(|replayed| replayed.beyond_share()),
        }
    }
}
