//! Numbers that the profiler gives to all that it records, one after the other. Of a trace that somebody thinned out, to make a small
//! example of a large one, most are missing: what ran in between looks like idle time.

use foldhash::HashMap;

/// Numbers in one word.
const WORD: i64 = u64::BITS as i64;
/// Words, at most, that are kept: of numbers that lie further apart nothing is told. Ids of one trace follow one another.
const MOST_WORDS: usize = 1 << 18;
/// Operators, at least, whose numbers tell anything.
const LEAST_OPERATORS: u64 = 200;
/// Calls and work of a GPU with a number of their own, at least.
const LEAST_CORRELATIONS: u64 = 100;
/// Of the operators of whole traces, as good as all have the next number of another.
const MOST_NEIGHBOURS: f64 = 0.8;
/// Calls of CUDA that are not recorded take numbers as well. Of whole traces, recorded ones have one of seventy at the least.
const MOST_DENSE: f64 = 0.01;

/// A set of numbers.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    words: HashMap<i64, u64>,
    /// The word that was added to last: numbers come about in order.
    last: (i64, u64),
    is_beyond: bool,
}

impl Numbers {
    pub(super) fn add(&mut self, number: i64) {
        let (word, bit) = (number.div_euclid(WORD), 1_u64 << number.rem_euclid(WORD));
        if self.last.0 != word {
            self.keep_last();
            self.last = (word, 0);
        }
        self.last.1 |= bit;
    }

    fn keep_last(&mut self) {
        let (word, bits) = std::mem::take(&mut self.last);
        self.keep(word, bits);
    }

    fn keep(&mut self, word: i64, bits: u64) {
        if bits == 0 || self.is_beyond {
            return;
        }
        *self.words.entry(word).or_default() |= bits;
        if self.words.len() > MOST_WORDS {
            *self = Self { is_beyond: true, ..Self::default() };
        }
    }

    pub(super) fn merge(&mut self, mut other: Self) {
        other.keep_last();
        self.is_beyond |= other.is_beyond;
        for (word, bits) in other.words {
            self.keep(word, bits);
        }
    }

    /// `None` where there is none, or where they lie too far apart.
    fn spread(mut self) -> Option<Spread> {
        self.keep_last();
        if self.is_beyond {
            return None;
        }
        let mut words: Vec<(i64, u64)> = self.words.into_iter().collect();
        words.sort_unstable();
        let (low, high) = (words.first()?, words.last()?);
        let first = low.0.saturating_mul(WORD).saturating_add(i64::from(low.1.trailing_zeros()));
        let last = high.0.saturating_mul(WORD).saturating_add(WORD - 1 - i64::from(high.1.leading_zeros()));
        let (mut count, mut neighbours, mut before) = (0, 0, None);
        for (word, bits) in words {
            count += u64::from(bits.count_ones());
            neighbours += u64::from((bits & (bits >> 1)).count_ones());
            neighbours += u64::from(before == Some(word - 1) && bits & 1 == 1);
            before = (bits.leading_zeros() == 0).then_some(word);
        }
        Some(Spread { count, neighbours, all: first.abs_diff(last).saturating_add(1) })
    }
}

/// How numbers lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spread {
    count: u64,
    /// Those whose next number is there as well.
    neighbours: u64,
    /// From the first to the last.
    all: u64,
}

/// What a trace holds of what was recorded, by the numbers of its operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thinned {
    pub(super) operator_count: u64,
    /// Operators that were numbered from the first of these to the last.
    pub(super) numbered_count: u64,
}

/// The numbers of a trace.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// `External id` of operators.
    pub(super) operators: Numbers,
    /// `correlation` of calls and of what a GPU did.
    pub(super) correlations: Numbers,
}

impl Numbering {
    pub(super) fn merge(&mut self, other: Self) {
        self.operators.merge(other.operators);
        self.correlations.merge(other.correlations);
    }

    /// `None` of a trace that may be whole: both kinds of numbers have to be full of holes, as operators alone may have been left out
    /// of one that holds all work of the GPU.
    pub(super) fn thinned(self) -> Option<Thinned> {
        let (operators, correlations) = (self.operators.spread()?, self.correlations.spread()?);
        let is_thin = operators.count >= LEAST_OPERATORS
            && correlations.count >= LEAST_CORRELATIONS
            && (operators.neighbours as f64) < MOST_NEIGHBOURS * operators.count as f64
            && (correlations.count as f64) < MOST_DENSE * correlations.all as f64;
        is_thin.then_some(Thinned { operator_count: operators.count, numbered_count: operators.all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(all: impl IntoIterator<Item = i64>) -> Numbers {
        let mut numbers = Numbers::default();
        all.into_iter().for_each(|number| numbers.add(number));
        numbers
    }

    #[test]
    fn numbers_are_counted_once_whatever_their_order() {
        let spread = |all: &[i64]| numbers(all.iter().copied()).spread();
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[0]), Some(Spread { count: 1, neighbours: 0, all: 1 }));
        assert_eq!(spread(&[70, 63, 64, 63, -1, 0]), Some(Spread { count: 5, neighbours: 2, all: 72 }));
        assert_eq!(spread(&[i64::MIN, i64::MAX]), Some(Spread { count: 2, neighbours: 0, all: u64::MAX }));
    }

    #[test]
    fn parts_are_put_together() {
        let mut one = numbers([1, 2, 130]);
        one.merge(numbers([3, 129, 130]));
        assert_eq!(one.spread(), Some(Spread { count: 5, neighbours: 3, all: 130 }));
    }

    #[test]
    fn numbers_that_lie_far_apart_are_not_kept() {
        let mut far = numbers((0..=MOST_WORDS as i64 + 1).map(|number| number * WORD));
        assert!(far.words.len() <= MOST_WORDS);
        far.merge(numbers([1]));
        assert_eq!(far.spread(), None);
    }

    /// Each `hole`th of what was recorded; a call in ten is recorded of a whole trace.
    fn thinned(operator_hole: i64, call_hole: i64) -> Option<Thinned> {
        let operators = numbers((0..400).map(|number| 1_000 + number * operator_hole));
        Numbering { operators, correlations: numbers((0..200).map(|number| number * call_hole)) }.thinned()
    }

    #[test]
    fn a_trace_is_thinned_where_both_numbers_have_holes() {
        assert_eq!(thinned(70, 200), Some(Thinned { operator_count: 400, numbered_count: 399 * 70 + 1 }));
        assert_eq!(thinned(1, 10), None);
        assert_eq!(thinned(70, 10), None);
        assert_eq!(thinned(1, 200), None);
    }
}
