//! Gates that one report can be held against without another: limits that are fixed numbers.

use super::State;
use super::budget::{Budget, Budgets, Metric};
use super::gate::{sum, value};
use super::judge::{self, Pair};
use super::side::devices_with_work;
use crate::facts::catalogue::Fact;
use crate::facts::{Entity, Facts};
use crate::findings::{BaseGate, Gate, Review, Threshold};
use crate::text::escape;

/// Holds a review against a threshold of severity, and budgets against the report alone; notes in the review how they
/// stand and which need a base. `new_count` is how many findings a baseline does not know; absent without one.
pub fn review_gates(
    facts: &Facts,
    review: &mut Review,
    threshold: Threshold,
    budgets: &Budgets,
    new_count: Option<usize>,
) {
    let (alone, others): (Vec<&Budget>, Vec<&Budget>) = budgets.iter().partition(|budget| match budget.metric {
        _ if budget.limit.is_relative() => false,
        Metric::Findings(State::New) => new_count.is_some(),
        Metric::Findings(_) => false,
        _ => true,
    });
    let gate = |budget: &Budget| match (budget.metric, new_count) {
        (Metric::Findings(_), Some(count)) => judge::gate(budget, Ok(vec![Pair::alone(None, count as f64)]), ""),
        _ => judge::gate(budget, numbers(facts, budget.metric), ""),
    };
    review.gates = fail_on(review, threshold).into_iter().chain(alone.into_iter().map(gate)).collect();
    let needing = |budget: &Budget| BaseGate { name: escape::plain(&budget.name), limit: escape::plain(&budget.text) };
    review.gates_needing_base = others.into_iter().map(needing).collect();
}

fn fail_on(review: &Review, threshold: Threshold) -> Option<Gate> {
    let Threshold::At(least) = threshold else { return None };
    let grave = review.findings.iter().filter(|finding| finding.worst() >= least);
    let titles: Vec<&str> = grave.map(|finding| finding.title.as_str()).collect();
    Some(judge::of_findings(least, &titles, if review.known.is_some() { "new" } else { "" }))
}

/// The metric's number: one, or one a device.
pub(super) fn numbers(facts: &Facts, metric: Metric) -> Result<Vec<Pair>, String> {
    let devices: Vec<&Entity> = devices_with_work(facts).into_iter().map(|(_, device)| device).collect();
    let each = |name: &str, of: &dyn Fn(&Entity) -> Option<f64>| -> Result<Vec<f64>, String> {
        if devices.is_empty() {
            return Err("the report holds no GPU work".to_owned());
        }
        let found: Option<Vec<f64>> = devices.iter().map(|device| of(device)).collect();
        found.ok_or_else(|| format!("the report does not have {name}"))
    };
    let of_devices = |numbers: Vec<f64>| -> Vec<Pair> {
        names(&devices).into_iter().zip(numbers).map(|(of, head)| Pair::alone(of, head)).collect()
    };
    let one = |number: f64| vec![Pair::alone(None, number)];
    let slowest = |numbers: Vec<f64>| one(numbers.into_iter().fold(f64::MIN, f64::max));
    let ns = |name: &'static str| move |device: &Entity| device.int(name).map(|ns| ns as f64);
    match metric {
        Metric::StepTime => each("steps", &ns("step_median_ns")).map(slowest),
        Metric::WindowTime => each("window_ns", &ns("window_ns")).map(slowest),
        Metric::Findings(_) => Err("there is no base".to_owned()),
        Metric::Sum(fact) => {
            let values = each(fact.name, &|device| value(device, fact))?;
            Ok(sum(values.into_iter().map(Some)).map(one).unwrap_or_default())
        }
        Metric::Device(fact) => each(fact.name, &|device| value(device, fact)).map(of_devices),
        Metric::Share(fact) => each(fact.name, &|device| share(device, fact)).map(of_devices),
        Metric::Run(fact) => {
            let run = facts.run().and_then(|run| value(run, fact));
            run.map(one).ok_or_else(|| format!("the report does not have {}", fact.name))
        }
    }
}

/// An account as a share of the device's window.
pub(super) fn share(device: &Entity, account: &Fact) -> Option<f64> {
    Some(value(device, account)? / device.int("window_ns").filter(|ns| *ns > 0)? as f64)
}

/// What tells devices apart, where there are several.
pub(super) fn names(devices: &[&Entity]) -> Vec<Option<String>> {
    let name = |device: &&Entity| device.int("number").map(|number| format!("GPU {number}"));
    devices.iter().map(|device| name(device).filter(|_| devices.len() > 1)).collect()
}
