//! Which findings explain, or replace, others.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;

use super::Suppressed;
use super::gain::{Gain, LEAST_EXPECTED_SHARE};
use super::occurrence::{Context, Occurrence, chain, severity_of};
use crate::facts::{EntityId, EntityKind, Facts};
use crate::ledger::Account;
use crate::replay::Change;
use crate::rules::outcome::Severity;
use crate::rules::{Relation, RuleInfo};

/// Takes out the findings that another one makes pointless. A finding that is taken out still takes out others, so that
/// the order of rules does not matter.
pub(super) fn suppress<'a>(
    context: &Context<'_>,
    occurrences: Vec<Occurrence<'a>>,
) -> (Vec<Occurrence<'a>>, Vec<Suppressed>) {
    let index = Index::new(context, &occurrences);
    let silencing = Silencing::new(context, &occurrences);
    let replaced_by: Vec<Option<usize>> = occurrences
        .iter()
        .map(|this| {
            let relations = context.rule(this).suppressed_by.iter();
            let firsts = relations.filter_map(|relation| index.first(relation, this.entity));
            let firsts = firsts.chain(silencing.first(context, this));
            let others = firsts.filter(|other| occurrences[*other].rule != this.rule);
            others.min().map(|other| occurrences[other].rule)
        })
        .collect();
    let mut kept = Vec::new();
    let mut suppressed = Vec::new();
    for (occurrence, by) in occurrences.into_iter().zip(replaced_by) {
        match by {
            None => kept.push(occurrence),
            Some(by) => suppressed.push(Suppressed {
                rule: context.rule(&occurrence).id.clone(),
                by: context.rules[by].id.clone(),
                subject: context.subject(&occurrence),
                summary: occurrence.found.summary.clone(),
            }),
        }
    }
    (kept, suppressed)
}

/// The findings of rules that silence what claims time, by the entities that both are about.
struct Silencing<'a>(HashMap<(&'a [EntityKind], Vec<EntityId>), usize>);

impl<'a> Silencing<'a> {
    fn new(context: &Context<'a>, occurrences: &[Occurrence<'_>]) -> Self {
        let mut first = HashMap::default();
        for (index, occurrence) in occurrences.iter().enumerate() {
            let on = context.rules[occurrence.rule].silences_claims_on.as_slice();
            if !on.is_empty()
                && let Some(subjects) = subjects(context.facts, on, occurrence.entity)
            {
                first.entry((on, subjects)).or_insert(index);
            }
        }
        Self(first)
    }

    fn first(&self, context: &Context<'_>, this: &Occurrence<'_>) -> Option<usize> {
        let ways: BTreeSet<&[EntityKind]> = self.0.keys().map(|(on, _)| *on).collect();
        let is_first = |on: &'a [EntityKind]| self.0.get(&(on, subjects(context.facts, on, this.entity)?)).copied();
        this.gain.as_ref().and_then(|_| ways.into_iter().filter_map(is_first).min())
    }
}

/// Notes for each finding which one explains it: the one whose rule takes most of its time.
///
/// A cause takes no more from its symptom than both are about. When what is left of the symptom still matters, it stays a
/// finding of its own, with what is left: so a cause never drags a larger gain into the small print. Findings that are never
/// about the same time, such as idle time and copies, take nothing from each other: the smaller is shown under the larger.
pub(super) fn find_causes(context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    let index = Index::new(context, occurrences);
    for this in 0..occurrences.len() {
        let ways = index.explaining(context.rules, &occurrences[this]);
        // What its author calls grave is not hidden under a note.
        let is_grave = occurrences[this].is_severity_fixed && occurrences[this].severity > Severity::Info;
        let is_shown_under = |taken: &Taken| !is_grave || occurrences[taken.cause].severity > Severity::Info;
        let matters = occurrences[this].severity > Severity::Info;
        let may_take = |taken: &Taken| !matters || !wins_nothing(&occurrences[taken.cause]);
        let found = ways.flat_map(|way| way.of(occurrences, this));
        let found: Vec<Taken> = found.filter(is_shown_under).filter(may_take).collect();
        let order = |a: &Taken, b: &Taken| context.order(&occurrences[a.cause], &occurrences[b.cause]);
        let is_whole = |taken: &&Taken| taken.is_whole(&occurrences[this], &occurrences[taken.cause]);
        let whole = found.iter().filter(is_whole).copied().min_by(order);
        let takes_ns = |taken: &Taken| {
            let (symptom, cause) = (&occurrences[this], &occurrences[taken.cause]);
            (taken.shared_ns(symptom, cause), taken.explained_of(symptom, cause))
        };
        let most = found.iter().copied().max_by(|a, b| takes_ns(a).cmp(&takes_ns(b)).then_with(|| order(b, a)));
        let together_ns = found.iter().filter_map(|taken| takes_ns(taken).0).fold(0, i64::saturating_add);
        let is_theirs = found.len() > 1 && is_little_without(&occurrences[this], together_ns);
        let whole = whole.or(most.filter(|_| is_theirs));
        let Some(taken) = whole.or(most) else { continue };
        let shared_ns = taken.shared_ns(&occurrences[this], &occurrences[taken.cause]);
        occurrences[this].explain(taken.cause, shared_ns, whole.is_some());
        occurrences[this].common_ns = taken.common_by_fact(&occurrences[this]);
        // A gate would fail by what no page shows: under a note stand notes.
        if whole.is_some() && occurrences[taken.cause].severity == Severity::Info {
            occurrences[this].severity = Severity::Info;
        }
    }
    for occurrence in occurrences {
        occurrence.take_explained();
    }
}

