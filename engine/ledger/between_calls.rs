//! Host code in short pieces between two calls of one function of the OS: what a loop over small reads or writes does beside them.

use super::Activity;
use crate::timeline::NameId;
use crate::timeline::interval::Interval;

/// Longer pieces are work of their own.
const SHORT_NS: i64 = 20_000;

/// What a thread does, stretch after stretch.
#[derive(Debug, Default)]
pub struct BetweenCalls {
    /// The call that ended last, and the host's code that follows it without a break.
    last: Option<NameId>,
    piece: Interval,
}

impl BetweenCalls {
    /// The next stretch; of a call, the piece between it and a call of the same function before it.
    pub fn next(&mut self, stretch: Interval, activity: Activity, name: NameId) -> Option<Interval> {
        match activity {
            Activity::Host if self.last.is_some() => self.piece.end = stretch.end,
            Activity::Blocked => {
                let last = self.last.replace(name);
                let piece = std::mem::replace(&mut self.piece, Interval::new(stretch.end, stretch.end));
                return Some(piece).filter(|piece| last == Some(name) && (1..=SHORT_NS).contains(&piece.len_ns()));
            }
            _ => self.last = None,
        }
        None
    }
}
