//! Numbers of the kernels or ranges whose names fit a pattern: `kernel["flash_*"].mean_ns`.

use super::limit::Told;
use crate::compare::Spread;
use crate::facts::catalogue::{self, Fact, FactType, Scaling};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::text::glob::Glob;

/// Kinds of entities that have names worth a budget.
const KINDS: [(&str, EntityKind); 2] = [("kernel", EntityKind::Kernel), ("range", EntityKind::Range)];

/// A fact of all entities of a kind that fit a pattern, taken together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    pub(super) kind: EntityKind,
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
        let is_all = self.untold(facts).is_none() && self.fitting(facts, also).all(is_told);
        match self.fact.name {
            _ if is_all => Told::All,
            "mean_ns" => Told::Part,
            _ => Told::AtLeast,
        }
    }

    /// What the number is at least and at most, whatever fits of the kernels that are not told one by one; `None` where nothing tells.
    pub(super) fn bounds(&self, facts: &Facts, also: &[&str]) -> Option<[f64; 2]> {
        let all: Vec<&Entity> = self.fitting(facts, also).collect();
        let sum = |name: &str| all.iter().map(|entity| entity.number(name)).sum::<Option<f64>>();
        let (count, sum_ns) = (sum("launch_count")?, sum("sum_ns")?);
        let more = self.untold(facts).unwrap_or_default();
        match (self.kind, self.fact.name) {
            (EntityKind::Kernel, "sum_ns") => Some([sum_ns, sum_ns + more.sum_ns]),
            (EntityKind::Kernel, "launch_count") => Some([count, count + more.launch_count]),
            (EntityKind::Kernel, "mean_ns") if count > 0.0 => {
                Some([sum_ns / (count + more.launch_count), (sum_ns + more.sum_ns) / count])
            }
            _ => None,
        }
    }

    /// What may fit beyond what is told one by one. On a device that tells a kernel or a range of this very name no other has it.
    fn untold(&self, facts: &Facts) -> Option<Untold> {
        let name = Some(self.pattern.as_str()).filter(|_| self.star_count() == 0);
        let own = |device: EntityId, kind: EntityKind| {
            let all = facts.of_kind(kind);
            all.filter(move |(id, _)| facts.related(*id, EntityKind::Device) == Some(device)).map(|(_, entity)| entity)
        };
        let of_device = |(id, device): (EntityId, &Entity)| {
            if own(id, self.kind).any(|entity| Some(entity.name()) == name) {
                return None;
            }
            if self.kind != EntityKind::Kernel {
                return device.int("omitted_range_count").filter(|count| *count > 0).map(|_| Untold::default());
            }
            // Launches that no kernel has; which kind of entities is omitted is not told.
            device.int("omitted_entity_count").filter(|count| *count > 0)?;
            let left = |all: &str, of: &str| {
                let told: f64 = own(id, self.kind).filter_map(|kernel| kernel.number(of)).sum();
                Some((device.number(all)? - told).max(0.0))
            };
            let launch_count = left("kernel_count", "launch_count").unwrap_or(f64::INFINITY);
            let sum_ns = left("kernel_sum_ns", "sum_ns").unwrap_or(f64::INFINITY);
            (launch_count > 0.0).then_some(Untold { launch_count, sum_ns })
        };
        let each = facts.of_kind(EntityKind::Device).filter_map(of_device);
        each.reduce(|all, more| Untold {
            launch_count: all.launch_count + more.launch_count,
            sum_ns: all.sum_ns + more.sum_ns,
        })
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

/// Launches that have no facts of their own, and their time.
#[derive(Debug, Clone, Copy, Default)]
struct Untold {
    launch_count: f64,
    sum_ns: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::standing::{self, Number, Open};
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

    #[test]
    fn what_little_is_not_told_moves_a_number_by_no_more() {
        use GateOutcome::{Failed, Passed, Unknown};
        let mut facts = facts(12);
        let device = facts.of_kind(EntityKind::Device).next().unwrap().0;
        facts.get_mut(device).set("kernel_sum_ns", 20_100_000);
        let outcome = |budget: &str, base: f64| {
            let mut budgets = Budgets::default();
            budgets.add_pair(budget).unwrap();
            let budget = budgets.iter().next().unwrap();
            let named = Named::parse(&budget.name).unwrap();
            let (head, told) = (named.of(&facts, &[]).unwrap(), named.told(&facts, &[]));
            let open = named.bounds(&facts, &[]).map(|head| Open { base: [base; 2], head });
            let number = Number { told, open, base: Some(base), ..Number::without_base(None, head) };
            standing::of_budget(budget, Ok(vec![number]), "").outcome
        };
        for (budget, base, expected) in [
            ("kernel[\"flash_*\"].sum_ns<=21ms", 0.0, Passed),
            ("kernel[\"flash_*\"].sum_ns<=20.05ms", 0.0, Unknown),
            ("kernel[\"flash_*\"].sum_ns=+5%", 2e7, Passed),
            ("kernel[\"flash_*\"].sum_ns=+5%", 1.91e7, Unknown),
            ("kernel[\"flash_*\"].sum_ns=+5%", 1e7, Failed),
            ("kernel[\"flash_*\"].launch_count<=12", 0.0, Passed),
            ("kernel[\"flash_*\"].launch_count<=11", 0.0, Unknown),
            ("kernel[\"flash_*\"].mean_ns<=11ms", 0.0, Passed),
            ("kernel[\"flash_a\"].sum_ns<=10ms", 0.0, Passed),
            ("kernel[\"flash_*\"].mean_ns<=10ms", 0.0, Unknown),
        ] {
            assert_eq!(outcome(budget, base), expected, "{budget}");
        }
    }

    #[test]
    fn ranges_beyond_those_that_are_told_may_fit() {
        let told = |omitted: i64| {
            let mut facts = facts(2);
            let device = facts.of_kind(EntityKind::Device).next().unwrap().0;
            facts.get_mut(device).set("omitted_range_count", omitted);
            Named::parse("range[\"load*\"].sum_ns").unwrap().told(&facts, &[])
        };
        assert_eq!((told(0), told(3)), (Told::All, Told::AtLeast));
    }
}
