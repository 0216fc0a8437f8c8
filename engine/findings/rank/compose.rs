//! What a finding says: its words, what it could gain, and the entities that it is about.

use super::super::occurrence::{Occurrence, fixed_severity, severity_of};
use super::super::source::evidence;
use super::super::subject::tell_apart;
use super::super::{Also, Finding, Gain};
use super::Ranking;
use crate::facts::EntityKind;
use crate::ledger::{Account, COLD_PIECES, START_UP_PIECES};
use crate::rules::outcome::{Confidence, Severity};
use crate::rules::{Reference, RuleInfo, Status};
use crate::text::number::duration;
use crate::text::spans::Sentence;

/// What counts under another finding is told from this part of it on.
const TOLD_ELSEWHERE: f64 = 0.1;
/// From this part on it is told where the finding is one line as well.
const MOSTLY_ELSEWHERE: f64 = 0.5;

/// So many entities of a finding are shown by name.
const NAMED_COUNT: usize = 5;

/// Who has this part of what a group claims has all of it that matters.
const NEARLY_ALL: f64 = 0.9;

impl Ranking<'_> {
    /// `group` holds occurrences of one rule, best first; never empty.
    pub(super) fn finding(&self, group: &[usize], symptoms: Vec<Finding>) -> Finding {
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
            ranking: rule.ranking,
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
        let root = &self.occurrences[self.root(cause)];
        (!self.wins_nothing(root)).then(|| (this.common_ns.unwrap_or(ns), self.context.rule(root).id.as_str()))
    }

    /// Whether what was found of its rule is a note that wins nothing, which is not told.
    fn wins_nothing(&self, this: &Occurrence<'_>) -> bool {
        let is_note = this.severity == Severity::Info && this.gain.as_ref().is_some_and(Gain::is_nothing_played);
        let is_of_rule = |index: usize| self.occurrences[index].rule == this.rule;
        is_note && !(0..self.occurrences.len()).any(|index| self.cause(index).is_some_and(is_of_rule))
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
