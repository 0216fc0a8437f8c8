//! Numbers of the kernels or ranges whose names fit a pattern: `kernel["flash_*"].mean_ns`.

use super::limit::Told;
use crate::compare::Spread;
use crate::facts::catalogue::{self, Fact, FactType, Scaling};
use crate::facts::{Entity, EntityKind, Facts};
use crate::text::glob::Glob;

/// Kinds of entities that have names worth a budget.
const KINDS: [(&str, EntityKind); 2] = [("kernel", EntityKind::Kernel), ("range", EntityKind::Range)];

/// A fact of all entities of a kind that fit a pattern, taken together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    kind: EntityKind,
    pattern: Glob,
    pub(super) fact: &'static Fact,
}

impl Named {
    /// Reads `kernel["flash_*"].mean_ns`; `None` where that is no such name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (word, kind) =
            KINDS.into_iter().find(|(word, _)| name.strip_prefix(word).is_some_and(|rest| rest.starts_with('[')))?;
        let (quoted, fact) = name.strip_prefix(word)?.strip_prefix('[')?.rsplit_once("].")?;
        let quote = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let pattern = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
        let numbers = catalogue::of_kind(kind).filter(|fact| matches!(fact.kind, FactType::Int | FactType::Float));
        let fact = numbers.filter(|known| known.scaling != Scaling::Incomparable).find(|known| known.name == fact)?;
        (!pattern.is_empty()).then(|| Self { kind, pattern: Glob::new(pattern), fact })
    }

    /// How many `*` its pattern has.
    pub(super) fn star_count(&self) -> usize {
        self.pattern.as_str().matches('*').count()
    }

    /// What it is of, for messages.
    pub(super) fn what(&self) -> String {
        format!("{} that fits `{}`", self.kind.name(), self.pattern.as_str())
    }

    /// The names of the kernels that fit; of ranges none, as no other stands for one.
    pub(super) fn kernels<'a>(&'a self, facts: &'a Facts) -> impl Iterator<Item = &'a str> {
        let is_of_kernels = self.kind == EntityKind::Kernel;
        self.fitting(facts, &[]).filter(move |_| is_of_kernels).map(Entity::name)
    }

    /// Whether a name fits.
    fn fits(&self, name: &str) -> bool {
        self.pattern.matches(name)
    }

    /// How the calls that its number is of spread; `None` where nothing tells that. What is named in `also` fits as well.
    pub(super) fn spread(&self, facts: &Facts, also: &[&str]) -> Option<Spread> {
        let is_of_calls = self.kind == EntityKind::Kernel && matches!(self.fact.name, "mean_ns" | "sum_ns");
        let kernels: Vec<&Entity> = self.fitting(facts, also).filter(|_| is_of_calls).collect();
        let sum = |of: &dyn Fn(&Entity) -> Option<f64>| kernels.iter().map(|kernel| of(kernel)).sum::<Option<f64>>();
        let count = sum(&|kernel| kernel.number("launch_count")).filter(|count| *count > 1.0)?;
        let squares = sum(&|kernel| Some(kernel.number("spread_ns")?.powi(2) * kernel.number("launch_count")?))?;
        Some(Spread {
            count: count as usize,
            mean: sum(&|kernel| kernel.number("sum_ns"))? / count,
            deviation: (squares / count).sqrt(),
            shortest: kernels.iter().filter_map(|kernel| kernel.number("min_ns")).reduce(f64::min)?,
            usual: sum(&|kernel| Some(kernel.number("median_ns")? * kernel.number("launch_count")?))? / count,
        })
    }

    fn fitting<'a>(&'a self, facts: &'a Facts, also: &'a [&'a str]) -> impl Iterator<Item = &'a Entity> {
        let fits = |entity: &&Entity| {
            let name = entity.name();
            let full = entity.text("full_name").filter(|full| *full != name);
            self.fits(name) || full.is_some_and(|full| self.fits(full)) || also.contains(&name)
        };
        facts.of_kind(self.kind).map(|(_, entity)| entity).filter(fits)
    }

    /// How much of what fits a report tells: more kernels and ranges may have run than have facts of their own, and of some that
    /// have a fact may be absent.
    pub(super) fn told(&self, facts: &Facts, also: &[&str]) -> Told {
        let is_told = |entity: &Entity| entity.number(self.fact.name).is_some();
        let is_all = !self.omits(facts) && self.fitting(facts, also).all(is_told);
        match self.fact.name {
            _ if is_all => Told::All,
            "mean_ns" => Told::Part,
            _ => Told::AtLeast,
        }
    }

    /// Whether entities of its kind have no facts of their own.
    fn omits(&self, facts: &Facts) -> bool {
        let count = |entity: &Entity, name: &str| entity.int(name).unwrap_or(0);
        let sum = |kind: EntityKind, name: &str| {
            facts.of_kind(kind).fold(0_i64, |sum, (_, entity)| sum.saturating_add(count(entity, name)))
        };
        // Which kind is omitted is not told; launches that no kernel has are.
        let are_all_launched = || sum(EntityKind::Kernel, "launch_count") >= sum(EntityKind::Device, "kernel_count");
        sum(EntityKind::Device, "omitted_entity_count") > 0 && (self.kind != EntityKind::Kernel || !are_all_launched())
    }

    /// The number of a report: a sum where the fact is one, the mean of all calls for a mean, else the largest. `None` where
    /// nothing fits. What is named in `also` fits as well.
    pub(super) fn of(&self, facts: &Facts, also: &[&str]) -> Option<f64> {
        let all: Vec<&Entity> = self.fitting(facts, also).collect();
        let sum = |name: &str| all.iter().filter_map(|entity| entity.number(name)).reduce(|sum, number| sum + number);
        let count = if self.kind == EntityKind::Kernel { "launch_count" } else { "count" };
        match self.fact.name {
            "mean_ns" => Some(sum("sum_ns")? / sum(count)?.max(1.0)),
            name if self.fact.scaling.is_per_unit() => sum(name),
            name => all.iter().filter_map(|entity| entity.number(name)).reduce(f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::standing::{self, Number};
    use crate::gates::{Budgets, GateOutcome};

    /// Kernels of 10 ms and one launch each, of which two of so many are told.
    fn facts(count: i64) -> Facts {
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        let device = facts.add(EntityKind::Device, "gpu0", &[run]);
        facts.get_mut(device).set("kernel_count", count);
        facts.get_mut(device).set("omitted_entity_count", count - 2);
        for name in ["flash_a", "flash_b"] {
            let kernel = facts.add(EntityKind::Kernel, name, &[device, run]);
            [("launch_count", 1), ("sum_ns", 10_000_000), ("mean_ns", 10_000_000)]
                .iter()
                .for_each(|(name, value)| facts.get_mut(kernel).set(name, *value));
        }
        facts
    }

    fn outcome(budget: &str, count: i64) -> GateOutcome {
        let mut budgets = Budgets::default();
        budgets.add_pair(budget).unwrap();
        let budget = budgets.iter().next().unwrap();
        let named = Named::parse(&budget.name).unwrap();
        let (number, told) = (named.of(&facts(count), &[]).unwrap(), named.told(&facts(count), &[]));
        let number = Number { told, ..Number::without_base(None, number) };
        standing::of_budget(budget, Ok(vec![number]), "").outcome
    }

    #[test]
    fn a_part_of_the_kernels_that_may_fit_keeps_no_limit() {
        use GateOutcome::{Failed, Passed, Unknown};
        for (budget, of_all, of_part) in [
            ("kernel[\"flash_*\"].sum_ns<=30ms", Passed, Unknown),
            ("kernel[\"flash_*\"].sum_ns<=15ms", Failed, Failed),
            ("kernel[\"flash_*\"].sum_ns>=15ms", Passed, Passed),
            ("kernel[\"flash_*\"].sum_ns>=30ms", Failed, Unknown),
            ("kernel[\"flash_*\"].launch_count==2", Passed, Unknown),
            ("kernel[\"flash_*\"].mean_ns<=5ms", Failed, Unknown),
        ] {
            assert_eq!((outcome(budget, 2), outcome(budget, 6_000)), (of_all, of_part), "{budget}");
        }
    }
}
