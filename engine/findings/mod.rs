//! What the rules said of one report, put in one order: the [`Review`].

mod altered;
mod baseline;
mod bounded;
mod brief;
mod capture;
mod cold;
mod collect;
mod compiled;
mod copies_first;
mod counts;
mod devices;
mod fingerprint;
mod gain;
mod idle_time;
mod ignored;
mod kernel_time;
mod kernel_work;
mod loaded_first;
mod near_ties;
mod observation;
mod occurrence;
mod once_beside;
mod outside;
mod part;
mod phrase;
mod products;
mod rank;
mod relations;
mod scorecard;
mod source;
mod subject;
mod together;
mod unjudged;
mod verdict;
mod waits_first;
mod work;
mod work_ranges;

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{EntityId, EntityKind, Facts};
use crate::limits::{MAX_FINDING_OF_RULE_COUNT, MAX_FINDING_OF_RULE_IN_ALL_COUNT};
use crate::replay::Change;
use crate::rules::outcome::{Confidence, Judgement, Outcome, Severity};
use crate::rules::{CaptureNote, RankedBy, Reference, RuleInfo};
use crate::source::KERNELS_FORMAT_ID;
use crate::text::spans::Sentence;
use crate::timeline::Capability;

use counts::failures;
use occurrence::{Context, Occurrence};
use rank::Ranking;
use source::KernelNames;

pub use altered::altered;
pub use baseline::{Baseline, BaselineError, GrownFinding, Known, KnownFinding};
pub use collect::{Collected, Collection, KernelToProfile, collection, first_recordings};
pub use counts::{Counts, RuleFailure};
pub use devices::DeviceReview;
pub use fingerprint::digest;
pub use gain::{Gain, ReplayedGain};
pub use ignored::{Ignore, Ignored, IgnoredFinding, Policy, Stale, StaleIgnore};
pub use kernel_work::{KernelLimit, KernelWork, Occupancy};
pub use observation::Observation;
pub use part::Part;
pub use scorecard::{Score, Scorecard, ScorecardError};
pub use source::{CodeKind, CodeName, Source, SourceLocation, Sources};
pub use subject::{Subject, SubjectDevice};
pub use together::Together;
pub use unjudged::{Unjudged, UnjudgedRule};
pub use work::{GainStep, GainUnit, PhaseBefore, PhaseWork, StepWork, StepsOfThreads};

/// One report, reviewed: a plain value that renderers print.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// One sentence: how the device did, and what to change first.
    pub verdict: Sentence,
    /// Where the time of each device went, in the report's order of devices; empty when no GPU work was recorded.
    pub devices: Vec<DeviceReview>,
    /// The findings, the most important first; those of severity info are folded away when printed.
    pub findings: Vec<Finding>,
    /// Findings that another finding makes pointless.
    pub suppressed: Vec<Suppressed>,
    /// Findings that the user has accepted, by the ignore that sets them aside.
    pub ignored: Vec<Ignored>,
    /// Ignores that set nothing aside.
    pub stale_ignores: Vec<StaleIgnore>,
    /// Rules that the user has switched off, by id.
    pub rules_off: Vec<String>,
    /// What the project changed of what the built-in rules find, one sentence each; empty where it changed nothing.
    pub altered: Vec<Sentence>,
    /// What a baseline took out of the findings; absent without one.
    pub known: Option<Known>,
    /// What could not be judged, and what to capture.
    pub unjudged: Vec<Unjudged>,
    /// Rules that went wrong.
    pub errors: Vec<RuleFailure>,
    /// What the capture itself was missing.
    pub capture: Vec<Sentence>,
    /// How many answers of each kind the rules gave.
    pub counts: Counts,
    /// Rules that found as much on a device, or in all, as is told of one, by id: they may find more.
    pub full_rules: Vec<String>,
    /// Whether it is of single kernels that were profiled one by one: there is no time between them, and no share of a window
    /// to hold against a target.
    pub is_of_kernels_alone: bool,
}

