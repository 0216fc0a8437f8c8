//! Processes and GPUs that are called by words: who merges the traces of several ranks into one puts the rank before the number
//! of the process, as in `[TP01] 4711` or `rank1 0`, so that the ranks' rows stay apart.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::text::Text;
use crate::timeline::Timeline;

/// Processes and GPUs of this kind that are told apart.
const MAX_WORDS_COUNT: usize = 4_096;
/// Bytes of the words that are kept.
const MAX_WORDS_BYTES: usize = 200;
/// No process and no GPU has a number from here on; those of words are sorted by the first number in them.
const FIRST_KEY: i64 = 1 << 62;
const MAX_FIRST_NUMBER: i64 = (1 << 20) - 1;
const HASH_BITS: u32 = 42;

/// Words that stand in place of a process, and the number that a GPU of theirs has, by the key that stands for them.
#[derive(Debug, Default)]
pub(super) struct Pids {
    known: BTreeMap<i64, Known>,
}

#[derive(Debug, PartialEq, Eq)]
struct Known {
    words: Box<str>,
    device: Option<i64>,
}

impl Pids {
    /// The key of a process that has words in place of its number; `None` of words without a number, which are headings of the
    /// profiler such as `Traces`, and beyond the limit.
    pub(super) fn of_process(&mut self, words: Text<'_>) -> Option<i64> {
        self.key(words, None)
    }

    /// The key of a GPU that is filed under words, and has this number within its process.
    pub(super) fn of_device(&mut self, words: Text<'_>, device: i64) -> Option<i64> {
        self.key(words, Some(device))
    }

    fn key(&mut self, words: Text<'_>, device: Option<i64>) -> Option<i64> {
        let first = numbers(words.raw()).next()?;
        let mut hasher = DefaultHasher::new();
        (words.raw(), device).hash(&mut hasher);
        let hash = (hasher.finish() >> (u64::BITS - HASH_BITS)) as i64;
        let key = FIRST_KEY | first.min(MAX_FIRST_NUMBER) << HASH_BITS | hash;
        if !self.known.contains_key(&key) {
            if self.known.len() >= MAX_WORDS_COUNT {
                return None;
            }
            let words = words.start(MAX_WORDS_BYTES).to_str().into();
            self.known.insert(key, Known { words, device });
        }
        Some(key)
    }

    /// Takes in what comes behind it.
    pub(super) fn merge(&mut self, other: Self) {
        for (key, known) in other.known {
            if self.known.len() < MAX_WORDS_COUNT || self.known.contains_key(&key) {
                self.known.entry(key).or_insert(known);
            }
        }
    }

    /// Puts numbers in place of the keys, once nothing is looked up by them any more: of a process the last in its words; of GPUs
    /// their own where no two have the same, else one after the other.
    pub(super) fn name(&self, timeline: &mut Timeline) {
        for process in &mut timeline.processes {
            let Some(known) = self.known.get(&process.pid) else { continue };
            process.pid = numbers(known.words.as_bytes()).last().unwrap_or(process.pid);
            process.label = known.words.to_string();
        }
        let own = |number: i64| self.known.get(&number).map_or(Some(number), |known| known.device);
        let numbers: Option<Vec<i64>> = timeline.devices.iter().map(|device| own(device.number)).collect();
        // Tables of GPUs are sorted by their numbers.
        let is_in_order = |numbers: &Vec<i64>| numbers.iter().zip(numbers.iter().skip(1)).all(|(one, next)| one < next);
        let one_by_one = (0..timeline.devices.len() as i64).collect();
        let numbers = numbers.filter(is_in_order).unwrap_or(one_by_one);
        for (device, number) in timeline.devices.iter_mut().zip(numbers) {
            device.number = number;
        }
    }
}

/// The numbers in words, in order; none that no process could have.
pub(super) fn numbers(words: &[u8]) -> impl Iterator<Item = i64> {
    let digits = words.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
    digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u32>().ok()).map(i64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{Device, Process};

    fn text(words: &str) -> Text<'_> {
        Text::new(words.as_bytes(), false)
    }

    #[test]
    fn words_are_told_apart_and_sorted_by_rank() {
        let mut pids = Pids::default();
        let ranks = ["[TP02] 7", "[TP10] 7", "rank11_7"].map(|words| pids.of_process(text(words)));
        assert!(ranks.iter().all(Option::is_some) && ranks.is_sorted(), "{ranks:?}");
        assert_eq!(pids.of_process(text("[TP02] 7")), ranks[0]);
        assert_ne!(pids.of_device(text("[TP02] 7"), 0), pids.of_device(text("[TP02] 7"), 1));
        assert_eq!(["", "Traces", "Spans", "99999999999999"].map(|words| pids.of_process(text(words))), [None; 4]);
    }

    #[test]
    fn numbers_take_the_place_of_keys() {
        let named = |devices: &[(&str, i64)]| {
            let (mut parts, mut timeline) = ([Pids::default(), Pids::default()], Timeline::default());
            let pid = parts[1].of_process(text("rank 1: 4711")).unwrap();
            timeline.processes.push(Process { pid, label: String::new(), name: None });
            let mut keys: Vec<i64> =
                devices.iter().map(|(words, device)| parts[0].of_device(text(words), *device).unwrap()).collect();
            keys.sort_unstable();
            timeline.devices = keys.into_iter().map(|number| Device { number, properties: None }).collect();
            let [mut pids, other] = parts;
            pids.merge(other);
            pids.name(&mut timeline);
            assert_eq!((timeline.processes[0].pid, timeline.processes[0].label.as_str()), (4_711, "rank 1: 4711"));
            timeline.devices.iter().map(|device| device.number).collect::<Vec<_>>()
        };
        // Each rank sees a GPU of its own as the first.
        assert_eq!(named(&[("rank 0: 0", 0), ("rank 1: 0", 0)]), [0, 1]);
        assert_eq!(named(&[("rank 0: 4", 4), ("rank 1: 5", 5)]), [4, 5]);
        assert_eq!(named(&[("rank 0: 0", 3), ("rank 1: 0", 2)]), [0, 1]);
    }

    #[test]
    fn words_without_end_fill_no_memory() {
        let mut pids = Pids::default();
        let taken = (0..2 * MAX_WORDS_COUNT).filter(|index| pids.of_process(text(&format!("rank {index}"))).is_some());
        assert_eq!(taken.count(), MAX_WORDS_COUNT);
        assert!(pids.of_process(text("rank 0")).is_some());
    }
}
