//! What a comparison is held against: limits against the base, and fixed ones, which are about the head.

use std::collections::BTreeSet;

use super::budget::{Budget, Metric};
use super::fail_on::Slower;
use super::named::Named;
use super::standing::{self, Number};
use super::{Conditions, Gate, GateOutcome, review};
use crate::compare::{Comparison, FindingChange, Interval, Outcome, Run, Side, Sides, State, Time, TimeOf, median};
use crate::facts::catalogue::Scaling;
use crate::findings::RuleFailure;
use crate::rules::outcome::Severity;
use crate::text::{escape, number};

/// Every gate, in order: the ones on the verdict and on findings, where asked for, then the budgets.
pub(super) fn gates(comparison: &Comparison, runs: Sides<&[&Run]>, conditions: &Conditions) -> Vec<Gate> {
    let context = Context { comparison, runs, on_other_work: conditions.on_other_work };
    let verdict = conditions.fail_on.slower.map(|slower| context.slower(slower));
    let findings = conditions.fail_on.findings.least().map(|least| context.fail_on(least));
    verdict.into_iter().chain(findings).chain(conditions.budgets.iter().map(|budget| context.budget(budget))).collect()
}

struct Context<'a> {
    comparison: &'a Comparison,
    runs: Sides<&'a [&'a Run]>,
    on_other_work: bool,
}

