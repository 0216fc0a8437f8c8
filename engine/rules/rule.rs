//! A rule that has been checked: what the rest of the program may rely on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::expr::Program;
use super::outcome::{Confidence, Severity};
use super::param_value::ParamValue;
use crate::facts::{EntityKind, FactValue, catalogue};
use crate::ledger::Account;
use crate::replay::Change;
use crate::source;
use crate::timeline::Capability;

/// A fact by its full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FactRef {
    /// The kind of entity.
    pub kind: EntityKind,
    /// The name without the entity's own prefix.
    pub name: &'static str,
}

impl fmt::Display for FactRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Reports lack many: formatting would take most of naming them.
        [self.kind.name(), ".", self.name].into_iter().try_for_each(|part| out.write_str(part))
    }
}

/// Whether a rule has proved itself on real reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It has.
    Stable,
    /// It has not: shown as such.
    Experimental,
}

/// A threshold that users may override.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its name, without `params.`.
    pub name: String,
    /// A number, or names.
    pub default: ParamValue,
    /// The unit as the rule file writes it: `ns`, `share`, `ratio`, `text` …
    pub unit: &'static str,
    /// What it is for.
    pub doc: String,
    /// Why an absolute threshold is right; absent for those that follow from the report.
    pub fixed: Option<String>,
}

/// Where a claim of the rule is documented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// An https address.
    pub url: String,
    /// What it says that the rule relies on.
    pub supports: String,
}

/// A link to another rule, between findings about the same entities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// The id of the other rule.
    pub rule: String,
    /// Both findings are about the same of each of these.
    pub on: Vec<EntityKind>,
    /// Where the rule is explained: the fact of the explaining finding that says how many nanoseconds both are about. Absent
    /// where that is all that it claims.
    pub shares: Option<FactRef>,
}

/// How a finding about the capture stands to what a review says the capture was missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureNote {
    /// The review says the same there, so that a note need not be listed.
    Repeated,
    /// The finding quotes it, so that the review need not say it.
    Quoted,
}

impl CaptureNote {
    pub(super) const ALL: [Self; 2] = [Self::Repeated, Self::Quoted];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Repeated => "repeated",
            Self::Quoted => "quoted",
        }
    }
}

/// What findings of a rule are ranked by beside their gain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankedBy {
    /// The fact that names what the GPU waits for.
    pub culprit: Option<FactRef>,
    /// The fact of the kernels that a finding without a gain tells the cause of.
    pub kernel_time: Option<FactRef>,
}

/// What a rule says of itself: all that a review needs to know of it beside its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleInfo {
    /// Unique in the library.
    pub id: String,
    /// What a user would say.
    pub title: String,
    /// The folder of its file: the cause that it looks for.
    pub category: String,
    /// The entity that it is asked about.
    pub for_each: EntityKind,
    /// Its fixed severity; when absent, the share of the window that it can gain decides.
    pub severity: Option<Severity>,
    /// What the project sets instead, whatever the rule says; absent where it leaves the rule as it is.
    pub set_severity: Option<Severity>,
    /// Whether it is of the user's own folders, and no built-in one.
    pub is_own: bool,
    /// Whether it has proved itself on real reports.
    pub status: Status,
    /// Whether its cost occurs once.
    pub once: bool,
    /// How it stands to what a review says the capture was missing; absent for most rules.
    pub capture_note: Option<CaptureNote>,
    /// What to capture when facts are missing, in the rule's own words.
    pub collect: Option<String>,
    /// What a recording must hold for what its conditions and its estimate look at, even where they do without: another answer may be
    /// another recording.
    pub rests_on: Vec<Capability>,
    /// Where its knowledge comes from.
    pub references: Vec<Reference>,
    /// What its findings are ranked by beside their gain.
    pub ranking: RankedBy,
    /// The rules whose findings are symptoms of this one.
    pub explains: Vec<Relation>,
    /// The rules whose findings make this one pointless.
    pub suppressed_by: Vec<Relation>,
    /// Findings that claim time are pointless when they are about the same of each of these as one of this rule; empty for most.
    pub silences_claims_on: Vec<EntityKind>,
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    pub(super) info: RuleInfo,
    pub(super) replaces_builtin: bool,
    pub(super) file: String,
    pub(super) source: String,
    pub(super) params: Vec<Param>,
    pub(super) code: Code,
    pub(super) tests: Vec<Case>,
}

impl Rule {
    /// What it says of itself.
    pub fn info(&self) -> &RuleInfo {
        &self.info
    }

    /// The id, which users name it by; the file's stem.
    pub fn id(&self) -> &str {
        &self.info.id
    }

    /// What a user would call it.
    pub fn title(&self) -> &str {
        &self.info.title
    }

    /// The folder that it lies in: the kind of cause.
    pub fn category(&self) -> &str {
        &self.info.category
    }

    /// Whether it stands in the place of a built-in rule of the same id.
    pub fn replaces_builtin(&self) -> bool {
        self.replaces_builtin
    }

