//! Values by small numbers, such as indices of names: most numbers have none, and each is asked for again and again.

use crate::timeline::NONE;

/// Values by number.
#[derive(Debug)]
pub(super) struct ByIndex<T> {
    /// Places in `list` by number, [`NONE`] where it has no value.
    places: Vec<u32>,
    /// The same of [`NONE`], which is a number as well.
    of_none: u32,
    list: Vec<(u32, T)>,
}

impl<T> Default for ByIndex<T> {
    fn default() -> Self {
        Self { places: Vec::new(), of_none: NONE, list: Vec::new() }
    }
}

impl<T> ByIndex<T> {
    /// The value of a number, made when it has none. Memory grows with the largest number, by four bytes each.
    pub(super) fn of(&mut self, index: u32, new: impl FnOnce() -> T) -> &mut T {
        let place = if index == NONE {
            &mut self.of_none
        } else {
            if index as usize >= self.places.len() {
                self.places.resize(index as usize + 1, NONE);
            }
            &mut self.places[index as usize]
        };
        if *place == NONE {
            *place = self.list.len() as u32;
            self.list.push((index, new()));
        }
        &mut self.list[*place as usize].1
    }

    /// The value of a number, if it has one.
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        let place = if index == NONE { self.of_none } else { *self.places.get(index as usize)? };
        self.list.get(place as usize).map(|(_, value)| value)
    }

    /// Numbers with their values, in the order in which these were made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(u32, T)> {
        self.list.iter()
    }

    /// The values, in the same order, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.list.iter_mut().map(|(_, value)| value)
    }

    /// The same by value.
    pub(super) fn into_list(self) -> Vec<(u32, T)> {
        self.list
    }
}

/// Which small numbers have been seen: an eighth of a byte each, up to the largest.
#[derive(Debug, Default)]
pub(super) struct Seen {
    words: Vec<u64>,
}

impl Seen {
    /// Whether a number comes for the first time.
    pub(super) fn is_new(&mut self, index: u32) -> bool {
        let (word, bit) = ((index / u64::BITS) as usize, 1 << (index % u64::BITS));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_number_has_a_value_and_takes_no_room() {
        let mut counts: ByIndex<i64> = ByIndex::default();
        for (index, count) in [(NONE, 1), (3, 10), (NONE, 2)] {
            *counts.of(index, i64::default) += count;
        }
        assert_eq!((counts.get(NONE), counts.get(3), counts.get(2)), (Some(&3), Some(&10), None));
        assert_eq!((counts.places.len(), counts.into_list()), (4, vec![(NONE, 3), (3, 10)]));
    }
}
