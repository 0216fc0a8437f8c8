//! What a comparison is held against: limits against the base, and fixed ones, which are about the head.

mod verdict;

use foldhash::HashSet;

use super::budget::{Budget, Metric};
use super::limit::Told;
use super::named::{Fitting, Named, Names};
use super::standing::{self, Number, Open};
use super::{Conditions, Gate, GateOutcome, review};
use crate::compare::{
    Basis, Change, Comparison, FindingChange, Interval, Outcome, Run, Side, Sides, State, TimeOf, Trend, median,
};
use crate::facts::EntityKind;
use crate::facts::catalogue::{Scaling, Unit};
use crate::findings::RuleFailure;
use crate::rules::outcome::Severity;
use crate::text::escape;

/// Every gate, in order: the ones on the verdict and on findings, where asked for, then the budgets.
pub(super) fn gates(comparison: &Comparison, runs: Sides<&[&Run]>, conditions: &Conditions) -> Vec<Gate> {
    let context = Context { names: Names::new(), comparison, runs, on_other_work: conditions.on_other_work };
    let verdict = conditions.fail_on.slower.map(|slower| context.slower(slower));
    let findings = conditions.fail_on.findings.least().map(|least| context.fail_on(least));
    verdict.into_iter().chain(findings).chain(conditions.budgets.iter().map(|budget| context.budget(budget))).collect()
}

/// Why nothing is known of kernels.
const HIDDEN: &str =
    "more kernels of one side than of the other run in graphs that are recorded as a whole, and are not told";

/// A gate that passes, where something says that it need not, is unknown.
fn if_known(gate: Gate, why_not: impl FnOnce() -> Option<String>) -> Gate {
    let why = if gate.outcome == GateOutcome::Passed { why_not() } else { None };
    match why {
        Some(says) => {
            let says = escape::plain(&format!("{says} ({})", gate.says));
            Gate { outcome: GateOutcome::Unknown, says, ..gate }
        }
        None => gate,
    }
}

/// With one run a side: between which bounds a change lies, told from how the calls of each differ.
fn within_run(fitting: &Sides<Vec<Fitting<'_>>>, number: &Number) -> Option<Interval> {
    let spread = |runs: &Vec<Fitting<'_>>| runs.first().filter(|_| runs.len() == 1)?.spread();
    let Sides { base, head } = fitting.each_ref().map(spread).both()?;
    Interval::of_calls(number.head / number.base? - 1.0, base, head)
}

struct Context<'a> {
    names: Names,
    comparison: &'a Comparison,
    runs: Sides<&'a [&'a Run]>,
    on_other_work: bool,
}

impl<'a> Context<'a> {
    /// The same of a limit of time against the base.
    fn behind_of(&self, budget: &Budget) -> Option<String> {
        let is_time = budget.limit.is_relative() && budget.metric.unit() == Unit::Ns;
        let is_step = budget.metric == Metric::StepTime;
        let passes = |change: &Change| match is_step {
            true => standing::holds(change, budget.limit),
            // Of other times nothing tells how much of them lies there.
            false => change.trend() != Trend::Up,
        };
        // What is not of a phase or a step holds what lies behind it.
        if is_time && (is_step || self.is_of_phase()) { self.behind(passes) } else { None }
    }

    /// Why no number is that of the programs, where a side lacks some of its work.
    fn incomplete(&self) -> Option<String> {
        self.runs.base.iter().chain(self.runs.head).find_map(|run| review::incomplete(&run.facts))
    }

    /// Which rules went wrong on a run, or were not asked to the end: what they would find there is not known. A rule of the user's
    /// own that meets a report that it was not made for is told elsewhere.
    fn unjudged(&self) -> Option<String> {
        let errors: Vec<&RuleFailure> =
            self.runs.base.iter().chain(self.runs.head).flat_map(|run| &run.review.errors).collect();
        review::unjudged(&errors)
    }

