//! Rows in which the same few things come again and again, one turn right behind the other.

use std::ops::Range;

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Where it begins.
    pub first: usize,
    /// How many things are one turn.
    pub period: usize,
    /// How many turns there are.
    pub count: usize,
}

impl Row {
    /// Where its things stand.
    pub fn places(&self) -> Range<usize> {
        self.first..self.first + self.period * self.count
    }
}

/// The rows of at least so many turns, which are two or more, of no more things each; the shortest turn counts. They come in order, and none lies in another.
pub fn rows(names: &[u32], most_period: usize, least_count: usize) -> Vec<Row> {
    let mut repeats: Vec<Repeats<'_>> =
        (1..=most_period).map(|period| Repeats::new(names, period, least_count)).collect();
    let mut rows = Vec::new();
    let mut from = 0;
    loop {
        let found = repeats.iter_mut().filter_map(|repeats| repeats.next_row(from));
        let Some(row) = found.min_by_key(|row| (row.first, row.period)) else { return rows };
        from = row.places().end;
        rows.push(row);
    }
}

/// The rows of turns of just so many things. They come in order, and none lies in another.
pub fn rows_of(names: &[u32], period: usize, least_count: usize) -> Vec<Row> {
    let mut repeats = Repeats::new(names, period, least_count);
    let mut from = 0;
    let next = || {
        let row = repeats.next_row(from)?;
        from = row.places().end;
        Some(row)
    };
    std::iter::from_fn(next).collect()
}

/// Where things of a list are the same as those a period behind them.
struct Repeats<'all> {
    names: &'all [u32],
    period: usize,
    /// So many have to be in a row: those of all turns but the last.
    least: usize,
    /// The last such row that was found, from its first to behind its last.
    last: (usize, usize),
}

impl<'all> Repeats<'all> {
    const fn new(names: &'all [u32], period: usize, least_count: usize) -> Self {
        Self { names, period, least: period * (if least_count > 2 { least_count - 1 } else { 1 }), last: (0, 0) }
    }

    fn is_same(&self, place: usize) -> bool {
        self.names.get(place + self.period).is_some_and(|next| *next == self.names[place])
    }

    /// The first row of turns that begins at a place or later, which is no earlier than the one before.
    fn next_row(&mut self, from: usize) -> Option<Row> {
        let mut first = self.last.0.max(from);
        if self.last.1 < first + self.least || self.last.1 == 0 {
            first = self.find(self.last.1.max(from))?;
        }
        Some(Row { first, period: self.period, count: 1 + (self.last.1 - first) / self.period })
    }

    /// Where enough in a row begin at a place or later. What ends them too early is looked for from behind: all before it is passed over.
    fn find(&mut self, from: usize) -> Option<usize> {
        let mut first = from;
        while first + self.period < self.names.len() {
            let enough = first + self.least;
            match (first..enough).rev().find(|place| !self.is_same(*place)) {
                Some(other) => first = other + 1,
                None => {
                    let end = (enough..).find(|place| !self.is_same(*place)).unwrap_or(enough);
                    self.last = (first, end);
                    return Some(first);
                }
            }
        }
        self.last = (self.names.len(), self.names.len());
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same, place by place.
    fn looked_for(names: &[u32], most_period: usize, least_count: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut first = 0;
        while first < names.len() {
            let count = |period: usize| {
                let rest = &names[first..];
                1 + rest.iter().zip(rest.iter().skip(period)).take_while(|(one, next)| one == next).count() / period
            };
            let row = (1..=most_period).map(|period| Row { first, period, count: count(period) });
            let row = row.into_iter().find(|row| row.count >= least_count);
            first = row.map_or(first + 1, |row| row.places().end);
            rows.extend(row);
        }
        rows
    }

    proptest! {
        #[test]
        fn rows_are_those_that_a_search_at_each_place_finds(
            pieces in proptest::collection::vec((proptest::collection::vec(0..3_u32, 1..5), 1..9_usize), 0..12),
            most_period in 1..6_usize,
            least_count in 2..6_usize,
        ) {
            let names: Vec<u32> = pieces.iter().flat_map(|(turn, count)| turn.repeat(*count)).collect();
            prop_assert_eq!(rows(&names, most_period, least_count), looked_for(&names, most_period, least_count));
        }
    }

    #[test]
    fn rows_are_found_between_other_things() {
        let turns = |count: usize| [7, 8, 7].repeat(count);
        let names = [vec![1, 2, 3], turns(16), vec![4], turns(15), vec![5; 16]].concat();
        let found: Vec<_> = rows(&names, 8, 16).into_iter().map(|row| (row.places(), row.period, row.count)).collect();
        assert_eq!(found, [(3..51, 3, 16), (97..113, 1, 16)]);
        assert!(rows(&[], 8, 16).is_empty());
        assert_eq!(rows(&[9; 40], 8, 16), [Row { first: 0, period: 1, count: 40 }], "from the first on");
    }
}