impl Context<'_> {
    /// The gate on the verdict: whether the head is slower, or slower by more than it may be.
    fn slower(&self, slower: Slower) -> Gate {
        let comparison = self.comparison;
        let time = comparison.time.as_ref().filter(|_| comparison.outcome != Outcome::NotComparable);
        let change = time.map(Time::told);
        let (outcome, note) = match (change, slower) {
            (None, _) => (GateOutcome::Unknown, String::new()),
            (Some(_), Slower::Verdict) => {
                let is_slower = comparison.outcome == Outcome::Slower;
                (if is_slower { GateOutcome::Failed } else { GateOutcome::Passed }, String::new())
            }
            (Some(change), Slower::By(most)) => standing::of_change(change, most),
        };
        let says = match change {
            Some(change) => format!("{}{note}", standing::sized(change, comparison.outcome)),
            None => "the sides cannot be compared".to_owned(),
        };
        // What is left out of a side looks like time that it does not take, and another GPU takes other times.
        let hidden = || {
            let why = "one side alone says what its GPUs are: they may be others than those of the other";
            comparison.lacking.hides_device().then(|| why.to_owned())
        };
        let (outcome, says) = match self.incomplete().or_else(hidden) {
            Some(why) if outcome == GateOutcome::Passed => (GateOutcome::Unknown, why),
            _ => (outcome, says),
        };
        let limit = match slower {
            Slower::Verdict => "slower".to_owned(),
            Slower::By(most) => format!("slower={}", number::percent(most)),
        };
        Gate { name: "verdict".to_owned(), limit, outcome, says: escape::plain(&says) }
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
        let lacking = || {
            let events = self.comparison.lacking.head.named()?;
            Some(format!(
                "the head was recorded without {events}, the base with it: what would be found there is not known"
            ))
        };
        let is_meant =
            |finding: &&FindingChange| finding.lacking.is_some() && finding.severity >= least && !finding.is_known;
        let unclear = || {
            let finding = self.comparison.findings.iter().find(is_meant)?;
            let side = finding.lacking?.name();
            Some(format!("the {side} was recorded without what findings rest on, the first: {}", finding.title))
        };
        self.unjudged().or_else(lacking).or_else(unclear).map(|says| escape::plain(&says))
    }

    fn fail_on(&self, least: Severity) -> Gate {
        let is_comparable = self.comparison.work.basis.is_comparable();
        let is_meant =
            |finding: &&FindingChange| finding.state.is_regression() && !finding.is_known && finding.severity >= least;
        let titles = self.comparison.findings.iter().filter(is_meant).map(|finding| finding.title.as_str());
        // Without a sound unit no finding is better or worse.
        let what = if is_comparable { "new or worse" } else { "new; whether others are worse cannot be told" };
        let gate = standing::of_findings(least, &titles.collect::<Vec<_>>(), what);
        if let Some(says) = self.incomplete() {
            return Gate { outcome: GateOutcome::Unknown, says, ..gate };
        }
        // What became faster must not fail for what it uncovered.
        let gate = match (gate.outcome, self.comparison.outcome) {
            (GateOutcome::Failed, Outcome::Faster) => {
                let says = format!("the head is faster, although {}", gate.says);
                Gate { outcome: GateOutcome::Passed, says, ..gate }
            }
            _ => gate,
        };
        // What was found stands; that nothing was, or that it does not matter, does not.
        match (gate.outcome, self.open(least)) {
            (GateOutcome::Passed, Some(says)) => {
                let says = format!("{says} ({})", gate.says);
                Gate { outcome: GateOutcome::Unknown, says: escape::plain(&says), ..gate }
            }
            _ => gate,
        }
    }

    fn budget(&self, budget: &Budget) -> Gate {
        let numbers = match (self.incomplete(), &budget.metric) {
            (Some(why), _) => Err(why),
            (None, Metric::Findings(state)) => match self.open(Severity::Low) {
                Some(why) => Err(why),
                None => Ok(vec![Number::without_base(None, self.count(*state) as f64)]),
            },
            (None, metric) if budget.limit.is_relative() => self.against_base(budget, metric),
            (None, metric) => self.of_head(metric),
        };
        standing::of_budget(budget, numbers, self.basis(budget))
    }

    /// The unit that a relative limit counts in, where that is not the whole.
    fn basis(&self, budget: &Budget) -> &'static str {
        let is_per_unit = budget.limit.is_relative() && budget.metric.scaling().is_per_unit();
        if is_per_unit { self.comparison.work.basis.per() } else { "" }
    }

    /// A fixed limit is about the head as a whole: the number that a review of it alone would have.
    fn of_head(&self, metric: &Metric) -> Result<Vec<Number>, String> {
        let runs = self.runs.head.iter();
        let runs: Vec<Vec<Number>> = runs.map(|run| review::numbers(&run.facts, metric)).collect::<Result<_, _>>()?;
        let Some(first) = runs.first() else { return Err("the head has no runs".to_owned()) };
        let of_runs = |index: usize| -> Vec<f64> {
            runs.iter().filter_map(|run| run.get(index)).map(|number| number.head).collect()
        };
        let medians = first.iter().enumerate().map(|(index, number)| {
            let told = runs.iter().filter_map(|run| run.get(index)).map(|number| number.told).max();
            let middle = Number::without_base(number.of.clone(), median(&of_runs(index)));
            Number { told: told.unwrap_or_default(), ..middle }
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
            Metric::Named(named) => self.named(named, scaling),
        }
    }

    /// What fits a pattern, and in the head what replaced something that fits.
    fn named(&self, named: &Named, scaling: Scaling) -> Result<Vec<Number>, String> {
        // What fits in the base may do so by its full name.
        let olds: BTreeSet<&str> = self.runs.base.iter().flat_map(|run| named.kernels(&run.facts)).collect();
        let pairs = self.comparison.work.replaced.iter().filter(|pair| olds.contains(pair.old.as_str()));
        let replacing: Vec<&str> = pairs.map(|pair| pair.new.as_str()).collect();
        let told = |run: &Run| named.of(&run.facts, &replacing);
        let is_gone = self.runs.head.iter().all(|run| told(run).is_none() && !run.omits_entities())
            && self.runs.base.iter().all(|run| told(run).is_some());
        let name = format!("{} and has {}", named.what(), named.fact.name);
        // Of what is gone there is nothing in all; what one of it would take cannot be told.
        let of = |run: &Run| told(run).or((is_gone && scaling.is_per_unit()).then_some(0.0));
        let number = self.number(&name, scaling, None, of)?;
        let interval = number.interval.or_else(|| self.within_run(named, &replacing, &number));
        let runs = self.runs.base.iter().chain(self.runs.head);
        let told = runs.map(|run| named.told(&run.facts, &replacing)).max().unwrap_or_default();
        Ok(vec![Number { interval, told, ..number }])
    }

    /// With one run a side: between which bounds a change lies, told from how the calls of each differ.
    fn within_run(&self, named: &Named, also: &[&str], number: &Number) -> Option<Interval> {
        let spread = |runs: &[&Run]| named.spread(&runs.first().filter(|_| runs.len() == 1)?.facts, also);
        let Sides { base, head } = self.runs.map(spread).both()?;
        Interval::of_calls(number.head / number.base? - 1.0, base, head)
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
