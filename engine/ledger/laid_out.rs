//! What threads did over a whole recording, laid out once for all devices that ask about it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::activity::Activity;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId};

/// What one thread did, from the first that was recorded of it to the end of time.
#[derive(Debug, Default)]
pub(super) struct LaidOut {
    /// When it began each thing; it did that until the next one.
    starts: Vec<i64>,
    activities: Vec<Activity>,
    /// The calls that it was in, or [`NONE`].
    names: Vec<NameId>,
}

impl LaidOut {
    /// With room for so many things.
    pub(super) fn with_capacity(most: usize) -> Self {
        Self { starts: Vec::with_capacity(most), activities: Vec::with_capacity(most), names: Vec::with_capacity(most) }
    }

    /// Adds what it did next.
    pub(super) fn push(&mut self, part: Interval, activity: Activity, name: NameId) {
        self.starts.push(part.start);
        self.activities.push(activity);
        self.names.push(name);
    }

    /// Calls `visit` for each stretch of `within` in which the thread does one thing, in time order.
    pub(super) fn visit(&self, within: Interval, mut visit: impl FnMut(Interval, Activity, NameId)) {
        let begins = self.starts.first().map_or(i64::MAX, |begins| *begins);
        let before = Interval::new(within.start, begins.min(within.end));
        if before.len_ns() > 0 {
            visit(before, Activity::Unknown, NONE);
        }
        let first = self.starts.partition_point(|start| *start <= within.start).saturating_sub(1);
        let (Some(starts), Some(activities), Some(names)) =
            (self.starts.get(first..), self.activities.get(first..), self.names.get(first..))
        else {
            return;
        };
        let mut ends = starts.iter().skip(1);
        for ((start, activity), name) in starts.iter().zip(activities).zip(names) {
            let end = ends.next().map_or(i64::MAX, |next| *next);
            if *start >= within.end {
                break;
            }
            let part = Interval::new(*start, end).clip(within);
            if part.len_ns() > 0 {
                visit(part, *activity, *name);
            }
        }
    }
}

/// The threads that several devices ask about, each laid out when it is first asked about.
#[derive(Debug)]
pub(super) struct Shared {
    /// By thread; empty inside where there was no room for it.
    by_thread: Vec<OnceLock<Option<Box<LaidOut>>>>,
    /// Stretches that may still be kept.
    room: AtomicUsize,
}

impl Shared {
    /// Of so many threads, with room for so many stretches.
    pub(super) fn new(threads: usize, room: usize) -> Self {
        Self { by_thread: (0..threads).map(|_| OnceLock::new()).collect(), room: AtomicUsize::new(room) }
    }

    /// A thread as it was laid out before, if it was.
    pub(super) fn known(&self, thread: u32) -> Option<&LaidOut> {
        self.by_thread.get(thread as usize)?.get()?.as_deref()
    }

    /// A thread, which is laid out unless it was before; `None` where there is no room for the stretches that it has at most.
    pub(super) fn of(&self, thread: u32, most: usize, lay_out: impl FnOnce() -> LaidOut) -> Option<&LaidOut> {
        let laid_out = self.by_thread.get(thread as usize)?.get_or_init(|| {
            let less = |room: usize| room.checked_sub(most);
            self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
            Some(Box::new(lay_out()))
        });
        laid_out.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_what_was_laid_out_is_visited_in_time_order() {
        let mut laid_out = LaidOut::default();
        for (start, end, activity, name) in
            [(10, 20, Activity::Launch, 3), (20, 50, Activity::Host, NONE), (50, i64::MAX, Activity::Unknown, NONE)]
        {
            laid_out.push(Interval::new(start, end), activity, name);
        }
        let visited = |start: i64, end: i64| {
            let mut all = Vec::new();
            laid_out.visit(Interval::new(start, end), |part, activity, _| all.push((part.start, part.end, activity)));
            all
        };
        use Activity::{Host, Launch, Unknown};
        assert_eq!(visited(0, 60), [(0, 10, Unknown), (10, 20, Launch), (20, 50, Host), (50, 60, Unknown)]);
        assert_eq!(visited(20, 30), [(20, 30, Host)]);
        assert_eq!(visited(19, 21), [(19, 20, Launch), (20, 21, Host)]);
        assert_eq!(visited(70, 80), [(70, 80, Unknown)]);
        assert_eq!(visited(0, 5), [(0, 5, Unknown)]);
        assert_eq!(visited(30, 30), []);
        LaidOut::default().visit(Interval::new(0, 5), |part, activity, name| {
            assert_eq!((part, activity, name), (Interval::new(0, 5), Unknown, NONE));
        });
    }

    #[test]
    fn a_thread_is_laid_out_once_where_there_is_room() {
        let shared = Shared::new(3, 10);
        assert!(shared.known(1).is_none());
        assert!(shared.of(1, 6, LaidOut::default).is_some() && shared.known(1).is_some());
        assert!(shared.of(1, 6, || unreachable!("it was laid out before")).is_some());
        assert!(shared.of(2, 6, || unreachable!("there is no room")).is_none() && shared.known(2).is_none());
        assert!(shared.of(0, 4, LaidOut::default).is_some());
        assert!(shared.of(3, 0, LaidOut::default).is_none(), "no such thread");
    }
}
