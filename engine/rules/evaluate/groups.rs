//! Groups of a rule: entities that belong to the one that it is asked about, counted and summed.

use std::collections::BTreeSet;
use std::sync::Arc;

use minijinja::value::Value;

use super::super::context::{Scope, ValueNames, related, table};
use super::super::expr::real;
use super::super::rule::{FactRef, Group};
use super::Judge;
use crate::facts::EntityId;

/// What a group holds so far.
#[derive(Default)]
struct Members {
    count: i64,
    sums: Vec<Sum>,
    largest: Option<(f64, Value)>,
    /// Facts that entities lack without which it cannot be told what is in the group.
    missing: BTreeSet<FactRef>,
}

/// A sum: whole as long as all that is summed is.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    whole: i64,
    real: f64,
    is_real: bool,
}

impl Judge<'_> {
    /// Makes the groups of the rule. The facts that are missing for that, where some are.
    pub(super) fn enter_groups(&self) -> Result<Option<Vec<String>>, String> {
        let groups = &self.rule.code.groups;
        if groups.is_empty() {
            return Ok(None);
        }
        let mut entries = Vec::with_capacity(groups.len());
        let (mut missing, mut longest_text) = (BTreeSet::new(), 0);
        for group in groups {
            let mut members = Members { sums: vec![Sum::default(); group.sums.len()], ..Members::default() };
            // Whatever belongs to it, all of them are looked at.
            self.subject.report.budget.charge(self.subject.report.facts.of_kind(group.each).count() as u64)?;
            for (id, entity) in self.subject.report.facts.of_kind(group.each) {
                if entity.ancestors.contains(&self.subject.id) {
                    self.enter(group, id, &mut members)?;
                }
            }
            missing.append(&mut members.missing);
            let largest = members.largest.as_ref().and_then(|(_, name)| name.as_str());
            longest_text = longest_text.max(largest.map_or(0, str::len));
            entries.push((group.name.as_str().into(), members.into_value(group)));
        }
        if !missing.is_empty() {
            return Ok(Some(missing.iter().map(FactRef::to_string).collect()));
        }
        self.scope.enter_groups(entries, longest_text);
        Ok(None)
    }

    /// Adds an entity to a group where it belongs there.
    fn enter(&self, group: &Group, id: EntityId, members: &mut Members) -> Result<(), String> {
        let related = related(self.subject.report.facts, id);
        let none = Arc::new(ValueNames::new());
        let entities = &self.subject.report.entities;
        let scope = Scope::new(self.rule, &none, self.params, entities, &related, self.subject.report.budget)?;
        let entity = self.subject.report.facts.get(id);
        let lacks = |needs: &[FactRef]| -> Vec<FactRef> {
            needs.iter().copied().filter(|fact| entity.get(fact.name).is_none()).collect()
        };
        if let Some(condition) = &group.condition {
            let lacking = lacks(&group.condition_needs);
            if !lacking.is_empty() {
                members.missing.extend(lacking);
                return Ok(());
            }
            if !scope.holds(condition)? {
                return Ok(());
            }
        }
        let lacking = lacks(&group.needs);
        if !lacking.is_empty() {
            members.missing.extend(lacking);
            return Ok(());
        }
        members.count += 1;
        for (sum, (_, program)) in members.sums.iter_mut().zip(&group.sums) {
            sum.add(&program.value(scope.root(program.steps)?)?)?;
        }
        if let Some(largest) = &group.largest {
            let by = real(&largest.by.value(scope.root(largest.by.steps)?)?).map_err(|error| error.to_string())?;
            if members.largest.as_ref().is_none_or(|(known, _)| by > *known) {
                members.largest = Some((by, largest.name.value(scope.root(largest.name.steps)?)?));
            }
        }
        Ok(())
    }
}

impl Members {
    fn into_value(self, group: &Group) -> Value {
        let sums = group.sums.iter().zip(self.sums).map(|((name, _), sum)| (name.as_str().into(), sum.into_value()));
        let mut entries: Vec<(Box<str>, Value)> = sums.collect();
        entries.push(("count".into(), Value::from(self.count)));
        // Of no members none is the largest, and it has no name.
        let largest = self.largest.map_or_else(|| Value::from(""), |(_, name)| name);
        entries.push(("largest".into(), largest));
        table(entries)
    }
}

impl Sum {
    fn add(&mut self, value: &Value) -> Result<(), String> {
        let number = real(value).map_err(|error| error.to_string())?;
        self.real += number;
        match i64::try_from(value.clone()).ok().filter(|_| value.is_integer()) {
            // No recording adds up to so much: a file that claims to must not end the rule that would find something in it.
            Some(whole) => self.whole = self.whole.saturating_add(whole),
            None => self.is_real = true,
        }
        Ok(())
    }

