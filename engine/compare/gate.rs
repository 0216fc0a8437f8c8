//! Gates: what must hold for a change to pass, and whether it does.

use super::alone;
use super::budget::{Budget, Budgets, Metric};
use super::finding::{FindingChange, State};
use super::judge::{self, Pair};
use super::measure::Measure;
use super::side::{Run, Side};
use super::{Basis, Comparison, TimeOf};
use crate::facts::Entity;
use crate::facts::catalogue::{Fact, Scaling};
use crate::findings::Gate;
use crate::rules::outcome::Severity;

/// Evaluates every gate, in order: the one on findings, where asked for, then the budgets.
pub fn gates(comparison: &Comparison, sides: [&[Run]; 2], fail_on: Option<Severity>, budgets: &Budgets) -> Vec<Gate> {
    let context = Context { comparison, sides: sides.map(|runs| Side { runs }) };
    let findings = fail_on.map(|least| context.fail_on(least));
    findings.into_iter().chain(budgets.iter().map(|budget| context.budget(budget))).collect()
}

struct Context<'a> {
    comparison: &'a Comparison,
    sides: [Side<'a>; 2],
}

impl Context<'_> {
    fn fail_on(&self, least: Severity) -> Gate {
        let is_comparable = self.comparison.work.basis.is_comparable();
        let is_meant =
            |finding: &&FindingChange| matches!(finding.state, State::New | State::Worse) && finding.severity >= least;
        let titles = self.comparison.findings.iter().filter(is_meant).map(|finding| finding.title.as_str());
        // Without a sound unit no finding is better or worse.
        let what = if is_comparable { "new or worse" } else { "new; whether others are worse cannot be told" };
        judge::of_findings(least, &titles.collect::<Vec<_>>(), what)
    }

    fn budget(&self, budget: &Budget) -> Gate {
        let pairs = if budget.limit.is_relative() { self.pairs(budget) } else { self.fixed(budget) };
        judge::gate(budget, pairs, self.basis(budget))
    }

    /// The unit that a relative limit counts in, where that is not the whole.
    fn basis(&self, budget: &Budget) -> &'static str {
        let is_per_unit = budget.limit.is_relative() && budget.metric.scaling().is_per_unit();
        match &self.comparison.work.basis {
            Basis::Step { .. } if is_per_unit => " a step",
            Basis::Unit { .. } if is_per_unit => " a unit of work",
            _ => "",
        }
    }

    /// A fixed limit is about the head as a whole: the number that a review of it alone would have.
    fn fixed(&self, budget: &Budget) -> Result<Vec<Pair>, String> {
        if let Metric::Findings(state) = budget.metric {
            return Ok(vec![Pair::alone(None, self.count(state) as f64)]);
        }
        let runs = self.sides[1].runs.iter();
        let runs: Vec<Vec<Pair>> =
            runs.map(|run| alone::numbers(&run.facts, budget.metric)).collect::<Result<_, _>>()?;
        let Some(first) = runs.first() else { return Err("the head has no runs".to_owned()) };
        let of_runs = |place: usize| runs.iter().filter_map(|run| run.get(place)).map(|pair| pair.head).collect();
        let of_place = |(place, pair): (usize, &Pair)| Pair::alone(pair.of.clone(), median(&sorted(of_runs(place))));
        Ok(first.iter().enumerate().map(of_place).collect())
    }

    /// The number of a relative limit: one pair, or one a device.
    fn pairs(&self, budget: &Budget) -> Result<Vec<Pair>, String> {
        let work = &self.comparison.work;
        if let Metric::Findings(state) = budget.metric {
            return Ok(vec![Pair::alone(None, self.count(state) as f64)]);
        }
        if !work.basis.is_comparable() {
            return Err("the two sides cannot be compared".to_owned());
        }
        if budget.metric.scaling() == Scaling::OneTime && !work.is_same_amount() {
            let name = &budget.name;
            return Err(format!(
                "{name} neither grows with the work nor stays the same, and the sides did not do as much"
            ));
        }
        let scaling = budget.metric.scaling();
        let pair = |name: &str, of: &dyn Fn(&Run) -> Option<f64>| self.pair(name, scaling.is_per_unit(), of);
        let without_seams =
            |place, pair| if scaling == Scaling::ExtensiveWithGaps { self.without_seams(place, pair) } else { pair };
        match budget.metric {
            Metric::StepTime => Ok(vec![self.step_time()?]),
            Metric::WindowTime => Ok(vec![self.window_time()?]),
            Metric::Findings(_) => Err("there is no base".to_owned()),
            Metric::Sum(fact) => {
                let sum = |run: &Run| sum(run.devices().iter().map(|(_, device)| value(device, fact)));
                Ok(vec![without_seams(None, pair(fact.name, &sum)?)])
            }
            Metric::Run(fact) => Ok(vec![without_seams(None, pair(fact.name, &|run| value(run.entity()?, fact))?)]),
            Metric::Device(fact) => self.each_device(&|place| {
                let pair = pair(fact.name, &|run| value(run.devices().get(place)?.1, fact))?;
                Ok(without_seams(Some(place), pair))
            }),
            Metric::Share(fact) => {
                self.each_device(&|place| pair(fact.name, &|run| alone::share(run.devices().get(place)?.1, fact)))
            }
        }
    }

    /// Rounds one after the other have time between them that one alone lacks. As much of it is left out as would explain
    /// what the longer side has more, and no more. `place` is that of a device; absent for all of them.
    fn without_seams(&self, place: Option<usize>, pair: Pair) -> Pair {
        let units = self.comparison.work.units();
        let devices = self.comparison.devices.iter().enumerate();
        let meant = devices.filter(|(at, _)| place.is_none_or(|place| place == *at));
        let between: Vec<[i64; 2]> = meant.map(|(_, device)| device.between_rounds_ns).collect();
        let most = |side: usize| between.iter().map(|ns| ns[side]).sum::<i64>() as f64 / units[side] as f64;
        let Some(base) = pair.base else { return pair };
        let head = pair.head - (pair.head - base).clamp(0.0, most(1));
        Pair { base: Some(base - (base - head).clamp(0.0, most(0))), head, ..pair }
    }

    fn each_device(&self, pair: &dyn Fn(usize) -> Result<Pair, String>) -> Result<Vec<Pair>, String> {
        let devices = self.sides[1].first().map(Run::devices).unwrap_or_default();
        if devices.is_empty() {
            return Err("the head recorded no GPU work".to_owned());
        }
        let names = alone::names(&devices.iter().map(|(_, device)| *device).collect::<Vec<_>>());
        names.into_iter().enumerate().map(|(place, of)| Ok(Pair { of, ..pair(place)? })).collect()
    }

    fn count(&self, state: State) -> usize {
        let is_meant = |finding: &&FindingChange| finding.state == state && finding.severity > Severity::Info;
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
        Pair { of: None, base: Some(base.median as f64), head: head.median as f64, meet }
    }

    fn has_spread(&self) -> bool {
        self.sides.iter().all(|side| side.runs.len() > 1)
    }

    fn pair(&self, name: &str, is_per_unit: bool, of: &dyn Fn(&Run) -> Option<f64>) -> Result<Pair, String> {
        let values = |side: usize| -> Option<Vec<f64>> {
            let value = |(place, run): (usize, &Run)| {
                let units = if is_per_unit { self.comparison.work.units_of(side, place) } else { 1 };
                Some(of(run)? / units as f64)
            };
            self.sides[side].runs.iter().enumerate().map(value).collect::<Option<Vec<f64>>>().map(sorted)
        };
        let (base, head) = (values(0), values(1).ok_or_else(|| format!("the head does not have {name}"))?);
        let meet = match base.as_deref() {
            Some([low, .., high]) if self.has_spread() => *low <= head[head.len() - 1] && head[0] <= *high,
            _ => false,
        };
        Ok(Pair { of: None, base: base.as_deref().map(median), head: median(&head), meet })
    }
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Of values in order; never empty, since a side is not.
fn median(values: &[f64]) -> f64 {
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

pub(super) fn sum(mut values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.try_fold(0.0, |sum, value| Some(sum + value?))
}

pub(super) fn value(entity: &Entity, fact: &Fact) -> Option<f64> {
    entity.number(fact.name)
}