    /// The file that it was read from; built-in rules begin with `rules/`.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What the file says.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What it is asked about.
    pub fn for_each(&self) -> EntityKind {
        self.info.for_each
    }

    /// The fixed severity; absent when it follows from the estimate.
    pub fn severity(&self) -> Option<Severity> {
        self.info.severity
    }

    /// Whether it has proved itself.
    pub fn status(&self) -> Status {
        self.info.status
    }

    /// The change that it advises, where that can be played.
    pub fn replay(&self) -> Option<Change> {
        self.code.estimate.as_ref().and_then(|estimate| estimate.replay)
    }

    /// Whether the cost occurs once in a run, so that more steps do not make it larger.
    pub fn once(&self) -> bool {
        self.info.once
    }

    /// How to capture what the rule needs, where that is more than its facts themselves need.
    pub fn collect(&self) -> Option<&str> {
        self.info.collect.as_deref()
    }

    /// How to capture what the rule needs: in its own words, else as its facts need it; absent where any recording has it.
    pub fn capture(&self) -> Option<String> {
        let find = |fact: &FactRef| catalogue::find(fact.kind, fact.name).map(|fact| fact.needs);
        let needs: Vec<Capability> = self.needs().iter().filter_map(find).collect();
        let of_facts = || source::how_to_capture(None, &needs).map(|command| command.to_string());
        self.info.collect.clone().or_else(of_facts)
    }

    /// Its thresholds, by name.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Where its claims are documented.
    pub fn references(&self) -> &[Reference] {
        &self.info.references
    }

    /// The symptoms that this rule is the cause of.
    pub fn explains(&self) -> &[Relation] {
        &self.info.explains
    }

    /// The rules that, when they find something, make this one silent.
    pub fn suppressed_by(&self) -> &[Relation] {
        &self.info.suppressed_by
    }

    /// The ledger account that its estimate claims; absent without an estimate.
    pub fn claims(&self) -> Option<Account> {
        self.code.estimate.as_ref().map(|estimate| estimate.account)
    }

    /// The facts that it needs, those of the members of its groups among them: one absent, and the outcome is unknown.
    pub fn needs(&self) -> Vec<FactRef> {
        let of_members = self.code.groups.iter().flat_map(|group| group.condition_needs.iter().chain(&group.needs));
        let mut needs: Vec<FactRef> = self.code.needs.iter().chain(of_members).copied().collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    /// Its groups: the name, the kind of entity, and the condition where there is one.
    pub fn groups(&self) -> impl Iterator<Item = (&str, EntityKind, Option<&str>)> {
        self.code.groups.iter().map(|group| {
            let condition = group.condition.as_ref().map(|program| program.source.as_str());
            (group.name.as_str(), group.each, condition)
        })
    }

    /// The condition for it to apply at all, as the file writes it.
    pub fn condition(&self) -> Option<&str> {
        self.code.condition.as_ref().map(|program| program.source.as_str())
    }

    /// Its named intermediate results: name and expression.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.code.values.iter().map(|(name, program)| (name.as_str(), program.source.as_str()))
    }

    /// Its conditions, in the order of a finding's evidence.
    pub fn whens(&self) -> impl Iterator<Item = &str> {
        self.code.whens.iter().map(|when| when.expr.source.as_str())
    }

    /// The expression of its estimate, and why it is a bound; absent without an estimate.
    pub fn estimate(&self) -> Option<(&str, &str)> {
        let estimate = self.code.estimate.as_ref()?;
        Some((&estimate.recoverable_ns.source, &estimate.basis))
    }

    /// The expression of what goes with its claim; absent where nothing does.
    pub fn beside(&self) -> Option<&str> {
        Some(&self.code.estimate.as_ref()?.beside_ns.as_ref()?.source)
    }

    /// How sure it is where nothing lowers that.
    pub fn confidence(&self) -> Confidence {
        self.code.confidence
    }

    /// What lowers its confidence: to what, and why.
    pub fn lower(&self) -> impl Iterator<Item = (Confidence, &str)> {
        self.code.lower.iter().map(|lower| (lower.to, lower.because.as_str()))
    }

    /// What its severity is where a condition holds, the first that does.
    pub fn severities(&self) -> impl Iterator<Item = (Severity, &str)> {
        self.code.severities.iter().map(|severity| (severity.is, severity.when.source.as_str()))
    }

    /// What its tests are about, the example's own left out.
    pub fn tests(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().skip(1).map(|test| test.name.as_str())
    }
}

/// Facts of one entity and its ancestors, one of each kind.
pub type FactTable = BTreeMap<FactRef, FactValue>;

/// Facts that are given by hand: of one entity and its ancestors, and of what belongs to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Given {
    pub(super) own: FactTable,
    /// The members of groups, each with its kind.
    pub(super) members: Vec<(EntityKind, FactTable)>,
}

