//! What one report can be held against without another: limits that are fixed numbers.

use std::collections::BTreeSet;

use super::budget::{Budget, Metric};
use super::limit::Told;
use super::named::Names;
use super::standing::{self, Number, Open};
use super::{BaseGate, Conditions, Gate, GateOutcome};
use crate::compare::{Rounds, State, devices_with_work};
use crate::facts::{Entity, EntityKind, Facts};
use crate::findings::{Review, RuleFailure};
use crate::rules::outcome::Severity;
use crate::text::escape;

/// Why a number is none of the program's.
pub(super) fn incomplete(facts: &Facts) -> Option<String> {
    facts.why_not_whole().map(str::to_owned)
}

/// Why what is found of kernels need not be all.
const UNTOLD_KERNELS: &str = "a page of Nsight Compute that was read with the report is not whole: what else would be found of its kernels is not known";

/// Rules that are named of those that went wrong.
const MAX_NAMED_RULES: usize = 5;

/// Which rules went wrong, or were not asked to the end: what they would find is not known. A rule of the user's own that meets a
/// report that it was not made for is told elsewhere.
pub(super) fn unjudged(errors: &[&RuleFailure]) -> Option<String> {
    let of = |is_spent: bool| -> BTreeSet<&str> {
        let meant = errors.iter().filter(|error| error.is_spent() == is_spent && (is_spent || !error.is_own));
        meant.map(|error| error.rule.as_str()).collect()
    };
    let (wrong, spent) = (of(false), of(true));
    let (rules, what) = if wrong.is_empty() { (spent, "were not asked to the end") } else { (wrong, "went wrong") };
    let named: Vec<&str> = rules.iter().take(MAX_NAMED_RULES).copied().collect();
    let more = if rules.len() > named.len() { ", …" } else { "" };
    let says = format!("rules {what}, whose findings are not known: {}{more}", named.join(", "));
    (!rules.is_empty()).then(|| escape::plain(&says))
}

/// The gates that a review can be held against alone, and those that need a base. Which findings are new a review knows
/// only with a baseline.
pub(super) fn gates(review: &Review, facts: &Facts, conditions: &Conditions) -> (Vec<Gate>, Vec<BaseGate>) {
    let new_count = review.known.is_some().then(|| review.entity_count());
    let mut gates: Vec<Gate> =
        conditions.fail_on.findings.least().map(|least| fail_on(review, facts, least)).into_iter().collect();
    let mut needing_base = Vec::new();
    let names = Names::new();
    let is_unjudged = unjudged(&review.errors.iter().collect::<Vec<_>>()).is_some();
    for budget in conditions.budgets.iter() {
        let numbers = match (&budget.metric, new_count) {
            _ if budget.limit.is_relative() => None,
            (Metric::Findings(_), _) if incomplete(facts).is_some() => incomplete(facts).map(Err),
            (Metric::Findings(State::New), Some(count)) => {
                let is_part = is_unjudged || !review.full_rules.is_empty() || facts.incomplete_profiles().is_some();
                let told = if is_part { Told::AtLeast } else { Told::All };
                Some(Ok(vec![Number { told, ..Number::without_base(None, count as f64) }]))
            }
            (Metric::Findings(_), _) => None,
            (metric, _) => Some(numbers(facts, metric, &names)),
        };
        match numbers {
            Some(numbers) => gates.push(standing::of_budget(budget, numbers, "")),
            None => needing_base.push(BaseGate::of(budget)),
        }
    }
    (gates, needing_base)
}

impl BaseGate {
    fn of(budget: &Budget) -> Self {
        Self { name: escape::plain(&budget.name), limit: escape::plain(&budget.text) }
    }
}

fn fail_on(review: &Review, facts: &Facts, least: Severity) -> Gate {
    let grave = review.findings.iter().filter(|finding| finding.worst() >= least);
    let titles: Vec<&str> = grave.map(|finding| finding.title.as_str()).collect();
    let gate = standing::of_findings(least, &titles, if review.known.is_some() { "new" } else { "" });
    // What was found stands; that nothing was does not.
    let kernels = || facts.incomplete_profiles().map(|_| UNTOLD_KERNELS.to_owned());
    let open = || incomplete(facts).or_else(|| unjudged(&review.errors.iter().collect::<Vec<_>>())).or_else(kernels);
    match open().filter(|_| gate.outcome == GateOutcome::Passed) {
        Some(says) => Gate { outcome: GateOutcome::Unknown, says, ..gate },
        None => gate,
    }
}

