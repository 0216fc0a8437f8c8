//! Findings that the user has accepted: kept and counted, but not shown among the others.

use serde::Serialize;

use super::rank::{Occurrence, order};
use super::subject::subject;
use super::{Baseline, Gain, RuleCard, Subject};
use crate::facts::Facts;
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
    /// Findings that are known, and folded away.
    pub baseline: Option<Baseline>,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stale {
    /// Its last day has passed.
    Expired,
    /// This report has no such finding.
    MatchesNothing,
}

impl Ignore {
    fn fits(&self, facts: &Facts, rules: &[RuleCard], this: &Occurrence<'_>) -> bool {
        let key = &facts.get(this.entity).key;
        self.rule == rules[this.rule].id && self.entity.as_ref().is_none_or(|pattern| pattern.matches(key))
    }

    fn entity(&self) -> Option<String> {
        self.entity.as_ref().map(|pattern| pattern.as_str().to_owned())
    }
}

impl Policy {
    /// The ignores that do nothing, in their order. `occurrences` holds those that others make pointless, too.
    pub(super) fn stale(&self, facts: &Facts, rules: &[RuleCard], occurrences: &[Occurrence<'_>]) -> Vec<StaleIgnore> {
        let why = |ignore: &Ignore| match () {
            () if ignore.is_expired => Some(Stale::Expired),
            () if occurrences.iter().any(|this| ignore.fits(facts, rules, this)) => None,
            () => Some(Stale::MatchesNothing),
        };
        let stale = |ignore: &Ignore| {
            Some(StaleIgnore {
                rule: ignore.rule.clone(),
                entity: ignore.entity(),
                reason: ignore.reason.clone(),
                until: ignore.until.clone(),
                why: why(ignore)?,
            })
        };
        self.ignores.iter().filter_map(stale).collect()
    }

    /// For each finding the place of the ignore that sets it aside: its own, or that of the nearest finding that explains
    /// it. A symptom goes with its cause, or accepting a cause would only make its symptoms the news.
    pub(super) fn places(
        &self,
        facts: &Facts,
        rules: &[RuleCard],
        occurrences: &[Occurrence<'_>],
        causes: &[Option<usize>],
    ) -> Vec<Option<usize>> {
        let own = |place: usize| {
            self.ignores.iter().position(|ignore| !ignore.is_expired && ignore.fits(facts, rules, &occurrences[place]))
        };
        let chain = |place: usize| std::iter::successors(Some(place), |place| causes[*place]);
        (0..occurrences.len()).map(|place| chain(place).find_map(own)).collect()
    }

    /// What is set aside, by ignore.
    pub(super) fn ignored(
        &self,
        facts: &Facts,
        rules: &[RuleCard],
        occurrences: &[Occurrence<'_>],
        places: &[Option<usize>],
    ) -> Vec<Ignored> {
        let of = |(place, ignore): (usize, &Ignore)| {
            let mut own: Vec<&Occurrence<'_>> =
                occurrences.iter().zip(places).filter(|(_, by)| **by == Some(place)).map(|(this, _)| this).collect();
            own.sort_by(|a, b| order(facts, rules, a, b));
            let findings: Vec<IgnoredFinding> = own.into_iter().map(|this| finding(facts, rules, this)).collect();
            (!findings.is_empty()).then(|| Ignored {
                rule: ignore.rule.clone(),
                entity: ignore.entity(),
                reason: ignore.reason.clone(),
                until: ignore.until.clone(),
                findings,
            })
        };
        self.ignores.iter().enumerate().filter_map(of).collect()
    }
}

fn finding(facts: &Facts, rules: &[RuleCard], this: &Occurrence<'_>) -> IgnoredFinding {
    let rule = &rules[this.rule];
    IgnoredFinding {
        rule: rule.id.clone(),
        title: rule.title.clone(),
        severity: this.severity,
        subject: subject(facts, this.entity),
        gain: this.gain.clone(),
        summary: this.found.summary.clone(),
    }
}