impl Review {
    /// How many findings there are for single entities, symptoms among them; notes, of severity info, do not count.
    pub fn entity_count(&self) -> usize {
        self.observations().iter().filter(|seen| seen.severity > Severity::Info).count()
    }

    /// The index of the device that most is said of: that of the first finding with a gain, else the first. Absent
    /// without devices.
    pub fn headline(&self) -> Option<usize> {
        let gaining = self.findings.iter().find(|finding| finding.severity > Severity::Info && finding.gain.is_some());
        let entity = gaining.and_then(|finding| finding.subject.device.as_ref()).map(|device| device.entity);
        let its = self.devices.iter().position(|device| Some(device.entity) == entity);
        its.or_else(|| (!self.devices.is_empty()).then_some(0))
    }

    /// The gravest severity of all findings that are shown, symptoms among them; `None` without findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(Finding::worst).max()
    }
}

/// One rule that holds: for the entity where it matters most, with the others beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The rule's id.
    pub rule: String,
    /// The rule's title.
    pub title: String,
    /// The same with the culprit's name, where the rule gives that, and with how often it comes.
    pub headline: Sentence,
    /// The rule's folder: the cause that it looks for.
    pub category: String,
    /// The rule's own where it fixes one, else by the share of the window that it can gain.
    pub severity: Severity,
    /// That of its subject alone, where there are others.
    pub own_severity: Severity,
    /// Whether the cost occurs once, so that a longer run would hardly see it.
    pub once: bool,
    /// Whether a line says enough of it, beside what else the review holds; symptoms and notes are always told so.
    pub is_brief: bool,
    /// Whether the rule has yet to prove itself on real reports.
    pub is_experimental: bool,
    /// How it stands to what the capture was missing; absent for most.
    pub capture_note: Option<CaptureNote>,
    /// What it is ranked by beside its gain.
    pub ranking: RankedBy,
    /// What a recording must hold for what the rule's conditions and its estimate look at.
    pub rests_on: Vec<Capability>,
    /// The rule and what it is about, without what changes from one run of the program to the next.
    pub fingerprint: String,
    /// What it is about.
    pub subject: Subject,
    /// The most that it can gain; absent where time cannot be claimed.
    pub gain: Option<Gain>,
    /// What its subject alone can gain; a replay tells it of the whole device.
    pub own_gain: Option<Gain>,
    /// Whether the gain is that of its subject and of others of the same device, which [`Self::also`] names.
    pub is_together: bool,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why it is not surer.
    pub because: Vec<String>,
    /// What it is.
    pub summary: Sentence,
    /// A sentence for each condition that held.
    pub evidence: Vec<Sentence>,
    /// What to do.
    pub advice: Sentence,
    /// How to check that it helped.
    pub verify: Sentence,
    /// Where to look in the profiler.
    pub look: Option<Sentence>,
    /// Where the rule's knowledge comes from.
    pub references: Vec<Reference>,
    /// The other entities that the rule holds for, best first.
    pub also: Vec<Also>,
    /// Findings that this one explains.
    pub symptoms: Vec<Self>,
}

/// Rules that tell what the GPU's first work waits for.
const TELL_BEFORE: [&str; 2] = ["late-first-work", "first-batch"];
/// Rules that tell that little of the run, or nothing but copies, is there to judge.
const OUTSIDE: &str = "short-gpu-window";
const BEFORE_STEADY: &str = "long-set-up";
/// The rule that tells how the host reads results once the GPU is done; where it is no more than of low severity, something else takes that time.
const BEHIND: &str = "results-in-pages";
const NO_KERNELS: [&str; 2] = ["failed-before-kernels", "no-kernels"];

/// Raises what a finding is ranked by above another. Those that are raised above the same stay in order among themselves.
fn raise(own_ns: &mut i64, above_ns: i64) {
    *own_ns = (*own_ns).max(above_ns.saturating_add(1 + *own_ns / 1_000));
}

