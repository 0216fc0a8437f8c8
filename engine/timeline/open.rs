//! What is open at a moment: ranges mostly lie in each other, so that the last one entered ends first.

/// What is open, the outermost first.
#[derive(Debug)]
pub(crate) struct Open<T> {
    list: Vec<Entered<T>>,
}

#[derive(Debug)]
struct Entered<T> {
    end: i64,
    /// When the first of it and those further out ends.
    first_end: i64,
    of: T,
}

impl<T> Open<T> {
    /// Nothing yet.
    pub(crate) const fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// When the first of them ends; `i64::MAX` without any.
    pub(crate) fn first_end(&self) -> i64 {
        self.list.last().map_or(i64::MAX, |last| last.first_end)
    }

    /// Enters one that lies in all others.
    pub(crate) fn push(&mut self, end: i64, of: T) {
        let first_end = self.first_end().min(end);
        self.list.push(Entered { end, first_end, of });
    }

    /// Leaves one that ends by a moment, if there is any: the innermost, and of those that lie in none but end earlier the outermost.
    pub(crate) fn pop_ended(&mut self, moment: i64) -> Option<T> {
        if self.first_end() > moment {
            return None;
        }
        if let Some(last) = self.list.pop_if(|last| last.end <= moment) {
            return Some(last.of);
        }
        let index = self.list.iter().position(|entered| entered.end <= moment)?;
        let ended = self.list.remove(index).of;
        let mut first_end = index.checked_sub(1).map_or(i64::MAX, |before| self.list[before].first_end);
        for entered in &mut self.list[index..] {
            first_end = first_end.min(entered.end);
            entered.first_end = first_end;
        }
        Some(ended)
    }

    /// The innermost.
    pub(crate) fn last(&self) -> Option<&T> {
        self.list.last().map(|last| &last.of)
    }

    /// The same, to be changed.
    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.list.last_mut().map(|last| &mut last.of)
    }

    /// All of them with their ends.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &T)> {
        self.list.iter().map(|entered| (entered.end, &entered.of))
    }

    /// All of them, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.list.iter_mut().map(|entered| &mut entered.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_has_not_ended_is_open(steps in proptest::collection::vec((0..6_i64, 0..30_i64), 0..60)) {
            let (mut open, mut expected, mut moment) = (Open::new(), Vec::new(), 0);
            for (number, (later, length)) in steps.into_iter().enumerate() {
                moment += later;
                let mut ended = Vec::new();
                while let Some(number) = open.pop_ended(moment) {
                    ended.push(number);
                }
                let left: Vec<usize> =
                    expected.iter().filter(|(end, _): &&(i64, usize)| *end <= moment).map(|(_, number)| *number).collect();
                ended.sort_unstable();
                prop_assert_eq!(ended, left);
                expected.retain(|(end, _)| *end > moment);
                open.push(moment + length, number);
                expected.push((moment + length, number));
                let told: Vec<(i64, usize)> = open.iter().map(|(end, number)| (end, *number)).collect();
                prop_assert_eq!(&told, &expected);
                prop_assert_eq!(open.first_end(), expected.iter().map(|(end, _)| *end).min().unwrap());
            }
        }
    }

    #[test]
    fn the_innermost_ends_first_and_then_the_outermost() {
        let mut open = Open::new();
        for (end, of) in [(10, 'a'), (90, 'b'), (20, 'c'), (99, 'd'), (30, 'e')] {
            open.push(end, of);
        }
        let ended: Vec<char> = std::iter::from_fn(|| open.pop_ended(50)).collect();
        assert_eq!(ended, ['e', 'a', 'c']);
        assert_eq!((open.last(), open.first_end(), open.len()), (Some(&'d'), 90, 2));
    }
}
