//! Judges the facts of a report by the rules of a library.

mod groups;

use std::cell::Cell;
use std::sync::Arc;

use foldhash::HashMap;

use crate::facts::{EntityId, EntityKind, FactValue, Facts};
use crate::ledger::Account;
use crate::limits::{
    MAX_FINDING_COUNT, MAX_FINDING_OF_RULE_COUNT, MAX_FINDING_OF_RULE_IN_ALL_COUNT, MAX_PRINTED_BYTES,
};
use crate::replay::{Change, STEP_FACT};
use crate::text::spans::Sentence;

use super::budget::{Budget, too_many_findings, too_much_printed};
use super::context::{Entities, RuleParams, STEPS_OF_ASKING, Scope, ValueNames, params, related};
use super::expr::Program;
use super::library::Library;
use super::outcome::{Confidence, Estimate, Judgement, Match, Outcome, Replayed, Severity};
use super::params::Params;
use super::print::Printers;
use super::rule::{FactRef, Rule, Text};
use super::vocabulary::{ADVICE_FACTS, FRAMEWORK_DEFAULT};

/// Judges every entity by every rule about its kind: in the order of the rules, then of the entities, where one that is no finding
/// stands for all entities of the same answer. Once a rule has its most
/// findings on a device, it is asked no more about entities of that device: they come in the order of their weight.
///
/// A param that the user set to something that is no number makes the rule fail, not the evaluation.
pub fn evaluate(library: &Library, facts: &Facts, set: &Params) -> Vec<Judgement> {
    Questions::new(library, set).ask_all(library, facts)
}

/// What all reports share that the rules of a library are asked about: the names of their values, and their params.
#[derive(Debug)]
pub struct Questions(Vec<OfRule>);

/// What all entities share that one rule is asked about.
#[derive(Debug)]
struct OfRule {
    value_names: Arc<ValueNames>,
    params: Result<RuleParams, String>,
}

impl OfRule {
    fn new(rule: &Rule, set: &Params) -> Self {
        let names = rule.code.values.iter().enumerate().map(|(index, (name, _))| (name.as_str().into(), index));
        Self { value_names: Arc::new(names.collect()), params: params(rule, set) }
    }
}

impl Questions {
    /// With what the user set.
    pub fn new(library: &Library, set: &Params) -> Self {
        Self(library.rules().iter().map(|rule| OfRule::new(rule, set)).collect())
    }

    /// The same as [`evaluate()`], for the library that they were made of.
    pub fn ask_all(&self, library: &Library, facts: &Facts) -> Vec<Judgement> {
        ask_all(library, self, facts)
    }
}

fn ask_all(library: &Library, questions: &Questions, facts: &Facts) -> Vec<Judgement> {
    let budget = Budget::default();
    let report = Report::new(library, facts, &budget);
    let mut judgements = Vec::new();
    let mut finding_count = 0;
    for (index, (rule, of_rule)) in library.rules().iter().zip(&questions.0).enumerate() {
        let asked = Asked { rule, of_rule };
        let (mut found, mut alike) = (Found::default(), Alike::default());
        for (id, _) in facts.of_kind(rule.for_each()) {
            if found.has_enough(facts, id) {
                continue;
            }
            let mut outcome = report.ask(&asked, id);
            if matches!(outcome, Outcome::Finding(_)) {
                finding_count += 1;
                if finding_count > MAX_FINDING_COUNT {
                    outcome = Outcome::Failed { message: too_many_findings() };
                }
            }
            found.count(facts, id, &outcome);
            alike.add(&mut judgements, Judgement { rule: index, entity: id, outcome, entity_count: 1 });
            if report.budget.is_empty() || finding_count > MAX_FINDING_COUNT {
                return judgements;
            }
        }
    }
    judgements
}

/// Where the judgements of one rule are that are no findings: entities of which it says the same are told by one, since there may
/// be thousands of both.
#[derive(Default)]
struct Alike {
    pass: Option<usize>,
    not_applicable: Option<usize>,
    unknown: HashMap<Vec<String>, usize>,
    failed: HashMap<String, usize>,
}

