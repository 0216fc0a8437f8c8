//! Ignores, as JSON and templates have them.

use serde::Serialize;

use super::Text;
use super::finding::{Gain, Subject};
use crate::findings::{self, Stale};

/// What every ignore says, whatever becomes of it.
#[derive(Serialize)]
struct Ignore<'a> {
    rule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<&'a str>,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<&'a str>,
}

/// An ignore, and what it sets aside.
#[derive(Serialize)]
pub(super) struct Ignored<'a> {
    #[serde(flatten)]
    ignore: Ignore<'a>,
    findings: Vec<IgnoredFinding<'a>>,
}

#[derive(Serialize)]
struct IgnoredFinding<'a> {
    rule: &'a str,
    title: &'a str,
    severity: &'static str,
    subject: Subject<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gain: Option<Gain<'a>>,
    summary: Text,
}

/// An ignore, and how many findings it sets aside.
#[derive(Serialize)]
pub(super) struct CountedIgnore<'a> {
    #[serde(flatten)]
    ignore: Ignore<'a>,
    finding_count: usize,
}

/// An ignore that does nothing, and why.
#[derive(Serialize)]
pub(super) struct StaleIgnore<'a> {
    #[serde(flatten)]
    ignore: Ignore<'a>,
    why: &'static str,
}

impl<'a> Ignore<'a> {
    fn of_ignored(ignored: &'a findings::Ignored) -> Self {
        Self {
            rule: &ignored.rule,
            entity: ignored.entity.as_deref(),
            reason: &ignored.reason,
            until: ignored.until.as_deref(),
        }
    }

    fn of_stale(stale: &'a findings::StaleIgnore) -> Self {
        Self {
            rule: &stale.rule,
            entity: stale.entity.as_deref(),
            reason: &stale.reason,
            until: stale.until.as_deref(),
        }
    }
}

impl<'a> Ignored<'a> {
    pub(super) fn new(ignored: &'a findings::Ignored) -> Self {
        let finding = |finding: &'a findings::IgnoredFinding| IgnoredFinding {
            rule: &finding.rule,
            title: &finding.title,
            severity: finding.severity.name(),
            subject: Subject::new(&finding.subject),
            gain: finding.gain.as_ref().map(Gain::new),
            summary: (&finding.summary).into(),
        };
        Self { ignore: Ignore::of_ignored(ignored), findings: ignored.findings.iter().map(finding).collect() }
    }
}

impl<'a> CountedIgnore<'a> {
    pub(super) fn of_ignored(ignored: &'a findings::Ignored) -> Self {
        Self { ignore: Ignore::of_ignored(ignored), finding_count: ignored.findings.len() }
    }

    pub(super) fn of_expired(stale: &'a findings::StaleIgnore) -> Self {
        Self { ignore: Ignore::of_stale(stale), finding_count: 0 }
    }
}

impl<'a> StaleIgnore<'a> {
    pub(super) fn new(stale: &'a findings::StaleIgnore) -> Self {
        Self {
            ignore: Ignore::of_stale(stale),
            why: match stale.why {
                Stale::Expired => "expired",
                Stale::MatchesNothing => "matches_nothing",
            },
        }
    }
}
