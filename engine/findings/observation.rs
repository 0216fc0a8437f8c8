//! A review as a flat list: one observation for each rule and what it is about.

use foldhash::HashMap;

use super::{Also, Finding, Gain, Review, Subject};
use crate::rules::outcome::{Confidence, Severity};
use crate::text::spans::Sentence;

/// What a subject takes beside its key and label, about: its names and where in the code it is.
const BYTES_OF_SUBJECT: usize = 512;

/// One rule that holds for one entity, or for several that only volatile numbers tell apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation<'a> {
    /// The rule and the stable name of what it is about.
    pub fingerprint: &'a str,
    /// The finding that it belongs to: title, advice, references.
    pub finding: &'a Finding,
    /// What it is about.
    pub subject: &'a Subject,
    /// The severity of this one alone.
    pub severity: Severity,
    /// The most that it can gain.
    pub gain: Option<&'a Gain>,
    /// What it is.
    pub summary: &'a Sentence,
    /// How sure it is.
    pub confidence: Confidence,
}

impl Review {
    /// Every finding, symptoms and further entities too, in its order; of those with the same fingerprint the one that can
    /// gain most.
    pub fn observations(&self) -> Vec<Observation<'_>> {
        let mut seen: Vec<Observation<'_>> = Vec::new();
        let mut indices: HashMap<&str, usize> = HashMap::default();
        for one in self.findings.iter().flat_map(Finding::observations) {
            match indices.get(one.fingerprint) {
                Some(index) if seen[*index].recoverable_ns() >= one.recoverable_ns() => {}
                Some(index) => seen[*index] = one,
                None => {
                    indices.insert(one.fingerprint, seen.len());
                    seen.push(one);
                }
            }
        }
        seen
    }
}

impl Review {
    /// Lets go of what only a review by itself tells: how a finding is shown and why it holds, and what is no finding.
    pub(crate) fn forget_words(&mut self) {
        self.verdict = Sentence::default();
        self.findings.iter_mut().for_each(Finding::forget_words);
        (self.suppressed, self.capture) = (Vec::new(), Vec::new());
        // Which rules they are is compared.
        for group in &mut self.unjudged {
            (group.missing, group.capture) = (Vec::new(), None);
            group.rules.iter_mut().for_each(|rule| rule.title = String::new());
        }
        for device in &mut self.devices {
            device.kernels = Vec::new();
        }
    }

    /// Bytes of memory that its findings take, about.
    pub(crate) fn byte_count(&self) -> usize {
        let of_subject = |subject: &Subject| subject.key.len() + subject.label.byte_count() + BYTES_OF_SUBJECT;
        let of_observation = |one: Observation<'_>| {
            let of_finding = one.finding.advice.byte_count() + one.finding.title.len();
            let own = one.fingerprint.len() + one.summary.byte_count() + of_subject(one.subject);
            own + of_finding + size_of::<Finding>()
        };
        let of_ignored = |ignored: &super::Ignored| -> usize {
            let own = |one: &super::IgnoredFinding| one.summary.byte_count() + of_subject(&one.subject);
            ignored.findings.iter().map(own).sum()
        };
        let found: usize = self.findings.iter().flat_map(Finding::observations).map(of_observation).sum();
        found + self.ignored.iter().map(of_ignored).sum::<usize>()
    }
}

impl Observation<'_> {
    fn recoverable_ns(&self) -> Option<i64> {
        self.gain.map(|gain| gain.recoverable_ns)
    }
}

impl Finding {
    fn forget_words(&mut self) {
        let Self { headline, because, evidence, verify, look, references, symptoms, .. } = self;
        (*headline, *verify, *look) = (Sentence::default(), Sentence::default(), None);
        (*because, *evidence, *references) = (Vec::new(), Vec::new(), Vec::new());
        symptoms.iter_mut().for_each(Self::forget_words);
    }

    fn observations(&self) -> Vec<Observation<'_>> {
        let best = Observation {
            fingerprint: &self.fingerprint,
            finding: self,
            subject: &self.subject,
            severity: self.own_severity,
            gain: self.gain.as_ref(),
            summary: &self.summary,
            confidence: self.confidence,
        };
        let also = self.also.iter().map(|also: &Also| Observation {
            fingerprint: &also.fingerprint,
            finding: self,
            subject: &also.subject,
            severity: also.severity,
            gain: also.gain.as_ref(),
            summary: &also.summary,
            confidence: self.confidence,
        });
        let symptoms = self.symptoms.iter().flat_map(Self::observations);
        std::iter::once(best).chain(also).chain(symptoms).collect()
    }
}
