//! Sums by key, of which the one that was asked for last mostly is asked for again: a recording has millions of pieces under some
//! dozens of keys.

use std::collections::BTreeMap;

/// Values by key.
#[derive(Debug)]
pub struct ByKey<K, V> {
    /// Places in the list.
    places: BTreeMap<K, u32>,
    list: Vec<V>,
    /// The key that was asked for last, with its place.
    last: Option<(K, u32)>,
}

impl<K, V> Default for ByKey<K, V> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), list: Vec::new(), last: None }
    }
}

impl<K: Ord + Copy, V: Copy + Default> ByKey<K, V> {
    /// The value of a key, made when it has none.
    pub(super) fn of(&mut self, key: K) -> &mut V {
        let place = match self.last {
            Some((last, place)) if last == key => place,
            _ => self.find(key),
        };
        &mut self.list[place as usize]
    }

    fn find(&mut self, key: K) -> u32 {
        let place = *self.places.entry(key).or_insert_with(|| {
            self.list.push(V::default());
            self.list.len() as u32 - 1
        });
        self.last = Some((key, place));
        place
    }

    /// The value of a key, if it has one.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.places.get(key).and_then(|place| self.list.get(*place as usize))
    }

    /// Keys with their values, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.places.iter().filter_map(|(key, place)| Some((key, self.list.get(*place as usize)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_key_and_read_in_order_of_keys() {
        let mut sums: ByKey<(u32, u32), i64> = ByKey::default();
        for (key, value) in [((7, 1), 1), ((7, 1), 2), ((3, 9), 10), ((7, 1), 4), ((3, 9), 20)] {
            *sums.of(key) += value;
        }
        assert_eq!(sums.iter().collect::<Vec<_>>(), [(&(3, 9), &30), (&(7, 1), &7)]);
        assert_eq!((sums.get(&(7, 1)), sums.get(&(7, 2))), (Some(&7), None));
    }
}