impl Alike {
    fn add(&mut self, judgements: &mut Vec<Judgement>, judgement: Judgement) {
        let next = judgements.len();
        let place = match &judgement.outcome {
            Outcome::Finding(_) => next,
            Outcome::Pass => *self.pass.get_or_insert(next),
            Outcome::NotApplicable => *self.not_applicable.get_or_insert(next),
            Outcome::Unknown { missing } => match self.unknown.get(missing) {
                Some(place) => *place,
                None => *self.unknown.entry(missing.clone()).or_insert(next),
            },
            Outcome::Failed { message } => match self.failed.get(message) {
                Some(place) => *place,
                None => *self.failed.entry(message.clone()).or_insert(next),
            },
        };
        match judgements.get_mut(place) {
            Some(first) => first.entity_count += judgement.entity_count,
            None => judgements.push(judgement),
        }
    }
}

/// The findings of one rule, by device.
#[derive(Default)]
struct Found {
    of_devices: HashMap<Option<EntityId>, usize>,
    count: usize,
    has_full: bool,
}

impl Found {
    fn has_enough(&self, facts: &Facts, id: EntityId) -> bool {
        let count = || self.of_devices.get(&related(facts, id)[EntityKind::Device as usize]).copied();
        self.count >= MAX_FINDING_OF_RULE_IN_ALL_COUNT
            || self.has_full && count().is_some_and(|count| count >= MAX_FINDING_OF_RULE_COUNT)
    }

    fn count(&mut self, facts: &Facts, id: EntityId, outcome: &Outcome) {
        if matches!(outcome, Outcome::Finding(_)) {
            let count = self.of_devices.entry(related(facts, id)[EntityKind::Device as usize]).or_default();
            *count += 1;
            self.count += 1;
            self.has_full |= *count >= MAX_FINDING_OF_RULE_COUNT;
        }
    }
}

/// The outcome of one rule for one entity.
pub(super) fn evaluate_one(
    library: &Library,
    rule: &Rule,
    (facts, id): (&Facts, EntityId),
    set: &Params,
    budget: &Budget,
) -> Outcome {
    Report::new(library, facts, budget).ask(&Asked { rule, of_rule: &OfRule::new(rule, set) }, id)
}

/// What the estimate of one rule gives for one entity, before it is bounded; absent where it gives none.
pub(super) fn claimed(
    library: &Library,
    rule: &Rule,
    (facts, id): (&Facts, EntityId),
    set: &Params,
    budget: &Budget,
) -> Option<i64> {
    let estimate = rule.code.estimate.as_ref()?;
    let (report, of_rule) = (Report::new(library, facts, budget), OfRule::new(rule, set));
    let asked = Asked { rule, of_rule: &of_rule };
    let judge = report.judge(&asked, report.subject(id)).ok()?;
    // Without its groups it gives none.
    judge.enter_groups().ok()?;
    judge.whole(&estimate.recoverable_ns).ok()
}

/// What the name of a fact that is missing takes.
const STEPS_OF_MISSING: usize = 5;

/// Why little is sure of anything that a part of a file says.
const IN_PART: &str = "A part of the file is missing or cannot be read: the whole may say something else.";

/// What all rules share.
struct Report<'a> {
    facts: &'a Facts,
    entities: Entities<'a>,
    /// What chooses the advice, the most telling first.
    frameworks: [Option<&'a str>; ADVICE_FACTS.len()],
    /// What work is missing that idle time may be.
    missing: Option<String>,
    /// Whether any time may be that of work in a part of the file that is missing.
    is_damaged: bool,
    is_thinned: bool,
    printers: &'a Printers,
    budget: &'a Budget,
    /// Bytes of the texts of all findings so far.
    printed: Cell<usize>,
}

/// A rule that is asked.
#[derive(Clone, Copy)]
struct Asked<'a> {
    rule: &'a Rule,
    of_rule: &'a OfRule,
}

