//! One finding a rule, two where some of it comes again and some occurs once, in the order of what can be gained, symptoms under
//! their causes.

use std::cmp::Reverse;

use super::occurrence::{Context, Occurrence, chain, fixed_severity, ranked_ns, severity_of};
use super::source::evidence;
use super::subject::tell_apart;
use super::{Also, Finding, Gain, waits_first};
use crate::facts::{EntityKind, FactValue, Facts};
use crate::ledger::{Account, COLD_PIECES, START_UP_PIECES};
use crate::rules::outcome::{Confidence, Severity};
use crate::rules::{Reference, RuleInfo, Status};
use crate::text::number::duration;
use crate::text::spans::Sentence;

/// What repeats comes before what occurs once, unless that is a large share and costs so many times more.
const MUCH_MORE: i64 = 10;
/// What does not come again and takes at least this share matters all the same.
pub(super) const LARGE_ONCE_SHARE: f64 = 0.2;

/// What is inside kernels has no number. It comes before a gain that is as little, as little sure, or of what occurs once, as long as
/// kernels that are faster by `FASTER` would gain more. What is told as 5 % is not little.
const LITTLE_SHARE: f64 = 0.045;
pub(super) const FASTER: f64 = 0.2;
/// On a GPU that computes nearly all the time, one kernel for half of it, this much idle time is little as well.
const LITTLE_IDLE_SHARE: f64 = 0.08;
const COMPUTING_SHARE: f64 = 0.85;
pub(super) const MAIN_KERNEL_SHARE: f64 = 0.5;

/// Who says which function it waits for, and of which part of the window that is to be told before all else.
const HOST_BOUND: &str = "host-bound";
const CULPRIT_SHARE: f64 = 0.5;

/// What lies before the steady state is the run's main matter where it is so many times as long.
const MANY_TIMES: i64 = 5;

/// What counts under another finding is told from this part of it on.
const TOLD_ELSEWHERE: f64 = 0.1;
/// From this part on it is told where the finding is one line as well.
const MOSTLY_ELSEWHERE: f64 = 0.5;

/// So many entities of a finding are shown by name.
const NAMED_COUNT: usize = 5;

/// Who has this part of what a group claims has all of it that matters.
const NEARLY_ALL: f64 = 0.9;

/// The occurrences that are shown, grouped by rule.
pub(super) struct Ranking<'a> {
    context: Context<'a>,
    occurrences: &'a [Occurrence<'a>],
}

impl<'a> Ranking<'a> {
    pub(super) fn new(context: Context<'a>, occurrences: &'a [Occurrence<'a>]) -> Self {
        Self { context, occurrences }
    }

    /// The findings, symptoms under their causes, in order: of what is neither ignored nor known.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = self.grouped();
        waits_first::rank(self.context.facts, &mut findings);
        // Several entities of a rule gain more together than the best of them, by which the groups came.
        let is_large = |finding: &Finding| finding.gain.as_ref().is_some_and(|gain| gain.share >= LARGE_ONCE_SHARE);
        let large_once = findings.iter().filter(|(_, finding)| finding.once && is_large(finding));
        let most_once_ns = large_once.filter_map(|(ns, _)| *ns).max();
        let least_ns = most_once_ns.unwrap_or(0) / MUCH_MORE;
        let inside =
            findings.iter().filter_map(|(_, finding)| self.inside(finding)).fold(Inside::default(), Inside::max);
        let is_medium = |finding: &Finding| {
            finding.gain.is_none() && finding.severity == Severity::Medium && !finding.tells_scope()
        };
        let is_note = |finding: &Finding| finding.severity == Severity::Info;
        let any_medium = findings.iter().any(|(_, finding)| is_medium(finding));
        let any_outside = findings.iter().any(|(_, finding)| finding.looks_outside());
        let is_culprit_named = findings.iter().any(|(_, finding)| self.names_culprit(finding));
        findings.sort_by_key(|(ranked_ns, finding)| match ranked_ns {
            None if finding.severity == Severity::High => (0, Reverse(0)),
            // What the GPU waits for is set-up then, or copies that nothing computes on.
            None if finding.tells_no_kernels() => (0, Reverse(0)),
            // Where the function is known that the GPU waits for, that is what to change; how much longer the run is says the verdict.
            None if finding.looks_outside() && is_culprit_named => (2, Reverse(i64::MAX)),
            // What is lost in the window is little of the run.
            None if finding.looks_outside() => (1, Reverse(i64::MAX - 1)),
            // What repeats comes before what occurs once, unless that has a name; what may be one pass has nothing that is known to
            // repeat.
            // No more of the run than some steady states: what it repeats comes first.
            None if finding.looks_before_steady() && self.follows_steady(finding) => (2, Reverse(i64::MAX - 1)),
            None if finding.looks_before_steady() && self.leads_steady(finding) => (1, Reverse(i64::MAX - 2)),
            None if finding.looks_before_steady() => (5, Reverse(i64::MAX)),
            // Where a rule tells what it is, that comes before it.
            None if finding.tells_before() && any_outside => (1, Reverse(i64::MAX)),
            Some(ranked_ns) if inside.outweighs(finding) || is_note(finding) => (5, Reverse(*ranked_ns)),
            // What is known for sure comes first, though it has no number.
            Some(ranked_ns) if finding.confidence == Confidence::Low && any_medium => (3, Reverse(*ranked_ns)),
            // In a cold pass nothing is known to repeat, and what it does for the first time may be most of it.
            Some(ranked_ns)
                if (!finding.once || is_large(finding) && is_of_cold_pass(self.context.facts, finding))
                    && finding.severity > Severity::Info
                    && *ranked_ns >= least_ns =>
            {
                (1, Reverse(*ranked_ns))
            }
            None if finding.severity == Severity::Medium => (2, Reverse(0)),
            Some(ranked_ns) => (3, Reverse(*ranked_ns)),
            None if self.inside(finding).is_some() => (4, Reverse(0)),
            None => (6, Reverse(0)),
        });
        findings.into_iter().map(|(_, finding)| finding).collect()
    }

