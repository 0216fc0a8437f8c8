//! Checks and compiles the expressions and texts of a rule, in the order in which they are evaluated.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use crate::facts::{EntityKind, catalogue};
use crate::ledger::Account;
use crate::limits::{MAX_EXPRESSION_BYTES, MAX_OPEN_BRANCH_COUNT};
use crate::replay::Change;
use crate::text::nearest::did_you_mean;
use crate::text::tags;
use crate::timeline::Capability;

use super::super::depth::Depth;
use super::super::expr::{Program, message, syntax};
use super::super::fault::Log;
use super::super::outcome::Confidence;
use super::super::raw::{self, RawEstimate, RawRule, RawWhen};
use super::super::rule::{Code, EstimateCode, FactRef, Lower, Param, SeverityWhen, Text, When};
use super::types::Type;
use super::walk::{Scope, Uses, Walk, Wanted};
use super::{confidence, filled, full_name, kinds_of_groups, optional_fact, params, sentence, severity};

pub(super) struct Checker<'a, 'log> {
    pub(super) log: &'log mut Log<'a>,
    pub(super) scope: Scope,
    pub(super) params: Vec<Param>,
    pub(super) uses: Uses,
    /// Whether some expression could not be read, so that what it uses is not known.
    pub(super) unreadable: bool,
    /// Optional facts that the conditions so far have shown to be there.
    pub(super) proven: Vec<FactRef>,
    /// The facts that decide: those of conditions and of the estimate, through the values that these name.
    deciding: BTreeSet<FactRef>,
    /// The facts of each value, through those before it.
    of_values: Vec<BTreeSet<FactRef>>,
    rule: String,
    depth: Depth,
    /// How many texts have been compiled: each has a name of its own.
    text_count: usize,
}

/// An expression that was checked.
pub(super) struct Checked {
    /// Absent when something is wrong with it.
    pub(super) program: Option<Program>,
    /// What it gives; known for some that are wrong, too.
    pub(super) kind: Option<Type>,
    /// The optional facts that are there where it is true.
    proven: Vec<FactRef>,
    /// The facts that it looks at, through the values that it names.
    facts: BTreeSet<FactRef>,
}

impl<'a, 'log> Checker<'a, 'log> {
    pub(super) fn new(raw: &RawRule, for_each: EntityKind, depth: Depth, log: &'log mut Log<'a>) -> Self {
        let mut scope = Scope::of(for_each);
        let of_groups = kinds_of_groups(raw);
        for text in &raw.optional {
            match optional_fact(text.get_ref(), for_each, &of_groups) {
                Some(fact) if !scope.optional.insert(fact) => {
                    log.at(text.span(), format!("`{fact}` is listed twice"));
                }
                Some(_) => {}
                None => log.at_with(text.span(), || full_name(text.get_ref(), &scope).err().unwrap_or_default()),
            }
        }
        let mut params = Vec::new();
        for (name, raw) in &raw.params {
            // A param that is wrong is still declared.
            scope.params.insert(name.get_ref().clone(), None);
            if let Some((param, kind)) = params::check(name, raw, log) {
                scope.params.insert(param.name.clone(), Some(kind));
                params.push(param);
            }
        }
        let (uses, proven, rule) = (Uses::default(), Vec::new(), raw.id.get_ref().clone());
        let (deciding, of_values) = (BTreeSet::new(), Vec::new());
        Self { log, scope, params, uses, unreadable: false, proven, deciding, of_values, rule, depth, text_count: 0 }
    }

    /// What a recording must hold for the facts that decide, beside work of a GPU.
    pub(super) fn rests_on(&self) -> Vec<Capability> {
        let needs = self.deciding.iter().filter_map(|fact| Some(catalogue::find(fact.kind, fact.name)?.needs));
        let needs: BTreeSet<Capability> = needs.collect();
        needs.into_iter().filter(|needs| !matches!(needs, Capability::Report | Capability::CudaTrace)).collect()
    }

    /// An expression that decides what the rule says.
    pub(super) fn decides(&mut self, text: &raw::Text, values_allowed: bool, wanted: Wanted) -> Checked {
        let checked = self.checked(text, values_allowed, wanted);
        self.deciding.extend(checked.facts.iter().copied());
        checked
    }

