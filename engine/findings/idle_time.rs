//! Idle time in host code counts for the finding about that code, also where another change would hide it.
//!
//! A host that launches in no time runs ahead, and then hides whatever else it does between launches: the replay of that
//! change alone wins the time of the host code too. That is so, but the host code is the cause of it.

use std::collections::BTreeMap;

use super::Finding;
use super::gain::recording_stretch;
use super::occurrence::{Context, Occurrence};
use crate::facts::{EntityId, EntityKind, Facts};
use crate::ledger::Account;
use crate::replay::Change;
use crate::rules::outcome::Severity;

/// A replayed change that a finding of a whole device advises against its idle time.
#[derive(Debug, Clone, Copy)]
struct Claim {
    device: EntityId,
    rule: usize,
    change: Change,
    /// What the finding claims of an account of idle time.
    ns: i64,
}

impl Claim {
    fn of(context: &Context<'_>, this: &Occurrence<'_>) -> Option<Self> {
        let estimate = this.found.estimate.as_ref()?;
        let change = estimate.replayed?.change;
        let account = Account::parse(&estimate.account)?;
        let is_idle = account == Account::Idle || account.parent() == Some(Account::Idle);
        let is_device = context.facts.get(this.entity).kind == EntityKind::Device;
        (is_device && is_idle).then_some(Self {
            device: this.entity,
            rule: this.rule,
            change,
            ns: estimate.recoverable_ns,
        })
    }

    /// What is left of another claim on the same device without the time that this one's rule explains of it: that is its own.
    fn leaves_ns(self, context: &Context<'_>, other: Self) -> i64 {
        let other_id = &context.rules[other.rule].id;
        let explains = context.rules[self.rule].explains.iter().filter(|relation| relation.rule == *other_id);
        let shared = explains.filter_map(|relation| {
            let fact = relation.shares?;
            context.facts.get(context.facts.related(self.device, fact.kind)?).int(fact.name)
        });
        other.ns.saturating_sub(shared.max().unwrap_or(0)).max(0)
    }

    /// Whether it takes work of the host out of the way, or waits in the operating system: what is not there to be hidden.
    const fn is_host_work(self) -> bool {
        matches!(self.change, Change::HostAside | Change::NoBlocking)
    }
}

/// Bounds what other changes of a device are expected to win by the idle time that findings about the host's work leave.
pub(super) fn share_out(context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    let of_host: Vec<Claim> = occurrences
        .iter()
        .filter(|this| this.once.is_none())
        .filter_map(|this| Claim::of(context, this))
        .filter(|claim| claim.is_host_work())
        .collect();
    for this in occurrences {
        let Some(own) = Claim::of(context, this).filter(|own| !own.is_host_work()) else { continue };
        let device = context.facts.get(own.device);
        let (Some(window_ns), Some(idle_ns)) = (device.int("window_ns"), device.int(Account::Idle.fact())) else {
            continue;
        };
        let others = of_host.iter().filter(|claim| claim.device == own.device);
        let others_ns = others.map(|claim| own.leaves_ns(context, *claim)).fold(0, i64::saturating_add);
        if others_ns > 0 && window_ns > 0 {
            let left_ns = idle_ns.saturating_sub(others_ns).max(own.ns);
            // What recording costs may lie in what others claim: of a step without it this is left as a time, not as a share.
            this.expect_at_most(recording_stretch(device) * left_ns as f64 / window_ns as f64);
        }
    }
}

/// Bounds what changes that win idle time are expected to win by all idle time of the device, with the copies that nothing runs
/// beside, such as small results that are read back: the rounds that are played again may hold more of it than most. A window holds
/// one pause between rounds less than rounds.
pub(super) fn bound(context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    for this in occurrences {
        let replayed = this.found.estimate.as_ref().and_then(|estimate| estimate.replayed);
        let Some(replayed) = replayed.filter(|replayed| replayed.change.is_of_idle_time()) else { continue };
        let Some(device) = context.facts.related(this.entity, EntityKind::Device) else { continue };
        let device = context.facts.get(device);
        if let (Some(window_ns @ 1..), Some(idle_ns)) = (device.int("window_ns"), device.int(Account::Idle.fact())) {
            let copies_ns = device.int(Account::ExposedCopy.fact()).unwrap_or(0);
            let most_ns = idle_ns.saturating_add(copies_ns).saturating_add(replayed.expected_ns);
            this.expect_at_most(most_ns as f64 / window_ns as f64);
        }
    }
}

/// How much more than copies hold the device up changes of them may win: they take longer in another run, and what follows them.
const COPY_SPREAD: f64 = 1.5;

