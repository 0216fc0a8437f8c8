//! Rules that hold, one occurrence an entity, and which of them matters most.

use std::cmp::{Ordering, Reverse};

use super::Gain;
use super::fingerprint::Fingerprints;
use super::loaded_first::{computes_most, is_loaded_first};
use super::source::{self, KernelNames, Sources};
use super::subject::{self, Subject};
use super::work::{Repeated, only_step};
use crate::facts::{Entity, EntityId, EntityKind, FactValue, Facts};
use crate::ledger::accounts::Scaling;
use crate::ledger::{Account, COLD_PIECES, MAX_ONCE_PIECE_COUNT, START_UP_PIECES};
use crate::replay::STEP_FACT;
use crate::rules::RuleInfo;
use crate::rules::outcome::{Estimate, Judgement, Match, Outcome, Severity};
use crate::text::number::DECISIVE_SHARES;

/// What a finding is of from each of the decisive shares on.
const SEVERITIES: [Severity; 3] = [Severity::High, Severity::Medium, Severity::Low];

/// What occurs once and takes less of a window than this would hardly be seen in a run without a profiler.
const LEAST_ONCE_SHARE: f64 = 0.03;
/// The work repeats this often for each time that something is done once.
const REPEATS_A_PIECE: i64 = 4;
/// Launches of one kernel are no steps: with fewer of them little tells what comes again.
const LEAST_LAUNCHES: i64 = 10;

/// What a review is made from, beside the rules' answers.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) facts: &'a Facts,
    pub(super) rules: &'a [RuleInfo],
    /// Where kernels and ranges come from.
    pub(super) sources: &'a Sources,
    pub(super) kernels: &'a KernelNames<'a>,
}

/// One rule that holds for one entity.
pub(super) struct Occurrence<'a> {
    /// The index of the rule.
    pub(super) rule: usize,
    pub(super) entity: EntityId,
    pub(super) found: &'a Match,
    pub(super) gain: Option<Gain>,
    pub(super) severity: Severity,
    /// In how many pieces its cost comes, where it does not come again with the work.
    pub(super) once: Option<i64>,
    /// Whether the rule fixes that.
    pub(super) is_severity_fixed: bool,
    /// The gravest that it can be: what does not come again is not grave.
    pub(super) most_severity: Severity,
    pub(super) fingerprint: String,
    /// The index of the occurrence that explains all of it that matters.
    pub(super) cause: Option<usize>,
    /// The occurrence that explains a part of it, and how much: that is not in the gain.
    pub(super) explained: Option<(usize, i64)>,
    /// How much of its time is that one's as well, where a fact tells: a replay may win less of it.
    pub(super) common_ns: Option<i64>,
    /// What it can gain that nothing else explains; absent without a gain.
    pub(super) own_ns: Option<i64>,
    /// The index of the ignore that sets it aside.
    pub(super) ignore: Option<usize>,
    /// Whether the baseline knows it.
    pub(super) is_known: bool,
    /// The part of the window that a baseline knows it as, where it is more now.
    pub(super) grown_from: Option<f64>,
}

