//! One side of a comparison: one report, or several runs of the same program.

use std::collections::BTreeMap;

use super::measure::Measure;
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
    pub(crate) fn entity(&self) -> Option<&Entity> {
        self.facts.run()
    }

    /// The GPUs that ran work, by number: the n-th of one side is compared with the n-th of the other, whatever their
    /// numbers.
    pub(crate) fn devices(&self) -> Vec<(EntityId, &Entity)> {
        devices_with_work(&self.facts)
    }

    /// Launches by kernel name, on all devices; copies by kind where no kernel ran, and what else ran where neither did.
    pub(super) fn launches(&self) -> BTreeMap<String, i64> {
        let kernels = self.counts(EntityKind::Kernel, "launch_count");
        let copies = || self.counts(EntityKind::CopyGroup, "count");
        let others = || {
            let others = ["memset_count", "migration_count"].map(|fact| (fact.to_owned(), self.sum(fact)));
            others.into_iter().filter(|(_, count)| *count > 0).collect()
        };
        [kernels, copies(), others()].into_iter().find(|counts| !counts.is_empty()).unwrap_or_default()
    }

    fn counts(&self, kind: EntityKind, fact: &str) -> BTreeMap<String, i64> {
        let mut counts = BTreeMap::new();
        for (_, entity) in self.facts.of_kind(kind) {
            let count: &mut i64 = counts.entry(name_of(entity).to_owned()).or_default();
            *count = count.saturating_add(int(entity, fact));
        }
        counts
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
    pub(super) runs: &'a [Run],
}

impl<'a> Runs<'a> {
    pub(super) fn first(self) -> Option<&'a Run> {
        self.runs.first()
    }

    /// A number of every run; `None` when a run lacks it.
    pub(super) fn measure(self, of: impl Fn(&Run) -> Option<i64>) -> Option<Measure> {
        let values: Option<Vec<i64>> = self.runs.iter().map(of).collect();
        Measure::of(values?)
    }

    pub(super) fn median(self, of: impl Fn(&Run) -> i64) -> i64 {
        self.measure(|run| Some(of(run))).map_or(0, |measure| measure.median)
    }

    /// Names with counts, each the median of the runs.
    pub(super) fn median_counts(self, of: impl Fn(&Run) -> BTreeMap<String, i64>) -> BTreeMap<String, i64> {
        let each: Vec<BTreeMap<String, i64>> = self.runs.iter().map(of).collect();
        let names: std::collections::BTreeSet<&String> = each.iter().flat_map(BTreeMap::keys).collect();
        let median = |name: &str| Measure::of(each.iter().map(|counts| counts.get(name).copied().unwrap_or(0)));
        let counted = names.into_iter().filter_map(|name| Some((name.clone(), median(name)?.median)));
        counted.filter(|(_, count)| *count > 0).collect()
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
