//! One side of a comparison: one report, or several runs of the same program.

use std::collections::BTreeMap;

use super::measure::{Measure, Values};
use crate::facts::{Entity, EntityId, EntityKind, Facts};
use crate::findings::Review;

/// One run: its facts, and what the rules said of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The name of its file, without the folder.
    pub name: String,
    /// Its facts.
    pub facts: Facts,
    /// Their review.
    pub review: Review,
}

impl Run {
    /// Lets go of what no comparison looks at. Of many runs it would fill memory.
    pub(crate) fn forget_what_is_not_compared(&mut self) {
        self.review.forget_words();
        self.facts.forget(|entity| {
            matches!(
                entity.kind,
                EntityKind::Process
                    | EntityKind::Stream
                    | EntityKind::LaunchShape
                    | EntityKind::SyncGroup
                    | EntityKind::Phase
            )
        });
    }

    /// Bytes of memory that it takes, about.
    pub(crate) fn byte_count(&self) -> usize {
        self.facts.byte_count() + self.review.byte_count()
    }

    pub(crate) fn entity(&self) -> Option<&Entity> {
        self.facts.run()
    }

    /// The GPUs that ran work, by number: the n-th of one side is compared with the n-th of the other, whatever their
    /// numbers.
    pub(crate) fn devices(&self) -> Vec<(EntityId, &Entity)> {
        devices_with_work(&self.facts)
    }

    /// Whether entities of a kind have no facts of their own, as there are more than are told: one that is not found need not be gone.
    pub(crate) fn omits(&self, kind: EntityKind) -> bool {
        let fact = if kind == EntityKind::Range { "omitted_range_count" } else { "omitted_entity_count" };
        let omits = |entity: &Entity| int(entity, fact) > 0;
        // Of a page of Nsight Compute the run tells it.
        let is_of_run = kind != EntityKind::Range && self.entity().is_some_and(omits);
        is_of_run || self.devices().iter().any(|(_, device)| omits(device))
    }

    /// The sum of a fact over the devices.
    pub(super) fn sum(&self, fact: &str) -> i64 {
        self.devices().iter().map(|(_, device)| int(device, fact)).fold(0, i64::saturating_add)
    }

    /// What the run repeats, when every device does.
    pub(super) fn step_name(&self) -> Option<&str> {
        let devices = self.devices();
        let mut names = devices.iter().map(|(_, device)| device.text("step_name"));
        let first = names.next().flatten()?;
        names.all(|name| name == Some(first)).then_some(first)
    }
}

/// The runs of one side; never empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) runs: &'a [&'a Run],
}

impl<'a> Runs<'a> {
    pub(super) fn first(self) -> Option<&'a Run> {
        self.runs.first().copied()
    }

    /// A number of every run; `None` when a run lacks it.
    pub(super) fn values(self, of: impl Fn(&Run) -> Option<i64>) -> Option<Values> {
        let values: Option<Vec<i64>> = self.runs.iter().map(|run| of(run)).collect();
        Values::of(values?)
    }

    /// The same, in short.
    pub(super) fn measure(self, of: impl Fn(&Run) -> Option<i64>) -> Option<Measure> {
        self.values(of).map(|values| values.measure())
    }

    pub(super) fn median(self, of: impl Fn(&Run) -> i64) -> i64 {
        self.measure(|run| Some(of(run))).map_or(0, |measure| measure.median)
    }
}

/// By number.
pub(crate) fn devices_with_work(facts: &Facts) -> Vec<(EntityId, &Entity)> {
    let mut devices = facts.devices();
    devices.retain(|(_, device)| int(device, "window_ns") > 0);
    devices
}

pub(super) fn int(entity: &Entity, fact: &str) -> i64 {
    entity.int(fact).unwrap_or(0)
}

pub(super) fn name_of(entity: &Entity) -> &str {
    entity.name()
}

/// The names that at least half of the runs of a side have: of any other the middle run has nothing. Where runs have names of their
/// own, looking for each name in every run would take as long as there are names times runs.
pub(super) fn in_half<T>(runs: &[BTreeMap<String, T>]) -> impl Iterator<Item = &str> {
    let mut held: BTreeMap<&str, usize> = BTreeMap::new();
    for name in runs.iter().flat_map(BTreeMap::keys) {
        *held.entry(name).or_default() += 1;
    }
    let least = runs.len().div_ceil(2);
    held.into_iter().filter(move |(_, count)| *count >= least).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_middle_run_lacks_are_not_looked_for() {
        let run = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 1)).collect::<BTreeMap<String, i64>>();
        let told = |runs: &[BTreeMap<String, i64>]| in_half(runs).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(told(&[run(&["a", "b"])]), ["a", "b"]);
        assert_eq!(told(&[run(&["a", "b"]), run(&["a", "c"])]), ["a", "b", "c"], "half of two is one");
        assert_eq!(told(&[run(&["a", "b"]), run(&["a", "c"]), run(&["b", "d"])]), ["a", "b"]);
        // Two hundred runs of two names of their own each.
        let own = |number: usize| run(&["all", &format!("own {number}"), &format!("more {number}")]);
        let many: Vec<_> = (0..200).map(own).collect();
        assert_eq!(told(&many), ["all"]);
        for name in many.iter().flat_map(BTreeMap::keys).filter(|name| *name != "all") {
            let values = Values::of(many.iter().map(|run| run.get(name).copied().unwrap_or(0))).unwrap();
            assert_eq!(values.measure().median, 0, "{name}");
        }
    }
}