    /// The findings that stand for themselves, with their symptoms, and by what each is ranked; in no order yet.
    fn grouped(&self) -> Vec<(Option<i64>, Finding)> {
        let shown = self.context.sorted(self.occurrences, |this| this.is_shown());
        let (below, tops): (Vec<usize>, Vec<usize>) = shown.into_iter().partition(|index| self.cause(*index).is_some());
        let ranked = |group: &[usize], finding: &Finding| {
            let gain = finding.gain.as_ref()?;
            let ranked_ns = ranked_ns(self.context.facts, self.occurrences[group[0]].entity, gain);
            Some(ranked_ns.max(self.first_of_two_ns(group, gain).unwrap_or(0)))
        };
        self.by_rule(&tops)
            .into_iter()
            .map(|group| {
                let symptoms: Vec<usize> =
                    below.iter().copied().filter(|index| group.contains(&self.root(*index))).collect();
                let symptoms = self.by_rule(&symptoms).iter().map(|group| self.finding(group, Vec::new())).collect();
                let finding = self.finding(&group, symptoms);
                (ranked(&group, &finding), finding)
            })
            .collect()
    }

    /// What a finding that has a bound alone is ranked by where a cause that was played again has a part of its time: who mends the
    /// finding first wins that part with it. So it is where more is left of the finding than the cause wins; where that wins
    /// nothing, nobody wins that part.
    fn first_of_two_ns(&self, group: &[usize], gain: &Gain) -> Option<i64> {
        let own = &self.occurrences[group[0]];
        let (cause, shared_ns) = own.explained.filter(|_| group.len() == 1 && gain.replayed.is_none())?;
        let cause = &self.occurrences[cause];
        let wins_ns = cause.ranked_ns(self.context.facts).filter(|wins_ns| cause.is_replayed() && *wins_ns > 0)?;
        (gain.recoverable_ns > wins_ns).then(|| gain.recoverable_ns.saturating_add(shared_ns) / 2)
    }

    /// Whether the GPU waits for one function most of its window, again and again, by the CPU samples of the launching thread.
    fn names_culprit(&self, finding: &Finding) -> bool {
        let facts = self.context.facts;
        let device = || Some(facts.get(facts.related(finding.subject.entity, EntityKind::Device)?));
        finding.rule == HOST_BOUND
            && !finding.once
            && finding.confidence == Confidence::High
            && finding.severity > Severity::Info
            && finding.gain.as_ref().is_some_and(|gain| gain.weighing_share() >= CULPRIT_SHARE)
            && device().is_some_and(|device| device.text("idle_host_culprit").is_some())
    }

    /// Whether what lies before the steady state is told first: what repeats on the GPU may be parts of one pass, or the function is known
    /// that takes the time before.
    fn leads_steady(&self, finding: &Finding) -> bool {
        let facts = self.context.facts;
        let device = facts.related(finding.subject.entity, EntityKind::Device).map(|device| facts.get(device));
        device.is_some_and(|device| {
            device.text("phase_certainty") == Some("low") || device.text("before_steady_function").is_some()
        })
    }

