//! The gate on the verdict of a comparison, and what keeps a time from passing it: what is left out of a side looks like time that it
//! does not take.

use super::Context;
use crate::compare::{Behind, Change, Measure, Outcome, Sides, Trend, WarmUp, WithBehind};
use crate::gates::fail_on::Slower;
use crate::gates::limit::Limit;
use crate::gates::{Gate, GateOutcome, standing};
use crate::text::{escape, number};

/// More of the steps are no warm-up alone.
const WARM_UP_PART: i64 = 4;

impl Context<'_> {
    /// The gate on the verdict: whether the head is slower, or slower by more than it may be.
    pub(super) fn slower(&self, slower: Slower) -> Gate {
        let comparison = self.comparison;
        let time = comparison.time.as_ref().filter(|_| comparison.outcome != Outcome::NotComparable);
        let (outcome, says) = match (time, slower) {
            (None, _) => (GateOutcome::Unknown, "the sides cannot be compared".to_owned()),
            (Some(time), Slower::Verdict) => {
                let says = standing::sized(time.told(), comparison.outcome);
                match comparison.outcome {
                    Outcome::Slower => (GateOutcome::Failed, says),
                    // As large as a change that counts, and the runs leave open whether it is one.
                    _ if time.told().may_be_growth(comparison.noise.floor_share) => {
                        (GateOutcome::Undecided { is_over: true }, says + ": the runs do not tell, record more")
                    }
                    _ => (GateOutcome::Passed, says),
                }
            }
            (Some(time), Slower::By(most)) => standing::of_time(time, most, comparison.outcome),
        };
        // What is left out of a side looks like time that it does not take, and another GPU takes other times.
        let behind = || {
            self.behind(|change| match slower {
                Slower::Verdict => change.trend() != Trend::Up,
                Slower::By(most) => standing::holds(change, Limit::ByShare(most)),
            })
        };
        let open =
            || self.hidden_device().or_else(|| self.longer_steps()).or_else(|| self.long_warm_up()).or_else(behind);
        let (outcome, says) = match self.incomplete().or_else(open) {
            Some(why) if outcome == GateOutcome::Passed => (GateOutcome::Unknown, why),
            _ => (outcome, says),
        };
        let limit = match slower {
            Slower::Verdict => "slower".to_owned(),
            Slower::By(most) => format!("slower={}", number::percent(most)),
        };
        Gate { name: "verdict".to_owned(), limit, outcome, says: escape::plain(&says) }
    }

    /// Why the sides may have run on other GPUs.
    pub(super) fn hidden_device(&self) -> Option<String> {
        let why = "one side alone says what its GPUs are: they may be others than those of the other";
        self.comparison.lacking.hides_device().then(|| why.to_owned())
    }

    /// Why each step may have become slower, where both sides mark steps and those of the head hold more of the work.
    pub(super) fn longer_steps(&self) -> Option<String> {
        let work = &self.comparison.work;
        let Sides { base, head } = work.other_steps.filter(|_| !work.is_said_same)?;
        let is_longer = base as f64 * work.units().head > head as f64 * work.units().base;
        is_longer.then(|| {
            // As many steps as the base takes for the work of the head.
            let base = (base as f64 * work.units().head / work.units().base).round() as i64;
            let [base, head] = [base, head].map(number::count);
            format!("the head does in {head} steps what takes the base {base}: each may take longer")
        })
    }

    /// Why steps that do not count may be more than warm-up.
    pub(super) fn long_warm_up(&self) -> Option<String> {
        let time = self.comparison.time.as_ref()?;
        let Sides { base, head } = time.warm_up?;
        let beyond_ns = |of: WarmUp, step: Measure| of.ns.saturating_sub(of.count.saturating_mul(step.median));
        let is_longer = beyond_ns(head, time.change.head) > beyond_ns(base, time.change.base);
        let is_much = head.count.saturating_mul(WARM_UP_PART) > head.of;
        (is_longer && is_much).then(|| {
            let WarmUp { count, of, .. } = head;
            format!("{count} of the head's {of} steps count as warm-up, and lose more time than those of the base: they may be what became slower")
        })
    }

    /// Why what lies behind or before the steps that count may be what became slower: with steps there the change is not one that may
    /// pass, or all of it takes longer.
    pub(super) fn behind(&self, passes: impl FnOnce(&Change) -> bool) -> Option<String> {
        let time = self.comparison.time.as_ref()?;
        let with_steps = time.behind.and_then(|WithBehind { steps, change }| {
            let Behind { count, of, .. } = steps.head;
            let with = number::duration(change.head.median);
            (change.head.median > change.base.median && !passes(&change)).then(|| {
                format!(
                    "{count} of the head's {of} steps lie behind a pause and do not count: with both a step takes {with}"
                )
            })
        });
        let [base, head] = [time.tail_ns.map(|tail| tail.base), time.tail_ns.map(|tail| tail.head)]
            .map(|ns| number::duration(ns.unwrap_or(0)));
        let tail = || {
            let says =
                format!("what comes behind the last step that counts takes {head} in the head, {base} in the base");
            time.tail_ns.map(|_| says)
        };
        let lead = || {
            let Sides { base, head } = time.lead_ns?.map(number::duration);
            Some(format!(
                "before the steps that count the GPU computes for {head} in the head, for {base} in the base: steps that nothing marks may lie there"
            ))
        };
        with_steps.or_else(tail).or_else(lead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Run, Terms, compare};
    use crate::findings::samples::Sample;
    use crate::gates::{Budgets, Conditions, FailOn, Gates};

    /// A run of twelve steps: the first of them are warm-up, and take so long.
    fn run(warm_up_count: i64, ns: i64) -> Run {
        let mut sample = Sample::default();
        let id = sample.run();
        let device = sample.device(id, 0, "A100", 100_000_000, &[("compute_ns", 100_000_000)]);
        let entity = sample.facts.get_mut(device);
        entity.set("step_name", "step");
        let count = 12 - warm_up_count;
        for (name, value) in [
            ("step_count", count),
            ("step_median_ns", 10_000_000),
            ("steady_ns", count * 10_000_000),
            ("earlier_step_count", warm_up_count),
            ("set_up_ns", 0),
            ("before_steady_ns", ns),
            ("kernel_count", 10 * count),
        ] {
            entity.set(name, value);
        }
        let kernel = sample.facts.add(crate::facts::EntityKind::Kernel, "gpu0/k", &[device, id]);
        let entity = sample.facts.get_mut(kernel);
        entity.set("name", "k");
        entity.set("launch_count", 10 * count);
        entity.set("sum_ns", 100_000_000_i64);
        let review = sample.review();
        Run { name: "run".to_owned(), facts: sample.facts, review }
    }

    #[test]
    fn many_slow_steps_before_the_others_are_no_warm_up_that_a_gate_leaves_out() {
        let mut budgets = Budgets::default();
        budgets.add_pair("step_time=+5%").unwrap();
        let conditions = Conditions {
            fail_on: FailOn::parse("slower").unwrap(),
            budgets,
            allow_unknown: false,
            on_other_work: false,
        };
        let outcomes = |base: Run, head: Run| {
            let (base, head) = ([base], [head]);
            let comparison = compare(&base, &head, Terms::default()).unwrap();
            let gates = Gates::of_comparison(&comparison, Sides { base: &base, head: &head }, &conditions);
            gates.gates.iter().map(|gate| gate.outcome).collect::<Vec<_>>()
        };
        use GateOutcome::{Passed, Unknown};
        assert_eq!(outcomes(run(0, 0), run(4, 900_000_000)), [Unknown, Unknown]);
        assert_eq!(outcomes(run(0, 0), run(2, 900_000_000)), [Passed, Passed], "what a first step compiles");
        assert_eq!(outcomes(run(4, 900_000_000), run(0, 0)), [Passed, Passed]);
        assert_eq!(outcomes(run(4, 900_000_000), run(4, 900_000_000)), [Passed, Passed]);
    }
}