/// The metric's number: one, or one a device.
pub(super) fn numbers(facts: &Facts, metric: &Metric, names: &Names) -> Result<Vec<Number>, String> {
    if let Some(why) = incomplete(facts) {
        return Err(why);
    }
    let devices = Devices::of(facts);
    match metric {
        Metric::StepTime => {
            let rounds = Rounds::of(facts).ok_or("not every GPU of the report has steps that are timed")?;
            let ends = [rounds.mean_ns, rounds.behind.mean_with_ns.max(rounds.mean_ns)].map(|ns| ns as f64);
            let told = if ends[1] > ends[0] { Told::WithoutBehind } else { Told::All };
            let open = Some(Open { base: [0.0; 2], head: ends });
            Ok(vec![Number { told, open, ..Number::without_base(None, ends[0]) }])
        }
        Metric::WindowTime => devices.slowest("window_ns", "window_ns"),
        Metric::Findings(_) => Err("there is no base".to_owned()),
        Metric::Sum(fact) => Ok(one(devices.values(fact.name)?.into_iter().sum())),
        Metric::Device(fact) => Ok(devices.named(devices.values(fact.name)?)),
        Metric::Share(fact) => Ok(devices.named(devices.each(fact.name, |device| share(device, fact.name))?)),
        Metric::Run(fact) => {
            let run = facts.of_kind(EntityKind::Run).next().and_then(|(_, run)| run.number(fact.name));
            run.map(one).ok_or_else(|| format!("the report does not have {}", fact.name))
        }
        Metric::Named(named) => {
            let fitting = named.in_report(facts, names).ok_or(Names::TOO_MANY)?;
            let lacks = || format!("the report has no {} and has {}", named.what(), named.fact.name);
            let number = fitting.number().ok_or_else(lacks)?;
            let open = fitting.bounds().map(|head| Open { base: [0.0; 2], head });
            Ok(vec![Number { told: fitting.told(), open, ..Number::without_base(None, number) }])
        }
    }
}

fn one(number: f64) -> Vec<Number> {
    vec![Number::without_base(None, number)]
}

/// The GPUs of a report that ran work.
struct Devices<'a>(Vec<&'a Entity>);

impl<'a> Devices<'a> {
    fn of(facts: &'a Facts) -> Self {
        Self(devices_with_work(facts).into_iter().map(|(_, device)| device).collect())
    }

    /// A number of every device; `name` is what the report lacks where one does not have it.
    fn each(&self, name: &str, of: impl Fn(&Entity) -> Option<f64>) -> Result<Vec<f64>, String> {
        if self.0.is_empty() {
            return Err("the report holds no GPU work".to_owned());
        }
        let found: Option<Vec<f64>> = self.0.iter().map(|device| of(device)).collect();
        found.ok_or_else(|| format!("the report does not have {name}"))
    }

    fn values(&self, fact: &str) -> Result<Vec<f64>, String> {
        self.each(fact, |device| device.number(fact))
    }

    fn slowest(&self, fact: &str, name: &str) -> Result<Vec<Number>, String> {
        let times = self.each(name, |device| device.number(fact))?;
        Ok(one(times.into_iter().fold(f64::MIN, f64::max)))
    }

    fn named(&self, numbers: Vec<f64>) -> Vec<Number> {
        let pairs = names(&self.0).into_iter().zip(numbers);
        pairs.map(|(of, number)| Number::without_base(of, number)).collect()
    }
}

/// An account as a share of the device's window.
pub(super) fn share(device: &Entity, account: &str) -> Option<f64> {
    Some(device.number(account)? / device.int("window_ns").filter(|ns| *ns > 0)? as f64)
}

/// What tells devices apart, where there are several.
pub(super) fn names(devices: &[&Entity]) -> Vec<Option<String>> {
    let name = |device: &&Entity| device.int("number").map(|number| format!("GPU {number}"));
    devices.iter().map(|device| name(device).filter(|_| devices.len() > 1)).collect()
}
