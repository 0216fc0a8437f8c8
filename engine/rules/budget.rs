//! How much all rules of a run may do together: each expression is short, but there may be many, asked about many entities.
//!
//! Steps are the same on every machine, but tell the time badly: how long one takes depends on the texts that it looks at. So the
//! time of the processor is held, too, far above what steps of honest rules take.

use std::cell::Cell;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use crate::limits::{
    MAX_FINDING_COUNT, MAX_PRINTED_BYTES, MAX_RULES_STEP_COUNT, MAX_RULES_TIME, MAX_TESTING_STEP_COUNT,
    MAX_TESTING_TIME,
};

/// Bytes of a text that take as long as one step more for each step with it: it may be copied and searched.
const BYTES_OF_STEP: usize = 512;
/// How often something is charged between two looks at the clock, and how many steps at most.
const CHARGES_OF_LOOK: u32 = 64;
const STEPS_OF_LOOK: u64 = 10_000;
/// Builds that are made to be debugged take several times as long.
const SLOWNESS: u32 = if cfg!(debug_assertions) { 10 } else { 1 };

/// What is left.
#[derive(Debug)]
pub(super) struct Budget {
    left: Cell<u64>,
    most: u64,
    most_time: Duration,
    since: Clock,
    charges: Cell<u32>,
    /// Steps that were left at the last look at the clock.
    left_at_look: Cell<u64>,
    is_late: Cell<bool>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(MAX_RULES_STEP_COUNT, MAX_RULES_TIME)
    }
}

impl Budget {
    fn of(most: u64, most_time: Duration) -> Self {
        Self {
            left: Cell::new(most),
            most,
            most_time,
            since: Clock::now(),
            charges: Cell::new(0),
            left_at_look: Cell::new(most),
            is_late: Cell::new(false),
        }
    }

    /// That of all tests of all rules.
    pub(super) fn of_tests() -> Self {
        Self::of(MAX_TESTING_STEP_COUNT, MAX_TESTING_TIME)
    }

    /// Takes steps out of it.
    ///
    /// # Errors
    /// When it does not hold them, or when the time is over; then it is empty.
    pub(super) fn charge(&self, steps: u64) -> Result<(), String> {
        let left = self.left.get().checked_sub(steps);
        self.left.set(left.unwrap_or(0));
        self.charges.set(self.charges.get() + 1);
        let is_look = self.charges.get() >= CHARGES_OF_LOOK
            || self.left_at_look.get().saturating_sub(self.left.get()) >= STEPS_OF_LOOK;
        if is_look {
            self.charges.set(0);
            self.left_at_look.set(self.left.get());
            if self.since.elapsed() > self.most_time * SLOWNESS {
                self.is_late.set(true);
                self.left.set(0);
            }
        }
        if self.is_late.get() {
            return Err(late(self.most_time));
        }
        left.map(|_| ()).ok_or_else(|| message(self.most))
    }

    #[cfg(test)]
    pub(super) fn spent(&self) -> u64 {
        self.most - self.left.get()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.get() == 0
    }
}

/// What this thread has used of the processors; what has passed, where the system does not tell.
#[derive(Debug)]
struct Clock {
    processor: Option<ThreadTime>,
    wall: Instant,
}

impl Clock {
    fn now() -> Self {
        Self { processor: ThreadTime::try_now().ok(), wall: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        let used = self.processor.and_then(|since| since.try_elapsed().ok());
        used.unwrap_or_else(|| self.wall.elapsed())
    }
}

fn message(most: u64) -> String {
    let most = crate::text::number::count(most as i64);
    format!("the rules of this run take more than {most} steps together, those after this one left out")
}

fn late(most: Duration) -> String {
    let most = most.as_secs();
    format!("the rules of this run take more than {most} s of processor time together, those after this one left out")
}

/// What a finding fails with whose texts no longer fit.
pub(super) fn too_much_printed() -> String {
    format!("the texts of all findings of this run take more than {} MiB together", MAX_PRINTED_BYTES >> 20)
}

/// What the rule fails with whose finding is one more than a review tells.
pub(super) fn too_many_findings() -> String {
    let most = crate::text::number::count(MAX_FINDING_COUNT as i64);
    format!("the rules of this run find more than {most} things together, those after this one left out")
}

/// Whether a rule that failed did so because there was nothing left for it: of a report that holds so much, no rule is to blame.
pub fn is_spent(error: &str) -> bool {
    let of_runs = [message(MAX_RULES_STEP_COUNT), late(MAX_RULES_TIME), too_much_printed(), too_many_findings()];
    of_runs.iter().any(|message| error.contains(message))
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
        let error = budget.charge(2).unwrap_err();
        assert!(budget.is_empty() && is_spent(&error), "{error}");
        assert!(budget.charge(1).is_err());
        assert_eq!((weight(100), weight(65_536)), (1, 129));
    }

    #[test]
    fn it_is_empty_after_its_time_whatever_steps_are_left() {
        let budget = Budget::of(u64::MAX, Duration::ZERO);
        let mut burnt = 0_u64;
        let error = (0..u64::MAX).find_map(|number| {
            burnt = burnt.wrapping_add(std::hint::black_box(number));
            budget.charge(1).err()
        });
        assert!(error.unwrap().contains("of processor time") && budget.is_empty());
        assert!(is_spent(&late(MAX_RULES_TIME)) && !is_spent("a division by zero"));
    }
}
