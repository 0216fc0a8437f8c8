//! What threads did over a whole recording, laid out once for all devices that ask about it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::activity::Activity;
use crate::timeline::interval::Interval;
use crate::timeline::{NONE, NameId};

/// What one thread did, from the first that was recorded of it to the end of time.
#[derive(Debug, Default)]
pub(super) struct LaidOut {
    /// Each with something in it, in time order.
    parts: Vec<Part>,
}

/// What it did for a while.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// When it began each thing; it did that until the next one.
    starts: Vec<i64>,
    activities: Vec<Activity>,
    /// The calls that it was in, or [`NONE`].
    names: Vec<NameId>,
}

impl Part {
    /// With room for so many things.
    pub(super) fn with_capacity(most: usize) -> Self {
        Self { starts: Vec::with_capacity(most), activities: Vec::with_capacity(most), names: Vec::with_capacity(most) }
    }

    /// Adds what it did next.
    pub(super) fn push(&mut self, stretch: Interval, activity: Activity, name: NameId) {
        self.starts.push(stretch.start);
        self.activities.push(activity);
        self.names.push(name);
    }

    fn begins(&self) -> i64 {
        self.starts.first().map_or(i64::MAX, |begins| *begins)
    }

    /// What it did from the stretch on that a moment lies in: when it began each thing, and what that is.
    fn from(&self, moment: i64) -> Option<(&[i64], impl Iterator<Item = (Activity, NameId)> + '_)> {
        let first = self.starts.partition_point(|start| *start <= moment).saturating_sub(1);
        let all = self.activities.get(first..)?.iter().zip(self.names.get(first..)?);
        Some((self.starts.get(first..)?, all.map(|(activity, name)| (*activity, *name))))
    }
}

impl LaidOut {
    /// Adds what it did next.
    pub(super) fn push(&mut self, part: Part) {
        self.parts.extend(Some(part).filter(|part| !part.starts.is_empty()));
    }

    /// When it began some of the things it did, in time order: from each to the next it did no more than so many.
    pub(super) fn begins_of_few(&self, most: usize) -> impl Iterator<Item = i64> + '_ {
        self.parts.iter().flat_map(move |part| part.starts.iter().step_by(most)).copied()
    }

    /// When it first began a thing not before a moment.
    pub(super) fn first_begun_from(&self, moment: i64) -> Option<i64> {
        let next = self.parts.partition_point(|part| part.begins() < moment);
        let in_last = self.parts.get(..next).and_then(<[Part]>::last);
        let begun = in_last.and_then(|part| part.starts.get(part.starts.partition_point(|start| *start < moment)));
        begun.copied().or_else(|| self.parts.get(next).map(Part::begins))
    }

    /// Calls `visit` for each stretch of `within` in which the thread does one thing, in time order.
    pub(super) fn visit(&self, within: Interval, mut visit: impl FnMut(Interval, Activity, NameId)) {
        let begins = self.parts.first().map_or(i64::MAX, Part::begins);
        let before = Interval::new(within.start, begins.min(within.end));
        if before.len_ns() > 0 {
            visit(before, Activity::Unknown, NONE);
        }
        let first = self.parts.partition_point(|part| part.begins() <= within.start).saturating_sub(1);
        let parts = self.parts.get(first..).unwrap_or_default();
        let mut next_parts = parts.iter().skip(1);
        for part in parts.iter().take_while(|part| part.begins() < within.end) {
            let ends = next_parts.next().map_or(i64::MAX, Part::begins);
            let Some((starts, all)) = part.from(within.start) else { continue };
            let mut next_starts = starts.iter().skip(1);
            for (start, (activity, name)) in starts.iter().zip(all) {
                let end = next_starts.next().map_or(ends, |next| *next);
                if *start >= within.end {
                    break;
                }
                let stretch = Interval::new(*start, end).clip(within);
                if stretch.len_ns() > 0 {
                    visit(stretch, activity, name);
                }
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
        let stretches =
            [[(10, Activity::Launch, 3), (20, Activity::Host, NONE)].as_slice(), &[], &[(50, Activity::Unknown, NONE)]];
        for stretches in stretches {
            let mut part = Part::with_capacity(stretches.len());
            stretches
                .iter()
                .for_each(|(start, activity, name)| part.push(Interval::new(*start, *start), *activity, *name));
            laid_out.push(part);
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
