//! Findings that are known: written down once, and folded away in later reviews.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::Review;
use super::occurrence::{Context, Occurrence};
use crate::files::read_text;
use crate::limits::{MAX_BASELINE_BYTES, MAX_BASELINE_FINDING_COUNT};
use crate::rules::outcome::Severity;
use crate::text::escape;
use crate::text::spans::Sentence;

/// A known finding that can gain more than this many times as much of the window counts again.
const GROWN_TIMES: f64 = 1.25;
/// And by at least this part of the window.
const GROWN_SHARE: f64 = 0.01;

const SCHEMA: &str = "coldspot.baseline/1";
const SCHEMA_NAME: &str = "coldspot.baseline/";

/// The findings of a review, by fingerprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    schema: String,
    /// Sorted and without doubles, so that the file changes only where findings do.
    #[serde(deserialize_with = "entries")]
    findings: Vec<Entry>,
}

/// What tells a baseline, and of which version it is.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// Entries of a file, as many as there can be.
fn entries<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Entry>, D::Error> {
    struct Entries;
    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<Entry>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of findings")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = list.next_element()? {
                if entries.len() >= MAX_BASELINE_FINDING_COUNT {
                    return Err(A::Error::custom(format!("more than {MAX_BASELINE_FINDING_COUNT} findings")));
                }
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_seq(Entries)
}

/// One known finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    fingerprint: String,
    /// For readers of the file.
    title: String,
    /// The part of the window that it could gain; absent where it had no gain, and in files of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// How grave it was, where it had no gain; absent in files of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<String>,
}

/// What a baseline did to a review.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// What it knows, which is folded away: by rule, the best first.
    pub findings: Vec<KnownFinding>,
    /// Fingerprints in the baseline that match nothing any more.
    pub stale: Vec<String>,
    /// What it knows, but as less than it is now: these count as if it did not.
    pub grown: Vec<GrownFinding>,
}

/// A known finding that grew.
#[derive(Debug, Clone, PartialEq)]
pub struct GrownFinding {
    /// The rule's title.
    pub title: String,
    /// What it is about.
    pub subject: Sentence,
    /// The part of the window that it can gain: in the baseline, and now.
    pub share: [f64; 2],
}