/// Entities that belong to the one that a rule is asked about, taken together.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) each: EntityKind,
    pub(super) condition: Option<Program>,
    /// Facts of an entity without which it cannot be told whether it is a member.
    pub(super) condition_needs: Vec<FactRef>,
    /// Facts of a member without which it cannot be summed.
    pub(super) needs: Vec<FactRef>,
    pub(super) sums: Vec<(String, Program)>,
    pub(super) largest: Option<Largest>,
}

/// Which member of a group is the largest, and what it is called.
#[derive(Debug)]
pub(super) struct Largest {
    pub(super) by: Program,
    pub(super) name: Program,
}

/// The compiled parts of a rule.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) condition: Option<Program>,
    pub(super) condition_needs: Vec<FactRef>,
    pub(super) needs: Vec<FactRef>,
    pub(super) groups: Vec<Group>,
    pub(super) values: Vec<(String, Program)>,
    pub(super) whens: Vec<When>,
    pub(super) estimate: Option<EstimateCode>,
    pub(super) confidence: Confidence,
    pub(super) lower: Vec<Lower>,
    pub(super) severities: Vec<SeverityWhen>,
    pub(super) title: Option<Text>,
    pub(super) summary: Text,
    pub(super) verify: Text,
    pub(super) look: Option<Text>,
    pub(super) advice: BTreeMap<String, Text>,
    pub(super) example: Arc<Given>,
}

impl Code {
    /// Every template of the rule.
    pub(super) fn texts(&self) -> impl Iterator<Item = &Text> {
        self.whens
            .iter()
            .map(|when| &when.says)
            .chain([&self.summary, &self.verify])
            .chain(&self.title)
            .chain(&self.look)
            .chain(self.advice.values())
    }

    /// How many expressions and texts are compiled of it.
    pub(super) fn piece_count(&self) -> usize {
        let sums: usize = self.groups.iter().map(|group| group.sums.len() + 3).sum();
        self.texts().count() + sums + self.whens.len() + self.values.len() + self.lower.len() + self.severities.len()
    }
}

/// A template: the name under which it was compiled, and the values that it uses.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) name: String,
    pub(super) source: String,
    pub(super) values: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct When {
    pub(super) expr: Program,
    pub(super) says: Text,
}

#[derive(Debug)]
pub(super) struct EstimateCode {
    pub(super) recoverable_ns: Program,
    /// What of other accounts goes with it.
    pub(super) beside_ns: Option<Program>,
    pub(super) account: Account,
    pub(super) basis: String,
    /// The change that is played; absent where there is none for it.
    pub(super) replay: Option<Change>,
    /// Where that holds.
    pub(super) replay_if: Option<Program>,
    /// Where the claim comes again, in however few pieces its account comes.
    pub(super) again_if: Option<Program>,
    /// Whether the most is no less than the claim.
    pub(super) claim_holds: bool,
    /// Whether what is expected, and the most, is no more than the claim.
    pub(super) claim_bounds: bool,
}

#[derive(Debug)]
pub(super) struct Lower {
    pub(super) to: Confidence,
    pub(super) when: Program,
    pub(super) because: String,
}

/// A severity with the condition that brings it.
#[derive(Debug)]
pub(super) struct SeverityWhen {
    pub(super) is: Severity,
    pub(super) when: Program,
}

/// A test in a rule file: what differs from the example, so that many tests of a large one take little memory.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) example: Arc<Given>,
    pub(super) unset: BTreeSet<FactRef>,
    pub(super) set: Given,
    /// The kinds whose members are other ones, or none.
    pub(super) other_members: BTreeSet<EntityKind>,
    pub(super) params: BTreeMap<String, ParamValue>,
    pub(super) expect: Expect,
}

impl Case {
    /// All its facts.
    pub(super) fn facts(&self) -> Given {
        let mut facts = Given::clone(&self.example);
        facts.own.retain(|fact, _| !self.unset.contains(fact));
        facts.own.extend(self.set.own.clone());
        facts.members.retain(|(kind, _)| !self.other_members.contains(kind));
        facts.members.extend(self.set.members.iter().cloned());
        facts
    }
}

#[derive(Debug, Clone)]
pub(super) struct Expect {
    pub(super) outcome: Expected,
    pub(super) recoverable_ns: Option<i64>,
    pub(super) confidence: Option<Confidence>,
    pub(super) severity: Option<Severity>,
    pub(super) missing: Option<Vec<String>>,
    pub(super) summary: Option<String>,
    pub(super) title: Option<String>,
    pub(super) evidence: Option<String>,
    pub(super) advice: Option<String>,
    pub(super) unsaid: Option<String>,
}

/// The outcomes that a test may expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Finding,
    Pass,
    NotApplicable,
    Unknown,
}

impl Expected {
    pub(super) const ALL: [Self; 4] = [Self::Finding, Self::Pass, Self::NotApplicable, Self::Unknown];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Finding => "finding",
            Self::Pass => "pass",
            Self::NotApplicable => "not_applicable",
            Self::Unknown => "unknown",
        }
    }
}