    /// The compiled rule, without its example; none when faults have been noted.
    pub(super) fn code(&mut self, raw: &RawRule) -> Option<Code> {
        let condition = raw.condition.as_ref().map(|text| self.condition(text, false));
        let condition_needs = self.needed();
        let groups = self.groups(raw);
        let values = self.values(raw);
        let whens: Vec<Option<When>> = raw.when.iter().map(|when| self.when(when)).collect();
        let estimate = raw.estimate.as_ref().map(|estimate| self.estimate(estimate));
        let base = confidence(&raw.confidence.base, self.log);
        let lower = self.lower(raw, base);
        let severities = self.severities(raw);
        let title = raw.message.title.as_ref().map(|text| self.text("title", text));
        let summary = self.text("summary", &raw.message.summary);
        let verify = self.text("verify", &raw.message.verify);
        let look = raw.message.look.as_ref().map(|text| self.text("look", text));
        let advice = self.advice(raw);
        Some(Code {
            condition: required(condition)?,
            condition_needs,
            needs: self.needed(),
            groups: groups?,
            values: values?,
            whens: whens.into_iter().collect::<Option<_>>()?,
            estimate: required(estimate)?,
            confidence: base?,
            lower,
            severities,
            title: required(title)?,
            summary: summary?,
            verify: verify?,
            look: required(look)?,
            advice,
            example: Arc::default(),
        })
    }

    /// The facts named so far without which the rule cannot judge.
    fn needed(&self) -> Vec<FactRef> {
        let own = |fact: &&FactRef| self.scope.kinds().any(|kind| kind == fact.kind);
        self.uses.facts.difference(&self.scope.optional).filter(own).copied().collect()
    }

    fn values(&mut self, raw: &RawRule) -> Option<Vec<(String, Program)>> {
        let mut programs = Vec::new();
        for (index, (name, text)) in raw.values.iter().enumerate() {
            let checked = self.checked(text, false, Wanted::Anything);
            self.of_values.push(checked.facts);
            self.scope.values.insert(name.get_ref().clone(), (index, checked.kind));
            programs.push(checked.program.map(|program| (name.get_ref().clone(), program)));
        }
        programs.into_iter().collect()
    }

    fn when(&mut self, raw: &RawWhen) -> Option<When> {
        let expr = self.condition(&raw.expr, true);
        Some(When { says: self.text("says", &raw.says)?, expr: expr? })
    }

    fn advice(&mut self, raw: &RawRule) -> BTreeMap<String, Text> {
        let mut advice = BTreeMap::new();
        for (framework, text) in raw.advice.get_ref() {
            if let Some(text) = self.text("advice", text) {
                advice.insert(framework.get_ref().clone(), text);
            }
        }
        advice
    }

    fn estimate(&mut self, raw: &RawEstimate) -> Option<EstimateCode> {
        let recoverable_ns = self.decides(&raw.recoverable_ns, true, Wanted::Time).program;
        let basis = sentence("basis", &raw.basis, self.log);
        if !self.scope.kinds().any(|kind| kind == EntityKind::Device) {
            let kind = self.scope.for_each.name();
            let message = format!("a rule for each `{kind}` has no device, and so no ledger to claim time from");
            self.log.at(raw.claims.span(), message);
            return None;
        }
        let claims = raw.claims.get_ref();
        let Some(account) = Account::parse(claims) else {
            let near = || did_you_mean(claims, Account::all().map(Account::id));
            self.log.at_with(raw.claims.span(), || format!("unknown account `{claims}`{}", near()));
            return None;
        };
        let replay = raw.replay.as_ref().and_then(|change| self.change(change));
        // It need not hold: it proves nothing for what follows.
        let replay_if = raw.replay_if.as_ref().map(|text| self.decides(text, true, Wanted::Condition).program);
        let again_if = raw.again_if.as_ref().map(|text| self.decides(text, true, Wanted::Condition).program);
        let beside_ns = raw.beside_ns.as_ref().map(|text| self.decides(text, true, Wanted::Time).program);
        let (recoverable_ns, beside_ns, replay_if) = (recoverable_ns?, required(beside_ns)?, required(replay_if)?);
        let (again_if, claim_holds, claim_bounds) = (required(again_if)?, raw.claim_holds, raw.claim_bounds);
        Some(EstimateCode {
            recoverable_ns,
            beside_ns,
            account,
            basis,
            replay,
            replay_if,
            again_if,
            claim_holds,
            claim_bounds,
        })
    }

    fn change(&mut self, text: &raw::Text) -> Option<Change> {
        let change = Change::parse(text.get_ref());
        if change.is_none() {
            let near = did_you_mean(text.get_ref(), Change::ALL.iter().map(|change| change.id()));
            self.log.at(text.span(), format!("unknown change `{}`{near}", text.get_ref()));
        }
        change
    }

    fn lower(&mut self, raw: &RawRule, base: Option<Confidence>) -> Vec<Lower> {
        let mut lowered = Vec::new();
        for lower in &raw.confidence.lower {
            let to = confidence(&lower.to, self.log);
            let because = sentence("because", &lower.because, self.log);
            // It need not hold: it proves nothing for what follows.
            let when = self.checked(&lower.when, true, Wanted::Condition).program;
            let (Some(to), Some(base), Some(when)) = (to, base, when) else { continue };
            if to >= base {
                self.log.at(lower.to.span(), format!("`{}` is not lower than the base `{}`", to.name(), base.name()));
            }
            lowered.push(Lower { to, when, because });
        }
        lowered
    }

