//! Findings that the user has accepted: kept and counted, but not shown among the others.

use super::occurrence::{Context, Occurrence, chain};
use super::{Baseline, Gain, Sources, Subject};
use crate::rules::outcome::Severity;
use crate::text::glob::Glob;
use crate::text::spans::Sentence;

/// What the user decided before the report was looked at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// Findings to set aside.
    pub ignores: Vec<Ignore>,
    /// The ids of rules that are switched off, by id; they are not in the library that judged.
    pub rules_off: Vec<String>,
    /// What else the project changed of what the built-in rules find, one sentence each.
    pub altered: Vec<Sentence>,
    /// Findings that are known, and folded away.
    pub baseline: Option<Baseline>,
    /// Where kernels and ranges come from.
    pub sources: Sources,
}

/// Which findings are set aside, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignore {
    /// The rule's id.
    pub rule: String,
    /// Which entities, by their keys; absent for all.
    pub entity: Option<Glob>,
    /// The user's reason.
    pub reason: String,
    /// The last day on which it holds, as `2026-12-31`; absent without an end.
    pub until: Option<String>,
    /// Whether that day has passed: then it sets nothing aside.
    pub is_expired: bool,
}

/// Findings that one ignore sets aside.
#[derive(Debug, Clone, PartialEq)]
pub struct Ignored {
    /// The rule's id.
    pub rule: String,
    /// The pattern of entities; absent for all.
    pub entity: Option<String>,
    /// The user's reason.
    pub reason: String,
    /// The last day on which it holds; absent without an end.
    pub until: Option<String>,
    /// What is set aside, best first: the findings, and those that they explain.
    pub findings: Vec<IgnoredFinding>,
}

/// A finding that is set aside.
#[derive(Debug, Clone, PartialEq)]
pub struct IgnoredFinding {
    /// The rule's id: another one than the ignore's where that explains it.
    pub rule: String,
    /// The rule's title.
    pub title: String,
    /// The severity that it would have.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// The most that it can gain.
    pub gain: Option<Gain>,
    /// What it is.
    pub summary: Sentence,
}

/// An ignore that sets nothing aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaleIgnore {
    /// The rule's id.
    pub rule: String,
    /// The pattern of entities; absent for all.
    pub entity: Option<String>,
    /// The user's reason.
    pub reason: String,
    /// The last day on which it holds; absent without an end.
    pub until: Option<String>,
    /// Why it does nothing.
    pub why: Stale,
}

/// Why an ignore does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    /// Its last day has passed.
    Expired,
    /// This report has no such finding.
    MatchesNothing,
}

impl Ignore {
    fn matches(&self, context: &Context<'_>, this: &Occurrence<'_>) -> bool {
        let key = &context.facts.get(this.entity).key;
        self.rule == context.rule(this).id && self.entity.as_ref().is_none_or(|pattern| pattern.matches(key))
    }

    fn entity(&self) -> Option<String> {
        self.entity.as_ref().map(|pattern| pattern.as_str().to_owned())
    }

    /// Why it does nothing; `None` where it does something.
    fn stale(&self, context: &Context<'_>, occurrences: &[Occurrence<'_>]) -> Option<Stale> {
        if self.is_expired {
            return Some(Stale::Expired);
        }
        let is_met = occurrences.iter().any(|this| self.matches(context, this));
        (!is_met).then_some(Stale::MatchesNothing)
    }
}

/// The ignores that do nothing, in their order. `occurrences` holds those that others make pointless, too.
pub(super) fn stale(ignores: &[Ignore], context: &Context<'_>, occurrences: &[Occurrence<'_>]) -> Vec<StaleIgnore> {
    let stale = |ignore: &Ignore| {
        Some(StaleIgnore {
            rule: ignore.rule.clone(),
            entity: ignore.entity(),
            reason: ignore.reason.clone(),
            until: ignore.until.clone(),
            why: ignore.stale(context, occurrences)?,
        })
    };
    ignores.iter().filter_map(stale).collect()
}

/// Notes for each finding which ignore sets it aside: its own, or that of the nearest finding that explains it. A symptom
/// goes with its cause, or accepting a cause would only make its symptoms the news.
pub(super) fn set_aside(ignores: &[Ignore], context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    for this in 0..occurrences.len() {
        let ignore = chain(occurrences, this).find_map(|index| own(ignores, context, &occurrences[index]));
        occurrences[this].ignore = ignore;
    }
}

/// The index of the ignore that is about a finding itself.
fn own(ignores: &[Ignore], context: &Context<'_>, this: &Occurrence<'_>) -> Option<usize> {
    ignores.iter().position(|ignore| !ignore.is_expired && ignore.matches(context, this))
}

/// What is set aside, by ignore.
pub(super) fn ignored(ignores: &[Ignore], context: &Context<'_>, occurrences: &[Occurrence<'_>]) -> Vec<Ignored> {
    let of = |(index, ignore): (usize, &Ignore)| {
        let own = context.sorted(occurrences, |this| this.ignore == Some(index));
        let findings: Vec<IgnoredFinding> =
            own.into_iter().map(|index| finding(context, &occurrences[index])).collect();
        (!findings.is_empty()).then(|| Ignored {
            rule: ignore.rule.clone(),
            entity: ignore.entity(),
            reason: ignore.reason.clone(),
            until: ignore.until.clone(),
            findings,
        })
    };
    ignores.iter().enumerate().filter_map(of).collect()
}

fn finding(context: &Context<'_>, this: &Occurrence<'_>) -> IgnoredFinding {
    let rule = context.rule(this);
    IgnoredFinding {
        rule: rule.id.clone(),
        title: rule.title.clone(),
        severity: this.severity,
        subject: context.subject(this),
        gain: this.gain.clone(),
        summary: this.found.summary.clone(),
    }
}