/// Whether a finding that claims time of whatever account was played and wins nothing, even at best: what it would explain could still
/// win something, by another change. Of one account, as of kernels that are too narrow, such a replay speaks for all that claim it; but
/// copies that win nothing as one may hold the host up, each of them.
fn wins_nothing(cause: &Occurrence<'_>) -> bool {
    let is_little = |gain: &Gain| {
        let change = gain.replayed.as_ref().map(|replayed| replayed.change);
        let speaks_for_others = !claims_window(cause) && change != Some(Change::BatchCopies);
        change.is_some() && !speaks_for_others && gain.share < LEAST_EXPECTED_SHARE
    };
    cause.severity == Severity::Info && cause.gain.as_ref().is_some_and(is_little)
}

/// What the findings of one rule take from a symptom.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// The most important of them.
    cause: usize,
    /// The time that they are about together with the symptom; `None` for findings that claim none.
    explained_ns: Option<i64>,
    /// Whether a fact says so.
    is_by_fact: bool,
    /// What of their claims is time of other accounts than theirs.
    beside_ns: i64,
}

impl Taken {
    /// How much of the symptom's time is the causes' as well, where a fact tells, whatever a replay says that they win of it.
    fn common_by_fact(self, symptom: &Occurrence<'_>) -> Option<i64> {
        let (own, common) = (symptom.claimed_ns()?, self.explained_ns.filter(|_| self.is_by_fact)?);
        Some(common.min(own))
    }

    /// The time that the causes may take from the symptom. One that claims some of the whole window, and was played, claims its
    /// ceiling there; a symptom with a bound alone counts half of that, so twice what is expected of the cause is all of it.
    fn explained_of(self, symptom: &Occurrence<'_>, cause: &Occurrence<'_>) -> Option<i64> {
        let explained = self.explained_ns?;
        let gain = cause.gain.as_ref().filter(|_| claims_window(cause));
        let (Some(gain), false) = (gain, symptom.is_replayed()) else {
            return Some(explained);
        };
        let part = gain
            .replayed
            .map_or(1.0, |replayed| (2.0 * replayed.expected_share / gain.share.max(f64::MIN_POSITIVE)).min(1.0));
        Some((part * explained as f64) as i64)
    }

    /// The time that the symptom is about together with the causes; `None` when one of them claims no time.
    fn shared_ns(self, symptom: &Occurrence<'_>, cause: &Occurrence<'_>) -> Option<i64> {
        let (own, explained) = (symptom.claimed_ns()?, self.explained_of(symptom, cause)?);
        if are_apart(symptom, cause) {
            return Some(explained.min(own).min(self.common_ns(symptom, explained)));
        }
        let of_replay = share_of_replay(symptom, cause).map_or(own, |share| (share * own as f64) as i64);
        // What a part of a change wins, all of it wins as well, whatever time the cause claims.
        Some(if is_part(symptom, cause) { of_replay } else { explained.min(of_replay) })
    }

    /// The time that both may be about where their accounts share none: what either takes along of other accounts.
    fn common_ns(self, symptom: &Occurrence<'_>, explained_ns: i64) -> i64 {
        let of_accounts_ns = explained_ns.saturating_sub(self.beside_ns).max(0);
        self.beside_ns.saturating_add(of_accounts_ns.min(symptom.beside_ns()))
    }