    fn into_value(self) -> Value {
        if self.is_real { Value::from(self.real) } else { Value::from(self.whole) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::library::tests::load;
    use super::super::super::outcome::Outcome;
    use super::super::super::params::Params;
    use super::super::super::testing;
    use super::super::evaluate;
    use crate::facts::{EntityKind, Facts};

    const RULE: &str = r#"schema = 1
id = "family"
title = "A family of kernels"
for_each = "device"

[params]
names = { default = ["ampere_*", "*gemm*"], unit = "text", doc = "The family." }

[groups.family]
each = "kernel"
where = "matches(kernel.name, params.names)"
sums = { ns = "kernel.attributed_ns", launches = "kernel.launch_count", half_ns = "0.5 * kernel.attributed_ns" }
largest = { by = "kernel.attributed_ns", name = "kernel.name" }

[values]
share = "groups.family.ns / device.window_ns"

[[when]]
expr = "device.window_ns > 0 and groups.family.ns > 0.3 * device.window_ns"
says = "{{ groups.family.count | count }}, {{ groups.family.launches | count }}, {{ values.share | percent }}, {{ groups.family.largest | code }}"

[estimate]
recoverable_ns = "groups.family.half_ns"
claims = "compute"
basis = "A bound."

[confidence]
base = "high"

[message]
summary = "A family."
verify = "Look."

[advice]
default = "Fuse."

[example]
device = { window_ns = 1000, compute_ns = 800 }
kernel = [
  { name = "ampere_a", attributed_ns = 200, launch_count = 2 },
  { name = "my_gemm_b", attributed_ns = 300, launch_count = 3 },
  { name = "other", attributed_ns = 300, launch_count = 1 },
]

[[tests]]
name = "none"
set = { kernel = [] }
expect = { outcome = "pass" }
[[tests]]
name = "how long is not known"
set = { kernel = [{ name = "ampere_a", launch_count = 2 }] }
expect = { outcome = "unknown", missing = ["kernel.attributed_ns"] }
[[tests]]
name = "the others need not be known"
set = { kernel = [{ name = "other" }] }
expect = { outcome = "pass" }
[[tests]]
name = "its name is not known"
set = { kernel = [{ launch_count = 1 }] }
expect = { outcome = "unknown", missing = ["kernel.name"] }
[[tests]]
name = "another family"
params = { names = "oth*" }
expect = { outcome = "pass" }
"#;

    #[test]
    fn groups_count_sum_and_name_what_belongs_to_the_entity() {
        let library = load(&[("rules/kernels/family.toml", RULE)]).unwrap_or_else(|faults| panic!("{faults}"));
        for report in testing::run(&library) {
            assert_eq!(report.problem, None, "{}", report.test);
        }
        let mut facts = Facts::default();
        let run = facts.add(EntityKind::Run, "run", &[]);
        for (key, factor) in [("gpu0", 1), ("gpu1", 0)] {
            let device = facts.add(EntityKind::Device, key, &[run]);
            facts.get_mut(device).set("window_ns", 1000);
            facts.get_mut(device).set("compute_ns", 1000);
            for (name, ns) in [("ampere_a", 150), ("x_gemm", 250), ("other", 500)] {
                let kernel = facts.add(EntityKind::Kernel, format!("{key}/{name}"), &[device, run]);
                facts.get_mut(kernel).set("name", name);
                facts.get_mut(kernel).set("attributed_ns", factor * ns);
                facts.get_mut(kernel).set("launch_count", 2);
            }
        }
        let judgements = evaluate(&library, &facts, &Params::default());
        let Outcome::Finding(found) = &judgements[0].outcome else { panic!("{judgements:?}") };
        assert_eq!(found.evidence[0].plain(), "2, 4, 40 %, x_gemm");
        assert_eq!(found.estimate.as_ref().unwrap().recoverable_ns, 200);
        assert_eq!(judgements[1].outcome, Outcome::Pass, "the kernels of another GPU are not its own");
    }

    fn faults(part: &str, by: &str) -> Vec<String> {
        assert!(RULE.contains(part), "{part}");
        let faults = load(&[("rules/kernels/family.toml", &RULE.replacen(part, by, 1))]).unwrap_err();
        faults.to_string().lines().map(|line| line.replace("rules/kernels/family.toml:", "")).collect()
    }

    #[test]
    fn what_is_wrong_with_a_group_is_said() {
        for (part, by, expected) in [
            (
                "each = \"kernel\"",
                "each = \"device\"",
                "10: entities of the kind `device` do not belong to a `device`: ",
            ),
            (
                "= \"kernel.launch_count\"",
                "= \"kernel.lanch_count\"",
                "12: in `kernel.lanch_count`: `kernel` has no fact",
            ),
            ("= \"kernel.launch_count\"", "= \"kernel.name\"", "12: a sum is of numbers, not of text"),
            ("by = \"kernel.attributed_ns\"", "by = \"kernel.name\"", "13: `by` is a number, not text"),
            ("name = \"kernel.name\" }", "name = \"kernel.launch_count\" }", "13: `name` is a text, not count"),
            ("launches = \"", "count = \"", "12: every group has a `count` of its own"),
            (
                "groups.family.launches",
                "groups.family.lanches",
                "20: in `says`: the group `family` has no `lanches`; did you",
            ),
            (
                "groups.family.launches",
                "groups.famly.launches",
                "20: in `says`: `groups.famly` is not declared in [groups]",
            ),
            ("{{ groups.family.launches | count }}", "", "12: `groups.family.launches` is never used"),
            ("kernel = []", "kernel = {}", "47: `kernel` is of a group: give a list, `[{ … }, …]`"),
            (
                "device = { window_ns = 1000, compute_ns = 800 }",
                "device = [{ window_ns = 1000 }]",
                "38: `device` is one entity",
            ),
            ("launch_count = 1 }]", "lunch_count = 1 }]", "59: `kernel` has no fact `lunch_count`"),
        ] {
            let found = faults(part, by);
            assert!(found.iter().any(|fault| fault.starts_with(expected)), "{by}: {found:#?}");
        }
    }
}