/// Bounds the most that page-locked copies win by what copies can have to do with: what runs alone of them, the idle time in their
/// calls, and the time by which the host would be ahead without these. The device waits for what else holds the host up all the same.
pub(super) fn bound_copies(context: &Context<'_>, occurrences: &mut [Occurrence<'_>]) {
    for this in occurrences {
        let replayed = this.found.estimate.as_ref().and_then(|estimate| estimate.replayed);
        let Some(_) = replayed.filter(|replayed| replayed.change == Change::PinCopies) else { continue };
        let Some(device) = context.facts.related(this.entity, EntityKind::Device) else { continue };
        let device = context.facts.get(device);
        let of_calls = device.int(Account::IdleCopyCall.fact()).zip(device.int("blocking_copy_run_ahead_ns"));
        let held = device.int(Account::ExposedCopy.fact()).zip(of_calls);
        if let (Some(window_ns @ 1..), Some((copies_ns, (calls_ns, ahead_ns)))) = (device.int("window_ns"), held) {
            let most_ns = COPY_SPREAD * copies_ns.saturating_add(calls_ns) as f64 + ahead_ns as f64;
            // Copies take as long where nothing is recorded, and more of a step that is shorter.
            let most_share = recording_stretch(device) * most_ns / window_ns as f64;
            this.gain = this.gain.take().map(|gain| gain.at_most(most_share));
        }
    }
}

/// Says of findings that claim idle time without a replay where they claim time that those before them claim as well: with them
/// it is no more than all idle time of the device. What a replay says is of a round: then what all win together is told of that, and
/// no second total of the window beside it; nor is there one where a finding claims work of the device as well.
pub(super) fn note_shared(facts: &Facts, findings: &mut [Finding]) {
    let mut claimed: BTreeMap<EntityId, (i64, bool)> = BTreeMap::new();
    for finding in findings.iter_mut().filter(|finding| finding.severity > Severity::Info) {
        let Some(device) = finding.subject.device.as_ref().map(|device| device.entity) else { continue };
        let Some(gain) = finding.gain.as_mut().filter(|gain| is_idle(&gain.account)) else { continue };
        let Some(idle_ns) = facts.get(device).int(Account::Idle.fact()) else { continue };
        let (before_ns, has_other_total) = claimed.entry(device).or_default();
        let all_ns = before_ns.saturating_add(gain.of_account_ns());
        *has_other_total |= gain.replayed.is_some() || gain.beside_ns > 0;
        if *before_ns > 0 && all_ns > idle_ns && !*has_other_total {
            gain.shared_ns = Some(idle_ns);
        }
        *before_ns = all_ns;
    }
}

fn is_idle(account: &str) -> bool {
    Account::parse(account).is_some_and(|account| account.top() == Account::Idle)
}

#[cfg(test)]
mod tests {
    use super::super::samples::Sample;
    use super::*;
    use crate::replay::STEP_FACT;
    use crate::rules::outcome::{Outcome, Replayed};
    use crate::rules::{FactRef, Relation};

    #[test]
    fn host_code_is_the_finding_also_where_faster_launches_would_hide_it() {
        // 1 s of the window is idle: 700 ms in host code, 200 ms in launching.
        let order = |host_ns: i64, shared_ns: Option<i64>, recorded_ns: i64| {
            let mut sample = Sample::default();
            let run = sample.run();
            let accounts = [("compute_ns", 9_000_000_000), ("idle_launch_ns", 200_000_000)];
            let device = sample.device(run, 0, "NVIDIA H200", 10_000_000_000, &accounts);
            sample.facts.get_mut(device).set(STEP_FACT, 10_000_000_i64);
            sample.facts.get_mut(device).set("replay_recorded_step_ns", recorded_ns);
            let launch = sample.rule("launch-bound", "Launching takes longer", EntityKind::Device);
            let host = sample.rule("host-bound", "Host code", EntityKind::Device);
            if let Some(shared_ns) = shared_ns {
                sample.facts.get_mut(device).set("idle_data_loading_host_ns", shared_ns);
                let shares = Some(FactRef { kind: EntityKind::Device, name: "idle_data_loading_host_ns" });
                sample.rules[launch].explains =
                    vec![Relation { rule: "host-bound".to_owned(), on: vec![EntityKind::Device], shares }];
            }
            sample.find(launch, device, Some(("idle_launch", 200_000_000)), "launching");
            sample.find(host, device, Some(("idle_host", host_ns)), "host code");
            // Launched in no time, the host would hide nearly all of it.
            for (judgement, change, expected_ns) in [(0, Change::Graph, 900_000), (1, Change::HostAside, 700_000)] {
                let Outcome::Finding(found) = &mut sample.judgements[judgement].outcome else { panic!() };
                let estimate = found.estimate.as_mut().unwrap();
                estimate.replayed = Some(Replayed { change, step_ns: 10_000_000, expected_ns, ceiling_ns: 950_000 });
            }
            let findings = sample.review().findings.into_iter();
            let told = |finding: Finding| (finding.rule, finding.gain.unwrap().replayed.unwrap().expected_ns);
            findings.map(told).collect::<Vec<_>>()
        };
        let told = |rule: &str, expected_ns: i64| (rule.to_owned(), expected_ns);
        let bare_ns = 10_000_000;
        assert_eq!(order(700_000_000, None, bare_ns), [told("host-bound", 700_000), told("launch-bound", 300_000)]);
        assert_eq!(order(10_000_000, None, bare_ns), [told("launch-bound", 900_000), told("host-bound", 700_000)]);
        // Of steps that recording makes half as long again, what is left is as long, and more of a step without that.
        assert_eq!(order(700_000_000, None, 15_000_000)[1], told("launch-bound", 450_000));
        // What it explains of the host code is its own.
        assert_eq!(order(700_000_000, Some(600_000_000), bare_ns)[0], told("launch-bound", 900_000));
    }
}