impl Occurrence<'_> {
    pub(super) fn recoverable_ns(&self) -> Option<i64> {
        self.gain.as_ref().map(|gain| gain.recoverable_ns)
    }

    /// By what it is ranked: the time of its device's window that goes, as though all of that were the steady state.
    pub(super) fn ranked_ns(&self, facts: &Facts) -> Option<i64> {
        let gain = self.gain.as_ref()?;
        Some(ranked_ns(facts, self.entity, gain))
    }

    /// Whether its gain is that of a replay.
    pub(super) fn is_replayed(&self) -> bool {
        self.gain.as_ref().is_some_and(|gain| gain.replayed.is_some())
    }

    /// Notes what explains it: all that matters of it, or `shared_ns` of its time. A cause that claims no time leaves it nothing.
    pub(super) fn explain(&mut self, cause: usize, shared_ns: Option<i64>, is_whole: bool) {
        if is_whole {
            self.cause = Some(cause);
        } else {
            self.explained = shared_ns.map(|shared_ns| (cause, shared_ns)).filter(|(_, ns)| *ns > 0);
        }
        let left = |own: i64| self.left_share(shared_ns.unwrap_or(i64::MAX)) * own as f64;
        self.own_ns = self.recoverable_ns().map(|own| left(own) as i64);
    }

    /// The part of its gain that is left when so much of the time that it claims is something else's.
    pub(super) fn left_share(&self, taken_ns: i64) -> f64 {
        match self.claimed_ns() {
            Some(claimed) if claimed > 0 => (claimed - taken_ns.clamp(0, claimed)) as f64 / claimed as f64,
            _ => 0.0,
        }
    }

    /// The time that it claims, whatever a replay says; of the whole window no more than what is played again takes of it.
    pub(super) fn claimed_ns(&self) -> Option<i64> {
        let gain = self.gain.as_ref()?;
        let Some((estimate, replayed)) = self.found.estimate.as_ref().zip(gain.replayed) else {
            return Some(gain.recoverable_ns);
        };
        let is_of_window = Account::parse(&estimate.account) == Some(Account::Window);
        let share = if is_of_window { replayed.covered_share } else { 1.0 };
        Some((share * estimate.recoverable_ns as f64) as i64)
    }

    /// What of the time that it claims is of other accounts. What was played claims none of them, nor does what occurs once.
    pub(super) fn beside_ns(&self) -> i64 {
        self.gain.as_ref().filter(|gain| gain.replayed.is_none()).map_or(0, |gain| gain.beside_ns)
    }

    /// Takes out of the gain what something else explains. What was played could still win all of it alone.
    pub(super) fn take_explained(&mut self) {
        self.own_ns = self.own_ns.or(self.recoverable_ns());
        if let Some((_, taken_ns)) = self.explained {
            let (share, whole) = (self.left_share(taken_ns), self.gain.clone());
            self.take_part(share);
            if let (Some(gain), Some(whole)) = (&mut self.gain, whole.filter(|whole| whole.replayed.is_some())) {
                *gain = Gain { replayed: gain.replayed, ..whole };
            }
        }
    }

    /// Leaves a part of the gain.
    pub(super) fn take_part(&mut self, share: f64) {
        let Some(gain) = &mut self.gain else { return };
        *gain = gain.part(share);
        if !self.is_severity_fixed {
            self.severity = severity_of(gain.weighing_share()).min(self.most_severity);
        }
    }

    /// Bounds what is expected to go, as a share of the window: rounds that take a part of it may hold all of that.
    pub(super) fn expect_at_most(&mut self, share_of_window: f64) {
        let Some(gain) = &mut self.gain else { return };
        let Some(replayed) = &mut gain.replayed else { return };
        let share = (share_of_window / replayed.covered_share).min(1.0);
        if replayed.expected_share > share {
            replayed.expected_share = share;
            replayed.expected_ns = (share * replayed.step_ns as f64) as i64;
            if !self.is_severity_fixed {
                self.severity = severity_of(gain.weighing_share()).min(self.most_severity);
            }
        }
    }

    /// Whether it is neither ignored nor known.
    pub(super) fn is_shown(&self) -> bool {
        self.ignore.is_none() && !self.is_known
    }
}

fn is_of_kernels(estimate: &Estimate) -> bool {
    matches!(Account::parse(&estimate.account), Some(Account::Compute | Account::Underfilled))
}

/// What a claim on kernels is at most where most of it lies beside the rounds that are played again, as an optimizer that runs once
/// after many of them: what is won in these, and all that kernels run beside them.
fn left_out_of_rounds_ns(device: &Entity, estimate: &Estimate, in_rounds: &Gain) -> Option<i64> {
    let beside_ns = device.int("beside_rounds_kernel_ns")?;
    let claimed_ns = estimate.recoverable_ns;
    let is_left_out = in_rounds.recoverable_ns <= claimed_ns / 2 && beside_ns >= claimed_ns - claimed_ns / 2;
    let most_ns = in_rounds.recoverable_ns.saturating_add(beside_ns);
    (is_of_kernels(estimate) && is_left_out && claimed_ns > 0).then(|| claimed_ns.min(most_ns))
}

/// Less of a claim beside the rounds is not worth a word.
const LEAST_BESIDE_SHARE: f64 = 0.1;