    fn severities(&mut self, raw: &RawRule) -> Vec<SeverityWhen> {
        let mut severities = Vec::new();
        for raw in &raw.severity_when {
            // It need not hold either.
            let when = self.decides(&raw.when, true, Wanted::Condition).program;
            severities.extend(severity(&raw.is).zip(when).map(|(is, when)| SeverityWhen { is, when }));
        }
        severities
    }

    /// A condition that holds wherever what follows is evaluated.
    pub(super) fn condition(&mut self, text: &raw::Text, values_allowed: bool) -> Option<Program> {
        let checked = self.decides(text, values_allowed, Wanted::Condition);
        for fact in checked.proven {
            // Every further expression goes through them.
            if !self.proven.contains(&fact) {
                self.proven.push(fact);
            }
        }
        checked.program
    }

    pub(super) fn checked(&mut self, text: &raw::Text, values_allowed: bool, wanted: Wanted) -> Checked {
        let nothing = Checked { program: None, kind: None, proven: Vec::new(), facts: BTreeSet::new() };
        let source = text.get_ref();
        if !self.is_short(text, source.len()) || self.log.is_full() {
            return nothing;
        }
        let tree = match syntax::expression(source) {
            Ok(tree) => tree,
            Err(problem) => {
                self.unread(text, source, &problem);
                return nothing;
            }
        };
        let mut walk = Walk::new(&self.scope, values_allowed, &self.proven);
        let kind = walk.wanted(&tree, wanted);
        let proven = walk.proofs(&tree, true);
        let (uses, faults) = (walk.uses, walk.faults);
        let of_values = uses.values.iter().filter_map(|value| self.of_values.get(*value)).flatten();
        let facts = uses.facts.iter().chain(of_values).copied().collect();
        let mut checked = Checked { kind, proven, facts, program: None };
        if self.note(text.span(), source, faults, &uses) {
            match Program::new(source, uses.values.into_iter().collect(), self.depth) {
                Ok(program) => checked.program = Some(program),
                Err(error) => self.unread(text, source, &message(&error)),
            }
        }
        checked
    }

    fn text(&mut self, key: &str, text: &raw::Text) -> Option<Text> {
        filled(key, text, self.log);
        if self.log.is_full() {
            return None;
        }
        let source = text.get_ref();
        let measure = tags::measure(source, usize::MAX);
        if !self.is_short(text, measure.longest_tag) || !self.is_flat(text, measure.open_branches) {
            return None;
        }
        let parts = match syntax::text(source) {
            Ok(parts) => parts,
            Err(problem) => {
                self.unread(text, key, &problem);
                return None;
            }
        };
        let mut walk = Walk::new(&self.scope, true, &self.proven);
        walk.parts(&parts);
        let (uses, faults) = (walk.uses, walk.faults);
        if !self.note(text.span(), key, faults, &uses) {
            return None;
        }
        self.text_count += 1;
        let values = uses.values.into_iter().collect();
        Some(Text { name: format!("{}:{}", self.rule, self.text_count), source: source.clone(), values })
    }

    /// The parser calls itself for each operator: of enough of them it would end the program.
    fn is_short(&mut self, text: &raw::Text, length: usize) -> bool {
        let is_short = length <= MAX_EXPRESSION_BYTES;
        if !is_short {
            self.log.at(text.span(), format!("an expression is longer than {MAX_EXPRESSION_BYTES} bytes"));
            self.unreadable = true;
        }
        is_short
    }

    fn is_flat(&mut self, text: &raw::Text, open_branches: usize) -> bool {
        let is_flat = open_branches <= MAX_OPEN_BRANCH_COUNT;
        if !is_flat {
            let message = format!("more than {MAX_OPEN_BRANCH_COUNT} branches (`if`, `elif`) stand inside each other");
            self.log.at(text.span(), message);
            self.unreadable = true;
        }
        is_flat
    }

    /// Notes that something cannot be read, so that what it uses is not known.
    fn unread(&mut self, text: &raw::Text, subject: &str, problem: &str) {
        self.log.at(text.span(), format!("`{subject}` cannot be read: {problem}"));
        self.unreadable = true;
    }

    /// Notes what a walk found; whether it found no fault.
    fn note(&mut self, span: Range<usize>, subject: &str, faults: Vec<String>, uses: &Uses) -> bool {
        self.uses.facts.extend(&uses.facts);
        self.uses.params.extend(uses.params.iter().cloned());
        self.uses.values.extend(&uses.values);
        self.uses.groups.extend(uses.groups.iter().cloned());
        let sound = faults.is_empty();
        for fault in faults {
            self.log.at(span.clone(), format!("in `{subject}`: {fault}"));
        }
        sound
    }
}

/// What a rule may leave out, but not have wrong: none only where it is wrong.
fn required<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    match part {
        Some(None) => None,
        Some(Some(part)) => Some(Some(part)),
        None => Some(None),
    }
}
