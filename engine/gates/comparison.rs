//! What a comparison is held against: limits against the base, and fixed ones, which are about the head.

use super::budget::{Budget, Metric};
use super::standing::{self, Number};
use super::{Conditions, Gate, review};
use crate::compare::{Basis, Comparison, DeviceChange, FindingChange, Measure, Run, Side, Sides, State, TimeOf};
use crate::facts::catalogue::Scaling;
use crate::rules::outcome::Severity;

/// Every gate, in order: the one on findings, where asked for, then the budgets.
pub(super) fn gates(comparison: &Comparison, runs: Sides<&[&Run]>, conditions: &Conditions) -> Vec<Gate> {
    let context = Context { comparison, runs };
    let findings = conditions.fail_on.least().map(|least| context.fail_on(least));
    findings.into_iter().chain(conditions.budgets.iter().map(|budget| context.budget(budget))).collect()
}

struct Context<'a> {
    comparison: &'a Comparison,
    runs: Sides<&'a [&'a Run]>,
}

impl Context<'_> {
    fn fail_on(&self, least: Severity) -> Gate {
        let is_comparable = self.comparison.work.basis.is_comparable();
        let is_meant =
            |finding: &&FindingChange| matches!(finding.state, State::New | State::Worse) && finding.severity >= least;
        let titles = self.comparison.findings.iter().filter(is_meant).map(|finding| finding.title.as_str());
        // Without a sound unit no finding is better or worse.
        let what = if is_comparable { "new or worse" } else { "new; whether others are worse cannot be told" };
        standing::of_findings(least, &titles.collect::<Vec<_>>(), what)
    }

    fn budget(&self, budget: &Budget) -> Gate {
        let numbers = match budget.metric {
            Metric::Findings(state) => Ok(vec![Number::without_base(None, self.count(state) as f64)]),
            metric if budget.limit.is_relative() => self.against_base(budget, metric),
            metric => self.of_head(metric),
        };
        standing::of_budget(budget, numbers, self.basis(budget))
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
    fn of_head(&self, metric: Metric) -> Result<Vec<Number>, String> {
        let runs = self.runs.head.iter();
        let runs: Vec<Vec<Number>> = runs.map(|run| review::numbers(&run.facts, metric)).collect::<Result<_, _>>()?;
        let Some(first) = runs.first() else { return Err("the head has no runs".to_owned()) };
        let of_runs = |index: usize| runs.iter().filter_map(|run| run.get(index)).map(|number| number.head).collect();
        let medians = first
            .iter()
            .enumerate()
            .map(|(index, number)| Number::without_base(number.of.clone(), Values::new(of_runs(index)).median()));
        Ok(medians.collect())
    }

    /// The numbers of a relative limit: one, or one a device.
    fn against_base(&self, budget: &Budget, metric: Metric) -> Result<Vec<Number>, String> {
        let work = &self.comparison.work;
        if !work.basis.is_comparable() {
            return Err("the two sides cannot be compared".to_owned());
        }
        let scaling = metric.scaling();
        if scaling == Scaling::OneTime && !work.is_same_amount() {
            let name = &budget.name;
            return Err(format!(
                "{name} neither grows with the work nor stays the same, and the sides did not do as much"
            ));
        }
        match metric {
            Metric::StepTime => Ok(vec![self.step_time()?]),
            Metric::WindowTime => Ok(vec![self.window_time()?]),
            Metric::Findings(_) => Err("there is no base".to_owned()),
            Metric::Sum(fact) => {
                let sum = |run: &Run| run.devices().iter().map(|(_, device)| device.number(fact.name)).sum();
                Ok(vec![self.number(fact.name, scaling, None, sum)?])
            }
            Metric::Run(fact) => {
                Ok(vec![self.number(fact.name, scaling, None, |run| run.entity()?.number(fact.name))?])
            }
            Metric::Device(fact) => self.each_device(|index| {
                self.number(fact.name, scaling, Some(index), |run| run.devices().get(index)?.1.number(fact.name))
            }),
            Metric::Share(fact) => self.each_device(|index| {
                self.number(fact.name, scaling, None, |run| review::share(run.devices().get(index)?.1, fact.name))
            }),
        }
    }

    fn each_device(&self, number: impl Fn(usize) -> Result<Number, String>) -> Result<Vec<Number>, String> {
        let devices = self.runs.head.first().map(|run| run.devices()).unwrap_or_default();
        if devices.is_empty() {
            return Err("the head recorded no GPU work".to_owned());
        }
        let names = review::names(&devices.iter().map(|(_, device)| *device).collect::<Vec<_>>());
        names.into_iter().enumerate().map(|(index, of)| Ok(Number { of, ..number(index)? })).collect()
    }

    fn count(&self, state: State) -> usize {
        let is_meant = |finding: &&FindingChange| finding.state == state && finding.severity > Severity::Info;
        self.comparison.findings.iter().filter(is_meant).count()
    }

    fn step_time(&self) -> Result<Number, String> {
        let time = self.comparison.time.as_ref().filter(|time| time.of == TimeOf::Step);
        let change = time.ok_or("not both sides have steps of the same name")?.change;
        Ok(self.of_measures(change.base, change.head))
    }

    fn window_time(&self) -> Result<Number, String> {
        let slowest = |of: fn(&DeviceChange) -> Measure| {
            let windows = self.comparison.devices.iter().map(of);
            windows.max_by_key(|window| window.median).ok_or("a side recorded no GPU work")
        };
        Ok(self.of_measures(slowest(|device| device.window.base)?, slowest(|device| device.window.head)?))
    }

    fn of_measures(&self, base: Measure, head: Measure) -> Number {
        let overlaps = self.has_spread() && base.low <= head.high && head.low <= base.high;
        Number { of: None, base: Some(base.median as f64), head: head.median as f64, overlaps }
    }

    fn has_spread(&self) -> bool {
        self.runs.iter().all(|runs| runs.len() > 1)
    }

    /// A number of both sides; `device` is the one that it is of, absent for all of them.
    fn number(
        &self,
        name: &str,
        scaling: Scaling,
        device: Option<usize>,
        of: impl Fn(&Run) -> Option<f64>,
    ) -> Result<Number, String> {
        let is_per_unit = scaling.is_per_unit();
        let base = self.values(Side::Base, is_per_unit, &of);
        let head = self.values(Side::Head, is_per_unit, &of).ok_or_else(|| format!("the head does not have {name}"))?;
        let overlaps = self.has_spread() && base.as_ref().is_some_and(|base| base.overlaps(&head));
        let number = Number { of: None, base: base.as_ref().map(Values::median), head: head.median(), overlaps };
        Ok(if scaling == Scaling::ExtensiveWithGaps { self.without_gaps(device, number) } else { number })
    }

    fn values(&self, side: Side, is_per_unit: bool, of: &impl Fn(&Run) -> Option<f64>) -> Option<Values> {
        let value = |(index, run): (usize, &&Run)| {
            let units = if is_per_unit { self.comparison.work.units_of(side, index) } else { 1 };
            Some(of(run)? / units as f64)
        };
        let values: Option<Vec<f64>> = self.runs.get(side).iter().enumerate().map(value).collect();
        values.map(Values::new)
    }

    /// Repetitions one after the other have time between them that one alone lacks. As much of it is left out as would
    /// explain what the longer side has more, and no more. `device` is the index of one; absent for all of them.
    fn without_gaps(&self, device: Option<usize>, number: Number) -> Number {
        let Some(base) = number.base else { return number };
        let devices = self.comparison.devices.iter().enumerate();
        let meant = devices.filter(|(index, _)| device.is_none_or(|device| device == *index));
        let gaps: Vec<Sides<i64>> = meant.map(|(_, device)| device.gap_ns).collect();
        let units = self.comparison.work.units();
        let most = |side| gaps.iter().map(|ns| ns.get(side)).sum::<i64>() as f64 / *units.get(side) as f64;
        let head = number.head - (number.head - base).clamp(0.0, most(Side::Head));
        Number { base: Some(base - (base - head).clamp(0.0, most(Side::Base))), head, ..number }
    }
}

/// Values of the runs of a side, in order; never empty, since a side is not.
struct Values(Vec<f64>);

impl Values {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    fn median(&self) -> f64 {
        (self.0[(self.0.len() - 1) / 2] + self.0[self.0.len() / 2]) / 2.0
    }

    fn overlaps(&self, other: &Self) -> bool {
        match (self.0.as_slice(), other.0.as_slice()) {
            ([low, .., high], [first, .., last]) => low <= last && first <= high,
            _ => false,
        }
    }
}
