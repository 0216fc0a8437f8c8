//! How many answers of each kind the rules gave, and which rules went wrong.

use std::collections::BTreeSet;

use foldhash::HashMap;

use crate::rules::outcome::{Judgement, Outcome};
use crate::rules::{RuleInfo, is_spent};

/// A rule that went wrong: the fault is the rule's, not the report's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFailure {
    /// The rule's id.
    pub rule: String,
    /// What went wrong.
    pub message: String,
    /// For how many entities.
    pub entity_count: usize,
    /// Whether it is a rule of the user's own.
    pub is_own: bool,
}

impl RuleFailure {
    /// Whether there was nothing left for it of what all rules may take: the rule is not to blame.
    pub fn is_spent(&self) -> bool {
        is_spent(&self.message)
    }

    /// What happened to it, behind `rule x`.
    pub fn what(&self) -> &'static str {
        if self.is_spent() { "was not asked to the end" } else { "went wrong" }
    }
}

/// How many answers of each kind the rules gave, over all entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Rules in the library.
    pub rules: usize,
    /// Rules of which no entity was left unjudged for want of facts, nor went wrong.
    pub rules_judged: usize,
    /// The rule holds.
    pub findings: usize,
    /// The rule looked and found nothing.
    pub passes: usize,
    /// The rule is about something else.
    pub not_applicable: usize,
    /// A fact is missing.
    pub unknown: usize,
    /// The rule went wrong.
    pub failed: usize,
    /// Of the findings, those that the user has accepted, and those that they explain.
    pub ignored: usize,
    /// Those of built-in rules that a rule of the project's own made pointless.
    pub silenced: usize,
}

impl Counts {
    pub(super) fn of(rules: &[RuleInfo], judgements: &[&Judgement]) -> Self {
        let mut counts = Self { rules: rules.len(), ..Self::default() };
        let mut unjudged: BTreeSet<usize> = BTreeSet::new();
        for judgement in judgements {
            let count = match judgement.outcome {
                Outcome::Finding(_) => &mut counts.findings,
                Outcome::Pass => &mut counts.passes,
                Outcome::NotApplicable => &mut counts.not_applicable,
                Outcome::Unknown { .. } => &mut counts.unknown,
                Outcome::Failed { .. } => &mut counts.failed,
            };
            *count += judgement.entity_count;
            if matches!(judgement.outcome, Outcome::Unknown { .. } | Outcome::Failed { .. }) {
                unjudged.insert(judgement.rule);
            }
        }
        counts.rules_judged = rules.len() - unjudged.len();
        counts
    }
}

/// The rules that went wrong, each of their messages once.
pub(super) fn failures(rules: &[RuleInfo], judgements: &[&Judgement]) -> Vec<RuleFailure> {
    let mut failures: Vec<RuleFailure> = Vec::new();
    // A message can hold numbers of its entity, so that there are as many as entities.
    let mut known: HashMap<(usize, &str), usize> = HashMap::default();
    for judgement in judgements {
        let Outcome::Failed { message } = &judgement.outcome else { continue };
        let index = *known.entry((judgement.rule, message)).or_insert_with(|| {
            let RuleInfo { id, is_own, .. } = &rules[judgement.rule];
            failures.push(RuleFailure { rule: id.clone(), message: message.clone(), entity_count: 0, is_own: *is_own });
            failures.len() - 1
        });
        failures[index].entity_count += judgement.entity_count;
    }
    failures
}
