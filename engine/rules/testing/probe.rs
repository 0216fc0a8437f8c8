//! The unit probe: a rule says the same of a program a thousand times slower, or a thousand times larger.

use crate::facts::{FactValue, Unit};

use super::super::budget::Budget;
use super::super::example::judge;
use super::super::library::Library;
use super::super::outcome::{Estimate, Outcome};
use super::super::param_value::ParamValue;
use super::super::params::Params;
use super::super::rule::{Case, FactTable, Given, Rule};
use super::super::vocabulary::UNITS;
use super::is_judged;

const FACTOR: i64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Time,
    Size,
}

#[derive(Debug, Clone, Copy)]
struct Scale {
    quantity: Quantity,
    larger: bool,
}

const SCALES: [Scale; 4] = [
    Scale { quantity: Quantity::Time, larger: true },
    Scale { quantity: Quantity::Time, larger: false },
    Scale { quantity: Quantity::Size, larger: true },
    Scale { quantity: Quantity::Size, larger: false },
];

impl Scale {
    fn name(self) -> &'static str {
        match (self.quantity, self.larger) {
            (Quantity::Time, true) => "all times times 1000",
            (Quantity::Time, false) => "all times divided by 1000",
            (Quantity::Size, true) => "all sizes times 1000",
            (Quantity::Size, false) => "all sizes divided by 1000",
        }
    }

    /// The power of the scale that a unit follows.
    fn power(self, unit: Unit) -> i32 {
        let power = match (self.quantity, unit) {
            (Quantity::Time, Unit::Ns) | (Quantity::Size, Unit::Bytes | Unit::GbPerS) => 1,
            (Quantity::Time, Unit::GbPerS | Unit::PerSecond) => -1,
            _ => 0,
        };
        if self.larger { power } else { -power }
    }

    /// The value a thousand times larger or smaller; none when a whole number would not stay one.
    fn exact(self, value: &FactValue, unit: Unit) -> Option<FactValue> {
        match (value, self.power(unit)) {
            (_, 0) => Some(value.clone()),
            (FactValue::Int(number), 1) => number.checked_mul(FACTOR).map(FactValue::Int),
            (FactValue::Int(number), _) => (number % FACTOR == 0).then_some(FactValue::Int(number / FACTOR)),
            (FactValue::Float(number), power) => Some(FactValue::Float(number * (FACTOR as f64).powi(power))),
            _ => Some(value.clone()),
        }
    }

    fn given(self, given: &Given) -> Option<Given> {
        let members = given.members.iter().map(|(kind, table)| Some((*kind, self.facts(table)?)));
        Some(Given { own: self.facts(&given.own)?, members: members.collect::<Option<_>>()? })
    }

    fn facts(self, table: &FactTable) -> Option<FactTable> {
        let scaled = |unit: Unit, value| self.exact(value, unit);
        table.iter().map(|(fact, value)| Some((*fact, scaled(Unit::of_name(fact.name), value)?))).collect()
    }

    fn params(self, rule: &Rule, case: &Case) -> Params {
        let mut params = Params::default();
        for param in &rule.params {
            let value = case.params.get(&param.name).unwrap_or(&param.default);
            params.set(rule.id(), &param.name, self.param(value, param.unit));
        }
        params
    }

    fn param(self, value: &ParamValue, unit: &str) -> ParamValue {
        let unit = UNITS.into_iter().find(|(name, _)| *name == unit).map_or(Unit::None, |(_, unit)| unit);
        let scaled = match value {
            ParamValue::Int(number) => self.exact(&FactValue::Int(*number), unit),
            ParamValue::Float(number) => self.exact(&FactValue::Float(*number), unit),
            ParamValue::Text(_) | ParamValue::Texts(_) => None,
        };
        match (scaled, value) {
            (Some(FactValue::Int(number)), _) => ParamValue::Int(number),
            (Some(FactValue::Float(number)), _) => ParamValue::Float(number),
            // A threshold need not be a whole number.
            (_, ParamValue::Int(number)) => ParamValue::Float(*number as f64 * (FACTOR as f64).powi(self.power(unit))),
            _ => value.clone(),
        }
    }

    /// Whether an estimate follows the scale, within the rounding of both.
    fn fits(self, before: i64, after: i64) -> bool {
        let factor = (FACTOR as f64).powi(self.power(Unit::Ns));
        let expected = before as f64 * factor;
        (after as f64 - expected).abs() <= factor.max(1.0) + expected.abs() * 1e-9
    }
}

/// What does not hold when a test is rescaled. Scales at which whole numbers would have to be rounded are left out.
pub(super) fn problem(
    library: &Library,
    rule: &Rule,
    (case, facts): (&Case, &Given),
    before: &Outcome,
    budget: &Budget,
) -> Option<String> {
    if !is_judged(case) {
        return None;
    }
    SCALES.into_iter().find_map(|scale| {
        let facts = scale.given(facts)?;
        let after = judge(library, rule, &facts, &scale.params(rule, case), budget);
        difference(scale, before, &after).map(|problem| format!("with {}: {problem}", scale.name()))
    })
}

fn difference(scale: Scale, before: &Outcome, after: &Outcome) -> Option<String> {
    if let Outcome::Failed { message } = after {
        return Some(format!("the rule failed: {message}"));
    }
    if before.name() != after.name() {
        return Some(format!("the outcome turned from {} to {}", before.name(), after.name()));
    }
    let (before, after) = (recoverable_ns(before)?, recoverable_ns(after)?);
    (!scale.fits(before, after)).then(|| format!("the estimate turned from {before} ns to {after} ns"))
}

fn recoverable_ns(outcome: &Outcome) -> Option<i64> {
    match outcome {
        Outcome::Finding(found) => found.estimate.as_ref().map(Estimate::with_beside_ns),
        _ => None,
    }
}