/// Whether a part of a claim on kernels that matters lies beside the rounds that are played again, which win so much of the window.
fn is_beside_rounds(device: &Entity, estimate: &Estimate, won_ns: i64) -> bool {
    let left_ns = estimate.recoverable_ns.saturating_sub(won_ns);
    let beside_ns = device.int("beside_rounds_kernel_ns").unwrap_or(0);
    is_of_kernels(estimate)
        && left_ns as f64 > LEAST_BESIDE_SHARE * estimate.recoverable_ns as f64
        && beside_ns >= left_ns
}

impl<'a> Context<'a> {
    /// Every rule that holds, in the order of the judgements.
    pub(super) fn occurrences<'b>(&self, judgements: &[&'b Judgement]) -> Vec<Occurrence<'b>> {
        let prints = Fingerprints::new(self.facts);
        let found = judgements.iter().filter_map(|judgement| match &judgement.outcome {
            Outcome::Finding(found) => Some((judgement.rule, judgement.entity, found.as_ref())),
            _ => None,
        });
        found.map(|(rule, entity, found)| self.occurrence(rule, entity, found, &prints)).collect()
    }

    fn occurrence<'b>(
        &self,
        rule: usize,
        entity: EntityId,
        found: &'b Match,
        prints: &Fingerprints<'_>,
    ) -> Occurrence<'b> {
        let info = &self.rules[rule];
        let once = self.once(entity, found).or(info.once.then_some(1)).filter(|_| found.estimate.is_some());
        let comes_again = found.estimate.as_ref().is_some_and(|estimate| estimate.comes_again);
        let once = once.filter(|_| !comes_again);
        let gain = self.gain(entity, found, once.is_some());
        let by_gain = gain.as_ref().map_or(Severity::Info, |gain| severity_of(gain.weighing_share()));
        let is_rare = once.is_some() || !(gain.as_ref().is_some_and(Gain::is_of_step) || self.repeats(entity));
        let is_small = gain.as_ref().is_some_and(|gain| gain.share < LEAST_ONCE_SHARE);
        let most_severity = match (is_rare, once.is_some() && is_small) {
            (_, true) => Severity::Info,
            (true, _) => Severity::Medium,
            (false, _) => Severity::High,
        };
        let fixed = fixed_severity(info, found);
        Occurrence {
            rule,
            entity,
            found,
            gain,
            // A severity that the rule fixes is its author's word; only without one does the gain decide.
            severity: fixed.unwrap_or(by_gain.min(most_severity)),
            most_severity,
            once,
            fingerprint: prints.of(&info.id, entity),
            is_severity_fixed: fixed.is_some(),
            cause: None,
            explained: None,
            common_ns: None,
            own_ns: None,
            ignore: None,
            is_known: false,
            grown_from: None,
        }
    }

    /// The claim, held against the window of the entity's device; of all devices together for the run and for processes.
    /// What occurs once is no part of a step.
    fn gain(&self, entity: EntityId, found: &Match, is_once: bool) -> Option<Gain> {
        let estimate = found.estimate.as_ref()?;
        let window_ns: i64 = match self.facts.related(entity, EntityKind::Device) {
            Some(device) => {
                let device = self.facts.get(device);
                if let Some(replayed) = estimate.replayed.as_ref().filter(|_| !is_once) {
                    let (account, basis) = (estimate.account.clone(), estimate.basis.clone());
                    let mut gain = Gain::replayed(replayed, Repeated::of(device)?, account, basis);
                    if let Some(ns) = left_out_of_rounds_ns(device, estimate, &gain) {
                        let ns = ns.min(self.most_of_kernels_ns(entity, estimate));
                        return Some(Gain::new(ns, device.int("window_ns")?, gain.account, gain.basis));
                    }
                    if let Some(replayed) = &mut gain.replayed {
                        let is_beside = is_beside_rounds(device, estimate, gain.recoverable_ns);
                        (replayed.only_step, replayed.is_beside_rounds) = (only_step(device, &gain.account), is_beside);
                    }
                    // Rounds need not be all of the window: there is no more of what kernels take in it than the account holds.
                    if let Some(compute_ns) = device.int(Account::Compute.fact()).filter(|_| gain.account == "compute")
                    {
                        gain.recoverable_ns = gain.recoverable_ns.min(compute_ns);
                    }
                    return Some(gain);
                }
                device.int("window_ns")?
            }
            None => {
                let devices = self.facts.of_kind(EntityKind::Device);
                devices.filter_map(|(_, device)| device.int("window_ns")).fold(0, i64::saturating_add)
            }
        };
        (window_ns > 0).then(|| {
            let recoverable_ns = estimate.recoverable_ns.min(self.most_once_ns(entity, estimate, is_once));
            let recoverable_ns = recoverable_ns.min(self.most_of_kernels_ns(entity, estimate));
            let beside_ns = if is_once { 0 } else { estimate.beside_ns };
            let (account, basis) = (estimate.account.clone(), estimate.basis.clone());
            Gain::new(recoverable_ns.clamp(0, window_ns), window_ns, account, basis).with_beside(beside_ns)
        })
    }

    /// The most that a claim is on what occurs once: the rest of the account comes again, and is no part of a cost that is told as once.
    fn most_once_ns(&self, entity: EntityId, estimate: &Estimate, is_once: bool) -> i64 {
        let of = self.facts.get(entity);
        let account = Account::parse(&estimate.account).filter(|account| account.can_be_once());
        let account = account.filter(|_| is_once && of.kind == EntityKind::Device);
        let once_ns = account.and_then(|account| of.int(account.once_fact()));
        once_ns.filter(|ns| *ns > 0).unwrap_or(i64::MAX)
    }

    /// The most that a claim on kernels is where it cannot be played again: where the device runs dry before the host launches what
    /// comes next, kernels that end sooner win nothing.
    fn most_of_kernels_ns(&self, entity: EntityId, estimate: &Estimate) -> i64 {
        if !is_of_kernels(estimate) {
            return i64::MAX;
        }
        let of = self.facts.get(entity);
        if let Some((sum_ns, late_ns)) = of.int("sum_ns").zip(of.int("late_host_sum_ns")) {
            let attributed_ns = of.int("attributed_ns").unwrap_or(sum_ns) as f64;
            return (attributed_ns * (1.0 - late_ns as f64 / sum_ns.max(1) as f64)).max(0.0) as i64;
        }
        let device = self.facts.related(entity, EntityKind::Device).map(|device| self.facts.get(device));
        let busy = device.and_then(|device| device.int("busy_ns").zip(device.int("late_host_busy_ns")));
        busy.map_or(i64::MAX, |(busy_ns, late_ns)| busy_ns.saturating_sub(late_ns).max(0))
    }

    /// Whether the work of an entity's device repeats, so that what is found comes again; so where the facts do not tell.
    fn repeats(&self, entity: EntityId) -> bool {
        let device = self.facts.related(entity, EntityKind::Device);
        let count = device.and_then(|device| self.facts.get(device).int("repeat_count"));
        count.is_none_or(|count| count >= REPEATS_A_PIECE)
    }

    /// In how many pieces the cost of a finding comes, where these are no part of what repeats: what it is about is done up to
    /// three times while the work repeats more often, or the account that it claims is so.
    fn once(&self, entity: EntityId, found: &Match) -> Option<i64> {
        let estimate = found.estimate.as_ref()?;
        let account = Account::parse(&estimate.account)?;
        let is_replayed = estimate.replayed.is_some_and(|replayed| replayed.expected_ns > 0);
        let device = self.facts.get(self.facts.related(entity, EntityKind::Device)?);
        let entity = self.facts.get(entity);
        let times = match entity.kind {
            EntityKind::Kernel => entity.int("launch_count"),
            EntityKind::CopyGroup => entity.int("count"),
            EntityKind::SyncGroup => entity.int("call_count"),
            _ => None,
        };
        let least = if device.int("step_count").is_some() { REPEATS_A_PIECE } else { LEAST_LAUNCHES };
        let repeats = device.int("repeat_count").filter(|count| *count >= least && !self.may_be_one_step(device));
        let most = repeats.unwrap_or(0) / REPEATS_A_PIECE;
        let is_rare = |times: &i64| (1..=most.min(MAX_ONCE_PIECE_COUNT as i64)).contains(times);
        // Pieces of idle time are no copies: what many copies leave behind comes again with them.
        // What is played without all of many waits comes again as well, wherever the device was idle.
        let of_many = match entity.kind {
            EntityKind::CopyGroup => account.top() == Account::Idle,
            EntityKind::SyncGroup => is_replayed,
            _ => false,
        };
        let is_of_many = of_many && times > Some(most);
        // What comes in each step comes again, however few of its pieces the window holds.
        let is_in_steps = account == Account::IdleHost && device.int("idle_host_range_step_count").is_some();
        let pieces = device.int(account.once_count_fact()).filter(|count| *count > 0 && !is_in_steps);
        let may_be_rest =
            entity.kind == EntityKind::Device && fits_what_comes_again(device, account, estimate.recoverable_ns);
        let pieces = pieces.filter(|_| !may_be_rest);
        // What one step has comes again with the next, but for loading, compiling and setting up.
        let is_of_step = account.scaling() != Scaling::OneTime && self.may_be_one_step(device);
        let pieces = pieces.filter(|count| !is_of_step || *count >= START_UP_PIECES);
        if account == Account::IdleAllocate && self.takes_first_memory(device) {
            return Some(COLD_PIECES);
        }
        let is_one_pass = repeats.is_none() && !self.may_be_one_step(device);
        if (most > 0 || is_one_pass && computes_most(device)) && is_loaded_first(entity, account) {
            return Some(START_UP_PIECES);
        }
        times.filter(is_rare).or_else(|| pieces.filter(|count| !is_of_many || *count >= START_UP_PIECES))
    }

    /// Whether what is judged may be one step of a program: a framework's profiler begins and ends where it is told to, others can be told,
    /// and a program may mark what is to be judged. Where no step repeats there, what comes once comes once in each.
    fn may_be_one_step(&self, device: &Entity) -> bool {
        let is_true = |of: &Entity, fact: &str| of.get(fact) == Some(&FactValue::Bool(true));
        let is_chosen = |run: &Entity| run.text("format") == Some("kineto") || is_true(run, "is_begin_chosen");
        let is_part = ["is_profiled_region", "is_measured_pass"].iter().any(|fact| is_true(device, fact))
            || self.facts.run().is_some_and(is_chosen);
        is_part && device.int("step_count").is_none()
    }

    /// Whether PyTorch takes a device's memory for the first time: no step repeats, and next to none of it is given back. A program of one's
    /// own may take more in each round.
    fn takes_first_memory(&self, device: &Entity) -> bool {
        let counts = device.int("device_allocation_count").zip(device.int("device_free_count"));
        let is_kept = |(taken, freed): (i64, i64)| taken > 0 && (freed as f64) < FREED_SHARE * taken as f64;
        let has_cache = self.facts.run().is_some_and(|run| run.text("framework") == Some("pytorch"));
        let allocates = device.text("idle_allocate_kind") == Some("device_allocate");
        // A pass behind its warm-up finds what that took, unless the program gives it back.
        let is_later = device.get("is_measured_pass") == Some(&FactValue::Bool(true));
        has_cache && allocates && !is_later && device.int("step_count").is_none() && counts.is_some_and(is_kept)
    }

    pub(super) fn rule(&self, occurrence: &Occurrence<'_>) -> &'a RuleInfo {
        &self.rules[occurrence.rule]
    }

    /// What it is about.
    pub(super) fn subject(&self, occurrence: &Occurrence<'_>) -> Subject {
        subject::subject(self.facts, occurrence.entity)
    }

    /// The same with the names by which its source is known, and where that is.
    pub(super) fn located(&self, occurrence: &Occurrence<'_>) -> Subject {
        let names = source::names(self.facts, self.kernels, occurrence.entity, occurrence.found);
        let recorded = source::location(self.facts.get(occurrence.entity), self.rule(occurrence), occurrence.found);
        let source = recorded.or_else(|| self.sources.find(&names).cloned());
        let source = source.map(|source| source.below(&self.sources.folders));
        Subject { names, source, ..self.subject(occurrence) }
    }

    /// The order of findings, a total one: a capture that cannot be trusted, then by what can be gained, then what has no
    /// estimate.
    pub(super) fn order(&self, a: &Occurrence<'_>, b: &Occurrence<'_>) -> Ordering {
        self.weight(a).cmp(&self.weight(b)).then_with(|| self.name(a).cmp(&self.name(b)))
    }

    fn weight(&self, this: &Occurrence<'_>) -> impl Ord + use<> {
        // What occurs once comes after what a longer run repeats.
        let group = match (&this.gain, this.severity) {
            (None, Severity::High) => 0,
            (Some(_), _) if this.once.is_none() => 1,
            (None, Severity::Medium) => 2,
            (Some(_), _) => 3,
            (None, _) => 4,
        };
        let severity = if this.gain.is_some() { Severity::Info } else { this.severity };
        // What has no estimate goes by the time that it is about.
        let alone = self.facts.get(this.entity).int("attributed_ns").filter(|_| this.gain.is_none());
        // Entities of a rule share what a replay says: that with the largest claim is the one to name.
        let claimed = this.found.estimate.as_ref().map(|estimate| estimate.recoverable_ns);
        let ranked = (Reverse(this.ranked_ns(self.facts)), Reverse(this.found.confidence), Reverse(claimed));
        (group, Reverse(severity), ranked, Reverse(alone))
    }

    fn name(&self, this: &Occurrence<'_>) -> (&'a str, &'a str, EntityId) {
        (&self.rule(this).id, &self.facts.get(this.entity).key, this.entity)
    }

    /// The indices of some occurrences, the most important first.
    pub(super) fn sorted(
        &self,
        occurrences: &[Occurrence<'_>],
        is_meant: impl Fn(&Occurrence<'_>) -> bool,
    ) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..occurrences.len()).filter(|index| is_meant(&occurrences[*index])).collect();
        indices.sort_by(|a, b| self.order(&occurrences[*a], &occurrences[*b]));
        indices
    }
}

