//! A review as a flat list: one observation for each rule and what it is about.

use foldhash::HashMap;

use super::occurrence::severity_of;
use super::{Also, Finding, Gain, Review, Subject};
use crate::rules::outcome::{Confidence, Severity};
use crate::text::spans::Sentence;

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

impl Observation<'_> {
    fn recoverable_ns(&self) -> Option<i64> {
        self.gain.map(|gain| gain.recoverable_ns)
    }
}

impl Finding {
    fn observations(&self) -> Vec<Observation<'_>> {
        let best = Observation {
            fingerprint: &self.fingerprint,
            finding: self,
            subject: &self.subject,
            severity: self.own_severity(),
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

    /// A finding bears the gravest severity of its entities; what can gain most need not be the gravest.
    fn own_severity(&self) -> Severity {
        let others = self.also.iter().map(|also| also.severity).max();
        match (others, &self.gain) {
            (Some(others), Some(gain)) if others == self.severity => {
                severity_of(gain.weighing_share()).min(self.severity)
            }
            _ => self.severity,
        }
    }
}