    /// Whether what is left of a symptom does not matter.
    fn is_whole(self, symptom: &Occurrence<'_>, cause: &Occurrence<'_>) -> bool {
        let (Some(gain), Some(explained)) = (&symptom.gain, self.explained_of(symptom, cause)) else { return true };
        let left_is_little =
            |shared_ns: i64| severity_of(symptom.left_share(shared_ns) * gain.weighing_share()) == Severity::Info;
        let shared_ns = self.shared_ns(symptom, cause).unwrap_or(explained);
        if are_apart(symptom, cause) {
            return gain.recoverable_ns <= explained || (shared_ns > 0 && left_is_little(shared_ns));
        }
        let claimed = symptom.claimed_ns().unwrap_or(0);
        let wins_as_much = share_of_replay(symptom, cause).is_some_and(|share| share >= NEARLY_ALL);
        if are_same_change(symptom, cause)
            || (wins_as_much && (claimed <= explained.saturating_mul(2) || is_part(symptom, cause)))
        {
            return true;
        }
        left_is_little(shared_ns)
    }
}

/// Whether a finding claims time of the whole window, whatever its account.
fn claims_window(cause: &Occurrence<'_>) -> bool {
    let estimate = cause.found.estimate.as_ref();
    estimate.is_some_and(|estimate| Account::parse(&estimate.account) == Some(Account::Window))
}

/// Whether what is left of a symptom does not matter when several causes take so much of it together. What was played again is
/// divided by what each wins, which may be won by another as well.
fn is_little_without(symptom: &Occurrence<'_>, taken_ns: i64) -> bool {
    let Some(gain) = symptom.gain.as_ref().filter(|_| !symptom.is_replayed()) else { return false };
    severity_of(symptom.left_share(taken_ns) * gain.weighing_share()) == Severity::Info
}

/// What is left beside so large a part of a gain is less than what gains vary by.
const NEARLY_ALL: f64 = 0.8;

/// The part of what is expected of a symptom that is expected of its cause, where both were played: whatever time the cause
/// claims, it wins no more than that.
fn share_of_replay(symptom: &Occurrence<'_>, cause: &Occurrence<'_>) -> Option<f64> {
    let expected = |of: &Occurrence<'_>| Some(of.gain.as_ref()?.replayed?.expected_share);
    let (own, of_cause) = (expected(symptom)?, expected(cause)?);
    Some(if own > 0.0 { (of_cause / own).min(1.0) } else { 1.0 })
}

/// Whether two findings claim time of accounts that share none, such as idle time and copies, whatever goes with that.
fn are_apart(one: &Occurrence<'_>, other: &Occurrence<'_>) -> bool {
    let top = |this: &Occurrence<'_>| {
        let account = this.found.estimate.as_ref().and_then(|estimate| Account::parse(&estimate.account));
        account.map(Account::top).filter(|top| *top != Account::Window)
    };
    matches!((top(one), top(other)), (Some(one), Some(other)) if one != other)
}

/// Whether the same change was played for both: then they gain the same, once.
fn are_same_change(one: &Occurrence<'_>, other: &Occurrence<'_>) -> bool {
    let replayed = |this: &Occurrence<'_>| this.found.estimate.as_ref().and_then(|estimate| estimate.replayed);
    replayed(one).is_some_and(|gain| gain.expected_ns > 0) && replayed(one) == replayed(other)
}

/// Whether what was played for a cause is a part of what was played for its symptom.
fn is_part(symptom: &Occurrence<'_>, cause: &Occurrence<'_>) -> bool {
    let change = |this: &Occurrence<'_>| Some(this.found.estimate.as_ref()?.replayed?.change);
    change(cause).zip(change(symptom)).is_some_and(|(part, whole)| part.is_part_of(whole))
}

/// The findings of one rule that explain those of another about the same entities.
#[derive(Default)]
struct OfRule {
    /// The most important first.
    causes: Vec<usize>,
    /// The time that they may take together from a symptom; `None` when none of them claims any.
    explained_ns: Option<i64>,
    /// Whether one fact says how much, for all of them.
    is_by_fact: bool,
    /// What of their claims is time of other accounts than theirs.
    beside_ns: i64,
}

impl OfRule {
    /// Adds a finding. Each takes time of its own, unless one fact says for all of them what they take.
    fn push(&mut self, cause: usize, facts: &Facts, relation: &Relation, occurrence: &Occurrence<'_>) {
        self.causes.push(cause);
        let Some(claimed) = occurrence.claimed_ns() else { return };
        let fact =
            relation.shares.and_then(|fact| facts.get(facts.related(occurrence.entity, fact.kind)?).int(fact.name));
        self.beside_ns = self.beside_ns.saturating_add(occurrence.beside_ns());
        self.is_by_fact = fact.is_some();
        let sum = self.explained_ns.unwrap_or(0);
        self.explained_ns = Some(match fact {
            Some(shared) => sum.max(shared.min(claimed)),
            None => sum.saturating_add(claimed),
        });
    }
}

/// The findings that explain those of another rule about the same entities, by their rule.
#[derive(Default)]
struct Causes(BTreeMap<usize, OfRule>);