    /// Whether a function is known that takes the time before the steady state, and that is no many times as long as that.
    fn follows_steady(&self, finding: &Finding) -> bool {
        let facts = self.context.facts;
        let device = facts.related(finding.subject.entity, EntityKind::Device).map(|device| facts.get(device));
        device.is_some_and(|device| {
            let before_ns = device.int("before_steady_ns").unwrap_or(i64::MAX);
            let is_named = device.text("before_steady_function").is_some();
            is_named && device.int("window_ns").is_some_and(|ns| before_ns / MANY_TIMES < ns)
        })
    }

    /// What a finding of a kernel without a number stands for.
    fn inside(&self, finding: &Finding) -> Option<Inside> {
        if !finding.looks_inside() || finding.severity != Severity::Low {
            return None;
        }
        let (facts, kernel) = (self.context.facts, finding.subject.entity);
        let device = facts.get(facts.related(kernel, EntityKind::Device)?);
        let window_ns = device.int("window_ns").filter(|ns| *ns > 0)? as f64;
        let kernel_ns = facts.get(kernel).int("attributed_ns")?;
        let compute_ns = device.int(Account::Compute.fact()).unwrap_or(0).max(kernel_ns);
        Some(Inside { kernel: kernel_ns as f64 / window_ns, compute: compute_ns as f64 / window_ns })
    }

    /// What explains an occurrence, of those that are new: a new symptom of a known cause stands by itself.
    fn cause(&self, index: usize) -> Option<usize> {
        chain(self.occurrences, index).skip(1).find(|cause| !self.occurrences[*cause].is_known)
    }

    /// The end of the chain of causes.
    fn root(&self, index: usize) -> usize {
        std::iter::successors(Some(index), |index| self.cause(*index)).last().unwrap_or(index)
    }

    /// Groups by rule, in the order of each group's first. What comes again stands apart from what occurs once: a sum of the two
    /// says neither what a longer run would gain nor what this one did.
    fn by_rule(&self, indices: &[usize]) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let kind = |index: usize| (self.occurrences[index].rule, self.occurrences[index].once.is_some());
        for &index in indices {
            match groups.iter_mut().find(|group| group.first().is_some_and(|first| kind(*first) == kind(index))) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        groups
    }

    /// `group` holds occurrences of one rule, best first; never empty.
    fn finding(&self, group: &[usize], symptoms: Vec<Finding>) -> Finding {
        let best = &self.occurrences[group[0]];
        let (rule, found) = (self.context.rule(best), best.found);
        let together = self.gain_together(group);
        let own = self.own_part(group, together.as_ref());
        let is_together = group.len() > 1 && own < NEARLY_ALL;
        // Where the first is nearly all of it, its own number is the one to tell.
        let gain = if is_together { together.clone() } else { best.gain.clone() };
        let is_measured_once = best.once.is_some() && !rule.once;
        // What lies at the start on one side and at the end on the other is once, no more.
        let is_alike = group.iter().all(|index| self.occurrences[*index].once == best.once);
        let how_often = how_often(rule, if is_alike { best.once } else { best.once.map(|_| 1) });
        let mut finding = Finding {
            rule: rule.id.clone(),
            title: rule.title.clone() + how_often,
            headline: self.headline(best, is_together).own(how_often),
            category: rule.category.clone(),
            severity: self.severity(group, together.as_ref()),
            own_severity: best.severity,
            once: best.once.is_some(),
            // Of what stands by itself, `brief` decides.
            is_brief: true,
            is_experimental: rule.status == Status::Experimental,
            capture_note: rule.capture_note,
            rests_on: rule.rests_on.clone(),
            fingerprint: best.fingerprint.clone(),
            subject: self.context.located(best),
            gain,
            own_gain: best.gain.clone(),
            is_together,
            confidence: if is_measured_once { found.confidence.min(Confidence::Medium) } else { found.confidence },
            because: found.because.clone(),
            summary: self.summary(best),
            evidence: self.evidence(best),
            advice: if is_measured_once && may_be_set_up(best) {
                advice_once(&found.advice)
            } else {
                found.advice.clone()
            },
            verify: found.verify.clone(),
            look: found.look.clone(),
            references: self.references(rule),
            also: group[1..].iter().map(|index| self.also(&self.occurrences[*index])).collect(),
            symptoms,
        };
        let others = finding.also.iter_mut().map(|also| &mut also.subject);
        let named = std::iter::once(&mut finding.subject).chain(others).take(NAMED_COUNT);
        tell_apart(self.context.facts, named.collect());
        finding
    }

