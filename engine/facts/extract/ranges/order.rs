//! The order in which ranges are told: the same in every run, whatever time they take, as labels of one name are numbered in it.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::hash::BuildHasher;

use foldhash::HashMap;
use foldhash::quality::RandomState;

use super::{Group, Sums};
use crate::steps::without_numbers;
use crate::timeline::columns::RangeKind;
use crate::timeline::{NameId, Timeline};

/// The places of names among those of ranges and of their domains. Names may be long and alike: they are compared once for all
/// devices.
#[derive(Debug)]
pub(in super::super) struct NameOrder {
    /// By name; 0 of those that no range and no domain has.
    places: Vec<u32>,
}

/// Where a label of a process stands: by name, by who marked it, and by domain.
type Place = (u32, RangeKind, Option<u32>, i64);

impl NameOrder {
    pub(in super::super) fn of(timeline: &Timeline) -> Self {
        let ranges = &timeline.ranges;
        let of_labels = ranges.labels.iter().map(|label| label.name);
        let of_domains = ranges.domains.iter().map(|(_, _, name)| *name);
        let names: BTreeSet<NameId> = of_labels.chain(of_domains).collect();
        let mut names: Vec<NameId> = names.into_iter().collect();
        names.sort_by_key(|name| timeline.name(*name));
        let mut places = vec![0; timeline.names.len()];
        let (mut place, mut before) = (0, None);
        for name in names {
            let text = timeline.name(name);
            place += u32::from(before != Some(text));
            before = Some(text);
            if let Some(own) = places.get_mut(name as usize) {
                *own = place;
            }
        }
        Self { places }
    }

    fn place(&self, timeline: &Timeline, group: &Group) -> Option<Place> {
        let of_name = |name: NameId| self.places.get(name as usize).copied().unwrap_or(0);
        let label = timeline.ranges.labels.get(group.label as usize)?;
        let domain = timeline.ranges.domain_name(group.process, group.label).map(of_name);
        Some((of_name(label.name), label.kind, domain, label.domain))
    }

    /// The labels of a process with most host time and most idle time, in order.
    pub(super) fn keep_most(&self, timeline: &Timeline, groups: &[Group], most: usize) -> Vec<Group> {
        const RANKS: [fn(&Sums) -> i64; 2] = [|sums| sums.sum_ns, |sums| sums.idle.idle_ns];
        let mut in_order: Vec<(Option<Place>, u32, &Group)> =
            groups.iter().map(|group| (self.place(timeline, group), group.label, group)).collect();
        in_order.sort_by_key(|(place, label, _)| (*place, *label));
        let mut kept = BTreeSet::new();
        for rank in RANKS {
            let mut most_first: Vec<&Group> = in_order.iter().map(|(_, _, group)| *group).collect();
            most_first.sort_by_key(|group| Reverse(rank(&group.sums)));
            kept.extend(most_first.iter().take(most).map(|group| group.label));
        }
        in_order.into_iter().filter(|(_, label, _)| kept.contains(label)).map(|(_, _, group)| *group).collect()
    }
}

/// Which labels are called the same but for their numbers, found out once for a recording: names may be long, and GPUs and steps many. A
/// number for each name without its numbers, the same for the same.
pub(in super::super) struct PlainNames {
    numbers: RandomState,
    of_labels: Vec<u64>,
}

impl PlainNames {
    pub(in super::super) fn of(timeline: &Timeline) -> Self {
        let numbers = RandomState::default();
        let mut of_names: HashMap<NameId, u64> = HashMap::default();
        let names = timeline.ranges.labels.iter().map(|label| label.name);
        let mut of_name = |name: NameId| {
            *of_names.entry(name).or_insert_with(|| numbers.hash_one(without_numbers(timeline.name(name))))
        };
        let of_labels = names.map(&mut of_name).collect();
        Self { numbers, of_labels }
    }

    /// By label, whether it is called so but for its numbers.
    pub(in super::super) fn called(&self, plain: &str) -> impl Iterator<Item = bool> {
        let wanted = self.numbers.hash_one(plain.to_owned());
        self.of_labels.iter().map(move |own| *own == wanted)
    }
}
