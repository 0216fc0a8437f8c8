//! How numbers stand against their limits, in words.

use super::budget::Budget;
use super::limit::{Limit, LimitKind, Told};
use super::{Gate, GateOutcome};
use crate::compare::{Change, Interval, Outcome, Time, signed};
use crate::facts::catalogue::Unit;
use crate::rules::outcome::Severity;
use crate::text::{escape, number};

/// A number that a limit holds or does not, with that of the base where it is needed.
#[derive(Debug, Clone)]
pub(super) struct Number {
    /// Which GPU it is of, where there are several.
    pub(super) of: Option<String>,
    pub(super) base: Option<f64>,
    pub(super) head: f64,
    /// Between which bounds the change lies; absent where the runs are too few to tell.
    pub(super) interval: Option<Interval>,
    /// How much of what it is of is told.
    pub(super) told: Told,
    /// Where it lies, whatever is not told; absent where nothing tells that.
    pub(super) open: Option<Open>,
}

/// What a number is at least and at most, on both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) base: [f64; 2],
    pub(super) head: [f64; 2],
}

impl Open {
    /// Whether a limit stands the same way wherever the number lies.
    fn decides(&self, limit: Limit) -> bool {
        let pairs = self.base.iter().flat_map(|base| self.head.iter().map(move |head| (*base, *head)));
        let mut holds = pairs.map(|(base, head)| limit.holds(Some(base), head));
        let first = holds.next();
        // What lies below and above another number may be this very one.
        limit.kind() != LimitKind::Exact && holds.all(|one| Some(one) == first)
    }
}

impl Number {
    /// The base, and what the head lies between by its bounds.
    fn bounds(&self) -> Option<(f64, [f64; 2])> {
        let base = self.base.filter(|base| *base != 0.0)?;
        let Interval { low, high, .. } = self.interval?;
        Some((base, [base + low * base.abs(), base + high * base.abs()]))
    }

    /// A change, as a limit holds it.
    pub(super) fn of_change(change: &Change) -> Self {
        let Change { base, head, interval, .. } = change;
        Self { base: Some(base.median as f64), interval: *interval, ..Self::without_base(None, head.median as f64) }
    }

    /// How a limit stands to it, and what that leaves open: against the base by its bounds, where these are known.
    fn against(&self, limit: Limit) -> (GateOutcome, String) {
        let (outcome, note) = self.measured_against(limit);
        if self.told.decides(limit.kind(), outcome) || self.open.is_some_and(|open| open.decides(limit)) {
            return (outcome, note);
        }
        let why = match self.told {
            Told::WithoutBehind => "steps behind a pause are not in it, and take longer",
            _ => "there may be more: not all that counts is told",
        };
        (GateOutcome::Unknown, format!("{note} ({why})"))
    }

    /// The same, as far as it is told.
    fn measured_against(&self, limit: Limit) -> (GateOutcome, String) {
        match (limit.holds(self.base, self.head), self.bounds()) {
            (None, _) => (GateOutcome::Unknown, " (the base has no such number)".to_owned()),
            (Some(holds), Some((base, heads))) if limit.is_relative() => decided(limit, holds, base, heads),
            (Some(true), _) => (GateOutcome::Passed, String::new()),
            (Some(false), _) => (GateOutcome::Failed, String::new()),
        }
    }

    /// A number without a base.
    pub(super) fn without_base(of: Option<String>, head: f64) -> Self {
        Self { of, base: None, head, interval: None, told: Told::All, open: None }
    }
}

