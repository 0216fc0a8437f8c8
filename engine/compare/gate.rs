//! Gates: what must hold for a change to pass, and whether it does.

use super::budget::{Budget, Budgets, Metric, is_account};
use super::finding::State;
use super::measure::Measure;
use super::side::{Run, Side};
use super::{Comparison, TimeOf};
use crate::facts::catalogue::{Fact, Unit};
use crate::facts::{Entity, FactValue};
use crate::findings::{Gate, GateOutcome};
use crate::rules::outcome::Severity;
use crate::text::{escape, number};

/// Facts that grow with the work that is done, beside the accounts of the window.
const EXTENSIVE: [&str; 22] = [
    "window_ns",
    "busy_ns",
    "kernel_count",
    "kernel_sum_ns",
    "kernel_union_ns",
    "communication_count",
    "communication_sum_ns",
    "graph_launch_count",
    "graph_union_ns",
    "copy_count",
    "copy_bytes",
    "copy_sum_ns",
    "copy_union_ns",
    "pageable_copy_count",
    "pageable_copy_bytes",
    "memset_count",
    "memset_bytes",
    "memset_sum_ns",
    "migration_count",
    "migration_bytes",
    "migration_sum_ns",
    "page_fault_count",
];

/// Evaluates every gate, in order: the one on findings, where asked for, then the budgets.
pub fn gates(comparison: &Comparison, sides: [&[Run]; 2], fail_on: Option<Severity>, budgets: &Budgets) -> Vec<Gate> {
    let context = Context { comparison, sides: sides.map(|runs| Side { runs }), units: comparison.work.units() };
    let findings = fail_on.map(|least| context.fail_on(least));
    findings.into_iter().chain(budgets.iter().map(|budget| context.budget(budget))).collect()
}

struct Context<'a> {
    comparison: &'a Comparison,
    sides: [Side<'a>; 2],
    units: [i64; 2],
}

/// A number on both sides; the base's may be missing.
pub(super) struct Pair {
    pub(super) base: Option<f64>,
    pub(super) head: f64,
    /// Whether the runs of the sides spread so far that they meet.
    pub(super) meet: bool,
}

