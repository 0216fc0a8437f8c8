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

/// The rows of at least so many turns, of no more things each; the shortest turn counts. They come in order, and none lies in another.
pub fn rows(names: &[u32], most_period: usize, least_count: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut first = 0;
    // By period, where the next thing stands that is not the one a period behind it; 0 where nobody has looked yet.
    let mut others = vec![0; most_period + 1];
    while first < names.len() {
        let mut count = |period: usize| {
            let other = &mut others[period];
            if *other < first || first == 0 {
                *other = first;
                while names.get(*other + period).is_some_and(|next| *next == names[*other]) {
                    *other += 1;
                }
            }
            1 + (*other - first) / period
        };
        let row = (1..=most_period).map(|period| Row { first, period, count: count(period) });
        let row = row.into_iter().find(|row| row.count >= least_count);
        first = row.map_or(first + 1, |row| row.places().end);
        rows.extend(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

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
