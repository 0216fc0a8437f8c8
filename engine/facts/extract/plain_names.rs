//! Which labels of ranges are called the same but for their numbers, found out once for a recording: names may be long, and GPUs and steps
//! many.

use std::hash::BuildHasher;

use foldhash::HashMap;
use foldhash::quality::RandomState;

use crate::steps::without_numbers;
use crate::timeline::{NameId, Timeline};

/// A number for each name without its numbers, the same for the same.
pub(super) struct PlainNames {
    numbers: RandomState,
    of_labels: Vec<u64>,
}

impl PlainNames {
    pub(super) fn of(timeline: &Timeline) -> Self {
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
    pub(super) fn called(&self, plain: &str) -> impl Iterator<Item = bool> {
        let wanted = self.numbers.hash_one(plain.to_owned());
        self.of_labels.iter().map(move |own| *own == wanted)
    }
}
