//! One finding a rule, two where some of it comes again and some occurs once, in the order of what can be gained, symptoms under
//! their causes.

mod compose;

use std::cmp::Reverse;

use super::occurrence::{Context, Occurrence, chain, ranked_ns};
use super::{Finding, Gain, copies_first, near_ties, waits_first};
use crate::facts::{Entity, EntityKind, FactValue, Facts};
use crate::ledger::Account;
use crate::rules::FactRef;
use crate::rules::outcome::{Confidence, Severity};

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
/// Beside one kernel that takes so much of the window, so is whatever else wins less than this.
const NEARLY_ALL_SHARE: f64 = 0.8;
const LITTLE_BESIDE_SHARE: f64 = 0.1;
pub(super) const MAIN_KERNEL_SHARE: f64 = 0.5;

/// Of which part of the window the function that the GPU waits for is to be told before all else.
const CULPRIT_SHARE: f64 = 0.5;

/// What lies before the steady state is the run's main matter where it is so many times as long.
const MANY_TIMES: i64 = 5;

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
        copies_first::rank(self.context.facts, &mut findings);
        near_ties::rank(self.context.facts, &mut findings);
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
            None if finding.looks_behind() && self.is_many_times_behind(finding) => (1, Reverse(i64::MAX - 3)),
            // What repeats comes before what occurs once, unless that has a name; what may be one pass has nothing that is known to
            // repeat.
            // No more of the run than some steady states: what it repeats comes first.
            None if finding.looks_before_steady() && self.follows_steady(finding) => (2, Reverse(i64::MAX - 1)),
            None if finding.looks_before_steady() && self.leads_steady(finding) => (1, Reverse(i64::MAX - 2)),
            None if finding.looks_before_steady() => (5, Reverse(i64::MAX)),
            // Where a rule tells what it is, that comes before it.
            None if finding.tells_before() && (any_outside || self.is_most_first_batch(finding)) => {
                (1, Reverse(i64::MAX))
            }
            Some(ranked_ns) if inside.outweighs(finding) || is_note(finding) => (5, Reverse(*ranked_ns)),
            // What is known for sure comes first, though it has no number.
            Some(ranked_ns) if finding.confidence == Confidence::Low && any_medium => (3, Reverse(*ranked_ns)),
            // In a cold pass nothing is known to repeat, and what it does for the first time may be most of it.
            Some(ranked_ns)
                if (!finding.once
                    || is_large(finding)
                        && (is_of_cold_pass(self.context.facts, finding) || self.is_work_of_all(finding)))
                    && finding.severity > Severity::Info
                    && *ranked_ns >= least_ns =>
            {
                (1, Reverse(*ranked_ns))
            }
            None if self.told_inside_ns(finding).is_some() => (1, Reverse(self.told_inside_ns(finding).unwrap_or(0))),
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

    /// The device of what a finding is about.
    fn device(&self, finding: &Finding) -> Option<&'a Entity> {
        device_of(self.context.facts, finding)
    }

    /// Whether the GPU waits for one function most of its window, again and again, by the CPU samples of the launching thread.
    fn names_culprit(&self, finding: &Finding) -> bool {
        !finding.once
            && finding.confidence == Confidence::High
            && finding.severity > Severity::Info
            && finding.gain.as_ref().is_some_and(|gain| gain.weighing_share() >= CULPRIT_SHARE)
            && told_by(self.context.facts, finding, finding.ranking.culprit).is_some()
    }

    /// Whether most of the recording is the wait for the first batch of data: then that is told for all that lies outside.
    fn is_most_first_batch(&self, finding: &Finding) -> bool {
        let (facts, device) = (self.context.facts, self.device(finding));
        let wait_ns = device.and_then(|device| device.int("first_batch_ns")).unwrap_or(0);
        let recorded_ns = facts.run().and_then(|run| run.int("duration_ns"));
        let loads_later = device.and_then(|device| device.int("data_loading_count")).is_some_and(|count| count > 0);
        recorded_ns.is_some_and(|ns| wait_ns > 0 && !loads_later && wait_ns.saturating_mul(2) >= ns)
    }

    /// Whether the host reads results page by page for many times as long as the GPU's work takes.
    fn is_many_times_behind(&self, finding: &Finding) -> bool {
        self.device(finding).is_some_and(|device| {
            let pages_ns = device.int("last_pages_ns").unwrap_or(0);
            device.int("window_ns").is_some_and(|ns| pages_ns / MANY_TIMES >= ns)
        })
    }

    /// Whether what lies before the steady state is told first: what repeats on the GPU may be parts of one pass, or the function is known
    /// that takes the time before.
    fn leads_steady(&self, finding: &Finding) -> bool {
        self.device(finding).is_some_and(|device| {
            device.text("phase_certainty") == Some("low") || device.text("before_steady_function").is_some()
        })
    }

    /// Whether a function is known that takes the time before the steady state, and that is no many times as long as that.
    fn follows_steady(&self, finding: &Finding) -> bool {
        self.device(finding).is_some_and(|device| {
            let before_ns = device.int("before_steady_ns").unwrap_or(i64::MAX);
            let is_named = device.text("before_steady_function").is_some();
            is_named && device.int("window_ns").is_some_and(|ns| before_ns / MANY_TIMES < ns)
        })
    }

    /// Whether a finding is of what the GPU does, not of idle time, in a program that repeats no steps: with what it does but once it is
    /// as long each time that it runs.
    fn is_work_of_all(&self, finding: &Finding) -> bool {
        let account = finding.gain.as_ref().and_then(|gain| Account::parse(&gain.account));
        let is_of_operations = account.is_some_and(|account| account.top() != Account::Idle);
        let device = self.device(finding);
        is_of_operations
            && finding.confidence > Confidence::Low
            && device.is_some_and(|device| device.int("step_count").is_none() && device.text("phase").is_none())
    }

    /// What a finding of a kernel without a number stands for.
    fn inside(&self, finding: &Finding) -> Option<Inside> {
        if !finding.looks_inside() || finding.severity != Severity::Low {
            return None;
        }
        let device = self.device(finding)?;
        let window_ns = device.int("window_ns").filter(|ns| *ns > 0)? as f64;
        let kernel_ns = self.context.facts.get(finding.subject.entity).int("attributed_ns")?;
        let compute_ns = device.int(Account::Compute.fact()).unwrap_or(0).max(kernel_ns);
        Some(Inside { kernel: kernel_ns as f64 / window_ns, compute: compute_ns as f64 / window_ns })
    }

    /// What kernels are ranked by whose cause is known, though no gain can be told: as though they were faster by `FASTER`.
    fn told_inside_ns(&self, finding: &Finding) -> Option<i64> {
        held_ns(self.context.facts, finding).map(|kernel_ns| (FASTER * kernel_ns as f64) as i64)
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
        share
            < match (is_idle, self.kernel >= NEARLY_ALL_SHARE) {
                (true, _) if is_main => LITTLE_IDLE_SHARE,
                (false, true) => LITTLE_BESIDE_SHARE,
                _ => LITTLE_SHARE,
            }
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

/// The time of the kernels that a finding tells the cause of, though no gain.
pub(super) fn held_ns(facts: &Facts, finding: &Finding) -> Option<i64> {
    let kernel_ns = match told_by(facts, finding, finding.ranking.kernel_time) {
        Some(FactValue::Int(ns)) => Some(*ns),
        _ => facts.get(finding.subject.entity).int("attributed_ns").filter(|_| finding.looks_inside()),
    };
    kernel_ns.filter(|_| finding.severity == Severity::Medium && finding.gain.is_none())
}

/// What a fact that its rule names says of what a finding is about.
fn told_by<'a>(facts: &'a Facts, finding: &Finding, fact: Option<FactRef>) -> Option<&'a FactValue> {
    let fact = fact?;
    facts.get(facts.related(finding.subject.entity, fact.kind)?).get(fact.name)
}

fn device_of<'a>(facts: &'a Facts, finding: &Finding) -> Option<&'a Entity> {
    facts.related(finding.subject.entity, EntityKind::Device).map(|device| facts.get(device))
}

/// Whether a finding is of a device whose window is one pass that does everything for the first time.
pub(super) fn is_of_cold_pass(facts: &Facts, finding: &Finding) -> bool {
    device_of(facts, finding).and_then(|device| device.get("is_cold_pass")) == Some(&FactValue::Bool(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::Sample;
    use crate::replay::Change;
    use crate::rules::Relation;
    use crate::rules::outcome::{Judgement, Outcome, Replayed};
    use crate::text::spans::Sentence;

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
        assert!(little(0.8, 0.8, 0.099, false) && !little(0.8, 0.8, 0.1, false));
        assert!(little(0.8, 0.85, 0.079, true) && !little(0.8, 0.85, 0.08, true), "idle time is measured");
        assert!(little(0.79, 0.85, 0.044, false) && !little(0.79, 0.85, 0.045, false));
        assert!(!little(0.5, 0.85, 0.045, false) && little(0.5, 0.85, 0.044, false));
        assert!(!little(0.49, 0.85, 0.045, true) && !little(0.5, 0.84, 0.045, true));
    }
}