/// Memory of which a smaller part is given back is kept.
const FREED_SHARE: f64 = 0.1;

/// Whether a claim is on a part of an account that may be what comes again: it is no more than what the account holds beside its
/// pieces that come once. The copies within a GPU of each round come beside the one that brings its input.
fn fits_what_comes_again(device: &Entity, account: Account, claimed_ns: i64) -> bool {
    let held = device.int(account.fact()).zip(device.int(account.once_fact()).filter(|ns| *ns > 0));
    held.is_some_and(|(all_ns, once_ns)| claimed_ns <= all_ns.saturating_sub(once_ns))
}

/// By what a gain about an entity is ranked, in time of the window. Rounds that are played again may hold a part of it only. Where
/// the steady state was played again, what has a bound alone counts half of it: it is somewhere between nothing and that.
pub(super) fn ranked_ns(facts: &Facts, entity: EntityId, gain: &Gain) -> i64 {
    let device = facts.related(entity, EntityKind::Device).map(|device| facts.get(device));
    match (gain.replayed, device.and_then(|device| device.int("window_ns"))) {
        (Some(replayed), Some(window_ns)) => {
            let covered = device.and_then(|device| device.number("replay_covered_share")).unwrap_or(1.0);
            (replayed.expected_share * covered * window_ns as f64) as i64
        }
        (None, Some(_)) if device.is_some_and(|device| device.int(STEP_FACT).is_some()) => gain.recoverable_ns / 2,
        _ => gain.recoverable_ns,
    }
}

pub(super) fn severity_of(share: f64) -> Severity {
    let reached = DECISIVE_SHARES.into_iter().zip(SEVERITIES).find(|(least, _)| share >= *least);
    reached.map_or(Severity::Info, |(_, severity)| severity)
}

/// What the project, or else the rule, says of the severity, whatever can be gained.
pub(super) fn fixed_severity(rule: &RuleInfo, found: &Match) -> Option<Severity> {
    rule.set_severity.or(found.severity).or(rule.severity)
}

/// Honest rules explain each other over a few steps. It is gone along for each finding.
const MAX_CHAIN_LENGTH: usize = 100;

/// An occurrence, what explains it, what explains that, and so on.
pub(super) fn chain<'a>(occurrences: &'a [Occurrence<'_>], from: usize) -> impl Iterator<Item = usize> + 'a {
    along(from, |index| occurrences[index].cause)
}

fn along(from: usize, cause: impl Fn(usize) -> Option<usize>) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(from), move |index| cause(*index)).take(MAX_CHAIN_LENGTH)
}

#[cfg(test)]
#[path = "occurrence_tests.rs"]
mod tests;