/// The gate of a budget; the worst of its numbers decides. `basis` is the unit that they are counted in.
pub(super) fn of_budget(budget: &Budget, numbers: Result<Vec<Number>, String>, basis: &str) -> Gate {
    let (outcome, says) = match numbers {
        Ok(numbers) => {
            let each: Vec<(GateOutcome, String)> =
                numbers.iter().map(|number| standing(budget, number, basis)).collect();
            let has = |outcome| each.iter().any(|(this, _)| *this == outcome);
            let order = [
                GateOutcome::Failed,
                GateOutcome::Undecided { is_over: true },
                GateOutcome::Unknown,
                GateOutcome::Undecided { is_over: false },
            ];
            let worst = order.into_iter().find(|outcome| has(*outcome));
            let texts: Vec<&str> = each.iter().map(|(_, text)| text.as_str()).collect();
            (worst.unwrap_or(GateOutcome::Passed), format!("{} against a limit of {}", texts.join(", "), budget.text))
        }
        Err(problem) => (GateOutcome::Unknown, problem),
    };
    Gate { name: escape::plain(&budget.name), limit: escape::plain(&budget.text), outcome, says: escape::plain(&says) }
}

fn standing(budget: &Budget, held: &Number, basis: &str) -> (GateOutcome, String) {
    let unit = budget.metric.unit();
    let (outcome, note) = held.against(budget.limit);
    let of = held.of.as_ref().map_or_else(String::new, |of| format!("{of}: "));
    let says = match (budget.limit, held.base) {
        (Limit::Fixed(_, limit), _) => beside(held.head, limit, unit),
        (_, None) => printed(held.head, unit),
        (Limit::By(limit), Some(base)) => {
            after(held.head, base, unit, basis, &beside((held.head - base).abs(), limit.abs(), unit))
        }
        (Limit::ByShare(limit), Some(base)) => {
            let share = if base == 0.0 { 0.0 } else { ((held.head - base) / base).abs() };
            after(held.head, base, unit, basis, &beside(share, limit.abs(), Unit::Share))
        }
    };
    (outcome, format!("{of}{says}{note}"))
}

/// How a limit stands to the bounds that a number of the head lies between: the whole of them, or it is undecided.
fn decided(limit: Limit, is_held: bool, base: f64, heads: [f64; 2]) -> (GateOutcome, String) {
    let [low, high] = heads.map(|head| limit.holds(Some(base), head) == Some(true));
    match (low && high, low || high) {
        (true, _) => (GateOutcome::Passed, String::new()),
        (_, false) => (GateOutcome::Failed, String::new()),
        _ => {
            let bounds = heads.map(|head| signed((head - base) / base.abs()));
            let note = format!(" (the runs leave open {} to {}: record more)", bounds[0], bounds[1]);
            (GateOutcome::Undecided { is_over: !is_held }, note)
        }
    }
}

/// How a time stands to the most that it may grow by, as a share of the base: by the mean, and by the median step. The worse decides.
pub(super) fn of_time(time: &Time, most: f64, outcome: Outcome) -> (GateOutcome, String) {
    let held = |change: &Change| Number::of_change(change).against(Limit::ByShare(most));
    let (by, note) = held(time.told());
    let told = (by, format!("{}{note}", sized(time.told(), outcome)));
    if by != GateOutcome::Passed {
        return told;
    }
    let others =
        [Some(("on average", &time.change)), time.median.as_ref().map(|median| ("in the median step", median))];
    let mut others = others.into_iter().flatten().map(|(which, change)| (which, change, held(change)));
    match others.find(|(_, _, (outcome, _))| *outcome != GateOutcome::Passed) {
        Some((which, change, (by, note))) => {
            let share = number::percent(change.share.unwrap_or(0.0).abs());
            (by, format!("{share} {} {which}{note}", if change.difference > 0 { "more" } else { "less" }))
        }
        None => told,
    }
}

/// Whether a limit holds a change, whatever the runs leave open.
pub(super) fn holds(change: &Change, limit: Limit) -> bool {
    Number::of_change(change).against(limit).0 == GateOutcome::Passed
}

/// `slower by 18 %`, `faster by 3 %`, `no change beyond the noise (0.4 % more)`.
pub(super) fn sized(change: &Change, outcome: Outcome) -> String {
    let share = change.share.map_or_else(|| "more than nothing".to_owned(), |share| number::percent(share.abs()));
    match outcome {
        Outcome::Slower => format!("slower by {share}"),
        Outcome::Faster => format!("faster by {share}"),
        _ if change.difference == 0 => "no change".to_owned(),
        _ => format!("no change beyond the noise ({share} {})", if change.difference > 0 { "more" } else { "less" }),
    }
}