    /// Why it is not known what became of findings of at least this severity: rules went wrong, the head was recorded without what
    /// rules look at in the base, or one side alone was recorded with what a finding rests on.
    fn open(&self, least: Severity) -> Option<String> {
        let lacking = || self.comparison.lacking.head.open(Side::Head);
        let is_comparable = self.comparison.work.basis.is_comparable();
        let is_unclear = |finding: &FindingChange| {
            is_comparable && finding.is_in_head && finding.state == State::Unclear && !finding.is_settled
        };
        let is_meant = |finding: &&FindingChange| {
            (finding.lacking.is_some() || is_unclear(finding)) && finding.severity >= least && !finding.is_known
        };
        let unclear = || {
            let finding = self.comparison.findings.iter().find(is_meant)?;
            let Some(side) = finding.lacking.map(Side::name) else {
                return Some(format!("whether findings are new or worse cannot be told, the first: {}", finding.title));
            };
            Some(format!("the {side} was recorded without what findings rest on, the first: {}", finding.title))
        };
        self.unjudged().or_else(lacking).or_else(unclear).map(|says| escape::plain(&says))
    }

    fn fail_on(&self, least: Severity) -> Gate {
        let is_comparable = self.comparison.work.basis.is_comparable();
        let is_meant =
            |finding: &&FindingChange| finding.state.is_regression() && !finding.is_known && finding.severity >= least;
        let found = || self.comparison.findings.iter().filter(is_meant);
        let titles = found().map(|finding| finding.title.as_str());
        // Without a sound unit no finding is better or worse.
        let what = if is_comparable { "new or worse" } else { "new; whether others are worse cannot be told" };
        let gate = standing::of_findings(least, &titles.collect::<Vec<_>>(), what);
        // That a program failed is so whatever else is not known.
        let has_failed = found().any(|finding| finding.tells_of_failure);
        if let Some(says) = self.incomplete().filter(|_| !has_failed) {
            return Gate { outcome: GateOutcome::Unknown, says, ..gate };
        }
        // What became faster must not fail for what it uncovered.
        let is_failed = gate.outcome == GateOutcome::Failed && !has_failed;
        let is_exempt = is_failed && self.comparison.outcome == Outcome::Faster;
        let gate = match is_exempt {
            true => {
                let says = format!("the head is faster, although {}", gate.says);
                Gate { outcome: GateOutcome::Passed, says, ..gate }
            }
            false => gate,
        };
        // What was found stands; that nothing was, or that it does not matter, does not.
        let behind = || self.behind(|change| change.trend() == Trend::Down);
        let may_be_slower = || {
            self.hidden_device()
                .or_else(|| self.longer_steps())
                .or_else(|| self.long_warm_up())
                .or_else(behind)
                .filter(|_| is_exempt)
        };
        if_known(gate, || self.open(least).or_else(may_be_slower))
    }

    fn budget(&self, budget: &Budget) -> Gate {
        let numbers = match (self.incomplete(), &budget.metric) {
            (Some(why), _) => Err(why),
            (None, Metric::Findings(state)) => match self.open(Severity::Low) {
                Some(why) => Err(why),
                None => {
                    // Rules that find more than is told of one may find more of any state.
                    let mut reviews = self.runs.head.iter().map(|run| &run.review);
                    let is_part = reviews.any(|review| !review.full_rules.is_empty());
                    let told = if is_part { Told::AtLeast } else { Told::All };
                    Ok(vec![Number { told, ..Number::without_base(None, self.count(*state) as f64) }])
                }
            },
            (None, metric) if budget.limit.is_relative() => self.against_base(budget, metric),
            (None, metric) => self.of_head(metric),
        };
        let gate = standing::of_budget(budget, numbers, self.basis(budget));
        let is_of_steps = budget.metric == Metric::StepTime && budget.limit.is_relative();
        if_known(gate, || self.long_warm_up().filter(|_| is_of_steps).or_else(|| self.behind_of(budget)))
    }