    /// The part of what a group claims on the device of its first that the first claims: 1 where it is alone.
    fn own_part(&self, group: &[usize], together: Option<&Gain>) -> f64 {
        let best = &self.occurrences[group[0]];
        let device = |this: &Occurrence<'_>| self.context.facts.related(this.entity, EntityKind::Device);
        match (together, &best.gain) {
            (Some(together), Some(own)) if own.replayed.is_none() => {
                own.recoverable_ns as f64 / together.recoverable_ns.max(1) as f64
            }
            (Some(_), Some(_)) => {
                let its =
                    group.iter().map(|index| &self.occurrences[*index]).filter(|this| device(this) == device(best));
                let claims = its.filter_map(Occurrence::claimed_ns).fold(0_i64, i64::saturating_add);
                best.claimed_ns().unwrap_or(0) as f64 / claims.max(1) as f64
            }
            _ => 1.0,
        }
    }

    /// The heading of a finding: the culprit's name, where the rule gives one. Of several entities the rule's own title, with the
    /// kernel that has most of it.
    fn headline(&self, best: &Occurrence<'_>, is_together: bool) -> Sentence {
        let title = Sentence::default().own(&self.context.rule(best).title);
        match &best.found.title {
            Some(named) if !is_together => named.clone(),
            Some(_)
                if self.context.facts.get(best.entity).kind == EntityKind::Kernel && self.claims_in_rounds(best) =>
            {
                title.own(", above all ").sentence(&self.context.subject(best).label)
            }
            _ => title,
        }
    }

    /// Whether what it claims of the window is what it has of the gain: a replay is of rounds, beside which other entities may have more.
    fn claims_in_rounds(&self, this: &Occurrence<'_>) -> bool {
        let Some((gain, replayed)) = this.gain.as_ref().and_then(|gain| Some((gain, gain.replayed?))) else {
            return true;
        };
        let device = self.context.facts.related(this.entity, EntityKind::Device);
        let window_ns = device.and_then(|device| self.context.facts.get(device).int("window_ns"));
        let held_ns = replayed.covered_share * gain.window_ns as f64;
        window_ns.is_some_and(|window_ns| held_ns >= NEARLY_ALL * window_ns as f64)
    }

    /// What shows it; with what is counted under another finding.
    fn evidence(&self, this: &Occurrence<'_>) -> Vec<Sentence> {
        let elsewhere = self.elsewhere(this, TOLD_ELSEWHERE).map(|(ns, rule)| {
            Sentence::default().own(&format!("{} of it count under ", duration(ns))).code(rule).own(" alone.")
        });
        let found = this.found.evidence.iter().cloned();
        found
            .chain(elsewhere)
            .chain(evidence(self.context.facts.get(this.entity), self.context.rule(this), this.found))
            .collect()
    }

    /// What it says of all of its time, though most of that counts under another finding.
    fn summary(&self, this: &Occurrence<'_>) -> Sentence {
        let summary = this.found.summary.clone();
        match self.elsewhere(this, MOSTLY_ELSEWHERE) {
            Some((ns, rule)) => summary.own(&format!("; {} of that counted under ", duration(ns))).code(rule),
            None => summary,
        }
    }

    /// What counts under its cause, where that is at least such a part of it, and the rule of what stands in the list for the cause.
    fn elsewhere(&self, this: &Occurrence<'_>, least_share: f64) -> Option<(i64, &str)> {
        let is_told = |ns: i64| ns as f64 >= least_share * ns.saturating_add(this.claimed_ns().unwrap_or(0)) as f64;
        let (cause, ns) = this.explained.filter(|(_, ns)| is_told(*ns))?;
        Some((ns, &self.context.rule(&self.occurrences[self.root(cause)]).id))
    }

    fn also(&self, other: &Occurrence<'_>) -> Also {
        Also {
            fingerprint: other.fingerprint.clone(),
            subject: self.context.located(other),
            severity: other.severity,
            gain: other.gain.clone(),
            summary: other.found.summary.clone(),
        }
    }