impl Context<'_> {
    fn fail_on(&self, least: Severity) -> Gate {
        let titles: Vec<&str> = self
            .comparison
            .findings
            .iter()
            .filter(|finding| matches!(finding.state, State::New | State::Worse) && finding.severity >= least)
            .map(|finding| finding.title.as_str())
            .collect();
        let (outcome, says) = match titles.as_slice() {
            [] => (GateOutcome::Passed, format!("no finding of severity {} or above is new or worse", least.name())),
            [first] => (
                GateOutcome::Failed,
                format!("1 finding of severity {} or above is new or worse: {first}", least.name()),
            ),
            [first, ..] => (
                GateOutcome::Failed,
                format!(
                    "{} findings of severity {} or above are new or worse, the first: {first}",
                    titles.len(),
                    least.name()
                ),
            ),
        };
        Gate { name: "fail-on".to_owned(), limit: least.name().to_owned(), outcome, says }
    }

    fn budget(&self, budget: &Budget) -> Gate {
        let (outcome, says) = match self.pairs(budget) {
            Ok(pairs) => judge(budget, &pairs),
            Err(problem) => (GateOutcome::Unknown, problem),
        };
        Gate { name: escape::plain(&budget.name), limit: escape::plain(&budget.text), outcome, says }
    }

    /// The budget's number: one pair, or one a device.
    fn pairs(&self, budget: &Budget) -> Result<Vec<Pair>, String> {
        let is_comparable = self.comparison.work.basis.is_comparable();
        if budget.limit.is_relative() && !is_comparable && !matches!(budget.metric, Metric::Findings(_)) {
            return Err("the two sides cannot be compared".to_owned());
        }
        let pairs = match budget.metric {
            Metric::StepTime => vec![self.step_time()?],
            Metric::WindowTime => vec![self.window_time()?],
            Metric::Findings(state) => vec![Pair { base: None, head: self.count(state) as f64, meet: false }],
            Metric::Sum(fact) => {
                vec![self.pair(fact, &|run| sum(run.devices().iter().map(|(_, device)| value(device, fact))))?]
            }
            Metric::Run(fact) => vec![self.pair(fact, &|run| value(run.entity()?, fact))?],
            Metric::Device(fact) => {
                self.each_device(&|place| self.pair(fact, &|run| value(run.devices().get(place)?.1, fact)))?
            }
            Metric::Share(fact) => self.each_device(&|place| {
                self.pair_of(fact.name, [1, 1], &|run| {
                    let devices = run.devices();
                    let device = devices.get(place)?.1;
                    Some(value(device, fact)? / device.int("window_ns").filter(|ns| *ns > 0)? as f64)
                })
            })?,
        };
        Ok(pairs)
    }

    fn each_device(&self, pair: &dyn Fn(usize) -> Result<Pair, String>) -> Result<Vec<Pair>, String> {
        let count = self.sides[1].first().map_or(0, |run| run.devices().len());
        if count == 0 { Err("the head recorded no GPU work".to_owned()) } else { (0..count).map(pair).collect() }
    }

    fn count(&self, state: State) -> usize {
        let is_meant = |finding: &&super::FindingChange| finding.state == state && finding.severity > Severity::Info;
        self.comparison.findings.iter().filter(is_meant).count()
    }

    fn step_time(&self) -> Result<Pair, String> {
        let time = self.comparison.time.as_ref().filter(|time| time.of == TimeOf::Step);
        let change = time.ok_or("not both sides have steps of the same name")?.change;
        Ok(self.of_measures(change.base, change.head))
    }

    fn window_time(&self) -> Result<Pair, String> {
        let of = |of: fn(&super::DeviceChange) -> Measure| {
            self.comparison
                .devices
                .iter()
                .map(of)
                .max_by_key(|window| window.median)
                .ok_or("a side recorded no GPU work")
        };
        Ok(self.of_measures(of(|device| device.window.base)?, of(|device| device.window.head)?))
    }

    fn of_measures(&self, base: Measure, head: Measure) -> Pair {
        let meet = self.has_spread() && base.low <= head.high && head.low <= base.high;
        Pair { base: Some(base.median as f64), head: head.median as f64, meet }
    }

    fn has_spread(&self) -> bool {
        self.sides.iter().all(|side| side.runs.len() > 1)
    }

    fn pair(&self, fact: &Fact, of: &dyn Fn(&Run) -> Option<f64>) -> Result<Pair, String> {
        let is_extensive = EXTENSIVE.contains(&fact.name) || fact.name.strip_suffix("_ns").is_some_and(is_account);
        self.pair_of(fact.name, if is_extensive { self.units } else { [1, 1] }, of)
    }

    fn pair_of(&self, name: &str, units: [i64; 2], of: &dyn Fn(&Run) -> Option<f64>) -> Result<Pair, String> {
        let values = |side: usize| -> Option<Vec<f64>> {
            let values: Option<Vec<f64>> = self.sides[side].runs.iter().map(of).collect();
            let mut values: Vec<f64> = values?.into_iter().map(|value| value / units[side] as f64).collect();
            values.sort_by(f64::total_cmp);
            Some(values)
        };
        let median = |values: &[f64]| (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
        let (base, head) = (values(0), values(1).ok_or_else(|| format!("the head does not have {name}"))?);
        let meet = match base.as_deref() {
            Some([low, .., high]) if self.has_spread() => *low <= head[head.len() - 1] && head[0] <= *high,
            _ => false,
        };
        Ok(Pair { base: base.map(|values| median(&values)), head: median(&head), meet })
    }
}

/// The worst of the pairs decides.
pub(super) fn judge(budget: &Budget, pairs: &[Pair]) -> (GateOutcome, String) {
    let is_relative = budget.limit.is_relative();
    let mut outcome = GateOutcome::Passed;
    let mut says = Vec::new();
    for pair in pairs {
        let (this, note) = match budget.limit.holds(pair.base, pair.head) {
            None => (GateOutcome::Unknown, ", and the base has no such number"),
            Some(true) => (GateOutcome::Passed, ""),
            Some(false) if is_relative && pair.meet => (GateOutcome::Passed, ", within the spread of the runs"),
            Some(false) => (GateOutcome::Failed, ""),
        };
        let print = |value: f64| printed(value, budget.metric.unit());
        let head = print(pair.head);
        says.push(match pair.base {
            Some(base) if is_relative => format!("{head} after {}{note}", print(base)),
            _ => format!("{head}{note}"),
        });
        outcome = match (outcome, this) {
            (GateOutcome::Failed, _) | (_, GateOutcome::Failed) => GateOutcome::Failed,
            (GateOutcome::Unknown, _) | (_, GateOutcome::Unknown) => GateOutcome::Unknown,
            _ => GateOutcome::Passed,
        };
    }
    (outcome, says.join("; "))
}

fn printed(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => number::duration(value.round() as i64),
        Unit::Bytes => number::bytes(value.round() as i64),
        Unit::Count => number::count(value.round() as i64),
        Unit::Share => number::percent(value),
        Unit::Gbps => number::gbps(value),
        Unit::PerSecond => number::rate(value),
        Unit::Mhz => format!("{value:.0} MHz"),
        Unit::None => format!("{value}"),
    }
}

pub(super) fn sum(mut values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.try_fold(0.0, |sum, value| Some(sum + value?))
}

pub(super) fn value(entity: &Entity, fact: &Fact) -> Option<f64> {
    match entity.get(fact.name)? {
        FactValue::Int(value) => Some(*value as f64),
        FactValue::Float(value) => Some(*value),
        _ => None,
    }
}