/// Entities of one rule that a baseline knows; others of the same rule may be new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFinding {
    /// The rule's id.
    pub rule: String,
    /// The rule's title.
    pub title: String,
    /// The gravest of its entities.
    pub severity: Severity,
    /// For how many entities.
    pub entity_count: usize,
    /// These entities, best first.
    pub subjects: Vec<Sentence>,
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
    /// The findings of a review.
    pub fn of(review: &Review) -> Self {
        let entries: BTreeMap<&str, Entry> = review
            .observations()
            .into_iter()
            .map(|seen| {
                // Four digits are as many as a recording repeats.
                let share = seen.gain.map(|gain| (gain.share.clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0);
                let (fingerprint, title) = (seen.fingerprint.to_owned(), seen.finding.title.clone());
                let severity = share.is_none().then(|| seen.severity.name().to_owned());
                (seen.fingerprint, Entry { fingerprint, title, share, severity })
            })
            .collect();
        Self { schema: SCHEMA.to_owned(), findings: entries.into_values().collect() }
    }

    /// What in it no coldspot wrote, and would make a finding known that is not.
    fn fault(&self) -> Option<String> {
        let mut prints = BTreeSet::new();
        self.findings.iter().find_map(|entry| {
            let Entry { fingerprint, share, severity, .. } = entry;
            let is_severity = |name: &str| Severity::ALL.into_iter().any(|known| known.name() == name);
            // Rounding may leave a little more than the whole.
            if share.is_some_and(|share| !(0.0..=1.01).contains(&share)) {
                Some(format!("the share of {fingerprint} is none of a window"))
            } else if severity.as_deref().is_some_and(|name| !is_severity(name)) {
                Some(format!("the severity of {fingerprint} is none that there is"))
            } else {
                (!prints.insert(fingerprint)).then(|| format!("{fingerprint} stands in it twice"))
            }
        })
    }

    /// Its entries, by fingerprint.
    fn entries(&self) -> BTreeMap<&str, &Entry> {
        self.findings.iter().map(|entry| (entry.fingerprint.as_str(), entry)).collect()
    }

    /// Whether it knows each of some findings, told by fingerprint, the part of the window that it can gain, and severity: as no
    /// less and as no graver.
    pub fn knows<'f>(&self, findings: impl IntoIterator<Item = (&'f str, Option<f64>, Severity)>) -> Vec<bool> {
        let entries = self.entries();
        let is_known = |(fingerprint, share, severity): (&str, _, _)| {
            entries.get(fingerprint).is_some_and(|entry| !entry.has_grown(share, severity))
        };
        findings.into_iter().map(is_known).collect()
    }

    /// The content of a baseline file.
    pub fn to_json(&self) -> String {
        // Strings and lists of them always serialise.
        escape::json(format!("{}\n", serde_json::to_string_pretty(self).unwrap_or_default()))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is no baseline, or a newer coldspot wrote it.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let name = path.display().to_string();
        let text =
            read_text(path, MAX_BASELINE_BYTES).map_err(|source| BaselineError::Read { path: name.clone(), source })?;
        let wrong = |problem: String| BaselineError::Content { path: name.clone(), problem: escape::plain(&problem) };
        // Passed over, not kept: what stands in a stranger's file may take many times its size.
        serde_json::from_str::<IgnoredAny>(&text).map_err(|error| wrong(format!("is no baseline ({error})")))?;
        let head: Head = serde_json::from_str(&text).map_err(|_| wrong("is no baseline".to_owned()))?;
        match head.schema.as_str() {
            SCHEMA => {}
            other if other.starts_with(SCHEMA_NAME) => {
                return Err(wrong(format!("is of schema {other}; this coldspot reads {SCHEMA}")));
            }
            _ => return Err(wrong("is no baseline".to_owned())),
        }
        let baseline: Self = serde_json::from_str(&text).map_err(|error| wrong(format!("is damaged ({error})")))?;
        match baseline.fault() {
            Some(fault) => Err(wrong(format!("is damaged ({fault})"))),
            None => Ok(baseline),
        }
    }

    /// Notes which findings it knows, and gives what in it matches none of them.
    pub(super) fn recognise(&self, occurrences: &mut [Occurrence<'_>]) -> Vec<String> {
        let entries = self.entries();
        for this in occurrences.iter_mut() {
            let share = this.gain.as_ref().map(|gain| gain.share);
            let entry = entries.get(this.fingerprint.as_str());
            this.is_known = entry.is_some_and(|entry| !entry.has_grown(share, this.severity));
            this.grown_from = entry.filter(|_| !this.is_known).and_then(|entry| entry.share);
        }
        let met: BTreeSet<&str> = occurrences.iter().map(|this| this.fingerprint.as_str()).collect();
        entries.keys().filter(|print| !met.contains(**print)).map(|print| (*print).to_owned()).collect()
    }
}

impl Entry {
    /// Whether a finding is more than a recording's noise above what was known; without a gain, whether it is graver.
    fn has_grown(&self, share: Option<f64>, severity: Severity) -> bool {
        match (self.share, share) {
            (Some(then), Some(now)) => now > GROWN_TIMES * then && now - then >= GROWN_SHARE,
            _ => {
                let then = Severity::ALL.into_iter().find(|known| Some(known.name()) == self.severity.as_deref());
                then.is_some_and(|then| severity > then)
            }
        }
    }
}

/// What is folded away, by rule: of the findings that are not set aside already. `stale` is what matched nothing.
pub(super) fn known(context: &Context<'_>, occurrences: &[Occurrence<'_>], stale: Vec<String>) -> Known {
    let mut findings: Vec<KnownFinding> = Vec::new();
    for index in context.sorted(occurrences, |this| this.is_known && this.ignore.is_none()) {
        let this = &occurrences[index];
        let (rule, label) = (context.rule(this), context.subject(this).label);
        match findings.iter_mut().find(|known| known.rule == rule.id) {
            Some(known) => {
                known.entity_count += 1;
                known.severity = known.severity.max(this.severity);
                known.subjects.push(label);
            }
            None => findings.push(KnownFinding {
                rule: rule.id.clone(),
                title: rule.title.clone(),
                severity: this.severity,
                entity_count: 1,
                subjects: vec![label],
            }),
        }
    }
    let grown = context.sorted(occurrences, |this| this.grown_from.is_some() && this.ignore.is_none());
    let grown = grown.into_iter().filter_map(|index| {
        let this = &occurrences[index];
        let share = [this.grown_from?, this.gain.as_ref()?.share];
        let title = context.rule(this).title.clone();
        Some(GrownFinding { title, subject: context.subject(this).label, share })
    });
    Known { findings, stale, grown: grown.collect() }
}