    /// The gravest of a group, its gain together included: on the short window of a second device the same rule may
    /// matter more than where it gains most.
    fn severity(&self, group: &[usize], gain: Option<&Gain>) -> Severity {
        let first = &self.occurrences[group[0]];
        let together = gain.filter(|_| fixed_severity(self.context.rule(first), first.found).is_none());
        let together = together.map(|gain| severity_of(gain.weighing_share()).min(first.most_severity));
        let each = group.iter().map(|index| self.occurrences[*index].severity);
        each.chain(together).fold(first.severity, Severity::max)
    }

    /// The gain of the first occurrence of a group with those of the others on its device: never more than the account
    /// that they draw on, nor than the window.
    fn gain_together(&self, group: &[usize]) -> Option<Gain> {
        let facts = self.context.facts;
        let best = group.first().map(|index| &self.occurrences[*index])?;
        let own = best.gain.as_ref()?;
        // A change is played for the whole device, whichever of its entities it is told of.
        if own.replayed.is_some() {
            return Some(own.clone());
        }
        let Some(device) = facts.related(best.entity, EntityKind::Device) else { return Some(own.clone()) };
        let of_device = group
            .iter()
            .map(|index| &self.occurrences[*index])
            .filter(|other| facts.related(other.entity, EntityKind::Device) == Some(device));
        let gains = of_device.filter_map(|other| other.gain.as_ref()).filter(|gain| gain.account == own.account);
        let sums = gains.fold((0_i64, 0_i64), |(claimed, beside), gain| {
            (claimed.saturating_add(gain.of_account_ns()), beside.saturating_add(gain.beside_ns))
        });
        let held = Account::parse(&own.account).and_then(|account| facts.get(device).int(account.fact()));
        let claimed_ns = sums.0.min(held.unwrap_or(i64::MAX)).clamp(own.of_account_ns(), own.window_ns);
        Some(Gain::new(claimed_ns, own.window_ns, own.account.clone(), own.basis.clone()).with_beside(sums.1))
    }

    /// The pages that fit the program: those of PyTorch only where it is used, unless there is no other.
    fn references(&self, rule: &RuleInfo) -> Vec<Reference> {
        let is_pytorch = self.context.facts.run().is_none_or(|run| run.text("framework") == Some("pytorch"));
        let fits = |reference: &&Reference| is_pytorch || !reference.url.contains("pytorch.org/");
        let fitting: Vec<Reference> = rule.references.iter().filter(fits).cloned().collect();
        if fitting.is_empty() { rule.references.clone() } else { fitting }
    }
}

/// The parts of a window that a kernel takes whose finding has no number, and all kernels of its device.
#[derive(Debug, Clone, Copy, Default)]
struct Inside {
    kernel: f64,
    compute: f64,
}

impl Inside {
    fn max(self, other: Self) -> Self {
        Self { kernel: self.kernel.max(other.kernel), compute: self.compute.max(other.compute) }
    }

    /// Whether a gain of such a share is little beside these kernels.
    fn is_little(self, share: f64, is_idle: bool) -> bool {
        let is_main = self.compute >= COMPUTING_SHARE && self.kernel >= MAIN_KERNEL_SHARE;
        share < if is_main && is_idle { LITTLE_IDLE_SHARE } else { LITTLE_SHARE }
    }

    /// Whether kernels deserve a look before a finding: before one that is not sure if the kernel alone would gain more.
    fn outweighs(self, finding: &Finding) -> bool {
        finding.gain.as_ref().is_some_and(|gain| {
            let share = gain.weighing_share();
            let is_idle = Account::parse(&gain.account).is_some_and(|account| account.top() == Account::Idle);
            let is_little = finding.once || self.is_little(share, is_idle);
            is_little && share < FASTER * self.compute
                || finding.confidence == Confidence::Low && share < FASTER * self.kernel
        })
    }
}

/// Whether a finding is of a device whose window is one pass that does everything for the first time.
pub(super) fn is_of_cold_pass(facts: &Facts, finding: &Finding) -> bool {
    let device = facts.related(finding.subject.entity, EntityKind::Device).map(|device| facts.get(device));
    device.and_then(|device| device.get("is_cold_pass")) == Some(&FactValue::Bool(true))
}

/// How often what a rule found comes, after its title.
fn how_often(rule: &RuleInfo, once: Option<i64>) -> &'static str {
    match once.filter(|_| !rule.once) {
        None => "",
        Some(1 | COLD_PIECES) => ", once",
        Some(2) => ", in two stretches",
        Some(START_UP_PIECES) => ", at the start",
        Some(_) => ", in three stretches",
    }
}

