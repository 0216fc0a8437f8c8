//! Findings that are known: written down once, and folded away in later reviews.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::verdict::verdict;
use super::{Finding, Fingerprints, Review};
use crate::facts::Facts;
use crate::rules::outcome::Severity;
use crate::text::escape;

const SCHEMA: &str = "coldspot.baseline/1";
const SCHEMA_NAME: &str = "coldspot.baseline/";

/// The findings of a review, by fingerprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    schema: String,
    /// Sorted and without doubles, so that the file changes only where findings do.
    findings: Vec<Entry>,
}

/// One known finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Entry {
    fingerprint: String,
    /// For readers of the file.
    title: String,
}

/// What a baseline did to a review.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Known {
    /// Findings that it knows, which are folded away: their titles, with how many entities each.
    pub findings: Vec<KnownFinding>,
    /// Fingerprints in the baseline that match nothing any more.
    pub stale: Vec<String>,
}

/// Findings of one rule that a baseline knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownFinding {
    /// The rule's id.
    pub rule: String,
    /// The rule's title.
    pub title: String,
    /// For how many entities.
    pub entity_count: usize,
}

/// Why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// It cannot be read from the disk.
    #[error("{path}: cannot be read: {source}. Write a baseline with: coldspot baseline write FILE REPORT")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is no baseline, or a newer one.
    #[error("{path}: {problem}. Write a baseline with: coldspot baseline write FILE REPORT")]
    Content {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

impl Baseline {
    /// The findings of a review of these facts.
    pub fn of(facts: &Facts, review: &Review) -> Self {
        let prints = Fingerprints::new(facts);
        let seen = prints.all(review);
        let entries: BTreeSet<Entry> = seen
            .into_iter()
            .map(|seen| Entry { fingerprint: seen.fingerprint, title: seen.finding.title.clone() })
            .collect();
        Self { schema: SCHEMA.to_owned(), findings: entries.into_iter().collect() }
    }

    /// The content of a baseline file.
    pub fn to_json(&self) -> String {
        // Strings and lists of them always serialise.
        escape::json(&format!("{}\n", serde_json::to_string_pretty(self).unwrap_or_default()))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is no baseline, or a newer coldspot wrote it.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|source| BaselineError::Read { path: name.clone(), source })?;
        let wrong = |problem: String| BaselineError::Content { path: name.clone(), problem: escape::plain(&problem) };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| wrong(format!("is no baseline ({error})")))?;
        match value.get("schema").and_then(serde_json::Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) if other.starts_with(SCHEMA_NAME) => {
                return Err(wrong(format!("is of schema {other}; this coldspot reads {SCHEMA}")));
            }
            _ => return Err(wrong("is no baseline".to_owned())),
        }
        serde_json::from_value(value).map_err(|error| wrong(format!("is damaged ({error})")))
    }

    /// How many findings of a review of these facts it does not know; notes, of severity info, do not count.
    pub fn new_count(&self, facts: &Facts, review: &Review) -> usize {
        let is_known = |print: &str| self.findings.iter().any(|entry| entry.fingerprint == print);
        let prints = Fingerprints::new(facts);
        let seen = prints.all(review);
        seen.iter().filter(|seen| seen.severity > Severity::Info && !is_known(&seen.fingerprint)).count()
    }

    /// Takes the findings that it knows out of a review of these facts, and says which. A finding stays when any of its
    /// entities is new; a new symptom of a known cause takes the cause's place.
    pub fn fold(&self, facts: &Facts, review: &mut Review) {
        let prints = Fingerprints::new(facts);
        let known: BTreeSet<&str> = self.findings.iter().map(|entry| entry.fingerprint.as_str()).collect();
        let met: BTreeSet<String> = prints.all(review).into_iter().map(|seen| seen.fingerprint).collect();
        let mut fold = Fold { prints: &prints, known: &known, counts: BTreeMap::new() };
        let findings = std::mem::take(&mut review.findings);
        review.findings = findings.into_iter().flat_map(|finding| fold.finding(finding)).collect();
        let stale = known.iter().filter(|print| !met.contains(**print)).map(|print| (*print).to_owned()).collect();
        let findings = fold.counts.into_iter();
        let findings =
            findings.map(|((rule, title), entity_count)| KnownFinding { rule, title, entity_count }).collect();
        let known = Known { findings, stale };
        // What is known is not what to change first.
        review.verdict =
            verdict(facts, &review.devices, &review.findings, &review.capture, &review.counts, Some(&known));
        review.known = Some(known);
    }
}

struct Fold<'a> {
    prints: &'a Fingerprints<'a>,
    known: &'a BTreeSet<&'a str>,
    counts: BTreeMap<(String, String), usize>,
}

impl Fold<'_> {
    fn finding(&mut self, mut finding: Finding) -> Vec<Finding> {
        let symptoms = std::mem::take(&mut finding.symptoms);
        let symptoms: Vec<Finding> = symptoms.into_iter().flat_map(|symptom| self.finding(symptom)).collect();
        let subjects = std::iter::once(&finding.subject).chain(finding.also.iter().map(|also| &also.subject));
        let is_known: Vec<bool> =
            subjects.map(|subject| self.known.contains(self.prints.of(&finding.rule, subject).as_str())).collect();
        if is_known.iter().any(|known| !known) {
            finding.symptoms = symptoms;
            return vec![finding];
        }
        *self.counts.entry((finding.rule, finding.title)).or_default() += is_known.len();
        symptoms
    }
}
