//! Numbers of the kernels or ranges whose names fit a pattern: `kernel["flash_*"].mean_ns`.

use std::cell::Cell;

use foldhash::{HashMap, HashSet};

use super::limit::Told;
use crate::compare::Spread;
use crate::facts::catalogue::{self, Fact, FactType, Scaling};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::limits::MAX_MATCHED_NAME_BYTES;
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

    /// Whether a name fits.
    fn fits(&self, name: &str) -> bool {
        self.pattern.matches(name)
    }

    /// What of a report fits; `None` where no more names can be looked at.
    pub(super) fn in_report<'a>(&'a self, facts: &'a Facts, names: &Names) -> Option<Fitting<'a>> {
        let mut all = Vec::new();
        for (id, entity) in facts.of_kind(self.kind) {
            let name = entity.name();
            let full = entity.text("full_name").filter(|full| *full != name);
            let fits = |name: &str| names.look_at(&self.pattern, name).then(|| self.fits(name));
            if fits(name)? || full.map_or(Some(false), fits)? {
                all.push((id, entity));
            }
        }
        let untold = self.untold(facts, &all);
        Some(Fitting { named: self, facts, all, untold })
    }

    /// What may fit beyond what is told one by one. On a device that tells a kernel of this very name no other has it.
    fn untold(&self, facts: &Facts, fitting: &[(EntityId, &Entity)]) -> Option<Untold> {
        let fact = if self.kind == EntityKind::Kernel { "omitted_entity_count" } else { "omitted_range_count" };
        let omits = |device: &Entity| device.int(fact).is_some_and(|count| count > 0);
        let devices: Vec<(EntityId, &Entity)> =
            facts.of_kind(EntityKind::Device).filter(|(_, device)| omits(device)).collect();
        if devices.is_empty() {
            return None;
        }
        // Each process has ranges of its own, as has each domain of NVTX, whatever they are called.
        if self.kind != EntityKind::Kernel {
            return Some(Untold::default());
        }
        let device_of = |id: EntityId| facts.related(id, EntityKind::Device);
        let is_one = self.star_count() == 0;
        let named = fitting.iter().filter(|(_, entity)| is_one && entity.name() == self.pattern.as_str());
        let named: HashSet<EntityId> = named.filter_map(|(id, _)| device_of(*id)).collect();
        let mut told: HashMap<EntityId, Untold> = HashMap::default();
        for (id, kernel) in facts.of_kind(self.kind) {
            let Some(device) = device_of(id) else { continue };
            let told = told.entry(device).or_default();
            told.launch_count += kernel.number("launch_count").unwrap_or(0.0);
            told.sum_ns += kernel.number("sum_ns").unwrap_or(0.0);
        }
        let of_device = |(id, device): (EntityId, &Entity)| {
            // Launches that no kernel has; which kind of entities is omitted is not told.
            let told = told.get(&id).copied().unwrap_or_default();
            let left = |all: &str, told: f64| device.number(all).map_or(f64::INFINITY, |all| (all - told).max(0.0));
            let launch_count = left("kernel_count", told.launch_count);
            let sum_ns = left("kernel_sum_ns", told.sum_ns);
            (launch_count > 0.0 && !named.contains(&id)).then_some(Untold { launch_count, sum_ns })
        };
        devices.into_iter().filter_map(of_device).reduce(|all, more| Untold {
            launch_count: all.launch_count + more.launch_count,
            sum_ns: all.sum_ns + more.sum_ns,
        })
    }
}

/// How many bytes of names all patterns together may still be held against.
#[derive(Debug)]
pub(super) struct Names {
    left: Cell<u64>,
}

impl Names {
    /// Why a budget is not known.
    pub(super) const TOO_MANY: &str =
        "the names are too many and too long to be held against so many patterns: fewer budgets by name are needed";
    /// A name that a pattern does not begin like takes no longer to tell than so many bytes.
    const AT_LEAST: u64 = 16;

    pub(super) const fn new() -> Self {
        Self::of(MAX_MATCHED_NAME_BYTES)
    }

    const fn of(bytes: u64) -> Self {
        Self { left: Cell::new(bytes) }
    }

    /// Whether a pattern may be held against another name.
    fn look_at(&self, pattern: &Glob, name: &str) -> bool {
        let searched = if pattern.begins(name) { name.len() + pattern.as_str().len() } else { 0 };
        let left = self.left.get().checked_sub(Self::AT_LEAST + searched as u64);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// The entities of a report that fit a pattern.
pub(super) struct Fitting<'a> {
    named: &'a Named,
    facts: &'a Facts,
    /// In the order of the report.
    all: Vec<(EntityId, &'a Entity)>,
    untold: Option<Untold>,
}

impl<'a> Fitting<'a> {
    /// With those that have one of these names as well.
    pub(super) fn with(mut self, also: &HashSet<&str>) -> Self {
        if !also.is_empty() {
            let own: HashSet<EntityId> = self.all.iter().map(|(id, _)| *id).collect();
            let all = self.facts.of_kind(self.named.kind);
            self.all = all.filter(|(id, entity)| own.contains(id) || also.contains(entity.name())).collect();
        }
        self
    }

    /// The names of the kernels; of ranges none, as no other stands for one.
    pub(super) fn kernels(&self) -> impl Iterator<Item = &'a str> {
        let is_of_kernels = self.named.kind == EntityKind::Kernel;
        self.all.iter().filter(move |_| is_of_kernels).map(|(_, entity)| entity.name())
    }

    fn entities(&self) -> impl Iterator<Item = &'a Entity> {
        self.all.iter().map(|(_, entity)| *entity)
    }