/// Whether it may be what a program does before its own work: copies and kernels are that work, however seldom they come.
fn may_be_set_up(this: &Occurrence<'_>) -> bool {
    let account = this.gain.as_ref().and_then(|gain| Account::parse(&gain.account));
    account.is_none_or(|account| account.top() == Account::Idle)
}

/// What to do about what does not come again.
fn advice_once(advice: &Sentence) -> Sentence {
    let words = "If a longer run does not repeat this, leave it out of what you measure. Else: ";
    if advice.spans().is_empty() { Sentence::default() } else { Sentence::default().own(words).sentence(advice) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::Sample;
    use crate::replay::Change;
    use crate::rules::outcome::{Judgement, Outcome, Replayed};
    use crate::rules::{FactRef, Relation};

    #[test]
    fn what_takes_most_of_the_window_is_not_said_to_take_most_of_its_rounds() {
        let headline = |covered_share: Option<f64>| {
            let mut sample = Sample::default();
            let run = sample.run();
            let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("compute_ns", 900_000_000)]);
            if let Some(share) = covered_share {
                sample.facts.get_mut(device).set("replay_covered_share", share);
            }
            let rule = sample.rule("small-grid", "Kernels fill little of the GPU", EntityKind::Kernel);
            for (name, claimed_ns) in [("sort", 300_000_000), ("scan", 200_000_000)] {
                let kernel = sample.facts.add(EntityKind::Kernel, name, &[device, run]);
                sample.facts.get_mut(kernel).set("name", name);
                sample.find(rule, kernel, Some(("compute", claimed_ns)), name);
                let Some(Judgement { outcome: Outcome::Finding(found), .. }) = sample.judgements.last_mut() else {
                    panic!()
                };
                found.title = Some(Sentence::default().own("A kernel fills little"));
                let (change, step_ns, expected_ns) = (Change::FullGrid, 10_000_000, 2_000_000);
                let replayed = Replayed { change, step_ns, expected_ns, ceiling_ns: expected_ns };
                found.estimate.as_mut().unwrap().replayed = covered_share.map(|_| replayed);
            }
            let finding = sample.review().findings.remove(0);
            assert!(finding.is_together);
            finding.headline.plain()
        };
        let (alone, above) = ("Kernels fill little of the GPU", "Kernels fill little of the GPU, above all sort");
        assert_eq!([None, Some(0.9), Some(0.89)].map(headline), [above, above, alone]);
    }

    #[test]
    fn what_counts_elsewhere_counts_under_what_stands_in_the_list() {
        let mut sample = Sample::default();
        let run = sample.run();
        let device = sample.device(run, 0, "NVIDIA H200", 1_000_000_000, &[("compute_ns", 300_000_000)]);
        sample.facts.get_mut(device).set("step_slow_host_ns", 300_000_000_i64);
        let [loading, host, slow] =
            ["data-loading", "host-bound", "slow-step"].map(|id| sample.rule(id, "The GPU waits", EntityKind::Device));
        let explains = |rule: &str, shares: Option<FactRef>| {
            vec![Relation { rule: rule.to_owned(), on: vec![EntityKind::Device], shares }]
        };
        sample.rules[loading].explains = explains("host-bound", None);
        let shares = FactRef { kind: EntityKind::Device, name: "step_slow_host_ns" };
        sample.rules[host].explains = explains("slow-step", Some(shares));
        sample.find(loading, device, Some(("idle_host", 500_000_000)), "data is late");
        sample.find(host, device, Some(("idle_host", 400_000_000)), "host code");
        sample.find(slow, device, Some(("idle", 600_000_000)), "some steps are slow");
        let findings = sample.review().findings;
        let slow = findings.iter().find(|finding| finding.rule == "slow-step").unwrap();
        let told = slow.evidence.iter().map(Sentence::plain).find(|told| told.contains("count under"));
        assert_eq!(told.as_deref(), Some("300 ms of it count under data-loading alone."));
    }

    #[test]
    fn idle_time_is_little_beside_one_kernel_that_computes_nearly_all_the_time() {
        let little =
            |kernel: f64, compute: f64, share: f64, is_idle: bool| Inside { kernel, compute }.is_little(share, is_idle);
        assert!(little(0.5, 0.85, 0.079, true) && !little(0.5, 0.85, 0.08, true));
        assert!(!little(0.5, 0.85, 0.045, false) && little(0.5, 0.85, 0.044, false));
        assert!(!little(0.49, 0.85, 0.045, true) && !little(0.5, 0.84, 0.045, true));
    }
}
