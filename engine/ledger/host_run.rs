//! The longest run of host code: calls of the OS that are over at once, as signals of an interpreter's lock, do not part it.

use super::Account;
use crate::timeline::interval::Interval;

/// A longer call of the OS parts host code.
const SHORT_CALL_NS: i64 = 10_000;
/// Of one run such calls take one in so many parts at most.
const MOST_CALLS_PART: i64 = 20;

/// The runs of host code of one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostRun {
    /// The one that may go on, and how much of it is host code.
    run: Interval,
    host_ns: i64,
    longest: Interval,
}

impl HostRun {
    /// The longest.
    pub const fn longest(&self) -> Interval {
        self.longest
    }

    /// Takes the next piece of idle time.
    pub(super) fn take(&mut self, activity: Account, piece: Interval) {
        let goes_on = self.host_ns > 0 && self.run.end == piece.start;
        match activity {
            Account::IdleHost if goes_on => self.run.end = piece.end,
            Account::IdleHost => (self.run, self.host_ns) = (piece, 0),
            Account::IdleBlocked if goes_on && piece.len_ns() < SHORT_CALL_NS => {
                self.run.end = piece.end;
                return;
            }
            _ => return,
        }
        self.host_ns = self.host_ns.saturating_add(piece.len_ns());
        let calls_ns = self.run.len_ns() - self.host_ns;
        if calls_ns.saturating_mul(MOST_CALLS_PART) <= self.run.len_ns() && self.run.len_ns() > self.longest.len_ns() {
            self.longest = self.run;
        }
    }

    /// Takes in what was read on another thread.
    pub(super) const fn merge(&mut self, other: Self) {
        if other.longest.len_ns() > self.longest.len_ns() {
            self.longest = other.longest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(pieces: &[(Account, i64)]) -> i64 {
        let (mut run, mut at) = (HostRun::default(), 100);
        for (activity, length_ns) in pieces {
            run.take(*activity, Interval::new(at, at + length_ns));
            at += length_ns;
        }
        run.longest().len_ns()
    }

    #[test]
    fn short_calls_of_the_os_do_not_part_host_code() {
        let (host, blocked, launch) = (Account::IdleHost, Account::IdleBlocked, Account::IdleLaunch);
        assert_eq!(longest(&[(host, 300_000), (blocked, 9_999), (host, 300_000), (blocked, 1)]), 609_999);
        assert_eq!(longest(&[(host, 300_000), (blocked, 10_000), (host, 200_000)]), 300_000);
        assert_eq!(longest(&[(host, 300_000), (launch, 1), (host, 200_000)]), 300_000);
        assert_eq!(longest(&[(host, 9_000), (blocked, 9_000), (host, 9_000)]), 9_000, "mostly calls");
        assert_eq!(longest(&[(blocked, 9_000)]), 0);
    }
}