impl<'a> Report<'a> {
    fn new(library: &'a Library, facts: &'a Facts, budget: &'a Budget) -> Self {
        let frameworks = ADVICE_FACTS.map(|name| facts.run().and_then(|run| run.text(name)));
        let missing = facts.missing_work();
        let (is_damaged, is_thinned) = (facts.is_damaged(), facts.is_thinned());
        let (entities, printers) = (Entities::new(facts), library.printers());
        let printed = Cell::new(0);
        Self { facts, entities, frameworks, missing, is_damaged, is_thinned, printers, budget, printed }
    }

    /// Counts a text of a finding: each is bounded, but there are many, and all are kept.
    fn count_printed(&self, bytes: usize) -> Result<(), String> {
        self.printed.set(self.printed.get().saturating_add(bytes));
        if self.printed.get() > MAX_PRINTED_BYTES { Err(too_much_printed()) } else { Ok(()) }
    }

    fn ask(&self, asked: &Asked<'_>, id: EntityId) -> Outcome {
        let outcome = self.outcome(asked, id);
        outcome.unwrap_or_else(|message| {
            // Kept for each entity.
            let _ = self.budget.charge(message.len() as u64);
            Outcome::Failed { message }
        })
    }

    fn outcome(&self, asked: &Asked<'_>, id: EntityId) -> Result<Outcome, String> {
        let subject = self.subject(id);
        // Most rules are answered by what is not there: nothing is made for their expressions.
        if asked.of_rule.params.is_ok()
            && let Some(outcome) = subject.outcome_before(asked.rule)?
        {
            self.budget.charge(STEPS_OF_ASKING)?;
            return Ok(outcome);
        }
        self.judge(asked, subject)?.outcome()
    }

    fn subject(&self, id: EntityId) -> Subject<'_> {
        Subject { report: self, id, related: related(self.facts, id) }
    }

    fn judge<'b>(&'b self, asked: &Asked<'b>, subject: Subject<'b>) -> Result<Judge<'b>, String> {
        let Asked { rule, of_rule } = *asked;
        let params = of_rule.params.as_ref().map_err(String::clone)?;
        let names = &of_rule.value_names;
        let scope = Scope::new(rule, names, params, &self.entities, &subject.related, self.budget)?;
        Ok(Judge { subject, rule, params, scope })
    }
}

/// An entity that rules are asked about.
struct Subject<'a> {
    report: &'a Report<'a>,
    id: EntityId,
    related: [Option<EntityId>; EntityKind::ALL.len()],
}

impl Subject<'_> {
    /// The outcome where no expression has to be looked at.
    fn outcome_before(&self, rule: &Rule) -> Result<Option<Outcome>, String> {
        if self.is_without_length() || self.is_of_another_accelerator() || self.is_of_a_thinned_trace() {
            return Ok(Some(Outcome::NotApplicable));
        }
        let code = &rule.code;
        let needs = if code.condition.is_some() { &code.condition_needs } else { &code.needs };
        if self.missing(needs)?.is_empty() {
            return Ok(None);
        }
        Ok(Some(Outcome::Unknown { missing: self.missing(&code.needs)? }))
    }

    /// Whether it is about work of a device whose window has no length: of nothing there are no shares.
    fn is_without_length(&self) -> bool {
        let device = self.related[EntityKind::Device as usize];
        device.is_some_and(|device| self.report.facts.get(device).int("window_ns") == Some(0))
    }

    /// Whether it is about work that is no GPU's: rules know GPUs, and what another accelerator records as work may be a wait.
    fn is_of_another_accelerator(&self) -> bool {
        let run = self.related[EntityKind::Run as usize];
        let is_other = run.is_some_and(|run| self.report.facts.get(run).text("other_accelerator").is_some());
        is_other && self.related[EntityKind::Device as usize].is_some()
    }

    /// Whether it is about a device of which most work is not in the file.
    fn is_of_a_thinned_trace(&self) -> bool {
        self.related[EntityKind::Device as usize].is_some() && self.report.is_thinned
    }

    fn value(&self, fact: FactRef) -> Option<&FactValue> {
        self.report.facts.get(self.related[fact.kind as usize]?).get(fact.name)
    }

    fn missing(&self, needs: &[FactRef]) -> Result<Vec<String>, String> {
        let missing: Vec<_> =
            needs.iter().filter(|fact| self.value(**fact).is_none()).map(FactRef::to_string).collect();
        self.report.budget.charge((needs.len() + STEPS_OF_MISSING * missing.len()) as u64)?;
        Ok(missing)
    }
}