impl Finding {
    /// The gravest severity of it and of what it explains.
    pub fn worst(&self) -> Severity {
        self.symptoms.iter().map(Self::worst).fold(self.severity, Severity::max)
    }

    /// The change that was played for its gain, where that comes again.
    fn repeated_change(&self) -> Option<Change> {
        Some(self.gain.as_ref().filter(|_| !self.once)?.replayed?.change)
    }

    /// Whether it names a kernel to look inside of: what that gains has no number.
    fn looks_inside(&self) -> bool {
        self.gain.is_none() && self.subject.kind == EntityKind::Kernel
    }

    /// Whether the steady state, played again without its cause, takes no less even at best: then there is nothing to tell, unless
    /// much of it is not played.
    fn wins_nothing(&self) -> bool {
        self.severity == Severity::Info
            && self.symptoms.is_empty()
            && self.gain.as_ref().is_some_and(Gain::is_nothing_played)
    }

    /// Whether it is of one of these rules, and leads the report: what the user sets to info is a note like others.
    fn leads_as(&self, rules: &[&str]) -> bool {
        self.severity > Severity::Info && rules.contains(&self.rule.as_str())
    }

    /// Whether it tells what the GPU's first work waits for.
    fn tells_before(&self) -> bool {
        self.leads_as(&TELL_BEFORE)
    }

    /// Whether it says that the run's time lies outside of the GPU's work.
    fn looks_outside(&self) -> bool {
        self.leads_as(&[OUTSIDE])
    }

    /// Whether it says that most of the GPU's window lies before what is judged.
    fn looks_before_steady(&self) -> bool {
        self.leads_as(&[BEFORE_STEADY])
    }

    /// Whether it says that the run goes on behind the GPU's work, in reading its results.
    fn looks_behind(&self) -> bool {
        self.severity >= Severity::Medium && self.leads_as(&[BEHIND])
    }

    /// Whether it says that the GPU ran no kernel.
    fn tells_no_kernels(&self) -> bool {
        self.leads_as(&NO_KERNELS)
    }

    /// Whether it says what is judged, not what the program could do better in it.
    fn tells_scope(&self) -> bool {
        self.looks_outside() || self.looks_before_steady() || self.tells_no_kernels()
    }
}

/// Another entity that a rule holds for.
#[derive(Debug, Clone, PartialEq)]
pub struct Also {
    /// The rule and what it is about, without what changes from one run of the program to the next.
    pub fingerprint: String,
    /// What it is about.
    pub subject: Subject,
    /// The severity of this one alone.
    pub severity: Severity,
    /// The most that it can gain.
    pub gain: Option<Gain>,
    /// What it is.
    pub summary: Sentence,
}

/// A finding that is not shown, because another one makes it pointless.
#[derive(Debug, Clone, PartialEq)]
pub struct Suppressed {
    /// The rule's id.
    pub rule: String,
    /// The rule whose finding stands in its place.
    pub by: String,
    /// What it is about.
    pub subject: Subject,
    /// What it is.
    pub summary: Sentence,
}

/// Whether a report holds single kernels that were profiled one by one, and no recording of a program in time.
fn is_of_kernels_alone(facts: &Facts) -> bool {
    facts.run().and_then(|run| run.text("format")) == Some(KERNELS_FORMAT_ID)
}