    /// The unit that a relative limit counts in, where that is not the whole.
    fn basis(&self, budget: &Budget) -> &'static str {
        let is_per_unit = budget.limit.is_relative() && budget.metric.scaling().is_per_unit();
        if is_per_unit { self.comparison.work.basis.per() } else { "" }
    }

    /// A fixed limit is about the head as a whole: the number that a review of it alone would have.
    fn of_head(&self, metric: &Metric) -> Result<Vec<Number>, String> {
        let runs = self.runs.head.iter();
        let runs: Vec<Vec<Number>> =
            runs.map(|run| review::numbers(&run.facts, metric, &self.names)).collect::<Result<_, _>>()?;
        let Some(first) = runs.first() else { return Err("the head has no runs".to_owned()) };
        let of_runs = |index: usize| -> Vec<f64> {
            runs.iter().filter_map(|run| run.get(index)).map(|number| number.head).collect()
        };
        let medians = first.iter().enumerate().map(|(index, number)| {
            let told = runs.iter().filter_map(|run| run.get(index)).map(|number| number.told).max();
            let middle = Number::without_base(number.of.clone(), median(&of_runs(index)));
            let opens: Option<Vec<Open>> = runs.iter().map(|run| run.get(index)?.open).collect();
            let open = opens.map(|opens| {
                let bound = |end: usize| median(&opens.iter().map(|open| open.head[end]).collect::<Vec<_>>());
                Open { base: [0.0; 2], head: [bound(0), bound(1)] }
            });
            Number { told: told.unwrap_or_default(), open, ..middle }
        });
        Ok(medians.collect())
    }

    /// The numbers of a relative limit: one, or one a device.
    fn against_base(&self, budget: &Budget, metric: &Metric) -> Result<Vec<Number>, String> {
        let work = &self.comparison.work;
        if !work.basis.is_comparable() && !self.on_other_work {
            return Err("the two sides cannot be compared".to_owned());
        }
        if metric.is_of_idle_activity() && !self.comparison.lacking.splits_idle_alike() {
            return Err("one side was recorded without what tells idle time apart in the other".to_owned());
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
            Metric::Sum(fact) | Metric::Device(fact)
                if work.hides_kernels.any() && fact.name.starts_with("kernel_") =>
            {
                Err(HIDDEN.to_owned())
            }
            Metric::Sum(fact) => {
                let sum = |run: &Run| run.devices().iter().map(|(_, device)| device.number(fact.name)).sum();
                Ok(vec![self.number(fact.name, scaling, None, sum)?])
            }
            Metric::Run(_) if scaling.is_per_unit() && self.is_of_phase() => {
                Err("facts of the run are of the whole recording, and the steps of its steady state".to_owned())
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
            Metric::Named(named) => self.named(named, scaling),
        }
    }

    /// Whether amounts are counted by the steps of a phase.
    fn is_of_phase(&self) -> bool {
        let runs = self.runs.base.iter().chain(self.runs.head);
        let is_phase = |run: &&Run| run.devices().iter().any(|(_, device)| device.get("phase").is_some());
        matches!(self.comparison.work.basis, Basis::Step { .. }) && runs.copied().any(|run| is_phase(&run))
    }

    /// What fits a pattern, and in the head what replaced something that fits.
    fn named(&self, named: &'a Named, scaling: Scaling) -> Result<Vec<Number>, String> {
        if self.comparison.work.hides_kernels.any() && named.kind == EntityKind::Kernel {
            return Err(HIDDEN.to_owned());
        }
        let in_runs = |runs: &'a [&'a Run]| -> Option<Vec<Fitting<'a>>> {
            runs.iter().map(|run| named.in_report(&run.facts, &self.names)).collect()
        };
        let fitting = self.runs.map(in_runs).both();
        let fitting = fitting.ok_or(Names::TOO_MANY)?;
        // What fits in the base may do so by its full name.
        let olds: HashSet<&str> = fitting.base.iter().flat_map(Fitting::kernels).collect();
        let pairs = self.comparison.work.replaced.iter().filter(|pair| olds.contains(pair.old.as_str()));
        let replacing: HashSet<&str> = pairs.map(|pair| pair.new.as_str()).collect();
        let fitting = fitting.map(|runs| runs.into_iter().map(|fitting| fitting.with(&replacing)).collect::<Vec<_>>());
        let all = || self.runs.iter().copied().flatten().zip(fitting.iter().flatten());
        let of_run = |run: &Run| all().find(|(known, _)| std::ptr::eq(**known, run)).map(|(_, fitting)| fitting);
        let told = |run: &Run| of_run(run)?.number();
        let is_gone = self.runs.head.iter().all(|run| told(run).is_none() && !run.omits(named.kind))
            && self.runs.base.iter().all(|run| told(run).is_some());
        let name = format!("{} and has {}", named.what(), named.fact.name);
        // Of what is gone there is nothing in all; what one of it would take cannot be told.
        let of = |run: &Run| told(run).or((is_gone && scaling.is_per_unit()).then_some(0.0));
        let number = self.number(&name, scaling, None, of)?;
        let interval = number.interval.or_else(|| within_run(&fitting, &number));
        let told = fitting.iter().flatten().map(Fitting::told).max().unwrap_or_default();
        let bound = |end: usize| {
            let of = |run: &Run| of_run(run)?.bounds().map(|bounds| bounds[end]);
            let values = Sides::of(|side| self.values(side, scaling.is_per_unit(), &of)).both()?;
            Some(values.map(|values| median(&values)))
        };
        let ends = bound(0).zip(bound(1));
        let open = ends.map(|(low, high)| Open { base: [low.base, high.base], head: [low.head, high.head] });
        Ok(vec![Number { interval, told, open, ..number }])
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
        let is_known = |finding: &FindingChange| finding.is_known && state == State::New;
        let is_meant = |finding: &&FindingChange| {
            finding.state == state && finding.severity > Severity::Info && !is_known(finding)
        };
        self.comparison.findings.iter().filter(is_meant).count()
    }

    fn step_time(&self) -> Result<Number, String> {
        let time = self.comparison.time.as_ref().filter(|time| time.of == TimeOf::Step);
        Ok(Number::of_change(&time.ok_or("not both sides have steps of the same name")?.change))
    }

    fn window_time(&self) -> Result<Number, String> {
        let slowest = self.comparison.slowest_window();
        Ok(Number::of_change(&slowest.ok_or("a side recorded no GPU work")?))
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
        let interval = base.as_ref().and_then(|base| Interval::of(base, &head));
        let number =
            Number { base: base.as_deref().map(median), interval, ..Number::without_base(None, median(&head)) };
        Ok(if scaling == Scaling::ExtensiveWithGaps { self.without_gaps(device, number) } else { number })
    }

    fn values(&self, side: Side, is_per_unit: bool, of: &impl Fn(&Run) -> Option<f64>) -> Option<Vec<f64>> {
        let value = |(index, run): (usize, &&Run)| {
            let units = if is_per_unit { self.comparison.work.units_of(side, index) } else { 1.0 };
            Some(of(run)? / units)
        };
        self.runs.get(side).iter().enumerate().map(value).collect()
    }

    /// Repetitions one after the other have time between them that one alone lacks. As much of it is left out as would
    /// explain what the longer side has more, and no more. `device` is the index of one; absent for all of them.
    fn without_gaps(&self, device: Option<usize>, number: Number) -> Number {
        let Some(base) = number.base else { return number };
        let devices = self.comparison.devices.iter().enumerate();
        let meant = devices.filter(|(index, _)| device.is_none_or(|device| device == *index));
        let gaps: Vec<Sides<i64>> = meant.map(|(_, device)| device.gap_ns).collect();
        let units = self.comparison.work.units();
        let most = |side| gaps.iter().map(|ns| ns.get(side)).sum::<i64>() as f64 / *units.get(side);
        let head = number.head - (number.head - base).clamp(0.0, most(Side::Head));
        Number { base: Some(base - (base - head).clamp(0.0, most(Side::Base))), head, ..number }
    }
}
