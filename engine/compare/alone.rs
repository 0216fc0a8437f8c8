//! Gates that one report can be held against without another: limits that are fixed numbers.

use super::State;
use super::budget::{Budget, Budgets, Metric};
use super::gate::{Pair, judge, sum, value};
use super::side::devices_with_work;
use crate::facts::{Entity, EntityKind, Facts};
use crate::findings::{Gate, GateOutcome, Review};
use crate::text::escape;

/// Holds budgets against a report alone, and notes in its review how they stand and which need a base. `new_count` is how
/// many findings a baseline does not know; absent without one.
pub fn review_gates(facts: &Facts, review: &mut Review, budgets: &Budgets, new_count: Option<usize>) {
    let (alone, others): (Vec<&Budget>, Vec<&Budget>) = budgets.iter().partition(|budget| match budget.metric {
        _ if budget.limit.is_relative() => false,
        Metric::Findings(State::New) => new_count.is_some(),
        Metric::Findings(_) => false,
        _ => true,
    });
    review.gates = alone.into_iter().map(|budget| gate(facts, budget, new_count)).collect();
    review.gates_needing_base = others.into_iter().map(|budget| escape::plain(&budget.name)).collect();
}

fn gate(facts: &Facts, budget: &Budget, new_count: Option<usize>) -> Gate {
    let (outcome, says) = match numbers(facts, budget.metric, new_count) {
        Ok(numbers) => {
            let pairs: Vec<Pair> = numbers.into_iter().map(|head| Pair { base: None, head, meet: false }).collect();
            judge(budget, &pairs)
        }
        Err(problem) => (GateOutcome::Unknown, problem),
    };
    Gate { name: escape::plain(&budget.name), limit: escape::plain(&budget.text), outcome, says }
}

/// The budget's number: one, or one a device.
fn numbers(facts: &Facts, metric: Metric, new_count: Option<usize>) -> Result<Vec<f64>, String> {
    let devices: Vec<&Entity> = devices_with_work(facts).into_iter().map(|(_, device)| device).collect();
    let each = |name: &str, of: &dyn Fn(&Entity) -> Option<f64>| -> Result<Vec<f64>, String> {
        if devices.is_empty() {
            return Err("the report holds no GPU work".to_owned());
        }
        let found: Option<Vec<f64>> = devices.iter().map(|device| of(device)).collect();
        found.ok_or_else(|| format!("the report does not have {name}"))
    };
    let slowest = |numbers: Vec<f64>| numbers.into_iter().fold(f64::MIN, f64::max);
    let ns = |name: &'static str| move |device: &Entity| device.int(name).map(|ns| ns as f64);
    match metric {
        Metric::StepTime => each("steps", &ns("step_median_ns")).map(|steps| vec![slowest(steps)]),
        Metric::WindowTime => each("window_ns", &ns("window_ns")).map(|windows| vec![slowest(windows)]),
        Metric::Findings(_) => new_count.map(|count| vec![count as f64]).ok_or_else(|| "there is no base".to_owned()),
        Metric::Sum(fact) => {
            let values = each(fact.name, &|device| value(device, fact))?;
            Ok(sum(values.into_iter().map(Some)).into_iter().collect())
        }
        Metric::Device(fact) => each(fact.name, &|device| value(device, fact)),
        Metric::Share(fact) => {
            each(fact.name, &|device| Some(value(device, fact)? / device.int("window_ns").filter(|ns| *ns > 0)? as f64))
        }
        Metric::Run(fact) => {
            let run = facts.of_kind(EntityKind::Run).next().and_then(|(_, run)| value(run, fact));
            run.map(|value| vec![value]).ok_or_else(|| format!("the report does not have {}", fact.name))
        }
    }
}