/// The rules that were asked no more once they had found as much as is told of one.
fn full_rules(context: &Context<'_>, judgements: &[&Judgement]) -> Vec<String> {
    let mut counts: BTreeMap<(usize, Option<EntityId>), usize> = BTreeMap::new();
    let mut in_all: BTreeMap<usize, usize> = BTreeMap::new();
    for judgement in judgements.iter().filter(|judgement| matches!(judgement.outcome, Outcome::Finding(_))) {
        let device = context.facts.related(judgement.entity, EntityKind::Device);
        *counts.entry((judgement.rule, device)).or_default() += 1;
        *in_all.entry(judgement.rule).or_default() += 1;
    }
    let of_device =
        counts.into_iter().filter(|(_, count)| *count >= MAX_FINDING_OF_RULE_COUNT).map(|((rule, _), _)| rule);
    let of_all =
        in_all.into_iter().filter(|(_, count)| *count >= MAX_FINDING_OF_RULE_IN_ALL_COUNT).map(|(rule, _)| rule);
    let full: BTreeSet<usize> = of_device.chain(of_all).collect();
    full.into_iter().map(|rule| context.rules[rule].id.clone()).collect()
}

/// Puts what the rules said of a report in order, under what the user has decided. `judgements` name rules by their index
/// in `rules`; one that names none is left out.
pub fn review(
    facts: &Facts,
    rules: &[RuleInfo],
    judgements: &[Judgement],
    scorecard: &Scorecard,
    policy: &Policy,
) -> Review {
    let kernels = KernelNames::new(facts);
    let context = Context { facts, rules, sources: &policy.sources, kernels: &kernels };
    let judgements: Vec<&Judgement> = judgements.iter().filter(|judgement| judgement.rule < rules.len()).collect();
    let occurrences = context.occurrences(&judgements);
    let stale_ignores = ignored::stale(&policy.ignores, &context, &occurrences);
    let (mut occurrences, suppressed) = relations::suppress(&context, occurrences);
    idle_time::share_out(&context, &mut occurrences);
    idle_time::bound(&context, &mut occurrences);
    idle_time::bound_copies(&context, &mut occurrences);
    kernel_time::share_out(&context, &mut occurrences);
    relations::find_causes(&context, &mut occurrences);
    ignored::set_aside(&policy.ignores, &context, &mut occurrences);
    let unmet = policy.baseline.as_ref().map(|baseline| baseline.recognise(&mut occurrences));
    let known = unmet.map(|stale| baseline::known(&context, &occurrences, stale));
    let mut findings = Ranking::new(context, &occurrences).findings();
    findings.retain(|finding| !finding.wins_nothing());
    idle_time::note_shared(facts, &mut findings);
    // Known findings can gain what they could before.
    let counted: Vec<&Occurrence<'_>> = occurrences.iter().filter(|this| this.ignore.is_none()).collect();
    let counts = Counts {
        ignored: occurrences.len() - counted.len(),
        silenced: altered::silenced(rules, &suppressed).count(),
        ..Counts::of(rules, &judgements)
    };
    let capture = capture::notes(facts);
    let mut devices = context.devices(scorecard, &counted);
    let is_replayed = |finding: &Finding| finding.gain.as_ref().is_some_and(|gain| gain.replayed.is_some());
    if !findings.iter().any(is_replayed) {
        // Of what nothing is told, no length need be known.
        devices.iter_mut().for_each(|device| device.gain_step = None);
    }
    let silencing: Vec<&str> = suppressed.iter().map(|left_out| left_out.by.as_str()).collect();
    brief::mark(&mut findings);
    Review {
        verdict: verdict::verdict(facts, &devices, &findings, &capture, &counts, (known.as_ref(), &silencing)),
        devices,
        findings,
        altered: altered::of_report(policy, rules, &suppressed),
        suppressed,
        ignored: ignored::ignored(&policy.ignores, &context, &occurrences),
        stale_ignores,
        rules_off: policy.rules_off.clone(),
        known,
        unjudged: unjudged::unjudged(facts, rules, &judgements),
        errors: failures(rules, &judgements),
        capture,
        counts,
        full_rules: full_rules(&context, &judgements),
        is_of_kernels_alone: is_of_kernels_alone(facts),
    }
}

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod cold_tests;
#[cfg(test)]
mod ignored_tests;
#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod verdict_tests;
