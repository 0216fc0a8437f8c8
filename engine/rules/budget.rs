//! How much all rules of a run may do together: each expression is short, but there may be many, asked about many entities.

use std::cell::Cell;

use crate::limits::{MAX_RULES_STEP_COUNT, MAX_TESTING_STEP_COUNT};

/// Bytes of a text that take as long as one step more for each step with it: it may be copied and searched.
const BYTES_OF_STEP: usize = 512;

/// What is left.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    most: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_RULES_STEP_COUNT)
    }
}

impl Budget {
    const fn of(most: u64) -> Self {
        Self { left: Cell::new(most), most }
    }

    /// That of all tests of all rules.
    pub(super) const fn of_tests() -> Self {
        Self::of(MAX_TESTING_STEP_COUNT)
    }

    /// Takes steps out of it.
    ///
    /// # Errors
    /// When it does not hold them; then it is empty.
    pub(super) fn charge(&self, steps: u64) -> Result<(), String> {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| message(self.most))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.get() == 0
    }
}

fn message(most: u64) -> String {
    let most = crate::text::number::count(most as i64);
    format!("the rules of this run take more than {most} steps together, those after this one left out")
}

/// Whether a rule that failed did so because there was nothing left for it: of a report that holds so much, no rule is to blame.
pub fn is_spent(error: &str) -> bool {
    error.contains(&message(MAX_RULES_STEP_COUNT))
}

/// How many steps one step counts for where a text of so many bytes may be part of it.
pub(super) const fn weight(longest_text: usize) -> u64 {
    1 + (longest_text / BYTES_OF_STEP) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_empty_after_its_steps() {
        let budget = Budget::default();
        assert!(budget.charge(MAX_RULES_STEP_COUNT - 1).is_ok() && !budget.is_empty());
        assert!(budget.charge(2).is_err() && budget.is_empty());
        assert!(budget.charge(1).is_err());
        assert_eq!((weight(100), weight(65_536)), (1, 129));
    }
}