/// `3.5 ms a step after 3.33 ms (5.1 % more)`.
fn after(head: f64, base: f64, unit: Unit, basis: &str, change: &str) -> String {
    let change = match head.total_cmp(&base) {
        std::cmp::Ordering::Equal => "no change".to_owned(),
        _ if base == 0.0 => "more".to_owned(),
        std::cmp::Ordering::Greater => format!("{change} more"),
        std::cmp::Ordering::Less => format!("{change} less"),
    };
    format!("{}{basis} after {} ({change})", printed(head, unit), printed(base, unit))
}

fn printed(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => number::duration(value.round() as i64),
        Unit::Bytes => number::bytes(value.round() as i64),
        // Per unit of work there need not be whole ones.
        Unit::Count if value.abs() < 100.0 && value.fract().abs() > 0.005 => format!("{value:.2}"),
        Unit::Count => number::count(value.round() as i64),
        Unit::Share => number::percent(value),
        Unit::GbPerS => number::gb_per_s(value),
        Unit::PerSecond => number::rate(value),
        Unit::Mhz => format!("{value:.0} MHz"),
        Unit::Number | Unit::Id | Unit::None => format!("{value}"),
    }
}

/// The same, with as many digits as it takes to see on which side of the limit it is.
fn beside(value: f64, limit: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => number::duration_beside(value, limit),
        Unit::Bytes => number::bytes_beside(value, limit),
        Unit::Share => number::share_beside(value, limit),
        // Too seldom limited to be worth words of their own.
        Unit::GbPerS | Unit::PerSecond | Unit::Mhz if printed(value, unit) == printed(limit, unit) => {
            format!("{value} {}", unit.name())
        }
        _ => printed(value, unit),
    }
}

/// The gate of `--fail-on`: passed without any such finding. `what` says what else the findings are; empty for all there
/// are.
pub(super) fn of_findings(least: Severity, titles: &[&str], what: &str) -> Gate {
    let least = least.name();
    let which = |verb: &str| if what.is_empty() { String::new() } else { format!(" {verb} {what}") };
    let (outcome, says) = match titles {
        [] => (GateOutcome::Passed, format!("no finding of severity {least} or above{}", which("is"))),
        [first] => (GateOutcome::Failed, format!("1 finding of severity {least} or above{}: {first}", which("is"))),
        [first, ..] => {
            let count = titles.len();
            let says = format!("{count} findings of severity {least} or above{}, the first: {first}", which("are"));
            (GateOutcome::Failed, says)
        }
    };
    Gate { name: "fail-on".to_owned(), limit: least.to_owned(), outcome, says: escape::plain(&says) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Measure, TimeOf};

    fn change(head: i64, is_change: bool) -> Change {
        let measure = |ns: i64| Measure { median: ns, low: ns, high: ns };
        let share = Some((head - 1_000) as f64 / 1_000.0);
        Change { base: measure(1_000), head: measure(head), difference: head - 1_000, share, interval: None, is_change }
    }

    #[test]
    fn neither_the_mean_nor_the_median_step_may_take_more_than_the_limit() {
        let of = |mean: i64, median: i64| {
            let (change, median) = (change(mean, false), Some(change(median, true)));
            let time = Time {
                of: TimeOf::Step,
                change,
                median,
                slow: None,
                warm_up: None,
                behind: None,
                tail_ns: None,
                lead_ns: None,
            };
            of_time(&time, 0.03, Outcome::NoChange)
        };
        assert_eq!(of(1_046, 940).0, GateOutcome::Failed);
        assert_eq!(of(990, 1_060), (GateOutcome::Failed, "6 % more in the median step".to_owned()));
        assert_eq!(of(1_020, 1_010).0, GateOutcome::Passed);
    }
}