/// One rule asked about one entity. Errors are faults of the rule.
struct Judge<'a> {
    subject: Subject<'a>,
    rule: &'a Rule,
    params: &'a RuleParams,
    scope: Scope<'a>,
}

impl Judge<'_> {
    /// Where its expressions have to be looked at: see [`Subject::outcome_before`].
    fn outcome(&self) -> Result<Outcome, String> {
        let code = &self.rule.code;
        if let Some(condition) = &code.condition {
            if !self.scope.holds(condition)? {
                return Ok(Outcome::NotApplicable);
            }
            let missing = self.subject.missing(&code.needs)?;
            if !missing.is_empty() {
                return Ok(Outcome::Unknown { missing });
            }
        }
        if let Some(missing) = self.enter_groups()? {
            return Ok(Outcome::Unknown { missing });
        }
        for when in &code.whens {
            if !self.scope.holds(&when.expr)? {
                return Ok(Outcome::Pass);
            }
        }
        self.finding().map(|found| Outcome::Finding(Box::new(found)))
    }

    fn finding(&self) -> Result<Match, String> {
        let code = &self.rule.code;
        let evidence: Vec<Sentence> = code.whens.iter().map(|when| self.print(&when.says)).collect::<Result<_, _>>()?;
        let (confidence, because) = self.confidence()?;
        let look = code.look.as_ref().map(|text| self.print(text)).transpose()?;
        let title = code.title.as_ref().map(|text| self.print(text)).transpose()?;
        Ok(Match {
            title: title.map(Sentence::trimmed).filter(|title| !title.spans().is_empty()),
            summary: self.print(&code.summary)?,
            evidence: evidence.into_iter().filter(|sentence| !sentence.plain().is_empty()).collect(),
            estimate: self.estimate()?,
            confidence,
            because,
            severity: self.severity()?,
            advice: self.advice()?,
            verify: self.print(&code.verify)?,
            look: look.filter(|look| !look.plain().is_empty()),
        })
    }

    /// The advice for the framework; where that says nothing in a case, what is said to all.
    fn advice(&self) -> Result<Sentence, String> {
        let advice = &self.rule.code.advice;
        let names = self.subject.report.frameworks.iter().flatten().copied().chain([FRAMEWORK_DEFAULT]);
        for text in names.filter_map(|name| advice.get(name)) {
            let sentence = self.print(text)?.trimmed();
            if !sentence.spans().is_empty() {
                return Ok(sentence);
            }
        }
        Ok(Sentence::default())
    }

    fn print(&self, text: &Text) -> Result<Sentence, String> {
        self.scope.compute(&text.values)?;
        let sentence = self.subject.report.printers.print(text, self.scope.root(text.source.len() as u64)?)?;
        self.subject.report.count_printed(sentence.byte_count())?;
        Ok(sentence)
    }

    fn confidence(&self) -> Result<(Confidence, Vec<String>), String> {
        let mut confidence = self.rule.code.confidence;
        let mut because = Vec::new();
        for lower in &self.rule.code.lower {
            if self.scope.holds(&lower.when)? {
                confidence = confidence.min(lower.to);
                self.subject.report.count_printed(lower.because.len())?;
                because.push(lower.because.clone());
            }
        }
        let is_of_run = self.subject.report.facts.get(self.subject.id).kind == EntityKind::Run;
        if self.subject.report.is_damaged && !is_of_run {
            confidence = Confidence::Low;
            because.push(IN_PART.to_owned());
        } else if let Some(missing) = self.subject.report.missing.as_deref().filter(|_| self.claims_idle_time()) {
            confidence = Confidence::Low;
            let (first, rest) = missing.split_at_checked(1).unwrap_or((missing, ""));
            because.push(format!("{}{rest}: idle time may be work that is missing.", first.to_ascii_uppercase()));
        }
        Ok((confidence, because))
    }

    fn claims_idle_time(&self) -> bool {
        self.rule.code.estimate.as_ref().is_some_and(|estimate| estimate.account.top() == Account::Idle)
    }

    /// That of the first condition that holds.
    fn severity(&self) -> Result<Option<Severity>, String> {
        for severity in &self.rule.code.severities {
            if self.scope.holds(&severity.when)? {
                return Ok(Some(severity.is));
            }
        }
        Ok(None)
    }

    fn estimate(&self) -> Result<Option<Estimate>, String> {
        let Some(estimate) = &self.rule.code.estimate else { return Ok(None) };
        let claimed = self.whole(&estimate.recoverable_ns)?;
        let beside_ns = estimate.beside_ns.as_ref().map_or(Ok(0), |beside| self.whole(beside))?;
        self.subject.report.count_printed(estimate.basis.len())?;
        let holds = FactRef { kind: EntityKind::Device, name: estimate.account.fact() };
        let bound = match self.subject.value(holds) {
            Some(FactValue::Int(ns)) => (*ns).max(0),
            _ => i64::MAX,
        };
        let account = estimate.account.id().to_owned();
        let is_replayed = estimate.replay_if.as_ref().map_or(Ok(true), |condition| self.scope.holds(condition))?;
        let comes_again = estimate.again_if.as_ref().map_or(Ok(false), |condition| self.scope.holds(condition))?;
        let (recoverable_ns, basis) = (claimed.clamp(0, bound), estimate.basis.clone());
        let window_ns = match self.subject.value(FactRef { kind: EntityKind::Device, name: Account::Window.fact() }) {
            Some(FactValue::Int(ns)) => *ns,
            _ => i64::MAX,
        };
        let beside_ns = beside_ns.clamp(0, window_ns.saturating_sub(recoverable_ns).max(0));
        let least_ns = if estimate.claim_holds { recoverable_ns } else { 0 };
        let most_ns = if estimate.claim_bounds { recoverable_ns } else { i64::MAX };
        let change = estimate.replay.filter(|_| is_replayed);
        let replayed = change.and_then(|change| self.replayed(change, (least_ns, most_ns)));
        Ok(Some(Estimate { recoverable_ns, beside_ns, account, basis, replayed, comes_again }))
    }

    /// What the replay of the device's steady state says of a change; the most is no less than so much of the window, and no more than
    /// as much, all of it in what is played again.
    fn replayed(&self, change: Change, (least_ns, most_ns): (i64, i64)) -> Option<Replayed> {
        let ns = |name: &'static str| match self.subject.value(FactRef { kind: EntityKind::Device, name }) {
            Some(FactValue::Int(ns)) => Some(*ns),
            _ => None,
        };
        let step_ns = ns(STEP_FACT).filter(|step_ns| *step_ns > 0)?;
        let window_ns = ns("window_ns").filter(|ns| *ns > 0);
        let of_step = |part_ns: i64, of_ns: f64| (part_ns as f64 / of_ns * step_ns as f64) as i64;
        let least_ns = window_ns.map_or(0, |window_ns| of_step(least_ns, window_ns as f64));
        let covered = match self.subject.value(FactRef { kind: EntityKind::Device, name: "replay_covered_share" }) {
            Some(FactValue::Float(share)) if *share > 0.0 => *share,
            _ => 1.0,
        };
        let most_ns = match window_ns.filter(|_| most_ns < i64::MAX) {
            Some(window_ns) => of_step(most_ns, covered * window_ns as f64).min(step_ns),
            None => step_ns,
        };
        let ceiling_ns = ns(change.ceiling_fact())?.max(least_ns).clamp(0, most_ns);
        let expected_ns = ns(change.expected_fact())?.clamp(0, ceiling_ns);
        Some(Replayed { change, step_ns, expected_ns, ceiling_ns })
    }

    /// The nanoseconds that an expression of the estimate gives.
    fn whole(&self, program: &Program) -> Result<i64, String> {
        self.scope.compute(&program.values)?;
        program.whole(self.scope.root(program.steps)?)
    }
}

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod tests;