impl Causes {
    fn sort(&mut self, context: &Context<'_>, occurrences: &[Occurrence<'_>]) {
        for OfRule { causes, .. } in self.0.values_mut() {
            causes.sort_by(|a, b| context.order(&occurrences[*a], &occurrences[*b]));
        }
    }

    /// What each rule takes from a symptom.
    fn of(&self, occurrences: &[Occurrence<'_>], this: usize) -> impl Iterator<Item = Taken> {
        // Rules without cycles make none here; a cycle would hide all its findings.
        let may = move |other: &usize| *other != this && chain(occurrences, *other).all(|above| above != this);
        self.0.values().filter_map(move |of_rule| {
            let OfRule { causes, explained_ns, is_by_fact, beside_ns } = of_rule;
            let cause = causes.iter().copied().find(may)?;
            Some(Taken { cause, explained_ns: *explained_ns, is_by_fact: *is_by_fact, beside_ns: *beside_ns })
        })
    }
}

/// What a relation looks findings up by: the rule, and the entities that both are about.
type Key<'a> = (&'a str, &'a [EntityKind], Vec<EntityId>);

/// Findings by every relation that names their rule. A report can have thousands of findings: comparing each with each
/// would not end.
struct Index<'a> {
    facts: &'a Facts,
    /// The first finding, by what a relation says of the findings it leads to.
    led_to: HashMap<Key<'a>, usize>,
    /// By what a rule says that it explains: the explained rule, and those that explain.
    explaining: HashMap<Key<'a>, Causes>,
    /// By the explained rule: what findings of it and of those that explain them have in common.
    ways: HashMap<&'a str, BTreeSet<&'a [EntityKind]>>,
}

impl<'a> Index<'a> {
    fn new(context: &Context<'a>, occurrences: &[Occurrence<'_>]) -> Self {
        let Context { facts, rules, .. } = *context;
        let mut led_to: HashMap<Key<'a>, usize> = HashMap::default();
        let mut explaining: HashMap<Key<'a>, Causes> = HashMap::default();
        let mut wanted: HashMap<&str, BTreeSet<&[EntityKind]>> = HashMap::default();
        for relation in rules.iter().flat_map(|rule| &rule.suppressed_by) {
            wanted.entry(&relation.rule).or_default().insert(&relation.on);
        }
        for (index, occurrence) in occurrences.iter().enumerate() {
            let rule = &rules[occurrence.rule];
            for on in wanted.get(rule.id.as_str()).into_iter().flatten().copied() {
                if let Some(subjects) = subjects(facts, on, occurrence.entity) {
                    led_to.entry((rule.id.as_str(), on, subjects)).or_insert(index);
                }
            }
            for relation in &rule.explains {
                if let Some(subjects) = subjects(facts, &relation.on, occurrence.entity) {
                    let causes = explaining.entry((relation.rule.as_str(), &*relation.on, subjects)).or_default();
                    causes.0.entry(occurrence.rule).or_default().push(index, facts, relation, occurrence);
                }
            }
        }
        explaining.values_mut().for_each(|causes| causes.sort(context, occurrences));
        let mut ways: HashMap<&str, BTreeSet<&[EntityKind]>> = HashMap::default();
        for relation in rules.iter().flat_map(|rule| &rule.explains) {
            ways.entry(&relation.rule).or_default().insert(&relation.on);
        }
        Self { facts, led_to, explaining, ways }
    }

    /// The first finding that a relation leads to from an entity. All that it leads to are of one rule.
    fn first(&self, relation: &'a Relation, from: EntityId) -> Option<usize> {
        let subjects = subjects(self.facts, &relation.on, from)?;
        self.led_to.get(&(relation.rule.as_str(), &*relation.on, subjects)).copied()
    }

    /// The findings that explain one, by what they have in common with it.
    fn explaining<'b>(
        &'b self,
        rules: &'a [RuleInfo],
        of: &'b Occurrence<'_>,
    ) -> impl Iterator<Item = &'b Causes> + 'b {
        let rule = rules[of.rule].id.as_str();
        let ways = self.ways.get(rule).into_iter().flatten().copied();
        ways.filter_map(move |on| {
            let subjects = subjects(self.facts, on, of.entity)?;
            self.explaining.get(&(rule, on, subjects))
        })
    }
}

/// The entities of these kinds that an entity is, or is below; `None` when one is missing.
fn subjects(facts: &Facts, on: &[EntityKind], entity: EntityId) -> Option<Vec<EntityId>> {
    on.iter().map(|kind| facts.related(entity, *kind)).collect()
}

#[cfg(test)]
#[path = "relations_tests.rs"]
mod tests;