    /// How the calls that its number is of spread; `None` where nothing tells that.
    pub(super) fn spread(&self) -> Option<Spread> {
        let is_of_calls = self.named.kind == EntityKind::Kernel && matches!(self.named.fact.name, "mean_ns" | "sum_ns");
        let kernels: Vec<&Entity> = self.entities().filter(|_| is_of_calls).collect();
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

    /// How much of what fits a report tells: more kernels and ranges may have run than have facts of their own, and of some that
    /// have a fact may be absent.
    pub(super) fn told(&self) -> Told {
        let is_told = |entity: &Entity| entity.number(self.named.fact.name).is_some();
        let is_all = self.untold.is_none() && self.entities().all(is_told);
        match self.named.fact.name {
            _ if is_all => Told::All,
            "mean_ns" => Told::Part,
            _ => Told::AtLeast,
        }
    }

    /// What the number is at least and at most, whatever fits of the kernels that are not told one by one; `None` where nothing tells.
    pub(super) fn bounds(&self) -> Option<[f64; 2]> {
        let sum = |name: &str| self.entities().map(|entity| entity.number(name)).sum::<Option<f64>>();
        let (count, sum_ns) = (sum("launch_count")?, sum("sum_ns")?);
        let more = self.untold.unwrap_or_default();
        match (self.named.kind, self.named.fact.name) {
            (EntityKind::Kernel, "sum_ns") => Some([sum_ns, sum_ns + more.sum_ns]),
            (EntityKind::Kernel, "launch_count") => Some([count, count + more.launch_count]),
            (EntityKind::Kernel, "mean_ns") if count > 0.0 => {
                Some([sum_ns / (count + more.launch_count), (sum_ns + more.sum_ns) / count])
            }
            _ => None,
        }
    }

    /// The number of a report: a sum where the fact is one, the mean of all calls for a mean, else the largest. `None` where
    /// nothing fits.
    pub(super) fn number(&self) -> Option<f64> {
        let of = |name: &'a str| self.entities().filter_map(move |entity| entity.number(name));
        let sum = |name: &'a str| of(name).reduce(|sum, number| sum + number);
        let count = if self.named.kind == EntityKind::Kernel { "launch_count" } else { "count" };
        match self.named.fact.name {
            "mean_ns" => Some(sum("sum_ns")? / sum(count)?.max(1.0)),
            name if self.named.fact.scaling.is_per_unit() => sum(name),
            name => of(name).reduce(f64::max),
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
        let facts = facts(count);
        let fitting = named.in_report(&facts, &Names::new()).unwrap();
        let (number, told) = (fitting.number().unwrap(), fitting.told());
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
            let fitting = named.in_report(&facts, &Names::new()).unwrap();
            let (head, told) = (fitting.number().unwrap(), fitting.told());
            let open = fitting.bounds().map(|head| Open { base: [base; 2], head });
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
        let told = |pattern: &str, omitted: i64| {
            let mut facts = facts(2);
            let [run, device] = [EntityKind::Run, EntityKind::Device].map(|kind| facts.of_kind(kind).next().unwrap().0);
            facts.get_mut(device).set("omitted_range_count", omitted);
            let range = facts.add(EntityKind::Range, "1/load", &[device, run]);
            facts.get_mut(range).set("name", "load");
            facts.get_mut(range).set("sum_ns", 5_i64);
            let named = Named::parse(&format!("range[\"{pattern}\"].sum_ns")).unwrap();
            named.in_report(&facts, &Names::new()).unwrap().told()
        };
        assert_eq!((told("load*", 0), told("load*", 3)), (Told::All, Told::AtLeast));
        // Another process may have one of this name, or another domain.
        assert_eq!((told("load", 0), told("load", 3)), (Told::All, Told::AtLeast));
    }

    #[test]
    fn names_beyond_the_limit_are_not_looked_at() {
        let facts = facts(2);
        let looked_at = |pattern: &str| {
            let named = Named::parse(&format!("kernel[\"{pattern}\"].sum_ns")).unwrap();
            let spent = |bytes: u64| {
                let names = Names::of(bytes);
                named.in_report(&facts, &names).map(|_| bytes - names.left.get())
            };
            let all = spent(1_000).unwrap();
            assert!(spent(all).is_some() && spent(all - 1).is_none(), "{pattern}");
            all
        };
        let mut budgets = Budgets::default();
        budgets.add_pair("kernel[\"*a\"].sum_ns<=30ms").unwrap();
        let budget = budgets.iter().next().unwrap();
        let outcome = |bytes: u64| {
            let numbers = crate::gates::review::numbers(&facts, &budget.metric, &Names::of(bytes));
            standing::of_budget(budget, numbers, "").outcome
        };
        assert_eq!((outcome(50), outcome(49)), (GateOutcome::Passed, GateOutcome::Unknown));
        // Of both names of seven letters.
        assert_eq!(looked_at("*a"), 2 * (16 + 7 + 2));
        assert_eq!(looked_at("flash*"), 2 * (16 + 7 + 6));
        assert_eq!(looked_at("gemm*"), 2 * 16);
    }
}
